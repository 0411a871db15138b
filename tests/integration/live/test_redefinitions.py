"""`capture/graph/redefinitions.py`: calls wait while functions get other definitions."""

from __future__ import annotations

import threading

import pytest
import tensorflow as tf

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
