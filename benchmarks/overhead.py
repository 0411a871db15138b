"""What recording costs: the ratio of a recorded to an unrecorded step, ours beside TensorFlow's own recorder.

    python -m benchmarks.overhead [--rounds 3] [--steps example cnn gpt] [--modes FULL_HEALTH]

Each round runs none, ours and TensorFlow's own in turn, one process each, so that a drift of the machine's
speed falls on all three; the ratio of a round is taken within the round, and the median over rounds is
printed.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from typing import Any

from rich.console import Console
from rich.table import Table

RECORDERS = ("none", "ours", "tensorflow")


def run(step: str, recorder: str, mode: str, size: int, seconds: float) -> dict[str, Any]:
    """Time one step under one recorder in a process of its own.

    Returns:
      What `benchmarks.steps` prints; an `error` instead when the process failed.
    """
    arguments = [step, "--recorder", recorder, "--mode", mode, "--seconds", str(seconds)]
    arguments += ["--circular_buffer_size", str(size)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.steps", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or ["?"])[-1]}
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def compare(step: str, mode: str, size: int, rounds: int, seconds: float) -> dict[str, list[dict[str, Any]]]:
    """Run all recorders in turn, several rounds."""
    results: dict[str, list[dict[str, Any]]] = {recorder: [] for recorder in RECORDERS}
    for _ in range(rounds):
        for recorder in RECORDERS:
            results[recorder].append(run(step, recorder, mode, size, seconds))
    return results


def ratio(results: dict[str, list[dict[str, Any]]], recorder: str, what: str) -> str:
    """The median over rounds of recorded over unrecorded, as text; `fails` when a process failed."""
    pairs = list(zip(results[recorder], results["none"], strict=True))
    if any("error" in one for pair in pairs for one in pair):
        return "fails"
    return f"{statistics.median(a[what] / b[what] for a, b in pairs):.2f}"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", nargs="+", default=["example", "cnn", "gpt"])
    parser.add_argument("--modes", nargs="+", default=["FULL_HEALTH"])
    parser.add_argument("--circular_buffer_sizes", nargs="+", type=int, default=[1000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args(argv)
    table = Table(
        title=f"step over unrecorded step, {platform.machine()}, {date.today()}, {options.rounds} rounds"
    )
    for column in (
        "step",
        "unrecorded",
        "mode",
        "buffer",
        "ours",
        "TensorFlow's",
        "first call: ours",
        "TensorFlow's",
        "memory: ours",
    ):
        table.add_column(column)
    for step in options.steps:
        for mode in options.modes:
            for size in options.circular_buffer_sizes:
                results = compare(step, mode, size, options.rounds, options.seconds)
                plain = [one["step"] for one in results["none"] if "step" in one]
                extra = [
                    a["memory"] - b["memory"]
                    for a, b in zip(results["ours"], results["none"], strict=True)
                    if "memory" in a and "memory" in b
                ]
                table.add_row(
                    step,
                    f"{1000 * statistics.median(plain):.2f} ms" if plain else "fails",
                    mode,
                    str(size),
                    ratio(results, "ours", "step"),
                    ratio(results, "tensorflow", "step"),
                    ratio(results, "ours", "first_call"),
                    ratio(results, "tensorflow", "first_call"),
                    f"+{statistics.median(extra):.0f} MB" if extra else "fails",
                )
    Console(width=140).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
