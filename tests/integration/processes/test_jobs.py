"""`index/runs.py`: the processes of one job are one run of the viewer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tb_debugger_plugin.analysis.lists.filters import Filter
from tb_debugger_plugin.analysis.lists.selection import select
from tb_debugger_plugin.analysis.snapshot import Range
from tb_debugger_plugin.analysis.status import status
from tb_debugger_plugin.index.runs import find_runs
from tests.support.events import snapshot_of

pytestmark = pytest.mark.tensorflow

PROGRAM = """
import sys
import tensorflow as tf
import tb_debugger_plugin

with tb_debugger_plugin.record(sys.argv[1], mode="FULL_HEALTH"):
    f = tf.function(lambda x: tf.sqrt(x, name="sqrt"))
    for i in range(20):
        f(tf.fill([i + 1], 4.0))
"""


@pytest.mark.long
def test_processes_that_are_told_their_job_are_one_run_with_hosts_kept_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "cache"))
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "TB_DEBUGGER_RUN_ID": "job"}
    logdir = tmp_path / "logs"
    programs = [
        subprocess.Popen([sys.executable, "-c", PROGRAM, str(logdir / f"worker{n}")], env=environment)
        for n in range(2)
    ]
    assert [program.wait(timeout=120) for program in programs] == [0, 0]
    (run,) = find_runs(logdir)
    assert (run.name, run.run_id, len(run.file_sets)) == (".", "job", 2)
    with snapshot_of(logdir) as snapshot:
        hosts = snapshot.rows("SELECT process_id FROM hosts ORDER BY process_id")
        assert hosts == sorted((program.pid,) for program in programs)
        actual = snapshot.rows(
            "SELECT sites.host, list(t.size ORDER BY idx), list(t.wall_time ORDER BY idx)"
            " FROM graph_executions t JOIN sites USING (site) JOIN ops USING (op) WHERE ops.name = 'sqrt'"
            " GROUP BY sites.host ORDER BY sites.host"
        )
        times = snapshot.rows("SELECT list(wall_time ORDER BY idx) FROM graph_executions")[0][0]
        by_host = snapshot.rows(
            "SELECT list(idx ORDER BY idx) FROM graph_executions JOIN sites USING (site)"
            " GROUP BY host ORDER BY host"
        )
        names = status(snapshot)["hosts"]
        chosen = [select(snapshot, "graph_executions", Filter(host=name)) for name in names]
        filtered = [one.rows(snapshot, "t.idx", Range(0, one.total))["idx"].tolist() for one in chosen]
    assert [(host, sizes) for host, sizes, _ in actual] == [
        (host, [float(i + 1) for i in range(20)]) for host in range(2)
    ]
    assert len(set(names)) == 2 and filtered == [rows for (rows,) in by_host]
    assert all(own == sorted(own) for _, _, own in actual) and times == sorted(times)
