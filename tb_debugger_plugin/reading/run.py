"""A recorded run as a Python object.

Takes a logdir and answers what the page answers, with the same functions. Each method sees one commit of the
run; a run that is still being recorded grows between two calls.
"""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, TypeVar

import duckdb

from tb_debugger_plugin.analysis.compare.compare import compare
from tb_debugger_plugin.analysis.compare.comparison import Comparison
from tb_debugger_plugin.analysis.compare.measuring import Settings
from tb_debugger_plugin.analysis.report.facts import report
from tb_debugger_plugin.analysis.report.html_page import page
from tb_debugger_plugin.analysis.report.markdown import markdown
from tb_debugger_plugin.analysis.select_statement import check_select, run_select
from tb_debugger_plugin.analysis.status import status
from tb_debugger_plugin.analysis.values.changed_values import changed_values
from tb_debugger_plugin.errors import NotReadyError, UsageError
from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.index.indexer import Progress
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.parquet import write_tables
from tb_debugger_plugin.index.runs import FoundRun
from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.reading.alerts_of_run import AlertsOfRun
from tb_debugger_plugin.reading.lists_of_run import ListsOfRun
from tb_debugger_plugin.reading.program_of_run import ProgramOfRun
from tb_debugger_plugin.reading.rows import Execution, GraphExecution, Rows

T = TypeVar("T")

REPORT_FORMATS: Final = {"html": page, "markdown": markdown}


@dataclass(frozen=True)
class Change:
    """What a run has gained.

    Attributes:
      executions: The new executions.
      graph_executions: The new graph executions.
      finished: Whether the recording has ended; None if it does not say.
    """

    executions: Rows[Execution]
    graph_executions: Rows[GraphExecution]
    finished: bool | None


def open_run(logdir: str | os.PathLike[str], run: str | None = None, *, timeout: float | None = None) -> Run:
    """Open a recorded run, to read it from Python.

    Use::

        run = tb_debugger_plugin.open_run("/path/to/logdir")
        print(run.why())
        run.graph_executions(op_type="Log", health="bad")[0].value()[:, 1]

    The first time, the event files are read into tables, as the page does; they are kept in a cache folder.
    TensorFlow is not needed. The program may still be running.

    Args:
      logdir: The dump root, or any folder above it, on this machine or at a URL such as ``gs://bucket/logs``.
      run: The name of the run, which is the path of its dump root below the logdir; needed if there are
        several.
      timeout: Seconds to wait until all that is in the files is read; None (the default) = no limit. After a
        timeout the run holds what was read until then.

    Returns:
      The run. It is a context manager; ``close()`` releases the tables.

    Raises:
      NotFoundError: There is no run, no run of this name, or there are several and no name is given. It is a
        ``LookupError``.
      NotReadyError: The files cannot be read.
      UsageError: The logdir is not a path and no URL that can be read. It is a ``ValueError``.
    """
    folder = location(os.fspath(logdir))
    runs = choose.with_name(folder, choose.all_runs(folder), run)
    return Run(choose.single(folder, runs, "run=..."), timeout=timeout)


