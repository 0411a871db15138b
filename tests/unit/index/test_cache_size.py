"""`index/cache.py`: the cache folder stays below its size; files in use and of others are kept."""

from __future__ import annotations

import os
import shutil

import pytest

from tb_debugger_plugin.index.cache import (
    cache_limit,
    database_path,
    databases,
    keep_cache_small,
    open_database,
)
from tb_debugger_plugin.index.runs import find_runs
from tests.support.events import Recording, loaded, small_program

_MEGABYTE = 1 << 20


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


def _allow(monkeypatch, size: float) -> None:
    monkeypatch.setenv("TB_DEBUGGER_CACHE_GB", str(size * _MEGABYTE / 2**30))


def _left() -> set[str]:
    return {os.path.basename(one.folder) for one in databases()}


def test_nothing_is_deleted_below_the_limit(folders, monkeypatch):
    _allow(monkeypatch, 4.5)
    keep_cache_small()
    assert _left() == {"run0", "run1", "run2", "run3"}


def test_what_was_used_longest_ago_is_deleted_first(folders, monkeypatch):
    _allow(monkeypatch, 3.5)
    keep_cache_small()
    assert _left() == {"run2", "run3"}
    assert len(list(database_path(find_runs(folders[2])[0]).parent.iterdir())) == 4  # two, each with its note


def test_what_is_of_runs_that_are_gone_is_deleted_before_all_else(folders, monkeypatch):
    shutil.rmtree(folders[3])
    _allow(monkeypatch, 3.9)
    keep_cache_small()
    assert _left() == {"run0", "run1", "run2"}


def test_what_is_in_use_is_never_deleted(folders, monkeypatch):
    (run,) = find_runs(folders[0])
    database = open_database(run)
    _allow(monkeypatch, 0)
    keep_cache_small()
    assert _left() == {"run0"} and not database.private
    database.close()
    keep_cache_small()
    assert _left() == set()


def test_links_and_files_of_others_are_left_alone(folders, monkeypatch, tmp_path):
    cache = tmp_path / "cache"
    (tmp_path / "precious.duckdb").write_bytes(b"1" * _MEGABYTE)
    (cache / f"{0:032}.duckdb").symlink_to(tmp_path / "precious.duckdb")
    (cache / "mine.duckdb").write_bytes(b"2" * _MEGABYTE)
    _allow(monkeypatch, 0)
    keep_cache_small()
    assert {path.name for path in cache.iterdir()} == {f"{0:032}.duckdb", "mine.duckdb"}
    assert (tmp_path / "precious.duckdb").stat().st_size == _MEGABYTE


def test_a_viewer_that_opens_a_run_makes_room(folders, monkeypatch, tmp_path):
    _allow(monkeypatch, 4.001)
    small_program(tmp_path / "new", run_id="new").close()
    loader = loaded(tmp_path / "new")
    loader.close()
    assert "new" in _left() and "run0" not in _left()


def test_opening_a_run_is_using_it(folders, monkeypatch):
    (run,) = find_runs(folders[0])
    open_database(run).close()
    os.truncate(database_path(run), _MEGABYTE)
    _allow(monkeypatch, 3.5)
    keep_cache_small()
    assert _left() == {"run0", "run3"}


def test_a_cache_folder_that_is_not_there_is_small(monkeypatch, tmp_path):
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "absent"))
    _allow(monkeypatch, 0)
    keep_cache_small()
    assert databases() == []


@pytest.mark.parametrize("text", ["much", "-1", "nan", "inf"])
def test_a_limit_that_is_none_is_the_default_one_with_a_word(monkeypatch, caplog, text):
    monkeypatch.setenv("TB_DEBUGGER_CACHE_GB", text)
    assert cache_limit() == 2 << 30
    assert f"must be a number of GiB, but is {text!r}" in caplog.text


def test_the_limit_can_be_chosen(monkeypatch):
    monkeypatch.setenv("TB_DEBUGGER_CACHE_GB", "0.5")
    assert cache_limit() == 1 << 29
