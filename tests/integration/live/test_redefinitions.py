"""`capture/graph/redefinitions.py`: calls wait while functions get other definitions."""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.python.eager import context

from tb_debugger_plugin.capture import api as recorder
from tb_debugger_plugin.capture.graph.redefinitions import Redefinitions
from tests.support.held import Program

pytestmark = pytest.mark.tensorflow


def _missing(name: str) -> tf.errors.NotFoundError:
    text = f"'{name}' is neither a type of a primitive operation nor a name of a function registered"
    return tf.errors.NotFoundError(None, None, text)


def test_a_call_waits_for_the_end_of_a_change_by_another_thread() -> None:
    redefinitions = Redefinitions()
    ran = threading.Event()
    with redefinitions.change():
        program = Program(redefinitions.call, ran.set)
        assert not ran.wait(0.1)
        assert redefinitions.call(lambda: 3) == 3  # the thread that changes goes on
    program.returned()
    assert ran.is_set()


def test_a_call_that_found_no_function_because_of_a_change_runs_again() -> None:
    redefinitions = Redefinitions()
    turns = []

    def run(number: int) -> int:
        turns.append(number)
        if len(turns) == 1:
            with redefinitions.change():
                raise _missing("f")
        return number

    assert redefinitions.call(run, 5) == 5
    assert turns == [5, 5]


@pytest.mark.parametrize("changes", [True, False])
def test_other_errors_reach_the_program_at_once(changes: bool) -> None:
    redefinitions = Redefinitions()
    turns = []

    def run() -> None:
        turns.append(1)
        if changes:
            with redefinitions.change():
                raise tf.errors.NotFoundError(None, None, "no such file")
        raise _missing("g")

    with pytest.raises(tf.errors.NotFoundError):
        redefinitions.call(run)
    assert turns == [1]


@pytest.mark.parametrize("interactive", [True, False])
def test_calls_of_other_threads_go_on_while_a_recording_begins_and_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, interactive: bool
) -> None:
    remove = context.Context.remove_function

    def remove_slowly(runtime: context.Context, name: str) -> None:
        remove(runtime, name)
        time.sleep(0.02)  # the time in which other threads find no function

    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(x) * 2.0

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        return inner(x) + tf.cond(x > 0.0, lambda: x, lambda: -x)

    is_over = threading.Event()

    def calls() -> int:
        count = 0
        while not is_over.is_set():
            assert float(outer(tf.constant(4.0))) == 8.0
            count += 1
        return count

    outer(tf.constant(4.0))
    programs = [Program(calls) for _ in range(4)]
    with monkeypatch.context() as patch:
        patch.setattr(context.Context, "remove_function", remove_slowly)
        for number in range(3):
            with recorder.interactive() if interactive else contextlib.nullcontext():
                recording = recorder.enable_dump_debug_info(tmp_path / str(number), "FULL_HEALTH")
            time.sleep(0.05)
            recording.close()
    is_over.set()
    assert all([program.returned() for program in programs])
