"""Guards the functions that Python calls, from the beginning of a recording in GUARD to its end.

A function is guarded when Python first calls it. From then on each call runs its guarded copy, and after each
call one number says whether any call went bad. Of functions with large variables, the last calls are kept,
and run again to find the one that went bad (`windows`). A bad call is replayed before the program goes on. It
is only counted if it repeats what is on record, or if it began with bad values and another one of its
function did, too.

Invariant: an error of the guard leaves functions unguarded, and the program goes on.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from types import FrameType, ModuleType
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import op_def_registry
from tensorflow.python.ops import gen_resource_variable_ops

from tb_debugger_plugin.capture.eager import EagerOps
from tb_debugger_plugin.capture.engines.guard.bundles import Bundles, Call
from tb_debugger_plugin.capture.engines.guard.copies import Guarded, GuardedCopies, argument_names
from tb_debugger_plugin.capture.engines.guard.earlier import EarlierCalls
from tb_debugger_plugin.capture.engines.guard.ops import GuardedOps
from tb_debugger_plugin.capture.engines.guard.pipelines import GuardedPipelines
from tb_debugger_plugin.capture.engines.guard.replays import Replays, held_by
from tb_debugger_plugin.capture.engines.guard.sessions import GuardedSessions
from tb_debugger_plugin.capture.engines.guard.taken import Label, variable_of
from tb_debugger_plugin.capture.engines.guard.windows import Window, Windows, read
from tb_debugger_plugin.capture.engines.plain import PlainFunctions, PlainSessions
from tb_debugger_plugin.capture.graph.definitions import remove
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.graph.session_graph import NewPart, OfRun, SessionWatches
from tb_debugger_plugin.capture.graph.user_names import name_of
from tb_debugger_plugin.capture.graph_records import GraphRecords
from tb_debugger_plugin.capture.hooks.hook import CALL_IN_RUNTIME, Hook, hidden
from tb_debugger_plugin.capture.not_recorded import Missing, NotRecorded
from tb_debugger_plugin.capture.observer import Observer
from tb_debugger_plugin.capture.options import MEASURED_DTYPES, Options
from tb_debugger_plugin.capture.sinks.protocol import Sink
from tb_debugger_plugin.capture.stacks.frames import StackFrames
from tb_debugger_plugin.capture.tf_types import EagerTensor
from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.events.not_recorded import NotRecordedReason
from tb_debugger_plugin.native.structs import BadCall

_log = logging.getLogger("tb_debugger_plugin")
_Result = TypeVar("_Result")
#: What our copies add to the names of functions; error messages name the program's functions.
_OF_COPIES = re.compile(r"_guarded(?:_inside|_light)?_[0-9a-f]{16}")
#: Most bad tensors that a line of the log names.
_MOST_NAMES = 3
_FORGET_EVERY = 64
#: Seconds after which a function stays as it is, because a replay may wait for its thread.
_PATIENCE_S = 5.0
#: Functions of which a call that began with bad values is replayed after others were: what became of the
#: values is then on record, such as in the gradient.
_MOST_FOLLOWED = 16
#: By how much, relatively, a replay may differ from the call, whose ops TensorFlow may have fused.
_ROUNDING = 1e-2
#: Part of the free memory that a call may hold.
_PART_OF_FREE = 10
_LIBRARY_MISSING = (
    "GUARD guards nothing: it needs the native library and a local dump_root. Install a C++ compiler and "
    "reinstall tb-debugger-plugin, or record in FULL_HEALTH."
)
_ON_GPU = "GUARD guards nothing: it has only been made for CPUs, and TensorFlow uses a GPU. Use FULL_HEALTH."
_SESSION = "GUARD does not check a tf.compat.v1.Session that was made before the recording."


@dataclass
class _Site:
    """A function that Python calls.

    Attributes:
      name: Its name in the runtime.
      title: Its name in the program; empty until a call is bad.
      guarded: Its guarded copy; None if its calls are not checked.
      copy: The name of that copy.
      changed: Where the variables that it changes are among its inputs.
      window: Its last calls; None if the guard holds what a replay needs.
      may_change: Whether it is not guarded, and may change variables.
      seen: The bad results of calls that are on record, or were counted.
      num_calls: Number of calls.
      num_bad: Number of bad calls.
      num_replayed: How many of them are on record.
      is_followed: Whether one was replayed, or was to be, that began with bad values.
    """

    name: str
    title: str = ""
    guarded: Guarded | None = None
    copy: bytes = b""
    changed: tuple[int, ...] = ()
    window: Window | None = None
    may_change: bool = False
    seen: set[frozenset[int]] = field(default_factory=set)
    num_calls: int = 0
    num_bad: int = 0
    num_replayed: int = 0
    is_followed: bool = False


@dataclass(frozen=True)
class ReplayedCall:
    """A call that was replayed.

    Attributes:
      name: Name of the function in the runtime.
      inputs: Inputs of the call.
      outputs: What the call returned, which has the ids that later ones take; what the replay returned if
        that is not the same; None if it failed.
      frame: The frame that made the call, or that runs when it was found later.
      error: Why the replay failed.
      rang: The number of a ring of the alarm by what was recorded before it, or 0.
      index: Its number, among the calls of the function.
      step: How many steps the program had marked; None for as many as now.
    """

    name: str
    inputs: Sequence[EagerTensor]
    outputs: Sequence[EagerTensor] | None
    frame: FrameType
    error: Exception | None = None
    rang: int = 0
    index: int = 0
    step: int | None = None


@dataclass(frozen=True)
class _Bad:
    """A bad call that a guard has noticed, or that was found among the last calls.

    Attributes:
      what: What was bad after it.
      came: What was bad before it.
      inputs: Its inputs.
      given: The same for a replay: small variables are copies with the values of that call.
      outputs: What it returned.
      held: What is held for a replay; None if it cannot be replayed.
      index: Its number, among the calls of the function.
      why_not: Why it cannot be replayed.
      step: How many steps the program had marked; None for as many as now.
    """

    what: Sequence[Label]
    came: Sequence[Label]
    inputs: Sequence[EagerTensor]
    given: Sequence[EagerTensor]
    outputs: Sequence[EagerTensor]
    held: Sequence[EagerTensor] | None
    index: int
    why_not: str = ""
    step: int | None = None


class Steps(Protocol):
    """The steps of the program."""

    is_recorded: bool

    @property
    def num_ended(self) -> int:
        """How many steps the program has marked."""

    def counted_by(self, calls: int, step: int | None = None) -> AbstractContextManager[None]:
        """Let what is recorded inside have the step `calls`, if the program marks no steps; else `step`."""


class GuardedFunctions(Observer):
    """Guards functions, from the constructor to `remove_hooks()`.

    Args:
      options: What is recorded of a replay.
      sink: Takes the records.
      graphs: Writes the graphs of what is replayed.
      not_recorded: Takes what is not guarded.
      on_replayed: Records a call that was replayed, and acts on what is bad, which may raise.
      steps: The steps of the program.
      frames: Identifies stacks.
      eager: Records ops that Python runs.

    Attributes:
      ops: Checks the ops that Python runs; None if nothing is checked.
      sessions: Checks the runs of sessions; None if nothing is checked.
    """

    def __init__(
        self,
        options: Options,
        sink: Sink,
        graphs: GraphRecords,
        not_recorded: NotRecorded,
        on_replayed: Callable[[ReplayedCall], None],
        steps: Steps,
        frames: StackFrames,
        eager: EagerOps,
    ) -> None:
        self._sink = sink
        self._graphs = graphs
        self._not_recorded = not_recorded
        self._on_replayed = on_replayed
        self._steps = steps
        self._functions = FunctionTable()
        self._run = CALL_IN_RUNTIME.get()
        self._sites: dict[str | bytes, _Site] = {}
        self._lock = threading.RLock()  # held while functions are guarded, and while calls are replayed
        self._has_replayed = False
        self._process = os.getpid()
        self._is_on = True
        self._module = module = sink.native
        self._hook: Hook | None = None
        self.ops: GuardedOps | None = None
        self.sessions: GuardedSessions | None = None
        if module is None:
            self._report(NotRecordedReason.NOT_INSTRUMENTED, _LIBRARY_MISSING)
            return
        self.ops = GuardedOps(module, sink, frames, eager, self._title, self._record_what_came_in)
        limit = _free_memory() if options.max_held_bytes is None else options.max_held_bytes
        self._copies = GuardedCopies(self._functions, module, limit)
        watched = PlainSessions(options, sink, graphs, self._functions, not_recorded)
        self.sessions = GuardedSessions(
            module, watched.watch, limit, partial(self._report, NotRecordedReason.NOT_INSTRUMENTED)
        )
        self._pipelines = GuardedPipelines(self._copies, module)
        self._earlier = EarlierCalls(module, graphs, options, eager.encode_like)
        plain = PlainFunctions(options, sink, self._functions)
        self._replays = Replays(
            plain, sink, graphs, self._functions, self._copies.taken, CALL_IN_RUNTIME.get()
        )
        self._windows = Windows(
            self._functions, self._copies.taken, CALL_IN_RUNTIME.get(), self.ops.has_bad, limit
        )
        self.ops.look_back = self._look_back
        self._bundles: Bundles | None = None
        if options.keep_replay:
            prefix = os.path.join(options.dump_root, sink.files)
            self._bundles = Bundles(
                prefix, self._functions, self._copies.taken, options.keep_replay, graphs.variables
            )
        self._hook = Hook(CALL_IN_RUNTIME, self._hooked(module))
        self._hook.install()

    def watch_existing(self, functions: Iterable[Function]) -> None:
        """Take in functions that the program may be calling; those of input pipelines stay as they are."""
        self._functions.add(functions)

    def watch(self, functions: Iterable[Function]) -> None:
        """Take in functions that are new. They are guarded when Python first calls them.

        Those of input pipelines are guarded now.
        """
        functions = list(functions)
        self._functions.add(functions)
        chosen = GuardedPipelines.chosen(functions)
        if not chosen or self._module is None or tf.config.list_logical_devices("GPU"):
            return
        with self._defining() as may_define:
            try:
                if may_define:
                    self._pipelines.guard(chosen)
            except Exception as error:  # the program must not see any error
                _log.debug("A function of an input pipeline cannot be guarded:", exc_info=error)

    @contextmanager
    def _defining(self) -> Iterator[bool]:
        """Hold the lock; yield False, without it, if a replay holds it for long.

        The replay may wait for this thread: it runs Python functions again that are said to have no effects,
        and those may make or call functions.
        """
        may_define = self._lock.acquire(timeout=_PATIENCE_S)
        try:
            yield may_define
        finally:
            if may_define:
                self._lock.release()

    def watch_session(self, part: NewPart) -> SessionWatches:
        """Watch nothing of the graph of a session before a run is replayed."""
        if self.sessions is None or not part.can_rewire:
            self._report(NotRecordedReason.NOT_INSTRUMENTED, _SESSION)
        return SessionWatches()

    @property
    def of_session_run(self) -> OfRun | None:
        """What chooses the guard of a run of a session; None if sessions are not guarded."""
        return None if self.sessions is None else self.sessions.watch_run

    def make_interactive(self) -> tuple[str, ...]:
        """Return what a debugger cannot stop at: nothing is watched before a call is replayed."""
        return ("functions, which GUARD only checks",)

    def isolate(self, tensor_ids: frozenset[int]) -> frozenset[int]:
        """Return that no tensor has a watch op of its own."""
        return frozenset()

    def around_calls(self, call: Callable[..., object], *args: object, **kwargs: object) -> object:
        """Run a function."""
        return call(*args, **kwargs)

    def _title(self, name: str) -> str:
        """Return what an op or function is in messages; empty if it is one of ours, or guarded itself."""
        if op_def_registry.get(name) is not None:
            return f"An op {name}"
        function = self._functions.all.get(name)
        graph = None if function is None else function.graph_of()
        site = self._sites.get(name) or self._sites.get(name.encode())
        if function is None or graph is None or (site is not None and site.copy):
            return ""
        self._graphs.announce(name, graph)
        return f"A call of {name_of(function)}"

    def remove_hooks(self) -> None:
        """Give TensorFlow its own method again, and say how many calls and ops were bad."""
        self._unhook()
        if self._module is not None:
            self._pipelines.remove_hooks()
        if os.getpid() != self._process:
            return  # a forked child, whose locks may be held for ever
        if self.ops is not None:
            self.ops.end()
            self._windows.end()
        if self.sessions is not None:
            self.sessions.end()
        for title in dict.fromkeys(site.title for site in self._sites.values() if site.num_bad):
            _log.warning("%s", _counts_in_words([s for s in self._sites.values() if s.title == title]))
        self._sites.clear()

    def restore(self) -> None:
        """Remove the copies from the runtime. It has had the program's definitions all the time."""
        self._unhook()
        if self._module is not None:
            self._pipelines.restore()
        self._functions.copies.remove()

    def _unhook(self) -> None:
        self._is_on = False
        if self._hook is not None:
            self._hook.remove()

    def _hooked(self, module: ModuleType) -> Callable[..., object]:
        sites, run, num_bad_calls = self._sites, CALL_IN_RUNTIME.get(), module.num_bad_calls
        windows = self._windows

        @hidden
        def call_function(name: str | bytes, tensor_inputs: list[EagerTensor], num_outputs: int) -> object:
            site = sites.get(name) or self._site(name, tensor_inputs)
            if not site.copy:
                if site.may_change:
                    windows.note_change()
                return run(name, tensor_inputs, num_outputs)
            site.num_calls += 1
            if windows.exist:
                windows.note_call(site.window, [tensor_inputs[index] for index in site.changed])
            if site.window is not None:
                frame = sys._getframe(1)
                return self._call_in_window(site, site.window, tensor_inputs, num_outputs, frame)
            try:
                outputs = run(site.copy, tensor_inputs, num_outputs)
            except Exception as error:
                if self._can_run_plainly(site, site.guarded, error):
                    return run(name, tensor_inputs, num_outputs)
                raise
            if num_bad_calls():
                # A call without results returns None.
                self._take(site, tensor_inputs, outputs or [], sys._getframe(1))
            return outputs

        return call_function

    def _call_in_window(
        self, site: _Site, window: Window, inputs: list[EagerTensor], num_outputs: int, frame: FrameType
    ) -> Sequence[EagerTensor] | None:
        """Run a call of a function whose last calls are kept. This may raise what the user wants."""
        guarded, index = site.guarded, site.num_calls - 1
        is_alone, is_kept = window.enter(), False
        try:
            if is_alone:
                self._prepare(site, window, inputs, frame)
            try:
                returned = self._run(window.copy, inputs, num_outputs + window.num_kept) or []
            except Exception as error:
                if self._can_run_plainly(site, guarded, error):
                    plainly: Sequence[EagerTensor] | None = self._run(site.name, inputs, num_outputs)
                    return plainly
                raise
            outputs = returned[:num_outputs]
            if is_alone:
                window.add(inputs, returned[num_outputs:], index, self._steps.num_ended)
                is_kept = True
            if self._module is not None and self._module.num_bad_calls():
                self._take(site, inputs, outputs, frame, window if is_alone else None)
            elif is_alone and window.began_badly:
                self._take_late(site, window, inputs, frame)
            elif is_alone:
                window.wake()
        finally:
            if not is_kept:
                window.note_change()  # it may have changed some variables
            window.leave(is_alone=is_alone)
        if window.is_futile:
            self._hold_at_each_call(site, inputs)
        return outputs or None

    def _prepare(self, site: _Site, window: Window, inputs: Sequence[EagerTensor], frame: FrameType) -> None:
        """Begin a window before a call, if that is due. This may raise what the user wants."""
        if not window.must_begin(inputs):
            if window.must_note_small:
                self._quietly(window, partial(window.note_small, inputs))
            return
        if self._quietly(window, window.went_bad):
            self._take_late(site, window, inputs, frame)
        if not window.is_resting:
            self._quietly(window, partial(window.begin, inputs))

    def _quietly(self, window: Window, action: Callable[[], _Result]) -> _Result | None:
        """Do something that the program must not see; if it fails, the window is dropped."""
        assert self.ops is not None, "there is something to check"
        try:
            with self.ops.ignored():
                return action()
        except Exception as error:
            _log.debug("The last calls of a function are not kept:", exc_info=error)
            window.drop()
            return None

    def _hold_at_each_call(self, site: _Site, inputs: Sequence[EagerTensor]) -> None:
        """Guard a function anew whose variables others change too often for its calls to be kept."""
        with self._defining() as may_define:
            window, guarded, module = site.window, site.guarded, self._module
            if not may_define or window is None or guarded is None or module is None or not self._is_on:
                return
            self._windows.remove(window)
            try:
                self._guard(site, inputs, may_window=False)
            except Exception as error:  # the program must not see any error
                self._report_unguarded(site.title or site.name, user_message(error))
            if site.guarded is guarded:
                site.guarded, site.copy, site.may_change = None, b"", True
            # Other threads may still run the copy, which stays until the recording ends.
            site.window = None
            module.close_guard_site(guarded.site)
            while (call := module.take_bad_call(guarded.site)) is not None:
                module.release_bad_call(call.number)

    def at_end(self) -> None:
        """Look at the variables of functions whose last calls are kept, for the last time."""
        if os.getpid() == self._process and self._is_on:
            try:
                self._look_back(sys._getframe(1))
                if self.sessions is not None:
                    self.sessions.look_back()
            except Exception as error:  # the recording ends
                _log.debug("What the user wants to raise comes too late:", exc_info=error)

    def _look_back(self, frame: FrameType) -> None:
        """Look at what the last calls of functions left in variables. This may raise what the user wants."""
        for site in list(self._sites.values()):
            window = site.window
            if window is None or not window.enter(is_call=False):
                continue
            try:
                if self._quietly(window, window.went_bad):
                    self._take_late(site, window, (), frame)
            finally:
                window.leave()

    def _site(self, name: str | bytes, inputs: Sequence[EagerTensor]) -> _Site:
        """Guard a function that is called for the first time."""
        text = name.decode() if isinstance(name, bytes) else name
        with self._defining() as may_define:
            site = self._sites.get(name)
            if site is not None:
                return site
            site = _Site(text)
            if not may_define:
                return site
            try:
                self._guard(site, inputs)
            except Exception as error:  # the program must not see any error
                _log.debug("%s cannot be guarded:", text, exc_info=error)
                self._report_unguarded(text, user_message(error))
            site.may_change = not site.copy and any(one.dtype == tf.resource for one in inputs)
            if self._is_on:
                self._sites[name] = site
                if len(self._sites) % _FORGET_EVERY == 0:
                    self._forget_deleted()
            return site

    def _forget_deleted(self) -> None:
        """Remove the copies of functions that the program has deleted."""
        runtime = context.context()
        for name, site in list(self._sites.items()):
            if not site.num_bad and not runtime.has_function(site.name):
                del self._sites[name]
                if self.ops is not None:
                    self.ops.own_functions.discard(site.copy.decode())
                if site.window is not None:
                    self._windows.remove(site.window)
                remove([site.copy.decode()] if site.copy else [])
                if site.guarded is not None and self._module is not None:
                    self._module.close_guard_site(site.guarded.site)

    def _guard(self, site: _Site, inputs: Sequence[EagerTensor], *, may_window: bool = True) -> None:
        function = self._functions.all.get(site.name)
        if function is None or function.graph_of() is None:
            self._report_unguarded(site.name, "Python has no graph of it")
            return
        name = name_of(function)
        if tf.config.list_logical_devices("GPU"):
            self._report(NotRecordedReason.NOT_INSTRUMENTED, _ON_GPU)
            return
        arguments = dict(zip(argument_names(function), inputs, strict=True))
        guarded = self._copies.guard(function, may_window=may_window and _have_values(function, inputs))
        if guarded is None:
            return
        if not all(_has_value(arguments[name]) for name in guarded.taken.assumes):
            self._report_unguarded(name, "a variable that it changes has no value when it is first called")
            return
        if guarded.taken.cannot_repeat:
            message = (
                f"GUARD checks calls of {name} but cannot replay them, because of "
                f"{guarded.taken.cannot_repeat}."
            )
            self._report(NotRecordedReason.NOT_INSTRUMENTED, message, (name,))
        site.guarded, site.copy = guarded, guarded.name.encode()
        if self.ops is not None:
            self.ops.own_functions.add(guarded.name)
        changed = guarded.taken.changed
        site.changed = tuple([index for index, name in enumerate(arguments) if name in changed])
        if guarded.in_window and self.ops is not None:
            site.window = self._windows.add(guarded, inputs)
            self.ops.watch_changes(self._windows.note_change)

    def _can_run_plainly(self, site: _Site, guarded: Guarded | None, error: Exception) -> bool:
        """Whether a call failed because of the guard, before anything of it ran."""
        message = getattr(error, "_message", None)
        if isinstance(message, str) and guarded is not None and self._module is not None:
            # The program must not see names of ours.
            error._message = _OF_COPIES.sub("", message)  # type: ignore[attr-defined]
            if not self._is_on and guarded.name in message:
                return True  # the copy was removed
            if not self._module.guard_was_made(guarded.site):
                site.copy, site.may_change = b"", True
                self._report_unguarded(site.name, user_message(error))
                return True
        return False

    def _take(
        self,
        site: _Site,
        inputs: Sequence[EagerTensor],
        outputs: Sequence[EagerTensor],
        frame: FrameType,
        window: Window | None = None,
    ) -> None:
        """Handle the bad calls of a function. This may raise what the user wants.

        Args:
          site: The function.
          inputs: Inputs of the call that has just ended.
          outputs: Its results.
          frame: The frame that made it.
          window: The last calls, if they are kept and this is one of them.
        """
        guarded, module = site.guarded, self._module
        if guarded is None or module is None:
            return  # another thread has just made it unguarded
        while (call := module.take_bad_call(guarded.site)) is not None:
            bad = frozenset([number for number in call.bad if not guarded.is_held(number)])
            found = partial(self._found_by_guard, site, call, inputs, outputs)
            if window is not None:
                found = partial(self._found_in_window, site, window, call, inputs, outputs)
            try:
                self._replay_one(site, bad, found, frame)
            finally:
                module.release_bad_call(call.number)
                if window is not None:
                    window.drop()

    def _take_late(
        self, site: _Site, window: Window, inputs: Sequence[EagerTensor], frame: FrameType
    ) -> None:
        """Handle a call that left bad values in variables only. This may raise what the user wants.

        Args:
          site: Its function.
          window: The last calls.
          inputs: Inputs that stand in for those that do not exist any more; nothing if there are none.
          frame: The frame that runs.
        """
        if frozenset() in site.seen:
            site.num_bad += 1
            window.drop()
            return
        found = self._quietly(window, partial(window.find, inputs))
        if found is None:
            window.drop()  # others have changed the variables
            return
        self._quietly(window, partial(window.rest, inputs))
        came = [*found.came, *self._bad_variables(site, dict(enumerate(found.given)))]
        values = (found.inputs, found.given, found.outputs, found.held, found.index, "", found.step)
        self._replay_one(site, frozenset(), lambda: _Bad(found.bad, came, *values), frame)

    def _replay_one(
        self, site: _Site, bad: frozenset[int], find: Callable[[], _Bad], frame: FrameType
    ) -> None:
        """Replay a bad call, unless it is only counted. This may raise what the user wants.

        Args:
          site: Its function.
          bad: What was noticed to be bad, by the inputs of the guard.
          find: Returns the call.
          frame: The frame that made it, or that runs.
        """
        assert self.ops is not None, "there is something to check"
        replayed = None
        try:
            with self.ops.ignored():
                replayed = self._replayed(site, bad, find, frame)
        except Exception as error:  # the program must not see any error
            self._report_failed(site.title or site.name, error)
        if replayed is None:
            return
        with self._steps.counted_by(replayed.index, replayed.step):
            self._on_replayed(replayed)
        if replayed.error is not None:
            site.num_replayed -= 1
            self._report_failed(replayed.name, replayed.error)

    def _found_by_guard(
        self,
        site: _Site,
        call: BadCall,
        inputs: Sequence[EagerTensor],
        outputs: Sequence[EagerTensor],
    ) -> _Bad:
        """Return a bad call of which the guard holds what a replay needs."""
        guarded = site.guarded
        assert guarded is not None, "it has bad calls"
        what = [guarded.label(number) for number in sorted(call.bad) if not guarded.is_held(number)]
        came = [guarded.label(number) for number in call.bad if guarded.is_held(number)]
        came += self._bad_variables(site, dict(enumerate(inputs)))
        why_not = guarded.taken.cannot_repeat
        if guarded.in_window:
            why_not = why_not or "another thread, which called it at the same time"
        elif not call.is_held:
            why_not = why_not or "max_held_bytes, which it exceeds"
        held = None if why_not else held_by(guarded, call.number)
        return _Bad(what, came, inputs, inputs, outputs, held, site.num_calls - 1, why_not)

    def _found_in_window(
        self,
        site: _Site,
        window: Window,
        call: BadCall,
        inputs: Sequence[EagerTensor],
        outputs: Sequence[EagerTensor],
    ) -> _Bad:
        """Return the first bad call of a window, which may be one before the one that was noticed."""
        guarded, index = site.guarded, site.num_calls - 1
        assert guarded is not None, "its calls are kept"
        what = [guarded.label(number) for number in sorted(call.bad)]
        found, why_not = None, ""
        if window.is_resting:
            why_not = "what a call before it left in its variables"
        else:
            why_not = "its variables from before it, which were not held"
            try:
                found = window.find(inputs, index, what)
            except Exception as error:  # the program must not see any error
                _log.debug("The last calls of %s cannot run again:", site.name, exc_info=error)
                why_not = f"an error when it ran again ({user_message(error)})"
        if not window.is_resting:
            window.rest(inputs)
        if found is None:
            came = [*self._bad_variables(site, dict(enumerate(inputs))), *window.left]
            return _Bad(what, came, inputs, inputs, outputs, None, index, why_not)
        came = [*found.came, *self._bad_variables(site, dict(enumerate(found.given)))]
        outputs = outputs if found.index == index else found.outputs
        values = (found.inputs, found.given, outputs, found.held, found.index, "", found.step)
        return _Bad(found.bad, came, *values)

    def _replayed(
        self, site: _Site, bad: frozenset[int], find: Callable[[], _Bad], frame: FrameType
    ) -> ReplayedCall | None:
        """Replay a bad call, unless it is only counted; see `_replay_one`."""
        guarded = site.guarded
        assert guarded is not None, "it has bad calls"
        with self._lock:
            site.num_bad += 1
            name = site.title = site.title or name_of(guarded.taken.function)
            if bad in site.seen or not (self._is_on and self._steps.is_recorded):
                return None
            site.seen.add(bad)
            call = find()
            what = self._in_words(call.what)
            follows = bool(call.came) and self._has_replayed
            if follows and not self._may_follow(site, guarded):
                self._say_it_counts(site, name, self._in_words(call.came))
                return None
            if call.index == site.num_calls - 1:
                self._record_earlier_calls(site, guarded, call.inputs, frame)
            with self._steps.counted_by(call.index, call.step):
                rang = self._record_what_came_in()
            if call.held is None:
                message = (
                    f"A call of {name} has an infinity or NaN ({what}). It is not replayed, because of "
                    f"{call.why_not}; what it returned is on record."
                )
                # Not by its name, of which it was said already that it cannot be replayed.
                self._report(NotRecordedReason.NOT_INSTRUMENTED, message)
                site.num_replayed += 1
                self._graphs.announce(site.name, guarded.taken.function.graph)
                return ReplayedCall(site.name, call.inputs, call.outputs, frame, None, rang, call.index)
            before = self._sink.num_bad()
            with self._steps.counted_by(call.index, call.step):
                replayed = replace(self._replay(guarded, call, frame), rang=rang)
            if replayed.outputs is not None and _are_the_same(replayed.outputs, call.outputs):
                replayed = replace(replayed, outputs=call.outputs)
            if replayed.error is None:
                came_with = {one.what for one in call.came if one.is_variable}
                was_there = {label.what for label in call.what} <= came_with
                where = "there before it" if was_there else "not there in the replay"
                vanished = f" It was {where}." if self._sink.num_bad() == before else ""
                step = self._steps.num_ended if call.step is None else call.step
                marked = step if self._steps.num_ended else None
                of_call = Call(guarded, call.held, call.given, call.outputs, name, call.index, marked, [what])
                kept = "" if follows else self._keep(of_call)
                _log.warning(
                    "A call of %s has an infinity or NaN (%s). The call was replayed and is on record.%s "
                    "Further calls with the same bad results are counted.%s",
                    *(name, what, vanished, kept),
                )
            self._has_replayed = True
            site.num_replayed += 1
            return replayed

    def _record_earlier_calls(
        self, site: _Site, guarded: Guarded, inputs: Sequence[EagerTensor], frame: FrameType
    ) -> None:
        if guarded.taken.cannot_repeat:
            return  # its graphs are not on record
        try:
            self._replays.define(guarded.taken)
            last_step = -1 if self._steps.num_ended else site.num_calls - 1
            self._earlier.record(guarded, inputs, frame, last_step)
        except Exception as error:  # the bad call is recorded without them
            _log.debug("Calls before a bad one cannot be recorded:", exc_info=error)

    def _may_follow(self, site: _Site, guarded: Guarded) -> bool:
        """Whether a call that began with bad values is replayed: one of a function, of so many functions."""
        if site.num_replayed or site.is_followed or guarded.taken.cannot_repeat:
            return False
        site.is_followed = sum(one.is_followed for one in self._sites.values()) < _MOST_FOLLOWED
        return site.is_followed

    def _say_it_counts(self, site: _Site, name: str, came: str) -> None:
        message = (
            f"GUARD counts calls of {name} with bad values and does not replay them: before the call, an "
            f"infinity or NaN was in {came}."
        )
        if site.num_replayed:
            _log.warning("%s", message)
        else:
            self._report(NotRecordedReason.NOT_INSTRUMENTED, message)

    def _record_what_came_in(self) -> int:
        """Replay what went bad in input pipelines, and record who took it: something bad may come from it.

        Returns:
          The number of a ring of the alarm, or 0.
        """
        ops = self.ops
        assert ops is not None, "there is something to check"
        if not self._lock.acquire(blocking=False):
            return 0  # another thread replays
        try:
            with ops.ignored():
                for guarded, call in self._pipelines.take():
                    try:
                        self._replays.run(guarded, held_by(guarded, call.number))
                    except Exception as error:  # the program must not see any error, nor what rings too early
                        _log.debug("%s cannot be replayed:", guarded.taken.function.name, exc_info=error)
                return ops.record_noted()
        finally:
            self._lock.release()

    def _keep(self, call: Call) -> str:
        """Write the bundle of a call; return what the log says of it, after a space."""
        if self._bundles is None:
            return ""
        try:
            return f" {self._bundles.write(call)}"
        except Exception as error:  # the program must not see any error
            _log.debug("A call of %s cannot be kept for `tbdbg replay`:", call.title, exc_info=error)
            return f" `tbdbg replay` cannot run it again: {user_message(error)}."

    def _in_words(self, found: Sequence[Label]) -> str:
        labels = list({(id(label.function), label.what): label for label in found}.values())
        names = []
        for label in labels[:_MOST_NAMES]:
            graph = label.function.graph_of()
            names_of_graph = {} if graph is None or not label.is_variable else self._graphs.variables(graph)
            names.append(names_of_graph.get(label.what, label.what))
        more = len(labels) - len(names)
        return ", ".join(names) + (f" and {more} more" if more > 0 else "")

    def _replay(self, guarded: Guarded, call: _Bad, frame: FrameType) -> ReplayedCall:
        assert call.held is not None, "it can be replayed"
        name = guarded.taken.function.name
        outputs, failure = None, None
        try:
            outputs = self._replays.run(guarded, call.held, call.given)
        except Exception as error:  # what the user wants to raise, or an error of ours
            failure = error
        return ReplayedCall(name, call.inputs, outputs, frame, failure, 0, call.index, call.step)

    def _bad_variables(self, site: _Site, inputs: Mapping[int, EagerTensor]) -> list[Label]:
        """Return the variables that a call only reads and that are bad."""
        assert site.guarded is not None and self.ops is not None, "it is guarded"
        taken = site.guarded.taken
        return [
            Label(taken.function, name, is_variable=True)
            for index, name in enumerate(argument_names(taken.function))
            if index in inputs and name in taken.variables and name not in taken.changed
            if self.ops.has_bad([read(inputs[index], taken.variables[name])])
        ]

    def _report_failed(self, name: str, error: Exception) -> None:
        _log.debug("The replay of a call of %s failed:", name, exc_info=error)
        message = f"A call of {name} has an infinity or NaN and could not be replayed: {user_message(error)}."
        self._report(NotRecordedReason.NOT_INSTRUMENTED, message)

    def _report_unguarded(self, name: str, reason: str) -> None:
        message = f"GUARD does not check the function {name}: {reason}."
        self._report(NotRecordedReason.NOT_INSTRUMENTED, message, (name,))

    def _report(
        self,
        reason: NotRecordedReason,
        message: str,
        names: tuple[str, ...] = (),
        level: int = logging.WARNING,
    ) -> None:
        self._not_recorded.report(Missing(reason, message, names, level=level))


