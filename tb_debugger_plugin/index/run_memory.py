"""Values that are kept with an open run and are derived from its tables; emptied when its database is closed.

Each value has a name and a version, which says what it was derived from. Of those who ask for the same at the
same time, one makes it, in its own thread, and the others wait for it.

Values that stay when nobody has the run open are packed until then: one small object can keep a megabyte of
Python's memory from being given back to the system.

Invariants: a value is made outside the lock, and once for all who wait; a failure is raised where it
happened, is not kept, and the next one who waits tries again; what is made while the memory is emptied is not
kept.
"""

from __future__ import annotations

import logging
import pickle
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T")
_logger = logging.getLogger(__name__)


@dataclass
class _Making:
    """A value that is being made; `value` has it, in a tuple, once it is."""

    ended: threading.Event = field(default_factory=threading.Event)
    value: tuple[Any] | None = None


@dataclass
class _Last:
    """The values of a name that were used last, by key, with their weights."""

    values: OrderedDict[Hashable, tuple[object, float]] = field(default_factory=OrderedDict)
    weight: float = 0.0

    def put(self, key: Hashable, value: object, weight: float, most: float) -> None:
        """Keep a value that is not too heavy, and drop those that are then too much."""
        if weight > most:
            return
        self.values[key] = (value, weight)
        self.weight += weight
        while self.weight > most:
            self.weight -= self.values.popitem(last=False)[1][1]


class RunMemory:
    """The values of one run; any thread may use it.

    Use::

        memory.once("catalog", generation, lambda: load_catalog(connection))
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards the fields below
        self._values: dict[str, tuple[object, Any]] = {}
        self._packed = b""  # the values, in place of them; empty if they are not packed
        self._making: dict[Hashable, _Making] = {}

    def __len__(self) -> int:
        """Return how many names have values."""
        with self._lock:
            return len(self._entries)

    def pack(self) -> None:
        """Hold the values as one piece of memory, until one is asked for again."""
        with self._lock:
            if self._packed or not self._values:
                return
            try:
                self._packed = pickle.dumps(self._values, pickle.HIGHEST_PROTOCOL)
            except Exception:  # they only take more memory
                _logger.debug("Values are not packed.", exc_info=True)
                return
            self._values = {}

    @property
    def _entries(self) -> dict[str, tuple[object, Any]]:
        """The values by name, each with its version; under the lock."""
        if self._packed:
            self._values, self._packed = pickle.loads(self._packed), b""
        return self._values

    def once(self, name: str, version: object, make: Callable[[], T]) -> T:
        """Return the value of a name in a version.

        Args:
          name: The name; the last value of each is kept.
          version: What the value is derived from.
          make: Makes it.
        """

        def find() -> tuple[T] | None:
            entry = self._entries.get(name)
            return (entry[1],) if entry is not None and entry[0] == version else None

        def keep(value: T) -> None:
            self._entries[name] = (version, value)

        return self._find_or_make((name, version), find, make, keep)

    def last(
        self,
        name: str,
        version: object,
        key: Hashable,
        most: float,
        make: Callable[[], T],
        weigh: Callable[[T], float] = lambda _: 1.0,
    ) -> T:
        """Return the value of a key; those that were used last are kept.

        Args:
          name: The name of the values; those of its last version are kept.
          version: What they are derived from.
          key: What the value is of.
          most: How much the values that are kept may weigh together.
          make: Makes it.
          weigh: Returns what a value weighs. One that is heavier than `most` is not kept.
        """

        def find() -> tuple[T] | None:
            entry = self._entries.get(name)
            if entry is None or entry[0] != version or key not in entry[1].values:
                return None
            entry[1].values.move_to_end(key)
            return (entry[1].values[key][0],)

        def keep(value: T) -> None:
            if name not in self._entries or self._entries[name][0] != version:
                self._entries[name] = (version, _Last())
            self._entries[name][1].put(key, value, weigh(value), most)

        return self._find_or_make((name, version, key), find, make, keep)

    def kept(self, name: str, make: Callable[[], T]) -> T:
        """Return the value of a name in any version; else make it, at once and under the lock."""
        with self._lock:
            value: T = self._entries.setdefault(name, (None, None))[1]
            if value is None:
                value = make()
                self._entries[name] = (None, value)
            return value

    def recall(self, name: str, kind: type[T]) -> T | None:
        """Return the value of a name in any version; None when there is none of the class."""
        with self._lock:
            value = self._entries.get(name, (None, None))[1]
        return value if isinstance(value, kind) else None

    def keep(self, name: str, version: object, value: object) -> None:
        """Keep a value that was made elsewhere."""
        with self._lock:
            self._entries[name] = (version, value)

    def clear(self) -> None:
        """Forget all values."""
        with self._lock:
            # New ones, so that what is being made now is put where nobody looks.
            self._values, self._packed, self._making = {}, b"", {}

    def _find_or_make(
        self,
        what: Hashable,
        find: Callable[[], tuple[T] | None],
        make: Callable[[], T],
        keep: Callable[[T], None],
    ) -> T:
        """Return what is found, or what one of those who ask for it makes."""
        while True:
            with self._lock:
                found = find()
                making = self._making.get(what)
                if found is None and making is None:
                    mine = self._making[what] = _Making()
                    table = self._making
                    break
            if found is not None:
                return found[0]
            assert making is not None
            making.ended.wait()
            if making.value is not None:
                shared: T = making.value[0]
                return shared
        try:
            made = make()
            mine.value = (made,)
            with self._lock:
                if self._making is table:
                    keep(made)
            return made
        finally:
            with self._lock:
                table.pop(what, None)
            mine.ended.set()
