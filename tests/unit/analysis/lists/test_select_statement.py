"""`analysis/lists/select_statement.py`: queries of users read the tables of a run, and no file."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.index.cache import open_database
from tb_debugger_plugin.index.runs import find_runs
from tb_debugger_plugin.reading.run import open_run
from tests.support.events import loaded, small_program

#: SELECTs and others that reach for files and settings; {} is a folder with `secret.csv`, `secret.parquet`.
_HOSTILE = (
    "SELECT * FROM '{}/secret.csv'",
    "SELECT * FROM read_csv('{}/secret.csv')",
    "SELECT * FROM read_parquet('{}/secret.parquet')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM glob('{}/*')",
    "SELECT * FROM sniff_csv('{}/secret.csv')",
    "COPY (SELECT 1) TO '{}/written.csv'",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{}/written.csv'",
    "/* */ explain /* */ analyze COPY (SELECT 1) TO '{}/written.csv'",
    "EXPLAIN (ANALYZE, FORMAT json) COPY (SELECT 1) TO '{}/written.csv'",
    "EXPLAIN COPY (SELECT 1) TO '{}/written.csv'",
    "EXPLAIN EXPLAIN SELECT 1",
    "EXPLAIN ANALYZE DELETE FROM executions",
    "ATTACH '{}/written.db'",
    "SET enable_external_access = true",
    "SET lock_configuration = false",
    "INSTALL httpfs",
    "SELECT 1; COPY (SELECT 1) TO '{}/written.csv'",
    "WITH x AS (INSERT INTO op_types VALUES (99, 'x', false) RETURNING 1) SELECT * FROM x",
    "DELETE FROM graph_executions",
    "SELECT 1; DROP TABLE traces",
    "COPY traces TO '{}/stolen.csv'",
    "COMMIT",
    "SELECT nothing FROM nowhere",
    "SELEC",
    "",
)


@pytest.fixture
def logdir(tmp_path: Path) -> Path:
    """A run, and a folder `here` beside it with files that nobody may read through a query."""
    small_program(tmp_path / "run").close()
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "secret.csv").write_text("x\n42\n")
    assert main(["export", str(tmp_path / "run"), "--parquet", str(tmp_path / "tables")]) == 0
    (tmp_path / "tables" / "ops.parquet").rename(tmp_path / "here" / "secret.parquet")
    (tmp_path / "tables" / "tb_debugger_tables.json").unlink()
    return tmp_path / "run"


@pytest.mark.parametrize("query", _HOSTILE)
def test_a_query_reads_and_writes_no_file(logdir, tbdbg, query):
    here = logdir.parent / "here"
    before = sorted(here.iterdir())
    query = query.replace("{}", str(here))
    said = tbdbg.said("sql", logdir, query, code=1)
    assert said.err.startswith("tbdbg: ") and "Traceback" not in said.err
    assert "root:" not in said.out and "42" not in said.out
    with open_run(logdir) as run:
        with pytest.raises((BadQueryError, duckdb.Error)):
            run.sql(query).fetchall()
    with open_run(logdir) as run:
        assert run.sql("SELECT count(*) FROM op_types WHERE op_type = 99").fetchall() == [(0,)]
        assert run.sql("SELECT count(*) FROM graph_executions").fetchall() == [(8,)]
    assert sorted(here.iterdir()) == before


@pytest.mark.parametrize("query", ["EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT count(*) FROM executions"])
def test_a_select_may_be_explained(logdir, tbdbg, query):
    assert tbdbg("sql", logdir, query)


def test_times_are_times_without_further_packages(logdir, tbdbg):
    query = "SELECT to_timestamp(wall_time) AS at, now() > to_timestamp(wall_time) AS later FROM executions"
    (row,) = tbdbg.json("sql", logdir, f"{query} LIMIT 1")
    with open_run(logdir) as run:
        ((time,),) = run.sql("SELECT to_timestamp(min(wall_time)) FROM executions").fetchall()
        ((seconds,),) = run.sql("SELECT min(wall_time) FROM executions").fetchall()
    assert (row["later"], row["at"]) == (True, str(time)) and abs(time.timestamp() - seconds) < 1e-5


def test_a_growing_run_is_followed_and_exported_where_files_are_out_of_reach(tmp_path, tbdbg):
    recording = small_program(tmp_path / "run", steps=1)
    with closing(loaded(tmp_path / "run", poll_seconds=0.01)) as loader:
        with loader.reading() as connection:
            ((before,),) = connection.execute("SELECT count(*) FROM graph_executions").fetchall()
        recording.close()
        small_program(tmp_path / "more", steps=3).close()
    assert (
        tbdbg.json("export", tmp_path / "more", "--parquet", tmp_path / "out's")["."]["rows"][
            "graph_executions"
        ]
        == 3 * before
    )
    query = "SELECT count(*) AS n FROM graph_executions"
    assert tbdbg.json("sql", tmp_path / "out's", query) == [{"n": 3 * before}]


def test_a_query_on_tables_reads_nothing_beside_their_folder(logdir, tbdbg):
    out = logdir.parent / "out"
    assert main(["export", str(logdir), "--parquet", str(out)]) == 0
    for query in ("SELECT * FROM '../here/secret.csv'", "SELECT * FROM '{}/../here/secret.csv'"):
        assert "42" not in tbdbg("sql", out, query.replace("{}", str(out)), code=1)
    assert main(["sql", str(out), f"EXPLAIN ANALYZE COPY (SELECT 1) TO '{out}/written.csv'"]) == 1
    assert not (out / "written.csv").exists()


def test_what_does_not_fit_into_memory_is_sorted_on_disk(logdir):
    (run,) = find_runs(logdir)
    with closing(open_database(run)) as database:
        # More than the 320 MB that a database may use.
        wide = "SELECT i, repeat(md5(i::VARCHAR), 20) AS s FROM range(1000000) t(i)"
        query = f"SELECT count(*) FROM (SELECT s, row_number() OVER (ORDER BY s) AS n FROM ({wide}))"
        assert database.connection.execute(f"{query} WHERE n % 2 = 0").fetchall() == [(500_000,)]
