"""`events/fileset.py`: file sets are named, found, written and read completely."""

from __future__ import annotations

import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from tb_debugger_plugin.events.fileset import (
    EXECUTION,
    SUFFIXES,
    FileSet,
    FileSetWriter,
    find_file_sets,
    parse_metadata_name,
    read_file,
    read_with_tail,
)
from tb_debugger_plugin.events.framing import frame
from tb_debugger_plugin.events.messages import DebugEvent
from tb_debugger_plugin.events.tail import TailMode
from tests.support.events import Recording, small_program
from tests.support.tails import build_tail


def test_a_metadata_file_announces_a_set_also_when_the_host_has_dots(tmp_path):
    actual = parse_metadata_name(tmp_path, "tfdbg_events.1700000000.a.b.metadata")
    assert actual == FileSet(tmp_path, 1700000000, "a.b")
    assert actual is not None and actual.path(EXECUTION).name == "tfdbg_events.1700000000.a.b.execution"


@pytest.mark.parametrize(
    "name",
    [
        "tfdbg_events.1.h.execution",
        "tfdbg_events.x.h.metadata",
        "events.1.h.metadata",
        "tfdbg_events.1.metadata",
    ],
)
def test_other_names_announce_nothing(tmp_path, name):
    assert parse_metadata_name(tmp_path, name) is None


def test_sets_of_a_folder_come_oldest_first(tmp_path):
    for start in (20.0, 10.0):
        Recording(tmp_path, start=start).close()
    assert [files.start_seconds for files in find_file_sets(tmp_path)] == [10, 20]
    assert find_file_sets(tmp_path / "absent") == []


def test_what_is_written_can_be_read_before_the_writer_is_closed(tmp_path):
    recording = small_program(tmp_path, steps=1)
    kinds = {
        suffix: [record.event.WhichOneof("what") for record in contents.records]
        for suffix, contents in ((suffix, read_with_tail(recording.files, suffix)) for suffix in SUFFIXES)
    }
    recording.close()
    assert kinds["metadata"] == ["debug_metadata"]
    assert kinds["source_files"] == ["source_file"] * 2
    assert kinds["stack_frames"] == ["stack_frame_with_id"] * 2
    described = ["debugged_device", *["debugged_graph"] * 2, "debugged_thread", "op_attributes"]
    assert kinds["graphs"] == [*described, *["graph_op_creation"] * 4]
    assert kinds["execution"] == ["execution"] * 2
    assert kinds["graph_execution_traces"] == ["graph_execution_trace"] * 4


def test_an_event_without_a_time_gets_the_present(tmp_path):
    with FileSetWriter(tmp_path, "h", 5.9, clock=lambda: 77.0) as writer:
        writer.write("graphs", DebugEvent(graph_id="g"))
    (record,) = read_file(writer.files.path("graphs")).records
    assert record.event.wall_time == 77.0


def test_a_closed_writer_refuses_to_write(tmp_path):
    writer = FileSetWriter(tmp_path, "h", 5.0)
    writer.close()
    writer.close()
    with pytest.raises(ValueError):
        writer.write("graphs", DebugEvent(graph_id="g"))


def test_threads_do_not_tear_each_others_records(tmp_path):
    with FileSetWriter(tmp_path, "h", 5.0) as writer:

        def write(length: int) -> None:
            for _ in range(50):
                writer.write("graphs", DebugEvent(graph_id="x" * length))

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(write, range(100, 104)))
    contents = read_file(writer.files.path("graphs"))
    assert len(contents.records) == 200 and not contents.damages


def test_threads_that_need_a_file_at_the_same_time_create_it_once(tmp_path):
    opened, both = [], threading.Barrier(2)

    def opener(path):
        opened.append(path)
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.2)  # the other thread may come meanwhile
        return open(path, "ab")

    with FileSetWriter(tmp_path, "h", 5.0, suffixes=(), opener=opener) as writer:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda name: writer.write(EXECUTION, DebugEvent(graph_id=name)), "ab"))
    assert opened == [writer.files.path(EXECUTION).as_posix()]
    assert len(read_file(writer.files.path(EXECUTION)).records) == 2


def _payloads(*names: str) -> list[bytes]:
    return [DebugEvent(wall_time=1.0, graph_id=name).SerializeToString() for name in names]


def _names(contents):
    return [record.event.graph_id for record in contents.records]


@pytest.mark.parametrize("mode", TailMode)
def test_a_tail_continues_the_file_wherever_the_program_was_killed(tmp_path, mode):
    files = FileSet(tmp_path, 1, "h")
    payloads = _payloads("a", "b", "c")
    framed = b"".join(frame(payload) for payload in payloads)
    first = len(frame(payloads[0]))
    drained = build_tail(payloads[1:], mode=mode, file_size=first, capacity=256, tail=250)
    files.tail_path(EXECUTION).write_bytes(drained)
    for length in range(first, len(framed) + 1):
        files.path(EXECUTION).write_bytes(framed[:length])
        contents = read_with_tail(files, EXECUTION)
        assert _names(contents) == ["a", "b", "c"]
        assert contents.truncated_at is None and not contents.damages


def test_a_ring_comes_behind_all_of_the_file(tmp_path):
    files = FileSet(tmp_path, 1, "h")
    files.path(EXECUTION).write_bytes(b"".join(frame(p) for p in _payloads("a", "b")))
    size = files.path(EXECUTION).stat().st_size
    ring = build_tail(_payloads("c"), mode=TailMode.RING, file_size=size, capacity=64)
    files.tail_path(EXECUTION).write_bytes(ring)
    contents = read_with_tail(files, EXECUTION)
    assert _names(contents) == ["a", "b", "c"]
    assert contents.records[-1].offset is None


def test_a_bad_tail_file_is_named_and_the_file_still_read(tmp_path):
    files = FileSet(tmp_path, 1, "h")
    files.path(EXECUTION).write_bytes(frame(_payloads("a")[0]))
    files.tail_path(EXECUTION).write_bytes(b"nonsense" * 1000)
    contents = read_with_tail(files, EXECUTION)
    assert _names(contents) == ["a"]
    assert [damage.path for damage in contents.damages] == [files.tail_path(EXECUTION)]


def test_a_record_that_is_no_event_is_named_and_left_out(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(frame(_payloads("a")[0]) + frame(b"\xff\xff\xff") + frame(_payloads("b")[0]))
    contents = read_file(path)
    assert _names(contents) == ["a", "b"]
    assert len(contents.damages) == 1 and contents.damages[0].offset == len(frame(_payloads("a")[0]))
