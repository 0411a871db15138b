"""A recorded run as a Python object.

Takes a logdir and answers what the page answers, with the same functions. Each method sees one commit of the
run; a run that is still being recorded grows between two calls.
"""

from __future__ import annotations

import contextlib
import os
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, TypeAlias, TypeVar

import duckdb

from tb_debugger_plugin.analysis.alerts import pages
from tb_debugger_plugin.analysis.alerts.alert_rules import LISTED
from tb_debugger_plugin.analysis.alerts.alerts import alert_list
from tb_debugger_plugin.analysis.alerts.explain import diagnose_alert
from tb_debugger_plugin.analysis.alerts.groups import judged_groups
from tb_debugger_plugin.analysis.alerts.own_files import own_files
from tb_debugger_plugin.analysis.alerts.settings import ALL, RECOMMENDED, make_settings, settings_of_texts
from tb_debugger_plugin.analysis.beside import kept_calls, read_note
from tb_debugger_plugin.analysis.compare.compare import compare
from tb_debugger_plugin.analysis.compare.comparison import Comparison
from tb_debugger_plugin.analysis.compare.measuring import ComparisonSettings
from tb_debugger_plugin.analysis.curves.curve import Curve, Wanted, curve, subject_named
from tb_debugger_plugin.analysis.curves.exponents import ExponentMap, exponent_map
from tb_debugger_plugin.analysis.curves.flow import GradientFlow, gradient_flow
from tb_debugger_plugin.analysis.graph.graphs import op_info
from tb_debugger_plugin.analysis.lists.filters import RowOrder
from tb_debugger_plugin.analysis.lists.orders import ORDERS
from tb_debugger_plugin.analysis.lists.select_statement import check_select, run_select
from tb_debugger_plugin.analysis.lists.selection import select_at
from tb_debugger_plugin.analysis.lists.tables import ColumnPage, graph_executions_page
from tb_debugger_plugin.analysis.lists.views import VIEWS, add_views, may_read_views
from tb_debugger_plugin.analysis.origins.origin import Origin
from tb_debugger_plugin.analysis.origins.origins import origins
from tb_debugger_plugin.analysis.precision.precision import Precision, precision
from tb_debugger_plugin.analysis.report.facts import report
from tb_debugger_plugin.analysis.report.formats import REPORT_FORMATS
from tb_debugger_plugin.analysis.sizes import Sizes, sizes
from tb_debugger_plugin.analysis.snapshot import Json, Range, Snapshot, list_lengths, open_snapshot
from tb_debugger_plugin.analysis.status import StatusJson, status
from tb_debugger_plugin.analysis.values.changed_values import ChangedValueJson, changed_values
from tb_debugger_plugin.analysis.values.float_formats import DEFAULT
from tb_debugger_plugin.analysis.values.recorded_value import find_value, value_named, values_named
from tb_debugger_plugin.analysis.verdict import RunVerdict, verdict
from tb_debugger_plugin.errors import NotFoundError, NotReadyError, UsageError
from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.parquet import write_tables
from tb_debugger_plugin.index.runs import FoundRun
from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.reading.alerts import Alert, Explanation, explanation_of, found_alerts, listed_alerts
from tb_debugger_plugin.reading.program import (
    Frame,
    Graph,
    Op,
    Source,
    frames_of,
    graphs_of,
    ops_of,
    sources_of,
)
from tb_debugger_plugin.reading.replay import Replay, ReplayOptions, replay
from tb_debugger_plugin.reading.rows import Execution, GraphExecution, Row, Rows, counts_of, order_of, page_of
from tb_debugger_plugin.reading.value import Value

T = TypeVar("T")
#: Called with how many bytes were read, and how many there are.
OnProgress: TypeAlias = Callable[[int, int], None]


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
    return Run(choose.only(folder, run, "run=..."), timeout=timeout)


