"""Keeps only survivors in a plan, so that a program computes the same bits as without watch ops.

A watch op keeps Grappler from removing a tensor, or from fusing it into a larger op: the program computes the
same, but not the same bits. Takes the plan for a function and returns one without the tensors that Grappler
removes, and without those whose watch ops change the optimized graph. A function that others call is
optimized as part of its callers, so tensors may be dropped from its plan later.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, TypeVar

from tensorflow.python.ops import control_flow_v2_func_graphs

from tb_debugger_plugin.capture.engines.grappler.grappler import Grappler
from tb_debugger_plugin.capture.engines.grappler.optimized import OptimizedGraph, harmful_watches
from tb_debugger_plugin.capture.engines.instrument import (
    SCOPE,
    instrumented,
    watch_function,
    with_watched_calls,
)
from tb_debugger_plugin.capture.graph.called import called_by
from tb_debugger_plugin.capture.graph.definitions import library_of, source_name
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.graph.user_names import name_of
from tb_debugger_plugin.capture.graph_records import KnownGraph
from tb_debugger_plugin.capture.not_recorded import Missing, NotRecorded
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.plan.attachment import Attachment
from tb_debugger_plugin.capture.plan.plan import Plan, Planned, make_plan
from tb_debugger_plugin.capture.sinks.protocol import Sink
from tb_debugger_plugin.capture.tf_types import NodeDef
from tb_debugger_plugin.events.not_recorded import NotRecordedReason

#: Graphs that run as parts of others only.
_PARTS = (
    control_flow_v2_func_graphs.CondBranchFuncGraph,
    control_flow_v2_func_graphs.WhileBodyFuncGraph,
    control_flow_v2_func_graphs.WhileCondFuncGraph,
)
#: Rounds in which tensors are dropped from a plan; after that, all are dropped.
_ROUNDS = 12
_log = logging.getLogger("tb_debugger_plugin")

#: Gives the runtime a definition of a function with the watch ops of a plan.
Define: TypeAlias = Callable[[Function, KnownGraph, Plan], None]


@dataclass(frozen=True)
class _Item:
    """A planned tensor without a reference to its graph."""

    op_name: str
    slot: int
    attachment: Attachment
    same: tuple[_Item, ...]
    keep: int = 0


@dataclass(frozen=True)
class _Watched:
    function: Function
    known: KnownGraph
    items: tuple[_Item, ...]
    calls: tuple[str, ...]

    def tensor_id(self, item: _Item) -> int:
        """Return the tensor id of an item."""
        return self.known.tensor_ids[item.op_name][item.slot]


_PlannedOrItem = TypeVar("_PlannedOrItem", Planned, _Item)


class Survivors:
    """Finds the survivors in the functions of one recording. Thread-safe.

    Args:
      sink: Makes the watch nodes.
      watched: The functions that have watch ops, by name. Those that lose all of them are removed.
      define: Defines a function again, with fewer watch ops.
      not_recorded: Registers what cannot be watched.
    """

    def __init__(
        self,
        sink: Sink,
        watched: MutableMapping[str, Function],
        define: Define,
        not_recorded: NotRecorded,
    ) -> None:
        self._grappler = Grappler()
        self._sink = sink
        self._watched = watched
        self._define = define
        self._not_recorded = not_recorded
        # Guards the following fields, and the definitions of functions that others call.
        self._lock = threading.RLock()
        self._dropped: set[int] = set()  # tensor ids
        self._by_watch: dict[int, int] = {}  # tensor ids, by the number of the watch
        self._defined: dict[str, _Watched] = {}

    def surviving_part(self, function: Function, known: KnownGraph, plan: Plan) -> Plan:
        """Return the part of a plan that does not change the optimized program.

        Args:
          function: A function whose callees have their definitions with watch ops.
          known: Ids of its graph and tensors.
          plan: All tensors to watch.
        """
        with self._lock:
            called = self._all_called(function)
            try:
                plan = self._harmless_part(function, known, plan, called)
            except Exception as error:  # a graph that Grappler cannot optimize on its own
                _log.debug("Grappler cannot optimize %s:", function.name, exc_info=error)
                plan = self._give_up(function, known, plan, called)
            self._defined[function.name] = _Watched(
                function, known, tuple(map(_as_item, plan.tensors)), plan.calls
            )
            weakref.finalize(function.graph, self._defined.pop, function.name, None)
            self._remove_if_unwatched(function.name)
            return plan

    def _harmless_part(self, function: Function, known: KnownGraph, plan: Plan, called: list[str]) -> Plan:
        """Drop tensors until the optimized graphs with and without watch ops are equal."""
        plan = self._without_dropped(known, plan)
        if not _watches(plan.tensors) and not any(_watches(self._defined[name].items) for name in called):
            return plan
        if isinstance(function.graph_of(), _PARTS):
            return replace(plan, tensors=tuple(map(_beside, plan.tensors)))
        plain = self._optimized_plain(function)
        plan = replace(plan, tensors=tuple(_surviving(plan.tensors, plain)))
        self._drop(self._in_parts_not_inlined(plain, called), called)
        for _ in range(_ROUNDS):
            watched = self._optimized_watched(function, known, plan)
            harmful = harmful_watches(plain, watched)
            if not harmful and plain.ops == watched.ops:
                return plan
            if not harmful:
                break
            self._drop([self._by_watch[node.attr["watch"].i] for node in harmful], called)
            plan = self._without_dropped(known, plan)
        return self._give_up(function, known, plan, called)

    def _give_up(self, function: Function, known: KnownGraph, plan: Plan, called: list[str]) -> Plan:
        name = name_of(function)
        message = (
            f"The debugger does not watch the function {function.name} ({name}), nor those that it calls: "
            "it cannot predict how TensorFlow optimizes the function. Leave out keep_graph_optimizations to "
            "record them."
        )
        self._not_recorded.report(Missing(NotRecordedReason.OPTIMIZED, message, (name,), known.graph_id))
        return self._drop_all(known, plan, called)

    def _optimized_plain(self, function: Function) -> OptimizedGraph:
        definition = function.graph.as_graph_def()
        results = [source_name(tensor.op.name, tensor.value_index) for tensor in function.result_tensors()]
        return OptimizedGraph(
            self._grappler.optimized(function, definition, results, function.control_outputs)
        )

    def _optimized_watched(self, function: Function, known: KnownGraph, plan: Plan) -> OptimizedGraph:
        definition, moved, run = instrumented(function, known, plan, self._sink, self._watched.get)
        self._note_watches(definition.node, known)
        definition = with_watched_calls(function, definition, self._watched.get)
        for called in library_of(definition).function:
            if called.signature.name in self._defined:
                self._note_watches(called.node_def, self._defined[called.signature.name].known)
        results = [source_name(tensor.op.name, tensor.value_index) for tensor in function.result_tensors()]
        return OptimizedGraph(
            self._grappler.optimized(
                function,
                definition,
                [moved.get(result, result) for result in results],
                [*function.control_outputs, *run],
            )
        )

    def _note_watches(self, nodes: Iterable[NodeDef], known: KnownGraph) -> None:
        for node in nodes:
            if node.name.startswith(SCOPE) and "watch" in node.attr:  # the others summarise for a watch node
                op, _, slot = node.name.removeprefix(SCOPE).rpartition("/")
                self._by_watch[node.attr["watch"].i] = known.tensor_ids[op][int(slot)]

    def _without_dropped(self, known: KnownGraph, plan: Plan) -> Plan:
        ids = known.tensor_ids
        kept = [item for item in plan.tensors if ids[item.op.name][item.slot] not in self._dropped]
        return replace(plan, tensors=tuple(kept))

    def _drop_all(self, known: KnownGraph, plan: Plan, called: list[str]) -> Plan:
        tensor_ids = [known.tensor_ids[item.op.name][item.slot] for item in _watches(plan.tensors)]
        for name in called:
            watched = self._defined[name]
            tensor_ids += map(watched.tensor_id, _watches(watched.items))
        self._drop(tensor_ids, called)
        return self._without_dropped(known, plan)

    def _drop(self, tensor_ids: Iterable[int], called: Iterable[str]) -> None:
        """Stop watching some tensors, also in callees."""
        self._dropped.update(tensor_ids)
        for name in called:
            watched = self._defined[name]
            kept = tuple(item for item in watched.items if watched.tensor_id(item) not in self._dropped)
            if kept != watched.items or self._remove_if_unwatched(name):
                watched = self._defined[name] = replace(watched, items=kept)
                self._remove_if_unwatched(name)
                self._define(watched.function, watched.known, _plan_of(watched))

    def _remove_if_unwatched(self, name: str) -> bool:
        """Let callers use the program's definition of a function without watch ops; True if that is new."""
        watched = self._defined[name]
        called = called_by(watched.function)
        if _watches(watched.items) or any(self._watched.get(callee) for callee in called):
            return False
        return self._watched.pop(name, None) is not None

    def _in_parts_not_inlined(self, plain: OptimizedGraph, called: list[str]) -> list[int]:
        """Return the tensors in branches and loops that stay functions, with unknown optimized graphs."""
        functions = [self._defined[name] for name in called if plain.calls(name)]
        parts = [part for part in functions if isinstance(part.function.graph_of(), _PARTS)]
        return [part.tensor_id(item) for part in parts for item in _watches(part.items)]

    def _all_called(self, function: Function) -> list[str]:
        """Return the names of the watched functions that are part of a function, inner ones first."""
        names: dict[str, None] = {}
        for name in called_by(function):
            if name in self._defined and name not in names:
                inner = self._all_called(self._defined[name].function)
                names.update(dict.fromkeys([*inner, name]))
        return list(names)


