"""`capture/engines/xla/repeating.py`: a compiled function with a bad witness runs once more, if it can."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import tb_debugger_plugin
from tb_debugger_plugin.capture.engines.xla import repeating
from tests.support.programs import run_apart
from tests.support.recorded import read

pytestmark = pytest.mark.tensorflow

NAN, INF = float("nan"), float("inf")
Tensors = list[tf.Tensor]


def copies(kind: str) -> list[str]:
    """The functions of the runtime that are ours, of one kind."""
    return [name for name in context.context().list_function_names() if kind in name]


#: Ops of a random program: some are witnesses of their inputs, some hide bad elements, some only move them.
OPS: list[Callable[[tf.Tensor, tf.Tensor, str], tf.Tensor]] = [
    lambda x, y, name: tf.add(x, y, name=name),
    lambda x, y, name: tf.subtract(x, y, name=name),
    lambda x, y, name: tf.multiply(x, y, name=name),
    lambda x, y, name: tf.divide(x, y + 2.0, name=name),
    lambda x, y, name: tf.matmul(x, y, name=name),
    lambda x, y, name: tf.tanh(x, name=name),
    lambda x, y, name: tf.exp(-tf.abs(x), name=name),
    lambda x, y, name: tf.math.log1p(tf.abs(x), name=name),
    lambda x, y, name: tf.where(x > y, x, tf.zeros_like(x), name=name),
    lambda x, y, name: tf.transpose(x, name=name),
    lambda x, y, name: tf.add(tf.reduce_mean(x, 0, keepdims=True), y, name=name),
    lambda x, y, name: tf.concat([x[:2], y[2:]], 0, name=name),
    lambda x, y, name: tf.concat(tf.split(x, 2)[::-1], 0, name=name),
    lambda x, y, name: tf.reshape(tf.reshape(x, [16]), [4, 4], name=name),
]


def random_program(seed: int) -> Callable[[Tensors], Tensors]:
    """Some thirty ops on 4 x 4 matrices; all that they compute."""
    random = np.random.default_rng(seed)
    chosen = [(random.integers(len(OPS)), *random.integers(0, 3 + i, 2)) for i in range(30)]

    def program(inputs: Tensors) -> Tensors:
        values = list(inputs)
        for i, (op, left, right) in enumerate(chosen):
            # Small numbers stay small: what is bad came in.
            values.append(OPS[op](values[left], values[right], f"value_{i}"))
        return values[len(inputs) :]

    return program


def inputs_with(seed: int) -> Tensors:
    """Three matrices; in most cases with something bad in them."""
    random = np.random.default_rng(seed)
    matrices = random.uniform(-0.2, 0.2, [3, 4, 4]).astype(np.float32)
    for _ in range(seed % 3):
        matrices[tuple(random.integers(0, [3, 4, 4]))] = random.choice([NAN, INF, -INF])
    return [tf.constant(matrix) for matrix in matrices]


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_have_the_bad_tensors_that_running_them_op_by_op_finds(
    tmp_path: Path, seed: int
) -> None:
    program = random_program(seed)
    compiled = tf.function(lambda *inputs: program(list(inputs))[-6:], jit_compile=True)
    cases = [inputs_with(case) for case in range(12)]
    with tb_debugger_plugin.record(tmp_path, "CURT_HEALTH"):
        for inputs in cases:
            compiled(*inputs)
        assert copies("_witnesses_") and copies("_bad_")
    recorded = read(tmp_path)
    by_op = [program(inputs) for inputs in cases]
    seen = 0
    for i in range(len(by_op[0])):
        actual = [bool(is_bad) for _, is_bad in recorded.of(f"value_{i}")]
        if actual:  # else no result needs it
            seen += 1
            assert actual == [not np.isfinite(values[i]).all() for values in by_op], f"value_{i}"
    assert seen > 10


def trained(jit_compile: bool) -> tuple[Callable[[], tf.Tensor], list[tf.Variable]]:
    """A step with variables that are read, changed and read again; it goes bad in its third call."""
    weight = tf.Variable([[3.0, 1.0]], name="weight")
    slot = tf.Variable(tf.zeros([1, 2]), name="slot")
    scratch = tf.Variable(tf.zeros([2]), name="scratch")
    count = tf.Variable(0, name="count")

    @tf.function
    def update(gradient: tf.Tensor) -> None:
        slot.assign_add(tf.multiply(gradient - slot, 0.5, name="change"))
        weight.assign_sub(tf.multiply(slot, 2.0, name="moved"))

    @tf.function(jit_compile=jit_compile)
    def step() -> tf.Tensor:
        count.assign_add(1)
        scratch.assign(tf.constant([1.0, 2.0]))
        root = tf.sqrt(weight, name="root")
        update(tf.multiply(root, 0.5, name="gradient"))
        return tf.reduce_sum(weight + scratch, name="loss")

    return step, [weight, slot, scratch, count]


def test_what_ran_again_began_with_the_variables_as_they_were(tmp_path: Path) -> None:
    recorded, values = {}, {}
    for jit_compile in (False, True):
        step, variables = trained(jit_compile)
        root = tmp_path / str(jit_compile)
        with tb_debugger_plugin.record(root, "CURT_HEALTH"):
            for _ in range(8):
                step()
            assert jit_compile == bool(copies("_bad_"))
        recorded[jit_compile] = read(root)
        values[jit_compile] = [variable.numpy() for variable in variables]
    plain_step, plain_variables = trained(True)
    for _ in range(8):
        plain_step()
    for ours, plain in zip(values[True], plain_variables, strict=True):
        np.testing.assert_array_equal(ours, plain.numpy())  # nothing was changed twice
    names = {trace.op_name for trace in recorded[False].traces}
    assert {"root", "gradient", "change", "moved", "loss"} <= {name.rpartition("/")[2] for name in names}
    for name in names:
        ours, plain = ([is_bad for _, is_bad in recorded[way].of(name)] for way in (True, False))
        assert ours == plain, name
    assert [is_bad for _, is_bad in recorded[True].of("root")].index(1.0) >= 2


def test_a_function_that_changes_very_large_variables_is_looked_at_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = 8 + 8 + 4  # bytes of the weight, its slot and the count; the scratch is not read
    for most in (needed, needed - 1):
        monkeypatch.setattr(repeating, "MOST_HELD", most)
        step, _ = trained(True)
        with tb_debugger_plugin.record(tmp_path / str(most), "CURT_HEALTH"):
            step()
            assert bool(copies("_witnesses")) == (most == needed)


def test_a_variable_without_a_value_is_not_read(tmp_path: Path) -> None:
    handle = tf.Variable(tf.ones([2]), name="made_inside")
    tf.raw_ops.DestroyResourceOp(resource=handle.handle)

    @tf.function(jit_compile=True)
    def first(x: tf.Tensor) -> tf.Tensor:
        handle.assign(tf.math.log(x, name="log"))
        return tf.reduce_sum(handle + x)

    with tb_debugger_plugin.record(tmp_path, "CURT_HEALTH"):
        first(tf.constant([1.0, -1.0]))
    assert [is_bad for _, is_bad in read(tmp_path).of("log")] == [1.0]
    np.testing.assert_array_equal(handle.numpy(), [0.0, NAN])


def test_a_variable_that_is_first_asked_whether_it_has_a_value_is_read(tmp_path: Path) -> None:
    variable = tf.Variable([1.0, -1.0])

    @tf.function
    def has_value() -> tf.Tensor:
        return tf.raw_ops.VarIsInitializedOp(resource=variable.handle)

    @tf.function(jit_compile=True)
    def first(x: tf.Tensor) -> tf.Tensor:
        there = tf.cast(has_value(), tf.float32)
        return tf.reduce_sum(tf.math.log(variable, name="log") * x * there)

    with tb_debugger_plugin.record(tmp_path, "CURT_HEALTH"):
        first(tf.ones([2]))
    assert [is_bad for _, is_bad in read(tmp_path).of("log")] == [1.0]


@pytest.mark.long
def test_only_what_may_hide_something_runs_again(tmp_path: Path) -> None:
    program = """
