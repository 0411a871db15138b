"""Builds copies of functions that return measurements of their tensors.

Takes a `ProbeLayout` and defines a function in the runtime with two more results: a vector of measurements
(largest magnitudes, counts of bad elements, sizes) and a vector with the turn of a loop in which each tensor
first was bad (0 outside loops). The body of a loop gets both as loop variables, so it has more arguments and
results. -1 marks the elements of a branch that was not taken. Of a loop, the vectors hold the largest
magnitude of all turns, and the counts of the turn in which the tensor first was bad.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2

from tb_debugger_plugin.capture.functions.called import function_attributes
from tb_debugger_plugin.capture.functions.copies import Copies, functions_of
from tb_debugger_plugin.capture.functions.definitions import definition_of, source_name
from tb_debugger_plugin.capture.xla.bad_counts import counted
from tb_debugger_plugin.capture.xla.magnitudes import INFINITY, Nodes, magnitudes, sizes
from tb_debugger_plugin.capture.xla.probe_layout import Call, ProbeLayout

_NOT_RUN = -1
#: Bit offsets in `first_bad_turn`: of the turn of the loop, and of the tensor's group in the loop's body.
_TURN, _GROUP = 32, 20
#: Loop variables of ours: measurements, first_bad_turn, turn.
_CARRIED = ("TbDebuggerMagnitudes", "TbDebuggerFirstBadTurn", "TbDebuggerTurn")


def define_copy(layout: ProbeLayout, copies: Copies, *, before: int = 0, after: int = 0) -> str:
    """Define the copy of a function or of a branch.

    Args:
      layout: Describes the function and its measurements.
      copies: Registers the copy.
      before: Number of elements of other branches before its own.
      after: Number of elements of other branches after its own.

    Returns:
      The name of the copy.
    """
    name = layout.function.name + layout.suffix + (f"_{before}_{after}" if before or after else "")
    made = copies.get(name)
    if made is not None:
        return made
    nodes = Nodes(definition_of(layout.function))
    measurements, first_bad_turn = _handed_over(nodes, layout, copies)
    outputs = [_padded(nodes, measurements, before, after), _padded(nodes, first_bad_turn, before, after)]
    return copies.define(name, layout.function, nodes.definition, stacks=layout.stacks, more_outputs=outputs)


def _padded(nodes: Nodes, vector: str, before: int, after: int) -> str:
    parts = [nodes.constant(np.full(before, _NOT_RUN), tf.int64)] if before else []
    parts += [vector]
    parts += [nodes.constant(np.full(after, _NOT_RUN), tf.int64)] if after else []
    return nodes.joined(parts, tf.int64)


def _handed_over(nodes: Nodes, layout: ProbeLayout, copies: Copies) -> tuple[str, str]:
    """The two vectors of a function."""
    measurements = [magnitudes(nodes, kind, tensors) for kind, tensors in layout.measured.items()]
    measurements += [counted(nodes, layout.counted, copies)] if layout.counted else []
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
    nothing = [nodes.constant(np.zeros(0), tf.int64)]
    return nodes.joined(measurements or nothing, tf.int64), nodes.joined(first_bad_turn or nothing, tf.int64)


def _edit_call(nodes: Nodes, node: Any, call: Call, copies: Copies) -> int:
    """Make a call run the copy; returns the slot of the first output that this adds."""
    node.attr["f"].func.name = define_copy(call.layouts[0], copies)
    return _add_outputs(node, "Tout", [[call.size]] * 2)


def _edit_branches(nodes: Nodes, node: Any, call: Call, copies: Copies) -> int:
    functions = [f for attr in function_attributes(node.op) for f in functions_of(node.attr[attr])]
    before = 0
    for function, layout in zip(functions, call.layouts, strict=True):
        function.name = define_copy(layout, copies, before=before, after=call.size - before - layout.size)
        before += layout.size
    return _add_outputs(node, "Tout", [[call.size]] * 2)


def _edit_loop(nodes: Nodes, node: Any, call: Call, copies: Copies) -> int:
    (layout,) = call.layouts
    node.attr["body"].func.name = _define_loop(layout, copies)
    node.attr["cond"].func.name = _define_condition(call, copies)
    size = [call.size]
    slot = _add_outputs(node, "T", [size, size, []])
    nothing = np.full(size, _NOT_RUN)
    for index, name in enumerate([nodes.constant(value, tf.int64) for value in (nothing, nothing, 0)]):
        node.input.insert(slot + index, name)  # before the control inputs
    return slot


def _add_outputs(node: Any, attr: str, shapes: list[list[int]]) -> int:
    """Add int64 outputs to a node; returns the slot of the first one."""
    dtypes = node.attr[attr].list.type
    slot = len(dtypes)
    dtypes.extend([tf.int64.as_datatype_enum] * len(shapes))
    node.attr.pop("_output_shapes", None)
    if "output_shapes" in node.attr and node.attr["output_shapes"].list.shape:
        node.attr["output_shapes"].list.shape.extend(tf.TensorShape(shape).as_proto() for shape in shapes)
    return slot


def _add_carried(nodes: Nodes, size: int) -> tuple[str, str, str]:
    for name, shape in zip(_CARRIED, ([size], [size], []), strict=True):
        static = attr_value_pb2.AttrValue(shape=tf.TensorShape(shape).as_proto())
        nodes.add("Placeholder", (), name=name, dtype=tf.int64, shape=static)
    return _CARRIED


def _define_condition(call: Call, copies: Copies) -> str:
    """The copy of a loop's condition: it accepts the added loop variables and ignores them."""
    assert call.condition is not None
    name = f"{call.condition.name}_compiled_{call.size}"
    made = copies.get(name)
    if made is not None:
        return made
    nodes = Nodes(definition_of(call.condition))
    copies.call_unwatched(nodes.definition)
    _add_carried(nodes, call.size)
    return copies.define(name, call.condition, nodes.definition, more_inputs=_CARRIED)


