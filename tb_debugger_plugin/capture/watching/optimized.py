"""An optimized graph with watch ops, compared with the one of the plain program.

Two graphs compute the same bits when they hold the same ops with the same attributes, and these take the same
tensors; in which order ops without a result run is not looked at, nor are ops that hand on what they get.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import tensorflow as tf
from tensorflow.core.framework import graph_pb2, node_def_pb2

from tb_debugger_plugin.capture.functions.copies import functions_named
from tb_debugger_plugin.capture.watching.instrument import SCOPE
from tb_debugger_plugin.capture.watching.plan import CALLS

#: A tensor: name of an op and which output; constants are named by what they hold.
Source: TypeAlias = "tuple[str, int]"

_WATCHES = frozenset(("TbDebuggerWatch", "TbDebuggerWatchInline", "TbDebuggerWatchReduced"))
#: What makes numbers of a tensor on another device.
_SUMMARY = "DebugNumericSummaryV2"
_HANDS_ON = frozenset(("Identity", "IdentityN", "Snapshot", "TbDebuggerWatchInline"))
_NO_RESULT = frozenset(("NoOp", "Const"))
_NUMBER = re.compile(r"/_(\d+)")
#: They hand on what they get, or nothing.
_STEERS = frozenset(("Enter", "Exit", "Merge", "NextIteration", "Switch", "LoopCond"))
#: Grappler sorts their inputs by name, which makes no difference to the sum or product of two.
_COMMUTATIVE = frozenset(("Add", "AddV2", "Mul", "Maximum", "Minimum", "LogicalAnd", "LogicalOr", "Equal"))
#: Pairs of ops that oneDNN makes one of behind Grappler, where the second alone takes what the first makes.
_JOINED_LATER = frozenset(
    (first, second)
    for first, seconds in {
        "Conv2D": ("BiasAdd", "Add", "AddV2"),
        "DepthwiseConv2dNative": ("BiasAdd",),
        "MatMul": ("BiasAdd",),
        "Pad": ("Conv2D", "_FusedConv2D"),
        "Transpose": ("Conv2D", "MaxPool", "AvgPool"),
        "Dequantize": ("MatMul", "Conv2D"),
    }.items()
    for second in seconds
)


class OptimizedGraph:
    """A graph as Grappler made it.

    Args:
      definition: The graph.

    Attributes:
      ops: What is computed, by op name.
      users: Names of the ops that take a tensor.
      watches: The nodes that only watch, with the tensor that each watches.
    """

    def __init__(self, definition: graph_pb2.GraphDef) -> None:
        self._nodes = {node.name: node for node in definition.node}
        self._called = {f.name for node in definition.node for f in functions_named(node)}
        self._constants: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self.ops: dict[str, tuple[Any, ...]] = {}
        self.users: dict[Source, list[str]] = {}
        self._names = _comparable_names(self._needed())
        for name in self._names:
            self._add(self._nodes[name])
        self.watches = [
            (node, self.source(self._looks_at(node))) for node in definition.node if node.op in _WATCHES
        ]

    def _looks_at(self, watch: node_def_pb2.NodeDef) -> str:
        """The tensor of a watch; of one elsewhere, the watch is given the numbers that were made of it."""
        name = str(watch.input[0])
        summary = self._nodes.get(name.partition(":")[0])
        return str(summary.input[0]) if summary is not None and summary.op == _SUMMARY else name

    def _needed(self) -> list[str]:
        """The ops that compute something, and those that steer what these take."""
        waiting = [node.name for node in self._nodes.values() if _computes(node)]
        needed = dict.fromkeys(waiting)
        for name in waiting:
            inputs = [self.source(each)[0] for each in self._nodes[name].input if not each.startswith("^")]
            new = [each for each in inputs if each in self._nodes and each not in needed]
            needed.update(dict.fromkeys(new))
            waiting += new
        return list(needed)

    def holds(self, op_name: str) -> bool:
        """Whether the graph has an op of that name."""
        return op_name in self._nodes

    def calls(self, function_name: str) -> bool:
        """Whether a function, or what Grappler made of it, is still a function."""
        return any(name.startswith(function_name) for name in self._called)

    def type_of(self, op_name: str) -> str:
        """The type of an op; empty when there is none."""
        return str(self.ops[op_name][0]) if op_name in self.ops else ""

    def source(self, name: str) -> Source:
        """The tensor that an input (`op` or `op:slot`) stands for, past the ops that hand it on."""
        op, _, slot = name.partition(":")
        number, node = int(slot or 0), self._nodes.get(op)
        seen = set()
        while node is not None and node.op in _HANDS_ON and op not in seen:
            seen.add(op)
            op, _, slot = node.input[number].partition(":")
            number, node = int(slot or 0), self._nodes.get(op)
        if node is not None and node.op == "Const":
            return self._constant(node), 0
        return self._names.get(op, op), number

    def users_of(self, source: Source) -> list[tuple[str, str]]:
        """Names and types of the ops that take a tensor."""
        return [(name, self.type_of(name)) for name in self.users.get(source, ())]

    def around(self, op_name: str) -> set[Source]:
        """The tensors that an op takes or makes, and those that the ops taking these take."""
        taken = set(self._inputs(op_name))
        made = {source for source in self.users if source[0] == op_name}
        beside = {each for source in made for user in self.users[source] for each in self._inputs(user)}
        return taken | made | beside | {(op_name, 0)}

    def _inputs(self, op_name: str) -> Iterable[Source]:
        return self.ops[op_name][-1] if op_name in self.ops else ()

    def _add(self, node: node_def_pb2.NodeDef) -> None:
        name = self._names[node.name]
        inputs = tuple(self.source(each) for each in node.input if not each.startswith("^"))
        for source in inputs:
            self.users.setdefault(source, []).append(name)
        if node.op in _COMMUTATIVE:
            inputs = tuple(sorted(inputs))
        self.ops[name] = (CALLS.get(node.op, node.op), node.device, _attributes(node), inputs)

    def _constant(self, node: node_def_pb2.NodeDef) -> str:
        if node.name not in self._constants:
            value = tf.make_ndarray(node.attr["value"].tensor)
            self._constants[node.name] = f"{value.dtype}{value.shape}{hash(value.tobytes())}"
        return self._constants[node.name]


def _computes(node: node_def_pb2.NodeDef) -> bool:
    return SCOPE not in node.name and node.op not in _NO_RESULT | _HANDS_ON | _STEERS


def _comparable_names(names: Iterable[str]) -> dict[str, str]:
    """Names without the numbers that TensorFlow counts up while it takes loops and branches apart."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_NUMBER.sub("/_", name), []).append(name)
    return {
        name: f"{common}{rank or ''}"
        for common, group in alike.items()
        for rank, name in enumerate(sorted(group, key=lambda name: [*map(int, _NUMBER.findall(name))]))
    }


