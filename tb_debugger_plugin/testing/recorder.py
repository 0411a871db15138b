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
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from tb_debugger_plugin.analysis.alerts.alert_rules import NAN_OR_INFINITY
from tb_debugger_plugin.analysis.alerts.allow import Allowed, made_allowed
from tb_debugger_plugin.analysis.alerts.findings import Finding, verdict
from tb_debugger_plugin.analysis.alerts.own_files import own_files
from tb_debugger_plugin.analysis.alerts.pages import by_urgency, findings_json
from tb_debugger_plugin.analysis.alerts.settings import make_settings
from tb_debugger_plugin.reading.alerts import explained
from tb_debugger_plugin.reading.run import Run, open_run
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
        allowed = [_entry(mark) for mark in item.iter_markers(MARKER)]
        if any(one is None for one in allowed):
            return (yield)
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
            is_bad = is_bad and self._report(item, folder, [one for one in allowed if one], fails=False)
            self._tidy(folder, is_kept=is_bad)
            raise
        try:
            is_bad = is_bad and self._report(item, folder, [one for one in allowed if one], fails=True)
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

    def _report(self, item: pytest.Item, folder: Path, allowed: list[Allowed], *, fails: bool) -> bool:
        """Whether a bad value counts; fails the test then, or says so in a section of its report."""
        sentence = self._sentence(folder, allowed)
        if sentence is None:
            return False
        text = f"{sentence}\n\nThe recording is in {folder}: tensorboard --logdir {folder}"
        if fails:
            pytest.fail(text, pytrace=False)
        item.add_report_section("call", "bad values", text)
        return True

    def _sentence(self, folder: Path, allowed: list[Allowed]) -> str | None:
        with open_run(folder) as run:
            bad = self._bad(run, allowed)
            return None if bad is None else str(explained(run, bad))

    def _bad(self, run: Run, allowed: list[Allowed]) -> Finding | None:
        """Return the most severe finding that counts; None when there is none."""
        with run.snapshot() as snapshot:
            own = own_files(snapshot.loader.run)
            settings = make_settings((), own=replace(own, allowed=(*own.allowed, *allowed)))
            judged = by_urgency([replace(verdict(snapshot, settings, NAN_OR_INFINITY), allowed=())])
            facts = findings_json(snapshot, judged)
        for finding, one in zip(judged, facts, strict=True):
            if any(one[name] for name in self._counts):
                return finding
        return None


def _entry(mark: pytest.Mark) -> Allowed | None:
    """Return what a mark allows; None for everything."""
    fields = dict(mark.kwargs)
    if mark.args:
        fields["reason"] = mark.args[0]
    if set(fields) <= {"reason"}:
        return None
    return made_allowed({"reason": "The mark of the test says so.", **fields})
