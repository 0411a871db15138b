"""Keeps what the last runs of a session were given, and runs them again to find the first that went bad.

To read what variables have after each run takes as long as a small step. They are read after every few runs.
When something is bad, the runs since then run again in another session, which gives what the variables were
before the first bad one. See `windows` for the same of functions.

Invariant: a window ends with a run that changes variables and cannot run twice, fails, or overlaps another.
"""

from __future__ import annotations

import contextlib
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
import tensorflow as tf

from tb_debugger_plugin.capture.engines.guard.session_variables import (
    dtype_of,
    is_resource,
    reads_of,
    size_of,
)
from tb_debugger_plugin.capture.engines.guard.taken import SCOPE
from tb_debugger_plugin.capture.engines.xla.nonfinite import is_finite
from tb_debugger_plugin.capture.graph.session_graph import SessionGraph, SessionWatches
from tb_debugger_plugin.capture.hooks.sessions import SessionRan, run_in, session_for
from tb_debugger_plugin.capture.options import MEASURED_DTYPES
from tb_debugger_plugin.capture.tf_types import Array, CObject, NodeDef, TfOp, TfSession, TfTensor

#: A window ends after so many runs, if to begin it took at most this part of the time since then; and after
#: so many seconds, since all its runs may have to run again.
_RUNS, _PART_OF_TIME, _MOST_SECONDS = 128, 0.01, 20.0
#: A window of fewer runs is short. After so many of them in a row, runs pass before the next one begins: as
#: many as there were short ones, doubled with each, up to a limit.
_FEWEST_RUNS, _MOST_SHORT, _LONGEST_PAUSE = 3, 8, 1 << 12
#: So many runs are looked at one by one; of more, first the last of each part.
_FEW, _PARTS = 256, 16
#: The value of a tensor, as a session takes and gives it.
Value: TypeAlias = "Array | bytes"


@dataclass
class GuardedRun:
    """Runs of a session that request and feed the same.

    Attributes:
      window: The window of the session.
      labels: What each checked tensor is.
      requested: The names of the ops that are requested.
      kept: The names of the tensors that ops gave that cannot run twice.
      needs: The variables that it reads, by name.
      changes: Those that it changes.
      may_change: Whether it may change any variable.
      cannot_repeat: Why a run is not replayed; empty if it is.
      site: Number of the guard.
      waiting: The bad results of runs that may still be running.
      seen: The bad results of runs that are on record, or cannot be replayed.
      told: Those of runs that could not be replayed then.
    """

    window: SessionWindow
    labels: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    needs: dict[str, TfOp] = field(default_factory=dict)
    changes: dict[str, TfOp] = field(default_factory=dict)
    may_change: bool = False
    cannot_repeat: str = ""
    site: int = -1
    waiting: list[frozenset[int]] = field(default_factory=list)
    seen: set[frozenset[int]] = field(default_factory=set)
    told: set[frozenset[int]] = field(default_factory=set)

    def give_up(self, reason: str) -> None:
        """Let no run be replayed; the first reason counts."""
        self.cannot_repeat = self.cannot_repeat or reason


class KeptRun(NamedTuple):
    """A run that has ended.

    Attributes:
      run: What is known of it.
      ran: The run, of which nothing changes.
      number: Its number in the session.
    """

    run: GuardedRun
    ran: SessionRan
    number: int


class FoundRun(NamedTuple):
    """The first run of a window that went bad.

    Attributes:
      kept: The run.
      before: What the variables that it reads were before it, by name.
      bad: The variables that are bad after it and were not before; empty for a run that was not run again.
    """

    kept: KeptRun
    before: dict[str, Value]
    bad: tuple[str, ...]


