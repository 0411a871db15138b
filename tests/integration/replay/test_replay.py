"""`replay/call.py`: a kept call gives the same bad values in another process, and runs with changes."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.errors import DebuggerError, NotFoundError, UsageError
from tb_debugger_plugin.events.bundle import read_bundle, write_bundle
from tb_debugger_plugin.replay import program
from tb_debugger_plugin.replay.script import script_of
from tests.support import forked
from tests.support.guard_programs import PROGRAMS, Recording

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:`shuffle=True` was passed:UserWarning"),  # Keras's own
]


@pytest.fixture(autouse=True)
def in_this_process(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run calls here, except in one test: a process of its own imports TensorFlow first."""
    if request.function is test_a_call_is_tried_in_float64_and_with_its_input_in_range:
        return

    def run_here(command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        program.main(*command[-2:])
        return subprocess.CompletedProcess(command, 0, b"", b"")

    monkeypatch.setattr("tb_debugger_plugin.reading.replay.subprocess.run", run_here)


def guarded(folder: Path, program: Callable[[Recording], None], **options: object) -> Path:
    tf.random.set_seed(1)
    program(partial(tb_debugger_plugin.record, folder, mode="GUARD", **options))
    return folder


@pytest.fixture(scope="module")
def step(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training step of which call 4 takes the logarithm of 0."""
    return guarded(tmp_path_factory.mktemp("step"), PROGRAMS["step"])


@pytest.mark.parametrize(
    "name",
    ["step", "random", "nested", "no results", "loop", "tape", "fit", "several steps", "compiled step"],
)
def test_a_kept_call_has_the_same_bad_tensors_and_bits(tmp_path: Path, name: str) -> None:
    run = tb_debugger_plugin.open_run(guarded(tmp_path, PROGRAMS[name]))
    for number in range(1, len(run.bundles()) + 1):
        (as_it_was,) = run.replay(number, record=tmp_path / f"replay_{number}").tried
        assert (as_it_was.same_tensors, as_it_was.same_bits, as_it_was.error) == (True, True, "")
        assert as_it_was.num_bad and not as_it_was.is_finite


def test_a_call_is_tried_in_float64_and_with_its_input_in_range(step: Path) -> None:
    done = tb_debugger_plugin.open_run(step).replay()
    assert [one.way for one in done.tried] == [
        "as it was",
        "in float64",
        "with np.maximum(add:0, 1e-7) for add:0",
    ]
    assert [one.is_finite for one in done.tried] == [False, False, True]
    line = tb_debugger_plugin.open_run(step).origins()[0].source
    assert line is not None and done.tried[0].first == f"Log:0 (Log), {line.name}"
    sentence = "with np.maximum(add:0, 1e-7) for add:0, nothing is bad."
    reason = tb_debugger_plugin.open_run(step).why()
    assert reason is not None and str(reason).rstrip().endswith(sentence)
    assert "12 tensors are bad, the same as on record, and the results have the same bits" in str(done)


def test_what_overflows_in_float16_is_finite_in_float64(tmp_path: Path) -> None:
    @tf.function
    def square(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.square(tf.cast(x, tf.float16)))

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        square(tf.constant([300.0, 2.0]))
    run = tb_debugger_plugin.open_run(tmp_path)
    wide = run.replay(dtype="float64").tried[-1]
    assert wide.is_finite and wide.results[0]["dtype"] == "float64"
    assert wide.results[0]["max"] == 300.0**2 + 4
    assert run.replay(dtype="bfloat16").tried[-1].is_finite


def test_an_op_without_a_kernel_keeps_its_dtype(tmp_path: Path) -> None:
    @tf.function
    def normalized(x: tf.Tensor) -> tf.Tensor:
        y, *_ = tf.raw_ops.FusedBatchNormV3(
            x=x, scale=tf.ones([2]), offset=tf.zeros([2]), mean=[], variance=[], is_training=True
        )
        return tf.math.log(y)

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        normalized(tf.reshape(tf.range(8.0), [1, 2, 2, 2]))
    tried = tb_debugger_plugin.open_run(tmp_path).replay(dtype="float64").tried[-1]
    assert tried.error == "" and tried.results[0]["dtype"] == "float64" and tried.results[0]["bad"][2] == 4


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        ("Log", "np.log(np.maximum(x0, 1e-7))"),
        ("Log:0", "np.log(np.where(`add:0` > 0, `add:0`, 1))"),
        ("add", "x0 + x1 + 1"),
        ("add", "`Sum` + 1"),
    ],
)
def test_a_tensor_gets_the_value_of_an_expression(step: Path, tensor: str, text: str) -> None:
    done = tb_debugger_plugin.open_run(step).replay(tensors={tensor: text})
    as_it_was, changed = done.tried
    assert changed.way == f"with {tensor} = {text}" and changed.error == ""
    assert changed.num_bad < as_it_was.num_bad
    assert changed.same_tensors is None and changed.same_bits is None


def test_an_expression_has_the_dtype_that_is_computed_in(step: Path) -> None:
    run = tb_debugger_plugin.open_run(step)
    changed = run.replay(dtype="float64", tensors={"Log": "np.log(x0 + 1e-300)"}).tried[-1]
    assert changed.way == "with Log = np.log(x0 + 1e-300), in float64" and changed.error == ""
    assert changed.results[0]["bad"] == [0, 0, 0] and changed.results[0]["min"] < -600


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"tensors": {"Lag": "x0"}}, "The call has no op Lag; did you mean 'Log'"),
        ({"tensors": {"Log:3": "x0"}}, "Log has no computed output 3; it has 0."),
        ({"tensors": {"Log": "open('x')"}}, "open"),
        ({"tensors": {"Log": "`nothing`"}}, "The function has no tensor `nothing`"),
        ({"dtype": "int8"}, "'int8' is no dtype to compute in"),
        ({"until": "nothing"}, "The call has no op nothing;"),
        ({"device": "nowhere"}, "nowhere"),
    ],
)
def test_what_cannot_be_changed_is_said(step: Path, options: dict[str, object], sentence: str) -> None:
    done = tb_debugger_plugin.open_run(step).replay(**options)  # type: ignore[arg-type]
    assert sentence in done.tried[-1].error


def test_a_call_ends_with_an_op(step: Path) -> None:
    (tried,) = tb_debugger_plugin.open_run(step).replay(until="add").tried
    assert tried.is_finite and tried.results[0]["shape"] == [4]
    nested = tb_debugger_plugin.open_run(step).replay(until="Log").tried[0]
    assert nested.results[0]["bad"] == [4, 0, 0] and nested.num_bad == 1


def test_an_op_inside_of_a_called_function_ends_the_call(tmp_path: Path) -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        y = tf.math.log(x, name="inner_log")
        return tf.reduce_sum(y)

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        return inner(x - 1.0) * 2.0

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        outer(tf.constant([1.0, 3.0]))
    run = tb_debugger_plugin.open_run(tmp_path)
    (result,) = run.replay(until="inner_log").tried[0].results
    assert (result["shape"], result["bad"], result["max"]) == ([2], [1, 0, 0], pytest.approx(np.log(2.0)))


def test_a_recording_of_the_call_explains_it(step: Path, tmp_path: Path) -> None:
    tb_debugger_plugin.open_run(step).replay(record=tmp_path, mode="FULL_NUMERICS")
    run = tb_debugger_plugin.open_run(tmp_path)
    (first, *_) = run.origins()
    assert (first.op_name, first.kind) == ("Log", "inf")
    assert run.graph_executions(op_name="^Log$")[0].mode == "FULL_NUMERICS"


@pytest.mark.parametrize("max_inside", [200_000, 10])
def test_a_script_needs_only_tensorflow(
    step: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, max_inside: int
) -> None:
    """Large data are beside it."""
    monkeypatch.setattr("tb_debugger_plugin.replay.script._MAX_INSIDE", max_inside)
    path = tmp_path / "bad_call.py"
    script_of(read_bundle(tb_debugger_plugin.open_run(step).bundles()[0]), path)
    text = path.read_text("utf-8")
    assert "tb_debugger" not in text and len(text.split("\n")) < 120
    assert path.with_suffix(".data").exists() == (max_inside == 10)
    done = forked.run([str(path)], cwd=tmp_path)
    assert done.stdout.startswith("result 0: float32 [], all finite: False"), done.stderr


def test_values_beyond_the_limit_are_left_out_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    table = tf.Variable(tf.ones([1000, 100]), name="table")

    @tf.function
    def look(x: tf.Tensor) -> tf.Tensor:
        return tf.math.log(tf.reduce_sum(table) * x)

    with tb_debugger_plugin.record(tmp_path, mode="GUARD", keep_replay=50_000):
        look(tf.constant(-1.0))
    assert "1 of its values (0.4 MB) are left out because of keep_replay" in caplog.text
    run = tb_debugger_plugin.open_run(tmp_path)
    assert run.bundles()[0].stat().st_size < 50_000
    error = run.replay().tried[0].error
    assert "the value of table (0.4 MB) was left out" in error and "keep_replay" in error


def test_nothing_is_kept_where_the_user_wants_that(tmp_path: Path) -> None:
    run = tb_debugger_plugin.open_run(guarded(tmp_path, PROGRAMS["step"], keep_replay=False))
    assert run.bundles() == []
    with pytest.raises(NotFoundError, match="GUARD keeps those that go bad"):
        run.replay()


@pytest.mark.parametrize("keep_replay", [-1, "much", 1.5])
def test_what_is_no_size_is_refused(tmp_path: Path, keep_replay: object) -> None:
    with pytest.raises(UsageError, match="keep_replay"):
        tb_debugger_plugin.enable_dump_debug_info(tmp_path, "GUARD", keep_replay=keep_replay)  # type: ignore[arg-type]


def test_other_modes_keep_no_calls(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="keep_replay keeps the calls that GUARD runs again"):
        tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH", keep_replay=True)


def test_a_failure_of_ours_leaves_the_program_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*args: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr("tb_debugger_plugin.capture.engines.guard.bundles.write_bundle", fail)
    run = tb_debugger_plugin.open_run(guarded(tmp_path, PROGRAMS["step"]))
    assert run.origins()[0].op_name == "Log" and run.bundles() == []
    assert "`tbdbg replay` cannot run it again: no space left." in caplog.text


def test_the_command_says_it_and_its_exit_code(
    step: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(step), "--until", "add"]) == 0
    said = capsys.readouterr().out
    assert "Until add, nothing is bad." in said and "add:0  float32 [4]: min 0, max 0, mean 0" in said
    bundle = str(tb_debugger_plugin.open_run(step).bundles()[0])
    assert main(["replay", bundle, "--set", "Log=np.log(x0 + 1)", "--json", "--record", str(tmp_path)]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert [one["way"] for one in facts["tried"]] == ["as it was", "with Log = np.log(x0 + 1)"]
    assert main(["replay", str(step), "--set", "Lag=x0"]) == 1
    assert main(["replay", str(step), "--set", "Lag"]) == 1
    assert main(["replay", str(step), "--call", "9"]) == 1
    assert "has 1 kept calls, and no number 9" in capsys.readouterr().err


def test_a_bundle_that_does_more_than_compute_is_refused_once(
    step: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = read_bundle(tb_debugger_plugin.open_run(step).bundles()[0])
    functions = bundle.functions.replace(b"\x03Sum", b"\x03Foo")
    assert functions != bundle.functions
    write_bundle(tmp_path / "bundle", replace(bundle, functions=functions))
    assert main(["replay", str(tmp_path / "bundle")]) == 1
    said = capsys.readouterr()
    assert said.err.count("The bundle is refused: it runs the op Foo") == 1 and not said.out


def test_of_an_op_without_a_trial_float64_is_tried(tmp_path: Path) -> None:
    @tf.function
    def grown(x: tf.Tensor) -> tf.Tensor:
        return tf.linalg.matvec(x, x[0]) * 2.0

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        grown(tf.fill([2, 2], 1e30))
    tried = tb_debugger_plugin.open_run(tmp_path).replay().tried
    assert [one.way for one in tried] == ["as it was", "in float64"]
    assert tb_debugger_plugin.open_run(tmp_path).origins()[0].tried == (
        "Tried with the call that was kept: in float64, nothing is bad."
    )


def test_what_is_no_bundle_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_bytes(b"something")
    assert main(["replay", str(tmp_path / "file")]) == 1
    assert "is not the bundle of a call" in capsys.readouterr().err
    with pytest.raises(DebuggerError):
        read_bundle(tmp_path / "file")
