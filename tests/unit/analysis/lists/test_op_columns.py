"""`analysis/lists/tables.py`: the ops of all graphs, as the route `graphs/ops` answers them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_debugger_plugin.analysis.snapshot import Json
from tests.support.asking import Asker
from tests.support.events import small_program


@pytest.fixture(scope="module")
def asker(tmp_path_factory: pytest.TempPathFactory):
    logdir = tmp_path_factory.mktemp("logdir")
    small_program(logdir / "run").close()
    with Asker(logdir) as asker:
        yield asker


def _columns(asker: Asker, **query: object) -> Json:
    """The header, and the texts or numbers of each column."""
    header, columns = asker.columns("/graphs/ops", run="run", **query)
    out: Json = {name: header[name] for name in ("begin", "end", "total")}
    for name, numbers in columns.items():
        texts = header["dictionaries"].get(name)
        out[name] = (
            numbers.tolist() if texts is None else [texts[one] if one >= 0 else None for one in numbers]
        )
    return out


def test_every_known_op_is_there_with_its_graph(asker):
    ops = _columns(asker)
    assert ops["total"] == ops["end"] == len(ops["op_name"]) == 4
    assert list(zip(ops["op_name"], ops["op_type"], ops["function"], strict=True)) == [
        ("x", "Placeholder", "loss"),
        ("Log", "Log", "loss"),
        ("mul", "Mul", "loss"),
        ("Mean", "Mean", "loss"),
    ]
    assert set(ops["graph_id"]) == {"g1"} and set(ops["host"]) == {"worker0"}
    assert ops["layer"] == [None] * 4 and ops["num_outputs"] == [1] * 4


def test_an_op_without_a_device_in_its_graph_has_that_of_its_tensors(asker):
    ops = _columns(asker)
    assert dict(zip(ops["op_name"], ops["device"], strict=True))["Log"] == "/device:CPU:0"


def test_a_range_has_only_its_rows_and_a_small_dictionary(asker):
    ops = _columns(asker, begin=1, end=3)
    assert (ops["begin"], ops["end"], ops["total"]) == (1, 3, 4)
    assert ops["op_name"] == ["Log", "mul"]


@pytest.mark.parametrize(("begin", "end"), [(5, 6), (-1, 2), (0, 99)])
def test_a_range_outside_of_the_list_is_refused(asker, begin, end):
    assert asker.refusal("/graphs/ops", run="run", begin=begin, end=end)[0] == 400


def test_ops_without_a_record_are_left_out(tmp_path: Path):
    recording = small_program(tmp_path / "run", steps=0)
    recording.op("g1", "after", "Neg", inputs=["not_recorded:0"])
    recording.close()
    with Asker(tmp_path) as asker:
        assert "not_recorded" not in _columns(asker)["op_name"]
