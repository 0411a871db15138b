"""The words of a report, for every format that it is written in.

Takes facts and returns plain text, which the formats escape.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tb_debugger_plugin.analysis.origins.origin import Link, Origin
from tb_debugger_plugin.analysis.report.facts import Report
from tb_debugger_plugin.events.tensorflow_names import display_name

_LABELS: Final = {
    "origin": "Origin of",
    "came_in": "Came in:",
    "propagated": "Bad before the record begins:",
    "swallowed": "Swallowed:",
    "expected": "Expected:",
}
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


class Step(NamedTuple):
    """A step of a chain: the tensor, how its value came to the step before, and where it is."""

    name: str
    how: str
    place: str


def label(origin: Origin) -> str:
    """Category and kind, such as "Origin of NaN:"."""
    kind = {"nan": "NaN", "inf": "∞"}[origin.kind] if origin.kind_is_certain else "NaN or ∞"
    words = _LABELS[origin.category]
    return f"{words} {kind}." if words.endswith(":") else f"{words} {kind}:"


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


def _health(health: dict[str, Any]) -> str:
    counts = [f"{health[name]:,.0f} {sign}" for name, sign in _KINDS.items() if health.get(name)]
    ends = [f"{name} {health[name]:.4g}" for name in ("min", "max") if health.get(name) is not None]
    verdict = {True: "NaN or ∞", False: "finite", None: "not measured"}[health["bad"]]
    return ", ".join([*(counts or [verdict]), *ends])


def chain_of(origin: Origin) -> list[Step]:
    """Return the steps from the value that shows it to its birth."""
    return [_step(link, is_first=number == 0) for number, link in enumerate(origin.chain)]


def _step(link: Link, *, is_first: bool) -> Step:
    kind = display_name(link.op_type)
    name = kind if link.op_name is None else f"{link.op_name}:{link.output_slot} ({kind})"
    place = "" if link.source is None else link.source.name
    moment = "" if link.step is None else f"call {link.step}"
    return Step(
        name, "seen here" if is_first else _RELATIONS[link.relation], ", ".join(filter(None, (place, moment)))
    )


def listed(steps: list[Step]) -> list[Step]:
    """Return the steps that a report lists: both ends of a long chain."""
    left = len(steps) - _MAX_STEPS
    if left <= 1:
        return steps
    return [*steps[: _MAX_STEPS // 2], Step(f"… {left} more", "", ""), *steps[-_MAX_STEPS // 2 :]]
