"""Functions with watch ops in them.

TensorFlow makes every function of a program in one place, `atomic_function.from_func_graph`: functions that a
user wrote, their forward and backward functions, bodies of loops and branches, functions of input pipelines.
While a recording is on, the definition that a function has in the runtime is one with watch ops, made from a
copy of its graph. The `FuncGraph` that Python sees stays as the user's program built it, so gradients,
conversions and saving never meet our ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import tensorflow as tf
from tensorflow.core.framework import graph_pb2
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import attributes

from tb_debugger_plugin.capture.functions.called import function_attributes
from tb_debugger_plugin.capture.functions.copies import functions_named
from tb_debugger_plugin.capture.functions.definitions import define, definition_of, library_of, source_name
from tb_debugger_plugin.capture.functions.function import Function
from tb_debugger_plugin.capture.graphs import KnownGraph, static_dims
from tb_debugger_plugin.capture.session_graph import Watches
from tb_debugger_plugin.capture.sinks.protocol import Sink, WatchedTensor, WatchOp
from tb_debugger_plugin.capture.watching.attachment import Attachment
from tb_debugger_plugin.capture.watching.plan import CALLS, Plan, Planned
from tb_debugger_plugin.capture.watching.record_order import waits

#: Stands before the names of watch nodes.
SCOPE = "TbDebuggerWatch/"

#: Gives the function of a name that has watch ops in the runtime, or None.
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
    record_constants(plan, known, sink)
    definition, moved, run = instrumented(function, known, plan, sink, watched)
    define(function, definition, moved=moved, run=run, stacks=known.stacks)


def instrumented(
    function: Function, known: KnownGraph, plan: Plan, sink: Sink, watched: WatchedFunctions
) -> tuple[graph_pb2.GraphDef, dict[str, str], list[str]]:
    """The graph of a function with watch nodes in it, without the functions that it calls.

    Args:
      function: Whose graph is there.
      known: Ids of the graph and its tensors.
      plan: The tensors to watch.
      sink: Makes the watch nodes.
      watched: Knows the functions that have watch ops.

    Returns:
      The graph, the tensors that watch nodes take the place of, and the names of nodes that have to run.
    """
    definition = definition_of(function)
    moved, run = _add_watches(definition, known, plan.tensors, sink)
    run += _keep_calls(definition, plan, watched)
    if run and _can_be_condition(function):
        _let_predicate_wait(definition, function, moved, run)
    return definition, moved, run


def with_watched_calls(
    function: Function, definition: graph_pb2.GraphDef, watched: WatchedFunctions
) -> graph_pb2.GraphDef:
    """A graph together with the functions that it calls, as the runtime has them.

    Args:
      function: Whose graph it is a version of.
      definition: The graph. It is changed.
      watched: Knows the functions that have watch ops.
    """
    brought = library_of(definition)
    brought.CopyFrom(library_of(function.graph_of().as_graph_def()))
    _call_watched(brought, watched)
    return definition


def _add_watches(
    definition: graph_pb2.GraphDef, known: KnownGraph, planned: Sequence[Planned], sink: Sink
) -> tuple[dict[str, str], list[str]]:
    """Add watch nodes: the tensors that they take the place of, and the nodes that nothing consumes."""
    moved: dict[str, str] = {}
    run: list[str] = []
    nodes = []
    for item in planned:
        if item.attachment is Attachment.CONSTANT:
            continue
        op = _watch_op(item, known)
        made = sink.reduced_watch_nodes(op) if item.attachment is Attachment.REDUCED else sink.watch_nodes(op)
        nodes += made
        if op.inline:
            moved[op.source] = made[-1].name
        else:
            run.append(made[-1].name)
    _rewire(definition.node, moved)
    definition.node.extend(nodes)
    _let_wait(definition.node, waits(planned, _watch_name))
    return moved, run


def _can_be_condition(function: Function) -> bool:
    """Whether a loop that TensorFlow takes apart may ask a function: those ask for one bool."""
    return [tensor.dtype for tensor in function.result_tensors()] == [tf.bool]


def _let_predicate_wait(
    definition: graph_pb2.GraphDef, function: Function, moved: dict[str, str], run: Sequence[str]
) -> None:
    """Make what has to run part of a condition's result.

    A loop that is taken apart runs its condition for the result alone: ops that nothing consumes are dropped.
    """
    (result,) = function.result_tensors()
    source = source_name(result.op.name, result.value_index)
    # Not the op of the result itself: among what has to run may be ops that take it.
    node = definition.node.add(name=f"{SCOPE}predicate", op="Identity", device=result.op.device)
    node.attr["T"].type = tf.bool.as_datatype_enum
    node.input.extend([moved.get(source, source), *(f"^{name}" for name in run)])
    moved[source] = node.name


def _let_wait(nodes: Iterable[Any], waits: Mapping[str, list[str]]) -> None:
    if waits:
        for node in nodes:
            node.input.extend(f"^{name}" for name in waits.get(node.name, ()))


def watch_part(
    definition: graph_pb2.GraphDef, known: KnownGraph, plan: Plan, sink: Sink, watched: WatchedFunctions
) -> Watches:
    """Add watch nodes to a part of a graph that a session runs.

    Args:
      definition: The part, with the functions that it calls. It is changed.
      known: Ids of the graph and its tensors.
      plan: The tensors to watch.
      sink: Makes the watch nodes.
      watched: Knows the functions that have watch ops.
    """
    moved, _ = _add_watches(definition, known, plan.tensors, sink)
    _keep_calls(definition, plan, watched)
    _call_watched(library_of(definition), watched)
    by_op: dict[str, dict[int, str]] = {}
    for item in plan.tensors:
        by_op.setdefault(item.op.name, {})[item.slot] = _watch_name(item)
    return Watches(moved, by_op)


def _call_watched(library: Any, watched: WatchedFunctions) -> None:
    """Put what the runtime runs in the place of the functions that the program made, with all they call."""
    runtime = context.context()
    by_name = {function.signature.name: function for function in library.function}
    waiting = [name for name in by_name if watched(name) is not None]
    for name in waiting:
        # The method of the class: the instance shows the program's own.
        by_name[name] = context.Context.get_function_def(runtime, name)
        called = {function.name for node in by_name[name].node_def for function in functions_named(node)}
        waiting += [new for new in called if new not in by_name and new not in waiting]
    del library.function[:]
    library.function.extend(by_name.values())


def record_constants(plan: Plan, known: KnownGraph, sink: Sink) -> None:
    """Record the tensors of a graph whose value is known before it runs, each once."""
    for item in plan.tensors:
        if item.attachment is Attachment.CONSTANT and item.op.name not in known.recorded_constants:
            known.recorded_constants.add(item.op.name)
            value = tf.make_ndarray(item.op.get_attr("value"))
            sink.constant(watched_tensor(item, known), value, item.op.device)


def _watch_op(item: Planned, known: KnownGraph) -> WatchOp:
    return WatchOp(
        watched_tensor(item, known),
        _source_of(item),
        _watch_name(item),
        item.op.device,
        inline=item.attachment is Attachment.INLINE,
        same=tuple([watched_tensor(each, known) for each in item.same]),
        before=tuple([(watched_tensor(each, known), _source_of(each)) for each in item.before]),
    )


def _source_of(item: Planned) -> str:
    return source_name(item.op.name, item.slot)


def _watch_name(item: Planned) -> str:
    return f"{SCOPE}{item.op.name}/{item.slot}"


def watched_tensor(item: Planned, known: KnownGraph) -> WatchedTensor:
    """A planned tensor as a sink knows it."""
    name, slot = item.op.name, item.slot
    dtype = item.tensor.dtype.as_datatype_enum
    return WatchedTensor(
        known.graph_id, name, slot, known.tensor_ids[name][slot], dtype, static_dims(item.tensor)
    )


def _rewire(nodes: Iterable[Any], moved: dict[str, str]) -> None:
    for node in nodes:
        for position, name in enumerate(node.input):
            new = moved.get(name)
            if new is not None:
                node.input[position] = new


def _keep_calls(definition: graph_pb2.GraphDef, plan: Plan, watched: WatchedFunctions) -> list[str]:
    """Keep TensorFlow from dropping watch ops of the functions that a graph calls, and XLA from meeting them.

    Returns:
      The names of the calls that have to run.
    """
    calls = set(plan.calls)
    kept = []
    for node in definition.node:
        if not function_attributes(node.op):
            continue
        called = [function for f in functions_named(node) if (function := watched(f.name)) is not None]
        if called and node.name in calls:
            node.op = CALLS[node.op]
            kept.append(node.name)
        if any(function.is_compiled for function in called):
            # What is called is a wrapper now; XLA compiles what that calls.
            node.attr.pop(attributes.XLA_COMPILE, None)
    return kept
