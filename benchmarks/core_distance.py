"""Measures the present distance between the two processors of this machine.

    python -m benchmarks.core_distance

prints the nanoseconds after which one processor sees a byte that the other has written. The host of a virtual
machine moves its processors between cores at any time. Sometimes they share a cache of the third level;
sometimes each has its own, and data that the other processor has written take longer to arrive. A step that
passes large tensors from thread to thread then takes up to half as long again, recorded or not. So times of
steps are compared only with times that were measured at the same distance.
"""

from __future__ import annotations

import mmap
import os
import statistics
import subprocess
import sys
import time

#: Distance in nanoseconds from which processors count as apart. On an AMD EPYC with two processors, 81 to 107
#: were measured where they share a cache, of which about 40 are the way itself; without a shared cache, the
#: way takes 130 more.
APART = 130.0
_ROUNDS = 300
_BLOCKS = 30
#: Two bytes that are not in the same cache line, nor in neighbouring ones.
_THERE, _BACK = 0, 1024


def processors_are_apart() -> bool:
    """Measure in a process of its own, in about 60 ms, whether the processors are apart.

    Returns:
      True if they are apart; False also if the program may use only one processor.
    """
    command = [sys.executable, "-S", "-E", __file__]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(output) >= APART


def _distance() -> float:
    shared = mmap.mmap(-1, mmap.PAGESIZE)
    processors = sorted(os.sched_getaffinity(0))
    if len(processors) < 2:
        return 0.0
    child = os.fork()
    if child == 0:
        os.sched_setaffinity(0, processors[1:2])
        _answer(shared)
        os._exit(0)
    os.sched_setaffinity(0, processors[:1])
    distance = statistics.median(_ask(shared, block) for block in range(_BLOCKS))
    os.waitpid(child, 0)
    return distance


def _ask(shared: mmap.mmap, block: int) -> float:
    began = time.perf_counter_ns()
    for number in range(block * _ROUNDS, (block + 1) * _ROUNDS):
        value = number % 100 + 1
        shared[_THERE] = value
        while shared[_BACK] != value:
            pass
    return (time.perf_counter_ns() - began) / _ROUNDS / 2


def _answer(shared: mmap.mmap) -> None:
    for number in range(_BLOCKS * _ROUNDS):
        value = number % 100 + 1
        while shared[_THERE] != value:
            pass
        shared[_BACK] = value


if __name__ == "__main__":
    print(f"{_distance():.0f}")
