"""`pipeline/dataflow.py`: Apache Beam makes the tables of the local index; `make test-beam` runs this."""

from __future__ import annotations

import json

import pytest

from tb_debugger_plugin.cli.main import main
from tb_debugger_plugin.index.runs import find_runs
from tests.support.answers import answers_of
from tests.support.jobs import write_job

pytestmark = [
    pytest.mark.beam,
    # Beam warns of what is old in itself.
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "cache"))


def test_the_command_makes_a_run_that_says_what_the_dump_says(tmp_path, capsys):
    write_job(tmp_path / "job")
    assert main(["beam", str(tmp_path / "job"), str(tmp_path / "out"), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    expected, actual = answers_of(tmp_path / "job"), answers_of(tmp_path / "out")
    assert rows["graph_execution_traces"] == len(expected["graph_executions"]) > 150
    for table in expected:
        assert actual[table] == expected[table], table


def test_many_chunks_and_parts_by_several_processes_say_the_same(tmp_path):
    from tb_debugger_plugin.pipeline.dataflow import convert

    write_job(tmp_path / "job")
    (run,) = find_runs(tmp_path / "job")
    options = ["--direct_num_workers=2", "--direct_running_mode=multi_processing"]
    convert(run, str(tmp_path / "out"), options, chunk_bytes=2000, rows_a_part=40)
    assert answers_of(tmp_path / "out") == answers_of(tmp_path / "job")
    assert len(list((tmp_path / "out").glob("executions-*.parquet"))) > 0


def test_what_beam_is_told_behind_two_dashes_reaches_it(tmp_path):
    write_job(tmp_path / "job", hosts=1, each=5)
    with pytest.raises(Exception, match="NoSuchRunner"):
        main(["beam", str(tmp_path / "job"), str(tmp_path / "out"), "--", "--runner=NoSuchRunner"])
