"""`index/traces.py`: the fast readers of traces and executions give what slow, obvious twins give."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tb_debugger_plugin.events.framing import RecordReader, frame
from tb_debugger_plugin.events.messages import DebugEvent
from tb_debugger_plugin.events.modes import SUMMARY_COLUMNS, TensorDebugMode
from tb_debugger_plugin.events.wire import varint
from tb_debugger_plugin.index.executions import ExecutionDecoder, parse_executions
from tb_debugger_plugin.index.frames import FrameReader, RecordFrames, load_library
from tb_debugger_plugin.index.registry import Registry
from tb_debugger_plugin.index.templates import MAX_TEMPLATES
from tb_debugger_plugin.index.traces import TraceDecoder, parse_traces
from tests.support.events import vector, whole

_SETTINGS = settings(suppress_health_check=[HealthCheck.too_slow])
_PAYLOADS = st.lists(st.binary(max_size=40), max_size=12)


@pytest.fixture(scope="module", params=["compiled", "python"], autouse=True)
def _walker(request):
    """Every test runs with the compiled library, where it was built, and without."""
    if request.param == "compiled" and load_library() is None:
        pytest.skip("the library was not compiled")
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "python":
            for module in ("frames", "templates", "executions"):
                patch.setattr(f"tb_debugger_plugin.index.{module}.load_library", lambda: None)
        yield


def _read(kind, content: bytes, offset: int, limit: int | None):
    """Records and ends, skipping what is damaged, as the index does."""
    records, ends = [], []
    at: int | None = offset
    while at is not None:
        reader = kind(content, at, limit)
        for item in reader:
            if isinstance(item, RecordFrames):
                places = zip(item.offsets.tolist(), item.ends.tolist(), strict=True)
                records += [(begin, end, item.payload(row)) for row, (begin, end) in enumerate(places)]
            else:
                records.append((item[0], item[0] + len(item[1]) + 16, item[1]))
        ends.append(reader.end)
        at = reader.end.skip_to
    return records, ends


@given(_PAYLOADS, st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 7)), max_size=3), st.data())
@_SETTINGS
def test_many_records_at_once_are_those_that_are_read_one_by_one(payloads, flips, data):
    content = bytearray(b"".join(map(frame, payloads)))
    for place, bit in flips if content else ():
        content[place % len(content)] ^= 1 << bit
    content = content[: data.draw(st.integers(0, len(content)))]
    limit = data.draw(st.one_of(st.none(), st.integers(0, len(content) + 5)))
    assert _read(FrameReader, bytes(content), 0, limit) == _read(RecordReader, bytes(content), 0, limit)


@given(st.binary(max_size=200), st.integers(0, 50))
@_SETTINGS
def test_no_bytes_are_taken_for_records_by_one_reader_only(content, offset):
    offset = min(offset, len(content))
    assert _read(FrameReader, content, offset, None) == _read(RecordReader, content, offset, None)


def test_a_record_longer_than_what_is_read_at_once_is_read_whole(monkeypatch):
    monkeypatch.setattr("tb_debugger_plugin.index.frames._SLACK", 16)
    content = frame(b"a" * 1000) + frame(b"b") + frame(b"c" * 2000)
    for limit in (1, 20, 1016, 1020, None):
        assert _read(FrameReader, content, 0, limit) == _read(RecordReader, content, 0, limit)


_MODES = sorted(SUMMARY_COLUMNS)
_NUMBER = st.one_of(st.integers(-2, 9).map(float), st.floats(width=64))


def _with_step(payload: bytes, step: int) -> bytes:
    """An event that begins with its time, with a step as our recorder writes it: a varint of five bytes."""
    digits = [step >> 7 * place & 0x7F | (0x80 if place < 4 else 0) for place in range(5)]
    return payload[:9] + b"\x10" + bytes(digits) + payload[9:] if payload[:1] == b"\t" else payload


_ID = st.one_of(st.integers(-1, 300), st.sampled_from([2**31, 2**63 - 1, -(2**63)]))
_STEP = st.one_of(st.integers(0, 300), st.integers(0, 2**35 - 1), st.just(2**31 - 1))


@st.composite
def _stamped(draw, payloads: st.SearchStrategy[bytes]) -> bytes:
    return _with_step(draw(payloads), draw(_STEP))


@st.composite
def _trace(draw) -> bytes:
    event = DebugEvent(wall_time=draw(st.floats(width=64)))
    if draw(st.integers(0, 9)) == 0:
        event.step = draw(st.one_of(_STEP, _ID))
    if draw(st.integers(0, 9)) == 0:
        event.debugged_device.device_name = "not a trace"
        return event.SerializeToString()
    trace = event.graph_execution_trace
    trace.tfdbg_context_id = draw(st.sampled_from(["g1", "g2"]))
    trace.op_name = draw(st.sampled_from(["a", "b", "cc", "0123456789"]))
    trace.output_slot = draw(st.integers(0, 2))
    trace.device_name = draw(st.sampled_from(["", "CPU", "GPU:0"]))
    trace.tensor_debug_mode = draw(st.sampled_from([*_MODES, 1, 7, 99]))
    mode = trace.tensor_debug_mode
    if mode in SUMMARY_COLUMNS:
        size = len(SUMMARY_COLUMNS[TensorDebugMode(mode)])
        numbers = draw(st.lists(_NUMBER, min_size=size, max_size=size))
        trace.tensor_proto.CopyFrom(vector(numbers))
        if draw(st.integers(0, 9)) == 0:
            trace.tensor_proto.double_val.append(1.0)
    elif mode == 7 and draw(st.booleans()):
        trace.tensor_proto.CopyFrom(whole(np.array(draw(st.lists(_NUMBER, max_size=3)), "<f8"), 2))
    elif mode == 7:
        trace.tensor_proto.CopyFrom(draw(_left_out()))
    return event.SerializeToString()


@st.composite
def _left_out(draw):
    """A summary in place of a tensor that is not kept."""
    mode = draw(st.sampled_from(_MODES))
    size = len(SUMMARY_COLUMNS[TensorDebugMode(mode)])
    proto = vector(draw(st.lists(_NUMBER, min_size=size, max_size=size)))
    proto.summary_mode = mode
    proto.left_out_bytes = draw(st.integers(0, 1 << 40))
    return proto


@st.composite
def _mutated(draw, payloads: st.SearchStrategy[bytes]) -> bytes:
    payload = bytearray(draw(payloads))
    for place in draw(st.lists(st.integers(0, 1 << 12), max_size=2)):
        payload[place % len(payload)] = draw(st.integers(0, 255))
    return bytes(payload)


_TRACES = st.one_of(_trace(), _stamped(_trace()))
_RECORDS = st.lists(st.one_of(_TRACES, _TRACES, _mutated(_TRACES), st.binary(max_size=12)), max_size=25)


def _frames(payloads: list[bytes]) -> list[RecordFrames]:
    return list(FrameReader(b"".join(map(frame, payloads)) + b"behind"))


def _place(rows, row: int) -> tuple[float, int, int]:
    return rows.times[row].item(), rows.offsets[row].item(), rows.ends[row].item()


def _fields(registry: Registry, columns, row: int) -> dict[str, object]:
    """One row of some columns, in which shapes are words and numbers that are not measured are left out."""
    fields = {name: values[row].item() for name, values in sorted(columns.items())}
    if "shape" in fields and fields["shape"] >= 0:
        fields["shape"] = registry.shapes.rows[fields["shape"]]
    return {name: value for name, value in fields.items() if value == value}


def _told(registry: Registry, rows) -> list[str]:
    """The rows in words, with the places and shapes that their numbers stand for."""
    ops, graphs = registry.ops.rows, registry.graphs.rows
    told = []
    for row in range(len(rows)):
        fields = _fields(registry, rows.columns, row)
        op, graph, host, slot, device = registry.sites.rows[fields.pop("site")]
        told.append(
            repr((_place(rows, row), ops[op].name, graphs[graph].graph_id, host, slot, device, fields))
        )
    return told


@given(_RECORDS, st.integers(1, 4))
@_SETTINGS
def test_traces_decoded_at_once_are_those_that_are_parsed_one_by_one(payloads, rounds):
    _check(payloads, rounds, TraceDecoder, parse_traces, _told)


def _check(payloads, rounds, kind, parse, told) -> tuple[Registry, Registry]:
    """Decode records and parse them one by one; returns what was registered in both ways."""
    fast, slow = Registry(), Registry()
    decoder = kind(fast, host=3)
    for _ in range(rounds):  # first everything is new, then everything is known
        for frames in _frames(payloads):
            rows, unreadable = decoder.decode(frames)
            expected, refused = parse(frames, np.arange(len(frames.starts)), slow, 3)
            assert told(fast, rows) == told(slow, expected)
            assert unreadable == refused
    return fast, slow


_TEXT = st.sampled_from(["", "Log", "__inference_f_1", "ä", "0123456789abcdef0"])
_SMALL = st.one_of(st.integers(-1, 300), st.sampled_from([2**31 - 1, -(2**31)]))


@st.composite
def _execution(draw) -> bytes:
    event = DebugEvent(wall_time=draw(st.floats(width=64)))
    if draw(st.integers(0, 9)) == 0:
        event.step = draw(st.one_of(_STEP, _ID))
    if draw(st.integers(0, 9)) == 0:
        event.debugged_device.device_name = "not an execution"
        return event.SerializeToString()
    execution = event.execution
    execution.SetInParent()
    execution.op_type, execution.graph_id = draw(_TEXT), draw(_TEXT)
    execution.num_outputs, execution.thread_id = draw(_SMALL), draw(_SMALL)
    execution.input_tensor_ids.extend(draw(st.lists(_ID, max_size=4)))
    execution.output_tensor_ids.extend(draw(st.lists(_ID, max_size=3)))
    execution.output_tensor_device_ids.extend(draw(st.lists(_SMALL, max_size=3)))
    execution.code_location.host_name = draw(_TEXT)
    execution.code_location.stack_frame_ids.extend(draw(st.lists(_TEXT, max_size=3)))
    execution.tensor_debug_mode = mode = draw(st.sampled_from([*_MODES, 1, 7, 99]))
    for _ in range(draw(st.integers(0, 3))):
        proto = execution.tensor_protos.add()
        if draw(st.booleans()):
            size = len(SUMMARY_COLUMNS.get(mode, "ab")) + (draw(st.integers(0, 9)) == 0)
            proto.CopyFrom(vector(draw(st.lists(_NUMBER, min_size=size, max_size=size))))
        elif mode == 7:
            proto.CopyFrom(draw(_left_out()))
    return event.SerializeToString()


@st.composite
def _changed_execution(draw) -> bytes:
    # Fields that come again, which protobuf merges.
    return draw(_mutated(_execution())) + (draw(_execution()) if draw(st.integers(0, 4)) == 0 else b"")


@st.composite
def _reordered_execution(draw) -> bytes:
    """The recorder writes what it knows of an op first, and then what is new in each execution."""
    event = DebugEvent.FromString(draw(_execution()))
    parts = []
    for field, _ in event.execution.ListFields():
        alone = type(event.execution)()
        alone.CopyFrom(event.execution)
        for other, _ in event.execution.ListFields():
            if other is not field:
                alone.ClearField(other.name)
        parts.append(alone.SerializeToString())
    again = draw(st.integers(0, 9)) == 0
    content = b"".join(draw(st.permutations(parts + parts[:again])))
    time = DebugEvent(wall_time=event.wall_time or 1.0).SerializeToString()
    return time + b"\x4a" + varint(len(content)) + content


def _told_executions(registry: Registry, rows) -> list[str]:
    """The executions in words, with what their numbers stand for, and their inputs and outputs."""
    ends = {name: slots.counts.cumsum() for name, slots in rows.slots.items()}
    told = []
    for row in range(len(rows)):
        fields = _fields(registry, rows.columns, row)
        fields["op_type"] = registry.op_types.rows[fields["op_type"]]
        for name, table in (("graph", registry.graphs), ("stack", registry.stacks)):
            fields[name] = table.rows[fields[name]] if fields[name] >= 0 else None
        slots = {
            name: [
                _fields(registry, of_rows.columns, slot)
                for slot in range(ends[name][row] - of_rows.counts[row], ends[name][row])
            ]
            for name, of_rows in rows.slots.items()
        }
        told.append(repr((_place(rows, row), fields, slots)))
    return told


_PLAIN = st.one_of(_execution(), _changed_execution(), _reordered_execution())
_EXECUTIONS = st.lists(st.one_of(_PLAIN, _stamped(_PLAIN)), max_size=12)


@given(_EXECUTIONS, st.integers(1, 3))
@_SETTINGS
def test_executions_decoded_at_once_are_those_that_are_parsed_one_by_one(payloads, rounds):
    both = _check(payloads, rounds, ExecutionDecoder, parse_executions, _told_executions)
    tables = ("op_types", "graphs", "stacks", "shapes")
    fast, slow = ([set(getattr(registry, name).rows) for name in tables] for registry in both)
    assert fast == slow


def test_executions_as_recorders_write_them_are_not_parsed(monkeypatch):
    decoder = ExecutionDecoder(Registry(), host=0)
    if decoder._library is None:
        pytest.skip("this test is about the compiled library")
    event = DebugEvent(wall_time=1.0)
    execution = event.execution
    execution.op_type, execution.num_outputs, execution.thread_id = "__inference_f_1", 2, 7
    execution.graph_id = "g"
    execution.input_tensor_ids.extend([1, 300])
    execution.output_tensor_ids.extend([2, 301])
    execution.output_tensor_device_ids.extend([0, 0])
    execution.code_location.host_name = "host"
    execution.code_location.stack_frame_ids.extend(["a", "b"])
    execution.tensor_debug_mode = TensorDebugMode.CURT_HEALTH
    for value in (0.0, 1.0):
        execution.tensor_protos.add().CopyFrom(vector([7.0, value]))
    monkeypatch.setattr("tb_debugger_plugin.index.records.parse_bounded", None)
    payload = event.SerializeToString()
    (frames,) = _frames([payload, _with_step(payload, 1000)])
    rows, unreadable = decoder.decode(frames)
    assert (len(rows), unreadable) == (2, [])
    assert rows.slots["outputs"].columns["health"].tolist() == [1, 2] * 2
    assert rows.columns["step"].tolist() == [0, 1000]


def _payload(op_name: str, value: float) -> bytes:
    event = DebugEvent(wall_time=value)
    trace = event.graph_execution_trace
    trace.op_name, trace.tensor_debug_mode = op_name, TensorDebugMode.CURT_HEALTH
    trace.tensor_proto.CopyFrom(vector([value, 0.0]))
    return event.SerializeToString()


def test_records_of_a_known_op_are_not_parsed(monkeypatch):
    decoder = TraceDecoder(Registry(), host=0)
    payloads = [_payload(f"op{n % 7}", float(n)) for n in range(1, 200)]
    payloads += [_with_step(payload, n) for n, payload in enumerate(payloads)]
    for frames in _frames(payloads):
        decoder.decode(frames)
    parsed: list[bytes] = []

    def parse(payload: bytes):
        parsed.append(payload)
        return DebugEvent.FromString(payload)

    monkeypatch.setattr("tb_debugger_plugin.index.templates.parse_event", parse)
    (rows,) = [rows for frames in _frames(payloads) for rows, _ in [decoder.decode(frames)]]
    assert rows.times.tolist() == [float(n) for n in range(1, 200)] * 2
    assert rows.columns["step"].tolist() == [0] * 199 + list(range(199))
    assert not parsed


@pytest.mark.parametrize("limit", [0, 3, MAX_TEMPLATES])
def test_a_log_in_which_every_record_is_another_ops_is_read_too(monkeypatch, limit):
    monkeypatch.setattr("tb_debugger_plugin.index.templates.MAX_TEMPLATES", limit)
    registry = Registry()
    decoder = TraceDecoder(registry, host=0)
    payloads = [_payload(f"op{n:04}", float(n)) for n in range(1, 100)]
    (frames,) = _frames(payloads)
    rows, _ = decoder.decode(frames)
    names = [registry.ops.rows[registry.sites.rows[site].op].name for site in rows.columns["site"].tolist()]
    assert names == [f"op{n:04}" for n in range(1, 100)]
