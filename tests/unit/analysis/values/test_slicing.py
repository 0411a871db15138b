"""`analysis/values/slicing.py`: slices select what NumPy selects, and refuse what NumPy refuses."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_debugger_plugin.analysis.values.slicing import parse, slicing_of
from tb_debugger_plugin.errors import BadQueryError

_BOUND = st.none() | st.integers(-9, 9)
_INDEX = st.integers(-9, 9) | st.builds(slice, _BOUND, _BOUND, st.none() | st.integers(-4, 4)) | st.just(...)


def _selected(slicing, array):
    """The elements that a slicing selects, one by one."""
    positions = [[axis.first + number * axis.step for number in range(axis.count)] for axis in slicing.axes]
    return array[np.ix_(*positions)].reshape(slicing.shape) if positions else array


@given(st.lists(st.integers(0, 6), max_size=4), st.lists(_INDEX, max_size=5))
def test_indices_select_what_numpy_selects(dims, indices):
    array = np.arange(int(np.prod(dims))).reshape(dims)
    try:
        expected = array[tuple(indices)]
    except (IndexError, ValueError):
        with pytest.raises(BadQueryError):
            slicing_of(tuple(indices), tuple(dims))
        return
    slicing = slicing_of(tuple(indices), tuple(dims))
    assert slicing.shape == expected.shape and slicing.size == expected.size
    np.testing.assert_array_equal(_selected(slicing, array), expected)


@given(st.lists(_INDEX, max_size=4))
def test_text_means_what_python_means(indices):
    text = ", ".join(_written(index) for index in indices)
    assert parse(f"[{text}]") == parse(text) == tuple(indices)


def _written(index):
    if index is ...:
        return "..."
    if isinstance(index, int):
        return str(index)
    parts = ["" if part is None else str(part) for part in (index.start, index.stop, index.step)]
    return ":".join(parts if index.step is not None else parts[:2])


def test_a_window_is_a_part_of_the_result():
    array = np.arange(60).reshape(5, 4, 3)
    slicing = slicing_of(parse("::-1, 2, 1:"), array.shape).window((1, 4), (0, 1))
    np.testing.assert_array_equal(_selected(slicing, array), array[::-1, 2, 1:][1:4, 0:1])


@pytest.mark.parametrize(
    ("text", "dims", "said"),
    [
        ("5", (5,), "Index 5 is out of range for axis 0, which has size 5."),
        ("0, -4", (2, 3), "Index -4 is out of range for axis 1, which has size 3."),
        ("::0", (3,), "The step of a slice must not be 0."),
        ("0", (), "The slice has 1 indices, but the tensor is a scalar."),
        (":, :", (3,), "The slice has 2 indices, but the tensor has 1 dimension."),
        ("..., ...", (3,), "A slice has at most one ellipsis (...)."),
        ("a", (3,), "'a' in the slice 'a' is not NumPy's notation"),
        ("[0", (3,), "'[0' in the slice '[0' is not NumPy's notation"),
        ("1.5", (3,), "is not NumPy's notation"),
        ("None", (3,), "is not NumPy's notation"),
        ("1:2:3:4", (3,), "is not NumPy's notation"),
        ("9" * 20, (3,), "is not NumPy's notation"),
        ("0," * 2000, (3,), "The slice is longer than 2000 characters."),
    ],
)
def test_a_wrong_slice_is_refused_in_a_sentence(text, dims, said):
    with pytest.raises(BadQueryError, match=re.escape(said)):
        slicing_of(parse(text), dims)
