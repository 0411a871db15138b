"""Queries in SQL that users write: they read the tables and change nothing."""

from __future__ import annotations

import duckdb

from tb_debugger_plugin.errors import BadQueryError


def run_select(connection: duckdb.DuckDBPyConnection, query: str) -> duckdb.DuckDBPyRelation:
    """Returns the rows of a query as a relation, which is computed when it is read.

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
    """Returns the only statement of a query.

    Raises:
      BadQueryError: It is not one SELECT or EXPLAIN.
    """
    try:
        statements = connection.extract_statements(query)
    except duckdb.Error as error:
        raise BadQueryError(f"The query failed: {error}") from error
    kinds = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
    if len(statements) != 1 or statements[0].type not in kinds:
        raise BadQueryError("The query must be one SELECT; the tables cannot be changed here.")
    return statements[0]
