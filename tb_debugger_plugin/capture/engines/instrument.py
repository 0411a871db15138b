"""Adds watch ops to functions.

TensorFlow makes every function of a program in one place, `atomic_function.from_func_graph`: functions that a
user wrote, their forward and backward functions, bodies of loops and branches, functions of input pipelines.
While a recording is on, the runtime's definition of a function has watch ops and is made from a copy of its
graph. The `FuncGraph` in Python does not change, so gradients, conversions and saving never see watch ops.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import attributes

from tb_debugger_plugin.capture.graph.attributes import constant_value
from tb_debugger_plugin.capture.graph.called import function_attributes
from tb_debugger_plugin.capture.graph.copies import functions_named
from tb_debugger_plugin.capture.graph.definitions import (
    Changes,
    define,
    definition_of,
    library_of,
    make_savable,
    source_name,
)
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.session_graph import SessionWatches
from tb_debugger_plugin.capture.graph_records import KnownGraph, static_dims
from tb_debugger_plugin.capture.plan.attachment import Attachment
from tb_debugger_plugin.capture.plan.plan import CALLS, Plan, Planned
from tb_debugger_plugin.capture.plan.record_order import waits
from tb_debugger_plugin.capture.sinks.protocol import Sink, WatchedTensor, WatchOp
from tb_debugger_plugin.capture.tf_types import FunctionDefLibrary, GraphDef, NodeDef

#: Prefix of the names of watch nodes.
SCOPE = "TbDebuggerWatch/"

#: Returns the function of a name; None when it has no watch ops in the runtime.
WatchedFunctions: TypeAlias = Callable[[str], "Function | None"]


def watch_function(
    function: Function, known: KnownGraph, plan: Plan, sink: Sink, watched: WatchedFunctions
) -> None:
    """Give the runtime a definition of a function with watch ops.

    Args:
      function: A function of the runtime.
      known: Ids of the graph and its tensors.
      plan: The tensors to watch.
      sink: Makes the watch nodes.
      watched: Returns the functions that have watch ops.

    Raises:
      Exception: TensorFlow refuses the definition; the runtime still has the old one.
    """
    record_constants(plan, known, sink)
    note_unrecorded(plan, known, sink)
    definition, moved, run = instrumented(function, known, plan, sink, watched, is_savable=known.in_pipeline)
    define(function, definition, Changes(moved, run), stacks=known.stacks)


def instrumented(
    function: Function,
    known: KnownGraph,
    plan: Plan,
    sink: Sink,
    watched: WatchedFunctions,
    *,
    is_savable: bool = False,
) -> tuple[GraphDef, dict[str, str], list[str]]:
    """Return the graph of a function with watch nodes, without the functions that it calls.

    Args:
      function: A function that still has its graph.
      known: Ids of the graph and its tensors.
      plan: The tensors to watch.
      sink: Makes the watch nodes.
      watched: Returns the functions that have watch ops.
      is_savable: Whether TensorFlow is to save iterators of input pipelines that run the function.

    Returns:
      The graph, the tensors that watch nodes replace, and the names of the nodes that have to run.
    """
    definition = definition_of(function)
    moved, run = _add_watches(definition, known, plan.tensors, sink)
    run += _keep_calls(definition, plan, watched, is_savable=is_savable)
    if run and _can_be_condition(function):
        _add_run_to_predicate(definition, function, moved, run)
    if is_savable:
        make_savable(definition)
    return definition, moved, run


def with_watched_calls(function: Function, definition: GraphDef, watched: WatchedFunctions) -> GraphDef:
    """Return a graph together with the functions that it calls, as the runtime has them.

    Args:
      function: The function of the graph.
      definition: The graph, possibly with watch ops. It is changed in place.
      watched: Returns the functions that have watch ops.
    """
    library = library_of(definition)
    library.CopyFrom(library_of(function.graph.as_graph_def()))
    _call_watched(library, watched)
    return definition


def _add_watches(
    definition: GraphDef, known: KnownGraph, planned: Sequence[Planned], sink: Sink
) -> tuple[dict[str, str], list[str]]:
    """Add watch nodes; return the tensors that they replace, and the nodes without consumers."""
    moved: dict[str, str] = {}
    run: list[str] = []
    nodes = []
    for item in planned:
        if item.attachment is Attachment.CONSTANT:
            continue
        op = _watch_op(item, known)
        is_reduced = item.attachment is Attachment.REDUCED
        made = sink.reduced_watch_nodes(op) if is_reduced else sink.watch_nodes(op)
        nodes += made
        if op.inline:
            moved[op.source] = made[-1].name
        else:
            run.append(made[-1].name)
    _rewire(definition.node, moved)
    definition.node.extend(nodes)
    order = waits(planned, _watch_name, effects_wait=sink.fails_graphs)
    _add_control_inputs(definition.node, order)
    return moved, run


def _can_be_condition(function: Function) -> bool:
    """Whether a function may be the condition of a loop: such a function returns one bool."""
    return [tensor.dtype for tensor in function.result_tensors()] == [tf.bool]


def _add_run_to_predicate(
    definition: GraphDef, function: Function, moved: dict[str, str], run: Sequence[str]
) -> None:
    """Make the result of a condition depend on the nodes that have to run.

    When TensorFlow lowers a loop, it only keeps the ops that the result of the condition needs.
    """
    (result,) = function.result_tensors()
    source = source_name(result.op.name, result.value_index)
    # A new op, not the op of the result: nodes that have to run may take the result.
    node = definition.node.add(name=f"{SCOPE}predicate", op="Identity", device=result.op.device)
    node.attr["T"].type = tf.bool.as_datatype_enum
    node.input.extend([moved.get(source, source), *(f"^{name}" for name in run)])
    moved[source] = node.name


def _add_control_inputs(nodes: Iterable[NodeDef], waits: Mapping[str, list[str]]) -> None:
    if waits:
        for node in nodes:
            node.input.extend(f"^{name}" for name in waits.get(node.name, ()))


def watch_part(
    definition: GraphDef, known: KnownGraph, plan: Plan, sink: Sink, watched: WatchedFunctions
) -> SessionWatches:
    """Add watch nodes to a part of a graph that a session runs.

    Args:
      definition: The part, with the functions that it calls. It is changed in place.
      known: Ids of the graph and its tensors.
      plan: The tensors to watch.
      sink: Makes the watch nodes.
      watched: Returns the functions that have watch ops.
    """
    moved, _ = _add_watches(definition, known, plan.tensors, sink)
    _keep_calls(definition, plan, watched)
    _call_watched(library_of(definition), watched)
    by_op: dict[str, dict[int, str]] = {}
    for item in plan.tensors:
        by_op.setdefault(item.op.name, {})[item.slot] = _watch_name(item)
    return SessionWatches(moved, by_op)


def _call_watched(library: FunctionDefLibrary, watched: WatchedFunctions) -> None:
    """Replace the program's functions by the runtime's definitions, and add all functions that these call."""
    runtime = context.context()
    by_name = {function.signature.name: function for function in library.function}
    waiting = [name for name in by_name if watched(name) is not None]
    for name in waiting:
        # The method of the class: that of the instance returns the program's definition.
        by_name[name] = context.Context.get_function_def(runtime, name)
        called = {function.name for node in by_name[name].node_def for function in functions_named(node)}
        waiting += [new for new in called if new not in by_name and new not in waiting]
    del library.function[:]
    library.function.extend(by_name.values())


def note_unrecorded(plan: Plan, known: KnownGraph, sink: Sink) -> None:
    """Let a debugger know the tensors that are not recorded and at which it may stop."""
    sink.note_unrecorded([watched_tensor(item, known) for item in plan.unrecorded])


def record_constants(plan: Plan, known: KnownGraph, sink: Sink) -> None:
    """Record each constant of a graph once."""
    for item in plan.tensors:
        if item.attachment is Attachment.CONSTANT and item.op.name not in known.recorded_constants:
            known.recorded_constants.add(item.op.name)
            value = constant_value(item.op.get_attr("value"))
            sink.constant(watched_tensor(item, known), value, item.op.device)


def _watch_op(item: Planned, known: KnownGraph) -> WatchOp:
    return WatchOp(
        watched_tensor(item, known),
        _source_of(item),
        _watch_name(item),
        item.op.device,
        inline=item.attachment is Attachment.INLINE,
        same=tuple([watched_tensor(other, known) for other in item.same]),
        coalesced=tuple([(watched_tensor(other, known), _source_of(other)) for other in item.coalesced]),
    )


def _source_of(item: Planned) -> str:
    return source_name(item.op.name, item.slot)


def _watch_name(item: Planned) -> str:
    return f"{SCOPE}{item.op.name}/{item.slot}"


def watched_tensor(item: Planned, known: KnownGraph) -> WatchedTensor:
    """Return the description of a planned tensor for a sink."""
    name, slot = item.op.name, item.slot
    dtype = item.tensor.dtype.as_datatype_enum
    return WatchedTensor(
        known.graph_id,
        name,
        slot,
        known.tensor_ids[name][slot],
        dtype,
        static_dims(item.tensor),
        item.keep,
        item.rings,
        known.in_pipeline,
        item.is_added_into,
        item.is_recorded,
    )


def _rewire(nodes: Iterable[NodeDef], moved: dict[str, str]) -> None:
    for node in nodes:
        for position, name in enumerate(node.input):
            new = moved.get(name)
            if new is not None:
                node.input[position] = new


def _keep_calls(
    definition: GraphDef, plan: Plan, watched: WatchedFunctions, *, is_savable: bool = False
) -> list[str]:
    """Keep TensorFlow from dropping the watch ops of called functions, and XLA from compiling them.

    TensorFlow saves no iterator with stateful calls, so a graph that is to be savable keeps its own.

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
            node.op = node.op if is_savable else CALLS[node.op]
            kept.append(node.name)
        if any(function.is_compiled for function in called):
            # The function is a wrapper now; XLA compiles the copy that the wrapper calls.
            node.attr.pop(attributes.XLA_COMPILE, None)
    return kept
