"""`reading/dumps/dump_dir.py`: dump folders of tfdbg v1 give the answers of TensorFlow's own class."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import op_def_pb2
from tensorflow.python import debug as tf_debug
from tensorflow.python.client import pywrap_tf_session
from tensorflow.python.debug.lib import debug_data, debug_utils

from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.events.dumps.datum import NoTensor, has_inf_or_nan
from tb_debugger_plugin.index.runs import RunKind, find_runs
from tb_debugger_plugin.reading.dumps.debug_graph import REFERENCES, node_of
from tb_debugger_plugin.reading.dumps.dump_dir import DebugDumpDir, WatchKeyDoesNotExistInDebugDumpDirError
from tb_debugger_plugin.reading.run import open_run
from tests.support.asking import Asker

tf1 = tf.compat.v1
_IDENTITY = "DebugIdentity"
_TWO_DEVICES = tf1.ConfigProto(device_count={"CPU": 2})
#: Ops that TensorFlow registers for its own tests.
_OF_TESTS = {"FakeQueue", "RefOut", "RefOutput", "RefOutputFloatOutput"}


def _program():
    """A graph on two devices with variables of both kinds, a loop, strings, bools and -inf."""
    with tf.device("/cpu:0"):
        x = tf1.placeholder(tf.float32, [None, 3], name="x")
        old = tf1.get_variable("old", initializer=np.arange(3, dtype=np.float32), use_resource=False)
        new = tf1.get_variable("new", initializer=np.arange(3, dtype=np.float32), use_resource=True)
        y = tf.multiply(x, old, name="y")
    with tf.device("/cpu:1"):
        logs = tf.math.log(y, name="logs")
        texts = tf.strings.as_string(y, name="texts")
        signs = tf.greater(y, 0.0, name="signs")
    loop = tf1.while_loop(
        lambda i, a: i < 4,
        lambda i, a: (i + 1, a * 2.0 + new),
        [tf.constant(0), tf.constant([1.0, 2.0, 3.0])],
        name="loop",
    )
    with tf.control_dependencies([tf1.assign_add(old, [1.0, 1.0, 1.0], name="more")]):
        end = tf.identity(loop[1], name="end")
    return x, y, [end, logs, texts, signs]


@pytest.fixture(scope="module")
def session_root(tmp_path_factory):
    """What the wrapper wrote of a call that failed, one that initialised, and two equal ones."""
    root = tmp_path_factory.mktemp("session")
    with tf.Graph().as_default():
        x, y, results = _program()
        session = tf_debug.DumpingDebugWrapperSession(tf1.Session(config=_TWO_DEVICES), str(root))
        session.run(y, {x: np.ones([2, 3])})  # the wrapper keeps the error, which is in no file
        session.run(tf1.global_variables_initializer())
        for _ in range(2):
            session.run(results, {x: np.arange(6).reshape(2, 3)})
        session.close()
    return root


@pytest.fixture(scope="module")
def calls(session_root):
    """TensorFlow's object and ours for each call."""
    folders = sorted(path for path in session_root.iterdir())
    return [(debug_data.DebugDumpDir(str(folder)), DebugDumpDir(folder)) for folder in folders]


def _each_node(calls):
    for theirs, ours in calls:
        for device in theirs.devices():
            for node in theirs.nodes(device):
                yield theirs, ours, device, node


def test_data_are_those_of_tensorflow(calls):
    fields = (
        *("node_name", "output_slot", "debug_op", "device_name", "tensor_name", "watch_key"),
        *("timestamp", "extended_timestamp", "file_path", "dump_size_bytes"),
    )

    def facts(data):
        times = [datum.timestamp for datum in data]
        assert times == sorted(times)
        # TensorFlow orders those of one microsecond as the folder lists them.
        return sorted(tuple(getattr(datum, name) for name in fields) for datum in data)

    for theirs, ours in calls:
        assert facts(ours.dumped_tensor_data) == facts(theirs.dumped_tensor_data)
        assert (ours.size, ours.t0) == (theirs.size, theirs.t0)
        assert ours.devices() == sorted(theirs.devices())
        told = [sorted(map(str, one.dumped_tensor_data)) for one in (ours, theirs)]
        assert told[0] == told[1]


