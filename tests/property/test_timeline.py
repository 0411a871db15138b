"""`analysis/lists/timeline.py`: counts and rows of each thread in a window, beside a walk over all rows."""

from __future__ import annotations

import itertools
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tb_debugger_plugin.analysis.calls.call_health import call_health
from tb_debugger_plugin.analysis.calls.call_owner import owners
from tb_debugger_plugin.analysis.lists import rising, timeline
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.index.tensors import BAD
from tests.support.events import Recording, full_health, snapshot_of

_THREADS = 2
_EVENT = st.tuples(
    st.sampled_from(["trace", "trace", "trace", "call", "eager"]),
    st.integers(0, _THREADS - 1),
    st.sampled_from([0.0, 2.0**-22, 0.5, 1.0, -0.75, 1500.0]),
    st.sampled_from([None, full_health([1.0]), full_health([math.nan])]),
)
_HOSTS = st.lists(st.lists(_EVENT, min_size=1, max_size=30), min_size=1, max_size=2)
_START = st.sampled_from([1000.0, 1.7e9])


class _Row(NamedTuple):
    """A row of a lane, with where it begins and ends on the axis."""

    position: int
    begin: float
    end: float
    bad: bool


def _write(folder: Path, hosts, start: float) -> None:
    """Hosts whose threads run a function each, by clocks that jump."""
    for number, events in enumerate(hosts):
        recording = Recording(folder, host=f"h{number}", run_id="job")
        for thread in range(_THREADS):
            recording.thread(thread, f"t{thread}")
            recording.graph(f"g{thread}", f"f{thread}")
        now = start
        for kind, thread, passed, value in events:
            now += passed
            if kind == "trace":
                recording.trace(f"g{thread}", "x", value, at=now)
            elif kind == "call":
                name = f"__inference_f{thread}_1"
                recording.execution(name, [value], graph_id=f"g{thread}", thread=thread, at=now)
            else:
                recording.execution("Add", [value], thread=thread, at=now)
        recording.close()


def _lanes(snapshot: Snapshot, axis: str) -> dict[tuple[str, str | None, str], list[_Row]]:
    """All rows by host, thread and list."""
    executions = snapshot.rows("SELECT host, thread, wall_time, health FROM executions ORDER BY idx")
    traces = snapshot.rows("SELECT site, wall_time, health FROM graph_executions ORDER BY idx")
    worst = call_health(snapshot).tolist()
    times = np.array([time for _, time, _ in traces])
    owner = owners(snapshot, times, np.array([site for site, _, _ in traces], np.int64)).tolist()
    latest = list(itertools.accumulate((time for _, _, time, _ in executions), max))
    places = [n + sum(time <= until for _, time, _ in traces) for n, until in enumerate(latest)]
    others = iter(sorted({*range(len(executions) + len(traces))} - {*places}))
    called = {
        (snapshot.catalog.host_names[host], thread)
        for host, thread in snapshot.rows(
            "SELECT DISTINCT host, thread FROM executions JOIN op_types USING (op_type)"
            " WHERE is_function OR graph >= 0"
        )
    }
    found: dict[tuple[str, str | None, str], list[tuple[int, float, int, bool]]] = {}
    for index, (host, thread, time, health) in enumerate(executions):
        name, bad = snapshot.catalog.host_names[host], max(health, worst[index]) == BAD
        row = (index, time, places[index], bad)
        found.setdefault((name, f"t{thread}", "executions"), []).append(row)
    for index, ((site, time, health), own) in enumerate(zip(traces, owner, strict=True)):
        host = snapshot.catalog.host_names[snapshot.catalog.sites[site].host]
        callers = [thread for name, thread in called if name == host]
        thread = None if math.isnan(own) else executions[int(own)][1]
        thread = callers[0] if len(callers) == 1 else thread
        row = (index, time, next(others), health == BAD)
        named = None if thread is None else f"t{thread}"
        found.setdefault((host, named, "graph_executions"), []).append(row)
    return {key: list(_on_axis(rows, axis, key[2])) for key, rows in found.items()}


