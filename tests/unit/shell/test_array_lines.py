"""`shell/array_lines.py`: lines of arrays are those of NumPy, and indices follow from lines and back."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.array_lines import ArrayLines, read_edges
from tb_debugger_plugin.shell.screen import Style, text_of

_DTYPES = st.sampled_from([np.float32, np.float64, np.float16, np.int64, np.uint8, np.bool_, np.complex64])
_SHAPES = st.one_of(
    arrays.array_shapes(min_dims=1, max_dims=2, max_side=12),
    arrays.array_shapes(min_dims=3, max_dims=5, max_side=3),
)


def text(lines: ArrayLines) -> str:
    return "\n".join(text_of(line) for line in lines)


@given(array=arrays.arrays(dtype=_DTYPES, shape=_SHAPES))
@example(array=np.array([1e6], np.float32))
@example(array=np.array([1e3], np.float16))
@example(array=np.array([1e-4], np.float32))
@example(array=np.array([1e6 + 1e6j], np.complex64))
@settings(max_examples=40)
def test_an_array_looks_as_in_numpy(array):
    with np.printoptions(threshold=array.size):
        assert text(ArrayLines(array)) == _of_numpy(array)


def _of_numpy(array) -> str:
    """NumPy's text, without the line breaks that it makes before the dtype."""
    return repr(array).replace(",\n      dtype=", ", dtype=")


@pytest.mark.parametrize("shape", [(7,), (100,), (20, 3), (3, 20), (9, 8, 7), (8, 2, 9, 3)])
def test_the_edges_of_a_long_array_look_as_in_numpy(shape):
    array = np.arange(np.prod(shape), dtype=np.float64).reshape(shape)
    edges = ArrayLines(read_edges(shape, array.__getitem__), shape)
    with np.printoptions(threshold=1):
        assert text(edges) == repr(array).replace(f", shape={shape}", "")


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (np.float32(3.5), "array(3.5, dtype=float32)"),
        (np.zeros((0, 3), np.float32), "array([], shape=(0, 3), dtype=float32)"),
        (np.array([], np.float64), "array([], dtype=float64)"),
        (np.array([1, 0.1], ml_dtypes.bfloat16), "array([       1, 0.100098], dtype=bfloat16)"),
        (np.array([-0.5], ml_dtypes.float8_e5m2), "array([-0.5], dtype=float8_e5m2)"),
        (np.array(["é".encode(), b"\xff"], object), "array([    'é', b'\\xff'], dtype=object)"),
    ],
)
def test_other_arrays_have_their_own_texts(array, expected):
    assert text(ArrayLines(np.asarray(array))) == expected


def test_elements_that_are_left_out_are_known():
    lines = ArrayLines(np.zeros((6, 6)), (20, 20))
    assert not lines.is_left_out((0, 0)) and not lines.is_left_out((19, 2))
    assert lines.is_left_out((10, 0)) and lines.is_left_out((0, 10))
    assert not ArrayLines(np.zeros((20, 2))).is_left_out((10, 0))


@given(shape=arrays.array_shapes(min_dims=1, max_dims=3, max_side=9), are_edges=st.booleans())
@settings(max_examples=40)
def test_the_line_of_an_element_begins_at_most_at_that_element(shape, are_edges):
    array = np.arange(np.prod(shape)).reshape(shape)
    lines = ArrayLines(read_edges(shape, array.__getitem__) if are_edges else array, shape)
    begins = [lines.indices_at(number) for number in range(len(lines))]
    for number, indices in enumerate(begins):
        if indices is not None:
            assert lines.line_of(indices) == number
            assert str(array[indices]) in text_of(lines[number])
    for indices in np.ndindex(shape):
        begin = begins[lines.line_of(indices)]
        assert begin is None or begin <= indices


def test_an_element_outside_is_refused():
    with pytest.raises(UsageError, match=r"There is no element \[2, 0\] in an array of shape \(2, 3\)"):
        ArrayLines(np.zeros((2, 3))).line_of((2, 0))
    with pytest.raises(UsageError):
        ArrayLines(np.zeros((2, 3))).line_of((1,))


def test_bad_and_highlighted_elements_have_styles():
    lines = ArrayLines(np.array([1.0, np.nan, 3.0]), highlighted=lambda part: part > 2)
    assert [(part.text.strip(), part.style) for part in lines[0]] == [
        ("array([ 1.,", Style.PLAIN),
        ("nan", Style.BAD),
        (",", Style.PLAIN),
        ("3.", Style.HIGHLIGHT),
        ("])", Style.PLAIN),
    ]


def test_ten_million_elements_are_lines_without_being_formatted():
    array = np.random.default_rng(0).normal(size=(1000, 100, 100)).astype(np.float32)
    lines = ArrayLines(array)
    middle = lines[len(lines) // 2]
    assert len(text_of(middle)) <= 75
    assert len(lines) > 1_000_000 and lines.line_of((999, 99, 99)) == len(lines) - 1


def test_the_digits_of_a_long_array_are_aligned():
    array = np.concatenate([np.full(6000, 0.5), [-12345.25, np.nan, -np.inf]])
    lines = ArrayLines(array)
    assert {len(text_of(line)) for line in lines[1:-1]} == {len(text_of(lines[1]))}