def test_calls_are_described_as_tensorflow_does(calls):
    for theirs, ours in calls:
        assert tuple(ours.core_metadata) == tuple(theirs.core_metadata)
        assert ours.run_fetches_info == theirs.run_fetches_info
        assert ours.run_feed_keys_info == theirs.run_feed_keys_info


def test_nodes_are_those_of_tensorflow(calls):
    for theirs, ours in calls:
        assert ours.loaded_partition_graphs() is theirs.loaded_partition_graphs() is True
        assert sorted(ours.nodes()) == sorted(theirs.nodes())
        for device in theirs.devices():
            assert ours.nodes(device) == list(theirs.nodes(device))
    for theirs, ours, device, node in _each_node(calls):
        assert ours.node_exists(node) and ours.node_exists(node, device)
        assert ours.node_device(node) == theirs.node_device(node)
        assert ours.node_op_type(node, device) == theirs.node_op_type(node, device)
    assert not calls[0][1].node_exists("absent")


def test_graphs_and_attributes_are_those_of_tensorflow(calls):
    def as_bytes(attributes):
        return {name: value.SerializeToString(deterministic=True) for name, value in attributes.items()}

    for theirs, ours, device, node in _each_node(calls):
        assert as_bytes(ours.node_attributes(node, device)) == as_bytes(theirs.node_attributes(node, device))
    for theirs, ours in calls:
        assert {graph.node[0].name: len(graph.node) for graph in ours.partition_graphs()} == {
            graph.node[0].name: len(graph.node) for graph in theirs.partition_graphs()
        }


@pytest.mark.parametrize("is_control", [False, True])
def test_inputs_and_recipients_are_those_of_tensorflow(calls, is_control):
    num_edges = 0
    for theirs, ours, device, node in _each_node(calls):
        inputs = ours.node_inputs(node, is_control, device)
        assert inputs == theirs.node_inputs(node, is_control, device)
        assert ours.node_recipients(node, is_control, device) == theirs.node_recipients(
            node, is_control, device
        )
        assert ours.transitive_inputs(node, is_control, device_name=device) == theirs.transitive_inputs(
            node, is_control, device_name=device
        )
        num_edges += len(inputs)
    assert num_edges > 10


def _is_path(dump, path, device):
    def sources(node):
        inputs = dump.node_inputs(node, False, device) + dump.node_inputs(node, True, device)
        return map(node_of, inputs)

    return all(node_of(source) in sources(node_of(target)) for source, target in itertools.pairwise(path))


def test_paths_lead_from_edge_to_edge_wherever_tensorflow_finds_one(calls):
    """After a Merge node, whose inputs it does not follow, TensorFlow's path has nodes beside the path."""
    num_equal = num_better = 0
    for theirs, ours, device, node in _each_node(calls):
        for source in theirs.nodes(device):
            expected = theirs.find_some_path(source, node, device_name=device)
            path = ours.find_some_path(source, node, device_name=device)
            assert (path is None) == (expected is None)
            if expected is None:
                continue
            assert (node_of(path[0]), path[-1]) == (source, node) and _is_path(ours, path, device)
            if _is_path(ours, expected, device):
                assert path == expected
                num_equal += 1
            else:
                num_better += 1
    assert num_equal > 100 and num_better


def test_only_references_are_turned_around(calls):
    """TensorFlow's object turns every edge around; its own documentation says references only."""
    for theirs, ours, device, node in _each_node(calls):
        ours_found = set(map(node_of, ours.transitive_inputs(node, True, True, device)))
        assert ours_found <= set(map(node_of, theirs.transitive_inputs(node, True, True, device)))
    _, ours = calls[2]
    device = ours.devices()[0]
    assert "more" in ours.transitive_inputs("old/read", True, True, device)
    assert "more" not in ours.transitive_inputs("old/read", True, False, device)
    assert ours.find_some_path("more", "y", True, True, device) == ["more", "old", "old/read", "y"]


def test_the_table_of_references_is_that_of_tensorflow():
    listed = pywrap_tf_session.TF_GetBuffer(pywrap_tf_session.TF_GetAllOpList())
    ops = op_def_pb2.OpList.FromString(listed).op
    references = {op.name for op in ops if any(output.is_ref for output in op.output_arg)}
    assert references - _OF_TESTS == REFERENCES


