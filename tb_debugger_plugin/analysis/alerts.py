"""Alerts: every NaN or infinity that was recorded, the one that came first in front.

In comes a run, out come its alerts in the order of time, eager ops and graphs together.

Rule: ops of a graph run in parallel, so what was recorded first need not be the cause. Among the first bad
tensors of a call, the one whose own inputs were all good is put in front of the list.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis import health
from tb_debugger_plugin.analysis.call_owner import owners
from tb_debugger_plugin.analysis.graphs import input_edges
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot
from tb_debugger_plugin.index.tensors import BAD

INF_NAN: Final = "InfNanAlert"
#: How many bad tensors of one call may be the cause.
_CANDIDATES: Final = 256


@dataclass(frozen=True)
class AlertList:
    """All alerts in order.

    Attributes:
      index: Position of each in its list.
      slot: Output slot of an eager op; -1 for a graph execution.
    """

    index: npt.NDArray[np.int64]
    slot: npt.NDArray[np.int64]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.index)


def alert_list(snapshot: Snapshot) -> AlertList:
    """All alerts of a run, in order."""
    return snapshot.remember("alerts", lambda: _load(snapshot))


def _load(snapshot: Snapshot) -> AlertList:
    traces = snapshot.columns(
        "SELECT idx, wall_time FROM bad_graph_executions JOIN graph_executions USING (idx) ORDER BY idx"
    )
    eager = snapshot.columns(
        "SELECT o.idx, o.slot, e.wall_time FROM execution_outputs o JOIN executions e USING (idx)"
        f" WHERE o.health = {BAD} ORDER BY o.idx, o.slot"
    )
    index = np.concatenate([traces["idx"], eager["idx"]]).astype(np.int64)
    slot = np.concatenate([np.full(len(traces["idx"]), -1), eager["slot"]]).astype(np.int64)
    order = np.argsort(np.concatenate([traces["wall_time"], eager["wall_time"]]), kind="stable")
    return _cause_first(snapshot, AlertList(index[order], slot[order]))


def _cause_first(snapshot: Snapshot, alerts: AlertList) -> AlertList:
    if not len(alerts) or alerts.slot[0] >= 0:
        return alerts
    candidates = np.flatnonzero(alerts.slot[:_CANDIDATES] < 0)
    cause = _cause(snapshot, alerts.index[candidates].tolist())
    place = int(candidates[cause])
    order = [place, *(n for n in range(place)), *range(place + 1, len(alerts))]
    return AlertList(alerts.index[order], alerts.slot[order])


def _cause(snapshot: Snapshot, indices: list[int]) -> int:
    found = snapshot.columns(
        "SELECT idx, wall_time, site FROM graph_executions WHERE idx IN (SELECT unnest(?)) ORDER BY idx",
        [sorted(indices)],
    )
    owner = dict(
        zip(found["idx"].tolist(), owners(snapshot, found["wall_time"], found["site"]).tolist(), strict=True)
    )
    site = dict(zip(found["idx"].tolist(), found["site"].tolist(), strict=True))
    call = [index for index in indices if _same(owner[index], owner[indices[0]])]
    bad = {
        (snapshot.catalog.sites[site[index]].op, snapshot.catalog.sites[site[index]].slot): index
        for index in call[::-1]
    }
    for index in call:
        place = snapshot.catalog.sites[site[index]]
        sources = {(source, slot) for _, source, slot in input_edges(snapshot, place.op)}
        if not any(_made_bad(snapshot, key, index, bad, max(call)) for key in sources):
            return indices.index(index)
    return 0


def _same(a: float, b: float) -> bool:
    return a == b or (math.isnan(a) and math.isnan(b))


def _made_bad(
    snapshot: Snapshot, source: tuple[int, int], index: int, bad: dict[tuple[int, int], int], last: int
) -> bool:
    # An input is bad when its latest trace before this one is; a later trace counts when it is the only one.
    if source not in bad:
        return False
    sites = [site.number for site in snapshot.catalog.op_sites[source[0]] if site.slot == source[1]]
    found = snapshot.rows(
        "SELECT idx, health FROM graph_executions WHERE idx <= ? AND idx >= ? AND site IN (SELECT unnest(?))"
        " ORDER BY idx",
        [last, min(bad.values()) - _CANDIDATES * 16, sites],
    )
    before = [health for idx, health in found if idx <= index]
    after = [health for idx, health in found if idx > index]
    return bool((before[-1:] or after[:1]) == [BAD])


def page(snapshot: Snapshot, alerts: AlertList, wanted: Range) -> list[dict[str, Any]]:
    """The alerts of a page, in full.

    Args:
      snapshot: The run.
      alerts: All alerts.
      wanted: Positions among them.
    """
    index = alerts.index[wanted.begin : wanted.end].tolist()
    slot = alerts.slot[wanted.begin : wanted.end].tolist()
    traces = _graph_alerts(snapshot, [i for i, s in zip(index, slot, strict=True) if s < 0])
    eager = _eager_alerts(snapshot, [i for i, s in zip(index, slot, strict=True) if s >= 0])
    return [traces[i] if s < 0 else eager[i, s] for i, s in zip(index, slot, strict=True)]


def _graph_alerts(snapshot: Snapshot, indices: list[int]) -> dict[int, dict[str, Any]]:
    found = snapshot.rows(
        "SELECT idx, wall_time, site, size, neg_inf, pos_inf, nan FROM graph_executions"
        " WHERE idx IN (SELECT unnest(?)) ORDER BY idx",
        [indices],
    )
    times = np.array([row[1] for row in found], np.float64)
    owner = owners(snapshot, times, np.array([row[2] for row in found], np.int32)).tolist()
    return {
        row[0]: _trace_alert(snapshot, row, None if math.isnan(own) else int(own))
        for row, own in zip(found, owner, strict=True)
    }


def _trace_alert(snapshot: Snapshot, row: tuple[Any, ...], owner: int | None) -> dict[str, Any]:
    idx, wall_time, site, *counts = row
    place = snapshot.catalog.sites[site]
    op = snapshot.catalog.ops[place.op]
    graph = snapshot.catalog.graphs[place.graph]
    return {
        **_common(op.type, place.slot, wall_time, counts),
        "execution_index": None,
        "graph_execution_trace_index": idx,
        "op_name": op.name,
        "graph_id": graph.graph_id,
        "graph_name": graph.name,
        "owner_execution_index": owner,
        "layer": op.layer,
        "variable": op.variable,
        "gradient_of": snapshot.catalog.gradients.get((op.number, place.slot), []),
    }


def _eager_alerts(snapshot: Snapshot, indices: list[int]) -> dict[tuple[int, int], dict[str, Any]]:
    found = snapshot.rows(
        "SELECT o.idx, o.slot, e.wall_time, n.name, e.graph, o.size, o.neg_inf, o.pos_inf, o.nan"
        " FROM execution_outputs o JOIN executions e USING (idx) JOIN op_types n USING (op_type)"
        f" WHERE o.health = {BAD} AND o.idx IN (SELECT unnest(?))",
        [sorted(set(indices))],
    )
    return {
        (idx, slot): {
            **_common(op_type, slot, wall_time, counts),
            "execution_index": idx,
            "graph_execution_trace_index": None,
            "op_name": None,
            "graph_id": snapshot.catalog.graphs[graph].graph_id if graph >= 0 else None,
            "graph_name": snapshot.catalog.graphs[graph].name if graph >= 0 else None,
            "owner_execution_index": idx,
            "layer": None,
            "variable": None,
            "gradient_of": [],
        }
        for idx, slot, wall_time, op_type, graph, *counts in found
    }


def _common(op_type: str | None, slot: int, wall_time: float, counts: list[float | None]) -> dict[str, Any]:
    names = ("size", "num_neg_inf", "num_pos_inf", "num_nan")
    return {
        "alert_type": INF_NAN,
        "op_type": op_type,
        "output_slot": slot,
        "wall_time": wall_time,
        **{name: health.finite(value) for name, value in zip(names, counts, strict=True)},
    }