def _define_loop(layout: ProbeLayout, copies: Copies) -> str:
    name = f"{layout.function.name}{layout.suffix}_loop"
    made = copies.get(name)
    if made is not None:
        return made
    nodes = Nodes(definition_of(layout.function))
    measurements, first_bad_turn = _handed_over(nodes, layout, copies)
    carried = _add_carried(nodes, layout.size)
    return copies.define(
        name,
        layout.function,
        nodes.definition,
        stacks=layout.stacks,
        more_inputs=_CARRIED,
        more_outputs=_carried_on(nodes, layout, measurements, first_bad_turn, carried),
    )


def _carried_on(
    nodes: Nodes, layout: ProbeLayout, measurements: str, first_bad_turn: str, carried: tuple[str, str, str]
) -> list[str]:
    """The values of the added loop variables for the next turn."""
    largest, first_bad, turn = carried
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
        _of_first_turn(nodes, layout, most, largest, was_good),
        nodes.add("SelectV2", [first, now, first_bad], T=tf.int64),
        nodes.add("AddV2", [turn, nodes.constant(1, tf.int64)], T=tf.int64),
    ]


def _of_first_turn(nodes: Nodes, layout: ProbeLayout, now: str, before: str, was_good: str) -> str:
    """The measurements after a turn; counts of a tensor that was bad before stay unchanged."""
    owners = np.zeros(layout.size, np.int64)
    for tensor in layout.tensors:
        owners[list(tensor.counts)] = tensor.elements[:1]
    are_counts = np.zeros(layout.size, bool)
    are_counts[[element for tensor in layout.tensors for element in tensor.counts]] = True
    if not are_counts.any():
        return now
    axis = nodes.constant(0, tf.int32)
    places = nodes.constant(owners, tf.int64)
    changes = nodes.add(
        "GatherV2", [was_good, places, axis], Tparams=tf.bool, Tindices=tf.int64, Taxis=tf.int32
    )
    changes = nodes.add("LogicalOr", [changes, nodes.constant(~are_counts, tf.bool)])
    return nodes.add("SelectV2", [changes, now, before], T=tf.int64)


def _groups(layout: ProbeLayout) -> Any:
    """The group of each element: that of the first tensor that it measures."""
    groups = np.zeros(layout.size, np.int64)
    for tensor in reversed(layout.tensors):
        groups[list(tensor.elements)] = tensor.group
    return groups
