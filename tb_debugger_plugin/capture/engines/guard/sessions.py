"""Guards the runs of TF1-style sessions, and replays those that go bad.

A session runs a copy of its graph (`capture/graph/session_graph`). Each run that fetches, feeds and targets
the same gets one more op, the guard, which takes what the run returns, what variables have after it, what
they had before it, and what ops gave that cannot run twice. A bad run is replayed in another session, whose
graph is watched: variables get the values from before the run, and the results of ops that cannot run twice
are fed. The program's session is only read.

Invariant: a run of the program computes the ops that it computed before, and waits only for reads of the
variables that it updates.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Final

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tb_debugger_plugin.capture.engines.guard.replays import held_values
from tb_debugger_plugin.capture.engines.guard.taken import HARMLESS, READS, SCOPE
from tb_debugger_plugin.capture.graph.definitions import source_name
from tb_debugger_plugin.capture.graph.session_graph import (
    NO_WATCHES,
    NewPart,
    RunWatches,
    SessionGraph,
    SessionWatches,
    Watch,
    needed_ops,
)
from tb_debugger_plugin.capture.hooks.sessions import SessionRan, run_in, session_for
from tb_debugger_plugin.capture.options import MEASURED_DTYPES
from tb_debugger_plugin.capture.tf_types import Array, NodeDef, TfOp, TfTensor
from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.native.structs import BadCall

_log = logging.getLogger("tb_debugger_plugin")
#: Ops that are variables, and how each is read.
_VARIABLES: Final = {"VarHandleOp": "ReadVariableOp", "VariableV2": "DeepCopy", "Variable": "DeepCopy"}
#: Ops that give a variable a value without taking the one that it had.
_OVERWRITES: Final = ("Assign", "AssignVariableOp")
#: Ops that only read a variable.
_READS: Final = READS | {"Identity", "IsVariableInitialized"}
#: How the types of the others begin that have no functions.
_CHANGES: Final = ("Apply", "Assign", "CountUpTo", "Resource", "Scatter", "SparseApply")
_MOST_NAMES: Final = 3
#: A program whose runs all differ must not fill memory.
_MOST_RUNS: Final = 1000


@dataclass
class _Run:
    """What the guard of a run takes.

    Attributes:
      graph: The graph that the session runs; dead when the session is.
      site: Number of the guard.
      labels: What each checked tensor is.
      variables: The variables that the run may use.
      old: Those of them whose value from before the run is held, in order.
      kept: What ops gave that a replay does not run: held after that.
      cannot_repeat: Why a run is not replayed; empty if it is.
      seen: The bad results of runs that are on record, or were counted.
      num_bad: Number of bad runs.
      num_replayed: How many of them are on record.
    """

    graph: weakref.ref[SessionGraph]
    site: int = -1
    labels: list[str] = field(default_factory=list)
    variables: list[TfOp] = field(default_factory=list)
    old: list[TfOp] = field(default_factory=list)
    kept: list[TfTensor] = field(default_factory=list)
    cannot_repeat: str = ""
    seen: set[frozenset[int]] = field(default_factory=set)
    num_bad: int = 0
    num_replayed: int = 0


class GuardedSessions:
    """Guards the runs of sessions, for one recording. Thread-safe.

    Args:
      module: The native library.
      watch: Adds the watch ops to the graph of a replay.
      max_held_bytes: The most that a run may hold.
      report: Takes a sentence on what is not replayed.
    """

    def __init__(
        self, module: ModuleType, watch: Watch, max_held_bytes: int, report: Callable[[str], None]
    ) -> None:
        self._module = module
        self._watch = watch
        self._limit = max_held_bytes
        self._report = report
        self._lock = threading.RLock()  # guards the fields below, and replays
        self._runs: dict[int, _Run] = {}  # by site
        self._number = 0
        self._is_on, self._has_replayed = True, False

    def prepare(self, part: NewPart) -> SessionWatches:
        """Let what updates a variable wait until its value is read."""
        by_name = {node.name: node for node in part.definition.node}
        for op in part.ops:
            if op.type in _VARIABLES:
                part.definition.node.append(_read(op, _before(op)))
            elif _is_steady(op):
                by_name[op.name].input.extend(f"^{_before(variable)}" for variable in _taken_by(op))
        return SessionWatches()

    def watch_run(
        self,
        graph: SessionGraph,
        requested: Collection[TfOp],
        needed: Collection[TfOp],
        fed: Collection[TfOp],
    ) -> RunWatches:
        """Return the guard of a run."""
        with self._lock:
            if not self._is_on or len(self._runs) >= _MOST_RUNS:
                return NO_WATCHES
            self._number += 1
            reader = _RunReader(graph, requested, needed, fed, self._number)
            run = reader.read()
            if not reader.checked:
                return NO_WATCHES
            checked, held = reader.checked, ([] if run.cannot_repeat else reader.held)
            dtypes = tuple([dtype for _, dtype in (*checked, *held)])
            run.site = self._module.add_guard_site(len(checked), 0, 0, dtypes, (), self._limit)
            self._runs[run.site] = run
            node = NodeDef(name=f"{SCOPE}run_{self._number}", op="TbDebuggerGuard", device="/device:CPU:0")
            node.input.extend(source for source, _ in (*checked, *held))
            node.attr["Tchecked"].list.type.extend(dtype for _, dtype in checked)
            node.attr["Theld"].list.type.extend(dtype for _, dtype in held)
            node.attr["site"].i = run.site
            return RunWatches(graph.add([*reader.nodes, node])[-1:], [])

    def after(self, ran: SessionRan, *, is_recorded: bool) -> bool:
        """Replay a run that has just ended, if it was bad; return whether it is to be on record.

        Args:
          ran: The run.
          is_recorded: Whether the current step is recorded; otherwise the run is only counted.
        """
        is_on_record = False
        if self._module.num_bad_calls():
            with self._lock:
                for site, run in self._runs.items():
                    while (call := self._module.take_bad_call(site)) is not None:
                        try:
                            run.num_bad += 1
                            is_on_record |= is_recorded and self._is_on and self._replay(run, call, ran)
                        finally:
                            self._module.release_bad_call(call.number)
        return is_on_record

    def end(self) -> None:
        """Say how many runs were bad."""
        with self._lock:
            self._is_on = False
            num_bad = sum(run.num_bad for run in self._runs.values())
            num_replayed = sum(run.num_replayed for run in self._runs.values())
        if num_bad:
            runs = "1 run" if num_bad == 1 else f"{num_bad:,} runs"
            _log.warning("GUARD saw an infinity or NaN in %s of sessions; %d on record.", runs, num_replayed)

    def _replay(self, run: _Run, call: BadCall, ran: SessionRan) -> bool:
        bad = frozenset(number for number in call.bad if number < len(run.labels))
        if bad in run.seen:
            return False
        run.seen.add(bad)
        names = [run.labels[number] for number in sorted(bad)]
        what = ", ".join(names[:_MOST_NAMES]) + (" …" if len(names) > _MOST_NAMES else "")
        why_not = run.cannot_repeat or ("" if call.is_held else "max_held_bytes, which it exceeds")
        if not why_not:
            try:
                if self._has_replayed and _came_in(run, call, ran):
                    return False  # it follows from what is on record
                self._run_again(run, call, ran)
            except Exception as error:  # the program must not see any error
                _log.debug("A run of a session cannot be replayed:", exc_info=error)
                why_not = f"an error: {user_message(error)}"
        if why_not:
            bad_run = f"A run of a session has an infinity or NaN ({what})."
            self._report(f"{bad_run} It is not replayed, because of {why_not}.")
            return True
        run.num_replayed += 1
        self._has_replayed = True
        _log.warning(
            "A run of a session has an infinity or NaN (%s). The run was replayed and is on record. Further "
            "runs with the same bad results are counted.",
            what,
        )
        return True

    def _run_again(self, run: _Run, call: BadCall, ran: SessionRan) -> None:
        dtypes = [_dtype_of(op).as_datatype_enum for op in run.old]
        dtypes += [tensor.dtype.as_datatype_enum for tensor in run.kept]
        held: list[Array | bytes] = [value._numpy_internal() for value in held_values(call.number, dtypes)]
        values = dict(zip((op.name for op in run.old), held, strict=False))
        kept = dict(zip(run.kept, held[len(run.old) :], strict=True))
        values |= _unchanged(run, ran)
        feeds = {ref.deref(): value for ref, value in ran.feeds.items()} | kept
        graph = SessionGraph(ran.session._graph, self._watch)
        graph.extend()
        given, assignments = _assignments(graph, run.variables, values)
        watches = graph.watches_of_run(ran.fetches, ran.targets, feeds)
        fed = {tensor.op for tensor in feeds}
        requested = [op for op in (*ran.targets, *(tensor.op for tensor in ran.fetches)) if op not in fed]
        with session_for(graph.copy, ran.session) as made:
            run_in(made, given, (), assignments)
            run_in(made, {}, (), watches.before)
            own = {graph.own_tensor(tensor): value for tensor, value in feeds.items()}
            run_in(made, own, (), [*map(graph.own, requested), *watches.during])


class _RunReader:
    """Decides what the guard of a run takes."""

    def __init__(
        self,
        graph: SessionGraph,
        requested: Collection[TfOp],
        needed: Collection[TfOp],
        fed: Collection[TfOp],
        number: int,
    ) -> None:
        self._graph = graph
        self._run = _Run(weakref.ref(graph))
        self._requested, self._needed, self._fed = requested, needed, fed
        self._number = number
        self.nodes: list[NodeDef] = []
        self.checked: list[tuple[str, int]] = []
        self.held: list[tuple[str, int]] = []
        self._kept: list[tuple[str, int]] = []

    def read(self) -> _Run:
        """Return what is taken; `nodes`, `checked` and `held` say what of the session's graph."""
        run = self._run
        for op in self._requested:
            if op not in self._fed and _is_steady(op):
                for slot, tensor in enumerate(op.outputs):
                    self._check(source_name(op.name, slot), tensor.dtype, tensor.name)
        changes: dict[TfOp, list[TfOp]] = {}
        for op in self._needed:
            if op in self._fed:
                continue
            if op.type in _VARIABLES:
                run.variables.append(op)
            for variable in _variables_of(op):
                if op.type not in _READS:
                    changes.setdefault(variable, []).append(op)
            self._note_effects(op)
        for variable, by in changes.items():
            self._take_variable(variable, by)
        self.held += self._kept
        return run

    def _check(self, source: str, dtype: tf.DType, label: str) -> None:
        if dtype in MEASURED_DTYPES:
            self.checked.append((source, dtype.as_datatype_enum))
            self._run.labels.append(label)

    def _take_variable(self, variable: TfOp, by: Sequence[TfOp]) -> None:
        dtype = _dtype_of(variable)
        if not all(map(_is_steady, by)):
            self._give_up("a variable that a branch or a loop changes")
            return
        after = _read(variable, f"{SCOPE}{variable.name}/after_{self._number}", copies=False)
        after.input.extend(f"^{op.name}" for op in by)
        self.nodes.append(after)
        self._check(after.name, dtype, variable.name)
        unknown = next((op.type for op in by if not op.type.startswith(_CHANGES)), "")
        if unknown:
            self._give_up(f"the op {unknown}, which takes a variable")
        waiting = [op for op in by if self._waits(op, variable)]
        reads = [op for op in self._needed if op not in by and variable in _variables_of(op)]
        if waiting == by:
            self._run.old.append(variable)
            self.held.append((_before(variable), dtype.as_datatype_enum))
        elif waiting or any(op.type != "IsVariableInitialized" for op in reads):
            self._give_up("a variable that is read and overwritten")

    def _waits(self, op: TfOp, variable: TfOp) -> bool:
        """Whether an op that changes a variable waits until its value is read."""
        return any(before.name == _before(variable) for before in self._graph.own(op).control_inputs)

    def _note_effects(self, op: TfOp) -> None:
        """Keep what a replay cannot compute again."""
        definition = op_def_registry.get(op.type)
        dtypes = {tensor.dtype for tensor in op.outputs}
        if op.type == "Identity" and tf.resource in dtypes:
            self._give_up("an Identity of a resource")
        is_known = op.type in _VARIABLES or op.type in HARMLESS or op.type.startswith(_CHANGES)
        is_pure = definition is not None and not definition.is_stateful
        if is_known or is_pure or op.type in _READS or tf.resource in dtypes:
            return
        if not op.outputs or tf.variant in dtypes or not _is_steady(op):
            self._give_up(f"the op {op.type}, which cannot run twice")
            return
        for slot, tensor in enumerate(op.outputs):
            self._run.kept.append(tensor)
            self._kept.append((source_name(op.name, slot), tensor.dtype.as_datatype_enum))

    def _give_up(self, reason: str) -> None:
        self._run.cannot_repeat = self._run.cannot_repeat or reason


