"""Says at which line of the program a technique is used, and how often it has run there."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import NamedTuple, ParamSpec, TypeVar

import tensorflow as tf

from tb_debugger_plugin.capture.stacks.frames import RecordedFrame
from tb_debugger_plugin.errors import UsageError

P = ParamSpec("P")
T = TypeVar("T")


class Turns(NamedTuple):
    """Which runs of a line count.

    Attributes:
      first_n: Only this many; None for all.
      every: One of this many, beginning with the first.
    """

    first_n: int | None = None
    every: int = 1


#: The number of runs so far, by kind and line.
_runs: dict[tuple[str, RecordedFrame], int] = {}
_runs_lock = threading.Lock()  # guards _runs


def not_converted(function: Callable[P, T]) -> Callable[P, T]:
    """Keep AutoGraph from converting a function: it is no code of the program."""
    wrapped: Callable[P, T] = tf.autograph.experimental.do_not_convert(function)
    return wrapped


def usage_error(text: str) -> UsageError:
    """Return an error that AutoGraph does not replace by one of its own."""
    error = UsageError(text)
    vars(error)["ag_pass_through"] = True
    return error


def described(place: RecordedFrame) -> str:
    """Return a line for a message: "in step, train.py:12"."""
    function = f"in {place.function}, " if place.function else "at "  # AutoGraph's lambdas have no name
    return f"{function}{os.path.basename(place.path)}:{place.line}"


@contextlib.contextmanager
def noting(technique: str, place: RecordedFrame) -> Iterator[None]:
    """Add the line of the program to exceptions of the user's function: in a graph, no stack has it.

    Args:
      technique: Name of the function that the program calls.
      place: The line.
    """
    try:
        yield
    except Exception as error:
        if hasattr(error, "add_note"):  # from Python 3.11 on
            error.add_note(f"{technique}() is called {described(place)}")
        raise


def number_of_turn(kind: str, place: RecordedFrame, turns: Turns) -> int | None:
    """Count a run of a line; return its number from 1 on, or None if it is not wanted.

    Args:
      kind: What runs there.
      place: The line.
      turns: Which runs are wanted.
    """
    with _runs_lock:
        run = _runs[kind, place] = _runs.get((kind, place), 0) + 1
    wanted, left = divmod(run - 1, turns.every)
    is_over = turns.first_n is not None and wanted >= turns.first_n
    return None if left or is_over else run


def checked_turns(first_n: int | None, every: int) -> Turns:
    """Return the user's choice of runs.

    Raises:
      UsageError: A number is too small.
    """
    if every < 1 or (first_n is not None and first_n < 0):
        raise usage_error(
            f"first_n is {first_n!r} and every is {every!r}: give whole numbers from 0 and from 1 on."
        )
    return Turns(first_n, every)


def refuse_xla(technique: str) -> None:
    """Raise if the program is being traced for XLA, whose programs cannot call Python.

    Args:
      technique: Name of the function that the program calls.

    Raises:
      UsageError: It is.
    """
    if tf.executing_eagerly():
        return
    for frame in _frames():
        owner: object = frame.f_locals.get("self") if frame.f_code.co_name == "_initialize" else None
        if getattr(owner, "_jit_compile", None):
            raise usage_error(
                f"{technique}() calls Python, which functions that XLA compiles cannot: while you debug, use "
                "tf.function(jit_compile=False), or model.compile(..., jit_compile=False) with Keras."
            )


def _frames() -> Iterator[FrameType]:
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back
