"""`analysis/precision`: what recorded numbers would become in float16 and other dtypes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest

from tb_debugger_plugin.analysis.precision.precision import Precision, precision
from tb_debugger_plugin.analysis.precision.tensor import PrecisionVerdict
from tb_debugger_plugin.analysis.values.float_formats import TARGETS
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.messages import TensorProto
from tb_debugger_plugin.events.modes import EXPONENTS, TensorDebugMode
from tests.support import twin
from tests.support.commands import Tbdbg
from tests.support.events import snapshot_of, vector, whole
from tests.support.numerics import numerics, training

#: The value of some tensors of a step, or its summary.
_Step = Mapping[str, npt.ArrayLike | TensorProto]
NUMPY = {
    "float16": np.float16,
    "float32": np.float32,
    "bfloat16": ml_dtypes.bfloat16,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
}


def cast(value: float, dtype: str) -> float:
    """What NumPy makes of a number."""
    with np.errstate(over="ignore", under="ignore"):
        return float(source(dtype)(value).astype(NUMPY[dtype]))


def source(dtype: str) -> type[np.floating]:
    """The dtype to cast from: `ml_dtypes` rounds a float64 to float32 first."""
    return np.float64 if dtype in ("float16", "float32") else np.float32


def around(value: float, dtype: str) -> tuple[float, float]:
    """The numbers of the dtype to cast from that are next below a number, and not below it."""
    near = source(dtype)(value)
    above = near if float(near) >= value else np.nextafter(near, source(dtype)(np.inf))
    return float(np.nextafter(above, source(dtype)(0))), float(above)


@pytest.mark.parametrize("dtype", TARGETS)
def test_the_limits_of_a_dtype_are_where_casts_overflow_and_vanish(dtype: str) -> None:
    target = TARGETS[dtype]
    below, over = around(target.overflows_from, dtype)
    assert cast(target.largest, dtype) == cast(below, dtype) == target.largest
    assert not math.isfinite(cast(over, dtype))
    _, some = around(math.nextafter(target.vanishes_to, 1), dtype)
    assert cast(target.vanishes_to, dtype) == 0
    assert cast(some, dtype) == target.smallest == cast(target.smallest, dtype)
    info = ml_dtypes.finfo(NUMPY[dtype])
    assert target.smallest_normal == float(info.smallest_normal)
    assert target.mantissa == info.nmant


@pytest.mark.parametrize("dtype", TARGETS)
def test_below_the_normal_numbers_bits_are_lost_and_at_twice_the_smallest_one_is_left(dtype: str) -> None:
    target = TARGETS[dtype]
    odd = target.smallest_normal * (1 + 2.0**-target.mantissa)
    assert cast(odd, dtype) == odd
    assert cast(odd / 2, dtype) != odd / 2
    assert {cast(target.smallest * x, dtype) / target.smallest for x in (1.0, 1.2, 1.4)} == {1.0}
    assert cast(target.smallest * 3, dtype) == target.smallest * 3


def lens(folder: Path, steps: Sequence[_Step], dtype: str = "float16", **options: object) -> Precision:
    """The answer about a training function that ran some steps."""
    training(folder, steps, **options).close()
    with snapshot_of(folder) as snapshot:
        return precision(snapshot, dtype)


def test_an_overflow_is_found_at_its_step_with_its_layer(tmp_path: Path) -> None:
    steps = [{"MatMul": [1000.0 * 2**n, -1.0], "Relu": [1.0, 2.0]} for n in range(8)]
    found = lens(tmp_path, steps)
    worst = found.tensors[0]
    assert (worst.place.name, worst.verdict, worst.found.num_over) == (
        "MatMul:0",
        PrecisionVerdict.OVERFLOWS,
        1,
    )
    assert worst.overflow is not None and worst.overflow.step == 7
    assert worst.headroom == pytest.approx(math.log2(65504 / 128000))
    assert found.keep_in_float32 == ["dense"]
    assert "at step 7" in (found.layers[0].keep or "")
    assert worst.place.source is not None and worst.place.source.name == "train.py:2"


def test_the_same_program_fits_into_bfloat16(tmp_path: Path) -> None:
    found = lens(tmp_path, [{"MatMul": [128000.0, 1.0]}], "bfloat16")
    assert found.tensors[0].verdict is PrecisionVerdict.FITS
    assert found.keep_in_float32 == []


@pytest.mark.parametrize(
    "value, verdict",
    [
        ([65519.9, 1.0], PrecisionVerdict.NEAR_OVERFLOW),
        ([65520.0, 1.0], PrecisionVerdict.OVERFLOWS),
        ([-65520.0, 1.0], PrecisionVerdict.OVERFLOWS),
        ([20000.0, 1.0], PrecisionVerdict.NEAR_OVERFLOW),
        ([1.0, 0.5], PrecisionVerdict.FITS),
        ([-1.0, 0.5], PrecisionVerdict.FITS_ABOVE),
        ([0.0, 0.0], PrecisionVerdict.FITS),
        ([1e-8, -1e-9], PrecisionVerdict.VANISHES),
        ([3e-5, -2e-5], PrecisionVerdict.LOSES_BITS),
    ],
)
def test_the_verdict_follows_from_the_range_alone(
    tmp_path: Path, value: list[float], verdict: PrecisionVerdict
) -> None:
    (tensor,) = lens(tmp_path, [{"Relu": value}]).tensors
    assert tensor.verdict is verdict


def test_a_step_that_vanishes_as_a_whole_is_found_among_others(tmp_path: Path) -> None:
    (tensor,) = lens(tmp_path, [{"Relu": [1.0, 2.0]}, {"Relu": [1e-9, 0.0]}]).tensors
    assert tensor.verdict is PrecisionVerdict.VANISHES


def test_the_loss_scale_is_limited_by_the_largest_gradient(tmp_path: Path) -> None:
    found = lens(tmp_path, [{"gradient_tape/MatMul": [3.0, 1e-9], "gradient_tape/out": [1e-9, 2e-9]}])
    assert found.loss_scale is not None
    assert found.loss_scale.largest == 2.0**14
    assert found.loss_scale.limited_by.place.name == "gradient_tape/MatMul:0"
    assert not math.isfinite(cast(3.0 * 2**15, "float16")) and math.isfinite(cast(3.0 * 2**14, "float16"))
    assert found.loss_scale.vanishing.least == 0.5
    assert found.loss_scale.vanishing_at_largest.least == 0


def test_without_minimum_and_maximum_the_answer_says_what_to_record(small_run: Path, tbdbg: Tbdbg) -> None:
    assert "FULL_NUMERICS" in tbdbg("precision", small_run)


def test_no_other_dtype_is_known(tmp_path: Path) -> None:
    with pytest.raises(BadQueryError, match="float16, bfloat16"):
        lens(tmp_path, [{"Relu": [1.0]}], "float12")


def test_the_command_line_names_tensor_step_layer_and_scale(tmp_path: Path, tbdbg: Tbdbg) -> None:
    training(tmp_path, [{"MatMul": [1e5, 1.0], "gradient_tape/out": [1.0, 1.0]}]).close()
    out = tbdbg("precision", tmp_path)
    assert "MatMul:0, train.py:2: Would overflow in float16 at step 0: it reaches 1e+05" in out
    assert "Keep dense in float32: MatMul:0: Would overflow" in out
    assert "Loss scale: at most 2^15, beyond which gradient_tape/out:0 overflows" in out
    (facts,) = json.loads(tbdbg("precision", tmp_path, "--json", "--dtype", "bfloat16")).values()
    assert facts["keep_in_float32"] == [] and facts["dtype"] == "bfloat16"


def summary(array: np.ndarray) -> TensorProto:
    """The summary of an array in the mode EXPONENTS, as the twin of the kernel defines it."""
    return vector(twin.summarize(array, 1, TensorDebugMode.EXPONENTS, -1))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "float8_e4m3fnuz"])
@pytest.mark.parametrize("scale", [1e-42, 1e-9, 1e-6, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("mode", [TensorDebugMode.EXPONENTS, TensorDebugMode.FULL_TENSOR])
def test_the_shares_hold_what_a_cast_really_loses(
    tmp_path: Path, dtype: str, scale: float, mode: TensorDebugMode
) -> None:
    random = np.random.default_rng(7)
    array = (random.normal(size=500) * scale * np.exp2(random.integers(-12, 12, 500))).astype(np.float32)
    array[:50] = 0
    recorded = whole(array, 1) if mode is TensorDebugMode.FULL_TENSOR else summary(array)
    (tensor,) = lens(tmp_path, [{"Relu": recorded}], dtype, mode=mode).tensors
    with np.errstate(over="ignore", under="ignore"):
        became = array.astype(NUMPY[dtype]).astype(np.float64)
    nonzero = array != 0
    vanished = np.count_nonzero(nonzero & (became == 0)) / np.count_nonzero(nonzero)
    small = np.count_nonzero(nonzero & (np.abs(array) < TARGETS[dtype].smallest_normal))
    assert tensor.vanishing.least <= vanished <= tensor.vanishing.most
    assert tensor.subnormal.least <= small / np.count_nonzero(nonzero) <= tensor.subnormal.most
    assert (tensor.verdict is PrecisionVerdict.OVERFLOWS) == (not np.isfinite(became).all())
    if dtype in ("float16", "float8_e5m2", "float8_e4m3fn"):
        # One range of magnitudes lies above the numbers that certainly vanish.
        assert tensor.vanishing.most - tensor.vanishing.least < 0.12
        assert tensor.subnormal.is_known


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_whole_tensors_are_counted_by_exponent_as_the_twin_counts(
    tmp_path: Path, kind: type[np.floating]
) -> None:
    with np.errstate(over="ignore"):
        array = np.array([0, 1e-300, 2.0**-126, -(2.0**-24), 1, 65504, 3e38, 1e39, np.inf, np.nan], kind)
    number = {np.float16: 19, np.float32: 1, np.float64: 2}[kind]
    with snapshot_of(
        training(tmp_path, [{"Relu": whole(array, number)}], mode=TensorDebugMode.FULL_TENSOR).close()
    ) as snapshot:
        (row,) = snapshot.rows(f"SELECT {', '.join(EXPONENTS)} FROM graph_executions")
    assert list(row) == twin.summarize(array, number, TensorDebugMode.EXPONENTS, 0)[-len(EXPONENTS) :]


def test_gradients_below_the_smallest_number_come_back_with_a_loss_scale(tmp_path: Path) -> None:
    array = np.exp2(-np.arange(20.0, 30.0)).astype(np.float32)
    steps = [{"gradient_tape/out": summary(array)}]
    scale = lens(tmp_path, steps, mode=TensorDebugMode.EXPONENTS).loss_scale
    assert scale is not None and scale.largest == 2.0**35
    assert scale.vanishing.least <= np.mean(array.astype(np.float16) == 0) <= scale.vanishing.most
    assert scale.vanishing_at_largest.most == np.mean((array * scale.largest).astype(np.float16) == 0) == 0


def test_outputs_of_functions_are_not_listed_beside_their_tensors(tmp_path: Path) -> None:
    recording = training(tmp_path, [{"MatMul": [1.0, 2.0]}])
    recording.execution("__inference_step_7", [numerics([1e6, 1.0])], graph_id="g1", stack=["f2"])
    recording.execution("Mul", [numerics([2e6, 1.0])], stack=["f2"])
    with snapshot_of(recording.close()) as snapshot:
        found = precision(snapshot).tensors
    assert [one.place.name for one in found] == ["Mul:0", "MatMul:0"]
    assert found[0].overflow is not None and found[0].overflow.execution_index == 2


def test_a_constant_in_a_gradient_does_not_limit_the_loss_scale(tmp_path: Path) -> None:
    recording = training(tmp_path, [{"gradient_tape/out": [3.0, 1.0]}])
    recording.op("g1", "gradient_tape/Const", "Const", ids=[99])
    recording.trace("g1", "gradient_tape/Const", numerics([256.0]))
    with snapshot_of(recording.close()) as snapshot:
        scale = precision(snapshot).loss_scale
    assert scale is not None and scale.limited_by.place.name == "gradient_tape/out:0"
