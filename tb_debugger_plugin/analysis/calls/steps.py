"""Numbers the steps of a program: the step of each row, the rows of some steps, and where each step begins.

A step is what the program marks with ``tb_debugger_plugin.step()``, which each record holds. Of a host that
has marked none, a step is a run of its sessions, or else a call of a function from Python: what was computed
until the run or the call ended, and after the one before. Steps are counted from 0, for each host.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, TypedDict

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.calls.call_owner import host_calls
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.events.numbers import Array, Floats, Integers
from tb_debugger_plugin.index.tensors import BAD

#: What decides the steps of a host.
StepKind = Literal["marked", "runs", "calls"]
#: Rows whose times are read at once.
_CHUNK: Final = 1 << 20
_FOREVER: Final = 1e300
_STEP_BITS: Final = 40
#: After every position.
_NO_ROW: Final = 2**62
#: The rows of each long list with their hosts.
_ROWS: Final = {
    "executions": "SELECT host, step, wall_time, idx, health FROM executions",
    "graph_executions": "SELECT s.host, t.step, t.wall_time, t.idx, t.health"
    " FROM graph_executions t JOIN sites s USING (site)",
}


@dataclass(frozen=True)
class HostSteps:
    """The steps of one host.

    Attributes:
      kind: What decides them.
      ends: When each step but the last ended, rising; empty if the program marks its steps.
      numbers: The step that each of these ends, and the one after them; a circular buffer leaves gaps.
    """

    kind: StepKind
    ends: Floats
    numbers: Integers

    def of(self, times: Floats, marked: npt.NDArray[np.int32]) -> Integers:
        """Return the steps of rows with these times and these marks."""
        if self.kind == "marked":
            return marked.astype(np.int64)
        return self.numbers[np.searchsorted(self.ends, times, side="left")]

    def span(self, first: int, last: int) -> tuple[float, float]:
        """Return when some steps were: after the first time, and not after the second."""
        begin, end = np.searchsorted(self.numbers, [first, last + 1]).tolist()
        if begin == end:
            return _FOREVER, -_FOREVER
        return (
            float(self.ends[begin - 1]) if begin else -_FOREVER,
            float(self.ends[end - 1]) if end <= len(self.ends) else _FOREVER,
        )


class StepsBinJson(TypedDict):
    """Some steps that follow each other: usually one."""

    step: int  #: the first of them
    first_execution: int | None  #: position of the first execution in them; null when there is none
    first_graph_execution: int | None  #: the same of graph executions
    num_bad: int  #: number of bad rows of both lists in them


class HostStepsJson(TypedDict):
    """The steps of one process."""

    host: str  #: name of the host
    #: what a step is: `marked` by the program, `runs` of sessions, `calls` of functions
    kind: Literal["marked", "runs", "calls"]
    num_steps: int  #: number of the last step, plus 1
    bins: list[StepsBinJson]  #: in order; steps without any row are left out


class StepsJson(TypedDict):
    """The answer of the route ``steps``."""

    generation: int  #: the [generation](#generations) that the answer is of
    hosts: list[HostStepsJson]  #: the processes


@remembered(Snapshot.remember)
def host_steps(snapshot: Snapshot) -> tuple[HostSteps, ...]:
    """Return the steps of each host, by its number."""
    return tuple(_host_steps(snapshot, host) for host in range(len(snapshot.catalog.host_names)))


def _host_steps(snapshot: Snapshot, host: int) -> HostSteps:
    if host in _marked_hosts(snapshot):
        return HostSteps("marked", np.empty(0), np.empty(0, np.int64))
    runs = snapshot.columns(
        "SELECT end_time, run, session FROM session_runs WHERE host = ? ORDER BY end_time, run", [host]
    )
    if len(runs["run"]):
        # Runs that are not on record have numbers too; those of several sessions are counted together.
        counted = runs["run"]
        has_one = len(np.unique(runs["session"])) == 1 and (counted[1:] > counted[:-1]).all()
        # Damaged files may count from anywhere.
        is_sane = 1 <= counted[0] <= counted[-1] < 1 << _STEP_BITS
        numbers = counted - 1 if has_one and is_sane else np.arange(len(counted))
        return HostSteps("runs", runs["end_time"], _and_next(numbers))
    calls = host_calls(snapshot).get(host)
    ends = np.empty(0) if calls is None else calls.times
    return HostSteps("calls", ends, np.arange(len(ends) + 1))


def _and_next(numbers: Integers) -> Integers:
    return np.append(numbers, numbers[-1] + 1).astype(np.int64)


def _marked_hosts(snapshot: Snapshot) -> frozenset[int]:
    """Return the hosts of which some row has a step above 0."""

    def find() -> frozenset[int]:
        ((is_any,),) = snapshot.rows(
            "SELECT greatest((SELECT max(step) FROM executions),"
            " (SELECT max(step) FROM graph_executions)) > 0"
        )
        if not is_any:
            return frozenset()
        rows = snapshot.rows(
            "SELECT DISTINCT host FROM executions WHERE step > 0 UNION"
            " SELECT DISTINCT host FROM sites"
            " WHERE site IN (SELECT site FROM graph_executions WHERE step > 0)"
        )
        return frozenset(host for (host,) in rows)

    return snapshot.remember_of(("executions", "graph_executions"), "marked hosts", find)


@remembered(Snapshot.remember)
def step_ends(snapshot: Snapshot) -> list[tuple[Integers, Floats]]:
    """Return the steps of each host that have ended, in order, and when each ended.

    A marked step ends with its last row on record.
    """
    ends = [(one.numbers[: len(one.ends)], one.ends) for one in host_steps(snapshot)]
    if _marked_hosts(snapshot):
        rows = " UNION ALL ".join(_ROWS.values())
        marked = snapshot.columns(
            f"SELECT host, step, max(wall_time) AS ended FROM ({rows}) GROUP BY ALL ORDER BY ALL"
        )
        for host in _marked_hosts(snapshot):
            own = marked["host"] == host
            ends[host] = (marked["step"][own].astype(np.int64), marked["ended"][own])
    return ends


def steps_of(
    snapshot: Snapshot,
    hosts: npt.NDArray[np.integer],
    times: Floats,
    marked: npt.NDArray[np.int32],
) -> Integers:
    """Return the steps of rows.

    Args:
      snapshot: The run.
      hosts: The host of each row.
      times: Its ``wall_time``.
      marked: Its column ``step``.
    """
    result = np.zeros(len(times), np.int64)
    for host in np.unique(hosts).tolist():
        rows = hosts == host
        result[rows] = host_steps(snapshot)[host].of(times[rows], marked[rows])
    return result


def step_of(snapshot: Snapshot, *, execution: int = -1, graph_execution: int = -1) -> int | None:
    """Return the step of one row; None where its process has a single one.

    Args:
      snapshot: The run.
      execution: Its position, for an execution.
      graph_execution: Its position, for a graph execution.
    """
    name, position = (
        ("graph_executions", graph_execution) if graph_execution >= 0 else ("executions", execution)
    )
    for host, marked, time, *_ in snapshot.rows(f"SELECT * FROM ({_ROWS[name]}) WHERE idx = ?", [position]):
        return step_at(snapshot, host, time, marked)
    return None


def step_at(snapshot: Snapshot, host: int, time: float, marked: int) -> int | None:
    """Return the step of a row of a host, by its ``wall_time`` and its ``step``, as :func:`step_of` does."""
    steps = host_steps(snapshot)[host]
    if steps.kind == "marked" or len(steps.ends) > 1:
        return int(steps.of(np.array([time]), np.array([marked], np.int32))[0])
    return None


def step_condition(snapshot: Snapshot, first: int, last: int, host: str) -> tuple[str, list[object]]:
    """Return an SQL condition on rows ``t`` that is true of those of some steps, and its parameters.

    Args:
      snapshot: The run.
      first: The first step.
      last: The last step.
      host: SQL of the list of hosts ``?`` of a row, such as ``t.host IN (SELECT unnest(?))``.
    """
    parts: list[str] = []
    parameters: list[object] = []
    steps = host_steps(snapshot)
    marked = [number for number, one in enumerate(steps) if one.kind == "marked"]
    spans = {number: one.span(first, last) for number, one in enumerate(steps) if one.kind != "marked"}
    only = len(steps) == 1
    if marked:
        parts.append("t.step BETWEEN ? AND ?" + ("" if only else f" AND {host}"))
        parameters += [first, last, *([] if only else [marked])]
    for number, span in spans.items():
        parts.append("t.wall_time > ? AND t.wall_time <= ?" + ("" if only else f" AND {host}"))
        parameters += [*span, *([] if only else [[number]])]
    return f"({' OR '.join(f'({part})' for part in parts) or 'false'})", parameters


def steps(snapshot: Snapshot, num_bins: int) -> StepsJson:
    """Return where the steps of each process begin.

    Args:
      snapshot: The run.
      num_bins: The largest number of bins of a process.
    """
    begins = _begins(snapshot)
    return {
        "generation": snapshot.generation,
        "hosts": [
            _host_json(name or "", one.kind, begins.of_host(host), num_bins)
            for host, (name, one) in enumerate(
                zip(snapshot.catalog.host_names, host_steps(snapshot), strict=True)
            )
        ],
    }


class _Begins(NamedTuple):
    """Where steps begin; the columns have a row for each step of each host with any row, in order.

    Attributes:
      hosts: Numbers of hosts.
      steps: Numbers of steps.
      executions: Position of the first execution of each; :data:`_NO_ROW` if there is none.
      graph_executions: The same of graph executions.
      bad: How many rows of both lists are bad.
    """

    hosts: Integers
    steps: Integers
    executions: Integers
    graph_executions: Integers
    bad: Integers

    def of_host(self, host: int) -> _Begins:
        """Return the rows of one host."""
        rows = slice(*np.searchsorted(self.hosts, [host, host + 1]).tolist())
        return _Begins(*(column[rows] for column in self))

    def binned(self, width: int) -> _Begins:
        """Return the rows of one host with bins of some steps in place of steps."""
        if not len(self.steps):
            return self
        starts = np.flatnonzero(np.diff(self.steps // width, prepend=-1))
        return _Begins(
            self.hosts[starts],
            self.steps[starts] // width * width,
            np.minimum.reduceat(self.executions, starts),
            np.minimum.reduceat(self.graph_executions, starts),
            np.add.reduceat(self.bad, starts),
        )


def _host_json(name: str, kind: StepKind, begins: _Begins, num_bins: int) -> HostStepsJson:
    num_steps = int(begins.steps[-1]) + 1 if len(begins.steps) else 0
    binned = begins.binned(max(1, -(-num_steps // num_bins)))
    rows = zip(*(column.tolist() for column in binned[1:]), strict=True)
    return {
        "host": name,
        "kind": kind,
        "num_steps": num_steps,
        "bins": [
            {
                "step": step,
                "first_execution": None if execution == _NO_ROW else execution,
                "first_graph_execution": None if graph_execution == _NO_ROW else graph_execution,
                "num_bad": bad,
            }
            for step, execution, graph_execution, bad in rows
        ],
    }


@remembered(Snapshot.remember)
def _begins(snapshot: Snapshot) -> _Begins:
    parts = [
        np.stack([part[0], part[1], *firsts, part[3]])
        for number, (table, rows) in enumerate(_ROWS.items())
        for part in _parts(snapshot, table, rows)
        for firsts in [np.where(np.arange(2)[:, None] == number, part[2], _NO_ROW)]
    ]
    hosts, numbers, executions, graph_executions, bad = np.concatenate(
        [np.empty((5, 0), np.int64), *parts], axis=1
    )
    order = np.lexsort((numbers, hosts))
    hosts, numbers = hosts[order], numbers[order]
    is_first = np.diff(hosts, prepend=-1).astype(bool) | np.diff(numbers, prepend=-1).astype(bool)
    starts = np.flatnonzero(is_first)
    if not len(starts):
        return _Begins(hosts, numbers, executions, graph_executions, bad)
    return _Begins(
        hosts[starts],
        numbers[starts],
        np.minimum.reduceat(executions[order], starts),
        np.minimum.reduceat(graph_executions[order], starts),
        np.add.reduceat(bad[order], starts),
    )


def _parts(snapshot: Snapshot, table: str, rows: str) -> Iterator[Array]:
    """Yield tables of host, step, first position and number of bad rows, which may have a step again."""
    if all(one.kind == "marked" for one in host_steps(snapshot)):
        found = snapshot.columns(
            f"SELECT host, step, min(idx) AS first, count(*) FILTER (health = {BAD}) AS bad"
            f" FROM ({rows}) GROUP BY ALL"
        )
        yield np.stack([found[name].astype(np.int64) for name in ("host", "step", "first", "bad")])
        return
    for begin in range(0, int(getattr(snapshot, f"num_{table}")), _CHUNK):
        found = snapshot.columns(
            f"SELECT * FROM ({rows}) WHERE idx >= ? AND idx < ? ORDER BY idx", [begin, begin + _CHUNK]
        )
        hosts = found["host"].astype(np.int64)
        keys = hosts << _STEP_BITS | steps_of(snapshot, hosts, found["wall_time"], found["step"])
        unique, firsts, of = np.unique(keys, return_index=True, return_inverse=True)
        bad = np.bincount(of, found["health"] == BAD, len(unique)).astype(np.int64)
        yield np.stack([unique >> _STEP_BITS, unique & (1 << _STEP_BITS) - 1, found["idx"][firsts], bad])
