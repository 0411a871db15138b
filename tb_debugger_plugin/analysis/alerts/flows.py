"""Tells what the graph says of alerts: masks, sums that cancel out, zeros that follow from dead ReLUs.

Takes what a rule found and the edges of the graphs, and returns the tensors that the program means so, or
that follow from something else. The excuses are as in :mod:`tb_debugger_plugin.analysis.alerts.excuses`.

Invariant: names of ops, layers and variables decide nothing; types, edges and magnitudes do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from tb_debugger_plugin.analysis.alerts.excuses import courses
from tb_debugger_plugin.analysis.alerts.rule import RuleHit, Values
from tb_debugger_plugin.analysis.alerts.search import LARGEST, parameters_in
from tb_debugger_plugin.analysis.alerts.tensors import READS, Role, tensors
from tb_debugger_plugin.analysis.catalog import Op, Site
from tb_debugger_plugin.analysis.graph.adjacency import adjacency, before_calls
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS, is_gradient

#: Ops that return what they take, perhaps in another shape or dtype.
_PASSES: Final = frozenset({"Cast", "ExpandDims", "Identity", "Reshape", "Squeeze", "Transpose"})
_SUMS: Final = frozenset({"BiasAddGrad", "Mean", "Sum"})
_ADDITIONS: Final = frozenset({"Add", "AddV2", "AddN", "BiasAdd", "Sub"})
#: Ops that look at the shape of what they take only.
_LOOKS: Final = frozenset({"BroadcastGradientArgs", "Rank", "Shape", "ShapeN", "Size"})
#: How much smaller a sum is than its terms, where it should be larger; a term than its sum; and a constant
#: than what is no more of its magnitude.
_MUCH: Final = 10.0
#: Ops that a walk looks at.
_MAX_OPS: Final = 2000

#: An op and its output slot.
_Tensor = tuple[int, int]


def constants(snapshot: Snapshot, values: Values, where: str) -> set[int]:
    """Return the sites that reach a limit because of a constant that the program wrote, such as a mask.

    The tensor is a constant, or not much larger than one that it is computed from. A variable that is not
    trained and was never larger than at first is one, too, such as the scale of a loss.

    Args:
      snapshot: The run.
      values: Parameters of the condition.
      where: The condition in SQL.
    """
    sites = snapshot.catalog.sites
    peaks: dict[_Tensor, float] = {}
    rows = snapshot.rows(
        f"SELECT site, max({LARGEST}) FROM graph_executions WHERE {where} GROUP BY site",
        parameters_in(where, values) or None,
    )
    for site, peak in rows:
        key = sites[site].op, sites[site].slot
        peaks[key] = max(peak, peaks.get(key, 0.0))
    given = _given_by_program(snapshot, [site for site, _ in rows])
    meant = {key for key in peaks if _is_of_constant(snapshot, key, peaks, given)}
    return {site for site, _ in rows if (sites[site].op, sites[site].slot) in meant}


def _given_by_program(snapshot: Snapshot, sites: Collection[int]) -> set[int]:
    """Return the ops that return a constant, an untrained variable, or a scalar, and never grew."""
    catalog, trained = snapshot.catalog, set(tensors(snapshot).of(Role.WEIGHT))
    reads = {site for site in sites if catalog.ops[catalog.sites[site].op].type in READS}
    # Variables without a name all have the same one, so that a scale of a loss may seem to be trained.
    reads -= trained & set(_of_several_elements(snapshot, reads))
    known = courses(snapshot, dict.fromkeys(reads, 0))
    still = {site for site in reads if (known[site].first or 0) >= (known[site].peak or 0)}
    return {op.number for op in catalog.ops if op.type == "Const"} | {
        catalog.sites[site].op for site in still
    }


def _of_several_elements(snapshot: Snapshot, sites: Collection[int]) -> list[int]:
    query = "SELECT site FROM graph_executions WHERE size > 1 AND site IN (SELECT unnest(?::INTEGER[]))"
    return [site for (site,) in snapshot.rows(f"{query} GROUP BY site", [sorted(sites)])]


def _is_of_constant(
    snapshot: Snapshot, tensor: _Tensor, peaks: Mapping[_Tensor, float], given: Collection[int]
) -> bool:
    least = peaks[tensor] / _MUCH
    seen, waiting = {tensor}, [tensor]
    while waiting and len(seen) < _MAX_OPS:
        op, _ = waiting.pop()
        if op in given:
            return True
        sources = [
            one for one in _sources(snapshot, op) if one not in seen and _may_be(snapshot, one, peaks, least)
        ]
        seen.update(sources)
        waiting += sources
    return False


def _sources(snapshot: Snapshot, op: int) -> list[_Tensor]:
    """Return the tensors that an op takes; of the argument of a function, what the callers give."""
    given = adjacency(snapshot).inputs(op)
    if snapshot.catalog.ops[op].type in ARGUMENTS:
        given = before_calls(snapshot, op)
    return [(one.op, one.slot) for one in given]


def _may_be(snapshot: Snapshot, tensor: _Tensor, peaks: Mapping[_Tensor, float], least: float) -> bool:
    """Whether a magnitude may come from a tensor: it is as large, or an argument that is not on record."""
    if tensor in peaks:
        return peaks[tensor] >= least
    op = snapshot.catalog.ops[tensor[0]]
    return op.type in ARGUMENTS and not any(site.slot == tensor[1] for site in _sites(snapshot, op.number))


def _sites(snapshot: Snapshot, op: int) -> list[Site]:
    return snapshot.catalog.op_sites.get(op, [])


def cancelled(snapshot: Snapshot, values: Values, hits: Mapping[int, RuleHit]) -> dict[int, str]:
    """Excuse gradients of what a normalisation or softmax takes away: sums of terms that cancel out."""
    sums = {site: found for site in hits for found in _summed(snapshot, snapshot.catalog.sites[site].op)}
    known = courses(snapshot, dict.fromkeys({site for pair in sums.values() for site in pair}, 0))
    remark = "Its terms cancel out: a shift that does not matter, as before a normalisation or softmax."
    return {
        site: remark
        for site, (total, terms) in sums.items()
        if _MUCH * (known[total].typical or 0) < (known[terms].typical or 0)
    }


def _summed(snapshot: Snapshot, op: int) -> Iterator[tuple[int, int]]:
    """Yield the sites of a sum that an op passes on, and of its terms."""
    for _ in range(_MAX_OPS):
        described, inputs = snapshot.catalog.ops[op], _sources(snapshot, op)
        if not inputs or described.type not in _PASSES | _SUMS | ARGUMENTS | {"RealDiv"}:
            return
        terms = [site for site in _sites(snapshot, inputs[0][0]) if site.slot == inputs[0][1]]
        totals = _sites(snapshot, op)
        if described.type in _SUMS and terms and totals:
            yield totals[0].number, terms[0].number
            return
        op = inputs[0][0]


def added(snapshot: Snapshot, values: Values, hits: Mapping[int, RuleHit]) -> dict[int, str]:
    """Excuse tensors that are only added to much larger ones."""
    sums = {site: list(_additions(snapshot, snapshot.catalog.sites[site].op)) for site in hits}
    wanted = {*hits, *(total for totals in sums.values() for total in totals if total >= 0)}
    known = courses(snapshot, dict.fromkeys(wanted, 0))
    return {
        site: "It is added to values that are much larger."
        for site, totals in sums.items()
        if totals
        and all(
            total in known and (known[total].typical or 0) > _MUCH * (known[site].peak or 0)
            for total in totals
        )
    }


def _additions(snapshot: Snapshot, op: int) -> Iterator[int]:
    """Yield the sites of what an op's outputs are added to; -1 for a consumer that does something else."""
    seen, waiting = {op}, [op]
    while waiting and len(seen) < _MAX_OPS:
        for other in {one.op for one in adjacency(snapshot).consumers(waiting.pop())} - seen:
            described = snapshot.catalog.ops[other]
            seen.add(other)
            if described.type in _PASSES:
                waiting.append(other)
            elif described.type in _ADDITIONS:
                yield from (site.number for site in _sites(snapshot, other)[:1] or ())
            elif described.type not in _LOOKS:
                yield -1