class SessionWindow:
    """The last runs of one session that changed its variables. Thread-safe.

    Args:
      graph: The graph that the session runs.
      max_held_bytes: The most that is held.

    Attributes:
      is_new: Whether no run of the session has ended; whoever adds runs sets it.
      on_record: The numbers of the runs that are on record; whoever replays them adds them.
    """

    def __init__(self, graph: SessionGraph, max_held_bytes: int) -> None:
        self._graph = weakref.ref(graph)
        self._limit = max_held_bytes
        self._lock = threading.Lock()  # guards the fields below; never waited for: runs take long
        self._changed: dict[str, TfOp] = {}  # the variables that runs have changed
        self._changed_bytes = 0
        self._is_closed = False
        self._reads: list[TfTensor] = []  # what reads them
        self._num_reads = 0
        self._base: dict[str, Value] = {}
        self._runs: list[KeptRun] = []
        self._last_kept: GuardedRun | None = None  # what ran last in this window
        self._held_bytes = 0
        self._is_over = True
        self._has_found = False  # whether a run was found that made variables bad
        self._began = self._last_end = self._beginning = 0.0
        self._num_short = 0  # windows in a row
        self._pause = 0  # runs until another window begins
        self._num_breaks = 0
        self._proxy: TfSession | None = None
        self.is_new = True
        self.on_record: set[int] = set()

    def add(self, kept: KeptRun) -> FoundRun | None:
        """Keep a run that has just ended, and begin a window if one is over.

        Returns:
          A run that turns out to have made variables bad.

        Raises:
          Exception: The variables cannot be read, or a run fails when it runs again.
        """
        if not kept.run.may_change:
            return None
        if not self._lock.acquire(blocking=False):  # not `_alone`, which takes longer: each run passes
            self.break_off()
            return None
        try:
            if kept.ran.begin >= self._last_end:
                return self._note(kept)
            self.break_off()
            return None
        finally:
            self._last_end = time.time()
            self._lock.release()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[bool]:
        is_alone = self._lock.acquire(blocking=False)
        try:
            yield is_alone
        finally:
            if is_alone:
                self._lock.release()

    def break_off(self) -> None:
        """Begin another window with the next run: nobody knows what this one changed."""
        self._is_over = True
        self._num_breaks += 1  # while another run begins a window

    def _note(self, kept: KeptRun) -> FoundRun | None:
        run = kept.run
        if kept.ran.error is not None:
            self._is_over = True
        elif run.cannot_repeat or not self._has_before(run):
            self._is_over = True
            self._note_changes(run.changes)
        elif not self._is_over:
            self._runs.append(self._copied(kept))
        if not self._must_begin():
            return None
        self._pause -= 1
        return self._begin(kept.ran.session) if self._pause < 0 else None

    def _has_before(self, run: GuardedRun) -> bool:
        """Whether it is known what the variables that a run changes were when the window began."""
        if self._last_kept is not run:  # to look them all up is a twelfth of the Python of a run
            if not run.changes.keys() <= self._base.keys():
                return False
            self._last_kept = run
        return True

    def _note_changes(self, changes: Mapping[str, TfOp]) -> None:
        new = {name: variable for name, variable in changes.items() if name not in self._changed}
        if new:
            self._changed |= new
            self._changed_bytes += sum(map(size_of, new.values()))
            self._num_short = self._pause = 0  # as where a program loads its variables one by one

    def _copied(self, kept: KeptRun) -> KeptRun:
        """Return a run that does not change when the program changes what it has fed."""
        _, feeds, fetches, targets, begin, _, _, values, run, _ = kept.ran
        if feeds or values:
            feeds = {tensor: np.array(value) for tensor, value in feeds.items()}
            self._held_bytes += sum(map(_size_of, (*feeds.values(), *values)))
        if self._proxy is None:
            self._proxy = weakref.proxy(kept.ran.session)  # the program may delete the session
        ran = SessionRan(self._proxy, feeds, fetches, targets, begin, None, None, values, run)
        return KeptRun(kept.run, ran, kept.number)

    def _must_begin(self) -> bool:
        if self._is_over or self._held_bytes > self._limit:
            return not self._is_closed and self._changed_bytes <= self._limit
        seconds = time.monotonic() - self._began
        is_worth_it = len(self._runs) >= _RUNS and self._beginning <= _PART_OF_TIME * seconds
        return is_worth_it or seconds > _MOST_SECONDS

    def _begin(self, session: TfSession) -> FoundRun | None:
        began, num_breaks = time.monotonic(), self._num_breaks
        # To read the variables after nearly each run takes too long; they may not even have values.
        self._num_short = self._num_short + 1 if len(self._runs) < _FEWEST_RUNS else 0
        self._pause = min(_LONGEST_PAUSE, 1 << self._num_short) if self._num_short > _MOST_SHORT else 0
        try:
            now = run_in(session._session, {}, self._reads, ())
            found = self._look(session, now)
        finally:
            self.drop()
        if found is not None or len(now) != len(self._changed):
            self._reads = self._read(session, self._changed.values())
            now = run_in(session._session, {}, self._reads, ())
        self._base = dict(zip(self._changed, now, strict=True))
        self._held_bytes = sum(map(_size_of, now))
        self._began = time.monotonic()
        self._is_over = num_breaks != self._num_breaks
        self._beginning = self._began - began
        if self._is_closed:
            self.drop()
        return found

    def look(self, session: TfSession) -> FoundRun | None:
        """Return a run that made variables bad, if there is one and it was not found.

        Raises:
          Exception: The variables cannot be read, or a run fails when it runs again.
        """
        with self._alone() as is_alone:
            if not is_alone or not self._runs:
                return None
            return self._look(session, run_in(session._session, {}, self._reads, ()))

    def _look(self, session: TfSession, now: Sequence[Value]) -> FoundRun | None:
        if self._has_found or not self._runs:
            return None
        newly_bad = _newly_bad(dict(zip(self._base, now, strict=True)), self._base)
        return self._first_bad(session) if newly_bad else None

    def _read(self, session: TfSession, variables: Collection[TfOp]) -> list[TfTensor]:
        graph = self._graph()
        assert graph is not None, "its session runs"
        self._num_reads += 1
        reads = _add_reads(graph, variables, f"{SCOPE}base_{self._num_reads}")
        session._extend_graph()
        return reads

    def drop(self) -> None:
        """Hold nothing any more, until another window begins."""
        self._base, self._runs, self._held_bytes, self._is_over, self._has_found = {}, [], 0, True, False
        self._last_kept = None

    def close(self) -> None:
        """Hold nothing from now on."""
        self._is_closed = True
        self.drop()

    def find(self, noticed: KeptRun) -> FoundRun | None:
        """Return the first run that went bad: one that was noticed, which is not kept yet, or one before it.

        Returns:
          None if the variables before it are not known.

        Raises:
          Exception: A run fails when it runs again.
        """
        with self._alone() as is_alone:
            if not is_alone or noticed.ran.begin < self._last_end:
                return None
            run, session = noticed.run, noticed.ran.session
            if self._is_over:
                earlier = self._first_bad(session) if self._runs else None
                self.drop()
                if earlier is not None:
                    return earlier
            if (run.needs.keys() & run.changes.keys()) - self._base.keys():
                return None
            return self._first_bad(session, noticed)

    def _first_bad(self, session: TfSession, noticed: KeptRun | None = None) -> FoundRun | None:
        runs = self._runs
        if noticed is not None and not noticed.run.needs.keys() & self._base.keys():
            runs = []  # nothing that it reads comes from them
        needed = {} if noticed is None else dict(noticed.run.needs)
        for kept in runs:
            needed |= kept.run.needs
        others = {name: one for name, one in needed.items() if name not in self._base}
        values = dict(self._base)
        if others:  # no run changes them
            reads = self._read(session, others.values())
            values |= zip(others, run_in(session._session, {}, reads, ()), strict=True)
        if runs:
            with _second_session(session, values, self._base) as second:
                found, values = second.first_bad(runs, values, self.on_record)
            if found is not None:
                self._has_found = True
                kept = found.kept
                return found._replace(kept=kept._replace(ran=kept.ran._replace(session=session)))
        return None if noticed is None else _found(noticed, values)


