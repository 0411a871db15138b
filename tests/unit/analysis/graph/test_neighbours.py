"""`analysis/graph/neighbours.py`: neighbours of ops across calls, and full-text search."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest

from tb_debugger_plugin.analysis.graph.neighbours import neighbours
from tb_debugger_plugin.analysis.graph.search import find
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.errors import BadQueryError, NotFoundError
from tests.support.events import Recording, full_health, snapshot_of


def _nested(folder) -> None:
    """A program whose function calls a function, and runs a loop.

    ::

        step:   x -> Exp -> call(Exp, w) -> Neg        w -> call
                x -> loop/while(x) -> Abs
        inner:  a, b -> Mul -> Out
        loop_while_body_3:  i -> Add;   loop_while_cond_4:  j -> Less
    """
    recording = Recording(folder)
    recording.source("/home/me/train.py", ["import tensorflow as tf", "loss = tf.math.log(x)"])
    recording.graph("s", "step")
    for graph, name in (("f", "inner"), ("b", "loop_while_body_3"), ("c", "loop_while_cond_4")):
        recording.graph(graph, name, "s")
    for graph, name, kind, inputs in (
        *(("s", "x", "Placeholder", []), ("s", "w", "Placeholder", []), ("s", "Exp", "Exp", ["x:0"])),
        ("f", "a", "Placeholder", []),
        ("f", "b", "Placeholder", []),
        *(("f", "Mul", "Mul", ["a:0", "b:0"]), ("f", "Out", "Identity", ["Mul:0"])),
        ("s", "call", "StatefulPartitionedCall", ["Exp:0", "w:0"]),
        ("s", "Neg", "Neg", ["call:0"]),
        *(("b", "i", "Placeholder", []), ("b", "Add", "AddV2", ["i:0"])),
        *(("c", "j", "Placeholder", []), ("c", "Less", "Less", ["j:0"])),
        *(("s", "loop/while", "While", ["x:0"]), ("s", "Abs", "Abs", ["loop/while:0"])),
    ):
        recording.op(graph, name, kind, inputs, ids=[1])
    recording.trace("s", "Exp", full_health([1.0]))
    recording.trace("f", "Mul", full_health([math.nan]))
    recording.close()


@pytest.fixture
def snapshot(tmp_path) -> Iterator[Snapshot]:
    """The program whose function calls a function."""
    _nested(tmp_path)
    with snapshot_of(tmp_path) as snapshot:
        yield snapshot


def _hops(answer) -> dict[str, int]:
    return {op.op_name: op.distance for op in answer["ops"]}


def _edges(answer) -> set[tuple[str, str, str | None]]:
    names = [op.op_name for op in answer["ops"]]
    return {(names[edge.source], names[edge.target], edge.call) for edge in answer["edges"]}


def test_neighbours_reach_over_some_hops(snapshot):
    assert _hops(neighbours(snapshot, "f", "Out", hops=1, limit=100)) == {"Out": 0, "Mul": -1, "call": 1}
    far = neighbours(snapshot, "f", "Out", hops=3, limit=100)
    assert _hops(far) == {
        **{"Out": 0, "Mul": -1, "a": -2, "b": -2, "Exp": -3, "w": -3},
        **{"call": 1, "Neg": 2},
    }
    assert far["truncated"] is False


def test_what_went_into_a_function_is_found_at_its_caller(snapshot):
    answer = neighbours(snapshot, "f", "a", hops=2, limit=100)
    assert _edges(answer) == {
        ("a", "Mul", None),
        ("Mul", "Out", None),
        ("Exp", "a", "into"),
        ("x", "Exp", None),
    }
    answer = neighbours(snapshot, "s", "Exp", hops=2, limit=100)
    assert ("Exp", "a", "into") in _edges(answer) and ("w", "b", "into") not in _edges(answer)


def test_what_takes_the_result_of_a_call_takes_it_from_inside(snapshot):
    answer = neighbours(snapshot, "s", "Neg", hops=2, limit=100)
    assert _hops(answer) == {"Neg": 0, "call": -1, "Out": -1, "Exp": -2, "w": -2, "Mul": -2}
    assert ("Out", "Neg", "out") in _edges(answer)


def test_loops_are_entered_by_the_names_of_their_graphs(snapshot):
    answer = neighbours(snapshot, "s", "x", hops=2, limit=100)
    assert {("x", "i", "into"), ("x", "j", "into")} <= _edges(answer)
    answer = neighbours(snapshot, "s", "Abs", hops=1, limit=100)
    assert {("Add", "Abs", "out"), ("loop/while", "Abs", None)} <= _edges(answer)


def test_a_call_that_could_be_of_two_graphs_is_not_followed(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("s", "step")
    for graph in ("f", "g"):
        recording.graph(graph, f"inner_{graph}", "s")
        recording.op(graph, "a", "Placeholder")
    recording.op("s", "x", "Placeholder")
    recording.op("s", "call", "PartitionedCall", ["x:0"])
    with snapshot_of(recording.close()) as snapshot:
        assert _hops(neighbours(snapshot, "s", "x", hops=3, limit=100)) == {"x": 0, "call": 1}


def test_ops_that_are_left_out_are_counted_where_they_would_be(snapshot):
    answer = neighbours(snapshot, "f", "Mul", hops=1, limit=100)
    beyond = {op.op_name: (op.inputs_left_out, op.consumers_left_out) for op in answer["ops"]}
    # `a` gets its value from `Exp`, `b` from `w`, and `Out` gives its own to `call`.
    assert beyond == {"Mul": (0, 0), "a": (1, 0), "b": (1, 0), "Out": (0, 1)}
    cut = neighbours(snapshot, "f", "Mul", hops=1, limit=3)
    assert cut["truncated"] and (cut["ops"][0].inputs_left_out, cut["ops"][0].consumers_left_out) == (1, 0)


def test_a_limit_leaves_room_for_both_sides(snapshot):
    answer = neighbours(snapshot, "f", "Mul", hops=3, limit=3)
    assert _hops(answer) == {"Mul": 0, "a": -1, "Out": 1}
    assert _hops(neighbours(snapshot, "f", "Mul", hops=3, limit=1)) == {"Mul": 0}


def test_all_tensors_between_the_ops_are_there_also_those_beside_the_way(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("g", "step")
    recording.op("g", "x", "Placeholder")
    recording.op("g", "y", "Exp", ["x:0"], outputs=[(1, [2, 3])])
    recording.op("g", "z", "AddV2", ["y:0", "x:0"], control_input_names=["x"])
    with snapshot_of(recording.close()) as snapshot:
        answer = neighbours(snapshot, "g", "y", hops=1, limit=100)
        assert _edges(answer) == {("x", "y", None), ("y", "z", None), ("x", "z", None)}
        names = [op.op_name for op in answer["ops"]]
        waiting = [(names[edge.source], names[edge.target]) for edge in answer["control_edges"]]
        assert waiting == [("x", "z")]
        assert (answer["ops"][0].outputs[0].dtype, answer["ops"][0].outputs[0].shape) == ("float32", [2, 3])


def test_an_op_names_the_functions_that_it_runs(snapshot):
    ops = {op.op_name: op for op in neighbours(snapshot, "s", "Exp", hops=1, limit=100)["ops"]}
    assert ops["call"].runs == [{"graph_id": "f", "graph_name": "inner"}]


def test_neighbours_carry_their_health(snapshot):
    answer = neighbours(snapshot, "f", "Out", hops=3, limit=100)
    bad = {op.op_name: [slot.health and slot.health["bad"] for slot in op.outputs] for op in answer["ops"]}
    assert (bad["Mul"], bad["Exp"], bad["Out"]) == ([True], [False], [None])
    with pytest.raises(BadQueryError):
        neighbours(snapshot, "f", "Out", hops=1, limit=9, at=99)
    with pytest.raises(NotFoundError):
        neighbours(snapshot, "f", "nobody", hops=1, limit=9)


def test_too_many_neighbours_are_cut_and_said_to_be(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("g", "f")
    for n in range(50):
        recording.op("g", f"op{n}", "Add", ["op0:0"] if n else [])
    with snapshot_of(recording.close()) as snapshot:
        answer = neighbours(snapshot, "g", "op0", hops=1, limit=10)
        assert (len(answer["ops"]), answer["truncated"]) == (10, True)
        assert len(neighbours(snapshot, "g", "op0", hops=1, limit=50)["ops"]) == 50


def test_a_graph_with_cycles_has_an_end(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("g", "f", "g")
    recording.op("g", "a", "Placeholder", ["b:0", "a:0"])
    recording.op("g", "b", "PartitionedCall", ["a:0"])
    with snapshot_of(recording.close()) as snapshot:
        assert _hops(neighbours(snapshot, "g", "a", hops=16, limit=1000)) == {"a": 0, "b": -1}


def test_text_is_found_wherever_it_stands(snapshot):
    answer = find(snapshot, "EXP", 10)
    assert [op.op_name for op in answer["ops"]] == ["Exp"]
    assert [op.op_name for op in find(snapshot, "loop", 10)["ops"]] == ["loop/while"]
    assert [one.name for one in find(snapshot, "while_body", 10)["functions"]] == ["loop_while_body_3"]
    assert [one.file_path for one in find(snapshot, "TRAIN", 10)["files"]] == ["/home/me/train.py"]
    assert [one.line for one in find(snapshot, "math.log", 10)["lines"]] == [2]
    assert [one.text for one in find(snapshot, "train.py:1", 10)["lines"]] == ["import tensorflow as tf"]
    (tensor,) = find(snapshot, "mul:0", 10)["tensors"]
    assert (tensor.op_name, tensor.graph_name, tensor.output_slot) == ("Mul", "inner", 0)
    assert find(snapshot, "mul:5", 10)["tensors"] == []


def test_what_is_equal_is_found_first_and_no_more_than_wanted(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("g", "f")
    for name in ("my/Log", "Log1", "Log", "aLog"):
        recording.op("g", name, "T")
    with snapshot_of(recording.close()) as snapshot:
        assert [op.op_name for op in find(snapshot, "log", 3)["ops"]] == ["Log", "Log1", "aLog"]


@pytest.mark.parametrize("text", ["%", "_", "'", "\\", "(", "\0", ":1", "a:99999999999", "é"])
def test_text_is_text_and_no_pattern(snapshot, text):
    assert all(text.casefold() in op.op_name.casefold() for op in find(snapshot, text, 10)["ops"])
