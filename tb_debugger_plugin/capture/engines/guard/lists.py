"""Lets loops and branches hand out what a replay needs of each turn, in lists.

Inside a loop an op runs any number of times, so each of its outputs goes to a list of tensors: a variable of
the loop, an argument and a result of a branch. The copy that the program runs appends to the lists; the
copy that a replay runs takes the tensors from their ends, so the lists are reversed before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

import tensorflow as tf

from tb_debugger_plugin.capture.engines.guard.taken import CALLS, Kept, Taken, functions_run_by
from tb_debugger_plugin.capture.engines.xla.magnitudes import Nodes
from tb_debugger_plugin.capture.graph.definitions import Changes, source_name
from tb_debugger_plugin.capture.tf_types import AttrValue, GraphDef, NodeDef

_VARIANT: Final = tf.variant.as_datatype_enum
_SCOPE: Final = "TbDebuggerList/"
_SCALAR: Final = tf.TensorShape([]).as_proto()
#: Adds the nodes for an op that a replay does not run; takes the sources of its lists, returns the new ones.
AtOp = Callable[[Nodes, NodeDef, Kept, Sequence[str]], list[str]]


class Parts(Protocol):
    """The functions that loops, branches and calls run."""

    def find(self, name: str) -> Taken | None:
        """Return what is taken of a function."""

    def with_lists(self, taken: Taken, before: int = 0, after: int = 0) -> str:
        """Return the name of the copy of a function that takes and returns lists.

        Args:
          taken: What is taken of the function.
          before: Number of lists before its own, which it passes on.
          after: Number of lists after its own, which it passes on.
        """

    def with_ignored_lists(self, taken: Taken, number: int) -> str:
        """Return the name of the copy of the condition of a loop, which takes lists and ignores them."""


def add_lists(
    definition: GraphDef, taken: Taken, parts: Parts, at_op: AtOp, before: int, after: int
) -> Changes:
    """Let the definition of a function take and return lists; see `Parts.with_lists`."""
    nodes = Nodes(definition, _SCOPE)
    by_name = {node.name: node for node in definition.node}
    own = len(taken.items)
    names = add_arguments(definition, before + own + after)
    results = list(names)
    position = before
    for kept in taken.kept:
        end = position + len(kept.items)
        node = by_name[kept.node]
        if kept.is_inside:
            results[position:end] = through_node(node, names[position:end], parts)
        else:
            results[position:end] = at_op(nodes, node, kept, names[position:end])
        position = end
    return Changes(more_inputs=names, more_outputs=results)


def add_arguments(definition: GraphDef, number: int) -> list[str]:
    """Add arguments that are lists; return their names."""
    nodes = Nodes(definition, _SCOPE)
    shape = AttrValue(shape=_SCALAR)
    names = [f"{_SCOPE}argument_{index}" for index in range(number)]
    return [nodes.add("Placeholder", (), name=name, dtype=tf.variant, shape=shape) for name in names]


def through_node(node: NodeDef, lists: Sequence[str], parts: Parts) -> list[str]:
    """Let a call, a branch or a loop take lists; return the sources of what it returns."""
    if node.op in CALLS:
        return _through(node, lists, parts, 0)
    if node.op in ("While", "StatelessWhile"):
        return _through_loop(node, lists, parts)
    return _through(node, lists, parts, 1)  # after the condition


def _through(node: NodeDef, lists: Sequence[str], parts: Parts, first_input: int) -> list[str]:
    begin = 0
    for function in functions_run_by(node):
        taken = parts.find(function.name)
        assert taken is not None, "the functions that are called are known"
        after = len(lists) - begin - len(taken.items)
        function.name = parts.with_lists(taken, begin, after)
        begin += len(taken.items)
    _add_inputs(node, lists, first_input + len(node.attr["Tin"].list.type))
    node.attr["Tin"].list.type.extend([_VARIANT] * len(lists))
    return _add_outputs(node, len(lists), "Tout")


def _through_loop(node: NodeDef, lists: Sequence[str], parts: Parts) -> list[str]:
    body, condition = node.attr["body"].func, node.attr["cond"].func
    taken, asked = parts.find(body.name), parts.find(condition.name)
    assert taken is not None and asked is not None, "the functions that are called are known"
    body.name = parts.with_lists(taken)
    condition.name = parts.with_ignored_lists(asked, len(lists))
    _add_inputs(node, lists, len(node.attr["T"].list.type))
    return _add_outputs(node, len(lists), "T")


def _add_inputs(node: NodeDef, lists: Sequence[str], position: int) -> None:
    inputs = [*node.input[:position], *lists, *node.input[position:]]
    del node.input[:]
    node.input.extend(inputs)


def _add_outputs(node: NodeDef, number: int, attribute: str) -> list[str]:
    dtypes = node.attr[attribute].list.type
    first = len(dtypes)
    dtypes.extend([_VARIANT] * number)
    if "_output_shapes" in node.attr:
        del node.attr["_output_shapes"]
    if "output_shapes" in node.attr and node.attr["output_shapes"].list.shape:
        node.attr["output_shapes"].list.shape.extend([_SCALAR] * number)
    return [source_name(node.name, first + index) for index in range(number)]


def empty_list(nodes: Nodes, dtype: int) -> str:
    """Add an empty list of tensors of a dtype; return its source."""
    inputs = [nodes.constant(-1, tf.int32), nodes.constant(-1, tf.int32)]
    return nodes.add("EmptyTensorList", inputs, element_dtype=tf.as_dtype(dtype), shape_type=tf.int32)


def append(nodes: Nodes, node: NodeDef, kept: Kept, lists: Sequence[str]) -> list[str]:
    """Append the outputs of an op to lists."""
    return [
        nodes.add("TensorListPushBack", [one, source.name], element_dtype=tf.as_dtype(source.dtype))
        for one, source in zip(lists, kept.sources, strict=True)
    ]


def take_last(nodes: Nodes, lists: Sequence[str], dtypes: Sequence[int]) -> tuple[list[str], list[str]]:
    """Take the last tensor of each list; return the sources of the lists that remain, and of the tensors."""
    shape = nodes.constant(-1, tf.int32)
    made = [
        nodes.add("TensorListPopBack", [one, shape], element_dtype=tf.as_dtype(dtype))
        for one, dtype in zip(lists, dtypes, strict=True)
    ]
    return made, [source_name(name, 1) for name in made]
