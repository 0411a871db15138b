"""`analysis/lists/filters.py`: what ran inside a range of executions, by the owner of each trace."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tb_debugger_plugin.analysis.calls import call_health
from tb_debugger_plugin.analysis.calls.call_owner import owners
from tb_debugger_plugin.analysis.lists.filters import Filter
from tb_debugger_plugin.analysis.lists.selection import select
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot
from tests.support.events import Recording, full_health, snapshot_of

_GRAPHS = ("f", "g", "body")
_EVENT = st.tuples(
    st.sampled_from(["trace", "trace", "call", "eager"]),
    st.sampled_from(["", *_GRAPHS]),
    st.sampled_from([0.0, 0.5, 1.0, -2.0]),
    st.sampled_from([None, full_health([1.0]), full_health([math.nan])]),
)
_HOSTS = st.lists(st.lists(_EVENT, min_size=1, max_size=25), min_size=1, max_size=2)
_SETTINGS = settings(max_examples=20, suppress_health_check=[HealthCheck.too_slow])


def _write(folder: Path, hosts) -> None:
    """Hosts that run functions, in several threads and by clocks that jump, and a loop in one of them."""
    for number, events in enumerate(hosts):
        recording = Recording(folder, host=f"h{number}", run_id="job")
        for graph in ("f", "g"):
            recording.graph(graph, graph)
        recording.graph("body", "while_body", "f")
        now = 1000.0
        for kind, graph, passed, value in events:
            now += passed
            if kind == "trace":
                recording.trace(graph or "f", "x", value, at=now)
            elif kind == "call":
                recording.execution(f"__inference_{graph}_1", graph_id=graph, at=now)
            else:
                recording.execution("Add", at=now)
        recording.close()


def _indices(snapshot, **wanted) -> list[int]:
    chosen = select(snapshot, "graph_executions", Filter(**wanted))
    return chosen.rows(snapshot, "t.idx", Range(0, chosen.total))["idx"].tolist()


@contextlib.contextmanager
def _snapshot(hosts) -> Iterator[tuple[Snapshot, np.ndarray]]:
    """A look at what the hosts did, and the owner of each trace."""
    with tempfile.TemporaryDirectory() as folder:
        _write(Path(folder), hosts)
        with snapshot_of(Path(folder)) as snapshot:
            rows = snapshot.columns("SELECT wall_time, site FROM graph_executions ORDER BY idx")
            yield snapshot, owners(snapshot, rows["wall_time"], rows["site"])


@given(_HOSTS, st.data())
@_SETTINGS
def test_a_range_of_executions_has_the_graph_executions_that_it_owns(hosts, data):
    with _snapshot(hosts) as (snapshot, owner):
        begin = data.draw(st.integers(0, snapshot.num_executions))
        end = data.draw(st.integers(0, snapshot.num_executions + 1))
        inside = np.flatnonzero((owner >= begin) & (owner < end)).tolist()
        assert _indices(snapshot, from_execution=begin, until_execution=end) == inside
        known = [row for row, own in enumerate(owner.tolist()) if not math.isnan(own)]
        assert _indices(snapshot, from_execution=0) == known


_GOOD = full_health([1.0])
_BOTH_AT_ONCE = [("trace", "g", 1.0, _GOOD), ("trace", "f", 1.0, _GOOD), ("call", "g", 1.0, None)]


@example([[*_BOTH_AT_ONCE, ("call", "f", 1.0, None)]], 1, 1000, 64)
@given(_HOSTS, st.integers(1, 9), st.sampled_from([2, 1000]), st.sampled_from([1, 64]))
@_SETTINGS
def test_the_worst_of_a_call_is_found_without_looking_at_all_of_it(hosts, chunk, sampled, windows):
    with _snapshot(hosts) as (snapshot, owner), pytest.MonkeyPatch.context() as patch:
        worst = [0] * snapshot.num_executions
        for own, (health,) in zip(
            owner.tolist(), snapshot.rows("SELECT health FROM graph_executions ORDER BY idx"), strict=True
        ):
            if not math.isnan(own):
                worst[int(own)] = max(worst[int(own)], health)
        patch.setattr(call_health, "_CHUNK", chunk)
        patch.setattr(call_health, "_SAMPLED", sampled)
        patch.setattr(call_health, "_MAX_SPANS", windows)
        assert call_health.call_health(snapshot).tolist() == worst
