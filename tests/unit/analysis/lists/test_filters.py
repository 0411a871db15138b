"""`analysis/lists/filters.py`: filters and orders of long lists give what a row-by-row reading gives."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
import pytest

from tb_debugger_plugin.analysis.lists import filters, orders, selection, tables
from tb_debugger_plugin.analysis.lists.filters import Filter, RowOrder, parse_comparisons
from tb_debugger_plugin.analysis.lists.selection import select, select_at
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot
from tb_debugger_plugin.errors import BadQueryError
from tests.support.events import Recording, full_health, snapshot_of

_VALUES = ([1.0, 0.0], [math.nan], [[-math.inf, 2.0]], [], [0.0] * 5, None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two hosts whose programs run three ops, with every kind of value."""
    folder = tmp_path_factory.mktemp("run")
    for host in ("worker0", "worker1"):
        recording = Recording(folder, host=host)
        recording.source("/home/me/train.py", ["a", "b", "c"])
        recording.frame(f"{host}1", 0, 1, "main")
        recording.frame(f"{host}2", 0, 2, "loss")
        recording.device(1)
        recording.graph("g1", "train_step")
        recording.graph("g2", "evaluate")
        for number, (graph, name, kind) in enumerate(_OPS):
            recording.op(
                graph, name, kind, stack=[f"{host}{1 + number % 2}"], outputs=[(1 + number % 2, [2])]
            )
        for step in range(20):
            graph, name, _ = _OPS[step % len(_OPS)]
            value = _VALUES[step % len(_VALUES)]
            recording.trace(graph, name, None if value is None else full_health(value))
            recording.execution(
                ("Log", "__inference_train_step_7")[step % 2],
                [None if value is None else full_health(value)],
                graph_id=graph if step % 2 else "",
                inputs=range(step % 3),
                ids=[step],
                stack=[f"{host}{1 + step % 2}"],
            )
        recording.close()
    return folder


_OPS = (("g1", "layer_1/Log", "Log"), ("g1", "layer_2/MatMul", "MatMul"), ("g2", "Sum", "Sum"))


@pytest.fixture(scope="module")
def snapshot(folder) -> Iterator[Snapshot]:
    with snapshot_of(folder) as snapshot:
        yield snapshot


def _words(page: tables.ColumnPage, name: str) -> list[str | None]:
    entries = page.dictionaries[name]
    return [entries[code] if code >= 0 else None for code in page.columns[name].tolist()]


def _traces(snapshot, wanted: Filter, order: RowOrder | None = None) -> list[int]:
    chosen = select(snapshot, "graph_executions", wanted, order)
    page = tables.graph_executions_page(snapshot, Range(0, chosen.total), chosen=chosen)
    return page.columns["index"].astype(int).tolist()


def _executions(snapshot, wanted: Filter, order: RowOrder | None = None) -> list[int]:
    chosen = select(snapshot, "executions", wanted, order)
    page = tables.executions_page(snapshot, Range(0, chosen.total), chosen)
    return page.columns["index"].astype(int).tolist()


@pytest.fixture(scope="module")
def traces(snapshot) -> list[dict]:
    """Every graph execution, as plain values."""
    page = tables.graph_executions_page(snapshot, Range(0, snapshot.num_graph_executions))
    words = {name: _words(page, name) for name in page.dictionaries}
    numbers = {name: values.tolist() for name, values in page.columns.items() if name not in words}
    rows = [
        dict(zip({**words, **numbers}, row, strict=True))
        for row in zip(*{**words, **numbers}.values(), strict=True)
    ]
    hosts = snapshot.columns(
        "SELECT s.host FROM graph_executions t JOIN sites s USING (site) ORDER BY t.idx"
    )["host"].tolist()
    return [{**row, "host": host} for row, host in zip(rows, hosts, strict=True)]


