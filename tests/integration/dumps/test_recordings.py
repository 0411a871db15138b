"""`reading/dumps/recording_source.py`: `DebugDumpDir` of a recording has the program's ops and values."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.dumps.datum import NoTensor, has_inf_or_nan
from tb_debugger_plugin.reading.dumps.debug_graph import node_of
from tb_debugger_plugin.reading.dumps.dump_dir import DebugDumpDir
from tb_debugger_plugin.reading.run import open_run

_IDENTITY = "DebugIdentity"


@tf.function
def _logs(x):
    left = tf.subtract(x, 1.0, name="left")
    logs = tf.math.log(left, name="logs")
    with tf.control_dependencies([left]):
        return tf.multiply(logs, 1.0, name="scaled")


@tf.function
def _doubled(x):
    return tf.multiply(x, 2.0, name="left")


@pytest.fixture(scope="module", params=["FULL_TENSOR", "FULL_HEALTH"])
def recorded(request, tmp_path_factory):
    """The mode, an open object, and the graph of the function that takes logarithms."""
    folder = tmp_path_factory.mktemp(request.param)
    with tb_debugger_plugin.record(folder, mode=request.param):
        for start in (2.0, 1.0):
            _logs(tf.constant([start, 3.0]))
        _doubled(tf.constant(1.0))
    with DebugDumpDir(folder) as dump:
        yield request.param, dump, _logs.get_concrete_function(tf.TensorSpec([2])).graph


def test_ops_of_functions_are_nodes(recorded):
    _, dump, graph = recorded
    (holder,) = dump._holders("logs")
    for op in graph.get_operations():
        if op.name in holder.graph.nodes:
            node = holder.graph.nodes[op.name]
            assert (node.op, list(map(node_of, node.inputs))) == (op.type, [x.op.name for x in op.inputs])
    assert {"left", "left/y", "logs"} <= set(holder.graph.nodes)
    assert dump.node_op_type("logs") == "Log" and dump.node_inputs("logs") == ["left"]
    assert "left" in dump.transitive_inputs("logs") and dump.node_exists("logs")


def test_a_name_of_several_graphs_is_refused_until_one_is_chosen(recorded):
    _, dump, _ = recorded
    with pytest.raises(ValueError, match="choose one with graph_id"):
        dump.node_inputs("left")
    (holder,) = dump._holders("logs")
    with open_run(dump._own_run.folder) as run:
        one = DebugDumpDir(run, graph_id=holder.graph_id)
        assert one.node_recipients("left") == ["logs"]
        assert one.find_some_path("left", "logs") == ["left", "logs"]
        assert {datum.graph_id for datum in one.dumped_tensor_data} == {holder.graph_id}
        with pytest.raises(UsageError):
            DebugDumpDir(run, graph_id="absent")


def test_values_are_those_of_the_program_where_they_are_kept(recorded):
    mode, dump, _ = recorded
    key = _IDENTITY if mode == "FULL_TENSOR" else mode
    found = dump.get_tensors("logs", 0, key)
    if mode == "FULL_TENSOR":
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(found, np.log(np.float32([[1, 2], [0, 2]])), rtol=1e-6)
    else:
        assert all(isinstance(value, NoTensor) and "keep_values" in value.reason for value in found)
    times = dump.get_rel_timestamps("logs", 0, key)
    assert len(times) == 2 and 0 <= times[0] <= times[1]


def test_the_first_bad_tensor_is_found_also_without_values(recorded):
    _, dump, _ = recorded
    (datum,) = dump.find(has_inf_or_nan, first_n=1)
    assert (datum.node_name, datum.is_bad, datum.file_path) == ("logs", True, None)
    assert datum.device_name in dump.devices() and datum.device_name == dump.node_device("logs")


def test_stacks_are_those_of_the_recording(recorded):
    _, dump, _ = recorded
    frames = [frame for frame in dump.node_traceback("logs:0") if frame[0] == __file__]
    assert frames[-1][2] == "_logs" and "tf.math.log(left" in frames[-1][3]
    with pytest.raises(KeyError):
        dump.node_traceback("absent")


def test_attributes_and_control_inputs_are_those_of_the_graph(recorded):
    _, dump, _ = recorded
    assert dump.node_attributes("logs")["T"] == "float32"
    assert dump.node_inputs("scaled/y", is_control=True) == ["left"]
    (holder,) = dump._holders("logs")
    assert list(holder.graph.nodes["scaled/y"].controls) == ["left"]


def test_what_only_dump_folders_have_is_said(recorded):
    _, dump, _ = recorded
    assert dump.core_metadata == [] and dump.run_fetches_info == []
    with pytest.raises(LookupError, match="dump folder"):
        dump.partition_graphs()
    with pytest.raises(UsageError, match="calls"):
        DebugDumpDir(dump._own_run.folder, call=0)
