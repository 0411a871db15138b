"""`capture/engines/guard/taken.py`: a guarded program computes the same bits, and the check is NumPy's."""

from __future__ import annotations

import gc
import itertools
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context, execute

import tb_debugger_plugin
from benchmarks.programs import STEPS
from tb_debugger_plugin import native
from tb_debugger_plugin.capture.options import MEASURED_DTYPES

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(300)]


def values_after_steps(program: str, folder: Path | None, steps: int) -> list[bytes]:
    tf.keras.utils.set_random_seed(1)
    before = {id(one) for one in gc.get_objects() if isinstance(one, tf.Variable)}
    step = STEPS[program]()
    if folder is not None:
        tb_debugger_plugin.enable_dump_debug_info(folder, "GUARD")
    for _ in range(steps):
        step()
    tb_debugger_plugin.disable_dump_debug_info()
    made = [one for one in gc.get_objects() if isinstance(one, tf.Variable) and id(one) not in before]
    return sorted(one.numpy().tobytes() for one in made)


@pytest.mark.parametrize(
    ("program", "steps"),
    [
        *((program, 4) for program in ("mlp", "cnn", "gpt", "mlp_xla")),
        *(pytest.param(program, 200, marks=pytest.mark.long) for program in STEPS if program != "session"),
    ],
)
def test_training_has_the_bits_of_the_unrecorded_program(tmp_path: Path, program: str, steps: int) -> None:
    plain = values_after_steps(program, None, steps)
    assert len(plain) >= 4
    assert values_after_steps(program, tmp_path, steps) == plain


def is_seen(array: tf.Tensor) -> bool:
    """Whether the guard sees that a tensor is not finite."""
    module = native.load()
    assert module is not None
    dtype = array.dtype.as_datatype_enum
    site = module.add_guard_site(1, 0, 0, (dtype,), (), 0)
    attrs = ("Tchecked", (dtype,), "Theld", (), "site", site)
    execute.quick_execute("TbDebuggerGuard", 0, [array], attrs, context.context())
    return module.take_bad_call(site) is not None


@pytest.mark.parametrize("dtype", sorted(MEASURED_DTYPES, key=lambda dtype: dtype.name), ids=lambda d: d.name)
def test_the_check_is_that_of_numpy(tmp_path: Path, dtype: tf.DType) -> None:
    random = np.random.default_rng(0)
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for size in (0, 1, 7, 64, 9000):
            finite = random.uniform(-2, 2, size).astype(dtype.as_numpy_dtype)
            assert not is_seen(tf.constant(finite, dtype))
            for bad in (np.nan, np.inf, -np.inf) if size else ():
                array = finite.copy()
                array[random.integers(size)] = bad
                expected = not np.isfinite(array.astype(np.complex128)).all()
                assert is_seen(tf.constant(array, dtype)) == expected


OPTIMIZERS: dict[str, dict[str, object]] = {
    **{name: {} for name in ("Adam", "AdamW", "Nadam", "Adamax", "Adadelta", "Adagrad", "Ftrl", "Lion")},
    "SGD": {"momentum": 0.9, "nesterov": True},
    "RMSprop": {"momentum": 0.5, "centered": True},
}


@pytest.mark.parametrize("is_compiled", [False, pytest.param(True, marks=pytest.mark.long)], ids=["", "xla"])
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_each_call_is_seen_that_leaves_a_bad_variable(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, is_compiled: bool
) -> None:
    random = np.random.default_rng(0)
    weights = [tf.Variable(random.normal(size=shape), dtype=tf.float32) for shape in ((3, 2), (2,))]
    optimizer = getattr(tf.keras.optimizers, name)(0.01, **OPTIMIZERS[name])
    optimizer.build(weights)
    slots = [slot.value for slot in optimizer.variables if slot.dtype == "float32"]
    gradients = [tf.Variable(weight) for weight in weights]
    variables = [*weights, *slots, *gradients]
    read = [optimizer.learning_rate.value, *gradients]
    changed = [variable for variable in variables if not any(variable is other for other in read)]
    good = [random.uniform(0.1, 1.0, size=each.shape).astype(np.float32) for each in variables]

    @tf.function(jit_compile=is_compiled)
    def train() -> None:
        optimizer.apply_gradients(zip([tf.identity(each) for each in gradients], weights, strict=True))

    num_bad = 0
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for spoilt, value in itertools.product(range(len(variables)), (np.nan, np.inf, -np.inf, 3e38, 1e-30)):
            given = [array.copy() for array in good]
            given[spoilt].flat[random.integers(given[spoilt].size)] = value
            for variable, array in zip(variables, given, strict=True):
                variable.assign(array)
            train()
            num_bad += not all(np.isfinite(variable.numpy()).all() for variable in changed)
    (said,) = [text for text in caplog.messages if text.startswith("GUARD saw")]
    assert said.startswith(f"GUARD saw an infinity or NaN in {num_bad} calls of train"), said


def test_ties_are_those_of_the_unrecorded_program(tmp_path: Path) -> None:
    """TensorFlow lets ArgMax take what a Relu takes, if nothing else takes the result of the Relu."""
    x = -tf.abs(tf.constant(np.random.default_rng(0).normal(size=1000), tf.float32))

    @tf.function
    def step(x: tf.Tensor) -> list[tf.Tensor]:
        return [tf.argmax(function(x)) for function in (tf.nn.relu, tf.sigmoid, tf.nn.relu6, tf.sign)]

    expected = [int(each) for each in step(x)]
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        assert [int(each) for each in step(x)] == expected


def test_a_tensor_without_elements_tells_of_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    root = tf.Variable([0.0])
    inverse = tf.Variable([0.0, 1.0])
    weight = tf.Variable([0.0, 2.0])

    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])])
    def empty(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        return tf.ensure_shape(root.assign(tf.sqrt(x)), [None]) + y

    @tf.function
    def clipped() -> None:
        with tf.GradientTape() as tape:
            value = tf.math.rsqrt(tf.square(weight))
            loss = tf.reduce_sum(tf.minimum(value, 10.0))
        inverse.assign(value)
        weight.assign_sub(0.1 * tape.gradient(loss, weight))

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        empty(tf.constant([-1.0]), tf.constant([], tf.float32))
        clipped()
    assert np.isnan(root.numpy()).all() and np.isinf(inverse.numpy()).any()
    assert sum("GUARD saw an infinity or NaN in 1 call" in line for line in caplog.messages) == 2
