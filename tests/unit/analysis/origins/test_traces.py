"""`analysis/origins/traces.py`: the traces of a call are found by their positions."""

from __future__ import annotations

import numpy as np
import pytest

from tb_debugger_plugin.analysis.calls.steps import step_of
from tb_debugger_plugin.analysis.origins.traces import Traces, Window
from tests.support.events import small_program, snapshot_of


@pytest.mark.parametrize("positions", [[], [7], [7, 8, 9], [3, 5, 6, 40], list(range(100, 120, 3))])
def test_a_row_is_where_its_position_is(positions):
    window = Window(None, {"idx": np.array(positions, np.int64)})
    for idx in range(-2, 130):
        assert window.row(idx) == (positions.index(idx) if idx in positions else None)


def test_the_step_of_a_trace_is_that_of_its_row(tmp_path):
    small_program(tmp_path, steps=5).close()
    with snapshot_of(tmp_path) as snapshot:
        traces = Traces(snapshot)
        steps = [traces.step(idx) for idx in range(snapshot.num_graph_executions)]
        assert steps == [step_of(snapshot, graph_execution=idx) for idx in range(len(steps))]
        assert set(steps) == set(range(5))
