"""Builds copies of functions that return measurements of their tensors.

Takes a `ProbeLayout` and defines a function in the runtime with two more results: a vector of measurements
(largest magnitudes, counts of bad elements, sizes) and a vector with the turn of a loop in which each tensor
first was bad (0 outside loops). The body of a loop gets both as loop variables, so it has more arguments and
results. -1 marks the elements of a branch that was not taken. For a loop, the vectors hold the largest
magnitude of all turns, and the counts of the turn in which the tensor first was bad.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from tb_debugger_plugin.capture.engines.xla.bad_counts import count_bad
from tb_debugger_plugin.capture.engines.xla.magnitudes import INFINITY, Nodes, magnitudes, sizes
from tb_debugger_plugin.capture.engines.xla.probe_layout import ProbedCall, ProbeLayout
from tb_debugger_plugin.capture.graph.called import function_attributes
from tb_debugger_plugin.capture.graph.copies import Copies, functions_of
from tb_debugger_plugin.capture.graph.definitions import Changes, definition_of, source_name
from tb_debugger_plugin.capture.tf_types import Array, AttrValue, NodeDef

_NOT_RUN = -1
#: Bit offsets in `first_bad_turn`: of the turn of the loop, and of the tensor's group in the loop's body.
_TURN, _GROUP = 32, 20
#: Names of the loop variables that are added: measurements, first_bad_turn, turn.
_LOOP_VARIABLES = ("TbDebuggerMagnitudes", "TbDebuggerFirstBadTurn", "TbDebuggerTurn")


def define_copy(layout: ProbeLayout, copies: Copies, *, size_before: int = 0, size_after: int = 0) -> str:
    """Define the copy of a function or of a branch.

    Args:
      layout: Describes the function and its measurements.
      copies: Registers the copy.
      size_before: Number of elements of other branches before its own elements.
      size_after: Number of elements of other branches after its own elements.

    Returns:
      The name of the copy.
    """
    suffix = f"_{size_before}_{size_after}" if size_before or size_after else ""
    name = f"{layout.function.name}{layout.suffix}{suffix}"
    made = copies.get(name)
    if made is not None:
        return made
    nodes = Nodes(definition_of(layout.function))
    vectors = _add_measurements(nodes, layout, copies)
    changes = Changes(more_outputs=[_padded(nodes, vector, size_before, size_after) for vector in vectors])
    return copies.define(name, layout.function, nodes.definition, changes, stacks=layout.stacks)


def _padded(nodes: Nodes, vector: str, size_before: int, size_after: int) -> str:
    """Return a vector between the elements of the branches that do not run."""
    parts = [nodes.constant(np.full(size_before, _NOT_RUN), tf.int64)] if size_before else []
    parts += [vector]
    parts += [nodes.constant(np.full(size_after, _NOT_RUN), tf.int64)] if size_after else []
    return nodes.concat(parts, tf.int64)


def _add_measurements(nodes: Nodes, layout: ProbeLayout, copies: Copies) -> tuple[str, str]:
    """Add the nodes that measure; return `measurements` and `first_bad_turn`."""
    measurements = [magnitudes(nodes, kind, tensors) for kind, tensors in layout.measured.items()]
    measurements += [count_bad(nodes, layout.counted, copies)] if layout.counted else []
    measurements += [sizes(nodes, layout.sized)] if layout.sized else []
    measurements += [nodes.constant([0], tf.int64)] if layout.marked else []
    own = layout.size - sum(call.size for call in layout.calls)
    first_bad_turn = [nodes.constant(np.zeros(own), tf.int64)] if own else []
    by_name = {node.name: node for node in nodes.definition.node}
    for call in layout.calls:
        edit = _edit_loop if call.is_loop else _edit_branches if call.is_branch else _edit_call
        slot = edit(nodes, by_name[call.op.name], call, copies)
        measurements.append(source_name(call.op.name, slot))
        first_bad_turn.append(source_name(call.op.name, slot + 1))
    copies.call_unwatched(nodes.definition, {call.op.name for call in layout.calls})
    empty = [nodes.constant(np.zeros(0), tf.int64)]
    return nodes.concat(measurements or empty, tf.int64), nodes.concat(first_bad_turn or empty, tf.int64)


def _edit_call(nodes: Nodes, node: NodeDef, call: ProbedCall, copies: Copies) -> int:
    """Make a call run the copy; return the slot of the first added output."""
    node.attr["f"].func.name = define_copy(call.layouts[0], copies)
    return _add_outputs(node, "Tout", [[call.size]] * 2)


def _edit_branches(nodes: Nodes, node: NodeDef, call: ProbedCall, copies: Copies) -> int:
    functions = [f for attr in function_attributes(node.op) for f in functions_of(node.attr[attr])]
    begin = 0
    for function, layout in zip(functions, call.layouts, strict=True):
        end = begin + layout.size
        function.name = define_copy(layout, copies, size_before=begin, size_after=call.size - end)
        begin = end
    return _add_outputs(node, "Tout", [[call.size]] * 2)


def _edit_loop(nodes: Nodes, node: NodeDef, call: ProbedCall, copies: Copies) -> int:
    (layout,) = call.layouts
    node.attr["body"].func.name = _define_loop(layout, copies)
    node.attr["cond"].func.name = _define_condition(call, copies)
    size = [call.size]
    slot = _add_outputs(node, "T", [size, size, []])
    not_run = np.full(size, _NOT_RUN)
    for index, name in enumerate([nodes.constant(value, tf.int64) for value in (not_run, not_run, 0)]):
        node.input.insert(slot + index, name)  # before the control inputs
    return slot


def _add_outputs(node: NodeDef, attr: str, shapes: list[list[int]]) -> int:
    """Add int64 outputs to a node; return the slot of the first one."""
    dtypes = node.attr[attr].list.type
    slot = len(dtypes)
    dtypes.extend([tf.int64.as_datatype_enum] * len(shapes))
    node.attr.pop("_output_shapes", None)
    if "output_shapes" in node.attr and node.attr["output_shapes"].list.shape:
        node.attr["output_shapes"].list.shape.extend(tf.TensorShape(shape).as_proto() for shape in shapes)
    return slot


def _add_loop_variables(nodes: Nodes, size: int) -> None:
    for name, shape in zip(_LOOP_VARIABLES, ([size], [size], []), strict=True):
        static = AttrValue(shape=tf.TensorShape(shape).as_proto())
        nodes.add("Placeholder", (), name=name, dtype=tf.int64, shape=static)


def _define_condition(call: ProbedCall, copies: Copies) -> str:
    """Return the copy of a loop's condition: it accepts the added loop variables and ignores them."""
    assert call.condition is not None
    name = f"{call.condition.name}_compiled_{call.size}"
    made = copies.get(name)
    if made is not None:
        return made
    nodes = Nodes(definition_of(call.condition))
    copies.call_unwatched(nodes.definition)
    _add_loop_variables(nodes, call.size)
    return copies.define(name, call.condition, nodes.definition, Changes(more_inputs=_LOOP_VARIABLES))


