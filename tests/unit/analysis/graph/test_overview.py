"""`analysis/graph/overview.py`: a whole graph as its layers or scopes, with what is bad in them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

import pytest

from tb_debugger_plugin.analysis.graph.overview import MAX_PARTS, overview
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.errors import BadQueryError, NotFoundError
from tests.support.events import Recording, full_health, snapshot_of

_GOOD, _BAD = full_health([1.0]), full_health([math.nan])


@pytest.fixture
def snapshot(tmp_path) -> Iterator[Snapshot]:
    """A model of two dense layers, the second of which computes NaN, with a gradient.

    ::

        x -> net/dense/MatMul -> net/dense/Relu -> net/top/MatMul -> net/top/Log -> gradient_tape/net/top/Inv
    """
    recording = Recording(tmp_path)
    recording.graph("g", "step")
    recording.op("g", "x", "Placeholder", ids=[1])
    recording.op("g", "net/dense/MatMul", "MatMul", ["x:0"], ids=[2], layer="net/dense")
    recording.op("g", "net/dense/Relu", "Relu", ["net/dense/MatMul:0"], ids=[3], layer="net/dense")
    recording.op("g", "net/top/MatMul", "MatMul", ["net/dense/Relu:0"], ids=[4], layer="net/top")
    recording.op("g", "net/top/Log", "Log", ["net/top/MatMul:0"], ids=[5], layer="net/top")
    inverse = "gradient_tape/net/top/Inv"
    recording.op("g", inverse, "Reciprocal", ["net/top/Log:0"], ids=[6], layer="net/top")
    for name, health in (
        *(("net/dense/MatMul", _GOOD), ("net/dense/Relu", _GOOD), ("net/top/MatMul", _GOOD)),
        *(("net/top/Log", _BAD), (inverse, _BAD), ("net/top/Log", _BAD)),
    ):
        recording.trace("g", name, health)
    with snapshot_of(recording.close()) as snapshot:
        yield snapshot


def _parts(answer) -> dict[str, tuple[int, int, int | None]]:
    return {part.name: (part.ops, part.bad_ops, part.first_bad) for part in answer["parts"]}


def _edges(answer) -> dict[tuple[str, str], tuple[int, int]]:
    names = [part.name for part in answer["parts"]]
    return {(names[edge.source], names[edge.target]): (edge.tensors, edge.bad) for edge in answer["edges"]}


def test_layers_have_what_is_bad_in_them_and_their_gradients_are_apart(snapshot):
    answer = overview(snapshot, "g", by="layer", opened=(), most=40)
    assert _parts(answer) == {
        "x": (1, 0, None),
        "net/dense": (2, 0, None),
        "net/top": (2, 1, 3),
        # A part of one op is that op.
        "gradient_tape/net/top/Inv": (1, 1, 4),
    }
    assert _edges(answer) == {
        ("x", "net/dense"): (1, 0),
        ("net/dense", "net/top"): (1, 0),
        ("net/top", "gradient_tape/net/top/Inv"): (1, 1),
    }
    (top,) = [part for part in answer["parts"] if part.name == "net/top"]
    assert (top.op_name, top.op_type, top.tensors, top.bad) == ("net/top/Log", "Log", 3, 2)


def test_ops_outside_of_any_part_are_drawn_each_while_there_is_room(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("g", "loss")
    for number, name in enumerate(("x", "log", "mean")):
        recording.op("g", name, "Log", ids=[number + 1])
    recording.op("g", "scope/neg", "Neg", ["log:0"], ids=[4])
    recording.op("g", "scope/abs", "Abs", ["scope/neg:0"], ids=[5])
    with snapshot_of(recording.close()) as snapshot:
        some = overview(snapshot, "g", by="layer", opened=(), most=4)
        few = overview(snapshot, "g", by="layer", opened=(), most=3)
    assert list(_parts(some)) == ["x", "log", "mean", "scope"]
    assert list(_parts(few)) == ["", "scope"]


def test_parts_are_opened_while_there_is_room_and_when_they_are_named(snapshot):
    few = overview(snapshot, "g", by="scope", opened=(), most=3)
    assert list(_parts(few)) == ["x", "net", "gradient_tape/net/top/Inv"]
    named = overview(snapshot, "g", by="scope", opened=["net", "net/top"], most=1)
    assert list(_parts(named))[1:] == [
        *("net/dense", "net/top/MatMul", "net/top/Log", "gradient_tape/net/top/Inv"),
    ]


def test_the_places_of_ops_are_found_in_open_and_closed_parts(snapshot):
    asked = ["net/top/Log", "x", "nobody", "net/dense/Relu"]
    answer = overview(snapshot, "g", by="scope", opened=["net", "net/top"], most=1, ops=asked)
    names = [None if place is None else answer["parts"][place].name for place in answer["places"]]
    assert names == ["net/top/Log", "x", None, "net/dense"]


def test_what_came_after_a_position_does_not_count(snapshot):
    answer = overview(snapshot, "g", by="layer", opened=(), most=40, at=3)
    assert _parts(answer)["net/top"] == (2, 1, 3)
    assert _parts(answer)["gradient_tape/net/top/Inv"] == (1, 0, None)
    assert [part.bad for part in answer["parts"]] == [0, 0, 1, 0]
    with pytest.raises(BadQueryError):
        overview(snapshot, "g", by="layer", opened=(), most=40, at=99)


def test_a_graph_that_does_not_exist_is_named(snapshot):
    with pytest.raises(NotFoundError, match="nothing"):
        overview(snapshot, "nothing", by="layer", opened=(), most=40)


def test_each_op_is_in_one_part_or_counted(tmp_path):
    draw = random.Random(7)
    recording = Recording(tmp_path)
    recording.graph("g", "step")
    for number in range(MAX_PARTS + 60):
        scope = "".join(f"{draw.choice('ab')}{draw.randrange(9)}/" for _ in range(draw.randrange(4)))
        recording.op("g", f"{scope}op_{number}", "Neg", ids=[number])
    with snapshot_of(recording.close()) as snapshot:
        names = {"/".join(op.name.split("/")[:n]) for op in snapshot.catalog.ops for n in range(4)}
        for most, opened in ((1, ()), (30, ()), (MAX_PARTS, ()), (1, names | {""})):
            answer = overview(snapshot, "g", by="scope", opened=opened, most=most)
            assert sum(part.ops for part in answer["parts"]) + answer["ops_left_out"] == MAX_PARTS + 60
            assert len(answer["parts"]) <= MAX_PARTS
        assert answer["parts_left_out"] == 60
