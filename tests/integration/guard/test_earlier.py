"""`capture/engines/guard/earlier.py`: what functions computed before a call went bad is on record."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import open_run
from tests.support.guard_programs import keras_model

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(300)]

Numbers = dict[int, tuple[float, float]]


def numbers_of(folder: Path, op: str, function: str) -> Numbers:
    """Return the smallest and the largest number of an op's tensor on record, by step."""
    good = f"op = '{op}' AND function = '{function}' AND health = 'good'"
    rows = open_run(folder).sql(f"SELECT step, min, max FROM tensors WHERE {good}").fetchall()
    return {step: (least, most) for step, least, most in rows}


def divergence(folder: Path, *, marks_steps: bool = False, **options: object) -> tuple[Numbers, Numbers]:
    """Train until the loss is infinite, with the program's own numbers of variable and loss by step."""
    weight = tf.Variable([0.5, -0.25])

    @tf.function(**options)
    def train(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((weight * x) ** 2, name="loss")
        weight.assign_sub(8.0 * tape.gradient(loss, weight))
        return loss

    weights, losses = {}, {}
    with tb_debugger_plugin.record(folder, mode="GUARD"):
        for number in range(40):
            step = 3 * number if marks_steps else number
            before = weight.numpy()
            loss = train(tf.ones([2])).numpy()
            if not np.isfinite(loss):
                break
            weights[step] = (before.min(), before.max())
            losses[step] = (loss, loss)
            for _ in range(3 if marks_steps else 0):
                tb_debugger_plugin.step()
    assert 10 < len(losses) < 40
    return weights, losses


def is_part(found: Numbers, expected: Numbers) -> bool:
    """Whether the numbers are those of the program, for the steps that are on record; enough of them."""
    steps = [step for step in found if step in expected]
    assert len(steps) >= 10
    return all(found[step] == expected[step] for step in steps)


@pytest.mark.parametrize("marks_steps", [False, True], ids=["calls", "marked"])
def test_variables_and_results_are_those_of_the_program(tmp_path: Path, marks_steps: bool) -> None:
    weights, losses = divergence(tmp_path, marks_steps=marks_steps)
    assert is_part(numbers_of(tmp_path, "ReadVariableOp", "train"), weights)
    assert is_part(numbers_of(tmp_path, "loss", "train"), losses)
    assert "grew from step to step" in str(open_run(tmp_path).why())


def test_results_of_compiled_functions_too(tmp_path: Path) -> None:
    _, losses = divergence(tmp_path, jit_compile=True)
    assert is_part(numbers_of(tmp_path, "loss", "train"), losses)


def test_each_earlier_call_is_an_execution_before_the_bad_one(tmp_path: Path) -> None:
    divergence(tmp_path)
    run = open_run(tmp_path)
    calls = run.sql("SELECT step, wall_time, health FROM calls ORDER BY idx").fetchall()
    assert [health for _, _, health in calls] == [None] * (len(calls) - 1) + ["bad"]
    assert [step for step, _, _ in calls] == sorted({step for step, _, _ in calls})
    assert [time for _, time, _ in calls] == sorted(time for _, time, _ in calls)
    inside = run.sql("SELECT step, count(*) FROM tensors WHERE op IN ('loss') GROUP BY ALL").fetchall()
    assert {count for _, count in inside} == {1}


def test_variables_of_called_functions_are_followed(tmp_path: Path) -> None:
    model, x, y = keras_model(), np.ones([8, 8], np.float32), np.zeros([8], np.int64)
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        model.fit(x, y, batch_size=2, verbose=0)
        x[5] = np.nan
        model.fit(x, y, batch_size=2, verbose=0, shuffle=False)
    read = open_run(tmp_path).sql(
        "SELECT count(DISTINCT step), count(DISTINCT op) FROM tensors WHERE op LIKE '%ReadVariableOp'"
        " AND step < (SELECT max(step) FROM tensors)"
    )
    steps, ops = read.fetchall()[0]
    assert steps >= 3
    assert ops >= 2


def test_times_on_record_rise_when_two_functions_go_bad(tmp_path: Path) -> None:
    @tf.function
    def log(x: tf.Tensor) -> tf.Tensor:
        return tf.math.log(x)

    @tf.function
    def root(x: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(x)

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for x in (1.0, 2.0, 3.0, 0.0, 5.0, -1.0):
            root(tf.constant(abs(x)))
            log(tf.constant(x))
        root(tf.constant(-4.0))
    run = open_run(tmp_path)
    rows = run.sql("SELECT wall_time FROM tensors WHERE op IS NOT NULL ORDER BY idx").fetchall()
    times = [time for (time,) in rows]
    assert len(times) >= 5
    assert times == sorted(times)


def test_what_is_not_to_be_recorded_is_not(tmp_path: Path) -> None:
    weight = tf.Variable(2.0)

    @tf.function
    def step(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        weight.assign_add(1.0)
        y = tf.math.log(x) * weight
        return y, y

    with tb_debugger_plugin.record(tmp_path, mode="GUARD", op_regex="(Mul|Log)$") as recording:
        for number, x in enumerate((1.0, 2.0, 3.0, 4.0, 0.0)):
            if number == 1:
                recording.pause()
            if number == 3:
                recording.resume()
            step(tf.constant(x))
    rows = open_run(tmp_path).sql("SELECT step, op, health FROM tensors WHERE op IS NOT NULL ORDER BY idx")
    assert rows.fetchall() == [
        *((0, "mul", "good"), (3, "mul", "good")),
        *((4, "Log", "bad"), (4, "mul", "bad")),
    ]


def test_calls_that_fail_have_steps(tmp_path: Path) -> None:
    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        tf.debugging.assert_greater(x, -5.0)
        return tf.math.log(x)

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for x in (1.0, -9.0, 2.0, 3.0, 0.0):
            with contextlib.suppress(tf.errors.InvalidArgumentError):
                step(tf.constant(x))
    steps = open_run(tmp_path).sql("SELECT step, health FROM calls ORDER BY idx").fetchall()
    assert steps[-3:] == [
        (2, None),
        (3, None),
        (4, "bad"),
    ]  # those before the failure are later than they were
