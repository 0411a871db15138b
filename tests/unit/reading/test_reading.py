"""`reading/run.py`: a run answers from Python what its files say, and refuses in sentences."""

from __future__ import annotations

import inspect
import math
import re
import textwrap
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import tb_debugger_plugin
from tb_debugger_plugin import open_run
from tb_debugger_plugin.analysis.snapshot import Range
from tb_debugger_plugin.errors import BadQueryError, NotFoundError, UsageError
from tb_debugger_plugin.reading.alerts import Alert, Explanation
from tb_debugger_plugin.reading.program import Frame, Graph, Op, Source
from tb_debugger_plugin.reading.rows import Execution, GraphExecution, Rows
from tb_debugger_plugin.reading.run import Change, Run
from tb_debugger_plugin.reading.value import Value
from tests.support.events import PATIENCE_S, full_health, small_program, values_program

with np.errstate(all="ignore"):
    _LOGS = [np.log(np.array([[1, 0, -1], [4, step, 2]], np.float32)) for step in range(3)]


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("logdir")
    values_program(logdir / "values").close()
    small_program(logdir / "train").close()
    return logdir


@pytest.fixture(scope="module")
def run(logdir):
    with open_run(logdir, "values") as run:
        yield run


@pytest.fixture(scope="module")
def train(logdir):
    with open_run(logdir, run="train") as run:
        yield run


def test_a_run_is_chosen_by_name_and_the_only_one_without(logdir):
    with open_run(logdir / "train") as run:
        assert (run.name, run.folder) == (".", str(logdir / "train"))
    with pytest.raises(NotFoundError, match=r"several runs; choose one with run=...: 'train' and 'values'"):
        open_run(logdir)
    with pytest.raises(NotFoundError, match="There is no run named 'x'"):
        open_run(logdir, "x")


def test_a_folder_without_runs_is_refused(tmp_path):
    with pytest.raises(NotFoundError, match="does not exist"):
        open_run(tmp_path / "x")
    with pytest.raises(NotFoundError, match="holds no debug events"):
        open_run(tmp_path)


def test_executions_are_what_python_ran(run):
    rows = run.executions()
    assert len(rows) == 7
    assert [row.op_type for row in rows][:2] == ["Fill", "__inference_loss_7"]
    assert (rows[1].is_function, rows[1].health, rows[1].call_health) == (True, "bad", "bad")
    assert rows[-1] == rows[6] and [row.index for row in rows[2:5]] == [2, 3, 4]
    with pytest.raises(IndexError, match="There is no row 7"):
        rows[7]


def test_graph_executions_are_the_tensors_of_graphs(run):
    row = run.graph_executions()[1]
    assert (row.name, row.function, row.mode, row.dtype) == ("Log:0", "loss", "FULL_TENSOR", "float32")
    assert (row.shape, row.size, row.nan, row.neg_inf, row.health, row.owner) == ([2, 3], 6, 1, 2, "bad", 1)
    assert row.variance is None or math.isfinite(row.variance)


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"op_type": "^Log$"}, [1, 3, 5]),
        ({"health": "bad"}, [1, 3, 5]),
        ({"where": "neg_inf>1"}, [1]),
        ({"function": "loss", "op_name": "x"}, [0, 2, 4]),
        ({"source": "train.py", "line": 2}, [0, 1, 2, 3, 4, 5]),
        ({"from_execution": 3, "until_execution": 4}, [2, 3]),
        ({"sort": "neg_inf", "descending": True, "op_type": "Log"}, [1, 3, 5]),
        ({"op_name": "nothing"}, []),
    ],
)
def test_rows_are_filtered_and_sorted(run, filters, expected):
    assert [row.index for row in run.graph_executions(**filters)] == expected


