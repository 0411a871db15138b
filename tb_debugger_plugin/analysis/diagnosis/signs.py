"""Counts what a mode did not count, where the op that made an input decides: a softmax is not negative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.around import source
from tb_debugger_plugin.analysis.diagnosis.evidence import Input
from tb_debugger_plugin.analysis.diagnosis.surroundings import Surroundings

#: Ops whose results are never below 0.
_NOT_NEGATIVE: Final = frozenset(
    {"Abs", "EuclideanNorm", "Exp", "Relu", "Relu6", "Sigmoid", "Softmax", "Softplus", "Sqrt", "Square"}
)


def with_known_signs(inputs: Sequence[Input], surroundings: Surroundings | None) -> list[Input]:
    """Return the inputs, those that cannot have negative elements with a count of 0 of them.

    Args:
      inputs: The inputs of the op.
      surroundings: What is around the op.
    """
    if surroundings is None:
        return list(inputs)
    return [
        _counted(each) if _is_not_negative(surroundings, slot) else each for slot, each in enumerate(inputs)
    ]


def _is_not_negative(surroundings: Surroundings, slot: int) -> bool:
    made = source(surroundings.op, slot)
    return made is not None and made.op.type in _NOT_NEGATIVE


def _counted(input_: Input) -> Input:
    numbers = input_.numbers
    if numbers is None or numbers.bad is None or numbers.counts.get("negative") is not None:
        return input_
    return replace(input_, numbers=replace(numbers, counts={**numbers.counts, "negative": 0}))
