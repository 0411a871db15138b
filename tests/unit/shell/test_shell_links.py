"""`tb_debugger_plugin/shell/links.py`: each link of each screen runs a command that answers."""

from __future__ import annotations

from collections import deque
from pathlib import Path

import pytest

from tb_debugger_plugin.shell.commands.table import COMMANDS
from tb_debugger_plugin.shell.screen import Screen, text_of
from tests.support.checkout import ROOT
from tests.support.events import Recording, full_health, small_program
from tests.support.shells import shell_over

GOLDEN = ROOT / "tests" / "golden"
#: What a user begins with; the rest is reached by links.
_BEGIN = ("ri", "help", "lt", "lf", "ll", "lv", "ls", "le", "la", "why", "runs", "config")
#: Screens are followed to this line, and runs to this many commands.
_LINES, _COMMANDS = 60, 300


def odd_names(folder: Path) -> Recording:
    """Writes a run whose names need quotes, in two graphs of one name, with a profiled session."""
    recording = Recording(folder)
    recording.source("/home/me/my net's [1].py", ["a > b", "c()"])
    recording.frame("f1", 0, 2, "<lambda>")
    recording.device(1)
    for graph in ("g1", "g2"):
        recording.graph(graph, "call (1)")
        recording.op(graph, "a b/x>0", "Const", ids=[1], stack=["f1"], layer="my layer*", variable="v+w:0")
        recording.op(graph, "it's", "Log", ["a b/x>0:0"], ids=[2], stack=["f1"], gradient_of=["v+w:0"])
    recording.request(1, feeds=[("a b/x>0:0", 1, [2])], fetches=["it's:0"])
    recording.session_run(1, 1)
    recording.op_times(1, "/device:CPU:0", [("it's", 1_700_000_000_000_000, 1, 2, 3)])
    for graph in ("g1", "g2"):
        recording.trace(graph, "a b/x>0", full_health([0.0], 1))
        recording.trace(graph, "it's", full_health([float("-inf")], 2))
    return recording


@pytest.fixture(params=["small", "odd", "tensorflow", "dumps"])
def shell(request, tmp_path):
    """A shell over a run."""
    makers = {"small": small_program, "odd": odd_names}
    folders = {
        "tensorflow": GOLDEN / "tensorflow-2.21.0" / "FULL_TENSOR",
        "dumps": GOLDEN / "dumps-tensorflow-2.21.0" / "session",
    }
    if request.param in makers:
        makers[request.param](tmp_path).close()
    with shell_over(folders.get(request.param, tmp_path)) as shell:
        yield shell


def test_each_link_of_each_screen_answers(shell):
    examples = {example for group in COMMANDS.values() for command in group for example in command.examples}
    profile = shell.answer("lp")
    begin = (*_BEGIN, "lp") if isinstance(profile, Screen) and not profile.is_error else _BEGIN
    seen = dict.fromkeys(begin)
    left = deque(begin)
    while left and len(seen) < _COMMANDS:
        line = left.popleft()
        answer = shell.answer(line)
        assert isinstance(answer, Screen), line
        assert not answer.is_error, f"{line}: {text_of(answer.lines[0])}"
        found = [part.command for parts in answer.lines[:_LINES] for part in parts if part.command]
        left += [command for command in dict.fromkeys(found) if command not in {*seen, *examples}]
        seen |= dict.fromkeys(found)
    assert len(seen) > 60
