"""The routes: a function of ``analysis`` for each.

Takes the viewer and a checked query; returns a JSON-like value or a page of columns. Nothing here
knows HTTP: errors are raised, and the plugin answers them in one place.
"""

from __future__ import annotations

import contextlib
import mmap
import tempfile
import weakref
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, TypedDict

from tb_debugger_plugin.analysis.alerts import alerts
from tb_debugger_plugin.analysis.alerts.alert_rules import LISTED
from tb_debugger_plugin.analysis.alerts.explain import diagnose
from tb_debugger_plugin.analysis.alerts.pages import AlertRuleJson, rule_json
from tb_debugger_plugin.analysis.calls import steps
from tb_debugger_plugin.analysis.compare.compare import compare
from tb_debugger_plugin.analysis.compare.histories import histories
from tb_debugger_plugin.analysis.compare.measuring import ComparisonSettings
from tb_debugger_plugin.analysis.curves.curve import (
    OF_VARIABLE,
    Subject,
    Wanted,
    curve_of,
    subject_at,
    subject_named,
)
from tb_debugger_plugin.analysis.curves.exponents import COLUMNS as EXPONENT_COLUMNS
from tb_debugger_plugin.analysis.curves.exponents import exponent_map
from tb_debugger_plugin.analysis.curves.extremes import ExtremesJson, extremes
from tb_debugger_plugin.analysis.curves.flow import gradient_flow
from tb_debugger_plugin.analysis.graph import graphs, neighbours, overview, search, source_ops
from tb_debugger_plugin.analysis.inventory import COLUMNS, KINDS, inventory, inventory_page
from tb_debugger_plugin.analysis.lists import executions, graph_executions, session_runs, tables
from tb_debugger_plugin.analysis.lists.export import FORMATS, MOST_ROWS, write_rows
from tb_debugger_plugin.analysis.lists.orders import ORDERS
from tb_debugger_plugin.analysis.lists.selection import Selection, select
from tb_debugger_plugin.analysis.lists.tables import ColumnPage
from tb_debugger_plugin.analysis.lists.timeline import AXES, TimelineJson, timeline
from tb_debugger_plugin.analysis.origins.origin import Origin
from tb_debugger_plugin.analysis.origins.origins import origins_with_births, with_trials
from tb_debugger_plugin.analysis.precision.precision import precision
from tb_debugger_plugin.analysis.snapshot import RangeJson, Snapshot, open_snapshot
from tb_debugger_plugin.analysis.source import sources
from tb_debugger_plugin.analysis.status import status
from tb_debugger_plugin.analysis.values.float_formats import DEFAULT, TARGETS
from tb_debugger_plugin.analysis.verdict import RunVerdict, verdict
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.server import live, replay, rules, runs, values
from tb_debugger_plugin.server.answers import Answer, Columnar, Download, of_page
from tb_debugger_plugin.server.heavy import heavy_answer
from tb_debugger_plugin.server.query import COLUMN_ROWS, DIGEST_ROWS, Query
from tb_debugger_plugin.server.viewer import Viewer

Route = Callable[[Viewer, Query], Answer]

_MAX_BUCKETS: Final = 4096
_MAX_EXTREMES: Final = 100
_EXTREMES: Final = 5
#: About how many occurrences of a tensor an answer has.
_OCCURRENCES: Final = 500
_MAX_OCCURRENCES: Final = 5000
#: Bytes of a file that are sent at once.
_CHUNK: Final = 1_000_000
_LISTS: Final = ("executions", "graph_executions")
#: Points of a curve, columns of a table of gradients, and those of a map of exponents.
_POINTS: Final = 1000
_MAX_POINTS: Final = 10_000
_FLOW_COLUMNS: Final = 100
_MAX_FLOW_COLUMNS: Final = 500
_MAX_EXPONENT_COLUMNS: Final = 2000


