"""Alerts: the recorded values that fulfil an alert rule, in the order of time.

Eager ops and graphs are one list. The *first cause* is the position of the alert from which the others most
likely follow. It need not be the first one. Ops of a graph run in parallel, so among the bad tensors of the
first call it is the one whose inputs were good. A constant with infinities, such as a mask, is intended: it
is never the cause while anything else is bad for a reason of its own, or has NaN.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.alerts.alert_rules import LISTED
from tb_debugger_plugin.analysis.alerts.rule import AlertRule
from tb_debugger_plugin.analysis.alerts.search import parameters_in
from tb_debugger_plugin.analysis.alerts.settings import DEFAULTS, Settings
from tb_debugger_plugin.analysis.calls.call_owner import owners
from tb_debugger_plugin.analysis.catalog import Site
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers
from tb_debugger_plugin.analysis.graph.graphs import input_edges
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot
from tb_debugger_plugin.analysis.values import health
from tb_debugger_plugin.analysis.values.nearest_value import trace_row
from tb_debugger_plugin.index.tensors import BAD

#: Number of alerts of the first call that may be the first cause.
_CANDIDATES: Final = 256
#: Ops whose infinities the program wrote.
_CONSTANTS: Final = ("Const",)

_OF_NOTHING: Final = {"mode": 0, "health": 0, "dtype": 0, "rank": -1, "shape": -1}
#: What :data:`health.SELECT` selects, of an execution that may have no output.
_SELECT_ANY: Final = ", ".join(
    f"coalesce(t.{name}, {_OF_NOTHING[name]})" if name in _OF_NOTHING else f"t.{name}"
    for name in health.COLUMNS
)

Positions = npt.NDArray[np.int64]


@dataclass(frozen=True)
class AlertList:
    """Alerts in the order of time.

    Attributes:
      index: Position of each value in its list.
      slot: Output slot of an execution; -1 for a graph execution.
      rule: Position of the rule in :data:`~tb_debugger_plugin.analysis.alerts.alert_rules.LISTED`.
      first_cause: Position of the first cause; None when it is not among these alerts.
      settings: The thresholds that were used.
    """

    index: Positions
    slot: Positions
    rule: Positions
    first_cause: int | None
    settings: Settings = DEFAULTS

    def __len__(self) -> int:
        """Number of alerts."""
        return len(self.index)

    def count(self, rule: AlertRule) -> int:
        """Number of alerts of a rule."""
        return int(np.count_nonzero(self.rule == _number_of(rule)))

    def of_rule(self, rule: AlertRule) -> AlertList:
        """The alerts of one rule."""
        rows = np.flatnonzero(self.rule == _number_of(rule))
        cause = None if self.first_cause is None else int(np.searchsorted(rows, self.first_cause))
        is_there = cause is not None and cause < len(rows) and rows[cause] == self.first_cause
        return replace(
            self,
            index=self.index[rows],
            slot=self.slot[rows],
            rule=self.rule[rows],
            first_cause=cause if is_there else None,
        )


def _number_of(rule: AlertRule) -> int:
    """Position of a rule in the registry's list; -1 when its values are not listed."""
    return LISTED.index(rule) if rule in LISTED else -1


def alert_list(snapshot: Snapshot, settings: Settings = DEFAULTS) -> AlertList:
    """All values that break a listed rule.

    Args:
      snapshot: The run.
      settings: The thresholds.
    """
    values = tuple(tuple(settings.of_rule(rule).values()) for rule in LISTED)
    if values == tuple(tuple(rule.defaults.values()) for rule in LISTED):
        return snapshot.remember("alerts", lambda: _load(snapshot, DEFAULTS))
    # Of other thresholds, the last ones are kept: a slider goes through many.
    kept = snapshot.recall("alerts by settings")
    if kept is None or kept[:2] != (snapshot.generation, values):
        kept = snapshot.generation, values, _load(snapshot, settings)
        snapshot.keep("alerts by settings", kept)
    alerts: AlertList = kept[2]
    return alerts


def _load(snapshot: Snapshot, settings: Settings) -> AlertList:
    index, slot, rule, time = (
        np.concatenate(columns)
        for columns in zip(
            *(_of_rule(snapshot, settings, number) for number in range(len(LISTED))), strict=True
        )
    )
    order = np.argsort(time, kind="stable")
    alerts = AlertList(index[order], slot[order], rule[order], None, settings)
    return replace(alerts, first_cause=_first_cause(snapshot, alerts))


def _of_rule(
    snapshot: Snapshot, settings: Settings, number: int
) -> tuple[Positions, Positions, Positions, npt.NDArray[Any]]:
    rule = LISTED[number]
    assert rule.every is not None
    values = parameters_in(rule.every[0], settings.of_rule(rule)) or None
    graph = snapshot.columns(
        f"SELECT idx, wall_time FROM ({rule.every[0]}) JOIN graph_executions USING (idx) ORDER BY idx", values
    )
    eager = snapshot.columns(
        f"SELECT idx, slot, wall_time FROM ({rule.every[1]}) JOIN executions USING (idx) ORDER BY idx, slot",
        values,
    )
    index = np.concatenate([graph["idx"], eager["idx"]]).astype(np.int64)
    slot = np.concatenate([np.full(len(graph["idx"]), -1), eager["slot"]]).astype(np.int64)
    time = np.concatenate([graph["wall_time"], eager["wall_time"]])
    return index, slot, np.full(len(index), number), time


