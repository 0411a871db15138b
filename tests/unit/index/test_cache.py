"""`index/cache.py`: databases are a cache in a chosen folder, belong to one process, and may be deleted."""

from __future__ import annotations

import os
import subprocess
import sys

import duckdb
import pytest

from tb_debugger_plugin.index import cache, schema
from tb_debugger_plugin.index.cache import cache_folder, database_path, open_database
from tb_debugger_plugin.index.runs import find_runs
from tests.support.events import Recording


@pytest.fixture
def run(tmp_path):
    Recording(tmp_path / "root").close()
    (actual,) = find_runs(tmp_path / "root")
    return actual


def _count(database):
    return database.connection.execute("SELECT count(*) FROM notices").fetchone()[0]


def test_the_cache_is_not_in_the_logdir_and_can_be_chosen(run, monkeypatch, tmp_path):
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "chosen"))
    assert cache_folder() == tmp_path / "chosen"
    monkeypatch.delenv("TB_DEBUGGER_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "tb_debugger_plugin"
    assert run.folder not in database_path(run).parents


def test_a_database_keeps_its_rows_and_a_second_opener_gets_a_private_one(run):
    first = open_database(run)
    first.connection.execute("INSERT INTO notices VALUES ('warning', 'f', 1, 'm')")
    second = open_database(run)
    assert (first.private, second.private) == (False, True)
    assert (_count(first), _count(second)) == (1, 0)
    second.close()
    assert not second.path.parent.exists()
    first.close()
    again = open_database(run)
    assert (again.private, _count(again)) == (False, 1)
    again.close()


def test_another_process_that_holds_the_file_leaves_us_a_private_one(run):
    program = (
        "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); sys.stdin.read()"
    )
    path = database_path(run)
    path.parent.mkdir(parents=True, exist_ok=True)
    with subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        database = open_database(run)
        assert database.private and _count(database) == 0
        database.close()
        holder.communicate()


@pytest.mark.parametrize("damage", ["garbage", "other schema", "tables outside of their schema", "no tables"])
def test_a_file_that_is_no_use_is_built_again(run, damage):
    path = database_path(run)
    path.parent.mkdir(parents=True, exist_ok=True)
    if damage == "garbage":
        path.write_bytes(b"not a database" * 1000)
    elif damage == "other schema":
        with duckdb.connect(str(path)) as connection:
            schema.create_tables(connection)
            schema.write_meta(connection, schema_version=schema.SCHEMA_VERSION + 1)
            connection.execute("INSERT INTO notices VALUES ('warning', 'f', 1, 'm')")
    elif damage == "tables outside of their schema":
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE meta (key VARCHAR, value VARCHAR)")
            connection.execute(f"INSERT INTO meta VALUES ('schema_version', '{schema.SCHEMA_VERSION}')")
    else:
        duckdb.connect(str(path)).close()
    database = open_database(run)
    assert (database.private, _count(database)) == (False, 0)
    assert schema.read_meta(database.connection)["schema_version"] == str(schema.SCHEMA_VERSION)
    database.close()


def test_a_cache_folder_that_cannot_be_made_leaves_us_a_private_database(run, monkeypatch, tmp_path):
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "file" / "below"))
    database = open_database(run)
    assert database.private
    database.close()


def test_opening_asks_for_nothing_from_the_network(run):
    database = open_database(run)
    rows = database.connection.execute(
        "SELECT name, value FROM duckdb_settings() WHERE name LIKE 'auto%known_extensions'"
    ).fetchall()
    database.close()
    assert {value for _, value in rows} == {"false"} and len(rows) == 2
    assert os.fspath(cache_folder()) and cache.database_path(run).suffix == ".duckdb"
