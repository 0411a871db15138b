"""Compares an optimized graph with watch ops to that of the plain program.

Two graphs compute the same bits when they have the same ops with the same attributes and inputs. The
comparison ignores the order of ops without a result, and ops that only pass on their input.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple, TypeAlias

from tb_debugger_plugin.capture.engines.instrument import SCOPE
from tb_debugger_plugin.capture.graph.attributes import constant_value
from tb_debugger_plugin.capture.graph.copies import functions_named
from tb_debugger_plugin.capture.plan.plan import CALLS
from tb_debugger_plugin.capture.tf_types import GraphDef, NodeDef

#: A tensor: name of an op, and slot. Constants are named by their value.
Source: TypeAlias = "tuple[str, int]"

_WATCHES = frozenset(("TbDebuggerWatch", "TbDebuggerWatchInline", "TbDebuggerWatchReduced"))
#: The op that summarises a tensor on another device.
_SUMMARY = "DebugNumericSummaryV2"
_PASSES_ON = frozenset(("Identity", "IdentityN", "Snapshot", "TbDebuggerWatchInline"))
_NO_RESULT = frozenset(("NoOp", "Const"))
_NUMBER = re.compile(r"/_(\d+)")
#: Control flow ops: they pass on their input, or nothing.
_CONTROL_FLOW = frozenset(("Enter", "Exit", "Merge", "NextIteration", "Switch", "LoopCond"))
#: Ops whose two inputs Grappler sorts by name, which does not change the result.
_COMMUTATIVE = frozenset(("Add", "AddV2", "Mul", "Maximum", "Minimum", "LogicalAnd", "LogicalOr", "Equal"))
#: Pairs of ops that oneDNN fuses after Grappler, where the second is the only consumer of the first.
_FUSED_LATER = frozenset(
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


class ComparableOp(NamedTuple):
    """What an op computes: equal ops compute the same bits.

    Attributes:
      type: Its type, that of the stateful op for calls.
      device: Its device.
      attributes: Its attributes, sorted by name, each with its encoded value.
      inputs: The tensors that it takes.
    """

    type: str
    device: str
    attributes: tuple[tuple[str, bytes], ...]
    inputs: tuple[Source, ...]


class OptimizedGraph:
    """A graph that Grappler returned.

    Args:
      definition: The graph.

    Attributes:
      ops: The ops that compute something, by name.
      users: Names of the ops that take a tensor.
      watches: The watch nodes, each with its tensor.
    """

    def __init__(self, definition: GraphDef) -> None:
        self._nodes = {node.name: node for node in definition.node}
        self._called = {f.name for node in definition.node for f in functions_named(node)}
        self._constants: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self.ops: dict[str, ComparableOp] = {}
        self.users: dict[Source, list[str]] = {}
        self._names = _comparable_names(self._needed())
        for name in self._names:
            self._add(self._nodes[name])
        self.watches = [
            (node, self.source(self._watched_by(node))) for node in definition.node if node.op in _WATCHES
        ]

    def _watched_by(self, watch: NodeDef) -> str:
        """Return the tensor of a watch node; a reduced tensor is the input of the op that summarises it."""
        name = str(watch.input[0])
        summary = self._nodes.get(name.partition(":")[0])
        return str(summary.input[0]) if summary is not None and summary.op == _SUMMARY else name

    def _needed(self) -> list[str]:
        """Return the ops that compute something, and the control flow ops of their inputs."""
        waiting = [node.name for node in self._nodes.values() if _computes(node)]
        needed = dict.fromkeys(waiting)
        for name in waiting:
            names = [
                self.source(input_)[0] for input_ in self._nodes[name].input if not input_.startswith("^")
            ]
            new = [input_ for input_ in names if input_ in self._nodes and input_ not in needed]
            needed.update(dict.fromkeys(new))
            waiting += new
        return list(needed)

    def holds(self, op_name: str) -> bool:
        """Whether the graph has an op of that name."""
        return op_name in self._nodes

    def calls(self, function_name: str) -> bool:
        """Whether a function, or Grappler's version of it, is still called."""
        return any(name.startswith(function_name) for name in self._called)

    def type_of(self, op_name: str) -> str:
        """Return the type of an op; empty when there is none."""
        return self.ops[op_name].type if op_name in self.ops else ""

    def source(self, name: str) -> Source:
        """Return the tensor of an input (`op` or `op:slot`), without the ops that only pass it on."""
        op, _, slot = name.partition(":")
        number, node = int(slot or 0), self._nodes.get(op)
        seen = set()
        while node is not None and node.op in _PASSES_ON and op not in seen:
            seen.add(op)
            op, _, slot = node.input[number].partition(":")
            number, node = int(slot or 0), self._nodes.get(op)
        if node is not None and node.op == "Const":
            return self._constant(node), 0
        return self._names.get(op, op), number

    def users_of(self, source: Source) -> list[tuple[str, str]]:
        """Return the names and types of the ops that take a tensor."""
        return [(name, self.type_of(name)) for name in self.users.get(source, ())]

    def around(self, op_name: str) -> set[Source]:
        """Return the inputs and outputs of an op, and the other inputs of the ops that take its outputs."""
        taken = set(self._inputs(op_name))
        made = {source for source in self.users if source[0] == op_name}
        others = {other for source in made for user in self.users[source] for other in self._inputs(user)}
        return taken | made | others | {(op_name, 0)}

    def _inputs(self, op_name: str) -> Iterable[Source]:
        return self.ops[op_name].inputs if op_name in self.ops else ()

    def _add(self, node: NodeDef) -> None:
        name = self._names[node.name]
        inputs = tuple(self.source(input_) for input_ in node.input if not input_.startswith("^"))
        for source in inputs:
            self.users.setdefault(source, []).append(name)
        if node.op in _COMMUTATIVE:
            inputs = tuple(sorted(inputs))
        self.ops[name] = ComparableOp(CALLS.get(node.op, node.op), node.device, _attributes(node), inputs)

    def _constant(self, node: NodeDef) -> str:
        if node.name not in self._constants:
            value = constant_value(node.attr["value"].tensor)
            self._constants[node.name] = f"{value.dtype}{value.shape}{hash(value.tobytes())}"
        return self._constants[node.name]


