"""What took a bad value, and what became of it there.

Takes a bad value; looks at each op or execution that took it, in the same call. A taker whose output is bad
passes it on. One whose output is good swallowed it: the table of expected values allows that, or it is a
finding. A taker whose output is not on record may have done anything.

Invariant: the work is bounded for each value, whatever the graphs are like.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.analysis.graph.adjacency import adjacency
from tb_debugger_plugin.analysis.origins.expected import (
    BRANCH,
    DATA_SET,
    INFINITIES,
    NOTHING,
    BadElement,
    ExpectedRow,
    row_of,
)
from tb_debugger_plugin.analysis.origins.feeds import Feeds
from tb_debugger_plugin.analysis.origins.values import BadKind, Measured, ValueRef

#: Ops that are visited for one value.
_MAX_VISITED: Final = 256
#: Traces of a tensor in one call that are looked at.
_MAX_TURNS: Final = 1_024
#: Ops without a record of their own that give their input unchanged.
_PASSING: Final = frozenset("Identity IdentityN Enter Exit Merge NextIteration Switch RefSwitch".split())
#: Ops that look at a tensor, but not at its elements.
_NOT_READING: Final = op_kinds.INSPECTING - op_kinds.CHECKING - op_kinds.SHOWING - {"AsString"}
#: Eager ops whose outputs, which are no floats, are not measured.
_DISCRETE: Final = op_kinds.COMPARING | op_kinds.CHECKING | {"Cast", "Where", "Multinomial"}
_CONDITIONS: Final = frozenset({"Select", "SelectV2"})
_FILTER: Final = re.compile(r"(__inference_)?Dataset_filter")


class Taking(NamedTuple):
    """A bad value that ended at an op or an execution.

    Attributes:
      taker: Type of the op; a word of :mod:`expected` where it is none.
      elements: The kinds of the bad elements that it took; all that may be, if they are not on record.
      is_known: Whether they are on record.
      is_measured: Whether what the op made is on record, and good.
      decided: What its result decided: "the loop ended"; empty if nothing is known.
    """

    taker: str
    elements: frozenset[BadElement]
    is_known: bool = True
    is_measured: bool = True
    decided: str = ""

    def of_nan(self) -> Taking:
        """Return the same, where the op that made the value tells that it was NaN."""
        return self._replace(elements=frozenset({"nan"}), is_known=True)

    def row(self, *, is_written: bool) -> ExpectedRow | None:
        """Return the row of the table that allows it.

        Args:
          is_written: Whether the program wrote the value itself.
        """
        if not self.is_measured:
            return None
        return row_of(self.taker, self.elements, is_written=is_written, is_known=self.is_known)


class Takers:
    """What took the bad values of one run.

    Args:
      feeds: Its values.
    """

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = feeds
        self._structure = feeds.structure
        self._catalog = feeds.snapshot.catalog
        self._edges = adjacency(feeds.snapshot)

    def of(self, value: ValueRef, kind: BadKind | None) -> list[Taking]:
        """Where a bad value ended; nothing if all that took it passed it on."""
        if value.execution >= 0:
            return self._of_execution(value, kind)
        op = self._feeds.op_of(value)
        if op is None or value.trace < 0:
            return []
        takers = list(self._following(op.number, self._feeds.slot_of(value)))
        if not takers:
            return [] if self._is_result(op.number) else [Taking(NOTHING, *self._elements(value, kind))]
        found = (self._taking(value, kind, self._structure.op(taker), at) for taker, at in takers)
        return list(dict.fromkeys(each for each in found if each is not None))

    def _elements(self, value: ValueRef, kind: BadKind | None) -> tuple[frozenset[BadElement], bool]:
        measured = self._feeds.measured(value)
        if kind == "nan":
            return frozenset({"nan"}), True
        if kind == "inf" and measured.has_inf is not None:
            counts = {"neg_inf": measured.neg_inf, "pos_inf": measured.pos_inf}
            return frozenset(name for name in INFINITIES if counts[name]), True
        return INFINITIES if kind == "inf" else INFINITIES | {"nan"}, False

    def _following(self, op: int, slot: int) -> Iterator[tuple[int, int]]:
        """Yield the ops that take a tensor, and as which input; skip those that pass it on unrecorded."""
        waiting, seen = [(op, slot)], set[tuple[int, int]]()
        while waiting and len(seen) < _MAX_VISITED:
            tensor = waiting.pop()
            if tensor in seen:
                continue
            seen.add(tensor)
            for made, taker, at in self._edges.numbered_consumers(tensor[0]):
                if made != tensor[1]:
                    continue
                taken_by = self._structure.op(taker)
                if taken_by.type in _PASSING and not self._structure.is_watched(taker, 0):
                    waiting.append((taker, at if taken_by.type == "IdentityN" else 0))
                    if self._is_result(taker):
                        yield taker, at
                else:
                    yield taker, at

    def _is_result(self, op: int) -> bool:
        return op in self._structure.results(self._structure.op(op).graph)

    def _taking(self, value: ValueRef, kind: BadKind | None, taker: Op, at: int) -> Taking | None:
        """Return what became of a value in an op; None if it was passed on, or not looked at."""
        if taker.type is None or taker.type in _NOT_READING | _PASSING | op_kinds.READS:
            return None
        if op_kinds.is_assignment(taker.type):
            return None
        if taker.type in op_kinds.BRANCHES:
            return self._of_branch(value, kind, taker, at)
        if self._structure.called(taker.number):
            return None
        elements = self._elements(value, kind)
        sites = self._catalog.op_sites.get(taker.number, ())
        if not sites:
            return self._of_unrecorded(value, elements, taker)
        made = self._made(value, [site.number for site in sites])
        if made is None or made.bad:
            return None
        return Taking(taker.type, *elements, is_measured=made.bad is False)

    def _of_branch(self, value: ValueRef, kind: BadKind | None, taker: Op, at: int) -> Taking | None:
        sites = [site.number for site in self._catalog.op_sites.get(taker.number, ())]
        made = self._made(value, sites)
        if at == 0 or (made is not None and made.bad) or self._runs_in(value, taker, at - 1):
            return None
        return Taking(BRANCH, *self._elements(value, kind))

    def _runs_in(self, value: ValueRef, taker: Op, position: int) -> bool:
        """Whether a branch took a value as its argument in the same call."""
        arguments = (self._structure.arguments(graph) for graph in self._structure.called(taker.number))
        sites = [
            site.number
            for each in arguments
            for op in each[position : position + 1]
            for site in self._catalog.op_sites.get(op, ())
        ]
        return self._made(value, sites) is not None

    def _made(self, value: ValueRef, sites: list[int]) -> Measured | None:
        """Return what was computed of a value: bad, if any of it is; None if nothing was in its call.

        Turns of a loop are on record in any order. So their numbers are compared: an op that was bad in as
        many turns as what it took passed on each.
        """
        own = self._in_call(value, [self._feeds.traces.site(value.trace)])
        num_bad = sum(each.bad is True for each in own)
        found: list[Measured] = []
        for site in sites:
            made = self._in_call(value, [site])
            bad = [each for each in made if each.bad]
            are_bad = len(bad) >= num_bad or (bad and len(made) != len(own))
            found += bad[:1] if are_bad else [each for each in made if not each.bad]
        order = {True: 0, None: 1, False: 2}
        return min(found, key=lambda each: order[each.bad], default=None)

    def _in_call(self, value: ValueRef, sites: list[int]) -> list[Measured]:
        window = self._feeds.traces.window(value.trace)
        return [window.measured(int(idx)) for idx in window.of_sites(sites)[:_MAX_TURNS]]

    def _of_unrecorded(
        self, value: ValueRef, elements: tuple[frozenset[BadElement], bool], taker: Op
    ) -> Taking | None:
        """Return what became of a value in an op that gives no floats, or that was not chosen."""
        is_used, decided = self._decided(value, taker)
        if not is_used or self._structure.packs(taker):
            return None
        op_type = taker.type or ""
        if decided == DATA_SET:
            return Taking(DATA_SET, *elements)
        if op_type in ("Equal", "NotEqual") and len(set(self._structure.inputs(taker.number))) == 1:
            return Taking("IsNan", *elements)
        outputs = range(taker.num_outputs or 0)
        is_measured = all(self._structure.is_discrete(taker.number, slot) for slot in outputs)
        return Taking(op_type, *elements, is_measured, decided)

    def _decided(self, value: ValueRef, op: Op) -> tuple[bool, str]:
        """Whether something used what an op without a record made, and what that decided."""
        is_used = not op.num_outputs
        waiting, seen = [op.number], {op.number}
        while waiting and len(seen) < _MAX_VISITED:
            number = waiting.pop()
            if self._is_result(number):
                is_used = True
                decided = self._decided_by_result(value, self._structure.op(number))
                if decided:
                    return True, decided
            for _, taker, at in self._edges.numbered_consumers(number):
                user = self._structure.op(taker)
                if at == 0 and user.type in op_kinds.BRANCHES:
                    return True, "chose the branch of a condition"
                sites = [site.number for site in self._catalog.op_sites.get(taker, ())]
                runs = bool(sites) and self._made(value, sites) is not None
                if at == 0 and user.type in _CONDITIONS and runs:
                    return True, "chose a side of `tf.where`"
                is_used = is_used or runs or not user.num_outputs or bool(self._structure.called(taker))
                if not sites and taker not in seen:
                    seen.add(taker)
                    waiting.append(taker)
        return is_used, ""

    def _decided_by_result(self, value: ValueRef, result: Op) -> str:
        """Return what the result of a function decides: the condition of a loop, the filter of a data set."""
        name = self._catalog.graphs[result.graph].name or ""
        if _FILTER.match(name):
            return DATA_SET
        loops = [
            self._structure.op(caller)
            for caller, _ in self._structure.callers(result.graph)
            if self._structure.op(caller).type in op_kinds.LOOPS
        ]
        if not any(self._structure.body(loop.number) != result.graph for loop in loops):
            return ""
        traces = self._feeds.traces
        turns = traces.window(value.trace).of_sites([traces.site(value.trace)])
        return "ended the loop" if turns[-1] == value.trace else "decided whether the loop went on"

    def _of_execution(self, value: ValueRef, kind: BadKind | None) -> list[Taking]:
        eager = self._feeds.eager
        (tensor_id, _) = eager.outputs(value.execution).get(value.slot, (None, None))
        takers = [] if tensor_id is None else eager.takers(tensor_id, value.execution)
        elements = self._elements(value, kind)
        found = [self._taking_execution(index, elements) for index, _ in takers]
        return list(dict.fromkeys(each for each in found if each is not None))

    def _taking_execution(self, index: int, elements: tuple[frozenset[BadElement], bool]) -> Taking | None:
        eager = self._feeds.eager
        taker, outputs = eager.execution(index), [each for _, each in eager.outputs(index).values()]
        is_neutral = taker.op_type in _NOT_READING | op_kinds.READS or op_kinds.is_assignment(taker.op_type)
        if is_neutral or taker.is_function or any(each.bad for each in outputs):
            return None
        is_measured = taker.op_type in _DISCRETE or all(each.bad is False for each in outputs)
        return Taking(taker.op_type, *elements, is_measured)
