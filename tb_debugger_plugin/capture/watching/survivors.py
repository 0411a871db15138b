"""Only what survives the graph optimizer is watched, so that a program runs exactly as it would unwatched.

A watch op keeps Grappler from removing a tensor, or from fusing it into a larger op: the program computes
the same, but not the same bits. In comes the plan for a function; out comes one without the tensors that
Grappler would have removed, and without those at which the optimized graph with watch ops is another one than
without. A function that others call is optimized as part of them, so they may take tensors away from it
later.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias, TypeVar

from tensorflow.core.framework import node_def_pb2
from tensorflow.python.ops import control_flow_v2_func_graphs

from tb_debugger_plugin.capture.functions.called import called_by
from tb_debugger_plugin.capture.functions.definitions import library_of, source_name
from tb_debugger_plugin.capture.functions.function import Function
from tb_debugger_plugin.capture.functions.user_names import name_of
from tb_debugger_plugin.capture.graphs import KnownGraph
from tb_debugger_plugin.capture.not_recorded import Missing, NotRecorded
from tb_debugger_plugin.capture.sinks.protocol import Sink
from tb_debugger_plugin.capture.watching.attachment import Attachment
from tb_debugger_plugin.capture.watching.grappler import Grappler
from tb_debugger_plugin.capture.watching.instrument import SCOPE, instrumented, with_watched_calls
from tb_debugger_plugin.capture.watching.optimized import OptimizedGraph, blamed
from tb_debugger_plugin.capture.watching.plan import Plan, Planned
from tb_debugger_plugin.events.not_recorded import NotRecordedReason

#: Graphs that run as parts of others only.
_PARTS = (
    control_flow_v2_func_graphs.CondBranchFuncGraph,
    control_flow_v2_func_graphs.WhileBodyFuncGraph,
    control_flow_v2_func_graphs.WhileCondFuncGraph,
)
#: So often tensors are taken away from a function; then all are.
_ROUNDS = 12
_log = logging.getLogger("tb_debugger_plugin")

#: Gives the runtime a definition with the watch ops of a plan.
Define: TypeAlias = Callable[[Function, KnownGraph, Plan], None]


@dataclass(frozen=True)
class _Item:
    """A planned tensor that keeps no graph alive."""

    op_name: str
    slot: int
    attachment: Attachment
    same: tuple[_Item, ...]


@dataclass(frozen=True)
class _Watched:
    function: Function
    known: KnownGraph
    items: tuple[_Item, ...]
    calls: tuple[str, ...]

    def number(self, item: _Item) -> int:
        """Of a tensor, unique in the process."""
        return self.known.tensor_ids[item.op_name][item.slot]


_Any = TypeVar("_Any", Planned, _Item)


class Survivors:
    """What can be watched in the functions of one recording. Thread-safe.

    Args:
      sink: Makes the watch nodes.
      watched: The functions that have watch ops, by name. Those that lose all of them are taken out.
      define: Defines a function again, of which less is watched than before.
      not_recorded: Takes what cannot be watched.
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
        self._lock = (
            threading.RLock()
        )  # guards what follows, and the definitions of functions that others call
        self._taken_away: set[int] = set()  # numbers of tensors
        self._by_watch: dict[int, int] = {}  # tensors, by the number of their watch
        self._defined: dict[str, _Watched] = {}

    def leave_out(self, what: str, name: str = "", graph_id: str = "") -> None:
        """Say that nothing is watched in what TensorFlow optimizes in another way.

        Args:
          what: What it is, for a sentence.
          name: As its author knows it.
          graph_id: Of its graph, where that is on record.
        """
        message = (
            f"With keep_graph_optimizations=True the debugger watches nothing in {what}: "
            "leave it out to have them recorded."
        )
        names = (name,) if name else ()
        self._not_recorded.say(Missing(NotRecordedReason.OPTIMIZED, message, names, graph_id))

    def left_of(self, function: Function, known: KnownGraph, plan: Plan) -> Plan:
        """The part of a plan that leaves the optimized program as it is.

        Args:
          function: Whose callees have their definitions with watch ops.
          known: What is known of its graph.
          plan: All that is wanted.
        """
        with self._lock:
            called = self._all_called(function)
            try:
                plan = self._agreed(function, known, plan, called)
            except Exception as error:  # a graph that Grappler does not take by itself
                _log.debug("What went wrong:", exc_info=error)
                plan = self._given_up(function, known, plan, called)
            self._defined[function.name] = _Watched(
                function, known, tuple(map(_as_item, plan.tensors)), plan.calls
            )
            weakref.finalize(function.graph_of(), self._defined.pop, function.name, None)
            self._note_whether_watched(function.name)
            return plan

    def _agreed(self, function: Function, known: KnownGraph, plan: Plan, called: list[str]) -> Plan:
        plan = self._without_taken(known, plan)
        if not _watches(plan.tensors) and not any(_watches(self._defined[name].items) for name in called):
            return plan
        if isinstance(function.graph_of(), _PARTS):
            return replace(plan, tensors=tuple(map(_beside, plan.tensors)))
        plain = self._optimized_plain(function)
        plan = replace(plan, tensors=tuple(_surviving(plan.tensors, plain)))
        self._take_away(self._in_parts_apart(plain, called), called)
        for _ in range(_ROUNDS):
            watched = self._optimized_watched(function, known, plan)
            guilty = blamed(plain, watched)
            if not guilty and plain.ops == watched.ops:
                return plan
            if not guilty:
                break
            self._take_away([self._by_watch[node.attr["watch"].i] for node in guilty], called)
            plan = self._without_taken(known, plan)
        return self._given_up(function, known, plan, called)

    def _given_up(self, function: Function, known: KnownGraph, plan: Plan, called: list[str]) -> Plan:
        name = name_of(function)
        message = (
            f"The debugger does not watch the function {function.name} ({name}), nor those that it calls: "
            "what TensorFlow optimizes in it cannot be known before. Leave keep_graph_optimizations out to "
            "have them recorded."
        )
        self._not_recorded.say(Missing(NotRecordedReason.OPTIMIZED, message, (name,), known.graph_id))
        return self._without_any(known, plan, called)

    def _optimized_plain(self, function: Function) -> OptimizedGraph:
        definition = function.graph_of().as_graph_def()
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

    def _note_watches(self, nodes: Iterable[node_def_pb2.NodeDef], known: KnownGraph) -> None:
        for node in nodes:
            if node.name.startswith(SCOPE) and "watch" in node.attr:  # others make numbers for one
                op, _, slot = node.name.removeprefix(SCOPE).rpartition("/")
                self._by_watch[node.attr["watch"].i] = known.tensor_ids[op][int(slot)]

    def _without_taken(self, known: KnownGraph, plan: Plan) -> Plan:
        numbers = known.tensor_ids
        kept = [item for item in plan.tensors if numbers[item.op.name][item.slot] not in self._taken_away]
        return replace(plan, tensors=tuple(kept))

    def _without_any(self, known: KnownGraph, plan: Plan, called: list[str]) -> Plan:
        numbers = [known.tensor_ids[item.op.name][item.slot] for item in _watches(plan.tensors)]
        for name in called:
            watched = self._defined[name]
            numbers += map(watched.number, _watches(watched.items))
        self._take_away(numbers, called)
        return self._without_taken(known, plan)

    def _take_away(self, numbers: Iterable[int], called: Iterable[str]) -> None:
        """Watch some tensors no longer, also where callees have them."""
        self._taken_away.update(numbers)
        for name in called:
            watched = self._defined[name]
            left = tuple(item for item in watched.items if watched.number(item) not in self._taken_away)
            if left != watched.items or self._note_whether_watched(name):
                watched = self._defined[name] = replace(watched, items=left)
                self._note_whether_watched(name)
                self._define(watched.function, watched.known, _plan_of(watched))

    def _note_whether_watched(self, name: str) -> bool:
        """Let callers treat a function without watch ops as the program has it; say if that is new."""
        watched = self._defined[name]
        called = called_by(watched.function)
        if _watches(watched.items) or any(self._watched.get(each) for each in called):
            return False
        return self._watched.pop(name, None) is not None

    def _in_parts_apart(self, plain: OptimizedGraph, called: list[str]) -> list[int]:
        """The tensors in branches and loops that stay functions: these are optimized where nobody looks."""
        apart = [self._defined[name] for name in called if plain.calls(name)]
        parts = [each for each in apart if isinstance(each.function.graph_of(), _PARTS)]
        return [part.number(item) for part in parts for item in _watches(part.items)]

    def _all_called(self, function: Function) -> list[str]:
        """The names of the watched functions that are part of a function, inner ones first."""
        found: dict[str, None] = {}
        for name in called_by(function):
            if name in self._defined and name not in found:
                inner = self._all_called(self._defined[name].function)
                found.update(dict.fromkeys([*inner, name]))
        return list(found)