def _of_run(route: Callable[[Snapshot, Query], Answer]) -> Route:
    def answer(viewer: Viewer, query: Query) -> Answer:
        with open_snapshot(viewer.run_library.loader(query.text("run")), may_lag=True) as snapshot:
            return route(snapshot, query)

    return answer


def _heavy(path: str, route: Callable[[Snapshot, Query], Answer]) -> Route:
    """Return a route whose answers take long."""

    def answer(snapshot: Snapshot, query: Query) -> Answer:
        return heavy_answer(snapshot, path, query.parameters, lambda: route(snapshot, query))

    return _of_run(answer)


class ProblemJson(TypedDict):
    """A problem of the logdir."""

    location: str  #: a folder or file
    message: str  #: a sentence, such as that a folder does not exist or needs another package


class LogdirJson(TypedDict):
    """The answer of the route ``logdir``."""

    logdir: str  #: `--logdir` or `--logdir_spec` of TensorBoard
    problems: list[ProblemJson]  #: what could not be read


def _logdir(viewer: Viewer, query: Query) -> LogdirJson:
    library = viewer.run_library
    problems = library.problems()
    return {
        "logdir": library.logdir,
        "problems": [{"location": one.location, "message": one.message} for one in problems],
    }


class AlertsJson(RangeJson):
    """The answer of the route ``alerts``."""

    alert_type: str | None  #: the parameter, or null
    num_alerts: int  #: length of the list; with `alert_type`, the number of its alerts
    alerts_breakdown: dict[str, int]  #: number of alerts of each type that has any
    per_type_alert_limit: int | None  #: null: no alert is left out
    first_cause: int | None  #: position of the first cause in the list; null when it is not in the list
    rules: list[AlertRuleJson]  #: all alert rules
    alerts: list[alerts.AlertJson]  #: the alerts of the range


def _alerts(snapshot: Snapshot, query: Query) -> Answer:
    listed = {rule.id: rule for rule in LISTED}
    alert_type = query.optional_choice("alert_type", tuple(listed))
    every = alerts.alert_list(snapshot, rules.settings_of(snapshot, query))
    chosen = every if alert_type is None else every.of_rule(listed[alert_type])
    page = query.range(len(chosen), may_end_later=True)
    counts = {rule.id: every.count(rule) for rule in LISTED}
    return {
        **vars(page),
        "alert_type": alert_type,
        "num_alerts": len(chosen),
        "alerts_breakdown": {alert_type: count for alert_type, count in counts.items() if count},
        # Debugger V2 stops counting at this number; here nothing is left out.
        "per_type_alert_limit": None,
        "first_cause": chosen.first_cause(snapshot),
        "rules": [rule_json(rule) for rule in LISTED],
        "alerts": alerts.page(snapshot, chosen, page),
    }


def _diagnosis(snapshot: Snapshot, query: Query) -> rules.ExplainedJson:
    diagnosis = diagnose(
        snapshot,
        alert=query.optional_position("alert"),
        execution=query.optional_position("execution"),
        graph_id=query.optional_text("graph_id"),
        op_name=query.optional_text("op_name"),
        at=query.optional_integer("at"),
    )
    return {"diagnosis": diagnosis}


def _verdict(snapshot: Snapshot, query: Query) -> RunVerdict:
    return verdict(snapshot)


class OriginsJson(TypedDict):
    """The answer of the route ``origins``."""

    generation: int  #: the [generation](#generations) that the answer is of
    origins: list[Origin]  #: the most important origin first; empty when nothing on record is bad


def _origins(snapshot: Snapshot, query: Query) -> OriginsJson:
    found = origins_with_births(snapshot)
    return {"generation": found.generation, "origins": with_trials(snapshot, found.value.origins)}


def _precision(snapshot: Snapshot, query: Query) -> Answer:
    return precision(snapshot, query.optional_choice("dtype", tuple(TARGETS)) or DEFAULT).to_json()


