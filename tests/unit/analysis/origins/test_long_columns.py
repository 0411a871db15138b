"""`analysis/origins/sinks.py`: bad outputs, and the uses of variables, are read as columns."""

from __future__ import annotations

import itertools
import random

import pytest

from tb_debugger_plugin.analysis.origins import sinks
from tb_debugger_plugin.analysis.origins.feeds import feeds_of
from tb_debugger_plugin.index.tensors import BAD, GOOD
from tests.support.events import Recording, full_health, snapshot_of

_VALUES = (None, full_health([1.0]), full_health([float("nan")]), full_health([float("inf"), 1.0]))


@pytest.mark.parametrize("length", [1, 3, 1000])
def test_bad_outputs_are_the_same_in_parts_of_any_length(tmp_path, monkeypatch, length):
    chance = random.Random(3)
    with Recording(tmp_path) as recording:
        for _ in range(40):
            values = [chance.choice(_VALUES), chance.choice(_VALUES)]
            recording.execution(chance.choice(("Log", "Exp")), values, stack=[chance.choice(("f1", "f2"))])
    monkeypatch.setattr(sinks, "_EXECUTIONS", length)
    with snapshot_of(tmp_path) as snapshot:
        rows = snapshot.rows(
            "SELECT e.op_type, e.stack, o.slot, o.idx, o.nan > 0, o.pos_inf > 0 FROM execution_outputs o"
            f" JOIN executions e USING (idx) WHERE o.health = {BAD} ORDER BY ALL"
        )
        found = {
            (one.op_type, one.stack, one.slot): (one.first, one.last, one.nan, one.inf, one.times)
            for one in sinks.bad_outputs(snapshot)
        }
    wanted = {}
    for key, group in itertools.groupby(rows, key=lambda row: row[:3]):
        indices = [row[3:] for row in group]
        nan, inf = (next((row[0] for row in indices if row[at]), None) for at in (1, 2))
        wanted[key] = (indices[0][0], indices[-1][0], nan, inf, len(indices))
    assert found == wanted and len(wanted) > 4


def test_what_touches_a_variable_is_in_the_order_of_time(tmp_path):
    with Recording(tmp_path) as recording:
        recording.execution("VarHandleOp", ids=[7])
        recording.execution("AssignVariableOp", inputs=[7, 1], at=1020.0)
        recording.execution("ReadVariableOp", [full_health([1.0])], inputs=[7], ids=[2], at=1030.0)
        recording.execution("ReadVariableOp", [full_health([1.0])], inputs=[8], ids=[3], at=1040.0)
        recording.execution("ReadVariableOp", [full_health([float("nan")])], inputs=[7], ids=[4], at=1050.0)
        recording.execution("Add", [full_health([1.0])], inputs=[7], ids=[5], at=1060.0)
    with snapshot_of(tmp_path) as snapshot:
        touches = feeds_of(snapshot).variables.touches(frozenset({("id", 7)}))
    assert touches.times.tolist() == [1020.0, 1030.0, 1050.0]
    assert touches.assigning().tolist() == [1]
    assert touches.reads(GOOD).times.tolist() == [1030.0]
    assert touches.between(1020.0, 1050.0).executions.tolist() == [2]
    assert touches.between(1050.0, 1020.0).executions.tolist() == []


def test_searches_of_a_snapshot_share_its_values_and_leave_nothing(tmp_path):
    with Recording(tmp_path) as recording:
        recording.execution("Log", [full_health([float("nan")])])
    with snapshot_of(tmp_path) as snapshot:
        assert feeds_of(snapshot) is feeds_of(snapshot)
        assert snapshot.shared
    assert not snapshot.shared