def _are_the_same(first: Sequence[EagerTensor], second: Sequence[EagerTensor]) -> bool:
    """Whether some results are those of one call, but for rounding; another thread's may have run again."""
    try:
        if [(one.dtype, one.shape) for one in first] != [(one.dtype, one.shape) for one in second]:
            return False
        pairs = [pair for pair in zip(first, second, strict=True) if pair[0].dtype in MEASURED_DTYPES]
        return all(_are_close(np.asarray(one), np.asarray(other)) for one, other in pairs)
    except Exception as error:  # there may be no memory for it
        _log.debug("The results of a call are not compared with those of its replay:", exc_info=error)
        return False


def _are_close(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    wide = np.complex128 if one.dtype.kind == "c" else np.float64
    return np.allclose(one.astype(wide), other.astype(wide), rtol=_ROUNDING, atol=0, equal_nan=True)


def _free_memory() -> int:
    """Return the part of the free memory that a call may hold."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // _PART_OF_FREE
    except (ValueError, OSError):
        return 1 << 30


def _have_values(function: Function, inputs: Sequence[EagerTensor]) -> bool:
    """Whether all variables that a function is given have values."""
    arguments = map(function.graph.get_tensor_by_name, function.inputs)
    return all(
        _has_value(handle)
        for argument, handle in zip(arguments, inputs, strict=True)
        if argument.dtype == tf.resource and variable_of(argument) is not None
    )


def _has_value(handle: EagerTensor) -> bool:
    return bool(gen_resource_variable_ops.var_is_initialized_op(handle))


def _counts_in_words(sites: Sequence[_Site]) -> str:
    num_bad, num_replayed = sum(site.num_bad for site in sites), sum(site.num_replayed for site in sites)
    calls = "1 call" if num_bad == 1 else f"{num_bad:,} calls"
    return f"GUARD saw an infinity or NaN in {calls} of {sites[0].title}; {num_replayed} on record."
