"""`index/tensors.py`: recorded tensors of every writer and form become columns of numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tb_debugger_plugin.events.dtypes import NUMBER_OF
from tb_debugger_plugin.events.messages import TensorProto
from tb_debugger_plugin.events.modes import STORED, SUMMARY_COLUMNS, TensorDebugMode
from tb_debugger_plugin.events.numbers import count_values
from tb_debugger_plugin.index.tensors import BAD, GOOD, NOT_MEASURED, summarize
from tests.support import twin
from tests.support.arrays import whole_tensor
from tests.support.events import full_health, shaped, vector, whole

#: Of SPECIAL below.
SPECIAL_COUNTS = {**dict.fromkeys(("neg_inf", "pos_inf", "nan", "negative"), 1), "zero": 2, "positive": 2}
SPECIAL = [-math.inf, math.inf, math.nan, -2.0, -0.0, 0.0, 3.0, 4.0]


def _one(mode, proto):
    shapes: list[str] = []

    def intern(text: str, rank: int) -> int:
        shapes.append(text)
        return len(shapes) - 1

    columns = summarize([mode], [proto], intern).columns
    row = dict.fromkeys(STORED, math.nan)  # no column = measured of no tensor
    row |= {name: values[0].item() for name, values in columns.items()}
    row["shape"] = shapes[row["shape"]] if row["shape"] >= 0 else None
    return row


@pytest.mark.parametrize("mode", SUMMARY_COLUMNS)
def test_only_what_the_mode_measures_has_a_column(mode):
    names = SUMMARY_COLUMNS[mode]
    columns = summarize([mode], [vector(range(len(names)))], lambda text, rank: 0).columns
    assert {*columns} & {*STORED} == {*names} & {*STORED}


def test_full_health_has_every_column():
    row = _one(TensorDebugMode.FULL_HEALTH, full_health([SPECIAL], 5))
    assert row["health"] == BAD
    assert (row["tensor_id"], row["dtype"], row["rank"], row["size"]) == (5, 1, 2, 8)
    assert {name: row[name] for name in SPECIAL_COUNTS} == SPECIAL_COUNTS


@pytest.mark.parametrize(
    ("mode", "values", "health"),
    [
        (TensorDebugMode.CURT_HEALTH, [3, 0], GOOD),
        (TensorDebugMode.CURT_HEALTH, [3, 1], BAD),
        (TensorDebugMode.CONCISE_HEALTH, [3, 9, 0, 0, 0], GOOD),
        (TensorDebugMode.CONCISE_HEALTH, [3, 9, 0, 0, 1], BAD),
        (TensorDebugMode.FULL_HEALTH, [3, -1, 1, 1, 9, 0, 0, 0, 3, 3, 3], GOOD),
        (TensorDebugMode.FULL_HEALTH, [3, -1, 1, 1, 9, 0, 2, 0, 3, 3, 1], BAD),
        (TensorDebugMode.SHAPE, [3, 1, 2, 6, 2, 3, 0, 0, 0, 0], NOT_MEASURED),
        (TensorDebugMode.FULL_NUMERICS, [3, -1, 1, 1, 9, 0, 0, 0, 3, 3, 3, -1, 1, 0, 0.5], GOOD),
        (TensorDebugMode.REDUCE_INF_NAN_THREE_SLOTS, [0, 0, 1], BAD),
        (TensorDebugMode.NO_TENSOR, [], NOT_MEASURED),
    ],
)
def test_each_mode_tells_health_as_far_as_it_measures_it(mode, values, health):
    assert _one(mode, vector(values))["health"] == health


def test_shape_keeps_the_last_six_dimensions_of_a_higher_rank():
    assert _one(TensorDebugMode.SHAPE, vector([3, 1, 2, 6, 2, 3, 0, 0, 0, 0]))["shape"] == "[2, 3]"
    assert _one(TensorDebugMode.SHAPE, vector([3, 1, 0, 1, 0, 0, 0, 0, 0, 0]))["shape"] == "[]"
    row = _one(TensorDebugMode.SHAPE, vector([3, 1, 8, 64, 2, 2, 2, 1, 2, 2]))
    assert (row["shape"], row["rank"]) == ("[?, ?, 2, 2, 2, 1, 2, 2]", 8)


def test_a_summary_in_place_of_a_tensor_too_large_to_keep_is_read_as_what_it_is():
    proto = vector([3, -1, 1, 1, 9, 0, 2, 0, 3, 3, 1])
    proto.summary_mode = TensorDebugMode.FULL_HEALTH
    proto.left_out_bytes = 36
    row = _one(TensorDebugMode.FULL_TENSOR, proto)
    assert (row["mode"], row["health"], row["size"], row["pos_inf"]) == (4, BAD, 9, 2)
    proto = vector([3, 9, 2, 6, 2, 3, 0, 0, 0, 0])
    proto.summary_mode = TensorDebugMode.SHAPE
    assert _one(TensorDebugMode.FULL_TENSOR, proto)["shape"] == "[2, 3]"


def test_a_summary_written_element_by_element_is_read_too():
    proto = shaped(2, dtype=2, double_val=[3.0, 1.0])
    assert _one(TensorDebugMode.CURT_HEALTH, proto)["health"] == BAD


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "bfloat16"])
def test_a_whole_tensor_is_counted_like_a_summary(dtype):
    if dtype == "bfloat16":
        raw = (np.array(SPECIAL, np.float32).view(np.uint32) >> 16).astype(np.uint16)
    else:
        raw = np.array(SPECIAL, dtype)
    row = _one(TensorDebugMode.FULL_TENSOR, whole(raw.reshape(2, 4), NUMBER_OF[dtype]))
    assert row["health"] == BAD and row["shape"] == "[2, 4]" and row["rank"] == 2
    assert {name: row[name] for name in SPECIAL_COUNTS} == SPECIAL_COUNTS


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "uint8", "int64"])
@pytest.mark.parametrize(
    "values",
    [
        SPECIAL,
        [5.0],
        [],
        [math.nan, math.inf],
        [0.0, -0.0],
        [1e300, 1e300, -1e300],
        [1e-310, 2e-310],
        [7.0, 7.5],
    ],
    ids=str,
)
def test_a_whole_tensor_has_the_statistics_of_a_summary(dtype, values):
    with np.errstate(all="ignore"):
        array = np.array([v for v in values if np.dtype(dtype).kind == "f" or 0 <= v < 100], dtype)
    expected = twin.summarize(array, NUMBER_OF[dtype], TensorDebugMode.FULL_NUMERICS, 0)[-4:]
    row = _one(TensorDebugMode.FULL_TENSOR, whole(array, NUMBER_OF[dtype]))
    actual = [row[name] for name in ("min", "max", "mean", "variance")]
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=1e-300)


def test_a_value_that_stands_for_many_counts_as_often_in_the_statistics():
    proto = shaped(6, dtype=2, double_val=[1.0, math.nan, 4.0])
    row = _one(TensorDebugMode.FULL_TENSOR, proto)
    finite = np.array([1.0, 4, 4, 4, 4])
    assert (row["min"], row["max"], row["nan"], row["positive"]) == (1, 4, 1, 5)
    assert row["mean"] == pytest.approx(finite.mean()) and row["variance"] == pytest.approx(finite.var())


def test_whole_bools_and_complex_numbers_have_no_statistics():
    for array, dtype in ((np.array([True, False]), "bool"), (np.array([1 + 2j]), "complex128")):
        row = _one(TensorDebugMode.FULL_TENSOR, whole(array, NUMBER_OF[dtype]))
        assert all(math.isnan(row[name]) for name in ("min", "max", "mean", "variance"))


def test_an_output_beside_one_that_is_kept_has_the_mode_of_its_summary():
    proto = vector([-1, 0])
    proto.summary_mode = TensorDebugMode.CURT_HEALTH
    row = _one(TensorDebugMode.FULL_TENSOR, proto)
    assert (row["mode"], row["health"], row["dtype"]) == (2, GOOD, 0)
    nothing = shaped(0, summary_mode=TensorDebugMode.NO_TENSOR)
    row = _one(TensorDebugMode.FULL_TENSOR, nothing)
    assert (row["mode"], row["health"]) == (1, NOT_MEASURED)


def test_whole_integers_bools_and_complex_numbers_are_counted():
    row = _one(TensorDebugMode.FULL_TENSOR, whole(np.array([-1, 0, 2], np.int64), 9))
    assert [row[k] for k in ("negative", "zero", "positive", "nan")] == [1, 1, 1, 0]
    row = _one(TensorDebugMode.FULL_TENSOR, whole(np.array([True, False]), 10))
    assert [row[k] for k in ("negative", "zero", "positive")] == [0, 1, 1]
    row = _one(TensorDebugMode.FULL_TENSOR, whole(np.array([complex(0, math.nan)], np.complex64), 8))
    assert (row["nan"], row["health"]) == (1, BAD)


def test_strings_have_a_shape_but_no_numbers():
    proto = shaped(2, dtype=7, string_val=[b"a", b"b"])
    row = _one(TensorDebugMode.FULL_TENSOR, proto)
    assert (row["health"], row["shape"], row["size"]) == (NOT_MEASURED, "[2]", 2)


def test_a_last_value_stands_for_all_that_follow():
    proto = shaped(5, float_val=[1.0, -1.0])
    assert whole_tensor(proto).tolist() == [1, -1, -1, -1, -1]


def test_half_precision_values_are_read_from_their_bits():
    half = TensorProto(dtype=19, half_val=[np.float16(-1.5).view(np.uint16).item()])
    bfloat = TensorProto(dtype=14, half_val=[0x3F80])
    assert whole_tensor(half).tolist() == [-1.5]
    assert whole_tensor(bfloat).tolist() == [1.0]


@pytest.mark.parametrize("dtype", [19, 14, 3])
def test_values_in_a_field_of_another_type_warn_of_nothing(dtype):
    assert whole_tensor(TensorProto(dtype=dtype, double_val=[math.nan])) is not None
    assert whole_tensor(TensorProto(dtype=dtype, half_val=[2**31 - 1])) is not None


def test_an_empty_tensor_is_counted_as_one_of_no_elements():
    proto = shaped(0)
    row = _one(TensorDebugMode.FULL_TENSOR, proto)
    assert (row["size"], row["health"], row["shape"]) == (0, GOOD, "[0]")


@pytest.mark.parametrize(
    "proto",
    [
        None,
        TensorProto(),
        TensorProto(dtype=2, tensor_content=b"123"),
        TensorProto(dtype=77, tensor_content=bytes(88)),
        TensorProto(dtype=9, tensor_content=bytes(88)),
    ],
)
@pytest.mark.parametrize("mode", [4, 2, 7, 0, 99])
def test_what_makes_no_sense_is_not_measured(mode, proto):
    row = _one(mode, proto)
    assert row["health"] == NOT_MEASURED and math.isnan(row["nan"])


@pytest.mark.parametrize("mode", [4, 2, 3, 5, 0])
def test_a_vector_of_another_length_than_the_modes_is_not_measured(mode):
    assert _one(mode, vector([1.0, 2.0, 3.0]))["health"] == NOT_MEASURED


def test_a_shape_alone_costs_no_memory():
    proto = shaped(*(2**40, 2**40), float_val=[1.0])
    assert whole_tensor(proto) is None
    proto.ClearField("float_val")
    assert whole_tensor(proto) is None


def test_few_values_that_stand_for_a_huge_tensor_are_counted_without_making_it():
    proto = shaped(2**40, float_val=[1.0, 0.0, math.nan])
    row = _one(TensorDebugMode.FULL_TENSOR, proto)
    assert (row["size"], row["positive"], row["zero"], row["nan"]) == (2**40, 1, 1, 2**40 - 2)
    assert row["health"] == BAD


@pytest.mark.parametrize("dims", [[2**62] * 40, [2**53], [1] * 300])
def test_a_shape_that_no_tensor_has_is_not_measured(dims):
    proto = shaped(*dims, float_val=[1.0])
    assert _one(TensorDebugMode.FULL_TENSOR, proto)["health"] == NOT_MEASURED


def test_absurd_numbers_in_a_summary_stay_in_range():
    row = _one(TensorDebugMode.FULL_HEALTH, vector([math.nan, 1e300, -5, 1e9, math.inf, 0, 0, 0, 0, 0, 0]))
    assert (row["dtype"], row["rank"], row["device_id"]) == (0, -1, -1)
    row = _one(TensorDebugMode.SHAPE, vector([1, 1, math.nan, 1, 1e300, -7, 0, 0, 0, math.inf]))
    assert row["rank"] == -1


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", "<i4", "|u1", "|b1", "<c8"])
def test_the_kinds_of_elements_add_up_to_the_size(dtype):
    values = np.arange(-3, 5).astype(dtype)
    counts = count_values(values)
    assert counts["size"] == sum(counts.values()) - counts["size"] == 8
