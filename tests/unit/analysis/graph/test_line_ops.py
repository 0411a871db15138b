"""`tb_debugger_plugin/analysis/graph/source_ops.py`: the lines of a file at which a program can stop."""

from __future__ import annotations

from collections import Counter

import pytest

from tb_debugger_plugin.analysis.graph.source_ops import MOST_OPS, LineOp, Made, file_ops, line_ops
from tb_debugger_plugin.analysis.lists.filters import Filter
from tb_debugger_plugin.analysis.lists.selection import select
from tb_debugger_plugin.errors import NotFoundError
from tests.support.events import Recording, full_health, snapshot_of

NAN = float("nan")


def test_each_op_belongs_to_the_innermost_line_of_the_programs_own_files(small_run):
    with snapshot_of(small_run) as snapshot:
        actual = line_ops(snapshot, 0)
        assert line_ops(snapshot, 1) == []
    (line,) = actual
    assert (line.line, line.num_ops, line.executions) == (3, 4, 4)
    assert line.ops[0] == LineOp("g1", "loss", "Log", "Log", 2, 2, "bad")


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


def _two_files(folder):
    """Writes a program of two files: line 1 of each has good values, line 2 of the second bad ones."""
    recording = Recording(folder)
    recording.source("/home/me/data.py", ["load()", "", "unused"])
    recording.source("/home/me/model.py", ["x = ones()", "y = log(x)", "z = cast(y)"])
    recording.source("/usr/lib/python3/site-packages/keras/src/ops.py", ["return op(x)"])
    recording.frame("main", 0, 1, "<module>")
    recording.frame("x", 1, 1, "loss")
    recording.frame("y", 1, 2, "loss")
    recording.frame("z", 1, 3, "loss")
    recording.frame("library", 2, 1, "call")
    recording.graph("g1", "loss")
    recording.op("g1", "x", "Placeholder", ids=[10], stack=["main", "x", "library"])
    recording.op("g1", "y", "Log", ["x:0"], ids=[11], stack=["main", "y", "library"])
    recording.op("g1", "Neg", "Neg", ["x:0"], ids=[12], stack=["main", "y"])
    recording.op("g1", "z", "Cast", ["y:0"], ids=[13], stack=["main", "z"])
    for _ in range(3):
        recording.trace("g1", "x", full_health([1.0], 10))
        recording.trace("g1", "y", full_health([NAN], 11))
        recording.trace("g1", "Neg", full_health([1.0], 12))
        recording.execution("__inference_loss_7", [full_health([1.0])], graph_id="g1", stack=["main"])
    return recording.close()


def test_a_line_has_the_worst_health_of_what_it_made_and_ran(tmp_path):
    with snapshot_of(_two_files(tmp_path)) as snapshot:
        lines = {line.line: line for line in line_ops(snapshot, 1)}
        (main,) = line_ops(snapshot, 0)
    assert {number: line.health for number, line in lines.items()} == {1: "good", 2: "bad", 3: None}
    assert [(op.op_name, op.num_tensors, op.num_bad, op.health) for op in lines[2].ops] == [
        ("y", 3, 3, "bad"),
        ("Neg", 3, 0, "good"),
    ]
    assert (lines[2].num_ops, lines[2].num_tensors, lines[2].num_bad) == (2, 6, 3)
    assert (main.num_ops, main.executions, main.bad_executions, main.health) == (0, 3, 0, "good")


def test_bad_outputs_of_what_python_ran_count_for_its_line(tmp_path):
    recording = Recording(tmp_path)
    recording.source("/home/me/train.py", ["tf.math.log(-1.0)"])
    recording.frame("f1", 0, 1, "<module>")
    recording.execution("Log", [full_health([NAN])], stack=["f1"])
    recording.execution("Neg", [full_health([1.0])], stack=["f1"])
    with snapshot_of(recording.close()) as snapshot:
        (line,) = line_ops(snapshot, 0)
    assert (line.executions, line.bad_executions, line.health) == (2, 1, "bad")


def test_the_ops_with_bad_values_are_named_though_there_are_many_others(tmp_path):
    recording = Recording(tmp_path)
    recording.source("/home/me/train.py", ["for i in range(1000): tf.add(i, i)"])
    recording.frame("f1", 0, 1, "<module>")
    recording.graph("g1")
    for i in range(MOST_OPS + 5):
        recording.op("g1", f"add_{i}", "Add", ids=[i], stack=["f1"])
    recording.trace("g1", f"add_{MOST_OPS + 3}", full_health([NAN], MOST_OPS + 3))
    with snapshot_of(recording.close()) as snapshot:
        (line,) = line_ops(snapshot, 0)
    assert line.ops[0].op_name == f"add_{MOST_OPS + 3}"


def test_files_have_the_sums_of_their_lines_the_programs_own_first(tmp_path):
    with snapshot_of(_two_files(tmp_path)) as snapshot:
        files = file_ops(snapshot)
        for file in files:
            sums = Counter()
            for line in line_ops(snapshot, file.index):
                sums.update({name: n for name, n in vars(line).items() if isinstance(n, int)})
            assert [getattr(file, name) for name in vars(file) if name in Made.__annotations__][:5] == [
                sums[name] for name in Made.__annotations__ if name != "health"
            ]
    assert [(file.file_path.rsplit("/")[-1], file.origin, file.health, file.line) for file in files] == [
        ("model.py", "user", "bad", 2),
        ("data.py", "user", "good", 1),
        ("ops.py", "library", None, 1),
    ]


def test_the_tensors_of_a_line_are_those_that_the_filter_of_the_lists_leaves(tmp_path):
    with snapshot_of(_two_files(tmp_path)) as snapshot:
        for file in file_ops(snapshot):
            for line in line_ops(snapshot, file.index):
                row_filter = Filter(file=f"{file.file_path}:{line.line}")
                assert select(snapshot, "graph_executions", row_filter, None).total == line.num_tensors
                assert select(snapshot, "executions", row_filter, None).total == line.executions
