"""A recorded run as a Python object.

Takes a logdir and answers what the page answers, with the same functions. Each method sees one commit of the
run; a run that is still being recorded grows between two calls.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from types import TracebackType
from typing import Any, Final, TypeVar

import duckdb

from tb_debugger_plugin.analysis import sources as source_files
from tb_debugger_plugin.analysis.alerts import alerts as alert_lists
from tb_debugger_plugin.analysis.alerts.alert_rules import RULES
from tb_debugger_plugin.analysis.alerts.diagnosis.explain import diagnose_alert
from tb_debugger_plugin.analysis.graph import graphs
from tb_debugger_plugin.analysis.lists import tables
from tb_debugger_plugin.analysis.lists.filters import (
    EXECUTION_ORDERS,
    GRAPH_EXECUTION_ORDERS,
    HEALTH,
    Filter,
    Order,
    parse_comparisons,
)
from tb_debugger_plugin.analysis.lists.selection import Selection, select, select_at
from tb_debugger_plugin.analysis.lists.tables import Page
from tb_debugger_plugin.analysis.select_statement import run_select
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot, open_snapshot
from tb_debugger_plugin.analysis.status import status
from tb_debugger_plugin.analysis.values.recorded_value import find_value
from tb_debugger_plugin.errors import NotFoundError, NotReadyError, UsageError
from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.runs import Run as FoundRun
from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.reading.program import Alert, Frame, Graph, Op, Source
from tb_debugger_plugin.reading.rows import Execution, GraphExecution, Row, Rows
from tb_debugger_plugin.reading.value import Value

T = TypeVar("T")

_TENSOR: Final = re.compile(r"(?P<op>.+?)(?::(?P<slot>[0-9]{1,9}))?")
_FILTERS: Final = frozenset(one.name for one in fields(Filter))


@dataclass(frozen=True)
class Explanation:
    """Why a value is bad.

    Attributes:
      headline: One line, such as ``"Log in cross_entropy, train.py:68"``.
      sentences: What the value is, why, on which line, and what helps.
      facts: Everything that the route ``diagnosis`` of ``docs/http-api.md`` answers.
    """

    headline: str
    sentences: list[str]
    facts: dict[str, Any]

    def __str__(self) -> str:
        """Returns the headline and the sentences, a line each."""
        return "\n".join([self.headline, *self.sentences])


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


class Run:
    """A recorded run; :func:`open_run` makes it.

    Use::

        with tb_debugger_plugin.open_run("/path/to/logdir") as run:
            print(run, len(run.executions()), len(run.alerts()))

    Args:
      found: The files of the run.
      timeout: As for :func:`open_run`.
    """

    def __init__(self, found: FoundRun, *, timeout: float | None = None) -> None:
        self._found = found
        self._loader = RunLoader(found)
        self._open = contextlib.ExitStack()
        self._open.callback(self._loader.close)
        # Also at the end of the program: a thread that still reads would keep DuckDB from ending.
        self._finalizer = weakref.finalize(self, self._open.close)
        self._sql: tuple[int, duckdb.DuckDBPyConnection] | None = None
        try:
            self._wait(timeout)
        except BaseException:
            self.close()
            raise

    def _wait(self, timeout: float | None) -> None:
        until = None if timeout is None else time.monotonic() + timeout
        # In short waits, so that Ctrl-C ends them.
        while not self._loader.wait(_WAIT_SECONDS) and (until is None or time.monotonic() < until):
            pass
        if self._loader.failure:
            raise NotReadyError(self._loader.failure.partition("\n")[0])

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

    def snapshot(self) -> contextlib.AbstractContextManager[Snapshot]:
        """Gives the snapshot of a commit that the functions of ``analysis`` take; for this package only."""
        return open_snapshot(self._loader)

    def _ask(self, question: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        with self.snapshot() as snapshot:
            return question(snapshot, *args, **kwargs)

    def status(self) -> dict[str, Any]:
        """Returns counts, mode, hosts, times, what is not recorded and what could not be read.

        Use::

            run.status()["num_graph_executions"]

        Returns:
          The answer of the route ``status`` of ``docs/http-api.md``.
        """
        return self._ask(status)

    def executions(
        self, *, sort: str | None = None, descending: bool = False, **filters: Any
    ) -> Rows[Execution]:
        """Returns what Python ran: eager ops and calls of functions.

        Use::

            run.executions(op_type="MatMul", health="bad")
            run.executions(sort="wall_time", descending=True)[0]

        Args:
          sort: The column to sort by: ``"wall_time"``, ``"num_inputs"`` or ``"num_outputs"``; None (the
            default) = in the order in which they ran. A sorted list has at most 10,000 rows.
          descending: Whether the largest comes first.
          **filters: What the rows must fulfil, as for :meth:`graph_executions`.

        Raises:
          BadQueryError: A filter is wrong. It is a ``ValueError``.
          UsageError: There is no such filter. It is a ``ValueError``.
        """
        return self._rows(Execution, "executions", _order(sort, descending, EXECUTION_ORDERS), filters)

    def graph_executions(
        self, *, sort: str | None = None, descending: bool = False, **filters: Any
    ) -> Rows[GraphExecution]:
        """Returns the tensors that were computed in graphs.

        Use::

            run.graph_executions(op_type="^Log$", where="nan>0")
            run.graph_executions(layer="dense_1", sort="max", descending=True)[:10]

        Args:
          sort: The column to sort by, such as ``"wall_time"``, ``"bytes"``, ``"nan"``, ``"max"``,
            ``"op_type"`` or ``"tensor_name"``; None (the default) = in the order in which they were computed.
            A sorted list has at most 10,000 rows.
          descending: Whether the largest comes first.
          **filters: What the rows must fulfil. Regular expressions that match any part of a name:
            ``op_name``, ``op_type``, ``function``, ``device``, ``layer``, ``variable``, ``gradient_of``;
            ``not_op_name`` must match none. Exact names: ``dtype``, ``host``. ``health``: ``"bad"``,
            ``"good"`` or ``"unmeasured"``. ``sites``: numbers of sites, as ``docs/schema.md`` has them.
            ``where``: comparisons such as ``"nan>0,size>=100"``. ``since``, ``until``: times in seconds.
            ``from_execution`` and ``until_execution``: positions of executions in which they were computed.
            ``source`` and ``line``: a source file of the stack, by a part of its path, and a line of it.

        Raises:
          BadQueryError: A filter is wrong. It is a ``ValueError``.
          UsageError: There is no such filter. It is a ``ValueError``.
        """
        order = _order(sort, descending, GRAPH_EXECUTION_ORDERS)
        return self._rows(GraphExecution, "graph_executions", order, filters)

    def graph_executions_at(
        self, positions: Sequence[int], *, sort: str | None = None, descending: bool = False
    ) -> Rows[GraphExecution]:
        """Returns some graph executions by their positions.

        Use::

            run.graph_executions_at([4, 1])

        Args:
          positions: Positions in the list of graph executions, each once.
          sort: As for :meth:`graph_executions`; None (the default) = in the given order.
          descending: Whether the largest comes first.

        Raises:
          BadQueryError: There is no such position. It is a ``ValueError``.
        """
        order = _order(sort, descending, GRAPH_EXECUTION_ORDERS)
        chosen = self._ask(select_at, "graph_executions", positions, order)

        def page(where: Range) -> Page:
            return self._ask(lambda snapshot: tables.graph_executions_page(snapshot, where, chosen=chosen))

        return Rows(self, GraphExecution, page, chosen.total, chosen.matching)

    def _rows(
        self, row_type: type[Row], table: str, order: Order | None, filters: dict[str, Any]
    ) -> Rows[Row]:
        page_of = _PAGES[table]

        def selection(snapshot: Snapshot) -> Selection | None:
            wanted = _filter(snapshot, filters)
            return None if wanted.is_empty and order is None else select(snapshot, table, wanted, order)

        def counts(snapshot: Snapshot) -> tuple[int, int | None]:
            chosen = selection(snapshot)
            if chosen is None:
                return int(getattr(snapshot, f"num_{table}")), None
            return chosen.total, chosen.matching

        def page(positions: Range) -> Page:
            return self._ask(lambda snapshot: page_of(snapshot, positions, selection(snapshot)))

        return Rows(self, row_type, page, *self._ask(counts))

    def value(
        self,
        tensor: str | None = None,
        *,
        occurrence: int = -1,
        function: str | None = None,
        graph_id: str | None = None,
        graph_execution: int | None = None,
        execution: int | None = None,
        slot: int = 0,
    ) -> Value:
        """Returns a recorded tensor, whose elements are read when it is sliced.

        Use::

            run.value("Log:0")[:, 1]
            run.value("Log:0", occurrence=0, function="loss")
            run.value(graph_execution=2)
            run.value(execution=1, slot=0)

        Args:
          tensor: The name of a tensor in a graph, such as ``"Log:0"``; the slot may be left out.
          occurrence: Which time it was computed, from 0; negative numbers count from the end, and -1 (the
            default) is the last time.
          function: The name of its graph; needed if several graphs have such a tensor.
          graph_id: The id of its graph, instead.
          graph_execution: Instead of a name, a position in the list of graph executions, or
          execution: a position in the list of executions.
          slot: The number of the output, for an execution.

        Raises:
          BadQueryError: There is no such position, or not exactly one of the three is given.
          NotFoundError: There is no such tensor or occurrence, or several graphs have it.
        """
        if tensor is None:
            return self._ask(
                lambda snapshot: Value(
                    find_value(snapshot, graph_execution=graph_execution, execution=execution, slot=slot)
                )
            )
        if graph_execution is not None or execution is not None:
            raise UsageError("Give the name of a tensor, or a position, but not both.")
        return self._ask(self._of_tensor, tensor, function, graph_id, occurrence)

    def _of_tensor(
        self, snapshot: Snapshot, tensor: str, function: str | None, graph_id: str | None, occurrence: int
    ) -> Value:
        indices = _occurrences(snapshot, tensor, function, graph_id)
        if not -len(indices) <= occurrence < len(indices):
            raise NotFoundError(
                f"{tensor} has {len(indices)} occurrences, so there is no occurrence {occurrence}."
            )
        return Value(find_value(snapshot, graph_execution=indices[occurrence]))

    def values(self, tensor: str, *, function: str | None = None, graph_id: str | None = None) -> list[Value]:
        """Returns every occurrence of a tensor of a graph, in order.

        Use::

            [value.summary["nan"] for value in run.values("Log:0")]

        Args:
          tensor: The name of the tensor, such as ``"Log:0"``.
          function: The name of its graph; needed if several graphs have such a tensor.
          graph_id: The id of its graph, instead.

        Raises:
          NotFoundError: There is no such tensor, or several graphs have it.
        """

        def found(snapshot: Snapshot) -> list[Value]:
            indices = _occurrences(snapshot, tensor, function, graph_id)
            return [Value(find_value(snapshot, graph_execution=index)) for index in indices]

        return self._ask(found)

    def graphs(self) -> list[Graph]:
        """Returns the graphs that were recorded.

        Use::

            [graph.name for graph in run.graphs()]
        """

        def all_graphs(snapshot: Snapshot) -> list[Graph]:
            known = snapshot.catalog.graphs
            return [
                Graph(one.graph_id, one.name, known[one.outer].graph_id if one.outer >= 0 else None, self)
                for one in known
            ]

        return self._ask(all_graphs)

    def ops(
        self,
        *,
        name: str | None = None,
        type: str | None = None,
        function: str | None = None,
        graph_id: str | None = None,
    ) -> list[Op]:
        """Returns ops of graphs.

        Use::

            run.ops(type="^MatMul$", function="train_step")[0].traceback()

        Args:
          name: A regular expression that matches any part of the name.
          type: The same for the type.
          function: The same for the name of the graph.
          graph_id: The id of the graph.

        Raises:
          UsageError: One of them is not a regular expression.
        """
        patterns = {"name": _pattern(name), "type": _pattern(type), "function": _pattern(function)}

        def chosen(op: Op) -> bool:
            matches = all(
                pattern.search(getattr(op, field) or "") for field, pattern in patterns.items() if pattern
            )
            return matches and graph_id in (None, op.graph_id)

        return [op for op in self._ask(self._all_ops) if chosen(op)]

    def _all_ops(self, snapshot: Snapshot) -> list[Op]:
        return [
            Op(
                *(
                    op.name,
                    op.type,
                    graph.graph_id,
                    graph.name,
                    op.device,
                    op.num_outputs,
                    op.layer,
                    op.variable,
                ),
                run=self,
            )
            for op in snapshot.catalog.ops
            for graph in [snapshot.catalog.graphs[op.graph]]
        ]

    def op_info(self, graph_id: str, op_name: str) -> dict[str, Any]:
        """Returns an op with inputs, consumers, stack and health.

        Use::

            run.op_info(op.graph_id, op.name)["inputs"]

        Args:
          graph_id: The id of its graph.
          op_name: Its name.

        Returns:
          The answer of the route ``graphs/op_info`` of ``docs/http-api.md``.

        Raises:
          NotFoundError: There is no such graph or op.
        """
        return self._ask(graphs.op_info, graph_id, op_name)

    def frames(self, ids: list[str]) -> list[Frame]:
        """Returns the frames of a stack.

        Use::

            run.frames(run.op_info(op.graph_id, op.name)["stack_frame_ids"])

        Args:
          ids: The ids of the frames.

        Raises:
          NotFoundError: There is no such frame.
        """
        found = self._ask(source_files.stack_frames, ids)
        return [
            Frame(path, line, function, detail["text"], detail["origin"])
            for (_, path, line, function), detail in zip(found["stack_frames"], found["details"], strict=True)
        ]

    def sources(self) -> list[Source]:
        """Returns the source files that were recorded.

        Use::

            [source.path for source in run.sources() if source.origin == "user"]
        """

        def all_sources(snapshot: Snapshot) -> list[Source]:
            files = [
                source_files.source_file(snapshot, n) for n in range(len(source_files.source_list(snapshot)))
            ]
            return [Source(one["file_path"], one["host_name"], one["origin"], one["lines"]) for one in files]

        return self._ask(all_sources)

    def alerts(self, alert_type: str | None = None) -> list[Alert]:
        """Returns the values that rules report, in the order of time.

        Use::

            run.alerts("InfNanAlert")[0].value()

        Args:
          alert_type: Only alerts of this rule; None (the default) = of all rules.

        Raises:
          UsageError: There is no such rule.
        """
        known = [rule.id for rule in RULES]
        if alert_type is not None and alert_type not in known:
            raise UsageError(f"There is no rule {alert_type!r}: choose one of {', '.join(known)}.")

        def all_alerts(snapshot: Snapshot) -> list[Alert]:
            every = alert_lists.alert_list(snapshot)
            facts = alert_lists.page(snapshot, every, Range(0, len(every)))
            return [self._alert(index, one) for index, one in enumerate(facts)]

        return [one for one in self._ask(all_alerts) if alert_type in (None, one.alert_type)]

    def _alert(self, index: int, facts: dict[str, Any]) -> Alert:
        return Alert(
            *(index, facts["alert_type"], facts["op_type"], facts["op_name"], facts["output_slot"]),
            facts["wall_time"],
            facts,
            self,
        )

    def why(self, alert: int | None = None) -> Explanation | None:
        """Explains a bad value: which op made it, from which inputs, why, and on which line.

        Use::

            print(run.why())

        Args:
          alert: The position of an alert; None (the default) = the first cause.

        Returns:
          None if the run has no alert and none was asked for.

        Raises:
          BadQueryError: There is no such alert.
        """
        found = self._ask(diagnose_alert, alert)
        return None if found is None else Explanation(found.headline, found.sentences, found.to_json())

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
_PAGES: Final[dict[str, Callable[[Snapshot, Range, Selection | None], Page]]] = {
    "executions": tables.executions_page,
    "graph_executions": lambda snapshot, positions, chosen: tables.graph_executions_page(
        snapshot, positions, chosen=chosen
    ),
}


def _order(column: str | None, descending: bool, columns: tuple[str, ...]) -> Order | None:
    if column is None:
        return None
    if column not in columns:
        raise UsageError(f"The rows cannot be sorted by {column!r}: choose one of {', '.join(columns)}.")
    return Order(column, descending)


def _filter(snapshot: Snapshot, filters: dict[str, Any]) -> Filter:
    unknown = sorted(filters.keys() - _FILTERS)
    if unknown:
        raise UsageError(f"There is no filter {unknown[0]!r}: choose from {', '.join(sorted(_FILTERS))}.")
    wanted = dict(filters)
    if wanted.get("health") not in (None, *HEALTH):
        raise UsageError(f"health is {wanted['health']!r}: choose one of {', '.join(HEALTH)}.")
    if isinstance(wanted.get("where"), str):
        wanted["where"] = parse_comparisons(wanted["where"])
    if isinstance(wanted.get("source"), str):
        wanted["source"] = _source_number(snapshot, wanted["source"])
    return Filter(**wanted)


def _source_number(snapshot: Snapshot, part: str) -> int:
    paths = [path for _, path in source_files.source_list(snapshot)]
    found = [number for number, path in enumerate(paths) if part in path]
    if len(found) != 1:
        shown = ", ".join(paths[number] for number in (found or range(len(paths)))[:5])
        count = "Several" if found else "No"
        raise NotFoundError(f"{count} source files have {part!r} in their paths, such as {shown}.")
    return found[0]


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise UsageError(f"{text!r} is not a regular expression: {error}.") from None


def _occurrences(snapshot: Snapshot, tensor: str, function: str | None, graph_id: str | None) -> list[int]:
    """The positions of the occurrences of a tensor of a graph."""
    match = _TENSOR.fullmatch(tensor)
    op_name, slot = (match["op"], int(match["slot"] or 0)) if match else (tensor, 0)
    catalog = snapshot.catalog
    sites = [
        site
        for site in catalog.sites
        if (catalog.ops[site.op].name, site.slot) == (op_name, slot)
        and function in (None, catalog.graphs[site.graph].name)
        and graph_id in (None, catalog.graphs[site.graph].graph_id)
    ]
    names = sorted({str(catalog.graphs[site.graph].name) for site in sites})
    if not sites:
        raise NotFoundError(f"No tensor {op_name}:{slot} is recorded; ops() lists the ops of the graphs.")
    if len({site.graph for site in sites}) > 1:
        what = f"the functions {', '.join(names)}" if len(names) > 1 else f"several graphs named {names[0]}"
        raise NotFoundError(f"{op_name}:{slot} is in {what}: give function=... or graph_id=....")
    rows = snapshot.rows(
        "SELECT idx FROM graph_executions WHERE site IN (SELECT unnest(?)) ORDER BY idx",
        [[site.number for site in sites]],
    )
    return [index for (index,) in rows]
