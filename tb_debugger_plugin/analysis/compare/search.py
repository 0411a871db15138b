"""Finds the first tensor that differs materially, among those that were measured.

Takes what was measured. Candidates come in the order of time of the first run. A tensor is a candidate if
it differs by more than the tolerance of its path, or if all its inputs are equal and it differs by more than
one op may. The first candidate whose difference its inputs do not explain is the answer. If too many are
explained to look at all, the first candidate is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_debugger_plugin.analysis.compare.measuring import MeasuredPair
from tb_debugger_plugin.analysis.compare.outline import EagerKey, Outline
from tb_debugger_plugin.analysis.compare.tolerance import OF_AN_OP, weight
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.events.tensorflow_names import is_gradient

# How much of a difference an op got with its inputs.
#
# Takes the differences of the inputs, each times what the op makes of it, and the difference of the output.

#: How often a relative difference of the input is in the output.
_POWERS: Final = {"Sqrt": 0.5, "Rsqrt": 0.5, "Square": 2.0, "SquaredDifference": 2.0, "Pow": 4.0}
#: Ops that add: a difference stays as it is while numbers cancel.
_ADDING: Final = frozenset("Sub AddV2 Add AddN BiasAdd Sum Mean SquaredDifference MatMul Conv2D".split())
#: Ops whose relative difference is the absolute one of the input.
_EXPONENTIAL: Final = frozenset(
    "Exp Expm1 Softmax SoftmaxCrossEntropyWithLogits Sigmoid Tanh Sin Cos".split()
)


@dataclass(frozen=True)
class InputDifference:
    """The difference of an input.

    Attributes:
      relative: As part of its size.
      scale: Its size.
      is_within: Whether it is within the tolerance.
    """

    relative: float
    scale: float
    is_within: bool


def handed_on(op_type: str, inputs: Sequence[InputDifference], scale: float) -> float:
    """Return the relative difference of an output that the differences of its inputs explain.

    Args:
      op_type: The type of the op.
      inputs: Its inputs.
      scale: The size of the output.
    """
    return sum(one.relative * _gain(op_type, one, scale) for one in inputs)


def _gain(op_type: str, one: InputDifference, scale: float) -> float:
    gain = _POWERS.get(op_type, 1.0)
    if op_type in _ADDING and scale > 0:
        gain *= max(1.0, one.scale / scale)
    if op_type in _EXPONENTIAL:
        gain *= max(1.0, one.scale)
    return gain


def inherited_share(explained: float, difference: float) -> float:
    """Return the part of a difference that came with the inputs, from 0 to 1."""
    if difference <= 0:
        return 0.0
    if difference == float("inf"):
        return 1.0 if explained == float("inf") else 0.0
    return min(1.0, explained / difference)


#: Candidates that are looked at; after so many, differences are everywhere.
_MOST: Final = 400
#: What comes out of an op may be this many times what its inputs explain: the bound is a rough one.
_SLACK: Final = 4.0


@dataclass(frozen=True)
class Candidate:
    """A tensor that differs.

    Attributes:
      measured: Its comparison.
      nth: The occurrence.
      inherited: The part of the difference that its inputs explain; None when none is on record.
      inputs: The inputs that are on record, with their occurrence.
      is_made_here: Whether the inputs do not explain it.
    """

    measured: MeasuredPair
    nth: int
    inherited: float | None
    inputs: list[tuple[MeasuredPair, int]]
    is_made_here: bool


class DifferenceSearch:
    """Looks for the first difference; lives as long as a comparison.

    Args:
      first: The first run.
      made: Its outline.
      measured: What was compared.
    """

    def __init__(self, first: Snapshot, made: Outline, measured: Sequence[MeasuredPair]) -> None:
        self._snapshot = first
        self._outline = made
        self._measured = measured
        self._at: dict[tuple[int, int], MeasuredPair] = {
            (one.place.first.node, one.place.slot): one for one in reversed(measured)
        }

    def found(self) -> Candidate | None:
        """Return the first material difference; None when inputs explain all: only rounding grew."""
        first: Candidate | None = None
        for number, (one, nth) in enumerate(self._candidates()):
            candidate = self.candidate(one, nth)
            first = first or candidate
            if candidate.is_made_here:
                return candidate
            if number >= _MOST:
                return first
        return None

    def _candidates(self) -> Iterator[tuple[MeasuredPair, int]]:
        entries = []
        for one in self._measured:
            time, nth = one.time, one.material
            if one.local >= 0 and one.local_time < time and self._has_equal_inputs(one):
                time, nth = one.local_time, one.local
            if nth >= 0:
                is_eager = bool(one.place.first.keys)
                entries.append(
                    (_is_of_a_shape(one), time, is_eager, int(one.first[nth]), one.place.number, one, nth)
                )
        entries.sort(key=lambda entry: entry[:5])
        for *_, one, nth in entries:
            yield one, nth

    def _has_equal_inputs(self, one: MeasuredPair) -> bool:
        """Whether all inputs are on record and were equal to the last bit until then."""
        node = one.place.pair.first
        inputs = [source for source in node.inputs if self._outline.nodes[source[0]].type != "Const"]
        known = [self._at.get(source) for source in inputs]
        return bool(known) and all(
            other is not None and other.is_known and other.any_time > one.local_time for other in known
        )

    def candidate(self, one: MeasuredPair, nth: int) -> Candidate:
        """Judge an occurrence of a tensor by its inputs."""
        pair = one.place.pair
        inputs = self._inputs(one, nth)
        difference = float(one.relative[nth])
        explained = handed_on(pair.first.type, [_difference(*each) for each in inputs], one.scale)
        sizes = max((each.size for each, _ in inputs), default=0)
        rounding = OF_AN_OP * one.unit * max(1.0, weight(pair.first.type, sizes, one.size))
        made_here = pair.is_changed or not inputs or difference > _SLACK * explained + rounding
        share = inherited_share(explained, difference) if inputs else None
        return Candidate(one, nth, share, inputs, made_here)

    def _inputs(self, one: MeasuredPair, nth: int) -> list[tuple[MeasuredPair, int]]:
        if one.place.first.keys:
            return self._eager_inputs(int(one.first[nth]))
        known = (self._at.get(source) for source in one.place.pair.first.inputs)
        found = [(each, min(nth, len(each.first) - 1)) for each in known if each is not None]
        return [(each, at) for each, at in found if not np.isnan(each.relative[at])]

    def _eager_inputs(self, index: int) -> list[tuple[MeasuredPair, int]]:
        rows = self._snapshot.rows(
            "SELECT o.slot, e.host, e.thread, e.op_type, e.stack, max(o.idx) FROM execution_inputs i"
            " JOIN execution_outputs o ON o.tensor_id = i.tensor_id AND o.idx < i.idx"
            " JOIN executions e ON e.idx = o.idx AND e.host = (SELECT host FROM executions WHERE idx = ?)"
            " WHERE i.idx = ? GROUP BY ALL",
            [index, index],
        )
        found = []
        for slot, *key, position in rows:
            each = self._at.get((self._outline.of_eager[EagerKey(*key)], slot))
            if each is not None:
                nth = int(np.searchsorted(each.first, position))
                if nth < len(each.first) and each.first[nth] == position:
                    found.append((each, nth))
        return found


def _is_of_a_shape(one: MeasuredPair) -> bool:
    """Whether it is a constant of a gradient, such as a batch size: it follows from what is forward."""
    node = one.place.pair.first
    return node.type == "Const" and is_gradient(node.name)


def _difference(one: MeasuredPair, nth: int) -> InputDifference:
    relative = float(one.relative[nth])
    return InputDifference(relative, one.scale, relative <= float(one.tolerance[nth]))