class Run(ListsOfRun, ProgramOfRun, AlertsOfRun):
    """A recorded run; :func:`open_run` makes it.

    Use::

        with tb_debugger_plugin.open_run("/path/to/logdir") as run:
            print(run, len(run.executions()), len(run.alerts()))

    Args:
      found: The files of the run.
      timeout: As for :func:`open_run`.
      writes: Folders that :meth:`export` may write.
      report: Called with the progress of reading now and then.
    """

    def __init__(
        self,
        found: FoundRun,
        *,
        timeout: float | None = None,
        writes: Sequence[Path] = (),
        report: Callable[[Progress], None] | None = None,
    ) -> None:
        self._found = found
        super().__init__(RunLoader(found, folders=writes))
        self._open = contextlib.ExitStack()
        self._open.callback(self._loader.close)
        # Also at the end of the program: a thread that still reads would keep DuckDB from ending.
        self._finalizer = weakref.finalize(self, self._open.close)
        self._sql: tuple[int, duckdb.DuckDBPyConnection] | None = None
        try:
            self._wait(timeout, report)
        except BaseException:
            self.close()
            raise

    def _wait(self, timeout: float | None, report: Callable[[Progress], None] | None) -> None:
        begin = time.monotonic()
        # In short waits, so that Ctrl-C ends them.
        while not self._loader.wait(_WAIT_SECONDS) and (
            timeout is None or time.monotonic() < begin + timeout
        ):
            self._report(report)
        self._report(report)
        self.seconds_read = time.monotonic() - begin
        if self._loader.failure:
            raise NotReadyError(self._loader.failure.partition("\n")[0])

    def _report(self, report: Callable[[Progress], None] | None) -> None:
        if report is not None and self._loader.progress is not None:
            report(self._loader.progress)

    @property
    def name(self) -> str:
        """The path of the dump root below the logdir."""
        return self._found.name

    @property
    def folder(self) -> str:
        """The dump root."""
        return str(self._found.folder)

    @property
    def start_time(self) -> float:
        """When the recording began, in seconds since the epoch."""
        return self._found.start_time

    @property
    def database(self) -> Path | None:
        """The file of the tables; None if they are not kept, because another program has that file open."""
        return self._loader.database_path

    @property
    def bytes_read(self) -> int:
        """How many bytes of the files are in the tables."""
        return 0 if self._loader.progress is None else self._loader.progress.bytes_done

    def __repr__(self) -> str:
        """Returns the name and the folder."""
        return f"<Run {self.name!r} in {self.folder}>"

    def __enter__(self) -> Run:
        """Returns the run."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the run."""
        self.close()

    def close(self) -> None:
        """Release the tables. Values that were made before can still be read, as long as the files exist.

        Use::

            run.close()
        """
        _queried.discard(self)
        self._finalizer()

    def status(self) -> dict[str, Any]:
        """Returns counts, mode, hosts, times, what is not recorded and what could not be read.

        Use::

            run.status()["num_graph_executions"]

        Returns:
          The answer of the route ``status`` of ``docs/http-api.md``.
        """
        return self._ask(status)

    def changed_values(self) -> list[dict[str, Any]]:
        """Returns the values that a debugger changed while the program was stopped at them.

        Use::

            [change["expression"] for change in run.changed_values()]

        Returns:
          ``changed_values`` of the route ``status`` of ``docs/http-api.md``, in the order of time. The rows
          of the tensors hold the values before.
        """
        return self._ask(changed_values)

    def compare(self, other: Run, *, tolerance: float | None = None) -> Comparison:
        """Compares the run with another one of nearly the same program, and finds where they part.

        Use::

            before = tb_debugger_plugin.open_run("/path/to/logdir")
            comparison = before.compare(run)
            print(comparison.headline)

        Ops are aligned even if names got other numbers. The first difference is the first tensor, in the
        order of time of this run, that differs by more than rounding explains. Summaries are enough; elements
        are compared where both runs hold them.

        Args:
          other: The other run. It may have another dtype, device, mode or version of TensorFlow.
          tolerance: The relative difference that is allowed; None (the default) = from the rounding of the
            coarser dtype, growing with the ops on the path to the tensor.

        Returns:
          The comparison, with at least ``first_difference`` (None if the runs agree), ``headline``,
          ``tensors``, ``changes`` and ``notes``.

        Raises:
          BadQueryError: The tolerance is negative or not a number.
        """
        with self.snapshot() as first, other.snapshot() as second:
            return compare(first, second, Settings(tolerance))

    def report(self, form: str = "html") -> str:
        """Writes what is known of the bad values of the run as one text, to send or to paste.

        Use::

            with open("report.html", "w", encoding="utf-8") as file:
                file.write(run.report())

        Args:
          form: ``"html"`` (the default) for a page that needs no server, or ``"markdown"`` for an issue.

        Raises:
          UsageError: There is no such form.
        """
        if form not in REPORT_FORMATS:
            raise UsageError(f"There is no form {form!r} of a report: choose {' or '.join(REPORT_FORMATS)}.")
        return REPORT_FORMATS[form](self._ask(report, self._found.title))

    def export(self, folder: Path) -> dict[str, int]:
        """Writes the tables as Parquet files; for this package only.

        Args:
          folder: One of the folders that this run may write, or below one.

        Returns:
          The number of rows by table.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with self._loader.reading() as connection:
            return write_tables(connection, folder, self.start_time)

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Runs a query on the tables of the run, which ``docs/schema.md`` describes.

        Use::

            run.sql("SELECT op_type, count(*) FROM executions GROUP BY ALL").df()
            run.sql("SELECT * FROM graph_executions").arrow()

        Args:
          query: One SELECT.

        Returns:
          A relation of DuckDB: ``.df()``, ``.arrow()``, ``.fetchall()`` and more. It sees the commit of the
          moment of the call, and lives until the run is closed.

        Raises:
          BadQueryError: It is not one SELECT, or DuckDB refuses it.
        """
        # A relation does not refer to the run, which must stay open for it.
        _queried.add(self)
        return run_select(self._connection(), query)

    def cursor(self, query: str) -> duckdb.DuckDBPyConnection:
        """Runs the same, to fetch many rows in batches; for this package only.

        Raises:
          BadQueryError: It is not one SELECT.
        """
        connection = self._connection()
        return connection.execute(check_select(connection, query))

    def _connection(self) -> duckdb.DuckDBPyConnection:
        with self.snapshot() as snapshot:
            generation = snapshot.generation
        if self._sql is None or self._sql[0] != generation:
            # Relations of an earlier commit keep their own connection.
            self._sql = generation, self._open.enter_context(self._loader.reading())
        return self._sql[1]

    def follow(self, interval: float = 0.5, timeout: float | None = None) -> Iterator[Change]:
        """Yields what a running program adds to the run, until its recording ends.

        Use::

            for change in run.follow():
                print(len(change.graph_executions), "new tensors")

        The first change holds what the run has already. In a recording with a circular buffer, positions
        move, so only rows beyond the longest list so far are yielded.

        Args:
          interval: Seconds between two looks; the default is 0.5.
          timeout: Seconds without a change after which it ends; None (the default) = no limit.

        Yields:
          The new rows, whenever there are some, and whether the recording has ended.
        """
        done = {"executions": 0, "graph_executions": 0}
        changed = time.monotonic()
        while True:
            facts = self.status()
            caught_up = facts["loading"] is None
            executions, traces = self.executions(), self.graph_executions()
            new = Change(
                executions.after(done["executions"]),
                traces.after(done["graph_executions"]),
                facts["finished"],
            )
            done = {"executions": len(executions), "graph_executions": len(traces)}
            if new.executions or new.graph_executions:
                changed = time.monotonic()
                yield new
            if facts["finished"] and caught_up:
                return
            if timeout is not None and time.monotonic() - changed > timeout:
                return
            time.sleep(interval)


#: The open runs that relations of DuckDB read.
_queried: set[Run] = set()
_WAIT_SECONDS: Final = 0.2
