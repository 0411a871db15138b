"""A slice as a picture: its elements, or tiles of neighbouring elements if there are too many.

Takes the elements of a tensor and a slicing of at most two dimensions. Returns a grid of tiles with the
smallest, the largest and the mean finite element, and with marks of NaN and infinities. So one NaN among
millions of elements is seen.

Invariant: beside the grid, no more than a few megabytes are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_debugger_plugin.analysis.values.elements import as_float64, check_numeric, read_slice, real_numbers
from tb_debugger_plugin.analysis.values.slicing import Slicing
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.dtypes import dtype_name
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.stored_tensor import StoredElements

#: Bits of the column ``kinds``.
HAS_NAN: Final = 1
HAS_POS_INF: Final = 2
HAS_NEG_INF: Final = 4
HAS_FINITE: Final = 8
_BLOCK_ELEMENTS: Final = 1 << 20
#: The most elements of one tile, which is read at once.
_MAX_TILE: Final = 1 << 22


@dataclass(frozen=True)
class Grid:
    """A picture of a slice.

    Attributes:
      dtype: The name of the dtype of the elements.
      slice_shape: The shape of the slice.
      shape: Rows and columns of tiles.
      tile: Rows and columns of elements in a tile; the last ones may have fewer.
      columns: ``value`` if tiles are single elements; else ``mean``, ``min``, ``max`` and ``kinds``. Flat, in
        row-major order.
    """

    dtype: str | None
    slice_shape: tuple[int, ...]
    shape: tuple[int, int]
    tile: tuple[int, int]
    columns: dict[str, Array]


def make_grid(elements: StoredElements, slicing: Slicing, *, rows: int, columns: int, part: str) -> Grid:
    """Return a picture of a slice.

    Args:
      elements: The elements of the tensor.
      slicing: Which of them; at most two dimensions are left. A vector is one row.
      rows: The most rows of the picture.
      columns: The most columns.
      part: What of complex numbers is taken; a key of `numbers.PARTS`.

    Raises:
      BadQueryError: The slice has more than two dimensions, its elements are no numbers, or a tile has too
        many of them.
      FormatError: The file has changed.
    """
    check_numeric(elements)
    shape = check_flat(slicing)
    num_rows, num_columns = (1, 1, *shape)[-2:]
    tile = (max(1, -(-num_rows // rows)), max(1, -(-num_columns // columns)))
    if tile[0] * tile[1] > _MAX_TILE:
        raise BadQueryError(
            f"A tile of the picture would have {tile[0] * tile[1]:,} elements: ask for more rows and columns,"
            " or for a part of the slice."
        )
    dtype = dtype_name(elements.dtype)
    grid = (-(-num_rows // tile[0]), -(-num_columns // tile[1]))
    if tile == (1, 1):
        values = real_numbers(read_slice(elements, slicing), part)
        return Grid(dtype, shape, grid, tile, {"value": as_float64(values).reshape(-1)})
    parts = [
        [_tiles(real_numbers(read_slice(elements, window), part), tile) for window in row]
        for row in _bands(slicing, num_rows, num_columns, tile)
    ]
    joined = {name: np.block([[one[name] for one in row] for row in parts]).reshape(-1) for name in _COLUMNS}
    return Grid(dtype, shape, grid, tile, joined)


_COLUMNS: Final = ("mean", "min", "max", "kinds")


def check_flat(slicing: Slicing) -> tuple[int, ...]:
    """Return the shape of a slice.

    Raises:
      BadQueryError: It has more than two dimensions.
    """
    if len(slicing.shape) > 2:
        raise BadQueryError(
            f"The slice has {len(slicing.shape)} dimensions, but at most two can be shown: put an index in"
            " place of the others, such as [0, :, :]."
        )
    return slicing.shape


def _bands(
    slicing: Slicing, num_rows: int, num_columns: int, tile: tuple[int, int]
) -> Iterator[list[Slicing]]:
    """Yield rows of windows, each of whole tiles and few elements."""
    rows = tile[0] * max(1, _BLOCK_ELEMENTS // max(1, num_columns * tile[0]))
    columns = tile[1] * max(1, _BLOCK_ELEMENTS // (tile[0] * tile[1]))
    for row in range(0, num_rows, rows):
        row_range = (row, min(num_rows, row + rows))
        yield [
            slicing.window(
                *(row_range, (column, min(num_columns, column + columns)))[2 - len(slicing.shape) :]
            )
            for column in range(0, num_columns, columns)
        ]


def _tiles(block: Array, tile: tuple[int, int]) -> dict[str, Array]:
    block = block.reshape((1, -1) if block.ndim < 2 else block.shape)
    if block.dtype.kind != "f":
        block = block.astype(np.float64)
    if np.isfinite(_sum(block, tile)).all():
        return _finite_tiles(block, tile)
    return _mixed_tiles(block, tile)


def _sum(block: Array, tile: tuple[int, int]) -> Array:
    with np.errstate(invalid="ignore", over="ignore"):
        return _reduced(np.add, block, tile)


def _finite_tiles(block: Array, tile: tuple[int, int]) -> dict[str, Array]:
    smallest, largest = _reduced(np.minimum, block, tile), _reduced(np.maximum, block, tile)
    mean = _sum(block, tile).astype(np.float64) / _counts(block.shape, tile)
    kinds = np.full(mean.shape, HAS_FINITE, np.uint8)
    return _as_columns(mean, smallest, largest, kinds)


def _counts(shape: tuple[int, ...], tile: tuple[int, int]) -> Array:
    """Return the number of elements of each tile."""
    rows, columns = (
        np.minimum(size, np.arange(0, size, length) + length) - np.arange(0, size, length)
        for size, length in zip(shape, tile, strict=True)
    )
    return np.outer(rows, columns)


def _mixed_tiles(block: Array, tile: tuple[int, int]) -> dict[str, Array]:
    finite = np.isfinite(block)
    count = _reduced(np.add, finite.astype(np.int32), tile)
    total = _reduced(np.add, np.where(finite, block, 0).astype(np.float64), tile)
    kinds = np.where(count > 0, HAS_FINITE, 0)
    for bit, has_kind in (
        (HAS_NAN, np.isnan(block)),
        (HAS_POS_INF, block == np.inf),
        (HAS_NEG_INF, block == -np.inf),
    ):
        kinds = kinds | np.where(_reduced(np.logical_or, has_kind, tile), bit, 0)
    empty = count == 0
    smallest = np.where(empty, np.nan, _reduced(np.minimum, np.where(finite, block, np.inf), tile))
    largest = np.where(empty, np.nan, _reduced(np.maximum, np.where(finite, block, -np.inf), tile))
    mean = np.where(empty, np.nan, total / np.maximum(count, 1))
    return _as_columns(mean, smallest, largest, kinds)


def _as_columns(mean: Array, smallest: Array, largest: Array, kinds: Array) -> dict[str, Array]:
    with np.errstate(over="ignore"):
        columns = [values.astype(np.float32) for values in (mean, smallest, largest)]
    return dict(zip(_COLUMNS, (*columns, kinds.astype(np.uint8)), strict=True))


def _reduced(function: np.ufunc, block: Array, tile: tuple[int, int]) -> Array:
    """Apply a function to the elements of each tile: first down the columns, which is the faster way."""
    return _along_rows(function, _down(function, block, tile[0]), tile[1])


def _down(function: np.ufunc, block: Array, length: int) -> Array:
    if length == 1:
        return block
    whole = len(block) // length
    main = function.reduce(block[: whole * length].reshape(whole, length, block.shape[1]), axis=1)
    rest = block[whole * length :]
    return main if not len(rest) else np.concatenate([main, function.reduce(rest, axis=0)[None]])


def _along_rows(function: np.ufunc, block: Array, length: int) -> Array:
    return _down(function, np.ascontiguousarray(block.T), length).T if length > 1 else block
