"""Functions with watch ops in them.

TensorFlow makes every function of a program in one place, `atomic_function.from_func_graph`: functions that a
user wrote, their forward and backward functions, bodies of loops and branches, functions of input pipelines.
While a recording is on, the definition that a function has in the runtime is one with watch ops, made from a
copy of its graph. The `FuncGraph` that Python sees stays as the user's program built it, so gradients,
conversions and saving never meet our ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python.eager import context

from tb_debugger_plugin.capture.definitions import define, definition_of, source_name
from tb_debugger_plugin.capture.functions import Function
from tb_debugger_plugin.capture.graphs import KnownGraph
from tb_debugger_plugin.capture.sinks import Sink, WatchedTensor
from tb_debugger_plugin.capture.watch_plan import CALLS, Plan, Planned, Way

_SCOPE = "TbDebuggerWatch/"
_UNWATCHED = "_unwatched"

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
      watched: Knows the functions that have watch ops.

    Raises:
      Exception: Something did not work; the runtime still has the old definition.
    """
    definition = definition_of(function)
    moved, run = _add_watches(definition, known, plan.tensors, sink)
    run += _keep_calls(definition, plan, watched)
    define(function, definition, moved=moved, run=run, stacks=known.stacks)


def call_unwatched(function: Function, watched: WatchedFunctions) -> bool:
    """Make a function call copies without watch ops of the functions it calls, and those of theirs.

    For a function that XLA compiles: it would refuse the watch ops of what it calls.

    Args:
      function: One that the runtime has.
      watched: Knows the functions that have watch ops.

    Returns:
      Whether it calls any, and so has another definition now.

    Raises:
      Exception: Something did not work; the runtime still has the old definition.
    """
    definition = definition_of(function)
    changed = _rename_calls(definition, watched)
    if changed:
        define(function, definition)
    return changed


def _add_watches(
    definition: graph_pb2.GraphDef, known: KnownGraph, planned: Iterable[Planned], sink: Sink
) -> tuple[dict[str, str], list[str]]:
    """Add watch nodes: the tensors that they take the place of, and the nodes that nothing consumes."""
    moved: dict[str, str] = {}
    run: list[str] = []
    nodes = []
    for item in planned:
        op, tensor = item.op, _watched_tensor(item, known)
        if item.way is Way.CONSTANT:
            if op.name not in known.recorded_constants:
                known.recorded_constants.add(op.name)
                sink.constant(tensor, tf.make_ndarray(op.get_attr("value")))
            continue
        source = source_name(op.name, item.slot)
        inline = item.way is Way.INLINE
        made = sink.watch_nodes(tensor, source, f"{_SCOPE}{op.name}/{item.slot}", op.device, inline=inline)
        nodes += made
        if inline:
            moved[source] = made[-1].name
        else:
            run.append(made[-1].name)
    _rewire(definition.node, moved)
    definition.node.extend(nodes)
    return moved, run


def _watched_tensor(item: Planned, known: KnownGraph) -> WatchedTensor:
    op, slot = item.op, item.slot
    dtype = op.outputs[slot].dtype.as_datatype_enum
    return WatchedTensor(known.graph_id, op.name, slot, known.tensor_ids[op.name][slot], dtype)


def _rewire(nodes: Iterable[Any], moved: dict[str, str]) -> None:
    for node in nodes:
        for position, name in enumerate(node.input):
            new = moved.get(name)
            if new is not None:
                node.input[position] = new


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
    name = function.name + _UNWATCHED
    if not context.context().has_function(name):
        definition = definition_of(function)
        _rename_calls(definition, watched)
        define(function, definition, name=name)
    return name
