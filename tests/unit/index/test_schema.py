"""`index/schema.py`: what readers see of the key-value facts while they are deleted and written again."""

from __future__ import annotations

import threading

import duckdb
import pytest

from tb_debugger_plugin.index import schema

_READERS = 8
_COMMITS = 400


def test_readers_see_all_facts_of_a_commit_while_the_tables_are_emptied_and_filled(tmp_path):
    connection = duckdb.connect(str(tmp_path / "run.db"))
    schema.create_tables(connection)
    schema.write_meta(connection, generation=1)
    torn: list[dict[str, str]] = []
    is_over = threading.Event()

    def read() -> None:
        cursor = connection.cursor()
        while not is_over.is_set():
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            facts = schema.read_meta(cursor)
            is_empty = int(facts.get("generation", 0)) % 10 == 1
            if facts.get("catalog_generation") != (None if is_empty else facts.get("generation")):
                torn.append(facts)
            cursor.execute("COMMIT")

    readers = [threading.Thread(target=read) for _ in range(_READERS)]
    for reader in readers:
        reader.start()
    for generation in range(2, _COMMITS):
        connection.execute("BEGIN")
        if generation % 10 == 1:
            connection.execute("DELETE FROM meta WHERE true")
            schema.write_meta(connection, schema_version=5, generation=generation)
        else:
            schema.write_meta(connection, generation=generation, catalog_generation=generation)
        connection.execute("COMMIT")
    is_over.set()
    for reader in readers:
        reader.join()
    connection.close()
    assert torn == []


def test_all_tables_are_in_their_schema_and_found_by_bare_names():
    with duckdb.connect() as connection:
        schema.create_tables(connection)
        connection.execute("INSERT INTO shapes VALUES (0, '[]', 0)")
        schema.make_room(connection, "graph_executions", ["nan"])
        places = connection.execute("SELECT schema_name, table_name FROM duckdb_tables()").fetchall()
        with connection.cursor() as cursor:
            schema.know_tables(cursor)
            assert cursor.execute("SELECT text FROM shapes").fetchall() == [("[]",)]
    assert sorted(places) == sorted((schema.INTERNAL, name) for name in schema.TABLES)


def test_what_ends_a_transaction_is_what_is_raised():
    connection = duckdb.connect()
    with pytest.raises(ValueError, match="the disk"), schema.transaction(connection):
        connection.execute("COMMIT")  # like a COMMIT that fails: there is nothing left to roll back
        raise ValueError("the disk")
    connection.close()
