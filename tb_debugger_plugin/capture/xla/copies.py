"""Copies of functions that hand over what is known of their tensors.

In comes a `Body`, out comes a function of the runtime with two more results, or more arguments and results
where it is the body of a loop: a vector of magnitudes, counts of bad elements and sizes, and one that says in
which turn of a loop each magnitude first was bad (0 outside loops). -1 says that its branch was not taken.
What is handed over of a loop is the largest magnitude of all turns, and the counts of the turn in which the
tensor first was bad.
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
from tb_debugger_plugin.capture.xla.bodies import Body, Call
from tb_debugger_plugin.capture.xla.magnitudes import INFINITY, Nodes, magnitudes, sizes

_NOT_RUN = -1
#: Of `when`: from which bit on stand the turn of the loop, and the group of the tensor in the loop's body.
_TURN, _GROUP = 32, 20
#: What a loop carries: magnitudes, when, turn.
_CARRIED = ("TbDebuggerMagnitudes", "TbDebuggerWhen", "TbDebuggerTurn")


def define_copy(body: Body, copies: Copies, *, before: int = 0, after: int = 0) -> str:
    """Define the copy of a function, or of a branch.

    Args:
      body: The function.
      copies: Takes it.
      before: How many elements of other branches stand before its own.
      after: How many stand behind.

    Returns:
      The name of the copy.
    """
    name = body.function.name + body.suffix + (f"_{before}_{after}" if before or after else "")
    made = copies.get(name)
    if made is not None:
        return made
    nodes = Nodes(definition_of(body.function))
    found, when = _handed_over(nodes, body, copies)
    outputs = [_padded(nodes, found, before, after), _padded(nodes, when, before, after)]
    return copies.define(name, body.function, nodes.definition, stacks=body.stacks, more_outputs=outputs)


def _padded(nodes: Nodes, vector: str, before: int, after: int) -> str:
    parts = [nodes.constant(np.full(before, _NOT_RUN), tf.int64)] if before else []
    parts += [vector]
    parts += [nodes.constant(np.full(after, _NOT_RUN), tf.int64)] if after else []
    return nodes.joined(parts, tf.int64)


def _handed_over(nodes: Nodes, body: Body, copies: Copies) -> tuple[str, str]:
    """The two vectors of a function."""
    found = [magnitudes(nodes, kind, tensors) for kind, tensors in body.measured.items()]
    found += [counted(nodes, body.counted, copies)] if body.counted else []
    found += [sizes(nodes, body.sized)] if body.sized else []
    found += [nodes.constant([0], tf.int64)] if body.marked else []
    own = body.size - sum(call.size for call in body.calls)
    when = [nodes.constant(np.zeros(own), tf.int64)] if own else []
    by_name = {node.name: node for node in nodes.definition.node}
    for call in body.calls:
        edit = _edit_loop if call.is_loop else _edit_branches if call.is_branch else _edit_call
        slot = edit(nodes, by_name[call.op.name], call, copies)
        found.append(source_name(call.op.name, slot))
        when.append(source_name(call.op.name, slot + 1))
    copies.call_unwatched(nodes.definition, {call.op.name for call in body.calls})
    nothing = [nodes.constant(np.zeros(0), tf.int64)]
    return nodes.joined(found or nothing, tf.int64), nodes.joined(when or nothing, tf.int64)


def _edit_call(nodes: Nodes, node: Any, call: Call, copies: Copies) -> int:
    """Let a call run the copy; the slot of the first output that it gets by that."""
    node.attr["f"].func.name = define_copy(call.bodies[0], copies)
    return _add_outputs(node, "Tout", [[call.size]] * 2)


def _edit_branches(nodes: Nodes, node: Any, call: Call, copies: Copies) -> int:
    functions = [f for attr in function_attributes(node.op) for f in functions_of(node.attr[attr])]
    before = 0
    for function, body in zip(functions, call.bodies, strict=True):
        function.name = define_copy(body, copies, before=before, after=call.size - before - body.size)
        before += body.size
    return _add_outputs(node, "Tout", [[call.size]] * 2)


def _edit_loop(nodes: Nodes, node: Any, call: Call, copies: Copies) -> int:
    (body,) = call.bodies
    node.attr["body"].func.name = _define_loop(body, copies)
    node.attr["cond"].func.name = _define_condition(call, copies)
    size = [call.size]
    slot = _add_outputs(node, "T", [size, size, []])
    nothing = np.full(size, _NOT_RUN)
    for index, name in enumerate([nodes.constant(value, tf.int64) for value in (nothing, nothing, 0)]):
        node.input.insert(slot + index, name)  # before the control inputs
    return slot


def _add_outputs(node: Any, attr: str, shapes: list[list[int]]) -> int:
    """Give a node more int64 outputs; the slot of the first of them."""
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
    """The copy of a loop's condition: it takes what the loop carries for us, and leaves it alone."""
    assert call.condition is not None
    name = f"{call.condition.name}_compiled_{call.size}"
    made = copies.get(name)
    if made is not None:
        return made
    nodes = Nodes(definition_of(call.condition))
    copies.call_unwatched(nodes.definition)
    _add_carried(nodes, call.size)
    return copies.define(name, call.condition, nodes.definition, more_inputs=_CARRIED)


