"""`live/program/api.py`: programs of all kinds wait for a debugger, are stepped, and end as they would."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.python import pywrap_tfe

import tb_debugger_plugin
from tb_debugger_plugin.errors import RecordingError, UsageError
from tb_debugger_plugin.keras import DebuggerCallback
from tb_debugger_plugin.live.messages import discovery
from tb_debugger_plugin.live.messages.messages import Call, Pause, State
from tb_debugger_plugin.live.program import api
from tb_debugger_plugin.live.program.interface import BreakpointSettings
from tests.support.checkout import ROOT
from tests.support.fake_controller import FakeController
from tests.support.live_client import Debugger
from tests.support.processes import wait_until
from tests.support.programs import heeding_ctrl_c
from tests.support.tensorflows_reader import check_every_file_set_below

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(300)]

_BEGIN = """
import os, sys
import numpy as np
import tensorflow as tf
from tensorflow.python import pywrap_tfe
import tb_debugger_plugin
from tb_debugger_plugin import tfdbg
root = sys.argv[1]
"""
_FUNCTION = """
@tf.function
def train_step(x):
    return tf.reduce_sum(tf.math.log(x))
for n in range(3):
    value = train_step(tf.constant([1.0, 2.0]))
print("sum", round(float(value), 3))
"""
_EAGER = """
x = tf.Variable([1.0, 2.0])
for n in range(3):
    x.assign(tf.exp(-x))
    tb_debugger_plugin.step()
print("sum", round(float(tf.reduce_sum(x)), 3))
"""
_LINES = """
total = tf.zeros([2])
for n in range(2):
    y = tf.exp(tf.fill([2], -1.0 * n))
    total = total + y
print("sum", round(float(total[0]), 3))
"""
_GRAPH = """
graph = tf.Graph()
with graph.as_default():
    x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
    v = tf.compat.v1.get_variable("v", initializer=1.0)
    y = tf.reduce_sum(tf.math.log(x), name="y") * v
    init = tf.compat.v1.global_variables_initializer()
"""
_SESSION = f"""{_GRAPH}
session = tfdbg.TensorBoardDebugWrapperSession(
    tf.compat.v1.Session(graph=graph), "localhost:6064", logdir=root
)
session.run(init)
for n in range(2):
    value = session.run(y, {{x: [1.0, 2.0]}})
print("sum", round(float(value), 3))
"""
_MONITORED = f"""{_GRAPH}
hooks = [tfdbg.TensorBoardDebugHook("localhost:6064", logdir=root), tfdbg.TensorBoardDebugHook(["a:1"])]
with graph.as_default(), tf.compat.v1.train.MonitoredSession(hooks=hooks) as session:
    for n in range(2):
        value = session.run(y, {{x: [1.0, 2.0]}})
