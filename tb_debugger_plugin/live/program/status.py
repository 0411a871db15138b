"""What is known of a program at this moment, and the lock that guards it.

Hooks, gate and commands change it; the state that debuggers see is made of it.

Invariant: one lock guards everything, and nothing waits for the program or for its files while it holds the
lock. Methods want it to be held.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

import numpy.typing as npt

from tb_debugger_plugin.capture.gate import Gate
from tb_debugger_plugin.live.messages.messages import Message, Notice, State
from tb_debugger_plugin.live.program.aims import Aims
from tb_debugger_plugin.live.program.breakpoints import Entry
from tb_debugger_plugin.live.program.clock import Clock
from tb_debugger_plugin.live.program.filters import asked
from tb_debugger_plugin.live.program.followers import Followers, Waiting
from tb_debugger_plugin.live.program.interface import Program, ProgramCall, Settings
from tb_debugger_plugin.live.program.tensors import EagerTensor, Tensors
from tb_debugger_plugin.live.program.unseen_calls import CountedCalls, UnseenCalls
from tb_debugger_plugin.native.structs import NO_CALL, Hit

_MOST: Final = 20


class Notices:
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

#: Calls that are listed by their threads.
_MOST_THREADS: Final = 100


@dataclass
class Stop:
    """Where the program is paused.

    Attributes:
      hit: The thread of a graph that is held; None at a hook.
      eager: The output of an eager op; None elsewhere.
      changed: Its new value.
    """

    hit: Hit | None = None
    eager: EagerTensor | None = None
    changed: npt.NDArray[Any] | None = None


class Status:
    """The status of one program.

    Args:
      settings: What debuggers may do.
      program: The program.
      clock: The time.
      eager: What is done with eager ops and their tensors.

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

    def __init__(self, settings: Settings, program: Program, clock: Clock, eager: Any) -> None:
        self.settings = settings
        self.program = program
        self.clock = clock
        self.eager = eager
        self.lock = threading.Condition()
        self.gate: Gate | None = program.recording.gate
        self.aims = Aims(self.gate, settings.filters)
        self.tensors = Tensors(self.gate, settings.max_held_bytes, eager.read)
        self.followers = Followers(settings.when_alone, clock)
        self.notices = Notices()
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
        calls = {**self.open_calls, **self.held_calls}
        if self.call is not None and self.is_stopped and self.stop.eager is None:
            calls[self.call.number] = self.call
            held = {*held, self.call.number} if self.knows_thread else held
        return [calls[number].message(is_held=number in held) for number in sorted(calls)[:_MOST_THREADS]]

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

    def take_up_calls(self) -> None:
        """Look at the calls that run and have passed unseen."""
        for call in self.unseen.take_up():
            self.note_call(call)

    def note_call(self, call: ProgramCall) -> None:
        """Note that a call runs."""
        self.open_calls[call.number] = call
        self.tensors.call = call.number
        self.call, self.call_message, self.is_over = call, None, False
        self.knows_thread = True

    def apply_if_time_changes_it(self) -> None:
        """Tell the gate and the hooks what is wanted, if debuggers have been away for long enough."""
        if self.may_stop != self._was_on and not self.is_off:
            self.apply()

    def apply_if_on(self) -> None:
        """Tell the gate and the hooks what is wanted, if anything may stop the program."""
        if self._was_on:
            self.apply()

    def follow_graphs(self) -> None:
        """Add what has passed the gate to the curves."""
        curves = self.aims.watched
        if curves and curves.follow(self.tensors, self.clock.wall()):
            self.has_news = True
