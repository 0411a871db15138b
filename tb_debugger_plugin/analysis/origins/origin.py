"""An origin: a bad value, where it was born, and the chain to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from tb_debugger_plugin.analysis.diagnosis.phrases import Phrases, plain_text, to_json
from tb_debugger_plugin.analysis.diagnosis.rewriting import Example
from tb_debugger_plugin.analysis.origins.values import BadKind, Relation
from tb_debugger_plugin.analysis.snapshot import Json, JsonObject
from tb_debugger_plugin.analysis.source.user_lines import UserLine

Category: TypeAlias = Literal["origin", "came_in", "propagated", "swallowed", "expected"]
Certainty: TypeAlias = Literal["proven", "likely", "possible"]

#: How important a category is; 0 is most.
RANKS: Final[dict[Category, int]] = {
    "origin": 0,
    "came_in": 0,
    "propagated": 1,
    "swallowed": 2,
    "expected": 3,
}


@dataclass(frozen=True)
class Link(JsonObject):
    """A value of a chain.

    Attributes:
      op_type: Type of the op, or name of the function that Python called.
      op_name, output_slot, graph_id, graph_name: The tensor; name and graph are None for an eager op.
      source: The user's line.
      step: How often the function had been called before; None when no function ran.
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
class Origin:
    """Where bad values come from.

    Attributes:
      kind: What was born: ``nan`` or ``inf``.
      kind_is_certain: False if the mode of the recording does not tell them apart.
      category: ``origin`` for an op that made it of good inputs, ``came_in`` for what came from outside,
        ``propagated`` if it was bad already where the record begins, ``swallowed`` if no result shows it,
        but it was not meant to vanish, ``expected`` if it was.
      op_type, op_name, output_slot, graph_id, layer, function, variable: The op.
      source: The user's line; of an op of a gradient, that of the forward op.
      gradient_source: The line that asked for the gradient.
      step, execution_index, graph_execution_index: The first such value on record.
      count: How many values of the op are bad in this way.
      headline: One line, such as "Log in loss, train.py:68".
      what, why, where: The explanation as phrases.
      evidence: The numbers of the output and of the inputs.
      advice: What usually helps.
      example: The line before and after a change that helps.
      outcome: What became of it, where no result shows it: what swallowed it, or why that is expected.
      certainty: How sure the answer is.
      missing: What would decide.
      chain: From the first bad value that the user sees to this one.
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
    count: int
    headline: str
    what: Phrases
    why: Phrases
    where: Phrases
    evidence: Json
    advice: str | None
    example: Example | None
    outcome: str | None
    certainty: Certainty
    missing: str | None
    chain: list[Link]

    @property
    def explanation(self) -> str:
        """The explanation in sentences."""
        return " ".join(plain_text(phrases) for phrases in (self.what, self.why) if phrases)

    def to_json(self) -> Json:
        """Return the origin as the HTTP contract has it."""
        fields = {name: value for name, value in vars(self).items() if name not in ("what", "why", "where")}
        return {
            **fields,
            "source": None if self.source is None else self.source.to_json(),
            "gradient_source": None if self.gradient_source is None else self.gradient_source.to_json(),
            "explanation": self.explanation,
            "example": None if self.example is None else dict(vars(self.example)),
            "phrases": {
                "what": to_json(self.what),
                "why": to_json(self.why),
                "where": to_json(self.where),
            },
            "chain": [link.to_json() for link in self.chain],
        }
