"""Recorded tensors into columns of numbers.

In come ``TensorProto`` messages with the mode they were recorded in, out come NumPy columns, one row a
tensor: what each mode measured, NaN where it did not. Summaries are decoded all at once by mode; a whole
tensor (FULL_TENSOR) is counted here, so that it has the same columns as a full health summary.

Rule: any bytes are accepted; what makes no sense becomes "not measured".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events import dtypes
from tb_debugger_plugin.events.modes import SHAPE_DIMS, SUMMARY_COLUMNS, TensorDebugMode

Floats = npt.NDArray[np.float64]
Rows = list[int] | npt.NDArray[np.int64]

#: Columns of numbers, NaN = not measured.
NUMBERS: Final = (
    *("size", "neg_inf", "pos_inf", "nan", "negative", "zero", "positive"),
    *("min", "max", "mean", "variance"),
)
NOT_MEASURED: Final = 0
GOOD: Final = 1
BAD: Final = 2

_RAW: Final = ("tensor_id", "device_id", "dtype", "rank", "any_bad", "any_neg_inf", "any_pos_inf", "any_nan")
_BAD_SIGNS: Final = ("any_bad", "any_neg_inf", "any_pos_inf", "any_nan", "neg_inf", "pos_inf", "nan")
_HEALTH_MODES: Final = frozenset(SUMMARY_COLUMNS) - {TensorDebugMode.SHAPE}
_FLOAT64: Final = 2
_MAX_RANK: Final = 254
_VALUE_FIELDS: Final = (
    *("float_val", "double_val", "int_val", "int64_val", "bool_val"),
    *("half_val", "uint32_val", "uint64_val", "scomplex_val", "dcomplex_val"),
)


def shape_text(dims: Sequence[int]) -> str:
    """``[32, 10]``, with ``?`` for a dimension below 0, which means not known."""
    return "[" + ", ".join("?" if dim < 0 else str(dim) for dim in dims) + "]"


@dataclass(frozen=True)
class Summaries:
    """The columns of some tensors, one row each.

    Attributes:
      columns: ``tensor_id`` and those of :data:`NUMBERS` (float64, NaN = not measured), ``device_id``,
        ``mode``, ``health``, ``dtype``, ``rank`` and ``shape`` (integers; -1 = not known for rank and shape).
    """

    columns: dict[str, npt.NDArray[Any]]


class _Table:
    def __init__(self, rows: int) -> None:
        self.data: dict[str, Floats] = {name: np.full(rows, np.nan) for name in (*_RAW, *NUMBERS)}
        self.shape = np.full(rows, -1, np.int32)

    def put(self, rows: Rows, names: Sequence[str], values: Floats) -> None:
        for column, name in enumerate(names):
            if name in self.data:
                self.data[name][rows] = values[:, column]


def summarize(
    modes: Sequence[int], protos: Sequence[Any], intern_shape: Callable[[str, int], int]
) -> Summaries:
    """Turn recorded tensors into columns.

    Args:
      modes: Tensor debug mode of each.
      protos: The ``TensorProto`` of each; None where there is none.
      intern_shape: Gives the number of a shape from its text and rank.

    Returns:
      One row for each, in order.
    """
    modes = [_mode_of_value(mode, proto) for mode, proto in zip(modes, protos, strict=True)]
    table = _Table(len(protos))
    counted = np.zeros(len(protos), bool)
    for mode, rows in _vector_rows(modes, protos).items():
        values = _vectors(mode, [protos[row] for row in rows])
        table.put(rows, SUMMARY_COLUMNS[mode], values)
        if mode is TensorDebugMode.SHAPE:
            table.shape[rows] = _summary_shapes(values, intern_shape)
        counted[rows] = mode in _HEALTH_MODES
    for row, (mode_number, proto) in enumerate(zip(modes, protos, strict=True)):
        if mode_number == TensorDebugMode.FULL_TENSOR and proto is not None and proto.dtype:
            counted[row] = _put_whole_tensor(table, row, proto, intern_shape)
    return Summaries(_columns(table, np.asarray(modes, np.int64), counted))


def _mode_of_value(mode: int, proto: Any) -> int:
    """The mode of a value: that of its record, or of the summary in place of a tensor too large."""
    if mode == TensorDebugMode.FULL_TENSOR and proto is not None and proto.summary_mode:
        return int(proto.summary_mode)
    return mode


def summarize_vectors(
    count: int,
    vectors: Mapping[TensorDebugMode, Sequence[tuple[Rows, Floats]]],
    intern_shape: Callable[[str, int], int],
) -> Summaries:
    """Turn summaries that are vectors already into columns.

    Args:
      count: How many tensors there are.
      vectors: By mode: which of the tensors, and the vector of each, as long as the mode wants it. Each
        tensor is in exactly one of them.
      intern_shape: As for :func:`summarize`.

    Returns:
      One row for each, in order.
    """
    table = _Table(count)
    modes = np.zeros(count, np.int64)
    counted = np.zeros(count, bool)
    for mode, parts in vectors.items():
        for rows, values in parts:
            table.put(rows, SUMMARY_COLUMNS.get(mode, ()), values)
            if mode is TensorDebugMode.SHAPE:
                table.shape[rows] = _summary_shapes(values, intern_shape)
            modes[rows] = mode
            counted[rows] = mode in _HEALTH_MODES
    return Summaries(_columns(table, modes, counted))


def _vector_rows(modes: Sequence[int], protos: Sequence[Any]) -> dict[TensorDebugMode, list[int]]:
    sizes = {int(mode): len(names) for mode, names in SUMMARY_COLUMNS.items()}
    rows: dict[TensorDebugMode, list[int]] = defaultdict(list)
    for row, (mode, proto) in enumerate(zip(modes, protos, strict=True)):
        size = sizes.get(mode)
        if size is not None and proto is not None and _holds_vector(proto, size):
            rows[TensorDebugMode(mode)].append(row)
    return rows


def _holds_vector(proto: Any, size: int) -> bool:
    if proto.dtype == _FLOAT64 and len(proto.tensor_content) == 8 * size:
        return True
    if not proto.dtype:
        return False
    values = whole_tensor(proto)
    return values is not None and values.size == size and values.dtype.kind in "fiub"


def _vectors(mode: TensorDebugMode, protos: list[Any]) -> Floats:
    size = len(SUMMARY_COLUMNS[mode])
    if all(len(proto.tensor_content) == 8 * size for proto in protos):
        return np.frombuffer(b"".join(proto.tensor_content for proto in protos), "<f8").reshape(-1, size)
    arrays = [whole_tensor(proto) for proto in protos]
    return np.array([a.astype(np.float64).ravel() for a in arrays if a is not None]).reshape(-1, size)


def _summary_shapes(values: Floats, intern_shape: Callable[[str, int], int]) -> npt.NDArray[np.int32]:
    with np.errstate(invalid="ignore"):
        keys = np.nan_to_num(values[:, [2, *range(4, 4 + SHAPE_DIMS)]]).clip(-1, 2**53).astype(np.int64)
    unique, inverse = np.unique(keys, axis=0, return_inverse=True)
    numbers = [intern_shape(*_padded_shape(int(key[0]), key[1:].tolist())) for key in unique]
    return np.asarray(numbers, np.int32)[inverse.reshape(-1)]


def _padded_shape(rank: int, dims: list[int]) -> tuple[str, int]:
    rank = max(0, min(rank, _MAX_RANK))
    shown = dims[:rank] if rank <= SHAPE_DIMS else [-1] * (rank - SHAPE_DIMS) + dims
    return shape_text(shown), rank


def _put_whole_tensor(table: _Table, row: int, proto: Any, intern_shape: Callable[[str, int], int]) -> bool:
    dims = [dim.size for dim in proto.tensor_shape.dim][:_MAX_RANK]
    table.data["dtype"][row] = proto.dtype
    table.data["rank"][row] = len(dims)
    table.shape[row] = intern_shape(shape_text(dims), len(dims))
    table.data["size"][row] = (
        float(np.prod(np.asarray(dims, np.float64))) if min(dims, default=0) >= 0 else np.nan
    )
    values = whole_tensor(proto)
    if values is None:
        return False
    for name, value in count_values(values).items():
        table.data[name][row] = value
    return True


def count_values(values: npt.NDArray[Any]) -> dict[str, float]:
    """Full health of a whole tensor: how many of its elements are of each kind.

    Args:
      values: Any numeric or bool array. A complex number is NaN, or infinite, when one of its parts is; its
        sign is that of its real part, or of the imaginary one where the real one is 0.

    Returns:
      ``size``, ``neg_inf``, ``pos_inf``, ``nan``, ``negative``, ``zero``, ``positive``.
    """
    real = np.where(values.real == 0, values.imag, values.real) if values.dtype.kind == "c" else values
    nan = np.isnan(values) if values.dtype.kind in "fc" else np.zeros(values.shape, bool)
    infinite = (np.isinf(values) if values.dtype.kind in "fc" else nan) & ~nan
    finite = real[~nan & ~infinite]
    neg_inf = int(np.count_nonzero(infinite & (real < 0)))
    negative = int(np.count_nonzero(finite < 0)) if finite.dtype.kind in "fi" else 0
    zero = int(np.count_nonzero(finite == 0))
    return {
        "size": values.size,
        "neg_inf": neg_inf,
        "pos_inf": int(np.count_nonzero(infinite)) - neg_inf,
        "nan": int(np.count_nonzero(nan)),
        "negative": negative,
        "zero": zero,
        "positive": finite.size - negative - zero,
    }


def whole_tensor(proto: Any) -> npt.NDArray[Any] | None:
    """The values of a ``TensorProto``, flat.

    Args:
      proto: Written by TensorFlow or by us: bytes in ``tensor_content`` or elements in a ``*_val`` field,
        whose last one stands for all that follow.

    Returns:
      A flat array (dtypes that NumPy has not as wider ones); None when the dtype has no numbers or the bytes
      do not fit the shape.
    """
    kind = dtypes.NUMPY.get(proto.dtype)
    if kind is None:
        return None
    dims = [dim.size for dim in proto.tensor_shape.dim]
    if proto.tensor_shape.unknown_rank or min(dims, default=0) < 0:
        return None
    size = 1
    for dim in dims:
        size *= dim
    if proto.tensor_content:
        return _from_content(proto, kind, size)
    return _from_values(proto, kind, size)


def _from_content(proto: Any, kind: str, size: int) -> npt.NDArray[Any] | None:
    if len(proto.tensor_content) != size * np.dtype(kind).itemsize:
        return None
    return _widened(proto.dtype, np.frombuffer(proto.tensor_content, kind))


def _widened(dtype: int, raw: npt.NDArray[Any]) -> npt.NDArray[Any]:
    if dtype == dtypes.BFLOAT16:
        return (raw.astype(np.uint32) << 16).view(np.float32)
    if dtype == dtypes.FLOAT8_E5M2:
        return (raw.astype(np.uint16) << 8).view(np.float16)
    if dtype == dtypes.FLOAT8_E4M3FN:
        return _e4m3fn(raw)
    return raw


def _e4m3fn(raw: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Four bits of exponent, three of fraction, no infinity and one NaN of either sign."""
    bits = np.arange(128)
    exponent, fraction = bits >> 3, bits & 7
    values = np.ldexp(np.where(exponent > 0, fraction + 8.0, fraction), np.maximum(exponent, 1) - 10)
    values[0x7F] = np.nan
    return np.concatenate([values, -values]).astype(np.float32)[raw]


