"""The driver on a Dask cluster; only this module imports Dask.

Takes a run and writes its tables into a folder. Workers walk over files and survey chunks in parallel; one of
them combines the results into a layout; then workers write the parts of the lists in parallel. What a worker
had that is gone is computed again by another one.

Invariant: the manifest is written last, by this process, after every part is in the folder. Every failure is
a :class:`DebuggerError` or an ``OSError`` with a sentence.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import multiprocessing
import queue
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import CancelledError
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.process import BaseProcess
from typing import Final

import dask
from distributed import Client, Future, LocalCluster
from distributed.comm import CommClosedError
from distributed.core import Status
from distributed.scheduler import KilledWorker

from tb_debugger_plugin.errors import DebuggerError, FormatError, UsageError, user_message
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, TAILED
from tb_debugger_plugin.events.version import __version__
from tb_debugger_plugin.index.runs import FoundRun, RunKind
from tb_debugger_plugin.index.source import FileState
from tb_debugger_plugin.pipeline import tables
from tb_debugger_plugin.pipeline.layout import ROWS_A_PART, Layout, PartId, Slice, cut, lay_out
from tb_debugger_plugin.pipeline.survey import CHUNK_BYTES, Chunk, Facts, RowSpans, Walked, survey, walk

#: Seconds for a scheduler to answer, and for a first worker to come.
CONNECT_S: Final = 30
#: A worker that needs more memory than it may have is ended, not paused: paused ones wait for ever. Those of
#: this machine keep what they free: to get it from the system again for each piece of a file takes longer
#: than to read it.
_SETTINGS: Final = {
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 256 << 20,
    "distributed.comm.timeouts.connect": f"{CONNECT_S}s",
    "distributed.worker.memory.pause": False,
    # It looks at the stack a hundred times a second.
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.http.routes": [],
}
#: Why workers do not read runs of a kind.
_REFUSED: Final = {
    RunKind.TABLES: "holds tables already.",
    RunKind.DUMPS: "holds dumps of tfdbg v1, which workers do not read; use tbdbg export.",
}
#: Seconds without any worker that takes tasks after which a conversion is given up.
PATIENCE_S: Final = 120
_POLL_S: Final = 1.0
#: Seconds after which a process that was just being started has begun, or never will.
_START_S: Final = 1.0


@dataclass(frozen=True)
class Progress:
    """How far a conversion is.

    Attributes:
      step: ``"survey"`` or ``"write"``.
      done: Number of chunks or parts that are done.
      total: Number of all; an estimate until each file was begun.
      rows: Number of rows that the step has done.
    """

    step: str
    done: int
    total: int
    rows: int


@contextlib.contextmanager
def cluster(scheduler: str | None = None, workers: int | None = None) -> Iterator[Client]:
    """Connect to a cluster, or run one on this machine, for the duration of a block.

    Args:
      scheduler: Address of a scheduler, such as ``tcp://head:8786``; None = a cluster on this machine.
      workers: Number of processes on this machine; None = one for each processor.

    Raises:
      DebuggerError: The scheduler does not answer, has no workers, or some lack this version of the package.
    """
    # A worker that dies, or a scheduler that goes, is told in one sentence at the end.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with contextlib.ExitStack() as stack:
        stack.enter_context(dask.config.set(_SETTINGS))
        with _sentences():
            if scheduler is None:
                client = Client(stack.enter_context(_local(workers)))
            else:
                client = _connect(scheduler)
        stack.callback(_close, client)
        with _sentences():
            _check_workers(client)
        yield client


@contextlib.contextmanager
def _local(workers: int | None) -> Iterator[LocalCluster]:
    # Ctrl-C is for this process, which ends the others. Threads and processes inherit what is blocked; Python
    # unblocks it in the thread that starts the first process, unless its tracker runs already.
    resource_tracker.ensure_running()
    before = set(multiprocessing.active_children())
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        local = LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            host="127.0.0.1",
            # Keys that only these processes have: a scheduler runs any code for whoever reaches it.
            security=True,
            silence_logs=logging.CRITICAL,
        )
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        yield local
    finally:
        _close_local(local, before)


def _close_local(local: LocalCluster, before: Set[BaseProcess]) -> None:
    try:
        local.close()
    except Exception:
        # Dask cannot join a process that is just being started in the place of one that died. It has given
        # that one up, and closes the others and the scheduler when it is asked again.
        local.status = Status.running
        with contextlib.suppress(Exception):
            local.close()
        time.sleep(_START_S)
        for process in set(multiprocessing.active_children()) - before:
            process.kill()
            process.join()


def _connect(scheduler: str) -> Client:
    try:
        client = Client(scheduler, timeout=CONNECT_S)
    except (OSError, ValueError, asyncio.TimeoutError) as error:
        raise UsageError(f"No scheduler of Dask answers at {scheduler}: {error}") from error
    try:
        client.wait_for_workers(1, timeout=CONNECT_S)
    except asyncio.TimeoutError as error:
        _close(client)
        raise UsageError(f"The scheduler at {scheduler} has no workers: start some.") from error
    return client


def _close(client: Client) -> None:
    with contextlib.suppress(Exception):
        client.close(timeout=5)


def _check_workers(client: Client) -> None:
    # Pickled with its code, because a worker may lack this module.
    def version() -> str | None:
        try:
            from tb_debugger_plugin.events.version import __version__ as installed
        except ImportError:
            return None
        return installed

    # A worker that dies just now answers with an OSError.
    answers = client.run(version, on_error="return")
    wrong = {
        address: found
        for address, found in answers.items()
        if found != __version__ and not isinstance(found, OSError)
    }
    if wrong:
        address, found = next(iter(wrong.items()))
        has = "no tb-debugger-plugin" if found is None else f"tb-debugger-plugin {found}"
        raise UsageError(
            f"{len(wrong)} workers cannot help: {address} has {has}; install {__version__}, the version here."
        )


@contextlib.contextmanager
def _sentences() -> Iterator[None]:
    """Turn what goes wrong on a cluster into an error with a sentence."""
    try:
        yield
    except KilledWorker as error:
        raise DebuggerError(
            "Workers died again and again during one task; most often their memory is too small for it"
            f" (give each 2 GB or more, or start fewer): {error.task}."
        ) from error
    except (CancelledError, CommClosedError) as error:
        raise DebuggerError(
            "The scheduler is gone, or was restarted, so the conversion has ended; run the command again."
        ) from error
    except (DebuggerError, OSError):
        raise
    except Exception as error:
        raise DebuggerError(f"The cluster failed: {user_message(error)}") from error


def convert(
    client: Client,
    run: FoundRun,
    folder: str,
    *,
    chunk_bytes: int = CHUNK_BYTES,
    rows_a_part: int = ROWS_A_PART,
    report: Callable[[Progress], None] = lambda progress: None,
) -> dict[str, int]:
    """Convert a run's event files into a folder of tables.

    Args:
      client: The cluster.
      run: The run; every worker must be able to read its files, and they must not grow during the conversion.
      folder: Path or URL of the folder, which every worker must be able to write.
      chunk_bytes: Approximate number of bytes of a file that one worker surveys.
      rows_a_part: Approximate number of rows in one file of a long list.
      report: Called with the progress now and then.

    Returns:
      The number of rows of each long list that are never taken back, as in the manifest.

    Raises:
      DebuggerError: The cluster failed, or files changed or were missing; the folder is not a run then.
      OSError: Files cannot be read or written.
      UsageError: The run is not made of event files.
    """
    if run.kind in _REFUSED:
        raise UsageError(f"{run.folder} {_REFUSED[run.kind]}")
    with _sentences():
        tables.clear(folder)
        surveys = _survey_all(client, run, chunk_bytes, report)
        facts = [_submit(client, _facts_of, one) for one in surveys]
        stable = _submit(client, _stable, facts)
        layout = _submit(client, _lay_out, run, folder, rows_a_part, facts, stable)
        parts = _cut_all(client, surveys, layout)
        del surveys, facts
        _write_all(client, parts, layout, folder, report)
        counts: dict[str, int] = stable.result()
        # Others may have come meanwhile.
        _check_workers(client)
        tables.finish(run, parts, counts, folder)
        return counts


def _submit(client: Client, function: Callable[..., object], *args: object, priority: int = 0) -> Future:
    # Not pure: files that have changed since another conversion give another result.
    return client.submit(function, *args, pure=False, priority=priority, retries=1)


class _Running:
    """Futures that are waited for; iterating yields each when it is done, and those that are added, too."""

    def __init__(self, client: Client, futures: Iterable[Future] = ()) -> None:
        self._client = client
        self._done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._waiting = 0
        for future in futures:
            self.add(future)

    def add(self, future: Future) -> None:
        self._waiting += 1
        future.add_done_callback(self._done.put)

    def __iter__(self) -> Iterator[Future]:
        while self._waiting:
            yield self._next()
            self._waiting -= 1

    def _next(self) -> Future:
        last = time.monotonic()
        while True:
            with contextlib.suppress(queue.Empty):
                return self._done.get(timeout=_POLL_S)
            if _num_running(self._client):
                last = time.monotonic()
            elif time.monotonic() - last > PATIENCE_S:
                raise DebuggerError(
                    f"The cluster has had no worker that takes tasks for {PATIENCE_S} seconds: none is there,"
                    " or their memory is full. Start some, with 2 GB or more each."
                )


def _num_running(client: Client) -> int:
    """Return the number of workers that take tasks; one with little memory left is paused by Dask."""
    running: int = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.running))
    return running


def _survey_all(
    client: Client, run: FoundRun, chunk_bytes: int, report: Callable[[Progress], None]
) -> list[Future]:
    """Return the surveys of all chunks; one worker at a time walks over a file."""
    walks = {
        # First of all, because surveys follow from them.
        _submit(client, walk, files, host, suffix, 0, FileState(), chunk_bytes, priority=1): (host, suffix, 0)
        for host, files in enumerate(run.file_sets)
        for suffix in TAILED
    }
    left = dict.fromkeys([key[:2] for key in walks.values()], 1)
    surveys: list[Future] = []
    running = _Running(client, walks)
    done = rows = 0
    for future in running:
        if future in walks:
            host, suffix, number = walks.pop(future)
            walked: Walked = future.result()
            for chunk in walked.chunks:
                surveys.append(_submit(client, _survey, chunk, walked.state))
                running.add(_submit(client, _num_rows, surveys[-1]))
            left[host, suffix] = math.ceil((walked.state.size - walked.state.resume) / chunk_bytes)
            if walked.more:
                files, after = run.file_sets[host], number + 1
                args = (files, host, suffix, after, walked.state, chunk_bytes)
                walks[following := _submit(client, walk, *args, priority=1)] = host, suffix, after
                running.add(following)
        else:
            done, rows = done + 1, rows + future.result()
        report(Progress("survey", done, len(surveys) + sum(left.values()), rows))
    return surveys


def _cut_all(client: Client, surveys: Iterable[Future], layout: Future) -> dict[PartId, list[Slice]]:
    parts: dict[PartId, list[Slice]] = {}
    for future in _Running(client, [_submit(client, _cut, one, layout) for one in surveys]):
        for part, piece in future.result():
            parts.setdefault(part, []).append(piece)
    return parts


def _write_all(
    client: Client,
    parts: Mapping[PartId, Sequence[Slice]],
    layout: Future,
    folder: str,
    report: Callable[[Progress], None],
) -> None:
    counts = {
        part: (sum(piece.num_rows for piece in slices), sum(piece.num_bad for piece in slices))
        for part, slices in sorted(parts.items())
    }
    before, writes = dict.fromkeys(TAILED, (0, 0)), []
    for part, (num_rows, num_bad) in counts.items():
        first, first_bad = before[part[0]]
        writes.append(
            _submit(client, tables.write_part, part, parts[part], layout, (first, first_bad), folder)
        )
        before[part[0]] = first + num_rows, first_bad + num_bad
    rows = 0
    for done, future in enumerate(_Running(client, writes), 1):
        rows += counts[future.result()][0]
        report(Progress("write", done, len(writes), rows))


def _survey(chunk: Chunk, state: FileState) -> tuple[Facts, RowSpans]:
    surveyed = survey(chunk)
    if not chunk.is_ring and surveyed[0].state != state:
        path = chunk.files.path(chunk.suffix)
        raise FormatError(
            f"{path} changed while it was read, or one worker cannot read it; the dump must be complete, and"
            " every worker must be able to read it."
        )
    return surveyed


def _num_rows(surveyed: tuple[Facts, RowSpans]) -> int:
    return surveyed[0].num_rows


def _facts_of(surveyed: tuple[Facts, RowSpans]) -> Facts:
    return surveyed[0]


def _stable(facts: Sequence[Facts]) -> dict[str, int]:
    stable = [fact for fact in facts if not fact.chunk.is_ring]
    rows = {suffix: sum(fact.num_rows for fact in stable if fact.chunk.suffix == suffix) for suffix in TAILED}
    bad = sum(fact.num_bad for fact in stable if fact.chunk.suffix == GRAPH_EXECUTION_TRACES)
    return {EXECUTION: rows[EXECUTION], GRAPH_EXECUTION_TRACES: rows[GRAPH_EXECUTION_TRACES], "bad": bad}


def _lay_out(
    run: FoundRun, folder: str, rows_a_part: int, facts: Sequence[Facts], stable: dict[str, int]
) -> Layout:
    layout, described = lay_out(run, facts, rows_a_part)
    tables.write_short(run, described, stable, folder)
    return layout


def _cut(surveyed: tuple[Facts, RowSpans], layout: Layout) -> list[tuple[PartId, Slice]]:
    return list(cut(surveyed[1], layout))
