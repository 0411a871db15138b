"""Finds the forward op of an op of a gradient by the tensors that both take.

It is for ops that are not named after their forward op. The gradient of ``acos(x)``, for example, is computed
with ``Square(x)``, ``Sub``, ``Sqrt`` and ``Reciprocal``.

Invariant: when several ops are possible, the result is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.around import source
from tb_debugger_plugin.analysis.diagnosis.surroundings import Near

#: By type of an op of a gradient: the ops whose gradients have it, besides the one that it is named after.
FORWARD: Final[Mapping[str, Sequence[str]]] = {
    "Reciprocal": ("Log", "Log1p", "Acos", "Asin", "Acosh", "Asinh", "Atanh", "Atan"),
    "RealDiv": ("RealDiv", "Div", "Xdivy", "Xlogy", "Atan2", "EuclideanNorm", "Norm"),
    "Xdivy": ("Xlogy", "Xlog1py"),
    "Pow": ("Pow",),
    "Rsqrt": ("Acos", "Asin", "Acosh", "Asinh"),
    "MatrixTriangularSolve": ("Cholesky", "MatrixTriangularSolve", "MatrixSolve", "MatrixDeterminant"),
}
#: Steps from the op to the tensors of the forward op.
_STEPS: Final = 3


def wanted(op_type: str) -> frozenset[str]:
    """Return the types of the ops whose gradient has an op of a type."""
    grad = {op_type.removesuffix("Grad")} if op_type.endswith("Grad") else set()
    return frozenset({*FORWARD.get(op_type, ()), *grad})


def backward_chain(op: Near, is_backward: Callable[[Near], bool]) -> list[Near]:
    """Return the op and the ops of the gradient before it, up to some steps."""
    chain, front = [op], [op]
    for _ in range(_STEPS):
        front = [output.op for near in front for output in near.inputs if is_backward(output.op)]
        chain += front
    return chain


def forward_by_tensors(op: Near, is_backward: Callable[[Near], bool]) -> Near | None:
    """Return the only op of a fitting type that made or takes a tensor that the gradient takes.

    Args:
      op: An op of a gradient.
      is_backward: Whether an op is part of a gradient.
    """
    types = wanted(op.type)
    found: dict[str, Near] = {}
    for near in backward_chain(op, is_backward) if types else ():
        for candidate in _at_inputs(near):
            if candidate.type in types and not is_backward(candidate):
                found[candidate.name] = candidate
    return next(iter(found.values())) if len(found) == 1 else None


def _at_inputs(op: Near) -> Iterator[Near]:
    for slot in range(len(op.inputs)):
        made = source(op, slot)
        if made is not None:
            yield made.op
            yield from made.op.consumers
