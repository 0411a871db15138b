"""`analysis/values/tiles.py`: a picture of a slice shows every NaN and infinity."""

from __future__ import annotations

import numpy as np
import pytest

from tb_debugger_plugin.analysis.values import tiles
from tb_debugger_plugin.analysis.values.slicing import slicing_of
from tb_debugger_plugin.analysis.values.tiles import make_grid
from tb_debugger_plugin.errors import BadQueryError
from tests.support.arrays import ArrayElements


def _expected(array, tile):
    """The columns of the tiles, one tile after another."""
    rows = []
    for row in range(0, array.shape[0], tile[0]):
        for column in range(0, array.shape[1], tile[1]):
            part = array[row : row + tile[0], column : column + tile[1]].astype(np.float64)
            finite = part[np.isfinite(part)]
            kinds = np.isnan(part).any() + 2 * (part == np.inf).any() + 4 * (part == -np.inf).any()
            numbers = (finite.mean(), finite.min(), finite.max()) if finite.size else (np.nan,) * 3
            rows.append((*numbers, kinds + 8 * bool(finite.size)))
    return np.array(rows).T


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", "<i4", "<i8", "|u1"])
@pytest.mark.parametrize("block_elements", [1, 50, 1 << 20])
@pytest.mark.parametrize("bad", [0.0, 0.05, 0.9])
def test_tiles_are_computed_as_one_by_one(monkeypatch, dtype, block_elements, bad):
    monkeypatch.setattr(tiles, "_BLOCK_ELEMENTS", block_elements)
    rng = np.random.default_rng(1)
    array = rng.normal(scale=9, size=(23, 17)).astype(dtype)
    if array.dtype.kind == "f":
        for value in (np.nan, np.inf, -np.inf):
            array[rng.random(array.shape) < bad / 3] = value
    actual = make_grid(ArrayElements(array), slicing_of((), array.shape), rows=5, columns=7, part="abs")
    assert (actual.slice_shape, actual.shape, actual.tile) == ((23, 17), (5, 6), (5, 3))
    for name, column in zip(("mean", "min", "max", "kinds"), _expected(array, (5, 3)), strict=True):
        np.testing.assert_allclose(actual.columns[name], column, rtol=2e-3, atol=2e-3, err_msg=name)


def test_one_nan_among_millions_is_seen_in_its_tile():
    array = np.ones((2000, 3000), np.float32)
    array[1234, 567] = np.nan
    actual = make_grid(ArrayElements(array), slicing_of((), array.shape), rows=100, columns=100, part="abs")
    kinds = actual.columns["kinds"].reshape(actual.shape)
    assert np.argwhere(kinds & tiles.HAS_NAN).tolist() == [[1234 // 20, 567 // 30]]


def test_a_small_slice_is_shown_element_by_element_with_nan_and_infinities():
    array = np.array([[1, np.nan], [-np.inf, np.inf]], np.float32)
    actual = make_grid(ArrayElements(array), slicing_of((), array.shape), rows=2, columns=2, part="abs")
    np.testing.assert_array_equal(actual.columns["value"], [1, np.nan, -np.inf, np.inf])


def test_a_vector_is_one_row_and_a_scalar_one_tile():
    vector = make_grid(ArrayElements(np.arange(5.0)), slicing_of((), (5,)), rows=9, columns=9, part="abs")
    assert (vector.slice_shape, vector.shape) == ((5,), (1, 5))
    scalar = make_grid(ArrayElements(np.array(3.0)), slicing_of((), ()), rows=9, columns=9, part="abs")
    assert (scalar.slice_shape, scalar.shape) == ((), (1, 1))


def test_huge_numbers_whose_sum_is_infinite_are_no_infinities():
    array = np.full((4, 4), np.finfo(np.float32).max)
    actual = make_grid(ArrayElements(array), slicing_of((), (4, 4)), rows=1, columns=1, part="abs")
    assert actual.columns["kinds"].tolist() == [tiles.HAS_FINITE]
    assert actual.columns["mean"].tolist() == [np.finfo(np.float32).max]


def test_an_empty_slice_has_no_tiles():
    actual = make_grid(ArrayElements(np.empty((0, 3))), slicing_of((), (0, 3)), rows=9, columns=9, part="abs")
    assert actual.shape == (0, 3) and not len(actual.columns["value"])


@pytest.mark.parametrize(
    ("part", "expected"), [("abs", 5), ("real", 3), ("imag", -4), ("angle", np.angle(3 - 4j))]
)
def test_a_part_of_complex_numbers_is_shown(part, expected):
    array = np.array([3 - 4j], np.complex64)
    actual = make_grid(ArrayElements(array), slicing_of((), (1,)), rows=1, columns=1, part=part)
    np.testing.assert_allclose(actual.columns["value"], [expected], rtol=1e-6)


def test_more_than_two_dimensions_and_strings_are_refused():
    with pytest.raises(BadQueryError, match="The slice has 3 dimensions"):
        make_grid(
            ArrayElements(np.zeros((2, 2, 2))), slicing_of((), (2, 2, 2)), rows=1, columns=1, part="abs"
        )
    with pytest.raises(BadQueryError, match="strings has no numbers"):
        strings = ArrayElements(np.array([b"a"], object))
        make_grid(strings, slicing_of((), (1,)), rows=1, columns=1, part="abs")


@pytest.mark.filterwarnings("error")
def test_a_signalling_nan_of_a_damaged_file_is_a_nan_without_a_warning():
    array = np.frombuffer(b"\x01\x00\xa0\x7f" * 4, "<f4")
    for size, name in ((4, "value"), (1, "mean")):
        grid = make_grid(ArrayElements(array), slicing_of((), (4,)), rows=1, columns=size, part="abs")
        assert np.isnan(grid.columns[name]).all()


def test_a_tile_with_too_many_elements_is_refused():
    # Elements that claim a size at which no array could be made are not read.
    slicing = slicing_of((), (1 << 40,))
    with pytest.raises(BadQueryError, match="1,099,511,627,776 elements: ask for more rows"):
        make_grid(ArrayElements(np.zeros(1)), slicing, rows=1, columns=1, part="abs")
