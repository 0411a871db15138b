"""Worker processes that decode the traces of a job's hosts.

Takes the file sets of a run and the state of each. Returns the batches that reading and decoding them in this
process would have given. A worker numbers sites and shapes on its own and sends the new ones; here they get
the numbers of the run.

Invariants: a worker keeps nothing that cannot be read again, and it ends by itself when its pipe is closed,
so neither side is harmed by the death of the other. Every failure is raised as :class:`WorkersGone`.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Final

import numpy as np

from tb_debugger_plugin.events.fileset import GRAPH_EXECUTION_TRACES, FileSet
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.records import Columns, Rows
from tb_debugger_plugin.index.registry import Registry
from tb_debugger_plugin.index.rows import SiteRow
from tb_debugger_plugin.index.source import Batch, FileState, SetFile, read_rows
from tb_debugger_plugin.index.traces import TraceDecoder

_START: Final = """
import importlib, sys
module, name = sys.argv[1:3]
sys.path[:] = sys.argv[3:]
getattr(importlib.import_module(module), name)(sys.stdin.buffer, sys.stdout.buffer)
"""
_END_SECONDS: Final = 10.0

SiteKey = tuple[str, str, int, str]


def start_process(function: Callable[[BinaryIO, BinaryIO], None], **options: Any) -> subprocess.Popen[bytes]:
    """Start a process of this Python, which calls a function with its standard input and output.

    Args:
      function: A function of a module. It returns when its input ends.
      **options: Options of `subprocess.Popen`.
    """
    named = (function.__module__, function.__name__)
    return subprocess.Popen(
        [sys.executable, "-c", _START, *named, *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        **options,
    )


class WorkersGone(Exception):
    """The processes cannot be started, or do not reply as they should."""


@dataclass(frozen=True)
class Request:
    """A request to a worker for the next traces of one host.

    Attributes:
      files: The host's file set.
      host: The number of the host.
      state: The state of the file, which says where to resume.
      limit: About how many bytes to read.
    """

    files: FileSet
    host: int
    state: FileState
    limit: int


@dataclass(frozen=True)
class Reply:
    """A worker's reply to a request.

    Attributes:
      batch: The traces, with the worker's numbers of sites and shapes.
      sites: Graph, op, slot and device of the new sites, in the order of their numbers.
      shapes: Text and rank of the new shapes, in the order of their numbers.
    """

    batch: Batch
    sites: list[SiteKey]
    shapes: list[tuple[str, int]]


class _HostReader:
    """A worker's view of one host; lives as long as the worker."""

    def __init__(self, request: Request) -> None:
        self._file = SetFile(request.files, GRAPH_EXECUTION_TRACES)
        self._registry = Registry()
        self._decoder = TraceDecoder(self._registry, 0)
        self._sent = (0, 0)

    def read(self, request: Request) -> Reply:
        batch = read_rows(self._file, self._decoder, Batch(state=request.state), request.limit)
        return Reply(batch, *self._new_keys())

    def _new_keys(self) -> tuple[list[SiteKey], list[tuple[str, int]]]:
        sites, shapes = self._registry.sites.rows, self._registry.shapes.rows
        (first_site, first_shape), self._sent = self._sent, (len(sites), len(shapes))
        return [self._key(site) for site in sites[first_site:]], [
            (shape.text, shape.rank) for shape in shapes[first_shape:]
        ]

    def _key(self, site: SiteRow) -> SiteKey:
        graphs, ops = self._registry.graphs.rows, self._registry.ops.rows
        return graphs[site.graph].graph_id, ops[site.op].name, site.slot, site.device or ""


def work(requests: BinaryIO, replies: BinaryIO) -> None:
    """Reply to requests until there are no more; the main function of a worker.

    Args:
      requests: A stream of pickled :class:`Request` objects.
      replies: Receives pickled :class:`Reply` objects, packed.
    """
    readers: dict[int, _HostReader] = {}
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            request = pickle.load(requests)
            reader = readers.setdefault(request.host, _HostReader(request))
            reply = reader.read(request)
            pickle.dump(replace(reply, batch=_packed(reply.batch)), replies, protocol=5)
            replies.flush()


