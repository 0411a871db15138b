"""`analysis/values/statistics.py`: the statistics of a slice are those of NumPy."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from tb_debugger_plugin.analysis.values import elements
from tb_debugger_plugin.analysis.values.slicing import parse, slicing_of
from tb_debugger_plugin.analysis.values.statistics import statistics
from tests.support.arrays import ArrayElements


def _statistics(array, text="...", *, bins=10, low=None, high=None, part="abs"):
    slicing = slicing_of(parse(text), array.shape)
    return statistics(ArrayElements(array), slicing, bins=bins, low=low, high=high, part=part)


@pytest.mark.parametrize("chunk_bytes", [8, 64, 1 << 22])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "u1", ml_dtypes.bfloat16])
def test_counts_moments_and_histogram_are_those_of_numpy(monkeypatch, chunk_bytes, dtype):
    monkeypatch.setattr(elements, "_CHUNK_BYTES", chunk_bytes)
    rng = np.random.default_rng(2)
    array = (rng.normal(scale=20, size=(13, 11)).clip(0 if dtype == "u1" else -np.inf)).astype(dtype)
    if array.dtype.kind in "fV":
        array[rng.random(array.shape) < 0.1] = np.nan
        array[0, :2] = np.inf, -np.inf
    array[1, :3] = 0
    actual = _statistics(array, "::2, 1:", low=-5, high=5)
    flat = array[::2, 1:].astype(np.float64).reshape(-1)
    finite = flat[np.isfinite(flat)]
    assert actual["size"] == flat.size
    assert actual["counts"] == {
        "neg_inf": np.count_nonzero(flat == -np.inf),
        "negative": np.count_nonzero(finite < 0),
        "zero": np.count_nonzero(finite == 0),
        "positive": np.count_nonzero(finite > 0),
        "pos_inf": np.count_nonzero(flat == np.inf),
        "nan": np.count_nonzero(np.isnan(flat)),
    }
    moments = [actual[name] for name in ("min", "max", "mean", "std")]
    np.testing.assert_allclose(moments, [finite.min(), finite.max(), finite.mean(), finite.std()], rtol=1e-12)
    counts, edges = np.histogram(finite, 10)
    np.testing.assert_allclose(actual["histogram"]["edges"], edges, rtol=1e-12, atol=1e-12)
    assert sum(actual["histogram"]["counts"]) == finite.size
    # An element on an edge may fall on either side when the edge is rounded otherwise.
    assert np.abs(np.array(actual["histogram"]["counts"]) - counts).sum() <= 2
    assert actual["in_range"] == np.count_nonzero((flat >= -5) & (flat <= 5))


def test_a_range_may_have_one_end_and_infinite_ends():
    array = np.array([-np.inf, -1.0, 0.0, 2.0, np.inf, np.nan])
    assert _statistics(array, low=0)["in_range"] == 3
    assert _statistics(array, high=0)["in_range"] == 3
    assert _statistics(array, low=-math.inf, high=math.inf)["in_range"] == 5
    assert _statistics(array)["in_range"] is None


def test_bools_are_counted_by_value_and_strings_have_no_numbers():
    assert _statistics(np.array([True, False, True]))["counts"] == {"false": 1, "true": 2}
    strings = _statistics(np.array([b"a", b""], object))
    assert strings["size"] == 2 and strings["counts"] is None and strings["histogram"] is None


def test_without_finite_elements_there_is_nothing_but_counts():
    actual = _statistics(np.array([np.nan, np.inf]))
    assert actual["counts"]["nan"] == actual["counts"]["pos_inf"] == 1
    assert actual["min"] is actual["mean"] is actual["histogram"] is None
    assert _statistics(np.empty((0, 4)))["size"] == 0


@pytest.mark.parametrize("value", [0.0, -3.5, 1e308, np.finfo(np.float64).max])
def test_equal_elements_stand_in_one_bin(value):
    actual = _statistics(np.full(7, value))["histogram"]
    assert sorted(actual["counts"])[-1] == 7 and all(map(math.isfinite, actual["edges"]))


def test_the_largest_numbers_do_not_overflow_the_edges():
    largest = np.finfo(np.float64).max
    actual = _statistics(np.array([-largest, largest]))
    assert actual["histogram"]["counts"][0] == actual["histogram"]["counts"][-1] == 1
    assert actual["std"] is None


def test_complex_numbers_are_counted_by_a_part():
    array = np.array([3 + 4j, complex(np.nan, 1)], np.complex64)
    assert _statistics(array)["max"] == 5 and _statistics(array)["counts"]["nan"] == 1
    assert _statistics(array, part="imag")["max"] == 4
