"""A recorded value, and what is known of it.

A :class:`ValueRef` is a key: the trace of a tensor of a graph, an output of an execution, an assignment of a
variable (which has no tensor of its own), or something that was not computed on record.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

BadKind: TypeAlias = Literal["nan", "inf"]
Relation: TypeAlias = Literal[
    "input", "argument", "result", "iteration", "assignment", "gradient", "step", "data"
]


class ValueRef(NamedTuple):
    """The key of a value.

    Attributes:
      trace: Position in the list of graph executions; -1 for none.
      execution: Position in the list of executions; -1 for none.
      slot: Output slot of the execution.
      op: The op of a graph that assigns, if there is no trace of what it did; -1 for none.
      near: For such an op, the position of a trace of the same call.
      outside: What brought a value in that no op on record computed, such as "an argument".
    """

    trace: int = -1
    execution: int = -1
    slot: int = -1
    op: int = -1
    near: int = -1
    outside: str = ""

    @property
    def at(self) -> int:
        """Position of its trace, or else of one of the same call; -1 for none."""
        return self.trace if self.trace >= 0 else self.near


class Measured(NamedTuple):
    """What was recorded of a value.

    Attributes:
      bad: Whether it has NaN or infinity; None when it was not measured.
      nan, neg_inf, pos_inf, size: Numbers of elements; None when they were not counted.
      time: When it was computed.
      finite_positive: Number of positive finite elements.
    """

    bad: bool | None = None
    nan: int | None = None
    neg_inf: int | None = None
    pos_inf: int | None = None
    size: int | None = None
    time: float = 0.0
    finite_positive: int | None = None

    @property
    def has_nan(self) -> bool | None:
        """Whether it has NaN; None when that is not known."""
        return False if self.bad is False else None if self.nan is None else self.nan > 0

    @property
    def has_inf(self) -> bool | None:
        """Whether it has infinities; None when that is not known."""
        if self.bad is False:
            return False
        return None if self.neg_inf is None or self.pos_inf is None else self.neg_inf + self.pos_inf > 0

    def has(self, kind: BadKind) -> bool | None:
        """Whether it has elements of a kind; None when that is not known."""
        return self.has_nan if kind == "nan" else self.has_inf

    def counts(self) -> tuple[bool | None, int | None, int | None, int | None]:
        """Return what a copy of the value has too."""
        return (self.bad, self.nan, self.neg_inf, self.pos_inf)


UNMEASURED = Measured()


class ValueFeed(NamedTuple):
    """A value that another one was made from.

    Attributes:
      value: The key.
      relation: How it was used.
      name: As a sentence names it, such as "probs:0".
      is_copy: Whether it was passed on unchanged.
      input_slot: The input of the op; -1 when it is not one.
    """

    value: ValueRef
    relation: Relation
    name: str = ""
    is_copy: bool = False
    input_slot: int = -1