def _first_cause(snapshot: Snapshot, alerts: AlertList) -> int | None:
    if not len(alerts):
        return None
    severity = np.array([rule.severity for rule in LISTED])[alerts.rule]
    candidates = np.flatnonzero(severity == severity.max())
    if alerts.slot[candidates[0]] >= 0:
        return int(candidates[0])
    constants = _bad_constants(snapshot)
    cause = _cause_among(snapshot, alerts, candidates, constants)
    if cause is None and constants:
        nan = _first_nan(snapshot, alerts)
        later = candidates[:0] if nan is None else candidates[candidates >= nan]
        cause = _cause_among(snapshot, alerts, later, constants)
        cause = nan if cause is None else cause
    return int(candidates[0]) if cause is None else cause


def _bad_constants(snapshot: Snapshot) -> frozenset[int]:
    """The constants of graphs that have infinities."""
    catalog = snapshot.catalog
    sites = [site.number for site in catalog.sites if catalog.ops[site.op].type in _CONSTANTS]
    if not sites:
        return frozenset()
    rows = snapshot.rows(
        "SELECT DISTINCT site FROM bad_graph_executions JOIN graph_executions USING (idx)"
        " WHERE site IN (SELECT unnest(?))",
        [sites],
    )
    return frozenset(catalog.sites[site].op for (site,) in rows)


def _cause_among(
    snapshot: Snapshot, alerts: AlertList, candidates: Positions, constants: frozenset[int]
) -> int | None:
    """The first alert, in the call of the first candidate, of an op whose inputs were good; no constant."""
    rows = candidates[:_CANDIDATES]
    rows = rows[alerts.slot[rows] < 0]
    if not len(rows):
        return None
    row = _with_good_inputs(snapshot, alerts.index[rows].tolist(), constants)
    return None if row is None else int(rows[row])


def _with_good_inputs(snapshot: Snapshot, indices: list[int], constants: frozenset[int]) -> int | None:
    call = _first_call(snapshot, indices)
    good = (index for index in call.sites if call.has_good_inputs(snapshot, index, constants))
    index = next(good, None)
    return None if index is None else indices.index(index)


def _first_call(snapshot: Snapshot, indices: list[int]) -> _Call:
    """Returns the alerts that are in the call of the first one."""
    columns = snapshot.columns(
        "SELECT idx, wall_time, site FROM graph_executions WHERE idx IN (SELECT unnest(?)) ORDER BY idx",
        [sorted(indices)],
    )
    positions = columns["idx"].tolist()
    owned_by = owners(snapshot, columns["wall_time"], columns["site"]).tolist()
    owner = dict(zip(positions, owned_by, strict=True))
    site = dict(zip(positions, columns["site"].tolist(), strict=True))
    own = [index for index in indices if _is_same(owner[index], owner[indices[0]])]
    return _Call({index: snapshot.catalog.sites[site[index]] for index in own})


def _is_same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


#: An op and a slot.
_Tensor = tuple[int, int]


@dataclass(frozen=True)
class _Call:
    """The alerts of one call of a graph.

    Attributes:
      sites: The site of each alert by its position in the list of graph executions; in the order of time.
    """

    sites: dict[int, Site]

    @functools.cached_property
    def _first_of(self) -> dict[_Tensor, int]:
        """The position of the first bad value of each tensor."""
        return {(site.op, site.slot): index for index, site in reversed(self.sites.items())}

    def has_good_inputs(self, snapshot: Snapshot, index: int, constants: frozenset[int]) -> bool:
        """Whether the op of an alert has only good inputs; False for constants and what they explain."""
        op = self.sites[index].op
        sources = {(source, slot) for _, source, slot in input_edges(snapshot, op)}
        if op in constants or any(source in constants for source, _ in sources):
            return False
        return not any(self._was_bad(snapshot, source, index) for source in sources)

    def _was_bad(self, snapshot: Snapshot, tensor: _Tensor, index: int) -> bool:
        """Whether a tensor was bad: its last value before a position, or else its first one after it."""
        if tensor not in self._first_of:
            return False
        op, slot = tensor
        sites = [site.number for site in snapshot.catalog.op_sites[op] if site.slot == slot]
        rows = snapshot.rows(
            "SELECT idx, health FROM graph_executions WHERE idx <= ? AND idx >= ?"
            " AND site IN (SELECT unnest(?)) ORDER BY idx",
            [max(self.sites), min(self._first_of.values()) - _CANDIDATES * 16, sites],
        )
        before = [health for idx, health in rows if idx <= index]
        after = [health for idx, health in rows if idx > index]
        return bool((before[-1:] or after[:1]) == [BAD])


