"""Answers that take long: each is computed once for all who ask, in turn, and kept as it is sent.

Takes a snapshot and what is asked; returns the bytes. An answer is kept with the tables of its run until the
next commit, also while nobody has the run open, and packed; those that were asked for last stay, within a
bound in bytes.

Invariants: an answer that is kept is exactly that of its commit and of the user's files beside the run. Who
asks something else than a heavy answer never waits for one: only so many are computed at once that a
processor is left, and while one is computed, threads of Python take turns ten times as often.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Final

from tb_debugger_plugin.analysis.alerts.own_files import version_of_files
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.server.answers import Answer, Encoded, encoded, packed

#: Bytes of the packed answers that are kept with one run. All of one page on a run of 3000 ops are 0.2 MB.
KEPT_BYTES: Final = 2_000_000

_NAME: Final = "answers"
#: Seconds for which a thread computes while others wait, and how often a short question waits for the thread
#: of a heavy answer: at each query and each lock. Python's own are 0.005.
_TURN_S: Final = 0.0005


class _Turns:
    """Held while a heavy answer is computed.

    Python computes in one thread at a time, so that another thread would only take turns with the first, and
    with everybody else.

    Args:
      most: How many are computed at once.
    """

    def __init__(self, most: int) -> None:
        self._free = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()  # guards the fields below
        self._held = 0
        self._usual_s = 0.0

    def __enter__(self) -> None:
        self._free.acquire()
        with self._lock:
            self._held += 1
            if self._held == 1:
                self._usual_s = sys.getswitchinterval()
                sys.setswitchinterval(min(_TURN_S, self._usual_s))

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._held -= 1
            if not self._held:
                sys.setswitchinterval(self._usual_s)
        self._free.release()


_turns: Final = _Turns(max(1, (os.cpu_count() or 1) - 1))


def heavy_answer(
    snapshot: Snapshot,
    path: str,
    parameters: Mapping[str, str],
    make: Callable[[], Answer],
    other: Hashable = None,
) -> Encoded:
    """Return an answer as it is sent, which may have been computed before.

    Args:
      snapshot: The run.
      path: The path of the route.
      parameters: The query.
      make: Computes the answer.
      other: What the answer depends on beside the snapshot; None for nothing.
    """
    progress = snapshot.loader.progress
    is_read = progress is not None and not progress.more
    given = tuple(sorted(parameters.items()))
    key = (path, given, version_of_files(snapshot.loader.run), is_read, other)

    def in_turn() -> Encoded:
        with _turns:
            return packed(encoded(make()))

    def weigh(answer: Encoded) -> float:
        # What lags would be given for longer than it may.
        if snapshot.oldest < snapshot.generation:
            return float("inf")
        return len(answer.content) + sum(len(name) + len(text) for name, text in given)

    memory = snapshot.loader.memory_of_tables
    return memory.last(_NAME, snapshot.generation, key, KEPT_BYTES, in_turn, weigh)