def _define_loop(body: Body, copies: Copies) -> str:
    name = f"{body.function.name}{body.suffix}_loop"
    made = copies.get(name)
    if made is not None:
        return made
    nodes = Nodes(definition_of(body.function))
    found, when = _handed_over(nodes, body, copies)
    carried = _add_carried(nodes, body.size)
    return copies.define(
        name,
        body.function,
        nodes.definition,
        stacks=body.stacks,
        more_inputs=_CARRIED,
        more_outputs=_carried_on(nodes, body, found, when, carried),
    )


def _carried_on(nodes: Nodes, body: Body, found: str, when: str, carried: tuple[str, str, str]) -> list[str]:
    """What the next turn of a loop gets."""
    largest, first_bad, turn = carried
    good = nodes.add("Less", [found, nodes.constant(INFINITY, tf.int64)], T=tf.int64)
    was_good = nodes.add("Less", [first_bad, nodes.constant(0, tf.int64)], T=tf.int64)
    first = nodes.add("LogicalAnd", [nodes.add("LogicalNot", [good]), was_good])
    now = nodes.add("Mul", [turn, nodes.constant(1 << _TURN, tf.int64)], T=tf.int64)
    groups = nodes.constant(_groups(body) << _GROUP, tf.int64)
    now = nodes.add("AddV2", [now, groups], T=tf.int64)
    inner = nodes.add("Minimum", [when, nodes.constant((1 << _GROUP) - 1, tf.int64)], T=tf.int64)
    now = nodes.add("AddV2", [now, inner], T=tf.int64)
    most = nodes.add("Maximum", [largest, found], T=tf.int64)
    return [
        _of_first_turn(nodes, body, most, largest, was_good),
        nodes.add("SelectV2", [first, now, first_bad], T=tf.int64),
        nodes.add("AddV2", [turn, nodes.constant(1, tf.int64)], T=tf.int64),
    ]


def _of_first_turn(nodes: Nodes, body: Body, now: str, before: str, was_good: str) -> str:
    """The elements after a turn, where the counts of a tensor that was bad before are as they were."""
    owners = np.zeros(body.size, np.int64)
    for tensor in body.tensors:
        owners[list(tensor.counts)] = tensor.elements[:1]
    are_counts = np.zeros(body.size, bool)
    are_counts[[element for tensor in body.tensors for element in tensor.counts]] = True
    if not are_counts.any():
        return now
    axis = nodes.constant(0, tf.int32)
    places = nodes.constant(owners, tf.int64)
    changes = nodes.add(
        "GatherV2", [was_good, places, axis], Tparams=tf.bool, Tindices=tf.int64, Taxis=tf.int32
    )
    changes = nodes.add("LogicalOr", [changes, nodes.constant(~are_counts, tf.bool)])
    return nodes.add("SelectV2", [changes, now, before], T=tf.int64)


def _groups(body: Body) -> Any:
    """The group of each element: that of the first tensor of which it tells."""
    groups = np.zeros(body.size, np.int64)
    for tensor in reversed(body.tensors):
        groups[list(tensor.elements)] = tensor.group
    return groups
