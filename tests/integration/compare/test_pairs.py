"""`analysis/compare`: pairs of real programs, each with one planted difference.

The programs are variants of one training step. Each is recorded once, and compared with the base.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.analysis.compare.comparison import Comparison
from tb_debugger_plugin.reading.run import Run

pytestmark = [pytest.mark.tensorflow, pytest.mark.long]


@dataclass(frozen=True)
class Variant:
    """What a program does in another way than the base."""

    activation: Callable[[tf.Tensor], tf.Tensor] = tf.nn.relu
    seed: int = 1
    dtype: tf.DType = tf.float32
    xla: bool = False
    epsilon: float = 1e-3
    initial: float = 0.3
    reverse: bool = False
    loss_scale: float = 128.0
    replicas: int = 1
    rate: float = 0.1
    batch: int = 4
    shift: bool = False
    steps: int = 3


def train(variant: Variant) -> None:
    """Trains a layer for a few steps."""
    dtype = variant.dtype
    noise = tf.random.stateless_normal([8, 8], seed=[variant.seed, 7])  # the random op
    weight = tf.Variable(tf.cast(0.1 * noise, dtype))
    bias = tf.Variable(tf.fill([8], tf.constant(variant.initial, dtype)))  # the initial value

    def forward(x: tf.Tensor) -> tf.Tensor:
        h = tf.matmul(x, weight) + bias
        if variant.shift:
            h = h + tf.constant(0.25, dtype)  # the inserted op
        h = variant.activation(h)  # the activation
        spread = tf.math.reduce_variance(h, axis=-1, keepdims=True)
        return h * tf.math.rsqrt(spread + variant.epsilon)  # the epsilon

    @tf.function(jit_compile=variant.xla)
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(forward(x) - 1.0))
            scaled = loss * variant.loss_scale  # the loss scale
        gradients = tape.gradient(scaled, [weight, bias])
        for variable, gradient in zip([weight, bias], gradients, strict=True):
            variable.assign_sub(variant.rate / variant.loss_scale * gradient)  # the update
        return loss

    rows = tf.reshape(tf.range(96, dtype=tf.float32), [12, 8]) / 20.0 - 2.0
    data = tf.data.Dataset.from_tensor_slices(tf.reverse(rows, [0]) if variant.reverse else rows)
    iterator = iter(data.batch(variant.batch).repeat())
    for _ in range(variant.steps):
        x = tf.cast(next(iterator), dtype)  # the data
        if variant.replicas == 1:
            step(x)
        else:
            for part in tf.split(x, variant.replicas):  # a part for each replica
                step(part)


VARIANTS = {
    "base": Variant(),
    "same": Variant(),
    "activation": Variant(activation=tf.nn.elu),
    "seed": Variant(seed=2),
    "half": Variant(dtype=tf.float16),
    "double": Variant(dtype=tf.float64),
    "xla": Variant(xla=True),
    "xla with another activation": Variant(xla=True, activation=tf.nn.softplus),
    "epsilon": Variant(epsilon=1.1e-3),
    "initial": Variant(initial=0.31),
    "reverse": Variant(reverse=True),
    "loss_scale": Variant(loss_scale=256.0),
    "replicas": Variant(replicas=2),
    "rate": Variant(rate=0.11),
    "batch": Variant(batch=3),
    "shift": Variant(shift=True),
}


THREADED = {"threads": 1.5, "the same threads": 1.5, "threads with another factor": 1.6}


def line_of(comment: str, function: Callable[..., None] = train) -> int:
    """The line of a function with a comment."""
    lines, first = inspect.getsourcelines(function)
    (found,) = [number for number, line in enumerate(lines, first) if line.endswith(f"# {comment}\n")]
    return found


def train_in_threads(factor: float) -> None:
    """Threads call one function with other numbers each, in any order."""

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.exp(x) * factor)  # the factor

    def work(number: int) -> None:
        for turn in range(5):
            step(tf.linspace(0.0, 1.0 + number + turn / 10, 16))

    threads = [threading.Thread(target=work, args=[number], name=f"worker {number}") for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


Runs = Callable[[str], Run]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    """The recorded programs by name."""
    folder = tmp_path_factory.mktemp("compare")
    for name, variant in VARIANTS.items():
        with tb_debugger_plugin.record(str(folder / name), mode="FULL_NUMERICS"):
            train(variant)
    for name, factor in THREADED.items():
        with tb_debugger_plugin.record(str(folder / name), mode="FULL_NUMERICS"):
            train_in_threads(factor)
    opened = {name: tb_debugger_plugin.open_run(folder / name) for name in (*VARIANTS, *THREADED)}
    yield lambda name: opened[name]
    for run in opened.values():
        run.close()


def compared(runs: Runs, name: str) -> Comparison:
    """The comparison of the base with a variant."""
    return runs("base").compare(runs(name))


#: By variant: the type of the op that differs first, and the comment at its line.
PLANTED = {
    "activation": ("Relu", "the activation", "changed_op"),
    "seed": ("StatelessRandomNormalV2", "the random op", "random"),
    "epsilon": ("Const", "the epsilon", "changed_constant"),
    "reverse": ("IteratorGetNext", "the data", "data"),
    "loss_scale": ("Const", "the loss scale", "changed_constant"),
    "rate": ("Const", "the update", "changed_constant"),
    "batch": ("IteratorGetNext", "the data", "data"),
    "initial": ("Fill", "the initial value", "numerics"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_difference_is_named_by_op_line_and_cause(runs: Runs, name: str) -> None:
    first = compared(runs, name).first_difference
    assert first is not None and first.tensor.first.source is not None
    op_type, comment, cause = PLANTED[name]
    found = (first.tensor.first.op_type, first.tensor.first.source.line, first.cause)
    assert found == (op_type, line_of(comment), cause), first.explanation


def test_equal_programs_agree(runs: Runs) -> None:
    comparison = compared(runs, "same")
    assert comparison.first_difference is None and not comparison.changes
    assert comparison.num_compared > 100


def test_xla_alone_is_no_difference(runs: Runs) -> None:
    assert compared(runs, "xla").first_difference is None


def test_a_change_among_tensors_that_xla_left_without_numbers_is_named(runs: Runs) -> None:
    first = compared(runs, "xla with another activation").first_difference
    assert first is not None and first.cause == "changed_op"
    assert f"Relu of test_pairs.py:{line_of('the activation')} is Softplus" in first.explanation


def test_an_inserted_op_shifts_no_other_and_is_named_where_its_result_is_taken(runs: Runs) -> None:
    first = compared(runs, "shift").first_difference
    assert first is not None and first.cause == "added_op"
    assert f"AddV2) of test_pairs.py:{line_of('the inserted op')}, which only the second" in first.explanation


def test_a_part_for_each_replica_is_another_shape(runs: Runs) -> None:
    comparison = compared(runs, "replicas")
    first = comparison.first_difference
    assert first is not None and first.tensor.first.op_type == "Placeholder" and first.cause == "data"
    assert first.tensor.what == "shape [4, 8] and [2, 8]"
    assert any("more often in one run" in note for note in comparison.notes)


@pytest.mark.parametrize(("name", "dtype"), [("half", "float16"), ("double", "float64")])
def test_another_dtype_is_a_change_of_the_program(runs: Runs, name: str, dtype: str) -> None:
    comparison = compared(runs, name)
    assert any(change.words == f"float32 became {dtype}" for change in comparison.changes)


def test_float64_gives_the_same_as_float32_but_for_rounding(runs: Runs) -> None:
    assert compared(runs, "double").first_difference is None


def test_float16_overflows_in_the_gradient_of_the_small_variance(runs: Runs) -> None:
    first = compared(runs, "half").first_difference
    assert first is not None and first.tensor.difference is None
    assert first.tensor.first.op_type == "RsqrtGrad"


def test_the_order_of_threads_is_no_difference(runs: Runs) -> None:
    comparison = runs("threads").compare(runs("the same threads"))
    assert comparison.first_difference is None and comparison.num_compared > 40


def test_a_difference_in_threads_is_named(runs: Runs) -> None:
    first = runs("threads").compare(runs("threads with another factor")).first_difference
    assert first is not None and first.cause == "changed_constant" and first.tensor.first.source is not None
    assert first.tensor.first.source.line == line_of("the factor", train_in_threads)
