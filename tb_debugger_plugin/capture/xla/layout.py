"""How a compiled function's vector is laid out.

In come a function and what is to be known of its tensors, out comes a `Body`. Nothing is built here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tb_debugger_plugin.capture.functions.called import called_functions
from tb_debugger_plugin.capture.functions.definitions import source_name
from tb_debugger_plugin.capture.functions.function import Function
from tb_debugger_plugin.capture.sinks.protocol import CompiledTensor, WatchedTensor
from tb_debugger_plugin.capture.xla.bad_counts import KINDS, kind_to_count
from tb_debugger_plugin.capture.xla.bodies import (
    BRANCHES,
    CALLS,
    LOOPS,
    Bodies,
    Body,
    Call,
    Looks,
    Sized,
)
from tb_debugger_plugin.capture.xla.magnitudes import ByKind, Kind, Source, kind_of
from tb_debugger_plugin.capture.xla.vouching import Key


def body_of(
    function: Function,
    tensors: Mapping[Key, WatchedTensor],
    live: Collection[str],
    bodies: Bodies,
    *,
    suffix: str,
    whole: Mapping[Key, int],
    looks: Looks,
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
      looks: At which tensors, and how.
      stacks: See `Body`.
    """
    layout = _Layout(function, tensors, bodies, whole, looks)
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
        looks: Looks,
    ) -> None:
        self._function = function
        self._wanted = tensors
        self._bodies = bodies
        self._whole = whole
        self._looks = looks
        self._measured: dict[Kind, list[tuple[Key, Source]]] = {}
        self._counted: dict[Kind, list[tuple[Key, Source]]] = {}
        self._counts: dict[Key, tuple[int, ...]] = {}
        self._sized: list[tuple[int, Sized]] = []
        self._marker: int | None = None
        self._calls: list[tuple[Call, int]] = []
        self._elements: dict[Key, int] = {}
        self._doubtful: set[int] = set()
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
        if op.type not in CALLS and op.type not in LOOPS and op.type not in BRANCHES:
            return None
        called = [self._bodies(name) for name in called_functions(op)]
        bodies = tuple([body for body in called if body is not None])
        if len(bodies) < len(called):
            return None
        return Call(op, bodies[1:], bodies[0].function) if op.type in LOOPS else Call(op, bodies)

    def _add_call(self, call: Call) -> None:
        self._calls.append((call, self._count))
        self._group += call.is_loop
        for body in call.bodies:
            self._tensors += [self._seen_from_here(tensor, call.is_loop) for tensor in body.tensors]
            self._count += body.size
            self._group += 0 if call.is_loop else body.groups - 1
        self._group += call.is_loop

    def _seen_from_here(self, tensor: CompiledTensor, is_loop: bool) -> CompiledTensor:
        moved = _moved(tensor, lambda element: element + self._count)
        return replace(moved, group=self._group + (0 if is_loop else tensor.group))

    def _add_tensor(self, key: Key, tensor: Any, watched: WatchedTensor) -> None:
        whole = self._whole.get(key, -1)
        shape = tuple(tensor.shape) if tensor.shape.is_fully_defined() else None
        if whole >= 0:
            self._tensors.append(CompiledTensor(watched, (), self._group, whole, shape))
            return
        elements, counts = self._elements_for(key)
        if elements:
            size = self._size_of(key, tensor) if counts and shape is None else -1
            self._tensors.append(CompiledTensor(watched, elements, self._group, whole, shape, size, counts))

    def _elements_for(self, key: Key) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Those that tell of a tensor, empty when nothing can; and its counts."""
        if self._looks.told_by is None:
            if self._marker is None:
                self._marker = self._new()
            return (self._marker,), ()
        telling = self._looks.told_by.get(key, ())
        elements = tuple([self._element_of(each) for each in telling])
        counts = self._counts.get(telling[0], ()) if telling else ()
        if telling != (key,) or (self._looks.in_numbers and not counts):
            self._doubtful.update(elements)
        return elements, counts

    def _element_of(self, key: Key) -> int:
        """The element of a tensor that is measured."""
        if key not in self._elements:
            name, slot = key
            tensor = self._function.graph_of().get_operation_by_name(name).outputs[slot]
            is_counted = key in self._looks.counted
            kind = (kind_to_count if is_counted else kind_of)(tensor)
            assert kind is not None
            self._elements[key] = self._new()
            if is_counted:
                self._counts[key] = tuple([self._new() for _ in range(KINDS)])
            measured = self._counted if is_counted else self._measured
            measured.setdefault(kind, []).append((key, (source_name(name, slot), tensor.shape)))
        return self._elements[key]

    def _size_of(self, key: Key, tensor: Any) -> int:
        """The element of a tensor's size."""
        number = self._new()
        self._sized.append((number, (source_name(*key), tensor.dtype)))
        return number

    def _new(self) -> int:
        self._count += 1
        return self._count - 1

    def body(self, suffix: str, stacks: Mapping[str, Hashable]) -> Body:
        """All of it."""
        by_kind = dict(sorted(self._counted.items(), key=lambda item: item[0].is_wide))
        counted = [key for tensors in by_kind.values() for key, _ in tensors]
        order = [self._elements[key] for tensors in self._measured.values() for key, _ in tensors]
        order += [self._elements[key] for key in counted]
        order += [number for key in counted for number in self._counts[key]]
        order += [number for number, _ in self._sized]
        order += [] if self._marker is None else [self._marker]
        for call, begin in self._calls:
            order += range(begin, begin + call.size)
            self._doubtful.update(begin + element for element in _doubtful_in(call))
        place = {number: index for index, number in enumerate(order)}
        return Body(
            self._function,
            suffix,
            _sources(self._measured),
            _sources(by_kind),
            tuple([sized for _, sized in self._sized]),
            self._marker is not None,
            tuple([call for call, _ in self._calls]),
            tuple([_moved(tensor, place.__getitem__) for tensor in self._tensors]),
            len(order),
            tuple(sorted(place[element] for element in self._doubtful)),
            self._group + 1,
            stacks,
        )


def _sources(measured: Mapping[Kind, list[tuple[Key, Source]]]) -> ByKind:
    return {kind: [source for _, source in tensors] for kind, tensors in measured.items()}


def _moved(tensor: CompiledTensor, place: Callable[[int], int]) -> CompiledTensor:
    """A tensor whose elements stand at other places."""
    return replace(
        tensor,
        elements=tuple(map(place, tensor.elements)),
        size=-1 if tensor.size < 0 else place(tensor.size),
        counts=tuple(map(place, tensor.counts)),
    )


def _doubtful_in(call: Call) -> Iterator[int]:
    before = 0
    for body in call.bodies:
        yield from (before + element for element in body.doubtful)
        before += body.size
