"""Looks along the ops around an op: what made its inputs, and what takes its outputs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers
from tb_debugger_plugin.analysis.diagnosis.surroundings import NearOp, NearOutput, Surroundings
from tb_debugger_plugin.events.tensorflow_names import is_gradient

#: Ops whose elements are those of their first input, in another order, shape or dtype.
COPIES: Final = frozenset(
    {
        "BroadcastTo",
        "Cast",
        "CheckNumerics",
        "CheckNumericsV2",
        "DebugIdentity",
        "EnsureShape",
        "ExpandDims",
        "Identity",
        "IdentityN",
        "PreventGradient",
        "ReadVariableOp",
        "Reshape",
        "Snapshot",
        "Squeeze",
        "StopGradient",
        "Tile",
        "Transpose",
    }
)
#: Ops whose elements are some of their first input.
PICKS: Final = frozenset({"Gather", "GatherNd", "GatherV2", "Slice", "StridedSlice"})
#: Ops that keep a value inside limits, or move it a little.
GUARDS: Final = frozenset({"Add", "AddV2", "ClipByValue", "Maximum", "Minimum"})
SELECTS: Final = frozenset({"Select", "SelectV2"})
BOOLEANS: Final = frozenset(
    {
        "Equal",
        "Greater",
        "GreaterEqual",
        "IsFinite",
        "IsInf",
        "IsNan",
        "Less",
        "LessEqual",
        "LogicalAnd",
        "LogicalNot",
        "LogicalOr",
        "NotEqual",
        "SequenceMask",
    }
)
_REDUCTIONS: Final = frozenset({"Max", "Mean", "Min", "Sum"})
SQUARES: Final = frozenset({"Square", "SquaredDifference"})
#: Ops that are looked at on a way along several.
_MOST: Final = 60


@dataclass(frozen=True)
class Scene:
    """The op that is explained and what is around it.

    Attributes:
      around: The surroundings.
      output: The numbers of the bad output.
      function: Name of the op's graph.
    """

    around: Surroundings
    output: Numbers
    function: str | None = None

    @property
    def op(self) -> NearOp:
        """The op that made the bad value."""
        return self.around.op

    @property
    def focus(self) -> NearOp:
        """The op that the program wrote: of an op of a gradient, the op whose gradient it is."""
        return self.around.forward or self.around.op

    @property
    def is_gradient(self) -> bool:
        """Whether the bad value is part of a gradient."""
        return self.around.forward is not None or is_gradient(self.op.name)


def taken(op: NearOp, slot: int = 0) -> NearOutput | None:
    """Return the tensor in an input slot; None when there is none."""
    return op.inputs[slot] if 0 <= slot < len(op.inputs) else None


def source(op: NearOp, slot: int = 0, *, through: frozenset[str] = COPIES) -> NearOutput | None:
    """Return the tensor in an input slot, before the ops that only copy it."""
    found = taken(op, slot)
    for _ in range(_MOST):
        before = None if found is None or found.op.type not in through else taken(found.op)
        if before is None:
            return found
        found = before
    return found


def type_of(output: NearOutput | None) -> str:
    """Type of the op that makes a tensor; empty for none."""
    return "" if output is None else output.op.type


def made_by(op: NearOp, slot: int, *types: str) -> NearOp | None:
    """Return the op that made an input, if it has one of some types."""
    found = source(op, slot)
    return found.op if found is not None and found.op.type in types else None


def only_value(output: NearOutput | None) -> float | None:
    """Return the value that all elements of a tensor have; None when they differ, or when it is not known."""
    return None if output is None else output.numbers.only


def producers(op: NearOp, depth: int) -> Iterator[NearOp]:
    """Yield the ops before an op, up to some steps; the nearest first."""
    front, seen = [op], 0
    for _ in range(depth):
        front = [output.op for near in front for output in near.inputs]
        for near in front:
            yield near
            seen += 1
            if seen >= _MOST:
                return


def consumers(op: NearOp, depth: int) -> Iterator[NearOp]:
    """Yield the ops after an op, up to some steps; the nearest first."""
    front, seen = [op], 0
    for _ in range(depth):
        front = [near for before in front for near in before.consumers]
        for near in front:
            yield near
            seen += 1
            if seen >= _MOST:
                return


def same(a: NearOutput | None, b: NearOutput | None) -> bool:
    """Whether two tensors are the same one."""
    return a is not None and (a.op.type or a.op.name) != "" and a == b


def equal(a: NearOutput | None, b: NearOutput | None, steps: int = 3) -> bool:
    """Whether two tensors have the same values: they are the same one, or computed alike from the same.

    Args:
      a: A tensor, before the ops that only copy it.
      b: Another one.
      steps: Ops to look back.
    """
    if a is None or b is None or same(a, b):
        return a is not None and b is not None
    if steps == 0 or a.op.type != b.op.type or a.slot != b.slot or not a.op.inputs:
        values = {only_value(a), only_value(b)}
        return a.op.type == b.op.type == "Const" and len(values) == 1 and None not in values
    # The axes of an eager reduction are not on record; results of one size are over the same ones.
    is_reduced = a.op.type in _REDUCTIONS and a.numbers.size == b.numbers.size is not None
    count = 1 if is_reduced else len(a.op.inputs)
    pairs = [(source(a.op, slot), source(b.op, slot)) for slot in range(count)]
    is_alike = len(a.op.inputs) == len(b.op.inputs) and "Random" not in a.op.type
    return is_alike and all(equal(*pair, steps - 1) for pair in pairs)


def is_squared(op: NearOp) -> bool:
    """Whether an op squares its input."""
    return op.type in SQUARES or (op.type == "Mul" and same(taken(op, 0), taken(op, 1)))
