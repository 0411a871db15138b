"""`analysis`: recordings by TensorFlow's own recorder are read as TensorFlow's own reader reads them.

The file ``tensorflow.json`` beside each recording holds what that reader found when it was made.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tb_debugger_plugin.analysis.alerts import alerts
from tb_debugger_plugin.analysis.graph import graphs
from tb_debugger_plugin.analysis.lists import executions, graph_executions
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot, open_snapshot
from tb_debugger_plugin.analysis.source import sources
from tb_debugger_plugin.events.fileset import find_file_sets
from tb_debugger_plugin.events.text import Normalizer, dump_file_set
from tests.support.events import loaded

_RECORDINGS = sorted(path.parent for path in Path(__file__).parent.glob("*/*/dump.txt"))
_ids = [f"{path.parent.name}-{path.name}" for path in _RECORDINGS]


@pytest.fixture(scope="module", params=_RECORDINGS, ids=_ids)
def recording(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture(scope="module")
def expected(recording: Path) -> dict[str, Any]:
    return json.loads((recording / "tensorflow.json").read_text())


@pytest.fixture(scope="module")
def snapshot(recording: Path) -> Iterator[Snapshot]:
    loader = loaded(recording)
    with open_snapshot(loader) as snapshot:
        yield snapshot
    loader.close()


@pytest.mark.parametrize("version", ["2.12.1", "2.21.0"])
def test_there_is_a_recording_of_each_kind_of_mode_by_old_and_new_versions(version):
    modes = {path.name for path in _RECORDINGS if path.parent.name == f"tensorflow-{version}"}
    assert modes >= {"CURT_HEALTH", "FULL_HEALTH", "SHAPE", "FULL_TENSOR"}


def test_the_text_dump_is_as_it_was(recording):
    (files,) = find_file_sets(recording)
    assert "\n".join(dump_file_set(files, Normalizer())) + "\n" == (recording / "dump.txt").read_text()


def test_nothing_is_damaged(snapshot):
    assert snapshot.rows("SELECT * FROM notices") == []


def test_executions_are_those_that_tensorflow_reads(snapshot, expected):
    rows = executions.data(snapshot, Range(0, snapshot.num_executions))
    assert [{key: _plain(row[key]) for key in expected["executions"][0]} for row in rows] == [
        {key: _plain(value) for key, value in row.items()} for row in expected["executions"]
    ]


def _plain(value):
    # TensorFlow's reader says None where there is nothing, and so may we say an empty list.
    if isinstance(value, list) and not any(item is not None for item in value):
        return None
    return value


def test_traces_are_those_that_tensorflow_reads(snapshot, expected):
    rows = graph_executions.data(snapshot, Range(0, snapshot.num_graph_executions))
    keys = ("op_type", "op_name", "output_slot", "graph_ids", "tensor_debug_mode", "device_name")
    assert [[row[key] for key in keys] for row in rows] == [
        [row[key] for key in keys] for row in expected["traces"]
    ]
    assert [row["debug_tensor_value"] for row in rows] == [
        row.get("debug_tensor_value") for row in expected["traces"]
    ]


def test_whole_tensors_are_counted_as_python_counts_them(snapshot, expected):
    rows = graph_executions.data(snapshot, Range(0, snapshot.num_graph_executions))
    for row, other in zip(rows, expected["traces"], strict=True):
        if "tensor" in other:
            values = [
                float(x) if x not in ("True", "False") else x == "True" for x in other["tensor"]["values"]
            ]
            measured = row["health"]
            assert measured["shape"] == other["tensor"]["shape"]
            assert measured["size"] == len(values)
            assert measured["nan"] == sum(math.isnan(x) for x in values)
            assert measured["neg_inf"] == values.count(-math.inf)
            assert measured["pos_inf"] == values.count(math.inf)
            assert measured["zero"] == values.count(0)
            assert measured["negative"] == sum(-math.inf < x < 0 for x in values)
            assert measured["bad"] is any(not math.isfinite(x) for x in values)


def test_alerts_are_those_of_tensorflows_monitor_in_the_order_of_time(snapshot, expected):
    rows = alerts.page(snapshot, alerts.alert_list(snapshot), Range(0, len(alerts.alert_list(snapshot))))
    keys = ("op_type", "output_slot", "execution_index", "graph_execution_trace_index")
    listed = [[alert[key] for key in keys] for alert in rows]
    if expected["alerts"] is not None:
        assert sorted(listed, key=str) == sorted(expected["alerts"], key=str)
    times = [alert["wall_time"] for alert in rows]
    assert times == sorted(times)


def test_the_first_bad_tensor_is_the_log_of_zero_in_our_own_line(snapshot, recording):
    if recording.name == "SHAPE":
        assert len(alerts.alert_list(snapshot)) == 0
        return
    (first,) = alerts.page(snapshot, alerts.alert_list(snapshot), Range(0, 1))
    assert (first["op_name"], first["graph_name"]) == ("Log", "loss")
    op = graphs.op_info(snapshot, first["graph_id"], "Log", at=first["graph_execution_trace_index"])
    frames = sources.stack_frames(snapshot, op["stack_frame_ids"])
    innermost = frames["details"][-1]
    assert innermost["text"].strip() == "return -labels * tf.math.log(probs)"
    assert innermost["origin"] == "user"
    owner = executions.data(
        snapshot, Range(first["owner_execution_index"], first["owner_execution_index"] + 1)
    )
    assert owner[0]["op_type"].startswith("__forward_loss_")


def test_ops_have_the_inputs_that_tensorflow_reads(snapshot, expected):
    for graph_id, op_name, op_type, inputs in expected["ops"]:
        info = graphs.op_info(snapshot, graph_id, op_name)
        assert info["op_type"] == op_type
        assert [f"{i['op_name']}:{i['output_slot']}" for i in info["inputs"]] == inputs


def test_sources_are_listed_as_tensorflow_lists_them(snapshot, expected):
    assert sources.source_list(snapshot) == expected["sources"]