def _from_values(proto: Any, kind: str, size: int) -> npt.NDArray[Any] | None:
    values = next((getattr(proto, name) for name in _VALUE_FIELDS if len(getattr(proto, name))), None)
    if values is None:
        # All elements are the dtype's zero, which protobuf leaves out; a shape alone must not cost memory.
        return np.zeros(size, kind) if size <= 1 else None
    array = _elements(proto, values, kind)
    if array is None or not 0 < array.size <= size:
        return None
    # One value may stand for a huge tensor: what matters of it is counted once.
    return np.concatenate([array, np.broadcast_to(array[-1], size - array.size)]) if size < 1 << 24 else None


def _elements(proto: Any, values: Any, kind: str) -> npt.NDArray[Any] | None:
    try:
        # What does not fit its type is damage: any number may come out of it, but no warning.
        with np.errstate(invalid="ignore", over="ignore"):
            if proto.dtype in (dtypes.NUMBERS["float16"], dtypes.BFLOAT16) and len(proto.half_val):
                raw = np.array(proto.half_val, np.int64).astype(np.uint16)
                return _widened(proto.dtype, raw if proto.dtype == dtypes.BFLOAT16 else raw.view("<f2"))
            if kind in ("<c8", "<c16"):
                return np.array(values, np.float64).view(np.complex128)
            return np.array(values).astype(kind)
    except (ValueError, OverflowError):
        return None


def _columns(
    table: _Table, modes: npt.NDArray[np.int64], counted: npt.NDArray[np.bool_]
) -> dict[str, npt.NDArray[Any]]:
    data = table.data
    with np.errstate(invalid="ignore"):
        bad = np.logical_or.reduce([data[name] > 0 for name in _BAD_SIGNS])
    columns: dict[str, npt.NDArray[Any]] = {name: data[name] for name in ("tensor_id", *NUMBERS)}
    columns["device_id"] = _integers(data["device_id"], -1, 2**15 - 1, -1, np.int16)
    columns["mode"] = np.clip(modes, 0, 255).astype(np.uint8)
    columns["health"] = np.where(counted, np.where(bad, BAD, GOOD), NOT_MEASURED).astype(np.uint8)
    columns["dtype"] = _integers(data["dtype"], 0, 255, 0, np.uint8)
    columns["rank"] = _integers(data["rank"], 0, _MAX_RANK, -1, np.int16)
    columns["shape"] = table.shape
    return columns


def _integers(values: Floats, low: int, high: int, otherwise: int, kind: Any) -> npt.NDArray[Any]:
    with np.errstate(invalid="ignore"):
        fits = (values >= low) & (values <= high)
    return np.where(fits, values, otherwise).astype(kind)
