"""Writes each graph of the program, and each op in it, once.

Takes a complete `FuncGraph` and writes its op creations to the sink, outer graphs first. Returns the id by
which traces and executions refer to the graph, and its tensor ids.

Invariant: a graph has an id before the ops of any graph that runs it are written.
"""

from __future__ import annotations

import threading
import uuid
import weakref
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from itertools import chain
from types import FrameType

from tensorflow.python.framework import func_graph, ops

from tb_debugger_plugin.capture.graph.attributes import attributes_key
from tb_debugger_plugin.capture.graph.called import called_functions
from tb_debugger_plugin.capture.naming.names import GraphNames, NamesOfOps
from tb_debugger_plugin.capture.stacks.frames import EventWriter, StackFrames, creation_stacks
from tb_debugger_plugin.capture.tf_types import TfGraph, TfOp, TfTensor
from tb_debugger_plugin.events.messages import DebugEvent, GraphOpCreation, Message, StaticTensor
from tb_debugger_plugin.events.tensorflow_names import SESSION_GRAPH, is_of_pipeline

#: Number of records that are made before they are written: each takes some kilobytes.
_RECORDS_AT_ONCE = 500


@dataclass
class KnownGraph:
    """The ids and stacks of one graph that was written.

    Attributes:
      graph_id: The id by which records refer to it.
      tensor_ids: Tensor ids of the outputs of each op, by op name.
      stacks: Creation stack of each op, by op name: ids of frames, outermost first.
      layers: Path of the Keras layer of each op that has one, by op name.
      recorded_constants: Names of the constants whose values are recorded.
      in_pipeline: Whether it is part of an input pipeline.
    """

    graph_id: str
    tensor_ids: dict[str, tuple[int, ...]] = field(default_factory=dict)
    stacks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    layers: dict[str, str] = field(default_factory=dict)
    recorded_constants: set[str] = field(default_factory=set)
    in_pipeline: bool = False


@dataclass(frozen=True)
class KnownOps:
    """The ops of a graph that was written.

    Attributes:
      graph: The graph.
      known: Its ids and stacks.
    """

    graph: TfGraph
    known: KnownGraph

    @property
    def name(self) -> str:
        """Name of the graph of a function; empty for the graph of a session."""
        return str(getattr(self.graph, "name", ""))

    def type_and_device(self, op_name: str) -> tuple[str, str]:
        """Type of an op, and the device that the program asked for."""
        op = self.graph.get_operation_by_name(op_name)
        return op.type, op.device

    def inputs_of(self, op_name: str) -> tuple[int, ...]:
        """Ids of the tensors that an op takes, where they were computed: an identity only passes one on."""
        found = [computed(tensor) for tensor in self.graph.get_operation_by_name(op_name).inputs]
        ids = self.known.tensor_ids
        return tuple(ids[one.op.name][one.value_index] for one in found if one.op.name in ids)


