"""Rows of the long lists by place and occurrence, as arrays.

Takes a snapshot and some places. Returns the recorded numbers ordered by place and occurrence. Invariant: a
call reads no more rows than the places have, so the caller bounds the memory by the places it asks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.compare.places import ComparedPlace
from tb_debugger_plugin.analysis.snapshot import Columns, Snapshot
from tb_debugger_plugin.events.modes import MEASURED
from tb_debugger_plugin.events.numbers import Array

_SELECT: Final = ", ".join(f"t.{name}" for name in ("mode", "health", "dtype", "shape", *MEASURED))


@dataclass(frozen=True)
class PlaceRows:
    """Rows of some places, ordered by place and occurrence.

    Attributes:
      place: The position of the place among those asked for.
      nth: How often the place came before.
      columns: ``idx``, ``wall_time``, ``mode``, ``health``, ``dtype``, ``shape`` and the recorded numbers.
    """

    place: npt.NDArray[np.int64]
    nth: npt.NDArray[np.int64]
    columns: Columns

    def take(self, chosen: Array) -> PlaceRows:
        """Return some of the rows."""
        columns = {name: values[chosen] for name, values in self.columns.items()}
        return PlaceRows(self.place[chosen], self.nth[chosen], columns)


def read_rows(snapshot: Snapshot, wanted: Sequence[ComparedPlace], limit: int) -> PlaceRows:
    """Read the rows of some places, which are either all of graphs or all of eager executions.

    Args:
      snapshot: The run.
      wanted: The places.
      limit: The most rows of all places together.
    """
    eager = bool(wanted and wanted[0].keys)
    columns = _eager(snapshot, wanted, limit) if eager else _of_graphs(snapshot, wanted, limit)
    place = columns.pop("place").astype(np.int64)
    order = np.lexsort((columns["idx"], place))
    place = place[order]
    begins = np.searchsorted(place, np.arange(len(wanted)))
    nth = np.arange(len(place)) - begins[place] if len(place) else np.zeros(0, np.int64)
    return PlaceRows(place, nth, {name: values[order] for name, values in columns.items()})


def _bound(wanted: Sequence[ComparedPlace], limit: int) -> str:
    # NumPy sorts faster: DuckDB would keep the best of many columns.
    return f"ORDER BY t.idx LIMIT {limit}" if sum(place.count for place in wanted) > limit else ""


def _of_graphs(snapshot: Snapshot, wanted: Sequence[ComparedPlace], limit: int) -> Columns:
    catalog = snapshot.catalog
    number = np.full(len(catalog.sites), -1, np.int64)
    for at, place in enumerate(wanted):
        number[list(place.sites)] = at
    sites = np.flatnonzero(number >= 0)
    columns = snapshot.columns(
        f"SELECT t.idx, t.wall_time, t.site, {_SELECT} FROM graph_executions t"
        f" WHERE t.site IN (SELECT unnest(?)) {_bound(wanted, limit)}",
        [sites.tolist()],
    )
    site = columns.pop("site").astype(np.int64)
    dtype, shape = catalog.site_statics
    columns["dtype"] = np.where(columns["dtype"] == 0, dtype[site], columns["dtype"])
    columns["shape"] = np.where(columns["shape"] < 0, shape[site], columns["shape"])
    return {**_with_known_shapes(snapshot, columns), "place": number[site]}


def _with_known_shapes(snapshot: Snapshot, columns: Columns) -> Columns:
    """Return the columns with shape -1 where a dimension is not known before the graph runs."""
    is_known = np.array([*("?" not in text for text in snapshot.catalog.shapes), False])
    return {**columns, "shape": np.where(is_known[columns["shape"]], columns["shape"], -1)}


def _eager(snapshot: Snapshot, wanted: Sequence[ComparedPlace], limit: int) -> Columns:
    keys = [(*key, place.slot, at) for at, place in enumerate(wanted) for key in place.keys]
    host, thread, op_type, stack, slot, at = (list(column) for column in zip(*keys, strict=True))
    return snapshot.columns(
        "WITH keys AS (SELECT unnest(?) AS host, unnest(?) AS thread, unnest(?) AS op_type,"
        " unnest(?) AS stack, unnest(?) AS slot, unnest(?) AS place)"
        f" SELECT t.idx, e.wall_time, k.place, {_SELECT}"
        " FROM execution_outputs t JOIN executions e USING (idx)"
        " JOIN keys k ON (k.host, k.thread, k.op_type, k.stack, k.slot)"
        f" = (e.host, e.thread, e.op_type, e.stack, t.slot) WHERE t.has_value {_bound(wanted, limit)}",
        [host, thread, op_type, stack, slot, at],
    )
