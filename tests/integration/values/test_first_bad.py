"""`capture/own_recording.py`: the log names the first bad value as `tbdbg why` does when a recording ends."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.analysis.alerts.alerts import alert_list, page
from tb_debugger_plugin.analysis.alerts.explain import diagnose_alert
from tb_debugger_plugin.analysis.snapshot import Range
from tb_debugger_plugin.capture import own_recording
from tests.support.events import snapshot_of

pytestmark = [pytest.mark.tensorflow, pytest.mark.usefixtures("the_log_waits_for_the_answer")]

COUNTING = ("CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "FULL_NUMERICS")


def line_of_log(caplog: pytest.LogCaptureFixture) -> str | None:
    """What the log says of the first bad value; None when nothing."""
    lines = [record for record in caplog.records if record.message.startswith("First bad value: ")]
    assert len(lines) < 2 and all(record.levelno == logging.WARNING for record in lines)
    return lines[0].message if lines else None


def headline(folder: Path) -> str:
    """What the viewer says of it."""
    with snapshot_of(folder) as snapshot:
        diagnosis = diagnose_alert(snapshot)
        assert diagnosis is not None
        alerts = alert_list(snapshot)
        assert page(snapshot, alerts, Range(0, 1))
        return diagnosis.headline


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


compiled = tf.function(lambda x: tf.sqrt(x - 2.0) + 1.0, jit_compile=True)


@pytest.mark.parametrize(
    ("program", "beginning"),
    [
        (lambda: tf.math.log(tf.constant([0.0])), "Log in <lambda>, test_first_bad.py:"),
        (lambda: compiled(tf.constant([1.0, 5.0])), "Sqrt, test_first_bad.py:"),
    ],
    ids=["eager", "compiled"],
)
def test_eager_ops_and_those_of_compiled_functions_are_named_by_their_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, program: Callable[[], object], beginning: str
) -> None:
    with tb_debugger_plugin.record(tmp_path, "FULL_HEALTH"):
        program()
    line = line_of_log(caplog)
    assert line is not None and line.startswith(f"First bad value: {beginning}")
    assert headline(tmp_path) in line


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


NOT_NAMED = "NaN is on record. `tbdbg why {}` says where it comes from."


@tf.function
def root(x: tf.Tensor) -> tf.Tensor:
    return tf.sqrt(x)


def log_of_a_root(folder: Path, caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log warns of when the root of a negative number was recorded."""
    with tb_debugger_plugin.record(folder, "FULL_HEALTH"):
        root(tf.constant([-1.0]))
    return [record.message for record in caplog.records if record.levelno >= logging.WARNING]


@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (own_recording, "ANSWER_BYTES", 100),
        (own_recording, "ANSWER_SECONDS", 0.01),
        (sys, "executable", "/no"),
    ],
)
def test_without_a_quick_answer_the_log_names_the_command(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    module: ModuleType,
    name: str,
    value: object,
) -> None:
    """A recording that is too large, an answer that takes too long, and a Python that cannot start."""
    monkeypatch.setattr(module, name, value)
    assert log_of_a_root(tmp_path, caplog) == [NOT_NAMED.format(tmp_path)]


def test_a_healthy_program_starts_no_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr(subprocess, "run", lambda *command, **_: started.append(command))
    with tb_debugger_plugin.record(tmp_path, "FULL_HEALTH"):
        root(tf.constant([1.0]))
    assert started == []


def test_the_newest_of_two_recordings_in_a_folder_is_the_one_that_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for function in (root, cross_entropy):
        caplog.clear()
        with tb_debugger_plugin.record(tmp_path, "FULL_HEALTH"):
            function(tf.constant([-1.0 if function is root else 0.0]))
    line = line_of_log(caplog)
    assert line is not None and line.startswith("First bad value: ")
    assert headline(tmp_path) in line
