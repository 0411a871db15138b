"""`index/run_library.py`: many runs that are opened one after another cost little more than a few.

Each viewer here is a process of its own, so that its threads and memory can be measured.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkout import ROOT
from tests.support.events import small_program

_MAX_THREADS = 60
_MAX_MEGABYTES = 150

#: Asks about each run of a logdir, as the page does, and prints what that took beyond the viewer alone.
_LOOKING = """
import json, os, sys
from tests.support.asking import Asker

def held():
    status = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return {"threads": int(status["Threads"]), "megabytes": int(status["VmRSS"].split()[0]) / 1024}

with Asker(sys.argv[1]) as asker:
    runs = asker.json("/runs", {})
    before, most = held(), {}
    for run in runs:
        for route in ("/status", "/alerts", "/columns/graph_executions"):
            assert asker.get(route, {"run": run}).status_code == 200
        most = {name: max(most.get(name, 0), value - before[name]) for name, value in held().items()}
print(json.dumps({"runs": len(runs), **most}))
"""


def _looked_at(logdir: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", _LOOKING, str(logdir)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    actual: dict[str, float] = json.loads(done.stdout)
    return actual


@pytest.mark.parametrize(
    "count", [pytest.param(30, id="30 runs"), pytest.param(200, id="200 runs", marks=pytest.mark.long)]
)
def test_runs_looked_at_one_after_the_other_take_few_threads_and_little_memory(tmp_path, count):
    for number in range(count):
        small_program(tmp_path / f"run{number}", run_id=f"run{number}").close()
    actual = _looked_at(tmp_path)
    print(f"{count} runs took {actual['threads']} threads and {actual['megabytes']:.0f} MB.")
    assert actual["runs"] == count
    assert actual["threads"] <= _MAX_THREADS
    assert actual["megabytes"] <= _MAX_MEGABYTES


def test_runs_that_are_elsewhere_share_the_threads_that_wait_for_their_files(tmp_path):
    for number in range(6):
        small_program(tmp_path / f"run{number}", run_id=f"run{number}").close()
    program = (
        "import sys, fsspec\n"
        "fsspec.filesystem('memory').put(sys.argv[1], '/elsewhere', recursive=True)\n"
        "sys.argv[1] = 'memory://elsewhere'\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program + _LOOKING, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    actual = json.loads(done.stdout)
    assert actual["runs"] == 6 and actual["threads"] <= _MAX_THREADS
