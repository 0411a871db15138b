"""Reads the ops around an op of a graph, or around an eager op, from a snapshot.

Takes a snapshot, an op or an execution, and the position up to which values count. Returns the
``Surroundings`` that advice looks at. Everything is read when it is asked for, and once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, TypeAlias

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.diagnosis.around import source
from tb_debugger_plugin.analysis.diagnosis.causes import plain_type
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers, constant_numbers
from tb_debugger_plugin.analysis.diagnosis.surroundings import NearOp, NearOutput, ProgramFacts, facts_of
from tb_debugger_plugin.analysis.graph.adjacency import Neighbour, adjacency, before_calls
from tb_debugger_plugin.analysis.graph.forward_op import forward_op
from tb_debugger_plugin.analysis.graph.graphs import attributes_of
from tb_debugger_plugin.analysis.graph.op_kinds import READS
from tb_debugger_plugin.analysis.snapshot import Json, Snapshot
from tb_debugger_plugin.analysis.source.user_lines import user_line
from tb_debugger_plugin.analysis.values.nearest_value import Side, health_of, nearest_traces
from tb_debugger_plugin.events.dtypes import dtype_name
from tb_debugger_plugin.events.tensorflow_names import is_gradient
from tb_debugger_plugin.index.tensors import GOOD

# Finds the forward op of an op of a gradient by the tensors that both take.
#
# It is for ops that are not named after their forward op. The gradient of ``acos(x)``, for example, is
# computed with ``Square(x)``, ``Sub``, ``Sqrt`` and ``Reciprocal``.
#
# Invariant: when several ops are possible, the result is None.

#: By type of an op of a gradient: the ops whose gradients have it, besides the one that it is named after.
FORWARD: Final[Mapping[str, Sequence[str]]] = {
    "Reciprocal": ("Log", "Log1p", "Acos", "Asin", "Acosh", "Asinh", "Atanh", "Atan"),
    "RealDiv": ("RealDiv", "Div", "Xdivy", "Xlogy", "Atan2", "EuclideanNorm", "Norm"),
    "Xdivy": ("Xlogy", "Xlog1py"),
    "Pow": ("Pow",),
    "Rsqrt": ("Acos", "Asin", "Acosh", "Asinh"),
    "MatrixTriangularSolve": ("Cholesky", "MatrixTriangularSolve", "MatrixSolve", "MatrixDeterminant"),
}
#: A *Health* of the HTTP contract; None where nothing was measured.
Health: TypeAlias = "Json | None"
#: Steps from the op to the tensors of the forward op.
_STEPS: Final = 3


def wanted(op_type: str) -> frozenset[str]:
    """Return the types of the ops whose gradient has an op of a type."""
    grad = {op_type.removesuffix("Grad")} if op_type.endswith("Grad") else set()
    return frozenset({*FORWARD.get(op_type, ()), *grad})


def backward_chain(op: NearOp, is_backward: Callable[[NearOp], bool]) -> list[NearOp]:
    """Return the op and the ops of the gradient before it, up to some steps."""
    chain, front = [op], [op]
    for _ in range(_STEPS):
        front = [output.op for near in front for output in near.inputs if is_backward(output.op)]
        chain += front
    return chain


def forward_by_tensors(op: NearOp, is_backward: Callable[[NearOp], bool]) -> NearOp | None:
    """Return the only op of a fitting type that made or takes a tensor that the gradient takes.

    Args:
      op: An op of a gradient.
      is_backward: Whether an op is part of a gradient.
    """
    types = wanted(op.type)
    found: dict[str, NearOp] = {}
    for near in backward_chain(op, is_backward) if types else ():
        for candidate in _at_inputs(near):
            if candidate.type in types and not is_backward(candidate):
                found[candidate.name] = candidate
    return next(iter(found.values())) if len(found) == 1 else None


def _at_inputs(op: NearOp) -> Iterator[NearOp]:
    for slot in range(len(op.inputs)):
        made = source(op, slot)
        if made is not None:
            yield made.op
            yield from made.op.consumers


#: Inputs and consumers of an op that are looked at.
_MOST: Final = 64
#: Earlier values of a tensor that are looked at.
_HISTORY: Final = 1000


@dataclass(frozen=True)
class GraphOp:
    """An op of a graph.

    Attributes:
      snapshot: The run.
      record: The op.
      index: Position in the list of graph executions up to which values count.
    """

    snapshot: Snapshot
    record: Op
    index: int
    _numbers: dict[int, Numbers] = field(default_factory=dict, compare=False, repr=False)

    @property
    def type(self) -> str:
        """Type of the op."""
        return plain_type(self.record.type or "")

    @property
    def name(self) -> str:
        """Name of the op."""
        return self.record.name

    @property
    def layer(self) -> str | None:
        """Path of the Keras layer."""
        return self.record.layer

    @cached_property
    def attributes(self) -> Mapping[str, str]:
        """Attributes as text."""
        return dict(attributes_of(self.snapshot, self.record) if self.record.attributes else ())

    @cached_property
    def line(self) -> str | None:
        """Text of the user's line that made the op."""
        line = user_line(self.snapshot, self.record.stack)
        return None if line is None else line.text

    @cached_property
    def inputs(self) -> Sequence[NearOutput]:
        """The tensors that the op takes, across calls where the function has one caller and one result."""
        edges = adjacency(self.snapshot).inputs(self.record.number)
        if not edges:
            callers = before_calls(self.snapshot, self.record.number)
            edges = callers if len(callers) == 1 and callers[0].call == "into" else []
        return [self._made_inside(edge) for edge in edges[:_MOST]]

    def _made_inside(self, edge: Neighbour) -> NearOutput:
        ends = [end for end in before_calls(self.snapshot, edge.op) if end.call == "out"]
        made = ends[0] if len(ends) == 1 else edge
        return NearOutput(self._near(made.op), made.slot)

    @cached_property
    def consumers(self) -> Sequence[NearOp]:
        """The ops that take its outputs."""
        edges = adjacency(self.snapshot).consumers(self.record.number)
        return [self._near(edge.op) for edge in edges[:_MOST]]

    def numbers(self, slot: int = 0) -> Numbers:
        """Return the last numbers of an output before the position; a constant has them as attributes."""
        if slot not in self._numbers:
            self._numbers[slot] = self._read(slot)
        return self._numbers[slot]

    def _read(self, slot: int) -> Numbers:
        key = (self.record.number, slot, Side.BEFORE)
        position = nearest_traces(self.snapshot, [key], self.index).get(key)
        health = None if position is None else health_of(self.snapshot, [position])[position]
        return self.known(slot, health)

    def known(self, slot: int, health: Health) -> Numbers:
        """Return the numbers of an output: those of a constant, or else what was measured."""
        if self.record.type == "Const":
            constant = constant_numbers(self.attributes.get("value", ""))
            if constant is not None:
                return constant
        return self.measured(slot, health)

    def measured(self, slot: int, health: Health) -> Numbers:
        """Return what was measured of an output, with its dtype; a health of None when nothing was."""
        static = self.snapshot.catalog.statics.get((self.record.number, slot))
        return Numbers.of_health(health, None if static is None else dtype_name(static.dtype))

    def _near(self, number: int) -> GraphOp:
        return GraphOp(self.snapshot, self.snapshot.catalog.ops[number], self.index)


