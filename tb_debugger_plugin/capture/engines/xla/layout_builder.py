"""Lays out the measurement vector of a compiled function.

Takes a function and a `ProbePlan` and returns a `ProbeLayout`. It builds no nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace

from tb_debugger_plugin.capture.engines.xla.bad_counts import KINDS, kind_to_count
from tb_debugger_plugin.capture.engines.xla.magnitudes import ByKind, Kind, Source, kind_of
from tb_debugger_plugin.capture.engines.xla.probe_layout import (
    BRANCHES,
    CALLS,
    LOOPS,
    Layouts,
    ProbedCall,
    ProbeLayout,
    ProbePlan,
    Sized,
)
from tb_debugger_plugin.capture.engines.xla.witnesses import Key
from tb_debugger_plugin.capture.graph.called import called_functions
from tb_debugger_plugin.capture.graph.definitions import source_name
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.sinks.protocol import MeasuredTensor, WatchedTensor
from tb_debugger_plugin.capture.tf_types import TfOp, TfTensor


def layout_of(
    function: Function,
    tensors: Mapping[Key, WatchedTensor],
    live: Collection[str],
    layouts: Layouts,
    *,
    suffix: str,
    direct: Mapping[Key, int],
    plan: ProbePlan,
    stacks: Mapping[str, Hashable],
) -> ProbeLayout:
    """Lay out the measurements of a function.

    Args:
      function: The function.
      tensors: The tensors to record, by op name and slot.
      live: Names of the ops that run.
      layouts: Returns the layouts of the functions that it calls.
      suffix: See `ProbeLayout`.
      direct: Tensors that the wrapper passes to the recorder, with their index among its inputs.
      plan: Which tensors are measured, and how.
      stacks: See `ProbeLayout`.
    """
    layout = _LayoutBuilder(function, tensors, layouts, direct, plan)
    for op in function.graph.get_operations():
        if op.name in live:
            layout.add(op)
    return layout.layout(suffix, stacks)


class _LayoutBuilder:
    """Visits the ops of a function. Elements are numbered in the order of the visit; `layout` sorts them."""

    def __init__(
        self,
        function: Function,
        tensors: Mapping[Key, WatchedTensor],
        layouts: Layouts,
        direct: Mapping[Key, int],
        plan: ProbePlan,
    ) -> None:
        self._function = function
        self._to_record = tensors
        self._layouts = layouts
        self._direct = direct
        self._plan = plan
        self._measured: dict[Kind, list[tuple[Key, Source]]] = {}
        self._counted: dict[Kind, list[tuple[Key, Source]]] = {}
        self._counts: dict[Key, tuple[int, ...]] = {}
        self._sized: list[tuple[int, Sized]] = []
        self._marker: int | None = None
        self._calls: list[tuple[ProbedCall, int]] = []
        self._elements: dict[Key, int] = {}
        self._inconclusive: set[int] = set()
        self._tensors: list[MeasuredTensor] = []
        self._count = 0
        self._group = 0

    def add(self, op: TfOp) -> None:
        """Visit the next op."""
        call = self._call(op)
        if call is not None and call.size:
            self._add_call(call)
        for slot, tensor in enumerate(op.outputs):
            watched = self._to_record.get((op.name, slot))
            if watched is not None:
                self._add_tensor((op.name, slot), tensor, watched)

    def _call(self, op: TfOp) -> ProbedCall | None:
        """Return an op as a call; None when it is no call, or runs a function that is not watched."""
        if op.type not in CALLS and op.type not in LOOPS and op.type not in BRANCHES:
            return None
        called = [self._layouts(name) for name in called_functions(op)]
        layouts = tuple([layout for layout in called if layout is not None])
        if len(layouts) < len(called):
            return None
        return (
            ProbedCall(op, layouts[1:], layouts[0].function) if op.type in LOOPS else ProbedCall(op, layouts)
        )

    def _add_call(self, call: ProbedCall) -> None:
        self._calls.append((call, self._count))
        self._inconclusive.update(self._count + element for element in _inconclusive_in(call))
        self._group += call.is_loop
        for layout in call.layouts:
            self._tensors += [self._in_caller(tensor, call.is_loop) for tensor in layout.tensors]
            self._count += layout.size
            self._group += 0 if call.is_loop else layout.groups - 1
        self._group += call.is_loop

    def _in_caller(self, tensor: MeasuredTensor, is_loop: bool) -> MeasuredTensor:
        """Return a tensor of a function that is called, as a tensor of the caller."""
        renumbered = _renumbered(tensor, lambda element: element + self._count)
        return replace(renumbered, group=self._group + (0 if is_loop else tensor.group))

    def _add_tensor(self, key: Key, tensor: TfTensor, watched: WatchedTensor) -> None:
        direct = self._direct.get(key, -1)
        shape = tuple(tensor.shape) if tensor.shape.is_fully_defined() else None
        if direct >= 0:
            self._tensors.append(MeasuredTensor(watched, (), self._group, direct, shape))
            return
        elements, counts = self._elements_for(key)
        if elements:
            size_at = self._size_of(key, tensor) if counts and shape is None else -1
            self._tensors.append(
                MeasuredTensor(watched, elements, self._group, direct, shape, size_at, counts)
            )

    def _elements_for(self, key: Key) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return the elements of a tensor's witnesses (empty when it has none), and of its counts."""
        if self._plan.witnesses is None:
            if self._marker is None:
                self._marker = self._new()
            return (self._marker,), ()
        witnesses = self._plan.witnesses.get(key, ())
        elements = tuple([self._element_of(witness) for witness in witnesses])
        counts = self._counts.get(witnesses[0], ()) if witnesses else ()
        if witnesses != (key,) or (self._plan.exact_counts and not counts):
            self._inconclusive.update(elements)
        return elements, counts

    def _element_of(self, key: Key) -> int:
        """Return the element of a tensor that is measured."""
        if key not in self._elements:
            name, slot = key
            tensor = self._function.graph.get_operation_by_name(name).outputs[slot]
            is_counted = key in self._plan.counted
            kind = (kind_to_count if is_counted else kind_of)(tensor)
            assert kind is not None
            self._elements[key] = self._new()
            if is_counted:
                self._counts[key] = tuple([self._new() for _ in range(KINDS)])
            measured = self._counted if is_counted else self._measured
            measured.setdefault(kind, []).append((key, (source_name(name, slot), tensor.shape)))
        return self._elements[key]

    def _size_of(self, key: Key, tensor: TfTensor) -> int:
        """Return the element of a tensor's size."""
        number = self._new()
        self._sized.append((number, (source_name(*key), tensor.dtype)))
        return number

    def _new(self) -> int:
        self._count += 1
        return self._count - 1

    def layout(self, suffix: str, stacks: Mapping[str, Hashable]) -> ProbeLayout:
        """Return the finished layout."""
        counted = dict(sorted(self._counted.items(), key=lambda item: item[0].is_wide))
        order = self._order(_keys(counted))
        index_of = {number: index for index, number in enumerate(order)}
        return ProbeLayout(
            function=self._function,
            suffix=suffix,
            measured=_sources(self._measured),
            counted=_sources(counted),
            sized=tuple([sized for _, sized in self._sized]),
            marked=self._marker is not None,
            calls=tuple([call for call, _ in self._calls]),
            tensors=tuple([_renumbered(tensor, index_of.__getitem__) for tensor in self._tensors]),
            size=len(order),
            inconclusive=tuple(sorted(index_of[element] for element in self._inconclusive)),
            groups=self._group + 1,
            stacks=stacks,
        )

    def _order(self, counted: Sequence[Key]) -> list[int]:
        """Return the numbers of all elements in the order of the vector; see `ProbeLayout`."""
        return [
            *(self._elements[key] for key in _keys(self._measured)),
            *(self._elements[key] for key in counted),
            *(number for key in counted for number in self._counts[key]),
            *(number for number, _ in self._sized),
            *(() if self._marker is None else (self._marker,)),
            *(number for call, begin in self._calls for number in range(begin, begin + call.size)),
        ]


def _keys(measured: Mapping[Kind, list[tuple[Key, Source]]]) -> list[Key]:
    return [key for tensors in measured.values() for key, _ in tensors]


def _sources(measured: Mapping[Kind, list[tuple[Key, Source]]]) -> ByKind:
    return {kind: [source for _, source in tensors] for kind, tensors in measured.items()}


def _renumbered(tensor: MeasuredTensor, index_of: Callable[[int], int]) -> MeasuredTensor:
    """Return a tensor whose elements have new indices."""
    return replace(
        tensor,
        elements=tuple(map(index_of, tensor.elements)),
        size_at=-1 if tensor.size_at < 0 else index_of(tensor.size_at),
        counts=tuple(map(index_of, tensor.counts)),
    )


def _inconclusive_in(call: ProbedCall) -> Iterator[int]:
    begin = 0
    for layout in call.layouts:
        yield from (begin + element for element in layout.inconclusive)
        begin += layout.size
