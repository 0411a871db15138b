"""The answer of a comparison, as values that all doors give: Python, the route and the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tb_debugger_plugin.analysis.compare.outline import Node
from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.analysis.source.user_lines import UserLine


@dataclass(frozen=True)
class ComparedSide:
    """A tensor in one of the runs.

    Attributes:
      op_type, op_name, output_slot: The tensor; no name for an eager op.
      graph_id, function: The graph.
      layer, variable: What the op belongs to.
      source: The user's line.
      execution_index, graph_execution_index: Its position; one of them is None.
      summary: Its *Health*, as in ``docs/http-api.md``; None when it was not recorded.
    """

    op_type: str
    op_name: str | None
    output_slot: int
    graph_id: str | None
    function: str | None
    layer: str | None
    variable: str | None
    source: UserLine | None
    execution_index: int | None = None
    graph_execution_index: int | None = None
    summary: Json | None = None

    @property
    def name(self) -> str:
        """The op, and its output unless that is the first one."""
        name = self.op_name or self.op_type
        return name if self.output_slot == 0 else f"{name}:{self.output_slot}"

    def to_json(self) -> Json:
        """Return the tensor as the HTTP contract has it."""
        source = None if self.source is None else self.source.to_json()
        return {**vars(self), "source": source}


def side_of(node: Node, slot: int, graph_id: str | None, function: str | None, **known: Any) -> ComparedSide:
    """Return an output of a node."""
    name = None if node.is_eager else node.name
    return ComparedSide(
        node.type, name, slot, graph_id, function, node.layer, node.variable, node.source, **known
    )


@dataclass(frozen=True)
class TensorDifference:
    """A tensor that differs.

    Attributes:
      first, second: The tensor in both runs.
      paired_by: ``name``, ``structure`` or ``order``.
      occurrence: How often it had been computed before, when it first differed.
      difference: The relative difference there; None when shape, NaN or infinities differ.
      largest: The largest relative difference; None as above.
      tolerance: The relative tolerance there.
      compared: How many occurrences were compared.
      inherited: The part of the difference that its inputs explain; None when no input is on record.
      what: What differs, in words.
    """

    first: ComparedSide
    second: ComparedSide
    paired_by: str
    occurrence: int
    difference: float | None
    largest: float | None
    tolerance: float
    compared: int
    inherited: float | None
    what: str

    def to_json(self) -> Json:
        """Return the difference as the HTTP contract has it."""
        return {**vars(self), "first": self.first.to_json(), "second": self.second.to_json()}


@dataclass(frozen=True)
class InputOfFirst:
    """An input of the first op that differs.

    Attributes:
      first, second: The tensor in both runs; one is None when the other run has no such op.
      difference: Relative; None when it cannot be told.
      is_within: Whether it is within the tolerance; None when the tensor is not on record.
    """

    first: ComparedSide | None
    second: ComparedSide | None
    difference: float | None
    is_within: bool | None

    def to_json(self) -> Json:
        """Return the input as the HTTP contract has it."""
        sides = {name: None if side is None else side.to_json() for name, side in self.sides.items()}
        return {**sides, "difference": self.difference, "is_within": self.is_within}

    @property
    def sides(self) -> dict[str, ComparedSide | None]:
        """Both sides by name."""
        return {"first": self.first, "second": self.second}


@dataclass(frozen=True)
class FirstDifference:
    """The first tensor that differs materially.

    Attributes:
      tensor: The tensor.
      headline: Op, function and line.
      explanation: Sentences.
      cause: ``changed_op``, ``changed_constant``, ``added_op``, ``random``, ``variable``,
        ``data``, ``numerics`` or ``amplified``.
      inputs: What the op took.
      values: What the elements say, where both runs hold them; None otherwise.
    """

    tensor: TensorDifference
    headline: str
    explanation: str
    cause: str
    inputs: list[InputOfFirst]
    values: Json | None

    def to_json(self) -> Json:
        """Return the first difference as the HTTP contract has it."""
        return {
            **self.tensor.to_json(),
            "headline": self.headline,
            "explanation": self.explanation,
            "cause": self.cause,
            "inputs": [one.to_json() for one in self.inputs],
            "values": self.values,
        }


@dataclass(frozen=True)
class ProgramChange:
    """An op that is another one in the second run, or in one of the runs only.

    Attributes:
      kind: ``op``, ``constant``, ``dtype``, ``only_first`` or ``only_second``.
      first, second: The op in both runs.
      words: What changed.
    """

    kind: str
    first: ComparedSide | None
    second: ComparedSide | None
    words: str

    def to_json(self) -> Json:
        """Return the change as the HTTP contract has it."""
        first, second = (None if side is None else side.to_json() for side in (self.first, self.second))
        return {"kind": self.kind, "first": first, "second": second, "words": self.words}


@dataclass(frozen=True)
class Comparison:
    """Two runs compared.

    Use::

        comparison = run.compare(other)
        print(comparison.headline)

    Attributes:
      first_difference: The first tensor, in the order of time of the first run, that differs materially; None
        if there is none.
      headline: The answer in one line.
      tensors: The tensors that differ materially, in the order of time; at most 500.
      num_tensors: How many there are.
      changes: Ops that are not the same in both runs, in the order of the program; at most 200.
      num_changes: How many there are.
      num_compared: Values that were compared.
      num_compared_tensors: Tensors that were compared.
      notes: Sentences: what was not compared, and why.
    """

    first_difference: FirstDifference | None
    headline: str
    tensors: list[TensorDifference]
    num_tensors: int
    changes: list[ProgramChange]
    num_changes: int
    num_compared: int
    num_compared_tensors: int
    notes: list[str]

    def to_json(self) -> Json:
        """Return the answer of the route ``compare``."""
        first = self.first_difference
        return {
            **vars(self),
            "first_difference": None if first is None else first.to_json(),
            "tensors": [one.to_json() for one in self.tensors],
            "changes": [one.to_json() for one in self.changes],
        }
