"""`index/dumps`: dump folders of tfdbg v1 are runs like others."""

from __future__ import annotations

import os
import random
import shutil
from importlib.util import find_spec

import duckdb
import numpy as np
import pytest

from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.index import schema
from tb_debugger_plugin.index.dumps.dump_importer import DumpImporter
from tb_debugger_plugin.index.runs import RunKind, find_runs, has_debug_events
from tests.support.asking import Asker, decoded, facts_of, fitting
from tests.support.dumps import CPU, CPU_1, DumpedCall, no_value, node, training

_LATER = 4e9


class _Imported:
    """A database of the only run of a folder, with a clock that tests set."""

    def __init__(self, folder, **options):
        (self.run,) = find_runs(folder)
        self.now = _LATER
        self.database = duckdb.connect()
        schema.create_tables(self.database)
        self.options = options
        self.open()

    def open(self):
        self.importer = DumpImporter(self.run, self.database, clock=lambda: self.now, **self.options)
        return self

    def read(self):
        while self.importer.advance().more:
            pass
        return self

    def follow(self):
        if self.importer.was_replaced():
            self.importer.reset()
        return self.read()

    def rows(self, query):
        return self.database.execute(query).fetchall()

    def tensors(self, columns="name, slot"):
        return self.rows(
            f"SELECT {columns} FROM graph_executions g JOIN sites USING (site) JOIN ops USING (op)"
            " ORDER BY idx"
        )

    def stable(self):
        return int(schema.read_meta(self.database)["stable_graph_execution_traces"])


def test_a_session_root_is_one_run_with_the_calls_in_order(tmp_path):
    training(tmp_path / "session")
    (run,) = find_runs(tmp_path)
    assert (run.name, run.kind, run.start_time) == ("session", RunKind.DUMPS, 1_700_000_000.0)
    assert has_debug_events(tmp_path) and has_debug_events(tmp_path / "session")
    imported = _Imported(tmp_path / "session").read()
    assert imported.rows("SELECT count(*), min(wall_time), max(wall_time) FROM graph_executions") == [
        (9, 1_700_000_000.0001, 1_700_000_002.0003)
    ]
    assert imported.rows("SELECT call, fetches FROM dump_calls ORDER BY call") == [
        (number, "fetched") for number in range(3)
    ]


def test_the_folder_of_a_call_is_a_run_outside_its_session_root(tmp_path):
    first, *_ = training(tmp_path / "session")
    (run,) = find_runs(first.folder)
    assert (run.name, run.folder) == (".", first.folder)
    shutil.copytree(first.folder, tmp_path / "copy")
    assert [run.name for run in find_runs(tmp_path)] == ["copy", "session"]
    assert _Imported(first.folder).read().rows("SELECT count(*) FROM graph_executions") == [(3,)]


def test_folders_without_dumps_are_no_runs(tmp_path):
    (tmp_path / "run_1_0" / "logs").mkdir(parents=True)
    (tmp_path / "run_1_0" / "_tfdbg_other_").touch()
    (tmp_path / "_tfdbg_device_file").touch()
    assert find_runs(tmp_path) == [] and not has_debug_events(tmp_path)


def test_calls_with_the_same_graph_are_occurrences_of_its_tensors(tmp_path):
    training(tmp_path)
    imported = _Imported(tmp_path).read()
    names = [("step", 0), ("log", 0), ("log/_1", 0)]
    assert imported.tensors() == names * 3
    assert imported.rows("SELECT count(*) FROM graphs") == [(2,)]
    assert imported.rows("SELECT DISTINCT device FROM sites ORDER BY 1") == [(CPU,), (CPU_1,)]


def test_ops_and_edges_are_those_of_the_program(tmp_path):
    training(tmp_path, calls=1)
    imported = _Imported(tmp_path).read()
    edges = imported.rows(
        "SELECT o.name, s.name, source_slot FROM edges e JOIN ops o USING (op)"
        " JOIN ops s ON s.op = e.source_op ORDER BY o.name, input_slot"
    )
    assert edges == [
        ("log", "step", 0),
        ("log/_0", "log", 0),
        ("step", "x", 0),
        ("step", "_arg_step_0_0", 0),
    ]
    assert imported.rows("SELECT type, device, num_outputs FROM ops WHERE name = 'log'") == [("Log", CPU, 1)]


def test_tensors_are_counted(tmp_path):
    training(tmp_path)
    imported = _Imported(tmp_path).read()
    counted = imported.tensors("name, size, neg_inf, nan, zero, health")
    assert [row[1:] for row in counted if row[0] == "log"] == [
        (2, 0, 0, 1, 1),
        (2, 1, 0, 1, 2),
        (2, 1, 1, 0, 2),
    ]
    assert imported.rows("SELECT idx FROM bad_graph_executions ORDER BY bad") == [(4,), (5,), (7,), (8,)]


