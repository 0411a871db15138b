"""Measures the cost of recording: the ratio of a recorded to an unrecorded step, ours and TensorFlow's.

    python -m benchmarks.overhead [--rounds 3] [--steps mlp gpt] [--modes FULL_HEALTH CURT_HEALTH] [--guard]

A round runs a step without a recorder, with ours in each mode and with each size of the circular buffer, the
same with `keep_values` of three tensors, with ours in GUARD, and with TensorFlow's own. Each runs in a
process of its own, so that a change of the machine's speed affects all of them. Ratios are taken within a
round, for steps with the same distance of the processors (`benchmarks.core_distance`). The median over rounds
is printed, with the number of rounds. `beside ours` is the ratio of a recording that keeps values, or whose
program debuggers can stop, to the same recording without that: *interactive* is not connected, *connected*
has a debugger, and *breakpoint* also a condition on every tensor, which is never met.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from operator import sub, truediv

from rich.console import Console
from rich.table import Table

from benchmarks.kept_values import VALUES

#: Ways to have breakpoints; see `benchmarks.steps`.
INTERACTIVE = ("interactive", "connected", "breakpoint")


@dataclass(frozen=True)
class Recorder:
    """A recorder with its options."""

    name: str
    mode: str = "FULL_HEALTH"
    buffer: int = 1000
    keeps_values: bool = False

    @property
    def plain(self) -> Recorder:
        """The recording to which the price of more is compared."""
        name = "ours" if self.name in INTERACTIVE else self.name
        return replace(self, name=name, keeps_values=False)


_NONE = Recorder("none")
_TENSORFLOWS = Recorder("tensorflow")
_COLUMNS = (
    *("step", "recorder", "mode", "buffer", "unrecorded", "ratio", "unrecorded, apart", "ratio, apart"),
    *("beside ours", "beside ours, apart", "first call, ratio", "memory", "peak"),
)


@dataclass
class Results:
    """The measurements of one step: a list over rounds for each recorder."""

    runs: dict[Recorder, list[dict[str, float | str | None]]] = field(default_factory=dict)

    def failed(self, recorder: Recorder) -> bool:
        """Whether a process with this recorder failed."""
        return any("error" in result for result in self.runs[recorder])

    def over_rounds(
        self,
        recorder: Recorder,
        quantity: str,
        of: Callable[[float, float], float],
        beside: Recorder = _NONE,
    ) -> list[float]:
        """Combines a quantity with a recorder and with another, for each round that measured both."""
        rounds = zip(self.runs[recorder], self.runs[beside], strict=True)
        pairs = [(recorded.get(quantity), plain.get(quantity)) for recorded, plain in rounds]
        return [
            of(recorded, plain) for recorded, plain in pairs if recorded is not None and plain is not None
        ]


def run(step: str, recorder: Recorder, seconds: float) -> dict[str, float | str | None]:
    """Time one step with one recorder in a process of its own.

    Returns:
      The JSON that `benchmarks.steps` prints; an `error` instead if the process failed.
    """
    arguments = [step, "--recorder", recorder.name, "--mode", recorder.mode, "--seconds", str(seconds)]
    arguments += ["--circular_buffer_size", str(recorder.buffer)]
    arguments += ["--values"] if recorder.keeps_values else []
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.steps", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or ["?"])[-1]}
    result: dict[str, float | str | None] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def compare(step: str, recorders: Sequence[Recorder], rounds: int, seconds: float) -> Results:
    """Run all recorders in turn, for several rounds."""
    results = Results({recorder: [] for recorder in recorders})
    for _ in range(rounds):
        for recorder in recorders:
            results.runs[recorder].append(run(step, recorder, seconds))
    return results


def rows(step: str, results: Results) -> Iterator[tuple[str, ...]]:
    """Yields the rows of the table for one step."""
    for recorder in results.runs:
        if recorder == _NONE:
            continue
        name = f"{recorder.name}, values" if recorder.keeps_values else recorder.name
        described = (step, name, recorder.mode, str(recorder.buffer))
        if results.failed(recorder):
            yield (*described, "fails")
            continue
        cells = []
        for quantity in ("step", "step_apart"):
            plain = results.over_rounds(_NONE, quantity, lambda _, none: 1000 * none)
            ratios = results.over_rounds(recorder, quantity, truediv)
            cells += [_median(plain, "{:.2f} ms"), _median(ratios, f"{{:.2f}} ({len(ratios)})")]
        for quantity in ("step", "step_apart"):
            ratios = (
                results.over_rounds(recorder, quantity, truediv, recorder.plain)
                if recorder != recorder.plain
                else []
            )
            cells.append(_median(ratios, "{:.3f}"))
        first = results.over_rounds(recorder, "first_call", truediv)
        more = [results.over_rounds(recorder, quantity, sub) for quantity in ("memory", "peak")]
        yield (
            *described,
            *cells,
            _median(first, "{:.2f}"),
            *[_median(values, "{:+.0f} MB") for values in more],
        )


def _median(values: list[float], form: str) -> str:
    return form.format(statistics.median(values)) if values else "-"


_STEPS = ["example", "mlp", "cnn", "gpt", "wide", "eager", "gpt_xla", "wide_xla", "session"]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", nargs="+", default=_STEPS)
    parser.add_argument("--modes", nargs="+", default=["FULL_HEALTH"])
    parser.add_argument("--circular_buffer_sizes", nargs="+", type=int, default=[1000, -1])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--guard", action="store_true", help="only GUARD, beside no recorder")
    options = parser.parse_args(argv)
    ours = [Recorder("ours", mode, size) for mode in options.modes for size in options.circular_buffer_sizes]
    keeping = [replace(each, keeps_values=True) for each in ours]
    # The numbers that conditions use are those of the recording.
    numeric = Recorder("ours", "FULL_NUMERICS", -1)
    live = [numeric, *(replace(numeric, name=name) for name in INTERACTIVE)]
    guard = Recorder("ours", "GUARD", -1)
    table = Table(title=f"{platform.machine()}, {date.today()}, {options.rounds} rounds")
    for column in _COLUMNS:
        table.add_column(column)
    for step in options.steps:
        others = (*ours, *(keeping if step in VALUES else ()), *live, guard, _TENSORFLOWS)
        recorders = (_NONE, guard) if options.guard else (_NONE, *others)
        for row in rows(step, compare(step, recorders, options.rounds, options.seconds)):
            table.add_row(*row)
    Console(width=150).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
