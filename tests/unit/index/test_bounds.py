"""`index/bounds.py`: unusually long records are cut and keep their meaning."""

from __future__ import annotations

import pytest

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events import framing
from tb_debugger_plugin.events.framing import EndKind, frame, read_records
from tb_debugger_plugin.events.messages import BriefEvent, DebugEvent
from tb_debugger_plugin.index import bounds
from tb_debugger_plugin.index.bounds import bounded_text, location_of, output_of, parse_bounded, parse_brief
from tb_debugger_plugin.index.describe import Describer
from tb_debugger_plugin.index.registry import Registry
from tests.support.events import Recording, full_health, snapshot_of

_LONG = "x" * 200_000


def test_a_text_is_cut_and_stays_different_from_others():
    cut = bounded_text(_LONG)
    assert len(cut) <= bounds.MAX_TEXT and "200000 characters" in cut
    assert bounded_text(_LONG) == cut != bounded_text("x" * 199_999 + "y")
    assert bounded_text("x" * bounds.MAX_TEXT) == "x" * bounds.MAX_TEXT


def test_a_record_of_usual_length_is_left_as_it_is():
    event = DebugEvent()
    event.source_file.lines.extend(["x" * 9000])
    assert parse_bounded(event.SerializeToString()) == event


def test_texts_and_lists_anywhere_in_a_long_record_are_cut(monkeypatch):
    monkeypatch.setattr(bounds, "MAX_ENTRIES", 10)
    event = DebugEvent()
    op = event.graph_op_creation
    op.op_name = _LONG
    op.input_names.extend([_LONG, *("a" for _ in range(20))])
    op.output_tensor_ids.extend(range(20))
    op.code_location.stack_frame_ids.extend([_LONG] * 20)
    actual = parse_bounded(event.SerializeToString()).graph_op_creation
    assert actual.op_name == actual.input_names[0] == actual.code_location.stack_frame_ids[9]
    assert len(actual.op_name) <= bounds.MAX_TEXT
    assert actual.output_tensor_ids == list(range(10)) and len(actual.input_names) == 10


@pytest.mark.parametrize("filler", ["x", _LONG], ids=["short", "long"])
def test_a_brief_event_keeps_an_ops_stack_and_outputs_as_the_bytes_of_whole_ones(filler):
    event = DebugEvent(wall_time=2.0)
    op = event.graph_op_creation
    op.op_name = "y"
    op.device_name = filler
    op.code_location.stack_frame_ids.extend(["a", filler])
    op.outputs.add(dtype=1, dims=[2, -1], gradient_of=["w"])
    op.outputs.add(unknown_rank=True)
    payload = event.SerializeToString()
    actual, expected = parse_brief(payload), parse_bounded(payload)
    assert (actual.wall_time, actual.graph_op_creation.op_name) == (2.0, "y")
    assert location_of(actual.graph_op_creation.code_location) == expected.graph_op_creation.code_location
    assert [*map(output_of, actual.graph_op_creation.outputs)] == [*expected.graph_op_creation.outputs]


@pytest.mark.parametrize("field", ["code_location", "outputs"])
def test_a_brief_event_is_refused_where_a_whole_one_is(field):
    op = BriefEvent().graph_op_creation
    if field == "outputs":
        op.outputs.append(b"\xff")
    else:
        op.code_location = b"\xff"
    payload = BriefEvent(graph_op_creation=op).SerializeToString()
    for parse in (parse_bounded, parse_brief):
        with pytest.raises(FormatError, match="a record is not a DebugEvent"):
            parse(payload)


def test_an_op_has_no_more_outputs_than_a_list_has_entries():
    # Answers that count through the outputs would take hours.
    op = BriefEvent().graph_op_creation
    op.op_name, op.num_outputs = "y", 2**31 - 1
    describer = Describer(Registry(), [])
    describer.add(0, BriefEvent(graph_op_creation=op))
    assert describer.registry.ops.rows[0].num_outputs == bounds.MAX_ENTRIES


def test_a_recorded_tensor_is_not_cut_and_a_graph_is_kept_without_its_definition(monkeypatch):
    monkeypatch.setattr(bounds, "MAX_ENTRIES", 10)
    event = DebugEvent()
    event.graph_execution_trace.tensor_proto.float_val.extend([1.0] * 50_000)
    assert parse_bounded(event.SerializeToString()) == event
    event = DebugEvent()
    event.debugged_graph.graph_id, event.debugged_graph.original_graph_def = "g", _LONG.encode()
    actual = parse_bounded(event.SerializeToString())
    assert actual.debugged_graph.graph_id == "g" and not actual.debugged_graph.original_graph_def


def test_ids_that_were_cut_still_refer_to_each_other(tmp_path):
    recording = Recording(tmp_path)
    recording.graph(_LONG, "long")
    recording.op(_LONG, _LONG, "Log")
    recording.trace(_LONG, _LONG, full_health([1.0]))
    with snapshot_of(recording.close()) as snapshot:
        ((graph, op, kind),) = snapshot.rows(
            "SELECT g.name, o.name, o.type FROM graph_executions JOIN sites USING (site)"
            " JOIN ops o USING (op) JOIN graphs g ON g.graph = o.graph"
        )
    assert (graph, kind) == ("long", "Log") and len(op) <= bounds.MAX_TEXT


def test_a_record_that_is_too_long_is_passed_over(monkeypatch):
    monkeypatch.setattr(framing, "MAX_PAYLOAD", 100)
    records, (first, last) = read_records(frame(b"a") + frame(b"b" * 101) + frame(b"c"))
    assert [payload for _, payload in records] == [b"a", b"c"]
    assert (first.kind, first.offset, last.kind) == (EndKind.CORRUPT, 17, EndKind.CLEAN)
    assert "a record of 101 bytes" in first.reason
    _, (end,) = read_records(frame(b"b" * 101)[:-1])
    assert end.kind is EndKind.TRUNCATED


def test_a_file_that_is_damaged_at_every_other_record_is_read_and_says_so_a_few_times(tmp_path):
    recording = Recording(tmp_path)
    for suffix, make in (
        ("execution", lambda: recording.execution_event("Op")),
        ("graph_execution_traces", lambda: recording.trace_event("g", "op", full_health([1.0]))),
    ):
        whole = [frame(make().SerializeToString()) for _ in range(1000)]
        spoiled = [content[:-1] + bytes([content[-1] ^ 1]) for content in whole]
        pairs = [bytes(part) for pair in zip(whole, spoiled, strict=True) for part in pair]
        recording.files.path(suffix).write_bytes(b"".join(pairs))
    with snapshot_of(recording.close()) as snapshot:
        assert (snapshot.num_executions, snapshot.num_graph_executions) == (1000, 1000)
        ((notices,),) = snapshot.rows("SELECT count(*) FROM notices")
    assert 0 < notices < 100
