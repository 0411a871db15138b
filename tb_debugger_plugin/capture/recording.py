"""One recording of the running program, from `enable_dump_debug_info` to `disable_dump_debug_info`.

A recording hooks into TensorFlow at two places: the op callbacks of every thread, for what runs eagerly, and
the one place where functions are made, for what runs in graphs. Rule: no failure of ours reaches the program;
the first one is said once, ends the recording, and the program goes on.
"""

from __future__ import annotations

import gc
import logging
import os
import socket
import sys
import threading
import uuid
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

from tensorflow.python.eager.polymorphic_function import atomic_function
from tensorflow.python.framework import func_graph

from tb_debugger_plugin import native
from tb_debugger_plugin.capture import unseen
from tb_debugger_plugin.capture.called import callees_first
from tb_debugger_plugin.capture.compiled import CompiledFunctions
from tb_debugger_plugin.capture.copies import Copies
from tb_debugger_plugin.capture.definitions import define, definition_of, restore
from tb_debugger_plugin.capture.eager import EagerOps
from tb_debugger_plugin.capture.frames import Frames
from tb_debugger_plugin.capture.functions import Function, already_there, just_made
from tb_debugger_plugin.capture.gathered import gathered
from tb_debugger_plugin.capture.graphs import Graphs, KnownGraph
from tb_debugger_plugin.capture.instrument import watch_function, watch_part
from tb_debugger_plugin.capture.names import Names
from tb_debugger_plugin.capture.native_sink import NativeSink
from tb_debugger_plugin.capture.options import (
    Options,
    is_remote,
)
from tb_debugger_plugin.capture.programs_view import ProgramsView
from tb_debugger_plugin.capture.session_graph import Watches
from tb_debugger_plugin.capture.sessions import Sessions
from tb_debugger_plugin.capture.sinks import Sink
from tb_debugger_plugin.capture.steps import Steps
from tb_debugger_plugin.capture.stock_sink import StockSink
from tb_debugger_plugin.capture.survivors import Survivors
from tb_debugger_plugin.capture.threads import EveryThread
from tb_debugger_plugin.capture.watch_plan import Plan, make_plan, plan_of_session
from tb_debugger_plugin.errors import DebuggerError, RecordingError, UsageError
from tb_debugger_plugin.events.messages import DebugEvent

#: The same for all recordings of a process, as TensorFlow has it, or of all processes of a job that say so.
_RUN_ID = os.environ.get("TB_DEBUGGER_RUN_ID") or uuid.uuid4().hex[:8]
_log = logging.getLogger("tb_debugger_plugin")


