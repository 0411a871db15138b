"""The ops around the one whose value is explained.

Advice depends on them: the logarithm of a softmax needs other advice than the logarithm of a count. A
pattern reads a :class:`Surroundings`; ``near_ops`` makes one from the graph or from the executions of a run.

Invariants: what is not on record is empty or None, and never an error. Nothing is read before it is asked
for.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.analysis.source.sources import USER, whose_code
from tb_debugger_plugin.events.tensorflow_names import is_gradient


class NearOp(Protocol):
    """An op: the one that is explained, or one near it."""

    @property
    def type(self) -> str:
        """Type of the op."""

    @property
    def name(self) -> str:
        """Name of the op; empty for an eager op."""

    @property
    def layer(self) -> str | None:
        """Path of the Keras layer."""

    @property
    def attributes(self) -> Mapping[str, str]:
        """Attributes as text; empty where none are on record."""

    @property
    def line(self) -> str | None:
        """Text of the user's line that made the op."""

    @property
    def inputs(self) -> Sequence[NearOutput]:
        """The tensors that the op takes, in order."""

    @property
    def consumers(self) -> Sequence[NearOp]:
        """The ops that take its outputs."""

    def numbers(self, slot: int = 0) -> Numbers:
        """Return the record of an output at the time of the value that is explained."""


@dataclass(frozen=True)
class NearOutput:
    """An output of an op.

    Attributes:
      op: The op.
      slot: Its output slot.
    """

    op: NearOp
    slot: int = 0

    @property
    def numbers(self) -> Numbers:
        """The record of it."""
        return self.op.numbers(self.slot)


@dataclass(frozen=True)
class ProgramFacts:
    """What is known of the whole program.

    Attributes:
      trains: Whether it computes gradients, or changes variables step by step.
      is_mixed: Whether it trains in mixed precision.
      text: The file with the user's line; None when it is not on record.
    """

    trains: bool = True
    is_mixed: bool = False
    text: str | None = None


class Surroundings(Protocol):
    """What is known around the op whose value is explained."""

    @property
    def op(self) -> NearOp:
        """The op itself."""

    @property
    def forward(self) -> NearOp | None:
        """Of an op of a gradient: the op whose gradient it is part of."""

    @property
    def program(self) -> ProgramFacts:
        """What is known of the whole program."""

    def history(self, slot: int) -> Sequence[float]:
        """Largest magnitudes that the tensor in an input slot had, or a variable of it, up to now.

        Empty if they are not measured.
        """

    @property
    def finite_before(self) -> int:
        """How often the op gave only finite values before, as far as that is on record."""


@dataclass(frozen=True)
class KnownOp:
    """An op of which everything is given.

    Attributes:
      type: Type of the op.
      name: Its name.
      layer: Path of the Keras layer.
      attributes: Attributes as text.
      line: Text of the user's line.
      inputs: The tensors that it takes.
      consumers: The ops that take its outputs.
      outputs: The numbers of its outputs by slot.
    """

    type: str
    name: str = ""
    layer: str | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    line: str | None = None
    inputs: Sequence[NearOutput] = ()
    consumers: Sequence[NearOp] = ()
    outputs: Sequence[Numbers] = ()

    def numbers(self, slot: int = 0) -> Numbers:
        """Return the numbers of an output; none when they are not given."""
        return self.outputs[slot] if slot < len(self.outputs) else Numbers()


@dataclass(frozen=True)
class KnownSurroundings:
    """Surroundings of which everything is given.

    Attributes:
      op: The op whose value is explained.
      forward: The op whose gradient it is part of.
      histories: Largest magnitudes by input slot.
      program: What is known of the whole program.
      finite_before: How often the op gave only finite values before.
    """

    op: NearOp
    forward: NearOp | None = None
    histories: Mapping[int, Sequence[float]] = field(default_factory=dict)
    program: ProgramFacts = ProgramFacts()
    finite_before: int = 0

    def history(self, slot: int) -> Sequence[float]:
        """Return the magnitudes of an input slot."""
        return self.histories.get(slot, ())


#: Ops that change a variable by a step, or scale a loss: no program that only predicts has them.
_STEPS: Final = re.compile(
    r"(Resource)?(Sparse)?Apply[A-Z]|Assign(Sub|Add)|(Resource)?Scatter(Sub|Add)|\w+Grad(V\d)?$"
)
_MIXED: Final = re.compile(r"mixed_b?float16|LossScale|enable_mixed_precision")


def facts_of(snapshot: Snapshot, path: str | None) -> ProgramFacts:
    """Return what is known of the program.

    Args:
      snapshot: The run.
      path: The file with the user's line.
    """
    texts = _texts(snapshot)
    return ProgramFacts(_trains(snapshot), any(map(_MIXED.search, texts.values())), texts.get(path or ""))


@remembered(Snapshot.remember)
def _trains(snapshot: Snapshot) -> bool:
    if any(is_gradient(op.name) or _STEPS.match(op.type or "") for op in snapshot.catalog.ops):
        return True
    types = snapshot.rows("SELECT DISTINCT op_type FROM executions")
    return any(_STEPS.match(str(op_type)) for (op_type,) in types)


@remembered(Snapshot.remember)
def _texts(snapshot: Snapshot) -> dict[str, str]:
    """Return the user's own files by path; files of which only some lines are on record are left out."""
    files = snapshot.rows("SELECT source, path, origin FROM sources")
    own = {source: path for source, path, recorded in files if whose_code(path, recorded) == USER}
    rows = snapshot.rows(
        "SELECT source, string_agg(text, chr(10) ORDER BY line) FROM source_lines"
        " WHERE source IN (SELECT unnest(?::INTEGER[])) GROUP BY source",
        [list(own)],
    )
    return {own[source]: text for source, text in rows}
