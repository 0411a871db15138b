"""`capture/not_recorded.py`: whatever is not recorded is named in the recording, and once in the log."""

from __future__ import annotations

import logging
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import atomic_function

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.cli.main import main
from tests.support.recorded import read
from tests.support.statuses import missing_in, status_of

pytestmark = pytest.mark.tensorflow
v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def tables_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "cache"))


def risky(x: tf.Tensor) -> tf.Tensor:
    y = tf.sqrt(x)
    return tf.reduce_sum(y)


RISKY = f"risky (test_not_recorded.py:{risky.__code__.co_firstlineno + 1})"


def broken(*_: object, **__: object) -> None:
    raise KeyError("a bug of ours")


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    ours = [each for each in caplog.records if each.name == "tb_debugger_plugin"]
    return [each.getMessage() for each in ours if each.levelno >= logging.WARNING]


def test_a_program_that_is_seen_whole_has_nothing_of_the_kind(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path / "log"):
        with tf.GradientTape() as tape:
            x = tf.Variable([4.0, 9.0])
            loss = tf.function(risky)(x)
        tape.gradient(loss, x)
        tf.map_fn(tf.exp, tf.zeros([3]))
        list(tf.data.Dataset.range(2).map(lambda x: x + 1))
        compiled = tf.function(risky, jit_compile=True)
        compiled(tf.zeros([2]))
        with tf.Graph().as_default(), v1.Session() as session:
            session.run(tf.exp(0.0))
    assert missing_in(tmp_path / "log") == []


def test_a_function_that_cannot_be_watched_is_named_with_its_line_and_its_graph(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from tb_debugger_plugin.capture.engines import instrument

    function = tf.function(risky)
    with tb_debugger_plugin.record(tmp_path / "log") as recording:
        x = tf.Variable([4.0])
        with monkeypatch.context() as patch:
            patch.setattr(instrument, "define", broken)
            with tf.GradientTape() as tape:
                loss = function(x)
            assert float(loss) == 2.0
            tape.gradient(loss, x)
        tf.function(tf.square)(x)
        assert recording.on
    types = read(tmp_path / "log").types()
    assert "Square" in types and "Sqrt" not in types
    entries = status_of(tmp_path / "log")["not_recorded"]
    assert {each["reason"] for each in entries} == {"not_instrumented"}
    names = [name for each in entries for name in each["names"]]
    assert RISKY in names
    assert any(name.startswith("gradient of risky (") for name in names)
    assert all("KeyError: 'a bug of ours'" in each["message"] for each in entries)
    graphs = read(tmp_path / "log").graph_names()
    assert "risky" in {graphs[each["graph_id"]] for each in entries}
    # The log has the same words, once for each name.
    assert set(warnings_of(caplog)) <= {each["message"] for each in entries}
    assert len(warnings_of(caplog)) == len(set(names))

    caplog.clear()
    monkeypatch.setattr(instrument, "define", broken)
    with tb_debugger_plugin.record(tmp_path / "later"):
        pass
    # Not said again, but what is on record stands by itself.
    assert warnings_of(caplog) == []
    assert RISKY in [name for _, names, _ in missing_in(tmp_path / "later") for name in names]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"op_regex": "Log"}, "Only tensors of ops whose type matches 'Log' are recorded (op_regex)."),
        (
            {"function_regex": "^step"},
            "Only tensors of functions whose name contains '^step' are recorded (function_regex).",
        ),
        (
            {"name_regex": "dense"},
            "Only tensors of graph ops whose name contains 'dense' are recorded (name_regex).",
        ),
        (
            {"tensor_dtypes": ["float32", tf.int32, tf.bfloat16]},
            "Only tensors of bfloat16, float32 are recorded (tensor_dtypes).",
        ),
        (
            {"tensor_dtypes": lambda dtype: dtype == tf.float64},
            "Only tensors of float64 are recorded (tensor_dtypes).",
        ),
        ({"every_n_steps": 10}, "Only one of 10 steps is recorded (every_n_steps)."),
        ({"step_range": (3, 7)}, "Only steps 3 to 6 are recorded (step_range)."),
        ({"step_range": (3, None)}, "Only steps from 3 on are recorded (step_range)."),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_filter_is_on_record_once_and_no_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, options: dict[str, object], sentence: str
) -> None:
    caplog.set_level(logging.INFO)
    with tb_debugger_plugin.record(tmp_path / "log", **options):
        tb_debugger_plugin.step()
    assert missing_in(tmp_path / "log") == [("filtered", [], sentence)]
    assert warnings_of(caplog) == []
    assert caplog.messages.count(sentence) == 1


