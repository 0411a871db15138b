"""Finds the files of a user beside a run: rules in SQL, and alerts that are meant.

Looks in the folder of the run, and in those above it up to the logdir. Rules in Python that lie there are not
read: they are code (`docs/decisions/0023-rules-of-users.md`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tb_debugger_plugin.analysis.alerts import allow, own_rules, python_rules
from tb_debugger_plugin.analysis.alerts.alert_rules import RULES
from tb_debugger_plugin.analysis.alerts.allow import Allowed
from tb_debugger_plugin.analysis.alerts.rule import AlertRule
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.index.runs import FoundRun


@dataclass(frozen=True)
class OwnFiles:
    """What a user's files say.

    Attributes:
      known: All rules: those of the registry, and those of the user.
      allowed: Alerts that are meant.
    """

    known: tuple[AlertRule, ...] = RULES
    allowed: tuple[Allowed, ...] = ()


NO_FILES: Final = OwnFiles()


def folders_of(run: FoundRun) -> list[Path]:
    """Return the folder of a run and those above it up to the logdir; none if they are remote."""
    if not isinstance(run.folder, Path):
        return []
    depth = len([part for part in run.name.split(" (")[0].split("/") if part not in ("", ".")])
    return [run.folder, *list(run.folder.parents)[:depth]]


def own_files(run: FoundRun, named: Sequence[Path] = ()) -> OwnFiles:
    """Read the files beside a run, and those that the user named.

    Args:
      run: The run.
      named: Files of rules, in TOML or Python.

    Raises:
      UsageError: A file cannot be used, or two rules have one id.
    """
    folders = folders_of(run)
    rules = [rule for folder in folders for rule in own_rules.read_rules(folder / own_rules.FILE_NAME)]
    rules += [rule for path in named for rule in _named(path)]
    allowed = [entry for folder in folders for entry in allow.read_allowed(folder / allow.FILE_NAME)]
    return OwnFiles(_distinct((*RULES, *rules)), tuple(allowed))


def version_of_files(run: FoundRun) -> tuple[tuple[int, int], ...]:
    """Return a value that changes when a file beside a run does."""
    paths = (folder / name for folder in folders_of(run) for name in (own_rules.FILE_NAME, allow.FILE_NAME))
    return tuple(map(_version, paths))


def _version(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _named(path: Path) -> list[AlertRule]:
    if not path.is_file():
        raise UsageError(f"There is no file {path}.")
    return python_rules.load_rules(path) if path.suffix == ".py" else own_rules.read_rules(path)


def _distinct(rules: Iterable[AlertRule]) -> tuple[AlertRule, ...]:
    known: dict[str, AlertRule] = {}
    for rule in rules:
        if rule.id in known:
            raise UsageError(f"Two rules have the id {rule.id}; rename one of them.")
        known[rule.id] = rule
    return tuple(known.values())
