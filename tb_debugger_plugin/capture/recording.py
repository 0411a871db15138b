"""Records the running program, from `enable_dump_debug_info` to `disable_dump_debug_info`.

Eager ops come from the op callbacks of every thread, graphs from the hook of all functions, and graphs of
TF1-style sessions from the hooks of sessions (`hooks/`).

Invariant: an error of the recorder never reaches the program. The first error is logged once and ends the
recording, and the program goes on.
"""

from __future__ import annotations

import gc
import logging
import os
import shutil
import socket
import sys
import threading
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from types import FrameType

import tensorflow as tf
from tensorflow.python.framework import func_graph

from tb_debugger_plugin.capture.alarm import Alarm
from tb_debugger_plugin.capture.bad_values import BadValues
from tb_debugger_plugin.capture.eager import INTERNAL_OPS, EagerOps
from tb_debugger_plugin.capture.engines.guard.functions import GuardedFunctions, ReplayedCall
from tb_debugger_plugin.capture.engines.guard.ops import GuardedOps
from tb_debugger_plugin.capture.engines.guard.sessions import GuardedSessions
from tb_debugger_plugin.capture.engines.instrument import SCOPE
from tb_debugger_plugin.capture.gate import Gate, TensorOfGraph
from tb_debugger_plugin.capture.graph.function import existing_functions, new_function
from tb_debugger_plugin.capture.graph.session_graph import NewPart, SessionWatches
from tb_debugger_plugin.capture.graph.unwatchable import unwatchable
from tb_debugger_plugin.capture.graph_records import GraphRecords
from tb_debugger_plugin.capture.hooks.functions import FunctionHook
from tb_debugger_plugin.capture.hooks.sessions import AroundRun, SessionRan, SessionRunHooks, Sessions
from tb_debugger_plugin.capture.hooks.threads import EveryThread, of_running_thread
from tb_debugger_plugin.capture.instrumentation import Instrumentation
from tb_debugger_plugin.capture.naming.names import NamesOfOps
from tb_debugger_plugin.capture.not_recorded import NotRecorded, bound_reached, left_out, other_backend
from tb_debugger_plugin.capture.observer import Observer
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.own_recording import rules_of
from tb_debugger_plugin.capture.rule_watch import RuleWatch
from tb_debugger_plugin.capture.session_runs import SessionRuns
from tb_debugger_plugin.capture.sinks.opening import open_sink
from tb_debugger_plugin.capture.sinks.protocol import BOUNDED, GROWS, STOPPED, Sink
from tb_debugger_plugin.capture.stacks.calls import RunningCall
from tb_debugger_plugin.capture.stacks.frames import StackFrames
from tb_debugger_plugin.capture.tf_types import FunctionAttributes, TfGraph, TfSession
from tb_debugger_plugin.capture.thread_numbers import Register, ThreadNumbers
from tb_debugger_plugin.capture.watched import WatchedTensors
from tb_debugger_plugin.errors import NumericsError, RecordingError, user_message
from tb_debugger_plugin.events.messages import DebugEvent

_log = logging.getLogger("tb_debugger_plugin")
_HOUR_S = 3600
#: A limit that is further away is not worth a line.
_DAY_HOURS = 24


class StepCounter:
    """Counts the steps of one recording, and decides which are recorded. Thread-safe.

    A step is what the program does between two calls of `tb_debugger_plugin.step()`. Step 0 begins with the
    recording. While the recording is paused, nothing is recorded.

    Args:
      options: Choose the steps.
      sink: Gets the number of each step, and the decision.

    Attributes:
      is_recorded: Whether what the program computes now is recorded.
    """

    def __init__(self, options: Options, sink: Sink) -> None:
        self._options = options
        self._sink = sink
        self._lock = threading.Lock()  # guards _number and _is_paused, and the order of calls of the sink
        self._number = -1
        self._is_paused = False
        self.is_recorded = True
        self.end()

    def end(self) -> None:
        """End the current step and begin the next one."""
        with self._lock:
            self._number += 1
            self._sink.set_step(self._number)
            self._decide()

    def pause(self, is_paused: bool) -> None:
        """Record nothing from now on, or go on."""
        with self._lock:
            self._is_paused = is_paused
            self._decide()

    @contextmanager
    def counted_by(self, calls: int, step: int | None = None) -> Iterator[None]:
        """Let what is recorded inside have the step `calls`, if the program marks no steps; else `step`."""
        if self._number == 0:
            self._sink.set_step(calls)
        elif step is not None:
            self._sink.set_step(step)
        try:
            yield
        finally:
            if self._number == 0 or step is not None:
                self._sink.set_step(self._number)

    def _decide(self) -> None:
        self.is_recorded = not self._is_paused and self._options.records_step(self._number)
        self._sink.set_wanted(self.is_recorded)

    @property
    def num_ended(self) -> int:
        """How many steps the program has marked."""
        return self._number

    @property
    def never_marked(self) -> bool:
        """Whether the user chose steps, but the program has marked none."""
        return self._options.chooses_steps and self._number == 0


