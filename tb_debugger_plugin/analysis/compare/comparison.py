"""The answer of a comparison, as values that all doors give: Python, the route and the command line."""

from __future__ import annotations

from dataclasses import dataclass

from tb_debugger_plugin.analysis.compare.elements import ElementDifferenceJson
from tb_debugger_plugin.analysis.compare.outline import Node
from tb_debugger_plugin.analysis.snapshot import Json, JsonObject
from tb_debugger_plugin.analysis.source.user_lines import UserLine
from tb_debugger_plugin.analysis.values.health import HealthJson


@dataclass(frozen=True)
class ComparedSide(JsonObject):
    """A tensor in one of the runs.

    Attributes:
      op_type, op_name, output_slot: The tensor; no name for an eager op.
      graph_id, function: The graph.
      layer, variable: What the op belongs to.
      source: The user's line; None when not known.
      execution_index, graph_execution_index: Its position; one or both are None.
      summary: Its [health](#health); None where no occurrence is meant, or it was not recorded.
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
    summary: HealthJson | None = None

    @property
    def name(self) -> str:
        """The op, and its output unless that is the first one."""
        name = self.op_name or self.op_type
        return name if self.output_slot == 0 else f"{name}:{self.output_slot}"


def side_of(
    node: Node, slot: int, graph_id: str | None, function: str | None, known: Json | None = None
) -> ComparedSide:
    """Return an output of a node."""
    name = None if node.is_eager else node.name
    return ComparedSide(
        node.type, name, slot, graph_id, function, node.layer, node.variable, node.source, **known or {}
    )


@dataclass(frozen=True)
class TensorDifference(JsonObject):
    """A tensor that differs.

    Attributes:
      first, second: The tensor in both runs.
      paired_by: ``name``, ``structure`` or ``order``.
      occurrence: How often it had been computed before, when it first differed.
      difference: The relative difference there; None when shape, NaN or infinities differ.
      largest: The largest relative difference of any occurrence; None as above.
      tolerance: The relative difference that is allowed there.
      compared: How many occurrences were compared.
      inherited: The part of the difference that its inputs explain, from 0 to 1; None when no input is on
        record.
      what: The number that differs most, in words.
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


@dataclass(frozen=True)
class InputOfFirst(JsonObject):
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

    @property
    def sides(self) -> dict[str, ComparedSide | None]:
        """Both sides by name."""
        return {"first": self.first, "second": self.second}


@dataclass(frozen=True)
class FirstDifference(TensorDifference):
    """The first tensor that differs materially.

    Attributes:
      headline, explanation: Op, function and line; and sentences.
      cause: ``changed_op``, ``changed_constant``, ``added_op`` (an op that only one run has), ``random``,
        ``variable``, ``data``, ``numerics`` (made by this op) or ``amplified`` (grown out of rounding).
      inputs: What the op took.
      values: What the elements say, where both runs hold them; None otherwise.
    """

    headline: str
    explanation: str
    cause: str
    inputs: list[InputOfFirst]
    values: ElementDifferenceJson | None

    @property
    def tensor(self) -> TensorDifference:
        """What it is as a tensor that differs."""
        return self


@dataclass(frozen=True)
class ProgramChange(JsonObject):
    """An op that is another one in the second run, or in one of the runs only.

    Attributes:
      kind: ``op``, ``constant``, ``dtype``, ``only_first`` or ``only_second``.
      first, second: The op in both runs; one is None if only one run has it.
      words: What changed.
    """

    kind: str
    first: ComparedSide | None
    second: ComparedSide | None
    words: str


@dataclass(frozen=True)
class Comparison(JsonObject):
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
      num_compared, num_compared_tensors: How many values, of how many tensors, were compared.
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
