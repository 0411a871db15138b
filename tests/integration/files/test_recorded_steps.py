"""`native/src/encode.h`: each record has the step in which it was made."""

from __future__ import annotations

import itertools
import threading
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tests.support.recorded import read

pytestmark = pytest.mark.tensorflow

STEPS = 5


def steps_of(root: Path, suffix: str, kind: str) -> list[tuple[int, str]]:
    """The step and the op of each record of a kind."""
    events = [event for event in read(root).events[suffix] if event.HasField(kind)]
    records = [getattr(event, kind) for event in events]
    names = [getattr(record, "op_name", None) or getattr(record, "op_type", "") for record in records]
    return [(event.step, name) for event, name in zip(events, names, strict=True)]


def traces(root: Path) -> list[tuple[int, str]]:
    return steps_of(root, "graph_execution_traces", "graph_execution_trace")


def executions(root: Path) -> list[tuple[int, str]]:
    return steps_of(root, "execution", "execution")


@tf.function
def root_of(x: tf.Tensor) -> tf.Tensor:
    return tf.sqrt(x, name="root")


def train(steps: int = STEPS, bad: int = -1) -> None:
    for step in range(steps):
        root_of(tf.negative(1.0 if step == bad else -float(step)))
        tb_debugger_plugin.step()


@pytest.mark.parametrize("mode", ["NO_TENSOR", "CURT_HEALTH", "FULL_NUMERICS", "FULL_TENSOR"])
def test_records_have_the_number_of_calls_of_step_before_them(tmp_path: Path, mode: str) -> None:
    with tb_debugger_plugin.record(tmp_path, mode):
        train()
    assert [step for step, name in traces(tmp_path) if name == "root"] == [*range(STEPS)]
    eager = executions(tmp_path)
    assert [step for step, name in eager if name == "Neg"] == [*range(STEPS)]
    assert [step for step, name in eager if name.startswith("__inference")] == [*range(STEPS)]


def test_a_program_that_marks_no_step_records_step_0(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, "CURT_HEALTH"):
        for _ in range(3):
            root_of(tf.constant(1.0))
    assert {step for step, _ in [*traces(tmp_path), *executions(tmp_path)]} == {0}


def test_steps_that_are_not_recorded_count(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, "CURT_HEALTH", every_n_steps=2):
        train()
    assert [step for step, name in traces(tmp_path) if name == "root"] == [0, 2, 4]


def test_a_new_recording_begins_with_step_0(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        with tb_debugger_plugin.record(tmp_path / folder, "CURT_HEALTH"):
            train(2)
        assert [step for step, name in traces(tmp_path / folder) if name == "root"] == [0, 1]


def test_a_ring_and_its_pinned_records_keep_their_steps(tmp_path: Path) -> None:
    size, bad = 10, 100
    with tb_debugger_plugin.record(tmp_path, "CURT_HEALTH", circular_buffer_size=size):
        train(300, bad)
    steps = [step for step, name in traces(tmp_path) if name == "root"]
    assert bad in steps and steps[-1] == 299
    # What was pinned, and then what the ring held at the end, each without a gap.
    values = read(tmp_path).of("root")
    assert [step for step, (_, is_bad) in zip(steps, values, strict=True) if is_bad] == [bad]
    gaps = [after for before, after in itertools.pairwise(steps) if after != before + 1]
    assert len(gaps) == 1 and steps == sorted(steps)


def test_all_threads_have_the_step_of_the_process(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, "CURT_HEALTH"):
        root_of(tf.constant(1.0))
        for _ in range(STEPS):
            threads = [threading.Thread(target=root_of, args=(tf.constant(1.0),)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            tb_debugger_plugin.step()
    steps = [step for step, name in traces(tmp_path) if name == "root"]
    assert steps == [0, *(step for step in range(STEPS) for _ in range(4))]


def test_kept_values_and_runs_of_sessions_have_their_step(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(
        tmp_path, "CURT_HEALTH", keep_values=[tb_debugger_plugin.KeepValues(name_regex="root")]
    ):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            x = tf.compat.v1.placeholder(tf.float32, [2])
            y = tf.sqrt(x, name="root")
            for step in range(STEPS):
                session.run(y, {x: np.full(2, step, np.float32)})
                tb_debugger_plugin.step()
    runs = [event.step for event in read(tmp_path).events["session_runs"] if event.HasField("session_run")]
    assert runs == [*range(STEPS)]
    assert [step for step, name in traces(tmp_path) if name == "root"] == [*range(STEPS)]
