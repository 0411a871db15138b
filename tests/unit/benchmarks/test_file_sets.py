"""`benchmarks/file_sets.py`: the program that runs now records what it computes."""

from __future__ import annotations

from benchmarks import file_sets
from tests.support.answers import answers_of


def test_a_program_that_runs_now_records_whole_steps_until_it_ends(tmp_path):
    file_sets.write_live(tmp_path, per_second=20_000, seconds=0.3)
    rows = answers_of(tmp_path)["graph_executions"]
    assert len(rows) >= 500 and len(rows) % 500 == 0
