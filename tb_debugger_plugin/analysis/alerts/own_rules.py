"""Rules of users in SQL: ``tbdbg_rules.toml``.

Each rule is a condition on the columns of a measured tensor, with the name, type, layer and variable of its
op and the name of its function::

    [[rule]]
    id = "LossAlert"
    description = "The loss is above the limit."
    severity = "high"
    where = "op_name LIKE '%loss%' AND max > $limit"
    measured = "max"
    parameters = {limit = 5.0}

or a query that selects ``idx`` of ``graph_executions``, or ``idx`` and ``slot`` of ``execution_outputs``. It
may read the views ``tensors`` and ``calls``, too.

Invariant: a rule reads the tables of its run and nothing else: no file, no other database, no setting. So a
file that lies beside a recording may be read by whoever looks at it. The parse of each query is checked, and
the database reaches no other file (`index/cache.py`). A rule that takes too long gets no answer, and other
rules theirs. Rules in Python are code, and are read only when the user names their file; see `own_files`.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import duckdb

from tb_debugger_plugin.analysis.alerts.rule import (
    IN_GRAPH,
    AlertRule,
    Find,
    Parameter,
    RuleHit,
    Severity,
    TooSlowError,
    Values,
    explanation,
    magnitude_words,
)
from tb_debugger_plugin.analysis.alerts.search import parameters_in
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers
from tb_debugger_plugin.analysis.diagnosis.sentences import Subject, ValueExplanation
from tb_debugger_plugin.analysis.lists.select_statement import check_select
from tb_debugger_plugin.analysis.lists.views import VIEWS, add_views, may_read_views
from tb_debugger_plugin.analysis.snapshot import Json, Snapshot, SqlRow
from tb_debugger_plugin.errors import BadQueryError, NotReadyError, UsageError
from tb_debugger_plugin.index.schema import INTERNAL, TABLES

# Reads TOML files of users: rules of their own, and alerts that they allow.
#
# Takes a path, and returns the tables of one kind with the sentence of each error. A file that is not there
# has none.

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

#: Larger files are refused: they are read whenever a run is opened.
_MAX_BYTES: Final = 1 << 20


def tables_of(path: Path, kind: str) -> list[Json]:
    """Return the tables ``[[kind]]`` of a TOML file.

    Args:
      path: The file.
      kind: The name of the tables.

    Raises:
      UsageError: The file cannot be read, or is something else.
    """
    try:
        if path.stat().st_size > _MAX_BYTES:
            raise UsageError(f"{path} has more than {_MAX_BYTES:,} bytes.")
        read = tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{path} cannot be read: {error}") from error
    tables = read.get(kind, [])
    if set(read) - {kind} or not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        raise UsageError(f"{path} must hold tables [[{kind}]] and nothing else.")
    return tables


def text_of(path: Path, table: Json, name: str, default: str | None = None) -> str:
    """Return a text of a table.

    Raises:
      UsageError: It is missing and has no default, or is no text.
    """
    value = table.get(name, default)
    if not isinstance(value, str) or not value.strip():
        raise UsageError(f"{path}: {name} must be a text, but is {value!r:.50}.")
    return value


def check_names(path: Path, table: Json, known: tuple[str, ...]) -> None:
    """Check that a table has known names only, so that a misspelt one is not left out in silence.

    Raises:
      UsageError: There is another one.
    """
    for name in table:
        if name not in known:
            raise UsageError(f"{path}: there is no {name!r:.50}; choose from {', '.join(known)}.")


def quoted(text: str) -> str:
    """Return a text as a TOML string."""
    escaped = "".join(
        f"\\u{ord(one):04x}"
        if ord(one) < 0x20 or ord(one) == 0x7F
        else {"\\": "\\\\", '"': '\\"'}.get(one, one)
        for one in text
    )
    return f'"{escaped}"'


FILE_NAME: Final = "tbdbg_rules.toml"
_NAMES: Final = (
    *("id", "title", "severity", "description", "where", "query", "measured", "parameters", "advice"),
)
_ID: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
#: Functions in place of a table that compute rows of their arguments only.
_HARMLESS: Final = frozenset({"unnest", "range", "generate_series"})
#: Functions that tell of the machine.
_TELLING: Final = frozenset({"getenv", "current_setting", "getvariable"})
#: Seconds that one query of a rule may take.
_MAX_SECONDS: Final = 10.0
#: A rule may find at most this many tensors.
_MOST: Final = 100_000
_VIEWS: Final = "SELECT view_name FROM duckdb_views() WHERE internal"
_GRAPH: Final = (
    "SELECT t.*, o.name AS op_name, o.type AS op_type, o.layer AS layer, o.variable AS variable,"
    " g.name AS function, s.slot AS output_slot FROM graph_executions t JOIN sites s USING (site)"
    " JOIN ops o ON o.op = s.op JOIN graphs g ON g.graph = s.graph"
)
_EAGER: Final = (
    "SELECT t.*, NULL::VARCHAR AS op_name, n.name AS op_type, NULL::VARCHAR AS layer,"
    " NULL::VARCHAR AS variable, NULL::VARCHAR AS function, t.slot AS output_slot, e.stack AS stack"
    " FROM execution_outputs t JOIN executions e USING (idx) JOIN op_types n USING (op_type)"
)


def read_rules(path: Path) -> list[AlertRule]:
    """Return the rules of a TOML file; none if there is no file.

    Raises:
      UsageError: The file holds something else, or a query that reads more than the tables.
    """
    return [_rule(path, table) for table in tables_of(path, "rule")]


def _rule(path: Path, table: Json) -> AlertRule:
    check_names(path, table, _NAMES)
    rule_id = text_of(path, table, "id")
    if not _ID.fullmatch(rule_id):
        raise UsageError(f"{path}: id must be letters, digits and underscores, but is {rule_id!r:.50}.")
    if ("where" in table) == ("query" in table):
        raise UsageError(f"{path}: {rule_id} needs either where or query.")
    severity = severity_of(path, rule_id, text_of(path, table, "severity", "medium"))
    parameters = tuple(_parameters(path, rule_id, table.get("parameters", {})))
    advice = table.get("advice")
    title = text_of(path, table, "title", rule_id)
    return made_rule(
        rule_id,
        title,
        severity,
        text_of(path, table, "description", title),
        _search(path, table),
        parameters,
        advice if isinstance(advice, str) else None,
    )


def severity_of(path: Path, rule_id: str, word: str) -> Severity:
    """Return the severity of a rule of the user by its name.

    Raises:
      UsageError: There is none of that name.
    """
    if word.upper() not in Severity.__members__:
        words = ", ".join(one.word for one in Severity)
        raise UsageError(f"{path}: the severity of {rule_id} must be one of {words}.")
    return Severity[word.upper()]


def made_rule(
    rule_id: str,
    title: str,
    severity: Severity,
    description: str,
    find: Find,
    parameters: tuple[Parameter, ...],
    advice: str | None,
) -> AlertRule:
    """Return a rule of a user; it is always on."""

    def words(numbers: Numbers, hit: RuleHit | None, values: Values) -> str:
        return title if hit is None or hit.measured is None else magnitude_words(hit.measured)

    def explain(subject: Subject, hit: RuleHit | None, values: Values) -> ValueExplanation:
        measured = "" if hit is None or hit.measured is None else magnitude_words(hit.measured)
        return explanation(subject, f"breaks the rule {rule_id}:", measured or title, description)

    return AlertRule(
        *(rule_id, title, severity, description, find, words, explain, parameters),
        recommends=(),
        advice=advice,
        has_groups=False,
    )


def _parameters(path: Path, rule_id: str, given: object) -> Iterator[Parameter]:
    if not isinstance(given, dict):
        raise UsageError(f"{path}: the parameters of {rule_id} must be a table, such as {{limit = 5.0}}.")
    for name, value in given.items():
        facts = value if isinstance(value, dict) else {"default": value}
        check_names(path, facts, ("default", "low", "high", "unit", "scale"))
        default = facts.get("default")
        if not _ID.fullmatch(name) or isinstance(default, bool) or not isinstance(default, (int, float)):
            raise UsageError(f"{path}: {rule_id}.{name[:50]} must be a number with a name.")
        yield own_parameter(name, float(default), facts)


def own_parameter(name: str, default: float, facts: Json) -> Parameter:
    """Return a parameter of a rule of a user, with a range around the default unless one is given."""
    reach = 100 * abs(default) or 1.0
    low, high = (
        float(facts.get(end, start))
        for end, start in (("low", min(0.0, -reach if default < 0 else 0.0)), ("high", reach))
    )
    scale: Literal["linear", "log"] = "log" if facts.get("scale") == "log" and low > 0 else "linear"
    unit = str(facts.get("unit", ""))
    return Parameter(name, default, low, high, unit, scale, "the user")


def _search(path: Path, table: Json) -> Find:
    if "query" in table:
        return _by_query(path, text_of(path, table, "query"))
    where, measured = text_of(path, table, "where"), text_of(path, table, "measured", "NULL")
    numbers = f"min(idx), count(*), max(idx), arg_min(({measured})::DOUBLE, idx)"
    graph = f"SELECT {numbers} FROM ({_GRAPH}) WHERE ({where}) GROUP BY site LIMIT {_MOST}"
    eager = (
        f"SELECT {numbers}, output_slot FROM ({_EAGER}) WHERE ({where})"
        f" GROUP BY op_type, stack, output_slot, host LIMIT {_MOST}"
    )

    def find(snapshot: Snapshot, values: Values) -> list[RuleHit]:
        hits = [
            RuleHit(int(at), IN_GRAPH, times, last, number)
            for at, times, last, number in _rows(graph, snapshot, values)
        ]
        rows = _rows(eager, snapshot, values)
        return hits + [
            RuleHit(int(at), int(slot), times, last, number) for at, times, last, number, slot in rows
        ]

    return find


def _by_query(path: Path, query: str) -> Find:
    def find(snapshot: Snapshot, values: Values) -> list[RuleHit]:
        names = [str(row[0]) for row in _rows(query, snapshot, values, as_described=True)]
        if names not in (["idx"], ["idx", "slot"]):
            raise UsageError(
                f"{path}: the query must select idx, or idx and slot, but selects {', '.join(names)}."
            )
        slot = "slot" if len(names) > 1 else str(IN_GRAPH)
        rows = _rows(f"SELECT DISTINCT idx, {slot} FROM ({query}) LIMIT {_MOST}", snapshot, values)
        return _of_tensors(snapshot, rows)

    return find


def _of_tensors(snapshot: Snapshot, rows: list[SqlRow]) -> list[RuleHit]:
    """One hit for each tensor of the values that a query selects."""
    inside = sorted(int(index) for index, slot in rows if slot < 0)
    grouped = snapshot.rows(
        "SELECT min(idx), count(*), max(idx) FROM graph_executions"
        " WHERE idx IN (SELECT unnest(?::BIGINT[])) GROUP BY site",
        [inside],
    )
    hits = [RuleHit(at, IN_GRAPH, times, last) for at, times, last in grouped]
    known = snapshot.num_executions
    eager = {(int(index), int(slot)) for index, slot in rows if slot >= 0 and 0 <= index < known}
    return hits + [RuleHit(index, slot, 1, index) for index, slot in sorted(eager)]


def _rows(query: str, snapshot: Snapshot, values: Values, *, as_described: bool = False) -> list[SqlRow]:
    """Return the rows of a query that reads the tables and nothing else; or a row for each of its columns.

    Raises:
      UsageError: It reads something else, or fails.
      TooSlowError: It takes too long.
    """
    too_slow: set[object] = snapshot.kept_with_run("rules that are too slow", set)
    key = query, tuple(values.items())
    if key in too_slow:
        raise _too_slow()
    is_over = threading.Event()
    try:
        check_select(snapshot.connection, query)
        if may_read_views(query):
            add_views(snapshot)
        _check_reads(snapshot.connection, query)
        with _limited(snapshot.connection, is_over):
            describe = "DESCRIBE " if as_described else ""
            return snapshot.rows(describe + query, parameters_in(query, values) or None)
    except duckdb.InterruptException:
        if not is_over.is_set():
            raise  # the database is being closed
        too_slow.add(key)
        _begin_again(snapshot)
        raise _too_slow() from None
    except (duckdb.Error, BadQueryError) as error:
        raise UsageError(f"The query of a rule fails: {str(error).partition(chr(10))[0]}") from error


def _too_slow() -> TooSlowError:
    return TooSlowError(
        f"Its query takes more than {_MAX_SECONDS:g} s on this run and was given up: let it read fewer rows."
    )


@contextlib.contextmanager
def _limited(connection: duckdb.DuckDBPyConnection, is_over: threading.Event) -> Iterator[None]:
    """Interrupt a query that takes too long: a cross join of a long list with itself never ends."""

    def interrupt() -> None:
        is_over.set()
        connection.interrupt()

    timer = threading.Timer(_MAX_SECONDS, interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _begin_again(snapshot: Snapshot) -> None:
    """Let the other rules read on: a query that was interrupted has ended the transaction.

    Raises:
      NotReadyError: The run has grown meanwhile; the next question skips the rule.
    """
    snapshot.connection.execute("ROLLBACK")
    snapshot.connection.execute("BEGIN TRANSACTION READ ONLY")
    ((generation,),) = snapshot.rows("SELECT value FROM meta WHERE key = 'generation'")
    if int(generation) != snapshot.generation:
        raise NotReadyError("The run has grown while a slow rule read it; try again.")


def _check_reads(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    ((text,),) = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    tree = json.loads(text)
    if tree.get("error"):
        raise UsageError(f"The query of a rule cannot be read: {tree.get('error_message', '')}")
    nodes = list(_nodes(tree))
    own = {str(entry["key"]) for node in nodes for entry in (node.get("cte_map") or {}).get("map", ())}
    known = {str(name).lower() for (name,) in connection.execute(_VIEWS).fetchall()}
    for name in own:
        # Where such a name is out of its scope, it must mean nothing: neither a file nor a table of DuckDB.
        if not _ID.fullmatch(name) or name.lower() in known:
            raise UsageError(f"A rule cannot name a subquery {name!r:.50}: take letters and digits.")
    for node in nodes:
        _check_node(node, own | {*TABLES, *VIEWS})


def _nodes(tree: object) -> Iterator[Json]:
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield node
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def _check_node(node: Json, tables: set[str]) -> None:
    kind, name = node.get("type"), str(node.get("table_name") or node.get("function_name") or "")
    if kind == "TABLE_FUNCTION":
        name = str((node.get("function") or {}).get("function_name", ""))
        if name.lower() not in _HARMLESS:
            raise UsageError(f"A rule reads the tables of its run only, not {name}().")
    elif kind == "SHOW_REF":
        raise UsageError("A rule reads the tables of its run only; it cannot describe databases and tables.")
    elif kind == "BASE_TABLE" and (
        name not in (TABLES if node.get("schema_name") else tables)
        or node.get("schema_name") not in (None, "", INTERNAL)
        or node.get("catalog_name")
    ):
        raise UsageError(f"A rule reads the tables of its run only (docs/schema.md), not {name!r:.50}.")
    elif kind == "FUNCTION" and name.lower() in _TELLING:
        raise UsageError(f"A rule reads the tables of its run only, not {name}().")