class Recording:
    """Records the program until it is closed. `enable_dump_debug_info` returns it.

    Use::

        recording = enable_dump_debug_info("/path/to/logdir", "FULL_HEALTH", circular_buffer_size=1000)
        ...
        recording.FlushExecutionFiles()  # what the circular buffer holds is now in the files

    Args:
      options: What is recorded.

    Attributes:
      options: What is recorded.
    """

    def __init__(self, options: Options) -> None:
        host = socket.gethostname()
        self._sink = _open_sink(options, host)
        self.options = options = self._sink.narrowed(options)
        self._frames = Frames(self._sink, host, f"{os.getpid():x}-")
        self._names = Names()
        self._graphs = Graphs(self._sink, self._frames, self._names, host)
        self._steps = Steps(options, self._sink)
        self._eager = EagerOps(options, self._sink, self._frames, self._graphs, self._steps, host)
        self._functions: dict[str, Function] = {}
        self._watched: dict[str, Function] = {}  # those that have watch ops in the runtime
        self._copies = Copies(self._functions.get)
        self._compiled: CompiledFunctions | None = None
        if isinstance(self._sink, NativeSink):
            self._compiled = CompiledFunctions(
                options, self._sink, self._add_graph, self._functions.get, self._copies
            )
        self._survivors: Survivors | None = None
        if options.keep_graph_optimizations:
            self._survivors = Survivors(self._sink, self._watched, self._define_watched)
        self._lock = threading.RLock()  # guards _on and what ends a recording
        self._on = True
        self._said = False
        self._make_function = atomic_function.from_func_graph
        self._view = ProgramsView(self._copies.unwatched)
        self._threads = EveryThread(self._on_op)
        self._sessions = Sessions(self._watch_session)
        atomic_function.from_func_graph = self._from_func_graph
        try:
            self._watch_what_is_there()
        except Exception as error:  # whatever it is, the program must not see it
            self._fail(error)

    def _watch_what_is_there(self) -> None:
        objects = gc.get_objects()
        found = list(already_there(objects))
        for sentence in unseen.sentences(objects):
            _log.warning("%s", sentence)
        del objects
        self._watch_all([function for function, _ in found])

    @property
    def dump_root(self) -> str:
        """Folder of the event files."""
        return self.options.dump_root

    @property
    def on(self) -> bool:
        """Whether it still records."""
        return self._on

    def counts(self) -> tuple[int, int]:
        """Executions and graph execution traces seen so far, whether a circular buffer kept them or not."""
        return self._sink.counts()

    def end_step(self) -> None:
        """A step of the program ends: see `tb_debugger_plugin.step`."""
        self._steps.end_one()

    def FlushNonExecutionFiles(self) -> None:
        """Write out what is buffered of metadata, sources, stack frames and graphs.

        They are written at once, so there is never anything to do; the method exists because TensorFlow's
        writer has it.
        """

    def FlushExecutionFiles(self) -> None:
        """Write out the executions and graph execution traces that are buffered.

        With a circular buffer this appends what it holds and empties it.
        """
        with self._lock:
            if self._on:
                try:
                    self._sink.flush()
                    self._write_counts(finished=False)
                    self._check_sink()
                except (OSError, ValueError) as error:
                    self._fail(error)

    def close(self, *, exiting: bool = False) -> None:
        """End the recording. Further calls do nothing.

        Args:
          exiting: Whether the program ends, so that its functions will not be called again.
        """
        with self._lock:
            if self._on:
                self._on = False
                self._unhook()
                if not exiting:
                    self._restore_functions()
                self._close_sink()

    def _restore_functions(self) -> None:
        for function in self._functions.values():
            try:
                restore(function)
            except Exception as error:  # it goes on with watch ops that are silent
                _log.debug("%s keeps its watch ops", function.name, exc_info=error)
        self._copies.remove()

    def abandon(self) -> None:
        """End the recording without touching its files: in a forked child, whose parent goes on."""
        self._on = False
        self._unhook()
        self._sink.abandon()

    def _close_sink(self) -> None:
        if self._steps.never_marked:
            _log.warning(
                "every_n_steps or step_range was given to the debugger, but the program never called "
                "tb_debugger_plugin.step() at the end of a step: all of it was step 0."
            )
        for finish in (partial(self._write_counts, finished=True), self._sink.close):
            try:
                finish()
            except (OSError, ValueError) as error:
                self._say(error)
        if self._sink.failure():
            self._say(RecordingError(self._sink.failure()))

    def _write_counts(self, *, finished: bool) -> None:
        event = DebugEvent()
        counts = event.recording_counts
        counts.executions, counts.graph_execution_traces = self._sink.counts()
        counts.finished = finished
        counts.failure = self._sink.failure()
        self._sink.write("graphs", event)

    def _unhook(self) -> None:
        if atomic_function.from_func_graph == self._from_func_graph:
            atomic_function.from_func_graph = self._make_function
        self._threads.remove()
        self._sessions.remove()
        self._names.remove()
        self._view.remove()

    def _on_op(
        self,
        op_type: Any,
        inputs: Sequence[Any],
        attrs: Any,
        outputs: Any,
        op_name: Any = None,
        graph: Any = None,
    ) -> Any:
        if not self._on:
            self._threads.leave_this_one()
            return outputs
        try:
            if graph is None:
                self._eager.on_op(op_type, inputs, outputs)
            else:
                # For a constant TensorFlow gives the name that was asked for, not the one it got.
                name = outputs[0].op.name if outputs else op_name
                self._graphs.note_op(graph, name, sys._getframe(1))
        except Exception as error:  # whatever it is, the program must not see it
            self._fail(error)
        return self._threads.passed_on(outputs)

    def _from_func_graph(
        self, name: Any, graph: Any, attrs: Any, function_type: Any = None, overwrite: bool = False
    ) -> Any:
        function = self._make_function(name, graph, attrs, function_type, overwrite)
        if self._on:
            try:
                self._watch_made(name.decode() if isinstance(name, bytes) else name, graph, attrs)
            except Exception as error:  # whatever it is, the program must not see it
                self._fail(error)
        return function

    def _watch_made(self, name: str, graph: Any, attrs: Any) -> None:
        if isinstance(graph, func_graph.FuncGraph):
            self._watch_all([just_made(name, graph, attrs)])

    def _watch_all(self, functions: Iterable[Function]) -> None:
        functions = list(functions)
        # All names first: how a call is treated and described depends on what it calls.
        self._functions.update((function.name, function) for function in functions)
        self._watched.update((f.name, f) for f in functions if not f.is_compiled)
        for function in functions:
            self._graphs.announce(function.name, function.graph_of())
        if self._survivors is not None:
            functions = callees_first(functions)
        # A call of a compiled function is treated as one of the shell that it gets.
        for function in sorted(functions, key=lambda function: not function.is_compiled):
            self._watch(function)

    def _add_graph(self, function: Function) -> KnownGraph:
        return self._graphs.add(function.graph_of())

    def _watch(self, function: Function) -> None:
        known = self._add_graph(function)
        self._view.keep(function)
        try:
            if not function.is_compiled:
                plan = make_plan(function, known, self.options, passes_through=self._sink.passes_through)
                if self._survivors is not None:
                    plan = self._survivors.left_of(function, known, plan)
                elif self._sink.passes_through:
                    plan = gathered(function, plan)
                self._define_watched(function, known, plan)
            elif self._survivors is not None:
                self._survivors.leave_out("functions that XLA compiles", function.name)
                self._call_unwatched(function)
            elif self._compiled is not None and self._compiled.watch(function):
                self._watched[function.name] = function
            else:
                self._call_unwatched(function)
        except OSError:
            raise
        except Exception as error:  # a graph that we do not understand: the others are still worth having
            self._watched.pop(function.name, None)
            _log.warning("The debugger does not watch the function %s: %s.", function.name, _words(error))
            _log.debug("What went wrong:", exc_info=error)
            if function.is_compiled:
                self._call_unwatched(function)

    def _define_watched(self, function: Function, known: KnownGraph, plan: Plan) -> None:
        watch_function(function, known, plan, self._sink, self._watched.get)

    def _watch_session(self, graph: Any, definition: Any, new: list[Any]) -> Watches:
        plain = type(definition).FromString(definition.SerializeToString())
        try:
            if self._on and self._survivors is not None:
                self._survivors.leave_out("sessions (tf.compat.v1.Session)")
            elif self._on:
                known = self._graphs.add(graph)
                plan = plan_of_session(new, known, self.options, passes_through=self._sink.passes_through)
                return watch_part(definition, known, plan, self._sink, self._watched.get)
        except Exception as error:  # whatever it is, the program must not see it
            self._fail(error)
            definition.CopyFrom(plain)
        return Watches()

    def _call_unwatched(self, function: Function) -> None:
        definition = definition_of(function)
        if self._copies.call_unwatched(definition):
            define(function, definition)

    def _check_sink(self) -> None:
        if self._sink.failure():
            self._fail(RecordingError(self._sink.failure()))

    def _fail(self, error: Exception) -> None:
        """End the recording because of a failure of ours, and say so once."""
        with self._lock:
            if self._on:
                self._say(error)
                self.close()

    def _say(self, error: Exception) -> None:
        _log.debug("What went wrong:", exc_info=error)
        if self._said:
            return
        self._said = True
        # A log line, not a warning: a program may turn warnings into exceptions.
        _log.warning(
            "The debugger stopped recording to %s: %s. The program goes on without it.",
            self.dump_root,
            _words(error),
        )


def _words(error: Exception) -> str:
    if isinstance(error, (DebuggerError, OSError)):
        return str(error)
    return f"{type(error).__name__}: {error}"


def _open_sink(options: Options, host: str) -> Sink:
    try:
        if is_remote(options.dump_root):
            return StockSink(options, _RUN_ID)
        os.makedirs(options.dump_root, exist_ok=True)
        module = native.load()
        if module is not None:
            return NativeSink(options, host, _RUN_ID, module)
        _say_that_it_is_slow()
        return StockSink(options, _RUN_ID)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"{options.dump_root} is a file: give a folder, new or not, as dump_root.") from None
    except OSError as error:
        raise RecordingError(
            f"{options.dump_root} cannot be written ({error}): give another folder as dump_root, "
            "or change its permissions."
        ) from error


_said_that_it_is_slow = False


def _say_that_it_is_slow() -> None:
    global _said_that_it_is_slow
    if not _said_that_it_is_slow:
        _said_that_it_is_slow = True
        _log.warning(
            "Recording with TensorFlow's stock debug ops, which are several times slower: %s. "
            "Install a C++ compiler and reinstall tb-debugger-plugin.",
            native.unavailable_reason(),
        )