def test_a_filter_that_leaves_nothing_out_is_not_named(tmp_path: Path) -> None:
    def is_a_number(dtype: tf.DType) -> bool:
        return bool(dtype.is_floating or dtype.is_complex)

    with tb_debugger_plugin.record(tmp_path / "log", tensor_dtypes=is_a_number, step_range=(0, None)):
        pass
    assert missing_in(tmp_path / "log") == []


def test_functions_of_pipelines_from_before_and_without_a_graph_are_named(tmp_path: Path) -> None:
    before = tf.data.Dataset.range(2).map(lambda x: risky(tf.cast(x, tf.float32)))
    concrete = tf.function(lambda x: tf.exp(x)).get_concrete_function(tf.TensorSpec([]))

    def without_graph(name: str) -> atomic_function.AtomicFunction:
        definition = concrete.function_def
        definition.signature.name = name
        return atomic_function.from_function_def(definition, concrete.function_type)

    there = without_graph("was_there")
    with tb_debugger_plugin.record(tmp_path / "log"):
        list(before)
        there(tf.zeros([]))
        without_graph("called_from_python")(tf.zeros([]))
        inner = without_graph("called_in_a_graph")
        tf.function(lambda x: inner(x) + 1.0)(tf.zeros([]))
    entries = {tuple(names): (reason, message) for reason, names, message in missing_in(tmp_path / "log")}
    assert {key: reason for key, (reason, _) in entries.items() if "lambda" not in key[0]} == {
        ("was_there",): "no_graph",
        ("called_from_python",): "no_graph",
        ("called_in_a_graph",): "no_graph",
    }
    ((names, (reason, message)),) = [each for each in entries.items() if "lambda" in each[0][0]]
    assert reason == "made_before"
    assert names[0] in message and names[0].startswith("<lambda> (test_not_recorded.py:")


def test_functions_that_such_functions_call_are_named_too_also_in_sessions(tmp_path: Path) -> None:
    from tensorflow.python.framework import function

    def program() -> tf.Tensor:
        inner = function.Defun(tf.float32, func_name="inner")(lambda x: tf.sqrt(x))
        return function.Defun(tf.float32, func_name="outer")(lambda x: inner(x) + 1.0)(tf.ones([]))

    with tb_debugger_plugin.record(tmp_path / "function"):
        assert float(tf.function(program)()) == 2.0
    with tb_debugger_plugin.record(tmp_path / "session"), tf.Graph().as_default():
        with tf.compat.v1.Session() as session:
            assert session.run(program()) == 2.0
    for name in ("function", "session"):
        ((reason, names, _),) = missing_in(tmp_path / name)
        assert (reason, list(names)) == ("no_graph", ["inner", "outer"])


def test_sessions_from_before_are_on_record_with_what_they_were_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tb_debugger_plugin.capture.engines import plain

    with tf.Graph().as_default():
        root = tf.sqrt(4.0, name="root")
        with v1.Session() as early, tb_debugger_plugin.record(tmp_path / "log"):
            assert early.run(root) == 2.0
            monkeypatch.setattr(plain, "plan_of_session", broken)
            with v1.Session() as session:
                assert session.run(root) == 2.0
    entries = status_of(tmp_path / "log")["not_recorded"]
    assert [(each["reason"], each["names"], each["graph_id"] is None) for each in entries] == [
        ("made_before", ["root:0"], True),
        ("not_instrumented", [], False),
    ]
    assert "a bug of ours" in entries[1]["message"]


def test_what_xla_does_not_hand_out_is_named(tmp_path: Path) -> None:
    @tf.function(jit_compile=True)
    def rounds(x: tf.Tensor) -> tf.Tensor:
        # The condition is bad at once, and nobody sees it.
        return tf.while_loop(lambda y: tf.reduce_all(tf.sqrt(y - 10.0) > 0.1), lambda y: (y * 0.5,), (x,))[0]

    with tb_debugger_plugin.record(tmp_path / "log") as recording:
        rounds(tf.constant([1.0, 2.0]))
        assert recording.on
    ((reason, names, message),) = missing_in(tmp_path / "log")
    assert reason == "compiled"
    assert len(names) == 1 and "test_not_recorded.py:" in names[0]
    assert "XLA compiles the function" in message and "jit_compile=True" in message


