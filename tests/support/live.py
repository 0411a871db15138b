"""An oracle that finds the tensors that a program's functions compute, independently of the recorders."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tensorflow.python.eager.polymorphic_function import atomic_function

from tb_debugger_plugin.capture.tf_types import AtomicFunction, FuncGraph


def _sets() -> defaultdict[str, set[str]]:
    return defaultdict(set)


@dataclass(frozen=True)
class Tensors:
    """Names of tensors by graph. Graphs whose names differ only by TensorFlow's numbers count as one.

    Attributes:
      needed: The tensors that a result or a state of some function needs.
      idle: The tensors of some function that it does not need.
    """

    needed: defaultdict[str, set[str]] = field(default_factory=_sets)
    idle: defaultdict[str, set[str]] = field(default_factory=_sets)


@contextmanager
def tensors_of_functions() -> Iterator[Tensors]:
    """Collects the tensors of the functions that are made during the block."""
    make = atomic_function.from_func_graph
    tensors = Tensors()

    def noted(name: bytes | str, graph: FuncGraph, *more: object, **options: object) -> AtomicFunction:
        needed = _needed(graph)
        tensors.needed[without_numbers(graph.name)] |= needed
        tensors.idle[without_numbers(graph.name)] |= {
            tensor.name for op in graph.get_operations() for tensor in op.outputs
        } - needed
        return make(name, graph, *more, **options)

    atomic_function.from_func_graph = noted
    try:
        yield tensors
    finally:
        atomic_function.from_func_graph = make


def without_numbers(graph_name: str) -> str:
    """Returns the part of a graph's name that is equal in every run of a program."""
    return re.sub(r"_\d+(?=_|$)", "", graph_name)


def _needed(graph: FuncGraph) -> set[str]:
    waiting = [*graph.outputs, *graph.control_outputs]
    seen = {each.name for each in waiting}
    needed = set()
    while waiting:
        each = waiting.pop()
        # A control input is an op itself; all of its outputs count as needed.
        op = getattr(each, "op", each)
        if op is not each and op.type == "IdentityN":  # Each of its outputs is one of its inputs.
            needed.add(each.name)
            taken = [op.inputs[each.value_index]]
        else:
            needed |= {tensor.name for tensor in op.outputs}
            taken = list(op.inputs)
        new = [one for one in (*taken, *op.control_inputs) if one.name not in seen]
        seen |= {one.name for one in new}
        waiting += new
    return needed