def of_loss_scaling(snapshot: Snapshot, values: Values, hits: Mapping[int, RuleHit]) -> dict[int, str]:
    """Excuse gradients of a loss that is scaled: the scale grows until they overflow."""
    if not tensors(snapshot).of(Role.SCALED_GRADIENT):
        return {}
    remark = "Loss scaling takes gradients near the largest number on purpose, and skips steps that overflow."
    return {site: remark for site in hits if is_gradient(_op(snapshot, site).name)}


def _op(snapshot: Snapshot, site: int) -> Op:
    return snapshot.catalog.ops[snapshot.catalog.sites[site].op]


def after_dead_relu(snapshot: Snapshot, values: Values, hits: Mapping[int, RuleHit]) -> dict[int, str]:
    """Excuse gradients that are 0 because a ReLU on their way is: that is an alert of its own."""
    gradients = set(tensors(snapshot).of(Role.GRADIENT))
    zeros = _zero_ops(snapshot) if gradients & set(hits) else set()
    relus = {snapshot.catalog.sites[site].op for site in tensors(snapshot).of(Role.RELU)} & zeros
    found = {
        site: _first_in(snapshot, _op(snapshot, site).number, zeros, relus)
        for site in hits
        if site in gradients
    }
    return {
        site: f"It follows from the dead ReLU {snapshot.catalog.ops[op].name}."
        for site, op in found.items()
        if op is not None
    }


def _zero_ops(snapshot: Snapshot) -> set[int]:
    """Return the ops of which most outputs are all zero."""
    rows = snapshot.rows(
        "SELECT site FROM graph_executions WHERE size > 0 GROUP BY site"
        " HAVING 2 * count(*) FILTER (zero = size) > count(*)"
    )
    return {snapshot.catalog.sites[site].op for (site,) in rows}


def _first_in(snapshot: Snapshot, op: int, way: Collection[int], wanted: Collection[int]) -> int | None:
    """Return the nearest op of a kind before an op, along ops of another kind."""
    seen, waiting = {op}, [op]
    for one in waiting:
        if one in wanted:
            return one
        if len(seen) > _MAX_OPS:
            break
        is_argument = snapshot.catalog.ops[one].type in ARGUMENTS
        sources = {source for source, _ in _sources(snapshot, one)} - seen
        sources = {
            source
            for source in sources
            if is_argument or source in way or snapshot.catalog.ops[source].type in ARGUMENTS
        }
        seen |= sources
        waiting += sorted(sources)
    return None


def without_gradient(snapshot: Snapshot, values: Values, hits: Mapping[int, RuleHit]) -> dict[int, str]:
    """Excuse variables whose gradient is 0: that is an alert of its own."""
    known = tensors(snapshot)
    zeros = _zero_ops(snapshot)
    still = {
        known.variables[site]
        for site in known.of(Role.GRADIENT)
        if snapshot.catalog.sites[site].op in zeros and site in known.variables
    }
    return {
        site: "Its gradient is 0, which is an alert of its own."
        for site in hits
        if known.variables[site] in still
    }
