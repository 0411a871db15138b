"""`analysis/values/nearest_value.py`: the health of traces, read in blocks or one by one."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from tb_debugger_plugin.analysis.values import health, nearest_value
from tests.support.events import Recording, full_health, snapshot_of

_TRACES = 23


def recorded(folder: Path) -> None:
    """Two ops that run by turns; some values are bad."""
    with Recording(folder) as recording:
        recording.graph("g1", "loss")
        recording.op("g1", "x", "Placeholder", ids=[10])
        recording.op("g1", "Log", "Log", ["x:0"], ids=[11])
        for number in range(_TRACES):
            value = np.full(1 + number, np.nan if number % 5 == 0 else number, np.float32)
            recording.trace("g1", ("x", "Log")[number % 2], full_health(value, 10 + number % 2))


def slowly(snapshot, idx):
    """Asked for alone."""
    (row,) = snapshot.rows(f"SELECT site, {health.SELECT} FROM graph_executions t WHERE idx = ?", [idx])
    return health.health(snapshot, nearest_value.trace_row(snapshot, row[0], row[1:]), index=idx)


@pytest.mark.parametrize("kept", [1, 16])
def test_health_in_blocks_is_the_health_of_each(tmp_path, monkeypatch, kept):
    monkeypatch.setattr(nearest_value, "_BLOCK", 4)
    monkeypatch.setattr(nearest_value, "_MAX_BLOCKS", kept)
    recorded(tmp_path)
    with snapshot_of(tmp_path) as snapshot:
        each = {idx: slowly(snapshot, idx) for idx in range(_TRACES)}
        assert {one["size"] for one in each.values()} == set(range(1, 1 + _TRACES))
        for pair in itertools.product(range(_TRACES), repeat=2):
            assert nearest_value.health_of(snapshot, pair) == {idx: each[idx] for idx in pair}
        # In more blocks than one question reads.
        assert nearest_value.health_of(snapshot, range(_TRACES)) == each
        assert nearest_value.health_of(snapshot, [_TRACES - 1, _TRACES, 999]) == {
            _TRACES - 1: each[_TRACES - 1]
        }
        assert nearest_value.health_of(snapshot, []) == {}
