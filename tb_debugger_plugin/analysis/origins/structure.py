"""The tensors that a tensor of a graph is made from, known without running it, across calls of functions.

Takes an op and a slot. Returns the nearest *watched* tensors (those with a site) before it: tensors that are
not recorded, such as those of Identity ops and lists of tensors, are skipped. Where a tensor comes from
outside its graph, the end is an argument of a root graph, a read of a variable, or an op that brings data in.

Invariant: each op and slot is visited once for a question, so damaged graphs with cycles end.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final, Literal, NamedTuple

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.analysis.graph.adjacency import adjacency
from tb_debugger_plugin.analysis.graph.forward_op import forward_op
from tb_debugger_plugin.analysis.graph.graph_calls import graph_calls
from tb_debugger_plugin.analysis.origins.captures import Given, arguments, given_by_python
from tb_debugger_plugin.analysis.origins.values import Relation
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.events.dtypes import dtype_name
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS, is_gradient

#: Tensors that are visited for one question.
_MAX_VISITED: Final = 512
#: Ops that send and receive a tensor between partitions of a session's graph: ``loss/_12``.
_TRANSFER: Final = re.compile(r"(.+)/_\d+", re.ASCII)
#: Ops that pass tensors on unchanged; one packs several into an optional.
_PASSING: Final = frozenset(
    "Identity IdentityN StopGradient PreventGradient Enter Exit OptionalFromValue".split()
)
_OPTIONALS: Final = frozenset({"OptionalFromValue", "OptionalNone"})
#: The name that TensorFlow gives to the op of a result.
_RESULT: Final = re.compile(r"(^|/)Identity(_\d+)?$")
_DISCRETE: Final = ("int", "uint", "bool", "string", "qint", "quint", "resource")


class TensorSource(NamedTuple):
    """A tensor that another one is made from.

    Attributes:
      op, slot: The tensor; for an end, the op that is not recorded.
      relation: How it gets there.
      is_copy: Whether it is passed on unchanged.
      is_loose: Whether tensors that are not recorded are between, so that it may be of an earlier moment.
      end: ``argument`` of a root graph, ``read`` of a variable, ``outside`` for an op that brings data in;
        None for a watched tensor.
    """

    op: int
    slot: int
    relation: Relation = "input"
    is_copy: bool = True
    is_loose: bool = False
    end: Literal["argument", "read", "outside"] | None = None


@remembered(Snapshot.remember_of_graphs)
def _ops_of_graphs(snapshot: Snapshot) -> dict[int, list[Op]]:
    groups: dict[int, list[Op]] = defaultdict(list)
    for op in snapshot.catalog.ops:
        groups[op.graph].append(op)
    return dict(groups)


@remembered(Snapshot.remember)
def _roots(snapshot: Snapshot) -> frozenset[int]:
    """Return the graphs that Python calls."""
    rows = snapshot.rows("SELECT DISTINCT graph FROM executions WHERE graph >= 0")
    return frozenset(graph for (graph,) in rows)


class Structure:
    """The graphs of a run.

    Args:
      snapshot: The run.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._edges = adjacency(snapshot)
        self._calls = graph_calls(snapshot)
        self._graph_ops: dict[int, list[Op]] = _ops_of_graphs(snapshot)
        self._senders: dict[str, int] = {}
        self._arguments: dict[int, list[int]] = {}
        self._forwards: dict[int, Op | None] = {}

    def op(self, number: int) -> Op:
        """Return an op by its number."""
        return self._snapshot.catalog.ops[number]

    def is_watched(self, op: int, slot: int) -> bool:
        """Whether a tensor is on record whenever it is computed."""
        return any(site.slot == slot for site in self._snapshot.catalog.op_sites.get(op, ()))

    def _watched_slots(self, op: Op) -> list[int]:
        # Of many outputs, as a damaged file may say, few are on record.
        slots = {site.slot for site in self._snapshot.catalog.op_sites.get(op.number, ())}
        return sorted(slot for slot in slots if 0 <= slot < (op.num_outputs or 0))

    def inputs(self, op: int) -> list[tuple[int, int]]:
        """Return the tensors that an op takes: op and slot, in order."""
        return [(one.op, one.slot) for one in self._edges.inputs(op)] or self._received(self.op(op))

    def _received(self, op: Op) -> list[tuple[int, int]]:
        """Return what an op receives from another device: the tensor of the op that it is named after."""
        sender = _TRANSFER.fullmatch(op.name) if op.type in op_kinds.RECEIVES else None
        if sender is None:
            return []
        if not self._senders:
            self._senders.update((one.name, one.number) for one in self._snapshot.catalog.ops)
        number = self._senders.get(sender[1])
        return [] if number is None else [(number, 0)]

    def replicas(self, op: Op) -> list[int]:
        """Return the ops of other replicas with which a collective op computes: those alike in its graph."""
        if op.type not in op_kinds.COLLECTIVES or not self.inputs(op.number):
            return []
        alike = self._kind(op)
        ops = self._graph_ops.get(op.graph, ())
        return [other.number for other in ops if other is not op and self._kind(other) == alike]

    def _kind(self, op: Op) -> tuple[object, ...]:
        """Type of an op, dtype and shape of its first output, and whether it takes anything."""
        static = self._snapshot.catalog.statics.get((op.number, 0))
        dtype_and_shape = None if static is None else (static.dtype, static.shape)
        return op.type, dtype_and_shape, bool(self.inputs(op.number))

    def consumers(self, op: int) -> list[int]:
        """Return the ops that take a tensor of an op."""
        return [one.op for one in self._edges.consumers(op)]

    def arguments(self, graph: int) -> list[int]:
        """Return the arguments of a graph, in order."""
        if graph not in self._arguments:
            self._arguments[graph] = arguments(
                self._snapshot, self._graph_ops.get(graph, ()), self._given(graph)
            )
        return self._arguments[graph]

    def _given(self, graph: int) -> list[Given]:
        """Return what a caller passes in."""
        for caller, first in self.callers(graph):
            statics = self._snapshot.catalog.statics
            return [Given(static=statics.get(tensor)) for tensor in self.inputs(caller)[first:]]
        return given_by_python(self._snapshot, graph)

    def is_argument(self, op: Op) -> bool:
        """Whether an op is an argument: a Placeholder, or a constant that the caller passes in."""
        return op.type in ARGUMENTS or (op.type == "Const" and op.number in self.arguments(op.graph))

    def position(self, argument: int) -> int:
        """Return the position of an argument among those of its graph."""
        return self.arguments(self.op(argument).graph).index(argument)

    def callers(self, graph: int) -> list[tuple[int, int]]:
        """Return the ops that run a graph, and the input of each that is the first argument."""
        return [
            (caller, first)
            for caller in self._calls.callers.get(graph, ())
            for inner, first in self._calls.graphs[caller]
            if inner == graph
        ]

    def called(self, op: int) -> list[int]:
        """Return the graphs that an op runs."""
        return [graph for graph, _ in self._calls.graphs.get(op, ())]

    def body(self, loop: int) -> int:
        """Return the graph that a loop runs in each turn."""
        graphs = self.called(loop)
        named = [graph for graph in graphs if "_body" in (self._snapshot.catalog.graphs[graph].name or "")]
        return (named or graphs)[-1]

    def results(self, graph: int) -> list[int]:
        """Return the ops that return results of a graph: Identity ops of the outermost scope without takers.

        Ops that were added for a gradient later may come after them.
        """
        found = [
            op
            for op in self._graph_ops.get(graph, ())
            if op.type == "Identity" and _RESULT.search(op.name) and not self._edges.has_consumers(op.number)
        ]
        depth = min((op.name.count("/") for op in found), default=0)
        return [op.number for op in found if op.name.count("/") == depth]

    def is_discrete(self, op: int, slot: int) -> bool:
        """Whether a tensor cannot hold NaN or infinity, by its dtype."""
        static = self._snapshot.catalog.statics.get((op, slot))
        name = None if static is None else dtype_name(static.dtype)
        return name is not None and name.startswith(_DISCRETE)

    def brings_in(self, op: Op) -> str | None:
        """Return the words for what an op brings into the program; None when it computes its outputs."""
        known = op_kinds.brings_in(op.type)
        return "the input data" if known is None and self._is_decoding(op) else known

    def _is_decoding(self, op: Op) -> bool:
        """Whether an op has nothing but text, or what is kept elsewhere, to make its outputs of."""
        if op.type in op_kinds.READS or self.called(op.number):
            return False
        statics = (self._snapshot.catalog.statics.get(tensor) for tensor in self.inputs(op.number))
        names = [None if static is None else dtype_name(static.dtype) for static in statics]
        return bool(names) and all(name in ("string", "resource") for name in names)

    def packs(self, op: Op) -> bool:
        """Whether an op packs what it takes into a data set, a list or an optional, unchanged."""
        statics = (
            self._snapshot.catalog.statics.get((op.number, slot)) for slot in range(op.num_outputs or 0)
        )
        return any(static is not None and dtype_name(static.dtype) == "variant" for static in statics)

    def constant_kind(self, op: int) -> Literal["nan", "inf"] | None:
        """Whether a constant has NaN or only infinities, by its elements on record; None if they are not."""
        rows = self._snapshot.rows(
            "SELECT a.value FROM ops JOIN graphs USING (graph) JOIN op_attributes a"
            " ON (a.host, a.attributes) = (graphs.host, ops.attributes)"
            " WHERE ops.op = ? AND a.name = 'value'",
            [op],
        )
        text = rows[0][0].lower() if rows else ""
        return "nan" if "nan" in text else "inf" if "inf" in text else None

    def is_backward(self, op: Op) -> bool:
        """Whether an op is part of a gradient."""
        name = self._snapshot.catalog.graphs[op.graph].name or ""
        return is_gradient(op.name) or op_kinds.BACKWARD.match(name) is not None

    def forward(self, op: Op) -> Op | None:
        """Return the op whose gradient an op is part of; None when there is none, or several are possible."""
        if op.number not in self._forwards:
            self._forwards[op.number] = forward_op(self._snapshot, op)
        return self._forwards[op.number]

    def sources(self, op: int, slot: int) -> list[TensorSource]:
        """Return the watched tensor itself, or those it is made from, and ends."""
        return list(self._expand(TensorSource(op, slot), set()))

    def input_sources(self, op: int, slot: int | None = None) -> list[tuple[int, TensorSource]]:
        """Return the sources of each input of an op, with the number of the input.

        Args:
          op: The op.
          slot: One of its outputs: only the inputs that it may be made from.
        """
        return [
            (number, source)
            for number, tensor in enumerate(self.inputs(op))
            if slot is None or number == slot or self.op(op).type != "IdentityN"
            for source in self.sources(*tensor)
        ]

    def assigned(self, op: int) -> list[tuple[int, int]]:
        """Return the measured tensors that an assignment takes, without the handle."""
        sources = self.input_sources(op)
        return [(source.op, source.slot) for number, source in sources if number > 0 and source.end is None]

    def before(self, op: int, slot: int) -> list[TensorSource]:
        """Return the sources of the argument of a graph, or of a result of a call."""
        return list(self._across(TensorSource(op, slot), set()))

    def _expand(self, source: TensorSource, seen: set[tuple[int, int]]) -> Iterator[TensorSource]:
        key = (source.op, source.slot)
        if key in seen or len(seen) > _MAX_VISITED or self.is_discrete(*key):
            return
        seen.add(key)
        if self.is_watched(*key):
            yield source
            return
        op = self.op(source.op)
        if op.type in op_kinds.READS:
            yield source._replace(end="read")
        elif self.brings_in(op) or not (op.type in ARGUMENTS or self.inputs(op.number)):
            yield source._replace(end="outside")
        elif op.type in ARGUMENTS or self.called(op.number):
            yield from self._across(source, seen)
        else:
            yield from self._through(op, source, seen)

    def _through(self, op: Op, source: TensorSource, seen: set[tuple[int, int]]) -> Iterator[TensorSource]:
        inputs = self.inputs(op.number)
        if op.type == "IdentityN":
            inputs = inputs[source.slot : source.slot + 1]
        is_same = op.type in _PASSING
        for tensor in inputs:
            copy = source.is_copy and is_same
            loose = source.is_loose or not is_same
            yield from self._expand(TensorSource(*tensor, source.relation, copy, loose), seen)

    def _across(self, source: TensorSource, seen: set[tuple[int, int]]) -> Iterator[TensorSource]:
        op = self.op(source.op)
        if self.is_argument(op):
            yield from self._of_argument(op, source, seen)
            return
        graphs = self.called(op.number)
        if op.type in op_kinds.LOOPS:
            # Without a turn, the result is what was passed in.
            given = self.inputs(op.number)[source.slot : source.slot + 1]
            for tensor in given:
                yield from self._expand(source._replace(op=tensor[0], slot=tensor[1]), seen)
            graphs = [self.body(op.number)]
        for graph in graphs:
            yield from self._of_result(op, graph, source._replace(relation="result"), seen)

    def _of_argument(
        self, op: Op, source: TensorSource, seen: set[tuple[int, int]]
    ) -> Iterator[TensorSource]:
        callers = self.callers(op.graph)
        if not callers:
            yield source._replace(end="argument")
            return
        position = self.position(op.number)
        for caller, first in callers:
            called_by = self.op(caller)
            relation: Relation = "gradient" if self.is_backward(op) else "argument"
            for tensor in self.inputs(caller)[position + first :][:1]:
                yield from self._expand(
                    source._replace(op=tensor[0], slot=tensor[1], relation=relation), seen
                )
            if called_by.type in op_kinds.LOOPS:
                body = self.body(caller)
                turn = source._replace(op=caller, slot=position, relation="iteration")
                yield from self._of_result(called_by, body, turn, seen)
        if op.graph in _roots(self._snapshot):
            yield source._replace(end="argument")

    def _of_result(
        self, caller: Op, graph: int, source: TensorSource, seen: set[tuple[int, int]]
    ) -> Iterator[TensorSource]:
        for tensor in self.result(graph, source.slot, (caller.number, source.slot), caller.num_outputs):
            yield from self._expand(source._replace(op=tensor[0], slot=tensor[1]), seen)

    def result(
        self, graph: int, slot: int, outside: tuple[int, int] | None, count: int | None
    ) -> list[tuple[int, int]]:
        """Return the tensors of a graph that may be one of its results.

        Args:
          graph: The graph.
          slot: The position among the results.
          outside: The tensor of the caller; None for a call from Python.
          count: Number of results; None when it is not known.
        """
        if slot < 0:
            return []  # a damaged file
        ends = self.results(graph)
        if count is not None and count < len(ends):
            # The program's own Identity ops come before those of the results.
            ends = ends[-count:]
        if slot < len(ends):
            return [(ends[slot], 0)]
        # Results that a gradient needs, and arguments of a loop that it does not change.
        static = None if outside is None else self._snapshot.catalog.statics.get(outside)
        if static is not None and dtype_name(static.dtype) == "variant":
            return self._packed(graph, slot - len(ends))
        dtype = None if static is None else static.dtype
        return [
            (op.number, number)
            for op in self._graph_ops.get(graph, ())
            if op.type not in ("Const", "Identity")
            for number in self._watched_slots(op)
            if dtype is None or self._dtype(op.number, number) == dtype
        ]

    def _dtype(self, op: int, slot: int) -> int | None:
        static = self._snapshot.catalog.statics.get((op, slot))  # a damaged file has none
        return None if static is None else static.dtype

    def _packed(self, graph: int, position: int) -> list[tuple[int, int]]:
        """Return what a branch keeps for its gradient; the other branch has an empty optional."""
        optionals = [op for op in self._graph_ops.get(graph, ()) if op.type in _OPTIONALS]
        kept = optionals[position:][:1]
        return [(op.number, 0) for op in kept if op.type == "OptionalFromValue"]
