"""Alerts: the recorded values that fulfil an alert rule, in the order of time.

Eager ops and graphs are one list. The *first cause* is the position of the alert from which the others most
likely follow; it need not be the first one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypedDict

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.alerts.alert_rules import LISTED, NAN_OR_INFINITY
from tb_debugger_plugin.analysis.alerts.rule import AlertRule
from tb_debugger_plugin.analysis.alerts.search import parameters_in
from tb_debugger_plugin.analysis.alerts.settings import DEFAULTS, RuleSettings
from tb_debugger_plugin.analysis.alerts.tensors import Role, layer_of, tensors
from tb_debugger_plugin.analysis.calls.call_owner import owners
from tb_debugger_plugin.analysis.calls.steps import steps_of
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers
from tb_debugger_plugin.analysis.origins.origin import Link, Origin
from tb_debugger_plugin.analysis.origins.origins import wrong_origins
from tb_debugger_plugin.analysis.snapshot import Columns, Json, Parameters, Range, Snapshot
from tb_debugger_plugin.analysis.values import health
from tb_debugger_plugin.analysis.values.nearest_value import trace_row
from tb_debugger_plugin.events.numbers import Array

_OF_NOTHING: Final = {"mode": 0, "health": 0, "dtype": 0, "rank": -1, "shape": -1}
#: What :data:`health.SELECT` selects, of an execution that may have no output.
_SELECT_ANY: Final = ", ".join(
    f"coalesce(t.{name}, {_OF_NOTHING[name]})" if name in _OF_NOTHING else f"t.{name}"
    for name in health.COLUMNS
)

Positions = npt.NDArray[np.int64]


class AlertJson(TypedDict):
    """An alert as routes give it."""

    alert_type: str  #: the rule
    measured: str  #: what was measured, in a few words
    op_type: str  #: type of the op, or name of the function that Python called
    output_slot: int  #: slot of the tensor
    wall_time: float  #: seconds since the epoch
    size: float | None  #: number of elements
    num_neg_inf: float | None  #: number of elements that are −∞, +∞ and NaN
    num_pos_inf: float | None
    num_nan: float | None
    bad: bool | None  #: whether the tensor has NaN or infinity
    execution_index: int | None  #: position of the execution; null in a graph
    #: position of the graph execution; null for an output of an execution
    graph_execution_trace_index: int | None
    op_name: str | None  #: name of the op; null for an execution
    graph_id: str | None  #: its graph; of an execution, the graph that it ran, or null
    graph_name: str | None
    owner_execution_index: int | None  #: the Python call that the graph ran in; null when not known
    #: see [Names](#names); an update has the variable that it is added to, and its layer
    layer: str | None
    variable: str | None
    gradient_of: list[str]  #: see [Names](#names)
    process: str  #: the process that computed it: its machine, with its id where several are on one
    step: int  #: the [step](guide/steps.md) of the program in which it was computed, from 0


@dataclass(frozen=True)
class AlertList:
    """Alerts in the order of time.

    Attributes:
      index: Position of each value in its list.
      slot: Output slot of an execution; -1 for a graph execution.
      rule: Position of the rule in :data:`~tb_debugger_plugin.analysis.alerts.alert_rules.LISTED`.
      settings: The thresholds that were used.
      whole: The list that these are chosen from, and their positions in it; None if these are all.
    """

    index: Positions
    slot: Positions
    rule: Positions
    settings: RuleSettings = DEFAULTS
    whole: tuple[AlertList, Positions] | None = None

    def __len__(self) -> int:
        """Return the number of alerts."""
        return len(self.index)

    def count(self, rule: AlertRule) -> int:
        """Return the number of alerts of a rule."""
        return int(np.count_nonzero(self.rule == _number_of(rule)))

    def of_rule(self, rule: AlertRule) -> AlertList:
        """Return the alerts of one rule."""
        return self.at(np.flatnonzero(self.rule == _number_of(rule)))

    def at(self, rows: Positions) -> AlertList:
        """Return the alerts at some positions, which are in order."""
        return replace(
            self, index=self.index[rows], slot=self.slot[rows], rule=self.rule[rows], whole=(self, rows)
        )

    def first_cause(self, snapshot: Snapshot) -> int | None:
        """Position of the first cause; None when it is not among these alerts.

        It takes the origins of the run, so ask only where it is shown.

        Args:
          snapshot: The run; its own snapshot, because a list is kept for longer than the one that it is of.
        """
        if self.whole is None:
            return _first_cause(snapshot, self)
        every, rows = self.whole
        cause = every.first_cause(snapshot)
        if cause is None or cause not in rows:
            return None
        return int(np.searchsorted(rows, cause))


def _number_of(rule: AlertRule) -> int:
    """Position of a rule in the registry's list; -1 when its values are not listed."""
    return LISTED.index(rule) if rule in LISTED else -1