import sys
import tensorflow as tf
import tb_debugger_plugin

@tf.function(jit_compile=True)
def masked(x):
    # Infinity as it belongs: nobody relies on these.
    scores = tf.where(x > 0.0, x, -float("inf"), name="scores")
    masked = tf.add(x * 0.5, tf.reshape(tf.constant([[0.0], [-float("inf")]]), [2]))
    return tf.reduce_sum((tf.nn.softmax(scores) + tf.nn.softmax(masked)) * x)

@tf.function(jit_compile=True)
def rooted(x):
    return tf.reduce_sum(tf.sqrt(x, name="root") * 2.0)

with tb_debugger_plugin.record(sys.argv[1], "CURT_HEALTH"):
    masked(tf.constant([1.0, -1.0]))
    rooted(tf.constant([1.0, 4.0]))
    if len(sys.argv) > 2:
        rooted(tf.constant([1.0, -4.0]))
with tb_debugger_plugin.record(sys.argv[1] + "_counts"):
    masked(tf.constant([1.0, -1.0]))
"""
    compiled = {}
    for case in ("good", "bad"):
        dumped = tmp_path / case
        flags = f"--xla_dump_to={dumped} --xla_dump_hlo_as_text"
        more = ["bad"] * (case == "bad")
        run_apart("-c", program, str(tmp_path / f"{case}_run"), *more, XLA_FLAGS=flags)
        names = [path.name for path in dumped.glob("*after_optimizations.txt")]
        compiled[case] = [
            re.findall(r"masked|rooted|_witnesses|_compiled|_counted", name)
            for name in names
            if "inference" in name
        ]
    masked, rooted = ["masked", "_witnesses"], ["rooted", "_witnesses"]
    assert sorted(compiled["good"]) == [masked, masked, rooted]
    assert sorted(compiled["bad"]) == sorted([*compiled["good"], ["rooted", "_compiled"]])
    assert [is_bad for _, is_bad in read(tmp_path / "bad_run").of("scores")] == [1.0]
    counted = read(tmp_path / "bad_run_counts").traces_of("scores")
    assert [trace.without_id for trace in counted] == [[2, 1, 0, 0]]
    assert [is_bad for _, is_bad in read(tmp_path / "bad_run").of("root")] == [0.0, 1.0]


def test_a_shape_that_only_the_call_knows_hides_nothing(tmp_path: Path) -> None:
    """What is added to a batch without elements is in none of the results."""
    bias = tf.Variable([1.0, NAN])

    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None, 2])])
    def layer(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.add(x, tf.multiply(bias, 2.0, name="twice"), name="sum"))

    with tb_debugger_plugin.record(tmp_path, "CURT_HEALTH"):
        layer(tf.zeros([0, 2]))
        layer(tf.zeros([3, 2]))
    recorded = read(tmp_path)
    assert [is_bad for _, is_bad in recorded.of("twice")] == [1.0, 1.0]
    assert [is_bad for _, is_bad in recorded.of("sum")] == [0.0, 1.0]
