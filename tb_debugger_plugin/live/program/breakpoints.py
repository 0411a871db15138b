"""The breakpoints of a program: which tensors and calls each is at, and how often it was hit.

Takes breakpoints from debuggers and tensors as functions are made; gives the gate its rules, and decides for
eager ops and calls.

Not thread-safe: the controller holds its lock.
"""

from __future__ import annotations

import os
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from tb_debugger_plugin.capture.gate import TensorOfGraph
from tb_debugger_plugin.capture.stacks.calls import RunningLine
from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.events.tensorflow_names import SESSION_GRAPH
from tb_debugger_plugin.live.messages.messages import Breakpoint, Message
from tb_debugger_plugin.live.program.conditions import OF_PROGRAM, TensorCondition, gate_rule, parse_condition
from tb_debugger_plugin.live.program.evaluate import ElementCondition
from tb_debugger_plugin.live.program.filters import Filter
from tb_debugger_plugin.live.program.lines import LineRuns, LinesOfFunctions, NearLine
from tb_debugger_plugin.live.program.places import (
    BreakpointTarget,
    OpPlace,
    RegexError,
    make_target,
    says_nothing,
)
from tb_debugger_plugin.native.structs import GateRule

# Tells where a condition begins to hold from where it is carried on: for the first of each origin only.
#
# A value is carried if an input of its op fulfils the condition as well; or if its op only passes on what
# came from elsewhere, such as an argument or a variable, and the condition has held before.
#
# Invariant: tensors come in the order in which they are computed, each before those that are computed from
# it.

#: Ops whose outputs come from other graphs or from earlier calls.
_PASSES_ON: Final = frozenset(
    (
        *("Placeholder", "ReadVariableOp", "VariableV2", "ResourceGather", "PartitionedCall"),
        *("StatefulPartitionedCall", "While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase"),
        *("Enter", "Exit", "Merge", "Switch", "NextIteration", "TensorListGetItem", "TensorListStack"),
    )
)

#: Calls that are remembered: as many as threads may run at the same time.
_MOST_CALLS: Final = 64


class ConditionBirths:
    """Where the condition of one breakpoint began to hold. Not thread-safe: the controller holds its lock."""

    def __init__(self) -> None:
        #: Ids of tensors, by call: of the last ones.
        self._holding: OrderedDict[int, set[int]] = OrderedDict()
        self._has_held = False

    def is_birth(self, tensor: TensorOfGraph, call: int, is_known: Callable[[int], bool]) -> bool:
        """Take in a tensor of a graph for which the condition holds; return whether it begins there.

        Args:
          tensor: The tensor.
          call: The number of its call.
          is_known: Whether a tensor passes the gate, by its id.
        """
        holding = self._holding.setdefault(call, set())
        if len(self._holding) > _MOST_CALLS:
            self._holding.popitem(last=False)
        is_carried = self._is_carried(tensor, holding, is_known)
        holding.add(tensor.tensor_id)
        self._has_held = True
        return not is_carried

    def _is_carried(self, tensor: TensorOfGraph, holding: set[int], is_known: Callable[[int], bool]) -> bool:
        if tensor.op_type in _PASSES_ON:
            return self._has_held
        if not all(map(is_known, tensor.inputs)):
            return bool(holding)
        return any(one in holding for one in tensor.inputs)

    def is_eager_birth(self, op_type: str, inputs: Iterable[bool]) -> bool:
        """Take in an output of an eager op for which the condition holds; return whether it begins there.

        Args:
          op_type: The type of the op.
          inputs: For each input, whether the condition holds for it.
        """
        is_carried = self._has_held if op_type in _PASSES_ON else any(inputs)
        self._has_held = True
        return not is_carried


#: Most breakpoints of a program.
MOST: Final = 200
#: Most log points among them, and hits of each that are kept: a state must not grow without bound.
MOST_LOG_POINTS: Final = 20
MAX_LOGGED: Final = 100
_MAX_LABEL: Final = 200


