"""Queries in SQL that users write: they read the tables and change nothing."""

from __future__ import annotations

import re
from typing import Final

import duckdb

from tb_debugger_plugin.errors import BadQueryError

_EXPLAIN: Final = re.compile(r"explain\s*(analyze\s|\([^()]*\))?", re.IGNORECASE)


def run_select(connection: duckdb.DuckDBPyConnection, query: str) -> duckdb.DuckDBPyRelation:
    """Return the rows of a query as a relation, which is computed when it is read.

    Args:
      connection: A connection to a run's database; it must stay open until the relation is read.
      query: One SELECT on the tables of ``docs/schema.md``.

    Raises:
      BadQueryError: It is not one SELECT, or DuckDB refuses it.
    """
    check_select(connection, query)
    try:
        return connection.sql(query)
    except duckdb.Error as error:
        raise BadQueryError(f"The query failed: {error}") from error


def check_select(connection: duckdb.DuckDBPyConnection, query: str) -> duckdb.Statement:
    """Return the only statement of a query.

    Raises:
      BadQueryError: It is not one SELECT or EXPLAIN.
    """
    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise BadQueryError(f"The query failed: {error}") from error
    if len(statements) != 1 or not _only_reads(connection, statements[0]):
        raise BadQueryError("The query must be one SELECT; the tables cannot be changed here.")
    return statements[0]


def _only_reads(connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement) -> bool:
    """Whether a statement is a SELECT, or explains one: EXPLAIN ANALYZE runs what it explains."""
    kind = statement.type
    if kind == duckdb.StatementType.EXPLAIN:
        prefix = _EXPLAIN.match(statement.query)
        explained = statement.query[prefix.end() :] if prefix else ""
        return _kinds(connection, explained) == [duckdb.StatementType.SELECT]
    return bool(kind == duckdb.StatementType.SELECT)


def _kinds(connection: duckdb.DuckDBPyConnection, query: str) -> list[duckdb.StatementType]:
    try:
        return [one.type for one in connection.extract_statements(query)]
    except duckdb.Error:
        return []