class GraphRecords:
    """The graphs of one recording. Thread-safe.

    Args:
      writer: Takes `graphs` records.
      frames: Returns the frame ids of creation stacks.
      names: Returns layers and variables.
    """

    def __init__(self, writer: EventWriter, frames: StackFrames, names: NamesOfOps) -> None:
        self._writer = writer
        self._frames = frames
        self._names = names
        self._lock = threading.RLock()  # guards _known and the order of records
        self._known: weakref.WeakKeyDictionary[TfGraph, KnownGraph] = weakref.WeakKeyDictionary()
        self._stacks: weakref.WeakKeyDictionary[TfGraph, dict[str, tuple[str, ...]]] = (
            weakref.WeakKeyDictionary()
        )
        self._of_function: dict[str, str] = {}
        self._attributes: dict[Hashable, int] = {}

    def note_op(self, graph: TfGraph, op_name: str, frame: FrameType) -> None:
        """Store the stack of an op while it is made.

        Reading it later would make the op keep 9 kB for ever.

        Args:
          graph: The graph that is being built.
          op_name: Name of the op that was just added.
          frame: The innermost frame.
        """
        stacks = self._stacks.get(graph)
        if stacks is None:
            stacks = self._stacks[graph] = {}
        stacks[op_name] = self._frames.current(frame)
        self._names.note_op(graph, op_name)

    def announce(self, function_name: str, graph: TfGraph) -> None:
        """Give a graph its id, and store that a function runs it: several functions may share a graph.

        Args:
          function_name: Name of the function in the runtime.
          graph: A `FuncGraph`.
        """
        with self._lock:
            self._of_function[function_name] = self._add_with_outer_graphs(graph).graph_id

    def add(self, graph: TfGraph) -> KnownGraph:
        """Write a graph and its new ops, and return its ids and stacks.

        Args:
          graph: A complete `FuncGraph`, or the graph of a session. It may be passed again, with more ops.
            Outputs that an op has got since then (calls get some for gradients; they are tensors of the
            called graph) are not recorded: TensorFlow's reader takes no second record of an op.
        """
        with self._lock:
            known = self._add_with_outer_graphs(graph)
            new = [op for op in graph.get_operations() if op.name not in known.tensor_ids]
            known.stacks.update(self._stacks.pop(graph, {}))
            known.stacks.update(self._frame_ids([op for op in new if op.name not in known.stacks]))
            self._frames.forget_files()
            names = self._names.of_ops(graph, new)
            known.layers.update(names.layers)
            for begin in range(0, len(new), _RECORDS_AT_ONCE):
                part = new[begin : begin + _RECORDS_AT_ONCE]
                self._writer.write("graphs", *self._op_creations(graph, known, names, part))
            return known

    def _frame_ids(self, new: list[TfOp]) -> dict[str, tuple[str, ...]]:
        stacks = creation_stacks(new)
        ids = {stack: self._frames.ids(stack) for stack in set(stacks.values())}
        return {name: ids[stack] for name, stack in stacks.items()}

    def id_of_function(self, function_name: str) -> str:
        """Return the id of the graph that a function runs; empty when the function is not recorded."""
        return self._of_function.get(function_name, "")

    def variables(self, graph: TfGraph) -> Mapping[str, str]:
        """Return the names of the variables of a graph, by the ops that represent, read or assign them."""
        return self._names.of_ops(graph, []).variables

    def type_and_stack(self, graph_id: str, op_name: str) -> tuple[str, tuple[str, ...]]:
        """Type and creation stack of an op on record; its name and no stack when its graph is gone."""
        with self._lock:
            for graph, known in self._known.items():
                if known.graph_id == graph_id:
                    op_type = graph.get_operation_by_name(op_name).type
                    return op_type, known.stacks.get(op_name, ())
        return op_name, ()

    def ops_of(self, graph_id: str) -> KnownOps | None:
        """Return the ops of a graph; None when it was deleted."""
        with self._lock:
            found = (KnownOps(graph, known) for graph, known in self._known.items())
            return next((ops for ops in found if ops.known.graph_id == graph_id), None)

    def tensors_of(self, graph: TfGraph | None) -> frozenset[int]:
        """Return the ids of all tensors of a graph; none for None, and for a graph that was not written."""
        with self._lock:
            known = None if graph is None else self._known.get(graph)
            return frozenset(() if known is None else chain.from_iterable(known.tensor_ids.values()))

    def _add_with_outer_graphs(self, graph: TfGraph) -> KnownGraph:
        known = self._known.get(graph)
        if known is not None:
            return known
        outer = _outer_graph(graph)
        outer_id = "" if outer is None else self._add_with_outer_graphs(outer).graph_id
        known = self._known[graph] = KnownGraph(str(uuid.uuid4()), in_pipeline=_is_in_pipeline(graph))
        event = DebugEvent()
        event.debugged_graph.graph_id = known.graph_id
        event.debugged_graph.graph_name = _name(graph)
        event.debugged_graph.outer_context_id = outer_id
        self._writer.write("graphs", event)
        return known

    def _op_creations(
        self, graph: TfGraph, known: KnownGraph, names: GraphNames, part: list[TfOp]
    ) -> list[Message]:
        """Return the records of ops, after those of attributes that no earlier op has."""
        attributes: list[Message] = []
        creations = [
            self._op_creation(graph, known, names, op, self._attributes_of(op, attributes)) for op in part
        ]
        return attributes + creations

    def _attributes_of(self, op: TfOp, new: list[Message]) -> int:
        """Return the number of an op's attributes; add their record to `new` if no earlier op has them."""
        key, texts = attributes_key(op)
        number = self._attributes.get(key)
        if number is None:
            number = self._attributes[key] = len(self._attributes) + 1
            event = DebugEvent()
            event.op_attributes.number = number
            for name, value in texts():
                event.op_attributes.attributes.add(name=name, value=value)
            new.append(event)
        return number

    def _op_creation(
        self, graph: TfGraph, known: KnownGraph, names: GraphNames, op: TfOp, attributes: int
    ) -> Message:
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
            outputs=[self._static(tensor) for tensor in outputs],
            layer=names.layers.get(op.name, ""),
            variable=names.variables.get(op.name, ""),
            called_graph_ids=filter(None, map(self.id_of_function, called_functions(op))),
            control_input_names=[source.name for source in op.control_inputs],
            attributes=attributes,
        )
        event = DebugEvent(graph_op_creation=creation)
        location = self._frames.code_location(known.stacks.get(op.name, ()))
        event.graph_op_creation.code_location.MergeFromString(location)
        return event

    def _static(self, tensor: TfTensor) -> Message:
        """Return dtype, static shape and role of a tensor."""
        dims, gradient_of = static_dims(tensor), self._names.gradient_of(tensor)
        return StaticTensor(
            dtype=tensor.dtype.as_datatype_enum,
            unknown_rank=dims is None,
            dims=dims,
            gradient_of=gradient_of,
            is_loss=self._names.is_loss(tensor),
        )


def _outer_graph(graph: TfGraph) -> TfGraph | None:
    """Return the graph that was being built when a graph was made, or None.

    In a program without TF1-style graphs this may be the default graph, which is empty and never runs.
    """
    outer = getattr(graph, "outer_graph", None)
    if outer is None or isinstance(outer, func_graph.FuncGraph):
        return outer
    is_default = outer is ops._default_graph_stack._global_default_graph
    return None if is_default and not outer.version else outer


def _is_in_pipeline(graph: TfGraph | None) -> bool:
    while isinstance(graph, func_graph.FuncGraph):
        if is_of_pipeline(graph.name):
            return True
        graph = graph.outer_graph
    return False


def _name(graph: TfGraph) -> str:
    """Return the name of a graph; the graphs of TF1-style sessions have no name of their own."""
    return getattr(graph, "name", SESSION_GRAPH)


def static_dims(tensor: TfTensor) -> tuple[int, ...] | None:
    """Return the static dimensions of a tensor, -1 for an unknown one; None when the rank is unknown.

    Args:
      tensor: A symbolic tensor.
    """
    shape = tensor.shape
    return None if shape.rank is None else tuple([-1 if dim is None else dim for dim in shape.as_list()])


def computed(tensor: TfTensor) -> TfTensor:
    """Return the tensor that Identity ops pass on: that one is recorded."""
    while tensor.op.type == "Identity":
        tensor = tensor.op.inputs[0]
    return tensor
