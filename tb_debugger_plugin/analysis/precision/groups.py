"""Layers and op types in another dtype: the worst of their tensors."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tb_debugger_plugin.analysis.precision.tensor import RANKS, TensorPrecision, Verdict
from tb_debugger_plugin.analysis.precision.words import sentence


@dataclass(frozen=True)
class Group:
    """Some tensors.

    Attributes:
      name: Of the layer, or of the type of op.
      tensors: How many there are.
      worst: The one that suffers most.
      keep: Why the group should stay in float32; None when it need not.
    """

    name: str
    tensors: int
    worst: TensorPrecision
    keep: str | None

    def to_json(self) -> dict[str, Any]:
        """Return the group as the HTTP contract has it."""
        return {
            "name": self.name,
            "tensors": self.tensors,
            "headroom": self.worst.headroom,
            "verdict": self.worst.verdict.value,
            "worst": self.worst.place.name,
            "keep": self.keep,
        }


def by_layer(tensors: Sequence[TensorPrecision]) -> list[Group]:
    """Return the layers, the worst first; tensors outside of layers are in none."""
    return _grouped(tensors, lambda one: one.place.layer)


def by_op_type(tensors: Sequence[TensorPrecision]) -> list[Group]:
    """Return the types of ops, the worst first."""
    return _grouped(tensors, lambda one: one.place.op_type)


def badness(tensor: TensorPrecision) -> tuple[int, float]:
    """Return a key that sorts tensors, the worst first."""
    headroom = tensor.headroom
    return RANKS[tensor.verdict], float("inf") if headroom is None else headroom


def _grouped(tensors: Sequence[TensorPrecision], key: Callable[[TensorPrecision], str | None]) -> list[Group]:
    groups: dict[str, list[TensorPrecision]] = defaultdict(list)
    for one in tensors:
        name = key(one)
        if name is not None:
            groups[name].append(one)
    made = [_group(name, members) for name, members in groups.items()]
    return sorted(made, key=lambda group: (badness(group.worst), group.name))


def _group(name: str, members: Sequence[TensorPrecision]) -> Group:
    worst = min(members, key=badness)
    reasons = [one for one in sorted(members, key=badness) if _needs_float32(one)]
    keep = f"{reasons[0].place.name}: {sentence(reasons[0])}" if reasons else None
    return Group(name, len(members), worst, keep)


def _needs_float32(tensor: TensorPrecision) -> bool:
    if tensor.verdict is Verdict.OVERFLOWS:
        return True
    # A loss scale moves gradients away from 0.
    return tensor.verdict is Verdict.VANISHES and not tensor.place.is_gradient
