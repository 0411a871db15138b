"""`analysis/values/elements.py`: a slice is read without what lies outside its range."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_debugger_plugin.analysis.values import elements as module
from tb_debugger_plugin.analysis.values.elements import blocks, read_slice
from tb_debugger_plugin.analysis.values.slicing import parse, slicing_of
from tb_debugger_plugin.errors import BadQueryError


class _Counted:
    """The elements of an array, and the ranges of them that were read."""

    dtype = 1

    def __init__(self, array):
        self.array = array
        self.shape, self.kind = array.shape, array.dtype
        self.ranges = []

    def read(self, begin, end):
        assert 0 <= begin <= end <= self.array.size
        self.ranges.append((begin, end))
        return self.array.reshape(-1)[begin:end]


_BOUND = st.none() | st.integers(-9, 9)
_STEP = st.none() | st.integers(-4, 4).filter(bool)
_SLICE = st.builds(slice, _BOUND, _BOUND, _STEP)


@pytest.mark.parametrize("near_bytes", [1, 40, 1 << 12])
@pytest.mark.parametrize("chunk_bytes", [1, 100, 1 << 22])
@given(dims=st.lists(st.integers(1, 7), max_size=4), slices=st.lists(_SLICE, max_size=4), data=st.data())
def test_a_slice_is_what_numpy_gives(near_bytes, chunk_bytes, dims, slices, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_NEAR_BYTES", near_bytes)
        patch.setattr(module, "_CHUNK_BYTES", chunk_bytes)
        array = np.arange(int(np.prod(dims)), dtype=np.float32).reshape(dims)
        indices = tuple(
            data.draw(st.sampled_from([one, size - 1])) for one, size in zip(slices, dims, strict=False)
        )
        expected = array[indices]
        source = _Counted(array)
        slicing = slicing_of(indices, array.shape)
        np.testing.assert_array_equal(read_slice(source, slicing), expected)
        positions = np.arange(array.size).reshape(array.shape)[indices].reshape(-1)
        if len(positions):
            assert min(begin for begin, _ in source.ranges) == positions.min()
            assert max(end for _, end in source.ranges) == positions.max() + 1
        parts = list(blocks(source, slicing, max_bytes=data.draw(st.sampled_from([4, 12, 100]))))
        flat = np.concatenate(parts) if parts else np.empty(0)
        np.testing.assert_array_equal(flat, expected.reshape(-1))


@pytest.mark.parametrize("kind", ["bfloat16", "float8_e5m2", "float8_e4m3fn", "int4", "uint4"])
@pytest.mark.parametrize("text", ["...", "::2, 1:", "1, ::-2", "0, 0"])
def test_slices_of_dtypes_that_numpy_lacks_are_read(kind, text):
    array = np.arange(12).reshape(3, 4).astype(getattr(ml_dtypes, kind))
    actual = read_slice(_Counted(array), slicing_of(parse(text), array.shape))
    assert actual.dtype == array.dtype
    np.testing.assert_array_equal(actual.astype(np.float32), array[parse(text)].astype(np.float32))


@pytest.mark.parametrize(
    ("text", "most_read"),
    [
        ("5", 5000),
        ("5, 100:200", 100),
        (":, 3", 5000),
        ("10:20, ::2", 10 * 5000),
        ("::100, ::100", 50 * 5000),
        ("-1, -1", 1),
        (":0", 0),
    ],
)
def test_of_a_large_tensor_only_what_is_selected_is_read(text, most_read):
    source = _Counted(np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (25_000_000,), (0,)))
    source.shape = (5000, 5000)
    source.read = lambda begin, end: source.ranges.append((begin, end)) or np.zeros(end - begin, np.float32)
    read_slice(source, slicing_of(parse(text), source.shape))
    assert sum(end - begin for begin, end in source.ranges) <= most_read


def test_a_shape_that_no_array_has_is_refused():
    with pytest.raises(BadQueryError, match="no arrays of shape"):
        read_slice(_Counted(np.zeros(0, np.float32)), slicing_of((), (0, 1 << 62)))


def test_a_tensor_may_have_more_dimensions_than_an_array():
    source = _Counted(np.arange(6, dtype=np.float32))
    dims = (1,) * 120 + (2,) + (1,) * 100 + (3,) + (1,) * 32
    slicing = slicing_of((0,) * 120 + (slice(None, None, -1),) + (0,) * 100, dims)
    assert len(slicing.shape) == 34
    assert np.concatenate(list(blocks(source, slicing))).tolist() == [3, 4, 5, 0, 1, 2]
    with pytest.raises(BadQueryError, match="The slice has 254 dimensions, but an array has at most"):
        read_slice(source, slicing_of((), dims))
