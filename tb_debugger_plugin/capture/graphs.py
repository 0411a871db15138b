"""The graphs of the program and the ops in them, each written once.

In comes a `FuncGraph` that is complete; its op creations go to the sink, a graph's outer graph before it. Out
come the ids by which traces and executions refer to a graph, and the numbers of its tensors.
"""

from __future__ import annotations

import threading
import uuid
import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import func_graph, ops

from tb_debugger_plugin.capture.frames import EventWriter, Frames, of_traceback
from tb_debugger_plugin.events.messages import DebugEvent


@dataclass
class KnownGraph:
    """What is known of one graph.

    Attributes:
      graph_id: By which records refer to it.
      tensor_ids: Numbers of the outputs of each op, by op name.
      recorded_constants: Names of the constants whose value is on record.
    """

    graph_id: str
    tensor_ids: dict[str, tuple[int, ...]] = field(default_factory=dict)
    recorded_constants: set[str] = field(default_factory=set)


class Graphs:
    """The graphs of one recording. Thread-safe.

    Args:
      writer: Takes `graphs` records.
      frames: Turns creation stacks into ids.
      host: Name of this host.
    """

    def __init__(self, writer: EventWriter, frames: Frames, host: str) -> None:
        self._writer = writer
        self._frames = frames
        self._host = host
        self._lock = threading.RLock()  # guards _known and the order of what is written
        self._known: weakref.WeakKeyDictionary[Any, KnownGraph] = weakref.WeakKeyDictionary()
        self._of_function: dict[str, str] = {}

    def add(self, graph: Any) -> KnownGraph:
        """Write a graph and those of its ops that are new, and return what is known of it.

        Args:
          graph: A complete `FuncGraph`. It may be passed again, with more ops. Outputs that an op has got
            since (calls get some for the sake of gradients; they are tensors of the called graph) stay
            unknown: TensorFlow's reader takes no second record of an op.
        """
        with self._lock:
            known = self._add_with_outer_graphs(graph)
            new = [op for op in graph.get_operations() if op.name not in known.tensor_ids]
            self._writer.write("graphs", *[self._op_creation(graph, known, op) for op in new])
            return known

    def name_function(self, function_name: str, known: KnownGraph) -> None:
        """Remember which graph a function runs: several functions may share one."""
        self._of_function[function_name] = known.graph_id

    def id_of_function(self, function_name: str) -> str:
        """The id of the graph that a function runs; empty when it is no function that was recorded."""
        return self._of_function.get(function_name, "")

    def _add_with_outer_graphs(self, graph: Any) -> KnownGraph:
        known = self._known.get(graph)
        if known is not None:
            return known
        outer_id = ""
        outer = graph.outer_graph
        if isinstance(outer, func_graph.FuncGraph):
            outer_id = self._add_with_outer_graphs(outer).graph_id
        known = self._known[graph] = KnownGraph(str(uuid.uuid4()))
        event = DebugEvent()
        event.debugged_graph.graph_id = known.graph_id
        event.debugged_graph.graph_name = graph.name
        event.debugged_graph.outer_context_id = outer_id
        self._writer.write("graphs", event)
        return known

    def _op_creation(self, graph: Any, known: KnownGraph, op: Any) -> Any:
        outputs = op.outputs
        known.tensor_ids[op.name] = ids = tuple(ops.uid() for _ in outputs)
        event = DebugEvent()
        creation = event.graph_op_creation
        creation.op_type = op.type
        creation.op_name = op.name
        creation.graph_name = graph.name
        creation.graph_id = known.graph_id
        creation.device_name = op.device
        creation.input_names.extend(tensor.name for tensor in op.inputs)
        creation.num_outputs = len(outputs)
        creation.output_tensor_ids.extend(ids)
        creation.code_location.host_name = self._host
        creation.code_location.stack_frame_ids.extend(self._frames.ids(of_traceback(op.traceback)))
        _describe(creation.outputs, outputs)
        return event


def _describe(described: Any, tensors: Iterable[tf.Tensor]) -> None:
    """Append to `described` what is known of tensors before they are computed."""
    for tensor in tensors:
        static = described.add()
        static.dtype = tensor.dtype.as_datatype_enum
        shape = tensor.shape
        static.unknown_rank = shape.rank is None
        static.dims.extend(-1 if dim is None else dim for dim in (shape.as_list() if shape.rank else ()))
