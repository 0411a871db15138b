"""`analysis/source/user_lines.py`: which line of the user's a stack ends in, asked for many stacks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from tb_debugger_plugin.analysis.source.user_lines import user_line, user_lines
from tests.support.events import Recording, snapshot_of

_LINES = 200


class _Counting:
    """A connection that counts what it is asked."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self.num_asked = 0

    def execute(self, *arguments: object) -> duckdb.DuckDBPyConnection:
        self.num_asked += 1
        return self._connection.execute(*arguments)


def _program(folder: Path) -> None:
    with Recording(folder) as recording:
        recording.source("/home/me/train.py", [f"line {number}" for number in range(_LINES)])
        for number in range(_LINES):
            recording.frame(f"f{number}", 0, 1 + number, "step")
        recording.device(1)
        recording.graph("g1")
        for number in range(_LINES):
            recording.op("g1", f"op{number}", "Mul", ids=[number], stack=[f"f{number}"])


@pytest.fixture(params=["a short list of stacks", "a long list of stacks"], autouse=True)
def _length(request, monkeypatch):
    if request.param == "a long list of stacks":
        monkeypatch.setattr("tb_debugger_plugin.analysis.source.user_lines._LONG", 0)


def test_the_lines_of_many_stacks_take_few_queries_and_are_those_of_one_query(tmp_path):
    _program(tmp_path)
    with snapshot_of(tmp_path) as snapshot:
        stacks = [op.stack for op in snapshot.catalog.ops]
        counting = _Counting(snapshot.connection)
        asked = replace(snapshot, connection=counting)
        lines = {stack: user_line(asked, stack) for stack in stacks}
        assert len(set(stacks)) == _LINES
        assert lines == user_lines(snapshot, stacks)
        assert sorted(line.line for line in lines.values()) == list(range(1, _LINES + 1))
        assert counting.num_asked < 30


def test_a_stack_that_is_not_on_record_has_no_line_however_often_it_is_asked(tmp_path):
    _program(tmp_path)
    with snapshot_of(tmp_path) as snapshot:
        for op in snapshot.catalog.ops:
            user_line(snapshot, op.stack)
        asked = replace(snapshot, connection=_Counting(snapshot.connection))
        assert [user_line(asked, number) for number in (-1, _LINES, -1, _LINES)] == [None] * 4
        assert asked.connection.num_asked < 6
