"""How far apart the two processors of this machine are at the moment.

    python -m benchmarks.core_distance

prints the nanoseconds that a byte written by one of them takes to be seen by the other. A virtual machine's
host moves its processors between cores as it likes: now they share a cache of the third level, now each has
one to itself, and whatever one of them reads that the other has written comes from far away. A step that
hands large tensors from thread to thread then takes up to half as long again, recorded or not. So times of
steps are compared only with times that were taken at the same distance.
"""

from __future__ import annotations

import mmap
import os
import statistics
import subprocess
import sys
import time

#: From here on, in nanoseconds, processors are apart. On an AMD EPYC with two processors 81 to 107 were seen
#: where they share a cache, of which some 40 are the way itself; where they do not, that takes 130 more.
APART = 130.0
_ROUNDS = 300
_BLOCKS = 30
#: Two bytes that are not in the same cache line, nor in neighbouring ones.
_THERE, _BACK = 0, 1024


def processors_are_apart() -> bool:
    """Measure the distance in a process of its own, in some 60 ms, and tell whether it is a large one.

    Returns:
      False also when the program may use one processor only.
    """
    command = [sys.executable, "-S", "-E", __file__]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return float(printed) >= APART


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
        said = number % 100 + 1
        shared[_THERE] = said
        while shared[_BACK] != said:
            pass
    return (time.perf_counter_ns() - began) / _ROUNDS / 2


def _answer(shared: mmap.mmap) -> None:
    for number in range(_BLOCKS * _ROUNDS):
        said = number % 100 + 1
        while shared[_THERE] != said:
            pass
        shared[_BACK] = said


if __name__ == "__main__":
    print(f"{_distance():.0f}")
