"""The numbers that were recorded of a tensor, in the terms of the HTTP contract.

Turns rows of ``graph_executions`` or ``execution_outputs`` into JSON-like values: the summary vector of
Debugger V2, and a breakdown with names.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, TypedDict

from tb_debugger_plugin.analysis.snapshot import Json, Snapshot
from tb_debugger_plugin.events.dtypes import dtype_name
from tb_debugger_plugin.events.modes import (
    DIMS,
    EXPONENTS,
    MEASURED,
    SHAPE_DIMS,
    SUMMARY_COLUMNS,
    TensorDebugMode,
    spec_of,
)
from tb_debugger_plugin.index.tensors import BAD, NOT_MEASURED

#: The columns that these functions need.
COLUMNS: Final = ("tensor_id", "device_id", "mode", "health", "dtype", "rank", "shape", *MEASURED)
SELECT: Final = ", ".join(f"t.{name}" for name in COLUMNS)

Row: TypeAlias = Json


class HealthJson(TypedDict):
    """The numbers of a tensor."""

    graph_execution_index: int | None  #: position of the trace; null for an output of an execution
    debug_tensor_value: list[float | None] | None  #: the [summary](event-format.md#summaries)
    tensor_debug_mode: int  #: number of the [mode](event-format.md#summaries)
    dtype: str | None  #: name such as `float32`
    rank: int | None  #: number of dimensions
    shape: list[int | None] | None  #: dimensions; one that is not known is null
    size: float | None  #: number of elements
    neg_inf: float | None  #: number of elements that are −∞, +∞ and NaN
    pos_inf: float | None
    nan: float | None
    negative: float | None  #: number of finite elements of each sign
    zero: float | None
    positive: float | None
    min: float | None  #: of the finite elements; only in FULL_NUMERICS
    max: float | None
    mean: float | None
    variance: float | None
    bad: bool | None  #: whether there is a NaN or an infinity


def as_row(values: Iterable[object]) -> Json:
    """Make a row from the values of :data:`SELECT`."""
    return dict(zip(COLUMNS, values, strict=True))


def finite(value: float | None) -> float | None:
    """Return a number that JSON can represent; None in place of NaN and infinities."""
    return value if value is not None and math.isfinite(value) else None


def summary_vector(snapshot: Snapshot, row: Row, *, eager: bool) -> list[float | None] | None:
    """Return the vector of the file, as Debugger V2's ``debug_tensor_value``.

    Args:
      snapshot: The run.
      row: The tensor.
      eager: Whether it is an eager op's output, whose vector holds -1 instead of the tensor id.

    Returns:
      The vector; None when nothing was recorded of the tensor, or the tensor itself instead of a summary.
    """
    try:
        mode = TensorDebugMode(row["mode"])
    except ValueError:
        return None
    if mode not in SUMMARY_COLUMNS or not spec_of(mode).is_recorded:
        return None
    if row["health"] == NOT_MEASURED and row["size"] is None:
        return None
    special = _special_slots(snapshot, row, eager=eager, has_dims=DIMS[0] in SUMMARY_COLUMNS[mode])
    # Counts by exponent are for `analysis/precision` alone.
    return [_slot(name, row, special) for name in SUMMARY_COLUMNS[mode] if name not in EXPONENTS]


def _special_slots(snapshot: Snapshot, row: Row, *, eager: bool, has_dims: bool) -> dict[str, float | None]:
    slots: dict[str, float | None] = {
        "tensor_id": -1.0 if eager else row["tensor_id"],
        "device_id": -1.0 if eager else row["device_id"],
        "any_bad": float(row["health"] == BAD),
    }
    if has_dims:
        slots.update(_padded_dims(snapshot.catalog.dims(row["shape"]) or []))
    return slots


def _padded_dims(dims: list[int | None]) -> dict[str, float]:
    last = [float(dim or 0) for dim in dims[-SHAPE_DIMS:]]
    return dict(zip(DIMS, last + [0.0] * (SHAPE_DIMS - len(last)), strict=True))


def _slot(name: str, row: Row, special: Mapping[str, float | None]) -> float | None:
    value = special[name] if name in special else row[name]
    return finite(None if value is None else float(value))


def health(snapshot: Snapshot, row: Row, *, index: int | None, eager: bool = False) -> Json:
    """Return our own breakdown of a tensor.

    Args:
      snapshot: The run.
      row: The tensor.
      index: Its position in the list of graph executions; None when it is an eager op's output.
      eager: As for :func:`summary_vector`.

    Returns:
      The object called *Health* in the HTTP contract.
    """
    dims = snapshot.catalog.dims(row["shape"])
    rank = row["rank"] if row["rank"] >= 0 else None
    return {
        "graph_execution_index": index,
        "debug_tensor_value": summary_vector(snapshot, row, eager=eager),
        "tensor_debug_mode": row["mode"],
        "dtype": dtype_name(row["dtype"]),
        "rank": rank if rank is not None or dims is None else len(dims),
        "shape": dims,
        **{name: finite(row[name]) for name in MEASURED},
        "bad": None if row["health"] == NOT_MEASURED else row["health"] == BAD,
    }
