"""Finds tensors whose values over the steps of a program break a rule.

A step is one value of a tensor: the n-th time that its op ran. Only tensors with the roles of the rule are
looked at, which are few; of each value only the numbers of the summary are read. Histories are read part by
part, in the order of their values; each part begins with the rows of earlier parts that a rule still needs.

Invariant: memory depends on the size of a part and on the number of tensors, not on the length of a run.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.alerts.excuses import HISTORY, courses, loss_courses
from tb_debugger_plugin.analysis.alerts.rule import IN_GRAPH, RuleHit, Severity, Values
from tb_debugger_plugin.analysis.alerts.search import RMS, sites_condition, sites_of
from tb_debugger_plugin.analysis.alerts.tensors import Role, tensors
from tb_debugger_plugin.analysis.calls.steps import steps_of
from tb_debugger_plugin.analysis.graph.op_kinds import LOOPS
from tb_debugger_plugin.analysis.lists.filters import NORM
from tb_debugger_plugin.analysis.snapshot import Columns, Snapshot, remembered
from tb_debugger_plugin.analysis.values.float_formats import FORMATS
from tb_debugger_plugin.events.dtypes import NUMBER_OF, dtype_name
from tb_debugger_plugin.events.numbers import Array, Floats, Integers
from tb_debugger_plugin.events.tensorflow_names import is_gradient
from tb_debugger_plugin.index.tensors import GOOD

#: Rows of the list that are looked at at once.
_PART: Final = 1_000_000

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class HistoryPart:
    """Rows in the order of their groups, and of time within a group.

    Attributes:
      columns: ``site``, ``idx``, ``group``, ``is_new`` (not on an earlier part) and the numbers.
      row: 0, 1, 2, …
      start: The first row of the group of each row.
    """

    columns: Columns
    row: Integers
    start: Integers

    def before(self, steps: int) -> Integers:
        """Return the row some steps before each row in its group, or the first one of the group."""
        return np.maximum(self.start, self.row - steps)

    def last(self, steps: int) -> Mask:
        """Return the last rows of each group."""
        ends = np.append(self.start[1:] != self.start[:-1], True)
        end = np.flatnonzero(ends)[np.cumsum(np.append(False, ends[:-1]))] if len(ends) else self.row
        return np.asarray(end - self.row < steps)


def parts(
    snapshot: Snapshot,
    groups: Mapping[int, int],
    numbers: Mapping[str, str],
    keep: Callable[[HistoryPart], Mask],
    leaves_out: Callable[[HistoryPart], Mask] | None = None,
) -> Iterator[HistoryPart]:
    """Yield the values of some sites that have numbers, part by part.

    Args:
      snapshot: The run.
      groups: The group of each site.
      numbers: SQL expressions by the names of their columns.
      keep: Which rows of a part the next one begins with.
      leaves_out: Which rows are no values of their own; None = each is.
    """
    group_of = np.full(len(snapshot.catalog.sites), -1, np.int64)
    group_of[list(groups)] = list(groups.values())
    select = ", ".join(f"{sql} AS {name}" for name, sql in numbers.items())
    query = (
        f"SELECT site, idx, {select} FROM graph_executions WHERE idx >= $begin AND idx < $end"
        " AND variance IS NOT NULL AND site IN (SELECT unnest($sites::INTEGER[])) ORDER BY idx"
    )
    kept: Columns = {}
    for begin in range(0, snapshot.num_graph_executions, _PART):
        new = snapshot.columns(query, {"begin": begin, "end": begin + _PART, "sites": list(groups)})
        new["group"] = group_of[new["site"]]
        new["is_new"] = np.ones(len(new["idx"]), bool)
        part = _sorted({name: np.concatenate([kept[name], new[name]]) for name in new} if kept else new)
        if leaves_out is not None:
            mask = ~leaves_out(part)
            part = _sorted({name: values[mask] for name, values in part.columns.items()})
        yield part
        mask = keep(part)
        kept = {name: values[mask] for name, values in part.columns.items()}
        kept["is_new"] = np.zeros(len(kept["idx"]), bool)


def _sorted(columns: Columns) -> HistoryPart:
    # Rows that were kept come first and are earlier, so a stable sort keeps the order of time.
    # NumPy sorts numbers of 16 bits by their digits, which takes a tenth of the time.
    groups = columns["group"]
    is_short = not len(groups) or groups.max() < 1 << 15
    order = np.argsort(groups.astype(np.int16) if is_short else groups, kind="stable")
    ordered = {name: values[order] for name, values in columns.items()}
    row = np.arange(len(order))
    group = ordered["group"]
    is_first = np.append(True, group[1:] != group[:-1]) if len(row) else np.zeros(0, bool)
    return HistoryPart(ordered, row, np.maximum.accumulate(np.where(is_first, row, 0)) if len(row) else row)


@dataclass
class Tally:
    """Counts the values of each site that break a rule, over parts; lives while a rule is evaluated."""

    _hits: dict[int, RuleHit] = field(default_factory=dict)

    def add(self, part: HistoryPart, broken: Mask, measured: Array) -> None:
        """Count the rows of a part that are new and break the rule."""
        rows = np.flatnonzero(broken & part.columns["is_new"])
        rows = rows[np.lexsort((part.columns["idx"][rows], part.columns["site"][rows]))]
        sites, begins, counts = np.unique(part.columns["site"][rows], return_index=True, return_counts=True)
        for site, begin, count in zip(sites.tolist(), begins.tolist(), counts.tolist(), strict=True):
            first, last = rows[begin], rows[begin + count - 1]
            known = self._hits.get(site)
            position = int(part.columns["idx"][first]) if known is None else known.position
            number = float(measured[first]) if known is None else known.measured
            times = count + (0 if known is None else known.times)
            self._hits[site] = RuleHit(position, IN_GRAPH, times, int(part.columns["idx"][last]), number)

    def hits(self) -> Sequence[RuleHit]:
        """Return the hit of each site."""
        return list(self._hits.values())


#: The parts of the steps in which a norm grows, each by the same factor or more.
_PARTS: Final = 3
#: A variable whose first norm is this share of its late one starts at 0.
_STARTS_AT_ZERO: Final = 0.01
#: A matrix changes much in this many steps at most while the optimizer warms up.
_WARM_UP: Final = 20
#: Turns of a loop from which on they show where a gradient goes.
_TURNS: Final = 8
#: A loss that has not fallen after so many values is unlikely to be a training that just began.
_STUCK: Final = 100
#: Added to the norm of a variable before a division by it.
_EPSILON: Final = 1e-9
#: The columns that must be alike for two values to be called equal.
_ALIKE: Final = ("min", "max", "mean", "variance")


def growing(snapshot: Snapshot, values: Values) -> Sequence[RuleHit]:
    """Return the gradients and variables whose norm grows by a factor within some steps.

    It grows in each part of the steps. So neither an unusual batch does, nor a variable that begins at 0 and
    takes steps of one length.
    """
    steps, factor, above = int(values["steps"]), float(values["factor"]), float(values["above"])
    sites, num_parts = tensors(snapshot).of(Role.GRADIENT, Role.WEIGHT), min(steps, _PARTS)
    tally = Tally()
    for part in parts(snapshot, _alone(sites), {"norm": NORM}, lambda part: part.last(steps)):
        norm, begin = part.columns["norm"], part.before(steps)
        length = part.row - begin
        ends = [begin + length * number // num_parts for number in range(num_parts + 1)]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            grew = norm / norm[begin]
            least = np.minimum.reduce([norm[end] / norm[start] for start, end in itertools.pairwise(ends)])
        is_steady = (length >= num_parts) & (least >= factor ** (1 / num_parts))
        tally.add(part, is_steady & (norm[begin] > 0) & (norm > above) & (grew >= factor), grew)
    return tally.hits()


def unchanged(snapshot: Snapshot, values: Values) -> Sequence[RuleHit]:
    """Return the trained variables that were equal for some steps in a row."""
    steps, rtol, atol = int(values["steps"]), float(values["rtol"]), float(values["atol"])
    tally = Tally()
    numbers = {name: name for name in (*_ALIKE, "step", "wall_time")}
    for part in parts(
        snapshot,
        _alone(_read_while_training(snapshot)),
        numbers,
        lambda part: part.last(steps),
        lambda part: _later_turns(snapshot, part),
    ):
        same = part.row > part.start
        for name in _ALIKE:
            column = part.columns[name]
            before = column[part.before(1)]
            with np.errstate(invalid="ignore"):
                same &= np.abs(column - before) <= atol + rtol * np.abs(before)
        num_same = np.cumsum(same)
        in_a_row: Mask = num_same - num_same[part.before(steps - 1)] == steps - 1
        is_long = part.row - part.start >= steps - 1
        tally.add(part, in_a_row & is_long, np.full(len(same), steps))
    return tally.hits()


def _later_turns(snapshot: Snapshot, part: HistoryPart) -> Mask:
    """Return what a loop computes after its first turn in a step: a layer reads its variables again."""
    site = part.columns["site"]
    in_loop = _sites_in_loops(snapshot)[site]
    if not in_loop.any():
        return np.zeros(len(site), bool)
    hosts = snapshot.catalog.site_hosts[site]
    step = steps_of(snapshot, hosts, part.columns["wall_time"], part.columns["step"])
    return np.asarray(in_loop & (part.row > part.start) & (step == step[part.before(1)]))


@remembered(Snapshot.remember_of_sites)
def _sites_in_loops(snapshot: Snapshot) -> Mask:
    """Return which sites are in graphs that loops run, or in graphs that were made in those."""
    catalog = snapshot.catalog
    bodies = {
        graph for op, graphs in catalog.op_graphs.items() if catalog.ops[op].type in LOOPS for graph in graphs
    }
    inside = {one.number for one in catalog.graphs if bodies.intersection(catalog.ancestry(one.number))}
    return np.array([site.graph in inside for site in catalog.sites], bool)


def _alone(sites: Sequence[int]) -> dict[int, int]:
    """Each site in a group of its own."""
    return {site: number for number, site in enumerate(sites)}


def _read_while_training(snapshot: Snapshot) -> list[int]:
    """Return the reads of variables in graphs that compute gradients of them, or all if no graph does both.

    While a model is evaluated, its variables do not change, nor do those of layers that are frozen.
    """
    catalog, known = snapshot.catalog, tensors(snapshot)
    weights = known.of(Role.WEIGHT)
    training = {catalog.ops[op].graph for op, _ in catalog.gradients}
    training |= {op.graph for op in catalog.ops if is_gradient(op.name)}
    of_whom = defaultdict(set)
    for (op, _), names in catalog.gradients.items():
        of_whom[catalog.ancestry(catalog.ops[op].graph)[0]].update(names)
    own = [site for site in weights if catalog.sites[site].graph in training]
    return [
        site
        for site in own or weights
        if known.variables[site]
        in of_whom.get(catalog.ancestry(catalog.sites[site].graph)[0], known.variables.values())
    ]


def large_updates(snapshot: Snapshot, values: Values) -> Sequence[RuleHit]:
    """Return the updates that are large beside their variables.

    A variable that starts at 0 is measured by what becomes of it.
    """
    limit = float(values["limit"])
    if not any(_by_ratio(snapshot, [lambda ratio, part: ratio > limit])):
        return []
    return _beside_late_norms(snapshot, limit)[0]


@remembered(Snapshot.share)
def _beside_late_norms(snapshot: Snapshot, limit: float) -> list[Sequence[RuleHit]]:
    """Return the updates above a limit, and those that are no smaller than their variables."""
    are_broken: list[_Breaks] = [lambda ratio, part: ratio > limit, lambda ratio, part: ratio >= 1]
    return _by_ratio(snapshot, are_broken, _late_norms(snapshot))


def first_steps(snapshot: Snapshot, values: Values, hits: Mapping[int, RuleHit]) -> dict[int, str]:
    """Excuse a few updates, each smaller than its matrix: an optimizer's first steps are its largest."""
    whole = _beside_late_norms(snapshot, float(values["limit"]))[1]
    replaced = set(sites_of(snapshot, whole))
    return {
        site: f"So it is in {hit.times:,} steps only, as while an optimizer warms up."
        for site, hit in hits.items()
        if hit.times <= _WARM_UP and site not in replaced
    }


