"""`capture`: the recorder's memory does not grow with the length of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.programs import run_apart

pytestmark = [pytest.mark.tensorflow, pytest.mark.long]

TRAINING = """
import sys
import tb_debugger_plugin
from benchmarks.programs import mlp

def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmRSS:"))

root, size, early, late = sys.argv[1], *map(int, sys.argv[2:])
step = mlp()
recording = tb_debugger_plugin.enable_dump_debug_info(root, "FULL_HEALTH", size)
for number in range(1, late + 1):
    step()
    if number in (early, late):
        print("resident", resident(), recording.counts()[1])
assert recording.on
"""
#: Megabytes that come and go in any program of TensorFlow's.
UNREST = 10.0


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells a process its memory")
@pytest.mark.parametrize(("size", "early", "late"), [(1000, 10_000, 100_000), (-1, 2_000, 10_000)])
def test_memory_is_flat_over_many_steps(tmp_path: Path, size: int, early: int, late: int) -> None:
    ended = run_apart("-c", TRAINING, str(tmp_path), *map(str, (size, early, late)), timeout=1800)
    lines = [line.split()[1:] for line in ended.stdout.splitlines() if line.startswith("resident")]
    (before, _), (after, traces) = ((float(megabytes), int(count)) for megabytes, count in lines)
    assert traces > 100 * late  # it did record
    assert after - before < UNREST
    if size > 0:
        files = sum(path.stat().st_size for path in tmp_path.iterdir())
        assert files < 20e6, "a circular buffer's files do not grow either"
