"""Reads the selected elements of a recorded tensor.

Takes the elements as they lie in the file, and a slicing. Returns an array, or its blocks one by one.

Invariant: no bytes are read outside the range of the selected elements, and beside the result no more than a
few megabytes are in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.values.slicing import Slicing
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.dtypes import dtype_name
from tb_debugger_plugin.events.numbers import Array, widened
from tb_debugger_plugin.index.stored_tensor import StoredElements

#: The most dimensions of an array.
_MAX_DIMS: Final = 64 if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else 32
#: The most elements of an array; each has 16 bytes at most.
_MAX_SIZE: Final = (1 << 59) - 1
#: Bytes between two elements up to which it is faster to read what lies between them.
_NEAR_BYTES: Final = 1 << 12
#: Bytes that are read at once.
_CHUNK_BYTES: Final = 1 << 22


def read_slice(elements: StoredElements, slicing: Slicing) -> Array:
    """Return the selected elements.

    Args:
      elements: The elements of the tensor.
      slicing: Which of them.

    Raises:
      BadQueryError: NumPy has no arrays of so many dimensions, or of such a shape.
      FormatError: The file has changed.
    """
    check_dims(slicing)
    return _read_flat(elements, slicing).reshape(slicing.shape)


@dataclass(frozen=True)
class SlicedElements:
    """Elements as a value of which slices are read."""

    elements: StoredElements

    @property
    def dtype(self) -> str:
        """The name of the dtype."""
        return dtype_name(self.elements.dtype) or "unknown"

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape."""
        return self.elements.shape

    def read(self, slicing: Slicing) -> Array:
        """Return a slice."""
        return read_slice(self.elements, slicing)


def check_dims(slicing: Slicing) -> None:
    """Check that a slice can be an array.

    Raises:
      BadQueryError: NumPy has no arrays of so many dimensions, or of such a shape.
    """
    # NumPy multiplies the sizes except for those that are 0.
    if math.prod(size for size in slicing.shape if size) > _MAX_SIZE:
        raise BadQueryError(f"There are no arrays of shape {list(slicing.shape)}: choose a smaller slice.")
    if len(slicing.shape) > _MAX_DIMS:
        raise BadQueryError(
            f"The slice has {len(slicing.shape)} dimensions, but an array has at most {_MAX_DIMS}: put an"
            " index in place of some."
        )


class _Run(NamedTuple):
    """The selected elements along one axis: how far apart they are in the file, and their number."""

    distance: int
    length: int


def _read_flat(elements: StoredElements, slicing: Slicing) -> Array:
    # A tensor may have more dimensions than an array, but not more than 53 with two elements or more.
    axes = [axis for axis in slicing.axes if axis.count != 1]
    out = np.empty([axis.count for axis in axes], elements.kind)
    if out.size:
        base, runs = _runs(slicing)
        flips = tuple(slice(None, None, 1 if axis.step > 0 else -1) for axis in axes)
        _fill(out[flips] if flips else out, elements, runs, base)
    return out.reshape(-1)


def _runs(slicing: Slicing) -> tuple[int, list[_Run]]:
    """Return the position of the first selected element in the file, and the axes with several elements."""
    base, stride, runs = 0, 1, []
    for axis, size in zip(reversed(slicing.axes), reversed(slicing.dims), strict=True):
        lowest = axis.first if axis.step > 0 else axis.first + (axis.count - 1) * axis.step
        base += lowest * stride
        if axis.count > 1:
            runs.append(_Run(abs(axis.step) * stride, axis.count))
        stride *= size
    return base, runs[::-1]


def _fill(out: Array, elements: StoredElements, runs: Sequence[_Run], base: int) -> None:
    """Read into ``out`` the elements that begin at a position."""
    if not runs:
        out[...] = elements.read(base, base + 1)[0]
    elif runs[0].distance * elements.kind.itemsize <= _NEAR_BYTES or _are_adjacent(runs):
        _fill_at_once(out, elements, runs, base)
    else:
        for number in range(runs[0].length):
            _fill(out[number, ...], elements, runs[1:], base + number * runs[0].distance)