@dataclass
class Entry:
    """A breakpoint.

    Attributes:
      number: Names it.
      message: What the user asked for.
      target: What it stops at; None for every tensor. Its line is that to which it has moved.
      condition: What must hold of a tensor, at the current step and call.
      given: The same at any step and call.
      tensors: The tensors of graphs that it is at: those that fit, and some of those that its line leads to.
      fitting: The tensors of graphs that its target fits.
      led_to: Those that its line leads to.
      function: The function around its line, if it is made and the line leads to no tensor.
      hits: How often it was hit, except for the hits that the gate counts for its present rule.
      ignored: Of its hits, those since the user last said how many to ignore.
      rule: The rule that the gate has for it; None if it has none.
      refused: Why it cannot be used: it was kept from another run, and stays off; empty if it can.
      filter: The program's own function that its condition names; None if it names none.
      is_new: Whether the user has said anew how many hits to ignore, so that the gate must count anew.
      runs: When threads that run eagerly begin to run its line.
      births: Where its condition began to hold.
      logged: Its last hits, if it is a log point.
    """

    number: int
    message: Message
    target: BreakpointTarget | None
    condition: TensorCondition
    given: TensorCondition
    tensors: dict[int, TensorOfGraph] = field(default_factory=dict)
    fitting: dict[int, TensorOfGraph] = field(default_factory=dict)
    led_to: dict[int, TensorOfGraph] = field(default_factory=dict)
    function: str = ""
    hits: int = 0
    ignored: int = 0
    rule: GateRule | None = None
    filter: Filter | None = None
    is_new: bool = False
    refused: str = ""
    runs: LineRuns = field(default_factory=LineRuns)
    births: ConditionBirths = field(default_factory=ConditionBirths)
    logged: deque[Message] = field(default_factory=lambda: deque(maxlen=MAX_LOGGED))

    @property
    def enabled(self) -> bool:
        """Whether it is on."""
        return bool(self.message.enabled)

    @property
    def only_logs(self) -> bool:
        """Whether it is a log point: its hits are noted, and do not stop the program."""
        return bool(self.message.log_only)

    @property
    def may_be_eager(self) -> bool:
        """Whether it may be at an output of an eager op."""
        return self.target is None or self.target.may_be_eager

    def ignores(self) -> bool:
        """Count a hit of an eager op or of a call; return whether it is to be ignored."""
        self.hits += 1
        self.ignored += 1
        return self.ignored <= int(self.message.ignore)

    def move_to(self, line: int) -> None:
        """Be at another line, and at no tensor of it yet."""
        assert self.target is not None, "it is at a line"
        self.target = replace(self.target, line=line)
        self.tensors, self.fitting, self.led_to, self.function = {}, {}, {}, ""

    def take_in(self, tensors: Iterable[TensorOfGraph]) -> bool:
        """Take in new tensors; return whether it is at any of them."""
        wanted = [one for one in tensors if self._may_be_at(one)]
        fitting = {one.tensor_id: one for one in wanted if self._fits(one)}
        led_to = {one.tensor_id: one for one in wanted if self._leads_to(one)}
        self.fitting.update(fitting)
        self.led_to.update(led_to)
        if fitting or led_to:
            self.tensors = self._led() | self.fitting
        return bool(fitting or led_to)

    def _led(self) -> dict[int, TensorOfGraph]:
        """Of the tensors that its line leads to, the first of each graph in which none fits.

        With a condition, which chooses itself, all of them.
        """
        direct = {one.graph_id for one in self.fitting.values()}
        led = [one for one in self.led_to.values() if one.graph_id not in direct]
        if self.condition.is_always:
            led.sort(key=lambda one: -one.tensor_id)
            led = list({one.graph_id: one for one in led}.values())
        return {one.tensor_id: one for one in led}

    def _may_be_at(self, tensor: TensorOfGraph) -> bool:
        if self.refused or tensor.is_constant:
            return False
        if self.filter is not None and tensor.is_compiled:
            return False  # there is no value to give to it
        return tensor.is_recorded or self._wants_unrecorded

    def _fits(self, tensor: TensorOfGraph) -> bool:
        return self.target is None or self.target.fits(place_of(tensor))

    def _leads_to(self, tensor: TensorOfGraph) -> bool:
        target = self.target
        if target is None or not target.line or not target.fits_but_for_line(place_of(tensor)):
            return False
        return any(target.fits_line(*line) for line in tensor.lines)

    def begins_at(self, lines: Iterable[RunningLine]) -> bool:
        """Whether a thread that runs eagerly begins to run the line of the breakpoint, which is nothing else.

        Args:
          lines: The lines that the thread runs.
        """
        if self.target is None or not self.target.is_line or not self.condition.is_always:
            return False
        fitting = (one for one in lines if self.target.fits_line(one.path, one.line))
        return self.runs.begins(next(fitting, None))

    @property
    def moved_to(self) -> int:
        """The line to which it has moved; 0 if it is where the user has set it."""
        line = self.target.line if self.target is not None else 0
        return line if line != self.message.where.line else 0

    @property
    def _wants_unrecorded(self) -> bool:
        """Whether tensors get watch ops for it that have none: integers, truth values, strings."""
        return self.target is not None and not self.condition.only_bad

    @property
    def is_first_only(self) -> bool:
        """Whether values are no hits to which its condition was carried."""
        return bool(self.message.first_only) and not self.condition.is_always

    @property
    def counts_here(self) -> bool:
        """Whether the gate does not know which tensors are hits, so that it counts none."""
        return self.is_first_only or self.filter is not None

    def wanted_rule(self) -> GateRule | None:
        """Return the rule that the gate should have for it."""
        if not self.enabled or not self.tensors or self.condition.is_never:
            return None
        # To know what is carried, the values of all tensors are judged. Hits are then counted here.
        ids = None if self.target is None or self.is_first_only else frozenset(self.tensors)
        left = 0 if self.counts_here else max(0, int(self.message.ignore) - self.ignored)
        rule = gate_rule(self.number, ids, self.condition, left)
        if not self.is_new and self.rule is not None and self.rule == rule._replace(ignore=self.rule.ignore):
            return self.rule  # it goes on counting
        return rule

    def settle(self, counted: int, rule: GateRule | None) -> None:
        """Take over what the gate has counted, and note its next rule."""
        counted = 0 if self.counts_here else counted
        if rule is not self.rule:
            self.hits += counted
            self.ignored = 0 if self.is_new else self.ignored + counted
            self.rule, self.is_new = rule, False

    def problem(self, *, has_gate: bool) -> str:
        """Return why it cannot stop the program now, in one sentence; empty if it can."""
        if self.refused:
            return self.refused
        if not self.enabled or (self.target is not None and self.target.calls):
            return ""
        if not has_gate:
            return "Only eager ops and calls stop: the program has no native library."
        if not self.only_logs and any(one.is_compiled for one in self.tensors.values()):
            return "XLA compiles its function: while this is on, that runs uncompiled from its next call on."
        if isinstance(self.filter, ElementCondition) and self.filter.failure and not self.hits:
            return f"The condition does not hold: {self.filter.failure}"
        if self.tensors or self.hits:
            return ""
        if self.function:
            return no_tensor_on(self.message.where, self.function)
        eager = ", or when an eager op fits" if self.may_be_eager else ""
        return f"No tensor of a graph fits yet: it is set when a function that has one is made{eager}."

    @property
    def note(self) -> str:
        """Returns where it stops in place of the line that was asked for, in one sentence; or nothing."""
        if self.moved_to:
            asked = self.message.where.line
            return f"Line {asked} leads to no tensor: it stops at the next one that does, {self.moved_to}."
        if not self.tensors or self.fitting:
            return ""
        return f"It stops at {self.led_words}."

    @property
    def led_words(self) -> str:
        """Says at which of the tensors that its line leads to it stops."""
        return f"{'the first op' if self.condition.is_always else 'ops'} that the line leads to"


