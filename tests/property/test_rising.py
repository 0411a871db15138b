"""`analysis/lists/rising.py`: columns are searched and read like the arrays that they hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_debugger_plugin.analysis.lists import rising
from tb_debugger_plugin.analysis.lists.rising import Rising

_STEPS = st.sampled_from([1, 1, 1, 2, 7, 300, 70_000, 5_000_000_000])
_INTEGERS = st.tuples(st.integers(-(10**12), 10**12), st.lists(_STEPS, max_size=30)).map(
    lambda drawn: np.cumsum([drawn[0], *drawn[1]])
)
#: From clocks that stand still to those that jump by a day; of this century, and as damaged files have them.
_PASSED = st.sampled_from([0.0, 2.0**-22, 1e-6, 0.1, 7.0, 1100.0, 86_400.0])
_FIRST = st.sampled_from([-1e300, 0.0, 1000.0, 2.0**30 - 0.5, 1.7e9 + 0.123456, 2.0**31 - 1, 1e12])
_TIMES = st.tuples(_FIRST, st.lists(_PASSED, max_size=30)).map(lambda drawn: np.cumsum([drawn[0], *drawn[1]]))


@pytest.fixture(autouse=True, scope="module")
def _short_parts():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rising, "_PART", 4)
        yield


def _column(numbers: np.ndarray, cuts: list[int]) -> Rising:
    """The column, whose numbers are added in several arrays."""
    column = Rising(numbers.dtype.type)
    for piece in np.split(numbers, sorted(min(cut, len(numbers)) for cut in cuts)):
        column.add(piece)
    return column


def _around(numbers: np.ndarray) -> np.ndarray:
    """The numbers, others that are right beside them, and some that are as far away as can be."""
    if numbers.dtype.kind == "i":
        limits = np.iinfo(np.int64)
        return np.concatenate([numbers - 1, numbers, numbers + 1, [limits.min, limits.max]])
    beside = [np.nextafter(numbers, way) for way in (-np.inf, np.inf)]
    far = [-np.inf, -1.7e308, 1.7e308, np.inf, np.nan]
    return np.concatenate([*beside, numbers, numbers - 0.3, numbers + 0.3, far])


@given(numbers=st.one_of(_INTEGERS, _TIMES), cuts=st.lists(st.integers(0, 30), max_size=3))
def test_a_column_is_found_and_read_like_its_array(numbers, cuts):
    column = _column(numbers, cuts)
    wanted = _around(numbers)
    assert len(column) == len(numbers)
    assert column.whole().tolist() == numbers.tolist()
    assert (column.first, column.last) == (numbers[0], numbers[-1])
    rows = np.arange(len(numbers))[::-3]
    assert column[rows].tolist() == numbers[rows].tolist()
    for side in ("left", "right"):
        assert column.find(wanted, side).tolist() == np.searchsorted(numbers, wanted, side).tolist()
    assert column.has(wanted).tolist() == np.isin(wanted, numbers).tolist()


def test_an_empty_column_has_no_place_but_its_begin():
    column = Rising(np.float64)
    column.add(np.empty(0))
    assert len(column) == 0 and column.whole().tolist() == []
    assert column.find(np.array([1.0])).tolist() == [0] and column.has(np.array([1.0])).tolist() == [False]


def test_times_of_now_take_half_of_their_bytes_and_rows_without_a_gap_take_none():
    times, positions = Rising(np.float64), Rising(np.int64)
    times.add(1.7e9 + np.sort(np.random.default_rng(1).random(1000)))
    positions.add(np.arange(1000))
    kept = [part.distances for part in times._parts]
    assert {part.dtype for part in kept} <= {np.dtype(np.uint32), np.dtype(np.uint16), np.dtype(np.uint8)}
    assert all(part.distances is None for part in positions._parts)
