"""What is known of a program at this moment, and the lock that guards it.

Hooks, gate and commands change it by its methods; the state that debuggers see is made of it.

Invariants: only methods of `Status` write its fields. One lock guards everything, and nothing waits for the
program or for its files while it holds the lock. Methods want it to be held.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TYPE_CHECKING, Final, TypeAlias

from tb_debugger_plugin.capture.gate import Gate, TensorOfGraph
from tb_debugger_plugin.capture.stacks.calls import RunningLine
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.live.messages.messages import LoggedHit, Message, Notice, Number, StackLine, State
from tb_debugger_plugin.live.program.aims import Aims, Asks, RunOrder
from tb_debugger_plugin.live.program.breakpoints import Entry
from tb_debugger_plugin.live.program.filters import asked
from tb_debugger_plugin.live.program.followers import Clock, Followers, Waiting
from tb_debugger_plugin.live.program.interface import BreakpointSettings, ProgramCall
from tb_debugger_plugin.live.program.tensors import CallTensors, EagerValue, ReadEager
from tb_debugger_plugin.live.program.unseen_calls import CountedCalls, UnseenCalls
from tb_debugger_plugin.native.structs import NO_CALL, GateHit

if TYPE_CHECKING:
    from tb_debugger_plugin.capture.tf_types import EagerTensors
    from tb_debugger_plugin.live.program.api import Breakpoints

_MOST: Final = 20


class LastNotices:
    """The last notices. Not thread-safe: the controller holds its lock."""

    def __init__(self) -> None:
        self._last: deque[Message] = deque(maxlen=_MOST)
        self._number = 0

    def add(self, sentence: str) -> None:
        """Add a notice."""
        self._number += 1
        self._last.append(Notice(number=self._number, sentence=sentence))

    def messages(self) -> list[Message]:
        """Return them, oldest first."""
        return list(self._last)


#: Phases in which threads are held.
STOPPED: Final = (int(State.WAITING), int(State.PAUSED))
#: Phases in which the program never stops again.
OFF: Final = (int(State.DETACHED), int(State.ENDED))

#: Calls that are listed by their threads, and lines of a stack.
_MOST_THREADS: Final = 100
_MOST_LINES: Final = 100
#: Returns the lines of the program in a running stack, innermost first.
LinesOf: TypeAlias = "Callable[[FrameType], Sequence[RunningLine]]"


@dataclass
class Stop:
    """Where the program is paused.

    Attributes:
      hit: The thread of a graph that is held; None at a hook.
      eager: The output of an eager op; None elsewhere.
      changed: Its new value.
    """

    hit: GateHit | None = None
    eager: EagerValue | None = None
    changed: Array | None = None


class Status:
    """The status of one program.

    Args:
      settings: What debuggers may do.
      program: The program.
      clock: The time.
      read_eager: Returns the elements of an eager tensor.
      lines_of: Returns the lines of the program in a running stack.

    Attributes:
      lock: Guards everything; notified at each new version.
      phase: `State.phase`.
      version: Rises with each change.
      has_news: Whether counts have changed since the last version.
      has_begun: Whether the program has been let go for the first time.
      waiting: How long it has waited for its first debugger.
      unseen: Lets calls pass at which nobody looks.
      open_calls: The calls that run, except for those, by their numbers.
      held_calls: The calls whose threads wait in hooks, by their numbers.
      wants_a_call: Whether the facts of the next call are wanted, for the state.
      isolated: The tensors that have watch ops of their own.
      call: The call that runs, or ran last, of those that were seen; None before the first one.
      call_message: It as a message, if that was made.
      is_over: Whether it has ended.
      knows_thread: Whether it is known to be the call of the thread that stopped.
      pause: Where the program is paused, for debuggers; None if it runs.
      pause_number: Of the last pause.
      stop: Where the program is paused.
      threads_here: Threads that wait in hooks.
      sees_eager: Whether the program hands over eager ops.
      is_noting: Whether tensors have been noted since the last call began.
      told_to_end: When a debugger told the program to end; None if none did.
    """

    def __init__(
        self,
        settings: BreakpointSettings,
        program: Breakpoints,
        clock: Clock,
        read_eager: ReadEager,
        lines_of: LinesOf,
    ) -> None:
        self.settings = settings
        self.program = program
        self.clock = clock
        self._lines_of = lines_of
        self.lock = threading.Condition()
        self.gate: Gate | None = program.recording.gate
        self.aims = Aims(self.gate, settings.filters)
        self.tensors = CallTensors(self.gate, settings.max_held_bytes, read_eager)
        self.followers = Followers(settings.when_alone, clock)
        self.notices = LastNotices()
        self.counted = CountedCalls()
        self.unseen = UnseenCalls(self.counted)
        self.open_calls: dict[int, ProgramCall] = {}
        self.held_calls: dict[int, ProgramCall] = {}
        self.wants_a_call = False
        self.isolated: frozenset[int] = frozenset()
        self.phase = int(State.RUNNING)
        self.version = 1
        self.has_news = False
        self.has_begun = not settings.wait
        self.waiting = Waiting(settings.wait_s, clock)
        self.call: ProgramCall | None = None
        self.call_message: Message | None = None
        self.is_over = self.knows_thread = True
        self.pause: Message | None = None
        self.pause_number = 0
        self.stop = Stop()
        self.threads_here = 0
        self.sees_eager = False
        self.is_noting = False
        self.told_to_end: float | None = None
        self._was_on = self._tells_apart = False
        self._told_calls = 0  # CountedCalls.num_calls, in the last version

    @property
    def is_stopped(self) -> bool:
        """Whether threads are held. Needs no lock."""
        return self.phase in STOPPED

    @property
    def is_off(self) -> bool:
        """Whether the program never stops again. Needs no lock."""
        return self.phase in OFF

    @property
    def may_stop(self) -> bool:
        """Whether anything may stop the program now."""
        if self.is_off:
            return False
        return not self.has_begun or not self.followers.is_alone

    @property
    def paused_at(self) -> int:
        """Number of the tensor at which the program is paused; 0 if it is none."""
        if self.pause is None or not self.pause.HasField("tensor"):
            return 0
        return int(self.pause.tensor.number)

    def message(self) -> Message:
        """Return the `State`."""
        if not self.is_off:
            self.take_up_calls()
        held, dropped = self.tensors.held_bytes()
        state = State(
            version=self.version,
            phase=self.phase,
            breakpoints=self.aims.messages(),
            read_only=self.settings.read_only,
            may_change_values=self.settings.may_change_values,
            followers=self.followers.count,
            doing=self.aims.order.text,
            calls_left=self.aims.calls_left,
            watched=self.aims.watched.messages(),
            notices=self.notices.messages(),
            calls=self.counted.messages(),
            held_bytes=held,
            max_held_bytes=self.settings.max_held_bytes,
            dropped_values=dropped,
        )
        if self.call is not None:
            if self.call_message is None:
                self.call_message = self.call.message()
            state.call.CopyFrom(self.call_message)
            state.call.is_over = self.is_over
            state.call.thread = self.call_message.thread if self.knows_thread else self._threads_at_hand()
        at_gate = self.gate.held_calls if self.gate is not None else ()
        if self.pause is not None:
            state.pause.CopyFrom(self.pause)
            here = self.threads_here - (1 if self.stop.hit is None else 0)
            state.pause.held_threads = max(0, here) + len(at_gate)
        state.running.extend(self._running({*at_gate, *self.held_calls}))
        return state

    def _threads_at_hand(self) -> str:
        """Return the threads of which one is looked at, where they cannot be told apart."""
        return " or ".join(sorted({call.thread for call in self.open_calls.values()}))

    def _running(self, held: set[int]) -> list[Message]:
        """Return the calls of the threads that are inside of one, or stopped before or after it."""
        if not self.is_stopped:
            return [one.message() for _, one in sorted(self.open_calls.items())[:_MOST_THREADS]]
        calls = {**self.open_calls, **self.held_calls}
        if self.call is not None and self.stop.eager is None:
            calls[self.call.number] = self.call
            held = {*held, self.call.number} if self.knows_thread else held
        messages = []
        for number in sorted(calls)[:_MOST_THREADS]:
            message = calls[number].message(is_held=number in held)
            message.stack.extend(self.stack_of(calls[number].ident))
            messages.append(message)
        return messages

    def stack_of(self, ident: int) -> list[Message]:
        """Return the lines of the program that a thread runs, innermost first; none if it has none.

        Args:
          ident: Python's number of the thread.
        """
        frame = sys._current_frames().get(ident)
        if frame is None:
            return []
        try:
            lines = self._lines_of(frame)[:_MOST_LINES]
        except Exception:  # the stack of a thread that runs may change meanwhile
            return []
        return [StackLine(path=one.path, line=one.line, function=one.frame.f_code.co_name) for one in lines]

    # Debuggers come and go.

    def join(self) -> None:
        """Count one more debugger, which looks at the program."""
        self.followers.join()
        if self.phase == State.WAITING:
            self.phase = int(State.PAUSED)
        self.wants_a_call = True
        self.apply()
        self.news()

    def leave(self, keep_s: float) -> None:
        """Count one debugger less; see `Followers.leave`."""
        self.followers.leave(keep_s)
        if self.phase == State.PAUSED and not self.has_begun and not self.followers.count:
            self.phase = int(State.WAITING)
        self.news()

    # The program pauses, and goes on.

    def begin_pause(self, stop: Stop, pause: Message) -> None:
        """Pause the program.

        Args:
          stop: Where it stops.
          pause: The same for debuggers, as the next of all pauses.
        """
        is_waiting = not self.has_begun and not self.followers.count
        self.phase = int(State.WAITING if is_waiting else State.PAUSED)
        self.stop, self.pause, self.pause_number = stop, pause, int(pause.number)
        self._order(RunOrder(self.aims.order.text), is_over=False)
        self.news()

    def end_pause(self, order: RunOrder) -> Stop:
        """Let the program run on by an order; return where it was paused."""
        stop = self._run_on(int(State.RUNNING))
        self._order(order, is_over=self.is_over)
        return stop

    def end(self, phase: int) -> None:
        """Let the program run on without stopping again.

        Args:
          phase: The phase from now on.
        """
        self._run_on(phase)
        self._order(RunOrder(), is_over=False)
        if self.gate is not None:
            self.gate.let_all_pass()
        self.tensors.drop_eager()
        self.news()

    def _run_on(self, phase: int) -> Stop:
        stop, self.stop, self.pause = self.stop, Stop(), None
        self.phase, self.has_begun = phase, True
        return stop

    def _order(self, order: RunOrder, *, is_over: bool) -> None:
        self.aims.give(order, is_over=is_over)
        self.apply()

    @contextlib.contextmanager
    def thread_here(self, call: ProgramCall | None) -> Iterator[None]:
        """Count a thread that waits in a hook, inside a block.

        Args:
          call: The call before or after which it waits; None at an eager op.
        """
        self.threads_here += 1
        if call is not None:
            self.held_calls[call.number] = call
        try:
            yield
        finally:
            self.threads_here -= 1
            if call is not None:
                self.held_calls.pop(call.number, None)

    def tell_to_end(self) -> None:
        """Note that a debugger tells the program to end."""
        self.told_to_end = self.clock.now()

    def forget_told_to_end(self) -> None:
        """Note that the program ends as it was told."""
        self.told_to_end = None
        self.apply()

    # Tensors and calls.

    def take_in(self, tensors: Sequence[TensorOfGraph]) -> None:
        """Take in tensors of graphs that are new, or of which more is known."""
        self.tensors.know(tensors)
        self.aims.take_in(tensors)
        if self._was_on:
            self.apply()
        self.has_news = True

    def add_eager(self, op_type: str, outputs: EagerTensors, path: str, line: int) -> list[EagerValue]:
        """Add the outputs of an eager op; see `CallTensors.add_eager`."""
        self.has_news = True
        return self.tensors.add_eager(op_type, outputs, path, line, held=self.aims.looks)

    def count_call(self, call: ProgramCall, message: Message | None, *, stops: bool) -> None:
        """Count a call that is about to run.

        Args:
          call: The call.
          message: It as a message, if that was wanted.
          stops: Whether the program stops there.
        """
        if stops or not self.open_calls:
            self.show_call(call, message)
        self.wants_a_call = self.wants_a_call and message is None
        self.counted.add(call)
        self.has_news = True

    def take_program(self, call: int) -> None:
        """Take the current step of the program, and its call, which conditions may name."""
        if self.aims.at({"step": self.program.recording.step, "call": call}) and not self.is_off:
            self.apply()

    def show_call(self, call: ProgramCall, message: Message | None = None, *, is_over: bool = False) -> None:
        """Make a call the current one, of which the thread is known.

        Args:
          call: The call.
          message: It as a message; None if that is not made.
          is_over: Whether it has ended.
        """
        if message is not None or call is not self.call:
            self.call, self.call_message = call, message
        self.is_over, self.knows_thread = is_over, True

    def begin_call(self, call: ProgramCall) -> frozenset[int] | None:
        """Note that a call runs from now on; return what should be isolated, if that is new."""
        is_only = not self.open_calls
        if self.is_off:
            return self.no_longer_isolated()
        self.open_calls[call.number] = call
        if is_only:
            self.tensors.call = call.number
        if self.is_noting:
            self.follow_graphs()
            self.is_noting = self.aims.is_noting
            if is_only:
                self.tensors.begin_call()
            else:
                self.tensors.forget_ended(self.open_calls)
        wanted = self.aims.isolated() if self.may_stop else frozenset()
        is_new = is_only and wanted != self.isolated
        if is_new:
            self.isolated = wanted
        self.settle()
        return wanted if is_new else None

    def end_call(self, call: ProgramCall, *, has_failed: bool) -> None:
        """Note that a call has ended.

        Args:
          call: The call.
          has_failed: Whether by an error.
        """
        if has_failed and not self.is_off and call.number not in self.open_calls:
            self.note_call(call)  # it passed unseen until it failed
        self.open_calls.pop(call.number, None)
        if self.call is call:
            self.is_over = True
        self.has_news = True

    def isolate_more(self, tensor_ids: frozenset[int]) -> frozenset[int] | None:
        """Return all tensors that should be isolated, if some of those are new among them; else None."""
        new = (tensor_ids & self.aims.isolated()) - self.isolated if self.may_stop else frozenset()
        self.isolated |= new
        return self.isolated if new else None

    def no_longer_isolated(self) -> frozenset[int] | None:
        """Return nothing, if tensors are isolated and no call runs; else None."""
        if not self.isolated or self.open_calls:
            return None
        self.isolated = frozenset()
        self.settle()
        return self.isolated

    def calls_at_hand(self) -> frozenset[int]:
        """Return the numbers of the calls of which one is the current one; none between calls."""
        if self.call is None or self.is_over:
            return frozenset()
        return frozenset((self.call.number,) if self.knows_thread else self.open_calls)

    def look_at(self, number: int) -> None:
        """Make a call the current one, at a tensor of which a thread stops.

        Args:
          number: Its number; `NO_CALL` if it is not known: then it is one of those that run.
        """
        call = self.open_calls.get(number)
        self.knows_thread = call is not None or len(self.open_calls) < 2
        call = call or next(iter(self.open_calls.values()), None)
        if call is not None:
            self.tensors.call = call.number if self.knows_thread else NO_CALL
            if call is not self.call:
                self.call, self.call_message = call, None
            self.is_over = False

    def news(self) -> None:
        """Begin a new version."""
        self.version += 1
        self.has_news = False
        self._told_calls = self.counted.num_calls
        self.lock.notify_all()

    def tell_counts(self) -> None:
        """Begin a new version if counts have changed, and want the facts of one more call for the next."""
        if self.has_news or self.counted.num_calls != self._told_calls:
            self.news()
        if self.followers.count and not self.is_stopped:
            self.wants_a_call = True
            self.settle()

    def apply(self) -> None:
        """Tell the gate and the hooks what is wanted from now on."""
        self._was_on = is_on = self.may_stop
        held = self.settings.max_held_bytes
        self.aims.apply(is_on=is_on, is_paused=self.is_stopped, max_bytes=held)
        self.is_noting = self.is_noting or self.aims.is_noting or self.sees_eager
        tells = is_on and (self.is_stopped or self.aims.looks or self.is_noting)
        if tells != self._tells_apart:
            self._tells_apart = tells
            self.program.tell_calls_apart(tells)
        sees = (is_on and (self.is_stopped or self.aims.looks)) or self.told_to_end is not None
        if sees != self.sees_eager:
            self.sees_eager = sees
            self.program.see_eager_ops(sees)
        self.settle()

    def settle(self) -> None:
        """Let calls pass unseen from now on, or no longer."""
        allowed = self._is_quiet
        was_allowed, self.unseen.allowed = self.unseen.allowed, allowed
        if was_allowed and not allowed:
            self.take_up_calls()

    @property
    def _is_quiet(self) -> bool:
        """Whether nothing follows from a call."""
        if self.told_to_end is not None or self.isolated:
            return False
        if self.is_off:
            return True
        if self.is_stopped or not self.has_begun or self.wants_a_call or self.is_noting:
            return False
        return not (self.may_stop and self.aims.looks)

    def passes(self, entry: Entry, tensor: Message) -> bool:
        """Ask the filter of a breakpoint of a held tensor; one that raises is switched off.

        Args:
          entry: The breakpoint.
          tensor: The tensor.
        """
        if entry.filter is None or not tensor.has_value:
            return False
        array = self.tensors.value(int(tensor.number)).array
        found, failure = asked(entry.condition.text, entry.filter, tensor, array, self.clock.wall())
        if failure:
            entry.message.enabled = False
            self.notices.add(failure)
            self.apply()
            self.news()
        return found

    def log(self, entry: Entry, name: str, call: int, numbers: Mapping[str, float]) -> None:
        """Note a hit of a log point.

        Args:
          entry: The log point.
          name: What was computed, or called.
          call: The number of the call.
          numbers: What is known of the tensor.
        """
        hit = LoggedHit(wall_time=self.clock.wall(), call=call, step=self.program.recording.step, name=name)
        hit.numbers.extend(Number(name=one, value=value) for one, value in numbers.items())
        entry.logged.append(hit)
        self.has_news = True

    def asks_of(self, tensor: Callable[[], Message], call: int) -> Asks:
        """Return what breakpoints ask about a tensor at which they may be hit.

        Args:
          tensor: Returns it.
          call: The number of its call.
        """

        def log(entry: Entry) -> None:
            message = tensor()
            numbers = {one.name: one.value for one in message.numbers}
            self.log(entry, f"{message.op_name}:{message.slot}", call, numbers)

        return Asks(lambda entry: self.passes(entry, tensor()), log)

    def take_up_calls(self) -> None:
        """Look at the calls that run and have passed unseen."""
        for call in self.unseen.take_up():
            self.note_call(call)

    def note_call(self, call: ProgramCall) -> None:
        """Note that a call runs."""
        self.open_calls[call.number] = call
        self.tensors.call = call.number
        self.show_call(call)

    def apply_if_time_changes_it(self) -> None:
        """Tell the gate and the hooks what is wanted, if debuggers have been away for long enough."""
        if self.may_stop != self._was_on and not self.is_off:
            self.apply()

    def follow_graphs(self) -> None:
        """Add what has passed the gate to the curves."""
        curves = self.aims.watched
        if curves and curves.follow(self.tensors, self.clock.wall()):
            self.has_news = True