def _computes(node: NodeDef) -> bool:
    return SCOPE not in node.name and node.op not in _NO_RESULT | _PASSES_ON | _CONTROL_FLOW


def _comparable_names(names: Iterable[str]) -> dict[str, str]:
    """Return the names without the numbers that TensorFlow adds while it lowers loops and branches."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_NUMBER.sub("/_", name), []).append(name)
    return {
        name: f"{common}{rank or ''}"
        for common, group in alike.items()
        for rank, name in enumerate(sorted(group, key=lambda name: [*map(int, _NUMBER.findall(name))]))
    }


def _attributes(node: NodeDef) -> tuple[tuple[str, bytes], ...]:
    return tuple(
        (name, node.attr[name].SerializeToString(deterministic=True))
        for name in sorted(node.attr)
        if not name.startswith("_")
    )


def harmful_watches(plain: OptimizedGraph, watched: OptimizedGraph) -> list[NodeDef]:
    """Return the watch nodes that may make two graphs differ; none when the graphs are equal.

    Args:
      plain: The graph of the program.
      watched: The same graph with watch ops.
    """
    harmful = {node.name: node for node, source in watched.watches if _cannot_be_watched(plain, node, source)}
    differing = _differing(plain.ops, watched.ops)
    if differing and not harmful:
        near = set().union(*(graph.around(op) for op in differing for graph in (plain, watched)))
        harmful = {node.name: node for node, source in watched.watches if source in near}
        harmful = harmful or {node.name: node for node, _ in watched.watches}
    return list(harmful.values())


def _cannot_be_watched(plain: OptimizedGraph, node: NodeDef, source: Source) -> bool:
    op, _ = source
    if op not in plain.ops:
        return not any(op == constant for constant, _ in plain.users)
    inline = node.op == "TbDebuggerWatchInline"
    return any(
        (type_ == "AddN" and not inline) or (plain.type_of(op), type_) in _FUSED_LATER
        for _, type_ in plain.users_of(source)
    )


def _differing(plain: Mapping[str, ComparableOp], watched: Mapping[str, ComparableOp]) -> list[str]:
    return [op for op in {**plain, **watched} if plain.get(op) != watched.get(op)]
