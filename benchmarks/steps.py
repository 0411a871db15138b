"""Times one of the training steps of `benchmarks.programs`, recorded or not.

    python -m benchmarks.steps gpt --recorder ours --mode FULL_HEALTH

prints a line of JSON: seconds of the first call, median seconds of a step while the processors are near each
other and while they are apart (`benchmarks.core_distance`), resident memory in MB after the steps, and the
peak of resident memory.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import statistics
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

import tb_debugger_plugin
from benchmarks.core_distance import processors_are_apart
from benchmarks.kept_values import VALUES
from benchmarks.programs import STEPS, Step
from tb_debugger_plugin import KeepValues
from tb_debugger_plugin.live.messages.messages import Breakpoint, Command

#: What watches the step; see `_enable`.
RECORDERS = (
    "none",
    "ours",
    "interactive",
    "connected",
    "breakpoint",
    "tensorflow",
    "check",
    "tensorflow_check",
)


def _enable(
    recorder: str, root: str, mode: str, size: int, keep: KeepValues | None, debugger: contextlib.ExitStack
) -> None:
    if recorder == "ours":
        tb_debugger_plugin.enable_dump_debug_info(root, mode, circular_buffer_size=size, keep_values=keep)
    elif recorder in ("interactive", "connected", "breakpoint"):
        options = {"tensor_debug_mode": mode, "circular_buffer_size": size, "keep_values": keep}
        controller = tb_debugger_plugin.enable_breakpoints(root, wait=False, **options).controller
        if recorder != "interactive":
            debugger.enter_context(controller.connected("benchmark"))
        if recorder == "breakpoint":
            enabled = Breakpoint(enabled=True, condition="nan > 0 or max > 1e30")
            assert controller.control(Command(set_breakpoint=enabled)).done
    elif recorder == "tensorflow":
        tf.debugging.experimental.enable_dump_debug_info(root, mode, circular_buffer_size=size)
    elif recorder == "check":
        tb_debugger_plugin.check_numerics()
    elif recorder == "tensorflow_check":
        tf.debugging.enable_check_numerics()


#: Seconds of timed steps between two measurements of the distance of the processors.
_BLOCK_SECONDS = 0.3
#: Smallest number of steps for a median.
_FEWEST = 5


def measure(step: Step, seconds: float) -> dict[str, float | None]:
    """Time a step until `seconds` have passed.

    Args:
      step: Runs one step and returns a tensor.
      seconds: Duration after the warm-up.

    Returns:
      `first_call` and two medians, in seconds: `step` for steps before and after which the processors were
      near each other, and `step_apart` for those with the processors apart. A median of too few steps is
      None.
    """
    first = _time_of(step)
    for _ in range(5):
        step_time = _time_of(step)
    times: dict[bool, list[float]] = {False: [], True: []}
    block_steps = max(_FEWEST, round(_BLOCK_SECONDS / step_time))
    end = time.perf_counter() + seconds
    apart = processors_are_apart()
    while time.perf_counter() < end:
        block = [_time_of(step) for _ in range(block_steps)]
        before, apart = apart, processors_are_apart()
        if before == apart:
            times[apart] += block
    return {"first_call": first, "step": _median(times[False]), "step_apart": _median(times[True])}


def _time_of(step: Step) -> float:
    began = time.perf_counter()
    np.asarray(step())
    return time.perf_counter() - began


def _median(times: list[float]) -> float | None:
    return statistics.median(times) if len(times) >= _FEWEST else None


def _resident() -> float:
    """Returns the resident memory of the process in MB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def main() -> None:
    """Time one step in this process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=STEPS)
    parser.add_argument(
        "--recorder",
        choices=RECORDERS,
        default="none",
        help="interactive: breakpoints; check: check_numerics()",
    )
    parser.add_argument("--mode", default="FULL_HEALTH")
    parser.add_argument("--circular_buffer_size", type=int, default=1000)
    parser.add_argument("--values", action="store_true", help="keep the values that VALUES names")
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as root, contextlib.ExitStack() as debugger:
        step = STEPS[options.step]()
        keep = KeepValues(**VALUES[options.step], max_total_bytes=None) if options.values else None
        _enable(options.recorder, root, options.mode, options.circular_buffer_size, keep, debugger)
        result = measure(step, options.seconds)
        result["memory"] = _resident()
        result["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(result), flush=True)
        tb_debugger_plugin.disable_check_numerics()
        tb_debugger_plugin.disable_dump_debug_info()
        tf.debugging.experimental.disable_dump_debug_info()


if __name__ == "__main__":
    main()
