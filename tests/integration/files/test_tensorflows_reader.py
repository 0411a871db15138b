"""`capture`: TensorFlow's own reader opens our recordings and finds the same first bad tensor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.analysis.graph import graphs
from tb_debugger_plugin.examples import buggy_digits
from tests.support.events import snapshot_of
from tests.support.programs import record_example
from tests.support.recorded import read

pytestmark = pytest.mark.tensorflow


def test_tensorflows_reader_finds_what_ours_finds(tmp_path: Path) -> None:
    from tensorflow.python.debug.lib import debug_events_reader

    record_example(tmp_path, "--steps", "3")
    ours = read(tmp_path)
    with debug_events_reader.DebugDataReader(str(tmp_path)) as reader:
        reader.update()
        theirs = reader.graph_execution_traces()
        assert [(t.op_name, t.op_type, t.output_slot, list(t.debug_tensor_value)) for t in theirs] == [
            (t.op_name, t.op_type, t.slot, t.values) for t in ours.traces
        ]
        executions = reader.executions(digest=False)
        assert [(e.op_type, e.graph_id or "", list(e.input_tensor_ids or [])) for e in executions] == [
            (e.op_type, e.graph_id, list(e.input_tensor_ids)) for e in ours.executions
        ]
        bad, _ = next(pair for pair in zip(theirs, ours.traces, strict=True) if pair[1].is_bad)
        assert bad.op_type == "Log"
        assert reader.graph_by_id(bad.graph_id).name == "cross_entropy"
        host, stack = reader.read_graph_op_creation_stack_trace(
            reader.graph_by_id(bad.graph_id).get_op_creation_digest(bad.op_name)
        )
        lines = [line for path, line, _ in stack if path == buggy_digits.__file__]
        source = reader.source_lines(host, buggy_digits.__file__)
        assert "tf.math.log(probs)" in source[lines[-1] - 1]


def test_tensorflows_reader_reads_a_mode_that_tensorflow_never_writes(tmp_path: Path) -> None:
    from tensorflow.python.debug.lib import debug_events_reader

    with tb_debugger_plugin.record(tmp_path, "FULL_NUMERICS"):
        tf.function(lambda x: tf.negative(x, name="neg"))(tf.constant([1.0, np.nan, 4.0]))
    with debug_events_reader.DebugDataReader(str(tmp_path)) as reader:
        reader.update()
        (neg,) = (t for t in reader.graph_execution_traces() if t.op_name == "neg")
    assert list(neg.debug_tensor_value)[1:] == [-1, 1, 1, 3, 0, 0, 1, 2, 0, 0, -4.0, -1.0, -2.5, 2.25]


def test_debugger_v2_says_the_same_of_an_op_and_its_neighbours(tmp_path: Path) -> None:
    from tensorboard.plugins.debugger_v2.debug_data_multiplexer import DebuggerV2EventMultiplexer

    record_example(tmp_path, "--steps", "1")
    theirs = DebuggerV2EventMultiplexer(str(tmp_path))
    (run,) = theirs.Runs()
    theirs._reader.update()
    with snapshot_of(tmp_path) as snapshot:
        ops = {(op.graph, op.name): op for op in snapshot.catalog.ops if op.known}
        seen = 0
        for graph, name in ops:
            graph_id = snapshot.catalog.graphs[graph].graph_id
            ours = graphs.op_info(snapshot, graph_id, name)
            assert _around(ours) == _around(theirs.GraphOpInfo(run, graph_id, name)), name
            seen += len(ours["inputs"])
    assert seen > 50


def _around(info: dict[str, Any]) -> tuple[object, ...]:
    """What both viewers say of the inputs and consumers, in an order of its own."""
    inputs = [(edge["op_name"], edge["output_slot"], _around_neighbour(edge)) for edge in info["inputs"]]
    consumers = [
        sorted((edge["op_name"], edge["input_slot"], repr(_around_neighbour(edge))) for edge in slot)
        for slot in info["consumers"]
    ]
    return info["op_type"], inputs, consumers


def _around_neighbour(edge: dict[str, Any]) -> tuple[object, ...] | None:
    data = edge.get("data")
    if data is None:
        return None
    consumers = [sorted((edge["op_name"], edge["input_slot"]) for edge in slot) for slot in data["consumers"]]
    return data["op_type"], data["inputs"], consumers
