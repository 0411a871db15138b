"""`analysis/values/changed_values.py`: values that a debugger changed are found with their records."""

from __future__ import annotations

import pytest

from tb_debugger_plugin import open_run
from tests.support.events import full_health, small_program

pytestmark = pytest.mark.timeout(60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("changed")
    recording = small_program(folder, steps=1)
    recording.trace("g1", "Log", full_health([1.0]))
    recording.changed_value("Log", "np.nan_to_num(value)")
    recording.trace("g1", "Log", full_health([2.0]))
    recording.changed_value("Fill_1", "0", graph_id="")
    recording.changed_value("nobody", "value * 2")
    recording.execution("__inference_loss_7", [full_health(1.0)], graph_id="g1", thread=1)
    recording.close()
    return folder


def test_a_change_has_the_last_record_before_it(folder):
    with open_run(folder) as run:
        log, fill, lost = run.changed_values()
        before = [row.index for row in run.graph_executions(op_name="^Log$")]
        fills = [row.index for row in run.executions(op_type="^Fill$")]
        assert (log["op_name"], log["graph_id"], log["expression"]) == ("Log", "g1", "np.nan_to_num(value)")
        assert (log["graph_execution"], log["execution"]) == (before[-2], None)
        assert log["owner_execution_index"] == run.executions(op_type="loss")[1].index
        assert (fill["graph_id"], fill["execution"], fill["graph_execution"]) == (None, fills[-1], None)
        assert (lost["graph_execution"], lost["execution"]) == (None, None)
        assert fill["owner_execution_index"] is None and lost["owner_execution_index"] is None
        assert run.status()["changed_values"] == [log, fill, lost]
        rows = run.sql("SELECT op_name, slot, expression FROM changed_values ORDER BY wall_time").fetchall()
    assert rows[0] == ("Log", 0, "np.nan_to_num(value)")


def test_a_run_without_changes_says_nothing_of_them(tmp_path, tbdbg):
    with open_run(small_program(tmp_path, steps=1).close()) as run:
        assert run.changed_values() == []
    assert "changed" not in tbdbg("info", tmp_path)


def test_the_overview_of_a_run_lists_the_changes(folder, tbdbg):
    out = tbdbg("info", folder)
    assert "changed: Log:0 to np.nan_to_num(value), " in out
    assert "changed: Fill_1:0 to 0, " in out
