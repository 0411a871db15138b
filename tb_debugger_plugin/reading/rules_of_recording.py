"""Asks alert rules of a recording while it grows, for the program that makes it.

Takes the files of the recording and the user's choice of rules, and returns what has broken one since the
last question. NaN and infinities are not asked about: the recorder notices them when they are computed.

Invariant: the tables are this object's own, in a database that is deleted at the end, so no viewer waits for
the program, and the other hosts of a job have no part in them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tb_debugger_plugin.analysis.alerts.alert_rules import NAN_OR_INFINITY
from tb_debugger_plugin.analysis.alerts.findings import (
    Finding,
    chosen_rules,
    is_measured,
    missing_of,
    needed_mode,
    verdict,
)
from tb_debugger_plugin.analysis.alerts.own_files import own_files
from tb_debugger_plugin.analysis.alerts.pages import by_urgency, explain_finding, findings_json, headline_of
from tb_debugger_plugin.analysis.alerts.settings import ALL, RECOMMENDED, RuleSettings, settings_of_texts
from tb_debugger_plugin.analysis.snapshot import Json, Snapshot, open_snapshot
from tb_debugger_plugin.errors import NotReadyError, UsageError
from tb_debugger_plugin.events.fileset import find_file_sets
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.index.cache import database_path, remove_database
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.runs import FoundRun
from tb_debugger_plugin.reading.alerts import Explanation, explained, explanation_of
from tb_debugger_plugin.reading.run import Run

#: Seconds after which the files are read even if nobody asks, so that no question has to read very many.
READS_AFTER_S: Final = 60.0
#: Seconds that a program waits for an explanation after its recording has ended.
_PATIENCE_S: Final = 20.0


class BrokenRule:
    """A tensor, an eager op or a function that broke an alert rule while the program ran.

    Use::

        with tb_debugger_plugin.record(
            "/path/to/logdir", "FULL_NUMERICS", alert_rules="recommended", on_alert=lambda alert: print(alert)
        ):
            model.fit(...)

    Args:
      finding: What broke the rule.
      facts: The alert, as the route `alerts/found` of `docs/http-api.md` gives it.
      dump_root: The folder of the recording.
      explain: Explains the finding from what is on record.

    Attributes:
      rule: The rule, such as "LargeGradientAlert".
      severity: `"critical"`, `"high"`, `"medium"` or `"low"`.
      measured: What was measured, in words.
      op_type: Type of the op, or name of a function.
      op_name: Name of the op in its graph; empty for an eager op.
      slot: Number of the output.
      headline: The rule, what was measured, the tensor and the line.
      line: The line of the program, such as "/path/to/train.py:68"; empty if it is not known.
      facts: Everything about the alert.
      dump_root: The folder of the recording.
    """

    def __init__(
        self,
        finding: Finding,
        facts: Json,
        dump_root: str,
        explain: Callable[[Finding], Explanation | None],
    ) -> None:
        source = facts["source"]
        self.rule, self.severity = finding.rule.id, finding.severity.word
        self.measured: str = facts["measured"]
        self.op_type: str = facts["op_type"] or ""
        self.op_name: str = facts["op_name"] or ""
        self.slot: int = facts["output_slot"]
        self.headline = headline_of(finding.rule, facts)
        self.line = f"{source['path']}:{source['line']}" if source else ""
        self.facts = facts
        self.dump_root = dump_root
        self._finding = finding
        self._explain = explain
        self._reason: Explanation | None = None

    def why(self) -> Explanation | None:
        """Explain the alert from what is recorded until now: the numbers, the line, and what helps.

        Returns:
          None if the recording does not explain it.
        """
        if self._reason is None:
            with contextlib.suppress(Exception):  # the facts are there without a reason
                self._reason = self._explain(self._finding)
        return self._reason

    def __str__(self) -> str:
        """Return the headline and the explanation, a paragraph each."""
        reason = self.why()
        return "\n".join([f"{self.headline}.", *(reason.sentences if reason else ())])


def check_rules(dump_root: str, texts: tuple[str, ...], rules_file: str | None, mode: int) -> list[str]:
    """Check a user's choice of rules before anything is recorded.

    Args:
      dump_root: The folder of the recording; it need not exist.
      texts: The rules.
      rules_file: A file with more rules.
      mode: The mode of the recording.

    Returns:
      The ids of rules of a set that are not asked, because the mode does not measure what they need.

    Raises:
      UsageError: A rule, a threshold or a file cannot be used, or the mode does not measure what a rule
        needs.
    """
    settings = _settings(_own_run(dump_root), texts, rules_file)
    unmeasured = [rule for rule in settings.known if not is_measured(rule, [mode])]
    for rule in unmeasured:
        if rule.id in settings.rules:
            raise UsageError(
                f"The rule {rule.id} needs tensor_debug_mode={needed_mode(rule)!r}, and it is"
                f" {TensorDebugMode(mode).name!r}."
            )
    if ALL in settings.rules:
        return [rule.id for rule in unmeasured]
    is_set = RECOMMENDED in settings.rules
    return [rule.id for rule in unmeasured if is_set and rule.recommends is not None]


def _own_run(dump_root: str, files: str = "") -> FoundRun:
    folder = Path(dump_root)
    sets = tuple(one for one in find_file_sets(folder) if one.prefix == files)
    return FoundRun(".", folder, f"rules of {files}", sets, 0.0)


def _settings(run: FoundRun, texts: tuple[str, ...], rules_file: str | None) -> RuleSettings:
    return settings_of_texts(texts, own_files(run, [] if rules_file is None else [Path(rules_file)]))


class RulesOfRecording:
    """Asks the rules; lives until `close()`. One thread asks; others may ask for explanations.

    Args:
      dump_root: The folder of the recording.
      files: The beginning of the names of its files.
      texts: The rules, as `tbdbg alerts --rule` takes them.
      rules_file: A file with more rules.
      is_meant: Whether the user has said of an op, by type and name, that its alerts are meant.

    Raises:
      UsageError: A rule, a threshold or a file cannot be used.
    """

    def __init__(
        self,
        dump_root: str,
        files: str,
        texts: tuple[str, ...],
        rules_file: str | None,
        is_meant: Callable[[str, str | None], bool],
    ) -> None:
        self._run = _own_run(dump_root, files)
        self._settings = _settings(self._run, texts, rules_file)
        self._is_meant = is_meant
        self._loader = RunLoader(self._run, poll_seconds=READS_AFTER_S)
        self._generation = -1  # of the last question
        self._seen: set[tuple[object, ...]] = set()

    def close(self) -> None:
        """Release and delete the tables. A question that is being answered ends without an answer."""
        self._loader.close()
        with contextlib.suppress(OSError):
            remove_database(database_path(self._run))

    def read(self, seconds: float) -> bool:
        """Read what is in the files now.

        Args:
          seconds: Timeout.

        Returns:
          Whether all of it was read.

        Raises:
          NotReadyError: The files cannot be read.
        """
        is_read = self._loader.catch_up(seconds)
        if self._loader.failure:
            raise NotReadyError(self._loader.failure.partition("\n")[0])
        return is_read

    def ask(self) -> list[BrokenRule]:
        """Return what has broken a rule since the last question, the most urgent first."""
        with open_snapshot(self._loader) as snapshot:
            if snapshot.generation == self._generation:
                return []
            findings = [one for one in self._findings(snapshot) if _position(one) not in self._seen]
            facts = findings_json(snapshot, findings)
            self._generation = snapshot.generation
        self._seen.update(map(_position, findings))
        return [
            BrokenRule(finding, one, str(self._run.folder), self._explained)
            for finding, one in zip(findings, facts, strict=True)
            if self._is_new(_place(one)) and not self._is_meant(one["op_type"] or "", one["op_name"])
        ]

    def unanswered(self) -> list[str]:
        """Return a sentence for each rule, named by the user, that the recording cannot answer."""
        with open_snapshot(self._loader) as snapshot:
            rules = [rule for rule in self._settings.known if rule.id in self._settings.rules]
            missing = [
                (rule.id, missing_of(snapshot, rule)) for rule in rules if rule.id != NAN_OR_INFINITY.id
            ]
        return [f"{rule}: {why}" for rule, why in missing if why is not None]

    def _findings(self, snapshot: Snapshot) -> list[Finding]:
        rules = [rule for rule in chosen_rules(snapshot, self._settings) if rule.id != NAN_OR_INFINITY.id]
        findings = by_urgency([verdict(snapshot, self._settings, rule) for rule in rules])
        return [finding for finding in findings if finding.allowed is None and not finding.hit.remark]

    def _is_new(self, key: tuple[object, ...]) -> bool:
        is_new = key not in self._seen
        self._seen.add(key)
        return is_new

    def _explained(self, finding: Finding) -> Explanation | None:
        """Explain what broke a rule, also when the recording and this object have ended."""
        try:
            with open_snapshot(self._loader) as snapshot:
                return explanation_of(explain_finding(snapshot, finding))
        except NotReadyError:
            try:
                with Run(self._run, timeout=_PATIENCE_S) as run:
                    return explained(run, finding)
            finally:
                remove_database(database_path(self._run))


def _position(finding: Finding) -> tuple[object, ...]:
    return (finding.rule.id, *finding.hit[:2])


def _place(facts: Json) -> tuple[object, ...]:
    """Return what stays the same of an alert when its first value differs: tensor, or op and line."""
    source = facts["source"] or {}
    names = ("alert_type", "graph_id", "op_name", "output_slot", "op_type")
    return (*(facts[name] for name in names), source.get("path"), source.get("line"))
