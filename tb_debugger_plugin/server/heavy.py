"""Answers that take long: each is computed once for all who ask, in turn, and kept as it is sent.

Takes a snapshot and what is asked; returns the bytes. An answer is kept with the tables of its run until the
next commit, also while nobody has the run open, and packed; those that were asked for last stay, within a
bound in bytes.

Invariants: an answer that is kept is exactly that of its commit and of the user's files beside the run. Who
asks something else than a heavy answer never waits for one: only so many are computed at once that a
processor is left.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Final

from tb_debugger_plugin.analysis.alerts.own_files import version_of_files
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.server.answers import Answer, Encoded, encoded, packed

#: Bytes of the packed answers that are kept with one run. All of one page on a run of 3000 ops are 0.2 MB.
KEPT_BYTES: Final = 2_000_000

_NAME: Final = "answers"
# Held while a heavy answer is computed. Python computes in one thread at a time, so that another thread would
# only take turns with the first, and with everybody else.
_turns: Final = threading.BoundedSemaphore(max(1, (os.cpu_count() or 1) - 1))


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