def _packed(batch: Batch) -> Batch:
    """Shorten columns that repeat one value to that value: most modes measure few of the numbers."""
    if batch.rows is None:
        return batch
    columns = {name: _shortened(values) for name, values in batch.rows.columns.items()}
    return replace(batch, rows=replace(batch.rows, columns=columns))


def _shortened(values: Array) -> Array:
    same = np.isnan(values).all() if values.dtype.kind == "f" and np.isnan(values[:1]).all() else False
    return values[:1] if len(values) > 1 and (same or (values == values[0]).all()) else values


def _unpacked(columns: Columns, count: int) -> dict[str, Array]:
    return {
        name: np.full(count, values[0]) if len(values) == 1 else values for name, values in columns.items()
    }


class _Worker:
    """One process; lives until :meth:`close`."""

    def __init__(self) -> None:
        # The process has its own session: Ctrl-C reaches only the viewer, which then closes the pipe.
        self._process = start_process(work, start_new_session=True)
        assert self._process.stdin is not None and self._process.stdout is not None
        self._requests, self._replies = self._process.stdin, self._process.stdout

    def send(self, request: Request) -> None:
        pickle.dump(request, self._requests)
        self._requests.flush()

    def receive(self) -> Reply:
        reply: Reply = pickle.load(self._replies)
        return reply

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._requests.close()
        self._replies.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class _Numbers:
    """Maps a worker's numbers of one host's sites and shapes to those of the run."""

    def __init__(self) -> None:
        self._sites: Array = np.empty(0, np.int32)
        self._shapes: Array = np.array([-1], np.int32)  # the last one is -1, which means not known

    def learn(self, reply: Reply, registry: Registry, host: int) -> None:
        sites = [registry.site(host, *key) for key in reply.sites]
        shapes = [registry.shape(*key) for key in reply.shapes]
        self._sites = np.concatenate([self._sites, np.array(sites, np.int32)])
        self._shapes = np.concatenate([self._shapes[:-1], np.array([*shapes, -1], np.int32)])

    def renumber(self, rows: Rows) -> Rows:
        columns = _unpacked(rows.columns, len(rows))
        columns["site"] = self._sites[columns["site"]]
        columns["shape"] = self._shapes[columns["shape"]]
        return replace(rows, columns=columns)


class TraceWorkers:
    """Processes that read and decode traces; lives until :meth:`close`.

    Args:
      file_sets: The file sets of the hosts, by number of the host.
      registry: Numbers sites and shapes.
      count: The number of processes; each host belongs to one of them.

    Raises:
      WorkersGone: The processes cannot be started.
    """

    def __init__(self, file_sets: Sequence[FileSet], registry: Registry, count: int) -> None:
        self._file_sets = file_sets
        self._registry = registry
        self._numbers = [_Numbers() for _ in file_sets]
        self._workers: list[_Worker] = []
        with self._failing():
            self._workers.extend(_Worker() for _ in range(count))

    def request(self, states: Sequence[FileState], limit: int) -> None:
        """Request the next traces of each host.

        Args:
          states: Where to resume, by host.
          limit: About how many bytes to read of each host.

        Raises:
          WorkersGone: A process cannot be reached; the caller has to read by itself.
        """
        with self._failing():
            for host, state in enumerate(states):
                self._worker(host).send(Request(self._file_sets[host], host, state, limit))

    def batches(self) -> list[Batch]:
        """Return the requested traces, by host.

        Raises:
          WorkersGone: A process does not reply; the caller has to read by itself.
        """
        return [self._batch(host) for host in range(len(self._file_sets))]

    def _worker(self, host: int) -> _Worker:
        return self._workers[host % len(self._workers)]

    def _batch(self, host: int) -> Batch:
        with self._failing():
            reply = self._worker(host).receive()
        numbers = self._numbers[host]
        numbers.learn(reply, self._registry, host)
        rows = reply.batch.rows
        return reply.batch if rows is None else replace(reply.batch, rows=numbers.renumber(rows))

    @contextlib.contextmanager
    def _failing(self) -> Iterator[None]:
        try:
            yield
        except (OSError, EOFError, ValueError, pickle.UnpicklingError) as error:
            raise WorkersGone(str(error) or type(error).__name__) from error

    def close(self) -> None:
        """End the processes."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.close()


def num_processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
