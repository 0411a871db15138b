"""`analysis/lists/views.py`: the views say of each tensor and call what the rows of Python say."""

from __future__ import annotations

import json
import math
from collections import Counter
from contextlib import closing

import duckdb
import pytest

from tb_debugger_plugin.analysis.lists.views import VIEWS, may_read_views
from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.modes import MEASURED
from tb_debugger_plugin.reading.run import open_run
from tests.support.events import full_health, loaded, small_program, values_program
from tests.support.numerics import training

_SAME = ("op_type", "slot", "function", "layer", "gradient_of", "device", "dtype", "host", "health")


def _two_hosts(folder):
    for host in ("a", "b"):
        recording = small_program(folder, steps=7, host=host)
        for _ in range(3):
            recording.trace("g1", "never", full_health([1.0, math.inf]))
        recording.close()


def _with_names(folder):
    recording = training(folder, [{"Relu": [float(n), 0.0], "x": [9.0]} for n in (1, 2, 3, 4)])
    recording.op("g1", "d", "Mul", ["x:0"], layer="m/dense", gradient_of=["w", "b"], outputs=[(3, None)])
    recording.trace("g1", "d", full_health([1.0]))
    recording.close()


def _values(folder):
    values_program(folder).close()


def _rows(run, query):
    relation = run.sql(query)
    return [dict(zip(relation.columns, row, strict=True)) for row in relation.fetchall()]


@pytest.mark.parametrize("make", [_two_hosts, _with_names, _values])
def test_a_row_of_tensors_says_what_the_row_in_python_says(tmp_path, make):
    make(tmp_path)
    with open_run(tmp_path) as run:
        rows = _rows(run, "SELECT * FROM tensors WHERE NOT is_eager ORDER BY idx")
        expected = list(run.graph_executions())
        assert len(rows) == len(expected) > 0
        for row, other in zip(rows, expected, strict=True):
            assert {name: row[name] for name in _SAME} == {name: getattr(other, name) for name in _SAME}
            assert (row["idx"], row["op"], row["wall_time"]) == (other.index, other.op_name, other.wall_time)
            shape = row["shape"] and json.loads(row["shape"].replace("?", "null"))
            assert (shape, [row[name] for name in MEASURED]) == (
                other.shape,
                [getattr(other, name) for name in MEASURED],
            )
            assert row["step"] == other.step


@pytest.mark.parametrize("make", [_two_hosts, _values])
def test_a_row_of_calls_says_what_the_row_in_python_says(tmp_path, make):
    make(tmp_path)
    with open_run(tmp_path) as run:
        rows = _rows(run, "SELECT * FROM calls ORDER BY idx")
        expected = list(run.executions())
        assert len(rows) == len(expected) > 0
        for row, other in zip(rows, expected, strict=True):
            assert (row["idx"], row["wall_time"], row["host"]) == (other.index, other.wall_time, other.host)
            assert (row["name"], row["is_function"]) == (other.op_type, other.is_function)
            assert (row["num_inputs"], row["num_outputs"]) == (other.num_inputs, other.num_outputs)
            assert row["step"] == other.step


def test_outputs_of_eager_ops_are_tensors_with_the_line_that_ran_them(small_run):
    with open_run(small_run) as run:
        rows = _rows(run, "SELECT * FROM tensors WHERE is_eager AND op_type = 'Fill' ORDER BY idx")
        threads = run.sql("SELECT DISTINCT thread, line FROM calls").fetchall()
    assert [(row["idx"], row["slot"], row["line"], row["zero"], row["health"]) for row in rows] == [
        (0, 0, "train.py:3", 1, "good"),
        (2, 0, "train.py:3", 1, "good"),
    ]
    assert threads == [("MainThread", "train.py:3")]


def test_calls_after_a_long_pause_have_their_steps(tmp_path):
    recording = small_program(tmp_path, steps=40)
    recording.now += 1e7
    for step in range(40, 80):
        recording.trace("g1", "Log", full_health([1.0]))
        recording.execution("__inference_loss_7", graph_id="g1", ids=[step])
    recording.trace("g1", "Log", full_health([1.0]))
    with open_run(recording.close()) as run:
        steps = run.sql("SELECT step FROM tensors WHERE op = 'Log' ORDER BY idx").fetchall()
    assert [step for (step,) in steps] == [*range(81)]