def test_without_the_native_library_the_inside_of_xla_and_dtypes_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = tf.function(risky, jit_compile=True)
    monkeypatch.setattr(native, "load", lambda: None)
    with tb_debugger_plugin.record(tmp_path / "log"):
        np.testing.assert_array_equal(compiled(tf.constant([4.0, 9.0])), 5.0)
    entries = {reason: (names, message) for reason, names, message in missing_in(tmp_path / "log")}
    assert entries["compiled"][0] == [RISKY]
    assert "the inside of the function risky" in entries["compiled"][1]
    assert entries["filtered"][1].startswith("Tensors of complex128, complex64, float8")
    assert len(entries) == 2


def test_what_keeping_graph_optimizations_leaves_out_is_named(tmp_path: Path) -> None:
    compiled = tf.function(risky, jit_compile=True)
    with tb_debugger_plugin.record(tmp_path / "log", keep_graph_optimizations=True):
        compiled(tf.constant([4.0]))
        with tf.Graph().as_default(), v1.Session() as session:
            session.run(tf.exp(0.0))
    entries = missing_in(tmp_path / "log")
    assert {reason for reason, _, _ in entries} == {"optimized"}
    # Other modules have functions of their own, which this recording finds as well.
    assert [names for _, names, _ in entries].count([]) == 2
    assert [RISKY] in [names for _, names, _ in entries]
    assert any("nothing in sessions" in message for _, _, message in entries)
    assert any("(keep_graph_optimizations)" in message for _, _, message in entries)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_keras_on_another_backend_is_said_once_and_on_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, when: str
) -> None:
    def switch() -> None:
        # What a program with KERAS_BACKEND=jax answers; JAX itself has nothing to do with ours.
        monkeypatch.setattr(keras.config, "backend", lambda: "jax")

    if when == "before":
        switch()
    with tb_debugger_plugin.record(tmp_path / "log"):
        switch()
        tf.function(risky)(tf.constant([4.0]))
    (line,) = warnings_of(caplog)
    assert "Keras computes with jax" in line and "KERAS_BACKEND" in line
    assert missing_in(tmp_path / "log") == [("other_backend", [], line)]
    assert "Sqrt" in read(tmp_path / "log").types()


def test_a_record_of_it_that_cannot_be_written_reaches_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from tb_debugger_plugin.capture.engines import instrument

    with tb_debugger_plugin.record(tmp_path / "log") as recording:
        monkeypatch.setattr(recording._not_recorded, "_writer", None)
        monkeypatch.setattr(instrument, "define", broken)
        assert float(tf.function(risky)(tf.constant([4.0]))) == 2.0
        assert recording.on
    assert len(warnings_of(caplog)) == 1


@pytest.mark.parametrize("with_library", [True, False], ids=["native", "stock"])
@pytest.mark.parametrize("when", ["at once", "meanwhile"])
def test_a_recording_that_a_failure_of_ours_ended_says_so_everywhere(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    when: str,
    with_library: bool,
) -> None:
    from tb_debugger_plugin.capture import recording as recordings

    if not with_library:
        monkeypatch.setattr(native, "load", lambda: None)
    if when == "at once":
        monkeypatch.setattr(recordings, "existing_functions", broken)
    with tb_debugger_plugin.record(tmp_path / "log") as recording:
        if when == "meanwhile":
            tf.square([4.0])
            monkeypatch.setattr(recording, "_eager", None)
        np.testing.assert_array_equal(tf.sqrt([4.0]), [2.0])
        assert not recording.on
    entries = [each for each in missing_in(tmp_path / "log") if each[0] != "filtered"]
    ((reason, _, message),) = entries
    assert reason == "stopped"
    why = "KeyError: 'a bug of ours'" if when == "at once" else "AttributeError: 'NoneType' object"
    assert "stopped early" in message and why in message
    assert main(["info", str(tmp_path / "log")]) == 0
    assert why in capsys.readouterr().out