def _watches(items: Iterable[_PlannedOrItem]) -> list[_PlannedOrItem]:
    """Return the items that have a watch op."""
    return [item for item in items if item.attachment is not Attachment.CONSTANT]


def _as_item(planned: Planned) -> _Item:
    same = tuple(map(_as_item, planned.same))
    return _Item(planned.op.name, planned.slot, planned.attachment, same, planned.keep)


def _plan_of(watched: _Watched) -> Plan:
    by_name = watched.function.graph.get_operation_by_name

    def planned(item: _Item) -> Planned:
        op, same = by_name(item.op_name), tuple(map(planned, item.same))
        return Planned(op, item.slot, item.attachment, same, keep=item.keep)

    return Plan(tuple(map(planned, watched.items)), watched.calls)


def _surviving(tensors: Iterable[Planned], plain: OptimizedGraph) -> Iterable[Planned]:
    for item in tensors:
        if item.attachment is Attachment.CONSTANT:
            yield item
            continue
        survivor = next(filter(partial(_survives, plain), (item, *item.same)), None)
        if survivor is not None:
            others = tuple(replace(other, same=()) for other in (item, *item.same) if other is not survivor)
            attachment = _attachment(replace(item, op=survivor.op, slot=survivor.slot), plain)
            yield replace(survivor, attachment=attachment, same=others)


