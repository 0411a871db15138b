"""Functions with watch ops in them.

TensorFlow makes every function of a program in one place, `atomic_function.from_func_graph`: functions that a
user wrote, their forward and backward functions, bodies of loops and branches, functions of input pipelines.
When a function has been made there, its definition in the runtime is replaced by one with watch ops. The
`FuncGraph` that Python sees stays as the user's program built it, so gradients, conversions and saving never
meet our ops.

The new definition is made from a copy of the graph. It carries the creation stacks of the user's ops over, so
that TensorFlow's error messages name the same lines as without us.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import attributes
from tensorflow.python.framework import c_api_util, ops

from tb_debugger_plugin.capture.graphs import KnownGraph
from tb_debugger_plugin.capture.sinks import Sink, WatchedTensor
from tb_debugger_plugin.capture.watch_plan import CALLS, Plan, Planned, Way

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


#: Gives the watched function of a name, or None.
WatchedFunctions: TypeAlias = Callable[[str], "Function | None"]


def watch_function(
    function: Function, known: KnownGraph, plan: Plan, sink: Sink, watched: WatchedFunctions
) -> None:
    """Give the runtime a definition of a function with watch ops in it.

    Args:
      function: One that the runtime has.
      known: Ids of the graph and its tensors.
      plan: The tensors to watch.
      sink: Makes the watch nodes.
      watched: Knows the functions that have watch ops already.

    Raises:
      Exception: Something did not work; the runtime still has the old definition.
    """
    definition = _definition_of(function.graph)
    watches = _add_watches(definition, known, plan.tensors, sink)
    watches.run += _keep_calls(definition, plan, watched)
    _put_into_runtime(_to_function(definition, function.name, function.graph, watches), function)
    record_constants(known, plan, sink)


def _keep_calls(definition: graph_pb2.GraphDef, plan: Plan, watched: WatchedFunctions) -> list[str]:
    """Keep TensorFlow from dropping watch ops of the functions that a graph calls; the calls' names."""
    calls = set(plan.calls)
    kept = []
    for node in definition.node:
        if node.name in calls and any(watched(called.name) for called in _called(node)):
            node.op = CALLS[node.op]
            kept.append(node.name)
    return kept


def _called(node: Any) -> list[Any]:
    """The functions that a node's attributes name."""
    functions = [function for value in node.attr.values() for function in (value.func, *value.list.func)]
    return [function for function in functions if function.name]


def call_unwatched(function: Function, watched: WatchedFunctions) -> None:
    """Make a function call copies without watch ops of the functions it calls, and those of theirs.

    For a function that XLA compiles: it would refuse the watch ops of what it calls.

    Args:
      function: One that the runtime has.
      watched: Knows the functions that have watch ops.

    Raises:
      Exception: Something did not work; the runtime still has the old definition.
    """
    definition = _definition_of(function.graph)
    if _rename_calls(definition, watched):
        _put_into_runtime(_to_function(definition, function.name, function.graph, _Watches()), function)


_UNWATCHED = "_unwatched"


def _rename_calls(definition: graph_pb2.GraphDef, watched: WatchedFunctions) -> bool:
    """Point the calls in a graph to unwatched copies; whether there were any."""
    renamed = False
    for called in [called for node in definition.node for called in _called(node)]:
        function = watched(called.name)
        if function is not None:
            called.name = _unwatched_copy(function, watched)
            renamed = True
    return renamed


def _unwatched_copy(function: Function, watched: WatchedFunctions) -> str:
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
        if item.way is Way.CONSTANT:
            continue
        op, slot = item.op, item.slot
        source = op.name if slot == 0 else f"{op.name}:{slot}"
        inline = item.way is Way.INLINE
        made = sink.watch_nodes(
            _watched_tensor(item, known), source, f"{_SCOPE}{op.name}/{slot}", op.device, inline=inline
        )
        nodes += made
        if inline:
            watches.moved[source] = made[-1].name
        else:
            watches.run.append(made[-1].name)
    _rewire(definition.node, watches.moved)
    definition.node.extend(nodes)
    return watches


def _watched_tensor(item: Planned, known: KnownGraph) -> WatchedTensor:
    op, slot = item.op, item.slot
    dtype = op.outputs[slot].dtype.as_datatype_enum
    return WatchedTensor(known.graph_id, op.name, slot, known.tensor_ids[op.name][slot], dtype, op.type)


def record_constants(known: KnownGraph, plan: Plan, sink: Sink) -> None:
    """Record the constants of a graph, unless that has been done.

    Args:
      known: Ids of the graph and its tensors.
      plan: What to watch in it.
      sink: Takes the values.
    """
    for item in plan.tensors:
        if item.way is Way.CONSTANT and item.op.name not in known.recorded_constants:
            known.recorded_constants.add(item.op.name)
            sink.constant(_watched_tensor(item, known), tf.make_ndarray(item.op.get_attr("value")))


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
    """The names a graph gives to its outputs, by the rule of `from_func_graph`; empty for the default."""
    names = graph._output_names
    if names is None or not all(ops.tensor_id(tensor) in names for tensor in graph.outputs):
        return []
    chosen = [names[ops.tensor_id(tensor)].encode() for tensor in graph.outputs]
    return chosen if len(set(chosen)) == len(chosen) else []