class _SecondSession:
    """Runs the runs of a window again.

    Args:
      graph: A copy of the program's graph.
      made: A session that runs it.
      names: The variables that change.
      reads: What reads these.
      assign: Gives variables values.
    """

    def __init__(
        self,
        graph: SessionGraph,
        made: CObject,
        names: Collection[str],
        reads: Sequence[TfTensor],
        assign: Callable[[Mapping[str, Value]], None],
    ) -> None:
        self._graph, self._made, self._names, self._reads = graph, made, names, reads
        self._assign = assign
        self._known: set[str] = set()  # variables that are bad because of runs on record

    def first_bad(
        self, runs: Sequence[KeptRun], before: dict[str, Value], on_record: Collection[int]
    ) -> tuple[FoundRun | None, dict[str, Value]]:
        """Return the first run that makes variables bad, if one does, and their values after the last run.

        Args:
          runs: The runs.
          before: The values of all variables, which they have now.
          on_record: The numbers of the runs that are not meant.
        """
        part = 1 if len(runs) <= _FEW else -(-len(runs) // _PARTS)
        for first in range(0, len(runs), part):
            some = runs[first : first + part]
            for kept in some:
                feeds, requested = inputs_of(self._graph, kept.run, given_to(kept))
                run_in(self._made, feeds, (), requested)
            after = before | dict(zip(self._names, run_in(self._made, {}, self._reads, ()), strict=True))
            bad = [name for name in _newly_bad(after, before) if name not in self._known]
            if bad and part > 1:
                self._assign(before)
                found, after = self.first_bad(some, before, on_record)
                if found is not None:
                    return found, after
            elif bad and some[0].number not in on_record:
                return _found(some[0], before, bad), after
            elif bad:
                self._known.update(bad)
            before = after
        return None, before


@contextlib.contextmanager
def _second_session(
    session: TfSession, values: Mapping[str, Value], names: Collection[str]
) -> Iterator[_SecondSession]:
    """Give a session in which variables have some values; `names`: those that change."""
    graph = SessionGraph(session._graph, lambda _: SessionWatches())
    graph.extend()
    variables = {name: session._graph.get_operation_by_name(name) for name in values}
    given, assignments = assignments_of(graph, variables)
    reads = _add_reads(graph, [variables[name] for name in names], f"{SCOPE}after")
    with session_for(graph.copy, session) as made:

        def assign(values: Mapping[str, Value]) -> None:
            run_in(made, {given[name]: value for name, value in values.items()}, (), assignments)

        assign(values)
        yield _SecondSession(graph, made, names, reads, assign)


def _found(kept: KeptRun, values: Mapping[str, Value], bad: Sequence[str] = ()) -> FoundRun:
    before = {name: value for name, value in values.items() if name in kept.run.needs}
    return FoundRun(kept, before, tuple(bad))


def _newly_bad(values: Mapping[str, Value], before: Mapping[str, Value]) -> tuple[str, ...]:
    return tuple([name for name, value in values.items() if not is_good(value) and is_good(before[name])])


def is_good(value: Value) -> bool:
    """Whether a value has no infinity and no NaN."""
    if not isinstance(value, (np.ndarray, np.generic)) or tf.as_dtype(value.dtype) not in MEASURED_DTYPES:
        return True
    return is_finite(np.asarray(value))


def given_to(kept: KeptRun) -> dict[str, Value]:
    """Return what a run was fed, and what ops gave that cannot run twice, by the names of the tensors."""
    fed: dict[str, Value] = {tensor.deref().name: value for tensor, value in kept.ran.feeds.items()}
    return fed | dict(zip(kept.run.kept, kept.ran.kept, strict=True))


def inputs_of(
    graph: SessionGraph, run: GuardedRun, given: Mapping[str, Value]
) -> tuple[dict[TfTensor, Value], list[TfOp]]:
    """Return what is fed to the copy of a graph when a run runs again, and the ops that are requested."""
    feeds = {_tensor(graph, name): value for name, value in given.items()}
    cut = {tensor.op.name for tensor in feeds}
    return feeds, [graph.own(name) for name in run.requested if name not in cut]


def assignments_of(
    graph: SessionGraph, variables: Mapping[str, TfOp]
) -> tuple[dict[str, TfTensor], list[TfOp]]:
    """Add ops that assign variables; return what they are fed, by the names of the variables, and the ops."""
    nodes: list[NodeDef] = []
    for name, variable in variables.items():
        dtype = dtype_of(variable).as_datatype_enum
        given = NodeDef(name=f"{SCOPE}{name}/given", op="Placeholder")
        given.attr["dtype"].type = dtype
        op = "AssignVariableOp" if is_resource(variable) else "Assign"
        assign = NodeDef(name=f"{SCOPE}{name}/assign", op=op, device=variable.device)
        assign.input.extend([name, given.name])
        assign.attr["dtype" if is_resource(variable) else "T"].type = dtype
        if not is_resource(variable):
            assign.attr["validate_shape"].b = False
        nodes += [given, assign]
    made = graph.add(nodes)
    return {name: op.outputs[0] for name, op in zip(variables, made[::2], strict=True)}, made[1::2]


def _add_reads(graph: SessionGraph, variables: Collection[TfOp], name: str) -> list[TfTensor]:
    """Add ops that read variables; return their values."""
    nodes, sources = reads_of(variables, name)
    graph.add(nodes)
    return [_tensor(graph, source) for source in sources.values()]


def _tensor(graph: SessionGraph, source: str) -> TfTensor:
    name, _, slot = source.partition(":")
    return graph.own(name).outputs[int(slot or 0)]


def _size_of(value: Value) -> int:
    array = np.asarray(value)
    texts = sum(map(len, array.flat)) if array.dtype == object else 0
    return int(array.nbytes) + texts
