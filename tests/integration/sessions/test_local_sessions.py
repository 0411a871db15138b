"""`tfdbg/local_session.py`: real sessions, with a script in the place of whoever types commands."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

import tb_debugger_plugin
from tb_debugger_plugin import tfdbg
from tb_debugger_plugin.shell.program import Detach, Leave
from tests.support.scripted import Script, go_on
from tests.support.session_nets import Net, v1

ENDLESS = [go_on() for _ in range(20)]


@pytest.fixture(scope="module")
def net():
    return Net()


@pytest.fixture(scope="module")
def session(net):
    with net.session() as session:
        yield session


@pytest.fixture(autouse=True)
def database_folder(tmp_path_factory, monkeypatch):
    """The tables of the dumps; after each call none are left."""
    folder = tmp_path_factory.mktemp("tables")
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(folder))
    yield folder
    assert not list(folder.iterdir())


def _wrapped(session, *visits, **options):
    script = Script(*visits)
    return script, tfdbg.LocalCLIDebugWrapperSession(session, ui_type=script, **options)


def _stops(script):
    return [f"{'after' if call.is_over else 'before'} {call.number}" for call in script.calls]


def test_the_shell_shows_each_call_and_its_results_are_the_sessions_own(net, session):
    script, wrapped = _wrapped(session, go_on(), ["lt", "ni -t logs", go_on()], go_on(times=2), go_on())
    feeds = [{net.x: [start, 5]} for start in (3.0, 2.0, 0.0, 1.0)]
    results = [wrapped.run([net.logs, {"v": net.v}], feed_dict=one) for one in feeds]
    plain = [session.run([net.logs, {"v": net.v}], feed_dict=one) for one in feeds]
    for (logs, values), (expected, expected_values) in zip(results, plain, strict=True):
        assert logs.tobytes() == expected.tobytes()
        assert values["v"].tobytes() == expected_values["v"].tobytes()
    assert _stops(script) == ["before 1", "after 1", "after 2", "after 4"]
    first, second = script.calls[0], script.calls[1]
    assert first.fetches == ("logs:0", "v:0") and first.targets == ()
    np.testing.assert_array_equal(first.feeds["x:0"], [3, 5])
    assert second.what == "Session.run()"
    shown = script.texts()[1]
    assert "logs:0" in shown and "scaled:0" in shown and "Log" in shown
    # Where the op was made, though TensorFlow dumps no stacks.
    assert "session_nets.py" in shown


def test_graphs_are_there_in_each_call_though_tensorflow_writes_them_once(net, session):
    script, wrapped = _wrapped(session, go_on(), *[["lt -t Log", go_on()]] * 3)
    for start in (3.0, 2.0, 1.0):
        wrapped.run(net.logs, {net.x: [start, 5]})
    assert all("1 dumped tensor(s)" in text and "logs:0" in text for text in script.texts()[1:])


@pytest.mark.parametrize("name", ["has_inf_or_nan", "mine"])
def test_the_program_runs_on_until_a_tensor_passes_a_filter(net, session, name):
    script, wrapped = _wrapped(session, go_on(till_filter=name), ["lt", go_on()])
    wrapped.add_tensor_filter("mine", lambda datum, value: datum.node_name == "logs" and value[0] < 0)
    for start in (3.0, 2.0, 0.0):
        wrapped.run(net.logs, {net.x: [start, 5]})
    assert _stops(script) == ["before 1", "after 3"]
    assert script.calls[-1].passed_filter == name
    assert "logs:0" in script.texts()[1]


def test_only_what_is_asked_for_is_recorded(net, session):
    visits = [go_on(node_names="lo"), ["lt", go_on(op_types="Mul")], ["lt", go_on(dtypes="int64")], ["lt"]]
    script, wrapped = _wrapped(session, *visits)
    for _ in range(3):
        wrapped.run([net.logs, net.step], {net.x: [3, 5]})
    named, typed, of_dtype = script.texts()[1:]
    assert "logs:0" in named and "scaled:0" not in named
    assert "scaled:0" in typed and "logs:0" not in typed
    assert "logs:0" not in of_dtype and "global_step/" in of_dtype


def test_a_profiled_call_has_times_of_its_ops_and_the_lines_that_made_them(net, session):
    options, metadata = v1.RunOptions(timeout_in_ms=60_000), v1.RunMetadata()
    script, wrapped = _wrapped(session, go_on(is_profiled=True), ["lp -n logs", "lt"])
    result = wrapped.run(net.logs, {net.x: [3, 5]}, options=options, run_metadata=metadata)
    np.testing.assert_allclose(result, np.log([3, 10]), rtol=1e-6)
    assert metadata.step_stats.dev_stats and options == v1.RunOptions(timeout_in_ms=60_000)
    opened, shown = script.screens[1][0], script.texts()[1]
    assert not opened.is_error and "Device" in script.texts()[1]
    assert "logs" in shown and "session_nets.py" in shown and "0 dumped tensor(s)" in shown


def test_options_and_metadata_of_the_program_keep_what_they_say(net, session):
    options, metadata = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE), v1.RunMetadata()
    before = options.SerializeToString()
    script, wrapped = _wrapped(session, go_on(), ["lt"])
    wrapped.run(net.logs, {net.x: [3, 5]}, options, metadata)
    assert options.SerializeToString() == before
    assert metadata.step_stats.dev_stats and "logs:0" in script.texts()[1]


@pytest.mark.parametrize(
    ("fails", "error", "op"),
    [
        pytest.param(
            lambda net, run: run(net.checked, {net.x: [0, 5]}), tf.errors.InvalidArgumentError, "checked"
        ),
        pytest.param(
            lambda net, run: run(net.checked), tf.errors.InvalidArgumentError, "x", id="no value is fed"
        ),
    ],
)
def test_an_error_opens_the_shell_at_the_op_and_is_returned(net, session, fails, error, op):
    script, wrapped = _wrapped(session, go_on(), [f"ni -t {op}", "lt", go_on()], ["lt"])
    returned = fails(net, wrapped.run)
    assert isinstance(returned, error)
    assert script.calls[1].error is returned
    assert op in script.texts()[1] and "session_nets.py" in script.texts()[1]
    np.testing.assert_allclose(wrapped.run(net.logs, {net.x: [1, 1]}), np.log([1, 2]), rtol=1e-6)
    assert _stops(script) == ["before 1", "after 1", "after 2"]


def test_a_variable_without_a_value_opens_the_shell(net):
    with net.session(initialized=False) as session:
        script, wrapped = _wrapped(session, go_on(), ["lt", go_on(is_recorded=False)], go_on())
        assert isinstance(wrapped.run(net.logs, {net.x: [1, 1]}), tf.errors.FailedPreconditionError)
        wrapped.run(net.init)
        np.testing.assert_allclose(wrapped.run(net.logs, {net.x: [1, 1]}), np.log([1, 2]), rtol=1e-6)
    assert _stops(script) == ["before 1", "after 1", "before 3", "after 3"]


def test_an_error_of_a_call_that_is_not_recorded_is_shown_and_raised(net, session):
    script, wrapped = _wrapped(session, go_on(is_recorded=False), go_on())
    with pytest.raises(tf.errors.InvalidArgumentError):
        wrapped.run(net.checked, {net.x: [0, 5]})
    assert _stops(script) == ["before 1", "after 1"]


def test_errors_that_are_not_tensorflows_are_raised(net, session):
    _, wrapped = _wrapped(session, *ENDLESS)
    with pytest.raises(ValueError, match="Cannot feed value of shape"):
        wrapped.run(net.logs, {net.x: [1, 2, 3]})
    np.testing.assert_allclose(wrapped.run(net.logs, {net.x: [1, 1]}), np.log([1, 2]), rtol=1e-6)


def test_leaving_the_shell_ends_the_program(net, session, capfd):
    _, wrapped = _wrapped(session, Leave())
    with pytest.raises(SystemExit) as ended:
        wrapped.run(net.logs, {net.x: [1, 1]})
    assert ended.value.code == 1 and "the program ends" in capfd.readouterr().err


@pytest.mark.parametrize("end", [Detach(), go_on()], ids=["before a call", "after a call"])
def test_without_anybody_at_the_shell_the_program_is_the_plain_one(net, session, end):
    script, wrapped = _wrapped(session, end)
    expected = session.run(net.logs, {net.x: [1, 5]})
    for _ in range(3):
        np.testing.assert_array_equal(wrapped.run(net.logs, {net.x: [1, 5]}), expected)
    with pytest.raises(tf.errors.InvalidArgumentError):
        wrapped.run(net.checked, {net.x: [0, 5]})
    assert len(script.calls) == (1 if isinstance(end, Detach) else 2)


def test_empty_fetches_pass_through(session):
    script, wrapped = _wrapped(session)
    assert wrapped.run([]) == [] and wrapped.run({"a": (), "b": [[]]}) == {"a": (), "b": [[]]}
    assert not script.calls and wrapped.run_call_count == 2


def test_callables_are_debugged(net, session):
    script, wrapped = _wrapped(session, go_on(), *[["lt", go_on()]] * 3)
    logs = wrapped.make_callable(net.logs, [net.x])
    metadata = v1.RunMetadata()
    np.testing.assert_allclose(logs([1, 1], run_metadata=metadata), np.log([1, 2]), rtol=1e-6)
    assert metadata.partition_graphs

    wanted = config_pb2.CallableOptions(feed=["x:0"], fetch=["logs:0"])
    runner = wrapped._make_callable_from_options(wanted)
    for _ in range(2):
        np.testing.assert_allclose(runner(np.float32([1, 1]))[0], np.log([1, 2]), rtol=1e-6)
    whats = [call.what for call in script.calls]
    assert "make_callable" in whats[0] and "_make_callable_from_options" in whats[-1]
    assert _stops(script) == ["before 1", "after 1", "after 2", "after 3"]
    assert all("logs:0" in text for text in script.texts()[1:])
    assert script.calls[2].fetches == ("logs:0",)
    np.testing.assert_array_equal(script.calls[2].feeds["x:0"], [1, 1])


def test_a_partial_run_passes_through_with_a_warning(caplog):
    with tf.Graph().as_default(), v1.Session() as session:
        a, b = v1.placeholder(tf.float32), v1.placeholder(tf.float32)
        added, doubled = a + b, (a + b) * 2
        script, wrapped = _wrapped(session)
        handle = wrapped.partial_run_setup([added, doubled], [a, b])
        assert wrapped.partial_run(handle, added, {a: 1, b: 2}) == 3
        assert wrapped.partial_run(handle, doubled) == 6
    assert "does not watch Session.partial_run" in caplog.text and not script.calls


def test_other_threads_pass_through(net, session):
    script, wrapped = _wrapped(session, *ENDLESS, thread_name_filter="Main")
    results = []
    thread = threading.Thread(
        target=lambda: results.append(wrapped.run(net.logs, {net.x: [1, 1]})), name="Worker"
    )
    thread.start()
    thread.join()
    assert not script.calls
    wrapped.run(net.logs, {net.x: [1, 1]})
    assert [call.number for call in script.calls] == [2, 2] and len(results) == 1


def test_calls_of_other_threads_wait_while_one_is_in_the_shell_and_then_stop_too(net, session):
    def run():
        return wrapped.run(net.logs, {net.x: [1, 1]})

    other = threading.Thread(target=run, name="Other")

    class Waiting(Script):
        def converse(self, shell, first=None):
            if not self.calls:
                other.start()
                other.join(1)
                assert other.is_alive() and shell.call is not None and not shell.call.thread
            return super().converse(shell, first)

    script = Waiting(go_on(times=3), *[["ri", go_on(times=3)]] * 2)
    wrapped = tfdbg.LocalCLIDebugWrapperSession(session, ui_type=script)
    run()
    other.join(60)
    assert not other.is_alive()
    run()
    assert _stops(script) == ["before 1", "after 3"]


def test_a_thread_that_is_blocked_does_not_keep_the_others_from_stopping(net):
    with net.graph.as_default():
        queue = v1.FIFOQueue(1, [tf.float32], shapes=[[]])
        enqueue, dequeue = queue.enqueue(1.0), queue.dequeue()
    script = Script(
        go_on(till_filter="has_inf_or_nan"), ["ri", "lt -f has_inf_or_nan", go_on(is_recorded=False)]
    )
    with net.session() as session:
        wrapped = tfdbg.LocalCLIDebugWrapperSession(session, ui_type=script)
        session.run(enqueue)  # it is full
        filling = threading.Thread(target=lambda: wrapped.run(enqueue), name="QueueRunner")
        filling.start()
        while not wrapped.run_call_count:
            pass
        wrapped.run(net.logs, {net.x: [0, 1]})
        session.run(dequeue)
        filling.join(60)
        assert not filling.is_alive()
    assert [call.thread for call in script.calls] == ["QueueRunner", ""]
    assert _stops(script)[1] == "after 2" and "logs:0" in script.texts()[1]


def test_the_shell_names_the_thread_of_a_call(net, session):
    script, wrapped = _wrapped(session, ["ri", go_on()], go_on())
    thread = threading.Thread(target=wrapped.run, args=(net.logs, {net.x: [1, 1]}), name="Filler")
    thread.start()
    thread.join()
    assert "Thread:   Filler" in script.texts()[0]


def test_leaving_the_shell_in_a_thread_ends_the_program_at_its_next_call(net, session):
    _, wrapped = _wrapped(session, Leave())

    def leave():
        with pytest.raises(SystemExit):
            wrapped.run(net.logs, {net.x: [1, 1]})

    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()
    with pytest.raises(SystemExit):
        wrapped.run(net.logs, {net.x: [1, 1]})


@pytest.mark.parametrize("dump_root", ["", "here"])
def test_a_folder_that_was_there_is_left_there(net, session, tmp_path, monkeypatch, dump_root):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here if not dump_root else tmp_path)
    script, wrapped = _wrapped(session, go_on(), ["lt", go_on()], go_on(), dump_root=dump_root)
    for name in ("checkpoint", "second"):
        wrapped.run(net.logs, {net.x: [1, 1]})
        (here / name).write_text("the program's")
    assert "logs:0" in script.texts()[1]
    assert sorted(path.name for path in here.iterdir()) == ["checkpoint", "second"]
    hook = tfdbg.LocalCLIDebugHook(ui_type=script, dump_root="")
    del hook, wrapped
    gc.collect()
    assert here.is_dir()


def test_the_dump_root_must_be_empty_and_is_deleted_after_each_call(net, session, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="dump_root path points to a file"):
        tfdbg.LocalCLIDebugWrapperSession(session, str(tmp_path / "file"))
    with pytest.raises(ValueError, match="dump_root path points to a non-empty directory"):
        tfdbg.LocalCLIDebugWrapperSession(session, str(tmp_path))
    root = tmp_path / "new" / "root"
    there = []

    class Looking(Script):
        def converse(self, shell, first=None):
            there.append(root.is_dir())
            return super().converse(shell, first)

    script = Looking(go_on(), go_on(till_filter="has_inf_or_nan"))
    wrapped = tfdbg.LocalCLIDebugWrapperSession(session, root, ui_type=script)
    for _ in range(2):
        wrapped.run(net.logs, {net.x: [1, 1]})
        assert not root.exists()
    assert there == [False, True]


def test_what_is_wrong_is_refused_at_once(session):
    with pytest.raises(TypeError, match=r"Give a tf\.compat\.v1\.Session"):
        tfdbg.LocalCLIDebugWrapperSession(None)
    with pytest.raises(ValueError, match="There is no ui_type 'abacus'"):
        tfdbg.LocalCLIDebugWrapperSession(session, ui_type="abacus")
    for name in ("readline", "curses", "plain"):
        tfdbg.LocalCLIDebugWrapperSession(session, ui_type=name)


def test_everything_else_is_the_sessions_own(net):
    with net.session() as session:
        script, wrapped = _wrapped(session, *ENDLESS)
        assert wrapped.graph is net.graph and wrapped.session is session
        assert wrapped.sess_str == session.sess_str and wrapped.graph_def == session.graph_def
        assert [one.name for one in wrapped.list_devices()] == [one.name for one in session.list_devices()]
        with pytest.raises(ValueError, match="no method 'should_stop'"):
            wrapped.should_stop()
        with wrapped as outer, wrapped as inner:
            assert outer is inner is wrapped and v1.get_default_session() is wrapped
            np.testing.assert_allclose(net.logs.eval({net.x: [1, 1]}), np.log([1, 2]), rtol=1e-6)
        with wrapped.as_default():
            net.init.run()
        assert v1.get_default_session() is session
        assert [call.targets for call in script.calls[-1:]] == [(net.init.name,)]
        wrapped.close()
        with pytest.raises(RuntimeError, match="closed Session"):
            session.run(net.v)


def test_the_shell_may_be_around_a_monitored_session(net):
    with net.graph.as_default(), v1.train.SingularMonitoredSession() as session:
        script, wrapped = _wrapped(session, go_on(), ["lt"])
        result = wrapped.run_step_fn(lambda context: context.run_with_hooks(net.logs, {net.x: [1, 1]}))
        np.testing.assert_allclose(result, np.log([1, 2]), rtol=1e-6)
        assert wrapped.should_stop() is False
    assert "logs:0" in script.texts()[1]


def test_a_session_that_is_recorded_can_be_debugged(net, tmp_path, database_folder):
    with tb_debugger_plugin.record(tmp_path, mode="FULL_HEALTH"), net.session() as session:
        expected = session.run(net.logs, {net.x: [3, 5]})
        script, wrapped = _wrapped(session, go_on(), ["lt"])
        assert wrapped.run(net.logs, {net.x: [3, 5]}).tobytes() == expected.tobytes()
    assert "logs:0" in script.texts()[1] and "scaled:0" in script.texts()[1]
    with tb_debugger_plugin.open_run(tmp_path) as run:
        assert len(run.graph_executions(op_name="^logs$")) == 2
    for tables in database_folder.iterdir():  # those of the recording
        tables.unlink()
