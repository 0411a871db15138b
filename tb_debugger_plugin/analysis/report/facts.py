"""The facts of a report: origins, the source lines around them, histories along the chain, alerts by rule.

Takes a snapshot of a run. Invariant: what is returned is bounded, however large the run is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from tb_debugger_plugin.analysis.alerts.alert_rules import LISTED
from tb_debugger_plugin.analysis.alerts.alerts import alert_list
from tb_debugger_plugin.analysis.origins.origin import Link, Origin
from tb_debugger_plugin.analysis.origins.origins import origins
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.source.sources import source_file, source_list
from tb_debugger_plugin.analysis.source.user_lines import UserLine
from tb_debugger_plugin.analysis.status import status
from tb_debugger_plugin.analysis.verdict import RunVerdict, verdict

MAX_ORIGINS: Final = 24
_MAX_HISTORIES: Final = 12
_MAX_POINTS: Final = 160
#: Lines before and after the line of an origin.
_AROUND: Final = 5


@dataclass(frozen=True)
class Excerpt:
    """Lines of a source file around one of them.

    Attributes:
      title: Which line it is, such as "train.py:68".
      path, line: Where it is.
      lines: Numbers and texts.
    """

    title: str
    path: str
    line: int
    lines: list[tuple[int, str]]


@dataclass(frozen=True)
class Point:
    """Consecutive occurrences of a tensor.

    Attributes:
      first: Position of the first of them among all occurrences.
      bad: The most NaN and infinities that one of them has; None when they were not counted.
      is_bad: Whether one of them has any.
      largest: Their largest finite magnitude; None when it was not measured.
    """

    first: int
    bad: int | None
    is_bad: bool
    largest: float | None


@dataclass(frozen=True)
class History:
    """The occurrences of a tensor of the chain.

    Attributes:
      name: Name of the tensor.
      count: How many occurrences there are.
      points: In the order of time.
    """

    name: str
    count: int
    points: list[Point]


@dataclass(frozen=True)
class Report:
    """What a report holds.

    Attributes:
      run: Name of the run.
      status: The state of the run, as the route ``status`` gives it.
      origins: The most important one first.
      num_origins: How many there are.
      excerpts: The lines around the first origin.
      histories: Of the tensors of its chain.
      alerts: Title of each rule with alerts, and how many.
      verdict: What is to be said of the run.
    """

    run: str
    status: dict[str, Any]
    origins: list[Origin]
    num_origins: int
    excerpts: list[Excerpt]
    histories: list[History]
    alerts: list[tuple[str, int]]
    verdict: RunVerdict


def report(snapshot: Snapshot, run: str) -> Report:
    """Gather what a report of a run holds.

    Args:
      snapshot: The run.
      run: Its name.
    """
    found, alerts = origins(snapshot), alert_list(snapshot)
    first = found[0] if found else None
    return Report(
        run,
        status(snapshot),
        found[:MAX_ORIGINS],
        len(found),
        [] if first is None else _excerpts(snapshot, first),
        [] if first is None else _histories(snapshot, first.chain),
        [(rule.title, alerts.count(rule)) for rule in LISTED if alerts.count(rule)],
        verdict(snapshot),
    )


def _excerpts(snapshot: Snapshot, origin: Origin) -> list[Excerpt]:
    places = (("", origin.source), ("asked for the gradient, ", origin.gradient_source))
    return [_excerpt(snapshot, before + line.name, line) for before, line in places if line is not None]


def _excerpt(snapshot: Snapshot, title: str, line: UserLine) -> Excerpt:
    around = range(line.line - _AROUND, line.line + _AROUND + 1)
    texts = {line.line: line.text} if line.text is not None else {}
    for index, (_, path) in enumerate(source_list(snapshot)):
        if path == line.path:
            texts = {**texts, **_texts(source_file(snapshot, index))}
    return Excerpt(title, line.path, line.line, [(n, texts[n]) for n in around if n in texts])


def _texts(file: dict[str, Any]) -> dict[int, str]:
    whole = {"first_line": 1, "lines": file["lines"]}
    return {
        number: text
        for part in [whole, *file["excerpts"]]
        for number, text in enumerate(part["lines"], part["first_line"])
    }


def _histories(snapshot: Snapshot, chain: list[Link]) -> list[History]:
    """Return the histories of the tensors nearest to the birth."""
    found: dict[tuple[str | None, str], History] = {}
    for link in reversed(chain):
        if link.graph_execution_index is None or link.op_name is None or len(found) == _MAX_HISTORIES:
            continue
        key = (link.graph_id, f"{link.op_name}:{link.output_slot}")
        if key not in found:
            found[key] = _history(snapshot, key[1], link.graph_execution_index)
    return list(found.values())


def _history(snapshot: Snapshot, name: str, trace: int) -> History:
    rows = snapshot.rows(
        "WITH o AS (SELECT row_number() OVER (ORDER BY idx) - 1 AS n, count(*) OVER () AS total, health,"
        ' nan + pos_inf + neg_inf AS bad, greatest(abs("min"), abs("max")) AS largest'
        " FROM graph_executions WHERE site = (SELECT site FROM graph_executions WHERE idx = ?))"
        " SELECT min(n), max(bad), max(health) = 2, max(largest) FILTER (isfinite(largest)), any_value(total)"
        " FROM o GROUP BY n * least(total, ?) // total ORDER BY 1",
        [trace, _MAX_POINTS],
    )
    points = [
        Point(first, None if bad is None else int(bad), bool(is_bad), largest)
        for first, bad, is_bad, largest, _ in rows
    ]
    return History(name, rows[0][4] if rows else 0, points)
