"""`analysis`: answers have the layers, variables, gradients, calls and library lines of the event files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from tb_debugger_plugin.analysis.alerts import alerts
from tb_debugger_plugin.analysis.calls.call_owner import owners
from tb_debugger_plugin.analysis.graph import graphs, neighbours, search
from tb_debugger_plugin.analysis.graph.graph_calls import graph_calls
from tb_debugger_plugin.analysis.lists import graph_executions, tables
from tb_debugger_plugin.analysis.lists.filters import Filter
from tb_debugger_plugin.analysis.lists.selection import select
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot
from tb_debugger_plugin.analysis.source import sources
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.origins import CodeOrigin
from tb_debugger_plugin.events.text import Normalizer, dump_file_set
from tests.support.events import Recording, full_health, snapshot_of

_LIBRARY = "/opt/keras/layers/dense.py"


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    """A step that calls two functions with as many arguments each, so that only the recorder knows which::

    kernel -> read -> MatMul -> call of "first" or of "second"
                   -> MatMul_1 (gradient of kernel), Sum (gradient of bias)
    """
    folder = tmp_path_factory.mktemp("run")
    recording = Recording(folder)
    recording.source("/venv/site-packages/mine/train.py", ["loss = f(x)"], origin=CodeOrigin.USER)
    recording.source(_LIBRARY, [], origin=CodeOrigin.LIBRARY)
    recording.frame("f1", 0, 1, "main")
    recording.frame("f2", 1, 12, "call", (10, ["ten", "eleven", "twelve"]))
    recording.frame("f3", 1, 14, "call", (12, ["twelve", "thirteen"]))
    recording.frame("f4", 1, 90, "call", (89, ["eighty-nine", "ninety"]))
    recording.graph("g0", "step")
    for graph_id, name in (("g1", "first"), ("g2", "second")):
        recording.graph(graph_id, name, "g0")
        recording.op(graph_id, "x", "Placeholder")
        recording.op(graph_id, "Exp", "Exp", ["x:0"])
    recording.op("g0", "kernel", "Placeholder", variable="dense/kernel", layer="dense")
    recording.op("g0", "read", "ReadVariableOp", ["kernel:0"], variable="dense/kernel", layer="dense")
    recording.op("g0", "MatMul", "MatMul", ["read:0"], layer="dense", stack=["f1", "f2", "f3"])
    recording.op("g0", "call", "PartitionedCall", ["MatMul:0"], called_graph_ids=["g2"])
    recording.op("g0", "MatMul_1", "MatMul", ["read:0"], layer="dense", gradient_of=["dense/kernel"])
    recording.op("g0", "Sum", "Sum", ["call:0"], layer="head/dense_1", gradient_of=["a/bias", "b/bias"])
    for op_name in ("MatMul", "MatMul_1", "Sum"):
        recording.trace("g0", op_name, full_health(math.nan if op_name == "MatMul_1" else 1.0))
    with snapshot_of(recording.close()) as snapshot:
        yield snapshot


def test_an_op_tells_its_layer_its_variable_and_whose_gradient_its_outputs_are(snapshot: Snapshot) -> None:
    read = graphs.op_info(snapshot, "g0", "read")
    assert (read["layer"], read["variable"]) == ("dense", "dense/kernel")
    takes = {taker["op_name"]: taker["data"] for taker in read["consumers"][0]}
    assert takes["MatMul_1"]["outputs"][0]["gradient_of"] == ["dense/kernel"]
    assert takes["MatMul"]["outputs"][0]["gradient_of"] == [] and takes["MatMul"]["variable"] is None
    around = neighbours.neighbours(snapshot, "g0", "read", hops=1, limit=10)["ops"]
    assert {op.op_name: op.layer for op in around} == dict.fromkeys(
        ("read", "kernel", "MatMul", "MatMul_1"), "dense"
    )


def test_an_alert_and_a_trace_say_whose_gradient_is_bad(snapshot: Snapshot) -> None:
    (alert,) = alerts.page(snapshot, alerts.alert_list(snapshot), Range(0, 1))
    (trace,) = graph_executions.data(snapshot, Range(1, 2))
    for actual in (alert, trace):
        assert (actual["layer"], actual["gradient_of"]) == ("dense", ["dense/kernel"])
    page = tables.graph_executions_page(snapshot, Range(0, 3))
    column = page.dictionaries["gradient_of"]
    texts = [None if n < 0 else column[n] for n in page.columns["gradient_of"]]
    assert texts == [None, "dense/kernel", "a/bias, b/bias"]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        (Filter(layer="^dense$"), [0, 1]),
        (Filter(layer="dense"), [0, 1, 2]),
        (Filter(gradient_of="."), [1, 2]),
        (Filter(gradient_of="^b/"), [2]),
        (Filter(layer="dense", gradient_of="kernel", health="bad"), [1]),
        (Filter(variable="kernel"), []),
    ],
)
def test_rows_are_chosen_by_layer_variable_and_gradient(
    snapshot: Snapshot, wanted: Filter, expected: list[int]
) -> None:
    chosen = select(snapshot, "graph_executions", wanted)
    rows = tables.graph_executions_page(snapshot, Range(0, chosen.total), chosen=chosen)
    assert rows.columns["index"].tolist() == expected


@pytest.mark.parametrize("name", ["layer", "variable", "gradient_of"])
def test_executions_have_no_layers(snapshot: Snapshot, name: str) -> None:
    with pytest.raises(BadQueryError, match=name):
        select(snapshot, "executions", Filter(**{name: "x"}))


def test_layers_and_variables_are_found_with_a_place_to_jump_to(snapshot: Snapshot) -> None:
    actual = search.find(snapshot, "DENSE", 10)
    assert [(layer.name, layer.num_ops, layer.op_name) for layer in actual["layers"]] == [
        ("dense", 4, "kernel"),
        ("head/dense_1", 1, "Sum"),
    ]
    (variable,) = actual["variables"]
    assert (variable.name, variable.op_name) == ("dense/kernel", "kernel")
    assert variable.gradients == [search.FoundGradient("g0", "MatMul_1", 0)]
    assert [v.name for v in search.find(snapshot, "b/bias", 10)["variables"]] == ["b/bias"]


def test_the_graph_that_an_op_runs_is_the_recorded_one(snapshot: Snapshot) -> None:
    info = graphs.op_info(snapshot, "g0", "call")
    assert info["runs"] == [{"graph_id": "g2", "graph_name": "second"}]
    inside = neighbours.neighbours(snapshot, "g0", "Sum", hops=2, limit=10)["ops"]
    assert ("g2", "Exp") in {(op.graph_id, op.op_name) for op in inside}
    numbers = snapshot.catalog.graph_numbers
    assert set(graph_calls(snapshot).callers) == {numbers["g2"]}


@pytest.mark.parametrize(
    ("backward", "expected"),
    [
        # (type, name, inputs) of an op in a gradient
        (("SqrtGrad", "gradient_tape/m/norm_1/SqrtGrad", ["m/norm_1/Sqrt:0"]), "m/norm_1/Sqrt"),
        (("Reciprocal", "gradient_tape/m/norm_1/Reciprocal", ["m/norm_1/sum:0"]), "m/norm_1/Log"),
        (("RealDiv", "gradient_tape/m/truediv/RealDiv_1", []), "m/truediv"),
        (("Const", "gradient_tape/m/truediv/Sum/indices", []), "m/truediv"),
        (("Mul", "gradients/m/truediv_grad/mul", []), "m/truediv"),
        (("Mul", "gradient_tape/gradient_tape/m/truediv/mul", []), "m/truediv"),
        # `minimize` of a session's optimizer in a scope of the program, called for the second time.
        (("Mul", "train/gradients_1/m/truediv_grad/mul", []), "m/truediv"),
        (("Mul", "plots/gradients/m/truediv", []), None),
        # More than one op takes the tensor, and nothing tells them apart.
        (("Mul", "gradient_tape/m/norm_1/Mul", ["x:0"]), None),
        (("Mul", "m/norm_1/Mul", ["m/norm_1/Sqrt:0"]), None),
    ],
)
def test_an_op_of_a_gradient_leads_to_the_op_whose_gradient_it_is(
    tmp_path: Path, backward: tuple[str, str, list[str]], expected: str | None
) -> None:
    recording = Recording(tmp_path)
    recording.source("train.py", ["y = tf.sqrt(x)"])
    recording.frame("f1", 0, 1, "call")
    recording.graph("g", "step")
    recording.op("g", "x", "Placeholder")
    for name, kind, inputs in (
        ("m/norm_1/sum", "Sum", ["x:0"]),
        ("m/norm_1/Sqrt", "Sqrt", ["x:0"]),
        ("m/norm_1/Log", "Log", ["m/norm_1/sum:0"]),
        ("m/norm_1/Shape", "Shape", ["m/norm_1/sum:0"]),
        ("m/truediv", "RealDiv", ["x:0"]),
    ):
        recording.op("g", name, kind, inputs, stack=["f1"])
    kind, name, inputs = backward
    recording.op("g", name, kind, inputs)
    recording.trace("g", "m/norm_1/Sqrt", full_health(0.0))
    with snapshot_of(recording.close()) as snapshot:
        forward = graphs.op_info(snapshot, "g", name)["forward"]
    assert (forward and forward["op_name"]) == expected
    if forward:
        assert forward["stack_frame_ids"] == ["f1"]
        assert forward["graph_execution_index"] == (0 if expected == "m/norm_1/Sqrt" else None)


def test_what_a_graph_runs_that_was_made_elsewhere_belongs_to_its_call(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.graph("shared", "shared")  # not made inside either of the two
    recording.op("shared", "Log", "Log")
    for name in ("a", "b"):
        recording.graph(name, name)
    recording.op("b", "call", "StatefulPartitionedCall", called_graph_ids=["shared"])
    recording.trace("shared", "Log", full_health(1.0))
    recording.execution("__inference_a_1", [full_health(1.0)], graph_id="a")
    recording.execution("__inference_b_2", [full_health(1.0)], graph_id="b")
    with snapshot_of(recording.close()) as snapshot:
        actual = snapshot.columns("SELECT wall_time, site FROM graph_executions")
        assert owners(snapshot, actual["wall_time"], actual["site"]).tolist() == [1.0]


def test_a_library_file_gives_the_lines_around_its_frames_and_no_others(snapshot: Snapshot) -> None:
    file = sources.source_file(snapshot, 1)
    assert (file["lines"], file["origin"]) == ([], "library")
    assert file["excerpts"] == [
        {"first_line": 10, "lines": ["ten", "eleven", "twelve", "thirteen"]},
        {"first_line": 89, "lines": ["eighty-nine", "ninety"]},
    ]
    mine = sources.source_file(snapshot, 0)
    assert (mine["lines"], mine["excerpts"]) == (["loss = f(x)"], [])


def test_dumps_of_two_recordings_name_the_graph_that_is_run_alike(tmp_path: Path) -> None:
    dumps = []
    for run, graph_id in (("a", "123"), ("b", "456")):
        with Recording(tmp_path / run) as recording:
            recording.graph(graph_id, "called")
            recording.op(
                graph_id, "call", "If", called_graph_ids=[graph_id], layer="dense", gradient_of=["w"]
            )
        dumps.append("\n".join(dump_file_set(recording.files, Normalizer())))
    assert dumps[0] == dumps[1]
    for line in ("called_graph_ids: 'id1'", "layer: 'dense'", "gradient_of: 'w'"):
        assert line in dumps[0]


def test_whose_code_a_frame_is_was_decided_by_the_recorder(snapshot: Snapshot) -> None:
    details = sources.stack_frames(snapshot, ["f1", "f2"])["details"]
    assert [detail["origin"] for detail in details] == ["user", "library"]
    json.dumps(details)
