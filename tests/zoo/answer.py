"""The first answer of the debugger for a recording, and whether it is the true cause.

`first_answer` is the only place that knows how the debugger is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final, NamedTuple

import tb_debugger_plugin
from tests.zoo.truth import Cause, Program

#: Categories of origins that are answers; the others explain why a value is none.
_ANSWERS: Final = ("origin", "came_in", "swallowed")
_COUNTS: Final = {"nan": ("nan",), "inf": ("neg_inf", "pos_inf")}
#: Ops that do not pass on infinities of their second input.
_QUOTIENTS: Final = ("RealDiv", "Div", "DivNoNan", "Xdivy")
_HEADLINE = re.compile(r"(?P<op_type>\w+)(?: in (?P<function>.+?))?, (?P<file>[^,]+):(?P<line>\d+)")


class Edit(NamedTuple):
    """A change of a line that the debugger offers.

    Attributes:
      line: The line that the answer names; 0 if it names none.
      before: The part to replace.
      after: What to put there.
    """

    line: int
    before: str
    after: str


class Answer(NamedTuple):
    """What the debugger says first.

    Attributes:
      op_type: Type of the op; empty if it names none.
      file: Name of the source file; empty if it names no line.
      line: The line; 0 if it names none.
      kind: "nan" or "inf"; empty if it does not say.
      category: "origin", "came_in" or "swallowed"; empty if it does not say.
      edit: The change that it offers; None if it offers none.
      is_contradicted: Whether the evidence of an origin says that an input was bad in the same way before.
    """

    op_type: str
    file: str
    line: int
    kind: str = ""
    category: str = ""
    edit: Edit | None = None
    is_contradicted: bool = False

    def __str__(self) -> str:
        said = [self.op_type or "no op", self.kind, f"{self.file}:{self.line}" if self.file else "no line"]
        said += ["came in"] if self.category == "came_in" else []
        said += ["against its evidence"] if self.is_contradicted else []
        return " ".join(filter(None, said))


def first_answer(logdir: str) -> Answer | None:
    """Ask for the most important bad value of the only run of a logdir; None if nothing is wrong."""
    with tb_debugger_plugin.open_run(logdir) as run:
        if hasattr(run, "origins"):
            entries = [_fields(entry) for entry in run.origins()]
            answer = next((_of_origin(entry) for entry in entries if entry["category"] in _ANSWERS), None)
            return answer and answer._replace(is_contradicted=any(map(_contradicts_itself, entries)))
        explanation = run.why()
        return None if explanation is None else _of_headline(explanation.headline)


def alarms(logdir: str) -> list[str]:
    """Ask every rule of the registry, at its defaults, of the only run of a logdir.

    Returns:
      What is above *low*: nothing for a healthy program.
    """
    with tb_debugger_plugin.open_run(logdir) as run:
        found = [alert.facts for alert in run.alerts(rule="all")]
    return [
        f"{one['severity']}: {one['alert_type']}, {one['measured']}, {one['op_type']} {one['op_name'] or ''}"
        for one in found
        if one["severity"] != "low"
    ]


def is_right(answer: Answer | None, program: Program) -> bool:
    """Tell whether an answer is the true cause of a program, or rightly none."""
    if answer is None or program.cause is None:
        return answer is None and program.cause is None
    return not answer.is_contradicted and answer.file == program.path.name and _names(answer, program.cause)


def _names(answer: Answer, cause: Cause) -> bool:
    if answer.line not in cause.lines or answer.kind not in {"", *cause.kinds}:
        return False
    if cause.came_in:
        return answer.category in ("", "came_in")
    return answer.category in ("", "origin", "swallowed") and answer.op_type in cause.op_types


def _contradicts_itself(entry: Mapping[str, Any]) -> bool:
    """Whether an origin says that one of its inputs had bad elements of its kind already.

    An op of one input may have made more of them.
    """
    if entry["category"] not in ("origin", "came_in"):
        return False
    evidence = entry.get("evidence") or {"output": None, "inputs": []}
    made = _count(evidence["output"], entry["kind"])
    had = [_count(one["health"], entry["kind"]) for one in evidence["inputs"]]
    if len(had) == 1:
        return bool(had[0]) and made <= had[0]
    return any(had[:1] if entry["op_type"] in _QUOTIENTS else had)


def _count(health: Mapping[str, Any] | None, kind: str) -> int:
    """Number of bad elements of a kind; 0 if nothing is known."""
    return sum(int((health or {}).get(name) or 0) for name in _COUNTS[kind])


def _of_headline(headline: str) -> Answer:
    match = _HEADLINE.fullmatch(headline)
    if match is None:
        return Answer(headline, "", 0)
    return Answer(match["op_type"], match["file"], int(match["line"]))


def _of_origin(entry: Mapping[str, Any]) -> Answer:
    source = _fields(entry["source"]) if entry["source"] is not None else {"path": "", "line": 0}
    file = PurePath(source["path"] or "").name
    kind = str(entry["kind"]) if entry.get("kind_is_certain", True) else ""
    line = source["line"] or 0
    return Answer(entry["op_type"] or "", file, line, kind, entry["category"], _edit(entry["example"], line))


def _edit(example: object, line: int) -> Edit | None:
    if example is None or _fields(example)["before"] is None:
        return None
    return Edit(line, _fields(example)["before"], _fields(example)["after"])


def _fields(entry: object) -> Mapping[str, Any]:
    """The fields of an entry, which is a mapping or an object."""
    return entry if isinstance(entry, Mapping) else _Attributes(entry)


class _Attributes(Mapping[str, Any]):
    def __init__(self, entry: object) -> None:
        self._entry = entry

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self._entry, name)
        except AttributeError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(dir(self._entry))

    def __len__(self) -> int:
        return len(dir(self._entry))
