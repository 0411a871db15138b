"""The tensor filters of a shell: named functions that choose tensors.

A filter takes a datum and its value, as ``DebugDumpDir`` gives them, and says whether the tensor passes. One
that only asks for the health that is on record says so, and is then a query of the tables.
"""

from __future__ import annotations

import inspect
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple

from tb_debugger_plugin.errors import UsageError, user_message
from tb_debugger_plugin.events.dumps.datum import Predicate, has_inf_or_nan
from tb_debugger_plugin.expressions.names import suggestion

# Tensor filters from a Python file that the user names.
#
# Takes the path of a file and runs it as Python does. Each function that it defines becomes a filter under
# its own name; functions that it imports, and those whose names begin with an underscore, do not.

#: The name under which a file runs, so that what it defines differs from what it imports.
_MODULE: Final = "tbdbg_filters"


def add_filters_of(file: str, filters: TensorFilters) -> list[str]:
    """Add the filters of a file.

    Args:
      file: The file. It is run.
      filters: Where the filters go.

    Returns:
      Their names.

    Raises:
      UsageError: The file cannot be read or run, or it has no filter.
    """
    path = Path(file).expanduser()
    try:
        found = runpy.run_path(str(path), run_name=_MODULE)
    except (Exception, SystemExit) as error:  # the file is the user's
        message = " ".join(user_message(error).split()) if isinstance(error, Exception) else "it ended Python"
        raise UsageError(f"The filters of {path} cannot be loaded: {message}.") from error
    functions = {name: value for name, value in found.items() if _is_filter(name, value)}
    if not functions:
        raise UsageError(f"{path} defines no filter: write a function (datum, tensor) that returns a bool.")
    for name, function in functions.items():
        filters.add(name, function)
    return list(functions)


def _is_filter(name: str, value: object) -> bool:
    if not inspect.isfunction(value) or value.__module__ != _MODULE or name.startswith("_"):
        return False
    return _takes_two(value)


def _takes_two(function: Callable[..., object]) -> bool:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    return True


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
            hint = suggestion(name, self._filters)
            raise UsageError(f"tensor filter {name!r} does not exist; {hint}")
        return self._filters[name]
