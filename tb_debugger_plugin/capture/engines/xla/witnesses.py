"""Chooses which tensors of an XLA function are measured, and which tensors they stand for.

Measuring each tensor is expensive. A *witness* is a tensor that is non-finite whenever the tensors it stands
for are: a sum is finite only if its terms are, because arithmetic keeps infinity and NaN or turns one into
the other. A bad witness does not say which of its tensors is bad. `equal_tensors` is exact: a reshaped tensor
has the elements of its input.

Invariant: a tensor with a non-finite constant among its ancestors (an attention mask) is never a witness.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from tb_debugger_plugin.capture.engines.xla.nonfinite import (
    ASSIGNMENTS,
    CONCATENATES,
    MOVES_ELEMENTS,
    PRESERVES_FINITE,
    PROPAGATES,
    REARRANGES,
    SAME_MAGNITUDE,
    is_finite_constant,
)
from tb_debugger_plugin.capture.tf_types import TfOp, TfTensor

#: A tensor of a graph: name of its op, and slot.
Key: TypeAlias = "tuple[str, int]"

_NOTHING: Final[Mapping[str, Key]] = MappingProxyType({})


def equal_tensors(
    ops: Iterable[TfOp], can_measure: Callable[[TfTensor], bool], *, exact_counts: bool
) -> dict[Key, tuple[Key, ...]]:
    """For each tensor, the tensors that together have its magnitude.

    Args:
      ops: The ops of a graph that run, in topological order.
      can_measure: Whether a tensor can be measured; the others are left out.
      exact_counts: Whether the counts of -inf, +inf and NaN must be equal as well: then there is one tensor
        each.
    """
    equal: dict[Key, tuple[Key, ...]] = {}
    same_as_first, concatenates = (REARRANGES, {}) if exact_counts else (SAME_MAGNITUDE, CONCATENATES)
    for op in ops:
        if op.type in same_as_first:
            inputs = op.inputs[:1]
        else:
            inputs = op.inputs[concatenates[op.type]] if op.type in concatenates else ()
        same = dict.fromkeys(key for tensor in inputs for key in equal.get(_key(tensor), ()))
        for tensor in op.outputs:
            if can_measure(tensor):
                equal[_key(tensor)] = tuple(same) or (_key(tensor),)
    return equal


def choose_witnesses(
    ops: Sequence[TfOp],
    can_measure: Callable[[TfTensor], bool],
    assigned: Mapping[str, Key] = _NOTHING,
    *,
    needs_shapes: bool = False,
) -> dict[Key, tuple[Key, ...]]:
    """For each tensor, the witnesses that together are finite only if it is.

    Args:
      ops: The ops of a graph that run, in topological order.
      can_measure: Whether a tensor can be measured; the others are left out.
      assigned: By the op that assigns to a variable, a tensor outside of the graph that is measured and has
        the variable's value from then on.
      needs_shapes: Whether a tensor of an unknown shape is no witness, because it may be empty.
    """
    search = _Search(ops, can_measure, assigned, needs_shapes=needs_shapes)
    for op in reversed(ops):
        search.choose_from_users(op)
    for op in ops:
        search.choose_from_source(op)
    return search.measured()


class _Search:
    """Finds witnesses. Ops are visited from the last to the first, so the witnesses of users are known."""

    def __init__(
        self,
        ops: Sequence[TfOp],
        can_measure: Callable[[TfTensor], bool],
        assigned: Mapping[str, Key],
        *,
        needs_shapes: bool,
    ) -> None:
        self._needs_shapes = needs_shapes
        self._can_measure = can_measure
        self._measured = set(assigned.values())
        # A tensor that cannot be measured has the witnesses of its users, if they have any.
        self._witnesses: dict[Key, tuple[Key, ...]] = {}
        self._running = {op.name for op in ops}
        self._reads = _reads(ops)
        self._assigned = assigned
        self._infinite = infinite(ops)

    def measured(self) -> dict[Key, tuple[Key, ...]]:
        """Return the witnesses of the tensors that can be measured."""
        return {key: chosen for key, chosen in self._witnesses.items() if key in self._measured}

    def choose_from_users(self, op: TfOp) -> None:
        """Choose witnesses for the outputs of an op: from their users, from their inputs, or themselves."""
        default = () if self._preserves_finite(op) else None
        for tensor in op.outputs:
            users = [user for user in tensor.consumers() if user.name in self._running]
            offers = [offer for user in users for offer in self._offers(user, tensor)]
            if self._can_measure(tensor):
                self._measured.add(_key(tensor))
                chosen = min(offers, key=len, default=default)
                self._witnesses[_key(tensor)] = (_key(tensor),) if chosen is None else chosen
            elif offers:
                self._witnesses[_key(tensor)] = min(offers, key=len)
        if op.name in self._assigned:
            key = self._assigned[op.name]
            self._witnesses[key] = min(self._of_reads(op), key=len, default=(key,))

    def choose_from_source(self, op: TfOp) -> None:
        """Give an output that preserves finiteness the witnesses of its input."""
        for tensor in op.outputs:
            if self._witnesses.get(_key(tensor)) == ():
                (source,) = _computed(op)
                self._witnesses[_key(tensor)] = self._witnesses[_key(source)]

    def _preserves_finite(self, op: TfOp) -> bool:
        if op.type not in PRESERVES_FINITE or any(_key(tensor) in self._infinite for tensor in op.inputs):
            return False
        sources = _computed(op)  # constants that are not infinite are finite
        return len(sources) == 1 and self._can_measure(sources[0])

    def _offers(self, user: TfOp, tensor: TfTensor) -> Iterator[tuple[Key, ...]]:
        """Yield the witnesses among an op's outputs, or reads of its assigned variable, for an input."""
        if not tensor.dtype.is_floating:
            return  # complex arithmetic has other rules
        if user.type in ASSIGNMENTS:
            yield from self._of_reads(user)
            if user.name in self._assigned:
                yield self._witnesses[self._assigned[user.name]]
            return
        slots_of = PROPAGATES[user.type](user) if user.type in PROPAGATES else {}
        for index, taken in enumerate(user.inputs):
            if taken is tensor and index in slots_of:
                outputs = [user.outputs[slot] for slot in slots_of[index]]
                if all(map(self._may_be_witness, outputs)) and _never_empty(tensor, outputs):
                    keys = (key for output in outputs for key in self._witnesses[_key(output)])
                    yield tuple(dict.fromkeys(keys))

    def _of_reads(self, assignment: TfOp) -> list[tuple[Key, ...]]:
        """Return the witnesses of what reads a variable after an assignment."""
        reads = self._reads.get(assignment.name, ())
        return [self._witnesses[read] for read in reads if self._witnesses.get(read)]

    def _may_be_witness(self, tensor: TfTensor) -> bool:
        is_known = not self._needs_shapes or tensor.shape.is_fully_defined()
        return is_known and bool(self._witnesses.get(_key(tensor))) and _key(tensor) not in self._infinite