def _execution_digests(snapshot: Snapshot, query: Query) -> Answer:
    page = query.range(snapshot.num_executions, DIGEST_ROWS)
    digests = executions.digests(snapshot, page)
    return {**vars(page), "num_digests": snapshot.num_executions, "execution_digests": digests}


class ExecutionsJson(RangeJson):
    """The answer of the route ``execution/data``."""

    executions: list[executions.ExecutionDataJson]  #: the executions of the range


def _execution_data(snapshot: Snapshot, query: Query) -> Answer:
    page = query.range(snapshot.num_executions)
    return {**vars(page), "executions": executions.data(snapshot, page)}


def _graph_execution_digests(snapshot: Snapshot, query: Query) -> Answer:
    page = query.range(snapshot.num_graph_executions, DIGEST_ROWS)
    digests = graph_executions.digests(snapshot, page)
    return {**vars(page), "num_digests": snapshot.num_graph_executions, "graph_execution_digests": digests}


def _graph_execution_data(snapshot: Snapshot, query: Query) -> Answer:
    page = query.range(snapshot.num_graph_executions)
    return {**vars(page), "graph_executions": graph_executions.data(snapshot, page)}


def _graph_info(snapshot: Snapshot, query: Query) -> Answer:
    return graphs.graph_info(snapshot, query.text("graph_id"))


def _op_info(snapshot: Snapshot, query: Query) -> Answer:
    at = query.optional_integer("at")
    return graphs.op_info(snapshot, query.text("graph_id"), query.text("op_name"), at)


def _ops(snapshot: Snapshot, query: Query) -> Answer:
    return of_page(tables.ops_page(snapshot, query.range(tables.num_ops(snapshot), COLUMN_ROWS)))


def _source_list(snapshot: Snapshot, query: Query) -> Answer:
    return sources.source_list(snapshot)


def _source_file(snapshot: Snapshot, query: Query) -> Answer:
    return sources.source_file(snapshot, query.position("index"))


class SourceOpsJson(TypedDict):
    """The answer of the route ``source_files/ops``."""

    lines: list[source_ops.LineOps]  #: the lines that made or ran something, in order


def _source_ops(snapshot: Snapshot, query: Query) -> Answer:
    return {"lines": source_ops.line_ops(snapshot, query.position("index"))}


class SourceCountsJson(TypedDict):
    """The answer of the route ``source_files/counts``."""

    #: all source files: those of the program first, then those with most bad values, then with most ops
    files: list[source_ops.SourceFileOps]


def _source_counts(snapshot: Snapshot, query: Query) -> Answer:
    return {"files": source_ops.file_ops(snapshot)}


def _stack_frames(snapshot: Snapshot, query: Query) -> Answer:
    return sources.stack_frames(snapshot, query.texts("stack_frame_ids"))


def _status(snapshot: Snapshot, query: Query) -> Answer:
    return status(snapshot)


def _execution_columns(snapshot: Snapshot, query: Query) -> Columnar:
    return of_page(_execution_page(snapshot, query))


def _graph_execution_columns(snapshot: Snapshot, query: Query) -> Columnar:
    return of_page(_graph_execution_page(snapshot, query))


def _execution_page(snapshot: Snapshot, query: Query) -> ColumnPage:
    chosen = _selection(snapshot, query, "executions")
    total = snapshot.num_executions if chosen is None else chosen.total
    wanted = query.choices("with", tables.MORE["executions"])
    return tables.executions_page(snapshot, query.range(total, COLUMN_ROWS), chosen, wanted)


def _graph_execution_page(snapshot: Snapshot, query: Query) -> ColumnPage:
    only_bad = query.optional_choice("only", ("bad",)) == "bad"
    chosen = _selection(snapshot, query, "graph_executions", only_bad=only_bad)
    wanted = query.choices("with", tables.MORE["graph_executions"])
    if chosen is not None:
        only_bad, total = False, chosen.total
    else:
        total = snapshot.num_bad_graph_executions if only_bad else snapshot.num_graph_executions
    positions = query.range(total, COLUMN_ROWS)
    return tables.graph_executions_page(snapshot, positions, only_bad=only_bad, chosen=chosen, wanted=wanted)


