"""`index/indexer.py`: event files of any content become tables, resumably and in whole commits."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator

import duckdb
import numpy as np
import pytest

from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, GRAPHS
from tb_debugger_plugin.events.framing import frame
from tb_debugger_plugin.events.messages import DebugEvent
from tb_debugger_plugin.events.modes import STORED, SUMMARY_COLUMNS, TensorDebugMode
from tb_debugger_plugin.events.tail import TailMode
from tb_debugger_plugin.index import schema
from tb_debugger_plugin.index.cache import open_database
from tb_debugger_plugin.index.indexer import COMMIT_BYTES, Indexer
from tb_debugger_plugin.index.registry import Table
from tb_debugger_plugin.index.runs import find_runs
from tests.support.events import Recording, full_health, small_program, vector, whole
from tests.support.tails import build_tail


class _Checked(Indexer):
    """An indexer; after each step, what a commit says of the tables is compared with their rows."""

    def __init__(self, run, connection, **options):
        super().__init__(run, connection, **options)
        self._tables = connection
        self._before = self._rows()

    def _rows(self):
        return {
            table: sorted(map(repr, self._tables.execute(f"SELECT * FROM {table}").fetchall()))
            for table in schema.MARKED
        }

    def advance(self):
        progress, rows = super().advance(), self._rows()
        meta = schema.read_meta(self._tables)
        changed = {table for table in rows if rows[table] != self._before[table]}
        marked = {table for table in rows if meta[f"changed_{table}"] == str(self.generation)}
        assert changed <= marked
        counts = {table: meta[f"num_{table}"] for table in schema.LISTS}
        assert counts == {table: str(len(rows[table])) for table in schema.LISTS}
        self._before = rows
        return progress


@contextlib.contextmanager
def _indexer(folder, commit_bytes: int = COMMIT_BYTES) -> Iterator[tuple[Indexer, duckdb.DuckDBPyConnection]]:
    (run,) = find_runs(folder)
    database = open_database(run)
    indexer = _Checked(run, database.connection, commit_bytes=commit_bytes)
    try:
        yield indexer, database.connection
    finally:
        indexer.close()
        database.close()


@contextlib.contextmanager
def _indexed(folder, **options) -> Iterator[tuple[Indexer, duckdb.DuckDBPyConnection]]:
    """An indexer that has read all that there is."""
    with _indexer(folder, **options) as (indexer, connection):
        _step_on(indexer)
        yield indexer, connection


def _all(connection, query):
    return connection.execute(query).fetchall()


def test_a_commit_marks_only_the_tables_that_it_changes(tmp_path):
    with small_program(tmp_path) as recording, _indexed(tmp_path) as (indexer, connection):
        recording.trace("g1", "Log", full_health([1.0]))
        _step_on(indexer)
        generation = str(indexer.generation)
        marks = {key for key, value in schema.read_meta(connection).items() if value == generation}
        assert {key for key in marks if key.startswith("changed_")} == {"changed_graph_executions"}


@pytest.mark.parametrize("mode", SUMMARY_COLUMNS, ids=lambda mode: mode.name)
def test_a_run_has_room_for_what_its_mode_measures_and_for_nothing_else(tmp_path, mode):
    recording, names = Recording(tmp_path), SUMMARY_COLUMNS[mode]
    recording.mode = mode
    for _ in range(3):
        recording.trace("g1", "Log", vector(range(len(names))))
        recording.execution("Log", [vector(range(len(names)))])
    recording.close()
    with _indexed(tmp_path) as (_, connection):
        for table in schema.TENSORS:
            assert schema.measured_columns(connection, table) == {*names} & {*STORED}
        (row,) = _all(connection, f"SELECT DISTINCT {', '.join(STORED)} FROM graph_executions")
        assert row == tuple(float(names.index(name)) if name in names else None for name in STORED)


def test_what_is_measured_later_in_a_run_is_null_in_the_rows_before_it(tmp_path):
    recording = Recording(tmp_path)
    recording.trace("g1", "Log", full_health([1.0]))
    with _indexer(tmp_path) as (indexer, connection), connection.cursor() as reader:
        schema.know_tables(reader, connection.execute("SELECT current_database()").fetchone()[0])
        _step_on(indexer)
        query = "SELECT size, max, tiny FROM graph_executions ORDER BY idx"
        reader.execute("BEGIN TRANSACTION READ ONLY")
        assert _all(reader, query) == [(1.0, None, None)]
        recording.mode = TensorDebugMode.FULL_TENSOR
        recording.trace("g1", "Log", whole(np.array([2.0, 1e-40], np.float32), 1))
        _step_on(indexer)
        assert _all(reader, query) == [(1.0, None, None)]
        reader.execute("COMMIT")
        assert _all(reader, query) == [(1.0, None, None), (2.0, 2.0, 1.0)]
    with _indexer(recording.close()) as (_, connection):
        assert _all(connection, query) == [(1.0, None, None), (2.0, 2.0, 1.0)]


_TRACES = (
    "SELECT t.idx, o.name, t.health FROM graph_executions t JOIN sites s USING (site)"
    " JOIN ops o ON o.op = s.op ORDER BY idx"
)


def _names(connection):
    return [name for _, name, _ in _all(connection, _TRACES)]


def _step_on(indexer: Indexer) -> None:
    while indexer.advance().more:
        pass


def test_a_recording_becomes_tables(tmp_path):
    small_program(tmp_path, steps=1).close()
    with _indexer(tmp_path) as (indexer, connection):
        assert not indexer.advance().more
        assert _all(connection, _TRACES) == [(0, "x", 1), (1, "Log", 2), (2, "mul", 2), (3, "Mean", 2)]
        assert _all(connection, "SELECT bad, idx FROM bad_graph_executions ORDER BY bad") == [
            (0, 1),
            (1, 2),
            (2, 3),
        ]
        rows = _all(
            connection, "SELECT idx, name, health, graph FROM executions JOIN op_types USING (op_type)"
        )
        assert rows == [(0, "Fill", 1, -1), (1, "__inference_loss_7", 2, 1)]
        assert _all(connection, "SELECT name, outer_id, known FROM graphs ORDER BY graph") == [
            (None, None, True),
            ("loss", "g0", True),
        ]
        edges = "SELECT a.name, e.input_slot, b.name, e.source_slot FROM edges e JOIN ops a ON a.op = e.op"
        assert _all(connection, f"{edges} JOIN ops b ON b.op = e.source_op ORDER BY a.op, e.input_slot") == [
            ("Log", 0, "x", 0),
            ("mul", 0, "x", 0),
            ("mul", 1, "Log", 0),
            ("Mean", 0, "mul", 0),
        ]
        assert _all(connection, "SELECT text FROM shapes ORDER BY text") == [("[2, ?]",), ("[]",)]


def test_a_step_reads_less_of_the_records_that_are_parsed_one_by_one(tmp_path):
    recording = small_program(tmp_path, steps=100)
    for number in range(100):
        recording.graph(f"another{number}", "step")
    recording.close()
    with _indexer(tmp_path, commit_bytes=8000) as (indexer, connection):
        assert indexer.advance().more
        read = dict(_all(connection, "SELECT suffix, resume FROM files"))
    assert 1000 <= read[GRAPHS] < 2000
    assert all(8000 <= read[suffix] < 9000 for suffix in (EXECUTION, GRAPH_EXECUTION_TRACES))


def test_a_live_run_is_followed_and_each_change_raises_the_generation(tmp_path):
    with small_program(tmp_path, steps=1) as recording, _indexer(tmp_path) as (indexer, connection):
        first = indexer.advance().generation
        assert indexer.advance().generation == first
        recording.trace("g1", "Log", full_health([1.0]))
        assert indexer.advance().generation == first + 1
        assert _all(connection, _TRACES)[-1] == (4, "Log", 1)


def test_another_indexer_goes_on_where_the_last_commit_ended(tmp_path):
    recording = small_program(tmp_path, steps=1)
    with _indexer(tmp_path) as (indexer, _):
        indexer.advance()
    recording.trace("g1", "Log", full_health([1.0]))
    recording.trace("g2", "new", full_health([1.0]))
    with _indexer(tmp_path) as (indexer, connection):
        before = _all(connection, "SELECT count(*) FROM graph_executions")
        indexer.advance()
        assert before == [(4,)]
        assert _names(connection) == ["x", "Log", "mul", "Mean", "Log", "new"]
        assert _all(connection, "SELECT count(*) FROM ops WHERE name = 'Log'") == [(1,)]
    recording.close()


def test_to_open_a_run_without_news_reads_no_table_of_numbers(tmp_path):
    recording = small_program(tmp_path, steps=1)
    with _indexer(tmp_path) as (indexer, _):
        indexer.advance()
    with _indexer(tmp_path) as (indexer, connection):
        indexer.advance()
        parts = vars(indexer._describer.registry).values()
        tables = {table.name: table for table in parts if isinstance(table, Table)}
        assert len(tables) == 6
        assert not any("rows" in vars(table) for table in tables.values())
        recording.trace("g2", "new", full_health([1.0]))
        indexer.advance()
        for table in tables.values():
            column = "stack" if table.name == "stacks" else table.column
            count = _all(connection, f"SELECT count(DISTINCT {column}) FROM {table.name}")
            assert count == [(len(table.rows),)]
            assert sorted(table.numbers.values()) == list(range(len(table.rows)))
    recording.close()


def test_a_truncated_tail_waits_for_its_rest(tmp_path):
    recording = small_program(tmp_path, steps=1)
    framed = frame(recording.trace_event("g1", "Log", full_health([1.0])).SerializeToString())
    path = recording.files.path(GRAPH_EXECUTION_TRACES)
    with path.open("ab") as stream:
        stream.write(framed[:20])
    with _indexed(tmp_path) as (indexer, connection):
        assert _all(connection, "SELECT count(*) FROM graph_executions") == [(4,)]
        assert _all(connection, "SELECT count(*) FROM notices") == [(0,)]
        with path.open("ab") as stream:
            stream.write(framed[20:])
        indexer.advance()
        assert _all(connection, "SELECT count(*) FROM graph_executions") == [(5,)]
    recording.close()


def test_a_damaged_record_is_left_out_with_a_notice(tmp_path):
    recording = small_program(tmp_path, steps=1)
    recording.close()
    path = recording.files.path(GRAPH_EXECUTION_TRACES)
    content = bytearray(path.read_bytes())
    content[20] ^= 0xFF
    path.write_bytes(content)
    with _indexed(tmp_path) as (_, connection):
        assert _names(connection) == ["Log", "mul", "Mean"]
        ((file, position),) = _all(connection, "SELECT file, position FROM notices")
        assert (file, position) == (path.name, 0)


def test_a_file_whose_framing_breaks_keeps_what_came_before(tmp_path):
    recording = small_program(tmp_path, steps=1)
    path = recording.files.path(GRAPH_EXECUTION_TRACES)
    whole = path.stat().st_size
    with path.open("ab") as stream:
        stream.write(b"this is no record, and it is long enough to show it")
    with _indexed(tmp_path) as (indexer, connection):
        indexer.advance()
        assert _all(connection, "SELECT count(*) FROM graph_executions") == [(4,)]
        assert _all(connection, "SELECT position FROM notices") == [(whole,)]
    recording.close()


def test_a_file_that_was_replaced_is_read_again(tmp_path):
    with small_program(tmp_path, steps=1) as recording, _indexer(tmp_path) as (indexer, connection):
        generation = indexer.advance().generation
        path = recording.files.path(GRAPH_EXECUTION_TRACES)
        path.write_bytes(frame(recording.trace_event("g1", "Log", full_health([1.0])).SerializeToString()))
        assert indexer.was_replaced()
        indexer.reset()
        assert indexer.generation > generation
        assert indexer.advance().generation > generation
        assert _names(connection) == ["Log"]


def test_traces_of_graphs_and_ops_that_nobody_described_are_kept(tmp_path):
    recording = Recording(tmp_path)
    recording.trace("nowhere", "op", full_health([1.0]))
    with _indexed(tmp_path) as (indexer, connection):
        assert _all(connection, "SELECT known FROM ops") == [(False,)]
        recording.graph("nowhere", "late")
        recording.op("nowhere", "op", "Late")
        indexer.advance()
        assert _all(connection, "SELECT type, known FROM ops") == [("Late", True)]
        assert _all(connection, "SELECT name, known FROM graphs") == [("late", True)]
    recording.close()


def test_an_output_that_is_not_watched_keeps_its_slot(tmp_path):
    recording = Recording(tmp_path)
    recording.execution("Two", [None, full_health([math.nan])], ids=[1, 2])
    with _indexed(recording.close()) as (_, connection):
        rows = _all(
            connection, "SELECT slot, tensor_id, has_value, health FROM execution_outputs ORDER BY slot"
        )
    assert rows == [(0, 1, False, 0), (1, 2, True, 2)]


def test_ids_of_eager_tensors_are_kept_to_the_last_digit(tmp_path):
    recording = Recording(tmp_path)
    ids = [2**63 - 1, -(2**63), 2**53 + 1]
    recording.execution("Three", [None], ids=ids, inputs=ids)
    with _indexed(recording.close()) as (_, connection):
        for table in ("execution_outputs", "execution_inputs"):
            assert _all(connection, f"SELECT tensor_id FROM {table} ORDER BY slot") == [(i,) for i in ids]


def test_hosts_are_merged_by_time_however_they_are_cut(tmp_path):
    early, late = Recording(tmp_path, host="a", start=10.0), Recording(tmp_path, host="b", start=10.0)
    for n in range(20):
        (early if n % 3 else late).execution(f"Op{n}", at=100.0 + n)
    early.close(), late.close()
    for commit_bytes in (1, 60, COMMIT_BYTES):
        with _indexer(tmp_path, commit_bytes) as (indexer, connection):
            indexer.reset()
            _step_on(indexer)
            rows = _all(connection, "SELECT name FROM executions JOIN op_types USING (op_type) ORDER BY idx")
            hosts = _all(connection, "SELECT name FROM hosts ORDER BY host")
        assert [name for (name,) in rows] == [f"Op{n}" for n in range(20)]
        assert hosts == [("a",), ("b",)]


def test_a_clock_that_is_set_back_between_commits_reorders_no_host(tmp_path):
    back, other = Recording(tmp_path, host="a", start=10.0), Recording(tmp_path, host="b", start=10.0)
    back.trace("g1", "first", full_health([1.0]), at=100.0)
    with _indexed(tmp_path) as (indexer, connection):
        back.trace("g1", "second", full_health([1.0]), at=80.0)
        other.trace("g1", "between", full_health([1.0]), at=90.0)
        indexer.advance()
        assert _names(connection) == ["first", "between", "second"]
    back.close(), other.close()


def _ring(recording, names, tail=0, drained=None):
    path = recording.files.path(GRAPH_EXECUTION_TRACES)
    payloads = [
        recording.trace_event("g1", name, full_health([math.nan]), at=1.0).SerializeToString()
        for name in names
    ]
    size = path.stat().st_size if drained is None else drained
    recording.files.tail_path(GRAPH_EXECUTION_TRACES).write_bytes(
        build_tail(payloads, mode=TailMode.RING, file_size=size, capacity=4096, tail=tail, dropped=tail)
    )
    return b"".join(map(frame, payloads))


def test_the_ring_of_a_circular_buffer_shows_exactly_what_it_holds_now(tmp_path):
    recording = Recording(tmp_path)
    recording.trace("g1", "flushed", full_health([1.0]))
    _ring(recording, ["a", "b"])
    with _indexed(tmp_path) as (indexer, connection):
        assert _names(connection) == ["flushed", "a", "b"]
        _ring(recording, ["b", "c"], tail=100)
        indexer.advance()
        assert _names(connection) == ["flushed", "b", "c"]
        assert _all(connection, "SELECT bad, idx FROM bad_graph_executions ORDER BY bad") == [(0, 1), (1, 2)]
    with _indexer(tmp_path) as (indexer, connection):
        recording.files.tail_path(GRAPH_EXECUTION_TRACES).unlink()
        recording.trace("g1", "c", full_health([1.0]))
        indexer.advance()
        assert _names(connection) == ["flushed", "c"]
    recording.close()


def test_a_ring_that_was_being_drained_when_the_program_was_killed_is_read_once(tmp_path):
    recording = Recording(tmp_path)
    recording.trace("g1", "flushed", full_health([1.0]))
    path = recording.files.path(GRAPH_EXECUTION_TRACES)
    before = path.read_bytes()
    held = _ring(recording, ["a", "b", "c"], tail=70, drained=len(before))
    for written in range(0, len(held) + 1, 11):
        path.write_bytes(before + held[:written])
        with _indexer(tmp_path) as (indexer, connection):
            indexer.reset()
            _step_on(indexer)
            assert _names(connection) == ["flushed", "a", "b", "c"]
            dropped = dict(_all(connection, "SELECT suffix, dropped FROM files"))
            assert (dropped[GRAPH_EXECUTION_TRACES], dropped[EXECUTION]) == (70, 0)
    recording.close()


def test_a_journal_is_read_once_also_when_it_is_drained_later(tmp_path):
    recording = Recording(tmp_path)
    payloads = [recording.execution_event(f"Op{n}").SerializeToString() for n in range(4)]
    path = recording.files.path(EXECUTION)
    path.write_bytes(frame(payloads[0]))
    journal = build_tail(payloads[1:], mode=TailMode.JOURNAL, file_size=path.stat().st_size, capacity=1024)
    recording.files.tail_path(EXECUTION).write_bytes(journal)
    query = "SELECT name FROM executions JOIN op_types USING (op_type) ORDER BY idx"
    expected = [(f"Op{n}",) for n in range(4)]
    with _indexed(tmp_path) as (_, connection):
        assert _all(connection, query) == expected
    path.write_bytes(b"".join(map(frame, payloads)))
    recording.files.tail_path(EXECUTION).unlink()
    with _indexed(tmp_path) as (_, connection):
        assert _all(connection, query) == expected
    recording.close()


def test_counts_and_the_end_of_recording_are_known(tmp_path):
    with (
        small_program(tmp_path, recorder_version="0.1", circular_buffer_size=2, mode=4) as recording,
        _indexer(tmp_path) as (indexer, connection),
    ):
        indexer.advance()
        assert not indexer.finished
        recording.counts(100, 200, finished=True)
        indexer.advance()
        assert indexer.finished
        assert _all(connection, "SELECT seen_executions, seen_traces, finished FROM hosts") == [
            (100, 200, True)
        ]


@pytest.mark.parametrize("time", [math.nan, math.inf, -math.inf])
def test_times_that_are_no_times_become_zero(tmp_path, time):
    recording = Recording(tmp_path)
    recording.trace("g", "op", vector([1]), at=time)
    recording.execution("Op", at=time)
    with _indexed(recording.close()) as (_, connection):
        assert _all(
            connection, "SELECT wall_time FROM graph_executions UNION SELECT wall_time FROM executions"
        ) == [(0.0,)]


def test_records_in_the_wrong_file_are_passed_over(tmp_path):
    recording = small_program(tmp_path, steps=1)
    recording.writer.write("graphs", recording.execution_event("Op"))
    recording.writer.write("execution", recording.trace_event("g1", "x", None))
    recording.writer.write("execution", DebugEvent(wall_time=1.0))
    with _indexed(recording.close()) as (_, connection):
        assert _all(connection, "SELECT count(*) FROM executions") == [(2,)]


def test_a_host_without_graphs_is_news_for_who_saw_the_run_empty(tmp_path):
    with Recording(tmp_path, process_id=7) as recording, _indexer(tmp_path) as (indexer, connection):
        query = (
            "SELECT key, CAST(value AS BIGINT) FROM meta WHERE key IN ('generation', 'catalog_generation')"
        )
        assert "catalog_generation" not in dict(_all(connection, query))
        indexer.advance()
        meta = dict(_all(connection, query))
        assert meta["catalog_generation"] == meta["generation"]
        for _ in range(2):
            recording.execution("Fill", [full_health([1.0])], ids=[1], stack=[])
            indexer.advance()
        meta = dict(_all(connection, query))
        assert meta["catalog_generation"] == meta["generation"] - 1
