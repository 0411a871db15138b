"""`tb_debugger_plugin/analysis/graph/search.py`: which kinds are searched, and lines of source files."""

from __future__ import annotations

from tb_debugger_plugin.analysis.graph.search import KINDS, find
from tests.support.events import Recording, snapshot_of


def test_only_the_kinds_that_are_asked_for_are_searched(small_run):
    with snapshot_of(small_run) as snapshot:
        every = find(snapshot, "l", 10)
        some = find(snapshot, "l", 10, ["files", "lines"])
    assert list(some) == list(every) == list(KINDS)
    assert every["ops"] and every["functions"] and every["lines"]
    assert {kind: found for kind, found in some.items() if found} == {
        kind: every[kind] for kind in ("files", "lines") if every[kind]
    }


def test_lines_of_the_program_come_before_those_of_libraries_also_where_only_excerpts_are_there(tmp_path):
    recording = Recording(tmp_path)
    recording.source("/usr/lib/python3/site-packages/keras/src/losses.py", ["loss = 1", "other"])
    recording.source("/home/me/train.py", ["x = 1", "LOSS = f(x)"])
    recording.source("/home/me/model.py", [])
    recording.frame("f1", 2, 41, "call", (40, ["def call():", "  return loss"]))
    recording.frame("f2", 2, 41, "call", (40, ["def call():", "  return loss"]))
    with snapshot_of(recording.close()) as snapshot:
        found = find(snapshot, "loss", 10, ["lines"])["lines"]
        first = find(snapshot, "loss", 2, ["lines"])["lines"]
    assert [(line.index, line.line, line.text) for line in found] == [
        (1, 2, "LOSS = f(x)"),
        (2, 41, "  return loss"),
        (0, 1, "loss = 1"),
    ]
    assert first == found[:2]
