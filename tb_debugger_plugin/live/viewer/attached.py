"""What a shell asks of running programs: the states, one program that is chosen, and its values.

While it lives, the programs count the shell as a debugger.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from tb_debugger_plugin.analysis.values.elements import SlicedElements
from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.index.logdir import Logdir
from tb_debugger_plugin.index.run_library import Library
from tb_debugger_plugin.live.messages import json, messages
from tb_debugger_plugin.live.messages.discovery import is_live_file
from tb_debugger_plugin.live.viewer.elements import elements_of
from tb_debugger_plugin.live.viewer.followed_program import FollowedProgram
from tb_debugger_plugin.live.viewer.live_value import all_tensors, find_live_value
from tb_debugger_plugin.live.viewer.programs import Listing, Programs
from tb_debugger_plugin.live.viewer.service import Follower

Facts = Mapping[str, Any]

_FIRST_STATE_S: Final = 5.0


class AttachedPrograms:
    """The programs of a logdir; lives until :meth:`close`.

    Args:
      logdir: The logdir.
      keep_s: Seconds that a paused program waits at least after :meth:`close`.
    """

    def __init__(self, logdir: Location, keep_s: float = 0.0) -> None:
        self._library = Library(Logdir(str(logdir), (("", logdir),)), is_mark=is_live_file)
        self._programs = Programs(self._library, follower=Follower("tbdbg shell", keep_s), patience=math.inf)
        self._id: str | None = None
        self._wait_for(
            lambda listing: all(one.state or one.problem for one in listing.programs), _FIRST_STATE_S
        )

    def close(self) -> None:
        """Leave the programs alone."""
        self._programs.close()
        self._library.close()

    def programs(self) -> Sequence[Facts]:
        """Return all programs, newest first."""
        return [one.to_json() for one in self._programs.listing().programs]

    def chosen(self) -> Facts:
        """Return the program that commands are for.

        Raises:
          NotFoundError: There is none, or there are several and none was chosen.
        """
        return self._chosen().to_json()

    def _chosen(self) -> FollowedProgram:
        found = self._programs.listing().programs
        running = [one for one in found if one.ended is None]
        chosen = [one for one in found if one.id == self._id] or running or list(found)
        if not chosen:
            raise NotFoundError("No program with breakpoints runs below the logdir.")
        if len(chosen) > 1:
            raise NotFoundError(f"There are {len(chosen)} programs; `live` lists them, `live N` chooses one.")
        return chosen[0]

    def choose(self, number: int) -> None:
        """Choose a program by its position in :meth:`programs`.

        Raises:
          NotFoundError: There is no such program.
        """
        found = self._programs.listing().programs
        if not 0 <= number < len(found):
            raise NotFoundError(f"There is no program {number}; there are {len(found)}.")
        self._id = found[number].id

    def command(self, command: Facts) -> Facts:
        """Return what came of a command.

        Raises:
          QueryError: The program does not answer, or there is no such command.
        """
        message = json.from_json(messages.Command, dict(command), "command")
        return json.to_json(self._service().control(message))

    def _service(self) -> FollowedProgram:
        return self._programs.program(self._chosen().id)

    def wait(self, seconds: float) -> Facts:
        """Return the program when it does not run any more, or after a time."""

        def is_there(listing: Listing) -> bool:
            states = [one.state for one in listing.programs if one.id == program.id]
            return not states or states[0] is None or states[0].phase != messages.State.RUNNING

        program = self._chosen()
        self._wait_for(is_there, seconds)
        return program.to_json()

    def _wait_for(self, is_right: Any, seconds: float) -> None:
        end, listing = time.monotonic() + seconds, self._programs.listing()
        while not is_right(listing) and time.monotonic() < end:
            listing = self._programs.listing(listing.version, end - time.monotonic())

    def tensors(self) -> Sequence[Facts]:
        """Return the tensors of the current call."""
        return [json.to_json(one) for one in all_tensors(self._service())]

    def elements(self, tensor: int) -> SlicedElements:
        """Return the elements of a held tensor, or of the result of an expression.

        Raises:
          NotFoundError: The program does not hold it.
        """
        program = self._service()
        return SlicedElements(elements_of(program.service, find_live_value(program, tensor).tensor))

    def evaluate(self, expression: str) -> Facts:
        """Return the result of an expression over held tensors.

        Raises:
          QueryError: The program does not answer.
        """
        return json.to_json(self._service().evaluate(expression))
