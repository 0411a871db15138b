"""`analysis/lists/missing.py`: what a copy lacks is named, not what may come or was dropped."""

from __future__ import annotations

import threading
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from tb_debugger_plugin.analysis.lists.missing import is_cut, keeping_all
from tb_debugger_plugin.analysis.snapshot import open_snapshot
from tb_debugger_plugin.analysis.status import status
from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.events import framing
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES, GRAPHS, STACK_FRAMES, FileSet
from tb_debugger_plugin.events.not_recorded import NotRecordedReason
from tb_debugger_plugin.index.importer import Importer
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.runs import find_runs
from tb_debugger_plugin.reading.run import open_run
from tests.support.events import PATIENCE_S, Recording, small_program, snapshot_of

_STEPS = 10


def _recorded(folder: Path, *, finished: bool = True, failure: str = "", **options) -> FileSet:
    """The files of a recording of 20 executions and 40 graph executions, which says so."""
    recording = small_program(folder, steps=_STEPS, recorder_version="0.1", **options)
    recording.counts(2 * _STEPS, 4 * _STEPS, finished=finished, failure=failure)
    recording.close()
    return recording.files


def _cut(files: FileSet, suffix: str, records: int, further: int = 0) -> None:
    """Leave so many records, and some bytes of the next one."""
    content = files.path(suffix).read_bytes()
    offsets = [offset for offset, _ in framing.read_records(content)[0]]
    files.path(suffix).write_bytes(content[: offsets[records] + further])


def _not_recorded(folder: Path) -> list[tuple[str, str, str]]:
    with snapshot_of(folder) as snapshot:
        return [(one["reason"], one["host"], one["message"]) for one in status(snapshot)["not_recorded"]]


def test_of_a_whole_recording_nothing_is_missing(tmp_path):
    _recorded(tmp_path)
    assert _not_recorded(tmp_path) == []


@pytest.mark.parametrize("further", [0, 5])
@pytest.mark.parametrize(
    ("suffix", "words"),
    [(EXECUTION, "7 of 20 executions"), (GRAPH_EXECUTION_TRACES, "7 of 40 graph executions")],
)
def test_a_long_file_that_was_cut_says_how_much_is_there(tmp_path, suffix, words, further):
    files = _recorded(tmp_path)
    _cut(files, suffix, 7, further)
    message = f"{words} are on record: the file {files.path(suffix).name} ends early; copy it again."
    assert _not_recorded(tmp_path) == [("missing", "worker0", message)]


@pytest.mark.parametrize("suffix", [EXECUTION, GRAPH_EXECUTION_TRACES])
def test_a_long_file_that_was_left_behind_is_missing(tmp_path, suffix):
    files = _recorded(tmp_path)
    files.path(suffix).unlink()
    ((reason, _, message),) = _not_recorded(tmp_path)
    assert reason == "missing" and message.startswith("0 of ")
    assert f"the file {files.path(suffix).name} is missing" in message


@pytest.mark.parametrize("finished", [True, False])
@pytest.mark.parametrize("suffix", [GRAPHS, STACK_FRAMES])
def test_a_short_file_that_was_left_behind_is_missing_also_in_a_run_that_goes_on(tmp_path, suffix, finished):
    files = _recorded(tmp_path, finished=finished)
    files.path(suffix).unlink()
    message = f"The file {files.path(suffix).name} is missing; copy it again."
    assert _not_recorded(tmp_path) == [("missing", "worker0", message)]


def test_a_short_file_that_was_cut_says_so(tmp_path):
    files = _recorded(tmp_path)
    _cut(files, STACK_FRAMES, 1, 5)
    message = f"The file {files.path(STACK_FRAMES).name} ends early; copy it again."
    assert _not_recorded(tmp_path) == [("missing", "worker0", message)]