def _on_axis(rows, axis: str, kind: str) -> Iterator[_Row]:
    end = None
    for index, time, place, bad in rows:
        before = end
        end = place + 1 if axis == "sequence" else max(time, -math.inf if before is None else before)
        begin = before
        if kind == "graph_executions" or begin is None:
            begin = end - 1 if axis == "sequence" else end
        yield _Row(index, float(begin), float(end), bad)


def _bin_of(row: _Row, edges: list[float], axis: str) -> int | None:
    for number, (begin, end) in enumerate(itertools.pairwise(edges)):
        is_last = number == len(edges) - 2
        if axis == "time":
            inside = begin <= row.end and (row.end < end or (is_last and row.end == end))
        else:
            inside = math.ceil(begin) <= row.end - 1 < math.ceil(end)
        if inside:
            return number
    return None


def _expected(rows: list[_Row], kind: str, axis: str, edges: list[float]) -> dict[str, object]:
    bins = [_bin_of(row, edges, axis) for row in rows]
    total = sum(each is not None for each in bins)
    is_counted = total > len(edges) - 1
    counted: dict[int, list] = {}
    for row, each in zip(rows, bins, strict=True):
        if each is not None:
            part = counted.setdefault(each, [0, 0, None])
            part[0], part[1] = part[0] + 1, part[1] + row.bad
            part[2] = row.position if row.bad and part[2] is None else part[2]
    inside = [number for number, each in enumerate(bins) if each is not None]
    if axis == "time":
        first = sum(row.end < edges[0] for row in rows)
        last = sum(row.end <= edges[-1] for row in rows)
    else:
        first, last = (sum(row.end - 1 < math.ceil(edge) for row in rows) for edge in (edges[0], edges[-1]))
    assert inside == list(range(first, last))
    shown = rows[first : last if kind == "graph_executions" else last + 1]
    least = edges[1] - edges[0] if is_counted else -1
    shown = [row for row in shown if row.begin <= edges[-1] and row.end - row.begin > least]
    shown = [] if is_counted and kind == "graph_executions" else shown
    return {
        "total": total,
        "bins": [[number, *counted[number]] for number in sorted(counted)] if is_counted else None,
        "rows": [list(row) for row in shown],
    }


def _found(lane) -> dict[str, object]:
    bins, rows = lane["bins"], lane["rows"]
    columns = [rows[name] for name in ("position", "begin", "end", "bad")]
    parts = bins and [bins[name] for name in ("bin", "count", "bad", "first_bad")]
    return {
        "total": lane["total"],
        "bins": parts and [list(each) for each in zip(*parts, strict=True)],
        "rows": [list(each) for each in zip(*columns, strict=True)],
    }


def _check(snapshot: Snapshot, axis: str, num_bins: int, parts: tuple[float, float]) -> None:
    """Compare the answers of a window, whose ends are parts of the whole run."""
    whole = timeline.timeline(snapshot, axis, num_bins)
    length = whole["last"] - whole["first"]
    begin, end = (whole["first"] + length * part for part in sorted(parts))
    if begin == end:
        return
    answer = timeline.timeline(snapshot, axis, num_bins, begin, end)
    edges = np.linspace(begin, end, num_bins + 1).tolist()
    found = {
        (track["host"], track["thread"], lane["list"]): _found(lane)
        for track in answer["tracks"]
        for lane in track["lanes"]
    }
    lanes = _lanes(snapshot, axis)
    assert found == {key: _expected(rows, key[2], axis, edges) for key, rows in lanes.items()}


@given(_HOSTS, _START, st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=3))
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
def test_a_window_has_the_rows_and_counts_of_a_walk_over_all_rows(hosts, start, windows):
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline, "_CHUNK", 2)
        patch.setattr(rising, "_PART", 3)
        _write(Path(folder), hosts, start)
        with snapshot_of(Path(folder)) as snapshot:
            choices = itertools.product(timeline.AXES, (3, 100), [(0.0, 1.0), *windows])
            for axis, num_bins, parts in choices:
                _check(snapshot, axis, num_bins, parts)