def alert_list(snapshot: Snapshot, settings: RuleSettings = DEFAULTS) -> AlertList:
    """All values that break a listed rule.

    Args:
      snapshot: The run.
      settings: The thresholds.
    """
    values = tuple(tuple(settings.of_rule(rule).values()) for rule in LISTED)
    if values == tuple(tuple(rule.defaults.values()) for rule in LISTED):
        return snapshot.remember("alerts", lambda: _load(snapshot, DEFAULTS))
    # Of other thresholds, the last ones are kept: a slider goes through many.
    return snapshot.remember_last("alerts by settings", values, 1, lambda: _load(snapshot, settings))


def _load(snapshot: Snapshot, settings: RuleSettings) -> AlertList:
    index, slot, rule, time = (
        np.concatenate(columns)
        for columns in zip(
            *(_of_rule(snapshot, settings, number) for number in range(len(LISTED))), strict=True
        )
    )
    order = np.argsort(time, kind="stable")
    return AlertList(index[order], slot[order], rule[order], settings)


def _first_cause(snapshot: Snapshot, alerts: AlertList) -> int | None:
    """Return the alert of the first origin, else the first one of the most severe rule that finds no NaN."""
    cause = _of_first_origin(snapshot, alerts.index, alerts.slot) if len(alerts) else None
    of_rules = [-1 if rule.id == NAN_OR_INFINITY.id else rule.severity for rule in LISTED]
    severity = np.array(of_rules)[alerts.rule]
    if cause is not None or not (severity >= 0).any():
        return cause
    return int(np.flatnonzero(severity == severity.max())[0])


def _of_rule(
    snapshot: Snapshot, settings: RuleSettings, number: int
) -> tuple[Positions, Positions, Positions, Array]:
    rule = LISTED[number]
    assert rule.every is not None
    values = parameters_in(rule.every, settings.of_rule(rule)) or None
    graph = snapshot.columns(f"SELECT idx, wall_time, site FROM graph_executions WHERE {rule.every}", values)
    # Millions of rows are in order already, which DuckDB does not know.
    in_order = np.argsort(graph["idx"], kind="stable")
    graph = {name: column[in_order] for name, column in graph.items()}
    if rule.leaves_out is not None and len(graph["idx"]):
        is_left = np.isin(graph["site"], list(rule.leaves_out(snapshot, settings.of_rule(rule))), invert=True)
        graph = {name: column[is_left] for name, column in graph.items()}
    eager = _eager(snapshot, settings, rule, values)
    index = np.concatenate([graph["idx"], eager["idx"]]).astype(np.int64)
    slot = np.concatenate([np.full(len(graph["idx"]), -1), eager["slot"]]).astype(np.int64)
    time = np.concatenate([graph["wall_time"], eager["wall_time"]])
    return index, slot, np.full(len(index), number), time


def _eager(snapshot: Snapshot, settings: RuleSettings, rule: AlertRule, values: Parameters | None) -> Columns:
    """Return the outputs of executions that a rule selects; those of the defaults are kept."""
    assert rule.every is not None
    query = (
        f"SELECT idx, slot, wall_time FROM (SELECT idx, slot FROM execution_outputs WHERE {rule.every})"
        " JOIN executions USING (idx) ORDER BY idx, slot"
    )
    if settings is not DEFAULTS:
        return snapshot.columns(query, values)
    return snapshot.remember_of(
        ("executions", "execution_outputs"), query, lambda: snapshot.columns(query, values)
    )


