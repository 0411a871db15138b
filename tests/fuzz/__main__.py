"""`make fuzz`: tests the viewer with hostile recordings, by the hundred thousand.

Takes a seed and a number of inputs. Prints a table of the kinds of inputs, and the problems with the cases
that repeat them: `python -m tests.fuzz.worker SEED CASE`. The exit code is 1 if there are problems.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.fuzz.inputs import num_places
from tests.fuzz.worker import CASE_INPUTS, CaseResult

#: Number of cases that a process runs before a new process continues.
_CHUNK = 25
_SHOWN = 20
_WORKER = ["-m", "tests.fuzz.worker"]


@dataclass
class Tally:
    """The results so far, to which every worker thread adds."""

    kinds: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[int, str]] = field(default_factory=list)
    longest: float = 0.0
    longest_case: int = 0
    peak_bytes: int = 0
    shown: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)  # guards the fields above

    def add(self, actual: CaseResult) -> None:
        """Add the result of a case."""
        with self.lock:
            self.kinds.update(actual["kinds"])
            self.problems += [(actual["case"], problem) for problem in actual["problems"]]
            self.peak_bytes = max(self.peak_bytes, actual["peak_bytes"])
            if actual["seconds"] > self.longest:
                self.longest, self.longest_case = actual["seconds"], actual["case"]

    def fall(self, case: int, sentence: str) -> None:
        """Add a case in which the process ended."""
        with self.lock:
            self.problems.append((case, sentence))


def run_cases(seed: int, cases: Sequence[int], tally: Tally) -> None:
    """Run cases in a process; a new process continues after a case in which one ended early."""
    left = list(cases)
    while left:
        command = [sys.executable, *_WORKER, str(seed), *map(str, left)]
        with (
            tempfile.TemporaryFile() as said,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as worker,
        ):
            for line in worker.stdout or ():
                tally.add(json.loads(line))
                left.pop(0)
            if worker.wait():
                said.seek(0)
                text = said.read().decode(errors="replace")[-3000:]
                tally.fall(left.pop(0), f"the process ended with {worker.returncode}:\n{text}")


def run(seed: int, inputs: int, workers: int) -> Tally:
    """Run inputs in several processes at once.

    Args:
      seed: Seed of all random choices.
      inputs: Number of inputs, rounded up to whole cases.
      workers: Number of processes.
    """
    cases = range(-(-inputs // CASE_INPUTS))
    chunks: queue.SimpleQueue[Sequence[int]] = queue.SimpleQueue()
    for start in range(0, len(cases), _CHUNK):
        chunks.put(cases[start : start + _CHUNK])
    tally = Tally()

    def work() -> None:
        while not chunks.empty():
            try:
                run_cases(seed, chunks.get_nowait(), tally)
            except queue.Empty:
                return
            _show_progress(tally, inputs)

    threads = [threading.Thread(target=work) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return tally


def _show_progress(tally: Tally, inputs: int) -> None:
    with tally.lock:
        done, new = sum(tally.kinds.values()), tally.problems[tally.shown :]
        tally.shown = len(tally.problems)
    print(f"{done:,} of {inputs:,} inputs, {tally.shown} problems", file=sys.stderr, flush=True)
    for case, text in new[:_SHOWN]:
        print(f"case {case}: {text[-500:]}", file=sys.stderr, flush=True)


def report(tally: Tally, seed: int, seconds: float) -> str:
    """Returns the results as text."""
    total = sum(tally.kinds.values())
    lines = [f"| {kind} | {count:,} |" for kind, count in tally.kinds.most_common()]
    first = "\n".join(f"case {case}: {text[-2000:]}" for case, text in tally.problems[:_SHOWN])
    return "\n".join(
        [
            *("| what was done to a file set | inputs |", "|---|---|", *lines, ""),
            f"{total:,} inputs with seed {seed} in {seconds:.0f} s.",
            f"It takes {num_places():,} until each byte of a recording was flipped and each length cut.",
            f"Longest case ({CASE_INPUTS} inputs, every route): {tally.longest:.1f} s, case"
            f" {tally.longest_case}. Largest process: {tally.peak_bytes / 1e6:.0f} MB.",
            f"{len(tally.problems)} problems.",
            *([first, f"Again: python -m tests.fuzz.worker {seed} CASE"] if tally.problems else []),
        ]
    )


def main() -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    started = time.monotonic()
    tally = run(args.seed, args.inputs, args.workers)
    print(report(tally, args.seed, time.monotonic() - started))
    return 1 if tally.problems else 0


if __name__ == "__main__":
    sys.exit(main())
