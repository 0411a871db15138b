"""The bad values that matter: what a program returned, fetched, kept in a variable, or stopped at.

Returns them with the kinds of their bad elements, the earliest first. A bad value that matters to nobody,
because each op that took it gave good values, is not among them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final, Literal, NamedTuple

import numpy as np

from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.analysis.origins.feeds import Feeds
from tb_debugger_plugin.analysis.origins.traces import sites_of
from tb_debugger_plugin.analysis.origins.values import BadKind, Measured, ValueRef
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.events.dtypes import dtype_name
from tb_debugger_plugin.events.tensorflow_names import is_of_pipeline, op_and_slot
from tb_debugger_plugin.index.tensors import BAD, GOOD

_MAX_HOPS: Final = 512
_MAX_SEEDS: Final = 4_000
#: First bad assignments that are looked at, and those of them that matter.
_MAX_ASSIGNED: Final = 1_000
_MAX_KEPT: Final = 96
#: Executions that are read at once.
_EXECUTIONS: Final = 1 << 20
_BAD_OUTPUTS: Final = (
    "SELECT e.op_type, e.stack, o.host, e.graph, o.slot, min(o.idx), max(o.idx),"
    " min(o.idx) FILTER (o.nan > 0), min(o.idx) FILTER (o.pos_inf > 0 OR o.neg_inf > 0), count(*)"
    f" FROM (SELECT * FROM execution_outputs WHERE health = {BAD} AND idx >= $begin AND idx < $end) o"
    " JOIN (SELECT idx, op_type, stack, graph FROM executions WHERE idx >= $begin AND idx < $end) e"
    " USING (idx) GROUP BY ALL"
)

SinkKind = Literal["output", "variable", "fetch", "stop", "weak", "divisor"]


class BadSink(NamedTuple):
    """A bad value that matters.

    Attributes:
      time: When it was computed.
      value: The value.
      kind: Of its bad elements; None when it is not known.
      why: Why it matters.
    """

    time: float
    value: ValueRef
    kind: BadKind | None
    why: SinkKind


#: First traces of a site: with NaN, with infinities, bad of any kind.
Firsts = dict[int, tuple[int | None, int | None, int]]


class BadOutputs(NamedTuple):
    """The bad outputs of what Python ran on one line.

    Attributes:
      op_type, stack, host: Of the executions.
      graph: The graph that they ran; -1 for none.
      slot: The output.
      first, last: The first of the executions, and the last.
      nan: The first with NaN; None if there is none.
      inf: The first with infinities.
      times: How many there are.
    """

    op_type: int
    stack: int
    host: int
    graph: int
    slot: int
    first: int
    last: int
    nan: int | None
    inf: int | None
    times: int


@remembered(Snapshot.remember)
def bad_outputs(snapshot: Snapshot) -> list[BadOutputs]:
    """Return the bad outputs of eager ops and of calls, in the order of the first of each."""
    found: dict[tuple[int, ...], BadOutputs] = {}
    # To join parts of two long tables takes half as long as to join them whole.
    for begin in range(0, snapshot.num_executions, _EXECUTIONS):
        for row in snapshot.rows(_BAD_OUTPUTS, {"begin": begin, "end": begin + _EXECUTIONS}):
            one = BadOutputs(*row)
            known = found.setdefault(one[:5], one)
            if known is not one:
                nan, inf = _least([known.nan, one.nan]), _least([known.inf, one.inf])
                times = known.times + one.times
                found[one[:5]] = known._replace(last=one.last, nan=nan, inf=inf, times=times)
    return sorted(found.values(), key=lambda one: (one.first, one.slot))


def _least(positions: Iterable[int | None]) -> int | None:
    return min((each for each in positions if each is not None), default=None)


class Sinks:
    """The values that matter in one run.

    Args:
      feeds: Its values.
    """

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = feeds
        self._snapshot = feeds.snapshot
        self.firsts = self._first_traces()

    def _first_traces(self) -> Firsts:
        rows = self._snapshot.rows(
            "SELECT site, min(idx) FILTER (nan > 0), min(idx) FILTER (pos_inf > 0 OR neg_inf > 0), min(idx)"
            f" FROM graph_executions WHERE health = {BAD} GROUP BY site"
        )
        return {site: (nan, inf, first) for site, nan, inf, first in rows}

    def all(self) -> list[BadSink]:
        """All of them, the earliest first."""
        found = dict.fromkeys(
            [
                *self._outputs(),
                *self._variables(),
                *self._fetches(),
                *self._stops(),
                *self._shown(),
            ]
        )
        return sorted(found, key=lambda sink: (sink.why == "weak", sink.time))

    def seeds(self) -> list[tuple[ValueRef, BadKind | None]]:
        """Return the first bad values of each op in graphs, by kind, the earliest first."""
        found = [first for firsts in self.firsts.values() for first in _firsts(*firsts)]
        return [
            (ValueRef(trace=idx), kind) for idx, kind in sorted(found, key=lambda each: each[0])[:_MAX_SEEDS]
        ]

    def eager_seeds(self) -> list[tuple[ValueRef, BadKind | None]]:
        """Return the first bad outputs of each eager op and line, by kind, the earliest first."""
        of_line: dict[tuple[int, int, int], list[BadOutputs]] = defaultdict(list)
        for one in bad_outputs(self._snapshot):
            of_line[one.op_type, one.stack, one.slot].append(one)
        found = [
            (idx, slot, kind)
            for (_, _, slot), several in of_line.items()
            for idx, kind in _firsts(
                _least(one.nan for one in several),
                _least(one.inf for one in several),
                min(one.first for one in several),
            )
        ]
        ordered = sorted(found, key=lambda each: each[:2])[:_MAX_SEEDS]
        return [(ValueRef(execution=idx, slot=slot), kind) for idx, slot, kind in ordered]

    def _outputs(self) -> Iterator[BadSink]:
        for value, kind in self.eager_seeds():
            if op_kinds.is_assignment(self._feeds.op_type(value)):
                continue
            yield from self._ends_of(value, kind)

    def _ends_of(self, value: ValueRef, kind: BadKind | None) -> Iterator[BadSink]:
        """Yield the visible values that an eager value leads to, along outputs that are bad too."""
        waiting, seen = [value], {value}
        while waiting and len(seen) < _MAX_HOPS:
            value = waiting.pop()
            following, fate = self._following(value, kind)
            waiting += [each for each in following if each not in seen]
            seen.update(following)
            if not following and fate is not None:
                measured = self._feeds.measured(value)
                yield BadSink(measured.time, value, _kind_of(measured, kind), fate)

    def _following(self, value: ValueRef, kind: BadKind | None) -> tuple[list[ValueRef], SinkKind | None]:
        eager = self._feeds.eager
        made = eager.execution(value.execution)
        (tensor_id, _) = eager.outputs(value.execution).get(value.slot, (None, None))
        takers = [] if tensor_id is None else eager.takers(tensor_id, value.execution)
        if not takers:
            return [], self._visible(value, made.op_type, made.graph)
        following: list[ValueRef] = []
        is_seen = False
        for index, _ in takers:
            taker = eager.execution(index)
            outputs = eager.outputs(index)
            bad = [slot for slot, (_, numbers) in outputs.items() if numbers.bad]
            following += [ValueRef(execution=index, slot=slot) for slot in bad]
            is_seen |= taker.op_type in op_kinds.CHECKING and kind != "inf"
            is_seen |= taker.op_type in op_kinds.PYTHON or taker.op_type in op_kinds.GUARDS
        if following:
            return following, None
        if kind != "inf" and any(eager.execution(index).op_type in op_kinds.SHOWING for index, _ in takers):
            return [], "output"
        only_seen = all(eager.execution(index).op_type in op_kinds.INSPECTING for index, _ in takers)
        if is_seen and only_seen and not self._is_scaling(takers):
            return [], "output"
        return [], None

    def _is_scaling(self, takers: list[tuple[int, int]]) -> bool:
        """Whether a loss-scaling optimizer looks whether gradients are finite."""
        stacks = [self._feeds.eager.execution(index).stack for index, _ in takers]
        rows = self._snapshot.rows(
            "SELECT count(*) FROM stacks k JOIN frames f ON f.host = k.host AND f.frame_id = k.frame_id"
            " JOIN sources s ON s.host = f.host AND s.file_index = f.file_index"
            " WHERE k.stack IN (SELECT unnest(?)) AND contains(s.path, 'loss_scale')",
            [stacks],
        )
        return bool(rows[0][0])

    def _visible(self, value: ValueRef, op_type: str, graph: int) -> SinkKind | None:
        """Whether an output that no execution took was given to the program."""
        if graph >= 0 and op_kinds.FORWARD.match(op_type):
            # Further outputs are what the gradient needs.
            results = self._feeds.structure.results(graph)
            return "output" if value.slot < len(results) else None
        return "weak" if op_kinds.BACKWARD.match(op_type) else "output"

    def _variables(self) -> Iterator[BadSink]:
        yield from self._reads()
        yield from self._assigned()

    def _reads(self) -> Iterator[BadSink]:
        """Yield the first bad reads of variables."""
        for site, (nan, inf, first) in self.firsts.items():
            if self._feeds.structure.op(self._snapshot.catalog.sites[site].op).type in op_kinds.READS:
                for idx, kind in _firsts(nan, inf, first):
                    value = ValueRef(trace=idx)
                    yield BadSink(self._feeds.time(value), value, kind, "variable")

    def _assigned(self) -> Iterator[BadSink]:
        """Yield the first bad values that were assigned, unless the variable was good when it was read next.

        The search looks at the earliest only.
        """
        kept = 0
        for idx, op, kind in sorted(self._first_assigned(), key=lambda each: each[:2])[:_MAX_ASSIGNED]:
            if kept >= _MAX_KEPT:
                return
            if self._is_kept(op, idx):
                kept += 1
                value = ValueRef(op=op, near=idx)
                yield BadSink(self._feeds.time(value), value, kind, "variable")

    def _first_assigned(self) -> Iterator[tuple[int, int, BadKind | None]]:
        """Yield the trace of each first bad value that an op assigns, the op, and the kind."""
        for op in self._feeds.variables.assigns:
            for site in sites_of(self._snapshot, self._feeds.structure.assigned(op)):
                for idx, kind in _firsts(*self.firsts.get(site, (None, None, None))):
                    yield idx, op, kind

    def _is_kept(self, op: int, trace: int) -> bool:
        """Whether the next read of the variable, if there is one in a later call, was not good."""
        variables = self._feeds.variables
        keys = variables.assigns[op]
        window = self._feeds.traces.window(trace)
        health = self._feeds.variable_traces.next_read(keys, int(window.idx[-1]))
        if health is not None:
            return health == BAD
        time = self._feeds.time(ValueRef(trace=trace))
        later = variables.touches(keys).between(time, np.inf).reads(GOOD, BAD).healths
        return not len(later) or bool(later[0] == BAD)

    def _fetches(self) -> Iterator[BadSink]:
        """Yield the first bad values that runs of sessions fetched."""
        rows = self._snapshot.rows("SELECT DISTINCT host, name FROM session_requests WHERE role = 'fetch'")
        by_name: dict[str, list[int]] = defaultdict(list)
        for op in self._snapshot.catalog.ops if rows else ():
            by_name[op.name].append(op.number)
        for _, name in rows:
            op_name, slot = op_and_slot(name)
            for number in by_name.get(op_name, ()):
                yield from self._first_of_tensor(number, slot, "fetch")

    def _first_of_tensor(self, op: int, slot: int, why: SinkKind) -> Iterator[BadSink]:
        tensors = [(one.op, one.slot) for one in self._feeds.structure.sources(op, slot) if one.end is None]
        for site in sites_of(self._snapshot, tensors):
            for idx, kind in _firsts(*self.firsts.get(site, (None, None, None))):
                value = ValueRef(trace=idx)
                yield BadSink(self._feeds.time(value), value, kind, why)

    def _shown(self) -> Iterator[BadSink]:
        """Yield the first NaN that were printed, summarised or handed to Python inside a graph."""
        for op in self._snapshot.catalog.ops:
            if op.type not in op_kinds.SHOWING | op_kinds.GUARDS:
                continue
            for _, source in self._feeds.structure.input_sources(op.number):
                if source.end is None:
                    sinks = self._first_of_tensor(source.op, source.slot, "output")
                    yield from (sink for sink in sinks if sink.kind == "nan")

    def divisors(self) -> Iterator[BadSink]:
        """Yield the first infinities of float16 by which something was divided.

        Its range ends at 65,504, so that the 0 that comes of it is seldom right.
        """
        statics = self._snapshot.catalog.statics
        for op in self._snapshot.catalog.ops:
            static = statics.get((op.number, 0))
            if op.type not in op_kinds.DIVISORS or static is None or dtype_name(static.dtype) != "float16":
                continue
            for number, source in self._feeds.structure.input_sources(op.number):
                if number == op_kinds.DIVISORS[op.type] and source.end is None:
                    sinks = self._first_of_tensor(source.op, source.slot, "divisor")
                    yield from (sink for sink in sinks if sink.kind != "nan")

    def _stops(self) -> Iterator[BadSink]:
        """Yield the last bad value of a call that did not return, and what a guard stopped at."""
        ((last,),) = self._snapshot.rows("SELECT max(wall_time) FROM executions")
        runs = self._snapshot.rows("SELECT max(end_time) FROM session_runs")
        until = max((time for time in (last, runs[0][0]) if time is not None), default=-1.0)
        catalog = self._snapshot.catalog
        for what in ("nan > 0", "(nan > 0) IS NOT TRUE"):
            # The last rows of one condition are found at the end; of two at once, all rows would be sorted.
            rows = self._snapshot.rows(
                f"SELECT idx, site FROM graph_executions WHERE wall_time > ? AND health = {BAD} AND {what}"
                " ORDER BY idx DESC LIMIT 256",
                [until],
            )
            for idx, site in rows:
                name = catalog.graphs[catalog.sites[site].graph].name or ""
                if not is_of_pipeline(name):
                    measured = self._feeds.measured(ValueRef(trace=idx))
                    yield BadSink(measured.time, ValueRef(trace=idx), _kind_of(measured, None), "stop")
                    return


def _firsts(nan: int | None, inf: int | None, first: int | None) -> Iterator[tuple[int, BadKind | None]]:
    if nan is not None:
        yield nan, "nan"
    if inf is not None:
        yield inf, "inf"
    if nan is None and inf is None and first is not None:
        yield first, None


def _kind_of(measured: Measured, preferred: BadKind | None) -> BadKind | None:
    if measured.has_nan is None:
        return preferred
    return "nan" if measured.has_nan and preferred != "inf" else "inf" if measured.has_inf else "nan"
