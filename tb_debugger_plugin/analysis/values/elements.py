"""Reads the selected elements of a recorded tensor.

Takes the elements as they lie in the file, and a slicing. Returns an array, or its blocks one by one.

Invariant: no bytes are read outside the range of the selected elements, and beside the result no more than a
few megabytes are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.values.slicing import Axis, Slicing
from tb_debugger_plugin.index.stored_tensor import Elements

Array = npt.NDArray[Any]

#: Bytes between two elements up to which it is faster to read what lies between them.
_NEAR_BYTES: Final = 1 << 12
#: Bytes that are read at once.
_CHUNK_BYTES: Final = 1 << 22


def read_slice(elements: Elements, slicing: Slicing) -> Array:
    """Returns the selected elements.

    Args:
      elements: The elements of the tensor.
      slicing: Which of them.

    Raises:
      FormatError: The file has changed.
    """
    out = np.empty([axis.count for axis in slicing.axes], elements.kind)
    if out.size:
        rising, flips = _rising(slicing.axes)
        _fill(out[flips] if flips else out, elements, rising, slicing.dims, 0)
    return out.reshape(slicing.shape)


def _rising(axes: tuple[Axis, ...]) -> tuple[tuple[Axis, ...], tuple[slice, ...]]:
    """Returns the axes with positive steps, and the index that turns the result around."""
    rising = tuple(
        axis
        if axis.step > 0
        else replace(axis, first=axis.first + (axis.count - 1) * axis.step, step=-axis.step)
        for axis in axes
    )
    return rising, tuple(slice(None, None, 1 if axis.step > 0 else -1) for axis in axes)


def _fill(out: Array, elements: Elements, axes: tuple[Axis, ...], dims: tuple[int, ...], base: int) -> None:
    """Reads into ``out`` the elements of a part of the tensor that begins at ``base``."""
    if not axes:
        out[...] = elements.read(base, base + 1)[0]
        return
    axis, row = axes[0], _product(dims[1:])
    near = axis.step * row * elements.kind.itemsize <= _NEAR_BYTES
    if near or (axis.step == 1 and _are_whole(axes[1:], dims[1:])):
        _fill_at_once(out, elements, axes, dims, base)
        return
    for number in range(axis.count):
        _fill(out[number, ...], elements, axes[1:], dims[1:], base + (axis.first + number * axis.step) * row)


def _fill_at_once(
    out: Array, elements: Elements, axes: tuple[Axis, ...], dims: tuple[int, ...], base: int
) -> None:
    """Reads some rows at a time, with everything between the selected elements."""
    axis, row = axes[0], _product(dims[1:])
    inner_first = sum(one.first * _product(dims[n + 2 :]) for n, one in enumerate(axes[1:]))
    inner_last = sum(
        (one.first + (one.count - 1) * one.step) * _product(dims[n + 2 :]) for n, one in enumerate(axes[1:])
    )
    inside = tuple(slice(one.first, one.first + (one.count - 1) * one.step + 1, one.step) for one in axes[1:])
    rows_at_once = max(1, _CHUNK_BYTES // max(1, row * elements.kind.itemsize * axis.step))
    for begin in range(0, axis.count, rows_at_once):
        end = min(axis.count, begin + rows_at_once)
        first_row = axis.first + begin * axis.step
        num_rows = (end - begin - 1) * axis.step + 1
        first, last = first_row * row + inner_first, (first_row + num_rows - 1) * row + inner_last
        part = elements.read(base + first, base + last + 1)
        if len(part) != num_rows * row:
            whole = np.empty(num_rows * row, elements.kind)
            whole[inner_first : inner_first + len(part)] = part
            part = whole
        out[begin:end] = part.reshape(num_rows, *dims[1:])[(slice(None, None, axis.step), *inside)]


def _product(dims: tuple[int, ...]) -> int:
    return int(np.prod(dims, dtype=np.int64))


def _are_whole(axes: tuple[Axis, ...], dims: tuple[int, ...]) -> bool:
    return all(axis.step == 1 and axis.count == size for axis, size in zip(axes, dims, strict=True))


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
    """The windows of a slicing whose first axis has one element, without that axis."""
    position = next(number for number, axis in enumerate(row.axes) if axis.is_kept)
    axes = list(row.axes)
    axes[position] = replace(axes[position], is_kept=False)
    yield from windows(replace(row, axes=tuple(axes)), max_elements)


def blocks(elements: Elements, slicing: Slicing, max_bytes: int | None = None) -> Iterator[Array]:
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
        yield read_slice(elements, window).reshape(-1)
