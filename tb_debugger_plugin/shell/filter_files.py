"""Tensor filters from a Python file that the user names.

Takes the path of a file and runs it as Python does. Each function that it defines becomes a filter under its
own name; functions that it imports, and those whose names begin with an underscore, do not.
"""

from __future__ import annotations

import inspect
import runpy
from pathlib import Path
from typing import Any, Final

from tb_debugger_plugin.errors import UsageError, user_message
from tb_debugger_plugin.shell.tensor_filters import Predicate, TensorFilters

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


def _is_filter(name: str, value: Any) -> bool:
    own = inspect.isfunction(value) and value.__module__ == _MODULE and not name.startswith("_")
    return own and _takes_two(value)


def _takes_two(function: Predicate) -> bool:
    try:
        inspect.signature(function).bind(None, None)
    except TypeError:
        return False
    return True
