"""`capture/first_bad.py`: the line of the log that names the first bad value when a recording ends."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.analysis.alerts.alerts import alert_list, page
from tb_debugger_plugin.analysis.diagnosis.explain import diagnose_alert
from tb_debugger_plugin.analysis.snapshot import Range, open_snapshot
from tests.support.events import loaded

pytestmark = pytest.mark.tensorflow

COUNTING = ("CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "FULL_NUMERICS")


def line_of_log(caplog: pytest.LogCaptureFixture) -> str | None:
    """What the log says of the first bad value; None when nothing."""
    lines = [record for record in caplog.records if record.message.startswith("First bad value: ")]
    assert len(lines) < 2 and all(record.levelno == logging.WARNING for record in lines)
    return lines[0].message if lines else None


def headline(folder: Path) -> str:
    """What the viewer says of it."""
    loader = loaded(folder)
    try:
        with open_snapshot(loader) as snapshot:
            diagnosis = diagnose_alert(snapshot)
            assert diagnosis is not None
            alerts = alert_list(snapshot)
            assert page(snapshot, alerts, Range(0, 1))
            return diagnosis.headline
    finally:
        loader.close()


@tf.function
def cross_entropy(probs: tf.Tensor) -> tf.Tensor:
    return -tf.reduce_mean(probs * tf.math.log(probs))


@pytest.mark.parametrize("circular_buffer_size", [-1, 100])
@pytest.mark.parametrize("mode", COUNTING)
def test_the_log_names_the_op_that_the_viewer_names(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: str, circular_buffer_size: int
) -> None:
    with tb_debugger_plugin.record(tmp_path, mode, circular_buffer_size=circular_buffer_size):
        cross_entropy(tf.constant([0.5, 0.5]))
        cross_entropy(tf.constant([0.0, 1.0]))
    line = line_of_log(caplog)
    assert line is not None and line.startswith("First bad value: Log in cross_entropy, test_first_bad.py:")
    assert line.endswith(f". Run `tbdbg why {tmp_path}` for the reason.")
    assert line.startswith(f"First bad value: {headline(tmp_path)}. ")


def test_an_eager_op_is_named_by_its_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with tb_debugger_plugin.record(tmp_path, "FULL_HEALTH"):
        tf.math.log(tf.constant([0.0]))
    line = line_of_log(caplog)
    assert line is not None and line.startswith("First bad value: Log in test_an_eager_op_is_named_by_its")
    assert headline(tmp_path) in line


def test_a_compiled_function_names_the_op_inside(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    compiled = tf.function(lambda x: tf.sqrt(x - 2.0) + 1.0, jit_compile=True)
    with tb_debugger_plugin.record(tmp_path, "FULL_HEALTH"):
        compiled(tf.constant([1.0, 5.0]))
    line = line_of_log(caplog)
    assert line is not None and line.startswith("First bad value: Sqrt, test_first_bad.py:")


def test_a_mask_is_not_named_but_a_nan_after_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    mask = np.array([0.0, -np.inf], np.float32)

    @tf.function
    def attention(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.softmax(x + tf.constant(mask))

    with tb_debugger_plugin.record(tmp_path / "good", "FULL_HEALTH"):
        attention(tf.ones([2]))
    assert line_of_log(caplog) is None
    with tb_debugger_plugin.record(tmp_path / "bad", "FULL_HEALTH"):
        attention(tf.ones([2]))
        attention(tf.constant([np.nan, 1.0]))
    line = line_of_log(caplog)
    assert line is not None and line.startswith("First bad value: Placeholder in test_a_mask_is_not_named")


@pytest.mark.parametrize("mode", ["NO_TENSOR", "SHAPE"])
def test_modes_that_do_not_look_name_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, mode: str
) -> None:
    with tb_debugger_plugin.record(tmp_path, mode):
        cross_entropy(tf.constant([0.0, 1.0]))
    assert line_of_log(caplog) is None


@pytest.mark.parametrize("mode", [*COUNTING, "FULL_TENSOR"])
def test_bad_tensors_are_counted_while_the_program_runs(tmp_path: Path, mode: str) -> None:
    compiled = tf.function(lambda x: tf.sqrt(x) + 1.0, jit_compile=True)
    with tb_debugger_plugin.record(tmp_path, mode, circular_buffer_size=5) as recording:
        cross_entropy(tf.constant([0.5, 0.5]))
        assert recording.num_bad() == 0
        cross_entropy(tf.constant([0.0, 1.0]))
        # The logarithm, its product, their mean, its negation, and the call.
        assert recording.num_bad() == 5
        compiled(tf.constant([-1.0]))
        after_compiled = recording.num_bad()
        assert after_compiled is not None and after_compiled >= 7
        tf.math.log(tf.constant([-1.0]))
        assert recording.num_bad() == after_compiled + 1


def test_modes_that_do_not_look_count_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for mode in ("NO_TENSOR", "SHAPE"):
        with tb_debugger_plugin.record(tmp_path / mode, mode) as recording:
            cross_entropy(tf.constant([0.0, 1.0]))
            assert recording.num_bad() == 0
    monkeypatch.setattr(native, "load", lambda: None)
    with tb_debugger_plugin.record(tmp_path / "stock", "FULL_HEALTH") as recording:
        assert recording.num_bad() is None


def test_a_healthy_program_and_the_stock_ops_name_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tb_debugger_plugin.record(tmp_path / "good", "FULL_HEALTH"):
        cross_entropy(tf.constant([0.5, 0.5]))
    monkeypatch.setattr(native, "load", lambda: None)
    with tb_debugger_plugin.record(tmp_path / "stock", "FULL_HEALTH"):
        cross_entropy(tf.constant([0.0, 1.0]))
    assert line_of_log(caplog) is None
