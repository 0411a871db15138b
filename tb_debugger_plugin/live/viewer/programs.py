"""The programs below a logdir that can be stopped.

Finds them by the files that they leave in their folders, and follows them while a page asks. All pages and
viewers see the same programs, under the same ids.

Invariant: while no page has asked for some seconds, no program is followed: a program knows whether anybody
looks.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.index.run_library import Library
from tb_debugger_plugin.live.messages import discovery
from tb_debugger_plugin.live.messages.discovery import LiveFile
from tb_debugger_plugin.live.viewer.followed_program import FollowedProgram, id_of
from tb_debugger_plugin.live.viewer.service import Follower

_logger = logging.getLogger(__name__)

_SCAN_S: Final = 1.0
#: Seconds after the last question until programs are left alone.
_PATIENCE_S: Final = 10.0
#: Seconds that a program is listed after its end.
_SHOWN_AFTER_END_S: Final = 60.0
#: Seconds between two versions if only counts and curves have changed, or a program runs on.
_UNHURRIED_S: Final = 0.1
#: Seconds that such a change waits for more: a program that is stepped is soon paused again.
_SOON_S: Final = 0.03
_TENSORBOARD: Final = Follower("TensorBoard")
#: Programs that are followed; a logdir may hold the leftovers of many.
_MAX_PROGRAMS: Final = 64
#: Files of which the log says why they are left out.
_MAX_TOLD: Final = 1000


@dataclass(frozen=True)
class Listing:
    """All programs at one time.

    Attributes:
      version: Differs from that of every other listing of this process.
      programs: The programs, newest first.
    """

    version: int
    programs: tuple[FollowedProgram, ...]


class Programs:
    """The programs; lives until :meth:`close`.

    Args:
      library: The runs of the logdir. It marks the folders with files of programs.
      follower: What follows the programs, for their logs.
      patience: Seconds after the last question until programs are left alone.
    """

    def __init__(
        self,
        library: Library,
        *,
        follower: Follower = _TENSORBOARD,
        patience: float = _PATIENCE_S,
    ) -> None:
        self._library = library
        self._follower = follower
        self._patience = patience
        self._changed = threading.Condition()  # guards all below but what is said otherwise
        # Not from 0: a page that asks another process than before must see that all has changed.
        self._version = secrets.randbelow(1 << 40)
        self._programs: dict[str, FollowedProgram] = {}
        self._bumped = float("-inf")
        self._due: float | None = None  # when the next version is due; None if nothing has changed
        self._asking = 0
        self._asked = float("-inf")
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._scanning = threading.Lock()  # guards _scanned, _told
        self._scanned = float("-inf")
        self._told: set[tuple[Path, str]] = set()

    def listing(self, since: int | None = None, wait: float = 0.0) -> Listing:
        """Return the programs.

        Args:
          since: The version that the caller has; None for none.
          wait: Seconds to wait until there is another version.
        """
        if self._thread is None:  # else it looks by itself: news must not wait for slow folders
            self._scan_if_old()
        with self._changed:
            self._asking += 1
            try:
                self._start()
                self._wait(since, wait)
                programs = sorted(self._programs.values(), key=lambda one: -one.found.started)
                return Listing(self._version, tuple(programs))
            finally:
                self._asking -= 1
                self._asked = time.monotonic()

    def program(self, program_id: str) -> FollowedProgram:
        """Return a program.

        Args:
          program_id: Its id.

        Raises:
          NotFoundError: There is no such program, or it has ended.
        """
        if program_id not in self._programs:
            self._scan_if_old()
        program = self._programs.get(program_id)
        if program is None:
            raise NotFoundError(f"There is no program {program_id[:50]!r} that can be stopped.")
        if program.ended is not None:
            raise NotFoundError("The program has ended, and its values are gone.")
        return program

    def close(self) -> None:
        """Leave all programs alone."""
        with self._changed:
            self._is_closed = True
            programs, self._programs = list(self._programs.values()), {}
            thread = self._thread
            self._changed.notify_all()
        for program in programs:
            program.close()
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    # Versions.

    def _wait(self, since: int | None, wait: float) -> None:
        end = time.monotonic() + wait
        while not self._is_closed:
            now = time.monotonic()
            if self._due is not None and now >= self._due:
                self._bump()
            if self._version != since or now >= end:
                return
            self._changed.wait((end if self._due is None else min(end, self._due)) - now)

    def _note(self, is_urgent: bool) -> None:
        with self._changed:
            if is_urgent:
                self._bump()
            elif self._due is None:
                self._due = max(self._bumped + _UNHURRIED_S, time.monotonic() + _SOON_S)
            self._changed.notify_all()

    def _bump(self) -> None:
        self._version += 1
        self._bumped = time.monotonic()
        self._due = None

    # The thread that looks for programs.

    def _start(self) -> None:
        if self._is_closed:
            return
        for program in self._programs.values():
            program.follow()
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="tb-debugger-live", daemon=True)
            self._thread.start()

    def _look(self) -> None:
        while self._is_asked_for():
            try:
                self._scan_if_old()
            except Exception:  # a folder may be anything; the next look may be better
                _logger.debug("Looking for programs failed.", exc_info=True)
            with self._changed:
                if not self._is_closed:
                    self._changed.wait_for(lambda: self._is_closed, _SCAN_S)

    def _is_asked_for(self) -> bool:
        with self._changed:
            is_recent = self._asking or time.monotonic() - self._asked < self._patience
            if is_recent and not self._is_closed:
                return True
            self._thread = None
            programs = list(self._programs.values())
            for program in programs:
                program.rest()
            return False

    # Files.

    def _scan_if_old(self) -> None:
        with self._scanning:
            if time.monotonic() - self._scanned >= _SCAN_S:
                self._scan()
                self._scanned = time.monotonic()

    def _scan(self) -> None:
        found = {id_of(file.program): file for file in self._files() if file.program is not None}
        runs = {
            (one.folder, one.prefix.rstrip(".")): name
            for name, run in self._library.runs().items()
            for one in run.file_sets
        }
        with self._changed:
            known = dict(self._programs)
        for name, program in known.items():
            self._look_after(program, found.get(name))
        new = [file for name, file in found.items() if name not in known and not _has_ended(file)]
        for file in new[: max(0, _MAX_PROGRAMS - len(known))]:
            self._add(file)
        for name, file in found.items():
            program_ = self._programs.get(name)
            if program_ is not None and file.program is not None:
                self._name(program_, runs.get((file.path.parent, file.program.files.rstrip("."))))

    def _files(self) -> Iterator[LiveFile]:
        for folder in self._library.marked_folders():
            for file in discovery.find(folder):
                is_new = (file.path, file.problem) not in self._told
                if file.problem and is_new and len(self._told) < _MAX_TOLD:
                    self._told.add((file.path, file.problem))
                    _logger.warning("%s is left out: %s", file.path, file.problem)
                yield file

    def _look_after(self, program: FollowedProgram, file: LiveFile | None) -> None:
        if file is None or _has_ended(file):
            program.end()
        if program.ended is not None and time.monotonic() - program.ended > _SHOWN_AFTER_END_S:
            with self._changed:
                self._programs.pop(program.id, None)
            program.close()
            self._note(True)

    def _add(self, file: LiveFile) -> None:
        assert file.program is not None
        program = FollowedProgram(file.program, self._follower, self._note)
        with self._changed:
            if self._is_closed:
                return
            self._programs[program.id] = program
            if self._asking or time.monotonic() - self._asked < self._patience:
                program.follow()
        self._note(True)

    def _name(self, program: FollowedProgram, run: str | None) -> None:
        if program.run != run:
            program.run = run
            self._note(True)


def _has_ended(file: LiveFile) -> bool:
    return file.program is not None and file.program.has_ended
