"""Decides at each call of a program whether it is recorded, and whether the shell opens.

Takes calls from whatever runs them: the wrapper of a session, a hook, or the watch on functions. The rules
are tfdbg's: the shell opens before the first call; after a `run`, the next stop is after the call.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple, TypeAlias

from tb_debugger_plugin.errors import DebuggerError, user_message
from tb_debugger_plugin.events.dumps.datum import DebugTensorDatum
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.reading.dumps.dump_dir import DebugDumpDir
from tb_debugger_plugin.reading.run import Run
from tb_debugger_plugin.shell.program import Call, Detach, Leave, Resume, RunRequest
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.tensor_filters import TensorFilter

#: Opens the shell, and returns how the program goes on.
Converse: TypeAlias = Callable[[Shell], "Resume | Leave | Detach"]

_NOT_RECORDED: Final = RunRequest(is_recorded=False)


class _Found(NamedTuple):
    """What a filter found: whether a tensor passed, or what the filter raised."""

    passed: bool
    failure: str | None = None


class Conductor:
    """Stops a program between its calls, until the user lets it go.

    Args:
      shell: The shell. It looks at the current call while it is open.
      converse: Opens it.
    """

    def __init__(self, shell: Shell, converse: Converse) -> None:
        self._shell = shell
        self._converse = converse
        self._request: RunRequest | None = None
        self._left = 0
        self._detached = False
        self._exit_code: int | None = None  # set when the user has left the shell

    @property
    def is_detached(self) -> bool:
        """Whether the user let the program go on without the shell."""
        return self._detached

    def before(self, call: Call) -> RunRequest:
        """Say how a call is to be run; may open the shell before.

        Args:
          call: The call.

        Raises:
          SystemExit: The user left the shell.
        """
        if self._exit_code is not None:  # left in another thread, which alone ended
            raise SystemExit(self._exit_code)
        if not self._detached and self._request is None:
            self._open(None, call)
        request = self._request
        if self._detached or request is None:
            return _NOT_RECORDED
        if request.till_filter is not None:
            return request
        self._left -= 1
        if not request.is_recorded:
            self._request = None if self._left <= 0 else request
            return request
        return request if self._left <= 0 else _NOT_RECORDED

    def after(self, call: Call, request: RunRequest, logdir: Location | None) -> None:
        """Take a call that has run, and perhaps open the shell.

        Args:
          call: The call, with its error if it raised one.
          request: What `before` returned.
          logdir: The folder of its recording; None if it is not recorded.

        Raises:
          SystemExit: The user left the shell.
        """
        if self._detached or not (request.is_recorded or call.error is not None):
            return
        if request.till_filter is not None and call.error is None and logdir is not None:
            found = self._find(request, logdir)
            if found.failure is not None:
                # Once is enough: the run goes on without the filter.
                print(f"tbdbg: {found.failure}", file=sys.stderr)
                self._request, self._left = without_filter(request), 1
            if not found.passed:
                return
            call = replace(call, passed_filter=request.till_filter, excluded_names=request.exclude_names)
        self._open(logdir, call)

    def _find(self, request: RunRequest, logdir: Location) -> _Found:
        name = request.till_filter or ""
        try:
            chosen = self._shell.filters.get(name)
            excluded = re.compile(request.exclude_names) if request.exclude_names else None
            found = choose.only(logdir, None, "its own folder")
            # Tables of a recording hold the health of each tensor. Making tables of a dump folder would take
            # a hundred times longer than looking at the dumps of a small graph.
            if chosen.health is not None and not found.is_of_dumps:
                with Run(found) as run:
                    return _Found(_has_health(run, chosen.health, excluded))
            return _first_passing(chosen, logdir, request.exclude_names)
        except (DebuggerError, OSError, re.error) as error:
            return _Found(False, f"The tensor filter {name!r} cannot be used: {user_message(error)}")

    def _open(self, logdir: Location | None, call: Call) -> None:
        self._shell.look_at(logdir, call)
        try:
            answer = self._converse(self._shell)
        finally:
            self._shell.close()
        if isinstance(answer, Leave):
            print("tbdbg: The shell was left with `exit`, so the program ends.", file=sys.stderr)
            self._exit_code = answer.code or 1
            raise SystemExit(self._exit_code)
        if isinstance(answer, Detach):
            self._detached = True
            return
        self._request, self._left = answer.request, answer.request.times


def _has_health(run: Run, health: str, excluded: re.Pattern[str] | None) -> bool:
    rows = run.graph_executions(health=health)
    if excluded is None:
        return len(rows) > 0 or len(run.executions(health=health)) > 0
    names = (row.op_name for row in rows)
    # The results of a function are tensors of its graph, whose names the user can exclude.
    types = (row.op_type for row in run.executions(health=health) if not row.graph_id)
    return any(not excluded.match(name or "") for group in (names, types) for name in group)


def _first_passing(chosen: TensorFilter, logdir: Location, exclude_names: str | None) -> _Found:
    asked: list[DebugTensorDatum] = []

    def passes(datum: DebugTensorDatum, value: object) -> bool:
        asked[:] = [datum]
        return bool(chosen.predicate(datum, value))

    try:
        with DebugDumpDir(str(logdir)) as dump:
            return _Found(bool(dump.find(passes, 1, exclude_node_names=exclude_names)))
    except Exception as error:  # the filter is the user's
        where = f" on {asked[0].tensor_name}" if asked else ""
        reason = f"The tensor filter {chosen.name!r} failed{where}: {user_message(error)}."
        return _Found(False, f"{reason} The program goes on without it.")


def without_filter(request: RunRequest) -> RunRequest:
    """Return a request without its tensor filter."""
    return request._replace(till_filter=None, exclude_names=None)
