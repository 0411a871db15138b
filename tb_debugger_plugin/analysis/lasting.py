"""Answers that outlast the commit they were computed from, while a run is still being recorded.

A viewer of a run that grows asks the same at each commit, and an answer that takes seconds would be computed
all the time. Such an answer is given again for ten times as long as it took, so that it takes at most about a
tenth of the time.

Invariants: an answer is never given for a commit that came before it, nor after positions have changed; a
snapshot that must not lag, and one of a run that has ended, get what is true of their own commit; of requests
at the same time, one computes and the others wait for it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from tb_debugger_plugin.analysis.snapshot import Snapshot

T = TypeVar("T")

#: For how many times the seconds that it took an answer is given again.
_TIMES: Final = 10.0


@dataclass(frozen=True)
class Lasting(Generic[T]):
    """An answer.

    Attributes:
      value: The answer itself.
      generation: The commit that it is true of.
      recording: Differs if positions have changed since.
      until: By the clock, until when it is given again.
    """

    value: T
    generation: int
    recording: object
    until: float


@dataclass
class _Place(Generic[T]):
    """Where one answer of a run is kept; the lock is held while it is computed.

    Attributes:
      lock: Guards both fields, which may be read without it.
      kept: The last answer.
      computing: The commit of which the answer is being computed.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    kept: Lasting[T] | None = None
    computing: int | None = None

    def __getstate__(self) -> tuple[Lasting[T] | None]:
        """Return what remains of it where it is packed: nobody computes the answer then."""
        return (self.kept,)

    def __setstate__(self, state: tuple[Lasting[T] | None]) -> None:
        self.lock, self.kept, self.computing = threading.Lock(), *state, None


def lasting(
    snapshot: Snapshot,
    name: str,
    make: Callable[[], T],
    clock: Callable[[], float] = time.monotonic,
    *,
    is_small: bool = False,
) -> Lasting[T]:
    """Return an answer that holds, or computes it.

    Args:
      snapshot: The run.
      name: Under which name the answer is kept with the run.
      make: Computes the answer from the snapshot.
      clock: Returns monotonic seconds.
      is_small: Whether the answer is kept while nobody has the run open, too.
    """
    found = _found(snapshot, _place(snapshot, name, is_small=is_small), make, clock)
    snapshot.answered.add(found.generation)
    return found


def _place(snapshot: Snapshot, name: str, *, is_small: bool) -> _Place[T]:
    memory = snapshot.loader.memory_of_tables if is_small else snapshot.loader.memory
    return memory.kept(name, _Place)


def _found(
    snapshot: Snapshot, place: _Place[T], make: Callable[[], T], clock: Callable[[], float]
) -> Lasting[T]:
    with place.lock:
        kept = place.kept
        if kept is not None and _holds(snapshot, kept, clock):
            return kept
        place.computing = snapshot.generation
        try:
            made = _make(snapshot, make, clock)
        finally:
            place.computing = None
        if kept is None or kept.generation <= made.generation:
            place.kept = made
        return made


def _make(snapshot: Snapshot, make: Callable[[], T], clock: Callable[[], float]) -> Lasting[T]:
    begin = clock()
    value = make()
    end = clock()
    # What is computed from an answer that lags does, too.
    return Lasting(value, snapshot.oldest, _recording(snapshot), end + _TIMES * (end - begin))


def lasting_generation(
    snapshot: Snapshot,
    name: str,
    clock: Callable[[], float] = time.monotonic,
    *,
    is_small: bool = False,
) -> int:
    """Return of which commit the answer would be now, without computing it or waiting for it.

    Args:
      snapshot: The run.
      name: Under which name the answer is kept with the run.
      clock: Returns monotonic seconds.
      is_small: As for :func:`lasting`.
    """
    place: _Place[object] = _place(snapshot, name, is_small=is_small)
    kept, computing = place.kept, place.computing
    if kept is not None and _holds(snapshot, kept, clock):
        return kept.generation
    if snapshot.may_lag and computing is not None:
        return min(computing, snapshot.generation)
    return snapshot.generation


def _holds(snapshot: Snapshot, kept: Lasting[T], clock: Callable[[], float]) -> bool:
    if kept.generation == snapshot.generation:
        return True
    if not snapshot.may_lag or kept.generation > snapshot.generation or clock() >= kept.until:
        return False
    return _grows(snapshot) and kept.recording == _recording(snapshot)


def _grows(snapshot: Snapshot) -> bool:
    """Whether more may come: the run is still being read, or has not recorded its end."""
    progress = snapshot.loader.progress
    if progress is None or progress.more:
        return True
    ended = [finished for (finished,) in snapshot.rows("SELECT finished FROM hosts")]
    return not ended or not all(ended)


def _recording(snapshot: Snapshot) -> object:
    """Return a value that stays the same as long as no position changes."""
    started = tuple(snapshot.rows("SELECT host, start_time FROM hosts ORDER BY host"))
    if snapshot.is_settled:
        return started
    if len(started) > 1:
        # What is in the rings of several hosts is merged by time, so that rows come between others.
        return started, snapshot.generation
    # The first row is the oldest one of the ring: the positions change when it is overwritten.
    return started, tuple(snapshot.rows("SELECT host, suffix, dropped FROM files ORDER BY host, suffix"))