def _inventory_columns(snapshot: Snapshot, query: Query) -> Columnar:
    things = inventory(snapshot, query.choice("kind", tuple(KINDS)), query.filter(), query.order(COLUMNS))
    page = query.range(len(things), COLUMN_ROWS, may_end_later=True)
    return of_page(inventory_page(snapshot, things, page))


def _export(snapshot: Snapshot, query: Query) -> Download:
    table = query.choice("list", (*_LISTS, *KINDS))
    kind = query.choice("format", tuple(FORMATS))
    names = query.texts("columns") if query.optional_text("columns") else []
    most = query.bounded("limit", 1, MOST_ROWS, MOST_ROWS)
    if table in KINDS:
        things = inventory(snapshot, table, query.filter(), query.order(COLUMNS))
        total, page = len(things), partial(inventory_page, snapshot, things)
    else:
        chosen = select(snapshot, table, query.filter(), query.order(ORDERS[table]))
        wanted = [name for name in names if name in tables.MORE[table]]
        page_of = tables.executions_page if table == "executions" else tables.graph_executions_page
        total, page = chosen.total, partial(page_of, snapshot, chosen=chosen, wanted=wanted)
    total = min(total, most)

    with tempfile.TemporaryDirectory(prefix="tb_debugger_export_") as folder:
        path = write_rows(page, list(dict.fromkeys(names)), total, FORMATS[kind], Path(folder))
        # What is mapped can be read until it is closed, though its name is gone.
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    chunks = (content[begin : begin + _CHUNK] for begin in range(0, len(content), _CHUNK))
    return Download(f"{table}.{kind}", FORMATS[kind].content_type, len(content), chunks, content.close)


def _selection(snapshot: Snapshot, query: Query, table: str, *, only_bad: bool = False) -> Selection | None:
    row_filter, order = query.filter(), query.order(ORDERS[table])
    if row_filter.is_empty and order is None:
        return None
    if only_bad:
        if row_filter.health not in (None, "bad"):
            raise BadQueryError("only=bad and another health cannot both be.")
        row_filter = replace(row_filter, health="bad")
    return select(snapshot, table, row_filter, order)


class SessionRunsJson(RangeJson, session_runs.SessionPageJson):
    """The answer of the route ``session_runs``."""

    num_session_runs: int  #: length of the list


def _session_runs(snapshot: Snapshot, query: Query) -> Answer:
    total = session_runs.num_session_runs(snapshot)
    page = query.range(total)
    return {**vars(page), "num_session_runs": total, **session_runs.data(snapshot, page)}


def _overview(snapshot: Snapshot, query: Query) -> Answer:
    table = query.choice("list", _LISTS)
    return tables.overview(snapshot, table, query.bounded("buckets", 1, _MAX_BUCKETS))


def _steps(snapshot: Snapshot, query: Query) -> steps.StepsJson:
    return steps.steps(snapshot, query.bounded("bins", 1, _MAX_BUCKETS))


def _timeline(snapshot: Snapshot, query: Query) -> TimelineJson:
    return timeline(
        snapshot,
        query.optional_choice("axis", AXES) or "time",
        query.bounded("bins", 1, _MAX_BUCKETS),
        query.optional_number("begin"),
        query.optional_number("end"),
    )


def _extremes(snapshot: Snapshot, query: Query) -> ExtremesJson:
    return extremes(snapshot, query.bounded("most", 1, _MAX_EXTREMES, _EXTREMES))


def _locate(snapshot: Snapshot, query: Query) -> Answer:
    execution = query.optional_integer("execution")
    trace = query.optional_integer("graph_execution")
    if (execution is None) == (trace is None):
        raise BadQueryError("Exactly one of the parameters execution and graph_execution is needed.")
    if trace is not None:
        return graph_executions.locate_graph_execution(
            snapshot, trace, _selection(snapshot, query, "graph_executions")
        )
    assert execution is not None
    return graph_executions.locate_execution(snapshot, execution)


