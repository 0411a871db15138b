"""An origin: a bad value, where it was born, and the chain to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias, TypedDict

from tb_debugger_plugin.analysis.diagnosis.causes import Certainty
from tb_debugger_plugin.analysis.diagnosis.phrases import Phrases
from tb_debugger_plugin.analysis.diagnosis.rewriting import Example
from tb_debugger_plugin.analysis.origins.values import BadKind, Relation
from tb_debugger_plugin.analysis.snapshot import Json, JsonObject
from tb_debugger_plugin.analysis.source.user_lines import UserLine
from tb_debugger_plugin.analysis.values.bad_element import FirstBadElement
from tb_debugger_plugin.analysis.values.health import HealthJson

Category: TypeAlias = Literal["origin", "came_in", "propagated", "swallowed", "expected"]

#: How important a category is; 0 is most.
RANKS: Final[dict[Category, int]] = {
    "origin": 0,
    "came_in": 0,
    "propagated": 1,
    "swallowed": 2,
    "expected": 3,
}
_LABELS: Final[dict[Category, str]] = {
    "origin": "Origin of",
    "came_in": "Came in:",
    "propagated": "Bad before the record begins:",
    "swallowed": "Swallowed:",
    "expected": "Expected:",
}


@dataclass(frozen=True)
class Link(JsonObject):
    """A value of a chain.

    Attributes:
      op_type: Type of the op, or name of the function that Python called.
      op_name, output_slot, graph_id, graph_name: The tensor; name and graph are None for an eager op.
      source: The user's line.
      step: The step in which it was computed; None where that is not known, or the program has only one.
      execution_index, graph_execution_index: The value on record.
      kind: Of its bad elements: ``nan`` or ``inf``.
      relation: How it gave the value before it in the chain: ``input``, ``argument``, ``result``,
        ``iteration``, ``assignment``, ``gradient``, ``step`` or ``data``.
      words: The same as a sentence.
      skipped: How many values between the two only passed it on.
    """

    op_type: str
    op_name: str | None
    output_slot: int
    graph_id: str | None
    graph_name: str | None
    source: UserLine | None
    step: int | None
    execution_index: int | None
    graph_execution_index: int | None
    kind: BadKind
    relation: Relation
    words: str
    skipped: int = 0


@dataclass(frozen=True)
class OriginPhrases(JsonObject):
    """The explanation of an origin as phrases.

    Attributes:
      what: What was made.
      why: The causes.
      where: The line of the program; empty when it is not known.
    """

    what: Phrases
    why: Phrases
    where: Phrases


class NumbersJson(TypedDict):
    """The numbers of an input."""

    name: str  #: op and slot of the tensor
    health: HealthJson | None  #: its [Health](#health)


class EvidenceJson(TypedDict):
    """The numbers of a value and of the inputs of its op."""

    output: HealthJson | None  #: its [Health](#health)
    inputs: list[NumbersJson]  #: those of each input


@dataclass(frozen=True)
class Origin(JsonObject):
    """Where bad values come from.

    Attributes:
      kind: What was born: ``nan`` or ``inf``.
      kind_is_certain: False if the mode of the recording does not tell them apart.
      category: ``origin``: an op made it of good inputs. ``came_in``: from data, a constant, an argument, a
        feed, a checkpoint or a Python function. ``propagated``: it was bad already where the record begins.
        ``swallowed``: no result shows it, and it was not meant to vanish. ``expected``: it was.
      op_type, op_name, output_slot, graph_id: The tensor; name and graph are None for an eager op.
      layer, function, variable: What the op belongs to.
      source: The user's line; of an op of a gradient, that of the forward op.
      gradient_source: The line that asked for the gradient; None for other ops.
      step: The step in which it was computed; None where that is not known, or the program has only one.
      execution_index, graph_execution_index: The first such value on record.
      element: Where this value is bad; None when that is not known.
      count: How many values of the op are bad in this way.
      headline: One line, such as "Log in loss, train.py:68".
      evidence: The numbers of the output and of the inputs.
      advice: What usually helps.
      example: The line before and after a change that helps.
      tried: What ``tbdbg replay`` has tried with the call that GUARD has kept, and what came of it.
      outcome: What became of it, where no result shows it: what swallowed it, or why that is expected.
      certainty: How sure the answer is: ``proven``, ``likely`` or ``possible``.
      missing: What would decide.
      chain: From the first bad value that the program shows back to this one.
      explanation: The explanation in sentences.
      phrases: The same as phrases, with the line.
    """

    kind: BadKind
    kind_is_certain: bool
    category: Category
    op_type: str
    op_name: str | None
    output_slot: int
    graph_id: str | None
    layer: str | None
    function: str | None
    variable: str | None
    source: UserLine | None
    gradient_source: UserLine | None
    step: int | None
    execution_index: int | None
    graph_execution_index: int | None
    element: FirstBadElement | None
    count: int
    headline: str
    evidence: Annotated[Json, EvidenceJson]
    advice: str | None
    example: Example | None
    outcome: str | None
    certainty: Certainty
    missing: str | None
    chain: list[Link]
    explanation: str
    phrases: OriginPhrases
    tried: str | None = None

    @property
    def label(self) -> str:
        """Category and kind, such as "Origin of NaN:"."""
        kind = {"nan": "NaN", "inf": "∞"}[self.kind] if self.kind_is_certain else "NaN or ∞"
        words = _LABELS[self.category]
        return f"{words} {kind}." if words.endswith(":") else f"{words} {kind}:"

    @property
    def title(self) -> str:
        """The label and the headline, such as "Origin of NaN: Log in loss, train.py:68"."""
        return f"{self.label} {self.headline}"