def test_what_has_no_value_is_not_counted(tmp_path):
    call = DumpedCall(tmp_path / "run_1_0")
    call.dump("scalar", no_value(1), time=1)
    call.dump("vector", no_value(1, 3), time=2)
    call.dump("handle", no_value(20), time=3)
    call.dump("empty", np.empty((2, 0), np.float32), time=4)
    call.dump("text", np.array([b"a", b"b"], object), time=5)
    imported = _Imported(tmp_path).read()
    assert imported.tensors("name, mode, health, zero") == [
        ("scalar", 1, 0, None),
        ("vector", 1, 0, None),
        ("handle", 1, 0, None),
        ("empty", 7, 1, 0),
        ("text", 7, 0, None),
    ]
    with Asker(tmp_path) as asker:
        reasons = [
            asker.json("/values/info", {"run": ".", "graph_execution": index})["reason"] for index in range(5)
        ]
    assert reasons[:2] == ["The variable had no value yet when it was dumped."] * 2
    assert "resource" in reasons[2] and reasons[3:] == [None, None]


def test_other_debug_ops_are_found_by_their_watch_keys(tmp_path):
    call = DumpedCall(tmp_path / "run_1_0")
    call.dump("a", np.arange(14.0), time=1, debug_op="DebugNumericSummary")
    call.dump("a", np.float32(1), time=2)
    imported = _Imported(tmp_path).read()
    assert imported.tensors() == [("a", 0)]
    assert imported.rows("SELECT watch_key, idx FROM dump_files ORDER BY file") == [
        ("a:0:DebugNumericSummary", None),
        ("a:0:DebugIdentity", 0),
    ]


def test_reading_in_many_steps_gives_the_same_tables(tmp_path):
    training(tmp_path, calls=5)
    columns = "name, slot, g.wall_time, size, health, sites.device"
    tables = [f"FROM {name} ORDER BY 1, 2, 3" for name in ("dump_files", "dump_calls", "dump_graphs")]
    whole = _Imported(tmp_path).read()
    for options in ({"commit_files": 1}, {"commit_bytes": 1}, {"commit_files": 4}):
        parts = _Imported(tmp_path, **options).read()
        assert parts.tensors(columns) == whole.tensors(columns)
        assert [parts.rows(table) for table in tables] == [whole.rows(table) for table in tables]


def test_an_importer_that_is_killed_goes_on_after_its_last_commit(tmp_path):
    training(tmp_path, calls=4)
    imported = _Imported(tmp_path, commit_files=1)
    for _ in range(5):
        imported.importer.advance()
    imported.open().read()
    assert imported.rows("FROM dump_files ORDER BY file") == _Imported(tmp_path).read().rows(
        "FROM dump_files ORDER BY file"
    )
    assert imported.tensors() == _Imported(tmp_path).read().tensors()


def test_rows_of_new_dumps_are_final_when_nothing_changes_any_more(tmp_path):
    training(tmp_path, calls=2)
    imported = _Imported(tmp_path)
    imported.now = os.stat(tmp_path).st_mtime
    _touch_dumps(tmp_path, imported.now)
    imported.read()
    assert (len(imported.tensors()), imported.stable()) == (6, 6)  # their names say that they are old
    before = imported.importer.signature()
    late = DumpedCall(tmp_path / "run_1700000002000000_2")
    now_us = int(imported.now * 1e6)
    cut = late.dump("late", np.float32([1, 2]), time=now_us)
    whole = cut.read_bytes()
    cut.write_bytes(whole[:-3])
    assert imported.importer.signature() != before
    imported.follow()
    assert (len(imported.tensors()), imported.stable()) == (7, 6)
    assert not imported.importer.finished and imported.rows("FROM notices") == []
    cut.write_bytes(whole)
    late.dump("later", np.float32(3), time=now_us + 5)
    imported.follow()
    assert imported.tensors("name, size")[6:] == [("late", 2), ("later", 1)] and imported.stable() == 6
    before = imported.importer.signature()
    imported.now += 1000
    assert imported.importer.signature() != before
    imported.follow()
    assert len(imported.tensors()) == imported.stable() == 8 and imported.importer.finished
    assert imported.rows(
        "SELECT DISTINCT folder FROM dump_calls JOIN dump_files USING (call) WHERE idx > 5"
    ) == [(late.folder.name,)]


