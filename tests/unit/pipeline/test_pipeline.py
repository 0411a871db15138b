"""`pipeline`: the steps, run one after another in this process, give the tables of the local index.

`test_cluster.py` runs them on a Dask cluster.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, TAILED, FileSet
from tb_debugger_plugin.events.locations import Location, location
from tb_debugger_plugin.events.tail import TailMode
from tb_debugger_plugin.index.runs import find_runs
from tb_debugger_plugin.index.source import FileState
from tb_debugger_plugin.pipeline import tables
from tb_debugger_plugin.pipeline.layout import cut, lay_out
from tb_debugger_plugin.pipeline.survey import CHUNK_BYTES, Chunk, survey, walk
from tests.support.answers import QUERIES, answers_of
from tests.support.checkout import ROOT
from tests.support.events import Recording, full_health, small_program
from tests.support.jobs import write_job
from tests.support.tails import build_tail


def chunks_of(files: FileSet, host: int, suffix: str, chunk_bytes: int = CHUNK_BYTES) -> Iterator[Chunk]:
    """Divide a file into chunks, one after the other."""
    number, state, more = 0, FileState(), True
    while more:
        walked = walk(files, host, suffix, number, state, chunk_bytes)
        yield from walked.chunks
        number, state, more = number + 1, walked.state, walked.more


def convert_here(
    logdir: Location, out: Path | str, chunk_bytes: int, rows_a_part: int, *, backwards: bool = False
) -> int:
    """What the pipeline does, in any order of the chunks; how many parts there are."""
    (run,) = find_runs(logdir)
    surveyed = [
        survey(chunk)
        for host, files in enumerate(run.file_sets)
        for suffix in TAILED
        for chunk in chunks_of(files, host, suffix, chunk_bytes)
    ][:: -1 if backwards else 1]
    facts = [actual for actual, _ in surveyed]
    layout, described = lay_out(run, facts, rows_a_part)
    parts: dict = {}
    for _, spans in surveyed:
        for part, piece in cut(spans, layout):
            parts.setdefault(part, []).append(piece)
    counts = {
        part: (sum(piece.num_rows for piece in pieces), sum(piece.num_bad for piece in pieces))
        for part, pieces in parts.items()
    }
    kept = [one for one in facts if not one.chunk.is_ring]
    stable = {suffix: sum(f.num_rows for f in kept if f.chunk.suffix == suffix) for suffix in TAILED}
    stable["bad"] = sum(one.num_bad for one in kept)
    tables.clear(str(out))
    tables.write_short(run, described, stable, str(out))
    before = dict.fromkeys(TAILED, (0, 0))
    for part, (rows, bad) in sorted(counts.items()):
        tables.write_part(part, parts[part], layout, before[part[0]], str(out))
        before[part[0]] = before[part[0]][0] + rows, before[part[0]][1] + bad
    tables.finish(run, parts, stable, str(out))
    return len(parts)


@pytest.mark.parametrize(
    ("chunk_bytes", "rows_a_part"), [(1 << 20, 1 << 20), (1 << 20, 13), (700, 1 << 20), (1500, 20)]
)
def test_a_job_of_many_hosts_gives_the_tables_of_the_local_index(
    tmp_path, monkeypatch, chunk_bytes, rows_a_part
):
    monkeypatch.setattr("tb_debugger_plugin.pipeline.survey._ROWS_A_SAMPLE", 3)
    write_job(tmp_path / "job")
    parts = convert_here(
        tmp_path / "job", tmp_path / "out", chunk_bytes, rows_a_part, backwards=chunk_bytes == 1500
    )
    assert parts > 4 or rows_a_part == 1 << 20
    expected = answers_of(tmp_path / "job")
    actual = answers_of(tmp_path / "out")
    assert all(expected[table] for table in QUERIES if table not in ("op_graphs", "gradients"))
    for table, rows in expected.items():
        assert actual[table] == rows, table


def test_tail_files_are_in_the_tables_too(tmp_path):
    recording = small_program(tmp_path / "run", steps=2)
    event = recording.trace_event("g1", "late", full_health([math.nan])).SerializeToString()
    size = recording.files.path(GRAPH_EXECUTION_TRACES).stat().st_size
    recording.files.tail_path(GRAPH_EXECUTION_TRACES).write_bytes(
        build_tail([event, event], mode=TailMode.JOURNAL, file_size=size)
    )
    ring = [recording.execution_event("Late").SerializeToString()]
    size = recording.files.path(EXECUTION).stat().st_size
    recording.files.tail_path(EXECUTION).write_bytes(
        build_tail(ring, mode=TailMode.RING, file_size=size, dropped=7)
    )
    recording.close()
    for rows_a_part in (1, 3, 1000):
        convert_here(tmp_path / "run", tmp_path / "out", 400, rows_a_part)
        assert answers_of(tmp_path / "out") == answers_of(tmp_path / "run")


_GOLDEN = sorted(path.parent for path in (ROOT / "tests" / "golden").glob("*/*/dump.txt"))


@pytest.mark.parametrize("recording", _GOLDEN, ids=[path.name for path in _GOLDEN])
def test_recordings_of_every_mode_give_the_local_tables(tmp_path, recording):
    assert convert_here(recording, tmp_path / "out", 4000, 50) >= 2
    assert answers_of(tmp_path / "out") == answers_of(recording)


def test_dump_and_tables_may_be_elsewhere(tmp_path):
    small_program(tmp_path, steps=2).close()
    files, url = fsspec.filesystem("memory"), f"memory://dump{uuid.uuid4().hex}"
    try:
        files.put(str(tmp_path), f"{url}/run", recursive=True)
        assert convert_here(location(f"{url}/run"), f"{url}/out", 400, 3) > 2
        assert answers_of(location(f"{url}/out")) == {**answers_of(tmp_path), "meta": _meta(8, 4, 6)}
    finally:
        files.rm(url, recursive=True)


def _meta(traces: int, executions: int, bad: int) -> list[tuple[str, str]]:
    counts = {"stable_bad": bad, "stable_execution": executions, "stable_graph_execution_traces": traces}
    return [(repr(name), repr(str(count))) for name, count in counts.items()]


def test_a_run_without_rows_is_a_run_all_the_same(tmp_path):
    Recording(tmp_path / "run").close()
    assert convert_here(tmp_path / "run", tmp_path / "out", 1 << 20, 10) == 0
    assert answers_of(tmp_path / "out") == answers_of(tmp_path / "run")


def test_a_dump_that_changes_meanwhile_is_refused(tmp_path):
    recording = small_program(tmp_path / "run", steps=2)
    recording.close()
    (run,) = find_runs(tmp_path / "run")
    surveyed = [survey(chunk) for chunk in chunks_of(run.file_sets[0], 0, GRAPH_EXECUTION_TRACES)]
    layout, _ = lay_out(run, [facts for facts, _ in surveyed], 100)
    ((part, piece),) = cut(surveyed[0][1], layout)
    path = recording.files.path(GRAPH_EXECUTION_TRACES)
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(FormatError, match="changed while it was read"):
        tables.write_part(part, [piece], layout, (0, 0), str(tmp_path))