@dataclass(frozen=True)
class AroundGraphOp:
    """What is around an op of a graph.

    Attributes:
      op: The op.
    """

    op: GraphOp

    @cached_property
    def forward(self) -> NearOp | None:
        """The op whose gradient it is part of."""
        forward = forward_op(self.op.snapshot, self.op.record)
        if forward is not None:
            return GraphOp(self.op.snapshot, forward, self.op.index)
        return forward_by_tensors(self.op, _is_backward) if _is_backward(self.op) else None

    @cached_property
    def program(self) -> ProgramFacts:
        """What is known of the whole program."""
        written = self.forward if isinstance(self.forward, GraphOp) else self.op
        line = user_line(self.op.snapshot, written.record.stack)
        return facts_of(self.op.snapshot, None if line is None else line.path)

    def history(self, slot: int) -> Sequence[float]:
        """Largest magnitudes that the tensor in an input slot had, or a variable of it, oldest first."""
        if slot >= len(self.op.inputs):
            return ()
        source = self.op.inputs[slot]
        assert isinstance(source.op, GraphOp)
        found = _magnitudes(self.op.snapshot, source.op.record.number, source.slot, self.op.index)
        # One value is that of now. Where magnitudes are not measured, variables have none either.
        return self._history_of_variable(source.op) if len(found) == 1 else found

    def _history_of_variable(self, op: NearOp) -> Sequence[float]:
        """Largest magnitudes of the nearest variable that an op needs: GUARD has those of earlier calls."""
        waiting, seen = deque([op]), set[int]()
        while waiting and len(seen) < _MOST:
            near = waiting.popleft()
            assert isinstance(near, GraphOp)
            if near.record.number in seen:
                continue
            seen.add(near.record.number)
            if near.type in READS:
                found = _magnitudes(near.snapshot, near.record.number, 0, self.op.index)
                if len(found) > 1:
                    return found
            waiting.extend(given.op for given in near.inputs)
        return ()

    @cached_property
    def finite_before(self) -> int:
        """How often the op gave only finite values before."""
        sites = [site.number for site in self.op.snapshot.catalog.op_sites.get(self.op.record.number, ())]
        rows = self.op.snapshot.rows(
            "SELECT count(*) FROM (SELECT 1 FROM graph_executions WHERE site IN (SELECT unnest(?))"
            " AND idx < ? AND health = ? LIMIT ?)",
            [sites, self.op.index, GOOD, _HISTORY],
        )
        return int(rows[0][0])


def _is_backward(op: NearOp) -> bool:
    return is_gradient(op.name)


def around_graph_op(snapshot: Snapshot, op: Op, index: int) -> AroundGraphOp:
    """Return what is around an op of a graph at a position in the list of graph executions."""
    return AroundGraphOp(GraphOp(snapshot, op, index))


def _magnitudes(snapshot: Snapshot, op: int, slot: int, index: int) -> list[float]:
    sites = [site.number for site in snapshot.catalog.op_sites.get(op, ()) if site.slot == slot]
    rows = snapshot.rows(
        "SELECT greatest(abs(min), abs(max)) FROM graph_executions WHERE site IN (SELECT unnest(?))"
        " AND idx <= ? AND max IS NOT NULL ORDER BY idx DESC LIMIT ?",
        [sites, index, _HISTORY],
    )
    return [magnitude for (magnitude,) in rows if magnitude is not None][::-1]
