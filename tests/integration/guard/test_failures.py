"""`capture/engines/guard/functions.py`: an error of the guard does not reach the program."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.capture.engines.guard import copies, replays
from tb_debugger_plugin.errors import UsageError
from tests.support.recorded import read

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(120)]


def fail(*_: object, **__: object) -> NoReturn:
    raise ValueError("a mistake of ours")


def logs_of(folder: Path) -> list[float]:
    """What a function returns for 1, and for 0."""

    @tf.function
    def log(x: tf.Tensor) -> tf.Tensor:
        return tf.math.log(x)

    with tb_debugger_plugin.record(folder, mode="GUARD") as recording:
        results = [float(log(tf.constant(x))) for x in (1.0, 0.0, 1.0)]
        assert recording.on
    return results


LOGS = [0.0, float("-inf"), 0.0]


def test_a_replay_that_fails_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(replays.Replays, "run", fail)
    assert logs_of(tmp_path) == LOGS
    assert "could not be replayed: ValueError: a mistake of ours" in caplog.text
    assert any("could not be replayed" in one.message for one in read(tmp_path).records("not_recorded"))


def test_a_function_that_cannot_be_guarded_is_said_once_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(copies.GuardedCopies, "guard", fail)
    assert logs_of(tmp_path) == LOGS
    assert caplog.text.count("a mistake of ours") == 1


def test_a_copy_that_tensorflow_cannot_run_gives_way_to_the_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    node_of = copies.GuardedCopies._node

    def on_no_device(*args: object) -> object:
        node = node_of(*args)
        node.device = "/job:nowhere/device:CPU:7"
        return node

    monkeypatch.setattr(copies.GuardedCopies, "_node", on_no_device)
    assert logs_of(tmp_path) == LOGS
    assert "GUARD does not check the function" in caplog.text


@pytest.mark.parametrize(
    "options",
    [{"every_n_steps": 2}, {"keep_graph_optimizations": True}, {"on_alert": "stop", "alert_rules": "all"}],
)
def test_options_that_guard_does_not_have(tmp_path: Path, options: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="GUARD"), tb_debugger_plugin.record(tmp_path, "GUARD", **options):
        pass


def test_a_call_that_cannot_be_repeated_runs_once_and_what_it_returned_is_on_record(tmp_path: Path) -> None:
    count = tf.Variable(0.0)

    @tf.function(jit_compile=True)
    def compiled(x: tf.Tensor) -> tf.Tensor:
        count.assign_add(1.0)
        return tf.math.log(x) * tf.random.uniform([])

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for x in (1.0, 0.0, 0.0):
            compiled(tf.constant(x))
    seen = read(tmp_path)
    said = " ".join(one.message for one in seen.records("not_recorded"))
    assert "checks calls of compiled" in said and "an op that cannot run twice" in said
    assert (count.numpy(), len(seen.executions), seen.traces) == (3.0, 1, [])
    assert "compiled (run eagerly) produced" in str(tb_debugger_plugin.open_run(tmp_path).why())


def test_a_replay_whose_python_function_makes_functions_ends(tmp_path: Path) -> None:
    made: list[object] = []

    def trace(x: np.ndarray) -> np.ndarray:
        function = tf.function(lambda y: y + 1.0)
        made.append(function(tf.constant(float(x))))
        return x

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        return tf.math.log(tf.numpy_function(trace, [x], tf.float32, stateful=False))

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for x in (1.0, 0.0):
            step(tf.constant(x))
    assert len(made) == 3
    assert str(tb_debugger_plugin.open_run(tmp_path).why()).startswith("Log in step")


def test_a_compiled_function_changes_only_what_it_assigns(tmp_path: Path) -> None:
    frozen, weight = tf.Variable([np.inf, 1.0]), tf.Variable([0.0, 0.0])

    @tf.function(jit_compile=True)
    def step(x: tf.Tensor) -> tf.Tensor:
        weight.assign_add(x * tf.math.multiply_no_nan(frozen, [0.0, 1.0]))
        return tf.reduce_sum(x)

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for _ in range(3):
            step(tf.ones([2]))
    assert read(tmp_path).executions == []
