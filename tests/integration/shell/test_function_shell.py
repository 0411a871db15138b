"""`tb_debugger_plugin/tfdbg/function_shell.py`: the shell around functions stops where the user wants."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native, tfdbg
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.dumps.datum import DebugTensorDatum
from tb_debugger_plugin.shell.program import Detach, Leave, RunRequest
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.tfdbg.function_shell import FunctionShell
from tests.support.scripted import TILL_BAD, ScriptedUser, lines_of, tensors


@tf.function
def entropy(probabilities: tf.Tensor) -> tf.Tensor:
    scaled = probabilities * tf.constant(1.0, name="one")
    return tf.reduce_sum(tf.math.log(scaled), name="total")


GOOD, BAD = tf.constant([0.5, 0.5]), tf.constant([0.0, 1.0])


def debug(
    user: ScriptedUser, *batches: tf.Tensor, dump_root: Path | None = None, **options: object
) -> list[float]:
    """Call the function for each batch under the shell."""
    with FunctionShell(dump_root, converse=user, **options):
        return [float(entropy(batch)) for batch in batches]


def test_it_stops_before_the_first_call_and_after_each_run() -> None:
    user = ScriptedUser()
    debug(user, GOOD, BAD, GOOD)
    assert user.stops == [">1", "1>", "2>", "3>"]
    assert {call.what for call in user.calls} == {"entropy"}
    assert user.calls[2].feeds["probabilities"].tolist() == [0.0, 1.0]


def test_run_t_records_only_the_last_call() -> None:
    looked: list[int] = []
    user = ScriptedUser([RunRequest(times=3)], lambda shell: looked.append(_num_executions(shell)))
    debug(user, *[GOOD] * 5)
    assert user.stops == [">1", "3>", "4>", "5>"]
    assert looked == [0, 1, 1, 1]


def _num_executions(shell: Shell) -> int:
    return 0 if shell.logdir is None else len(shell.run.executions())


def test_run_n_records_nothing_and_stops_before_the_next_call() -> None:
    user = ScriptedUser([RunRequest(is_recorded=False), RunRequest(is_recorded=False, times=2), Detach()])
    debug(user, *[GOOD] * 5)
    assert user.stops == [">1", ">2", ">4"]


def test_without_the_native_library_it_finds_the_same_call_and_shows_its_tensors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def look(shell: Shell) -> None:
        assert shell.call is not None
        if shell.call.is_over:
            seen.append(tensors(shell, "-f has_inf_or_nan"))

    found = []
    for load in (native.load, lambda: None):
        monkeypatch.setattr(native, "load", load)
        seen: list[list[str]] = []
        user = ScriptedUser([TILL_BAD, Detach()], look)
        debug(user, GOOD, GOOD, BAD, GOOD)
        assert user.stops == [">1", "3>"]
        (names,) = seen
        found.append(names)
    assert sorted(found[0]) == sorted(found[1]) and found[0]


def test_run_f_goes_on_until_a_tensor_is_bad_and_shows_that_call() -> None:
    seen: dict[str, list[str] | list[float] | str] = {}

    def look(shell: Shell) -> None:
        assert shell.call is not None
        if shell.call.is_over:
            seen["bad"] = tensors(shell, "-f has_inf_or_nan")
            seen["all"] = tensors(shell)
            seen["input"] = shell.run.value("mul:0")[:].tolist()
            seen["filter"] = shell.call.passed_filter

    user = ScriptedUser([TILL_BAD, Detach()], look)
    debug(user, GOOD, GOOD, BAD, GOOD)
    assert user.stops == [">1", "3>"]
    assert seen["bad"] == ["Log:0", "total:0"]
    assert {"probabilities:0", "mul:0", "Log:0", "total:0", "one:0"} <= set(seen["all"])
    assert seen["input"] == [0.0, 1.0]
    assert seen["filter"] == "has_inf_or_nan"


def test_eager_ops_belong_to_the_next_call_or_to_the_end_of_the_block() -> None:
    bad: list[int] = []
    user = ScriptedUser([TILL_BAD, TILL_BAD], lambda shell: bad.append(_num_bad_executions(shell)))
    with FunctionShell(None, converse=user):
        entropy(GOOD)
        tf.math.log(tf.zeros(2))
        entropy(GOOD)
        entropy(GOOD)
        tf.math.log(tf.zeros(2))
    assert [(call.number, call.what) for call in user.calls[1:]] == [
        (2, "entropy"),
        (4, "the end of the block"),
    ]
    assert bad == [0, 1, 1]


def _num_bad_executions(shell: Shell) -> int:
    return 0 if shell.logdir is None else len(shell.run.executions(health="bad"))


def test_filters_in_python_get_a_datum_and_an_array() -> None:
    asked: list[tuple[str, object]] = []

    def is_negative(datum: DebugTensorDatum, value: object) -> bool:
        asked.append((datum.tensor_name, value))
        return datum.node_name == "total" and isinstance(value, np.ndarray) and value < -3.0

    user = ScriptedUser([RunRequest(till_filter="is_negative"), Detach()])
    made = FunctionShell(None, converse=user)
    made.add_tensor_filter("is_negative", is_negative)
    with made:
        entropy(GOOD)
        entropy(tf.constant([0.01, 0.5]))
    assert user.stops == [">1", "2>"]
    assert ("probabilities:0", [0.5, 0.5]) in [(name, np.asarray(value).tolist()) for name, value in asked]


def test_a_filter_that_fails_says_so_once_and_the_program_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    def fail(datum: DebugTensorDatum, value: object) -> bool:
        raise LookupError("no such thing")

    made = FunctionShell(None, converse=ScriptedUser([RunRequest(till_filter="broken"), Detach()]))
    made.add_tensor_filter("broken", fail)
    with made:
        assert [float(entropy(GOOD)) < 0 for _ in range(4)] == [True] * 4
    assert capsys.readouterr().err.count("no such thing") == 1


def test_tensors_whose_names_are_excluded_do_not_stop() -> None:
    user = ScriptedUser([TILL_BAD._replace(exclude_names="^(Log|total)"), Detach()])
    debug(user, GOOD, BAD, GOOD)
    assert user.stops == [">1"]


def test_only_chosen_tensors_are_in_the_recording_of_a_call() -> None:
    seen: list[list[str]] = []
    chosen = RunRequest(node_names="(L|t|m)", op_types=".*(Log|Mul)$", dtypes="float")

    def look(shell: Shell) -> None:
        if shell.logdir is not None:
            seen.append(tensors(shell))

    debug(ScriptedUser([chosen], look), GOOD, GOOD)
    assert sorted(seen[0]) == ["Log:0", "mul:0"]
    assert len(seen[1]) > 3


def test_a_profile_of_a_function_says_why_there_is_none() -> None:
    user = ScriptedUser([RunRequest(is_profiled=True)])
    debug(user, GOOD)
    assert "no profile" in user.calls[1].notes[0]


@tf.function
def checked(x: tf.Tensor) -> tf.Tensor:
    doubled = tf.multiply(x, 2.0, name="doubled")
    with tf.control_dependencies([tf.debugging.assert_less(doubled, 10.0, message="too large")]):
        return tf.identity(doubled)


def test_an_op_that_fails_opens_the_shell_and_the_program_gets_its_error() -> None:
    seen: list[str] = []

    def look(shell: Shell) -> None:
        assert shell.call is not None
        if shell.call.error is not None:
            seen.extend(lines_of(shell, "run_info"))
            seen.extend(tensors(shell))

    user = ScriptedUser([TILL_BAD, Detach()], look)
    with FunctionShell(None, converse=user):
        checked(tf.constant(1.0))
        with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
            checked(tf.constant(7.0))
        checked(tf.constant(1.0))
    assert user.stops == [">1", "2>"]
    assert isinstance(user.calls[1].error, tf.errors.InvalidArgumentError)
    assert "doubled:0" in seen
    assert any("ni -a -d -t assert_less/Assert" in line for line in seen), seen


def test_other_exceptions_pass_without_a_stop() -> None:
    @tf.function
    def fails(x: tf.Tensor) -> tf.Tensor:
        raise ValueError("of the program")

    @tf.function
    def interrupted(x: tf.Tensor) -> tf.Tensor:
        raise KeyboardInterrupt

    iterator = iter(tf.data.Dataset.range(1))
    following = tf.function(lambda: next(iterator))
    user = ScriptedUser([TILL_BAD])
    with FunctionShell(None, converse=user):
        with pytest.raises(ValueError, match="of the program"):
            fails(GOOD)
        with pytest.raises(KeyboardInterrupt):
            interrupted(GOOD)
        following()
        with pytest.raises(tf.errors.OutOfRangeError):
            following()
        entropy(BAD)
    assert user.stops == [">1", "5>"]


def test_exit_ends_the_program_with_status_1(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        debug(ScriptedUser([RunRequest(), Leave()]), GOOD, GOOD)
    assert ended.value.code == 1
    assert "left with `exit`" in capsys.readouterr().err


def test_a_program_without_the_shell_runs_on_without_a_recording() -> None:
    user = ScriptedUser([RunRequest(), Detach()])
    made = FunctionShell(None, converse=user)
    with made:
        entropy(GOOD)
        assert not made.is_on
        entropy(GOOD)
    assert user.stops == [">1", "1>"]


def test_steps_are_calls_in_a_program_without_functions() -> None:
    bad: list[list[str]] = []

    def look(shell: Shell) -> None:
        if shell.logdir is not None:
            bad.append([row.op_type for row in shell.run.executions()])

    user = ScriptedUser([TILL_BAD, RunRequest(is_recorded=False), Detach()], look)
    with FunctionShell(None, converse=user):
        for at in range(6):
            tf.math.log(tf.cast(3 - at, tf.float32))
            tb_debugger_plugin.step()
    assert [(call.what, call.is_over) for call in user.calls] == [
        ("step 1", True),
        ("step 4", True),
        ("step 6", False),
    ]
    assert [types[-1] for types in bad] == ["Log", "Log"]


def test_steps_are_ignored_where_functions_are_called() -> None:
    user = ScriptedUser()
    with FunctionShell(None, converse=user):
        for _ in range(3):
            entropy(GOOD)
            tb_debugger_plugin.step()
    assert user.stops == [">1", "1>", "2>", "3>"]


def test_folders_of_calls_stay_below_a_dump_root(tmp_path: Path) -> None:
    root = tmp_path / "calls"
    debug(ScriptedUser([TILL_BAD, RunRequest()]), GOOD, BAD, GOOD, dump_root=root)
    assert {"call-2", "call-3"} == {path.name for path in root.iterdir()} - {"recording"}
    for number, num_bad in ((2, 2), (3, 0)):
        with tb_debugger_plugin.open_run(root / f"call-{number}") as run:
            assert len(run.graph_executions(health="bad")) == num_bad
            assert len(run.executions()) == 1


def test_a_dump_root_that_is_used_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="dump_root path points to a non-empty directory"):
        tfdbg.shell(tmp_path, ui="plain")
    with pytest.raises(UsageError, match="dump_root path points to a file"):
        tfdbg.shell(tmp_path / "file", ui="plain")


def test_a_temporary_folder_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    debug(ScriptedUser([RunRequest(), TILL_BAD]), GOOD, BAD)
    assert not list(tmp_path.glob("tbdbg-*"))
    assert not list((tmp_path / "cache").glob("*.duckdb"))


def test_without_a_terminal_one_line_is_printed_and_nothing_stops(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        with tfdbg.shell() as made:
            assert not made.is_on
            entropy(BAD)
    assert capsys.readouterr().err.splitlines() == [
        "tbdbg: There is no terminal, so the program runs on without the shell."
    ]


def test_another_recording_ends_the_shell_with_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    user = ScriptedUser()
    with FunctionShell(None, converse=user):
        entropy(GOOD)
        with tb_debugger_plugin.record(tmp_path):
            entropy(GOOD)
            entropy(GOOD)
    assert user.stops == [">1", "1>"]
    assert capsys.readouterr().err.count("its recording has ended") == 1


def test_a_shell_inside_a_shell_does_nothing() -> None:
    outer, inner = ScriptedUser(), ScriptedUser()
    with FunctionShell(None, converse=outer), FunctionShell(None, converse=inner):
        entropy(GOOD)
    assert outer.stops == [">1", "1>"]
    assert inner.stops == []


def test_only_threads_with_a_chosen_name_stop() -> None:
    names: list[str] = []
    user = ScriptedUser(look=lambda shell: names.append(threading.current_thread().name))
    with FunctionShell(None, converse=user, thread_name_filter="trainer"):
        for name in ("loader", "trainer_1"):
            thread = threading.Thread(target=lambda: entropy(GOOD), name=name)
            thread.start()
            thread.join()
    assert names == ["trainer_1", "trainer_1"]
    with pytest.raises(UsageError, match="not a regular expression"):
        FunctionShell(None, converse=user, thread_name_filter="(")


def test_two_threads_never_have_the_shell_open_at_once() -> None:
    state = {"open": 0, "most": 0}
    some_time = threading.Event()

    def look(shell: Shell) -> None:
        state["open"] += 1
        state["most"] = max(state["most"], state["open"])
        some_time.wait(0.02)
        state["open"] -= 1

    user = ScriptedUser(look=look)
    with FunctionShell(None, converse=user):
        threads = [threading.Thread(target=lambda: [entropy(GOOD) for _ in range(4)]) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert state["most"] == 1
    assert len(user.calls) >= 5


def test_a_forked_child_has_no_shell() -> None:
    user = ScriptedUser()
    with FunctionShell(None, converse=user):
        entropy(GOOD)
        child = os.fork()
        if child == 0:
            # No TensorFlow here: its threads are not in the child. Only the way of a call is tried.
            from tb_debugger_plugin.tfdbg import function_shell

            current = function_shell._current
            os._exit(0 if current is not None and not current._is_here() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        entropy(GOOD)
    assert user.stops == [">1", "1>", "2>"]