@pytest.mark.parametrize(
    ("wanted", "holds"),
    [
        (Filter(op_name="layer_[0-9]/"), lambda row: row["op_name"].startswith("layer_")),
        (Filter(op_name="^Sum$"), lambda row: row["op_name"] == "Sum"),
        (Filter(not_op_name="^layer_1"), lambda row: not row["op_name"].startswith("layer_1")),
        (Filter(sites=(0,)), lambda row: row["host"] == 0 and row["op_type"] == "Log"),
        (Filter(op_type="Mat|Log"), lambda row: row["op_type"] in ("MatMul", "Log")),
        (Filter(function="eval"), lambda row: row["function"] == "evaluate"),
        (Filter(device="CPU"), lambda row: True),
        (Filter(device="GPU"), lambda row: False),
        (Filter(dtype="float32"), lambda row: row["dtype"] == 1),
        (Filter(host="worker1"), lambda row: row["host"] == 1),
        (Filter(health="bad"), lambda row: row["health"] == 2),
        (Filter(health="unmeasured"), lambda row: row["health"] == 0),
        (Filter(health="good", op_name="Log"), lambda row: row["health"] == 1 and row["op_type"] == "Log"),
        (Filter(where=parse_comparisons("nan>0")), lambda row: row["nan"] > 0),
        (
            Filter(where=parse_comparisons("size>=1, zero=0")),
            lambda row: row["size"] >= 1 and row["zero"] == 0,
        ),
        (Filter(where=parse_comparisons("rank<2")), lambda row: row["health"] and row["rank"] < 2),
        (Filter(since=1000.02), lambda row: row["wall_time"] >= 1000.02),
        (Filter(until=1000.03, since=1000.02), lambda row: 1000.02 <= row["wall_time"] < 1000.03),
        (Filter(source=0), lambda row: row["host"] == 0),
        (Filter(source=1, line=2), lambda row: row["host"] == 1 and row["op_type"] == "MatMul"),
        (Filter(source=7), lambda row: False),
        (Filter(from_execution=4), lambda row: row["owner"] >= 4),
        (Filter(from_execution=1, until_execution=9), lambda row: 1 <= row["owner"] < 9),
        (Filter(until_execution=0), lambda row: False),
        (Filter(call=(1, 8)), lambda row: 1 <= row["owner"] <= 8),
        (Filter(call=(1, 8), from_execution=3, until_execution=40), lambda row: 3 <= row["owner"] <= 8),
    ],
)
def test_a_filter_leaves_the_rows_for_which_it_holds(snapshot, traces, wanted, holds):
    expected = [int(row["index"]) for row in traces if holds(row)]
    assert _traces(snapshot, wanted) == expected
    assert select(snapshot, "graph_executions", wanted).matching == len(expected)


@pytest.mark.parametrize("stretch", [1, 3, 7, 1000])
@pytest.mark.parametrize("wanted", [Filter(op_type="Log"), Filter(health="bad"), Filter(host="worker1")])
def test_any_page_of_a_filtered_list_is_a_part_of_the_whole(snapshot, monkeypatch, stretch, wanted):
    monkeypatch.setattr(selection, "STRETCH", stretch)
    snapshot.loader.memory.clear()
    chosen = select(snapshot, "graph_executions", wanted)
    whole = chosen.rows(snapshot, "t.idx", Range(0, chosen.total))["idx"].tolist()
    for begin in range(chosen.total + 1):
        for end in range(begin, chosen.total + 1):
            assert chosen.rows(snapshot, "t.idx", Range(begin, end))["idx"].tolist() == whole[begin:end]
    snapshot.loader.memory.clear()


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("column", ["size", "nan", "wall_time", "rank"])
def test_a_sorted_list_has_the_rows_without_a_number_last(snapshot, traces, column, descending):
    def number(row):
        value = row[column] if row["health"] or column == "wall_time" else math.nan
        return (math.isnan(value), -value if descending else value)

    expected = [int(row["index"]) for row in sorted(traces, key=number)]
    assert _traces(snapshot, Filter(), RowOrder(column, descending)) == expected


@pytest.mark.parametrize("descending", [False, True])
def test_a_list_is_sorted_by_what_follows_from_the_site_of_a_tensor(snapshot, traces, descending):
    for column, name in (("op_type", "op_type"), ("tensor_name", "op_name")):
        expected = sorted(traces, key=lambda row: row[name], reverse=descending)
        assert _traces(snapshot, Filter(), RowOrder(column, descending)) == [
            int(row["index"]) for row in expected
        ]


@pytest.mark.parametrize("descending", [False, True])
def test_a_list_is_sorted_by_bytes_with_unmeasured_tensors_by_their_static_shape(
    snapshot, traces, descending
):
    def size(row):
        # All records are of float32; of a tensor that was not measured, the graph knows 2 elements.
        item = 8 if row["dtype"] == 2 else 4
        value = item * (2 if math.isnan(row["size"]) else row["size"])
        return -value if descending else value

    expected = [int(row["index"]) for row in sorted(traces, key=size)]
    assert _traces(snapshot, Filter(), RowOrder("bytes", descending)) == expected


@pytest.mark.parametrize("few_times", [0, 8])
@pytest.mark.parametrize("column", ["op_type", "tensor_name", "size", "bytes"])
def test_the_first_rows_are_those_of_the_whole_sorted_list(snapshot, monkeypatch, column, few_times):
    monkeypatch.setattr(orders, "_FEW_TIMES", few_times)
    condition = filters.graph_execution_condition(snapshot, Filter(not_op_name="Sum"))
    for descending in (False, True):
        order = RowOrder(column, descending)
        whole = orders.first_rows(snapshot, "graph_executions", condition, order, 1000)
        assert whole.matching == len(whole.positions) == 28
        for count in range(1, 30):
            first = orders.first_rows(snapshot, "graph_executions", condition, order, count)
            assert first.positions.tolist() == whole.positions.tolist()[:count]
            assert first.matching == 28


