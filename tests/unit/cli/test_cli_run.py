"""`tb_debugger_plugin/cli/run.py`: `tbdbg run` starts a program, or says what is missing."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import NoReturn

import pytest

from tb_debugger_plugin.cli.main import main


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The command lines that would replace this process."""
    lines: list[list[str]] = []

    def execv(path: str, arguments: list[str]) -> NoReturn:
        assert path == sys.executable
        lines.append(arguments)
        raise SystemExit(0)

    monkeypatch.setattr(os, "execv", execv)
    return lines


def test_options_before_the_program_are_ours_and_the_others_are_its_own(
    started: list[list[str]], tmp_path: Path
) -> None:
    script = tmp_path / "train.py"
    script.touch()
    for line in (
        ["run", "--shell", "--ui", "plain", str(script), "--logdir", "its own", "-m"],
        ["run", "--logdir", "log", "--mode", "SHAPE", "-m", "package", "--shell"],
        ["run", "--interactive", "--no-wait", "--may-change-values", str(script), "--interactive"],
        ["run", "--interactive", "--wait", "60", "--when-alone", "1.5", str(script)],
        ["run", "--guard", str(script)],
    ):
        with pytest.raises(SystemExit):
            main(line)
    settings = [json.loads(line[3]) for line in started]
    usual = {
        **dict.fromkeys(("logdir", "mode", "ui", "when_alone")),
        **dict.fromkeys(("shell", "interactive", "may_change_values"), False),
        "wait": True,
    }
    assert settings == [
        {**usual, "shell": True, "ui": "plain"},
        {**usual, "logdir": "log", "mode": "SHAPE"},
        {**usual, "interactive": True, "wait": False, "may_change_values": True},
        {**usual, "interactive": True, "wait": 60.0, "when_alone": 1.5},
        {**usual, "mode": "GUARD"},
    ]
    assert [line[4:] for line in started] == [
        [str(script), "--logdir", "its own", "-m"],
        ["-m", "package", "--shell"],
        [str(script), "--interactive"],
        [str(script)],
        [str(script)],
    ]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (["run", "--shell"], "tbdbg run needs a program: a script, or -m and a module."),
        (["run", "--shell", "no/such.py"], "There is no program no/such.py."),
        (
            ["run", "-m", "package"],
            "Give --logdir, the folder for the recording; or --shell, --interactive or --guard.",
        ),
        (["run", "--guard", "--mode", "SHAPE", "x.py"], "--guard is a mode; leave out --mode."),
        (["run", "--shell", "--no-wait", "x.py"], "are only for --interactive."),
        (["run", "--shell", "--wait", "3", "x.py"], "are only for --interactive."),
        (["run", "--interactive", "--wait", "-1", "x.py"], "a number of seconds from 0 on."),
    ],
)
def test_what_is_missing_is_said_in_a_sentence(
    started: list[list[str]], capsys: pytest.CaptureFixture[str], line: list[str], sentence: str
) -> None:
    assert main(line) == 1
    assert sentence in capsys.readouterr().err
    assert not started