print("sum", round(float(value), 3))
"""
_ENABLE = "tb_debugger_plugin.enable_breakpoints(root)\n"
#: Each program, the names of its calls as a debugger that steps over them sees them, and what it prints last.
_PROGRAMS = {
    "function": (_BEGIN + _ENABLE + _FUNCTION, ["train_step"] * 3, "sum 0.693"),
    "eager": (_BEGIN + _ENABLE + _EAGER, ["step 1", "step 2", "step 3"], "sum 0.918"),
    "session": (_BEGIN + _SESSION, ["init", "mul:0", "mul:0"], "sum 0.693"),
    "monitored session": (_BEGIN + _MONITORED, None, "sum 0.693"),
}


@contextlib.contextmanager
def _running(folder: Path, text: str, *, way: tuple[str, ...] = ()) -> Iterator[subprocess.Popen[str]]:
    script = folder / "train.py"
    script.write_text(text)
    log = folder / "log"
    command = [sys.executable, *way, str(script), str(log)]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        heeding_ctrl_c(command),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def _end(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out.strip(), err


def _nothing_is_left(folder: Path) -> bool:
    return not [path for path in folder.rglob("*") if "tb_debugger_live" in path.name]


@pytest.mark.parametrize("name", _PROGRAMS)
def test_a_program_waits_is_stepped_over_its_calls_and_ends(tmp_path: Path, name: str) -> None:
    text, names, last = _PROGRAMS[name]
    with _running(tmp_path, text) as process, Debugger(tmp_path) as debugger:
        first = debugger.pause()
        assert first.phase in (State.WAITING, State.PAUSED) and first.pause.reason == Pause.BEFORE_CALL
        assert first.HasField("call") == (name != "eager")
        while not first.HasField("call"):  # ops before the first step
            debugger.control(step_over={})
            first = debugger.pause()
        assert first.call.number == 0 and first.call.path == str(tmp_path / "train.py") and first.call.line
        calls = [first.call]
        for _ in range(2):
            debugger.control(step_over={})
            calls.append(debugger.pause().call)
        if names is not None:
            assert [call.name for call in calls] == names[:3]
        assert [call.number for call in calls] == [0, 1, 2]
        debugger.control(continue_={})
        out, err = _end(process)
        assert debugger.is_over()
    assert out.endswith(last)
    assert err.count("is waiting for the debugger at") == 1
    assert err.count("needs no address any more") == (1 if "session" in name else 0)
    assert _nothing_is_left(tmp_path)


@pytest.mark.long
def test_a_program_without_calls_waits_at_its_first_op_and_is_stepped_over_line_by_line(
    tmp_path: Path,
) -> None:
    with _running(tmp_path, _BEGIN + _ENABLE + _LINES) as process, Debugger(tmp_path) as debugger:
        lines = (tmp_path / "train.py").read_text().splitlines()
        first = debugger.pause()
        assert first.pause.reason == Pause.BEFORE_CALL and not first.HasField("call")
        assert first.pause.sentence.startswith("Paused before the first op, Fill, train.py:")
        at = []
        for _ in range(5):
            debugger.control(step_over={})
            at.append(lines[debugger.pause().pause.tensor.line - 1].split("=")[0].strip())
        assert at == ["y", "total", "y", "total", 'print("sum", round(float(total[0]), 3))']
        debugger.control(continue_={})
        out, err = _end(process)
    assert out.endswith("sum 1.368") and err.count("is waiting for the debugger at") == 1


@pytest.mark.long
def test_the_facts_of_a_call_are_its_arguments_its_line_and_its_thread(tmp_path: Path) -> None:
    with _running(tmp_path, _BEGIN + _ENABLE + _FUNCTION) as process, Debugger(tmp_path) as debugger:
        call = debugger.pause().call
        assert (call.kind, call.name, list(call.feeds)) == (Call.FUNCTION, "train_step", ["x: float32 [2]"])
        assert call.thread == "MainThread"
        assert (tmp_path / "train.py").read_text().splitlines()[call.line - 1].strip().startswith("value =")
        debugger.control(detach={})
        _end(process)


@pytest.mark.long
def test_the_facts_of_a_session_run_are_its_feeds_fetches_and_targets(tmp_path: Path) -> None:
    with _running(tmp_path, _BEGIN + _SESSION) as process, Debugger(tmp_path) as debugger:
        init = debugger.pause().call
        assert (init.kind, list(init.targets), list(init.fetches)) == (Call.SESSION_RUN, ["init"], [])
        debugger.control(step_over={})
        call = debugger.pause().call
        assert (list(call.feeds), list(call.fetches)) == (["x:0: float32 [2]"], ["mul:0"])
        debugger.control(step={})
        inside = debugger.pause()
        assert inside.pause.HasField("tensor")  # the session got watch ops although it was made before
        debugger.control(detach={})
        _end(process)


@pytest.mark.long
def test_tbdbg_run_needs_no_change_of_the_script(tmp_path: Path) -> None:
    main = "import sys; from tb_debugger_plugin.cli.main import main; sys.exit(main(sys.argv[1:]))"
    way = ("-c", main, "run", "--interactive", "--may-change-values")
    with _running(tmp_path, _BEGIN + _FUNCTION, way=way) as process, Debugger(tmp_path) as debugger:
        state = debugger.pause()
        assert state.call.name == "train_step" and state.may_change_values
        debugger.control(continue_={})
        out, err = _end(process)
    assert out.endswith("sum 0.693") and "at " + str(tmp_path / "tb_debugger_logs") in err
    assert _nothing_is_left(tmp_path)


@pytest.mark.long
def test_ctrl_c_while_it_waits_runs_on_without_the_debugger(tmp_path: Path) -> None:
    with _running(tmp_path, _BEGIN + _ENABLE + _FUNCTION) as process:
        assert process.stderr is not None
        assert any("Ctrl-C runs on without" in line for line in process.stderr)
        process.send_signal(signal.SIGINT)
        out, err = _end(process)
    assert out.endswith("sum 0.693") and "KeyboardInterrupt" not in err
    assert _nothing_is_left(tmp_path)


@pytest.mark.long
def test_ctrl_c_at_a_tensor_runs_on_and_ctrl_c_while_it_runs_ends_the_program(tmp_path: Path) -> None:
    text = _BEGIN + _ENABLE + _FUNCTION + "print('ready', flush=True)\nimport time\ntime.sleep(60)\n"
    with _running(tmp_path, text) as process, Debugger(tmp_path) as debugger:
        debugger.pause()
        debugger.control(step={})
        assert debugger.pause().pause.HasField("tensor")
        process.send_signal(signal.SIGINT)
        debugger.wait(lambda state: state.phase == State.DETACHED)
        assert process.stdout is not None
        assert any("ready" in line for line in process.stdout)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert "KeyboardInterrupt" in err and process.returncode
    assert _nothing_is_left(tmp_path)


@pytest.mark.long
def test_a_program_that_is_killed_while_it_waits_leaves_a_file_that_the_next_one_removes(
    tmp_path: Path,
) -> None:
    with _running(tmp_path, _BEGIN + _ENABLE + _FUNCTION) as process:
        with Debugger(tmp_path) as debugger:
            debugger.pause()
            process.kill()
            process.wait()
            assert debugger.is_over()
    (left,) = discovery.find(tmp_path / "log")
    assert left.program is not None and left.program.has_ended
    with tb_debugger_plugin.enable_breakpoints(tmp_path / "log", wait=False):
        (now,) = discovery.find(tmp_path / "log")
        assert now.program is not None and now.program.pid == os.getpid()


@pytest.mark.long
def test_a_program_that_nobody_waits_for_runs_and_is_paused_when_a_debugger_comes(tmp_path: Path) -> None:
    text = (
        _BEGIN
        + "tb_debugger_plugin.enable_breakpoints(root, wait=False)\n"
        + _FUNCTION.replace("range(3)", "range(1_000_000)")
    )
    with _running(tmp_path, text), Debugger(tmp_path) as debugger:
        debugger.wait(lambda state: state.phase == State.RUNNING)
        debugger.control(pause={})
        assert debugger.pause().call.name == "train_step"


# In this process.


@tf.function
def _double(x: tf.Tensor) -> tf.Tensor:
    return x * 2.0


@tf.function
def _failing(x: tf.Tensor) -> tf.Tensor:
    return tf.debugging.check_numerics(tf.math.log(-x), "bad")


def _with_fake(folder: Path, **settings: bool) -> tuple[api.Breakpoints, FakeController]:
    made: list[FakeController] = []

    def make(given: BreakpointSettings, program: object) -> FakeController:
        made.append(FakeController(given, program))  # type: ignore[arg-type]
        return made[0]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(api, "_make_controller", make)
        return api.begin(folder, BreakpointSettings(**{"wait": False, **settings})), made[0]


def test_calls_inside_calls_are_parts_and_failures_are_told(tmp_path: Path) -> None:
    breakpoints, controller = _with_fake(tmp_path)

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        return _double(x)

    with breakpoints:
        outer(tf.constant(1.0))
        with pytest.raises(tf.errors.InvalidArgumentError):
            _failing(tf.constant(1.0))
        with breakpoints.unseen():
            _double(tf.constant(1.0))
    assert [what for what, _ in controller.seen] == ["before", "after", "before", "error"]
    assert controller.seen[0] == ("before", "outer")
    _double(tf.constant(1.0))
    assert len(controller.seen) == 4


def test_what_the_controller_raises_does_not_reach_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("a failure of ours")

    for name in ("before", "after", "after_op", "close"):
        monkeypatch.setattr(FakeController, name, fails)
    breakpoints, _ = _with_fake(tmp_path)
    with breakpoints:
        breakpoints.see_eager_ops(True)
        assert float(_double(tf.constant(1.0)) + 1.0) == 3.0
        tb_debugger_plugin.step()
    assert _nothing_is_left(tmp_path)


def test_eager_ops_come_only_while_they_are_wanted_and_may_get_other_outputs(tmp_path: Path) -> None:
    breakpoints, controller = _with_fake(tmp_path)
    changes = {"Exp": 7.0, "Split": 5.0}

    def others(op_type: str, outputs: list[tf.Tensor]) -> list[tf.Tensor] | None:
        value = changes.pop(op_type, None)
        return None if value is None else [tf.fill(tf.shape(output), value) for output in outputs]

    with breakpoints:
        x = tf.Variable(2.0)
        tf.exp(x)
        assert not controller.seen
        breakpoints.see_eager_ops(True)
        controller.others = others
        with tf.GradientTape() as tape:
            y = tf.exp(x) * 2.0
        assert float(y) == 14.0 and float(tape.gradient(y, x)) == pytest.approx(2 * 2.718281828**2, rel=1e-5)
        assert [part.numpy().tolist() for part in tf.split(tf.ones([4]), 2)] == [[5.0, 5.0], [5.0, 5.0]]
        run_op = pywrap_tfe.TFE_Py_FastPathExecute  # the recording's own while it is on
        assert hasattr(run_op, "changed") and run_op.changed is None, "no op asks any more"
        breakpoints.see_eager_ops(False)
        count = len(controller.seen)
        assert ("op", "Exp") in controller.seen
        assert float(tf.exp(0.0)) == 1.0 and len(controller.seen) == count


def test_a_second_call_is_the_first_and_another_folder_ends_it(tmp_path: Path) -> None:
    one = tb_debugger_plugin.enable_breakpoints(tmp_path / "a", wait=False)
    assert tb_debugger_plugin.enable_breakpoints(tmp_path / "a", wait=False) is one
    two = tb_debugger_plugin.enable_breakpoints(tmp_path / "b", wait=False)
    assert not one.is_on and two.is_on and _nothing_is_left(tmp_path / "a")
    two.close()
    two.close()
    assert _nothing_is_left(tmp_path) and not two.recording.on


def test_breakpoints_join_a_recording_and_leave_it_on(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path) as recording:
        with tb_debugger_plugin.enable_breakpoints(tmp_path, wait=False) as breakpoints:
            assert breakpoints.recording is recording
            assert discovery.find(tmp_path)[0].program.files == recording.files  # type: ignore[union-attr]
        assert recording.on and _nothing_is_left(tmp_path)
    with tb_debugger_plugin.enable_breakpoints(tmp_path / "x", wait=False) as breakpoints:
        tb_debugger_plugin.disable_dump_debug_info()
        assert not breakpoints.is_on and _nothing_is_left(tmp_path)


def test_tensorflows_reader_does_not_see_the_file(tmp_path: Path) -> None:
    with tb_debugger_plugin.enable_breakpoints(tmp_path, wait=False) as breakpoints:
        _double(tf.constant(1.0))
        breakpoints.flush()
        assert discovery.find(tmp_path)
        check_every_file_set_below(tmp_path)


@pytest.mark.parametrize("keeps", [False, True])
def test_a_recording_that_keeps_optimizations_is_said_not_to_stop_in_functions(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, keeps: bool
) -> None:
    with tb_debugger_plugin.record(tmp_path, keep_graph_optimizations=keeps):
        tb_debugger_plugin.enable_breakpoints(tmp_path, wait=False).close()
    assert ("functions, whose optimizations are kept" in caplog.text) == keeps


def test_a_child_that_is_forked_inside_a_call_ends_without_the_controller(tmp_path: Path) -> None:
    breakpoints, controller = _with_fake(tmp_path)
    children: list[int] = []

    @tf.function(autograph=False)
    def forks() -> tf.Tensor:
        children.append(os.fork())  # while the function is traced, inside its call
        if not children[0]:
            raise RuntimeError("TensorFlow has no threads in a child")
        return tf.constant(1.0)

    with breakpoints:
        try:
            forks()
        finally:
            if children == [0]:
                os._exit(int(len(controller.seen) != 1))
        assert os.waitpid(children[0], 0)[1] == 0
        assert [what for what, _ in controller.seen] == ["before", "after"]


def test_a_block_and_a_callback_are_interactive_only_if_asked(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path / "a", interactive=True, wait=False) as recording:
        assert recording.requested.mode.name == "FULL_NUMERICS" and discovery.find(tmp_path / "a")
    assert _nothing_is_left(tmp_path)
    with tb_debugger_plugin.record(tmp_path / "b") as recording:
        assert recording.requested.mode.name == "FULL_HEALTH" and not discovery.find(tmp_path / "b")
    with pytest.raises(UsageError, match="only for interactive=True"):
        DebuggerCallback(tmp_path, wait=False)
    model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse", jit_compile=False)
    seen: list[bool] = []
    look = tf.keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs=None: seen.append(bool(discovery.find(tmp_path / "c")))
    )
    callback = DebuggerCallback(tmp_path / "c", interactive=True, wait=False)
    model.fit(tf.ones([2, 1]), tf.ones([2, 1]), verbose=0, callbacks=[callback, look])
    assert seen == [True] and _nothing_is_left(tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        {"wait": -1},
        {"wait": "x"},
        {"when_alone": -1},
        {"when_alone": "x"},
        {"max_held_bytes": 1.5},
        {"address": "a/b"},
        {"address": "host:99999"},
        {"nonsense": 1},
    ],
    ids=str,
)
def test_arguments_that_cannot_be_used_are_said_and_leave_nothing(tmp_path: Path, arguments: dict) -> None:
    with pytest.raises((UsageError, TypeError)):
        tb_debugger_plugin.enable_breakpoints(tmp_path, **arguments)
    assert _nothing_is_left(tmp_path)


def test_a_remote_logdir_and_a_taken_address_are_errors(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="on this machine"):
        tb_debugger_plugin.enable_breakpoints("gs://bucket/logs")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(RecordingError, match="cannot listen"):
            tb_debugger_plugin.enable_breakpoints(tmp_path, address=address, wait=False)
    assert _nothing_is_left(tmp_path)


def test_a_forked_child_is_not_stopped_and_leaves_the_file_to_its_parent(tmp_path: Path) -> None:
    breakpoints, controller = _with_fake(tmp_path)
    with breakpoints:
        child = os.fork()
        if not child:
            os._exit(0 if not breakpoints.is_on and discovery.find(tmp_path) else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert breakpoints.is_on and discovery.find(tmp_path)
        _double(tf.constant(1.0))
        assert len(controller.seen) == 2


def test_without_the_native_library_it_says_what_does_not_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tb_debugger_plugin.native, "load", lambda: None)
    breakpoints, controller = _with_fake(tmp_path)
    with breakpoints:
        breakpoints.see_eager_ops(True)
        _double(tf.constant(1.0))
        tf.exp(1.0)
        assert breakpoints.recording.requested.mode.name == "FULL_HEALTH"
    assert {("before", "_double"), ("op", "Exp")} <= set(controller.seen)
    assert "not at tensors inside graphs" in caplog.text


@pytest.mark.long
def test_nothing_listens_unless_it_was_asked_for(tmp_path: Path) -> None:
    program = (
        "import sys, tensorflow, tb_debugger_plugin\n"
        "with tb_debugger_plugin.record(sys.argv[1]): tensorflow.exp(1.0)\n"
        "assert 'grpc' not in sys.modules\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert wait_until(lambda: _nothing_is_left(tmp_path), 1)
