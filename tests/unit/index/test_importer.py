"""`index/importer.py`: a folder of Parquet tables is a run like any other."""

from __future__ import annotations

import json
import shutil
from contextlib import closing

import pytest

from tb_debugger_plugin.analysis.alerts.alerts import alert_list
from tb_debugger_plugin.analysis.lists.tables import executions_page, graph_executions_page
from tb_debugger_plugin.analysis.snapshot import Range, open_snapshot
from tb_debugger_plugin.analysis.status import status
from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.events.modes import COUNTS
from tb_debugger_plugin.index.cache import open_database
from tb_debugger_plugin.index.importer import Importer
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.parquet import MANIFEST
from tb_debugger_plugin.index.runs import RunKind, find_runs, has_debug_events
from tb_debugger_plugin.index.schema import TENSORS, measured_columns
from tests.support.asking import Asker
from tests.support.events import PATIENCE_S, loaded, small_program
from tests.support.processes import wait_until


@pytest.fixture
def exported(tmp_path):
    """A folder of tables, and the recording it was made from."""
    small_program(tmp_path / "events", steps=3).close()
    assert main(["export", str(tmp_path / "events"), "--parquet", str(tmp_path / "tables")]) == 0
    return tmp_path / "tables"


def _told(folder):
    with closing(loaded(folder)) as loader, open_snapshot(loader) as snapshot:
        assert not loader.failure, loader.failure
        traces = graph_executions_page(snapshot, Range(0, snapshot.num_graph_executions))
        eager = executions_page(snapshot, Range(0, snapshot.num_executions))
        alerts = alert_list(snapshot)
        pages = [{name: values.tolist() for name, values in page.columns.items()} for page in (traces, eager)]
        # Numbers of commits, which each reader counts by itself.
        counted = {"generation", "origins_generation", "described"}
        facts = {name: value for name, value in status(snapshot).items() if name not in counted}
        return repr((loader.run.start_time, facts, pages, traces.dictionaries, alerts.index.tolist()))


def test_exported_tables_are_a_run_that_says_what_the_event_files_say(exported):
    assert has_debug_events(exported)
    assert _told(exported) == _told(exported.parent / "events")


def test_imported_tables_have_room_for_what_was_measured_only(exported):
    (run,) = find_runs(exported)
    database = open_database(run)
    importer = Importer(run, database.connection)
    while importer.advance().more:
        pass
    for table in TENSORS:
        assert measured_columns(database.connection, table) == {"size", *COUNTS}
    database.close()


def test_tables_beside_event_files_are_a_run_of_their_own(exported):
    for path in (exported.parent / "events").iterdir():
        shutil.copy(path, exported)
    assert [(run.name, run.kind) for run in find_runs(exported)] == [
        (".", RunKind.EVENTS),
        (". (tables)", RunKind.TABLES),
    ]


def test_a_folder_without_its_manifest_is_not_finished_and_no_run(exported):
    (exported / MANIFEST).unlink()
    assert find_runs(exported) == [] and not has_debug_events(exported)


def test_tables_that_are_written_again_are_read_again(exported):
    before = _told(exported)
    small_program(exported.parent / "other", steps=1).close()
    assert main(["export", str(exported.parent / "other"), "--parquet", str(exported)]) == 0
    assert _told(exported) != before
    assert _told(exported) == _told(exported.parent / "other")


def test_importing_goes_on_where_the_last_commit_ended(exported):
    (run,) = find_runs(exported)
    database = open_database(run)
    first = Importer(run, database.connection)
    assert first.advance().more
    second = Importer(run, database.connection)
    count = "SELECT count(*) FROM graph_executions"
    assert second.generation == first.generation
    assert database.connection.execute(count).fetchall() == [(0,)]
    assert not second.advance().more
    assert database.connection.execute(count).fetchall() == [(12,)]
    database.close()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"schema_version": 0}, "make them again"),
        ({"steps": [{"graph_executions": "../secret.parquet"}]}, "secret"),
        ({"steps": [{"secrets": "graph_executions.parquet"}]}, "secrets"),
        ({"steps": [{"graph_executions": "graph_executions.parquet"}] * 2}, "the next row must be 12"),
        ({"steps": 3}, "does not list"),
        ({"stable": None}, "does not list"),
    ],
)
def test_what_a_manifest_may_not_say_is_refused_with_a_sentence(exported, change, reason):
    manifest = json.loads((exported / MANIFEST).read_text())
    (exported / MANIFEST).write_text(json.dumps({**manifest, **change}))
    _fails(exported, reason)


def test_a_damaged_file_is_an_error_with_a_sentence(exported):
    (exported / "graph_executions.parquet").write_bytes(b"no parquet")
    _fails(exported, "graph_executions.parquet")


def test_the_viewer_says_what_is_damaged_shows_the_others_and_reads_what_is_mended(exported, tmp_path):
    small_program(tmp_path / "logs" / "good").close()
    shutil.move(exported, tmp_path / "logs" / "bad")
    damaged = tmp_path / "logs" / "bad" / "graph_executions.parquet"
    whole = damaged.read_bytes()
    damaged.write_bytes(b"no parquet")
    with Asker(tmp_path / "logs") as asker:
        asker.plugin._viewer.run_library._make_loader = lambda run: RunLoader(run, poll_seconds=0.01)

        def answer_of(code: int) -> str:
            assert wait_until(lambda: asker.get("/status", run="bad").status_code == code, PATIENCE_S)
            return asker.get("/status", run="bad").text

        assert "graph_executions.parquet" in answer_of(422)
        assert asker.json("/status", {"run": "good"})["num_graph_executions"] == 8
        damaged.write_bytes(whole)
        assert '"num_graph_executions": 12' in answer_of(200)


def _fails(folder, reason):
    with closing(loaded(folder, poll_seconds=0.0)) as loader:
        assert reason in loader.failure
