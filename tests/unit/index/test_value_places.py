"""`index/value_places.py`: a record is found in the file, in the journal and in a ring."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.tail import TailMode
from tb_debugger_plugin.index.source import ring_position
from tb_debugger_plugin.index.value_places import RecordPlace, open_elements
from tests.support.events import Recording, whole
from tests.support.tails import build_tail

_FLOAT32 = 1


def _array(number):
    return np.arange(6, dtype=np.float32).reshape(2, 3) + number


@pytest.fixture
def recording(tmp_path):
    recording = Recording(tmp_path, mode=TensorDebugMode.FULL_TENSOR)
    recording.graph("g")
    yield recording
    recording.close()


def _trace(recording, number):
    return recording.trace_event("g", "op", whole(_array(number), _FLOAT32))


def _read(recording, suffix, position, slot=0):
    with open_elements(recording.files, RecordPlace(suffix, position, slot)) as elements:
        return elements.read(0, 6).reshape(elements.shape)


def test_a_trace_is_read_from_its_offset_in_the_file(recording):
    first, second = _trace(recording, 0), _trace(recording, 10)
    recording.writer.write(GRAPH_EXECUTION_TRACES, first, second)
    offset = 16 + len(first.SerializeToString())
    np.testing.assert_array_equal(_read(recording, GRAPH_EXECUTION_TRACES, 0), _array(0))
    np.testing.assert_array_equal(_read(recording, GRAPH_EXECUTION_TRACES, offset), _array(10))


def test_each_output_of_an_execution_is_read(recording):
    recording.execution("Two", [whole(_array(slot), _FLOAT32) for slot in range(3)])
    for slot in range(3):
        np.testing.assert_array_equal(_read(recording, EXECUTION, 0, slot), _array(slot))
    with pytest.raises(FormatError, match="holds no such tensor"):
        _read(recording, EXECUTION, 0, 3)


def _write_tail(recording, mode, events, **counters):
    payloads = [event.SerializeToString() for event in events]
    path = recording.files.tail_path(GRAPH_EXECUTION_TRACES)
    path.write_bytes(build_tail(payloads, mode=mode, capacity=4096, **counters))
    return [16 + len(payload) for payload in payloads]


def test_a_trace_is_read_from_the_journal_behind_the_file(recording):
    events = [_trace(recording, number) for number in range(3)]
    recording.writer.write(GRAPH_EXECUTION_TRACES, events[0])
    size = 16 + len(events[0].SerializeToString())
    lengths = _write_tail(recording, TailMode.JOURNAL, events[1:], file_size=size, tail=3000)
    np.testing.assert_array_equal(_read(recording, GRAPH_EXECUTION_TRACES, size), _array(1))
    np.testing.assert_array_equal(_read(recording, GRAPH_EXECUTION_TRACES, size + lengths[0]), _array(2))


def test_a_trace_is_read_from_a_ring_until_it_is_overwritten(recording):
    events = [_trace(recording, number) for number in range(3)]
    recording.writer.write(GRAPH_EXECUTION_TRACES, *[])
    lengths = _write_tail(recording, TailMode.RING, events, file_size=0, tail=4000)
    second = ring_position(4000 + lengths[0])
    np.testing.assert_array_equal(_read(recording, GRAPH_EXECUTION_TRACES, second), _array(1))
    _write_tail(recording, TailMode.RING, events[2:], file_size=0, tail=4000 + sum(lengths[:2]))
    with pytest.raises(FormatError, match="the circular buffer holds it no more"):
        _read(recording, GRAPH_EXECUTION_TRACES, second)


def _damage(path):
    content = bytearray(path.read_bytes())
    content[-6] ^= 1
    path.write_bytes(content)


def _cut(path):
    path.write_bytes(path.read_bytes()[:-9])


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        (_damage, FormatError, "the checksum of its record is wrong"),
        (_cut, FormatError, "its record is cut off"),
        (Path.unlink, FileNotFoundError, "No such file"),
    ],
    ids=["damaged", "cut", "gone"],
)
def test_a_file_that_has_changed_since_is_refused(recording, change, error, said):
    recording.writer.write(GRAPH_EXECUTION_TRACES, _trace(recording, 0))
    change(recording.files.path(GRAPH_EXECUTION_TRACES))
    with pytest.raises(error, match=said):
        _read(recording, GRAPH_EXECUTION_TRACES, 0)


def test_a_position_inside_a_record_is_refused(recording):
    recording.writer.write(GRAPH_EXECUTION_TRACES, _trace(recording, 0))
    with pytest.raises(FormatError, match="the checksum of a record's length is wrong"):
        _read(recording, GRAPH_EXECUTION_TRACES, 5)
