"""Everything that may stop the program: breakpoints, the last order, and what is watched.

Gives the gate its rules, and says why a tensor or a call stops the program.

Not thread-safe: the controller holds its lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from tb_debugger_plugin.capture.gate import Gate, TensorOfGraph
from tb_debugger_plugin.capture.stacks.calls import RunningLine
from tb_debugger_plugin.live.messages.messages import Message, Pause
from tb_debugger_plugin.live.program.breakpoints import BreakpointList, Entry, place_of
from tb_debugger_plugin.live.program.conditions import (
    OF_PROGRAM,
    UNTIL_CONDITION,
    UNTIL_TENSOR,
    TensorCondition,
    gate_rule,
    measuring_rule,
    parse_condition,
)
from tb_debugger_plugin.live.program.filters import Filter
from tb_debugger_plugin.live.program.places import BreakpointTarget, OpPlace, described, make_target
from tb_debugger_plugin.live.program.tensors import known_numbers
from tb_debugger_plugin.live.program.watched import Watched
from tb_debugger_plugin.native.structs import GateHit, GateRule

_ALWAYS = TensorCondition("")


class Asks(NamedTuple):
    """What is asked of the status about the tensor or the call at which a breakpoint may be hit.

    Attributes:
      passes: Asks the filter of a breakpoint of the tensor.
      log: Notes a hit of a log point.
    """

    passes: Callable[[Entry], bool]
    log: Callable[[Entry], None]


#: For what has neither filters nor log points.
NO_ASKS: Final = Asks(lambda entry: False, lambda entry: None)


@dataclass(frozen=True)
class RunOrder:
    """What the program was told to do.

    Attributes:
      text: It in words, for `State.doing`.
      at_next_tensor: Whether the next tensor stops it.
      at_next_call: Whether the next call stops it.
      calls: How many calls it may make; 0 for any number.
      after_calls: The numbers of calls at the end of which it stops: the first that ends.
      condition: What stops it when it holds for any tensor; None for nothing.
      target: The tensor that stops it; None for none.
      reason: Why it stops at the next tensor or call.
    """

    text: str = ""
    at_next_tensor: bool = False
    at_next_call: bool = False
    calls: int = 0
    after_calls: frozenset[int] = frozenset()
    condition: TensorCondition | None = None
    target: BreakpointTarget | None = None
    reason: int = int(Pause.STEP)

    @property
    def looks_at_tensors(self) -> bool:
        """Whether a tensor may stop it."""
        return self.at_next_tensor or self.condition is not None or self.target is not None


STEP: Final = RunOrder("step", at_next_tensor=True, at_next_call=True)
STEP_OVER: Final = RunOrder("step_over", at_next_call=True)
PAUSE: Final = RunOrder("pause", at_next_tensor=True, at_next_call=True, reason=int(Pause.ASKED))


def continuation(message: Message) -> RunOrder:
    """Return the order that a `Continue` gives.

    Raises:
      UsageError: Its condition or its tensor is none.
    """
    words = ["continue"]
    calls = max(0, int(message.calls))
    if calls:
        words.append(f"{calls} call{'s' if calls > 1 else ''}")
    condition = parse_condition(message.condition) if message.condition.strip() else None
    if condition is not None:
        words.append(f"until {condition.text}")
    target = make_target(message.tensor) if message.HasField("tensor") else None
    if target is not None:
        words.append(f"to {described(message.tensor)}")
    return RunOrder(" ".join(words), calls=calls, condition=condition, target=target)


class Why(NamedTuple):
    """Why the program stops.

    Attributes:
      reason: A `Pause.Reason`.
      text: In words; empty for a step.
      breakpoint: The breakpoint that hit; 0 if it was none.
    """

    reason: int
    text: str = ""
    breakpoint: int = 0


class Aims:
    """What may stop the program.

    Args:
      gate: The gate of the recording; None without one.
      filters: The program's own functions that conditions may name.
    """

    def __init__(self, gate: Gate | None, filters: Mapping[str, Filter] | None = None) -> None:
        self._gate = gate
        self.breakpoints = BreakpointList(filters)
        self.watched = Watched()
        self.order = RunOrder()
        #: Calls that are left of a continuation.
        self.calls_left = 0
        self._known: dict[int, TensorOfGraph] = {}
        self._rules: list[GateRule] = []
        self._held_bytes = 0
        self._program: Mapping[str, float] = dict.fromkeys(OF_PROGRAM, 0)
        #: The condition of the order, at the current step and call.
        self._until: TensorCondition | None = None
        #: Whether tensors are noted as they are computed, and their values held.
        self.is_noting = False

    def take_in(self, tensors: Iterable[TensorOfGraph]) -> None:
        """Take in tensors of graphs that are new, or of which more is known."""
        tensors = list(tensors)
        self._known.update((one.tensor_id, one) for one in tensors)
        self.breakpoints.take_in(tensors)
        self.watched.take_in(tensors)

    def give(self, order: RunOrder, *, is_over: bool) -> None:
        """Take an order.

        Args:
          order: The order.
          is_over: Whether the current call has ended, so that it does not count as one of several.
        """
        self.order = order
        self._until = None if order.condition is None else order.condition.at(self._program)
        self.calls_left = order.calls + (1 if is_over and order.calls else 0)

    def at(self, program: Mapping[str, float]) -> bool:
        """Take the step and the call of the program; return whether that changes what stops it."""
        before, self._program = self._until, program
        if self.order.condition is not None:
            self._until = self.order.condition.at(program)
        return self.breakpoints.at(program) or self._until != before

    @property
    def looks(self) -> bool:
        """Whether anything may stop the program at a tensor, or is followed."""
        order = self.order
        is_at_calls = order.at_next_call or order.calls > 0 or bool(order.after_calls)
        is_ordered = order.looks_at_tensors or is_at_calls
        return is_ordered or bool(self.breakpoints.enabled) or bool(self.watched)

    def apply(self, *, is_on: bool, is_paused: bool, max_bytes: int) -> None:
        """Tell the gate what is wanted.

        Args:
          is_on: Whether anything may stop the program.
          is_paused: Whether it is paused: then threads of graphs stop at their next tensor.
          max_bytes: Bytes of values to hold, if any are wanted.
        """
        self.is_noting = is_on and (is_paused or self.looks)
        if self._gate is None:
            return
        counted = self._gate.counts().hits
        rules: list[GateRule] = []
        if is_on:
            rules = [*self.breakpoints.rules(counted), *self._ordered(), *self._measured()]
        else:
            self.breakpoints.forget_rules(counted)
        if rules != self._rules:
            self._gate.set_rules(rules)
            self._rules = rules
        wanted = max_bytes if self.is_noting else 0
        if wanted != self._held_bytes:
            self._gate.hold_values(wanted)
            self._held_bytes = wanted
        self._gate.stop_at_next(is_on and (is_paused or self.order.at_next_tensor))

    def _ordered(self) -> Iterable[GateRule]:
        if self._until is not None and not self._until.is_never:
            yield gate_rule(UNTIL_CONDITION, None, self._until)
        ids = self._targets()
        if ids:
            yield gate_rule(UNTIL_TENSOR, ids, _ALWAYS)

    def _targets(self) -> frozenset[int]:
        target = self.order.target
        if target is None:
            return frozenset()
        fitting = (one for one in self._known.values() if not one.is_constant and target.fits(place_of(one)))
        return frozenset(one.tensor_id for one in fitting)

    def _measured(self) -> Iterable[GateRule]:
        ids = self.watched.tensor_ids()
        if ids:
            yield measuring_rule(ids)

    def isolated(self) -> frozenset[int]:
        """Return the tensors that should have watch ops of their own."""
        return self.breakpoints.isolated() | self._targets() | self.watched.unrecorded()

    def messages(self) -> list[Message]:
        """Return the breakpoints."""
        counted = self._gate.counts().hits if self._gate is not None else {}
        return self.breakpoints.messages(counted, has_gate=self._gate is not None)

    # Why the program stops.

    def why_hit(self, hit: GateHit, call: int = 0, asks: Asks = NO_ASKS) -> Why | None:
        """Return why a hit stops the program; None if it is not wanted any more.

        Args:
          hit: The hit.
          call: The number of the current call.
          asks: About the tensor.
        """
        entry = self.breakpoints.get(hit.rule)
        # The rule that the gate names decides alone, if it is no log point and no other is there.
        if self.breakpoints.has_log_points or (entry is not None and entry.enabled and entry.counts_here):
            return self._why_here(entry, hit, call, asks)
        if hit.rule == 0:
            return Why(self.order.reason, self._asked()) if self.order.at_next_tensor else None
        if hit.rule == UNTIL_CONDITION:
            return self._until_condition()
        if hit.rule == UNTIL_TENSOR:
            return self._until_tensor() if self.order.target is not None else None
        return _why_breakpoint(entry) if entry is not None and entry.enabled else None

    def _why_here(self, named: Entry | None, hit: GateHit, call: int, asks: Asks) -> Why | None:
        """Why a hit stops the program if the rule that the gate names does not decide alone.

        Args:
          named: The breakpoint of this rule; None if it is that of no breakpoint.
          hit: The hit.
          call: The number of the current call.
          asks: About the tensor.
        """
        numbers = known_numbers(hit.tensor)
        counted = self._gate.counts().hits if self._gate is not None else {}

        def is_hit(entry: Entry) -> bool:
            if entry.filter is not None:
                is_at = entry.target is None or hit.tensor.tensor_id in entry.tensors
                return is_at and asks.passes(entry) and not entry.ignores()
            if not entry.condition.holds(numbers):
                return False
            if entry.is_first_only:
                return self._is_birth(entry, hit, call)
            return _is_counted(entry, hit, counted)

        others = [one for one in self.breakpoints.enabled if one is not named]
        first = [named] if named is not None and named.enabled else []
        return self._first_hit([*first, *others], is_hit, asks) or self._why_ordered(hit, numbers)

    def _first_hit(self, entries: Sequence[Entry], is_hit: Callable[[Entry], bool], asks: Asks) -> Why | None:
        """Note hits of log points; return why the first other breakpoint that is hit stops the program."""
        for entry in entries:
            if entry.only_logs and is_hit(entry):
                asks.log(entry)
        hits = (entry for entry in entries if not entry.only_logs and is_hit(entry))
        stops = next(hits, None)
        return None if stops is None else _why_breakpoint(stops)

    def _why_ordered(self, hit: GateHit, numbers: Mapping[str, float]) -> Why | None:
        """Why the last order stops the program at a tensor."""
        if self._until is not None and self._until.holds(numbers):
            return self._until_condition()
        if hit.tensor.tensor_id in self._targets():
            return self._until_tensor()
        return Why(self.order.reason, self._asked()) if self.order.at_next_tensor else None

    def _is_birth(self, entry: Entry, hit: GateHit, call: int) -> bool:
        """Whether the condition of a breakpoint begins to hold at a hit, which is not to be ignored."""
        tensor = self._known.get(hit.tensor.tensor_id)
        if tensor is None or not entry.births.is_birth(tensor, call, self._known.__contains__):
            return False
        is_at = entry.target is None or hit.tensor.tensor_id in entry.tensors
        return is_at and not entry.ignores()

    @property
    def looks_at_lines(self) -> bool:
        """Whether it matters which lines the threads of the program run."""
        return any(one.target is not None and one.target.line for one in self.breakpoints.enabled)

    def why_eager(
        self,
        place: OpPlace,
        numbers: Callable[[], Mapping[str, float]],
        lines: Sequence[RunningLine] = (),
        inputs: Callable[[], Iterable[Mapping[str, float]]] = tuple,
        asks: Asks = NO_ASKS,
    ) -> Why | None:
        """Return why an output of an eager op stops the program; None if it does not.

        Args:
          place: Where it was made.
          numbers: Returns its numbers.
          lines: The lines that the thread runs, innermost first; only if `looks_at_lines`.
          inputs: Returns the numbers of the inputs of its op.
          asks: About the output.
        """

        def is_hit(entry: Entry) -> bool:
            if not _is_at(entry, place, lines) or not _holds(entry.condition, numbers):
                return False
            is_chosen = _is_first(entry, place, inputs) and (entry.filter is None or asks.passes(entry))
            return is_chosen and not entry.ignores()

        why = self._first_hit(self.breakpoints.enabled, is_hit, asks)
        if why is not None:
            return why
        if self._until is not None and _holds(self._until, numbers):
            return self._until_condition()
        target = self.order.target
        if target is not None and target.may_be_eager and target.fits(place):
            return self._until_tensor()
        return Why(self.order.reason, self._asked()) if self.order.at_next_tensor else None

    def why_call(self, name: str, lines: Sequence[RunningLine] = (), asks: Asks = NO_ASKS) -> Why | None:
        """Return why the program stops before a call; None if it does not. Counts the call.

        Args:
          name: The name of what is called.
          lines: The lines that the thread runs, innermost first; only if `looks_at_lines`.
          asks: About the call.
        """

        def is_hit(entry: Entry) -> bool:
            is_at = entry.target is not None and entry.target.fits_call(name) and entry.condition.holds({})
            return (is_at or entry.begins_at(lines)) and not entry.ignores()

        why = self._first_hit(self.breakpoints.enabled, is_hit, asks)
        if self.calls_left:
            self.calls_left -= 1
            if not self.calls_left:
                return Why(int(Pause.BEFORE_CALL))
        if why is not None or not self.order.at_next_call:
            return why
        is_asked = self.order.reason == Pause.ASKED
        return Why(int(Pause.ASKED if is_asked else Pause.BEFORE_CALL), self._asked())

    def why_after_call(self, number: int) -> Why | None:
        """Return why the program stops after a call that returned; None if it does not.

        Args:
          number: The number of the call.
        """
        if number in self.order.after_calls:
            return Why(int(Pause.AFTER_CALL))
        is_asked = self.order.at_next_call and self.order.reason == Pause.ASKED
        return Why(int(Pause.ASKED), self._asked()) if is_asked else None

    def _asked(self) -> str:
        return "paused as asked" if self.order.reason == Pause.ASKED else ""

    def _until_condition(self) -> Why | None:
        condition = self.order.condition
        return None if condition is None else Why(int(Pause.CONDITION), f"{condition.text} holds")

    def _until_tensor(self) -> Why:
        return Why(int(Pause.CONDITION), "continued to this tensor")


def _is_counted(entry: Entry, hit: GateHit, counted: Mapping[int, int]) -> bool:
    """Whether the gate has counted a hit as one of a breakpoint that is not to be ignored."""
    rule = entry.rule
    if rule is None or counted.get(rule.number, 0) <= rule.ignore:
        return False
    return rule.tensor_ids is None or hit.tensor.tensor_id in rule.tensor_ids


def _is_at(entry: Entry, place: OpPlace, lines: Sequence[RunningLine]) -> bool:
    target = entry.target
    begins = entry.begins_at(lines)  # asked of each op
    if target is None or begins:
        return True
    if not target.may_be_eager or not target.fits_but_for_line(place):
        return False
    if target.fits(place):
        return True
    return not entry.condition.is_always and any(target.fits_line(one.path, one.line) for one in lines)


def _is_first(entry: Entry, place: OpPlace, inputs: Callable[[], Iterable[Mapping[str, float]]]) -> bool:
    if not entry.is_first_only:
        return True
    holding = (entry.condition.holds(numbers) for numbers in inputs())
    return entry.births.is_eager_birth(place.op_type, holding)


def _holds(condition: TensorCondition, numbers: Callable[[], Mapping[str, float]]) -> bool:
    return condition.is_always or condition.holds(numbers())


def _why_breakpoint(entry: Entry) -> Why:
    label = entry.message.label or described(entry.message.where)
    text = f"breakpoint {entry.number} ({label})" if label else f"breakpoint {entry.number}"
    if entry.moved_to:
        text = f"{text}, moved to line {entry.moved_to}"
    elif entry.led_to and not entry.fitting:
        text = f"{text}, at {entry.led_words}"
    if entry.filter is not None:
        text = f"{text}, {entry.condition.text} passes"
    elif entry.condition.text:
        text = f"{text}, {entry.condition.text} holds"
    return Why(int(Pause.BREAKPOINT), text, entry.number)
