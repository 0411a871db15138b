"""`tfdbg/conductor.py`: which calls of a program are recorded, and where the shell opens."""

from __future__ import annotations

import numpy as np
import pytest

from tb_debugger_plugin.shell.commands.table import COMMANDS
from tb_debugger_plugin.shell.program import Call, Detach, Leave
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.tfdbg.conductor import Conductor
from tests.support.dumps import DumpedCall, node
from tests.support.events import small_program
from tests.support.scripted import Script, go_on

GOOD, BAD = np.float32([1, 2]), np.float32([1, np.nan])


class Program:
    """A program of calls, each with the dumps of ``logs``; `stops` says where the shell opened."""

    def __init__(self, folder, *visits):
        self.folder = folder
        self.script = Script(*visits)
        self.shell = Shell(COMMANDS, None)
        self.conductor = Conductor(self.shell, self.script.converse)
        self.recorded = []
        self.count = 0

    def call(self, value=GOOD, error=None):
        self.count += 1
        call = Call(self.count, "Session.run()", False)
        request = self.conductor.before(call)
        folder = None
        if request.is_recorded:
            self.recorded.append(self.count)
            folder = self.folder / f"run_{self.count}_0"
            dumped = DumpedCall(folder)
            dumped.graph({"logs": node("Log"), "more": node("Neg", "logs")})
            dumped.dump("logs", value, time=100)
            dumped.dump("more", GOOD, time=101)
        self.conductor.after(Call(self.count, "Session.run()", True, error=error), request, folder)
        return request

    @property
    def stops(self):
        return [f"{'after' if call.is_over else 'before'} {call.number}" for call in self.script.calls]


def test_the_shell_opens_before_the_first_call_and_after_each_recorded_one(tmp_path):
    program = Program(tmp_path, go_on(), go_on(), go_on())
    for _ in range(2):
        program.call()
    assert program.stops == ["before 1", "after 1", "after 2"]
    assert program.recorded == [1, 2]


def test_a_number_of_times_records_only_the_last_of_them(tmp_path):
    program = Program(tmp_path, go_on(times=3), go_on(times=2), go_on())
    for _ in range(5):
        program.call()
    assert program.recorded == [3, 5]
    assert program.stops == ["before 1", "after 3", "after 5"]


def test_a_call_that_is_not_recorded_is_followed_by_a_stop_before_the_next_one(tmp_path):
    program = Program(tmp_path, go_on(is_recorded=False), go_on(is_recorded=False, times=2), go_on(), go_on())
    for _ in range(4):
        program.call()
    assert program.stops == ["before 1", "before 2", "before 4", "after 4"]
    assert program.recorded == [4]


@pytest.mark.parametrize("name", ["has_inf_or_nan", "mine"])
def test_calls_go_on_until_a_tensor_passes_a_filter(tmp_path, name):
    program = Program(tmp_path, go_on(till_filter=name), go_on())
    program.shell.filters.add("mine", lambda datum, value: bool(np.isnan(value).any()))
    for value in (GOOD, GOOD, BAD):
        program.call(value)
    assert program.stops == ["before 1", "after 3"] and program.recorded == [1, 2, 3]
    assert program.script.calls[-1].passed_filter == name


def test_excluded_nodes_do_not_stop_the_program(tmp_path):
    program = Program(tmp_path, go_on(till_filter="has_inf_or_nan", exclude_names="lo"), go_on())
    program.call(BAD)
    assert program.stops == ["before 1"]
    program.shell.filters.add("has_inf_or_nan", lambda datum, value: datum.node_name != "logs")
    program.call(GOOD)
    assert program.stops == ["before 1", "after 2"]
    assert program.script.calls[-1].excluded_names == "lo"


def test_a_filter_that_raises_says_so_once_with_the_tensor_and_the_program_goes_on(tmp_path, capsys):
    program = Program(tmp_path, go_on(till_filter="mine"), go_on())
    program.shell.filters.add("mine", lambda datum, value: 1 // 0)
    program.call()
    said = capsys.readouterr().err
    assert "The tensor filter 'mine' failed on logs:0: ZeroDivisionError" in said
    program.call()
    assert capsys.readouterr().err == ""
    assert program.stops == ["before 1", "after 2"]
    assert program.script.calls[-1].passed_filter is None


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (go_on(till_filter="absent"), "'absent' does not exist"),
        (go_on(till_filter="has_inf_or_nan", exclude_names="("), "cannot be used"),
    ],
    ids=["a filter that does not exist", "a regular expression that is none"],
)
def test_a_filter_that_cannot_be_used_does_not_end_the_program(tmp_path, capsys, request_, said):
    program = Program(tmp_path, request_)
    program.call()
    assert said in capsys.readouterr().err


def test_a_call_that_fails_opens_the_shell_recorded_or_not(tmp_path):
    program = Program(tmp_path, go_on(times=9), go_on(till_filter="has_inf_or_nan"), go_on())
    program.call(error=ValueError("no"))
    program.call(error=ValueError("again"))
    assert program.stops == ["before 1", "after 1", "after 2"]
    assert [call.error is None for call in program.script.calls] == [True, False, False]


def test_leaving_the_shell_ends_the_program_with_status_1_and_a_note(tmp_path, capsys):
    program = Program(tmp_path, Leave())
    with pytest.raises(SystemExit) as ended:
        program.call()
    assert ended.value.code == 1
    assert "so the program ends" in capsys.readouterr().err


def test_without_anybody_at_the_shell_the_program_goes_on_without_it(tmp_path):
    program = Program(tmp_path, Detach())
    requests = [program.call(BAD, ValueError("no")) for _ in range(3)]
    assert program.conductor.is_detached and program.stops == ["before 1"]
    assert not any(request.is_recorded for request in requests)


@pytest.mark.parametrize(("exclude", "stops"), [(None, 1), ("x", 1), (".*", 0)])
def test_of_a_recording_the_health_on_record_decides(tmp_path, exclude, stops):
    small_program(tmp_path).close()
    script = Script(go_on(till_filter="has_inf_or_nan", exclude_names=exclude))
    conductor = Conductor(Shell(COMMANDS, None), script.converse)
    request = conductor.before(Call(1, "f", False))
    conductor.after(Call(1, "f", True), request, tmp_path)
    assert len(script.calls) == 1 + stops
