"""Records tests, and fails those that compute bad values.

Each test has a recording of its own, in FULL_HEALTH, from the beginning of its call to the end. Ops that its
fixtures run are not part of it. The files are read only if the recording has counted a bad value, and kept
only if the test fails because of it.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

from tb_debugger_plugin.reading.alerts import BadValueRule
from tb_debugger_plugin.reading.run import open_run
from tb_debugger_plugin.testing.plugin import MARKER

_MODE: Final = "FULL_HEALTH"
_COUNTS: Final = {"nan": ("num_nan",), "nan,inf": ("num_nan", "num_neg_inf", "num_pos_inf")}


class Recorder:
    """The hooks of pytest; lives as long as the session.

    Args:
      config: The options.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._counts = _COUNTS[config.getoption("--tb-debugger-kinds")]
        self._logdir: str | None = config.getoption("--tb-debugger-logdir")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Record the call of a test."""
        meant = [_entry(mark) for mark in item.iter_markers(MARKER)]
        if not all(meant):
            return (yield)
        rule = BadValueRule(meant)
        from tb_debugger_plugin.live.program.api import record

        folder = self._folder(item)
        is_bad = False
        try:
            with record(folder, _MODE) as recording:
                try:
                    result = yield
                finally:
                    count = recording.num_bad()
                    is_bad = count is None or count > 0
        except BaseException:
            # The test has failed by itself; what is bad may be the reason.
            is_bad = is_bad and self._report(item, folder, rule, fails=False)
            self._tidy(folder, is_kept=is_bad)
            raise
        try:
            is_bad = is_bad and self._report(item, folder, rule, fails=True)
        finally:
            self._tidy(folder, is_kept=is_bad)
        return result

    def _folder(self, item: pytest.Item) -> Path:
        name = re.sub(r"[^\w.-]+", "_", item.nodeid)[-100:]
        if self._logdir is not None:
            Path(self._logdir).mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self._logdir))

    def _tidy(self, folder: Path, *, is_kept: bool) -> None:
        if not is_kept:
            shutil.rmtree(folder, ignore_errors=True)

    def _report(self, item: pytest.Item, folder: Path, rule: BadValueRule, *, fails: bool) -> bool:
        """Whether a bad value counts; fails the test then, or says so in a section of its report."""
        sentence = self._sentence(folder, rule)
        if sentence is None:
            return False
        text = f"{sentence}\n\nThe recording is in {folder}: tensorboard --logdir {folder}"
        if fails:
            pytest.fail(text, pytrace=False)
        item.add_report_section("call", "bad values", text)
        return True

    def _sentence(self, folder: Path, rule: BadValueRule) -> str | None:
        """Return why the most severe bad value that counts is bad; None when there is none."""
        with open_run(folder) as run:
            bad = (alert for alert in rule.broken(run) if any(alert.facts[name] for name in self._counts))
            return next((str(alert.why()) for alert in bad), None)


def _entry(mark: pytest.Mark) -> dict[str, object]:
    """Return what a mark allows; nothing for everything."""
    fields = dict(mark.kwargs)
    if mark.args:
        fields["reason"] = mark.args[0]
    if set(fields) <= {"reason"}:
        return {}
    return {"reason": "The mark of the test says so.", **fields}
