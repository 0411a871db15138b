"""Turns recorded tensors into columns of numbers.

Takes ``TensorProto`` messages with the modes they were recorded in. Returns NumPy columns with one row per
tensor: what its mode measured, and NaN elsewhere. Summaries are decoded all at once by mode. A whole tensor
(FULL_TENSOR) is counted here, so that it has the same columns as a summary in EXPONENTS.

Invariant: any bytes are accepted; those that make no sense become "not measured".
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.events.modes import (
    BAD_SIGNS,
    COLUMNS,
    DIMS,
    JUDGING_MODES,
    SHAPE_DIMS,
    STORED,
    SUMMARY_COLUMNS,
    TensorDebugMode,
)
from tb_debugger_plugin.events.numbers import Array, Floats, count_values, exponents_of, moments_of
from tb_debugger_plugin.index.values import MAX_RANK, MAX_SIZE, stored

#: The tensors of a part; a slice means all of them.
Rows = list[int] | npt.NDArray[np.int64] | slice

NOT_MEASURED: Final = 0
GOOD: Final = 1
BAD: Final = 2

_SHAPE_COLUMNS: Final = [SUMMARY_COLUMNS[TensorDebugMode.SHAPE].index(name) for name in ("rank", *DIMS)]
_FLOAT64: Final = 2


def shape_text(dims: Sequence[int]) -> str:
    """Format a shape as ``[32, 10]``, with ``?`` for a dimension below 0, which is not known."""
    return "[" + ", ".join("?" if dim < 0 else str(dim) for dim in dims) + "]"


@dataclass(frozen=True)
class TensorSummaries:
    """The columns of some tensors, one row per tensor.

    Attributes:
      columns: ``tensor_id`` and, of `modes.STORED`, those that are measured of any tensor (float64, NaN = not
        measured); ``device_id``, ``mode``, ``health``, ``dtype``, ``rank`` and ``shape`` (integers; -1 = not
        known for rank and shape).
    """

    columns: dict[str, Array]


class _Table:
    """Columns of numbers; columns that are not measured take no memory, since most modes measure few."""

    def __init__(self, rows: int) -> None:
        self._not_measured = np.broadcast_to(np.float64(np.nan), rows)
        self.data: dict[str, Floats] = dict.fromkeys(COLUMNS, self._not_measured)
        self.shape = np.full(rows, -1, np.int32)

    def put(self, rows: Rows, names: Sequence[str], values: Floats) -> None:
        for column, name in enumerate(names):
            if name not in self.data:
                continue
            if isinstance(rows, slice):
                self.data[name] = values[:, column]
            else:
                self.column(name)[rows] = values[:, column]

    def column(self, name: str) -> Floats:
        """Return a column that can be written to."""
        if self.data[name] is self._not_measured:
            self.data[name] = np.array(self._not_measured)
        return self.data[name]

    def measured(self, names: Sequence[str]) -> dict[str, Floats]:
        """Return the columns of these names that are not empty."""
        return {name: self.data[name] for name in names if self.data[name] is not self._not_measured}


def summarize(
    modes: Sequence[int], protos: Sequence[Message], intern_shape: Callable[[str, int], int]
) -> TensorSummaries:
    """Turn recorded tensors into columns.

    Args:
      modes: The tensor debug mode of each tensor.
      protos: The ``TensorProto`` of each tensor, or None.
      intern_shape: Returns the number of a shape by its text and rank.

    Returns:
      One row for each tensor, in order.
    """
    modes = [_mode_of_value(mode, proto) for mode, proto in zip(modes, protos, strict=True)]
    table = _Table(len(protos))
    counted = np.zeros(len(protos), bool)
    for mode, (rows, values) in _vectors_by_mode(modes, protos).items():
        table.put(rows, SUMMARY_COLUMNS[mode], values)
        if mode is TensorDebugMode.SHAPE:
            table.shape[rows] = _summary_shapes(values, intern_shape)
        counted[rows] = mode in JUDGING_MODES
    for row, (mode_number, proto) in enumerate(zip(modes, protos, strict=True)):
        if mode_number == TensorDebugMode.FULL_TENSOR and proto is not None and proto.dtype:
            counted[row] = _put_whole_tensor(table, row, proto, intern_shape)
    return TensorSummaries(_columns(table, np.asarray(modes, np.int64), counted))


def _mode_of_value(mode: int, proto: Message) -> int:
    """Return the mode of a record, or that of the summary that replaces a tensor that is too large."""
    if mode == TensorDebugMode.FULL_TENSOR and proto is not None and proto.summary_mode:
        return int(proto.summary_mode)
    return mode


def summarize_vectors(
    modes: npt.NDArray[np.integer],
    vectors: Mapping[TensorDebugMode, Sequence[tuple[Rows, Floats]]],
    intern_shape: Callable[[str, int], int],
) -> TensorSummaries:
    """Turn summaries that are already vectors into columns.

    Args:
      modes: The tensor debug mode of each tensor.
      vectors: By mode: the tensors, and the vector of each with as many numbers as the mode has columns. Each
        tensor is in at most one part.
      intern_shape: As for :func:`summarize`.

    Returns:
      One row for each tensor, in order.
    """
    table = _Table(len(modes))
    counted = np.zeros(len(modes), bool)
    for mode, parts in vectors.items():
        for rows, values in parts:
            table.put(rows, SUMMARY_COLUMNS.get(mode, ()), values)
            if mode is TensorDebugMode.SHAPE:
                table.shape[rows] = _summary_shapes(values, intern_shape)
            counted[rows] = mode in JUDGING_MODES
    return TensorSummaries(_columns(table, modes, counted))


def _vectors_by_mode(
    modes: Sequence[int], protos: Sequence[Message]
) -> dict[TensorDebugMode, tuple[list[int], Floats]]:
    sizes = {int(mode): len(names) for mode, names in SUMMARY_COLUMNS.items()}
    vectors: dict[int, dict[int, bytes]] = defaultdict(dict)
    for row, (mode, proto) in enumerate(zip(modes, protos, strict=True)):
        size = sizes.get(mode)
        vector = None if size is None or proto is None else _vector(proto, size)
        if vector is not None:
            vectors[mode][row] = vector
    return {
        TensorDebugMode(mode): (
            list(rows),
            np.frombuffer(b"".join(rows.values()), "<f8").reshape(len(rows), sizes[mode]),
        )
        for mode, rows in vectors.items()
    }


def _vector(proto: Message, size: int) -> bytes | None:
    """Return the numbers of a summary as bytes of float64; None when there are not ``size`` numbers."""
    dtype = proto.dtype
    if not dtype:
        return None
    # The shape does not matter, because the mode determines how many numbers there are.
    if dtype == _FLOAT64 and len(content := proto.tensor_content) == 8 * size:
        return bytes(content)
    tensor = stored(proto)
    if tensor is None or tensor.size != size or tensor.values.dtype.kind not in "fiub":
        return None
    values = tensor.values.astype("<f8")
    return values.tobytes() + values[-1:].tobytes() * tensor.repeats


def _summary_shapes(values: Floats, intern_shape: Callable[[str, int], int]) -> npt.NDArray[np.int32]:
    with np.errstate(invalid="ignore"):
        keys = np.nan_to_num(values[:, _SHAPE_COLUMNS]).clip(-1, 2**53).astype(np.int64)
    unique, inverse = np.unique(keys, axis=0, return_inverse=True)
    numbers = [intern_shape(*_padded_shape(int(key[0]), key[1:].tolist())) for key in unique]
    return np.asarray(numbers, np.int32)[inverse.reshape(-1)]


def _padded_shape(rank: int, dims: list[int]) -> tuple[str, int]:
    rank = max(0, min(rank, MAX_RANK))
    shown = dims[:rank] if rank <= SHAPE_DIMS else [-1] * (rank - SHAPE_DIMS) + dims
    return shape_text(shown), rank


def _put_whole_tensor(
    table: _Table, row: int, proto: Message, intern_shape: Callable[[str, int], int]
) -> bool:
    dims = [dim.size for dim in proto.tensor_shape.dim][:MAX_RANK]
    table.column("dtype")[row] = proto.dtype
    table.column("rank")[row] = len(dims)
    table.shape[row] = intern_shape(shape_text(dims), len(dims))
    if min(dims, default=0) >= 0:
        table.column("size")[row] = _as_float(math.prod(dims))
    tensor = stored(proto)
    if tensor is None:
        return False
    last = count_values(tensor.values[-1:]) if tensor.repeats else {}
    for name, value in count_values(tensor.values).items():
        table.column(name)[row] = value + tensor.repeats * last.get(name, 0)
    for name, value in {
        **moments_of(tensor.values, tensor.repeats),
        **exponents_of(tensor.values, tensor.repeats),
    }.items():
        table.column(name)[row] = value
    return True


def _as_float(size: int) -> float:
    return float(size) if size < MAX_SIZE else math.nan


def _columns(
    table: _Table, modes: npt.NDArray[np.integer], counted: npt.NDArray[np.bool_]
) -> dict[str, Array]:
    data = table.data
    with np.errstate(invalid="ignore"):
        signs = [values > 0 for values in table.measured(BAD_SIGNS).values()]
        bad = np.logical_or.reduce([np.zeros(len(modes), bool), *signs])
    columns: dict[str, Array] = {"tensor_id": data["tensor_id"], **table.measured(STORED)}
    columns["device_id"] = _integers(data["device_id"], -1, 2**15 - 1, -1, np.int16)
    columns["mode"] = np.clip(modes, 0, 255).astype(np.uint8)
    columns["health"] = np.where(counted, np.where(bad, BAD, GOOD), NOT_MEASURED).astype(np.uint8)
    columns["dtype"] = _integers(data["dtype"], 0, 255, 0, np.uint8)
    columns["rank"] = _integers(data["rank"], 0, MAX_RANK, -1, np.int16)
    columns["shape"] = table.shape
    return columns


def _integers(values: Floats, low: int, high: int, default: int, kind: type[np.integer]) -> Array:
    with np.errstate(invalid="ignore"):
        fits = (values >= low) & (values <= high)
    return np.where(fits, values, default).astype(kind)
