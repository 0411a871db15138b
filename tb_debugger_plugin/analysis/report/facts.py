"""The facts of a report: origins, the source lines around them, histories along the chain, alerts by rule.

Takes a snapshot of a run; returns facts and their words, plain text that the formats escape.

Invariant: what is returned is bounded, however large the run is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from tb_debugger_plugin.analysis.alerts.alert_rules import LISTED
from tb_debugger_plugin.analysis.alerts.alerts import alert_list
from tb_debugger_plugin.analysis.beside import read_note
from tb_debugger_plugin.analysis.curves.curve import Curve, Wanted, curve_at
from tb_debugger_plugin.analysis.origins.origin import Link, Origin
from tb_debugger_plugin.analysis.origins.origins import origins
from tb_debugger_plugin.analysis.snapshot import Json, Snapshot
from tb_debugger_plugin.analysis.source.sources import source_file, source_list
from tb_debugger_plugin.analysis.source.user_lines import UserLine
from tb_debugger_plugin.analysis.status import StatusJson, status
from tb_debugger_plugin.analysis.verdict import RunVerdict, verdict
from tb_debugger_plugin.events.tensorflow_names import display_name

MAX_ORIGINS: Final = 24
_MAX_HISTORIES: Final = 12
_MAX_POINTS: Final = 160
#: Lines before and after the line of an origin.
_AROUND: Final = 5


@dataclass(frozen=True)
class Excerpt:
    """Lines of a source file around one of them.

    Attributes:
      title: Which line it is, such as "train.py:68".
      path, line: Where it is.
      lines: Numbers and texts.
    """

    title: str
    path: str
    line: int
    lines: list[tuple[int, str]]


@dataclass(frozen=True)
class Report:
    """What a report holds.

    Attributes:
      run: Name of the run.
      status: The state of the run, as the route ``status`` gives it.
      origins: The most important one first.
      num_origins: How many there are.
      excerpts: The lines around the first origin.
      histories: The largest magnitude of the tensors of its chain, over time.
      alerts: Title of each rule with alerts, and how many.
      verdict: What is to be said of the run.
      note: What the user wrote about it; empty for nothing.
    """

    run: str
    status: StatusJson
    origins: list[Origin]
    num_origins: int
    excerpts: list[Excerpt]
    histories: list[Curve]
    alerts: list[tuple[str, int]]
    verdict: RunVerdict
    note: str


def report(snapshot: Snapshot, run: str) -> Report:
    """Gather what a report of a run holds.

    Args:
      snapshot: The run.
      run: Its name.
    """
    found, alerts = origins(snapshot), alert_list(snapshot)
    first = found[0] if found else None
    return Report(
        run,
        status(snapshot),
        found[:MAX_ORIGINS],
        len(found),
        [] if first is None else _excerpts(snapshot, first),
        [] if first is None else _histories(snapshot, first.chain),
        [(rule.title, alerts.count(rule)) for rule in LISTED if alerts.count(rule)],
        verdict(snapshot),
        read_note(snapshot.loader.run),
    )


def _excerpts(snapshot: Snapshot, origin: Origin) -> list[Excerpt]:
    places = (("", origin.source), ("asked for the gradient, ", origin.gradient_source))
    return [_excerpt(snapshot, before + line.name, line) for before, line in places if line is not None]


def _excerpt(snapshot: Snapshot, title: str, line: UserLine) -> Excerpt:
    around = range(line.line - _AROUND, line.line + _AROUND + 1)
    texts = {line.line: line.text} if line.text is not None else {}
    for index, (_, path) in enumerate(source_list(snapshot)):
        if path == line.path:
            texts = {**texts, **_texts(source_file(snapshot, index))}
    return Excerpt(title, line.path, line.line, [(n, texts[n]) for n in around if n in texts])


def _texts(file: Json) -> dict[int, str]:
    whole = {"first_line": 1, "lines": file["lines"]}
    return {
        number: text
        for part in [whole, *file["excerpts"]]
        for number, text in enumerate(part["lines"], part["first_line"])
    }


def _histories(snapshot: Snapshot, chain: list[Link]) -> list[Curve]:
    """Return the histories of the tensors nearest to the birth."""
    found: dict[tuple[str | None, str], Curve] = {}
    for link in reversed(chain):
        if link.graph_execution_index is None or link.op_name is None or len(found) == _MAX_HISTORIES:
            continue
        key = (link.graph_id, f"{link.op_name}:{link.output_slot}")
        if key not in found:
            wanted = Wanted("largest", _MAX_POINTS)
            found[key] = curve_at(snapshot, wanted, graph_execution=link.graph_execution_index)
    return list(found.values())


_RELATIONS: Final = {
    "input": "from its input",
    "argument": "from the caller's argument",
    "result": "from inside the call",
    "iteration": "from the turn before",
    "assignment": "by an assignment",
    "gradient": "from the forward pass",
    "step": "from an earlier step",
    "data": "from the data",
}
_KINDS: Final = {"neg_inf": "−∞", "pos_inf": "+∞", "nan": "NaN", "zero": "zero"}
_MAX_STEPS: Final = 24


class ChainStep(NamedTuple):
    """A step of a chain: the tensor, how its value came to the step before, and where it is."""

    name: str
    how: str
    place: str


def facts_of(report: Report) -> str:
    """Return the size and the mode of the run in a line."""
    facts = report.status
    parts = [
        f"{facts['num_executions']:,} executions",
        f"{facts['num_graph_executions']:,} graph executions",
        facts["tensor_debug_mode"],
        facts["tensorflow_version"] and f"TensorFlow {facts['tensorflow_version']}",
    ]
    return " · ".join(str(part) for part in parts if part)


def verdict_of(report: Report) -> list[str]:
    """Return what is to be said of the run, a paragraph each; nothing where an origin says it."""
    found = report.verdict
    if report.origins and found.kind == "bad":
        return []
    missing = ["Not all of the program was recorded."] if report.status["not_recorded"] else []
    return [f"{found.headline}.", *found.sentences, *found.doubts, *missing]


def numbers_of(origin: Origin) -> list[tuple[str, str]]:
    """Return the names and numbers of the inputs and of the output."""
    healths = [(one["name"], one["health"]) for one in origin.evidence.get("inputs", [])]
    healths.append(("its output", origin.evidence.get("output")))
    return [(name, _health(health)) for name, health in healths if health is not None]


def _health(health: Json) -> str:
    counts = [f"{health[name]:,.0f} {sign}" for name, sign in _KINDS.items() if health.get(name)]
    ends = [f"{name} {health[name]:.4g}" for name in ("min", "max") if health.get(name) is not None]
    verdict = {True: "NaN or ∞", False: "finite", None: "not measured"}[health["bad"]]
    return ", ".join([*(counts or [verdict]), *ends])


def chain_of(origin: Origin) -> list[ChainStep]:
    """Return the steps from the value that shows it to its birth."""
    return [_step(link, is_first=number == 0) for number, link in enumerate(origin.chain)]


def _step(link: Link, *, is_first: bool) -> ChainStep:
    kind = display_name(link.op_type)
    name = kind if link.op_name is None else f"{link.op_name}:{link.output_slot} ({kind})"
    place = "" if link.source is None else link.source.name
    moment = "" if link.step is None else f"call {link.step}"
    return ChainStep(
        name, "seen here" if is_first else _RELATIONS[link.relation], ", ".join(filter(None, (place, moment)))
    )


def listed(steps: list[ChainStep]) -> list[ChainStep]:
    """Return the steps that a report lists: both ends of a long chain."""
    left = len(steps) - _MAX_STEPS
    if left <= 1:
        return steps
    return [*steps[: _MAX_STEPS // 2], ChainStep(f"… {left} more", "", ""), *steps[-_MAX_STEPS // 2 :]]
