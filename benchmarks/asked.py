"""A long run that is written and indexed once, and that processes of their own ask.

python -m benchmarks.rules [--traces 10000000] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import file_sets


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Returns a parser of what such a benchmark takes; ``--ask`` is for :func:`ask`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--traces", type=int, default=10_000_000)
    parser.add_argument("--folder", help="folder for the files (default: the system's temporary folder)")
    parser.add_argument("--ask", metavar="LOGDIR", type=Path, help="only ask this run, and print JSON")
    return parser


@contextlib.contextmanager
def indexed(args: argparse.Namespace, **program: object) -> Iterator[Path]:
    """Gives the logdir of a run of a training program; the arguments are those of ``file_sets.write``."""
    from tb_debugger_plugin.cli.main import main as tbdbg

    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        logdir = Path(folder) / "logs"
        file_sets.write(logdir, args.traces, program=file_sets.TRAINING, **program)
        with contextlib.redirect_stdout(io.StringIO()):
            tbdbg(["index", str(logdir)])
        try:
            yield logdir
        finally:
            tbdbg(["clean", str(logdir)])


def ask(module: str, logdir: Path) -> Any:
    """Returns what a process of its own prints when it asks the run."""
    command = [sys.executable, "-m", module, "--ask", str(logdir)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def seconds(question: Callable[[], object]) -> float:
    """Returns how long a question takes."""
    begin = time.perf_counter()
    question()
    return time.perf_counter() - begin
