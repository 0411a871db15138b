"""Puts births in order, the most important first.

Takes what a search found. A category may change here: what else was born, and when, tells more of a birth
than its own walk.

Invariant: what is read of a birth is read once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.analysis.origins.births import Birth
from tb_debugger_plugin.analysis.origins.feeds import Feeds
from tb_debugger_plugin.analysis.origins.origin import RANKS, Category
from tb_debugger_plugin.analysis.origins.sinks import BadSink
from tb_debugger_plugin.analysis.origins.takers import Taking
from tb_debugger_plugin.analysis.origins.values import ValueRef


class Found(NamedTuple):
    """What a search found.

    Attributes:
      birth: The birth.
      category: What it is to the program.
      sink: The value that matters from which it was found; None for what reaches none.
      takings: Where a value that reaches none ended.
      same: Other ops of the same line and type in which the same was born, as for each variable.
    """

    birth: Birth
    category: Category
    sink: BadSink | None
    takings: tuple[Taking, ...] = ()
    same: tuple[Op, ...] = ()


@dataclass
class _Case:
    """A birth and what decides its rank.

    Attributes:
      birth, category, sink, takings: As in :class:`Found`.
      op: The op of a graph.
      forward: The op whose gradient that op is part of.
      is_opaque: Whether the op only passes values on: what made this one is not on record.
      moment: When the call returned in which the value was born, or when it was born in one that did not.
      time: When the value was computed.
      is_repeated: Whether its call computed it more than once, as in a loop.
    """

    birth: Birth
    category: Category
    sink: BadSink | None
    takings: tuple[Taking, ...]
    op: Op | None
    forward: Op | None
    is_opaque: bool
    moment: float
    time: float
    is_repeated: bool

    @property
    def is_of_variable(self) -> bool:
        return self.category == "came_in" and self.birth.value.outside == "a variable"

    @property
    def is_unmeant(self) -> bool:
        """Whether it reaches no result, and the program did not write an infinity itself."""
        return self.category in ("swallowed", "expected") and not self.birth.meant


class Ranking:
    """The births of a run in order.

    Args:
      feeds: The values of the run.
      found: What was found.
    """

    def __init__(self, feeds: Feeds, found: Iterable[Found]) -> None:
        self._feeds = feeds
        self._cases = [self._case(each) for each in found]

    def ranked(self) -> list[Found]:
        """Return the births with their categories, the most important first."""
        self._set_back()
        self._bring_forward()
        self._name_forward_ops()
        gradients_of = {case.forward.number for case in self._cases if case.forward is not None}
        moments, times = self._moments_by_op(), self._times_of_graphs()
        ranked = sorted(
            self._cases,
            key=lambda case: (*self._rank(case, gradients_of, moments), *_turn(case, times)),
        )
        return self._merged(ranked)

    @staticmethod
    def _merged(ranked: list[_Case]) -> list[Found]:
        """One for all births of the same line, such as a division that a loop makes for each variable."""
        found: dict[tuple[object, ...], Found] = {}
        for number, case in enumerate(ranked):
            op = case.op
            key = (number,) if op is None or op.stack < 0 else _line_of(case, op)
            first = found.setdefault(key, Found(case.birth, case.category, case.sink, case.takings))
            if op is not None and first.birth is not case.birth:
                takings = tuple(dict.fromkeys((*first.takings, *case.takings)))
                found[key] = first._replace(takings=takings, same=(*first.same, op))
        return list(found.values())

    def _case(self, found: Found) -> _Case:
        birth = found.birth
        op = self._feeds.op_of(birth.value)
        forward = None if op is None else self._feeds.structure.forward(op)
        return _Case(
            *(birth, found.category, found.sink, found.takings, op, forward),
            is_opaque=self._is_opaque(birth, op),
            moment=self._moment(birth),
            time=self._feeds.time(birth.entry),
            is_repeated=self._is_repeated(birth.value),
        )

    def _is_opaque(self, birth: Birth, op: Op | None) -> bool:
        value = birth.value
        if value.execution >= 0:
            return self._feeds.eager.execution(value.execution).is_function
        return op is not None and (
            op.type in op_kinds.COPIES or bool(self._feeds.structure.called(op.number))
        )

    def _is_repeated(self, value: ValueRef) -> bool:
        if value.trace < 0:
            return False
        traces = self._feeds.traces
        return len(traces.window(value.trace).of_sites([traces.site(value.trace)])) > 1

    def _moment(self, birth: Birth) -> float:
        value = birth.entry
        owner = self._feeds.call_of(value)
        return self._feeds.time(value) if owner is None else self._feeds.eager.execution(owner).time

    def _set_back(self) -> None:
        """Take births at unmeasured inputs for propagated ones if something else was born before."""
        first = min(
            (
                case.moment
                for case in self._cases
                if case.category in ("origin", "came_in") and case.birth.is_certain and not case.is_opaque
            ),
            default=math.inf,
        )
        for case in self._cases:
            is_late = not case.birth.is_certain and case.moment > first
            if case.category == "origin" and (is_late or (case.is_opaque and first < math.inf)):
                case.category = "propagated"

    def _bring_forward(self) -> None:
        """Take what was born first, before an unexplained value of a variable, for an origin.

        Where no assignment is on record, as in recordings of TensorFlow, nobody knows what reached it.
        """
        before = min((case.moment for case in self._cases if case.is_of_variable), default=-math.inf)
        earlier = [case for case in self._cases if case.is_unmeant and not case.is_opaque]
        first = min(earlier, key=lambda case: (case.moment, case.time), default=None)
        if first is not None and first.moment < before:
            first.birth, first.category = first.birth._replace(is_certain=False), "origin"

    def _name_forward_ops(self) -> None:
        """Take what was born in an op for an origin if something was born in its gradient, which matters."""
        named = {
            case.forward.number
            for case in self._cases
            if case.category == "origin" and case.forward is not None
        }
        for case in self._cases:
            if case.is_unmeant and case.op is not None and case.op.number in named:
                case.category = "origin"

    def _moments_by_op(self) -> dict[int, float]:
        """When something was born in each op of an origin."""
        moments: dict[int, float] = {}
        for case in self._cases:
            if case.category == "origin" and case.op is not None:
                number = case.op.number
                moments[number] = min(case.moment, moments.get(number, math.inf))
        return moments

    def _rank(self, case: _Case, gradients_of: set[int], moments: dict[int, float]) -> tuple[float, ...]:
        """Return the order: what is wrong, what matters most, the earliest call, forward before backward."""
        has_gradient = case.op is not None and case.op.number in gradients_of
        of_forward = -math.inf if case.forward is None else moments.get(case.forward.number, -math.inf)
        return (
            RANKS[case.category],
            case.sink is not None and case.sink.why == "weak" and not has_gradient,
            max(case.moment, of_forward),
            case.op is not None and self._feeds.structure.is_backward(case.op),
        )

    def _times_of_graphs(self) -> dict[tuple[float, int], float]:
        """When the first birth of each call and graph was."""
        times: dict[tuple[float, int], float] = {}
        for case in self._cases:
            if case.op is not None:
                key = (case.moment, case.op.graph)
                times[key] = min(case.time, times.get(key, math.inf))
        return times


def _line_of(case: _Case, op: Op) -> tuple[object, ...]:
    """Return what is the same of births that are listed once."""
    forward = None if case.forward is None else case.forward.stack
    outside = case.birth.value.outside
    return (case.category, case.birth.kind, outside, op.graph, op.type, op.layer, op.stack, forward)


def _turn(case: _Case, times: dict[tuple[float, int], float]) -> tuple[float, int]:
    """Return the order within a call, that of the program: ops that wait for nothing run in any order."""
    if case.op is None or case.is_repeated:
        return case.time, -1 if case.op is None else case.op.number
    return times[case.moment, case.op.graph], case.op.number