def test_dumps_of_an_earlier_call_are_waited_for(tmp_path):
    """Calls of several threads overlap, and one may compile its graph while another one runs."""
    slow = DumpedCall(tmp_path / "run_1700000000000000_0")
    fast = DumpedCall(tmp_path / "run_1700000000000001_1")
    fast.dump("fast", 1.0, time=1_700_000_000_000_002)
    imported = _Imported(tmp_path)
    imported.now = os.stat(slow.folder).st_mtime + 30
    imported.read()
    assert imported.tensors() == [("fast", 0)] and imported.stable() == 1
    before = imported.importer.signature()
    slow.dump("slow", 1.0, time=1_700_000_020_000_000)
    assert imported.importer.signature() != before
    assert imported.open().follow().tensors() == [("fast", 0), ("slow", 0)]
    imported.now += 10_000
    assert imported.follow().rows("SELECT folder FROM dump_calls WHERE NOT settled") == [(fast.folder.name,)]


def _touch_dumps(root, now):
    for folder, _, _ in os.walk(root):
        os.utime(folder, (now, now))


def test_dumps_that_are_written_again_are_imported_again(tmp_path):
    call = DumpedCall(tmp_path / "dump")
    call.dump("a", 1.0, time=1)
    imported = _Imported(tmp_path / "dump").read()
    shutil.rmtree(tmp_path / "dump")
    DumpedCall(tmp_path / "dump").dump("b", 2.0, time=2)
    assert imported.follow().tensors() == [("b", 0)]


def test_damaged_files_are_rows_without_numbers_and_notices(tmp_path):
    call = DumpedCall(tmp_path / "run_1_0")
    file = call.dump("a", np.arange(9.0), time=1)
    file.write_bytes(file.read_bytes()[:-20])
    call.dump("b", 1.0, time=2)
    graph = call.graph({"a": node("Const")})
    graph.write_bytes(b"\xff\xff")
    imported = _Imported(tmp_path).read()
    assert imported.tensors("name, size") == [("a", None), ("b", 1)]
    notices = imported.rows("SELECT file, message FROM notices ORDER BY file")
    assert len(notices) == 2 and all(file.startswith("run_1_0/_tfdbg_device_") for file, _ in notices)


@pytest.mark.parametrize("seed", range(6))
def test_hostile_folders_break_no_route(tmp_path, seed):
    rng = random.Random(seed)
    for call in training(tmp_path / "session"):
        call.dump("big", no_value(1, *[1 << 62] * 254), time=1)
        call.dump("text", np.array([b"a"] * 3, object), time=2)
        for file in call.folder.rglob("*"):
            if file.is_file():
                _damage(file, rng)
    (tmp_path / "session" / "run_9_9").mkdir()
    with Asker(tmp_path) as asker:
        assert list(asker.json("/runs", {})) == ["session"]
        total = asker.json("/status", {"run": "session"})["num_graph_executions"]
        assert total == 15
        queries = fitting(facts_of(asker, "session", rng))
        queries += [
            (route, {"run": "session", "graph_execution": index})
            for route in ("/values", "/values/info", "/values/text", "/values/summary", "/values/npy")
            for index in range(total)
        ]
        for route, query in queries:
            answer = asker.get(route, query)
            assert answer.status_code in (200, 400, 404), answer.text
            if answer.mimetype == "application/json":
                decoded(answer.mimetype, answer.data)


def _damage(file, rng):
    data = bytearray(file.read_bytes())
    for _ in range(rng.choice([0, 0, 1, 3])):
        data[rng.randrange(len(data))] = rng.randrange(256)
    file.write_bytes(data[: rng.choice([len(data), len(data), rng.randrange(len(data) + 1)])])


def test_verbs_of_the_command_line_take_dump_folders(tmp_path, tbdbg):
    training(tmp_path / "session")
    assert tbdbg.json("info", tmp_path)["session"]["num_graph_executions"] == 9
    assert main(["export", str(tmp_path / "session"), "--parquet", str(tmp_path / "tables")]) == 0
    assert [run.kind for run in find_runs(tmp_path)] == [RunKind.DUMPS, RunKind.TABLES]
    with Asker(tmp_path) as asker:
        rows = [
            asker.json("/graph_execution/data", {"run": run, "begin": 0, "end": 9})
            for run in ("session", "tables")
        ]
        assert rows[0] == rows[1]
        info = asker.json("/values/info", {"run": "tables", "graph_execution": 0})
    assert not info["is_kept"] and "folder of tables" in info["reason"]
    refusal = "Dask is needed" if find_spec("distributed") is None else "dumps of tfdbg v1"
    assert refusal in tbdbg.error("index", tmp_path / "session", "--to", tmp_path / "out")
    assert "neither an event file" in tbdbg.error("dump", tmp_path / "session")