def _unchanged(run: _Run, ran: SessionRan) -> dict[str, Array]:
    """Return the values of the variables that a run only reads, by name."""
    graph = run.graph()
    assert graph is not None, "its session has just run"
    names = [op.name for op in run.variables if op not in run.old]
    reads = [graph.own(_before(name)).outputs[0] for name in names]
    return dict(zip(names, run_in(ran.session._session, {}, reads, ()), strict=True))


def _came_in(run: _Run, call: BadCall, ran: SessionRan) -> bool:
    """Whether a variable was bad before a run, or what was fed."""
    if any(number >= len(run.labels) for number in call.bad):
        return True
    values = [*ran.feeds.values(), *_unchanged(run, ran).values()]
    floats = [value for value in values if tf.as_dtype(value.dtype) in MEASURED_DTYPES]
    return not all(np.isfinite(value.astype(np.complex128)).all() for value in floats)


def _before(variable: TfOp | str) -> str:
    return f"{SCOPE}{variable if isinstance(variable, str) else variable.name}/before"


def _read(variable: TfOp, name: str, *, copies: bool = True) -> NodeDef:
    """Return a node that reads a variable. A reference is overwritten in place, so its value is copied."""
    kind = _VARIABLES[variable.type]
    is_resource = kind == "ReadVariableOp"
    op = kind if copies or is_resource else "Identity"
    node = NodeDef(name=name, op=op, device=variable.device, input=[variable.name])
    node.attr["dtype" if is_resource else "T"].type = _dtype_of(variable).as_datatype_enum
    return node


