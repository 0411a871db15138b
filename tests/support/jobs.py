"""Writes the file sets of a job on several hosts, with everything that makes them hard to read."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from tb_debugger_plugin.events.fileset import GRAPH_EXECUTION_TRACES
from tb_debugger_plugin.events.framing import frame
from tests.support.events import full_health, small_program, vector


def write_job(folder: Path, hosts: int = 3, each: int = 70) -> None:
    """Writes hosts with graphs, sources, stacks, clocks that jump, equal times, damage and unknown ops."""
    rng = np.random.default_rng(0)
    for host in range(hosts):
        recording = small_program(folder, steps=1, host=f"host{host}", run_id="job", process_id=host)
        now = 1000.0
        for number in range(each + 10 * host):
            now += rng.choice([0.0, 0.001, 0.5, -0.05])
            value = full_health([[math.nan, 1.0][rng.integers(2)]]) if number % 5 else vector([1.0])
            recording.trace("g1", rng.choice(["x", "Log", "mul", "nobody"]), value, at=now)
            if not number % 7:
                call = f"__inference_f{host}_1" if number % 2 else "Add"
                recording.execution(call, [full_health([1.0])], graph_id="g1", ids=[1], stack=["f2"], at=now)
        recording.close()
        path = recording.files.path(GRAPH_EXECUTION_TRACES)
        content = bytearray(path.read_bytes())
        content[len(content) // 2 // 8 * 8 + host] ^= 0xFF
        path.write_bytes(content + frame(b"no event"))
