"""The edges of all graphs of a run in memory, so that a walk along them needs no queries.

Takes the tables and returns, by op, the tensors that it takes, the ops that take its tensors, and those that
wait for each other. Sixty thousand ops are a few megabytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.graph.graph_calls import graph_calls
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS

_Numbers = npt.NDArray[np.int64]


class Neighbour(NamedTuple):
    """The other end of an edge.

    Attributes:
      op: The op.
      slot: The output of the op that the edge begins at; 0 for the other direction.
      is_control: Whether it is an edge without a tensor.
      call: ``into`` a function, ``out`` of one, or None inside a graph.
    """

    op: int
    slot: int = 0
    is_control: bool = False
    call: str | None = None


@dataclass(frozen=True)
class _Lists:
    """A list of numbers for each op: those of op ``n`` are at ``starts[n]`` to ``starts[n + 1]``."""

    starts: _Numbers
    ops: _Numbers
    slots: _Numbers

    @classmethod
    def of(cls, keys: _Numbers, ops: _Numbers, slots: _Numbers, count: int) -> _Lists:
        """Group edges, which are in order inside each group, by their keys."""
        order = np.argsort(keys, kind="stable")
        starts = np.searchsorted(keys[order], np.arange(count + 1))
        return cls(starts, ops[order], slots[order])

    def of_op(self, op: int) -> list[tuple[int, int]]:
        part = slice(int(self.starts[op]), int(self.starts[op + 1]))
        return list(zip(self.ops[part].tolist(), self.slots[part].tolist(), strict=True))

    def has(self, op: int) -> bool:
        return bool(self.starts[op] < self.starts[op + 1])


@dataclass(frozen=True)
class Adjacency:
    """The edges of a run; :func:`adjacency` makes it."""

    _inputs: _Lists
    _consumers: _Lists
    _taken_at: _Lists  # as _consumers, with the inputs of the consumers in the place of outputs
    _waits_for: _Lists
    _waited_for_by: _Lists

    def inputs(self, op: int) -> list[Neighbour]:
        """Return the tensors that an op takes, in order."""
        return [Neighbour(*edge) for edge in self._inputs.of_op(op)]

    def consumers(self, op: int) -> list[Neighbour]:
        """Return the ops that take tensors of an op, as often as they do."""
        return [Neighbour(other) for other, _ in self._consumers.of_op(op)]

    def numbered_inputs(self, op: int) -> list[tuple[int, int, int]]:
        """Return the tensors that an op takes as ``(input slot, source op, source slot)``, in order."""
        return [(number, source, slot) for number, (source, slot) in enumerate(self._inputs.of_op(op))]

    def numbered_consumers(self, op: int) -> list[tuple[int, int, int]]:
        """Return who takes tensors of an op as ``(output slot, consumer, input slot)``, by consumer."""
        made, taken = self._consumers.of_op(op), self._taken_at.of_op(op)
        return [(slot, other, at) for (other, slot), (_, at) in zip(made, taken, strict=True)]

    def control_inputs(self, op: int) -> list[Neighbour]:
        """Return the ops that an op waits for."""
        return [Neighbour(other, is_control=True) for other, _ in self._waits_for.of_op(op)]

    def control_consumers(self, op: int) -> list[Neighbour]:
        """Return the ops that wait for an op."""
        return [Neighbour(other, is_control=True) for other, _ in self._waited_for_by.of_op(op)]

    def has_inputs(self, op: int) -> bool:
        """Whether an op takes a tensor."""
        return self._inputs.has(op)

    def has_consumers(self, op: int) -> bool:
        """Whether an op takes a tensor of this one."""
        return self._consumers.has(op)


@remembered(Snapshot.remember_of_graphs)
def adjacency(snapshot: Snapshot) -> Adjacency:
    """Return the edges of all graphs."""
    count = len(snapshot.catalog.ops)
    edges = snapshot.columns("SELECT op, input_slot, source_op, source_slot FROM edges ORDER BY ALL")
    control = snapshot.columns("SELECT op, source_op FROM control_edges ORDER BY op, source_op")
    names = ("op", "input_slot", "source_op", "source_slot")
    op, taken, source, slot = (edges[name].astype(np.int64) for name in names)
    waiting, awaited = control["op"].astype(np.int64), control["source_op"].astype(np.int64)
    none = np.zeros(len(waiting), np.int64)
    return Adjacency(
        _Lists.of(op, source, slot, count),
        _Lists.of(source, op, slot, count),
        _Lists.of(source, op, taken, count),
        _Lists.of(waiting, awaited, none, count),
        _Lists.of(awaited, waiting, none, count),
    )


def before_calls(snapshot: Snapshot, op: int) -> list[Neighbour]:
    """Return what an op gets across calls of functions.

    The argument of a function gets a tensor of each caller; an op that calls a function gets what the ops at
    the end of the function made.
    """
    known = graph_calls(snapshot)
    ends = [end for graph, _ in known.graphs.get(op, ()) for end in _of_graphs(snapshot)[graph][1]]
    found = [Neighbour(end, call="out") for end in ends]
    described = snapshot.catalog.ops[op]
    if described.type not in ARGUMENTS:
        return found
    position = _arguments(snapshot, described.graph).index(op)
    for caller in known.callers.get(described.graph, ()):
        for graph, first in known.graphs[caller]:
            given = adjacency(snapshot).inputs(caller)[position + first :][:1]
            found += [one._replace(call="into") for one in given if graph == described.graph]
    return found


def after_calls(snapshot: Snapshot, op: int) -> list[Neighbour]:
    """Return who takes what an op made, across calls of functions: arguments inside, callers outside."""
    known = graph_calls(snapshot)
    inside = [one for graph, _ in known.graphs.get(op, ()) for one in _arguments(snapshot, graph)]
    found = [Neighbour(one, call="into") for one in inside]
    if adjacency(snapshot).has_inputs(op) and not adjacency(snapshot).has_consumers(op):
        callers = known.callers.get(snapshot.catalog.ops[op].graph, ())
        found += [Neighbour(caller, call="out") for caller in callers]
    return found


def given_to(snapshot: Snapshot, op: int, position: int) -> list[int]:
    """Return the arguments, inside the functions that an op calls, that get one of its inputs.

    Args:
      snapshot: The run.
      op: The op.
      position: The slot of the input.
    """
    calls = graph_calls(snapshot).graphs.get(op, ())
    found = [(_arguments(snapshot, graph), position - first) for graph, first in calls]
    return [arguments[at] for arguments, at in found if 0 <= at < len(arguments)]


def _arguments(snapshot: Snapshot, graph: int) -> list[int]:
    return _of_graphs(snapshot)[graph][0]


@remembered(Snapshot.remember_of_graphs)
def _of_graphs(snapshot: Snapshot) -> list[tuple[list[int], list[int]]]:
    """Return the arguments and the ends of each graph."""
    edges = adjacency(snapshot)
    found: list[tuple[list[int], list[int]]] = [([], []) for _ in snapshot.catalog.graphs]
    for op in snapshot.catalog.ops:
        if op.type in ARGUMENTS:
            found[op.graph][0].append(op.number)
        elif edges.has_inputs(op.number) and not edges.has_consumers(op.number):
            found[op.graph][1].append(op.number)
    return found