def _dtype_of(variable: TfOp) -> tf.DType:
    """Return the dtype of the value of a variable."""
    return tf.as_dtype(variable.get_attr("dtype"))


def _variables_of(op: TfOp) -> list[TfOp]:
    return list(dict.fromkeys(tensor.op for tensor in op.inputs if tensor.op.type in _VARIABLES))


def _taken_by(op: TfOp) -> list[TfOp]:
    """Return the variables that an op changes whose value it takes, perhaps through other ops."""
    if op.type in _READS or not op.type.startswith(_CHANGES):
        return []
    variables = _variables_of(op)
    if op.type not in _OVERWRITES:
        return variables
    # One that gives a variable its first value takes nothing of it.
    before = needed_ops([tensor.op for tensor in op.inputs[1:]], ())
    return [one for one in variables if any(one in _variables_of(each) for each in before)]


def _is_steady(op: TfOp) -> bool:
    """Whether an op runs once in each run that needs it: it is in no branch and no loop of TF1."""
    return op._get_control_flow_context() is None


def _assignments(
    graph: SessionGraph, variables: Sequence[TfOp], values: Mapping[str, Array | bytes]
) -> tuple[dict[TfTensor, Array | bytes], list[TfOp]]:
    """Add ops that assign variables; return what to feed, and the ops."""
    nodes: list[NodeDef] = []
    for variable in variables:
        is_resource = variable.type == "VarHandleOp"
        dtype = _dtype_of(variable).as_datatype_enum
        given = NodeDef(name=f"{SCOPE}{variable.name}/given", op="Placeholder")
        given.attr["dtype"].type = dtype
        kind = "AssignVariableOp" if is_resource else "Assign"
        assign = NodeDef(name=f"{SCOPE}{variable.name}/assign", op=kind, device=variable.device)
        assign.input.extend([variable.name, given.name])
        assign.attr["dtype" if is_resource else "T"].type = dtype
        if not is_resource:
            assign.attr["validate_shape"].b = False
        nodes += [given, assign]
    made = graph.add(nodes)
    feeds = {op.outputs[0]: values[variable.name] for variable, op in zip(variables, made[::2], strict=True)}
    return feeds, made[1::2]