class Run:
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
        report: OnProgress | None = None,
    ) -> None:
        self._found = found
        self._loader = RunLoader(found, folders=writes)
        self._open = contextlib.ExitStack()
        self._open.callback(self._loader.close)
        # Also at the end of the program: a thread that still reads would keep DuckDB from ending.
        self._finalizer = weakref.finalize(self, self._open.close)
        self._sql: Snapshot | None = None
        try:
            self._wait(timeout, report)
        except BaseException:
            self.close()
            raise

    def _wait(self, timeout: float | None, report: OnProgress | None) -> None:
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

    def _report(self, report: OnProgress | None) -> None:
        if report is not None and self._loader.progress is not None:
            report(self._loader.progress.bytes_done, self._loader.progress.bytes_total)

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

    @property
    def list_lengths(self) -> Mapping[str, int]:
        """How many rows each of the long tables has."""
        return list_lengths(self._loader)

    def __repr__(self) -> str:
        """Return the name and the folder."""
        return f"<Run {self.name!r} in {self.folder}>"

    def __enter__(self) -> Run:
        """Return the run."""
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
        """Give the snapshot of a commit that the functions of ``analysis`` take; for this package only."""
        return open_snapshot(self._loader)

    def _ask(self, question: Callable[..., T], *args: object, **kwargs: object) -> T:
        with self.snapshot() as snapshot:
            return question(snapshot, *args, **kwargs)

    def status(self) -> StatusJson:
        """Return counts, mode, hosts, times, what is not recorded and what could not be read.

        Use::

            run.status()["num_graph_executions"]

        Returns:
          The answer of the route ``status`` of ``docs/http-api.md``.
        """
        return self._ask(status)

    def sizes(self) -> Sizes:
        """Return what fills the files, by op and by function, and what a filter would save.

        Use::

            run.sizes()["by_op"][0]["name"]

        Returns:
          ``files``: bytes by the kind of file. ``by_op`` and ``by_function``: ``name``, ``records`` and
          ``bytes`` of each, the largest first; in a long recording the bytes are estimated from a part of the
          records, and ``is_measured`` is False. ``savings``: an ``argument`` of `enable_dump_debug_info`, and
          about how many ``records`` and ``bytes`` there would not be.
        """
        return self._ask(sizes)

    def changed_values(self) -> list[ChangedValueJson]:
        """Return the values that a debugger changed while the program was stopped at them.

        Use::

            [change["expression"] for change in run.changed_values()]

        Returns:
          ``changed_values`` of the route ``status`` of ``docs/http-api.md``, in the order of time. The rows
          of the tensors hold the values before.
        """
        return self._ask(changed_values)

    def executions(
        self, *, sort: str | None = None, descending: bool = False, **filters: object
    ) -> Rows[Execution]:
        """Return what Python ran: eager ops and calls of functions.

        Use::

            run.executions(op_type="MatMul", health="bad")
            run.executions(sort="wall_time", descending=True)[0]

        Args:
          sort: The column to sort by, such as ``"wall_time"``, ``"op_type"``, ``"thread"`` or
            ``"num_outputs"``; None (the default) = in the order in which they ran.
          descending: Whether the largest comes first.
          **filters: What the rows must fulfil, as for :meth:`graph_executions`.

        Raises:
          BadQueryError: A filter is wrong. It is a ``ValueError``.
          UsageError: There is no such filter. It is a ``ValueError``.
        """
        return self._rows(Execution, "executions", order_of(sort, descending, ORDERS["executions"]), filters)

    def graph_executions(
        self, *, sort: str | None = None, descending: bool = False, **filters: object
    ) -> Rows[GraphExecution]:
        """Return the tensors that were computed in graphs.

        Use::

            run.graph_executions(op_type="^Log$", where="nan>0")
            run.graph_executions(layer="dense_1", sort="max", descending=True)[:10]

        Args:
          sort: The column to sort by, such as ``"wall_time"``, ``"bytes"``, ``"nan"``, ``"max"``,
            ``"norm"``, ``"op_type"`` or ``"tensor_name"``; None (the default) = in the order in which they
            were computed.
          descending: Whether the largest comes first.
          **filters: What the rows must fulfil. Regular expressions that match any part of a name:
            ``op_name``, ``op_type``, ``function``, ``device``, ``layer``, ``variable``, ``gradient_of``;
            ``not_op_name`` must match none. Exact names: ``dtype``, ``host``. ``health``: ``"bad"``,
            ``"good"`` or ``"unmeasured"``, or ``"nan"`` or ``"inf"`` by kind.
            ``sites``: numbers of sites, as ``docs/schema.md`` has them.
            ``where``: comparisons such as ``"nan>0,size>=100"``. ``since``, ``until``: times in seconds.
            ``step``: steps of the program, and ``call``: the executions in which they were computed; such as
            ``7``, ``(3, 9)`` or ``"3..9"``.
            ``from_execution`` and ``until_execution``: positions of executions in which they were computed.
            ``source`` and ``line``: a source file of the stack, by a part of its path, and a line of it.
            ``file``: the line of your code that made the op, such as ``"model.py:41"``, or its file;
            ``stack``: the same of any line in the stack.

        Raises:
          BadQueryError: A filter is wrong. It is a ``ValueError``.
          UsageError: There is no such filter. It is a ``ValueError``.
        """
        order = order_of(sort, descending, ORDERS["graph_executions"])
        return self._rows(GraphExecution, "graph_executions", order, filters)

    def graph_executions_at(
        self, positions: Sequence[int], *, sort: str | None = None, descending: bool = False
    ) -> Rows[GraphExecution]:
        """Return some graph executions by their positions.

        Use::

            run.graph_executions_at([4, 1])

        Args:
          positions: Positions in the list of graph executions, each once.
          sort: As for :meth:`graph_executions`; None (the default) = in the given order.
          descending: Whether the largest comes first.

        Raises:
          BadQueryError: There is no such position. It is a ``ValueError``.
        """
        order = order_of(sort, descending, ORDERS["graph_executions"])
        chosen = self._ask(select_at, "graph_executions", positions, order)

        def page(where: Range) -> ColumnPage:
            return self._ask(lambda snapshot: graph_executions_page(snapshot, where, chosen=chosen))

        return Rows(self, GraphExecution, page, chosen.total, chosen.matching)

    def _rows(self, row_type: type[Row], table: str, order: RowOrder | None, filters: Json) -> Rows[Row]:
        def page(positions: Range) -> ColumnPage:
            return self._ask(page_of, table, order, filters, positions)

        return Rows(self, row_type, page, *self._ask(counts_of, table, order, filters))

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
        """Return a recorded tensor, whose elements are read when it is sliced.

        Use::

            run.value("Log:0")[:, 1]
            run.value("Log:0", occurrence=0, function="loss")
            run.value(graph_execution=2)
            run.value(execution=1, slot=0)

        Args:
          tensor: The name of a tensor in a graph, such as ``"Log:0"``; the slot of an op with one output may
            be left out. Or a position of the shell, such as ``"#12"`` or ``"#e5:0"``.
          occurrence: Which time it was computed, from 0; negative numbers count from the end, and -1 (the
            default) is the last time.
          function: The name of its graph, or a regular expression; without it, all graphs are looked through.
          graph_id: The id of its graph, instead.
          graph_execution: Instead of a name, a position in the list of graph executions, or
          execution: a position in the list of executions.
          slot: The number of the output, for an execution.

        Raises:
          BadQueryError: There is no such position, or not exactly one of the three is given.
          NotFoundError: There is no such tensor or occurrence.
          UsageError: The name has no slot, and the op has several outputs.
        """
        if tensor is None:
            place = {"graph_execution": graph_execution, "execution": execution, "slot": slot}
            return Value(self._ask(find_value, **place))
        if graph_execution is not None or execution is not None:
            raise UsageError("Give the name of a tensor, or a position, but not both.")
        return Value(self._ask(value_named, tensor, function, graph_id, occurrence))

    def values(self, tensor: str, *, function: str | None = None, graph_id: str | None = None) -> list[Value]:
        """Return every occurrence of a tensor of a graph, in order.

        Use::

            [value.summary["nan"] for value in run.values("Log:0")]

        Args:
          tensor: The name of the tensor, such as ``"Log:0"``.
          function: The name of its graph, or a regular expression; without it, all graphs are looked through.
          graph_id: The id of its graph, instead.

        Raises:
          NotFoundError: There is no such tensor.
          UsageError: The name has no slot, and the op has several outputs.
        """
        return [Value(one) for one in self._ask(values_named, tensor, function, graph_id)]

    def curve(
        self,
        tensor: str,
        number: str | None = None,
        *,
        of: str | None = None,
        function: str | None = None,
        graph_id: str | None = None,
        most: int | None = None,
    ) -> Curve:
        """Return a number of a tensor over its occurrences.

        Use::

            run.curve("Log:0", "nan").values

        ``run.curve("dense/kernel", "norm", of="gradient")`` is the curve of a gradient's norm, and
        ``run.curve("probabilities:0", "[3, 17]")`` that of an element of kept values. A NaN or an infinity
        does not count in ``norm``, ``mean`` and the like; ``bad`` of the curve says where one was.

        Args:
          tensor: The name of a tensor or a position, as for :meth:`value`, or the name of a variable. A
            position stands for all occurrences of its tensor.
          number: ``"norm"``, ``"mean"``, ``"std"``, ``"rms"``, ``"min"``, ``"max"``, ``"largest"``,
            ``"zero_share"``, ``"bad"``, ``"nan"``, ``"neg_inf"``, ``"pos_inf"``, ``"zero"``,
            ``"negative"``, ``"positive"`` or ``"size"``, or an element of kept values such as ``"[3, 17]"``;
            None (the default) = the first of them that is on record.
          of: What of a variable: ``"value"``, ``"gradient"`` or ``"update"``; None (the default) = the tensor
            of this name, or else the value of the variable.
          function: The name of its graph, or a regular expression; without it, all graphs are looked through.
          graph_id: The id of its graph, instead.
          most: How many points there are at most: then each has the lowest, the highest and the mean number
            of a stretch of occurrences; None (the default) = one point for each occurrence.

        Raises:
          BadQueryError: There is no such number. It is a ``ValueError``.
          NotFoundError: There is no such tensor and no such variable. It is a ``LookupError``.
          UsageError: The name has no slot, and the op has several outputs. It is a ``ValueError``.
        """
        places = {"of": of, "function": function, "graph_id": graph_id}
        return self._ask(curve, tensor, Wanted(number, most), **places)

    def exponents(
        self,
        tensor: str,
        *,
        of: str | None = None,
        function: str | None = None,
        graph_id: str | None = None,
        most: int | None = None,
    ) -> ExponentMap:
        """Return a histogram of the magnitudes of a tensor over its occurrences, by powers of two.

        Use::

            run.exponents("Log:0").columns["zero"]

        Args:
          tensor: The name of a tensor, a position or the name of a variable, as for :meth:`curve`.
          of: What of a variable: ``"value"``, ``"gradient"`` or ``"update"``.
          function: The name of its graph, or a regular expression; without it, all graphs are looked through.
          graph_id: The id of its graph, instead.
          most: How many columns there are at most; None (the default) = 300.

        Raises:
          NotFoundError: There is no such tensor and no such variable. It is a ``LookupError``.
          UsageError: The name has no slot, and the op has several outputs. It is a ``ValueError``.
        """
        places = {"of": of, "function": function, "graph_id": graph_id}

        def ask(snapshot: Snapshot) -> ExponentMap:
            return exponent_map(subject_named(snapshot, tensor, **places), Wanted(most=most))

        return self._ask(ask)

    def gradient_flow(self, *, most: int = 100) -> GradientFlow:
        """Return gradients, weights and updates of each variable over the steps of the training.

        Use::

            run.gradient_flow().variables

        Args:
          most: How many columns the tables have at most; the default is 100. A cell of a longer training is
            the mean of several steps.

        Returns:
          The variables in the order of the model, and tables of numbers; without variables if none has a
          gradient on record.
        """
        return self._ask(gradient_flow, most)

    def graphs(self) -> list[Graph]:
        """Return the graphs that were recorded.

        Use::

            [graph.name for graph in run.graphs()]
        """
        return self._ask(graphs_of, self)

    def ops(
        self,
        *,
        name: str | None = None,
        type: str | None = None,
        function: str | None = None,
        graph_id: str | None = None,
    ) -> list[Op]:
        """Return ops of graphs.

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
        return self._ask(ops_of, self, {"name": name, "type": type, "function": function}, graph_id)

    def op_info(self, graph_id: str, op_name: str) -> Json:
        """Return an op with inputs, consumers, stack and health.

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
        return self._ask(op_info, graph_id, op_name)

    def frames(self, ids: list[str]) -> list[Frame]:
        """Return the frames of a stack.

        Use::

            run.frames(run.op_info(op.graph_id, op.name)["stack_frame_ids"])

        Args:
          ids: The ids of the frames.

        Raises:
          NotFoundError: There is no such frame.
        """
        return self._ask(frames_of, ids)

    def sources(self) -> list[Source]:
        """Return the source files that were recorded.

        Use::

            [source.path for source in run.sources() if source.origin == "user"]
        """
        return self._ask(sources_of)

    def alerts(
        self,
        alert_type: str | None = None,
        *,
        rule: str | Sequence[str] | None = None,
        rules_file: str | os.PathLike[str] | None = None,
        **parameters: float | str,
    ) -> list[Alert]:
        """Return the values that rules report.

        Use::

            run.alerts("InfNanAlert")[0].value()
            run.alerts(rule="LargeGradientAlert", limit=10)
            run.alerts(rule="recommended")

        Without `rule`, the list has each value with NaN or an infinity, or of an exploding magnitude, in the
        order of time. With `rule`, it has one alert for each tensor, eager op and line, or function that
        breaks the rule, at its first such value, the most severe ones first; alerts that the allow-list
        means are last.

        Args:
          alert_type: Only values of this rule; None (the default) = all. It cannot be given with `rule`.
          rule: A rule of `docs/guide/rules.md`, several, "recommended" for those that fit the model, or
            "all"; None (the default) = each bad or exploding value.
          rules_file: A file with more rules, in TOML or in Python, whose code is run; None (the default) =
            only `tbdbg_rules.toml` in the logdir.
          **parameters: Thresholds of the rule, in place of its defaults; only with a single rule.

        Raises:
          UsageError: There is no such rule or parameter, or the parameter cannot have this value.
        """
        if rule is None:
            if parameters or rules_file is not None:
                raise UsageError("Thresholds and rules_file need rule=..., the rule that they are for.")
            return self._ask(listed_alerts, self, alert_type)
        if alert_type is not None:
            raise UsageError("Either alert_type or rule can be given; rule is one alert for each tensor.")
        rules = [rule] if isinstance(rule, str) else list(rule)
        if parameters and (len(rules) != 1 or rules[0] in (ALL, RECOMMENDED)):
            raise UsageError("Thresholds need a single rule, so that it is known whose they are.")
        own = own_files(self._loader.run, [] if rules_file is None else [Path(rules_file)])
        settings = make_settings([(rules[0], name, value) for name, value in parameters.items()], rules, own)
        return self._ask(found_alerts, self, settings)

    def judged(
        self, rules: Sequence[str] | None, files: Sequence[Path] = (), group_by: str | None = None
    ) -> Json:
        """Evaluate rules as ``tbdbg alerts`` does.

        Use::

            run.judged(["LargeGradientAlert:limit=10"])["alerts"]

        Args:
          rules: Such as ``"LargeGradientAlert:limit=10"``; None for the recommended ones.
          files: Files with more rules.
          group_by: What the alerts of a group have in common, such as ``"cause"``; None for no groups.

        Returns:
          ``processes``, ``rules`` with their counts, and ``alerts`` as the route ``alerts/found`` gives them;
          with ``group_by`` also ``groups`` of them.
        """
        settings = settings_of_texts(rules, own_files(self._loader.run, files))
        if group_by is not None:
            return self._ask(judged_groups, settings, group_by)
        return self._ask(pages.judged_json, settings)

    def alert_counts(self) -> dict[str, int]:
        """Return how many values :meth:`alerts` lists, by rule, without the rules that have none.

        Use::

            run.alert_counts().get("InfNanAlert", 0)
        """
        every = self._ask(alert_list)
        return {rule.id: every.count(rule) for rule in LISTED if every.count(rule)}

    def verdict(self) -> RunVerdict:
        """Return what is to be said of the run: the headline of the page and of ``tbdbg why``.

        Use::

            print(run.verdict())
            run.verdict().is_good

        It asks alert rules if no value is bad, which takes seconds in a run of millions of tensors.

        Returns:
          The verdict, with at least ``kind`` (``"bad"``, ``"rules"``, ``"expected"``, ``"nothing"``,
          ``"unmeasured"`` or ``"empty"``), ``headline``, ``sentences``, ``doubts``, ``is_whole``,
          ``is_good`` and ``num_alerts``.
        """
        return self._ask(verdict)

    def bundles(self) -> list[Path]:
        """Return the files of the calls that GUARD has kept, which :meth:`replay` runs again.

        Use::

            len(run.bundles())
        """
        return kept_calls(self._found)

    def replay(
        self,
        call: int = 1,
        *,
        dtype: str | None = None,
        tensors: Mapping[str, str] | None = None,
        until: str | None = None,
        device: str | None = None,
        record: str | os.PathLike[str] | None = None,
        mode: str = "FULL_HEALTH",
        script: str | os.PathLike[str] | None = None,
        timeout: float = 600.0,
    ) -> Replay:
        """Run a bad call again that GUARD has kept, without the program, its data or its checkpoint.

        Use::

            print(run.replay())
            run.replay(tensors={"loss/Log": "np.log(np.maximum(x0, 1e-7))"}).tried[-1].is_finite

        It runs in a process of its own, which needs TensorFlow, and may only compute: files, networks and
        Python are out of its reach. Without `dtype` and `tensors`, the call runs as it was, in float64, and
        with the input of the first bad op kept in the range where the op is finite, if that is known.

        Args:
          call: Number of the call, from 1, in the order of :meth:`bundles`.
          dtype: Compute in this dtype instead: ``"float64"``, ``"float32"``, ``"bfloat16"`` or ``"float16"``.
            Ops that have no kernel for it keep theirs.
          tensors: Expressions by the names of tensors that get their values. In an expression, backticks name
            tensors of the same function, ``x0``, ``x1`` … are the inputs of the op, and functions are those
            of NumPy, such as ``np.maximum``.
          until: End the call with this op, whose outputs become the results.
          device: Run on this device, such as ``"CPU:0"``; None (the default): where TensorFlow places it.
          record: A folder for the recording of the call, with the changes if there are any; None (the
            default): none is kept.
          mode: The mode of that recording.
          script: A file for a program that runs the call with TensorFlow alone; None (the default): none.
          timeout: Seconds that it may take.

        Returns:
          What came of each way, in ``tried``; a change that cannot be made is the ``error`` of its way.

        Raises:
          NotFoundError: There is no such call. It is a ``LookupError``.
          FormatError: The bundle is damaged, or refused. It is a ``ValueError``.
          NotReadyError: The process has failed, or TensorFlow is not installed.
        """
        paths = [None if path is None else os.fspath(path) for path in (record, script)]
        options = ReplayOptions(dtype, tensors, until, device, paths[0], mode, paths[1], timeout)
        found = self.bundles()
        if not found:
            raise NotFoundError(
                f"The run {self.name} has no calls that can run again. GUARD keeps those that go bad."
            )
        if not 1 <= call <= len(found):
            raise NotFoundError(f"The run {self.name} has {len(found)} kept calls, and no number {call}.")
        return replay(found[call - 1], options, self)

    def why(self, alert: int | None = None) -> Explanation | None:
        """Explain a bad value: which op made it, from which inputs, why, and on which line.

        Use::

            print(run.why())

        Args:
          alert: The position of an alert; None (the default) = the first cause.

        Returns:
          None if nothing is wrong and no alert was asked for; :meth:`verdict` says what is.

        Raises:
          BadQueryError: There is no such alert.
        """
        found = self._ask(diagnose_alert, alert)
        return None if found is None else explanation_of(found)

    def origins(self) -> list[Origin]:
        """Find where the bad values come from: over ops, calls, loops, gradients, variables and steps.

        Use::

            for origin in run.origins():
                print(origin.category, origin.headline, origin.explanation)

        The most important one is first. What no result shows comes later: what was swallowed, such as
        NaN that was cast to an integer, and last what is expected, such as a mask of −∞ before a softmax; a
        healthy program has nothing else. An origin has at least ``kind`` (``"nan"`` or ``"inf"``),
        ``category`` (``"origin"``, ``"came_in"``, ``"propagated"``, ``"swallowed"`` or ``"expected"``),
        ``op_type``, ``op_name``, ``source`` (``path``, ``line``, ``function``, ``text``), ``step``,
        ``execution_index``, ``graph_execution_index``, ``explanation``, ``outcome``, ``evidence``, ``advice``
        and ``chain``.

        Returns:
          An empty list if nothing on record is bad.
        """
        return self._ask(origins)

    def precision(self, dtype: str = DEFAULT) -> Precision:
        """Compute what would overflow, vanish or lose bits if the program ran in another floating dtype.

        Use::

            found = run.precision("float16")
            for tensor in found.tensors:
                print(tensor.place.name, tensor.verdict, tensor.headroom)
            found.keep_in_float32

        Each tensor is judged by the values that are on record; an error that grows through the program is not
        followed. The run needs minimum and maximum: record in ``"FULL_NUMERICS"``, or keep values.

        Args:
          dtype: ``"float16"`` (the default), ``"bfloat16"``, ``"float32"``, ``"float8_e5m2"``,
            ``"float8_e4m3fn"``, ``"float8_e5m2fnuz"`` or ``"float8_e4m3fnuz"``.

        Returns:
          The tensors, the worst first, layers, types of ops, and the window of loss scales. ``to_json()`` is
          the answer of the route ``precision`` of ``docs/http-api.md``.

        Raises:
          BadQueryError: There is no such dtype.
        """
        return self._ask(precision, dtype)

    def compare(self, other: Run, *, tolerance: float | None = None) -> Comparison:
        """Compare the run with another one of nearly the same program, and finds where they part.

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
            return compare(first, second, ComparisonSettings(tolerance))

    def report(self, form: str = "html") -> str:
        """Write what is known of the bad values of the run as one text, to send or to paste.

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
        return REPORT_FORMATS[form].write(self._ask(report, self._found.title))

    def note(self) -> str:
        """Return what was written about the run on the page; empty if nothing was.

        It is in the folder of the run, in a file whose name begins with `tbdbg_note`.

        Use::

            print(run.note())
        """
        return read_note(self._found)

    def export(self, folder: Path) -> dict[str, int]:
        """Write the views and the tables as Parquet files; for this package only.

        Args:
          folder: One of the folders that this run may write, or below one.

        Returns:
          The number of rows by table.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with self.snapshot() as snapshot:
            add_views(snapshot)
            return write_tables(snapshot.connection, folder, self.start_time, tuple(VIEWS))

    def sql(self, query: str) -> duckdb.DuckDBPyRelation:
        """Run a query on the views ``tensors`` and ``calls``, and on the tables of ``docs/schema.md``.

        Use::

            run.sql("SELECT step, sum(nan) FROM tensors GROUP BY step ORDER BY step").df()
            run.sql("SELECT * FROM calls").arrow()

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
        return run_select(self._connection(query), query)

    def cursor(self, query: str) -> duckdb.DuckDBPyConnection:
        """Run the same, to fetch many rows in batches; for this package only.

        Raises:
          BadQueryError: It is not one SELECT.
        """
        connection = self._connection(query)
        return connection.execute(check_select(connection, query))

    def _connection(self, query: str) -> duckdb.DuckDBPyConnection:
        with self.snapshot() as snapshot:
            generation = snapshot.generation
        if self._sql is None or self._sql.generation != generation or not _is_usable(self._sql.connection):
            # Relations of an earlier commit keep their own connection.
            self._sql = self._open.enter_context(self.snapshot())
        if may_read_views(query):
            add_views(self._sql)
        return self._sql.connection

    def follow(self, interval: float = 0.5, timeout: float | None = None) -> Iterator[Change]:
        """Yield what a running program adds to the run, until its recording ends.

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


def _is_usable(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether a connection answers; a query that failed while it ran has ended the transaction."""
    try:
        connection.execute("SELECT 1").fetchall()
    except duckdb.Error:
        return False
    return True


#: The open runs that relations of DuckDB read.
_queried: set[Run] = set()
_WAIT_SECONDS: Final = 0.2
