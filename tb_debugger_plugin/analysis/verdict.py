"""What is to be said of a run: a value whose words the page, `tbdbg`, the shell, Python and the log show.

Takes a snapshot. Alert rules count at their defaults, with those of ``tbdbg_rules.toml``, less what
``tbdbg_allow.toml`` calls meant. The last verdict on a run of this machine is kept in a file beside its
tables, so that it is known without opening the run.

Invariants: a run is called good only where all of it was measured and no rule above *low* is broken; a
verdict from a file is that of this version on the files as they are.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from tb_debugger_plugin.analysis.alerts.alert_rules import NAN_OR_INFINITY
from tb_debugger_plugin.analysis.alerts.alerts import alert_list
from tb_debugger_plugin.analysis.alerts.findings import Finding, verdicts
from tb_debugger_plugin.analysis.alerts.own_files import NO_FILES, own_files, version_of_files
from tb_debugger_plugin.analysis.alerts.pages import by_urgency, findings_json, headline_of
from tb_debugger_plugin.analysis.alerts.rule import Severity
from tb_debugger_plugin.analysis.alerts.settings import make_settings
from tb_debugger_plugin.analysis.diagnosis.phrases import moment_words
from tb_debugger_plugin.analysis.lasting import lasting
from tb_debugger_plugin.analysis.origins.origin import Origin
from tb_debugger_plugin.analysis.origins.origins import origins, wrong_origins
from tb_debugger_plugin.analysis.snapshot import JsonObject, Snapshot
from tb_debugger_plugin.analysis.status import StatusJson, status
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.modes import MODES
from tb_debugger_plugin.events.version import __version__
from tb_debugger_plugin.index.cache import database_path, verdict_path
from tb_debugger_plugin.index.loader import RunLoader, Signature, files_signature
from tb_debugger_plugin.index.runs import FoundRun
from tb_debugger_plugin.index.schema import SCHEMA_VERSION

Kind: TypeAlias = Literal["bad", "rules", "expected", "nothing", "unmeasured", "empty"]

_LAST: Final = "last verdict"
#: Modes that do not measure NaN and infinity.
_BLIND: Final = frozenset(spec.mode.name for spec in MODES if not spec.judges)


@dataclass(frozen=True)
class RunVerdict(JsonObject):
    """What is to be said of a run.

    Use::

        print(tb_debugger_plugin.open_run("/path/to/logdir").verdict())

    Attributes:
      kind: ``bad``: a value is bad. ``rules``: alert rules found trouble, and no value is bad that should
        not be. ``expected``: all bad values are expected. ``nothing``: nothing is bad. ``unmeasured``: the
        mode does not measure NaN and infinity. ``empty``: nothing is on record.
      headline: One line without a full stop, such as "First bad value: Log in loss, train.py:68".
      sentences: What follows from the headline, or how much was measured.
      doubts: Why values that are not on record may be bad; ``not_recorded`` of the status has more.
      is_whole: Whether all of the program was recorded.
      num_alerts: Number of alerts above *low* of the rules; None if they were not asked, because a value
        is bad.
    """

    kind: Kind
    headline: str
    sentences: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    is_whole: bool = False
    num_alerts: int | None = None

    MEMBERS = "kind headline sentences doubts is_whole is_good num_alerts"

    @property
    def is_good(self) -> bool:
        """Whether nothing is wrong and all was recorded: the tick of the page."""
        return self.kind in ("nothing", "expected") and self.is_whole

    def __str__(self) -> str:
        """Return the headline, the sentences and the doubts, a line each."""
        return "\n".join([self.headline, *self.sentences, *self.doubts])


def verdict(snapshot: Snapshot) -> RunVerdict:
    """Return what is to be said of a run.

    Args:
      snapshot: The run. If it may lag, the answer may be that of an earlier commit.
    """
    # The user's files may change without a commit.
    own = version_of_files(snapshot.loader.run)
    found = lasting(snapshot, f"verdict {own}", lambda: _judged(snapshot, own)).value
    snapshot.keep(_LAST, found)
    return found


def _judged(snapshot: Snapshot, own: Signature) -> RunVerdict:
    found = _with_rules(snapshot, verdict_of_values(snapshot))
    settled = snapshot.loader.settled
    if settled is not None and settled.generation == snapshot.generation == snapshot.oldest:
        with contextlib.suppress(OSError):  # the cache may be read-only
            _write(snapshot.loader.run, KeptVerdict(found, settled.files, own))
    return found


def verdict_of_values(snapshot: Snapshot) -> RunVerdict:
    """Return the same without a question to alert rules, which may take long."""
    facts = status(snapshot)
    doubts = _doubts(facts)
    is_whole = not doubts and not facts["not_recorded"]
    found = replace(_of_values(snapshot, facts, is_whole=is_whole), doubts=doubts)
    return replace(found, is_whole=is_whole and found.kind != "empty")


def known_verdict(loader: RunLoader) -> RunVerdict | None:
    """Return the last verdict on a run; None if nobody asked. It computes none."""
    return loader.memory.recall(_LAST, RunVerdict)


@dataclass(frozen=True)
class KeptVerdict:
    """A verdict, and what it was found from.

    Attributes:
      verdict: The verdict.
      files: The signature of the run's files.
      own: The version of the user's files beside them.
      version: That of this package and of its tables.
    """

    verdict: RunVerdict
    files: Signature
    own: Signature
    version: str = f"{__version__} {SCHEMA_VERSION}"


def _write(run: FoundRun, kept: KeptVerdict) -> None:
    """Write a verdict beside the tables of a run, if they are kept."""
    path = verdict_path(run)
    if not database_path(run).exists():
        return
    said = {field.name: getattr(kept.verdict, field.name) for field in fields(RunVerdict)}
    # Who reads half of it takes it for none, and looks again when the file has changed.
    path.write_text(json.dumps({**vars(kept), "verdict": said}), encoding="utf-8")


def _read(path: Path) -> KeptVerdict | None:
    """Return the verdict that a file holds; None if it holds none that is whole and of this version."""
    try:
        facts = json.loads(path.read_bytes())
        said = {name: _frozen(value) for name, value in facts.pop("verdict").items()}
        kept = KeptVerdict(RunVerdict(**said), **{name: _frozen(value) for name, value in facts.items()})
    except (OSError, ValueError, TypeError, AttributeError, KeyError):
        return None
    return kept if kept.version == KeptVerdict.version else None


def _frozen(value: Any) -> Any:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value


class KeptVerdicts:
    """The verdicts on runs of this machine that nobody has open; lives as long as the viewer.

    A verdict whose file goes, because its tables make room for others, is still known.
    """

    def __init__(self) -> None:
        self._paths: dict[tuple[Path, str], Path] = {}
        self._kept: dict[Path, tuple[int, KeptVerdict]] = {}

    def find(self, run: FoundRun) -> RunVerdict | None:
        """Return the verdict on a run as it is; None if there is none. It costs a few stats."""
        if not isinstance(run.folder, Path):
            return None
        key = (run.folder, run.run_id)
        path = self._paths.get(key) or self._paths.setdefault(key, verdict_path(run))
        kept = self._last(path)
        if kept is None or kept.own != version_of_files(run) or kept.files != files_signature(run):
            return None
        return kept.verdict

    def _last(self, path: Path) -> KeptVerdict | None:
        changed = _change_time(path)
        known = self._kept.get(path)
        if changed is not None and (known is None or known[0] != changed):
            kept = _read(path)
            if kept is None:
                return None
            known = self._kept[path] = (changed, kept)
        return None if known is None else known[1]


def _change_time(path: Path) -> int | None:
    with contextlib.suppress(OSError):
        return path.stat().st_ctime_ns
    return None


def _of_values(snapshot: Snapshot, facts: StatusJson, *, is_whole: bool) -> RunVerdict:
    executions, traces = facts["num_executions"], facts["num_graph_executions"]
    is_loading = facts["loading"] is not None
    is_ended = facts["finished"] is True and not is_loading
    mode = facts["tensor_debug_mode"]
    if not executions + traces and mode not in _BLIND:
        return _of_nothing(is_loading=is_loading, is_ended=is_ended)
    so_far = "" if is_ended else " so far"
    scope = ("" if is_whole else " in what was recorded") + so_far
    wrong = next(iter(wrong_origins(snapshot)), None)
    if wrong is not None:
        return RunVerdict("bad", f"First bad value: {wrong.headline}", _sentences_of(wrong))
    if origins(snapshot):
        harmless = f"No NaN and no infinity{scope} does harm: `tbdbg origins` says why."
        return RunVerdict("expected", f"All bad values are expected{scope}", (harmless,))
    if alert_list(snapshot).count(NAN_OR_INFINITY):
        where = "Bad values are on record, but not where they come from"
        return RunVerdict("bad", where, ("`tbdbg alerts` lists them.",))
    if mode in _BLIND:
        return RunVerdict("unmeasured", "NaN and infinity were not measured", (_unmeasured(mode),))
    counts = f"{_counted(executions, 'execution')} and {_counted(traces, 'tensor')} in graphs"
    what = f"All that {'is' if is_ended else 'so far is'} on record was finite wherever it was measured"
    return RunVerdict("nothing", f"No NaN and no infinity{scope}", (f"{what}: {counts}.",))


def _of_nothing(*, is_loading: bool, is_ended: bool) -> RunVerdict:
    if is_loading:
        return RunVerdict("empty", "Loading …", ("Its first events are being read.",))
    said = "Nothing was recorded." if is_ended else "Nothing has been recorded yet."
    return RunVerdict("empty", "Nothing is on record", (said,))


def _sentences_of(wrong: Origin) -> tuple[str, ...]:
    outcome = (wrong.outcome,) if wrong.category == "swallowed" and wrong.outcome else ()
    return (*outcome, wrong.explanation, *filter(None, [moment_words(wrong.step)]))


def _unmeasured(mode: str) -> str:
    return (
        f"This run was recorded in mode {mode}, which does not measure NaN and infinity. Record with"
        ' tensor_debug_mode="FULL_HEALTH" to find them.'
    )


def _with_rules(snapshot: Snapshot, found: RunVerdict) -> RunVerdict:
    """Return a verdict on values, or what rules say where no value is bad."""
    if found.kind in ("bad", "empty"):
        return found
    try:
        own = own_files(snapshot.loader.run)
    except UsageError as error:
        own = NO_FILES
        found = replace(found, doubts=(*found.doubts, str(error)), is_whole=False)
    findings = [
        one
        for one in by_urgency(verdicts(snapshot, make_settings((), None, own)))
        if one.allowed is None and one.severity > Severity.LOW
    ]
    if not findings:
        return replace(found, num_alerts=0)
    return replace(
        found,
        kind="rules",
        headline=f"Alert rules found {_counted(len(findings), 'alert')} above low",
        sentences=_sentences_of_rules(snapshot, findings, found),
        num_alerts=len(findings),
    )


def _sentences_of_rules(
    snapshot: Snapshot, findings: Sequence[Finding], found: RunVerdict
) -> tuple[str, ...]:
    (first,) = findings_json(snapshot, findings[:1])
    what = headline_of(findings[0].rule, first, snapshot.catalog.host_names)
    return (
        f"The most urgent one is {what}.",
        f"`tbdbg alerts {snapshot.loader.run.folder}` lists them.",
        *(found.sentences if found.kind == "unmeasured" else (f"{found.headline}.",)),
    )


def _doubts(facts: StatusJson) -> tuple[str, ...]:
    """Return why a run without bad values may have some, beside what is not recorded, a sentence each."""
    doubts = []
    executions, traces = facts["dropped_executions"], facts["dropped_graph_executions"]
    if executions + traces:
        is_asked_for = facts["circular_buffer_size"] is not None
        doubts.append(
            f"The circular buffer dropped {_counted(executions, 'execution')} and"
            f" {_counted(traces, 'graph tensor')}. Of them the first bad ones of each op are kept, but not"
            " where TensorFlow's stock debug ops recorded. Record with"
            f" {'circular_buffer_size=-1' if is_asked_for else 'max_bytes=None'} to keep all."
        )
    if facts["notices"]:
        doubts.append(f"Parts of the files could not be read: {_counted(len(facts['notices']), 'notice')}.")
    if (facts["recorder"] or "").startswith("TensorFlow"):
        doubts.append(
            "TensorFlow's own recorder leaves out arguments of functions and outermost backward graphs, and"
            " does not say what its circular buffer dropped."
        )
    return tuple(doubts)


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}" + ("" if count == 1 else "s")
