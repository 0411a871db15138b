"""Makes alerts low whose tensors do no harm, by the record of their histories, and says why.

Takes what a rule found, and excuses: functions that return a sentence for each tensor that they excuse. A
training that converges, warms up or meets an unusual batch breaks the limits of rules for a while; a tensor
that breaks them to the end, or comes from nothing, is not excused.

Invariant: an excuse takes evidence. Where the numbers that it needs are not on record, nothing is excused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from tb_debugger_plugin.analysis.alerts.rule import Find, RuleHit, Severity, Values
from tb_debugger_plugin.analysis.alerts.search import RMS, sites_of
from tb_debugger_plugin.analysis.alerts.tensors import Role, tensors
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.index.tensors import GOOD

#: Returns why tensors are excused, by site. It is given the hits of tensors of graphs, by site.
Excuse: TypeAlias = Callable[[Snapshot, Values, Mapping[int, RuleHit]], Mapping[int, str]]

#: From this many values on, a tensor has a history.
HISTORY: Final = 10
#: Values in a row, up to the last one, that are no exception any more.
_LASTING: Final = 3
#: The share of its largest magnitude to which a tensor has come down.
_DOWN: Final = 0.3
#: The share to which the gradients of a model fall while it converges.
_CONVERGED: Final = 0.1
#: The share to which a tensor has fallen, step by step, before it breaks a rule.
_FADED: Final = 0.01
#: The share of itself by which a loss falls in a training that learns.
_LEARNS: Final = 0.02
#: A loss is compared between the first and the last of so many parts of its values.
_PARTS: Final = 5


def excused(find: Find, *excuses: Excuse) -> Find:
    """Return a search whose hits are low, with the reason, where one of some excuses holds.

    Args:
      find: The search.
      excuses: They are asked in order, each of what those before it did not excuse.
    """

    def search(snapshot: Snapshot, values: Values) -> Sequence[RuleHit]:
        hits = find(snapshot, values)
        left = {site: hit for hit, site in zip(hits, sites_of(snapshot, hits), strict=True) if site >= 0}
        remarks: dict[tuple[int, int], str] = {}
        for excuse in excuses:
            found = excuse(snapshot, values, left) if left else {}
            remarks |= {left.pop(site)[:2]: remark for site, remark in found.items()}
        return [_excused(hit, remarks.get(hit[:2])) for hit in hits]

    return search


def _excused(hit: RuleHit, remark: str | None) -> RuleHit:
    return hit if remark is None else hit._replace(severity=Severity.LOW, remark=remark)


class Course(NamedTuple):
    """The history of the magnitude of a tensor; numbers that were not measured are None.

    A magnitude is a root mean square of finite values.

    Attributes:
      num_values: How many values there are.
      num_before: How many there are before a position.
      first: The first magnitude.
      peak: The largest one.
      typical: The median.
      late: The median of the last tenth.
      before: The last one before the position that is not 0.
      ends_good: Whether the last value is finite.
    """

    num_values: int
    num_before: int
    first: float | None
    peak: float | None
    typical: float | None
    late: float | None
    before: float | None
    ends_good: bool


def courses(snapshot: Snapshot, positions: Mapping[int, int]) -> dict[int, Course]:
    """Return the histories of some sites.

    Args:
      snapshot: The run.
      positions: A position in the list of graph executions, by site.
    """
    known: dict[tuple[int, int], Course] = snapshot.remember("courses", dict)
    missing = dict(positions.items() - known.keys())
    if missing:
        known.update({(site, missing[site]): course for site, course in _read_courses(snapshot, missing)})
    return {one[0]: known[one] for one in positions.items() if one in known}


def _read_courses(snapshot: Snapshot, positions: Mapping[int, int]) -> list[tuple[int, Course]]:
    rows = snapshot.rows(
        f"WITH known AS (SELECT site, idx, begin_at, health, CASE WHEN health = {GOOD} THEN {RMS} END AS rms,"
        " row_number() OVER (PARTITION BY site ORDER BY idx) AS n, count(*) OVER (PARTITION BY site) AS total"
        " FROM graph_executions JOIN (SELECT unnest($sites::INTEGER[]) AS site,"
        " unnest($positions::BIGINT[]) AS begin_at) USING (site))"
        " SELECT site, count(*), count(*) FILTER (idx < begin_at), arg_min(rms, n), max(rms), median(rms),"
        " median(rms) FILTER (n > total - greatest(1, total // 10)),"
        f" arg_max(rms, n) FILTER (idx < begin_at AND rms > 0), arg_max(health, n) = {GOOD}"
        " FROM known GROUP BY site",
        {"sites": list(positions), "positions": list(positions.values())},
    )
    return [(site, Course(*numbers)) for site, *numbers in rows]


def _of_hits(snapshot: Snapshot, hits: Mapping[int, RuleHit]) -> dict[int, Course]:
    return courses(snapshot, {site: hit.position for site, hit in hits.items()})


class LossCourse(NamedTuple):
    """How a loss went; medians of its values.

    Attributes:
      num_values: How many values there are.
      early: Of the first fifth of them.
      late: Of the last fifth.
    """

    num_values: int
    early: float
    late: float

    @property
    def falls(self) -> bool:
        """Whether it fell by more than next to nothing."""
        return self.late < self.early - _LEARNS * abs(self.early)


@remembered(Snapshot.remember)
def loss_courses(snapshot: Snapshot) -> dict[int, LossCourse]:
    """Return how each loss went, by its site; nothing where a scale that changes is part of the losses."""
    known = tensors(snapshot)
    if known.of(Role.SCALED_GRADIENT):
        return {}
    rows = snapshot.rows(
        "WITH known AS (SELECT site, mean, row_number() OVER (PARTITION BY site ORDER BY idx) AS n,"
        " count(*) OVER (PARTITION BY site) AS total FROM graph_executions"
        f" WHERE site IN (SELECT unnest(?::INTEGER[])) AND health = {GOOD} AND mean IS NOT NULL)"
        f" SELECT site, count(*), median(mean) FILTER ({_PARTS} * n <= total + {_PARTS - 1}),"
        f" median(mean) FILTER ({_PARTS} * (n - 1) >= {_PARTS - 1} * total - {_PARTS - 1})"
        " FROM known GROUP BY site",
        [known.of(Role.LOSS)],
    )
    return {site: LossCourse(*numbers) for site, *numbers in rows}


def seldom(snapshot: Snapshot, values: Values, hits: Mapping[int, RuleHit]) -> dict[int, str]:
    """Excuse tensors of which at most half of the values break a rule, and not all up to the last one."""
    found = _of_hits(snapshot, hits)
    return {
        site: f"Only {hit.times:,} of its {found[site].num_values:,} values do."
        for site, hit in hits.items()
        if 2 * hit.times <= found[site].num_values and not _lasts(hit, found[site])
    }


def _lasts(hit: RuleHit, course: Course) -> bool:
    return hit.times >= _LASTING and hit.times == course.num_values - course.num_before


def came_down(snapshot: Snapshot, values: Values, hits: Mapping[int, RuleHit]) -> dict[int, str]:
    """Excuse tensors that are small again at the end, and neither 0 nor NaN or infinite."""
    return {
        site: "It came down again: it is small in the last tenth of its values."
        for site, course in _of_hits(snapshot, hits).items()
        if course.ends_good and course.peak and course.late and course.late <= _DOWN * course.peak
    }


def converged(snapshot: Snapshot, values: Values, hits: Mapping[int, RuleHit]) -> dict[int, str]:
    """Excuse gradients that fell step by step, while those of the whole model did, and a known loss."""
    losses = loss_courses(snapshot).values()
    if not _gradients_fell(snapshot) or (losses and not any(one.falls for one in losses)):
        return {}
    return {
        site: "The model has converged: all of its gradients have fallen."
        for site, course in _of_hits(snapshot, hits).items()
        if course.num_before >= HISTORY and course.before and course.before <= _FADED * (course.peak or 0)
    }


@remembered(Snapshot.remember)
def _gradients_fell(snapshot: Snapshot) -> bool:
    """Whether the largest gradient of the model is small at the end, beside the largest one of all."""
    found = courses(snapshot, dict.fromkeys(tensors(snapshot).of(Role.GRADIENT), 0)).values()
    late, peak = _largest(one.late for one in found), _largest(one.peak for one in found)
    return any(one.num_values > HISTORY for one in found) and 0 <= late <= _CONVERGED * peak


def _largest(numbers: Iterable[float | None]) -> float:
    return max((number for number in numbers if number is not None), default=0.0)


def changed(snapshot: Snapshot, values: Values, hits: Mapping[int, RuleHit]) -> dict[int, str]:
    """Excuse variables that are the same for a while only: they change in other steps."""
    different = " OR ".join(
        f"max({name}) - min({name}) > $atol + $rtol * max(abs({name}))"
        for name in ("min", "max", "mean", "variance")
    )
    rows = snapshot.rows(
        "SELECT site FROM graph_executions WHERE site IN (SELECT unnest($sites::INTEGER[]))"
        f" AND health = {GOOD} GROUP BY site HAVING {different}",
        {"sites": list(hits), "rtol": values["rtol"], "atol": values["atol"]},
    )
    remark = "It changes in other steps: the training converged, warmed up or skipped some."
    return {site: remark for (site,) in rows}