def test_a_damaged_file_of_which_records_are_missing_is_called_damaged(tmp_path):
    files = _recorded(tmp_path)
    path = files.path(GRAPH_EXECUTION_TRACES)
    content = bytearray(path.read_bytes())
    offset, payload = framing.read_records(bytes(content))[0][5]
    content[offset + 12 + len(payload) // 2] ^= 0xFF
    path.write_bytes(content)
    ((_, _, message),) = _not_recorded(tmp_path)
    assert message.startswith("39 of 40 graph executions are on record") and "is damaged" in message


def test_a_killed_program_may_end_anywhere(tmp_path):
    files = _recorded(tmp_path, finished=False)
    for suffix in (EXECUTION, GRAPH_EXECUTION_TRACES):
        _cut(files, suffix, 7, 5)
    assert _not_recorded(tmp_path) == []


def test_a_recording_that_stopped_early_says_that_alone(tmp_path):
    files = _recorded(tmp_path, failure="the disk is full")
    _cut(files, GRAPH_EXECUTION_TRACES, 7, 5)
    assert [reason for reason, _, _ in _not_recorded(tmp_path)] == ["stopped"]


def test_what_a_circular_buffer_dropped_is_not_missing_but_what_it_kept_may_be(tmp_path):
    recording = small_program(tmp_path, steps=_STEPS, recorder_version="0.1", circular_buffer_size=15)
    recording.counts(1000, 1000, finished=True)
    assert _not_recorded(recording.close()) == []
    _cut(recording.files, GRAPH_EXECUTION_TRACES, 7, 5)
    ((_, _, message),) = _not_recorded(tmp_path)
    assert message.startswith("7 of the last 15 graph executions are on record")


def test_of_several_hosts_the_one_is_named_of_which_something_is_missing(tmp_path):
    _recorded(tmp_path, host="big", host_name="big")
    files = _recorded(tmp_path, host="small", host_name="small")
    _cut(files, GRAPH_EXECUTION_TRACES, 7, 5)
    ((_, host, message),) = _not_recorded(tmp_path)
    assert host == "small" and message.startswith("7 of 40 graph executions of small are on record")


def test_exported_tables_and_the_command_line_say_it_too(tmp_path, tbdbg):
    files = _recorded(tmp_path / "cut")
    _cut(files, GRAPH_EXECUTION_TRACES, 7, 5)
    assert "not recorded: 7 of 40 graph executions are on record" in tbdbg("info", tmp_path / "cut")
    assert main(["export", str(tmp_path / "cut"), "--parquet", str(tmp_path / "tables")]) == 0
    assert _not_recorded(tmp_path / "tables") == _not_recorded(tmp_path / "cut") != []


def test_nothing_is_missing_of_tables_that_are_still_being_read(tmp_path, monkeypatch):
    _recorded(tmp_path / "whole")
    assert main(["export", str(tmp_path / "whole"), "--parquet", str(tmp_path / "tables")]) == 0
    may_go_on, step = threading.Event(), Importer.advance

    def step_that_waits(importer):
        if importer._done == 1:
            may_go_on.wait(PATIENCE_S)
        return step(importer)

    monkeypatch.setattr(Importer, "advance", step_that_waits)
    (run,) = find_runs(tmp_path / "tables")
    with closing(RunLoader(run)) as loader, ExitStack() as stack:
        stack.callback(may_go_on.set)
        with open_snapshot(loader) as snapshot:
            actual = status(snapshot)
    assert (actual["num_graph_executions"], actual["not_recorded"]) == (0, [])
    assert actual["loading"] is not None


def test_a_file_that_comes_later_is_missing_no_more(tmp_path):
    files = _recorded(tmp_path)
    content = files.path(STACK_FRAMES).read_bytes()
    files.path(STACK_FRAMES).unlink()
    assert len(_not_recorded(tmp_path)) == 1
    files.path(STACK_FRAMES).write_bytes(content)
    assert _not_recorded(tmp_path) == []


def test_a_recording_that_has_only_begun_misses_nothing(tmp_path):
    recording = Recording(tmp_path, recorder_version="0.1")
    assert _not_recorded(tmp_path) == []
    recording.close()


@pytest.mark.parametrize(
    ("options", "is_bounded", "argument"),
    [
        ({}, False, None),
        ({}, True, "max_bytes=None"),
        ({"circular_buffer_size": 3}, False, "circular_buffer_size=-1"),
        ({"circular_buffer_size": 3}, True, "circular_buffer_size=-1"),
    ],
)
def test_the_argument_is_named_that_keeps_what_was_dropped(tmp_path, options, is_bounded, argument):
    recording = small_program(tmp_path / "run", **options)
    if is_bounded:
        recording.not_recorded(
            NotRecordedReason.BOUNDED, "The recording has nearly reached 4 MB (max_bytes)."
        )
    recording.close()
    with snapshot_of(tmp_path / "run") as snapshot:
        assert (keeping_all(snapshot), is_cut(snapshot)) == (argument, argument is not None)
    small_program(tmp_path / "whole").close()
    with open_run(tmp_path, "run") as run, open_run(tmp_path, "whole") as whole:
        notes = [note for note in run.compare(whole).notes if "last occurrences were compared" in note]
    assert [argument == "max_bytes=None"] * len(notes) == ["max_bytes" in note for note in notes]
    assert len(notes) == (argument is not None)
