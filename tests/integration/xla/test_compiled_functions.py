"""`capture/engines/xla`: functions that XLA compiles are recorded, and are still compiled."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import tb_debugger_plugin
from tb_debugger_plugin.keras import DebuggerCallback
from tests.support.programs import run_apart
from tests.support.recorded import Recorded, counts, read

pytestmark = pytest.mark.tensorflow

INF = float("inf")
Array = npt.NDArray[np.float32]
F8_WIDE, F8_FINE = tf.dtypes.experimental.float8_e5m2, tf.dtypes.experimental.float8_e4m3fn


def bad_tensors(recorded: Recorded) -> list[tuple[str, int]]:
    """Op and slot of each bad tensor, in the order in which they first went bad."""
    return list(dict.fromkeys((trace.op_name, trace.slot) for trace in recorded.traces if trace.is_bad))


def step_of(jit_compile: bool) -> Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]:
    """A program with calls, a loop, branches and gradients that goes bad in the loop's third turn."""

    @tf.function
    def halved(x: tf.Tensor) -> tf.Tensor:
        return tf.multiply(x, 0.5, name="half")

    @tf.function
    def loss_of(x: tf.Tensor) -> tf.Tensor:
        y = halved(x)
        for i in tf.range(4):
            y = tf.add(y, tf.sqrt(x - tf.cast(i, tf.float32), name="root"), name="sum")
            tf.reduce_sum(y, name="not_needed")
        if tf.reduce_sum(x) > 0.0:
            y = tf.multiply(y, 2.0, name="taken")
        else:
            y = tf.math.log(y, name="not_taken")
        return tf.reduce_sum(tf.reshape(y, [-1]), name="loss")

    @tf.function(jit_compile=jit_compile)
    def step(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = halved(x) * tf.math.log(x, name="log")
        return loss_of(x), tape.gradient(loss, x)

    return step


def test_the_same_tensors_are_bad_with_and_without_xla_in_the_same_order(tmp_path: Path) -> None:
    x = tf.constant([[2.5, 9.0]])
    results = {}
    for jit_compile in (False, True):
        root = tmp_path / str(jit_compile)
        with tb_debugger_plugin.record(root):
            results[jit_compile] = [value.numpy() for value in step_of(jit_compile)(x)]
    for plain, compiled in zip(results[False], results[True], strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-6)
    plain, compiled = read(tmp_path / "False"), read(tmp_path / "True")
    assert bad_tensors(compiled) == bad_tensors(plain)
    assert bad_tensors(compiled)[0] == ("while/root", 0)
    names = {trace.op_name for trace in plain.traces}
    assert names == {trace.op_name for trace in compiled.traces}
    assert not {name for name in names if "not_taken" in name or "not_needed" in name}


def test_the_first_bad_op_of_a_compiled_function_has_its_source_line(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path):
        step_of(True)(tf.constant([[2.5, 9.0]]))
    recorded = read(tmp_path)
    first = next(trace for trace in recorded.traces if trace.is_bad)
    creations = recorded.records("graph_op_creation")
    (creation,) = [c for c in creations if (c.graph_id, c.op_name) == (first.graph_id, first.op_name)]
    own = [recorded.frames[frame] for frame in creation.code_location.stack_frame_ids]
    assert any(path == __file__ and 'name="root"' in code for path, _, _, code in own)


def test_arguments_and_results_of_a_compiled_function_are_recorded_in_full(tmp_path: Path) -> None:
    @tf.function(jit_compile=True)
    def compiled(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        y = tf.math.log(x, name="log")
        return tf.identity(y), tf.abs(y * 2.0, name="result")

    x = np.float32([0.0, -1.0, 1.0, np.nan])
    with tb_debugger_plugin.record(tmp_path):
        compiled(tf.constant(x))
    recorded = read(tmp_path)
    (argument,), (log,), (result,) = recorded.of("x"), recorded.of("log"), recorded.of("result")
    assert argument[4:] == counts(x)
    with np.errstate(all="ignore"):
        assert log[4:] == counts(np.log(x))
        assert result[4:] == counts(np.abs(2 * np.log(x)))
    assert [trace.op_name for trace in recorded.traces if trace.is_bad] == ["x", "log", "mul", "result"]


def test_a_compiled_function_of_arguments_and_results_alone_is_recorded(tmp_path: Path) -> None:
    @tf.function(jit_compile=True)
    def compiled(x: tf.Tensor) -> tf.Tensor:
        return tf.abs(x, name="result")

    with tb_debugger_plugin.record(tmp_path):
        compiled(tf.constant([-1.0, np.nan]))
    recorded = read(tmp_path)
    assert recorded.counts_of("result") == [counts([1.0, np.nan])]
    assert len(recorded.of("x")) == 1


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64], ids=lambda d: d.name)
def test_infinity_and_nan_are_told_from_the_largest_and_the_smallest_numbers(
    tmp_path: Path, dtype: tf.DType
) -> None:
    values = [
        [],
        [0.0, -0.0],
        [dtype.max, dtype.min],
        [1e-40, -1e-40],
        [1.0, INF],
        [-INF],
        [1.0, np.nan, INF],
    ]
    inputs = [tf.constant(np.array(value).astype(dtype.as_numpy_dtype)) for value in values]

    @tf.function(jit_compile=True)
    def sums(*tensors: tf.Tensor) -> list[tf.Tensor]:
        negated = [tf.reverse(tensor, [0], name=f"value_{i}") for i, tensor in enumerate(tensors)]
        return [tf.reduce_sum(tf.cast(tf.math.is_nan(tensor), tf.int32)) for tensor in negated]

    with tb_debugger_plugin.record(tmp_path, "CURT_HEALTH"):
        sums(*inputs)
    recorded = read(tmp_path)
    for i, value in enumerate(values):
        ((_, is_bad),) = recorded.of(f"value_{i}")
        assert is_bad == (not np.all(np.isfinite(value))), value


