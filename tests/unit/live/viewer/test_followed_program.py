"""`live/viewer/followed_program.py`: of states that cross on their way, the newest one is shown."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tb_debugger_plugin.live.messages import discovery
from tb_debugger_plugin.live.messages.messages import Command, Outcome, State
from tb_debugger_plugin.live.viewer.followed_program import FollowedProgram
from tb_debugger_plugin.live.viewer.service import Follower


@pytest.fixture
def program() -> Iterator[FollowedProgram]:
    found = discovery.LiveProgram(
        "127.0.0.1:9", discovery.new_secret(), os.getpid(), discovery.this_host(), ("train.py",), 1000.0, ""
    )
    followed = FollowedProgram(found, Follower("a test"), lambda is_urgent: False)
    yield followed
    followed.close()


@pytest.mark.parametrize(("shown", "answered", "then"), [(5, 4, 5), (3, 4, 4)])
def test_the_state_of_an_answer_replaces_only_an_older_one(
    program: FollowedProgram, monkeypatch: pytest.MonkeyPatch, shown: int, answered: int, then: int
) -> None:
    answer = Outcome(state=State(version=answered, phase=State.PAUSED))
    monkeypatch.setattr(program.service, "control", lambda command: answer)
    monkeypatch.setattr(program, "_is_wanted", True)
    program.state = State(version=shown, phase=State.RUNNING)
    assert program.control(Command()) is answer
    assert program.state is not None and program.state.version == then


class _Stream(list[object]):
    """States that arrive."""

    def cancel(self) -> None:
        pass


def test_a_state_that_the_answer_of_a_command_has_overtaken_is_not_shown(
    program: FollowedProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    arriving = _Stream([State(version=4, phase=State.WAITING), State(version=6, phase=State.PAUSED)])
    changes: list[bool] = []
    monkeypatch.setattr(program.service, "follow", lambda follower: arriving)
    monkeypatch.setattr(program, "_is_wanted", True)
    monkeypatch.setattr(program, "_on_change", changes.append)
    program.state = State(version=5, phase=State.RUNNING)
    program._follow_once()
    assert len(changes) == 1 and program.state.phase == State.PAUSED
