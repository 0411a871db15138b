"""`tfdbg/dumping_session.py`: what real sessions dump, read by ours and by TensorFlow's own classes."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.debug.cli import analyzer_cli
from tensorflow.python.debug.lib import debug_data
from tensorflow.python.debug.wrappers import dumping_wrapper

import tb_debugger_plugin
from tb_debugger_plugin import tfdbg
from tests.support.programs import run_python
from tests.support.session_nets import Net, v1


@pytest.fixture(scope="module")
def net():
    return Net()


@pytest.fixture(scope="module")
def session(net):
    with net.session() as session:
        yield session


@pytest.fixture(scope="module")
def dumped(net, session, tmp_path_factory):
    """A session root with three calls, of which the last one is bad; and the results."""
    root = tmp_path_factory.mktemp("dumped")
    wrapped = tfdbg.DumpingDebugWrapperSession(session, root)
    return root, [wrapped.run(net.logs, {net.x: [start, 5]}) for start in (3.0, 2.0, 0.0)]


def _calls(root):
    return sorted((path for path in root.iterdir() if path.is_dir()), key=lambda path: path.name)


def test_each_call_has_a_folder_and_the_results_are_the_sessions_own(net, session, dumped):
    root, results = dumped
    assert [path.name.rpartition("_")[2] for path in _calls(root)] == ["0", "1", "2"]
    for start, result in zip((3.0, 2.0, 0.0), results, strict=True):
        assert result.tobytes() == session.run(net.logs, {net.x: [start, 5]}).tobytes()


def test_a_session_root_is_a_run_with_values_stacks_and_sources(dumped):
    root, results = dumped
    with tb_debugger_plugin.open_run(root) as run:
        values = [value[...] for value in run.values("logs:0")]
        np.testing.assert_array_equal(values, results)
        (alert,) = run.alerts("InfNanAlert")
        assert (alert.op_type, alert.op_name) == ("Log", "logs")
        (op,) = run.ops(name="^logs$")
        assert any(frame.path.endswith("session_nets.py") for frame in op.traceback())
        own = next(source for source in run.sources() if source.path.endswith("session_nets.py"))
        assert own.origin == "user" and any("tf.math.log(scaled" in line for line in own.lines)
        (fed,) = run.ops(name="^_arg_x_")
        assert any("placeholder" in (frame.code or "") for frame in fed.traceback())
        assert "session_nets.py" in run.why().headline and "Log" in run.why().headline


@pytest.mark.parametrize("whole_root", [True, False], ids=["a session root", "a call"])
def test_debug_dump_dir_says_where_nodes_were_made(dumped, whole_root):
    root, _ = dumped
    dump = tb_debugger_plugin.DebugDumpDir(root if whole_root else _calls(root)[0])
    assert any(frame[0].endswith("session_nets.py") for frame in dump.node_traceback("logs:0"))
    with pytest.raises(LookupError):
        dump.node_traceback("absent")


def test_tensorflows_own_classes_read_the_folder_of_a_call(net, dumped):
    root, results = dumped
    dump = debug_data.DebugDumpDir(str(_calls(root)[-1]))
    np.testing.assert_array_equal(dump.get_tensors("logs", 0, "DebugIdentity")[0], results[-1])
    assert [datum.node_name for datum in dump.find(debug_data.has_inf_or_nan)] == ["logs"]
    assert dump.run_fetches_info == repr(net.logs)
    assert dump.run_feed_keys_info == repr({net.x: 0}.keys())
    analyzer = analyzer_cli.DebugAnalyzer(dump, analyzer_cli.cli_config.CLIConfig())
    analyzer.add_tensor_filter("has_inf_or_nan", debug_data.has_inf_or_nan)
    lines = analyzer.list_tensors(["-f", "has_inf_or_nan"]).lines
    assert any("logs:0" in line for line in lines) and not any("scaled:0" in line for line in lines)


def test_what_tensorflows_own_wrapper_dumps_is_what_ours_dumps(net, dumped, tmp_path):
    with net.session() as session:
        wrapped = dumping_wrapper.DumpingDebugWrapperSession(session, str(tmp_path))
        wrapped.run(net.logs, {net.x: [0, 5]})

    def keys(folder):
        dump = tb_debugger_plugin.DebugDumpDir(folder)
        return sorted(datum.watch_key for datum in dump.dumped_tensor_data), dump.run_feed_keys_info

    assert keys(_calls(dumped[0])[-1]) == keys(_calls(tmp_path)[0])


@pytest.mark.parametrize(
    "options",
    [
        tfdbg.WatchOptions(["DebugIdentity", "DebugNanCount"], "(logs|scaled)", "Log", "float32", True),
        (["DebugIdentity", "DebugNanCount"], "(logs|scaled)", "Log", "float32", True),
    ],
    ids=["WatchOptions", "a tuple"],
)
def test_a_watch_function_chooses_debug_ops_and_tensors(net, session, tmp_path, options):
    asked = []

    def watch(fetches, feeds):
        asked.append((fetches, feeds))
        return options

    wrapped = tfdbg.DumpingDebugWrapperSession(session, tmp_path / "root", watch_fn=watch)
    wrapped.run(net.logs, {net.x: [0, 5]})
    dump = tb_debugger_plugin.DebugDumpDir(tmp_path / "root")
    assert {datum.watch_key for datum in dump.dumped_tensor_data} == {
        "logs:0:DebugIdentity",
        "logs:0:DebugNanCount",
    }
    assert asked[0][0] is net.logs and list(asked[0][1]) == [net.x]


def test_the_session_root_must_be_empty(session, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="session_root path points to a file"):
        tfdbg.DumpingDebugWrapperSession(session, tmp_path / "file")
    with pytest.raises(ValueError, match="session_root path points to a non-empty directory"):
        tfdbg.DumpingDebugWrapperSession(session, str(tmp_path))
    with pytest.raises(TypeError, match="watch_fn is not callable"):
        tfdbg.DumpingDebugWrapperSession(session, tmp_path / "new", watch_fn="all")


@pytest.mark.parametrize("raises", [True, None], ids=["raised", "returned"])
def test_an_error_of_tensorflow_is_raised_or_returned(net, session, tmp_path, raises):
    wrapped = tfdbg.DumpingDebugWrapperSession(session, tmp_path / "root", pass_through_operrors=raises)
    if raises:
        with pytest.raises(tf.errors.InvalidArgumentError):
            wrapped.run(net.checked, {net.x: [0, 5]})
    else:
        assert isinstance(wrapped.run(net.checked, {net.x: [0, 5]}), tf.errors.InvalidArgumentError)
    dump = tb_debugger_plugin.DebugDumpDir(tmp_path / "root")
    assert dump.get_tensors("logs", 0, "DebugIdentity")[0][0] == -np.inf


def test_calls_of_several_threads_have_their_own_folders(net, session, tmp_path):
    wrapped = tfdbg.DumpingDebugWrapperSession(session, tmp_path, thread_name_filter="Worker")
    results = {}

    def run(number):
        results[number] = wrapped.run(net.logs, {net.x: [number, 5]})

    threads = [threading.Thread(target=run, args=(n,), name=f"Worker{n}") for n in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run(5)
    assert len(_calls(tmp_path)) == 4 and len(results) == 5
    seen = [
        tb_debugger_plugin.DebugDumpDir(folder).get_tensors("logs", 0, "DebugIdentity")[0][0]
        for folder in _calls(tmp_path)
    ]
    assert sorted(seen) == sorted(results[number][0] for number in range(1, 5))


def test_a_graph_that_grows_is_described_as_it_grows(tmp_path):
    with tf.Graph().as_default(), v1.Session() as session:
        wrapped = tfdbg.DumpingDebugWrapperSession(session, tmp_path)
        x = v1.placeholder(tf.float32, [1])
        one = tf.negative(x, name="one")
        wrapped.run(one, {x: [1]})
        two = tf.exp(one, name="two")
        with tb_debugger_plugin.open_run(tmp_path) as run:
            assert run.ops(name="^one$")[0].traceback()
        wrapped.run(two, {x: [1]})
    # The tables of before go on.
    with tb_debugger_plugin.open_run(tmp_path) as run:
        for name in ("one", "two"):
            op = run.ops(name=f"^{name}$")[-1]
            assert any(frame.path == __file__ for frame in op.traceback())
        paths = [source.path for source in run.sources()]
        assert len(paths) == len(set(paths))


def test_the_limit_on_disk_space_is_tensorflows(tmp_path):
    program = (
        "import os, sys; os.environ['TFDBG_DISK_BYTES_LIMIT'] = '1000'\n"
        "from tb_debugger_plugin import tfdbg; from tests.support.session_nets import Net\n"
        "net = Net(); wrapped = tfdbg.DumpingDebugWrapperSession(net.session(), sys.argv[1])\n"
        "for _ in range(6): print(type(wrapped.run(net.logs, {net.x: [1, 1]})).__name__)\n"
    )
    kinds = run_python("-c", program, str(tmp_path)).split()
    assert (kinds[0], kinds[-1]) == ("ndarray", "ResourceExhaustedError")
    assert tb_debugger_plugin.DebugDumpDir(tmp_path, call=0).size == 5
