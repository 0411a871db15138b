"""Finds what is new in the folder of a run of dumps.

Takes the folder and what was imported before. Returns the calls of ``Session.run`` that may have something
new, and their dumps that have no final rows. A call is settled when a later one has begun and nothing was
added to it recently; settled calls are never listed again, because a session root may have thousands.

Invariant: a dump is returned until its row is final, and then never again.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from tb_debugger_plugin.events.dumps.folders import CallFiles, below, call_files, call_folders
from tb_debugger_plugin.events.dumps.names import DumpName
from tb_debugger_plugin.events.locations import Location

#: Seconds after the last change of a call in which its newest files may be incomplete.
HOT_SECONDS: Final = 10.0
#: Seconds after which a call is settled when a later one has begun: calls of several threads overlap, and an
#: op may take long. A call without any dump is waited for longer, because it may still be compiled.
_SETTLE_SECONDS: Final = 60.0
_SETTLE_EMPTY_SECONDS: Final = 600.0
#: Dumps that are listed at once, before they are read.
_LISTED: Final = 100_000


class _Age(enum.Enum):
    """How long ago a call has changed."""

    #: Its newest files may be incomplete.
    HOT = 0
    #: Something may still be added.
    WARM = 1
    #: Nothing is expected to be added.
    QUIET = 2


@dataclass
class DumpCall:
    """A call of ``Session.run``; lives as long as the importer.

    Attributes:
      number: Its position among the calls.
      name: Its folder below that of the run; ``.`` if it is the same.
      settled: Whether it is known completely.
      hot: Whether something was added to it recently.
      final: The dumps that have their final rows; empty when it is settled.
      folders: The folders with dumps; the times of folders show what was added.
      files: What was listed last.
    """

    number: int
    name: str
    settled: bool = False
    hot: bool = False
    final: set[str] = field(default_factory=set)
    folders: tuple[str, ...] = ()
    files: CallFiles = field(default_factory=CallFiles)


class Dump(NamedTuple):
    """A dump without a final row.

    Attributes:
      is_young: Whether the file may be incomplete, or an older one may still come.
      name: What its path says.
      path: Its path below the folder of the call.
      call: The call.
    """

    is_young: bool
    name: DumpName
    path: str
    call: DumpCall

    @property
    def order(self) -> tuple[bool, int, int, int, str]:
        """Sorts dumps by time; the young ones come last."""
        return (self.is_young, self.name.time, self.name.again, self.call.number, self.path)


class DumpCalls:
    """The calls of a run; lives as long as the importer.

    Args:
      folder: The folder of the run.
      known: The calls that were imported before, by name.
      clock: Returns seconds since the epoch.
    """

    def __init__(self, folder: Location, known: dict[str, DumpCall], clock: Callable[[], float]) -> None:
        self._folder = folder
        self._clock = clock
        self.by_name = known

    def find_new(self) -> tuple[list[DumpCall], list[Dump], bool]:
        """List calls until there are many dumps.

        Returns:
          The calls that were listed, their dumps without final rows in the order of their rows, and whether
          there are calls that were not listed.
        """
        names = call_folders(self._folder)
        calls: list[DumpCall] = []
        dumps: list[Dump] = []
        for position, name in enumerate(names):
            call = self.by_name.get(name)
            if call is None:
                call = self.by_name[name] = DumpCall(len(self.by_name), name)
            if call.settled:
                continue
            if len(dumps) >= _LISTED:
                return calls, sorted(dumps, key=lambda dump: dump.order), True
            calls.append(call)
            dumps += self._list(call, is_last=position == len(names) - 1)
        return calls, sorted(dumps, key=lambda dump: dump.order), False

    def _list(self, call: DumpCall, *, is_last: bool) -> list[Dump]:
        call.files = call_files(below(self._folder, call.name))
        changed = call.files.changed
        age = self._age(changed, is_empty=not call.files.dumps)
        call.hot = age is _Age.HOT
        call.settled = age is _Age.QUIET and not is_last
        call.folders = tuple(sorted({path.rpartition("/")[0] for _, path in call.files.dumps}))
        dumps, call.files.dumps = call.files.dumps, []
        young = changed / 1e3 - HOT_SECONDS * 1e6 if call.hot else float("inf")
        return [Dump(name.time > young, name, path, call) for name, path in dumps if path not in call.final]

    def _age(self, changed: int, *, is_empty: bool) -> _Age:
        seconds = self._clock() - changed / 1e9
        if seconds < HOT_SECONDS:
            return _Age.HOT
        settles = _SETTLE_EMPTY_SECONDS if is_empty else _SETTLE_SECONDS
        return _Age.WARM if seconds < settles else _Age.QUIET

    def signature(self) -> tuple[tuple[int, ...], ...]:
        """Return a value that changes when there may be something new; costs a stat of each new folder."""
        names = call_folders(self._folder)
        found: list[tuple[int, ...]] = [(len(names), hash(tuple(names)))]
        for call in self.by_name.values():
            if not call.settled:
                times = self._times(call)
                age = self._age(max(times, default=0), is_empty=not call.folders)
                found.append((call.number, hash(times), age.value))
        return tuple(found)

    def _times(self, call: DumpCall) -> tuple[int, ...]:
        folder = below(self._folder, call.name)
        if not isinstance(folder, Path):
            # Object stores have no times of folders.
            return (-len(call_files(folder).dumps),)
        times = []
        for name in (".", *call.folders):
            with contextlib.suppress(OSError):
                times.append(folder.joinpath(name).stat().st_mtime_ns)
        return tuple(times)

    def are_there(self) -> bool:
        """Whether the folder has all calls that were imported."""
        return set(self.by_name) <= set(call_folders(self._folder))
