"""Lets calls of functions wait while functions get other definitions.

TensorFlow replaces a definition in two steps, and a call in between finds no function. So calls that begin
during a change wait for its end, and a call that found no function because of it runs once more. It had not
begun to run: TensorFlow looks up all that a function calls before. Functions change when a recording
begins, when tensors get watch ops of their own, and when a recording ends.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import tensorflow as tf

#: What TensorFlow says of a function that it does not find.
_MISSING = re.compile(
    r"neither a type of a primitive operation nor a name of a function|Op type not registered|is not defined"
    r"|Can't find a function: node="
)


class Redefinitions:
    """The changes of definitions in one recording. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # held during a change; the thread that changes may call functions
        self._begun = 0
        self._ended = 0

    @contextmanager
    def change(self) -> Iterator[None]:
        """Let calls of other threads wait for the end of the `with` block."""
        with self._lock:
            self._begun += 1
            try:
                yield
            finally:
                self._ended += 1

    def call(self, run: Callable[..., object], *args: object, **kwargs: object) -> object:
        """Run an op or a function, not during a change.

        Args:
          run: Runs it.
          args: Its arguments.
          kwargs: Its other arguments.
        """
        before = self._begun  # first: what begins after this counts as a reason to run again
        self._wait()
        try:
            return run(*args, **kwargs)
        except (tf.errors.NotFoundError, tf.errors.InternalError) as error:
            if before == self._begun or not _MISSING.search(str(error)):
                raise
        self._wait()
        return run(*args, **kwargs)

    def _wait(self) -> None:
        if self._begun != self._ended:
            with self._lock:
                pass
