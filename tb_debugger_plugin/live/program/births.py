"""Tells where a condition begins to hold from where it is carried on: for the first of each origin only.

A value is carried if an input of its op fulfils the condition as well; or if its op only passes on what came
from elsewhere, such as an argument or a variable, and the condition has held before.

Invariant: tensors come in the order in which they are computed, each before those that are computed from it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final

from tb_debugger_plugin.capture.gate import TensorOfGraph

#: Ops whose outputs come from other graphs or from earlier calls.
_PASSES_ON: Final = frozenset(
    (
        *("Placeholder", "ReadVariableOp", "VariableV2", "ResourceGather", "PartitionedCall"),
        *("StatefulPartitionedCall", "While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"),
        *("Enter", "Exit", "Merge", "Switch", "NextIteration", "TensorListGetItem", "TensorListStack"),
    )
)

#: Calls that are remembered: as many as threads may run at the same time.
_MOST_CALLS: Final = 64


class Births:
    """Where the condition of one breakpoint began to hold. Not thread-safe: the controller holds its lock."""

    def __init__(self) -> None:
        #: Ids of tensors, by call: of the last ones.
        self._holding: OrderedDict[int, set[int]] = OrderedDict()
        self._has_held = False

    def is_birth(self, tensor: TensorOfGraph, call: int, is_known: Callable[[int], bool]) -> bool:
        """Take in a tensor of a graph for which the condition holds; return whether it begins there.

        Args:
          tensor: The tensor.
          call: The number of its call.
          is_known: Whether a tensor passes the gate, by its id.
        """
        holding = self._holding.setdefault(call, set())
        if len(self._holding) > _MOST_CALLS:
            self._holding.popitem(last=False)
        is_carried = self._is_carried(tensor, holding, is_known)
        holding.add(tensor.tensor_id)
        self._has_held = True
        return not is_carried

    def _is_carried(self, tensor: TensorOfGraph, holding: set[int], is_known: Callable[[int], bool]) -> bool:
        if tensor.op_type in _PASSES_ON:
            return self._has_held
        if not all(map(is_known, tensor.inputs)):
            return bool(holding)
        return any(one in holding for one in tensor.inputs)

    def is_eager_birth(self, op_type: str, inputs: Iterable[bool]) -> bool:
        """Take in an output of an eager op for which the condition holds; return whether it begins there.

        Args:
          op_type: The type of the op.
          inputs: For each input, whether the condition holds for it.
        """
        is_carried = self._has_held if op_type in _PASSES_ON else any(inputs)
        self._has_held = True
        return not is_carried