def no_tensor_on(where: Message, function: str) -> str:
    """Return the sentence about a line at which nothing can stop."""
    file = os.path.basename(where.path)
    return f"Neither line {where.line} of {file} nor a line of {function} below it leads to a tensor."


def place_of(tensor: TensorOfGraph) -> OpPlace:
    """Return where a tensor of a graph is made. An argument is made on no line of its function."""
    is_argument = bool(tensor.function) and tensor.op_type == "Placeholder"
    path, line = ("", 0) if is_argument else (tensor.path, tensor.line)
    return OpPlace(
        tensor.op_name,
        tensor.slot,
        tensor.op_type,
        tensor.layer,
        (tensor.function or SESSION_GRAPH,),
        path,
        line,
    )


class BreakpointList:
    """The breakpoints of a program, in the order in which they were set.

    Args:
      filters: The program's own functions that conditions may name.
    """

    def __init__(self, filters: Mapping[str, Filter] | None = None) -> None:
        self._filters = filters or {}
        self._entries: dict[int, Entry] = {}
        self._known: dict[int, TensorOfGraph] = {}
        self._lines = LinesOfFunctions()
        self._last_number = 0
        self._program: Mapping[str, float] = dict.fromkeys(OF_PROGRAM, 0)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def get(self, number: int) -> Entry | None:
        """Return a breakpoint; None if there is none of that number."""
        return self._entries.get(number)

    @property
    def enabled(self) -> list[Entry]:
        """The breakpoints that are on."""
        return [one for one in self if one.enabled]

    def at(self, program: Mapping[str, float]) -> bool:
        """Take the step and the call of the program; return whether that changes a condition."""
        self._program = program
        return any([self._settle_condition(one) for one in self])

    def _settle_condition(self, entry: Entry) -> bool:
        condition = entry.given.at(self._program)
        if condition == entry.condition:
            return False
        entry.condition = condition
        self._place(entry)
        return True

    @property
    def has_log_points(self) -> bool:
        """Whether a log point is on."""
        return any(one.only_logs for one in self.enabled)

    def set(self, message: Message) -> int:
        """Add a breakpoint, or change the one whose number is given; return its number.

        Raises:
          UsageError: It cannot be used.
          NotFoundError: There is none of that number.
        """
        entry = self._entry(message)
        earlier = self._entries.get(message.number)
        if message.number and earlier is None:
            raise NotFoundError(f"There is no breakpoint {message.number}.")
        if earlier is None:
            if len(self._entries) >= MOST:
                raise UsageError(f"A program has at most {MOST} breakpoints: remove some.")
            self._check_log_points(message)
            self._last_number += 1
            entry.number = self._last_number
        else:
            if not earlier.only_logs:
                self._check_log_points(message)
            entry.number, entry.hits, entry.rule = earlier.number, earlier.hits, earlier.rule
            entry.logged = earlier.logged
            entry.is_new = entry.message.ignore != earlier.message.ignore
            entry.ignored = 0 if entry.is_new else earlier.ignored
        self._entries[entry.number] = entry
        return entry.number

    def _check_log_points(self, message: Message) -> None:
        if message.log_only and sum(one.only_logs for one in self) >= MOST_LOG_POINTS:
            raise UsageError(f"A program has at most {MOST_LOG_POINTS} log points: remove some.")

    def keep(self, message: Message) -> None:
        """Add a breakpoint that was kept from another run; one whose regular expression is none stays off.

        Raises:
          UsageError: It cannot be used for another reason.
        """
        try:
            self.set(message)
        except RegexError as error:
            kept = Breakpoint()
            kept.CopyFrom(message)
            kept.enabled = False
            self._last_number += 1
            always = parse_condition("")
            refused = Entry(self._last_number, kept, None, always, always, refused=str(error))
            self._entries[refused.number] = refused

    def _entry(self, message: Message) -> Entry:
        name = message.condition.strip()
        filtering = self._filters.get(name)
        if filtering is None and ElementCondition.is_meant(name):
            filtering = ElementCondition(name, lambda: self._program)
        condition = parse_condition(message.condition) if filtering is None else TensorCondition(name)
        where = message.where
        is_always = condition.is_always and filtering is None
        if where.calls and (filtering is not None or condition.reads_tensors):
            raise UsageError("A call has no numbers: a condition there names only the step and the call.")
        if message.ignore < 0 or len(message.label) > _MAX_LABEL:
            raise UsageError("A breakpoint ignores 0 hits or more, and its label has at most 200 characters.")
        is_anywhere = says_nothing(where) and not is_always
        target = None if is_anywhere else make_target(where)
        entry = Entry(0, Breakpoint(), target, condition.at(self._program), condition, filter=filtering)
        entry.message.CopyFrom(message)
        self._place(entry)
        if entry.function and not message.number:
            raise UsageError(no_tensor_on(where, entry.function))
        return entry

    def _place(self, entry: Entry) -> None:
        """Find the tensors that a breakpoint is at, on its own line or on the next one that leads to some."""
        target = entry.target
        if target is None or not target.is_line:
            entry.take_in(self._known.values())
            return
        entry.move_to(int(entry.message.where.line))
        if not entry.take_in(self._known.values()):
            self._move(entry)

    def _move(self, entry: Entry) -> None:
        """Move a breakpoint to the next line that leads to tensors, if that of its own leads to none."""
        near = self._next_line(entry, int(entry.message.where.line) + 1)
        if near is not None and near.line:
            entry.move_to(near.line)
            entry.take_in(self._known.values())
        elif near is not None:
            entry.function = near.function.name

    def _next_line(self, entry: Entry, first: int) -> NearLine | None:
        target = entry.target
        assert target is not None, "it is at a line"
        paths = [one for one in self._lines.paths if target.fits_line(one, target.line)]
        return self._lines.near(paths, int(entry.message.where.line), first)

    def remove(self, number: int) -> None:
        """Remove a breakpoint.

        Raises:
          NotFoundError: There is none of that number.
        """
        if self._entries.pop(number, None) is None:
            raise NotFoundError(f"There is no breakpoint {number}.")

    def take_in(self, tensors: Iterable[TensorOfGraph]) -> bool:
        """Take in tensors of graphs that are new, or of which more is known; return whether any fits."""
        tensors = list(tensors)
        self._known.update((one.tensor_id, one) for one in tensors)
        self._lines.take_in(tensors)
        return any([self._take_in(one, tensors) for one in self])

    def _take_in(self, entry: Entry, tensors: list[TensorOfGraph]) -> bool:
        if entry.moved_to:
            near = self._next_line(entry, int(entry.message.where.line))
            if near is not None and near.line != entry.moved_to:
                self._place(entry)
                return True
        fits = entry.take_in(tensors)
        if not entry.tensors and entry.target is not None and entry.target.is_line:
            self._move(entry)
        elif entry.tensors:
            entry.function = ""
        return fits

    def rules(self, counted: Mapping[int, int]) -> list[GateRule]:
        """Return the rules that the gate should have from now on.

        Args:
          counted: Hits that the gate has counted, by number of the rule.
        """
        rules = []
        for one in self:
            rule = one.wanted_rule()
            before = one.rule
            one.settle(counted.get(one.number, 0), rule)
            if rule is not None and rule is not before:
                left = 0 if one.counts_here else max(0, int(one.message.ignore) - one.ignored)
                one.rule = rule = rule._replace(ignore=left)
            if rule is not None:
                rules.append(rule)
        return rules

    def forget_rules(self, counted: Mapping[int, int]) -> None:
        """Take over what the gate has counted; it has no rules from now on."""
        for one in self:
            one.settle(counted.get(one.number, 0), None)

    def isolated(self) -> frozenset[int]:
        """Return the tensors that should have watch ops of their own.

        A log point holds nothing up, so that it needs them only where there are none.
        """
        return frozenset(
            number
            for one in self.enabled
            if one.target is not None
            for number, tensor in one.tensors.items()
            if not one.only_logs or not tensor.is_recorded
        )

    def messages(self, counted: Mapping[int, int], *, has_gate: bool) -> list[Message]:
        """Return the breakpoints with what the program knows of them.

        Args:
          counted: Hits that the gate has counted, by number of the rule.
          has_gate: Whether tensors of graphs can stop at all.
        """
        messages = []
        for one in self:
            message = Breakpoint()
            message.CopyFrom(one.message)
            is_counted = one.rule is not None and not one.counts_here
            at_gate = counted.get(one.number, 0) if is_counted else 0
            message.number = one.number
            message.hits = one.hits + at_gate
            message.ignore = max(0, int(message.ignore) - one.ignored - at_gate)
            message.num_tensors = len(one.tensors)
            message.problem = one.problem(has_gate=has_gate)
            message.note = one.note
            del message.logged[:]
            message.logged.extend(one.logged)
            messages.append(message)
        return messages