def _define_loop(layout: ProbeLayout, copies: Copies) -> str:
    name = f"{layout.function.name}{layout.suffix}_loop"
    made = copies.get(name)
    if made is not None:
        return made
    nodes = Nodes(definition_of(layout.function))
    measurements, first_bad_turn = _add_measurements(nodes, layout, copies)
    _add_loop_variables(nodes, layout.size)
    changes = Changes(
        more_inputs=_LOOP_VARIABLES,
        more_outputs=_next_loop_variables(nodes, layout, measurements, first_bad_turn),
    )
    return copies.define(name, layout.function, nodes.definition, changes, stacks=layout.stacks)


def _next_loop_variables(
    nodes: Nodes, layout: ProbeLayout, measurements: str, first_bad_turn: str
) -> list[str]:
    """Return the values of the added loop variables for the next turn."""
    largest, first_bad, turn = _LOOP_VARIABLES
    good = nodes.add("Less", [measurements, nodes.constant(INFINITY, tf.int64)], T=tf.int64)
    was_good = nodes.add("Less", [first_bad, nodes.constant(0, tf.int64)], T=tf.int64)
    first = nodes.add("LogicalAnd", [nodes.add("LogicalNot", [good]), was_good])
    now = nodes.add("Mul", [turn, nodes.constant(1 << _TURN, tf.int64)], T=tf.int64)
    groups = nodes.constant(_groups(layout) << _GROUP, tf.int64)
    now = nodes.add("AddV2", [now, groups], T=tf.int64)
    inner = nodes.add("Minimum", [first_bad_turn, nodes.constant((1 << _GROUP) - 1, tf.int64)], T=tf.int64)
    now = nodes.add("AddV2", [now, inner], T=tf.int64)
    most = nodes.add("Maximum", [largest, measurements], T=tf.int64)
    return [
        _keep_first_counts(nodes, layout, most, largest, was_good),
        nodes.add("SelectV2", [first, now, first_bad], T=tf.int64),
        nodes.add("AddV2", [turn, nodes.constant(1, tf.int64)], T=tf.int64),
    ]


def _keep_first_counts(nodes: Nodes, layout: ProbeLayout, new: str, old: str, was_good: str) -> str:
    """Return the measurements after a turn; the counts of a tensor that already was bad stay unchanged."""
    owners = np.zeros(layout.size, np.int64)
    for tensor in layout.tensors:
        owners[list(tensor.counts)] = tensor.elements[:1]
    are_counts = np.zeros(layout.size, bool)
    are_counts[[element for tensor in layout.tensors for element in tensor.counts]] = True
    if not are_counts.any():
        return new
    axis = nodes.constant(0, tf.int32)
    indices = nodes.constant(owners, tf.int64)
    changes = nodes.add(
        "GatherV2", [was_good, indices, axis], Tparams=tf.bool, Tindices=tf.int64, Taxis=tf.int32
    )
    changes = nodes.add("LogicalOr", [changes, nodes.constant(~are_counts, tf.bool)])
    return nodes.add("SelectV2", [changes, new, old], T=tf.int64)


def _groups(layout: ProbeLayout) -> Array:
    """Return the group of each element: the group of the first tensor that it measures."""
    groups = np.zeros(layout.size, np.int64)
    for tensor in reversed(layout.tensors):
        groups[list(tensor.elements)] = tensor.group
    return groups
