"""Which tensors need no look because others tell of them.

In come the ops of a graph, out comes for each tensor which ones tell of it. `equals` are exact: a reshaped
tensor has the elements of its input. `vouchers` tell only of good ones: a sum that is finite has finite
terms, because infinity and NaN stay what they are or become NaN; of the terms of a bad sum nothing is known.
And what only chooses among finite elements, or bounds them, is finite. Rule: who may well have an infinity of
the program's own, such as a mask, vouches for nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from tb_debugger_plugin.capture.xla.arithmetic import (
    ASSIGNMENTS,
    JOINED,
    MOVES,
    PASSES_ON,
    RULES,
    SAME_ELEMENTS,
    SAME_MAGNITUDE,
    is_finite_constant,
)

#: A tensor of a graph: name of its op, and slot.
Key: TypeAlias = "tuple[str, int]"


def equals(
    ops: Iterable[Any], can_look: Callable[[Any], bool], *, in_numbers: bool
) -> dict[Key, tuple[Key, ...]]:
    """For each tensor, those that together have its magnitude.

    Args:
      ops: The ops of a graph that run, each behind those whose outputs it takes.
      can_look: Whether the health of a tensor can be told; the others are left out.
      in_numbers: Whether they shall have as many -inf, +inf and NaN: then there is one for each.
    """
    found: dict[Key, tuple[Key, ...]] = {}
    same_as_first, joined = (SAME_ELEMENTS, {}) if in_numbers else (SAME_MAGNITUDE, JOINED)
    for op in ops:
        if op.type in same_as_first:
            inputs = op.inputs[:1]
        else:
            inputs = op.inputs[joined[op.type]] if op.type in joined else ()
        same = dict.fromkeys(key for tensor in inputs for key in found.get(_key(tensor), ()))
        for tensor in op.outputs:
            if can_look(tensor):
                found[_key(tensor)] = tuple(same) or (_key(tensor),)
    return found


def vouchers(ops: Sequence[Any], can_look: Callable[[Any], bool]) -> dict[Key, tuple[Key, ...]]:
    """For each tensor, those that together are finite only if it is; nobody else vouches for them.

    Args:
      ops: The ops of a graph that run, each behind those whose outputs it takes.
      can_look: Whether the health of a tensor can be told; the others are left out.
    """
    search = _Search(ops, can_look)
    for op in reversed(ops):
        search.look_at_users(op)
    for op in ops:
        search.look_at_source(op)
    return search.found


class _Search:
    """Knows, of the ops behind the one that is looked at, who vouches for their outputs."""

    def __init__(self, ops: Sequence[Any], can_look: Callable[[Any], bool]) -> None:
        self.found: dict[Key, tuple[Key, ...]] = {}
        self._can_look = can_look
        self._running = {op.name for op in ops}
        self._reads = _reads(ops)
        self._infinite = infinite(ops)

    def look_at_users(self, op: Any) -> None:
        """Let the users of an op's outputs vouch for them, or what they come from, or they themselves."""
        nobody = () if self._passes_on(op) else None
        for tensor in op.outputs:
            if self._can_look(tensor):
                users = [user for user in tensor.consumers() if user.name in self._running]
                offers = [offer for user in users for offer in self._offers(user, tensor)]
                found = min(offers, key=len, default=nobody)
                self.found[_key(tensor)] = (_key(tensor),) if found is None else found

    def look_at_source(self, op: Any) -> None:
        """Let what is only passed on have the vouchers of what it comes from."""
        for tensor in op.outputs:
            if self.found.get(_key(tensor)) == ():
                (source,) = _computed(op)
                self.found[_key(tensor)] = self.found[_key(source)]

    def _passes_on(self, op: Any) -> bool:
        if op.type not in PASSES_ON or any(_key(tensor) in self._infinite for tensor in op.inputs):
            return False
        sources = _computed(op)  # constants that are not infinite are finite
        return len(sources) == 1 and self._can_look(sources[0])

    def _offers(self, user: Any, tensor: Any) -> Iterator[tuple[Key, ...]]:
        """The vouchers that the outputs of an op, or reads of the variable it changes, have for an input."""
        if not tensor.dtype.is_floating:
            return  # complex numbers have an arithmetic of their own
        if user.type in ASSIGNMENTS:
            reads = self._reads.get(user.name, ())
            yield from (self.found[_key(read)] for read in reads if self.found.get(_key(read)))
            return
        vouched = RULES[user.type](user) if user.type in RULES else {}
        for index, taken in enumerate(user.inputs):
            if taken is tensor and index in vouched:
                outputs = [user.outputs[slot] for slot in vouched[index]]
                if all(map(self._may_vouch, outputs)) and _is_met(tensor, outputs):
                    yield tuple(
                        dict.fromkeys(each for output in outputs for each in self.found[_key(output)])
                    )

    def _may_vouch(self, tensor: Any) -> bool:
        return bool(self.found.get(_key(tensor))) and _key(tensor) not in self._infinite


def infinite(ops: Iterable[Any]) -> set[Key]:
    """The tensors that have an infinity or NaN because a constant has one."""
    found: set[Key] = set()
    for op in ops:
        if op.type == "Const":
            is_infinite = op.outputs[0].dtype.is_floating and not is_finite_constant(op)
        else:
            keeps = op.type in RULES or op.type in MOVES
            is_infinite = keeps and any(_key(tensor) in found for tensor in op.inputs)
        if is_infinite:
            found.update(_key(tensor) for tensor in op.outputs)
    return found


def _computed(op: Any) -> list[Any]:
    """The floating inputs of an op that are no constants."""
    return [each for each in op.inputs if each.dtype.is_floating and each.op.type != "Const"]


def _key(tensor: Any) -> Key:
    return tensor.op.name, tensor.value_index


def _reads(ops: Iterable[Any]) -> dict[str, list[Any]]:
    """The tensors that hold what an op has left in a variable, by its name."""
    reads: dict[str, list[Any]] = {}
    for op in ops:
        if op.type == "ReadVariableOp":
            (handle,) = op.inputs
            before = [each for each in op.control_inputs if any(taken is handle for taken in each.inputs)]
            if len(before) == 1 and before[0].type in ASSIGNMENTS:
                reads.setdefault(before[0].name, []).append(op.outputs[0])
    return reads


def _is_met(tensor: Any, outputs: Iterable[Any]) -> bool:
    """Whether outputs have elements when the input has: what is empty vouches for nothing.

    What is unknown of an output's shape has to come from this input.
    """
    unknown = _unknown_dimensions(tensor)
    return all(
        output.shape.rank is not None
        and 0 not in output.shape.as_list()
        and _unknown_dimensions(output) <= unknown
        for output in outputs
    )


def _unknown_dimensions(tensor: Any) -> float:
    shape = tensor.shape
    return float("inf") if shape.rank is None else shape.as_list().count(None)
