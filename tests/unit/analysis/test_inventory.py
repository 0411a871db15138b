"""`analysis/inventory.py`: each list of things, beside things that are counted one by one."""

from __future__ import annotations

import math
from collections import defaultdict

import numpy as np
import pytest

from tb_debugger_plugin.analysis.inventory import COLUMNS, KINDS, inventory, inventory_page, kinds
from tb_debugger_plugin.analysis.lists.criteria import CRITERIA, Kind
from tb_debugger_plugin.analysis.lists.filters import Filter, RowOrder, parse_comparisons
from tb_debugger_plugin.analysis.lists.selection import select
from tb_debugger_plugin.analysis.snapshot import Range
from tb_debugger_plugin.events.fileset import SESSION_RUNS
from tests.support.asking import Asker
from tests.support.events import Recording, full_health, small_program, snapshot_of
from tests.support.listed import HOSTS, OPS, record

_LINES = [
    f"{('/home/me/train.py', '/home/me/lib/model.py')[number % 2]}:{op[-1]}" for number, op in enumerate(OPS)
]
#: By kind: the thing of an op of the program, by host and number of the op.
_OF_OP = {
    "ops": lambda host, op: (host, op),
    "functions": lambda host, op: OPS[op][0],
    "layers": lambda host, op: OPS[op][3],
    "op_types": lambda host, op: OPS[op][2],
    "lines": lambda host, op: _LINES[op],
    "processes": lambda host, op: host,
    "devices": lambda host, op: "/device:CPU:0",
    "dtypes": lambda host, op: "float32",
}
#: The same of a call, by host and position among the calls of the host.
_OF_CALL = {
    "functions": lambda host, call: ("train_step", "evaluate")[call % 2],
    "op_types": lambda host, call: f"__inference_{('train_step', 'evaluate')[call % 2]}_7",
    "lines": lambda host, call: _LINES[call % 2],
    "processes": lambda host, call: host,
    "threads": lambda host, call: f"thread {call % 2}",
}
_CALLS = 3
_ALL = Filter()


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program whose last op computes nothing on one of the hosts, perhaps, since it calls few times."""
    folder = tmp_path_factory.mktemp("run")
    rows = record(folder, seed=8, rows=4 * _CALLS)
    with snapshot_of(folder) as snapshot:
        yield rows, snapshot


def _page(snapshot, kind, row_filter=_ALL, order=None):
    """The rows of a list as dicts without what is not known."""
    things = inventory(snapshot, kind, row_filter, order)
    page = inventory_page(snapshot, things, Range(0, len(things)))
    rows = []
    for place in range(len(things)):
        row = {}
        for name, values in page.columns.items():
            value = values[place].item()
            if name in page.dictionaries:
                value = None if value < 0 else page.dictionaries[name][value]
            row[name] = None if isinstance(value, float) and math.isnan(value) else value
        rows.append({name: value for name, value in row.items() if value is not None})
    return rows


def _expected(rows, kind, holds, *, with_calls=True, holds_op=lambda op: True, about_rows=False):
    """What must be said of each thing, counted row by row."""
    things = defaultdict(lambda: {"ops": 0, "calls": [], "rows": []})
    if kind in _OF_OP:
        if kind not in ("devices", "dtypes"):
            for host in HOSTS:
                for op in filter(holds_op, range(len(OPS))):
                    things[_OF_OP[kind](host, op)]["ops"] += 1
        for row in rows:
            if holds(row.facts) and holds_op(row.op):
                things[_OF_OP[kind](row.host, row.op)]["rows"].append(row)
    inside = defaultdict(int)
    for row in rows:
        inside[row.host, row.call] = max(inside[row.host, row.call], row.facts["health"] or 0)
    for host in HOSTS:
        for call in range(_CALLS if with_calls and kind in _OF_CALL else 0):
            things[_OF_CALL[kind](host, call)]["calls"].append(inside[host, call])
    return {
        key: _summed(**thing)
        for key, thing in things.items()
        if not about_rows or thing["rows"] or thing["calls"]
    }


def _summed(ops, calls, rows):
    facts = [row.facts for row in rows]
    bad = [row for row in rows if row.facts["health"] == 2]
    measured = [one for one in facts if one["health"] is not None]
    known = {
        "ops": ops,
        "calls": len(calls),
        "bad_calls": calls.count(2),
        "computed": len(rows),
        "bad": len(bad),
        "nan": sum(one["nan"] > 0 for one in measured) if measured else None,
        "inf": sum(one["neg_inf"] + one["pos_inf"] > 0 for one in measured) if measured else None,
        "health": max([*calls, *(one["health"] or 0 for one in facts)], default=0),
        "min": min((one["min"] for one in facts if one["min"] is not None), default=None),
        "max": max((one["max"] for one in facts if one["max"] is not None), default=None),
        "first": rows[0].index if rows else None,
        "first_bad": bad[0].index if bad else None,
    }
    return {name: value for name, value in known.items() if value is not None}


def _key(kind, row):
    if kind != "ops":
        return row.get("name")
    (number,) = [
        number
        for number, (function, name, *_) in enumerate(OPS)
        if (function, name) == (row["function"], row["name"])
    ]
    return row["host"], number


def _is_nan(facts):
    return (facts["nan"] or 0) > 0


@pytest.mark.parametrize(
    ("row_filter", "oracle"),
    [
        (Filter(), {"holds": lambda facts: True}),
        (
            Filter(op_type="^MatMul$"),
            {
                "holds": lambda facts: True,
                "holds_op": lambda op: OPS[op][2] == "MatMul",
                "with_calls": False,
            },
        ),
        (
            Filter(layer="dense_2", where=parse_comparisons("nan>0")),
            {
                "holds": _is_nan,
                "holds_op": lambda op: OPS[op][3] == "dense_2",
                "with_calls": False,
                "about_rows": True,
            },
        ),
    ],
    ids=["all", "an op type", "NaN in a layer"],
)
@pytest.mark.parametrize("kind", [*_OF_OP, "threads"])
def test_each_thing_has_what_is_on_record_of_it(program, kind, row_filter, oracle):
    rows, snapshot = program
    expected = _expected(rows, kind, **oracle)
    found = {_key(kind, row): row for row in _page(snapshot, kind, row_filter)}
    assert set(found) == set(expected)
    for key, numbers in expected.items():
        if kind == "ops":
            del numbers["ops"]
        # What a list cannot have is left out, and counts as nothing.
        assert {name: value for name, value in found[key].items() if name in numbers} | {
            name: 0 for name in numbers if name not in found[key]
        } == pytest.approx(numbers)
        assert not {"min", "max", "first", "first_bad"} & (set(found[key]) - set(numbers))


def test_an_op_that_computed_nothing_is_there_and_says_so(tmp_path):
    recording = small_program(tmp_path)
    recording.op("g1", "unused", "Exp", ["x:0"], ids=[14], stack=["f1"], outputs=[(1, [2])])
    with snapshot_of(recording.close()) as snapshot:
        rows = {row["name"]: row for row in _page(snapshot, "ops")}
        left = _page(snapshot, "ops", Filter(op_name="^unused$"))
        assert _page(snapshot, "ops", Filter(op_name="^unused$", health="bad")) == []
    assert rows["unused"] == {
        **{"index": 4, "name": "unused", "op_type": "Exp", "function": "loss", "graph_id": "g1"},
        **{"line": "/home/me/train.py:3", "dtype": "float32", "shape": "[2]"},
        **{"computed": 0, "bad": 0, "health": 0},
    }
    assert [row["name"] for row in left] == ["unused"]
    log = rows["Log"]
    assert (log["computed"], log["bad"], log["inf"], log["nan"], log["first_bad"]) == (2, 2, 2, 0, 1)
    assert (log["step"], log["call"], log["op_type"]) == (0, 1, "Log")
    assert (rows["x"]["bad"], rows["x"]["health"]) == (0, 1)


def test_variables_have_their_reads_updates_and_gradients(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("g1", "train")
    ofs = {"variable": "dense/kernel", "layer": "dense"}
    recording.op("g1", "handle", "Placeholder", ids=[1], outputs=[(20, [])], variable="dense/kernel")
    recording.op("g1", "read", "ReadVariableOp", ["handle:0"], ids=[2], outputs=[(1, [4, 5])], **ofs)
    recording.op("g1", "grad", "MatMul", ["read:0"], ids=[3], gradient_of=["dense/kernel"])
    recording.op("g1", "delta", "Mul", ["grad:0"], ids=[4])
    recording.op("g1", "assign", "AssignSubVariableOp", ["handle:0", "delta:0"], variable="dense/kernel")
    recording.op("g1", "other", "ReadVariableOp", ids=[5], outputs=[(1, [])], variable="bias")
    for values in ([1.0], [math.nan], [2.0]):
        recording.trace("g1", "read", full_health(values, 2))
        recording.trace("g1", "grad", full_health([math.inf], 3))
    recording.trace("g1", "delta", full_health([1.0], 4))
    with snapshot_of(recording.close()) as snapshot:
        kernel, bias = _page(snapshot, "variables")
        (rest, layer) = _page(snapshot, "layers")
    numbers = {
        "ops": 3,
        "computed": 3,
        "reads": 3,
        "bad": 1,
        "updates": 1,
        "gradients": 3,
        "bad_gradients": 3,
    }
    assert {name: kernel[name] for name in numbers} == numbers
    assert (kernel["name"], kernel["layer"], kernel["dtype"], kernel["shape"]) == (
        *("dense/kernel", "dense", "float32", "[4, 5]"),
    )
    assert (bias["name"], bias["computed"], "reads" in bias) == ("bias", 0, False)
    assert (layer["name"], layer["variables"], layer["ops"]) == ("dense", 1, 1)
    assert ("name" in rest, rest["variables"], rest["ops"]) == (False, 2, 5)


def test_session_runs_have_what_was_computed_while_they_ran(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("g1")
    recording.op("g1", "log", "Log", ids=[1])
    recording.request(1, feeds=[("x:0", 1, [2])], fetches=["log:0", "y:0"])
    for run in range(3):
        begin = recording.event().wall_time
        for value in [math.nan] * run:
            recording.trace("g1", "log", full_health([value], 1))
        event = recording.session_run_event(run + 1, 1)
        event.session_run.begin_time = begin
        recording.writer.write(SESSION_RUNS, event)
    with snapshot_of(recording.close()) as snapshot:
        assert "session_runs" in kinds(snapshot)
        rows = _page(snapshot, "session_runs", order=RowOrder("bad", descending=True))
        for row in rows:
            chosen = select(snapshot, "graph_executions", Filter(since=row["begin_time"], until=row["until"]))
            assert chosen.matching == row["computed"]
        filtered = _page(snapshot, "session_runs", Filter(op_name="log"))
    assert [row["run"] for row in rows] == [3, 2, 1]
    assert [row["bad"] for row in rows] == [2, 1, 0]
    assert [row["health"] for row in rows] == [2, 2, 0]
    assert {(row["fetches"], row["feeds"]) for row in rows} == {("log:0, y:0", "x:0")}
    assert [row["run"] for row in filtered] == [2, 3]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("descending", [False, True])
def test_each_column_sorts_and_what_has_no_value_comes_last(program, kind, descending):
    _, snapshot = program
    # Equal ones stay in their order, but for those that computed nothing.
    equal = sorted(_page(snapshot, kind), key=lambda row: not (row.get("computed") or row.get("calls")))
    for column in COLUMNS:
        rows = _page(snapshot, kind, order=RowOrder(column, descending))
        known = [row for row in equal if column in row]
        known.sort(key=lambda row: _rank(row[column]), reverse=descending)
        assert rows == [*known, *(row for row in equal if column not in row)]


def test_of_a_run_without_a_bad_tensor_the_ops_that_computed_something_come_first(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("g1", "step")
    for number, name in enumerate(("constant", "x", "y")):
        recording.op("g1", name, "Identity", ids=[number + 1])
    for name in ("y", "x"):
        recording.trace("g1", name, full_health([1.0]))
    with snapshot_of(recording.close()) as snapshot:
        rows = _page(snapshot, "ops", order=RowOrder("bad", descending=True))
    assert [row["name"] for row in rows] == ["x", "y", "constant"]


def _rank(value):
    if not isinstance(value, str):
        return value
    path, _, line = value.rpartition(":")
    return (path, int(line)) if line.isdigit() else (value, -1)


@pytest.mark.parametrize("criterion", [one for one in CRITERIA if one.things], ids=lambda one: one.name)
def test_a_thing_becomes_a_filter_that_leaves_what_was_counted(program, criterion):
    _, snapshot = program
    for row in _page(snapshot, criterion.things):
        value = row.get("name", "")
        if criterion.kind == Kind.REGEX:
            value = f"^{value}$"
        if value:
            chosen = select(snapshot, "graph_executions", Filter(**{criterion.name: value}))
            assert chosen.matching == row["computed"]


def test_the_run_names_the_lists_that_it_has(program, tmp_path):
    _, snapshot = program
    assert kinds(snapshot) == [
        *("ops", "functions", "layers", "op_types", "lines", "processes", "dtypes", "threads"),
    ]
    small_program(tmp_path / "small").close()
    Recording(tmp_path / "empty").close()
    with Asker(tmp_path) as asker:
        small = ["ops", "functions", "op_types", "lines", "dtypes"]
        assert asker.json("/status", run="small")["kinds"] == small
        assert asker.json("/status", run="empty")["kinds"] == []


def test_a_page_is_a_part_of_the_list(program):
    _, snapshot = program
    things = inventory(snapshot, "ops", Filter(), None)
    page = inventory_page(snapshot, things, Range(2, 5))
    assert (page.total, page.range) == (2 * len(OPS), Range(2, 5))
    assert page.columns["index"].tolist() == [2, 3, 4]
    assert all(len(values) == 3 for values in page.columns.values())
    assert page.columns["health"].dtype == np.uint8
