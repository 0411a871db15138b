"""`tb_debugger_plugin/analysis/graph/source_ops.py`: the lines of a file at which a program can stop."""

from __future__ import annotations

import pytest

from tb_debugger_plugin.analysis.graph.source_ops import MOST_OPS, LineOp, line_ops
from tb_debugger_plugin.errors import NotFoundError
from tests.support.events import Recording, snapshot_of


def test_each_op_belongs_to_the_innermost_line_of_the_programs_own_files(small_run):
    with snapshot_of(small_run) as snapshot:
        actual = line_ops(snapshot, 0)
        assert line_ops(snapshot, 1) == []
    (line,) = actual
    assert (line.line, line.num_ops, line.executions) == (3, 4, 4)
    assert line.ops[1] == LineOp("g1", "Log", "Log")


def test_a_stack_of_library_files_only_belongs_to_its_innermost_line(tmp_path):
    recording = Recording(tmp_path)
    recording.source("/usr/lib/python3/site-packages/a.py", ["x = 1", "y = 2"])
    recording.frame("f1", 0, 1, "outer")
    recording.frame("f2", 0, 2, "inner")
    recording.graph("g1")
    recording.op("g1", "Log", "Log", ids=[1], stack=["f1", "f2"])
    with snapshot_of(recording.close()) as snapshot:
        assert [line.line for line in line_ops(snapshot, 0)] == [2]


def test_the_ops_of_a_line_are_counted_all_and_named_up_to_a_limit(tmp_path):
    recording = Recording(tmp_path)
    recording.source("/home/me/train.py", ["for i in range(1000): tf.add(i, i)"])
    recording.frame("f1", 0, 1, "<module>")
    recording.graph("g1")
    for i in range(MOST_OPS + 5):
        recording.op("g1", f"add_{i}", "Add", ids=[i], stack=["f1"])
    with snapshot_of(recording.close()) as snapshot:
        (line,) = line_ops(snapshot, 0)
    assert (line.num_ops, len(line.ops)) == (MOST_OPS + 5, MOST_OPS)


def test_a_file_that_is_not_there_is_an_error(small_run):
    with snapshot_of(small_run) as snapshot, pytest.raises(NotFoundError, match="source file 7"):
        line_ops(snapshot, 7)
