"""`analysis/alerts/history.py`: a history gives the same alerts however it is cut into parts."""

from __future__ import annotations

import random

import pytest

from tb_debugger_plugin.analysis.alerts.rule import RuleHit
from tb_debugger_plugin.analysis.alerts.settings import DEFAULTS
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tests.support.events import snapshot_of
from tests.support.numerics import training

_TENSORS = ("read", "read_2", "gradient_tape/MatMul", "gradient_tape/out", "Mul")
_SETTINGS = {
    "GrowingAlert": {"factor": 2.0, "steps": 2, "above": 0.5},
    "UnchangedAlert": {"steps": 3, "rtol": 0.0, "atol": 0.0},
    "LargeUpdateAlert": {"limit": 0.5},
    "SmallUpdateAlert": {"limit": 1.0},
}


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """A training whose tensors have random scales, and are not computed in every step; and its values."""
    rng = random.Random(1)
    steps = [
        {
            name: [[scale, 0.0], [0.0, scale]]
            for name in _TENSORS
            if (scale := rng.choice((0, 0.5, 1, 2, 4))) or 1
        }
        for _ in range(40)
    ]
    for step in steps:
        for name in rng.sample(_TENSORS, 2):
            del step[name]
    folder = tmp_path_factory.mktemp("run")
    training(folder, steps).close()
    with snapshot_of(folder) as snapshot:
        yield snapshot


def hits(snapshot: Snapshot, rule_id: str) -> list[RuleHit]:
    return sorted(DEFAULTS.rule(rule_id).find(snapshot, _SETTINGS[rule_id]))


@pytest.mark.parametrize("rule_id", _SETTINGS)
@pytest.mark.parametrize("size", [1, 2, 7, 50])
def test_small_parts_find_what_one_large_part_finds(history, monkeypatch, rule_id, size):
    whole = hits(history, rule_id)
    assert whole
    monkeypatch.setattr("tb_debugger_plugin.analysis.alerts.history._PART", size)
    assert hits(history, rule_id) == whole


def _values(snapshot: Snapshot, name: str) -> list[tuple[int, float]]:
    """Position and scale of each value of a tensor."""
    rows = snapshot.rows(
        "SELECT t.idx, t.max FROM graph_executions t JOIN sites USING (site) JOIN ops o USING (op)"
        " WHERE o.name = ? ORDER BY t.idx",
        [name],
    )
    return [(int(index), float(scale)) for index, scale in rows]


def test_a_tensor_grows_where_a_walk_over_its_values_says_so(history):
    expected = {}
    for name in ("read", "read_2", "gradient_tape/MatMul", "gradient_tape/out"):
        values = _values(history, name)
        grown = [
            index
            for n, (index, scale) in enumerate(values)
            # The norm of a diagonal of two is the root of 2 times its scale.
            for before, middle in [(values[max(0, n - 2)][1], values[max(0, n - 1)][1])]
            if n >= 2 and before > 0 and scale * 2**0.5 > 0.5 and scale >= 2 * before
            # It grows in each of the two steps by the root of the factor.
            if middle >= 2**0.5 * before and scale >= 2**0.5 * middle
        ]
        if grown:
            expected[grown[0]] = len(grown), grown[-1]
    assert {hit.position: (hit.times, hit.last) for hit in hits(history, "GrowingAlert")} == expected


def test_an_update_is_compared_with_the_last_read_of_its_variable(history):
    reads = dict(_values(history, "read"))
    large = []
    for index, scale in _values(history, "Mul"):
        earlier = [position for position in reads if position < index]
        weight = reads[max(earlier)] if earlier else 0
        if weight > 0 and scale / weight > 0.5:
            large.append(index)
    ((position, _, times, last, *_),) = hits(history, "LargeUpdateAlert")
    assert (position, times, last) == (large[0], len(large), large[-1])
