"""The timeline of a run: what ran in each thread in a window of time, or of the order on record.

Takes a window and a number of bins. Each thread has a lane for each list that it has rows of: runs of
sessions, executions, and graph executions. A lane has single rows where they fit, else counts of equal parts
of the window. A bad row is always found: a part says how many of its rows are bad, and where the first is.
Where TensorFlow timed the ops of runs of sessions, each device has lanes of them, as many as ran at once.

Rows of a lane do not overlap. Recordings hold when an execution ended, not when it began: it begins at the
end of the one before it in its thread. Runs of sessions and timed ops have both, and graph executions are
points.

Invariant: after the first answer of a commit, the time of an answer does not grow with the number of rows,
except for the spans of the executions in the window.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, TypedDict

import numpy as np

from tb_debugger_plugin.analysis.calls.call_health import call_health
from tb_debugger_plugin.analysis.calls.call_owner import CALLS, owners
from tb_debugger_plugin.analysis.calls.steps import step_ends
from tb_debugger_plugin.analysis.lists.executions import thread_names
from tb_debugger_plugin.analysis.lists.op_profile import timed_ops
from tb_debugger_plugin.analysis.lists.rising import Rising
from tb_debugger_plugin.analysis.snapshot import Columns, Snapshot, SqlRow, remembered
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.numbers import Array, Floats, Integers
from tb_debugger_plugin.index.tensors import BAD

ListName = Literal["session_runs", "op_times", "executions", "graph_executions"]
#: What the axis is: seconds since the epoch, or the places of rows when both long lists are merged by time.
AXES: Final = ("time", "sequence")

#: Rows that are read at once.
_CHUNK: Final = 1 << 20
#: Threads of a timeline; only damage makes more.
_MAX_TRACKS: Final = 100
#: Step borders of a process in an answer.
_MAX_BORDERS: Final = 100
#: No clock is later; damaged files may have any number.
_LATEST: Final = 1e12
#: A thread that is not known.
_NO_THREAD: Final = -1
#: Lanes of the ops of a device; if more run at once, some are drawn over others.
_MAX_AT_ONCE: Final = 32
#: Whose rows are no rows of the long lists.
_BESIDE: Final = ("session_runs", "op_times")


class TimelineBinsJson(TypedDict):
    """Counts of equal parts of the window; parts without any row are left out."""

    bin: list[int]  #: number of the part, from 0
    count: list[int]  #: number of rows that end in it
    bad: list[int]  #: how many of them are bad; an execution is also bad when something bad ran in it
    #: position of the first bad row of the part, of timed ops of what they computed; null if there is none
    first_bad: list[int | None]


class TimelineRowsJson(TypedDict):
    """Single rows, in order."""

    #: position in the list; a timed op has that of what it computed, null when that is not recorded
    position: list[int | None]
    name: list[str]  #: name of the function or op, or number of the run of the session
    type: list[str]  #: type of the op; for a run of a session, the exception that ended it, or nothing
    begin: list[float]  #: on the axis
    end: list[float]  #: the same of the end
    bad: list[bool]  #: whether it is bad; an execution is also bad when something bad ran in it


class TimelineLaneJson(TypedDict):
    """What a thread has of one list in the window."""

    #: `session_runs`, `executions`, `graph_executions`, or `op_times`: ops that TensorFlow timed
    list: Literal["session_runs", "op_times", "executions", "graph_executions"]
    total: int  #: number of rows that end in the window
    bins: TimelineBinsJson | None  #: null where all rows are in `rows`
    rows: TimelineRowsJson  #: all rows if there are not more than bins, else those that are wider than a bin


class TimelineTrackJson(TypedDict):
    """A thread, or a device whose ops TensorFlow timed."""

    host: str  #: name of the host
    thread: str | None  #: the thread, as Python names it; null when not recorded
    device: str | None  #: the device; null for a thread
    lanes: list[TimelineLaneJson]  #: one for each list that it has rows of


class TimelineStepsJson(TypedDict):
    """Where steps of a process ended."""

    host: str  #: name of the host
    #: the steps that ended in the window; of many, those that are multiples of a round number
    step: list[int]
    end: list[float]  #: where each ended on the axis


class TimelineJson(TypedDict):
    """The answer of the route ``timeline``."""

    generation: int  #: the [generation](#generations) that the answer is of
    first: float  #: the begin of the whole run on the axis
    last: float  #: its end
    begin: float  #: the begin of the window
    end: float  #: its end
    num_bins: int  #: number of its parts
    since: float | None  #: time of the first row that ends in the window; null when there is none
    until: float | None  #: a time right after that of the last one
    tracks: list[TimelineTrackJson]  #: the threads and devices
    steps: list[TimelineStepsJson]  #: the borders of steps


@dataclass(frozen=True)
class _Lane:
    """The rows of one list in one thread or on one device.

    Attributes:
      list: The list.
      host: Number of the host.
      thread: Number of the thread on it.
      positions: Positions in the list, rising.
      times: When each ended; never falling.
      begins: When each began; None where that is the end of the one before.
      bad: Which of them are bad, as indices.
      device: Name of the device whose ops were timed; None for a thread.
    """

    list: ListName
    host: int
    thread: int
    positions: Rising
    times: Rising
    begins: Floats | None
    bad: Rising
    device: str | None = None

    def add(self, positions: Integers, times: Floats, is_bad: Array) -> None:
        """Add rows, which come after those that it has."""
        if len(times):
            least = self.times.last if len(self.times) else -np.inf
            self.bad.add(len(self.times) + np.flatnonzero(is_bad))
            self.positions.add(positions)
            self.times.add(np.maximum(np.maximum.accumulate(times), least))

    @property
    def track(self) -> tuple[int, bool, int, str]:
        """What the lane is of; sorts threads before devices, and what is not known last."""
        is_last = self.thread == _NO_THREAD
        return self.host, is_last, self.thread, self.device or ""


@dataclass(frozen=True)
class _Run:
    """All lanes of a run, by thread and device.

    Attributes:
      lanes: The lanes.
      places: Of each execution, its place among the rows of both long lists; rising.
      total: The number of rows of both long lists.
    """

    lanes: tuple[_Lane, ...]
    places: Integers
    total: int

    def sequence_of(self, times: Floats) -> Floats:
        """Return the place after all rows that ended until some times."""
        places = np.zeros(len(times))
        for lane in self.lanes:
            if lane.list not in _BESIDE:
                places += lane.times.find(times, "right")
        return places

    def cuts(self, lane: _Lane, edges: Floats, axis: str) -> Integers:
        """Return how many rows of a lane end before each edge; those that end at the last one are in."""
        if axis == "time" or lane.list in _BESIDE:
            if axis == "time":
                return np.append(lane.times.find(edges[:-1]), lane.times.find(edges[-1:], "right"))
            ends = self.sequence_of(lane.times.whole())
            return np.append(
                np.searchsorted(ends, edges[:-1]), np.searchsorted(ends, edges[-1:], side="right")
            )
        # A row has a place of its own, and ends one later.
        ended = np.ceil(edges).astype(np.int64)
        executions = np.searchsorted(self.places, ended)
        return lane.positions.find(executions if lane.list == "executions" else ended - executions)

    def ends(self, lane: _Lane, rows: Integers, axis: str) -> Floats:
        """Return where rows of a lane end on the axis."""
        if axis == "time":
            return lane.times[rows]
        if lane.list in _BESIDE:
            return self.sequence_of(lane.times[rows])
        positions = lane.positions[rows]
        if lane.list == "executions":
            return (self.places[positions] + 1).astype(np.float64)
        before = np.searchsorted(self.places - np.arange(len(self.places)), positions, side="right")
        return (positions + before + 1).astype(np.float64)

    def begins(self, lane: _Lane, rows: Integers, axis: str) -> Floats:
        """Return where rows of a lane begin on the axis."""
        ends = self.ends(lane, rows, axis)
        if lane.list == "graph_executions":
            return ends if axis == "time" else ends - 1
        if lane.begins is not None:
            begins = lane.begins[rows]
            return begins if axis == "time" else np.minimum(self.sequence_of(begins), ends)
        before = self.ends(lane, np.maximum(rows - 1, 0), axis)
        # When the first one of a thread began is not known.
        return np.where(rows > 0, before, ends if axis == "time" else ends - 1)


def timeline(
    snapshot: Snapshot,
    axis: str,
    num_bins: int,
    begin: float | None = None,
    end: float | None = None,
) -> TimelineJson:
    """Return what ran in each thread in a window.

    Args:
      snapshot: The run.
      axis: What the axis is.
      num_bins: The number of equal parts of the window, and of single rows beyond which rows are counted.
      begin: The begin of the window on the axis; None = that of the run.
      end: Its end, exclusive unless it is that of the run; None = that of the run.

    Raises:
      BadQueryError: The window has no length.
    """
    run = _whole(snapshot)
    first, last = _extent(run, axis)
    begin, end = first if begin is None else begin, last if end is None else end
    if not begin <= end or (begin == end and first < last):
        raise BadQueryError(f"end must be after begin, {begin}, but is {end}.")
    edges = np.linspace(begin, end, num_bins + 1)
    cuts = [run.cuts(lane, edges, axis) for lane in run.lanes]
    spans = [
        lane.times[np.array([cut[0], cut[-1] - 1])]
        for lane, cut in zip(run.lanes, cuts, strict=True)
        if cut[0] < cut[-1]
    ]
    return {
        "generation": snapshot.generation,
        "first": first,
        "last": last,
        "begin": begin,
        "end": end,
        "num_bins": num_bins,
        "since": float(min(span[0] for span in spans)) if spans else None,
        "until": float(np.nextafter(max(span[1] for span in spans), np.inf)) if spans else None,
        "tracks": _tracks(snapshot, run, axis, edges, cuts),
        "steps": _borders(snapshot, run, axis, begin, end),
    }


def _extent(run: _Run, axis: str) -> tuple[float, float]:
    if axis == "sequence":
        return 0.0, float(run.total)
    begins = [float(lane.times.first if lane.begins is None else lane.begins[0]) for lane in run.lanes]
    return min(begins, default=0.0), max((float(lane.times.last) for lane in run.lanes), default=0.0)


def _tracks(
    snapshot: Snapshot, run: _Run, axis: str, edges: Floats, cuts: list[Integers]
) -> list[TimelineTrackJson]:
    names = thread_names(snapshot)
    tracks: dict[object, TimelineTrackJson] = {}
    for lane, cut in zip(run.lanes, cuts, strict=True):
        host = snapshot.catalog.host_names[lane.host] or ""
        thread = names.get((lane.host, lane.thread))
        track = tracks.setdefault(
            lane.track, {"host": host, "thread": thread, "device": lane.device, "lanes": []}
        )
        track["lanes"].append(_lane_json(snapshot, run, lane, axis, edges, cut))
    return list(tracks.values())


def _lane_json(
    snapshot: Snapshot, run: _Run, lane: _Lane, axis: str, edges: Floats, cuts: Integers
) -> TimelineLaneJson:
    first, last = int(cuts[0]), int(cuts[-1])
    total = last - first
    is_counted = total > len(edges) - 1
    chosen = np.empty(0, np.int64)
    if not (is_counted and lane.list == "graph_executions"):
        # The row after the window may begin in it.
        chosen = np.arange(first, last if lane.list == "graph_executions" else min(last + 1, len(lane.times)))
        begins, ends = run.begins(lane, chosen, axis), run.ends(lane, chosen, axis)
        is_shown = (begins <= edges[-1]) & (ends - begins > (edges[1] - edges[0] if is_counted else -1))
        chosen, begins, ends = chosen[is_shown], begins[is_shown], ends[is_shown]
    else:
        begins = ends = np.empty(0)
    labels = _LABELS[lane.list](snapshot, lane.positions[chosen])
    return {
        "list": lane.list,
        "total": total,
        "bins": _bins_json(snapshot, lane, cuts) if is_counted else None,
        "rows": {
            "position": [label.position for label in labels],
            "name": [label.name for label in labels],
            "type": [label.type for label in labels],
            "begin": begins.tolist(),
            "end": ends.tolist(),
            "bad": lane.bad.has(chosen).tolist(),
        },
    }


def _bins_json(snapshot: Snapshot, lane: _Lane, cuts: Integers) -> TimelineBinsJson:
    counts = np.diff(cuts)
    bad_cuts = lane.bad.find(cuts)
    bad = np.diff(bad_cuts)
    used = np.flatnonzero(counts)
    first_bad = iter(lane.positions[lane.bad[bad_cuts[:-1][bad > 0]]].tolist())
    return {
        "bin": used.tolist(),
        "count": counts[used].tolist(),
        "bad": bad[used].tolist(),
        "first_bad": [_position_of(snapshot, lane, next(first_bad)) if n else None for n in bad[used]],
    }


def _position_of(snapshot: Snapshot, lane: _Lane, row: int) -> int | None:
    return timed_ops(snapshot).position_of(row) if lane.list == "op_times" else row


class _Label(NamedTuple):
    """Where a row leads to, and its name and type."""

    position: int | None
    name: str
    type: str


def _labels_of_executions(snapshot: Snapshot, positions: Integers) -> list[_Label]:
    rows = _by_position(
        snapshot,
        "SELECT e.idx, o.name FROM executions e JOIN op_types o USING (op_type)"
        " WHERE e.idx BETWEEN ? AND ? AND e.idx IN (SELECT unnest(?::BIGINT[]))",
        positions,
    )
    return [_Label(position, name, name) for position, name in rows]


def _labels_of_graph_executions(snapshot: Snapshot, positions: Integers) -> list[_Label]:
    rows = _by_position(
        snapshot,
        "SELECT idx, site FROM graph_executions"
        " WHERE idx BETWEEN ? AND ? AND idx IN (SELECT unnest(?::BIGINT[]))",
        positions,
    )
    ops = [snapshot.catalog.ops[snapshot.catalog.sites[site].op] for _, site in rows]
    return [_Label(position, op.name, op.type or "") for (position, _), op in zip(rows, ops, strict=True)]


def _labels_of_runs(snapshot: Snapshot, positions: Integers) -> list[_Label]:
    runs = _session_runs(snapshot)
    return [
        _Label(position, f"session {runs[position][2]}, run {runs[position][3]}", runs[position][6] or "")
        for position in positions.tolist()
    ]


def _labels_of_op_times(snapshot: Snapshot, rows: Integers) -> list[_Label]:
    timed, ops = timed_ops(snapshot), snapshot.catalog.ops
    kinds = [ops[op].type or "" if op >= 0 else "" for op in timed.ops[rows].tolist()]
    return [
        _Label(timed.position_of(row), str(timed.names[row]), kind)
        for row, kind in zip(rows.tolist(), kinds, strict=True)
    ]


_LABELS: Final = {
    "session_runs": _labels_of_runs,
    "op_times": _labels_of_op_times,
    "executions": _labels_of_executions,
    "graph_executions": _labels_of_graph_executions,
}


def _by_position(snapshot: Snapshot, query: str, positions: Integers) -> list[SqlRow]:
    if not len(positions):
        return []
    bounds = [int(positions[0]), int(positions[-1]), positions.tolist()]
    return sorted(snapshot.rows(query, bounds))


def _borders(snapshot: Snapshot, run: _Run, axis: str, begin: float, end: float) -> list[TimelineStepsJson]:
    borders: list[TimelineStepsJson] = []
    for host, (steps, times) in enumerate(step_ends(snapshot)):
        ends = _sane(times) if axis == "time" else run.sequence_of(times)
        inside = (ends >= begin) & (ends <= end)
        inside &= steps % _round_stride(int(np.count_nonzero(inside))) == 0
        name = snapshot.catalog.host_names[host] or ""
        borders.append({"host": name, "step": steps[inside].tolist(), "end": ends[inside].tolist()})
    return borders


def _round_stride(count: int) -> int:
    """Return the smallest of 1, 2, 5, 10, ... of which few enough of so many steps are multiples."""
    stride, factors = 1, (2, 2.5, 2)
    for number in range(60):
        if count <= stride * _MAX_BORDERS:
            break
        stride = int(stride * factors[number % 3])
    return stride


@remembered(Snapshot.remember)
def _whole(snapshot: Snapshot) -> _Run:
    executions, times = _execution_lanes(snapshot)
    traces, before = _graph_execution_lanes(snapshot, times)
    order = {"session_runs": 0, "executions": 1, "graph_executions": 2, "op_times": 3}
    lanes = sorted(
        [*_session_run_lanes(snapshot), *executions, *traces, *_op_time_lanes(snapshot)],
        key=lambda lane: (*lane.track, order[lane.list]),
    )
    tracks = list(dict.fromkeys(lane.track for lane in lanes))[:_MAX_TRACKS]
    return _Run(
        tuple(lane for lane in lanes if lane.track in tracks),
        before + np.arange(len(before)),
        snapshot.num_executions + snapshot.num_graph_executions,
    )


def _execution_lanes(snapshot: Snapshot) -> tuple[list[_Lane], Floats]:
    """Return the lanes of executions, and a time of each execution that never falls."""
    rows = snapshot.columns("SELECT host, thread, wall_time, health FROM executions ORDER BY idx")
    times = _sane(rows["wall_time"])
    is_bad = np.maximum(rows["health"], call_health(snapshot)) == BAD
    positions = np.arange(len(times))
    lanes = [
        _lane("executions", host, thread, positions[own], times[own], is_bad[own])
        for host, thread, own in _by_thread(rows["host"], rows["thread"])
    ]
    return lanes, np.maximum.accumulate(times)


def _graph_execution_lanes(snapshot: Snapshot, times: Floats) -> tuple[list[_Lane], Integers]:
    """Return the lanes of graph executions, and how many of these are before each execution.

    Args:
      snapshot: The run.
      times: A time of each execution that never falls.
    """
    lanes: dict[tuple[int, int], _Lane] = {}
    before = np.zeros(len(times), np.int64)
    for begin in range(0, snapshot.num_graph_executions, _CHUNK):
        rows = _in_order(
            snapshot.columns(
                "SELECT idx, wall_time, site, health FROM graph_executions WHERE idx >= ? AND idx < ?",
                [begin, begin + _CHUNK],
            )
        )
        ended = _sane(rows["wall_time"])
        _count_before(before, times, ended)
        for host, thread, own in _by_thread(*_threads_of(snapshot, rows)):
            lane = lanes.setdefault((host, thread), _empty_lane("graph_executions", host, thread))
            lane.add(rows["idx"][own], ended[own], rows["health"][own] == BAD)
    return list(lanes.values()), before


def _in_order(rows: Columns) -> Columns:
    # They nearly always are, and to have them sorted takes as long as to read them.
    if np.all(rows["idx"][1:] > rows["idx"][:-1]):
        return rows
    order = np.argsort(rows["idx"])
    return {name: values[order] for name, values in rows.items()}


def _count_before(before: Integers, times: Floats, ended: Floats) -> None:
    """Add to each of some rising times how many rows ended until then."""
    if not len(ended):
        return
    # Few rows are late: threads write what ended in turn. Only these are sorted.
    highest = np.maximum.accumulate(ended)
    is_late = ended < highest
    begin, end = np.searchsorted(times, [ended.min(), highest[-1]])
    some = times[begin:end]
    before[begin:end] += np.searchsorted(highest, some, side="right")
    before[begin:end] -= np.searchsorted(highest[is_late], some, side="right")
    before[begin:end] += np.searchsorted(np.sort(ended[is_late]), some, side="right")
    before[end:] += len(ended)


def _empty_lane(name: ListName, host: int, thread: int) -> _Lane:
    return _Lane(name, host, thread, Rising(np.int64), Rising(np.float64), None, Rising(np.int64))


def _lane(
    name: ListName,
    host: int,
    thread: int,
    positions: Integers,
    times: Floats,
    is_bad: Array,
    begins: Floats | None = None,
) -> _Lane:
    lane = _empty_lane(name, host, thread)
    lane.add(positions, times, is_bad)
    if begins is None:
        return lane
    return replace(lane, begins=np.minimum(np.maximum.accumulate(begins), np.maximum.accumulate(times)))


def _by_thread(hosts: Array, threads: Array) -> Iterator[tuple[int, int, Array]]:
    """Yield each host and thread of some rows, and which rows are its own."""
    for host in _distinct(hosts):
        own = hosts == host
        for thread in _distinct(threads[own])[:_MAX_TRACKS]:
            yield host, thread, own & (threads == thread)


def _distinct(numbers: Array) -> list[int]:
    # Mostly all are equal, which is seen ten times faster than each is counted.
    if len(numbers) and numbers.min() == numbers.max():
        return [int(numbers[0])]
    return [int(number) for number in np.unique(numbers)]


def _threads_of(snapshot: Snapshot, rows: Columns) -> tuple[Array, Array]:
    """Return the host of each graph execution, and the thread whose call it ran in."""
    hosts = snapshot.catalog.site_hosts[rows["site"]]
    threads = np.full(len(hosts), _NO_THREAD)
    calling = _calling_threads(snapshot)
    several = np.isin(hosts, [host for host, known in calling.items() if len(known) > 1])
    for host, known in calling.items():
        if len(known) == 1:
            threads[hosts == host] = known[0]
    if several.any():
        owner = owners(snapshot, rows["wall_time"][several], rows["site"][several])
        of_execution = _thread_of_execution(snapshot)
        number = np.append(of_execution, _NO_THREAD)
        threads[several] = number[np.where(np.isnan(owner), len(of_execution), owner).astype(np.int64)]
    return hosts, threads


@remembered(Snapshot.remember)
def _thread_of_execution(snapshot: Snapshot) -> Integers:
    return snapshot.columns("SELECT thread FROM executions ORDER BY idx")["thread"].astype(np.int64)


@remembered(Snapshot.remember)
def _calling_threads(snapshot: Snapshot) -> dict[int, list[int]]:
    """Return the threads of each host that called functions or ran sessions."""
    threads: dict[int, list[int]] = {}
    for host, thread in snapshot.rows(
        f"SELECT DISTINCT e.host, e.thread FROM executions e JOIN ({CALLS}) c USING (idx)"
        " UNION SELECT DISTINCT host, thread FROM session_runs ORDER BY ALL"
    ):
        threads.setdefault(host, []).append(thread)
    return threads


@remembered(Snapshot.remember)
def _session_runs(snapshot: Snapshot) -> list[SqlRow]:
    return snapshot.rows(
        "SELECT host, thread, session, run, begin_time, end_time, error FROM session_runs"
        " ORDER BY end_time, host, session, run"
    )


def _session_run_lanes(snapshot: Snapshot) -> list[_Lane]:
    runs = _session_runs(snapshot)
    numbers = np.array([run[:2] for run in runs], np.int64).reshape(-1, 2)
    times = _sane(np.array([run[4:6] for run in runs], np.float64).reshape(-1, 2))
    is_bad = np.zeros(len(runs), bool)
    return [
        _lane("session_runs", host, thread, np.flatnonzero(own), times[own, 1], is_bad[own], times[own, 0])
        for host, thread, own in _by_thread(numbers[:, 0], numbers[:, 1])
    ]


def _op_time_lanes(snapshot: Snapshot) -> Iterator[_Lane]:
    timed = timed_ops(snapshot)
    for host in _distinct(timed.hosts):
        for device in dict.fromkeys(timed.devices[timed.hosts == host].tolist()):
            own = np.flatnonzero((timed.hosts == host) & (timed.devices == device))
            times = _sane(timed.times[own])
            at_once = _at_once(times)
            for number in _distinct(at_once):
                rows = own[at_once == number]
                begins, ends = times[at_once == number].T
                lane = _lane("op_times", host, _NO_THREAD, rows, ends, timed.is_bad[rows], begins)
                yield replace(lane, device=device)


def _at_once(times: Floats) -> Integers:
    """Return the lane of each row, such that rows of a lane follow each other; they are in order of begin."""
    lanes = np.zeros(len(times), np.int64)
    busy: list[tuple[float, int]] = []
    for row, (begin, end) in enumerate(times.tolist()):
        is_free = bool(busy) and (busy[0][0] <= begin or len(busy) == _MAX_AT_ONCE)
        lanes[row] = heapq.heappop(busy)[1] if is_free else len(busy)
        heapq.heappush(busy, (end, int(lanes[row])))
    return lanes


def _sane(times: Floats) -> Floats:
    """Return times of which each is a number that a clock may have."""
    return np.clip(np.nan_to_num(times, nan=0, posinf=_LATEST, neginf=0), 0, _LATEST)
