"""`live/program/commands.py`: new values fit, or are refused; expressions, texts and numbers of values."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events import dtypes
from tb_debugger_plugin.events.gate_table import NUMBERS
from tb_debugger_plugin.live.program.arrays import parts_of, short_text
from tb_debugger_plugin.live.program.commands import fitted
from tb_debugger_plugin.live.program.evaluate import with_value
from tb_debugger_plugin.live.program.tensors import CallTensors, _with_numpy, numbers_of
from tb_debugger_plugin.native.structs import Passed
from tests.support.fake_gate import tensor_of_graph

NUMBER_OF = dtypes.NUMBER_OF


@pytest.mark.parametrize(
    ("result", "dtype", "expected"),
    [
        (0, "float32", [[0.0, 0.0, 0.0]] * 2),
        (np.float64([1, 2, np.nan]), "float32", [[1, 2, np.nan]] * 2),
        (np.inf, "float16", [[np.inf] * 3] * 2),
        (np.bool_(True), "int32", [[1] * 3] * 2),
        (2.0, "int8", [[2] * 3] * 2),
        (1, "bool", [[True] * 3] * 2),
        (1.5, "bfloat16", [[1.5] * 3] * 2),
        (1 + 2j, "complex64", [[1 + 2j] * 3] * 2),
        (np.float32(0.1), "float8_e5m2", [[0.09375] * 3] * 2),
        ([[1], [2]], "uint64", [[1] * 3, [2] * 3]),
        (2**53, "int64", [[2**53] * 3] * 2),
    ],
)
def test_a_result_is_cast_and_broadcast(result, dtype, expected):
    value = fitted(result, NUMBER_OF[dtype], (2, 3))
    assert value.dtype == dtypes.numpy_dtype(NUMBER_OF[dtype])
    assert value.flags.c_contiguous and value.shape == (2, 3)
    np.testing.assert_array_equal(value.astype(np.asarray(expected).dtype), expected)


@pytest.mark.parametrize(
    ("result", "dtype", "sentence"),
    [
        (np.zeros(4), "float32", r"shape \[4\], the tensor \[2, 3\]"),
        (0.5, "int32", "int32 cannot hold"),
        (np.nan, "int32", "cannot hold"),
        (np.inf, "int64", "cannot hold"),
        (300, "uint8", "cannot hold"),
        (-1, "uint8", "cannot hold"),
        (2, "bool", "cannot hold"),
        (1e39, "float32", "too large for float32"),
        (70000, "float16", "too large for float16"),
        (1j, "float32", "complex"),
        ("text", "float32", "no array of numbers"),
        ((1, (2, 3)), "float32", "no array of numbers"),
        (None, "float32", "no array of numbers"),
        (1, "string", "Only tensors of numbers"),
    ],
)
@pytest.mark.filterwarnings("ignore:Creating an ndarray from ragged")  # NumPy 1
def test_a_result_that_would_arrive_as_something_else_is_refused(result, dtype, sentence):
    with pytest.raises(UsageError, match=sentence):
        fitted(result, NUMBER_OF[dtype], (2, 3))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("value", "`value`"),
        ("np.where(value > 0, value, -value)", "np.where(`value` > 0, `value`, -`value`)"),
        ("`value:0` + value", "`value:0` + `value`"),
        ("values + x.value + 'value'", "values + x.value + 'value'"),
        ("value == 1", "`value` == 1"),
        ("f(value=1)", "f(value=1)"),
    ],
)
def test_the_name_value_is_that_of_the_tensor(text, expected):
    assert with_value(text) == expected


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.float32(0.1), "0.1"),
        (np.float32([[1, np.nan], [0, -np.inf]]), "[[1.0, nan], [0.0, -inf]]"),
        (np.array([True, False]), "[True, False]"),
        (np.array([b"cat", b"x" * 40], object), "[b'cat', b'" + "x" * 40 + "']"),
        (np.array([b"x" * 41], object), ""),
        (np.zeros(5), ""),
        (np.zeros((0, 3)), "[]"),
        (np.array([1.5], ml_dtypes.bfloat16), "[1.5]"),
        (np.array(b"cat", object), "b'cat'"),
    ],
)
def test_small_values_are_shown_as_text(array, text):
    assert short_text(np.asarray(array)) == text


@pytest.mark.parametrize("name", ["float32", "float64", "float16", "bfloat16", "float8_e5m2", "complex64"])
def test_numpy_counts_what_the_native_library_counts(name):
    kind = dtypes.numpy_dtype(NUMBER_OF[name])
    array = np.array([0, 1, -2, np.nan, np.inf, -np.inf, 3, -0.0]).astype(kind)
    native, numpy = numbers_of(array, NUMBER_OF[name]), _with_numpy(array)
    assert list(native) == list(NUMBERS) == list(numpy)
    np.testing.assert_allclose(list(native.values()), list(numpy.values()), rtol=1e-6)


@pytest.mark.parametrize("name", ["complex64", "complex128"])
def test_numpy_counts_complex_numbers_by_their_worse_part_too(name):
    inf, nan = np.inf, np.nan
    parts = [
        (1, -3),
        (inf, -inf),
        (0, 1),
        (-2, 2),
        (nan, inf),
        (0, 0),
        (0, -1),
        (-inf, 1),
        (3, nan),
        (0, -inf),
    ]
    array = np.array([complex(*one) for one in parts], dtypes.numpy_dtype(NUMBER_OF[name]))
    np.testing.assert_equal(_with_numpy(array), numbers_of(array, NUMBER_OF[name]))


def test_integers_truth_values_and_strings_have_numbers():
    numbers = numbers_of(np.int64([-5, 0, 7]), NUMBER_OF["int64"])
    assert (numbers["min"], numbers["max"], numbers["neg"], numbers["nan"]) == (-5, 7, 1, 0)
    assert numbers_of(np.array([True, False]), NUMBER_OF["bool"])["pos"] == 1
    assert numbers_of(np.array([b"a", b"b"], object), 7) == {"size": 2}
    assert math.isnan(numbers_of(np.zeros(0, np.float32), 1)["mean"])


def test_a_range_without_elements_has_no_parts():
    assert list(parts_of(np.zeros(3), 1, 1)) == []
    assert b"".join(parts_of(np.arange(6, dtype=np.int16).reshape(2, 3).T, 1, 3)) == b"\x03\0\x01\0"


@pytest.mark.parametrize(
    ("dims", "shape", "unknown"),
    [((2, 3), [2, 3], False), ((), [], False), ((-1, 3), [], True), (None, [], True)],
)
def test_a_tensor_that_was_in_no_memory_here_has_the_shape_of_its_graph_or_none(dims, shape, unknown):
    tensors = CallTensors(None, 0, lambda tensor: np.zeros(0))
    tensors.know([tensor_of_graph(1, "Log", dims=dims)])
    message = tensors.message_of_passed(Passed(1, 1, 1, 1, None, None, 0, False, False))
    assert (list(message.shape), message.unknown_shape) == (shape, unknown)
