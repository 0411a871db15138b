"""The traces of all hosts of a run, read side by side.

In come the places where to resume, out come batches of decoded traces, one a host. While there is much to
read of several hosts, processes do it (:mod:`tb_debugger_plugin.index.workers`); else this one does.

Rule: the batches are the same either way, and so are the numbers that sites and shapes get.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

from tb_debugger_plugin.events.fileset import GRAPH_EXECUTION_TRACES, FileSet
from tb_debugger_plugin.index.frames import Frames
from tb_debugger_plugin.index.registry import Registry
from tb_debugger_plugin.index.remote_pool import RemotePool
from tb_debugger_plugin.index.source import Batch, FileState, SetFile, decoded
from tb_debugger_plugin.index.traces import TraceDecoder, TraceRows, joined
from tb_debugger_plugin.index.workers import TraceWorkers, WorkersGone, num_processors

_logger = logging.getLogger(__name__)

#: Below this, starting processes takes longer than what they would save.
WORTH_BYTES: Final = 64 << 20


class HostTraces:
    """Reads the hosts' traces; lives as long as the registry that numbers their sites, until :meth:`close`.

    Args:
      file_sets: Of the hosts, by number.
      registry: Numbers sites and shapes.
      pool: Reads the files; stays the caller's.
      worth_bytes: How much there must be to read of several hosts for processes to be started.
    """

    def __init__(
        self,
        file_sets: Sequence[FileSet],
        registry: Registry,
        pool: RemotePool,
        *,
        worth_bytes: int = WORTH_BYTES,
    ) -> None:
        self._pool = pool
        self._file_sets = file_sets
        self._files = [SetFile(files, GRAPH_EXECUTION_TRACES) for files in file_sets]
        self._decoders = [TraceDecoder(registry, host) for host in range(len(file_sets))]
        self._registry = registry
        self._worth_bytes = worth_bytes
        self._workers: TraceWorkers | None = None
        # What is in the memory of this process, as memory:// is, no other one sees.
        self._may_share = all(isinstance(files.folder, Path) for files in file_sets)

    def ask(self, states: Sequence[FileState], limit: int) -> Callable[[], list[Batch]]:
        """Begin to read the next traces.

        Args:
          states: Where to resume, by host.
          limit: About how many bytes at most, of all hosts together.

        Returns:
          What waits for the batches, by host; to be called once the graphs read until now are described.
        """
        unread = self._unread(states)
        each = max(1, limit // max(1, sum(map(bool, unread))))
        workers = self._asked(states, each) if self._is_worth(unread) else None
        return lambda: self._answers(workers, states, each)

    def _unread(self, states: Sequence[FileState]) -> list[int]:
        if len(states) == 1:
            return [1]  # nothing depends on it
        sizes = self._pool.map(SetFile.size, self._files)
        return [max(0, size - state.resume) for size, state in zip(sizes, states, strict=True)]

    def _is_worth(self, unread: Sequence[int]) -> bool:
        several = sum(map(bool, unread)) > 1 and num_processors() > 1
        return several and self._may_share and (self._workers is not None or sum(unread) >= self._worth_bytes)

    def _asked(self, states: Sequence[FileState], limit: int) -> TraceWorkers | None:
        try:
            if self._workers is None:
                count = min(num_processors(), len(self._file_sets))
                self._workers = TraceWorkers(self._file_sets, self._registry, count)
            self._workers.ask(states, limit)
        except WorkersGone as error:
            self._do_without(error)
        return self._workers

    def _answers(self, workers: TraceWorkers | None, states: Sequence[FileState], limit: int) -> list[Batch]:
        if workers is not None:
            try:
                return workers.answers()
            except WorkersGone as error:
                self._do_without(error)
        hosts = range(len(self._files))
        batches = self._pool.map(lambda host: self._files[host].read(states[host], limit), hosts)
        # One after another: the registry is for one thread.
        return [decoded(batches[host], self._files[host], self._decoders[host]) for host in hosts]

    def _do_without(self, error: WorkersGone) -> None:
        _logger.warning("Reading the hosts' files one after another, since processes failed: %s", error)
        self._may_share = False
        self.close()

    def decode(self, host: int, frames: Iterable[Frames]) -> TraceRows | None:
        """The traces among some records of a host that are not in its file; None when there are none."""
        parts = [self._decoders[host].decode(some)[0] for some in frames]
        return joined(parts) if parts else None

    def close(self) -> None:
        """End the processes, if there are any; reading on starts new ones when it is worth it."""
        workers, self._workers = self._workers, None
        if workers is not None:
            workers.close()