def _first_nan(snapshot: Snapshot, alerts: AlertList) -> int | None:
    ((graph,),) = snapshot.rows(
        "SELECT min(idx) FROM bad_graph_executions JOIN graph_executions USING (idx) WHERE nan > 0"
    )
    eager = snapshot.rows("SELECT idx, slot FROM execution_outputs WHERE nan > 0 ORDER BY idx, slot LIMIT 1")
    values = [(graph, -1)] if graph is not None else []
    rows = [np.flatnonzero((alerts.index == index) & (alerts.slot == slot)) for index, slot in values + eager]
    return min((int(row[0]) for row in rows if len(row)), default=None)


def page(snapshot: Snapshot, alerts: AlertList, rows: Range) -> list[dict[str, Any]]:
    """The alerts of a page, in full.

    Args:
      snapshot: The run.
      alerts: The list.
      rows: Positions in the list.
    """
    keys = [
        (int(index), int(slot), LISTED[rule])
        for index, slot, rule in zip(
            *(column[rows.begin : rows.end] for column in (alerts.index, alerts.slot, alerts.rule)),
            strict=True,
        )
    ]
    found = values_of(snapshot, [key[:2] for key in keys])
    return [
        {
            "alert_type": rule.id,
            "measured": rule.words(numbers, None, alerts.settings.of_rule(rule)),
            **values,
        }
        for *key, rule in keys
        for numbers, values in [found[key[0], key[1]]]
    ]


def values_of(snapshot: Snapshot, keys: Sequence[tuple[int, int]]) -> dict[tuple[int, int], _Value]:
    """Returns the numbers of some values, and what their alerts say of them.

    Args:
      snapshot: The run.
      keys: Position and slot of each value, as in :class:`AlertList`.
    """
    graph = _graph_values(snapshot, [index for index, slot in keys if slot < 0])
    eager = _eager_values(snapshot, [index for index, slot in keys if slot >= 0])
    return {(index, slot): graph[index] if slot < 0 else eager[index, slot] for index, slot in keys}


#: The numbers of an alert, and its JSON-like value.
_Value = tuple[Numbers, dict[str, Any]]


def _graph_values(snapshot: Snapshot, indices: Sequence[int]) -> dict[int, _Value]:
    rows = snapshot.rows(
        f"SELECT t.idx, t.wall_time, t.site, {health.SELECT} FROM graph_executions t"
        " WHERE t.idx IN (SELECT unnest(?)) ORDER BY t.idx",
        [list(indices)],
    )
    times = np.array([row[1] for row in rows], np.float64)
    owner = owners(snapshot, times, np.array([row[2] for row in rows], np.int32)).tolist()
    return {
        index: _graph_value(snapshot, index, time, site, fields, None if math.isnan(own) else int(own))
        for (index, time, site, *fields), own in zip(rows, owner, strict=True)
    }


def _graph_value(
    snapshot: Snapshot, index: int, time: float, site_number: int, fields: list[Any], owner: int | None
) -> _Value:
    site = snapshot.catalog.sites[site_number]
    op = snapshot.catalog.ops[site.op]
    graph = snapshot.catalog.graphs[site.graph]
    measured = health.health(snapshot, trace_row(snapshot, site_number, fields), index=index)
    return Numbers.of_health(measured), {
        **_common(op.type, site.slot, time, measured),
        "execution_index": None,
        "graph_execution_trace_index": index,
        "op_name": op.name,
        "graph_id": graph.graph_id,
        "graph_name": graph.name,
        "owner_execution_index": owner,
        "layer": op.layer,
        "variable": op.variable,
        "gradient_of": snapshot.catalog.gradients.get((op.number, site.slot), []),
    }


def _eager_values(snapshot: Snapshot, indices: Sequence[int]) -> dict[tuple[int, int], _Value]:
    rows = snapshot.rows(
        # A call without results may break a rule, too.
        f"SELECT e.idx, coalesce(t.slot, 0), e.wall_time, n.name, e.graph, {_SELECT_ANY} FROM executions e"
        " LEFT JOIN execution_outputs t USING (idx) JOIN op_types n USING (op_type)"
        " WHERE e.idx IN (SELECT unnest(?))",
        [sorted(set(indices))],
    )
    values = {}
    for index, slot, time, op_type, graph_number, *fields in rows:
        graph = snapshot.catalog.graphs[graph_number] if graph_number >= 0 else None
        measured = health.health(snapshot, health.as_row(fields), index=None, eager=True)
        values[index, slot] = (
            Numbers.of_health(measured),
            {
                **_common(op_type, slot, time, measured),
                "execution_index": index,
                "graph_execution_trace_index": None,
                "op_name": None,
                "graph_id": None if graph is None else graph.graph_id,
                "graph_name": None if graph is None else graph.name,
                "owner_execution_index": index,
                "layer": None,
                "variable": None,
                "gradient_of": [],
            },
        )
    return values


def _common(op_type: str | None, slot: int, wall_time: float, measured: dict[str, Any]) -> dict[str, Any]:
    return {
        "op_type": op_type,
        "output_slot": slot,
        "wall_time": wall_time,
        "size": measured["size"],
        "num_neg_inf": measured["neg_inf"],
        "num_pos_inf": measured["pos_inf"],
        "num_nan": measured["nan"],
        "bad": measured["bad"],
    }
