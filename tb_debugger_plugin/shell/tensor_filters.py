"""The tensor filters of a shell: named functions that choose tensors.

A filter takes a datum and its value, as ``DebugDumpDir`` gives them, and says whether the tensor passes. One
that only asks for the health that is on record says so, and is then a query of the tables.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.reading.dumps.datum import DebugTensorDatum, has_inf_or_nan

Predicate: TypeAlias = Callable[[DebugTensorDatum, Any], bool]

HAS_INF_OR_NAN: Final = "has_inf_or_nan"


class TensorFilter(NamedTuple):
    """A filter.

    Attributes:
      name: Its name.
      predicate: Says of a datum and its value whether it passes.
      health: The health that says the same, ``"bad"`` or ``"good"``; None if the value has to be read.
    """

    name: str
    predicate: Predicate
    health: str | None = None


class TensorFilters:
    """Filters by name; :data:`HAS_INF_OR_NAN` is always among them."""

    def __init__(self) -> None:
        self._filters: dict[str, TensorFilter] = {}
        self._filters[HAS_INF_OR_NAN] = TensorFilter(HAS_INF_OR_NAN, has_inf_or_nan, "bad")

    def add(self, name: str, predicate: Predicate) -> None:
        """Add a filter, or replace one.

        Raises:
          UsageError: The name is empty or holds spaces, or the predicate cannot be called.
        """
        if not name or any(letter.isspace() for letter in name):
            raise UsageError(f"A tensor filter cannot be called {name!r}: give a name without spaces.")
        if not callable(predicate):
            raise UsageError(f"The tensor filter {name!r} is no function of a datum and an array.")
        self._filters[name] = TensorFilter(name, predicate)

    def names(self) -> list[str]:
        """Return the names, in the order in which they were added."""
        return list(self._filters)

    def get(self, name: str) -> TensorFilter:
        """Return a filter.

        Raises:
          UsageError: There is no such filter.
        """
        if name not in self._filters:
            near = difflib.get_close_matches(name, self._filters, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"there is {', '.join(self._filters)}."
            raise UsageError(f"tensor filter {name!r} does not exist; {hint}")
        return self._filters[name]