def _as_builtin(values: Array) -> Array:
    """Return the same bytes in a dtype of NumPy's own: ``as_strided`` does not know float8."""
    return values.view(f"u{values.dtype.itemsize}") if values.dtype.isbuiltin == 2 else values


def _are_adjacent(runs: Sequence[_Run]) -> bool:
    """Whether nothing lies between the elements."""
    distances = [run.length * run.distance for run in runs[1:]] + [1]
    return [run.distance for run in runs] == distances


def _fill_at_once(out: Array, elements: StoredElements, runs: Sequence[_Run], base: int) -> None:
    """Read some rows at a time, with everything between the selected elements."""
    (distance, count), inner, size = runs[0], runs[1:], elements.kind.itemsize
    span = sum((run.length - 1) * run.distance for run in inner)
    strides = [run.distance * size for run in runs]
    rows = max(1, _CHUNK_BYTES // (distance * size))
    for begin in range(0, count, rows):
        end = min(count, begin + rows)
        part = elements.read(base + begin * distance, base + (end - 1) * distance + span + 1)
        shape = [end - begin, *(run.length for run in inner)]
        chosen = np.lib.stride_tricks.as_strided(_as_builtin(part), shape, strides, writeable=False)
        _as_builtin(out[begin:end])[...] = chosen


def windows(slicing: Slicing, max_elements: int) -> Iterator[Slicing]:
    """Yield parts of a slicing that follow each other in row-major order.

    Args:
      slicing: The slicing.
      max_elements: The most elements of one part.
    """
    shape = slicing.shape
    if slicing.size <= max_elements or not shape:
        if slicing.size:
            yield slicing
        return
    row = slicing.size // shape[0]
    rest = [(0, size) for size in shape[1:]]
    if row <= max_elements:
        rows = max(1, max_elements // row)
        for begin in range(0, shape[0], rows):
            yield slicing.window((begin, min(shape[0], begin + rows)), *rest)
        return
    for number in range(shape[0]):
        one = slicing.window((number, number + 1), *rest)
        yield from _windows_of_row(one, max_elements)


def _windows_of_row(row: Slicing, max_elements: int) -> Iterator[Slicing]:
    """Yield the windows of a slicing whose first axis has one element, without that axis."""
    position = next(number for number, axis in enumerate(row.axes) if axis.is_kept)
    axes = list(row.axes)
    axes[position] = replace(axes[position], is_kept=False)
    yield from windows(replace(row, axes=tuple(axes)), max_elements)


def blocks(elements: StoredElements, slicing: Slicing, max_bytes: int | None = None) -> Iterator[Array]:
    """Yield the selected elements in row-major order as flat arrays.

    Args:
      elements: The elements of the tensor.
      slicing: Which of them.
      max_bytes: The most bytes of one array; None = 4 MiB.

    Raises:
      FormatError: The file has changed.
    """
    most = _CHUNK_BYTES if max_bytes is None else max_bytes
    for window in windows(slicing, max(1, most // elements.kind.itemsize)):
        yield _read_flat(elements, window)


#: What of a complex number is taken, by name.
PARTS: Final[dict[str, Callable[[Array], Array]]] = {
    "abs": np.abs,
    "real": np.real,
    "imag": np.imag,
    "angle": np.angle,
}


def check_numeric(elements: StoredElements) -> None:
    """Check that the elements of a tensor are numbers.

    Raises:
      BadQueryError: They are strings.
    """
    if elements.kind.kind == "O":
        raise BadQueryError("A tensor of strings has no numbers; values/text gives its elements.")


def real_numbers(values: Array, part: str) -> Array:
    """Return values as NumPy's own real dtypes; bool as it is.

    Args:
      values: Any numeric or bool array.
      part: A key of :data:`PARTS`, for complex numbers.
    """
    # A signalling NaN, which no program computes and a damaged file may hold, is no reason to warn.
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(PARTS[part](values)) if values.dtype.kind == "c" else widened(values)


def as_float64(values: Array) -> npt.NDArray[np.float64]:
    """Return numbers as float64."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)
