"""Which rows of a long list are wanted, and in which order.

In come words of a question, out comes a condition for the database. What is said of a place (its op,
function, device, source line) is first turned into numbers of sites or stacks, of which a program has few, so
that the long list is only ever searched for numbers.

Rules: regular expressions are RE2's, which takes time in proportion to the text, whatever the expression;
every value goes to the database as a parameter.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, fields
from typing import Any, Final

import duckdb
import numpy as np

from tb_debugger_plugin.analysis.snapshot import Range, Snapshot
from tb_debugger_plugin.analysis.spans import spans_inside
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.dtypes import NUMBERS as DTYPES
from tb_debugger_plugin.index.tensors import BAD, GOOD, NOT_MEASURED
from tb_debugger_plugin.index.tensors import NUMBERS as MEASURED

HEALTH: Final = {"bad": BAD, "good": GOOD, "unmeasured": NOT_MEASURED}
#: Columns that ``where`` may compare, and that the list of graph executions can be sorted by.
NUMBERS: Final = (*MEASURED, "rank")
GRAPH_EXECUTION_ORDERS: Final = ("wall_time", *NUMBERS)
EXECUTION_ORDERS: Final = ("wall_time", "num_inputs", "num_outputs")
MAX_REGEX: Final = 1000
_MAX_COMPARISONS: Final = 16
_MAX_POSITION: Final = 2**53
#: One or two a host, unless its clock was set back again and again.
_MAX_SPANS: Final = 500
_COMPARISON: Final = re.compile(r"^([a-z_]+)(<=|>=|=|<|>)([-+]?[0-9.]+(?:[eE][-+]?[0-9]{1,3})?)$")


@dataclass(frozen=True)
class Comparison:
    """A column, a sign of comparison and a number."""

    column: str
    sign: str
    number: float


@dataclass(frozen=True)
class Filter:
    """What a row must be; None leaves out the question.

    Attributes:
      op_name, op_type, function, device, layer: Regular expressions that are found somewhere in the text.
      variable, gradient_of: The same, of the variable that an op reads or assigns, and of those whose
        gradient a tensor is.
      dtype: Name of a dtype.
      host: Name of a host.
      health: One of :data:`HEALTH`.
      where: Comparisons that must all hold. What was not measured fulfils none.
      since, until: Seconds; the latter is not included.
      from_execution, until_execution: Positions in the list of executions, the latter not included; of graph
        executions, of the calls that they ran in.
      source: Number of a source file that is somewhere in the stack.
      line: A line of it.
    """

    op_name: str | None = None
    op_type: str | None = None
    function: str | None = None
    device: str | None = None
    layer: str | None = None
    variable: str | None = None
    gradient_of: str | None = None
    dtype: str | None = None
    host: str | None = None
    health: str | None = None
    where: tuple[Comparison, ...] = ()
    since: float | None = None
    until: float | None = None
    from_execution: int | None = None
    until_execution: int | None = None
    source: int | None = None
    line: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether all rows are wanted."""
        return all(getattr(self, one.name) in (None, ()) for one in fields(self))

    @property
    def executions(self) -> Range | None:
        """The executions that were asked for; None = all."""
        if self.from_execution is None and self.until_execution is None:
            return None
        until = _MAX_POSITION if self.until_execution is None else self.until_execution
        return Range(self.from_execution or 0, until)


@dataclass(frozen=True)
class Order:
    """By which column rows are sorted; equal ones, and those without a number, in the order of the list."""

    column: str
    descending: bool = False


@dataclass(frozen=True)
class Condition:
    """An SQL condition over rows called ``t`` with its parameters."""

    sql: str
    parameters: tuple[Any, ...]


def parse_comparisons(text: str) -> tuple[Comparison, ...]:
    """Comparisons from text such as ``nan>0,size>=100``.

    Raises:
      BadQueryError: It is something else, or compares what is no number.
    """
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if len(parts) > _MAX_COMPARISONS:
        raise BadQueryError(f"where holds more than {_MAX_COMPARISONS} comparisons.")
    return tuple(map(_comparison, parts))


def _comparison(text: str) -> Comparison:
    match = _COMPARISON.match(text)
    if match is None:
        raise BadQueryError(f"where must be like 'nan>0' or 'size>=100,zero=0', but has {text[:50]!r}.")
    if match[1] not in NUMBERS:
        raise BadQueryError(f"where cannot compare {match[1]!r}; it can {', '.join(NUMBERS)}.")
    try:
        return Comparison(match[1], match[2], float(match[3]))
    except ValueError:
        raise BadQueryError(f"where has {match[3][:50]!r}, which is no number.") from None


