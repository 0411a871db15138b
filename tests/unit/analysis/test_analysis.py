"""`analysis`: queries on the tables of a recording."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tb_debugger_plugin.analysis.alerts import alerts
from tb_debugger_plugin.analysis.alerts.alert_rules import NAN_OR_INFINITY
from tb_debugger_plugin.analysis.calls import call_health
from tb_debugger_plugin.analysis.graph import graphs
from tb_debugger_plugin.analysis.lists import executions, graph_executions, tables
from tb_debugger_plugin.analysis.origins import origins
from tb_debugger_plugin.analysis.snapshot import Range, resolve_range
from tb_debugger_plugin.analysis.source import sources
from tb_debugger_plugin.analysis.status import status
from tb_debugger_plugin.errors import BadQueryError, NotFoundError
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.tail import TailMode
from tests.support.events import Recording, full_health, small_program, snapshot_of, vector
from tests.support.tails import build_tail

BAD = full_health([math.nan])
GOOD = full_health([1.0])


def _alerts(snapshot):
    listed = alerts.alert_list(snapshot)
    return alerts.page(snapshot, listed, Range(0, len(listed)))


def test_alerts_come_in_the_order_of_time_eager_and_graph_together(tmp_path):
    recording = small_program(tmp_path, steps=1)
    recording.execution("Sqrt", [GOOD, BAD], ids=[5, 6])
    recording.trace("g1", "Log", BAD)
    with snapshot_of(recording.close()) as snapshot:
        rows = _alerts(snapshot)
    assert [(a["op_type"], a["op_name"]) for a in rows] == [
        ("Log", "Log"),
        ("Mul", "mul"),
        ("Mean", "Mean"),
        ("__inference_loss_7", None),
        ("Sqrt", None),
        ("Log", "Log"),
    ]
    assert rows[0]["num_neg_inf"] == 1 and rows[0]["graph_name"] == "loss"
    assert (rows[0]["owner_execution_index"], rows[-1]["owner_execution_index"]) == (1, None)
    assert (rows[4]["execution_index"], rows[4]["output_slot"]) == (2, 1)


def _first_cause(snapshot):
    listed = alerts.alert_list(snapshot)
    cause = listed.first_cause(snapshot)
    return alerts.page(snapshot, listed, Range(cause, cause + 1))[0]


def test_the_first_cause_is_named_also_when_it_was_recorded_late(tmp_path):
    recording = small_program(tmp_path, steps=0)
    for name, value in (("x", GOOD), ("Mean", BAD), ("mul", BAD), ("Log", BAD)):
        recording.trace("g1", name, value)
    recording.execution("__inference_loss_7", [BAD], graph_id="g1")
    with snapshot_of(recording.close()) as snapshot:
        assert [a["op_name"] for a in _alerts(snapshot)] == ["Mean", "mul", "Log", None]
        assert alerts.alert_list(snapshot).first_cause(snapshot) == 2


def test_what_was_bad_in_an_earlier_call_is_no_excuse(tmp_path):
    recording = small_program(tmp_path, steps=0)
    for step in (GOOD, BAD):
        for name in ("x", "Log", "mul"):
            recording.trace("g1", name, step)
        recording.execution("__inference_loss_7", [step], graph_id="g1")
    with snapshot_of(recording.close()) as snapshot:
        assert _first_cause(snapshot)["op_name"] == "x"
        assert _first_cause(snapshot)["owner_execution_index"] == 1


def test_an_eager_alert_that_came_first_is_the_first_cause(tmp_path):
    recording = small_program(tmp_path, steps=0)
    recording.execution("Log", [BAD])
    recording.trace("g1", "Mean", BAD)
    recording.trace("g1", "Log", BAD)
    with snapshot_of(recording.close()) as snapshot:
        assert [a["execution_index"] for a in _alerts(snapshot)] == [0, None, None]
        assert alerts.alert_list(snapshot).first_cause(snapshot) == 0


def _masked_program(folder):
    """``Log(x)`` and a mask that the program wrote: ``masked = Add(x, mask)``."""
    recording = small_program(folder, steps=0)
    recording.op("g1", "mask", "Const", ids=[20])
    recording.op("g1", "masked", "AddV2", ["x:0", "mask:0"], ids=[21])
    recording.op("g1", "softmax", "Softmax", ["masked:0"], ids=[22])
    recording.trace("g1", "mask", full_health(-math.inf))
    return recording


def test_a_mask_that_the_program_wrote_is_not_the_first_cause(tmp_path):
    recording = _masked_program(tmp_path)
    recording.trace("g1", "x", GOOD)
    recording.trace("g1", "masked", full_health(-math.inf))
    recording.trace("g1", "Log", full_health(-math.inf))
    with snapshot_of(recording.close()) as snapshot:
        assert alerts.alert_list(snapshot).first_cause(snapshot) == 2
        assert _first_cause(snapshot)["op_name"] == "Log"


def test_where_a_mask_explains_a_call_the_call_of_the_first_nan_has_the_cause(tmp_path):
    recording = _masked_program(tmp_path)
    for step in range(200):
        recording.trace("g1", "x", GOOD)
        recording.trace("g1", "masked", full_health(-math.inf))
        if step == 150:
            recording.trace("g1", "softmax", BAD)
        recording.execution("__inference_loss_7", [BAD if step == 150 else GOOD], graph_id="g1")
    with snapshot_of(recording.close()) as snapshot:
        assert alerts.alert_list(snapshot).first_cause(snapshot) == 152
        assert _first_cause(snapshot)["op_name"] == "softmax"


def test_a_mask_alone_is_no_cause(tmp_path):
    recording = _masked_program(tmp_path)
    recording.trace("g1", "masked", full_health(-math.inf))
    with snapshot_of(recording.close()) as snapshot:
        assert alerts.alert_list(snapshot).first_cause(snapshot) is None


def test_a_trace_belongs_to_the_first_call_that_returned_after_it(tmp_path):
    recording = small_program(tmp_path, steps=3)
    recording.trace("g1", "x", GOOD)
    with snapshot_of(recording.close()) as snapshot:
        page = graph_executions.data(snapshot, Range(0, 13))
        assert [t["owner_execution_index"] for t in page] == [*[1] * 4, *[3] * 4, *[5] * 4, None]
        assert graph_executions.locate_execution(snapshot, 3)["graph_execution_begin"] == 4
        assert graph_executions.locate_execution(snapshot, 3)["graph_execution_end"] == 8
        assert graph_executions.locate_execution(snapshot, 2)["graph_execution_begin"] is None
        assert graph_executions.locate_graph_execution(snapshot, 5) == {
            "execution_index": 3,
            "graph_execution_begin": None,
            "graph_execution_end": None,
            "bad_before": 3,
            "before": 5,
        }
        assert call_health.call_health(snapshot).tolist() == [0, 2, 0, 2, 0, 2]


def _owner(recording):
    """The position of the call that the only trace belongs to."""
    with snapshot_of(recording.close()) as snapshot:
        return graph_executions.data(snapshot, Range(0, 1))[0]["owner_execution_index"]


def test_with_several_threads_the_call_of_the_traces_own_graph_is_preferred(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("outer")
    recording.graph("f", "f", "outer")
    recording.graph("body", "while_body", "f")
    recording.graph("g", "g", "outer")
    recording.trace("body", "a", GOOD)
    recording.execution("__inference_g_1", graph_id="g")
    recording.execution("__inference_f_1", graph_id="f")
    assert _owner(recording) == 1


def test_a_call_whose_graph_is_not_known_may_own_any_trace(tmp_path):
    recording = small_program(tmp_path, steps=0)
    recording.trace("g1", "x", GOOD)
    recording.execution("Add")
    recording.execution("__forward_loss_3")
    recording.execution("__inference_loss_7", graph_id="g1")
    assert _owner(recording) == 1


def test_a_forward_call_does_not_own_what_a_backward_graph_computed(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("f", "model")
    recording.graph("b", "__backward_layer_1", "f")
    recording.graph("bb", "__backward_model_1")
    recording.trace("b", "x", GOOD)
    recording.execution("__inference___backward_model_1", graph_id="bb")
    recording.execution("__forward_model_3", graph_id="f")
    assert _owner(recording) == 0


def test_an_op_shows_its_neighbours_with_the_health_of_the_same_step(tmp_path):
    recording = small_program(tmp_path, steps=0)
    for values in ((GOOD, GOOD, GOOD), (GOOD, BAD, BAD), (BAD, BAD, BAD)):
        for name, value in zip(("x", "Log", "mul"), values, strict=True):
            recording.trace("g1", name, value)
    with snapshot_of(recording.close()) as snapshot:
        info = graphs.op_info(snapshot, "g1", "Log", at=4)
        assert (info["op_type"], info["graph_name"], info["graph_ids"]) == ("Log", "loss", ["g0", "g1"])
        assert info["output_tensor_ids"] == [11] and info["stack_frame_ids"] == ["f1", "f2"]
        assert info["outputs"][0]["health"]["graph_execution_index"] == 4
        assert info["outputs"][0]["dtype"] == "float32" and info["outputs"][0]["shape"] == [2, None]
        (source,) = info["inputs"]
        assert (source["op_name"], source["output_slot"]) == ("x", 0)
        assert source["data"]["outputs"][0]["health"]["graph_execution_index"] == 3
        ((consumer,),) = info["consumers"]
        assert (consumer["op_name"], consumer["input_slot"]) == ("mul", 1)
        assert consumer["data"]["outputs"][0]["health"]["graph_execution_index"] == 5
        assert graphs.op_info(snapshot, "g1", "Log")["outputs"][0]["health"]["graph_execution_index"] == 7
        assert graphs.op_info(snapshot, "g1", "Mean")["outputs"][0]["health"] is None


def test_an_op_comes_with_its_frames_and_the_names_of_the_graphs_around_it(small_run):
    with snapshot_of(small_run) as snapshot:
        info = graphs.op_info(snapshot, "g1", "Log")
        assert info["stack_frame_ids"] == ["f1", "f2"]
        assert info["frames"] == sources.stack_frames(snapshot, ["f1", "f2"])
        assert info["graph_names"] == [
            graphs.graph_info(snapshot, each)["name"] for each in info["graph_ids"]
        ]


def test_an_op_with_a_frame_that_is_not_on_record_comes_without_frames(tmp_path):
    recording = small_program(tmp_path, steps=0)
    recording.op("g1", "lost", "Log", stack=["f1", "nope"])
    recording.op("g1", "bare", "Log")
    with snapshot_of(recording.close()) as snapshot:
        assert graphs.op_info(snapshot, "g1", "lost")["frames"] is None
        assert graphs.op_info(snapshot, "g1", "bare")["frames"] == {"stack_frames": [], "details": []}
        assert graphs.op_info(snapshot, "g1", "Log")["frames"] is not None


def test_neighbours_name_their_own_inputs_and_consumers(tmp_path):
    with snapshot_of(small_program(tmp_path, steps=1).close()) as snapshot:
        info = graphs.op_info(snapshot, "g1", "Log")
        source, consumer = info["inputs"][0]["data"], info["consumers"][0][0]["data"]
        assert source["inputs"] == []
        assert source["consumers"] == [
            [{"op_name": "Log", "input_slot": 0}, {"op_name": "mul", "input_slot": 0}]
        ]
        assert consumer["inputs"] == [
            {"op_name": "x", "output_slot": 0},
            {"op_name": "Log", "output_slot": 0},
        ]
        assert consumer["consumers"] == [[{"op_name": "Mean", "input_slot": 0}]]
        assert graphs.op_info(snapshot, "g1", "mul")["consumers"][0][0]["data"]["consumers"] == [[]]


def test_so_many_neighbours_of_neighbours_are_named_and_no_more(tmp_path, monkeypatch):
    recording = Recording(tmp_path)
    recording.op("g", "a", "A")
    for number in range(20):
        recording.op("g", f"b{number}", "B", ["a:0"] * 10)
    recording.op("g", "c", "C", ["a:0"] * 5)
    recording.close()
    monkeypatch.setattr(graphs, "MAX_NAMED", 450)
    with snapshot_of(tmp_path) as snapshot:
        named = [edge["data"] for edge in graphs.op_info(snapshot, "g", "c")["inputs"]]
        assert [len(data["consumers"][0]) for data in named if "consumers" in data] == [205, 205]
        assert len(named) == 5 and all(data["op_type"] == "A" for data in named)


def test_the_inputs_of_a_trace_are_the_nearest_earlier_ones(tmp_path):
    with snapshot_of(small_program(tmp_path, steps=2).close()) as snapshot:
        inputs = graphs.inputs_of(snapshot, 6)
        assert [(i["op_name"], i["graph_execution_index"]) for i in inputs] == [("x", 4), ("Log", 5)]
        assert [i["health"]["bad"] for i in inputs] == [False, True]
        assert graphs.inputs_of(snapshot, 0) == []


def test_an_input_that_was_never_recorded_is_there_without_health(tmp_path):
    recording = small_program(tmp_path, steps=0)
    recording.trace("g1", "mul", BAD)
    recording.trace("g1", "x", GOOD)
    with snapshot_of(recording.close()) as snapshot:
        for node in graphs.inputs_of(snapshot, 0):
            assert (node["graph_execution_index"], node["health"]) == (None, None)


def test_a_neighbour_that_nobody_described_has_no_data(tmp_path):
    recording = Recording(tmp_path)
    recording.op("g", "a", "A", ["ghost:1"])
    with snapshot_of(recording.close()) as snapshot:
        (ghost,) = graphs.op_info(snapshot, "g", "a")["inputs"]
        assert ghost == {"op_name": "ghost", "output_slot": 1, "same": None}
        assert graphs.op_info(snapshot, "g", "ghost")["op_type"] is None


def test_graphs_in_a_circle_do_not_hang(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("a", "a", "b")
    recording.graph("b", "b", "a")
    recording.op("a", "x", "X", ["x:0"])
    recording.trace("a", "x", GOOD)
    recording.execution("__inference_b_1", graph_id="b")
    with snapshot_of(recording.close()) as snapshot:
        inner = graphs.graph_info(snapshot, "a")
        assert (inner["inner_graph_ids"], inner["inner_graph_names"]) == (["b"], ["b"])
        assert graph_executions.data(snapshot, Range(0, 1))[0]["graph_ids"] == ["b", "a"]
        assert graphs.op_info(snapshot, "a", "x")["inputs"][0]["op_name"] == "x"


def test_what_is_not_there_is_said_to_be_missing(small_run):
    with snapshot_of(small_run) as snapshot:
        for ask in (
            lambda: graphs.graph_info(snapshot, "nope"),
            lambda: graphs.op_info(snapshot, "nope", "Log"),
            lambda: graphs.op_info(snapshot, "g1", "nope"),
            lambda: sources.source_file(snapshot, 9),
            lambda: sources.stack_frames(snapshot, ["f1", "nope"]),
        ):
            with pytest.raises(NotFoundError, match="There is no"):
                ask()
        for index in (-1, 8):
            with pytest.raises(BadQueryError, match="There is no graph execution"):
                graphs.op_info(snapshot, "g1", "Log", at=index)


def test_an_execution_knows_which_eager_op_made_its_inputs(tmp_path):
    recording = Recording(tmp_path)
    recording.device(1, "CPU")
    recording.execution("A", [GOOD, BAD], ids=[1, 2])
    recording.execution("B", [GOOD], inputs=[2, 99], ids=[2])
    recording.execution("C", inputs=[2])
    with snapshot_of(recording.close()) as snapshot:
        _, second, third = executions.data(snapshot, Range(0, 3))
    assert second["device_names"] == ["CPU"] and second["output_tensor_ids"] == [2]
    made, unknown = second["inputs"]
    assert (made["execution_index"], made["output_slot"], made["op_type"]) == (0, 1, "A")
    assert made["health"]["nan"] == 1
    assert unknown == {
        **{"tensor_id": 99, "execution_index": None, "output_slot": None, "op_type": None},
        **{"debug_tensor_value": None, "health": None},
    }
    assert third["inputs"][0]["execution_index"] == 1
    assert third["debug_tensor_values"] is None


def test_an_op_tells_its_attributes_and_the_ops_that_wait_for_each_other(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("g1", "f")
    recording.attributes(1, padding="SAME", T="float32")
    recording.op("g1", "init", "NoOp")
    recording.op("g1", "conv", "Conv2D", control_input_names=["init", "later"], attributes=1)
    recording.op("g1", "later", "NoOp", control_input_names=["init"], attributes=9)
    with snapshot_of(recording.close()) as snapshot:
        init, conv, later = (graphs.op_info(snapshot, "g1", name) for name in ("init", "conv", "later"))
    assert conv["attributes"] == [{"name": "T", "value": "float32"}, {"name": "padding", "value": "SAME"}]
    assert (init["attributes"], later["attributes"]) == (None, [])
    assert (conv["control_inputs"], conv["control_consumers"]) == (["init", "later"], [])
    assert (init["control_inputs"], init["control_consumers"]) == ([], ["conv", "later"])
    assert init["consumers"] == [[]] and conv["inputs"] == []


def test_an_execution_tells_its_thread_if_it_is_recorded(tmp_path):
    recording = Recording(tmp_path)
    recording.thread(3, "loader")
    for thread in (3, 0, 4):
        recording.execution("A", thread=thread)
    with snapshot_of(recording.close()) as snapshot:
        data = executions.data(snapshot, Range(0, 3))
    assert [execution["thread_name"] for execution in data] == ["loader", None, None]


def test_frames_tell_their_line_and_whose_code_it_is(small_run):
    with snapshot_of(small_run) as snapshot:
        frames = sources.stack_frames(snapshot, ["f2", "f1", "f1"])
    assert frames["stack_frames"][1] == ["worker0", "/home/me/train.py", 3, "loss"]
    assert frames["details"] == [
        {"file_index": 1, "text": "# ops", "origin": "library"},
        *[{"file_index": 0, "text": "  return tf.math.log(x)", "origin": "user"}] * 2,
    ]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/me/train.py", "user"),
        ("train.py", "user"),
        ("/home/me/keras/train.py", "user"),
        ("/home/tensorflow/my_model.py", "user"),
        ("/venv/lib/python3.11/site-packages/numpy/core.py", "library"),
        ("/usr/lib/python3/dist-packages/x.py", "library"),
        ("/usr/lib/python3.12/threading.py", "library"),
        ("C:\\Python\\Lib\\site-packages\\keras\\src\\x.py", "library"),
        ("/src/tensorflow/python/ops/math_ops.py", "library"),
        ("/src/tb_debugger_plugin/capture/stacks.py", "library"),
        ("/src/tb_debugger_plugin/examples/buggy_digits.py", "user"),
        ("/venv/lib/python3.11/site-packages/tb_debugger_plugin/examples/buggy_digits.py", "user"),
        ("/tmp_x/__autograph_generated_file_abc.py", "library"),
    ],
)
def test_whose_code_a_file_is(path, expected):
    assert sources.whose_code(path) == expected


def test_columns_say_the_same_as_the_rows(tmp_path):
    with snapshot_of(small_program(tmp_path, steps=3).close()) as snapshot:
        rows = graph_executions.data(snapshot, Range(2, 11))
        page = tables.graph_executions_page(snapshot, Range(2, 11))
        columns, names = page.columns, page.dictionaries
        assert columns["index"].tolist() == list(range(2, 11)) and page.total == 12
        for name, key in (("op_name", "op_name"), ("op_type", "op_type"), ("function", "graph_name")):
            assert [names[name][code] for code in columns[name]] == [row[key] for row in rows]
        assert columns["owner"].tolist() == [row["owner_execution_index"] for row in rows]
        for name in ("size", "neg_inf", "nan", "zero", "positive"):
            assert columns[name].tolist() == [row["health"][name] for row in rows]
        assert [names["shape"][code] for code in columns["shape"]] == [
            "[]" if row["op_name"] == "Mean" else "[2, ?]" for row in rows
        ]
        assert set(columns["dtype"].tolist()) == {1}
        bad = tables.graph_executions_page(snapshot, Range(1, 4), only_bad=True)
        assert bad.columns["index"].tolist() == [2, 3, 5] and bad.total == 9
        eager = tables.executions_page(snapshot, Range(0, 6))
        assert eager.columns["is_function"].tolist() == [0, 1] * 3
        assert eager.columns["health"].tolist() == [1, 2] * 3
        assert eager.columns["call_health"].tolist() == [0, 2] * 3
        assert eager.columns["graph_id"].tolist() == [-1, 0] * 3


def test_empty_pages_have_all_columns(tmp_path):
    Recording(tmp_path).close()
    with snapshot_of(tmp_path) as snapshot:
        for page in (
            tables.graph_executions_page(snapshot, Range(0, 0)),
            tables.executions_page(snapshot, Range(0, 0)),
        ):
            assert all(len(values) == 0 for values in page.columns.values())
            assert {values.dtype.str[1:] for values in page.columns.values()} <= {"f8", "i4", "u1"}
        assert tables.overview(snapshot, "graph_executions", 3) == {
            "total": 0,
            "bad": [0] * 3,
            "measured": [0] * 3,
        }
        assert _alerts(snapshot) == []


def test_a_bad_row_is_never_averaged_away(tmp_path):
    recording = small_program(tmp_path, steps=0)
    for n in range(100):
        recording.trace("g1", "x", BAD if n == 57 else GOOD)
    recording.execution("__inference_loss_7", graph_id="g1")
    with snapshot_of(recording.close()) as snapshot:
        overview = tables.overview(snapshot, "graph_executions", 10)
        assert overview["bad"] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 0] and overview["measured"] == [10] * 10
        assert sum(tables.overview(snapshot, "graph_executions", 4096)["bad"]) == 1
        assert tables.overview(snapshot, "executions", 2) == {"total": 1, "bad": [1, 0], "measured": [1, 0]}


@pytest.mark.parametrize(
    ("mode", "values"),
    [
        (TensorDebugMode.CURT_HEALTH, [12, 1]),
        (TensorDebugMode.CONCISE_HEALTH, [12, 5, 1, 2, 3]),
        (TensorDebugMode.FULL_HEALTH, [12, -1, 1, 2, 9, 1, 2, 3, 1, 1, 1]),
        (TensorDebugMode.SHAPE, [12, 3, 2, 6, 2, 3, 0, 0, 0, 0]),
        (TensorDebugMode.SHAPE, [12, 3, 7, 64, 2, 2, 2, 2, 2, 1]),
    ],
)
def test_the_vector_of_a_summary_comes_back_as_it_was_written(tmp_path, mode, values):
    recording = small_program(tmp_path, steps=0, mode=mode)
    recording.trace("g1", "mul", vector(values))
    recording.execution("Mul", [vector([-1, *values[1:]]), None], ids=[1, 2])
    with snapshot_of(recording.close()) as snapshot:
        assert graph_executions.data(snapshot, Range(0, 1))[0]["debug_tensor_value"] == values
        (execution,) = executions.data(snapshot, Range(0, 1))
    assert execution["debug_tensor_values"] == [[-1, *values[1:]], None]


def _status(folder):
    with snapshot_of(folder) as snapshot:
        return status(snapshot)


def test_the_status_counts_and_names(tmp_path):
    recording = small_program(
        tmp_path, recorder_version="0.1", tensor_debug_mode=4, circular_buffer_size=3, host_name="big"
    )
    recording.counts(10, 20, finished=False, failure="the disk is full")
    answer = _status(recording.close())
    assert (answer["num_executions"], answer["num_graph_executions"], answer["num_alerts"]) == (4, 8, 8)
    assert (answer["dropped_executions"], answer["dropped_graph_executions"]) == (6, 12)
    assert (answer["pinned_executions"], answer["pinned_graph_executions"]) == (1, 5)
    assert (answer["tensor_debug_mode"], answer["circular_buffer_size"]) == ("FULL_HEALTH", 3)
    assert (answer["hosts"], answer["finished"], answer["loading"]) == (["big"], False, None)
    assert answer["recorder"] == "tb-debugger-plugin 0.1"
    assert answer["start_time"] < answer["end_time"]
    (stopped,) = answer["not_recorded"]
    assert (stopped["reason"], stopped["host"]) == ("stopped", "big")
    assert stopped["message"] == "Recording on big stopped early: the disk is full"


def test_the_status_names_what_is_not_on_record(tmp_path):
    recording = small_program(tmp_path, host="big")
    recording.not_recorded(1, "It has a shape.", "loss (train.py:3)", "metric (train.py:9)", graph_id="g1")
    recording.not_recorded(2, "Only Log.")
    recording.not_recorded(99, "From a later version.")
    answer = _status(recording.close())["not_recorded"]
    assert {(m["reason"], m["message"], tuple(m["names"]), m["graph_id"], m["host"]) for m in answer} == {
        ("not_instrumented", "It has a shape.", ("loss (train.py:3)", "metric (train.py:9)"), "g1", "big"),
        ("filtered", "Only Log.", (), None, "big"),
        ("unknown", "From a later version.", (), None, "big"),
    }


@pytest.mark.parametrize(("size", "seen"), [(-1, (4, 8)), (3, (4, 8)), (8, (100, 100))])
def test_nothing_is_pinned_where_nothing_was_dropped_or_only_the_last_are_left(tmp_path, size, seen):
    recording = small_program(tmp_path, recorder_version="0.1", circular_buffer_size=size)
    recording.counts(*seen, finished=True)
    answer = _status(recording.close())
    assert (answer["pinned_executions"], answer["pinned_graph_executions"]) == (0, 0)


def test_a_killed_recording_has_dropped_what_its_rings_say(tmp_path):
    recording = small_program(tmp_path, recorder_version="0.1", circular_buffer_size=3)
    for suffix, dropped in ((EXECUTION, 7), (GRAPH_EXECUTION_TRACES, 90)):
        size = recording.files.path(suffix).stat().st_size
        ring = build_tail([], mode=TailMode.RING, file_size=size, dropped=dropped)
        recording.files.tail_path(suffix).write_bytes(ring)
    answer = _status(recording.close())
    assert (answer["dropped_executions"], answer["dropped_graph_executions"]) == (7, 90)


def test_a_recording_of_tensorflows_own_says_neither_mode_nor_end(small_run):
    answer = _status(small_run)
    assert (answer["finished"], answer["circular_buffer_size"]) == (None, None)
    assert (answer["tensor_debug_mode"], answer["recorder"]) == ("FULL_HEALTH", "TensorFlow 2.21.0")


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [(0, -1, Range(0, 5)), (5, -1, Range(5, 5)), (0, 0, Range(0, 0)), (2, 4, Range(2, 4))],
)
def test_ranges_mean_what_they_say(begin, end, expected):
    assert resolve_range(begin, end, 5, 10) == expected


@pytest.mark.parametrize(("begin", "end"), [(-1, 2), (0, 6), (6, -1), (3, 2), (0, -2)])
def test_ranges_outside_the_list_are_refused(begin, end):
    with pytest.raises(BadQueryError):
        resolve_range(begin, end, 5, 10)


def test_a_page_that_is_too_long_is_refused_with_the_limit():
    with pytest.raises(BadQueryError, match="at most 10"):
        resolve_range(0, 11, 11, 10)


@pytest.mark.parametrize(("begin", "expected"), [(0, Range(0, 10)), (1, Range(1, 11)), (5, Range(5, 11))])
def test_to_the_end_of_a_long_list_is_as_far_as_a_page_goes(begin, expected):
    assert resolve_range(begin, -1, 11, 10) == expected


def test_an_owner_that_is_not_known_is_nan(tmp_path):
    recording = small_program(tmp_path, steps=0)
    recording.trace("g1", "x", GOOD)
    with snapshot_of(recording.close()) as snapshot:
        assert np.isnan(tables.graph_executions_page(snapshot, Range(0, 1)).columns["owner"]).all()
        assert graph_executions.locate_graph_execution(snapshot, 0)["execution_index"] is None


def test_the_status_and_the_counts_of_alerts_compute_no_origins(tmp_path, monkeypatch):
    computed, nothing = [], origins.Answer([], {})
    monkeypatch.setattr(origins, "_find", lambda snapshot: computed.append(snapshot.generation) or nothing)
    with snapshot_of(small_program(tmp_path, steps=200).close()) as snapshot:
        assert status(snapshot)["num_alerts"] == 800
        listed = alerts.alert_list(snapshot)
        part = listed.of_rule(NAN_OR_INFINITY)
        assert (listed.count(NAN_OR_INFINITY), len(part)) == (800, 800)
        assert computed == []
        assert part.first_cause(snapshot) is None
        assert computed == [snapshot.generation]