@pytest.mark.parametrize("shape", [(), (3,), (2000,), (4, 500)], ids=str)
@pytest.mark.parametrize("dtype", [tf.complex64, tf.complex128, F8_WIDE, F8_FINE], ids=lambda d: d.name)
def test_dtypes_without_bits_to_compare_are_measured(
    tmp_path: Path, dtype: tf.DType, shape: tuple[int, ...]
) -> None:
    @tf.function(jit_compile=True)
    def compiled(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        if dtype.is_complex:
            z = tf.add(tf.complex(x, y), tf.zeros([], dtype), name="z")
            return tf.math.real(z) + 1.0
        return tf.cast(tf.cast(x, dtype, name="z"), tf.float32) + 1.0

    part = tf.float64 if dtype == tf.complex128 else tf.float32
    good = np.full(shape, 0.5)
    cases = [(good, good), (np.full(shape, np.nan), good)]
    cases += [(good, np.full(shape, -INF)), (np.full(shape, INF), good)] if dtype.is_complex else []
    with tb_debugger_plugin.record(tmp_path, "CURT_HEALTH"):
        for x, y in cases:
            compiled(tf.constant(x, part), tf.constant(y, part))
    assert [is_bad for _, is_bad in read(tmp_path).of("z")] == [0.0] + [1.0] * (len(cases) - 1)


@pytest.mark.parametrize("mode", ["NO_TENSOR", "SHAPE"])
def test_modes_that_do_not_look_at_elements_say_what_ran(tmp_path: Path, mode: str) -> None:
    with tb_debugger_plugin.record(tmp_path, mode):
        step_of(True)(tf.constant([[2.5, 9.0]]))
    recorded = read(tmp_path)
    names = {trace.op_name.rpartition("/")[2] for trace in recorded.traces}
    assert {"half", "root", "taken", "loss", "log"} <= names
    assert not {"not_taken", "not_needed"} & names
    if mode == "SHAPE":
        assert {tuple(value[1:6]) for value in recorded.of("half")} == {(1.0, 2.0, 2.0, 1.0, 2.0)}


def trained(root: Path, mode: str, x: Array, y: Array, *, jit_compile: bool) -> list[tuple[str, int]]:
    """The bad tensors of a training by Keras, but for those that bring a step its arguments."""
    tf.keras.utils.clear_session()  # names count from 0 again
    tf.keras.utils.set_random_seed(1)
    layers = [tf.keras.layers.Dense(8, "relu"), tf.keras.layers.Dropout(0.2), tf.keras.layers.Dense(2)]
    model = tf.keras.Sequential([tf.keras.Input([3]), *layers])
    model.compile("adam", "mse", jit_compile=jit_compile)
    callback = DebuggerCallback(root, mode)
    model.fit(x, y, batch_size=4, shuffle=False, verbose=0, callbacks=[callback])
    return [name for name in bad_tensors(read(root)) if "iterator" not in name[0].lower()]


@pytest.mark.parametrize(
    ("mode", "bad"),
    [
        ("FULL_HEALTH", "a label"),
        ("CURT_HEALTH", "an input"),
        pytest.param("FULL_HEALTH", "an input", marks=pytest.mark.long),
        pytest.param("CURT_HEALTH", "a label", marks=pytest.mark.long),
    ],
)
def test_keras_finds_the_same_bad_tensors_when_it_compiles_the_step(
    tmp_path: Path, mode: str, bad: str
) -> None:
    x = np.random.default_rng(0).normal(size=[32, 3]).astype(np.float32)
    y = x[:, :2].copy()
    (y if bad == "a label" else x)[17, 1] = np.inf
    plain = trained(tmp_path / "plain", mode, x, y, jit_compile=False)
    compiled = trained(tmp_path / "compiled", mode, x, y, jit_compile=True)
    assert compiled[0] == plain[0]
    assert set(compiled) == set(plain)


def test_a_compiled_function_is_still_compiled(tmp_path: Path) -> None:
    program = """
import sys
import tensorflow as tf
import tb_debugger_plugin

@tf.function(jit_compile=True)
def fused(x):
    return tf.sqrt(tf.exp(x) + 1.0)

@tf.function
def outer(x):
    return fused(x)

with tb_debugger_plugin.record(sys.argv[1]):
    outer(tf.ones([3]))
    fused(tf.ones([4]))
"""
    dumped = tmp_path / "xla"
    flags = f"--xla_dump_to={dumped} --xla_dump_hlo_as_text"
    run_apart("-c", program, str(tmp_path / "run"), XLA_FLAGS=flags)
    programs = [path.read_text() for path in dumped.glob("*after_optimizations.txt")]
    assert len([text for text in programs if "exponential" in text]) == 2
    assert not [text for text in programs if "custom-call" in text]


def test_what_xla_makes_of_a_function_can_be_asked_for_while_recording(tmp_path: Path) -> None:
    @tf.function(jit_compile=True)
    def compiled(x: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(x)

    x = tf.constant([4.0])
    plain = compiled.experimental_get_compiler_ir(x)(stage="hlo")
    with tb_debugger_plugin.record(tmp_path):
        compiled(x)
        assert compiled.experimental_get_compiler_ir(x)(stage="hlo").count("\n") == plain.count("\n")


def test_no_copy_is_left_in_the_runtime(tmp_path: Path) -> None:
    runtime = context.context()
    before = set(runtime.list_function_names())
    step = step_of(True)
    with tb_debugger_plugin.record(tmp_path):
        step(tf.constant([[2.5, 9.0]]))
        assert [name for name in runtime.list_function_names() if "_counted_" in name]
    left = set(runtime.list_function_names()) - before
    assert not [name for name in left if "_counted" in name or "_unwatched" in name or "tb_debugger" in name]
    step(tf.constant([[2.5, 9.0]]))
