"""Functions with watch ops in them.

TensorFlow makes every function of a program in one place, `atomic_function.from_func_graph`: functions that a user
wrote, their forward and backward functions, bodies of loops and branches, functions of input pipelines. When a
function has been made there, its definition in the runtime is replaced by one with watch ops. The `FuncGraph` that
Python sees stays as the user's program built it, so gradients, conversions and saving never meet our ops.

The new definition is made from a copy of the graph. It carries the creation stacks of the user's ops over, so that
TensorFlow's error messages name the same lines as without us.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import attributes
from tensorflow.python.framework import c_api_util, ops

from tb_debugger_plugin.capture.graphs import KnownGraph
from tb_debugger_plugin.capture.sinks import Sink, WatchedTensor
from tb_debugger_plugin.capture.watch_plan import Planned, Way

_SCOPE = "TbDebuggerWatch/"


@dataclass(frozen=True)
class Function:
    """A function that `from_func_graph` has made.

    Attributes:
      name: In the runtime.
      graph: The `FuncGraph` it was made from.
      attrs: The attributes it was made with.
    """

    name: str
    graph: Any
    attrs: Mapping[str, Any]

    @property
    def is_compiled(self) -> bool:
        """Whether XLA compiles it; it has no kernel for our ops."""
        value = self.attrs.get(attributes.XLA_COMPILE, False)
        return bool(getattr(value, "b", value))


def watch_function(function: Function, known: KnownGraph, planned: Iterable[Planned], sink: Sink) -> None:
    """Give the runtime a definition of a function with watch ops in it.

    Args:
      function: One that the runtime has.
      known: Ids of the graph and its tensors.
      planned: The tensors to watch.
      sink: Makes the watch nodes.

    Raises:
      Exception: Something did not work; the runtime still has the old definition.
    """
    definition = _definition_of(function.graph)
    watches = _add_watches(definition, known, planned, sink)
    _put_into_runtime(_to_function(definition, function.name, function.graph, watches), function)


def call_unwatched(function: Function, watched: Callable[[str], Function | None]) -> None:
    """Make a function call copies without watch ops of the functions it calls, and those of theirs.

    For a function that XLA compiles: it would refuse the watch ops of what it calls.

    Args:
      function: One that the runtime has.
      watched: Gives the watched function of a name, or None.

    Raises:
      Exception: Something did not work; the runtime still has the old definition.
    """
    definition = _definition_of(function.graph)
    if _rename_calls(definition, watched):
        _put_into_runtime(_to_function(definition, function.name, function.graph, _Watches()), function)


_UNWATCHED = "_unwatched"


def _rename_calls(definition: graph_pb2.GraphDef, watched: Callable[[str], Function | None]) -> bool:
    """Point the calls in a graph to unwatched copies; whether there were any."""
    renamed = False
    for node in definition.node:
        for value in node.attr.values():
            for called in [value.func, *value.list.func]:
                function = watched(called.name) if called.name else None
                if function is not None:
                    called.name = _unwatched_copy(function, watched)
                    renamed = True
    return renamed


def _unwatched_copy(function: Function, watched: Callable[[str], Function | None]) -> str:
    """The name of a copy of a function, and of all that it calls, without watch ops."""
    copy = Function(function.name + _UNWATCHED, function.graph, function.attrs)
    if not context.context().has_function(copy.name):
        definition = _definition_of(function.graph)
        _rename_calls(definition, watched)
        _put_into_runtime(_to_function(definition, copy.name, copy.graph, _Watches()), copy)
    return copy.name


def _put_into_runtime(made: Any, function: Function) -> None:
    for name, value in attributes.parse_func_attrs(dict(function.attrs)).items():
        c_api.TF_FunctionSetAttrValueProto(made, name, value.SerializeToString())
    runtime = context.context()
    if runtime.has_function(function.name):
        runtime.remove_function(function.name)
    runtime.add_c_function(made)
    c_api.TF_DeleteFunction(made)


def _definition_of(graph: Any) -> graph_pb2.GraphDef:
    definition = graph.as_graph_def()
    # The functions that it calls are in the runtime already.
    definition.ClearField("library")
    return definition


class _Watches:
    """The watch nodes of one function.

    Attributes:
      moved: The tensors that consumers now take from a watch node: old name to new.
      run: Names of the nodes that nothing consumes and that must run all the same.
    """

    def __init__(self) -> None:
        self.moved: dict[str, str] = {}
        self.run: list[str] = []


def _add_watches(
    definition: graph_pb2.GraphDef, known: KnownGraph, planned: Iterable[Planned], sink: Sink
) -> _Watches:
    watches = _Watches()
    nodes = []
    for item in planned:
        op, slot = item.op, item.slot
        tensor = WatchedTensor(
            known.graph_id,
            op.name,
            slot,
            known.tensor_ids[op.name][slot],
            op.outputs[slot].dtype.as_datatype_enum,
        )
        if item.way is Way.CONSTANT:
            _record_constant(tensor, op, known, sink)
            continue
        source = op.name if slot == 0 else f"{op.name}:{slot}"
        inline = item.way is Way.INLINE
        made = sink.watch_nodes(tensor, source, f"{_SCOPE}{op.name}/{slot}", op.device, inline=inline)
        nodes += made
        if inline:
            watches.moved[source] = made[-1].name
        else:
            watches.run.append(made[-1].name)
    _rewire(definition.node, watches.moved)
    definition.node.extend(nodes)
    return watches


def _record_constant(tensor: WatchedTensor, op: Any, known: KnownGraph, sink: Sink) -> None:
    """Record a constant the first time its graph is made into a function."""
    if tensor.op_name in known.recorded_constants:
        return
    known.recorded_constants.add(tensor.op_name)
    sink.constant(tensor, tf.make_ndarray(op.get_attr("value")))


def _rewire(nodes: Iterable[Any], moved: dict[str, str]) -> None:
    for node in nodes:
        for position, name in enumerate(node.input):
            new = moved.get(name)
            if new is not None:
                node.input[position] = new


def _to_function(definition: graph_pb2.GraphDef, name: str, graph: Any, watches: _Watches) -> Any:
    """Make a runtime function of a changed copy of a graph."""
    copy = ops.Graph()
    options = c_api.TF_NewImportGraphDefOptions()
    with copy._c_graph.get() as c_graph, c_api_util.tf_buffer(definition.SerializeToString()) as buffer:
        c_api.TF_GraphImportGraphDefWithResults(c_graph, buffer, options)
    copy._add_new_tf_operations(compute_devices=False)
    copied = {op.name: op for op in copy.get_operations()}
    for op in graph.get_operations():
        traceback = op.traceback
        if traceback is not None:
            # A slice is a copy that the new op can own; of the user's frames only, as TensorFlow shows them.
            c_api.TF_SetOpStackTrace(copied[op.name]._c_op, traceback.get_user_frames()[:])

    def moved(tensor: Any) -> Any:
        at = tensor.op.name if tensor.value_index == 0 else tensor.name
        new = watches.moved.get(at)
        return copied[new].outputs[0] if new else copied[tensor.op.name].outputs[tensor.value_index]

    argument_names = {tensor.op.name for tensor in graph.inputs}
    arguments = [copied[tensor.op.name].outputs[0] for tensor in graph.inputs]
    run = [op.name for op in graph.control_outputs] + watches.run
    with copy._c_graph.get() as c_graph:
        return c_api.TF_GraphToFunction_wrapper(
            c_graph,
            name,
            False,
            [op._c_op for op in copied.values() if op.name not in argument_names],
            [tensor._as_tf_output() for tensor in arguments],
            [moved(tensor)._as_tf_output() for tensor in graph.outputs],
            _output_names(graph),
            [copied[op_name]._c_op for op_name in run],
            [],
            None,
            "",
        )


def _output_names(graph: Any) -> list[bytes]:
    """The names a graph gives to its outputs, by the rule of `from_func_graph`; empty to name them by default."""
    names = graph._output_names
    if names is None or not all(ops.tensor_id(tensor) in names for tensor in graph.outputs):
        return []
    chosen = [names[ops.tensor_id(tensor)].encode() for tensor in graph.outputs]
    return chosen if len(set(chosen)) == len(chosen) else []