def _assert_same(ours, theirs):
    if isinstance(theirs, debug_data.InconvertibleTensorProto):
        assert isinstance(ours, NoTensor) and ours.initialized == theirs.initialized
    else:
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        # NumPy does not compare NaN of types that are not its own.
        wide = np.float32 if ours.dtype.kind == "V" else ours.dtype
        np.testing.assert_array_equal(ours.astype(wide), theirs.astype(wide))


def test_values_are_those_of_tensorflow(calls):
    without_value = 0
    for theirs, ours, device, node in _each_node(calls):
        assert sorted(ours.debug_watch_keys(node, device)) == sorted(theirs.debug_watch_keys(node, device))
        for key in theirs.debug_watch_keys(node, device):
            slot = int(key.rsplit(":", 2)[1])
            watch = (node, slot, _IDENTITY, device)
            for value, expected in zip(ours.get_tensors(*watch), theirs.get_tensors(*watch), strict=True):
                _assert_same(value, expected)
                without_value += isinstance(value, NoTensor)
            assert ours.get_rel_timestamps(*watch) == theirs.get_rel_timestamps(*watch)
            assert ours.get_dump_sizes_bytes(*watch) == theirs.get_dump_sizes_bytes(*watch)
            assert ours.get_tensor_file_paths(*watch) == theirs.get_tensor_file_paths(*watch)
            assert [datum.timestamp for datum in ours.watch_key_to_data(key, device)] == [
                datum.timestamp for datum in theirs._watch_key_to_datum[device][key]
            ]
    assert without_value


def test_a_variable_without_a_value_says_so(calls):
    (value,) = calls[0][1].get_tensors("old", 0, _IDENTITY)
    assert value == NoTensor("The variable had no value yet when it was dumped.", initialized=False)


def test_the_first_bad_tensor_is_found_over_all_devices(calls):
    theirs, ours = calls[2]

    def key(datum):
        return datum.timestamp, datum.tensor_name

    expected = sorted(theirs.find(debug_data.has_inf_or_nan), key=key)
    assert expected and sorted(ours.find(has_inf_or_nan), key=key) == sorted(
        ours.find(has_inf_or_nan), key=key
    )
    assert list(map(key, sorted(ours.find(has_inf_or_nan), key=key))) == list(map(key, expected))
    (first,) = ours.find(has_inf_or_nan, first_n=1)
    assert (first.tensor_name, first.timestamp) == ("logs:0", expected[0].timestamp)
    assert not ours.find(has_inf_or_nan, exclude_node_names="logs|_retval|.*/_")


def test_what_is_not_there_is_refused(calls):
    ours = calls[2][1]
    with pytest.raises(WatchKeyDoesNotExistInDebugDumpDirError, match="there is y:0:DebugIdentity"):
        ours.get_tensors("y", 7, _IDENTITY)
    with pytest.raises(ValueError, match="no node 'absent'"):
        ours.node_inputs("absent")
    with pytest.raises(ValueError, match="no device"):
        ours.nodes("/cpu:9")
    with pytest.raises(LookupError, match="set_python_graph"):
        ours.node_traceback("y")
    with pytest.raises(ValueError, match="not in one graph"):
        ours.find_some_path("y", "logs")
    assert ours.watch_key_to_data("absent:0:DebugIdentity") == []


def test_a_session_root_has_the_dumps_of_all_calls(session_root, calls):
    ours = DebugDumpDir(session_root)
    # TensorFlow counts the calls of all sessions of the process.
    numbers = [call.session_run_index for call in ours.core_metadata]
    assert numbers == list(range(numbers[0], numbers[0] + 4))
    assert ours.size == sum(theirs.size for theirs, _ in calls)
    last_two = [theirs.get_tensors("end", 0, _IDENTITY)[0] for theirs, _ in calls[2:]]
    np.testing.assert_array_equal(ours.get_tensors("end", 0, _IDENTITY), last_two)
    assert DebugDumpDir(session_root, call=-1).t0 == calls[-1][0].t0
    assert ours.node_inputs("signs") == DebugDumpDir(session_root, call=2).node_inputs("signs")
    with pytest.raises(ValueError, match="call="):
        ours.node_inputs("y")


def test_graphs_without_the_debuggers_nodes_are_those_of_tensorflow(calls):
    for theirs, ours in calls:
        wanted = theirs.reconstructed_non_debug_partition_graphs()
        found = ours.reconstructed_non_debug_partition_graphs()
        assert sorted(found) == sorted(wanted)
        for device, graph in wanted.items():
            assert [node.SerializeToString(deterministic=True) for node in found[device].node] == [
                node.SerializeToString(deterministic=True) for node in graph.node
            ]


