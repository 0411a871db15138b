"""Guards the runs of TF1-style sessions, and replays those that go bad.

A session runs a copy of its graph (`capture/graph/session_graph`). Runs that request and feed the same get
one more op, the guard, which takes what the run returns, what variables have after it, and what a replay
needs: what was fed, what variables had before the run, and what ops gave that cannot run twice. A bad run is
replayed in another session, whose graph is watched. The program's session is only read.

Invariant: a run computes the ops that it computed before. Where an op is not known to be safe, nothing is
added for it: then only what the run returns is checked, and the run is not replayed.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from tb_debugger_plugin.capture.engines.guard.replays import held_values
from tb_debugger_plugin.capture.engines.guard.taken import HARMLESS, SCOPE
from tb_debugger_plugin.capture.engines.xla.nonfinite import is_finite
from tb_debugger_plugin.capture.graph.called import function_attributes
from tb_debugger_plugin.capture.graph.definitions import source_name
from tb_debugger_plugin.capture.graph.session_graph import (
    NO_WATCHES,
    NewPart,
    RunWatches,
    SessionGraph,
    SessionWatches,
    Watch,
)
from tb_debugger_plugin.capture.hooks.sessions import SessionRan, run_in, session_for
from tb_debugger_plugin.capture.options import MEASURED_DTYPES
from tb_debugger_plugin.capture.tf_types import Array, NodeDef, TfOp, TfTensor
from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.native.structs import BadCall

_log = logging.getLogger("tb_debugger_plugin")
#: Ops that are variables, and the ops that read them. A reference is overwritten in place, so it is copied.
_VARIABLES: Final = {"VarHandleOp": "ReadVariableOp", "VariableV2": "DeepCopy", "Variable": "DeepCopy"}
_OPTIMIZERS: Final = (
    *("AdaMax", "Adadelta", "Adagrad", "AdagradDA", "Adam", "AddSign", "CenteredRMSProp", "Ftrl", "FtrlV2"),
    *("GradientDescent", "KerasMomentum", "Momentum", "PowerSign", "ProximalAdagrad"),
    *("ProximalGradientDescent", "RMSProp"),
)
#: Ops that give a variable a value, without one that it must have had.
_OVERWRITES: Final = frozenset(("Assign", "AssignVariableOp"))
#: Ops that change the value of a variable.
_UPDATES: Final = frozenset(
    (
        *("AssignAdd", "AssignAddVariableOp", "AssignSub", "AssignSubVariableOp"),
        *(f"{prefix}Apply{name}" for prefix in ("", "Resource") for name in _OPTIMIZERS),
    )
)
#: Ops that only read a variable.
_READS: Final = frozenset(
    (
        *("Identity", "IsVariableInitialized", "ReadVariableOp", "ResourceGather", "ResourceGatherNd"),
        *("VarIsInitializedOp", "VariableShape"),
    )
)
#: Branches and loops of TF1, which have no functions.
_CONTROL: Final = frozenset(("Enter", "RefEnter", "RefSwitch", "Switch"))
_ON_GPU: Final = "GUARD guards no session: it has only been made for CPUs, and TensorFlow uses a GPU."
_MOST_NAMES: Final = 3
#: Runs of a session that differ and are guarded: a program whose runs all differ must not fill memory.
_MOST_RUNS: Final = 1000
#: Ops behind an assignment that are looked at.
_MOST_LOOKED_AT: Final = 32

#: The ops that runs request and feed.
_Key: TypeAlias = "tuple[frozenset[TfOp], frozenset[TfOp]]"


class _Value(NamedTuple):
    """A tensor of the program's graph.

    Attributes:
      name: `op:slot`.
      dtype: Its DataType number.
    """

    name: str
    dtype: int


@dataclass
class _Run:
    """What the guard takes of runs that request and feed the same.

    Attributes:
      labels: What each checked tensor is.
      fed: The tensors that are fed: held first.
      variables: The names of the variables that a replay needs, with their types.
      old: Those of them whose value from before the run is held: held next.
      kept: What ops gave that a replay does not run: held last.
      requested: The names of the ops that are requested.
      cannot_repeat: Why a run is not replayed; empty if it is.
      site: Number of the guard.
      seen: The bad results of runs that are on record, or were counted.
      num_bad: Number of bad runs.
      num_replayed: How many of them are on record.
    """

    labels: list[str] = field(default_factory=list)
    fed: list[_Value] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)
    old: dict[str, int] = field(default_factory=dict)
    kept: list[_Value] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)
    cannot_repeat: str = ""
    site: int = -1
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
        self._replaying = threading.Lock()  # never waited for: a replay may run Python that runs a session
        self._lock = threading.Lock()  # guards the fields below; nothing of TensorFlow runs under it
        self._runs: weakref.WeakKeyDictionary[SessionGraph, dict[_Key, tuple[_Run, RunWatches]]]
        self._runs = weakref.WeakKeyDictionary()
        self._counts: list[_Run] = []
        self._number = 0
        self._is_on, self._has_replayed = True, False

    def prepare(self, part: NewPart) -> SessionWatches:
        """Let what updates a variable wait until the value that it had is read."""
        ops = part.graph.get_operations()
        if tf.config.list_logical_devices("GPU"):
            self._is_on = False
            self._report(_ON_GPU)
        if not self._is_on or any(op.type in _CONTROL for op in ops):
            return SessionWatches()  # nothing outside of a loop may be waited for inside of it
        written = _written_before(ops)
        nodes = {node.name: node for node in part.definition.node}
        for op in part.ops:
            if op.type in _VARIABLES:
                part.definition.node.append(_read(op, _before(op.name)))
            elif op.type in _UPDATES or op.type in _OVERWRITES:
                early = written.get(op, frozenset())
                for variable in _variables_of(op):
                    if variable not in early and _takes(op, variable) and self._may_hold(variable):
                        nodes[op.name].input.append(f"^{_before(variable.name)}")
        return SessionWatches()

    def _may_hold(self, variable: TfOp) -> bool:
        return 0 < _size_of(variable) <= self._limit

    def watch_run(
        self,
        graph: SessionGraph,
        requested: Collection[TfOp],
        needed: Collection[TfOp],
        fed: Collection[TfOp],
    ) -> RunWatches:
        """Return the guard of a run."""
        key = frozenset(requested), frozenset(fed)
        with self._lock:
            known = self._runs.setdefault(graph, {})
            found = known.get(key)
            if found is not None:
                return found[1]
            if not self._is_on:
                return NO_WATCHES
            self._number += 1
            number, is_full = self._number, len(known) >= _MOST_RUNS
        if is_full:
            self._report(f"GUARD checks {_MOST_RUNS:,} runs of a session that differ, and no others.")
            return NO_WATCHES
        try:
            run, watches = self._guard(_RunReader(graph, requested, needed, fed, number))
        except Exception as error:  # the program must not see any error
            _log.debug("Runs of a session cannot be guarded:", exc_info=error)
            self._report(f"GUARD does not check some runs of a session: {user_message(error)}.")
            run, watches = _Run(), NO_WATCHES
        with self._lock:
            known[key] = run, watches
            self._counts.append(run)
        return watches

    def _guard(self, reader: _RunReader) -> tuple[_Run, RunWatches]:
        run = reader.read()
        if sum(map(_size_of, reader.variables)) > self._limit:
            run.cannot_repeat = run.cannot_repeat or "max_held_bytes, which its variables exceed"
        if not reader.checked:
            return run, NO_WATCHES
        held = [] if run.cannot_repeat else reader.held
        dtypes = tuple([dtype for _, dtype in (*reader.checked, *held)])
        run.site = self._module.add_guard_site(len(reader.checked), 0, 0, dtypes, (), self._limit)
        node = NodeDef(name=f"{SCOPE}run_{reader.number}", op="TbDebuggerGuard", device="/device:CPU:0")
        node.input.extend(source for source, _ in (*reader.checked, *held))
        node.attr["Tchecked"].list.type.extend(dtype for _, dtype in reader.checked)
        node.attr["Theld"].list.type.extend(dtype for _, dtype in held)
        node.attr["site"].i = run.site
        return run, RunWatches(reader.graph.add([*reader.nodes, node])[-1:], [])

    def after(self, ran: SessionRan, *, is_recorded: bool) -> bool:
        """Replay a run that has just ended, if it was bad; return whether it is to be on record.

        Args:
          ran: The run.
          is_recorded: Whether the current step is recorded; otherwise the run is only counted.
        """
        if not self._module.num_bad_calls() or not self._replaying.acquire(blocking=False):
            return False
        try:
            taken = [self._take(run, graph, ran, is_recorded) for run, graph in self._runs_like(ran)]
            return any(taken)
        finally:
            self._replaying.release()

    def _runs_like(self, ran: SessionRan) -> list[tuple[_Run, SessionGraph]]:
        """Return what is known of runs that request and feed the same; sessions may share a graph."""
        requested = frozenset([*(tensor.op for tensor in ran.fetches), *ran.targets])
        key = requested, frozenset([tensor.deref().op for tensor in ran.feeds])
        with self._lock:
            return [(runs[key][0], graph) for graph, runs in self._runs.items() if key in runs]

    def _take(self, run: _Run, graph: SessionGraph, ran: SessionRan, is_recorded: bool) -> bool:
        is_on_record = False
        while run.site >= 0 and (call := self._module.take_bad_call(run.site)) is not None:
            try:
                run.num_bad += 1
                if is_recorded and self._is_on:
                    is_on_record |= self._replay(run, graph, call, ran)
            finally:
                self._module.release_bad_call(call.number)
        return is_on_record

    def end(self) -> None:
        """Say how many runs were bad, and forget all of them."""
        with self._lock:
            self._is_on = False
            num_bad = sum(run.num_bad for run in self._counts)
            num_replayed = sum(run.num_replayed for run in self._counts)
            self._counts.clear()
            self._runs.clear()
        if num_bad:
            runs = "1 run" if num_bad == 1 else f"{num_bad:,} runs"
            _log.warning("GUARD saw an infinity or NaN in %s of sessions; %d on record.", runs, num_replayed)

    def _replay(self, run: _Run, graph: SessionGraph, call: BadCall, ran: SessionRan) -> bool:
        bad = frozenset(number for number in call.bad if number < len(run.labels))
        if bad in run.seen:
            return False
        run.seen.add(bad)
        names = [run.labels[number] for number in sorted(bad)]
        what = ", ".join(names[:_MOST_NAMES]) + (" …" if len(names) > _MOST_NAMES else "")
        why_not = run.cannot_repeat or ("" if call.is_held else "max_held_bytes, which it exceeds")
        if not why_not:
            try:
                values = self._values(run, graph, call, ran)
                if self._has_replayed and not all(map(_is_finite, values.values())):
                    return False  # it follows from what is on record
                self._run_again(run, values, ran)
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

    def _values(
        self, run: _Run, graph: SessionGraph, call: BadCall, ran: SessionRan
    ) -> dict[str, Array | bytes]:
        """Return what a replay gets: of tensors that are fed by their names, of variables by theirs."""
        dtypes = [*(one.dtype for one in run.fed), *run.old.values(), *(one.dtype for one in run.kept)]
        held = [value._numpy_internal() for value in held_values(call.number, dtypes)]
        names = [*(one.name for one in run.fed), *run.old, *(one.name for one in run.kept)]
        values: dict[str, Array | bytes] = dict(zip(names, held, strict=True))
        unchanged = [name for name in run.variables if name not in run.old]
        reads = [graph.own(_before(name)).outputs[0] for name in unchanged]
        values.update(zip(unchanged, run_in(ran.session._session, {}, reads, ()), strict=True))
        return values

    def _run_again(self, run: _Run, values: Mapping[str, Array | bytes], ran: SessionRan) -> None:
        program = ran.session._graph
        graph = SessionGraph(program, self._watch)
        graph.extend()
        given, assignments = _assignments(graph, run.variables, values)
        fed = [program.get_tensor_by_name(one.name) for one in (*run.fed, *run.kept)]
        targets = [program.get_operation_by_name(name) for name in run.requested]
        watches = graph.watches_of_run((), targets, fed)
        cut = {tensor.op.name for tensor in fed}
        requested = [graph.own(name) for name in run.requested if name not in cut]
        with session_for(graph.copy, ran.session) as made:
            run_in(made, given, (), assignments)
            run_in(made, {}, (), watches.before)
            feeds = {graph.own_tensor(tensor): values[tensor.name] for tensor in fed}
            run_in(made, feeds, (), [*requested, *watches.during])


class _RunReader:
    """Decides what the guard of a run takes: `checked` and `held`, and `nodes` to add for them."""

    def __init__(
        self,
        graph: SessionGraph,
        requested: Collection[TfOp],
        needed: Collection[TfOp],
        fed: Collection[TfOp],
        number: int,
    ) -> None:
        self.graph = graph
        self._requested, self._needed, self._fed = requested, needed, fed
        self.number = number
        self._run = _Run()
        self.nodes: list[NodeDef] = []
        self.checked: list[tuple[str, int]] = []
        self.held: list[tuple[str, int]] = []
        self.variables: list[TfOp] = []

    def read(self) -> _Run:
        """Return what is taken."""
        run = self._run
        for op in self._requested:
            run.requested.append(op.name)
            if op not in self._fed and op.type not in _VARIABLES:
                for slot, tensor in enumerate(op.outputs):
                    self._check(source_name(op.name, slot), tensor.dtype, tensor.name)
        for op in self._fed:
            if len(op.outputs) != 1:
                self._give_up("an op of which one output is fed")
            run.fed += [_value(tensor) for tensor in op.outputs]
            self.held += [_taken(tensor) for tensor in op.outputs]
        running = [op for op in self._needed if op not in self._fed]
        if any(op.type in _CONTROL for op in running):
            self._give_up("a branch or a loop of TF1")
            return run
        users: dict[TfOp, list[TfOp]] = {}
        for op in running:
            if op.type in _VARIABLES:
                self.variables.append(op)
                run.variables[op.name] = op.type
                if not self.graph.has(_before(op.name)):
                    self._give_up("a branch or a loop of TF1 in its graph")
            for variable in _variables_of(op):
                users.setdefault(variable, []).append(op)
        for variable, by in users.items():
            self._take_variable(variable, by)
        for op in running:
            self._take_effects(op)
        return run

    def _check(self, source: str, dtype: tf.DType, label: str) -> None:
        if dtype in MEASURED_DTYPES:
            self.checked.append((source, dtype.as_datatype_enum))
            self._run.labels.append(label)

    def _take_variable(self, variable: TfOp, users: Sequence[TfOp]) -> None:
        changes = [op for op in users if op.type not in _READS]
        unknown = next((op.type for op in changes if op.type not in _UPDATES | _OVERWRITES), "")
        if unknown:
            self._give_up(f"the op {unknown}, which takes a variable")
            return
        if not changes:
            return
        dtype = _dtype_of(variable)
        if dtype in MEASURED_DTYPES:
            after = _read(variable, f"{SCOPE}{variable.name}/after_{self.number}", copies=False)
            after.input.extend(f"^{op.name}" for op in changes)
            self.nodes.append(after)
            self._check(after.name, dtype, variable.name)
        waiting = [op for op in changes if self._waits(op, variable)]
        if waiting == changes:
            self._run.old[variable.name] = dtype.as_datatype_enum
            self.held.append((_before(variable.name), dtype.as_datatype_enum))
        elif waiting or any(op.type in _UPDATES for op in changes) or len(users) > len(changes):
            self._give_up("a variable that is read and overwritten, or is too large to hold")

    def _waits(self, op: TfOp, variable: TfOp) -> bool:
        """Whether an op that changes a variable waits until its value is read."""
        return any(before.name == _before(variable.name) for before in self.graph.own(op.name).control_inputs)

    def _take_effects(self, op: TfOp) -> None:
        """Keep what a replay cannot compute again."""
        if op.type in _VARIABLES or op.type in HARMLESS:
            return
        if any(tensor.dtype._is_ref_dtype and tensor.op.type not in _VARIABLES for tensor in op.inputs):
            self._give_up("a reference to a variable that an op passes on")
        definition = op_def_registry.get(op.type)
        takes = {tensor.dtype for tensor in op.inputs}
        gives = {tensor.dtype for tensor in op.outputs}
        if op.type in _UPDATES | _OVERWRITES | _READS and tf.resource not in gives:
            return
        is_stateful = definition is None or definition.is_stateful
        if not is_stateful and tf.resource not in takes and not any(one._is_ref_dtype for one in takes):
            return
        if gives == {tf.resource} and tf.resource not in takes:
            return  # what uses it is kept
        is_odd = bool(gives & {tf.resource, tf.variant}) or any(one._is_ref_dtype for one in gives)
        if not gives or is_odd or definition is None or function_attributes(op.type):
            self._give_up(f"the op {op.type}, which cannot run twice")
            return
        self._run.kept += [_value(tensor) for tensor in op.outputs]
        self.held += [_taken(tensor) for tensor in op.outputs]

    def _give_up(self, reason: str) -> None:
        self._run.cannot_repeat = self._run.cannot_repeat or reason


def _value(tensor: TfTensor) -> _Value:
    return _Value(tensor.name, tensor.dtype.base_dtype.as_datatype_enum)


def _taken(tensor: TfTensor) -> tuple[str, int]:
    return source_name(tensor.op.name, tensor.value_index), tensor.dtype.base_dtype.as_datatype_enum


def _written_before(ops: Iterable[TfOp]) -> dict[TfOp, frozenset[TfOp]]:
    """For each op behind others that change variables: those variables."""
    behind: dict[TfOp, frozenset[TfOp]] = {}
    for op in ops:
        before = [tensor.op for tensor in op.inputs] + list(op.control_inputs)
        sets = {behind[one] for one in before if one in behind}
        sets |= {frozenset(_variables_of(one)) for one in before if one.type not in _READS}
        sets.discard(frozenset())
        if sets:
            behind[op] = sets.pop() if len(sets) == 1 else frozenset().union(*sets)
    return behind


def _takes(op: TfOp, variable: TfOp) -> bool:
    """Whether an op that changes a variable takes the value that it had, perhaps through other ops.

    The first value of a variable takes nothing of it. Few ops are behind that, and few read it at a distance.
    """
    if op.type in _UPDATES:
        return True
    waiting, seen = [tensor.op for tensor in op.inputs[1:]], set[TfOp]()
    while waiting and len(seen) < _MOST_LOOKED_AT:
        other = waiting.pop()
        if variable in _variables_of(other):
            return True
        if other not in seen:
            seen.add(other)
            waiting.extend(tensor.op for tensor in other.inputs)
    return False


def _before(variable: str) -> str:
    return f"{SCOPE}{variable}/before"


def _read(variable: TfOp, name: str, *, copies: bool = True) -> NodeDef:
    """Return a node that reads a variable."""
    kind = _VARIABLES[variable.type]
    is_resource = kind == "ReadVariableOp"
    op = kind if copies or is_resource else "Identity"
    node = NodeDef(name=name, op=op, device=variable.device, input=[variable.name])
    node.attr["dtype" if is_resource else "T"].type = _dtype_of(variable).as_datatype_enum
    return node


def _dtype_of(variable: TfOp) -> tf.DType:
    return tf.as_dtype(variable.get_attr("dtype"))


def _size_of(variable: TfOp) -> int:
    """Return the size of a variable in bytes; 0 when its shape is not known."""
    shape = tf.TensorShape(variable.get_attr("shape"))
    return int(shape.num_elements() or 0) * int(_dtype_of(variable).size)


def _variables_of(op: TfOp) -> list[TfOp]:
    return list(dict.fromkeys(tensor.op for tensor in op.inputs if tensor.op.type in _VARIABLES))


def _is_finite(value: Array | bytes) -> bool:
    if not isinstance(value, (np.ndarray, np.generic)) or tf.as_dtype(value.dtype) not in MEASURED_DTYPES:
        return True
    return is_finite(np.asarray(value))


def _assignments(
    graph: SessionGraph, variables: Mapping[str, str], values: Mapping[str, Array | bytes]
) -> tuple[dict[TfTensor, Array | bytes], list[TfOp]]:
    """Add ops that assign variables; return what to feed, and the ops."""
    nodes: list[NodeDef] = []
    for name, kind in variables.items():
        variable = graph.own(name)
        is_resource = kind == "VarHandleOp"
        dtype = _dtype_of(variable).as_datatype_enum
        given = NodeDef(name=f"{SCOPE}{name}/given", op="Placeholder")
        given.attr["dtype"].type = dtype
        op = "AssignVariableOp" if is_resource else "Assign"
        assign = NodeDef(name=f"{SCOPE}{name}/assign", op=op, device=variable.device)
        assign.input.extend([name, given.name])
        assign.attr["dtype" if is_resource else "T"].type = dtype
        if not is_resource:
            assign.attr["validate_shape"].b = False
        nodes += [given, assign]
    made = graph.add(nodes)
    feeds = {op.outputs[0]: values[name] for name, op in zip(variables, made[::2], strict=True)}
    return feeds, made[1::2]
