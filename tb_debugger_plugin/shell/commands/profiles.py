"""What `lp` and `ps` share: the profiled run to show, and filters on the ops that it timed."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from tb_debugger_plugin.analysis.lists.op_profile import OpTime, ProfiledRun, op_times, profiled_runs
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.shell.times import check_unit


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the choice of the run, and the unit of times."""
    parser.add_argument(
        "--run", type=int, metavar="N", help="a profiled run of a session; the last one if not"
    )
    parser.add_argument("--session", type=int, metavar="N", help="the session of --run, if there are several")
    parser.add_argument("--time_unit", default=None, metavar="UNIT", help="us, ms or s")


def chosen_run(snapshot: Snapshot, args: argparse.Namespace) -> ProfiledRun:
    """Return the profiled run that is asked for, or the last one.

    Raises:
      NotFoundError: No such run was profiled.
    """
    known = profiled_runs(snapshot)
    if not known:
        raise NotFoundError(
            "No run of a session was profiled: `run -p` profiles the next one, and so does"
            " RunOptions(trace_level=FULL_TRACE)."
        )
    fitting = [one for one in known if args.run in (None, one.run) and args.session in (None, one.session)]
    if not fitting:
        there = ", ".join(f"{one.run} of session {one.session}" for one in known[-5:])
        raise NotFoundError(f"No such run was profiled; the last ones are run {there}.")
    return fitting[-1]


def unit_of(args: argparse.Namespace) -> str:
    """Return the unit of times.

    Raises:
      UsageError: There is no such unit.
    """
    return check_unit(args.time_unit or "us")


def compiled(pattern: str | None, what: str) -> re.Pattern[str] | None:
    """Return a regular expression; None without one.

    Raises:
      UsageError: It is none.
    """
    try:
        return None if not pattern else re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{what} is not a regular expression: {error}.") from None


def filtered(
    snapshot: Snapshot, run: ProfiledRun, *, device: str | None, node: str | None, op_type: str | None
) -> Sequence[OpTime]:
    """Return the times of a run whose device, node and op type match from their beginning."""
    patterns = (
        compiled(device, "the device filter"),
        compiled(node, "the node name filter"),
        compiled(op_type, "the op type filter"),
    )
    return [
        one
        for one in op_times(snapshot, run)
        if all(
            pattern is None or pattern.match(text)
            for pattern, text in zip(patterns, (one.device, one.node, one.op_type), strict=True)
        )
    ]
