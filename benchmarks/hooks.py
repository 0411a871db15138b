"""What the hooks of eager ops and of runs of sessions cost, in one process.

    python -m benchmarks.hooks [--turns 100]

Two processes that run the same program differ by some hundredths in where their memory lies, as much as these
hooks cost. So one process takes turns of 50 ms: with its hooks, and with TensorFlow's own functions in their
place. The eager MLP records in FULL_HEALTH or is guarded; a session is guarded, with 32 and with 128 examples
in a batch. *no work* is a callback of TensorFlow's that returns at once: so much is not ours.

Each figure is the median over the turns of the step with hooks divided by the step without.
"""

from __future__ import annotations

import argparse
import functools
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import date

import numpy as np
import tensorflow as tf
from rich.console import Console
from rich.table import Table
from tensorflow.python import pywrap_tfe
from tensorflow.python.client import session
from tensorflow.python.eager import context

import tb_debugger_plugin
from benchmarks import programs

_TURN = 0.05  # seconds
#: Calls before the first turn, and in each turn before it is timed.
_WARM, _WARM_TURN = 60, 6


def _median_step(step: programs.Step) -> float:
    for _ in range(_WARM_TURN):
        np.asarray(step())
    times, end = [], time.perf_counter() + _TURN
    while time.perf_counter() < end:
        began = time.perf_counter()
        np.asarray(step())
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def take_turns(step: programs.Step, ways: Mapping[str, Callable[[], None]], turns: int) -> dict[str, float]:
    """Time a step in several ways.

    Args:
      step: The step.
      ways: By name, what is called before a turn of each. The first is what the others are divided by.
      turns: The number of turns of each way.

    Returns:
      Seconds of a step in the first way, and the ratios of the others, by name.
    """
    for _ in range(_WARM):
        np.asarray(step())
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    order = list(ways)
    for _ in range(turns):
        random.shuffle(order)
        for name in order:
            ways[name]()
            seconds[name].append(_median_step(step))
    first, *others = ways
    ratios = {name: map(float.__truediv__, seconds[name], seconds[first]) for name in others}
    return {first: statistics.median(seconds[first])} | {
        name: statistics.median(found) for name, found in ratios.items()
    }


def _eager(mode: str, turns: int) -> dict[str, float]:
    plain = pywrap_tfe.TFE_Py_FastPathExecute
    callbacks = context.context().op_callbacks
    with tempfile.TemporaryDirectory() as logdir, tb_debugger_plugin.record(logdir, mode=mode):
        hooks, ours = list(callbacks), pywrap_tfe.TFE_Py_FastPathExecute

        def use(now: Sequence[object], run_op: object) -> None:
            callbacks[:] = now
            pywrap_tfe.TFE_Py_FastPathExecute = run_op

        ways = {
            "plain": lambda: use((), plain),
            "no work": lambda: use((lambda *_, **__: None,), plain),
            "ours": lambda: use(hooks, ours),
        }
        try:
            return take_turns(programs.eager(), ways, turns)
        finally:
            use(hooks, ours)


def _session(batch: int, turns: int) -> dict[str, float]:
    plain = session.BaseSession._do_run
    with tempfile.TemporaryDirectory() as logdir, tb_debugger_plugin.record(logdir, mode="GUARD"):
        made: list[tf.compat.v1.Session] = []
        step = programs.session(batch, made)
        step()
        ours = made[0]._do_run

        def use(run: object) -> None:
            made[0]._do_run = run

        ways = {"plain": lambda: use(functools.partial(plain, made[0])), "ours": lambda: use(ours)}
        try:
            return take_turns(step, ways, turns)
        finally:
            use(ours)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=100)
    turns = parser.parse_args(argv).turns
    rows: dict[str, Callable[[], dict[str, float]]] = {
        "eager MLP, FULL_HEALTH": lambda: _eager("FULL_HEALTH", turns),
        "eager MLP, GUARD": lambda: _eager("GUARD", turns),
        "session, 32 examples, GUARD": lambda: _session(32, turns),
        "session, 128 examples, GUARD": lambda: _session(128, turns),
    }
    table = Table(title=f"{platform.machine()}, {date.today()}, {turns} turns")
    for column in ("step", "plain", "no work", "ours"):
        table.add_column(column)
    for name, measure in rows.items():
        found = measure()
        no_work = f"{found['no work']:.3f}" if "no work" in found else ""
        table.add_row(name, f"{1000 * found['plain']:.3f} ms", no_work, f"{found['ours']:.3f}")
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