class _Conditions:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.parameters: list[Any] = []

    def add(self, sql: str, *parameters: Any) -> None:
        self.parts.append(sql)
        self.parameters.extend(parameters)

    def add_regex(self, snapshot: Snapshot, column: str, name: str, pattern: str | None) -> None:
        if pattern is not None:
            check_regex(snapshot, name, pattern)
            self.add(f"regexp_matches(coalesce({column}, ''), ?)", pattern)

    def finished(self) -> Condition:
        return Condition(" AND ".join(self.parts) or "true", tuple(self.parameters))


def check_regex(snapshot: Snapshot, name: str, pattern: str) -> None:
    """See that a regular expression is one.

    Raises:
      BadQueryError: It is not, or is too long.
    """
    if len(pattern) > MAX_REGEX:
        raise BadQueryError(f"{name} is longer than {MAX_REGEX} characters.")
    try:
        snapshot.rows("SELECT regexp_matches('', ?)", [pattern])
    except duckdb.Error as error:
        reason = str(error).splitlines()[0].rpartition(": ")[2].rstrip(".")
        raise BadQueryError(f"{name} is not a regular expression: {reason}.") from None


def graph_execution_condition(snapshot: Snapshot, wanted: Filter) -> Condition:
    """The condition for rows of ``graph_executions``.

    Raises:
      BadQueryError: The filter holds something that there is not, or that is no regular expression.
    """
    found = _common(snapshot, wanted)
    if wanted.executions is not None:
        _add_spans(snapshot, wanted.executions, found)
    sites = _sites(snapshot, wanted)
    if sites is not None:
        found.add("t.site IN (SELECT unnest(?))", sites)
    if wanted.dtype is not None:
        number = _dtype(wanted.dtype)
        static = np.flatnonzero(snapshot.catalog.site_statics[0] == number).tolist()
        found.add("(t.dtype = ? OR t.dtype = 0 AND t.site IN (SELECT unnest(?)))", number, static)
    for one in wanted.where:
        found.add(f"t.{one.column} {one.sign} ?", one.number)
        if one.column == "rank":
            found.add("t.rank >= 0")
    return found.finished()


def execution_condition(snapshot: Snapshot, wanted: Filter) -> Condition:
    """The condition for rows of ``executions``.

    ``device``, ``dtype`` and ``where`` speak of their outputs, ``function`` of the graph that they ran.

    Raises:
      BadQueryError: As for :func:`graph_execution_condition`.
    """
    found = _common(snapshot, wanted)
    if wanted.executions is not None:
        found.add("t.idx >= ? AND t.idx < ?", wanted.executions.begin, wanted.executions.end)
    if wanted.op_type is not None:
        types = _Conditions()
        types.add_regex(snapshot, "name", "op_type", wanted.op_type)
        found.add(f"t.op_type IN (SELECT op_type FROM op_types WHERE {types.parts[0]})", *types.parameters)
    if wanted.function is not None:
        graphs = _Conditions()
        graphs.add_regex(snapshot, "name", "function", wanted.function)
        found.add(f"t.graph IN (SELECT graph FROM graphs WHERE {graphs.parts[0]})", *graphs.parameters)
    for name in ("op_name", "layer", "variable", "gradient_of"):
        if getattr(wanted, name) is not None:
            only = f"{name} is of graph executions only"
            raise BadQueryError(f"{only}; executions have op_type and function.")
    if wanted.host is not None:
        found.add("t.host IN (SELECT unnest(?))", _hosts(snapshot, wanted.host))
    stacks = _stacks(snapshot, wanted)
    if stacks is not None:
        found.add("t.stack IN (SELECT unnest(?))", stacks)
    _add_outputs(snapshot, wanted, found)
    return found.finished()


