"""Filters of the program's own: functions that say of a tensor whether a breakpoint stops there.

Takes a function of a datum and an array, as tfdbg's tensor filters are, and asks it of a held tensor. The
condition of a breakpoint names it.

Invariant: what it raises does not reach the program; the breakpoint is then switched off.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TypeAlias

from tb_debugger_plugin.errors import UsageError, user_message
from tb_debugger_plugin.events.dumps.datum import DebugTensorDatum, Predicate
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.live.messages.messages import Message
from tb_debugger_plugin.live.program.conditions import NAMES

#: Says of a datum and its value whether the tensor passes.
Filter: TypeAlias = Predicate

_log = logging.getLogger("tb_debugger_plugin")


def checked_filters(filters: object) -> dict[str, Filter]:
    """Return the filters of a program by name.

    Raises:
      UsageError: They are no dictionary of functions, or a name cannot be that of a condition.
    """
    if filters is None:
        return {}
    if not isinstance(filters, Mapping):
        raise UsageError(f"filters is {filters!r}: give a dictionary of functions by name.")
    for name, function in filters.items():
        if not isinstance(name, str) or not name.isidentifier() or name in NAMES:
            raise UsageError(f"A filter cannot be called {name!r}: give a name of letters, digits and _.")
        if not callable(function):
            raise UsageError(f"The filter {name!r} is no function of a datum and an array.")
    return dict(filters)


def asked(name: str, function: Filter, tensor: Message, array: Array, wall_time: float) -> tuple[bool, str]:
    """Ask a filter of a tensor.

    Args:
      name: The name of the filter.
      function: The filter.
      tensor: The tensor.
      array: Its value.
      wall_time: Seconds since the epoch.

    Returns:
      Whether it passes; and what went wrong, in one sentence, or an empty text.
    """
    datum = DebugTensorDatum(
        tensor.op_name,
        tensor.slot,
        "DebugIdentity",
        round(wall_time * 1e6),
        tensor.device,
        graph_id=tensor.graph_id,
        _read=lambda datum: array,
    )
    try:
        return bool(function(datum, array)), ""
    except Exception as error:  # the filter is the user's
        sentence = f"The filter {name!r} failed on {datum.tensor_name}: {user_message(error)}."
        _log.warning("%s Its breakpoint is switched off.", sentence)
        return False, f"{sentence} Its breakpoint is off."
