"""Guards the runs of TF1-style sessions, and replays those that go bad.

A session runs a copy of its graph (`capture/graph/session_graph`). Runs that request and feed the same get
one more op, the guard, which checks what the run returns and what variables have after it. What ops gave that
cannot run twice is fetched besides. A bad run is replayed in another session, whose graph is watched, with
what its variables were before it (`session_windows`). The program's session is only read.

Invariant: a run computes the ops that it computed before. Where an op is not known to be safe, nothing is
added for it: then only what the run returns is checked, and the run is not replayed.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from types import ModuleType
from typing import Final, TypeAlias

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tb_debugger_plugin.capture.engines.guard.session_variables import (
    BY_ROWS,
    OVERWRITES,
    READS,
    UPDATES,
    VARIABLES,
    dtype_of,
    reads_after,
    size_of,
    variables_of,
)
from tb_debugger_plugin.capture.engines.guard.session_windows import (
    FoundRun,
    GuardedRun,
    KeptRun,
    SessionWindow,
    Value,
    assignments_of,
    given_to,
    inputs_of,
    is_good,
)
from tb_debugger_plugin.capture.engines.guard.taken import HARMLESS, LARGE_TABLE, SCOPE
from tb_debugger_plugin.capture.graph.called import called_functions, function_attributes, with_callees
from tb_debugger_plugin.capture.graph.definitions import library_of, source_name
from tb_debugger_plugin.capture.graph.session_graph import (
    NO_WATCHES,
    RunWatches,
    SessionGraph,
    Watch,
)
from tb_debugger_plugin.capture.hooks.sessions import SessionRan, run_in, session_for
from tb_debugger_plugin.capture.options import MEASURED_DTYPES
from tb_debugger_plugin.capture.tf_types import FunctionDef, NodeDef, TfOp, TfSession, TfTensor
from tb_debugger_plugin.errors import user_message

_log = logging.getLogger("tb_debugger_plugin")
#: Branches and loops of TF1, which have no functions.
_CONTROL: Final = frozenset(("Enter", "RefEnter", "RefSwitch", "Switch"))
#: Ops that run functions, and have no other effect.
_CALLS: Final = frozenset(
    (
        *("Case", "If", "PartitionedCall", "StatefulPartitionedCall", "StatelessCase", "StatelessIf"),
        *("StatelessWhile", "While"),
    )
)
_ON_GPU: Final = "GUARD guards no session: it has only been made for CPUs, and TensorFlow uses a GPU."
_MOST_NAMES: Final = 3
#: Bad runs of one kind that may wait until they are asked for.
_MOST_WAITING: Final = 16
#: Runs of a session that differ and are guarded: a program whose runs all differ must not fill memory.
_MOST_RUNS: Final = 1000
#: The ops that runs request and feed.
_Key: TypeAlias = "tuple[frozenset[TfOp], frozenset[TfOp]]"


class GuardedSessions:
    """Guards the runs of sessions, for one recording. Thread-safe.

    Args:
      module: The native library.
      watch: Adds the watch ops to the graph of a replay.
      max_held_bytes: The most that a run may hold.
      report: Takes a sentence on what is not replayed.

    Attributes:
      record: Writes a run, by its number in the session; returns the number of a ring of the alarm, or 0.
    """

    def __init__(
        self, module: ModuleType, watch: Watch, max_held_bytes: int, report: Callable[[str], None]
    ) -> None:
        self._module = module
        self._watch = watch
        self._limit = max_held_bytes
        self._report = report
        self.record: Callable[[SessionRan, int], int] = lambda ran, number: 0
        self._replaying = threading.Lock()  # never waited for: a replay may run Python that runs a session
        self._lock = threading.Lock()  # guards the fields below; nothing of TensorFlow runs under it
        self._graphs: weakref.WeakKeyDictionary[SessionGraph, tuple[SessionWindow, dict[_Key, RunWatches]]]
        self._graphs = weakref.WeakKeyDictionary()
        self._windows: weakref.WeakKeyDictionary[TfSession, SessionWindow]
        self._windows = weakref.WeakKeyDictionary()
        self._number = self._num_bad = self._num_replayed = 0
        self._is_on = True

    def watch_run(
        self,
        graph: SessionGraph,
        requested: Collection[TfOp],
        needed: Collection[TfOp],
        fed: Collection[TfOp],
    ) -> RunWatches:
        """Return the guard of a run."""
        key = frozenset(requested), frozenset(fed)
        if self._is_on and tf.config.list_logical_devices("GPU"):
            self._is_on = False
            self._report(_ON_GPU)
        with self._lock:
            if not self._is_on:
                return NO_WATCHES
            if graph not in self._graphs:
                self._graphs[graph] = SessionWindow(graph, self._limit), {}
            window, known = self._graphs[graph]
            found = known.get(key)
            if found is not None:
                return found
            self._number += 1
            number, is_full = self._number, len(known) >= _MOST_RUNS
        if is_full:
            self._report(f"GUARD checks {_MOST_RUNS:,} runs of a session that differ, and no others.")
            return NO_WATCHES
        run = GuardedRun(window)
        try:
            watches = self._guard(_RunReader(graph, run, requested, needed, fed, number))
        except Exception as error:  # the program must not see any error
            _log.debug("Runs of a session cannot be guarded:", exc_info=error)
            self._report(f"GUARD does not check some runs of a session: {user_message(error)}.")
            watches = NO_WATCHES
        with self._lock:
            known[key] = watches
        return watches

    def _guard(self, reader: _RunReader) -> RunWatches:
        run = reader.read(self._limit)
        kept = [] if run.cannot_repeat else reader.kept
        if not reader.checked:
            return RunWatches(kept=kept, run=run)
        dtypes = tuple([dtype for _, dtype in reader.checked])
        run.site = self._module.add_guard_site(len(dtypes), 0, 0, dtypes, (), self._limit)
        node = NodeDef(name=f"{SCOPE}run_{reader.number}", op="TbDebuggerGuard", device="/device:CPU:0")
        node.input.extend(source for source, _ in reader.checked)
        node.attr["Tchecked"].list.type.extend(dtypes)
        node.attr["Theld"].list.SetInParent()
        node.attr["site"].i = run.site
        return RunWatches(reader.graph.add([*reader.nodes, node])[-1:], kept=kept, run=run)

    def after(self, ran: SessionRan, number: int, *, is_recorded: bool) -> int:
        """Replay a run that was bad, if one has just ended or turns out to have been.

        Args:
          ran: A run that has just ended.
          number: Its number in the session.
          is_recorded: Whether the current step is recorded; otherwise the run is only counted.

        Returns:
          The number of a ring of the alarm, or 0.
        """
        run = ran.run
        if not isinstance(run, GuardedRun):
            self.note_unseen(ran.session)
            return 0
        kept, rang = KeptRun(run, ran, number), 0
        if (run.waiting or self._module.num_bad_calls()) and self._replaying.acquire(blocking=False):
            try:
                rang = self._take(kept, is_recorded)
            finally:
                self._replaying.release()
        if run.window.is_new:
            run.window.is_new = False
            with self._lock:
                self._windows[ran.session] = run.window
        try:
            found = run.window.add(kept)
        except Exception as error:  # the program must not see any error
            _log.debug("The last runs of a session are not known:", exc_info=error)
            return rang
        return self._take_late(ran.session, found, is_recorded) or rang

    def _take(self, kept: KeptRun, is_recorded: bool) -> int:
        """Replay a run if it was bad; another run that requests the same may end before it is asked for."""
        run, ran, rang = kept.run, kept.ran, 0
        while run.site >= 0 and (call := self._module.take_bad_call(run.site)) is not None:
            self._module.release_bad_call(call.number)
            self._num_bad += 1
            run.waiting.append(frozenset(call.bad))
        fetched = {tensor.name for tensor in ran.fetches}
        is_bad = ran.error is not None or not all(map(is_good, ran.results))
        for bad in list(run.waiting):
            if is_bad or not any(run.labels[number] in fetched for number in bad):
                run.waiting.remove(bad)
                can_repeat = ran.error is None or not run.kept
                if is_recorded and self._is_on and can_repeat and bad not in run.seen:
                    rang = self._replay_first(kept, bad)
        del run.waiting[:-_MOST_WAITING]
        return rang

    def _take_late(self, session: TfSession, found: FoundRun | None, is_recorded: bool = True) -> int:
        """Replay a run that turns out to have been bad."""
        if found is None or not self._is_on or not self._replaying.acquire(blocking=False):
            return 0
        try:
            self._num_bad += 1
            return (self._replay(session, found, found.bad) or 0) if is_recorded else 0
        finally:
            self._replaying.release()

    def note_unseen(self, session: TfSession) -> None:
        """Note that a run of which nothing is known may change the variables of a session."""
        window = self._windows.get(session)
        if window is not None:
            window.break_off()

    def closing(self, session: TfSession) -> None:
        """Look at what the last runs left in the variables of a session, which the program closes."""
        window = self._windows.get(session)
        if window is not None and not session._closed:
            self._look_back(session, window)
            window.close()

    def look_back(self) -> None:
        """Look at what the last runs left in variables."""
        with self._lock:
            windows = list(self._windows.items())
        for session, window in windows:
            if not session._closed:
                self._look_back(session, window)

    def _look_back(self, session: TfSession, window: SessionWindow) -> None:
        try:
            self._take_late(session, window.look(session))
        except Exception as error:  # the program must not see any error
            _log.debug("The last runs of a session are not known:", exc_info=error)

    def end(self) -> None:
        """Say how many runs were bad, and forget all of them."""
        with self._lock:
            self._is_on = False
            graphs = list(self._graphs.items())
            self._graphs.clear()
            self._windows.clear()
        for graph, (window, _) in graphs:
            graph.forget_runs()
            window.close()
        if self._num_bad:
            runs = "1 run" if self._num_bad == 1 else f"{self._num_bad:,} runs"
            end = f"in {runs} of sessions; {self._num_replayed} on record"
            _log.warning("GUARD saw an infinity or NaN %s.", end)

    def _replay_first(self, noticed: KeptRun, bad: frozenset[int]) -> int:
        """Replay a run that is bad, or the one before it that made it so; return the number of a ring."""
        run, names = noticed.run, [noticed.run.labels[number] for number in sorted(bad)]
        why_not, found = run.cannot_repeat, None
        if not why_not:
            try:
                found = run.window.find(noticed)
            except Exception as error:  # the program must not see any error
                _log.debug("The last runs of a session are not known:", exc_info=error)
                why_not = f"an error: {user_message(error)}"
        if found is not None:
            run.seen.add(bad)
            rang = self._replay(noticed.ran.session, found, found.bad or names)
            if rang is not None:
                return rang
            run.seen.discard(bad)
        elif why_not:
            run.seen.add(bad)
        if bad in run.told:
            return 0
        run.told.add(bad)
        self._say_not_replayed(names, why_not or "its variables, whose values before it are not known")
        return self.record(noticed.ran, noticed.number)

    def _replay(self, session: TfSession, found: FoundRun, bad: Sequence[str]) -> int | None:
        """Replay a run; return the number of a ring, or None if it is good when it runs again."""
        (run, ran, number), given = found.kept, given_to(found.kept)
        if number in run.window.on_record:
            return 0
        if self._num_replayed and not all(map(is_good, (*found.before.values(), *given.values()))):
            return 0  # it follows from what is on record
        try:
            wanted = [name for name in bad if ":" in name and name not in given]
            results = self._run_again(found, given, session, wanted)
        except Exception as error:  # the program must not see any error
            _log.debug("A run of a session cannot be replayed:", exc_info=error)
            self._say_not_replayed(bad, f"an error: {user_message(error)}")
            return self.record(ran, number)
        if results and all(map(is_good, results)):
            return None
        run.window.on_record.add(number)
        self._num_replayed += 1
        _log.warning(
            "A run of a session has an infinity or NaN (%s). The run was replayed and is on record. "
            "Further runs with the same bad results are counted.",
            _in_words(bad),
        )
        return self.record(ran, number)

    def _say_not_replayed(self, bad: Sequence[str], why_not: str) -> None:
        bad_run = f"A run of a session has an infinity or NaN ({_in_words(bad)})."
        self._report(f"{bad_run} It is not replayed, because of {why_not}.")

    def _run_again(
        self, found: FoundRun, given: Mapping[str, Value], session: TfSession, wanted: Sequence[str]
    ) -> list[Value]:
        """Run a run again, watched; return the values of the tensors that are wanted, by name."""
        run, program = found.kept.run, session._graph
        graph = SessionGraph(program, self._watch)
        graph.extend()
        placeholders, assignments = assignments_of(graph, {name: run.needs[name] for name in found.before})
        values = {placeholders[name]: value for name, value in found.before.items()}
        fed = [program.get_tensor_by_name(name) for name in given]
        targets = [program.get_operation_by_name(name) for name in run.requested]
        watches = graph.watches_of_run((), targets, fed)
        feeds, requested = inputs_of(graph, run, given)
        fetches = [graph.own_tensor(program.get_tensor_by_name(name)) for name in wanted]
        with session_for(graph.copy, session) as made:
            run_in(made, values, (), assignments)
            run_in(made, {}, (), watches.before)
            return [*run_in(made, feeds, fetches, [*requested, *watches.during])]


class _RunReader:
    """Decides what is taken of runs: what the guard checks, with ops to add for it, and what is fetched."""

    def __init__(
        self,
        graph: SessionGraph,
        run: GuardedRun,
        requested: Collection[TfOp],
        needed: Collection[TfOp],
        fed: Collection[TfOp],
        number: int,
    ) -> None:
        self.graph = graph
        self.number = number
        self._requested, self._needed, self._fed = requested, needed, fed
        self._run = run
        self.nodes: list[NodeDef] = []
        self.checked: list[tuple[str, int]] = []
        self.kept: list[TfTensor] = []
        self._changes: dict[TfOp, Sequence[TfOp]] = {}  # the ops that change a variable that is checked
        self._library: dict[str, FunctionDef] | None = None  # the functions of the graph

    def read(self, max_held_bytes: int) -> GuardedRun:
        """Return what is taken; a run that needs more than may be held is not replayed."""
        run = self._run
        for op in self._requested:
            run.requested.append(op.name)
            if op not in self._fed and op.type not in VARIABLES:
                for tensor in op.outputs:
                    self._check(tensor, tensor.name)
        if any(len(op.outputs) != 1 for op in self._fed):
            run.give_up("an op of which one output is fed")
        running = [op for op in self._needed if op not in self._fed]
        has_control = any(op.type in _CONTROL for op in running)
        if has_control:
            run.give_up("a branch or a loop of TF1")
        users: dict[TfOp, list[TfOp]] = {}
        for op in running:
            for variable in variables_of(op):
                users.setdefault(variable, []).append(op)
        for variable, by in users.items():
            self._take_variable(variable, by)
        if sum(map(size_of, run.needs.values())) > max_held_bytes:
            run.give_up("max_held_bytes, which its variables exceed")
        if has_control:
            run.changes.clear()  # nobody knows which
        else:
            for op in running:
                self._take_effects(op)
            if run.cannot_repeat or not self.checked:
                self._check_after()
        return run

    def _check(self, tensor: TfTensor, label: str) -> None:
        dtype = tensor.dtype.base_dtype
        if dtype in MEASURED_DTYPES:
            self.checked.append((source_name(tensor.op.name, tensor.value_index), dtype.as_datatype_enum))
            self._run.labels.append(label)

    def _take_variable(self, variable: TfOp, users: Sequence[TfOp]) -> None:
        run = self._run
        changes = [op for op in users if op.type not in READS and not self._only_reads(op)]
        run.may_change |= bool(changes) or any(_passes_on(op) for op in users)
        if any(op.type in UPDATES for op in changes) or len(users) > len(changes):
            run.needs[variable.name] = variable
        if not changes:
            return
        run.changes[variable.name] = variable
        unknown = next((op.type for op in changes if op.type not in UPDATES | OVERWRITES), "")
        if unknown:
            run.give_up(f"the op {unknown}, which takes a variable")
        elif size_of(variable) > LARGE_TABLE and any(op.type in BY_ROWS for op in changes):
            for op in changes:  # a read copies the table
                for tensor in op.inputs[1:]:
                    self._check(tensor, variable.name)
        elif dtype_of(variable) in MEASURED_DTYPES:
            self._changes[variable] = changes

    def _check_after(self) -> None:
        """Check the values of variables after the run."""
        self.nodes, sources = reads_after(self._changes, f"{SCOPE}after_{self.number}")
        for variable, source in sources.items():
            self.checked.append((source, dtype_of(variable).as_datatype_enum))
            self._run.labels.append(variable.name)

    def _take_effects(self, op: TfOp) -> None:
        """Keep what a replay cannot compute again."""
        run = self._run
        if op.type in VARIABLES or op.type in HARMLESS or self._only_reads(op):
            return
        if any(tensor.dtype._is_ref_dtype and tensor.op.type not in VARIABLES for tensor in op.inputs):
            run.give_up("a reference to a variable that an op passes on")
        definition = op_def_registry.get(op.type)
        takes = {tensor.dtype for tensor in op.inputs}
        gives = {tensor.dtype for tensor in op.outputs}
        if op.type in UPDATES | OVERWRITES | READS and tf.resource not in gives:
            return
        is_stateful = definition is None or definition.is_stateful
        if not is_stateful and tf.resource not in takes and not any(one._is_ref_dtype for one in takes):
            return
        if gives == {tf.resource} and tf.resource not in takes:
            return  # what uses it is kept
        is_odd = bool(gives & {tf.resource, tf.variant}) or any(one._is_ref_dtype for one in gives)
        if not gives or is_odd or definition is None or function_attributes(op.type):
            run.give_up(f"the op {op.type}, which cannot run twice")
            return
        run.kept += [tensor.name for tensor in op.outputs]
        self.kept += op.outputs

    def _only_reads(self, op: TfOp) -> bool:
        """Whether an op runs functions that read variables at most, and may run twice."""
        if op.type not in _CALLS or any(map(_is_handle, op.outputs)):
            return False
        if self._library is None:
            functions = library_of(op.graph.as_graph_def()).function
            self._library = {function.signature.name: function for function in functions}
        bodies = [self._library.get(name) for name in with_callees(called_functions(op), self._library.get)]
        return all(body is not None and all(map(_is_read, body.node_def)) for body in bodies)


def _is_read(node: NodeDef) -> bool:
    """Whether an op of a function reads variables at most; what functions it runs is another question."""
    definition = op_def_registry.get(node.op)
    is_call = definition is None or node.op in _CALLS
    return is_call or node.op in READS | HARMLESS or not definition.is_stateful


def _is_handle(tensor: TfTensor) -> bool:
    return bool(tensor.dtype == tf.resource or tensor.dtype._is_ref_dtype)


def _passes_on(op: TfOp) -> bool:
    """Whether an op passes a variable on to others, which may change it."""
    return any(map(_is_handle, op.outputs))


def _in_words(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (" …" if len(names) > _MOST_NAMES else "")
