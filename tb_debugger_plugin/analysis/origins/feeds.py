"""The recorded values that a recorded value was made from.

Takes a :class:`~tb_debugger_plugin.analysis.origins.values.ValueRef`; returns its feeds: inputs of the op,
what the caller passed for an argument, what a call returned, the last turn of a loop, the last assignment of
a variable, what an eager tensor was made by, an element that an input pipeline computed.

Invariant: a feed was computed before the value.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.analysis.origins.assignments import Assignments
from tb_debugger_plugin.analysis.origins.record import Record
from tb_debugger_plugin.analysis.origins.structure import Structure, TensorSource
from tb_debugger_plugin.analysis.origins.traces import BAD_ROWS, Window, sites_of
from tb_debugger_plugin.analysis.origins.values import (
    BadKind,
    Measured,
    Relation,
    ValueFeed,
    ValueRef,
)
from tb_debugger_plugin.analysis.origins.variable_traces import VariableTraces
from tb_debugger_plugin.analysis.origins.variables import Keys, VariableKeys
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.events.tensorflow_names import display_name, is_of_pipeline, takes_its_result
from tb_debugger_plugin.index.tensors import BAD, GOOD


class Pipelines:
    """The input pipelines of a run; lives as long as a search.

    Args:
      snapshot: The run.
      structure: Its graphs.
    """

    def __init__(self, snapshot: Snapshot, structure: Structure) -> None:
        self._snapshot = snapshot
        self._structure = structure

    def result(self, value: ValueRef, own: Measured, kind: BadKind | None, but: int | None) -> int | None:
        """Return the last bad result that a function of an input pipeline gave before a value.

        One with as many bad elements comes before others: it may be the value itself. One with more is none,
        unless it was taken apart since.

        Args:
          value: The value.
          own: What was recorded of it.
          kind: The kind of bad elements that is followed.
          but: A graph that did not make it.
        """
        sites = [site for graph, sites in self._sites.items() if graph != but for site in sites]
        if not sites:
            return None
        before = "idx < $trace" if value.trace >= 0 else "wall_time <= $time"
        counted = " AND ".join(
            f"{name} = {count}"
            for name, count in zip(("nan", "neg_inf", "pos_inf"), own.counts()[1:], strict=True)
            if count is not None
        )
        rows = self._snapshot.rows(
            f"SELECT max(idx) FILTER ({counted or 'true'}), max(idx) FROM graph_executions WHERE {before}"
            f" AND health = {BAD} AND {BAD_ROWS.get(kind or '', 'true')} AND site IN (SELECT unnest($sites))",
            {"trace": value.trace, "sites": sites}
            if value.trace >= 0
            else {"time": own.time, "sites": sites},
        )
        ((same, last),) = rows
        found = last if same is None else same
        return None if found is None else int(found)

    @functools.cached_property
    def _sites(self) -> dict[int, list[int]]:
        """The sites of the results of each function of input pipelines."""
        graphs = [one for one in self._snapshot.catalog.graphs if is_of_pipeline(one.name or "")]
        return {graph.number: self._result_sites(graph.number) for graph in graphs}

    def _result_sites(self, graph: int) -> list[int]:
        sources = (one for end in self._structure.results(graph) for one in self._structure.sources(end, 0))
        return sites_of(self._snapshot, [(one.op, one.slot) for one in sources if one.end is None])


#: Earlier traces of a tensor that are compared with a copy.
_MAX_COMPARED: Final = 4096
#: Distance within which a tensor of another call is searched.
_REACH: Final = 1 << 18
#: The names under which the graph of a session is recorded, which has none.
_SESSION_GRAPHS: Final = (None, "", "tf.Graph")
Positions = npt.NDArray[np.int64]


@remembered(Snapshot.share)
def feeds_of(snapshot: Snapshot) -> Feeds:
    """Return the values of a run, which all searches of a snapshot share."""
    return Feeds(snapshot)


class Feeds(Record):
    """The values of a run and how they depend on each other; lives as long as a search.

    Args:
      snapshot: The run.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        super().__init__(snapshot)
        self.variables = VariableKeys(snapshot, self.structure)
        self.variable_traces = VariableTraces(snapshot, self.structure, self.variables)
        self._assignments = Assignments(self, self.variables, self.variable_traces)
        self._pipelines = Pipelines(snapshot, self.structure)

    def of(self, value: ValueRef, kind: BadKind | None = None, *, is_loose: bool = False) -> list[ValueFeed]:
        """Return the values that a value was made from.

        Args:
          value: The value.
          kind: The kind of bad elements that is followed; it chooses among assignments of a variable.
          is_loose: Whether inputs may be of another turn of a loop: turns may run in parallel, and then
            their tensors come in any order. The last bad one counts.
        """
        if value.execution >= 0:
            return self._of_execution(value, kind)
        op = self.op_of(value)
        if op is None:
            return []
        if value.op >= 0:
            return self._of_unrecorded(op, value.near, kind)
        return self._of_trace(op, value.trace, kind, is_loose)

    def _of_trace(self, op: Op, trace: int, kind: BadKind | None, is_loose: bool) -> list[ValueFeed]:
        if op.type in op_kinds.READS:
            return self._of_variable(
                self.variables.reads.get(op.number, frozenset()), ValueRef(trace=trace), kind
            )
        if op.type in op_kinds.ELEMENTS:
            return self._of_pipeline(ValueRef(trace=trace), kind)
        slot = self.slot_of(ValueRef(trace=trace))
        if self.structure.is_argument(op) or self.structure.called(op.number):
            found = self._copied(self.structure.before(op.number, slot), trace, kind)
            return [feed for feed in found if op.type != "Const" or self._is_made(feed.value, kind)]
        own = [
            feed._replace(input_slot=number)
            for number, source in self.structure.input_sources(op.number, slot)
            for feed in self._chosen(
                [source._replace(is_loose=is_loose or source.is_loose)], op, trace, kind, trace
            )
        ]
        of_others = [
            source
            for other in self.structure.replicas(op)
            for source in self.structure.sources(*self.structure.inputs(other)[0])
        ]
        return own + self._chosen(of_others, op, trace, kind, trace)

    def _is_made(self, value: ValueRef, kind: BadKind | None) -> bool:
        """Whether an op on record made what a function captured; of a constant, its own line says more."""
        op = self.op_of(value)
        return not value.outside and (op is None or op.type != "Const" or bool(self.of(value, kind)))

    def _of_unrecorded(self, op: Op, near: int, kind: BadKind | None) -> list[ValueFeed]:
        """Return the feeds of an op without an output on record, which ran in the call of a trace."""
        if op.type in op_kinds.READS:
            reads = self.variables.reads.get(op.number, frozenset())
            return self._of_variable(reads, ValueRef(op=op.number, near=near), kind)
        if op.type in op_kinds.ELEMENTS:
            return self._of_pipeline(ValueRef(op=op.number, near=near), kind)
        return [
            feed._replace(input_slot=number)
            for number, source in self.structure.input_sources(op.number)
            for feed in self._chosen([source], op, near + 1, kind, near)
        ]

    def _chosen(
        self, sources: Sequence[TensorSource], op: Op, at: int, kind: BadKind | None, inside: int
    ) -> list[ValueFeed]:
        """Return the values of the inputs of an op that did not just pass them on.

        Args:
          sources: The inputs.
          op: The op.
          at: The position before which they were computed.
          kind: The kind of bad elements that is followed.
          inside: The position of a trace of the same call.
        """
        found = []
        for source in sources:
            if source.end is not None:
                found += self._of_end(source, inside, kind)
                continue
            trace = self._trace_of(source, op, at, inside)
            if trace is not None:
                found.append(
                    ValueFeed(ValueRef(trace=trace), source.relation, self._name(source.op, source.slot))
                )
        return found

    def _trace_of(self, source: TensorSource, op: Op, at: int, inside: int) -> int | None:
        """Return the trace of an input: of the same turn, or the last before; bad where it is not sure."""
        window = self.traces.window(inside)
        positions = window.of_sites(sites_of(self.snapshot, [(source.op, source.slot)]))
        if not len(positions):
            return self._elsewhere([source], at)
        if positions[0] >= at:
            # TensorFlow's own recorder writes tensors of a call in any order.
            return int(positions[0])
        before = positions[: int(np.searchsorted(positions, at))]
        if source.is_loose:
            rows = np.searchsorted(window.idx, before)
            bad = before[window.columns["health"][rows] == BAD]
            return int((bad if len(bad) else before)[-1])
        return self._of_same_turn(window, op, positions, at) or int(before[-1])

    def _of_same_turn(self, window: Window, op: Op, positions: Positions, at: int) -> int | None:
        """Return the trace of an input that was computed as often as the op, in the same turn of a loop."""
        own = window.of_sites([site.number for site in self.snapshot.catalog.op_sites.get(op.number, ())[:1]])
        if len(own) != len(positions) or not window.is_whole:
            return None
        row = int(np.searchsorted(own, at))
        is_there = row < len(own) and own[row] == at and positions[row] < at
        return int(positions[row]) if is_there else None

    def _elsewhere(self, sources: Sequence[TensorSource], at: int) -> int | None:
        """Return the last trace before a position, outside of the call."""
        sites = sites_of(self.snapshot, [(source.op, source.slot) for source in sources])
        ((found,),) = self.snapshot.rows(
            "SELECT max(idx) FROM graph_executions WHERE idx < ? AND idx >= ? AND site IN (SELECT unnest(?))",
            [at, at - _REACH, sites],
        )
        return None if found is None else int(found)

    def _copied(self, sources: Sequence[TensorSource], trace: int, kind: BadKind | None) -> list[ValueFeed]:
        """Return the value passed on as an argument or a result: the last one with the same numbers."""
        window = self.traces.window(trace)
        own = window.measured(trace)
        best: tuple[int, TensorSource] | None = None
        for source in sources:
            if source.end is None:
                found = self._same_numbers(window, source, trace, own)
                if found is not None and (best is None or found > best[0]):
                    best = (found, source)
        if best is not None:
            idx, source = best
            return [ValueFeed(ValueRef(trace=idx), source.relation, self._name(source.op, source.slot), True)]
        ends = [feed for source in sources if source.end for feed in self._of_end(source, trace, kind)]
        return [feed._replace(is_copy=True) for feed in ends]

    def _same_numbers(self, window: Window, source: TensorSource, trace: int, own: Measured) -> int | None:
        sites = sites_of(self.snapshot, [(source.op, source.slot)])
        positions = window.of_sites(sites)
        before = positions[: int(np.searchsorted(positions, trace))][-_MAX_COMPARED:]
        if self.structure.op(source.op).type in op_kinds.CONSTANTS:
            before = positions[:1]  # it is the same at any time, and nothing waits for it
        if not len(before):
            return None
        rows = np.searchsorted(window.idx, before)
        fits = window.columns["health"][rows] == (BAD if own.bad else GOOD)
        if source.is_copy:
            for name, count in zip(("nan", "neg_inf", "pos_inf"), own.counts()[1:], strict=True):
                numbers = window.columns[name][rows]
                fits &= np.isnan(numbers) if count is None else (numbers == count) | np.isnan(numbers)
        return int(before[fits][-1]) if fits.any() else None

    def _of_end(self, source: TensorSource, at: int, kind: BadKind | None) -> list[ValueFeed]:
        op = self.structure.op(source.op)
        if source.end == "read":
            return [
                ValueFeed(
                    ValueRef(op=op.number, near=at), source.relation, self._name(op.number, source.slot)
                )
            ]
        if source.end == "argument":
            return [self._of_root_argument(op, at, kind)]
        words = self.structure.brings_in(op)
        if words is None or op.type in op_kinds.CONSTANTS:
            return []
        return [
            ValueFeed(ValueRef(op=op.number, near=at), source.relation, self._name(op.number, source.slot))
        ]

    def _of_root_argument(self, op: Op, at: int, kind: BadKind | None) -> ValueFeed:
        """Return what Python passed as an argument of a function."""
        owner = self.traces.window(at).owner
        graph = self.snapshot.catalog.graphs[op.graph]
        if is_of_pipeline(graph.name or ""):
            other = None if takes_its_result(graph.name or "") else op.graph
            feeds = self._of_pipeline(ValueRef(trace=at), kind, other)
            return feeds[0] if feeds else ValueFeed(ValueRef(outside="the input data"), "data", op.name)
        if owner is not None and self.eager.execution(owner).graph == op.graph:
            inputs = self.eager.inputs(owner)
            position = self.structure.position(op.number)
            if position < len(inputs):
                return self._of_made(self.made(inputs[position], owner), "argument", op.name)
        outside = "a feed" if graph.name in _SESSION_GRAPHS else "an argument"
        return ValueFeed(ValueRef(outside=outside), "argument", op.name)

    def _of_made(self, made: ValueRef | None, relation: Relation, name: str = "") -> ValueFeed:
        if made is None:
            return ValueFeed(ValueRef(outside="a value of Python"), relation, name, True)
        return ValueFeed(made, relation, name or self._eager_name(made.execution, made.slot), True)

    def _of_execution(self, value: ValueRef, kind: BadKind | None) -> list[ValueFeed]:
        execution = self.eager.execution(value.execution)
        if execution.op_type in op_kinds.READS:
            ids = self.eager.inputs(value.execution)[:1]
            return self._of_variable(frozenset(("id", one) for one in ids), value, kind)
        if execution.op_type in op_kinds.ELEMENTS:
            return self._of_pipeline(value, kind)
        call = self._packed(value) if execution.op_type in op_kinds.UNPACKS else value
        if execution.op_type in op_kinds.UNPACKS and call is value:
            # What handed the optional out is not on record, as in GUARD: it may be a data set.
            of_data = self._of_pipeline(value, kind)
            if of_data:
                return of_data
        if value.slot >= 0:
            graph = self.eager.execution(call.execution).graph
            inside = None if graph < 0 else self._result_of_call(call, graph, self.measured(value))
            if inside is not None:
                return [inside]
        return self._eager_inputs(value.execution, execution.is_function)

    def _eager_inputs(self, index: int, is_function: bool) -> list[ValueFeed]:
        relation: Relation = "argument" if is_function else "input"
        return [
            self._of_made(made, relation)._replace(is_copy=False, input_slot=slot)
            for slot, made in self.taken(index)
        ]

    def _packed(self, value: ValueRef) -> ValueRef:
        """Return the value that several values are packed in, of which an execution took one out."""
        return next((made for _, made in self.taken(value.execution) if made is not None), value)

    def _result_of_call(self, value: ValueRef, graph: int, own: Measured) -> ValueFeed | None:
        """Return the value inside a function that a call from Python returned.

        Args:
          value: The result.
          graph: The graph of the function.
          own: What was recorded of it, or of what was taken out of it.
        """
        window = self.traces.of_execution(value.execution)
        count = self.eager.execution(value.execution).num_outputs
        best: tuple[int, TensorSource] | None = None
        for tensor in self.structure.result(graph, value.slot, None, count):
            for source in self.structure.sources(*tensor):
                if source.end == "read" and window is not None:
                    near = int(window.idx[-1])
                    return ValueFeed(
                        ValueRef(op=source.op, near=near), "result", self._name(source.op, 0), True
                    )
                if source.end is not None:
                    continue
                found = self._trace_of_result(source, value.execution, window, own)
                if found is not None and (best is None or found > best[0]):
                    best = (found, source)
        if best is None:
            return None
        return ValueFeed(ValueRef(trace=best[0]), "result", self._name(best[1].op, best[1].slot), True)

    def _trace_of_result(
        self, source: TensorSource, execution: int, window: Window | None, own: Measured
    ) -> int | None:
        """Return the trace that a call returned; calls at the same time may have each other's traces."""
        found = None if window is None else self._same_numbers(window, source, int(window.idx[-1]) + 1, own)
        if found is None and own.bad:
            sites = sites_of(self.snapshot, [(source.op, source.slot)])
            found = self.traces.bad_beside(execution, sites)
        return found

    def _of_variable(self, keys: Keys, value: ValueRef, kind: BadKind | None) -> list[ValueFeed]:
        found = self._assignments.of(keys, value, kind)
        return [ValueFeed(found or ValueRef(outside="a variable"), "assignment", "the variable", True)]

    def _of_pipeline(
        self, value: ValueRef, kind: BadKind | None, graph: int | None = None
    ) -> list[ValueFeed]:
        """Return the bad result of a function of an input pipeline before an element arrived, if any.

        Args:
          value: The element, or what it is an argument of.
          kind: The kind of bad elements that is followed.
          graph: The function that took it, which did not make it.
        """
        if self.measured(value).bad is False:
            return []
        found = self._pipelines.result(value, self.measured(value), kind, graph)
        return [] if found is None else [ValueFeed(ValueRef(trace=found), "data", "the input pipeline")]

    def _name(self, op: int, slot: int) -> str:
        return f"{self.structure.op(op).name}:{slot}"

    def _eager_name(self, execution: int, slot: int) -> str:
        return f"{display_name(self.eager.execution(execution).op_type)}:{slot}"
