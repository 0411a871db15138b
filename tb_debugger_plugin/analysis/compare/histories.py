"""The occurrences of one tensor in two runs, side by side.

Takes two snapshots and a value of the first run. Returns the recorded numbers of the occurrences that belong
together, with their difference and the tolerance. Of a long history evenly spread occurrences are given, with
those that matter among them: the one that is meant, and the first that differs materially.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.compare.comparison import ComparedSide
from tb_debugger_plugin.analysis.compare.measuring import (
    ComparisonSettings,
    aligned,
    allowed,
    differences,
    shared_shapes,
)
from tb_debugger_plugin.analysis.compare.outline import EagerKey, Node, Outline
from tb_debugger_plugin.analysis.compare.places import ComparedPlace
from tb_debugger_plugin.analysis.compare.prepared import prepared, side_at
from tb_debugger_plugin.analysis.snapshot import Columns, JsonObject, Snapshot
from tb_debugger_plugin.analysis.values.recorded_value import RecordedValue, find_value
from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.events.modes import MEASURED

_DEFAULT: Final = ComparisonSettings()


@dataclass(frozen=True)
class Histories(JsonObject):
    """The histories of a tensor in two runs.

    Attributes:
      first: The tensor in the first run, with the summary of the value that was asked for.
      second: The same in the second run; None if it has no such tensor on record.
      total: How many occurrences belong together.
      occurrence: The position of the value among them; None if it has no partner.
      is_unordered: Whether occurrences may change places, in loops and threads.
      columns: ``occurrence``, ``first_index``, ``second_index``, the numbers of both runs as ``first_mean``
        and so on, ``difference`` (infinite where shape, NaN or infinities differ, NaN where the runs have no
        number in common) and ``tolerance``.
    """

    first: ComparedSide
    second: ComparedSide | None
    total: int
    occurrence: int | None
    is_unordered: bool
    columns: Columns

    MEMBERS = "first second total occurrence is_unordered"


def histories(
    first: Snapshot,
    second: Snapshot,
    *,
    graph_execution: int | None = None,
    execution: int | None = None,
    slot: int = 0,
    most: int = 500,
    settings: ComparisonSettings = _DEFAULT,
) -> Histories:
    """Compare the occurrences of a tensor.

    Args:
      first, second: The runs.
      graph_execution: The position of a value in the first run's list of graph executions.
      execution: Or in its list of executions.
      slot: The output, for an execution.
      most: About how many occurrences are given at most.
      settings: How they are compared.

    Raises:
      QueryError: There is no such value in the first run.
    """
    value = find_value(first, graph_execution=graph_execution, execution=execution, slot=slot)
    ground = prepared(first, second)
    key = _key(value)
    here = side_at(first, ground.outlines[0], _node(value, key, ground.outlines[0]), value.slot, value.index)
    pair = next((pair for pair in ground.pairs if _has(pair.first, key, value.slot)), None)
    if pair is None:
        return Histories(here, None, 0, None, False, _no_columns())
    job = ground.job(first, second, settings)
    rows = aligned(job, [pair])
    found = differences(rows.first, rows.second, shared_shapes(first, second))
    limits = allowed(job, [pair], rows.first, found)
    at = np.flatnonzero(rows.first.columns["idx"] == value.index)[:1]
    partner = int(rows.second.columns["idx"][at[0]]) if len(at) else None
    material = np.flatnonzero(found.relative > limits)[:1]
    chosen = _spread(len(limits), most, np.concatenate([at, material]))
    return Histories(
        here,
        side_at(second, ground.outlines[1], pair.pair.second, value.slot, partner),
        len(limits),
        int(at[0]) if len(at) else None,
        pair.first.node in ground.unordered,
        {
            "occurrence": chosen.astype(np.float64),
            **_of_run("first", rows.first.columns, chosen),
            **_of_run("second", rows.second.columns, chosen),
            "difference": found.relative[chosen].astype(np.float64),
            "tolerance": limits[chosen].astype(np.float64),
        },
    )


def _key(value: RecordedValue) -> EagerKey | int:
    """Return the site of a value of a graph, or the key of an eager execution."""
    rows = value.snapshot.rows
    if not value.is_execution:
        ((site,),) = rows("SELECT site FROM graph_executions WHERE idx = ?", [value.index])
        return int(site)
    (key,) = rows("SELECT host, thread, op_type, stack FROM executions WHERE idx = ?", [value.index])
    return EagerKey(*key)


def _node(value: RecordedValue, key: EagerKey | int, made: Outline) -> Node:
    if isinstance(key, EagerKey):
        return made.nodes[made.of_eager[key]]
    node = made.of_op.get(value.snapshot.catalog.sites[key].op)
    if node is None:
        raise NotFoundError(f"The op of {value.name} is not described on record, so it cannot be compared.")
    return made.nodes[node]


def _has(place: ComparedPlace, key: EagerKey | int, slot: int) -> bool:
    return place.slot == slot and key in place.keys if isinstance(key, EagerKey) else key in place.sites


def _spread(total: int, most: int, kept: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return evenly spread positions, and those to keep, in order."""
    evenly = np.linspace(0, total - 1, min(total, most)).round().astype(np.int64)
    return np.unique(np.concatenate([evenly, kept]))


def _of_run(name: str, columns: Columns, chosen: npt.NDArray[np.int64]) -> Columns:
    numbers = {f"{name}_{one}": columns[one][chosen].astype(np.float64) for one in MEASURED}
    return {f"{name}_index": columns["idx"][chosen].astype(np.float64), **numbers}


def _no_columns() -> Columns:
    none = np.zeros(0, np.float64)
    names = [f"{name}_{one}" for name in ("first", "second") for one in ("index", *MEASURED)]
    return {name: none for name in ("occurrence", *names, "difference", "tolerance")}
