"""What the verbs that read tables share: choosing runs, and reading one until nothing is left to read.

In come a logdir and perhaps a run's name, out come loaders that have caught up with the files.
"""

from __future__ import annotations

import argparse
import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any, Final

from tb_debugger_plugin.errors import NotFoundError, NotReadyError
from tb_debugger_plugin.events.places import Place, place
from tb_debugger_plugin.index.indexer import Progress
from tb_debugger_plugin.index.loader import RunLoader
from tb_debugger_plugin.index.runs import Run, find_runs

_LOOK_SECONDS: Final = 0.2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add LOGDIR, --run and --json."""
    parser.add_argument("logdir", type=place, metavar="LOGDIR", help="a dump root, or any folder above some")
    parser.add_argument("--run", dest="name", metavar="NAME", help="only this run (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def chosen_runs(logdir: Place, name: str | None) -> list[Run]:
    """The runs of a logdir, or the one that is named.

    Raises:
      NotFoundError: There is none.
    """
    runs = find_runs(logdir)
    if not runs:
        raise NotFoundError(
            f"{logdir} holds no debug events; record some with tb_debugger_plugin.record(...)."
        )
    chosen = [run for run in runs if name is None or run.name == name]
    if not chosen:
        names = ", ".join(run.name for run in runs)
        raise NotFoundError(f"There is no run named {name!r} in {logdir}; there are {names}.")
    return chosen


def only_run(logdir: Place, name: str | None) -> Run:
    """The one run that is meant.

    Raises:
      NotFoundError: There is none, or several and none is named.
    """
    runs = chosen_runs(logdir, name)
    if len(runs) > 1:
        names = ", ".join(run.name for run in runs)
        raise NotFoundError(f"{logdir} holds several runs; choose one with --run: {names}.")
    return runs[0]


@contextlib.contextmanager
def read_whole(run: Run, report: Callable[[Progress], None] = lambda progress: None) -> Iterator[RunLoader]:
    """A loader that has read everything that is in the run's files now.

    Args:
      run: The run.
      report: Told now and then how far it has come.

    Raises:
      NotReadyError: The files cannot be read.
    """
    loader = RunLoader(run)
    try:
        while not loader.wait(_LOOK_SECONDS):
            progress = loader.progress
            if progress is not None:
                report(progress)
        if loader.failure:
            raise NotReadyError(loader.failure)
        yield loader
    finally:
        loader.close()


def plain(value: Any) -> Any:
    """A value of a table as JSON can carry it: NaN and infinities are null, other things are text."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    return str(value)