@pytest.mark.parametrize(
    ("filters", "error", "said"),
    [
        ({"op": "Log"}, UsageError, "There is no filter 'op': choose from call, device, dtype"),
        ({"health": "ill"}, UsageError, "health is 'ill': choose one of bad, good, unmeasured, nan, inf."),
        ({"where": "nan"}, BadQueryError, "where must be like"),
        ({"op_name": "("}, BadQueryError, "op_name"),
        ({"source": "nowhere"}, NotFoundError, "No source files have 'nowhere' in their paths"),
        ({"sort": "colour"}, UsageError, "The rows cannot be sorted by 'colour'"),
    ],
)
def test_a_wrong_filter_is_refused(run, filters, error, said):
    with pytest.raises(error, match=re.escape(said)):
        run.graph_executions(**filters)


def test_a_part_of_several_paths_names_no_source_file(tmp_path):
    recording = small_program(tmp_path)
    recording.source("/home/me/model.py", ["import tensorflow as tf"])
    with open_run(recording.close()) as run:
        assert len(run.graph_executions(source="train.py")) > 0
        with pytest.raises(NotFoundError, match=r"Several source files have '\.py' in their paths"):
            run.graph_executions(source=".py")


def test_rows_are_columns_and_a_data_frame(run):
    columns = run.graph_executions().columns()
    assert columns["nan"].tolist() == [0, 1, 0, 1, 0, 1]
    assert columns["op_type"].tolist() == ["Placeholder", "Log"] * 3
    pytest.importorskip("pandas", reason="data frames need pandas")
    frame = run.graph_executions().df()
    assert frame.groupby("op_type")["nan"].sum().to_dict() == {"Log": 3, "Placeholder": 0}
    assert run.executions().df().shape[0] == 7


def test_values_are_sliced_like_arrays(run):
    for occurrence, expected in enumerate(_LOGS):
        value = run.value("Log:0", occurrence=occurrence)
        assert (value.shape, value.dtype, len(value), value.is_kept) == ((2, 3), "float32", 2, True)
        np.testing.assert_array_equal(value, expected)
        np.testing.assert_array_equal(value[1, ::-1], expected[1, ::-1])
        np.testing.assert_array_equal(value.read("[..., 1]"), expected[..., 1])
        assert value[0, 0].shape == ()
    np.testing.assert_array_equal(run.value("Log")[:], _LOGS[-1])
    np.testing.assert_array_equal(run.graph_executions()[1].value(), _LOGS[0])
    np.testing.assert_array_equal(run.executions()[1].value(), _LOGS[0])
    assert [int(np.isnan(value).sum()) for value in run.values("Log:0", function="loss")] == [1, 1, 1]
    assert run.value(execution=6)[:].tolist() == [b"a b", "é".encode(), b"\xff"]


def test_a_value_is_saved_and_described(run, tmp_path):
    value = run.value("Log:0")
    path = value.save(tmp_path / "log.npy", "[:, 1:]")
    np.testing.assert_array_equal(np.load(path), _LOGS[-1][:, 1:])
    assert value.statistics("[1]", low=0)["in_range"] == 3
    assert value.summary["nan"] == 1


