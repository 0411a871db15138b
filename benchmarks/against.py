"""Compares this commit with an earlier one: processor time and memory, as ratios from runs in turns.

    python -m benchmarks.against [--base COMMIT] [--rounds 5] [--parts commands viewer steps]

Both commits are built once, as packages, into `build/against`, and measured by the programs of this checkout
(`benchmarks.turns`) in the same environment. What is not committed is not measured. In each round the base
runs, this commit, and the base again: *noise* is the smallest and the largest ratio of the base to
itself. A ratio is red if it is above 1.05 and above all of the noise.

Times are processor time, because other work on the machine changes it less than the time on the clock: user
time of whole commands, user and system time of parts of a process.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from io import BytesIO
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

ROOT: Final = Path(__file__).resolve().parents[1]
_FOLDER: Final = ROOT / "build" / "against"
#: Ratios up to this one are as good as equal.
BOUND: Final = 1.05
#: Tensors of the recording that is indexed and asked.
_TENSORS: Final = 2_000_000
#: Steps of `benchmarks.programs`, by the names of their rows, and the modes in which they are recorded.
_STEPS: Final = {
    "MLP": ("mlp", "FULL_HEALTH"),
    "CNN": ("cnn", "FULL_HEALTH"),
    "transformer": ("gpt", "FULL_HEALTH"),
    "eager MLP": ("eager", "FULL_HEALTH"),
    "XLA": ("gpt_xla", "FULL_HEALTH"),
    "MLP in GUARD": ("mlp", "GUARD"),
    "eager MLP in GUARD": ("eager", "GUARD"),
    "XLA in GUARD": ("gpt_xla", "GUARD"),
    "17 million parameters in GUARD": ("wide", "GUARD"),
}
#: Processor seconds of a block of steps, and how often the first call is measured.
_BLOCK: Final = 0.3
_FIRST_CALLS: Final = 2
_SLOWEST: Final = 10
#: Rounds in which it is indexed, which takes longest.
_MOST_INDEXED: Final = 3
#: The names of the variants.
_BASE, _HEAD, _AGAIN = _VARIANTS = ("base", "head", "again")


@dataclass
class Row:
    """What was measured of one thing: a list over rounds for each variant.

    Attributes:
      name: What was measured.
      unit: How a value is shown: `s`, `ms`, `MB`, or `x` for multiples of `plain`.
      values: The measurements.
      plain: For each variant, what the measurements are shown as multiples of.
    """

    name: str
    unit: str
    values: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in _VARIANTS})
    plain: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in _VARIANTS})

    def ratio(self) -> float:
        """The median over rounds of this commit's value by the base's."""
        return statistics.median(self._ratios(_HEAD))

    def noise(self) -> tuple[float, float]:
        """The smallest and the largest ratio of the base to itself."""
        ratios = self._ratios(_AGAIN)
        return min(ratios), max(ratios)

    def is_worse(self) -> bool:
        """Whether this commit takes more than the base, beyond what the base differs from itself."""
        return self.ratio() > max(BOUND, self.noise()[1])

    def shown(self, variant: str) -> str:
        """The median of a variant, with its unit."""
        value = statistics.median(self.values[variant])
        if self.unit == "x":
            return f"{value / statistics.median(self.plain[variant]):.2f} x"
        scaled = value * 1000 if self.unit == "ms" else value
        return f"{scaled:,.0f} MB" if self.unit == "MB" else f"{scaled:,.2f} {self.unit}"

    def _ratios(self, variant: str) -> list[float]:
        return [one / base for one, base in zip(self.values[variant], self.values[_BASE], strict=True)]


def default_base(git: Callable[..., str]) -> str:
    """The commit to compare with: where this branch left `origin/main`, or the commit before this one.

    Args:
      git: Runs git with some arguments and returns its output; raises `CalledProcessError`.
    """
    with contextlib.suppress(subprocess.CalledProcessError):
        base = git("merge-base", "HEAD", "origin/main")
        if base != git("rev-parse", "HEAD"):
            return base
    return git("rev-parse", "HEAD~1")


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def build(commit: str) -> Path:
    """Build the package of a commit, unless that was done before.

    Returns:
      The folder that has the installed package.
    """
    package = _FOLDER / commit[:12]
    if package.exists():
        return package
    print(f"Building {_git('log', '-1', '--format=%h %s', commit)}", flush=True)
    archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=True)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "source", Path(folder) / "package"
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
            files.extractall(source)
        pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--target", str(target), str(source)], check=True)
        # A commit's own benchmarks are not measured with.
        shutil.rmtree(target / "benchmarks", ignore_errors=True)
        package.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(target, package)
    return package


class Variants:
    """The environments of a round: the base, this commit and the base again, each with its own cache.

    Args:
      base, head: The folders of the two packages.
      folder: Where caches may be.
    """

    def __init__(self, base: Path, head: Path, folder: Path) -> None:
        harness = folder / "harness"
        harness.mkdir()
        (harness / "benchmarks").symlink_to(ROOT / "benchmarks")
        packages = {_BASE: base, _HEAD: head, _AGAIN: base}
        self._environments = {
            name: {
                **os.environ,
                "PYTHONPATH": os.pathsep.join((str(harness), str(package))),
                "TB_DEBUGGER_CACHE": str(folder / f"cache-{name}"),
                "TF_CPP_MIN_LOG_LEVEL": "3",
                # A viewer that takes commands prints a key.
                "TB_DEBUGGER_READ_ONLY": "1",
            }
            for name, package in packages.items()
        }
        self._folder = folder

    def start(self, variant: str, *arguments: str) -> subprocess.Popen[str]:
        """Start a program of `benchmarks.turns`."""
        command = [sys.executable, "-m", "benchmarks.turns", *arguments]
        return self._open(variant, command)

    def tbdbg(self, variant: str, *arguments: str) -> tuple[float, float]:
        """Run `tbdbg`; returns its user time in seconds and its peak memory in MB."""
        code = "import sys; from tb_debugger_plugin.cli.main import main; sys.exit(main(sys.argv[1:]))"
        child = self._open(variant, [sys.executable, "-c", code, *arguments])
        output = child.stdout.read() if child.stdout else ""
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise RuntimeError(f"tbdbg {' '.join(arguments)} failed with {variant}: {output.strip()[-500:]}")
        return usage.ru_utime, usage.ru_maxrss / 1024

    def clear(self, variant: str) -> None:
        """Forget what a variant has indexed."""
        shutil.rmtree(self._environments[variant]["TB_DEBUGGER_CACHE"], ignore_errors=True)

    def _open(self, variant: str, command: list[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=self._folder,
            env=self._environments[variant],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if "-c" in command else None,
            text=True,
        )


def measure_commands(variants: Variants, logdir: Path, rounds: int) -> Iterator[Row]:
    """Index a recording and ask why it is bad, from the command line."""
    index, why = Row("tbdbg index, 2 M graph executions", "s"), Row("tbdbg why", "s")
    index_memory, why_memory = (Row(f"{row.name}: peak memory", "MB") for row in (index, why))
    for number in range(rounds):
        for variant in _turns(number) if number < _MOST_INDEXED else ():
            variants.clear(variant)
            _keep(variant, (index, index_memory), variants.tbdbg(variant, "index", str(logdir)))
        for variant in _turns(number):
            _keep(variant, (why, why_memory), variants.tbdbg(variant, "why", str(logdir)))
    yield from (index, index_memory, why, why_memory)


def _turns(number: int) -> tuple[str, ...]:
    """The order of a round: each variant is the first as often as the others."""
    first = number % len(_VARIANTS)
    return _VARIANTS[first:] + _VARIANTS[:first]


def _keep(variant: str, rows: Sequence[Row], values: Sequence[float]) -> None:
    for row, value in zip(rows, values, strict=True):
        row.values[variant].append(value)


def measure_viewer(variants: Variants, logdir: Path, rounds: int) -> Iterator[Row]:
    """Open an indexed recording in the viewer, and ask the routes that take longest."""
    start, memory = Row("start of the viewer", "s"), Row("viewer, all routes asked: peak memory", "MB")
    routes: dict[str, Row] = {}
    for number in range(-1, rounds):
        for variant in _turns(number):
            child = variants.start(variant, "viewer", str(logdir))
            answer = json.loads(child.communicate()[0].strip().splitlines()[-1])
            if number < 0:
                continue  # The first round may still index.
            _keep(variant, (start, memory), (answer["start"], answer["peak_mb"]))
            for name, seconds in answer["routes"].items():
                routes.setdefault(name, Row(name, "ms")).values[variant].append(seconds)
    both = [row for row in routes.values() if all(len(row.values[each]) == rounds for each in _VARIANTS)]
    slowest = sorted(both, key=lambda row: -statistics.median(row.values[_BASE]))
    yield from (start, *slowest[:_SLOWEST], memory)


class _Worker:
    """A process that runs steps when it is told to."""

    def __init__(self, child: subprocess.Popen[str]) -> None:
        self._child = child

    def do(self, *words: object) -> dict[str, float]:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        print(json.dumps(words), file=self._child.stdin, flush=True)
        line = self._child.stdout.readline()
        if not line:
            raise RuntimeError(f"The process that runs steps ended at {words}.")
        answer: dict[str, float] = json.loads(line)
        return answer

    def close(self) -> None:
        self._child.communicate()


def measure_steps(variants: Variants, rounds: int) -> Iterator[Row]:
    """Run training steps, recorded and not."""
    workers = {variant: _Worker(variants.start(variant, "steps")) for variant in _VARIANTS}
    try:
        for name, (step, mode) in _STEPS.items():
            yield from _measure_step(workers, step, mode, name, rounds)
        memory = Row("recorded programs, one after the other: peak memory", "MB")
        for variant, worker in workers.items():
            memory.values[variant].append(worker.do("end")["peak_mb"])
        yield memory
    finally:
        for worker in workers.values():
            worker.close()


def _measure_step(workers: dict[str, _Worker], step: str, mode: str, name: str, rounds: int) -> Iterator[Row]:
    recorded = Row(f"{name}: recorded step, by the unrecorded", "x")
    first = Row(f"{name}: recorded first call, by the unrecorded", "x")
    for recording in (None, mode):
        calls, blocks = (row.values if recording else row.plain for row in (first, recorded))
        warm = 0.0
        for number in range(_FIRST_CALLS):
            for variant in _turns(number):
                began = workers[variant].do("begin", step, recording)
                calls[variant].append(began["first_call"])
                warm = began["warm"]
        steps = max(5, round(_BLOCK / warm))
        for number in range(rounds if recording else 3):
            for variant in _turns(number):
                blocks[variant].append(workers[variant].do("run", steps)["seconds"] / steps)
        for worker in workers.values():
            worker.do("end")
    yield from (recorded, first)


def _recording(variants: Variants, commit: str) -> Path:
    """The recording of a training, made by the base once."""
    logdir = _FOLDER / f"recording-{commit[:12]}"
    if not logdir.exists():
        print("Recording a training", flush=True)
        made = logdir.with_suffix(".part")
        shutil.rmtree(made, ignore_errors=True)
        child = variants.start(_BASE, "record", str(made), str(_TENSORS))
        child.communicate()
        if child.returncode != 0:
            raise RuntimeError("The training that is indexed could not be recorded.")
        made.rename(logdir)
    return logdir


def table(title: str, rows: Sequence[Row]) -> Table:
    """The rows as a table; what is worse is red."""
    result = Table("", "base", "this commit", "ratio", "noise", title=title, title_justify="left")
    for row in rows:
        low, high = row.noise()
        ratio = f"[red]{row.ratio():.2f}[/red]" if row.is_worse() else f"{row.ratio():.2f}"
        result.add_row(row.name, row.shown(_BASE), row.shown(_HEAD), ratio, f"{low:.2f} – {high:.2f}")
    return result


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base", help="commit to compare with (default: where this branch left origin/main)")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--parts", nargs="+", choices=_PARTS, default=list(_PARTS))
    options = parser.parse_args(argv)
    base = _git("rev-parse", f"{options.base or default_base(_git)}^{{commit}}")
    head = _git("rev-parse", "HEAD")
    if _git("status", "--porcelain", "--untracked-files=no"):
        print("What is not committed is not measured.", flush=True)
    with tempfile.TemporaryDirectory(prefix="against-") as folder:
        variants = Variants(build(base), build(head), Path(folder))
        logdir = _recording(variants, base)
        rows = [row for part in options.parts for row in _PARTS[part](variants, logdir, options.rounds)]
    title = f"{head[:9]} against {base[:9]}, {date.today()}, {platform.machine()}, {os.cpu_count()} CPUs"
    console = Console(width=None if sys.stdout.isatty() else 130)
    console.print(table(title, rows))
    worse = [row.name for row in rows if row.is_worse()]
    console.print(f"Worse: {'; '.join(worse)}." if worse else "Nothing is worse.")
    return 0


_PARTS: Final[dict[str, Callable[[Variants, Path, int], Iterator[Row]]]] = {
    "commands": measure_commands,
    "viewer": measure_viewer,
    "steps": lambda variants, _, rounds: measure_steps(variants, rounds),
}

if __name__ == "__main__":
    sys.exit(main())