def _inputs_of(snapshot: Snapshot, query: Query) -> Answer:
    return {"inputs": graphs.inputs_of(snapshot, query.position("graph_execution"))}


def _neighbours(snapshot: Snapshot, query: Query) -> Answer:
    return neighbours.neighbours(
        snapshot,
        query.text("graph_id"),
        query.text("op_name"),
        hops=query.bounded("hops", 1, neighbours.MAX_HOPS, 2),
        limit=query.bounded("limit", 1, neighbours.MAX_OPS, 200),
        at=query.optional_integer("at"),
    )


def _graph_overview(snapshot: Snapshot, query: Query) -> Answer:
    return overview.overview(
        snapshot,
        query.text("graph_id"),
        by=query.optional_choice("by", tuple(overview.PATHS)) or "layer",
        opened=query.texts("open") if query.optional_text("open") else (),
        most=query.bounded("most", 1, overview.MAX_PARTS, 40),
        ops=query.texts("ops") if query.optional_text("ops") else (),
        at=query.optional_integer("at"),
    )


def _find(snapshot: Snapshot, query: Query) -> Answer:
    limit = query.bounded("limit", 1, search.MAX_FOUND, 50)
    return search.find(snapshot, query.text("text"), limit, query.choices("kinds", search.KINDS))


def _curve(snapshot: Snapshot, query: Query) -> Columnar:
    wanted = replace(
        _span_of(query, query.bounded("most", 1, _MAX_POINTS, _POINTS)),
        number=query.optional_text("number") or None,
    )
    found = curve_of(_subject_of(snapshot, query), wanted)
    return Columnar({"generation": snapshot.generation, **found.to_json()}, found.columns)


def _exponents(snapshot: Snapshot, query: Query) -> Columnar:
    wanted = _span_of(query, query.bounded("most", 1, _MAX_EXPONENT_COLUMNS, EXPONENT_COLUMNS))
    found = exponent_map(_subject_of(snapshot, query), wanted)
    return Columnar({"generation": snapshot.generation, **found.to_json()}, found.columns)


def _span_of(query: Query, most: int) -> Wanted:
    begin, end = query.optional_integer("begin"), query.optional_integer("end")
    return Wanted(most=most, begin=0 if begin is None else begin, end=-1 if end is None else end)


def _subject_of(snapshot: Snapshot, query: Query) -> Subject:
    tensor = query.optional_text("tensor")
    if not tensor:
        return subject_at(
            snapshot,
            graph_execution=query.optional_position("graph_execution"),
            execution=query.optional_position("execution"),
            slot=query.optional_position("slot") or 0,
        )
    return subject_named(
        snapshot,
        tensor,
        of=query.optional_choice("of", tuple(OF_VARIABLE)),
        function=query.optional_text("function") or None,
        graph_id=query.optional_text("graph_id") or None,
    )


def _gradient_flow(snapshot: Snapshot, query: Query) -> Columnar:
    found = gradient_flow(snapshot, query.bounded("most", 1, _MAX_FLOW_COLUMNS, _FLOW_COLUMNS))
    return Columnar({"generation": snapshot.generation, **found.to_json()}, found.columns)


@contextlib.contextmanager
def _both(viewer: Viewer, query: Query) -> Iterator[tuple[Snapshot, Snapshot]]:
    library = viewer.run_library
    first, second = library.loader(query.text("run")), library.loader(query.text("other"))
    with open_snapshot(first) as run, open_snapshot(second) as other:
        yield run, other


def _comparison(viewer: Viewer, query: Query) -> Answer:
    settings = ComparisonSettings(query.optional_number("tolerance"))
    with _both(viewer, query) as (run, other):
        depends = (weakref.ref(other.loader), other.generation)
        return heavy_answer(run, "/compare", query.parameters, lambda: compare(run, other, settings), depends)