def test_the_constructor_is_tensorflows(calls, tmp_path):
    theirs, ours = calls[-1]
    folder = ours._contents.folder
    without = tmp_path / "call"
    shutil.copytree(folder, without)
    for path in without.rglob("_tfdbg_graph_*"):
        path.unlink()
    graphs = theirs.partition_graphs()
    assert not DebugDumpDir(dump_root=str(without)).loaded_partition_graphs()
    given = DebugDumpDir(str(without), partition_graphs=graphs, validate=False)
    expected = debug_data.DebugDumpDir(str(without), partition_graphs=graphs, validate=False)
    assert sorted(given.nodes()) == sorted(expected.nodes())
    assert given.node_inputs("logs") == expected.node_inputs("logs")
    empty = tmp_path / "empty"
    empty.mkdir()
    assert DebugDumpDir(str(empty)).size == debug_data.DebugDumpDir(str(empty)).size == 0
    with pytest.raises(IOError, match="does not exist"):
        DebugDumpDir(str(tmp_path / "absent"))
    with pytest.raises(NotFoundError, match="does not exist"):
        DebugDumpDir(tmp_path / "absent")


def test_fields_of_structured_arrays_are_looked_at():
    fields = [("count", np.int32), ("share", np.float32), ("name", "S3")]
    good, bad = np.array([(1, 0.5, b"a")], fields), np.array([(1, np.nan, b"a")], fields)
    assert not has_inf_or_nan(None, good) and has_inf_or_nan(None, bad)
    assert not has_inf_or_nan(None, np.zeros(2, "V4"))


def test_stacks_come_from_the_graph_of_the_program(tmp_path):
    with tf.Graph().as_default() as graph:
        value = tf.constant(2.0, name="two") * 3.0
        with tf_debug.DumpingDebugWrapperSession(tf1.Session(), str(tmp_path / "root")) as session:
            session.run(value)
    theirs = debug_data.DebugDumpDir(str(next((tmp_path / "root").iterdir())))
    ours = DebugDumpDir(tmp_path / "root")
    theirs.set_python_graph(graph)
    ours.set_python_graph(graph)
    assert ours.node_traceback("two:0") == theirs.node_traceback("two:0")
    with pytest.raises(KeyError):
        ours.node_traceback("absent")


def test_hooks_write_such_folders_too(tmp_path):
    root = tmp_path / "hook"
    with tf.Graph().as_default():
        step = tf1.train.get_or_create_global_step()
        left = tf.subtract(3.0, tf.cast(tf1.assign_add(step, 1), tf.float32), name="left")
        logs = tf.math.log(left, name="logs")
        hook = tf_debug.DumpingDebugHook(str(root))
        with tf1.train.MonitoredSession(hooks=[hook]) as session:
            fetched = [session.run(logs) for _ in range(4)]
    ours = DebugDumpDir(root)
    np.testing.assert_array_equal(ours.get_tensors("logs", 0, _IDENTITY), fetched)
    assert ours.find(has_inf_or_nan, first_n=1)[0].node_name == "logs"
    with Asker(root) as asker:
        (index, *_) = _positions(asker, "logs")
        history = asker.get("/values/history", {"run": ".", "graph_execution": index, "slicing": ""})
        assert history.status_code == 200
        assert asker.json("/values/info", {"run": ".", "graph_execution": index})["num_occurrences"] == 4
        assert asker.json("/status", {"run": "."})["num_alerts"] >= 1


def _positions(asker, name):
    rows = asker.json("/graph_execution/digests", {"run": ".", "end": -1})["graph_execution_digests"]
    return [row for row, digest in enumerate(rows) if digest["op_name"] == name]


_VALUES = {
    "float16": np.float16([[1, -np.inf], [np.nan, 65504]]),
    "bfloat16": np.float32([[1, 2], [np.inf, 3]]),
    "float8_e5m2": np.float32([0.5, -2]),
    "float8_e4m3fn": np.float32([0.5, np.nan]),
    "float64": np.float64(3),
    "int64": np.int64([2**62, -1]),
    "uint8": np.uint8([[[1]], [[2]]]),
    "complex64": np.complex64([1 + 2j, complex(np.nan, 1)]),
    "bool": np.array([True, False]),
    "string": np.array([[b"a"], [b"\xff\0"]], object),
    "int32": np.empty((0, 3), np.int32),
}


