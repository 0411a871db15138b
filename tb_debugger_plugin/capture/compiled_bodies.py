"""What a compiled function, and what it calls, hands over of its tensors.

In comes a function, out comes a `Body`: which of its tensors are measured, which of its calls hand over
theirs, and where in its vector of magnitudes each tensor stands. Nothing is built here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from tb_debugger_plugin.capture.called import called_functions
from tb_debugger_plugin.capture.definitions import source_name
from tb_debugger_plugin.capture.functions import Function
from tb_debugger_plugin.capture.magnitudes import Kind, kind_of
from tb_debugger_plugin.capture.sinks import CompiledTensor, WatchedTensor
from tb_debugger_plugin.capture.vouching import Key

_CALLS = ("PartitionedCall", "StatefulPartitionedCall")
_BRANCHES = ("If", "StatelessIf", "Case", "StatelessCase")
_LOOPS = ("While", "StatelessWhile")

#: Gives the body of the function of a name; None when the function is not watched.
Bodies: TypeAlias = "Callable[[str], Body | None]"


@dataclass(frozen=True)
class Call:
    """An op that runs other graphs, and hands over what is in them.

    Attributes:
      op: The op.
      bodies: What it calls: a function, the branches, or the body of a loop. Their elements stand one behind
        the other in the caller's vector.
      condition: Of a loop: what says whether it goes on.
    """

    op: Any
    bodies: tuple[Body, ...]
    condition: Function | None = None

    @property
    def is_loop(self) -> bool:
        """Whether it runs its body again and again."""
        return self.op.type in _LOOPS

    @property
    def is_branch(self) -> bool:
        """Whether it runs one of its bodies."""
        return self.op.type in _BRANCHES

    @property
    def size(self) -> int:
        """How many elements it hands over."""
        return sum(body.size for body in self.bodies)


@dataclass(frozen=True)
class Body:
    """A function as part of a compiled program.

    Attributes:
      function: The function.
      suffix: Stands behind the function's name in those of its copies.
      measured: The tensors to measure, by kind: as inputs of a node name them, with their rank or None.
        These come first in the function's vector, in this order.
      marked: Whether one element follows that only says that the function ran.
      calls: The ops that hand over more, in the order of the vector.
      tensors: What is recorded, in order.
      size: Length of the vector.
      vouching: Which elements of the vector tell of more than the tensor that is measured.
      groups: One more than the highest group of the tensors.
      stacks: Creation stack of each op: what is equal for two ops says that theirs is the same.
    """

    function: Function
    suffix: str
    measured: Mapping[Kind, list[tuple[str, int | None]]]
    marked: bool
    calls: tuple[Call, ...]
    tensors: tuple[CompiledTensor, ...]
    size: int
    vouching: tuple[int, ...]
    groups: int
    stacks: Mapping[str, Hashable]


def body_of(
    function: Function,
    tensors: Mapping[Key, WatchedTensor],
    live: Collection[str],
    bodies: Bodies,
    *,
    suffix: str,
    whole: Mapping[Key, int],
    told_by: Mapping[Key, tuple[Key, ...]] | None,
    stacks: Mapping[str, Hashable],
) -> Body:
    """Lay out what a function hands over.

    Args:
      function: The function.
      tensors: Those to record, by op name and slot.
      live: Names of the ops that run.
      bodies: Knows the functions that it calls.
      suffix: See `Body`.
      whole: The tensors that are handed over whole, and their places there.
      told_by: The tensors to measure for each of the function's; None when it matters only whether it ran.
      stacks: See `Body`.
    """
    layout = _Layout(function, tensors, bodies, whole, told_by)
    for op in function.graph_of().get_operations():
        if op.name in live:
            layout.add(op)
    return layout.body(suffix, stacks)


class _Layout:
    """Walks the ops of a function. An element is numbered as it is met; `body` knows its place."""

    def __init__(
        self,
        function: Function,
        tensors: Mapping[Key, WatchedTensor],
        bodies: Bodies,
        whole: Mapping[Key, int],
        told_by: Mapping[Key, tuple[Key, ...]] | None,
    ) -> None:
        self._function = function
        self._wanted = tensors
        self._bodies = bodies
        self._whole = whole
        self._told_by = told_by
        self._measured: dict[Kind, list[tuple[int, str, int | None]]] = {}
        self._marker: int | None = None
        self._calls: list[tuple[Call, int]] = []
        self._elements: dict[Key, int] = {}
        self._vouching: set[int] = set()
        self._tensors: list[CompiledTensor] = []
        self._count = 0
        self._group = 0

    def add(self, op: Any) -> None:
        """The next op."""
        call = self._call(op)
        if call is not None and call.size:
            self._add_call(call)
        for slot, tensor in enumerate(op.outputs):
            watched = self._wanted.get((op.name, slot))
            if watched is not None:
                self._add_tensor((op.name, slot), tensor, watched)

    def _call(self, op: Any) -> Call | None:
        """An op as a call; None when it is none, or runs something that is not watched."""
        if op.type not in _CALLS and op.type not in _LOOPS and op.type not in _BRANCHES:
            return None
        called = [self._bodies(name) for name in called_functions(op)]
        bodies = tuple([body for body in called if body is not None])
        if len(bodies) < len(called):
            return None
        return Call(op, bodies[1:], bodies[0].function) if op.type in _LOOPS else Call(op, bodies)

    def _add_call(self, call: Call) -> None:
        self._calls.append((call, self._count))
        self._group += call.is_loop
        for body in call.bodies:
            self._tensors += [self._seen_from_here(tensor, call.is_loop) for tensor in body.tensors]
            self._count += body.size
            self._group += 0 if call.is_loop else body.groups - 1
        self._group += call.is_loop

    def _seen_from_here(self, tensor: CompiledTensor, is_loop: bool) -> CompiledTensor:
        elements = tuple([element + self._count for element in tensor.elements])
        return replace(tensor, elements=elements, group=self._group + (0 if is_loop else tensor.group))

    def _add_tensor(self, key: Key, tensor: Any, watched: WatchedTensor) -> None:
        whole = self._whole.get(key, -1)
        elements = self._elements_for(key) if whole < 0 else ()
        if elements or whole >= 0:
            shape = tuple(tensor.shape) if tensor.shape.is_fully_defined() else None
            self._tensors.append(CompiledTensor(watched, elements, self._group, whole, shape))

    def _elements_for(self, key: Key) -> tuple[int, ...]:
        """Those that tell of a tensor; empty when nothing can."""
        if self._told_by is None:
            if self._marker is None:
                self._marker = self._new()
            return (self._marker,)
        telling = self._told_by.get(key, ())
        elements = tuple([self._element_of(each) for each in telling])
        if telling != (key,):
            self._vouching.update(elements)
        return elements

    def _element_of(self, key: Key) -> int:
        """The element of a tensor that is measured."""
        if key not in self._elements:
            name, slot = key
            tensor = self._function.graph_of().get_operation_by_name(name).outputs[slot]
            kind = kind_of(tensor)
            assert kind is not None
            self._elements[key] = self._new()
            source = (self._elements[key], source_name(name, slot), tensor.shape.rank)
            self._measured.setdefault(kind, []).append(source)
        return self._elements[key]

    def _new(self) -> int:
        self._count += 1
        return self._count - 1

    def body(self, suffix: str, stacks: Mapping[str, Hashable]) -> Body:
        """All of it."""
        measured = self._measured.values()
        order = [number for tensors in measured for number, _, _ in tensors]
        order += [] if self._marker is None else [self._marker]
        for call, begin in self._calls:
            order += range(begin, begin + call.size)
            self._vouching.update(begin + element for element in _vouching_in(call))
        place = {number: index for index, number in enumerate(order)}
        return Body(
            self._function,
            suffix,
            {kind: [(s, rank) for _, s, rank in tensors] for kind, tensors in self._measured.items()},
            self._marker is not None,
            tuple([call for call, _ in self._calls]),
            tuple([_placed(tensor, place) for tensor in self._tensors]),
            len(order),
            tuple(sorted(place[element] for element in self._vouching)),
            self._group + 1,
            stacks,
        )


def _placed(tensor: CompiledTensor, place: Mapping[int, int]) -> CompiledTensor:
    return replace(tensor, elements=tuple([place[element] for element in tensor.elements]))


def _vouching_in(call: Call) -> Iterator[int]:
    before = 0
    for body in call.bodies:
        yield from (before + element for element in body.vouching)
        before += body.size
