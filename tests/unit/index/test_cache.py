"""`index/cache.py`: databases are a cache in a chosen folder, belong to one process, and may be deleted."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import duckdb
import numpy as np
import pytest

from tb_debugger_plugin.index import cache, schema
from tb_debugger_plugin.index.cache import (
    cache_folder,
    cache_limit,
    database_path,
    databases,
    keep_cache_small,
    not_used,
    open_database,
    verdict_path,
)
from tb_debugger_plugin.index.columns import ROW_GROUP
from tb_debugger_plugin.index.runs import find_runs
from tests.support.events import Recording, loaded, small_program

_MEGABYTE = 1 << 20


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


# The folder stays below its size; files in use and of others are kept.


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """Four runs whose databases, the first one used longest ago, are a megabyte each."""
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "cache"))
    actual = [tmp_path / "logs" / f"run{number}" for number in range(4)]
    for age, folder in enumerate(reversed(actual), start=1):
        Recording(folder, run_id=folder.name).close()
        (run,) = find_runs(folder)
        open_database(run).close()
        path = database_path(run)
        os.truncate(path, _MEGABYTE)
        for one in (path, path.with_suffix(".folder")):
            os.utime(one, (10_000 - age, 10_000 - age))
    return actual


def _keep(monkeypatch, size: float) -> None:
    """Makes the cache small enough for so many megabytes."""
    _allow(monkeypatch, size)
    keep_cache_small()


def _allow(monkeypatch, size: float) -> None:
    monkeypatch.setenv("TB_DEBUGGER_CACHE_GB", str(size * _MEGABYTE / 2**30))


def _left() -> set[str]:
    return {os.path.basename(one.folder) for one in databases()}


def test_nothing_is_deleted_below_the_limit(folders, monkeypatch):
    _keep(monkeypatch, 4.5)
    assert _left() == {"run0", "run1", "run2", "run3"}


def test_what_was_used_longest_ago_is_deleted_first(folders, monkeypatch):
    _keep(monkeypatch, 3.5)
    assert _left() == {"run2", "run3"}
    assert len(list(database_path(find_runs(folders[2])[0]).parent.iterdir())) == 4  # two, each with its note


def test_what_is_of_runs_that_are_gone_is_deleted_before_all_else(folders, monkeypatch):
    shutil.rmtree(folders[3])
    _keep(monkeypatch, 3.9)
    assert _left() == {"run0", "run1", "run2"}


def test_what_is_in_use_is_never_deleted(folders, monkeypatch):
    (run,) = find_runs(folders[0])
    database = open_database(run)
    _keep(monkeypatch, 0)
    assert _left() == {"run0"} and not database.private
    database.close()
    keep_cache_small()
    assert _left() == set()


def test_links_and_files_of_others_are_left_alone(folders, monkeypatch, tmp_path):
    cache = tmp_path / "cache"
    (tmp_path / "precious.duckdb").write_bytes(b"1" * _MEGABYTE)
    (cache / f"{0:032}.duckdb").symlink_to(tmp_path / "precious.duckdb")
    (cache / "mine.duckdb").write_bytes(b"2" * _MEGABYTE)
    _keep(monkeypatch, 0)
    assert {path.name for path in cache.iterdir()} == {f"{0:032}.duckdb", "mine.duckdb"}
    assert (tmp_path / "precious.duckdb").stat().st_size == _MEGABYTE


def test_a_viewer_that_opens_a_run_makes_room(folders, monkeypatch, tmp_path):
    _allow(monkeypatch, 4.001)
    small_program(tmp_path / "new", run_id="new").close()
    loaded(tmp_path / "new").close()
    assert "new" in _left() and "run0" not in _left()


def test_opening_a_run_is_using_it(folders, monkeypatch):
    (run,) = find_runs(folders[0])
    open_database(run).close()
    os.truncate(database_path(run), _MEGABYTE)
    _keep(monkeypatch, 3.5)
    assert _left() == {"run0", "run3"}


def test_what_is_read_without_being_used_is_as_old_as_before(folders, monkeypatch, tbdbg):
    (run,), (new,) = find_runs(folders[1]), find_runs(small_program(folders[0].parent / "new").close())
    used = {one.path: one.used for one in databases()}
    for each in (run, new):
        with not_used(database_path(each)):
            open_database(each).close()
            os.truncate(database_path(each), _MEGABYTE if each is run else 2 * _MEGABYTE)
    assert {one.path: one.used for one in databases()} == {**used, database_path(new): 0.0}
    (line,) = (line for line in tbdbg("clean", "--dry-run").splitlines() if line.endswith("/new"))
    assert "MB  never" in line
    _keep(monkeypatch, 5.1)
    assert _left() == {"run0", "run1", "run2", "run3"}


def test_a_verdict_goes_with_the_tables(folders, monkeypatch):
    (run,) = find_runs(folders[0])
    verdict_path(run).write_text("{}")
    os.utime(verdict_path(run), (9_000, 9_000))
    _keep(monkeypatch, 3.5)
    assert "run0" not in _left() and not verdict_path(run).exists()


def test_a_cache_folder_that_is_not_there_is_small(monkeypatch, tmp_path):
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "absent"))
    _keep(monkeypatch, 0)
    assert databases() == []


@pytest.mark.parametrize("text", ["much", "-1", "nan", "inf"])
def test_a_limit_that_is_none_is_the_default_one_with_a_word(monkeypatch, caplog, text):
    monkeypatch.setenv("TB_DEBUGGER_CACHE_GB", text)
    assert cache_limit() == 2 << 30
    assert f"must be a number of GiB, but is {text!r}" in caplog.text


def test_the_limit_can_be_chosen(monkeypatch):
    monkeypatch.setenv("TB_DEBUGGER_CACHE_GB", "0.5")
    assert cache_limit() == 1 << 29


def test_row_groups_have_the_size_of_the_pieces_that_are_written_also_after_reopening(run):
    sizes = (
        "SELECT sum(count) FROM pragma_storage_info('bad_graph_executions')"
        " WHERE column_name = 'bad' AND segment_type <> 'VALIDITY' GROUP BY row_group_id"
    )
    for groups in (2, 5):
        database = open_database(run)
        begin = database.connection.execute("SELECT count(*) FROM bad_graph_executions").fetchone()[0]
        rows = np.arange(begin, groups * ROW_GROUP)
        with schema.transaction(database.connection):
            schema.append(database.connection, "bad_graph_executions", {"bad": rows, "idx": rows})
        assert database.connection.execute(sizes).fetchall() == [(ROW_GROUP,)] * groups
        query = "SELECT bool_and(bad = rowid) FROM bad_graph_executions"
        assert database.connection.execute(query).fetchall() == [(True,)]
        database.close()
