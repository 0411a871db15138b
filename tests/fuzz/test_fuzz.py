"""`tests/fuzz`: a short run of `make fuzz` passes, and the fuzzer detects the faults it is made for."""

from __future__ import annotations

import random

import pytest

from tb_debugger_plugin.analysis.source import sources
from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.live.viewer.followed_program import FollowedProgram
from tb_debugger_plugin.server import forgery
from tb_debugger_plugin.shell.command import Needs
from tb_debugger_plugin.shell.commands.table import COMMANDS
from tb_debugger_plugin.shell.shell import Shell
from tests.fuzz import __main__ as fuzz
from tests.fuzz import commands, worker
from tests.fuzz.inputs import Input, huge, make_input
from tests.fuzz.live import ask_program
from tests.fuzz.looking import num_whole
from tests.support.asking import FITTING, Asker

_SEED = 20


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "cache"))  # restored when the test has ended


@pytest.mark.parametrize("case", [0, *(pytest.param(case, marks=pytest.mark.long) for case in range(1, 4))])
def test_hostile_recordings_are_opened_and_every_route_answers(case):
    actual = worker.look_at_case(_SEED, case)
    assert actual["problems"] == []
    assert sum(actual["kinds"].values()) == worker.CASE_INPUTS and len(actual["kinds"]) > 8


@pytest.mark.parametrize("name", ["op_name", "op_type", "lines"])
def test_a_text_of_many_megabytes_is_survived(name):
    assert worker.look_at_case(_SEED, 0, [Input(0, name, huge(name, 20 << 20))])["problems"] == []


def test_an_input_is_made_again_from_its_number():
    assert [make_input(_SEED, n) for n in range(40)] == [make_input(_SEED, n) for n in range(40)]
    assert make_input(_SEED, 1).files != make_input(_SEED + 1, 1).files


def test_every_route_is_asked(tmp_path):
    with Asker(tmp_path) as asker:
        assert asker.routes == set(FITTING)


def test_a_line_that_fits_is_of_a_command_that_needs_no_program():
    on_recordings = {
        one.name
        for group in COMMANDS.values()
        for one in group
        if one.needs in (Needs.RECORDING, Needs.NOTHING)
    }
    assert set(commands.FITTING) <= on_recordings


def test_a_command_that_fails_is_seen(monkeypatch):
    monkeypatch.setattr(Shell, "command", lambda shell, name: 1 / 0)
    problems = worker.look_at_case(_SEED, 0, [make_input(_SEED, 0)])["problems"]
    assert any("mistake in the shell" in problem for problem in problems)


def test_a_route_that_fails_is_seen(monkeypatch):
    monkeypatch.setattr(sources, "source_list", lambda view: [float("nan")])
    problems = worker.look_at_case(_SEED, 0, [make_input(_SEED, 0)])["problems"]
    assert any("/source_files/list" in problem for problem in problems)


def test_a_whole_record_that_is_not_served_is_seen(monkeypatch):
    def refuse(payload: bytes) -> None:
        raise FormatError("nothing is a record")

    one = make_input(_SEED, 0)
    assert num_whole(one.files["execution"], "execution")
    monkeypatch.setattr("tb_debugger_plugin.index.executions.load_library", lambda: None)
    monkeypatch.setattr("tb_debugger_plugin.index.records.parse_bounded", refuse)
    problems = worker.look_at_case(_SEED, 0, [one])["problems"]
    assert any("0 rows of execution" in problem for problem in problems)


@pytest.mark.parametrize("seed", range(10))
def test_hostile_programs_and_forged_requests_do_nothing(tmp_path, seed):
    assert list(ask_program(tmp_path / "live", random.Random(seed))) == []


def _problems_of_programs(folder):
    return [one for seed in range(5) for one in ask_program(folder / f"live{seed}", random.Random(seed))]


def test_a_forged_request_that_is_not_refused_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(forgery, "_RULES", ())
    assert any(problem.startswith("POST") for problem in _problems_of_programs(tmp_path))


def test_a_secret_in_an_answer_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(FollowedProgram, "to_json", lambda one: {"id": one.id, "secret": one.found.secret})
    assert any("the secret" in problem for problem in _problems_of_programs(tmp_path))


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("import os; os.kill(os.getpid(), 11)", "ended with -11"),
        ("import time; time.sleep(99)", "Timeout"),
        ("x = bytes(worker.MEMORY_BYTES + 1)", "MemoryError"),
    ],
)
def test_a_crash_a_hang_and_lost_memory_are_seen_and_the_rest_goes_on(tmp_path, monkeypatch, fault, said):
    faulty = tmp_path / "faulty.py"
    faulty.write_text(
        f"""
from tests.fuzz import worker
worker.CASE_SECONDS = 1
def look_at_case(seed, case, inputs=None):
    if case == 1:
        {fault}
    return dict(case=case, kinds=dict(fine=1), seconds=0, problems=[])
worker.look_at_case = look_at_case
worker.main()
"""
    )
    monkeypatch.setattr(fuzz, "_WORKER", [str(faulty)])
    monkeypatch.setenv("PYTHONPATH", ".")
    tally = fuzz.run(_SEED, 3 * worker.CASE_INPUTS, workers=1)
    ((case, sentence),) = tally.problems
    assert case == 1 and said in sentence
    assert tally.kinds == {"fine": 2}
    assert "1 problems." in fuzz.report(tally, _SEED, 1.0)
