"""Measures how long the comparison of two runs takes, and how much memory.

    python -m benchmarks.compare [--traces 1000000]

The event files are those of `benchmarks.file_sets`. The second run is shorter by one step.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import file_sets
from tb_debugger_plugin.reading.run import open_run


def peak_mb() -> float:
    """The most memory that the process had resident until now."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--traces", type=int, default=1_000_000)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        for name, count in (("a", args.traces), ("b", args.traces - file_sets.TRANSFORMER.ops)):
            file_sets.write(Path(folder, name), count)
        with open_run(Path(folder, "a")) as first, open_run(Path(folder, "b")) as second:
            before = peak_mb()
            for _ in range(3):
                start = time.perf_counter()
                found = first.compare(second)
                seconds = time.perf_counter() - start
                print(
                    f"{found.num_compared:,} values in {seconds:.1f} s,"
                    f" at most {peak_mb():,.0f} MB resident, {before:,.0f} before: {found.headline}"
                )


if __name__ == "__main__":
    main()
