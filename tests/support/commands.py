"""Runs commands of `tbdbg` in the process of a test, and takes what they print."""

from __future__ import annotations

import json

import pytest

from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.cli.main import main


class Tbdbg:
    """The command `tbdbg`; its words may be anything that is text when it is printed, such as paths."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: object, code: int = 0) -> str:
        """Returns what a command prints that ends with this exit code."""
        return self.said(*words, code=code).out

    def error(self, *words: object, code: int = 1) -> str:
        """Returns what a command that fails says on the error stream."""
        return self.said(*words, code=code).err

    def json(self, *words: object) -> Json:
        """Returns what a command answers as JSON, in which no number is NaN or infinite."""
        answer: Json = json.loads(self(*words, "--json"), parse_constant=pytest.fail)
        return answer

    def said(self, *words: object, code: int) -> pytest.CaptureResult[str]:
        """Returns what a command prints and says, that ends with this exit code."""
        self._capsys.readouterr()
        assert main(list(map(str, words))) == code
        return self._capsys.readouterr()
