"""Measures how fast the commands of the shell answer on a long run.

    python -m benchmarks.shell [--traces 10000000] [--ops 60000] [--logdir FOLDER] [-c COMMAND]

Generates the recording of a large program, unless a folder has one, and times each command until the lines of
a page are there, at a random place of the answer. No selection of rows is kept from one answer to the next.
"""

from __future__ import annotations

import argparse
import os
import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import file_sets
from benchmarks.file_sets import Program, name_of
from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.shell.commands.table import COMMANDS
from tb_debugger_plugin.shell.screen import Screen, text_of
from tb_debugger_plugin.shell.shell import Shell

_PAGE: Final = 100
_OF_TENSORS: Final = (
    *("lt", "lt -r", "lt -f has_inf_or_nan", "lt -f has_inf_or_nan -fenn .*_1", 'lt --where "nan>0"'),
    *("lt -n transformer/layer_1", "lt -t MatMul", "lt -t MatMul -r", "lt -g train"),
    *("lt -s dump_size", "lt -s dump_size -r", "lt -s op_type", "lt -s op_type -r"),
    *("lt -s tensor_name", "lt -s tensor_name -r", "lt -n transformer/layer_1 -s tensor_name"),
)
_OF_THE_RUN: Final = (
    *("ri", "lf", "ll", "lv", "ls", "ls -n transformer/layer_1", "ps train.py", "ps train.py -t -m 20"),
    *("le", "le -f has_inf_or_nan", "le -n train_step -r", "goto 5", "la", "why", "why 7"),
)


def commands(ops: int) -> list[str]:
    """Returns the command lines to measure, for a graph of some ops."""
    middle, last = name_of(ops // 2), name_of(ops - 1)
    of_nodes = (
        *(f"pt {middle}", "pt #1234567", f"ni -a -d -t {middle}", f"ni {last}x", f"li {middle}"),
        *(f"li -r -c {last}", f"li -r -t -d 200 {last}", f"lo -r {middle}"),
    )
    return [*_OF_TENSORS, *of_nodes, *_OF_THE_RUN]


def answer_seconds(shell: Shell, command: str, at: float) -> float:
    """Returns how long a command takes, with a page of its lines at a part of the answer.

    Raises:
      ValueError: The command answered no screen.
    """
    with shell.run.snapshot() as snapshot:
        snapshot.loader.memory.pop("selections", None)
    begin = time.perf_counter()
    answer = shell.answer(command)
    if not isinstance(answer, Screen):
        raise ValueError(f"{command} gave no screen.")
    first = int(at * max(0, len(answer.lines) - _PAGE))
    for line in answer.lines[first : first + _PAGE]:
        text_of(line)
    return time.perf_counter() - begin


def measure(logdir: Path, lines: Sequence[str], times: int) -> Table:
    """Returns a table of the times of command lines."""
    table = Table("command", "first, ms", "median, ms", "p95, ms")
    places = random.Random(1)
    everything: list[float] = []
    with Shell(COMMANDS, location(str(logdir))) as shell:
        shell.run.status()
        for line in lines:
            found = [answer_seconds(shell, line, places.random()) * 1e3 for _ in range(times)]
            everything += found
            _add_row(table, line, found)
    _add_row(table, "all", everything)
    return table


def _add_row(table: Table, name: str, found: list[float]) -> None:
    figures = (found[0], float(np.median(found)), float(np.percentile(found, 95)))
    table.add_row(name, *(f"{figure:.0f}" for figure in figures))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", type=int, default=10_000_000)
    parser.add_argument("--ops", type=int, default=60_000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--logdir", type=Path, help="the files; they are written unless they exist")
    parser.add_argument("-c", dest="commands", action="append", help="measure this; may be repeated")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        os.environ.setdefault("TB_DEBUGGER_CACHE", str(Path(temporary) / "cache"))
        run = (args.logdir or Path(temporary)) / "run"
        if not run.exists():
            file_sets.write(run, args.traces, program=Program(ops=args.ops, files=40, frames=20))
        table = measure(run, args.commands or commands(args.ops), args.times)
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