def _histories(viewer: Viewer, query: Query) -> Columnar:
    with _both(viewer, query) as (run, other):
        found = histories(
            run,
            other,
            graph_execution=query.optional_position("graph_execution"),
            execution=query.optional_position("execution"),
            slot=query.optional_position("slot") or 0,
            most=query.bounded("most", 1, _MAX_OCCURRENCES, _OCCURRENCES),
            settings=ComparisonSettings(query.optional_number("tolerance")),
        )
    return Columnar(found.to_json(), found.columns)


#: By path below ``/data/plugin/debugger``.
ROUTES: Final[dict[str, Route]] = {
    "/runs": runs.runs,
    "/note": runs.note,
    "/report": runs.report,
    "/logdir": _logdir,
    "/alerts": _heavy("/alerts", _alerts),
    "/alerts/rules": _heavy("/alerts/rules", rules.rules),
    "/alerts/found": _heavy("/alerts/found", rules.found),
    "/alerts/groups": _heavy("/alerts/groups", rules.grouped),
    "/alerts/explained": _heavy("/alerts/explained", rules.explained),
    "/diagnosis": _heavy("/diagnosis", _diagnosis),
    "/verdict": _heavy("/verdict", _verdict),
    "/origins": _heavy("/origins", _origins),
    "/precision": _heavy("/precision", _precision),
    "/compare": _comparison,
    "/compare/histories": _histories,
    "/execution/digests": _of_run(_execution_digests),
    "/execution/data": _of_run(_execution_data),
    "/graph_execution/digests": _of_run(_graph_execution_digests),
    "/graph_execution/data": _of_run(_graph_execution_data),
    "/graphs/graph_info": _of_run(_graph_info),
    "/graphs/op_info": _of_run(_op_info),
    "/source_files/list": _of_run(_source_list),
    "/source_files/file": _of_run(_source_file),
    "/stack_frames/stack_frames": _of_run(_stack_frames),
    "/status": _of_run(_status),
    "/columns/executions": _of_run(_execution_columns),
    "/columns/graph_executions": _of_run(_graph_execution_columns),
    "/columns/inventory": _heavy("/columns/inventory", _inventory_columns),
    "/export": _of_run(_export),
    "/graphs/ops": _of_run(_ops),
    "/graphs/overview": _heavy("/graphs/overview", _graph_overview),
    "/source_files/ops": _heavy("/source_files/ops", _source_ops),
    "/source_files/counts": _heavy("/source_files/counts", _source_counts),
    "/session_runs": _of_run(_session_runs),
    "/overview": _of_run(_overview),
    "/steps": _heavy("/steps", _steps),
    "/timeline": _heavy("/timeline", _timeline),
    "/extremes": _heavy("/extremes", _extremes),
    "/locate": _of_run(_locate),
    "/inputs_of": _of_run(_inputs_of),
    "/neighbours": _of_run(_neighbours),
    "/find": _of_run(_find),
    "/curve": _of_run(_curve),
    "/exponents": _heavy("/exponents", _exponents),
    "/gradient_flow": _heavy("/gradient_flow", _gradient_flow),
    "/values": values.of_value(values.numbers),
    "/values/info": values.of_value(values.info),
    "/values/text": values.of_value(values.text),
    "/values/summary": values.of_value(values.summary),
    "/values/history": values.of_value(values.history),
    "/values/npy": values.of_value(values.npy),
    "/live/programs": live.programs,
    "/live/tensors": live.tensors,
    "/live/paused": live.paused,
}
#: The same of the routes that change something: a program, or a file of the user. They take JSON.
POSTS: Final[dict[str, live.Post]] = {
    **live.POSTS,
    "/alerts/allow": rules.allow,
    "/note/write": runs.write_note,
    "/replay": replay.replay,
}