def _survives(plain: OptimizedGraph, item: Planned) -> bool:
    return plain.holds(item.op.name)


def _attachment(item: Planned, plain: OptimizedGraph) -> Attachment:
    """Beside, in general: an inline op would be between ops that Grappler rewrites together."""
    if item.attachment is Attachment.REDUCED:
        return item.attachment
    users = plain.users_of(plain.source(source_name(item.op.name, item.slot)))
    # AddN adds into one of its inputs; which one depends on the other references to them.
    return Attachment.INLINE if any(type_ == "AddN" for _, type_ in users) else Attachment.BESIDE


def _beside(item: Planned) -> Planned:
    if item.attachment is not Attachment.INLINE or any(
        user.type == "AddN" for user in item.tensor.consumers()
    ):
        return item
    return replace(item, attachment=Attachment.BESIDE)


class OptimizedFunctions:
    """The engine for functions whose optimized graph must not change.

    Args:
      options: What to record.
      sink: Makes the watch ops.
      functions: The functions of the recording. Those that lose all watch ops are no longer watched.
      not_recorded: Registers what cannot be watched.
    """

    def __init__(
        self, options: Options, sink: Sink, functions: FunctionTable, not_recorded: NotRecorded
    ) -> None:
        self._options = options
        self._sink = sink
        self._functions = functions
        self._survivors = Survivors(sink, functions.watched, self._define, not_recorded)

    def watch(self, function: Function, known: KnownGraph) -> None:
        """Watch the tensors that TensorFlow's graph optimizer leaves."""
        plan = make_plan(function, known, self._options, supports_inline=self._sink.supports_inline)
        self._define(function, known, self._survivors.surviving_part(function, known, plan))

    def _define(self, function: Function, known: KnownGraph, plan: Plan) -> None:
        watch_function(function, known, plan, self._sink, self._functions.watched.get)
