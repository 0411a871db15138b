"""Graph executions by a range of steps, against the owner of each of them."""

from __future__ import annotations

import math
import shutil

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tb_debugger_plugin.analysis.calls import owners
from tb_debugger_plugin.analysis.filters import Filter
from tb_debugger_plugin.analysis.selection import select
from tb_debugger_plugin.analysis.view import Range, look_at
from tests.support.events import Recording, full_health, loaded

_GRAPHS = ("f", "g", "body")
_EVENT = st.tuples(
    st.sampled_from(["trace", "trace", "call", "eager"]),
    st.sampled_from(["", *_GRAPHS]),
    st.sampled_from([0.0, 0.5, 1.0, -2.0]),
)


def _write(folder, hosts) -> None:
    """Hosts that run functions, in several threads and by clocks that jump, and a loop in one of them."""
    for number, events in enumerate(hosts):
        recording = Recording(folder, host=f"h{number}", run_id="job")
        for graph in ("f", "g"):
            recording.graph(graph, graph)
        recording.graph("body", "while_body", "f")
        now = 1000.0
        for kind, graph, passed in events:
            now += passed
            if kind == "trace":
                recording.trace(graph or "f", "x", full_health([1.0]), at=now)
            elif kind == "call":
                recording.execution(f"__inference_{graph}_1", graph_id=graph, at=now)
            else:
                recording.execution("Add", at=now)
        recording.close()


def _indices(view, **wanted) -> list[int]:
    chosen = select(view, "traces", Filter(**wanted))
    return chosen.rows(view, "t.idx", Range(0, chosen.total))["idx"].tolist()


@given(st.lists(st.lists(_EVENT, min_size=1, max_size=25), min_size=1, max_size=2), st.data())
@settings(
    deadline=None,
    max_examples=25,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
def test_a_range_of_executions_has_the_graph_executions_that_it_owns(tmp_path, hosts, data):
    shutil.rmtree(tmp_path / "run", ignore_errors=True)
    _write(tmp_path / "run", hosts)
    loader = loaded(tmp_path / "run")
    try:
        with look_at(loader) as view:
            rows = view.columns("SELECT wall_time, site FROM traces ORDER BY idx")
            owner = owners(view, rows["wall_time"], rows["site"])
            begin = data.draw(st.integers(0, view.num_executions))
            end = data.draw(st.integers(0, view.num_executions + 1))
            inside = np.flatnonzero((owner >= begin) & (owner < end)).tolist()
            assert _indices(view, from_execution=begin, until_execution=end) == inside
            known = [row for row, own in enumerate(owner.tolist()) if not math.isnan(own)]
            assert _indices(view, from_execution=0) == known
    finally:
        loader.close()
