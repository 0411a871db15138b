"""`index/dumps/python_rows.py`: files beside dumps that say where ops were made, and how long they ran."""

from __future__ import annotations

import duckdb
import pytest

from tb_debugger_plugin.events.dumps.names import CALL_TIMES, PYTHON_GRAPH, device_folder, parse_device_folder
from tb_debugger_plugin.events.dumps.python_graph import stacks
from tb_debugger_plugin.events.framing import RecordReader, frame
from tb_debugger_plugin.events.messages import DebugEvent
from tb_debugger_plugin.index import schema
from tb_debugger_plugin.index.describe import load_describer
from tb_debugger_plugin.index.dumps.python_rows import PythonRows
from tb_debugger_plugin.index.rows import HostRow
from tb_debugger_plugin.reading.dumps.dump_dir import DebugDumpDir
from tb_debugger_plugin.reading.run import open_run
from tests.support.dumps import CPU, DumpedCall, node, training

PATH, LINES = "/home/me/train.py", ["x = placeholder()", "step = x - call", "log = tf.math.log(step)"]


def _python_graph(*ops, frames=(("f1", 3),), with_source=True):
    """The bytes of a file: a source, frames by id and line, and ops by name with the ids of their frames."""
    events = []
    if with_source:
        events.append(DebugEvent())
        events[-1].source_file.file_path = PATH
        events[-1].source_file.lines.extend(LINES)
    for frame_id, line in frames:
        event = DebugEvent()
        event.stack_frame_with_id.id = frame_id
        place = event.stack_frame_with_id.file_line_col
        place.file_index, place.line, place.func, place.code = 0, line, "train", LINES[line - 1]
        events.append(event)
    for name, ids in ops:
        event = DebugEvent()
        event.graph_op_creation.op_name = name
        event.graph_op_creation.code_location.stack_frame_ids.extend(ids)
        events.append(event)
    return b"".join(frame(event.SerializeToString()) for event in events)


def _times(run, op_name="log"):
    events = [DebugEvent(), DebugEvent(wall_time=2.0)]
    events[0].session_run.session, events[0].session_run.run, events[0].session_run.begin_time = 1, run, 1.0
    times = events[1].op_times
    times.session, times.run, times.device_name = 1, run, CPU
    times.op_names.append(op_name)
    for values in (times.start_micros, times.op_start_micros, times.op_micros, times.all_micros):
        values.append(7)
    return b"".join(frame(event.SerializeToString()) for event in events)


@pytest.fixture
def root(tmp_path):
    training(tmp_path)
    (tmp_path / PYTHON_GRAPH).write_bytes(_python_graph(("log", ["f1"]), ("step", ["f1"])))
    return tmp_path


def test_ops_have_stacks_and_sources(root):
    with open_run(root) as run:
        (frame_,) = run.ops(name="^log$")[0].traceback()
        assert (frame_.path, frame_.line, frame_.code) == (PATH, 3, LINES[2])
        assert [(source.path, source.lines) for source in run.sources()] == [(PATH, LINES)]
        assert "train.py:3" in run.why().headline
    dump = DebugDumpDir(root)
    assert dump.node_traceback("log:0") == ((PATH, 3, "train", LINES[2]),)


def test_a_tensor_that_is_fed_has_the_stack_of_its_placeholder(tmp_path):
    (tmp_path / PYTHON_GRAPH).write_bytes(_python_graph(("scope/x", ["f1"]), frames=(("f1", 1),)))
    DumpedCall(tmp_path / "run_1000_0").graph({"_arg_scope/x_0_3": node("_Arg")})
    with open_run(tmp_path) as run:
        assert run.ops(name="_arg_")[0].traceback()[0].line == 1


def test_a_file_that_grows_is_read_from_where_it_ended(root):
    with open_run(root) as run:
        assert len(run.sources()) == 1
    with (root / PYTHON_GRAPH).open("ab") as file:
        file.write(_python_graph(("new", ["f2"]), frames=(("f2", 2),), with_source=False))
    DumpedCall(root / "run_1800000000000000_3").graph({"new": node("Neg")})
    with open_run(root) as run:
        assert [op.traceback()[0].line for op in run.ops(name="^new$")] == [2]
        assert len(run.sources()) == 1
        assert run.sql("SELECT count(*) FROM frames").fetchall() == [(2,)]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"no records at all, but some text", id="no records"),
        pytest.param(frame(b"\xff" * 20), id="a record that is no event"),
        pytest.param(_python_graph(("log", ["absent"]), frames=()), id="frames that are not there"),
    ],
)
def test_whatever_the_file_holds_the_dumps_are_shown(tmp_path, data):
    training(tmp_path)
    (tmp_path / PYTHON_GRAPH).write_bytes(data)
    with open_run(tmp_path) as run:
        assert len(run.graph_executions()) == 9 and run.status()["notices"] == []
        assert run.ops(name="^log$")[0].traceback() == []
    assert DebugDumpDir(tmp_path).nodes()


def test_whole_records_before_a_damaged_one_count(root):
    data = (root / PYTHON_GRAPH).read_bytes()
    (root / PYTHON_GRAPH).write_bytes(data[:-1])
    with open_run(root) as run:
        assert run.ops(name="^log$")[0].traceback() and not run.ops(name="^step$")[0].traceback()


def test_no_damage_of_a_record_keeps_the_tables_from_being_made(tmp_path):
    file = tmp_path / PYTHON_GRAPH
    payloads = [payload for _, payload in RecordReader(_python_graph(("log", ["f1"]), ("step", ["f1"])))]
    whole = [frame(payload) for payload in payloads]
    with duckdb.connect() as connection:
        schema.create_tables(connection)
        for number, payload in enumerate(payloads):
            for position in range(0, len(payload), 3):
                spoilt = bytearray(payload)
                spoilt[position] ^= 0xFF if position % 2 else 0x08
                file.write_bytes(b"".join([*whole[:number], frame(bytes(spoilt)), *whole[number + 1 :]]))
                describer = load_describer(connection, [HostRow(0, "localhost", "", 0.0)])
                rows = PythonRows(tmp_path, describer, 0)
                rows.update()
                with schema.transaction(connection):
                    describer.save(connection)
                assert rows.offset <= file.stat().st_size and isinstance(stacks(file), dict)


def test_the_times_of_a_call_are_read_once(tmp_path):
    call = DumpedCall(tmp_path / "call")
    call.graph({"log": node("Log")})
    (call.folder / CALL_TIMES).write_bytes(_times(4))
    times = "SELECT session, run, op_name, op_time FROM op_times"
    for _ in range(2):
        with open_run(tmp_path) as run:
            assert run.sql(times).fetchall() == [(1, 4, "log", 7)]
            assert run.sql("SELECT session, run FROM session_runs").fetchall() == [(1, 4)]


def test_the_name_of_the_folder_of_a_device_is_read_as_it_is_written():
    for device in (CPU, "/job:worker/replica:0/task:12/device:GPU:3"):
        assert parse_device_folder(device_folder(device)) == device
