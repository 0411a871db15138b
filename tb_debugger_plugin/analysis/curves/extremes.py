"""The largest and slowest things of a run: where a reader looks first when no value is bad.

Takes a snapshot. Returns the tensors with the largest magnitude and with the most elements, and the steps
that took longest. A step takes the time from the end of the one before to its own, with what recording costs;
the first step on record has no time.

Invariant: one pass over the long lists answers, and returns one row for each tensor.
"""

from __future__ import annotations

import statistics
import sys
from typing import Final, TypedDict

import numpy as np

from tb_debugger_plugin.analysis.alerts.search import INTEGERS, LARGEST
from tb_debugger_plugin.analysis.calls.steps import step_ends
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.source.user_lines import user_line

#: What is looked for, as SQL on the columns of a tensor, and which tensors have it.
_KINDS: Final = {
    "largest_values": (LARGEST, f"isfinite({LARGEST}) AND dtype NOT IN ({INTEGERS})"),
    "largest_tensors": ("size", "size > 0"),
}


class ExtremeTensorJson(TypedDict):
    """A tensor, and its most extreme computation."""

    name: str  #: the op and its slot, such as `MatMul:0`; of an eager op its type and slot
    function: str | None  #: name of the graph; null for an eager op
    layer: str | None  #: the layer, or null
    line: str | None  #: the user's line, such as `train.py:68`, or null
    number: float  #: the largest magnitude, or how many elements
    graph_execution: int | None  #: position of the computation in one of the two long lists
    execution: int | None


class SlowStepJson(TypedDict):
    """A step that took long."""

    host: str  #: name of the host
    step: int  #: number of the step
    seconds: float  #: from the end of the step before to its end


class ExtremesJson(TypedDict):
    """The answer of the route ``extremes``."""

    generation: int  #: the [generation](#generations) that the answer is of
    largest_values: list[ExtremeTensorJson]  #: tensors of floats by their largest finite magnitude
    largest_tensors: list[ExtremeTensorJson]  #: tensors by how many elements they have
    slowest_steps: list[SlowStepJson]  #: the slowest first
    median_seconds: float | None  #: the median of all steps with a time; null without any


def extremes(snapshot: Snapshot, count: int) -> ExtremesJson:
    """Return the largest and slowest things of a run.

    Args:
      snapshot: The run.
      count: How many of each to return at most.
    """
    slowest, median = _slowest(snapshot, count)
    return {
        "generation": snapshot.generation,
        "largest_values": _largest(snapshot, "largest_values", count),
        "largest_tensors": _largest(snapshot, "largest_tensors", count),
        "slowest_steps": slowest,
        "median_seconds": median,
    }


def _largest(snapshot: Snapshot, kind: str, count: int) -> list[ExtremeTensorJson]:
    """Return the tensors with the largest numbers of a kind, of graphs and of eager ops."""
    number, where = _KINDS[kind]
    best = f"max({number})::DOUBLE, arg_max(idx, {number})"
    last = f"ORDER BY 1 DESC, 2 LIMIT {count}"
    graphs = snapshot.rows(f"SELECT {best}, site FROM graph_executions WHERE {where} GROUP BY site {last}")
    eager = snapshot.rows(
        f"SELECT {best}, op_type, stack, slot FROM execution_outputs"
        " JOIN (SELECT idx, op_type, stack FROM executions WHERE graph < 0) USING (idx)"
        f" WHERE {where} GROUP BY op_type, stack, slot {last}"
    )
    found = [*(_in_graph(snapshot, *row) for row in graphs), *(_eager(snapshot, *row) for row in eager)]
    return sorted(found, key=lambda one: -one["number"])[:count]


def _in_graph(snapshot: Snapshot, number: float, position: int, at: int) -> ExtremeTensorJson:
    site = snapshot.catalog.sites[at]
    op = snapshot.catalog.ops[site.op]
    return {
        "name": f"{op.name}:{site.slot}",
        "function": snapshot.catalog.graphs[op.graph].name,
        "layer": op.layer,
        "line": _line(snapshot, op.stack),
        "number": number,
        "graph_execution": position,
        "execution": None,
    }


def _eager(
    snapshot: Snapshot, number: float, position: int, op_type: int, stack: int, slot: int
) -> ExtremeTensorJson:
    return {
        "name": f"{snapshot.catalog.op_types[op_type][0]}:{slot}",
        "function": None,
        "layer": None,
        "line": _line(snapshot, stack),
        "number": number,
        "graph_execution": None,
        "execution": position,
    }


def _line(snapshot: Snapshot, stack: int) -> str | None:
    line = user_line(snapshot, stack)
    return None if line is None else line.name


def _slowest(snapshot: Snapshot, count: int) -> tuple[list[SlowStepJson], float | None]:
    """Return the slowest steps of all hosts, and the median time of a step."""
    timed: list[SlowStepJson] = []
    for host, (numbers, ends) in zip(snapshot.catalog.host_names, step_ends(snapshot), strict=True):
        # Where a circular buffer dropped the step before, nobody knows when a step began.
        follows = np.flatnonzero(np.diff(numbers) == 1) + 1
        times = ends.tolist()  # numbers of Python: damaged files have times whose difference is infinite
        for at in follows.tolist():
            seconds = min(max(0.0, times[at] - times[at - 1]), sys.float_info.max)
            timed.append({"host": host or "", "step": int(numbers[at]), "seconds": seconds})
    took = [one["seconds"] for one in timed]
    median = statistics.median_low(took) / 2 + statistics.median_high(took) / 2 if took else None
    return sorted(timed, key=lambda one: -one["seconds"])[:count], median
