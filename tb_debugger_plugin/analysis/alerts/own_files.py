"""Finds the files of a user beside a run: rules in SQL, and alerts that are meant.

Looks in the folder of the run, and in those above it up to the logdir. Rules in Python that lie there are not
read: they are code (`docs/decisions/0023-rules-of-users.md`). In a file that the user names, each public
function whose first parameter is ``rows`` is a rule; its other parameters are thresholds, with numbers as
defaults, and its docstring is the description::

    def loss_is_large(rows, limit=5.0):
        '''The loss is above the limit.'''
        return (rows["op_name"] == "loss") & (rows["max"] > limit)

    loss_is_large.severity = "high"

``rows`` gives columns of ``graph_executions`` as NumPy arrays, and ``op_name``, ``op_type``, ``layer``,
``variable`` and ``function`` of their ops. The function returns an array that is true where a tensor breaks
the rule.

Invariant: a file of rules in Python runs only in processes of a user who named it, never because it lies
beside a recording, and never in the viewer.
"""

from __future__ import annotations

import inspect
import runpy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from tb_debugger_plugin.analysis.alerts import allow, own_rules
from tb_debugger_plugin.analysis.alerts.alert_rules import RULES
from tb_debugger_plugin.analysis.alerts.allow import Allowed
from tb_debugger_plugin.analysis.alerts.own_rules import made_rule, own_parameter, severity_of
from tb_debugger_plugin.analysis.alerts.rule import IN_GRAPH, AlertRule, Find, RuleHit, Values
from tb_debugger_plugin.analysis.beside import folders_of, trial_files
from tb_debugger_plugin.analysis.snapshot import Columns, Snapshot
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.modes import MEASURED
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.runs import FoundRun

FILE_NAME: Final = "tbdbg_rules.py"
_BATCH: Final = 200_000
_COLUMNS: Final = ("idx", "wall_time", "site", "mode", "health", "dtype", "rank", *MEASURED)
_OF_OPS: Final = ("op_name", "op_type", "layer", "variable", "function")


class RowBatch(Mapping[str, Array]):
    """Columns of some graph executions, by name.

    Args:
      columns: Those of the table.
      names: Those of the ops, by number of the site.
    """

    def __init__(self, columns: Columns, names: Mapping[str, Array]) -> None:
        self._columns = columns
        self._names = names

    def __getitem__(self, name: str) -> Array:
        if name in self._names:
            values: Array = self._names[name][self._columns["site"]]
            return values
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*self._columns, *self._names))

    def __len__(self) -> int:
        return len(self._columns) + len(self._names)


def load_rules(path: Path) -> list[AlertRule]:
    """Run a file that the user named, and return its rules.

    Raises:
      UsageError: The file fails, or has no rule.
    """
    try:
        names = runpy.run_path(str(path))
    except Exception as error:
        raise UsageError(f"{path} cannot be run: {type(error).__name__}: {error}") from error
    rules = [_rule(path, function) for name, function in names.items() if _is_rule(name, function)]
    if not rules:
        raise UsageError(f"{path} has no rule: a function whose first parameter is `rows`.")
    return rules


def _is_rule(name: str, value: object) -> bool:
    return (
        not name.startswith("_")
        and inspect.isfunction(value)
        and next(iter(inspect.signature(value).parameters), "") == "rows"
    )


def _rule(path: Path, function: Callable[..., object]) -> AlertRule:
    name = function.__name__
    parameters = []
    for one in list(inspect.signature(function).parameters.values())[1:]:
        if isinstance(one.default, bool) or not isinstance(one.default, (int, float)):
            raise UsageError(f"{path}: the parameter {one.name} of {name} needs a number as its default.")
        parameters.append(own_parameter(one.name, float(one.default), {}))
    severity = severity_of(path, name, str(getattr(function, "severity", "medium")))
    description = (inspect.getdoc(function) or name).partition("\n")[0]
    title = str(getattr(function, "title", name))
    return made_rule(name, title, severity, description, _search(path, function), tuple(parameters), None)


def _search(path: Path, function: Callable[..., object]) -> Find:
    def find(snapshot: Snapshot, values: Values) -> list[RuleHit]:
        first: dict[int, int] = {}
        times: dict[int, int] = {}
        last: dict[int, int] = {}
        for batch, columns in _batches(snapshot):
            rows = np.flatnonzero(_mask(path, function, batch, values, len(columns["idx"])))
            for index, site in zip(
                columns["idx"][rows].tolist(), columns["site"][rows].tolist(), strict=True
            ):
                first.setdefault(site, index)
                times[site] = times.get(site, 0) + 1
                last[site] = index
        return [RuleHit(first[site], IN_GRAPH, times[site], last[site]) for site in first]

    return find


def _mask(path: Path, function: Callable[..., object], batch: RowBatch, values: Values, size: int) -> Array:
    try:
        mask = np.asarray(function(batch, **values))
    except Exception as error:
        raise UsageError(f"{path}: {function.__name__} fails: {type(error).__name__}: {error}") from error
    if mask.shape != (size,) or mask.dtype != np.bool_:
        raise UsageError(f"{path}: {function.__name__} must return an array of {size} truth values.")
    return mask


def _batches(snapshot: Snapshot) -> Iterator[tuple[RowBatch, Columns]]:
    names = _names_of_sites(snapshot)
    for begin in range(0, snapshot.num_graph_executions, _BATCH):
        columns = snapshot.columns(
            f"SELECT {', '.join(_COLUMNS)} FROM graph_executions WHERE idx >= ? AND idx < ? ORDER BY idx",
            [begin, begin + _BATCH],
        )
        yield RowBatch(columns, names), columns


def _names_of_sites(snapshot: Snapshot) -> dict[str, Array]:
    catalog = snapshot.catalog
    ops = [catalog.ops[site.op] for site in catalog.sites]
    rows = [(op.name, op.type, op.layer, op.variable, catalog.graphs[op.graph].name) for op in ops]
    return {name: np.array([row[column] for row in rows], object) for column, name in enumerate(_OF_OPS)}


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
    return tuple(map(_version, [*paths, *trial_files(run)]))


def _version(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _named(path: Path) -> list[AlertRule]:
    if not path.is_file():
        raise UsageError(f"There is no file {path}.")
    return load_rules(path) if path.suffix == ".py" else own_rules.read_rules(path)


def _distinct(rules: Iterable[AlertRule]) -> tuple[AlertRule, ...]:
    known: dict[str, AlertRule] = {}
    for rule in rules:
        if rule.id in known:
            raise UsageError(f"Two rules have the id {rule.id}; rename one of them.")
        known[rule.id] = rule
    return tuple(known.values())