def page(snapshot: Snapshot, alerts: AlertList, rows: Range) -> list[Json]:
    """Return the alerts of a page, in full.

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
    """Return the numbers of some values, and what their alerts say of them.

    Args:
      snapshot: The run.
      keys: Position and slot of each value, as in :class:`AlertList`.
    """
    graph = _graph_values(snapshot, [index for index, slot in keys if slot < 0])
    eager = _eager_values(snapshot, [index for index, slot in keys if slot >= 0])
    return {(index, slot): graph[index] if slot < 0 else eager[index, slot] for index, slot in keys}


#: The numbers of an alert, and its JSON-like value.
_Value = tuple[Numbers, Json]


def _graph_values(snapshot: Snapshot, indices: Sequence[int]) -> dict[int, _Value]:
    rows = snapshot.rows(
        f"SELECT t.idx, t.wall_time, t.site, t.step, {health.SELECT} FROM graph_executions t"
        " WHERE t.idx IN (SELECT unnest(?)) ORDER BY t.idx",
        [list(indices)],
    )
    times = np.array([row[1] for row in rows], np.float64)
    sites = np.array([row[2] for row in rows], np.int32)
    owner = owners(snapshot, times, sites).tolist()
    hosts = snapshot.catalog.site_hosts[sites] if len(sites) else sites
    steps = steps_of(snapshot, hosts, times, np.array([row[3] for row in rows], np.int32)).tolist()
    values = {}
    for (index, time, site, _, *fields), own, step in zip(rows, owner, steps, strict=True):
        numbers, found = _graph_value(snapshot, index, time, site, fields)
        values[index] = (
            numbers,
            {**found, "owner_execution_index": None if math.isnan(own) else int(own), "step": step},
        )
    return values


def _graph_value(
    snapshot: Snapshot, index: int, time: float, site_number: int, fields: list[object]
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
        "layer": layer_of(snapshot, site_number),
        "variable": _updated(snapshot, site_number) or op.variable,
        "gradient_of": snapshot.catalog.gradients.get((op.number, site.slot), []),
        "process": snapshot.catalog.host_names[site.host],
    }


def _updated(snapshot: Snapshot, site: int) -> str | None:
    """Return the variable that a tensor is added to, or subtracted from."""
    known = tensors(snapshot)
    return known.variables.get(site) if site in known.of(Role.UPDATE) else None


def _eager_values(snapshot: Snapshot, indices: Sequence[int]) -> dict[tuple[int, int], _Value]:
    rows = snapshot.rows(
        # A call without results may break a rule, too.
        "SELECT e.idx, coalesce(t.slot, 0), e.wall_time, e.step, n.name, e.graph, e.host, "
        f"{_SELECT_ANY} FROM executions e"
        " LEFT JOIN execution_outputs t USING (idx) JOIN op_types n USING (op_type)"
        " WHERE e.idx IN (SELECT unnest(?))",
        [sorted(set(indices))],
    )
    values = {}
    marks = np.array([row[3] for row in rows], np.int32)
    times, hosts = np.array([row[2] for row in rows]), np.array([row[6] for row in rows], np.int32)
    steps = steps_of(snapshot, hosts, times, marks).tolist()
    for (index, slot, time, _, op_type, graph_number, host, *fields), step in zip(rows, steps, strict=True):
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
                "process": snapshot.catalog.host_names[host],
                "step": step,
            },
        )
    return values


def _common(op_type: str | None, slot: int, wall_time: float, measured: Json) -> Json:
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


def _of_first_origin(snapshot: Snapshot, index: Positions, slot: Positions) -> int | None:
    """Return the position of the first cause among some alerts.

    Args:
      snapshot: The run.
      index: Position of the value of each alert in its list.
      slot: Output slot of an execution; -1 for a graph execution.
    """
    keys = [key for origin in wrong_origins(snapshot) for key in _keys(origin)]
    # Of millions of alerts, only those of the chains are made Python objects.
    rows = np.flatnonzero(np.isin(index, [position for position, _ in keys]))
    named = zip(index[rows].tolist(), slot[rows].tolist(), strict=True)
    positions = dict(zip(named, rows.tolist(), strict=True))
    return next((positions[key] for key in keys if key in positions), None)


def is_at(origin: Origin, index: int, slot: int) -> bool:
    """Whether the value of an alert is where an origin was born; an assignment has no value of its own."""
    return _key(origin) == (index, slot)


def _keys(origin: Origin) -> list[tuple[int, int]]:
    """Return the values of an origin and of its chain, the birth first: an assignment has no value."""
    return [_key(origin), *map(_key, reversed(origin.chain))]


def _key(value: Origin | Link) -> tuple[int, int]:
    if value.graph_execution_index is not None:
        return value.graph_execution_index, -1
    if value.op_name is not None or value.execution_index is None:
        return -1, -1
    return value.execution_index, value.output_slot