def test_the_views_are_made_where_they_are_asked_for_only(small_run, tbdbg):
    with closing(loaded(small_run)) as loader, loader.reading() as connection:
        assert connection.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal").fetchall() == [
            (0,)
        ]
    listed = tbdbg("sql", small_run, "SHOW TABLES").split()
    assert {*VIEWS, "graph_executions"} <= {*listed}
    assert not may_read_views("SELECT count(*) FROM graph_executions") and may_read_views("from Tensors")


def test_a_query_that_fails_while_it_runs_does_not_end_the_next_ones(small_run):
    with open_run(small_run) as run:
        count = "SELECT count(*) FROM tensors"
        before = run.sql(count).fetchall()
        with pytest.raises(duckdb.Error):
            run.sql("SELECT error('no') FROM tensors").fetchall()
        with pytest.raises(BadQueryError):
            run.sql("SELECT nothing FROM tensors")
        assert run.sql(count).fetchall() == before == [(12,)]


def test_a_table_is_found_with_its_schema_and_by_its_old_name(small_run, tbdbg):
    for name in ("graph_executions", "internal.graph_executions"):
        assert tbdbg.json("sql", small_run, f"SELECT count(*) AS n FROM {name}") == [{"n": 8}]


def test_views_are_data_frames_and_arrow(tmp_path):
    pytest.importorskip("pandas", reason="data frames need pandas")
    pytest.importorskip("pyarrow", reason="Arrow needs pyarrow")
    with open_run(small_program(tmp_path).close()) as run:
        frame = run.sql("SELECT * FROM tensors").df()
        assert Counter(frame["op_type"])["Log"] == 2 and frame.groupby("op")["nan"].sum()["mul"] == 2
        table = run.sql("SELECT * FROM calls").arrow()
        assert (table if hasattr(table, "num_rows") else table.read_all()).num_rows == 4


def test_an_export_has_the_views_beside_the_tables_and_stays_a_run(tmp_path):
    small_program(tmp_path / "events").close()
    out = tmp_path / "out"
    assert main(["export", str(tmp_path / "events"), "--parquet", str(out)]) == 0
    with open_run(tmp_path / "events") as run, open_run(out) as again:
        for name in VIEWS:
            query = f"SELECT * FROM {name} ORDER BY ALL"
            rows = run.sql(query).fetchall()
            assert rows and again.sql(query).fetchall() == rows
            with duckdb.connect() as connection:
                read = f"SELECT * FROM read_parquet('{out / name}.parquet') ORDER BY ALL"
                assert connection.execute(read).fetchall() == rows


def test_an_export_without_views_is_a_run(tmp_path, tbdbg):
    small_program(tmp_path / "events").close()
    assert main(["export", str(tmp_path / "events"), "--parquet", str(tmp_path / "out")]) == 0
    for name in VIEWS:
        (tmp_path / "out" / f"{name}.parquet").unlink()
    assert tbdbg.json("sql", tmp_path / "out", "SELECT count(*) AS n FROM tensors") == [{"n": 12}]


@pytest.mark.parametrize(
    "query, found",
    [
        ("SELECT idx FROM tensors WHERE op = 'Log' AND NOT is_eager", [("Log", 2)]),
        ("SELECT idx FROM internal.graph_executions WHERE idx < 1", [("x", 1)]),
        ("WITH calls AS (SELECT idx FROM graph_executions WHERE idx < 1) SELECT idx FROM calls", [("x", 1)]),
        (
            "WITH tensors AS (SELECT 1 AS one) SELECT idx FROM graph_executions, tensors WHERE idx < 1",
            [("x", 1)],
        ),
    ],
)
def test_a_rule_may_read_the_views_or_give_their_names_to_subqueries(small_run, tbdbg, query, found):
    (small_run / "tbdbg_rules.toml").write_text(f'[[rule]]\nid = "Q"\nquery = "{query}"\n')
    (facts,) = json.loads(tbdbg("alerts", small_run, "--json", "--rule", "Q")).values()
    assert [(alert["op_name"], alert["count"]) for alert in facts["alerts"]] == found