def _attributes(node: node_def_pb2.NodeDef) -> tuple[tuple[str, bytes], ...]:
    return tuple(
        (name, node.attr[name].SerializeToString(deterministic=True))
        for name in sorted(node.attr)
        if not name.startswith("_")
    )


def blamed(plain: OptimizedGraph, watched: OptimizedGraph) -> list[node_def_pb2.NodeDef]:
    """The watch nodes without which two graphs might be the same; none when they are.

    Args:
      plain: Of the program.
      watched: The same with watch ops.
    """
    guilty = {node.name: node for node, source in watched.watches if _cannot_be_watched(plain, node, source)}
    differing = _differing(plain.ops, watched.ops)
    if differing and not guilty:
        near = set().union(*(graph.around(op) for op in differing for graph in (plain, watched)))
        guilty = {node.name: node for node, source in watched.watches if source in near}
        guilty = guilty or {node.name: node for node, _ in watched.watches}
    return list(guilty.values())


def _cannot_be_watched(plain: OptimizedGraph, node: node_def_pb2.NodeDef, source: Source) -> bool:
    op, _ = source
    if op not in plain.ops:
        return not any(op == constant for constant, _ in plain.users)
    inline = node.op == "TbDebuggerWatchInline"
    return any(
        (type_ == "AddN" and not inline) or (plain.type_of(op), type_) in _JOINED_LATER
        for _, type_ in plain.users_of(source)
    )


def _differing(plain: Mapping[str, tuple[Any, ...]], watched: Mapping[str, tuple[Any, ...]]) -> list[str]:
    return [op for op in {**plain, **watched} if plain.get(op) != watched.get(op)]
