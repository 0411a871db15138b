"""Says what the first difference is, and why it is there.

Takes the candidate that was found. The cause comes from the program where that changed (the op, a constant,
an op in between), else from the kind of the op, else from numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tb_debugger_plugin.analysis.compare.alignment import Alignment
from tb_debugger_plugin.analysis.compare.comparison import (
    ComparedSide,
    FirstDifference,
    InputOfFirst,
    TensorDifference,
    side_of,
)
from tb_debugger_plugin.analysis.compare.elements import ElementDifferenceJson, element_difference, recorded
from tb_debugger_plugin.analysis.compare.measuring import ComparisonJob, MeasuredPair
from tb_debugger_plugin.analysis.compare.outline import Node, Outline
from tb_debugger_plugin.analysis.compare.search import Candidate
from tb_debugger_plugin.analysis.values.health import finite

_DATA: Final = frozenset("IteratorGetNext OptionalGetValue IteratorGetNextSync Placeholder _Arg Arg".split())
_READS: Final = frozenset("ReadVariableOp VariableV2 ResourceGather VarHandleOp".split())
_RANDOM: Final = ("Random", "TruncatedNormal", "Multinomial", "Stateless", "RngReadAndSkip", "Dropout")


class FirstTelling:
    """Describes the first difference; lives as long as a comparison.

    Args:
      alignment: The pairs of nodes.
      outlines: Both runs.
      job: What was compared.
      known: The tensors with numbers in common, by node of the first run and slot.
      describe: Describes an occurrence of a tensor.
    """

    def __init__(
        self,
        alignment: Alignment,
        outlines: tuple[Outline, Outline],
        job: ComparisonJob,
        known: set[tuple[int, int]],
        describe: Callable[..., TensorDifference],
    ) -> None:
        self._partner = {pair.first.number: pair.second for pair in alignment.pairs}
        self._back = {pair.second.number: pair.first for pair in alignment.pairs}
        self._outlines = outlines
        self._job = job
        self._describe = describe
        self._known = known

    def first(self, found: Candidate) -> FirstDifference:
        """Describe a candidate."""
        tensor: TensorDifference = self._describe(found.measured, found.nth, inherited=found.inherited)
        cause, reason = self._cause(found)
        return FirstDifference(
            **vars(tensor),
            headline=headline(tensor),
            explanation=" ".join([_compared(tensor), *_lines(tensor), reason, *_origin(found)]),
            cause=cause,
            inputs=self._inputs(found),
            values=self._values(found, tensor),
        )

    def _cause(self, found: Candidate) -> tuple[str, str]:
        pair = found.measured.place.pair
        first, second = pair.first, pair.second
        if first.type != second.type:
            return "changed_op", f"The op is {first.type} in the first run and {second.type} in the second."
        constant = self._changed_constant(first)
        if constant is not None:
            return "changed_constant", constant
        other = self._other_input(first, second)
        if other is not None:
            return "added_op", other
        before = self._change_before(found)
        if before is not None:
            return before
        if not found.is_made_here:
            return "amplified", "The difference grew out of rounding: no op made it alone."
        return _by_type(first)

    def _changed_constant(self, node: Node) -> str | None:
        for source in (node.number, *(number for number, _ in node.inputs)):
            own, other = self._outlines[0].nodes[source], self._partner.get(source)
            if other is not None and own.constant != other.constant:
                values = f"{own.constant} in the first run and {other.constant} in the second"
                return f"The constant {own.name} is {values}."
        return None

    def _change_before(self, found: Candidate) -> tuple[str, str] | None:
        """Return a changed op before this one, with only tensors without common numbers between them."""
        known = {(each.place.first.node, each.place.slot) for each, _ in found.inputs}
        nodes = self._outlines[0].nodes
        waiting = [source for source in found.measured.place.pair.first.inputs if source not in known]
        seen = set(waiting)
        while waiting:
            number, slot = waiting.pop(0)
            node, other = nodes[number], self._partner.get(number)
            line = "" if node.source is None else f" of {node.source.name}"
            if other is None:
                return "added_op", f"Before it, {node.name} ({node.type}){line} is only in the first run."
            if node.type != other.type:
                return "changed_op", f"Before it, {node.type}{line} is {other.type} in the second run."
            constant = self._changed_constant(node)
            if constant is not None:
                return "changed_constant", constant
            if (number, slot) not in self._known:
                more = [source for source in node.inputs if source not in seen]
                waiting += more
                seen.update(more)
        return None

    def _other_input(self, first: Node, second: Node) -> str | None:
        """Return an input that the other run has of another op."""
        there = [self._outlines[1].nodes[number] for number, _ in second.inputs]
        here = [self._outlines[0].nodes[number] for number, _ in first.inputs]
        for node, partner, name in (
            *((node, self._back.get(node.number), "second") for node in there),
            *((node, self._partner.get(node.number), "first") for node in here),
        ):
            if partner is None:
                line = "" if node.source is None else f" of {node.source.name}"
                return f"Its input comes from {node.name} ({node.type}){line}, which only the {name} run has."
        return None

    def _inputs(self, found: Candidate) -> list[InputOfFirst]:
        pair = found.measured.place.pair
        if pair.first.is_eager:
            return [self._measured_input(*each) for each in found.inputs]
        known = {(each.place.first.node, each.place.slot): (each, nth) for each, nth in found.inputs}
        result = []
        for source, slot in pair.first.inputs:
            if (source, slot) in known:
                result.append(self._measured_input(*known[source, slot]))
                continue
            own, other = self._outlines[0].nodes[source], self._partner.get(source)
            sides = [
                None if node is None else self._bare(which, node, slot)
                for which, node in ((0, own), (1, other))
            ]
            result.append(InputOfFirst(sides[0], sides[1], None, None))
        return result

    def _measured_input(self, one: MeasuredPair, nth: int) -> InputOfFirst:
        tensor = self._describe(one, nth)
        is_within = bool(one.relative[nth] <= one.tolerance[nth])
        return InputOfFirst(tensor.first, tensor.second, finite(float(one.relative[nth])), is_within)

    def _bare(self, which: int, node: Node, slot: int) -> ComparedSide:
        run = (self._job.first, self._job.second)[which]
        graph = run.catalog.graphs[self._outlines[which].groups[node.group].graph]
        return side_of(node, slot, graph.graph_id, graph.name)

    def _values(self, found: Candidate, tensor: TensorDifference) -> ElementDifferenceJson | None:
        one, nth = found.measured, found.nth
        eager = one.place.pair.first.is_eager
        return element_difference(
            recorded(self._job.first, int(one.first[nth]), one.place.slot, eager=eager),
            recorded(self._job.second, int(one.second[nth]), one.place.slot, eager=eager),
        )


def headline(tensor: TensorDifference) -> str:
    """Op, function and line, such as ``Relu in forward, net.py:12: mean 0.5 and 0.2``."""
    first = tensor.first
    where = f" in {first.function}" if first.function else ""
    line = f", {first.source.name}" if first.source else ""
    name = first.op_type if first.name == first.op_type else f"{first.op_type} {first.name}"
    return f"First difference: {name}{where}{line}: {tensor.what}"


def _compared(tensor: TensorDifference) -> str:
    size = "" if tensor.difference is None else f" by {tensor.difference:.2g} of its size"
    return (
        f"Occurrence {tensor.occurrence + 1} of {tensor.compared} differs{size}: {tensor.what}."
        f" The tolerance from rounding and depth is {tensor.tolerance:.2g}."
    )


def _lines(tensor: TensorDifference) -> list[str]:
    first, second = tensor.first.source, tensor.second.source
    if first is None or second is None or first.text == second.text:
        return []
    return [f"Its line reads `{first.text}` in the first run and `{second.text}` in the second."]


def _by_type(node: Node) -> tuple[str, str]:
    if any(word in node.type for word in _RANDOM):
        return "random", "The op draws random numbers: the seed or the generator's state differs."
    if node.type in _DATA:
        return "data", "It came in from outside: the data, or their order, differ."
    if node.type in _READS:
        name = f" {node.variable}" if node.variable else ""
        return "variable", f"The variable{name} holds other values: its initial value or an update differs."
    return "numerics", "The difference is made by this op, or by a value that is not on record."


def _origin(found: Candidate) -> list[str]:
    if found.inherited is None:
        return []
    if found.inherited < 0.005:
        return ["Its inputs agree: the difference is made here."]
    return [f"About {found.inherited:.0%} of the difference came with its inputs."]