def test_a_value_outlives_its_run(logdir):
    with open_run(logdir, "values") as run:
        value = run.value("Log:0")
    np.testing.assert_array_equal(value, _LOGS[-1])


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (lambda run: run.value(), BadQueryError, "Exactly one of the parameters"),
        (lambda run: run.value("Log", execution=1), UsageError, "but not both"),
        (lambda run: run.value("Sin:0"), NotFoundError, "No tensor Sin:0 is recorded"),
        (lambda run: run.value("Log:1"), NotFoundError, "Log has no recorded output 1; it has 0."),
        (
            lambda run: run.value("Log", occurrence=3),
            NotFoundError,
            "Log was computed 3 time(s), so there is no number 3.",
        ),
        (lambda run: run.value("Log[0]"), UsageError, "take its value, and slice that"),
        (lambda run: run.value("Lgo"), NotFoundError, "did you mean 'Log'?"),
        (lambda run: run.value("Log")[2], BadQueryError, "Index 2 is out of range for axis 0"),
        (lambda run: run.value("Log")["a"], BadQueryError, "'a' is not an integer, a slice or an ellipsis"),
        (lambda run: run.value("Log")[[0, 1]], BadQueryError, "read a slice and index the array"),
        (lambda run: run.value("Log")[None], BadQueryError, "None is not an integer"),
        (lambda run: run.value(execution=6, slot=2)[:], NotFoundError, "more than the recording keeps"),
        (lambda run: run.value(execution=6).save("x.npy"), BadQueryError, "Strings have no place"),
        (lambda run: run.ops(name="("), UsageError, "is not a regular expression"),
        (lambda run: run.alerts("x"), UsageError, "There is no rule 'x'"),
        (lambda run: run.why(99), BadQueryError, "There is no alert 99"),
        (lambda run: run.sql("DELETE FROM meta"), BadQueryError, "must be one SELECT"),
        (lambda run: run.sql("SELECT nothing"), BadQueryError, "The query failed"),
        (lambda run: run.sql("SELEC"), BadQueryError, "The query failed"),
    ],
)
def test_what_is_not_there_is_said_in_a_sentence(run, ask, error, said):
    with pytest.raises(error, match=re.escape(said)):
        ask(run)


def test_a_recording_without_values_says_what_to_do(train):
    value = train.value("Log:0")
    assert not value.is_kept and "record with keep_values=..." in value.reason
    assert value.summary["neg_inf"] == 1
    with pytest.raises(NotFoundError, match="keep_values"):
        value[:]


def test_a_tensor_of_several_functions_is_the_last_one_or_that_of_a_function(tmp_path):
    recording = small_program(tmp_path)
    recording.graph("g2", "other")
    recording.trace("g2", "Log", full_health([1.0]))
    with open_run(recording.close()) as run:
        assert run.value("Log:0").summary == run.value("Log:0", function="other").summary
        assert run.value("Log:0", function="other").summary["positive"] == 1
        assert run.value("Log:0", function="^lo").index < run.value("Log").index
        assert len(run.values("Log")) == len(run.values("Log", function="loss")) + 1


def test_the_program_is_there_as_objects(train):
    assert [graph.name for graph in train.graphs()] == [None, "loss"]
    graph = train.graphs()[1]
    assert graph.outer_id == "g0" and [op.name for op in graph.ops()] == ["x", "Log", "mul", "Mean"]
    (log,) = train.ops(type="^Log$", function="loss")
    assert log.inputs() == ["x:0"] and log.consumers() == [["mul"]]
    assert [frame.line for frame in log.traceback()] == [3, 1]
    assert "return tf.math.log(x)" in str(log.traceback()[0])
    assert len(log.values()) == 2
    sources = train.sources()
    assert (sources[0].path, sources[0].origin, len(sources[0].lines)) == ("/home/me/train.py", "user", 3)
    assert sources[1].origin == "library"


def test_alerts_and_their_reasons(train):
    alerts = train.alerts()
    assert [alert.op_type for alert in alerts][:2] == ["Log", "Mul"]
    assert alerts[0].value().summary["neg_inf"] == 1
    why = train.why()
    assert isinstance(why, Explanation) and why.headline.startswith("Log in loss, train.py:3")
    assert "logarithm of 0" in str(why) and alerts[0].why() == why
    assert train.alerts("ExplodingAlert") == []


def test_sql_gives_a_relation_that_becomes_what_others_read(run):
    pytest.importorskip("pandas", reason="data frames need pandas")
    pytest.importorskip("pyarrow", reason="Arrow tables need pyarrow")
    relation = run.sql("SELECT op_type, count(*) AS count FROM executions GROUP BY ALL ORDER BY ALL")
    assert relation.df()["count"].tolist() == [3, 3, 1]
    assert run.sql("SELECT idx FROM graph_executions ORDER BY idx").fetchall()[-1] == (5,)
    table = run.sql("SELECT idx FROM graph_executions").arrow()
    assert getattr(table, "read_all", lambda: table)().num_rows == 6