def test_rows_at_given_positions_keep_their_order_or_are_sorted(snapshot):
    def shown(chosen):
        return chosen.rows(snapshot, "t.idx", Range(0, chosen.total))["idx"].tolist()

    assert shown(select_at(snapshot, "graph_executions", [7, 2, 5])) == [7, 2, 5]
    assert shown(select_at(snapshot, "graph_executions", [7, 2, 5], RowOrder("wall_time"))) == [2, 5, 7]
    assert shown(select_at(snapshot, "graph_executions", [])) == []
    with pytest.raises(BadQueryError, match=r"There is no row 4000"):
        select_at(snapshot, "graph_executions", [4000])


def test_a_list_that_is_too_long_to_be_sorted_whole_is_cut_and_says_how_many_there_are(snapshot, monkeypatch):
    monkeypatch.setattr(selection, "FIRST_SORTED", 3)
    monkeypatch.setattr(selection, "_ORDER_BYTES", 8)
    snapshot.loader.memory.clear()
    chosen = select(snapshot, "graph_executions", Filter(health="bad"), RowOrder("size"))
    assert (chosen.total, chosen.matching) == (3, len(_traces(snapshot, Filter(health="bad"))))


@pytest.mark.parametrize(
    ("wanted", "rows"),
    [
        (Filter(op_type="^Log$", host="worker0"), 10),
        (Filter(function="evaluate"), 6),
        (Filter(where=parse_comparisons("nan>=1")), 8),
        (Filter(health="bad", dtype="float32"), 14),
        (Filter(device="CPU"), 40),
        (Filter(source=0, line=1), 10),
        (Filter(since=0.0, until=1.0), 0),
        (Filter(from_execution=3, until_execution=9), 6),
        (Filter(from_execution=38), 2),
    ],
)
def test_executions_are_filtered_too(snapshot, wanted, rows):
    actual = _executions(snapshot, wanted)
    assert len(actual) == rows == len(set(actual)) and actual == sorted(actual)


def test_executions_can_be_sorted(snapshot):
    order = _executions(snapshot, Filter(), RowOrder("num_inputs", True))
    page = tables.executions_page(snapshot, Range(0, snapshot.num_executions))
    inputs = page.columns["num_inputs"]
    assert order == np.argsort(-inputs, kind="stable").tolist()


@pytest.mark.parametrize(
    "ask",
    [
        lambda snapshot: select(snapshot, "graph_executions", Filter(op_name="(")),
        lambda snapshot: select(snapshot, "graph_executions", Filter(op_name="(?=look)ahead")),
        lambda snapshot: select(snapshot, "graph_executions", Filter(op_name="a" * 2000)),
        lambda snapshot: select(snapshot, "graph_executions", Filter(not_op_name="(")),
        lambda snapshot: select(snapshot, "executions", Filter(not_op_name="Log")),
        lambda snapshot: select(snapshot, "executions", Filter(op_type="[")),
        lambda snapshot: select(snapshot, "executions", Filter(op_name="Log")),
        lambda snapshot: select(snapshot, "graph_executions", Filter(host="nobody")),
        lambda snapshot: select(snapshot, "graph_executions", Filter(dtype="float31")),
        lambda snapshot: select(snapshot, "graph_executions", Filter(line=3)),
        lambda snapshot: parse_comparisons("nan"),
        lambda snapshot: parse_comparisons("idx>0"),
        lambda snapshot: parse_comparisons("nan>1; DROP TABLE traces"),
        lambda snapshot: parse_comparisons("nan>1.2.3"),
        lambda snapshot: parse_comparisons(",".join(["nan>0"] * 17)),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(snapshot, ask):
    with pytest.raises(BadQueryError, match=r"\.$"):
        ask(snapshot)


def test_no_regular_expression_takes_for_ever(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("g", "f")
    recording.op("g", "a" * 50_000 + "!", "Long")
    recording.trace("g", "a" * 50_000 + "!", full_health([1.0]))
    with snapshot_of(recording.close()) as snapshot:
        begin = time.monotonic()
        for pattern in ("^(a+)+$", "^(a|aa)+$", "^(.*a){20}$", "(a*)*b"):
            assert select(snapshot, "graph_executions", Filter(op_name=pattern)).matching == 0
        assert time.monotonic() - begin < 5


@pytest.mark.parametrize(
    ("text", "ends"),
    [("3..9", (3, 9)), ("3", (3, 3)), ("..9", (0, 9)), ("3..", (3, 2**53)), ("0..0", (0, 0))],
)
def test_a_range_has_a_first_and_a_last_number(text, ends):
    assert filters.parse_range("call", text) == ends


@pytest.mark.parametrize("text", ["", "..", "a", "-1", "3...9", "3..x", "1.5", " 3", "9" * 20])
def test_a_wrong_range_is_refused(text):
    with pytest.raises(BadQueryError, match=r"^call must be like '3..9'"):
        filters.parse_range("call", text)
