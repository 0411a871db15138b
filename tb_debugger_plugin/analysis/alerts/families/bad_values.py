"""Rules about bad values: NaN and infinities.

An op with good inputs and a bad output is critical: the bad value is born there. With a bad input it is high
if the output is worse than the input: NaN of infinities, ten times as many bad elements, or a norm ten times
as large. Otherwise the bad value has only passed through, which is medium; so is the argument or result of a
function, which another op computed. A constant with infinities is low: the program wrote them.

Where bad values come from is known better: by `origins`. An op whose bad values harm nothing is low, and so
is every bad tensor of a run that has none but such. Of ops with good inputs, those that are the origin of
something are critical, and others high.

Invariant: inputs are judged by the first bad value of each tensor, so this takes one look at the bad values,
however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.alerts.places import AlertPlace, places_of
from tb_debugger_plugin.analysis.alerts.rule import IN_GRAPH, AlertRule, RuleHit, Severity, Values
from tb_debugger_plugin.analysis.catalog import Site
from tb_debugger_plugin.analysis.diagnosis.sentences import explain_bad
from tb_debugger_plugin.analysis.graph.adjacency import adjacency
from tb_debugger_plugin.analysis.lists.filters import NORM
from tb_debugger_plugin.analysis.origins.origin import Origin
from tb_debugger_plugin.analysis.origins.origins import origins
from tb_debugger_plugin.analysis.origins.sinks import bad_outputs
from tb_debugger_plugin.analysis.snapshot import Snapshot, SqlRow
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS
from tb_debugger_plugin.index.tensors import BAD

#: How much larger than its input an output is that is called worse.
_MUCH: Final = 10.0
_INFINITE: Final = "coalesce(neg_inf, 0) + coalesce(pos_inf, 0)"


@dataclass(frozen=True)
class _First:
    """The first bad value of a tensor; numbers that were not measured are None."""

    index: int
    nan: float | None
    infinite: float
    norm: float | None

    def is_worse_than(self, other: _First) -> bool:
        """Whether it is worse than an input."""
        if self.nan and not other.nan:
            return True
        own, others = (self.nan or 0) + self.infinite, (other.nan or 0) + other.infinite
        if own > _MUCH * others > 0:
            return True
        return self.norm is not None and other.norm is not None and self.norm > _MUCH * other.norm > 0


def bad_nodes(snapshot: Snapshot, values: Values) -> list[RuleHit]:
    """Return a hit for each tensor that was bad."""
    hits = [*_in_graphs(snapshot), *_eager(snapshot)]
    known = origins(snapshot)
    if not known:
        return hits
    if all(origin.category == "expected" for origin in known):
        return [hit._replace(severity=Severity.LOW) for hit in hits]
    places = places_of(snapshot, [hit[:2] for hit in hits])
    categories = _categories(snapshot, known)
    return [_refined(hit, categories.get(_key(places[hit[:2]]))) for hit in hits]


def _categories(snapshot: Snapshot, known: Sequence[Origin]) -> dict[SqlRow, str]:
    """Return the category of each op that is an origin; the most important one if it is several."""
    eager = {
        one.execution_index: one for one in known if one.op_name is None and one.execution_index is not None
    }
    places = places_of(snapshot, [(index, 0) for index in eager])
    categories: dict[SqlRow, str] = {}
    for one in known:
        if one.op_name is not None:
            categories.setdefault((one.graph_id, one.op_name), one.category)
        elif one.execution_index is not None:
            categories.setdefault(_key(places[one.execution_index, 0]), one.category)
    return categories


def _key(place: AlertPlace) -> SqlRow:
    if place.op_name is None:
        return place.op_type, place.stack
    return place.graph_id, place.op_name


def _refined(hit: RuleHit, category: str | None) -> RuleHit:
    if category == "expected":
        return hit._replace(severity=Severity.LOW)
    if category in ("origin", "came_in"):
        return hit._replace(severity=Severity.CRITICAL)
    return hit._replace(severity=Severity.HIGH) if hit.severity is Severity.CRITICAL else hit


def _in_graphs(snapshot: Snapshot) -> list[RuleHit]:
    rows = snapshot.rows(
        f"SELECT site, min(idx), count(*), max(idx), arg_min(nan, idx), arg_min({_INFINITE}, idx),"
        f" arg_min({NORM}, idx) FROM graph_executions"
        f" WHERE health = {BAD} GROUP BY site"
    )
    sites = snapshot.catalog.sites
    first: dict[tuple[int, int], _First] = {}
    for site, index, _, _, nan, infinite, norm in rows:
        key = sites[site].op, sites[site].slot
        if key not in first or index < first[key].index:
            first[key] = _First(index, nan, infinite, norm)
    return [
        RuleHit(index, IN_GRAPH, count, last, severity=_severity(snapshot, sites[site], first))
        for site, index, count, last, *_ in rows
    ]


def _severity(snapshot: Snapshot, site: Site, first: dict[tuple[int, int], _First]) -> Severity:
    op, own = snapshot.catalog.ops[site.op], first[site.op, site.slot]
    if op.type == "Const":
        return Severity.LOW
    if op.type in ARGUMENTS or snapshot.catalog.op_graphs.get(op.number):
        return Severity.MEDIUM
    given = [(one.op, one.slot) for one in adjacency(snapshot).inputs(op.number)]
    bad = [first[key] for key in given if key in first and first[key].index <= own.index]
    if not bad:
        return Severity.CRITICAL
    return Severity.HIGH if all(own.is_worse_than(one) for one in bad) else Severity.MEDIUM


def _eager(snapshot: Snapshot) -> list[RuleHit]:
    """Eager ops; a call of a function passes on what its ops computed."""
    found = bad_outputs(snapshot)
    # Of an input, only whether it was ever bad before is asked.
    rows = snapshot.rows(
        "SELECT DISTINCT i.idx FROM (SELECT unnest(?::BIGINT[]) AS idx, unnest(?::INTEGER[]) AS host) f"
        " JOIN execution_inputs i USING (idx) JOIN execution_outputs b"
        f" ON b.tensor_id = i.tensor_id AND b.host = f.host AND b.idx < f.idx AND b.health = {BAD}",
        [[one.first for one in found], [one.host for one in found]],
    )
    spoiled = {index for (index,) in rows}
    return [
        RuleHit(
            *(one.first, one.slot, one.times, one.last),
            severity=Severity.MEDIUM if one.graph >= 0 or one.first in spoiled else Severity.CRITICAL,
        )
        for one in found
    ]


NAN_OR_INFINITY: Final = AlertRule(
    id="InfNanAlert",
    title="NaN/∞",
    severity=Severity.CRITICAL,
    description="The tensor has NaN, −∞ or +∞.",
    find=bad_nodes,
    words=lambda numbers, hit, values: numbers.bad_words,
    explain=lambda subject, hit, values: explain_bad(subject),
    columns=("any_bad",),
    recommends=(),
    has_groups=False,
    every=f"health = {BAD}",
)

RULES: Final = (NAN_OR_INFINITY,)
