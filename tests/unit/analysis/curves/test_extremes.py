"""`analysis/curves/extremes.py`: the largest and slowest things, beside a search through plain rows."""

from __future__ import annotations

import itertools
import statistics
import sys

import pytest

from tb_debugger_plugin.analysis.curves.extremes import extremes
from tests.support.events import Recording, full_health, snapshot_of
from tests.support.listed import OPS, record


def _best(rows, number):
    """The rows with the largest number of each tensor, the largest first."""
    best = {}
    for row in rows:
        key = (row.host, row.op, row.slot)
        if number(row) is not None and (key not in best or number(row) > number(best[key])):
            best[key] = row
    return sorted(best.values(), key=lambda row: (-number(row), row.index))


def _magnitude(row):
    low, high = row.facts["min"], row.facts["max"]
    return None if low is None else max(abs(low), abs(high))


def test_the_largest_tensors_are_those_of_a_search_through_all_rows(tmp_path):
    rows = record(tmp_path, seed=3, rows=200)
    with snapshot_of(tmp_path) as snapshot:
        found = extremes(snapshot, 3)
    for kind, number in (("largest_values", _magnitude), ("largest_tensors", lambda row: row.facts["size"])):
        expected = _best(rows, number)[:3]
        assert [one["number"] for one in found[kind]] == pytest.approx([number(row) for row in expected])
        assert [one["graph_execution"] for one in found[kind]] == [row.index for row in expected]
        assert [one["name"] for one in found[kind]] == [f"{OPS[row.op][1]}:{row.slot}" for row in expected]


def _train(folder, seconds, *, is_marked):
    with Recording(folder, start=1000.0) as recording:
        recording.graph("g1", "loss")
        recording.op("g1", "Log", "Log", ids=[11])
        ends = []
        for number, more in enumerate(seconds):
            recording.step = number if is_marked else 0
            recording.now += more
            recording.trace("g1", "Log", full_health([1.0], 11))
            recording.execution("__inference_loss_7", [full_health([1.0])], graph_id="g1", ids=[number])
            ends.append(recording.now)
    return [after - before for before, after in itertools.pairwise(ends)]


@pytest.mark.parametrize("is_marked", [True, False])
def test_the_slowest_steps_took_longest_since_the_end_of_the_one_before(tmp_path, is_marked):
    took = _train(tmp_path, [1, 2, 9, 1, 5], is_marked=is_marked)
    with snapshot_of(tmp_path) as snapshot:
        found = extremes(snapshot, 2)
    assert [one["step"] for one in found["slowest_steps"]] == [2, 4]
    assert [one["seconds"] for one in found["slowest_steps"]] == pytest.approx(sorted(took)[:-3:-1], abs=0.1)
    assert found["median_seconds"] == pytest.approx(statistics.median(took), abs=0.1)


def test_a_step_after_one_that_is_not_on_record_has_no_time(tmp_path):
    with Recording(tmp_path) as recording:
        for step in (1, 5, 6):
            recording.step = step
            recording.execution("Fill", [full_health([0.0, 1.0])], ids=[step])
    with snapshot_of(tmp_path) as snapshot:
        found = extremes(snapshot, 5)
    assert [one["step"] for one in found["slowest_steps"]] == [6]
    assert [(one["name"], one["execution"]) for one in found["largest_tensors"]] == [("Fill:0", 0)]


def test_times_of_a_damaged_file_are_numbers(tmp_path):
    largest = sys.float_info.max
    with Recording(tmp_path) as recording:
        for step, time in enumerate((-largest, largest, -largest, largest)):
            recording.step, recording.now = step, time
            recording.execution("Fill", [full_health([0.0, 1.0])], ids=[step])
    with snapshot_of(tmp_path) as snapshot:
        found = extremes(snapshot, 5)
    assert [one["seconds"] for one in found["slowest_steps"]] == [largest, largest, 0.0]
    assert found["median_seconds"] == largest
