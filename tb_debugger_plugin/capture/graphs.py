"""The graphs of the program and the ops in them, each written once.

In comes a `FuncGraph` that is complete; its op creations go to the sink, a graph's outer graph before it. Out
come the ids by which traces and executions refer to a graph, and the numbers of its tensors.

Rule: a graph has its id before the ops of any graph that runs it are written.
"""

from __future__ import annotations

import functools
import threading
import uuid
import weakref
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from tensorflow.python.framework import func_graph, ops

from tb_debugger_plugin.capture.frames import EventWriter, Frames, of_tracebacks
from tb_debugger_plugin.capture.functions.called import called_functions
from tb_debugger_plugin.capture.naming.names import GraphNames, Names
from tb_debugger_plugin.events.messages import CodeLocation, DebugEvent, GraphOpCreation, StaticTensor

#: So many records are made before they are written: each takes some kilobytes.
_AT_ONCE = 500


@dataclass
class KnownGraph:
    """What is known of one graph.

    Attributes:
      graph_id: By which records refer to it.
      tensor_ids: Numbers of the outputs of each op, by op name.
      stacks: Creation stack of each op, by op name: ids of frames, outermost first.
      recorded_constants: Names of the constants whose value is on record.
    """

    graph_id: str
    tensor_ids: dict[str, tuple[int, ...]] = field(default_factory=dict)
    stacks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    recorded_constants: set[str] = field(default_factory=set)


class Graphs:
    """The graphs of one recording. Thread-safe.

    Args:
      writer: Takes `graphs` records.
      frames: Turns creation stacks into ids.
      names: Knows layers and variables.
      host: Name of this host.
    """

    def __init__(self, writer: EventWriter, frames: Frames, names: Names, host: str) -> None:
        self._writer = writer
        self._frames = frames
        self._names = names
        self._host = host
        self._lock = threading.RLock()  # guards _known and the order of what is written
        self._known: weakref.WeakKeyDictionary[Any, KnownGraph] = weakref.WeakKeyDictionary()
        self._stacks: weakref.WeakKeyDictionary[Any, dict[str, tuple[str, ...]]] = weakref.WeakKeyDictionary()
        self._of_function: dict[str, str] = {}

    def note_op(self, graph: Any, op_name: str, frame: FrameType) -> None:
        """Remember where an op is being made: an op that is asked later keeps the answer, 9 kB, for ever.

        Args:
          graph: Which is being built.
          op_name: Of the op that has just been added.
          frame: The innermost frame.
        """
        stacks = self._stacks.get(graph)
        if stacks is None:
            stacks = self._stacks[graph] = {}
        stacks[op_name] = self._frames.current(frame)
        self._names.note_op(graph, op_name)

    def announce(self, function_name: str, graph: Any) -> None:
        """Give a graph its id, and remember that a function runs it: several functions may share one.

        Args:
          function_name: In the runtime.
          graph: A `FuncGraph`.
        """
        with self._lock:
            self._of_function[function_name] = self._add_with_outer_graphs(graph).graph_id

    def add(self, graph: Any) -> KnownGraph:
        """Write a graph and those of its ops that are new, and return what is known of it.

        Args:
          graph: A complete `FuncGraph`, or what a session runs. It may be passed again, with more ops.
            Outputs that an op has got since (calls get some for the sake of gradients; they are tensors of
            the called graph) stay unknown: TensorFlow's reader takes no second record of an op.
        """
        with self._lock:
            known = self._add_with_outer_graphs(graph)
            new = [op for op in graph.get_operations() if op.name not in known.tensor_ids]
            known.stacks.update(self._stacks.pop(graph, {}))
            known.stacks.update(self._frame_ids([op for op in new if op.name not in known.stacks]))
            self._frames.forget_files()
            names = self._names.look_at(graph, new)
            for begin in range(0, len(new), _AT_ONCE):
                some = new[begin : begin + _AT_ONCE]
                self._writer.write("graphs", *[self._op_creation(graph, known, names, op) for op in some])
            return known

    def _frame_ids(self, new: list[Any]) -> dict[str, tuple[str, ...]]:
        stacks = of_tracebacks(new)
        ids = {stack: self._frames.ids(stack) for stack in set(stacks.values())}
        return {name: ids[stack] for name, stack in stacks.items()}

    def id_of_function(self, function_name: str) -> str:
        """The id of the graph that a function runs; empty when it is no function that was recorded."""
        return self._of_function.get(function_name, "")

    def _add_with_outer_graphs(self, graph: Any) -> KnownGraph:
        known = self._known.get(graph)
        if known is not None:
            return known
        outer = _outer_graph(graph)
        outer_id = "" if outer is None else self._add_with_outer_graphs(outer).graph_id
        known = self._known[graph] = KnownGraph(str(uuid.uuid4()))
        event = DebugEvent()
        event.debugged_graph.graph_id = known.graph_id
        event.debugged_graph.graph_name = _name(graph)
        event.debugged_graph.outer_context_id = outer_id
        self._writer.write("graphs", event)
        return known

    def _op_creation(self, graph: Any, known: KnownGraph, names: GraphNames, op: Any) -> Any:
        outputs = op.outputs
        known.tensor_ids[op.name] = ids = tuple([ops.uid() for _ in outputs])
        creation = GraphOpCreation(
            op_type=op.type,
            op_name=op.name,
            graph_name=_name(graph),
            graph_id=known.graph_id,
            device_name=op.device,
            input_names=[tensor.name for tensor in op.inputs],
            num_outputs=len(outputs),
            output_tensor_ids=ids,
            outputs=[_static(tensor, self._names.gradient_of(tensor)) for tensor in outputs],
            layer=names.layers.get(op.name, ""),
            variable=names.variables.get(op.name, ""),
            called_graph_ids=filter(None, map(self.id_of_function, called_functions(op))),
        )
        event = DebugEvent(graph_op_creation=creation)
        location = _encoded_location(self._host, known.stacks.get(op.name, ()))
        event.graph_op_creation.code_location.MergeFromString(location)
        return event


@functools.lru_cache(maxsize=64)
def _encoded_location(host: str, stack: tuple[str, ...]) -> bytes:
    """Most ops share their stack with those made before them, and it is the longest part of their record."""
    return bytes(CodeLocation(host_name=host, stack_frame_ids=stack).SerializeToString())


def _outer_graph(graph: Any) -> Any:
    """The graph in whose making a graph was made, or None.

    Around what a program without TF1-style graphs traces there is the default graph, which nothing runs.
    """
    outer = getattr(graph, "outer_graph", None)
    if outer is None or isinstance(outer, func_graph.FuncGraph):
        return outer
    is_default = outer is ops._default_graph_stack._global_default_graph
    return None if is_default and not outer.version else outer


def _name(graph: Any) -> str:
    """The graphs of TF1-style sessions have none."""
    return getattr(graph, "name", "tf.Graph")


def _static(tensor: Any, gradient_of: list[str]) -> Any:
    """What is known of a tensor before it is computed."""
    dims, dtype = static_dims(tensor), tensor.dtype.as_datatype_enum
    if dims is None:
        return StaticTensor(dtype=dtype, unknown_rank=True, gradient_of=gradient_of)
    return StaticTensor(dtype=dtype, dims=dims, gradient_of=gradient_of)


def static_dims(tensor: Any) -> tuple[int, ...] | None:
    """The dimensions of a tensor before it is computed, -1 where one is not known.

    Args:
      tensor: A symbolic one.

    Returns:
      None when not even their number is known.
    """
    shape = tensor.shape
    return None if shape.rank is None else tuple([-1 if dim is None else dim for dim in shape.as_list()])