def small_updates(snapshot: Snapshot, values: Values) -> Sequence[RuleHit]:
    """Return the updates that are small beside their variables."""
    limit = float(values["limit"])
    return _by_ratio(snapshot, [lambda ratio, part: ratio < limit])[0]


def lost_updates(snapshot: Snapshot, values: Values) -> Sequence[RuleHit]:
    """Return the updates of which rounding leaves next to nothing, in more than half of the steps."""
    share = float(values["share"])
    # By number of the dtype; others have no limit.
    limits = np.full(max(NUMBER_OF.values()) + 1, np.nan)
    for name, known in FORMATS.items():
        if name in NUMBER_OF:
            limits[NUMBER_OF[name]] = share * known.spacing
    (hits,) = _by_ratio(snapshot, [lambda ratio, part: (ratio > 0) & (ratio < limits[part.columns["dtype"]])])
    sites = sites_of(snapshot, hits)
    every = courses(snapshot, dict.fromkeys(sites, 0))
    return [
        hit._replace(detail=_dtype_at(snapshot, site))
        for hit, site in zip(hits, sites, strict=True)
        if 2 * hit.times > every[site].num_values
    ]


def _dtype_at(snapshot: Snapshot, site: int) -> str:
    """Return the name of the dtype that a site was measured to have."""
    query = "SELECT dtype FROM graph_executions WHERE site = ? LIMIT 1"
    return " and ".join(dtype_name(dtype) or "?" for (dtype,) in snapshot.rows(query, [site]))


