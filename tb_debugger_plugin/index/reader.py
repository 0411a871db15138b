"""Reads the files of a run side by side, the next batches of all hosts at a time.

Takes the states of the files, which say where to resume. Returns a batch for each file, and the rings of
circular buffers. What the short files say is added to the describer.

Invariant: the batches of several hosts end at the same time, so that their rows can be merged.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Final

from tb_debugger_plugin.events.fileset import SUFFIXES, TAILED
from tb_debugger_plugin.events.tail import Tail, TailMode
from tb_debugger_plugin.index.describe import Describer
from tb_debugger_plugin.index.hosts import HostRows, RemotePool, read_ahead
from tb_debugger_plugin.index.merge import Latest, cut_to_horizon
from tb_debugger_plugin.index.records import Rows
from tb_debugger_plugin.index.runs import FoundRun
from tb_debugger_plugin.index.source import Batch, FileKey, FileState, RingBytes, SetFile

_SHORT: Final = tuple(suffix for suffix in SUFFIXES if suffix not in TAILED)
#: The short files, whose records are parsed one by one, are read in batches this many times smaller, because
#: parsed records take more memory and time than bytes.
_PARSED_SHARE: Final = 8


class Reader:
    """Reads the files of one run; lives as long as the describer that it fills, until :meth:`close`.

    Args:
      run: The run.
      describer: Receives what the short files say; its registry numbers sites and shapes of the traces.
      commit_bytes: About how many bytes of the longest kind of file are read at a time, all hosts together.
      worth_bytes: Bytes that several hosts must have left to read before processes are started.
    """

    def __init__(self, run: FoundRun, describer: Describer, *, commit_bytes: int, worth_bytes: int) -> None:
        self._describer = describer
        self._commit_bytes = commit_bytes
        self._hosts = range(len(run.file_sets))
        self._pool = RemotePool(run.folder)
        self._files = {
            FileKey(host, suffix): SetFile(files, suffix)
            for host, files in enumerate(run.file_sets)
            for suffix in SUFFIXES
        }
        self._lists = {
            suffix: HostRows(run.file_sets, suffix, describer.registry, self._pool, worth_bytes=worth_bytes)
            for suffix in TAILED
        }
        self._ahead: Future[dict[FileKey, Batch]] | None = None

    def signature(self) -> tuple[tuple[int, ...], ...]:
        """Return a value that changes when there may be something new; costs a few stats per file."""
        return tuple(self._pool.map(SetFile.signature, self._files.values()))

    def are_same(self, states: Mapping[FileKey, FileState]) -> bool:
        """Whether the files are still the files of the states, possibly longer."""
        return all(self._pool.map(lambda key: self._files[key].is_same(states[key]), self._files))

    def read(self, states: Mapping[FileKey, FileState], latest: Mapping[str, Latest]) -> dict[FileKey, Batch]:
        """Return the next batches, which may have been read ahead.

        Args:
          states: Where to resume.
          latest: By suffix, the latest time of the rows before, by host.
        """
        ahead, self._ahead = self._ahead, None
        return ahead.result() if ahead else self._read(states, latest)

    def read_ahead(self, states: Mapping[FileKey, FileState], latest: Mapping[str, Latest]) -> None:
        """Start reading the next batches in another thread.

        Until :meth:`read` returns them, the describer and its registry belong to that thread.

        Args:
          states: As for :meth:`read`; must not change.
          latest: As for :meth:`read`; must not change.
        """
        self._ahead = read_ahead(functools.partial(self._read, states, latest))

    def _read(
        self, states: Mapping[FileKey, FileState], latest: Mapping[str, Latest]
    ) -> dict[FileKey, Batch]:
        reading = {
            suffix: rows.start_reading(
                [states[FileKey(host, suffix)] for host in self._hosts], self._commit_bytes
            )
            for suffix, rows in self._lists.items()
        }
        batches = self._read_short(states)
        self._describe(batches)
        for suffix, rows in reading.items():
            hosts = cut_to_horizon(dict(enumerate(rows())), latest[suffix])
            batches.update((FileKey(host, suffix), batch) for host, batch in hosts.items())
        return batches

    def _read_short(self, states: Mapping[FileKey, FileState]) -> dict[FileKey, Batch]:
        limit = max(1, self._commit_bytes // _PARSED_SHARE // len(self._hosts))
        keys = [key for key in self._files if key.suffix in _SHORT]
        batches = self._pool.map(lambda key: self._files[key].read(states[key], limit), keys)
        return dict(zip(keys, batches, strict=True))

    def _describe(self, batches: Mapping[FileKey, Batch]) -> None:
        for key, batch in batches.items():
            for event in batch.events:
                self._describer.add(key.host, event)

    def read_rings(self) -> dict[FileKey, Tail]:
        """Return the rings of circular buffers as they are now."""
        tails = self._pool.map(SetFile.read_tail, self._files.values())
        return {
            key: tail
            for key, tail in zip(self._files, tails, strict=True)
            if tail is not None and tail.mode is TailMode.RING
        }

    def decode_ring(self, key: FileKey, ring: RingBytes) -> Rows | None:
        """Return the rows of the ring of one file of a long list; None without records."""
        return self._lists[key.suffix].decode_ring(key.host, ring)

    def rest(self) -> None:
        """End the processes until there is much to read again."""
        for rows in self._lists.values():
            rows.close()

    def close(self) -> None:
        """Stop reading ahead, and end the processes."""
        ahead, self._ahead = self._ahead, None
        if ahead is not None and not ahead.cancel():
            ahead.exception()  # waits; the result does not matter any more
        self.rest()
