"""Measures how fast the commands of the shell answer on a long run.

    python -m benchmarks.shell [--traces 10000000] [--ops 60000] [--times 20] [--logdir FOLDER]

Generates the recording of a large program, unless a folder is given, and prints for each command the first
time, the median and the 95th percentile. An answer counts when its first screen of 100 lines is made.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks import file_sets
from tb_debugger_plugin.events.fileset import FileSetWriter
from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.events.messages import DebugEvent
from tb_debugger_plugin.shell.screen import Screen, text_of
from tb_debugger_plugin.shell.shell import Shell

_SHOWN: Final = 100
#: Frames of each stack, the program's own among those of libraries.
_FRAMES: Final = 20
_FILES: Final = 40
_LINES: Final = 500


def commands(ops: int) -> list[str]:
    """Returns the command lines to measure, for a graph of some ops."""
    middle, last = (file_sets._name(op) for op in (ops // 2, ops - 1))
    return [
        *("ri", "lf", "ll", "lv", "ls", "ls -n transformer/layer_1", "ps file0.py", "ps file0.py -t -m 20"),
        *(
            f"ni -a -d -t {middle}",
            f"ni {last}x",
            f"li {middle}",
            f"li -r -c {last}",
            f"li -r -t -d 200 {last}",
        ),
        *(
            f"lo -r {middle}",
            "le",
            "le -f has_inf_or_nan",
            "le -n train_step -r",
            "goto 5",
            "la",
            "why",
            "why 7",
        ),
    ]


def write(folder: Path, traces: int, ops: int) -> None:
    """Write the recording of a graph of many ops, each with its own stack."""
    file_sets.OPS = ops  # type: ignore[misc]
    file_sets._describe = lambda writer: _describe(writer, ops)
    file_sets.write(folder, traces)


def _describe(writer: FileSetWriter, ops: int) -> None:
    for number in range(_FILES):
        event = DebugEvent(wall_time=1.0)
        folder = "/home/me" if number == 0 else "/usr/lib/python3.11/site-packages/tensorflow"
        event.source_file.file_path, event.source_file.host_name = f"{folder}/file{number}.py", "worker0"
        event.source_file.lines.extend(f"line {line}" for line in range(_LINES))
        writer.write("source_files", event)
    for number in range(_FILES * _LINES):
        event = DebugEvent(wall_time=1.0)
        frame, place = event.stack_frame_with_id, event.stack_frame_with_id.file_line_col
        frame.id, place.line, place.func = f"frame{number}", 1 + number % _LINES, "step"
        place.file_index = number // _LINES
        writer.write("stack_frames", event)
    graph = DebugEvent(wall_time=1.0)
    graph.debugged_graph.graph_id, graph.debugged_graph.graph_name = file_sets._GRAPH, "train_step"
    writer.write("graphs", graph, *_creations(ops))


def _creations(ops: int) -> Iterator[Any]:
    random = np.random.default_rng(1)
    for op in range(ops):
        event = file_sets._creation(op)
        event.graph_op_creation.code_location.stack_frame_ids[:] = [
            f"frame{(file % _FILES) * _LINES + line}"
            for file, line in enumerate(random.integers(0, _LINES, _FRAMES).tolist())
        ]
        yield event


def answered(shell: Shell, command: str) -> int:
    """Answer a command and make its first screen; returns the number of lines."""
    answer = shell.answer(command)
    if not isinstance(answer, Screen):
        raise SystemExit(f"{command} gave no screen.")
    for line in answer.lines[answer.begin : answer.begin + _SHOWN]:
        text_of(line)
    return len(answer.lines)


def measure(logdir: Path, lines: Sequence[str], times: int, console: Console) -> None:
    """Print a table of times of command lines."""
    table = Table("command", "lines", "first, ms", "median, ms", "p95, ms")
    with Shell(location(str(logdir))) as shell:
        shell.run.status()
        for line in lines:
            seconds = []
            count = 0
            for _ in range(times):
                begin = time.perf_counter()
                count = answered(shell, line)
                seconds.append((time.perf_counter() - begin) * 1e3)
            later = seconds[1:]
            figures = (seconds[0], float(np.median(later)), float(np.percentile(later, 95)))
            table.add_row(line, f"{count:,}", *(f"{figure:.1f}" for figure in figures))
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", type=int, default=10_000_000)
    parser.add_argument("--ops", type=int, default=60_000)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--logdir", type=Path, help="measure these files, which an earlier call has written")
    parser.add_argument("-c", dest="commands", action="append", help="measure this command; may be repeated")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        logdir = args.logdir or Path(temporary)
        if not (logdir / "run").exists():
            write(logdir / "run", args.traces, args.ops)
        measure(logdir, args.commands or commands(args.ops), args.times, Console(width=120))


if __name__ == "__main__":
    main()