def infinite(ops: Iterable[TfOp]) -> set[Key]:
    """Return the tensors that have an infinity or NaN because a constant has one."""
    bad: set[Key] = set()
    for op in ops:
        if op.type == "Const":
            is_infinite = op.outputs[0].dtype.is_floating and not is_finite_constant(op)
        else:
            keeps = op.type in PROPAGATES or op.type in MOVES_ELEMENTS
            is_infinite = keeps and any(_key(tensor) in bad for tensor in op.inputs)
        if is_infinite:
            bad.update(_key(tensor) for tensor in op.outputs)
    return bad


def _computed(op: TfOp) -> list[TfTensor]:
    """Return the floating inputs of an op that are not constants."""
    return [tensor for tensor in op.inputs if tensor.dtype.is_floating and tensor.op.type != "Const"]


def _key(tensor: TfTensor) -> Key:
    return tensor.op.name, tensor.value_index


def _reads(ops: Iterable[TfOp]) -> dict[str, list[Key]]:
    """Return the tensors that read a variable after an assignment, by the name of the assignment."""
    reads: dict[str, list[Key]] = {}
    for op in ops:
        if op.type == "ReadVariableOp":
            (handle,) = op.inputs
            before = [other for other in op.control_inputs if any(taken is handle for taken in other.inputs)]
            if len(before) == 1 and before[0].type in ASSIGNMENTS:
                reads.setdefault(before[0].name, []).append(_key(op.outputs[0]))
    return reads


def _never_empty(tensor: TfTensor, outputs: Iterable[TfTensor]) -> bool:
    """Whether outputs have elements when an input has: an empty tensor is no witness.

    Unknown dimensions of an output must come from this input.
    """
    unknown = _unknown_dimensions(tensor)
    return all(
        output.shape.rank is not None
        and 0 not in output.shape.as_list()
        and _unknown_dimensions(output) <= unknown
        for output in outputs
    )


def _unknown_dimensions(tensor: TfTensor) -> float:
    shape = tensor.shape
    return float("inf") if shape.rank is None else shape.as_list().count(None)