def _add_outputs(snapshot: Snapshot, wanted: Filter, found: _Conditions) -> None:
    outputs = _Conditions()
    if wanted.dtype is not None:
        outputs.add("o.dtype = ?", _dtype(wanted.dtype))
    for one in wanted.where:
        outputs.add(f"o.{one.column} {one.sign} ?", one.number)
        if one.column == "rank":
            outputs.add("o.rank >= 0")
    if wanted.device is not None:
        devices = _Conditions()
        devices.add_regex(snapshot, "name", "device", wanted.device)
        outputs.add(
            f"(o.host, o.device_id) IN (SELECT (host, device_id) FROM devices WHERE {devices.parts[0]})",
            *devices.parameters,
        )
    if outputs.parts:
        where = " AND ".join(outputs.parts)
        found.add(f"t.idx IN (SELECT o.idx FROM execution_outputs o WHERE {where})", *outputs.parameters)


def _common(snapshot: Snapshot, wanted: Filter) -> _Conditions:
    found = _Conditions()
    if wanted.health is not None:
        found.add(f"t.health = {HEALTH[wanted.health]}")
    if wanted.since is not None:
        found.add("t.wall_time >= ?", wanted.since)
    if wanted.until is not None:
        found.add("t.wall_time < ?", wanted.until)
    return found


def _add_spans(snapshot: Snapshot, executions: Range, found: _Conditions) -> None:
    parts: list[str] = ["false"]
    parameters: list[Any] = []
    inside = spans_inside(snapshot, executions)
    if sum(len(spans.times) for spans in inside) > _MAX_SPANS:
        raise BadQueryError("Clocks were set back too often to tell what ran in these executions.")
    for spans in inside:
        sites = np.flatnonzero(np.isin(snapshot.catalog.site_graphs, spans.graphs)).tolist()
        times = " OR ".join(["t.wall_time > ? AND t.wall_time <= ?"] * len(spans.times))
        parts.append(f"t.site IN (SELECT unnest(?)) AND ({times})")
        parameters += [sites, *itertools.chain.from_iterable(spans.times)]
    found.add(f"({' OR '.join(parts)})", *parameters)


def _sites(snapshot: Snapshot, wanted: Filter) -> list[int] | None:
    found = _Conditions()
    found.add_regex(snapshot, "o.name", "op_name", wanted.op_name)
    found.add_regex(snapshot, "o.type", "op_type", wanted.op_type)
    found.add_regex(snapshot, "g.name", "function", wanted.function)
    found.add_regex(snapshot, "s.device", "device", wanted.device)
    found.add_regex(snapshot, "o.layer", "layer", wanted.layer)
    found.add_regex(snapshot, "o.variable", "variable", wanted.variable)
    if wanted.gradient_of is not None:
        check_regex(snapshot, "gradient_of", wanted.gradient_of)
        gradients = "SELECT (d.op, d.slot) FROM gradients d WHERE regexp_matches(d.variable, ?)"
        found.add(f"(s.op, s.slot) IN ({gradients})", wanted.gradient_of)
    if wanted.host is not None:
        found.add("s.host IN (SELECT unnest(?))", _hosts(snapshot, wanted.host))
    stacks = _stacks(snapshot, wanted)
    if stacks is not None:
        found.add("o.stack IN (SELECT unnest(?))", stacks)
    if not found.parts:
        return None
    condition = found.finished()
    return [
        site
        for (site,) in snapshot.rows(
            "SELECT s.site FROM sites s JOIN ops o ON o.op = s.op JOIN graphs g ON g.graph = s.graph"
            f" WHERE {condition.sql} ORDER BY s.site",
            list(condition.parameters),
        )
    ]


def _hosts(snapshot: Snapshot, name: str) -> list[int]:
    numbers = [number for number, host in enumerate(snapshot.catalog.host_names) if host == name]
    if not numbers:
        raise BadQueryError(f"There is no host named {name!r}.")
    return numbers


def _dtype(name: str) -> int:
    if name not in DTYPES:
        raise BadQueryError(f"There is no dtype named {name!r}.")
    return DTYPES[name]


def _stacks(snapshot: Snapshot, wanted: Filter) -> list[int] | None:
    if wanted.source is None:
        if wanted.line is not None:
            raise BadQueryError("line needs source, the number of a source file.")
        return None
    rows = snapshot.rows(
        "SELECT DISTINCT k.stack FROM stacks k JOIN frames f ON f.host = k.host AND f.frame_id = k.frame_id"
        " JOIN sources s ON s.host = f.host AND s.file_index = f.file_index"
        " WHERE s.source = $source AND ($line IS NULL OR f.line = $line) ORDER BY 1",
        {"source": wanted.source, "line": wanted.line},
    )
    return [stack for (stack,) in rows]
