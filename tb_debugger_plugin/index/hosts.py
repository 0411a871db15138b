"""Reads one of the two long lists of all hosts of a run side by side.

Takes the states of the files, which say where to resume, and returns batches of decoded rows, one per host.
When there are many traces to read from several hosts, worker processes do it
(:mod:`tb_debugger_plugin.index.workers`); otherwise this process does.

Invariant: the batches are the same either way, and so are the numbers of sites and shapes.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, FileSet
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.index.columns import ROW_GROUP
from tb_debugger_plugin.index.executions import ExecutionDecoder
from tb_debugger_plugin.index.records import Decoder, Rows, join
from tb_debugger_plugin.index.registry import Registry
from tb_debugger_plugin.index.source import (
    Batch,
    FileState,
    RingBytes,
    SetFile,
    decoded,
    read_rows,
    ring_frames,
)
from tb_debugger_plugin.index.traces import TraceDecoder
from tb_debugger_plugin.index.workers import TraceWorkers, WorkersGone, num_processors

# Thread pools for files, shared by all runs.
#
# A file on this machine is read in the caller's thread. A remote file takes tens of milliseconds to answer,
# and a job has six files for each host, so remote files are read in parallel. The next batch of a run is
# read while the last one is written.
#
# Invariant: neither pool submits work to itself, so no thread waits for its own pool.

_REMOTE_THREADS: Final = 16
_READ_AHEAD_THREADS: Final = 4

S = TypeVar("S")
T = TypeVar("T")


@functools.cache
def _pool(name: str, threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, name)


def read_ahead(read: Callable[[], T]) -> Future[T]:
    """Call a function in another thread.

    Args:
      read: May use :class:`RemotePool`, but must not read ahead itself.
    """
    return _pool("tb-debugger-reader", _READ_AHEAD_THREADS).submit(read)


class RemotePool:
    """Applies functions to the files of one run, in parallel where the files are remote.

    Args:
      folder: The folder of the files.
    """

    def __init__(self, folder: Location) -> None:
        self._is_remote = not isinstance(folder, Path)

    def map(self, function: Callable[[S], T], files: Iterable[S]) -> list[T]:
        """Return the result for each file, in the order of the files.

        Args:
          function: Runs in any thread, for several files at the same time.
          files: The arguments of the function.
        """
        if not self._is_remote:
            return list(map(function, files))
        return list(_pool("tb-debugger-remote", _REMOTE_THREADS).map(function, files))


_logger = logging.getLogger(__name__)

#: With fewer bytes to read, starting processes takes longer than they save.
WORTH_BYTES: Final = 64 << 20


#: The decoder of each long list, made with a registry and the number of a host.
DECODERS: Final[dict[str, Callable[[Registry, int], Decoder]]] = {
    EXECUTION: ExecutionDecoder,
    GRAPH_EXECUTION_TRACES: TraceDecoder,
}


def decode_ring(decoder: Decoder, ring: RingBytes) -> Rows | None:
    """Return the rows of a ring, with the values of ``position`` as offsets; None without records."""
    parts = [decoder.decode(frames)[0] for frames in ring_frames(ring)]
    rows = join(parts) if parts else None
    return None if rows is None else replace(rows, offsets=ring.position(rows.offsets))


class _Kept(NamedTuple):
    """Rows that are read and decoded, but not written yet.

    Attributes:
      state: The state of the file before them.
      rest: The rows, and the state after them.
    """

    state: FileState
    rest: Batch


class HostRows:
    """Reads one long list of all hosts; lives as long as the registry, until :meth:`close`.

    Args:
      file_sets: The file sets of the hosts, by number of the host.
      suffix: The suffix of the list's files.
      registry: Numbers what the rows name.
      pool: Reads the files; the caller owns it.
      worth_bytes: Bytes of traces that several hosts must have left to read before processes are started.
      row_group: While there is more to read from the only host, batches have a multiple of this many rows.
    """

    def __init__(
        self,
        file_sets: Sequence[FileSet],
        suffix: str,
        registry: Registry,
        pool: RemotePool,
        *,
        worth_bytes: int = WORTH_BYTES,
        row_group: int = ROW_GROUP,
    ) -> None:
        self._row_group = row_group
        self._kept: _Kept | None = None
        self._pool = pool
        self._file_sets = file_sets
        self._files = [SetFile(files, suffix) for files in file_sets]
        self._decoders = [DECODERS[suffix](registry, host) for host in range(len(file_sets))]
        self._registry = registry
        self._worth_bytes = worth_bytes
        self._workers: TraceWorkers | None = None
        # Other processes do not see memory://, which is in the memory of this one.
        self._may_share = suffix == GRAPH_EXECUTION_TRACES and all(
            isinstance(files.folder, Path) for files in file_sets
        )

    def start_reading(self, states: Sequence[FileState], limit: int) -> Callable[[], list[Batch]]:
        """Start reading the next rows.

        Args:
          states: Where to resume, by host.
          limit: About how many bytes to read, all hosts together.

        Returns:
          A function that waits for the batches and returns them by host. Call it after the graphs that were
          read until now are described.
        """
        unread = self._unread(states)
        host_limit = max(1, limit // max(1, sum(map(bool, unread))))
        workers = self._start_workers(states, host_limit) if self._is_worth(unread) else None
        return lambda: self._batches(workers, states, host_limit)

    def _unread(self, states: Sequence[FileState]) -> list[int]:
        if len(states) == 1:
            return [1]  # the number does not matter with one host
        sizes = self._pool.map(SetFile.size, self._files)
        return [max(0, size - state.resume) for size, state in zip(sizes, states, strict=True)]

    def _is_worth(self, unread: Sequence[int]) -> bool:
        several = sum(map(bool, unread)) > 1 and num_processors() > 1
        return several and self._may_share and (self._workers is not None or sum(unread) >= self._worth_bytes)

    def _start_workers(self, states: Sequence[FileState], limit: int) -> TraceWorkers | None:
        try:
            if self._workers is None:
                count = min(num_processors(), len(self._file_sets))
                self._workers = TraceWorkers(self._file_sets, self._registry, count)
            self._workers.request(states, limit)
        except WorkersGone as error:
            self._give_up_workers(error)
        return self._workers

    def _batches(self, workers: TraceWorkers | None, states: Sequence[FileState], limit: int) -> list[Batch]:
        if workers is not None:
            try:
                return workers.batches()
            except WorkersGone as error:
                self._give_up_workers(error)
        hosts = range(len(self._files))
        if len(hosts) == 1:
            return [self._whole_row_groups(states[0], limit)]
        batches = self._pool.map(lambda host: self._files[host].read(states[host], limit), hosts)
        # One after another, because the registry is for one thread.
        return [decoded(batches[host], self._files[host], self._decoders[host]) for host in hosts]

    def _whole_row_groups(self, state: FileState, limit: int) -> Batch:
        """Read the only host; the rows after the last whole row group are kept for the next batch.

        Rows that fill no row group pass through the log of the database, which takes half as long again.
        """
        file, decoder = self._files[0], self._decoders[0]
        kept, self._kept = self._kept, None
        before = kept.rest if kept is not None and kept.state == state else Batch(state=state)
        batch = read_rows(file, decoder, before, limit)
        count = 0 if batch.rows is None else len(batch.rows)
        whole = count - count % self._row_group
        if not batch.more or whole in (0, count):
            return batch
        cut = batch.cut(whole)
        self._kept = _Kept(cut.state, batch.rest(whole))
        return cut

    def _give_up_workers(self, error: WorkersGone) -> None:
        _logger.warning("Reading the hosts' files one after another, because processes failed: %s", error)
        self._may_share = False
        self.close()

    def decode_ring(self, host: int, ring: RingBytes) -> Rows | None:
        """Return the rows of a host's ring; None without records."""
        return decode_ring(self._decoders[host], ring)

    def close(self) -> None:
        """End the processes, if there are any; further reading starts new ones when it is worth it."""
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()