def test_a_live_run_is_followed_until_it_ends(tmp_path):
    recording = small_program(tmp_path, steps=1)
    with open_run(tmp_path) as run:
        changes = run.follow(interval=0.05, timeout=PATIENCE_S)
        first = next(changes)
        assert isinstance(first, Change) and (len(first.executions), len(first.graph_executions)) == (2, 4)
        recording.execution("Late", [full_health([1.0])])
        second = next(changes)
        assert [row.op_type for row in second.executions] == ["Late"] and not len(second.graph_executions)
        recording.counts(3, 4, finished=True)
        assert list(changes) == []
    recording.close()


def test_following_ends_when_nothing_changes_for_long(tmp_path):
    small_program(tmp_path, steps=1).close()
    with open_run(tmp_path) as run:
        assert len(list(run.follow(interval=0.05, timeout=0.2))) == 1


def test_threads_may_share_a_run(run):
    def read(_):
        for _ in range(5):
            np.testing.assert_array_equal(run.value("Log:0"), _LOGS[-1])
            assert len(run.graph_executions(health="bad")) == 3

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(read, range(4)))


_CLASSES = (Run, Value, Rows, Execution, GraphExecution, Graph, Op, Frame, Source, Alert)
#: Methods for the command line and the shell; what needs TensorFlow, see `tests/integration/replay`.
_OF_THE_PACKAGE = ("snapshot", "export", "cursor", "replay")
_METHODS = [
    pytest.param(method, id=f"{cls.__name__}.{name}")
    for cls in _CLASSES
    for name, method in vars(cls).items()
    if inspect.isfunction(method) and not name.startswith("_") and name not in _OF_THE_PACKAGE
]


@pytest.mark.parametrize("method", [*_METHODS, pytest.param(tb_debugger_plugin.open_run, id="open_run")])
def test_the_example_of_each_method_runs(method, run, train, logdir, tmp_path, monkeypatch, capsys):
    """With the names that the examples use: a run, one of its values, ops, rows, graphs and alerts."""
    pytest.importorskip("pandas", reason="data frames need pandas")
    pytest.importorskip("pyarrow", reason="Arrow tables need pyarrow")
    monkeypatch.chdir(tmp_path)
    text = inspect.getdoc(method)
    found = re.search(r"^Use::\n\n(.*?)(?=^\S)", text + "\nEnd", re.MULTILINE | re.DOTALL)
    assert found, f"{method.__qualname__} has no example"
    names = {
        "tb_debugger_plugin": tb_debugger_plugin,
        "np": np,
        "run": run,
        "value": run.value("Log:0"),
        "rows": run.graph_executions(),
        "row": run.graph_executions()[0],
        "graph": run.graphs()[0],
        "op": run.ops(type="Log")[0],
        "alert": run.alerts()[0],
    }
    code = textwrap.dedent(found[1]).replace("/path/to/logdir", str(logdir / "values"))
    code = code.replace('function="train_step"', 'function="loss"').replace('"^MatMul$"', '"^Log$"')
    if method is Run.close:
        names["run"] = open_run(logdir, "values")
    exec(compile(code, method.__qualname__, "exec"), names)


def test_a_row_is_read_with_few_others_and_a_loop_reads_ever_more(run):
    ranges = []
    page = run.graph_executions()[0]
    template = run.graph_executions()._page(Range(0, 1))

    def read(positions):
        ranges.append((positions.begin, positions.end))
        count = positions.end - positions.begin
        columns = {name: np.repeat(column, count) for name, column in template.columns.items()}
        columns["index"] = np.arange(positions.begin, positions.end)
        return replace(template, range=positions, columns=columns)

    rows = Rows(run, type(page), read, 1_000_000)
    for at in (999_999, 500_000, 500_001, 499_990):
        assert rows[at].index == at
    assert ranges == [(999_871, 1_000_000), (499_872, 500_128)]
    assert [rows[at].index for at in range(500_001, 520_000)] == list(range(500_001, 520_000))
    assert max(end - begin for begin, end in ranges) == 10_000 and len(ranges) < 10