@pytest.fixture(scope="module")
def values(tmp_path_factory):
    """A dump folder as the command line wrapper makes it, by a call with options of its own."""
    folder = tmp_path_factory.mktemp("values") / "dump"
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        fed = {}
        results = []
        for name, value in _VALUES.items():
            wide = np.asarray(value)
            place = tf1.placeholder(tf.as_dtype(wide.dtype if name != "string" else tf.string), wide.shape)
            fed[place] = value
            results.append(tf.identity(tf.cast(place, name) if name != "string" else place, name=name))
        options = tf1.RunOptions()
        url = f"file://{folder}"
        debug_utils.watch_graph(options, graph, debug_ops=_IDENTITY, debug_urls=url)
        debug_utils.add_debug_tensor_watch(
            options, "float64", debug_ops=[_IDENTITY, "DebugNumericSummary"], debug_urls=url
        )
        session.run(results, fed, options=options)
    return folder


@pytest.mark.parametrize("dtype", _VALUES)
def test_each_dtype_has_tensorflows_value(values, dtype):
    theirs, ours = debug_data.DebugDumpDir(str(values), validate=False), DebugDumpDir(values)
    keys = [key for key in ours.debug_watch_keys(dtype) if key.endswith(_IDENTITY)] or [
        datum.watch_key for datum in ours.dumped_tensor_data if datum.node_name.startswith(f"_retval_{dtype}")
    ]
    assert keys
    for key in keys:
        node, slot, debug_op = key.rsplit(":", 2)
        (value,) = ours.get_tensors(node, int(slot), debug_op)
        (expected,) = theirs.get_tensors(node, int(slot), debug_op)
        _assert_same(value, expected)


def test_other_debug_ops_have_values_but_no_rows(values):
    ours = DebugDumpDir(values)
    summaries = [datum for datum in ours.dumped_tensor_data if datum.debug_op == "DebugNumericSummary"]
    assert summaries
    theirs = debug_data.DebugDumpDir(str(values), validate=False)
    for datum in summaries:
        (expected,) = theirs.get_tensors(datum.node_name, datum.output_slot, datum.debug_op)
        _assert_same(datum.get_tensor(), expected)
    with Asker(values) as asker:
        total = asker.json("/status", {"run": "."})["num_graph_executions"]
    assert total == ours.size - len(summaries)


def test_a_dump_folder_is_a_run_of_the_page_and_of_python(session_root, calls):
    (found,) = find_runs(session_root)
    assert found.kind is RunKind.DUMPS
    expected = [theirs.get_tensors("end", 0, _IDENTITY)[0] for theirs, _ in calls[2:]]
    with open_run(session_root) as run:
        np.testing.assert_array_equal([value[...] for value in run.values("end:0")], expected)
        assert DebugDumpDir(run).size == len(run.graph_executions())
        assert len(run.alerts()) >= 1
    with Asker(session_root) as asker:
        cells = [
            asker.json("/values/text", {"run": ".", "graph_execution": index})["cells"][0]
            for index in _positions(asker, "end")
        ]
        assert cells == [list(map(str, row)) for row in np.asarray(expected).tolist()]


def test_the_counts_of_each_dump_are_those_of_numpy(session_root):
    ours = DebugDumpDir(session_root)
    with open_run(session_root) as run:
        rows = run.sql(
            "SELECT path, nan, neg_inf, pos_inf, zero, size FROM graph_executions JOIN dump_files USING (idx)"
        ).fetchall()
    counted = {path: counts for path, *counts in rows}
    assert len(counted) == ours.size
    for datum in ours.dumped_tensor_data:
        value = datum.get_tensor()
        counts = counted[str(Path(datum.file_path).relative_to(session_root).as_posix()).partition("/")[2]]
        if isinstance(value, NoTensor) or value.dtype.kind == "O":
            assert counts[:4] == [None] * 4
        else:
            real = value.astype(np.float64)
            expected = [np.isnan(real), real == -np.inf, real == np.inf, real == 0, np.ones_like(real)]
            assert counts == [np.count_nonzero(kind) for kind in expected]