class Recording:
    """Records the program until it is closed. `enable_dump_debug_info` returns it.

    Use::

        recording = enable_dump_debug_info("/path/to/logdir", "FULL_HEALTH", circular_buffer_size=1000)
        ...
        recording.FlushExecutionFiles()  # the files now have the records of the circular buffer

    Args:
      options: What to record.

    Attributes:
      requested: The user's options.
      options: The part of them that the sink supports.
      does_not_stop: A sentence on what a debugger cannot stop at, because it was made before; often empty.
    """

    def __init__(self, options: Options) -> None:
        host = socket.gethostname()
        self._begun = time.monotonic()
        self._sink = open_sink(options, host)
        self.requested = options
        self.options = options = self._sink.narrowed(options)
        self._not_recorded = NotRecorded(self._sink)
        self._frames = StackFrames(self._sink, host, f"{os.getpid():x}-")
        self._names = NamesOfOps()
        self._graphs = GraphRecords(self._sink, self._frames, self._names)
        self._bad_values = BadValues(
            options, self._sink, self._graphs, self._frames, self.FlushExecutionFiles
        )
        self._steps = StepCounter(options, self._sink)
        threads = ThreadNumbers(Register(self._sink))
        self._session_runs = SessionRuns(self._sink, self._frames, threads, SCOPE)
        self._eager = EagerOps(
            options,
            self._sink,
            self._frames,
            self._graphs,
            self._not_recorded,
            threads=threads,
            at_new_call_site=self.end_if_call_ended,
        )
        self._tensors = WatchedTensors(self._sink, self._graphs, self._frames, self._on_new_tensors)
        self._functions: Instrumentation | GuardedFunctions
        self._guarded_ops: GuardedOps | None = None
        self._guarded_sessions: GuardedSessions | None = None
        if options.is_guard:
            self._functions = guarded = GuardedFunctions(
                options,
                self._sink,
                self._graphs,
                self._not_recorded,
                self._on_replayed,
                self._steps,
                self._frames,
                self._eager,
            )
            self._guarded_ops, self._guarded_sessions = guarded.ops, guarded.sessions
            on_op = self._on_guarded_op
        else:
            self._functions = Instrumentation(
                options, self._sink, self._graphs, self._not_recorded, self._tensors
            )
            on_op = self._on_op
        self._lock = threading.RLock()  # guards _on, and the end of the recording
        self._on = True
        self._failure = self.does_not_stop = ""
        self._call: RunningCall | None = None
        self._observing = threading.Lock()  # guards _observers
        self._observers: tuple[Observer, ...] = ()
        if isinstance(self._functions, GuardedFunctions):
            self._observers = (self._functions,)
        self._sees_eager_ops: Observer | None = None
        self._sees_session_runs: Observer | None = None
        self._alarm: Alarm | None = None
        if options.on_alert is not None:
            self._alarm = Alarm(options.on_alert, self._bad_values.of_ring, self.close)
        self._rules: RuleWatch | None = None
        self._callback = self._sink.op_callback(on_op, self._after_record, of_running_thread())
        if self._callback is not None:
            if self._guarded_ops is not None:
                self._guarded_ops.check_by(self._callback)
            elif not options.is_guard:
                self._eager.record_by(self._callback)
            self._callback.is_plain = True
        translated = self._alarm.translated if self._alarm else None
        self._threads = EveryThread(
            self._callback or on_op, self._functions.around_calls, translated, self._sink.native
        )
        if self._guarded_sessions is not None:
            self._guarded_sessions.record = self._session_runs.add
        runs = SessionRunHooks(
            self._on_session_run,
            self._around_session_runs,
            self._on_closing_session,
            self._on_unseen_session_run,
        )
        self._sessions = Sessions(
            self._watch_session, self._not_recorded, runs, self._functions.of_session_run
        )
        self._functions_hook = FunctionHook(self._on_function)
        _log.info("Recording to %s in mode %s.", self.dump_root, options.mode_name)
        try:
            self._watch_existing()
            if options.on_alert is not None and options.on_alert.rules:
                self._rules = RuleWatch(
                    partial(rules_of, options, self.files), self._act_before_next_op, self.dump_root
                )
        except Exception as error:  # the program must not see any error
            self._fail(error)

    def _watch_existing(self) -> None:
        """Watch the functions that exist, and report what is not recorded."""
        for missing in left_out(self.requested, self.options):
            self._not_recorded.report(missing)
        self._report_other_backend()
        if any(unwatchable(gc.get_objects())):
            gc.collect()  # objects that the program has dropped are not reported
        objects = gc.get_objects()
        functions = list(existing_functions(objects))
        for missing in unwatchable(objects):
            self._not_recorded.report(missing)
        del objects
        self._functions.watch_existing([function for function, _ in functions])

    def _report_other_backend(self) -> None:
        missing = other_backend()
        if missing is not None:
            self._not_recorded.report(missing)

    @property
    def dump_root(self) -> str:
        """Folder of the event files."""
        return self.options.dump_root

    @property
    def files(self) -> str:
        """The common beginning of the names of its event files; empty if TensorFlow's writer chose it."""
        return self._sink.files

    @property
    def on(self) -> bool:
        """Whether it still records."""
        return self._on

    @property
    def stopped_at_alert(self) -> bool:
        """Whether it has ended at a bad value or a broken rule, because of `on_alert="stop"`."""
        return self._alarm is not None and self._alarm.has_stopped

    def counts(self) -> tuple[int, int]:
        """Numbers of executions and traces so far, including those that the circular buffer dropped."""
        return self._sink.counts()

    def num_bad(self) -> int | None:
        """Return the number of tensors with an infinity or NaN so far, dropped ones included.

        It costs nothing to ask. Tensors of graphs count one by one, the outputs of an eager op together.
        `"NO_TENSOR"` and `"SHAPE"` look at no elements and count none.

        Returns:
          None without the native library, because TensorFlow's own debug ops do not count.
        """
        return self._sink.num_bad()

    def end_with(self, call: RunningCall) -> None:
        """End when a call of the program ends, also by an exception.

        Args:
          call: A running call. Its end is noticed when the program next runs ops on a new stack.
        """
        self._call = call

    def end_if_call_ended(self) -> None:
        """End the recording if the call of `end_with` has ended."""
        if self._on and self._call is not None and not self._call.is_running():
            _log.warning(
                "The recording to %s ends, because the call that it records has raised an exception.",
                self.dump_root,
            )
            self.close()

    @property
    def step(self) -> int:
        """The number of the current step: how many the program has marked as ended."""
        return self._steps.num_ended

    def end_step(self) -> None:
        """Mark the end of a step of the program: see `tb_debugger_plugin.step`."""
        self._steps.end()
        for observer in self._observers:
            observer.at_end_of_step()

    def observe(self, observer: Observer) -> None:
        """Let an observer see the recording from now on. Call it again when what it `sees_` has changed."""
        with self._observing:
            is_new = observer not in self._observers
            self._observers += (observer,) if is_new else ()
            self._choose_observers()
        if is_new:
            self._threads.call_before_next_op(observer.before_op)

    def leave(self, observer: Observer) -> None:
        """Let an observer see nothing from now on."""
        with self._observing:
            self._observers = tuple(one for one in self._observers if one is not observer)
            self._choose_observers()

    def _choose_observers(self) -> None:
        # Chosen here, not asked: each eager op and each call of a function passes.
        self._sees_eager_ops, sees_graphs = self._last("sees_eager_ops"), self._last("sees_graphs")
        self._sees_session_runs = self._last("sees_session_runs")
        if self._callback is not None and self._guarded_ops is None:
            self._callback.is_plain = self._sees_eager_ops is None
        run = self._functions.around_calls
        self._threads.around_calls = run if sees_graphs is None else partial(sees_graphs.around_graph, run)

    def _last(self, sees: str) -> Observer | None:
        return next((one for one in reversed(self._observers) if getattr(one, sees)), None)

    def _around_session_runs(self) -> AroundRun | None:
        observer = self._sees_session_runs if self._on else None
        return None if observer is None else observer.around_session_run

    def _on_new_tensors(self, tensors: Sequence[TensorOfGraph]) -> None:
        for observer in self._observers:
            observer.at_new_tensors(tensors)

    def adopt_session(self, made: TfSession) -> None:
        """Watch a session that was made before the recording, if it has run nothing that would be lost.

        Args:
          made: The session.
        """
        if self._on:
            self._sessions.adopt(made)

    def pause(self) -> None:
        """Record no executions and no values of tensors until `resume()`; graphs and sources still are.

        This is a switch, and costs nothing. Needs the native library; without it, nothing happens.
        """
        self._steps.pause(True)

    def resume(self) -> None:
        """Record again after `pause()`."""
        self._steps.pause(False)

    def enable_rules(self, rules: Collection[int]) -> None:
        """Apply only some of the rules of `keep_values` from now on; at first all apply.

        Args:
          rules: Their positions in `keep_values`.
        """
        self._sink.enable_rules(sum(1 << rule for rule in rules))

    def note_changed_value(self, graph_id: str, op_name: str, slot: int, expression: str) -> None:
        """Note that a user has changed a value, so that what follows is not what the program computes.

        Args:
          graph_id: The graph of the tensor; empty for an output of an eager op.
          op_name: Its op; of an eager op, the type and a number.
          slot: The number of the output.
          expression: What the user gave.
        """
        event = DebugEvent(wall_time=time.time())
        event.changed_value.graph_id, event.changed_value.op_name = graph_id, op_name
        event.changed_value.slot, event.changed_value.expression = slot, expression
        try:
            if self._on:
                self._sink.write("graphs", event)
        except Exception as error:  # the program must not see any error
            self._fail(error)

    def discard(self) -> None:
        """Drop the records that the circular buffer holds now, and go on as if the recording began here."""
        with self._lock:
            if self._on:
                self._sink.discard()

    @property
    def gate(self) -> Gate | None:
        """Where threads that compute tensors of graphs are held; None without the native library."""
        return self._sink.gate

    def note_running_stack(self, frame: FrameType) -> None:
        """Record the running stack of this thread with its sources, for a debugger that stops there.

        Args:
          frame: Its innermost frame.
        """
        self._frames.current(frame)

    @property
    def watched(self) -> list[TensorOfGraph]:
        """All watched tensors so far; none unless the options are interactive."""
        return self._tensors.all()

    def make_interactive(self) -> None:
        """Let a debugger stop at tensors of graphs from the next call on, as if it had begun so.

        The functions that exist get new definitions. What cannot is in `does_not_stop`.
        """
        try:
            if self._on:
                missing = self._functions.make_interactive()
                self.requested = replace(self.requested, is_interactive=True)
                if missing:
                    self.does_not_stop = (
                        "The recording began without breakpoints, so these do not stop at their tensors: "
                        f"{', '.join(missing)}. Begin it with enable_breakpoints()."
                    )
                    _log.warning("%s", self.does_not_stop)
        except Exception as error:  # the program must not see any error
            self._fail(error)

    def isolate(self, tensor_ids: frozenset[int]) -> frozenset[int]:
        """Give tensors watch ops of their own, for which their consumers wait, from the next call on.

        The functions that have the tensors, and their callers, get new definitions; a function that XLA
        compiles runs uncompiled meanwhile. An empty set restores the plan of the recorder. Call it between
        calls of the program.

        Args:
          tensor_ids: All tensors that are to have such ops.

        Returns:
          Those of them that are in functions, without constants. Tensors of sessions, and of input pipelines
          that exist already, keep the ops that they have.
        """
        try:
            return self._functions.isolate(tensor_ids) if self._on else frozenset()
        except Exception as error:  # the program must not see any error
            self._fail(error)
            return frozenset()

    def FlushNonExecutionFiles(self) -> None:
        """Do nothing: metadata, sources, stack frames and graphs are never buffered.

        The method exists because TensorFlow's writer has it.
        """

    def FlushExecutionFiles(self) -> None:
        """Write out buffered executions and traces.

        With a circular buffer this appends its records to the files and empties it.
        """
        with self._lock:
            if self._on:
                try:
                    self._sink.flush()
                    self._write_counts(finished=False)
                    self._check_sink()
                except Exception as error:  # the program must not see any error
                    self._fail(error)

    def Close(self) -> None:
        """End the recording: the same as `finish`. The method exists because TensorFlow's writer has it."""
        self.finish()

    def finish(self, *, exiting: bool = False) -> None:
        """End the recording, and act on what breaks an alert rule in all of it. Further calls do nothing.

        Args:
          exiting: Whether the program ends.

        Raises:
          NumericsError: A rule is broken, and the user wants it.
          Exception: What the user's function raises.
        """
        rules, self._rules = self._rules, None
        self.close(exiting=exiting)
        if rules is not None and self._alarm is not None:
            rules.finish()
            self._alarm.act_on_rules(rules.take, is_last=True)

    def close(self, *, exiting: bool = False) -> None:
        """End the recording, and ask no alert rule again. Further calls do nothing.

        Args:
          exiting: Whether the program ends; then its functions are not restored.
        """
        rules, self._rules = self._rules, None
        if rules is not None:
            rules.end()
        observers, self._observers = self._observers, ()
        for observer in observers:
            observer.at_end()
        with self._lock:
            ends = self._on
            if ends:
                self._on = False
                self._end_callback()
                self._call = None
                if self._sink.gate is not None:
                    self._sink.gate.close()
                if not exiting:
                    self._functions.restore()  # before the hooks go: calls wait there until it is done
                self._unhook()
                self._close_sink()
        if ends and self.options.is_temporary:
            shutil.rmtree(self.dump_root, ignore_errors=True)
        elif ends:
            _log.info("Recorded to %s: %s.", self.dump_root, self._counts_in_words())
            self._bad_values.log_first()

    def abandon(self) -> None:
        """End the recording without touching its files: for a forked child, whose parent goes on."""
        self._on = False
        self._end_callback()
        if self._rules is not None:
            self._rules.abandon()
            self._rules = None
        self._unhook()
        self._sink.abandon()

    def _end_callback(self) -> None:
        if self._callback is not None:
            self._callback.end()

    def _close_sink(self) -> None:
        if self._steps.never_marked:
            _log.warning(
                "The debugger got every_n_steps or step_range, but the program never called "
                "tb_debugger_plugin.step() at the end of a step: everything ran in step 0."
            )
        if self._sink.take_bounded():
            self._not_recorded.report(bound_reached(self._sink.byte_limit))
        for finish in (
            self._report_other_backend,
            partial(self._write_counts, finished=True),
            self._sink.close,
        ):
            try:
                finish()
            except Exception as error:  # the program must not see any error
                self._log_failure(error)
        if self._sink.failure():
            self._log_failure(RecordingError(self._sink.failure()))

    def _counts_in_words(self) -> str:
        executions, traces = self._sink.counts()
        # TensorFlow's own debug ops do not count traces.
        return f"{executions} executions" + (f" and {traces} tensors in graphs" if traces else "")

    def _write_counts(self, *, finished: bool) -> None:
        event = DebugEvent()
        counts = event.recording_counts
        counts.executions, counts.graph_execution_traces = self._sink.counts()
        counts.finished = finished
        counts.failure = self._sink.failure() or self._failure
        self._sink.write("graphs", event)

    def _unhook(self) -> None:
        self._functions_hook.remove()
        self._threads.remove()
        self._sessions.remove()
        self._names.remove()
        self._functions.remove_hooks()

    def _on_op(
        self,
        op_type: str | bytes,
        inputs: Sequence[tf.Tensor],
        attrs: object,
        outputs: Sequence[tf.Tensor],
        op_name: str | None = None,
        graph: TfGraph | None = None,
    ) -> object:
        """Handle an op. Inputs and outputs are eager tensors, or tensors of the graph if there is one."""
        if not self._on:
            self._threads.leave_this_thread()
            return outputs
        rang = 0
        try:
            if graph is None:
                if self._steps.is_recorded:
                    rang = self._eager.on_op(op_type, inputs, outputs, sys._getframe(1))
            else:
                self._graphs.note_op(graph, _name_of(outputs, op_name), sys._getframe(1))
        except Exception as error:  # the program must not see any error
            self._fail(error)
        self._after_record(rang)
        observer = self._sees_eager_ops
        if observer is not None and graph is None and outputs and op_type not in INTERNAL_OPS:
            others = observer.after_eager_op(op_type, inputs, outputs, sys._getframe(1))
            if others is not None:
                self._threads.change(outputs, others)
        return self._threads.callback_result(outputs)

    def _on_guarded_op(
        self,
        op_type: str | bytes,
        inputs: Sequence[tf.Tensor],
        attrs: object,
        outputs: Sequence[tf.Tensor],
        op_name: str | None = None,
        graph: TfGraph | None = None,
    ) -> object:
        """Do the same in GUARD, where only eager ops are looked at, and ops of graphs have layers only."""
        if not self._on:
            self._threads.leave_this_thread()
            return outputs
        ops, rang, is_bad, is_looked_at = self._guarded_ops, 0, False, False
        looked_at = inputs if op_type == "AssignVariableOp" else outputs
        try:
            if graph is not None:
                self._names.note_op(graph, _name_of(outputs, op_name))
            elif ops is not None:
                ops.note_change(op_type, inputs)
                is_looked_at = op_type not in ops.own_functions and self._steps.is_recorded
                looked_at = looked_at if is_looked_at else ()
                is_bad = bool(looked_at) and ops.has_bad(looked_at)
                if is_looked_at and not is_bad:
                    ops.note_good(op_type, inputs, outputs, sys._getframe(1))
        except Exception as error:  # the program must not see any error
            self._fail(error)
        if is_bad and ops is not None:
            ops.before_bad(op_type, sys._getframe(1))  # a function may have left it in a variable
        try:
            if graph is None and ops is not None:
                if is_bad or (is_looked_at and ops.is_following):
                    rang = ops.on_op(op_type, inputs, outputs, sys._getframe(1))
        except Exception as error:  # the program must not see any error
            self._fail(error)
        if rang:
            self._handle(rang)
        return self._threads.callback_result(outputs)

    def _on_replayed(self, call: ReplayedCall) -> None:
        """Record a call that was replayed, and act on what is bad as the user wants, which may raise."""
        if not self._on:
            return
        rang = 0
        error: BaseException | None = call.error
        try:
            self.end_if_call_ended()
            if call.outputs is not None:
                rang = self._eager.on_op(call.name, call.inputs, call.outputs, call.frame)
                rang = call.rang or rang
            self.FlushExecutionFiles()
        except Exception as failure:  # the program must not see any error
            self._fail(failure)
        if error is not None:
            error = self._alarm.translated(error) if self._alarm is not None else error
            if isinstance(error, NumericsError):
                raise error from None
        if rang:
            self._handle(rang)

    def _after_record(self, rang: int) -> None:
        """Do what is to be done after an eager op was recorded; see `Sink.eager_op`. This may raise."""
        if rang == STOPPED:
            self._fail(RecordingError(self._sink.failure()))
        elif rang and self._on:
            self._handle(rang)

    def _handle(self, rang: int) -> None:
        """Act on a bad value as the user wants, which may raise, or say how large the files become."""
        if rang == BOUNDED:
            self._not_recorded.report(bound_reached(self._sink.byte_limit))
        elif rang == GROWS:
            self._say_growth()
        elif self._alarm is not None:
            self._alarm.handle(rang)

    def _say_growth(self) -> None:
        size, limit = self._sink.num_bytes(), self._sink.byte_limit
        per_hour = size / max(time.monotonic() - self._begun, 1.0) * _HOUR_S
        hours = (limit - size) / per_hour
        if hours > _DAY_HOURS:
            return
        steps = self.step
        a_step = f"{size / 1e6 / steps:,.1f} MB a step, " if steps else ""
        left = f"{hours * 60:,.0f} minutes" if hours < 2 else f"{hours:,.0f} hours"
        _log.warning(
            "The recording grows by %s%s GB an hour: at this rate it reaches %s MB (max_bytes) in %s. Then "
            "it keeps what is on record, first bad tensors and the end.",
            *(a_step, f"{per_hour / 1e9:,.1f}", f"{limit / 1e6:,.0f}", left),
        )

    def _act_before_next_op(self) -> None:
        """Let the next op of the program, or the next run of a session, act on what has broken a rule."""
        self._threads.call_before_next_op(self._act_on_rules)

    def _act_on_rules(self, op_type: str | bytes, frame: FrameType | None = None) -> bool:
        """Act on what has broken a rule; return whether nothing waits. This may raise."""
        rules = self._rules
        if rules is None or self._alarm is None:
            return True
        if self._alarm.is_calling or op_type in INTERNAL_OPS:
            return False
        self._alarm.act_on_rules(rules.take)
        return True

    def _on_function(self, name: str, graph: TfGraph, attrs: FunctionAttributes) -> None:
        if self._on:
            try:
                self._watch_made(name, graph, attrs)
            except Exception as error:  # the program must not see any error
                self._fail(error)

    def _watch_made(self, name: str, graph: TfGraph, attrs: FunctionAttributes) -> None:
        self.end_if_call_ended()
        if self._on and isinstance(graph, func_graph.FuncGraph):
            self._functions.watch([new_function(name, graph, attrs)])

    def _watch_session(self, part: NewPart) -> SessionWatches:
        try:
            if self._on:
                return self._functions.watch_session(part)
        except Exception as error:  # the program must not see any error
            self._fail(error)
        return SessionWatches()

    def _on_session_run(self, ran: SessionRan) -> BaseException | None:
        rang = 0
        if self._on:
            try:
                is_recorded, guarded = self._steps.is_recorded, self._guarded_sessions
                number = self._session_runs.number(ran.session)
                if guarded is not None:
                    rang = guarded.after(ran, number, is_recorded=is_recorded)
                elif is_recorded:
                    rang = self._session_runs.add(ran, number)
            except Exception as error:  # the program must not see any error
                self._fail(error)
        if rang:
            self._handle(rang)
        if self._rules is not None:
            self._act_on_rules("")
        if ran.error is None or self._alarm is None:
            return ran.error
        return self._alarm.translated(ran.error)

    def _on_closing_session(self, made: TfSession) -> None:
        if self._on and self._guarded_sessions is not None:
            try:
                self._guarded_sessions.closing(made)
            except Exception as error:  # the program must not see any error
                self._fail(error)

    def _on_unseen_session_run(self, made: TfSession) -> None:
        if self._on and self._guarded_sessions is not None:
            self._guarded_sessions.note_unseen(made)

    def _check_sink(self) -> None:
        if self._sink.failure():
            self._fail(RecordingError(self._sink.failure()))

    def _fail(self, error: Exception) -> None:
        """End the recording because of an error of the recorder, and log it once."""
        with self._lock:
            if self._on:
                self._log_failure(error)
                self.close()

    def _log_failure(self, error: Exception) -> None:
        _log.debug("The recording failed:", exc_info=error)
        if self._failure:
            return
        self._failure = user_message(error)
        # A log line, not a warning: a program may turn warnings into exceptions.
        _log.warning(
            "The debugger stopped recording to %s: %s. The program goes on without it.",
            self.dump_root,
            self._failure,
        )


def _name_of(outputs: Sequence[tf.Tensor], requested: str | None) -> str:
    """Return the name of an op that was just made; a constant was asked for by a name that may differ."""
    return outputs[0].op.name if outputs else requested or ""
