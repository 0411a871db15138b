"""`tfdbg/hooks.py`: hooks of real monitored sessions, one and several together."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import tfdbg
from tb_debugger_plugin.shell.program import Detach, Leave
from tests.support.scripted import Script, go_on
from tests.support.session_nets import Net, v1


@pytest.fixture
def net():
    made = Net()
    with made.graph.as_default():
        yield made


def _losses(net, hooks, starts=(3.0, 2.0, 0.5), make=v1.train.MonitoredSession, **options):
    with make(hooks=hooks, **options) as session:
        return [session.run([net.logs, net.train], {net.x: [start, 5]})[0] for start in starts]


@pytest.mark.parametrize("make", [v1.train.MonitoredSession, v1.train.SingularMonitoredSession])
def test_the_shell_opens_around_the_calls_of_a_monitored_session(net, make):
    plain = _losses(net, [], make=make)
    script = Script(go_on(), ["lt", "ni -t logs", go_on(is_profiled=True)], ["lp -n logs", go_on()], go_on())
    found = _losses(net, [tfdbg.LocalCLIDebugHook(ui_type=script)], make=make)
    assert [one.tobytes() for one in found] == [one.tobytes() for one in plain]
    assert [(call.number, call.is_over) for call in script.calls] == [
        (1, False),
        (1, True),
        (2, True),
        (3, True),
    ]
    call = script.calls[0]
    assert (
        call.what == "MonitoredSession.run()" and call.fetches == ("logs:0",) and call.targets == ("train",)
    )
    shown = script.texts()
    assert "logs:0" in shown[1] and "session_nets.py" in shown[1] and "logs" in shown[2]


def test_a_filter_may_be_added_before_and_after_the_session_is_made(net):
    script = Script(go_on(till_filter="first"), go_on(till_filter="second"), ["lt"])
    hook = tfdbg.LocalCLIDebugHook(ui_type=script)
    hook.add_tensor_filter("first", lambda datum, value: datum.node_name == "logs" and value[0] < 1)
    with v1.train.MonitoredSession(hooks=[hook]) as session:
        hook.add_tensor_filter("second", lambda datum, value: datum.node_name == "logs" and value[0] < 0)
        for start in (3.0, 2.0, 0.5, 0.2):
            session.run(net.logs, {net.x: [start, 5]})
    assert [call.number for call in script.calls] == [1, 2, 3]
    assert script.calls[-1].passed_filter == "second" and "logs:0" in script.texts()[-1]


def test_several_hooks_each_get_what_they_watch(net, tmp_path):
    everything, named = Script(go_on(), ["lt", go_on()], ["lt"]), Script(go_on(node_names="lo"), ["lt"])
    logged = []
    hooks = [
        tfdbg.LocalCLIDebugHook(ui_type=everything),
        tfdbg.DumpingDebugHook(tmp_path),
        v1.train.LoggingTensorHook(
            [net.logs], every_n_iter=1, formatter=lambda values: logged.append(values)
        ),
        tfdbg.LocalCLIDebugHook(ui_type=named),
    ]
    found = _losses(net, hooks)
    assert [one.tobytes() for one in found] == [one.tobytes() for one in _losses(net, [])]
    assert all("logs:0" in text and "scaled:0" in text for text in everything.texts()[1:])
    assert "logs:0" in named.texts()[1] and "scaled:0" not in named.texts()[1]
    assert len(logged) == 3
    with tb_debugger_plugin.open_run(tmp_path) as run:
        np.testing.assert_array_equal([value[...] for value in run.values("logs:0")], found)
        assert len(run.values("scaled:0")) == 3


# TensorFlow 2.20 writes graphs in a way of which protobuf 6 warns.
@pytest.mark.filterwarnings("ignore:float_format is deprecated")
def test_each_call_is_dumped_into_a_folder_of_its_own_while_checkpoints_are_written(net, tmp_path):
    def watch(fetches, feeds):
        return tfdbg.WatchOptions(node_name_regex_allowlist="logs" if feeds else "v$")

    for number in range(2):  # the second one restores the checkpoint of the first
        root = tmp_path / f"root{number}"
        hook = tfdbg.DumpingDebugHook(root, watch_fn=watch)
        options = {"checkpoint_dir": str(tmp_path / "checkpoints"), "save_checkpoint_steps": 1}
        _losses(net, [hook], make=v1.train.MonitoredTrainingSession, **options)
        dump = tb_debugger_plugin.DebugDumpDir(root)
        assert len(dump.get_tensors("logs", 0, "DebugIdentity")) == 3
        assert "scaled:0:DebugIdentity" not in {one.watch_key for one in dump.dumped_tensor_data}
    assert v1.train.load_checkpoint(str(tmp_path / "checkpoints")).get_tensor("global_step") == 6


def test_the_folders_of_hooks_must_be_empty(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="session_root path points to a non-empty directory"):
        tfdbg.DumpingDebugHook(str(tmp_path))
    with pytest.raises(ValueError, match="dump_root path points to a file"):
        tfdbg.LocalCLIDebugHook(dump_root=str(tmp_path / "file"))


def test_other_threads_are_not_debugged(net, tmp_path):
    script = Script(go_on())
    hooks = [
        tfdbg.LocalCLIDebugHook(ui_type=script, thread_name_filter="Worker"),
        tfdbg.DumpingDebugHook(tmp_path, thread_name_filter="Worker"),
    ]
    _losses(net, hooks)
    assert not script.calls and not list(tmp_path.iterdir())
    thread = threading.Thread(target=_in_graph, args=(net, hooks), name="Worker1")
    thread.start()
    thread.join()
    assert len(script.calls) == 2 and len(tb_debugger_plugin.DebugDumpDir(tmp_path).core_metadata) == 3


def _in_graph(net, hooks):
    with net.graph.as_default():
        _losses(net, hooks)


def test_an_error_opens_the_shell_and_reaches_the_program(net):
    first, second = Script(go_on(), ["ni -t checked", go_on()], go_on()), Script(*[go_on()] * 9)
    hooks = [tfdbg.LocalCLIDebugHook(ui_type=script) for script in (first, second)]
    with pytest.raises(tf.errors.InvalidArgumentError), v1.train.MonitoredSession(hooks=hooks) as session:
        raw = session._tf_sess()
        session.run(net.checked, {net.x: [0, 5]})
    assert "run" not in vars(raw)
    assert [call.error is None for call in first.calls] == [True, False]
    assert "session_nets.py" in first.texts()[1] and second.calls[1].error is first.calls[1].error
    _losses(net, hooks, starts=(1.0,))
    assert "logs:0" in first.texts()[-1] and first.calls[-1].error is None


def test_the_end_of_the_data_is_no_error(net):
    with net.graph.as_default():
        data = v1.data.make_one_shot_iterator(tf.data.Dataset.range(2)).get_next()
        script = Script(*[go_on()] * 9)
        with v1.train.MonitoredSession(hooks=[tfdbg.LocalCLIDebugHook(ui_type=script)]) as session:
            while not session.should_stop():
                session.run(data)
    assert all(call.error is None for call in script.calls) and len(script.calls) == 3


def test_leaving_the_shell_ends_the_program(net):
    hook = tfdbg.LocalCLIDebugHook(ui_type=Script(go_on(), Leave()))
    with pytest.raises(SystemExit) as ended:
        _losses(net, [hook])
    assert ended.value.code == 1


def test_without_anybody_at_the_shell_the_program_is_the_plain_one(net):
    script = Script(Detach())
    found = _losses(net, [tfdbg.LocalCLIDebugHook(ui_type=script)])
    assert [one.tobytes() for one in found] == [one.tobytes() for one in _losses(net, [])]
    assert len(script.calls) == 1