def _late_norms(snapshot: Snapshot) -> dict[int, float]:
    """Return the norms at the end of the variables that start at 0, by the sites that read them."""
    weights = tensors(snapshot).of(Role.WEIGHT)
    sizes: dict[int, float] = dict(
        snapshot.rows(
            "SELECT site, max(size) FROM graph_executions WHERE site IN (SELECT unnest(?::INTEGER[]))"
            " GROUP BY site",
            [weights],
        )
    )
    return {
        # A few values do not show what becomes of it.
        site: course.late * math.sqrt(sizes[site]) if course.num_values >= HISTORY else math.inf
        for site, course in courses(snapshot, dict.fromkeys(weights, 0)).items()
        if course.late and (course.first or 0) <= _STARTS_AT_ZERO * course.late
    }


#: Which ratios of a part break a rule.
_Breaks = Callable[[Floats, HistoryPart], Mask]


def _by_ratio(
    snapshot: Snapshot, are_broken: Sequence[_Breaks], least: Mapping[int, float] | None = None
) -> list[Sequence[RuleHit]]:
    """By the norm of an update over that of its variable, a matrix, as it was last read.

    Args:
      snapshot: The run.
      are_broken: For each answer, which ratios break the rule.
      least: Norms that are used in place of smaller ones, by the sites that read variables.
    """
    known = tensors(snapshot)
    weights = known.of(Role.WEIGHT)
    sites = sorted({*weights, *known.of(Role.UPDATE)})
    # Each process has variables of its own, by the same names.
    whose = {site: (snapshot.catalog.sites[site].host, known.variables[site]) for site in sites}
    number = {one: position for position, one in enumerate(sorted({*whose.values()}))}
    groups = {site: number[one] for site, one in whose.items()}
    floor = np.zeros(len(snapshot.catalog.sites))
    floor[list(least or ())] = list((least or {}).values())
    tallies = [Tally() for _ in are_broken]
    reads = _Reads(snapshot, weights)
    for part in parts(snapshot, groups, {"norm": NORM, "rank": "rank", "dtype": "dtype"}, reads.last):
        norm, read = part.columns["norm"], reads.before(part)
        is_known = (read >= part.start) & ~reads.are(part)
        row = np.maximum(read, 0)
        weight = np.where(is_known, np.maximum(norm[row], floor[part.columns["site"][row]]), 0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            ratio = norm / (weight + _EPSILON)
        for tally, is_broken in zip(tallies, are_broken, strict=True):
            tally.add(part, is_known & (weight > 0) & is_broken(ratio, part), ratio)
    return [tally.hits() for tally in tallies]


class _Reads:
    """Which rows of a part are reads of variables.

    Args:
      snapshot: The run.
      weights: The sites that read variables.
    """

    def __init__(self, snapshot: Snapshot, weights: Sequence[int]) -> None:
        self._is_weight = np.zeros(len(snapshot.catalog.sites), bool)
        self._is_weight[list(weights)] = True

    def are(self, part: HistoryPart) -> Mask:
        """Whether each row is a read."""
        return np.asarray(self._is_weight[part.columns["site"]])

    def before(self, part: HistoryPart) -> Integers:
        """Return the row of the last read of a matrix at each row; -1 if there is none."""
        rows = np.where(self.are(part) & (part.columns["rank"] >= 2), part.row, -1)
        return np.maximum.accumulate(rows) if len(rows) else rows

    def last(self, part: HistoryPart) -> Mask:
        """Return the last read of each group."""
        mask = np.zeros(len(part.row), bool)
        read = self.before(part)[part.last(1)]
        mask[read[read >= 0]] = True
        return mask


def lost_in_loops(snapshot: Snapshot, values: Values) -> list[RuleHit]:
    """Return the gradients that vanish while loops carry them back, in more than half of the steps.

    Many networks learn well without what is early in their sequences. So a loss that falls is a remark, and
    one that does not makes the alert more severe.
    """
    only, chosen = sites_condition(snapshot, [Role.CARRIED_GRADIENT])
    rows = snapshot.columns(
        f"SELECT site, host, step, wall_time, idx, {RMS} AS rms FROM graph_executions JOIN"
        f" (SELECT site, host FROM sites) USING (site) WHERE {only} AND variance IS NOT NULL"
        f" AND health = {GOOD} ORDER BY site, idx",
        chosen,
    )
    site, idx, rms = rows["site"], rows["idx"], rows["rms"]
    if not len(site):
        return []
    step = steps_of(snapshot, rows["host"], rows["wall_time"], rows["step"])
    begin = np.flatnonzero(np.append(True, (np.diff(site) != 0) | (np.diff(step) != 0)))
    turns, peak = np.diff(begin, append=len(site)), np.maximum.reduceat(rms, begin)
    end = begin + turns - 1
    shows = (turns >= _TURNS) & (peak > 0)
    share = rms[end] / np.where(shows, peak, 1)
    is_lost = shows & (share < float(values["limit"]))
    hits = []
    for one in np.unique(site[begin[is_lost]]):
        own = site[begin] == one
        lost = np.flatnonzero(own & is_lost)
        if 2 * len(lost) > np.count_nonzero(own & shows):
            first, last = (int(idx[end[at]]) for at in (lost[0], lost[-1]))
            detail = f"after {turns[lost[0]]:,} turns"
            hit = RuleHit(first, IN_GRAPH, len(lost), last, float(share[lost[0]]), detail)
            hits.append(_beside_loss(snapshot, int(one), hit))
    return hits


def _beside_loss(snapshot: Snapshot, site: int, hit: RuleHit) -> RuleHit:
    """Return a hit with what became of the losses of the same outermost graph, if they are known."""
    catalog = snapshot.catalog
    root = catalog.ancestry(catalog.sites[site].graph)[0]
    losses = [
        course
        for other, course in loss_courses(snapshot).items()
        if catalog.ancestry(catalog.sites[other].graph)[0] == root
    ]
    falling = [one for one in losses if one.falls]
    if falling:
        remark = f"The loss falls all the same, from {falling[0].early:.4g} to {falling[0].late:.4g}."
        return hit._replace(remark=remark)
    if not losses or min(one.num_values for one in losses) < _STUCK:
        return hit
    stays = f"{hit.detail}, and the loss does not fall ({losses[0].early:.4g} → {losses[0].late:.4g})"
    return hit._replace(detail=stays, severity=Severity.MEDIUM)


def uneven_starts(snapshot: Snapshot, values: Values) -> list[RuleHit]:
    """Return the matrix whose first values vary most, or least, if the variances are too far apart."""
    only, chosen = sites_condition(snapshot, [Role.WEIGHT])
    rows = snapshot.rows(
        "SELECT min(idx), site, arg_min(variance, idx) AS first FROM graph_executions"
        f" WHERE {only} AND rank >= 2 AND size > 1 AND variance > 0 GROUP BY site ORDER BY first",
        chosen,
    )
    firsts: dict[str, tuple[int, float]] = {}
    for index, site, variance in rows:
        name = tensors(snapshot).variables[site]
        if name not in firsts or index < firsts[name][0]:
            firsts[name] = index, variance
    ordered = sorted(firsts.values(), key=lambda one: one[1])
    if len(ordered) < 2 or ordered[-1][1] < ordered[0][1] * float(values["ratio"]):
        return []
    low, middle, high = (ordered[at][1] for at in (0, len(ordered) // 2, -1))
    odd = ordered[-1] if high / middle >= middle / low else ordered[0]
    return [RuleHit(odd[0], IN_GRAPH, 1, odd[0], high / low)]