def _watches(items: Iterable[_Any]) -> list[_Any]:
    """Those that are watched by an op."""
    return [item for item in items if item.attachment is not Attachment.CONSTANT]


def _as_item(planned: Planned) -> _Item:
    return _Item(planned.op.name, planned.slot, planned.attachment, tuple(map(_as_item, planned.same)))


def _plan_of(watched: _Watched) -> Plan:
    by_name = watched.function.graph_of().get_operation_by_name

    def planned(item: _Item) -> Planned:
        return Planned(by_name(item.op_name), item.slot, item.attachment, tuple(map(planned, item.same)))

    return Plan(tuple(map(planned, watched.items)), watched.calls)


def _surviving(tensors: Iterable[Planned], plain: OptimizedGraph) -> Iterable[Planned]:
    for item in tensors:
        if item.attachment is Attachment.CONSTANT:
            yield item
            continue
        survivor = next(filter(partial(_survives, plain), (item, *item.same)), None)
        if survivor is not None:
            others = tuple(replace(each, same=()) for each in (item, *item.same) if each is not survivor)
            attachment = _attachment(replace(item, op=survivor.op, slot=survivor.slot), plain)
            yield replace(survivor, attachment=attachment, same=others)


def _survives(plain: OptimizedGraph, item: Planned) -> bool:
    return plain.holds(item.op.name)


def _attachment(item: Planned, plain: OptimizedGraph) -> Attachment:
    """Beside: an op in line would stand between ops that Grappler looks at together."""
    if item.attachment is Attachment.REDUCED:
        return item.attachment
    users = plain.users_of(plain.source(source_name(item.op.name, item.slot)))
    # What sums up in place of an input, which one depends on who else refers to it.
    return Attachment.INLINE if any(type_ == "AddN" for _, type_ in users) else Attachment.BESIDE


def _beside(item: Planned) -> Planned:
    if item.attachment is not Attachment.INLINE or any(
        user.type == "AddN" for user in item.tensor.consumers()
    ):
        return item
    return replace(item, attachment=Attachment.BESIDE)
