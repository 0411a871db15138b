"""Checks what a user allows the debuggers of a program."""

from __future__ import annotations

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.live.program.filters import checked_filters
from tb_debugger_plugin.live.program.interface import MAX_HELD_BYTES, WHEN_ALONE_S, Settings


def checked_settings(
    *,
    wait: object = True,
    when_alone: object = WHEN_ALONE_S,
    may_change_values: object = False,
    read_only: object = False,
    max_held_bytes: object = MAX_HELD_BYTES,
    filters: object = None,
) -> Settings:
    """Return what debuggers may do; see `enable_breakpoints` for the arguments.

    Raises:
      UsageError: An argument cannot be used.
    """
    if not isinstance(wait, bool) and not (_is_number(wait) and 0 <= wait < 1e9):  # type: ignore[operator]
        raise UsageError(f"wait is {wait!r}: give True, False, or a number of seconds from 0 on.")
    flags = {"may_change_values": may_change_values, "read_only": read_only}
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise UsageError(f"{name} is {flag!r}: give True or False.")
    if when_alone is not None and not (_is_number(when_alone) and 0 <= when_alone < 1e9):  # type: ignore[operator]
        raise UsageError(f"when_alone is {when_alone!r}: give a number of seconds from 0 on, or None.")
    if not (type(max_held_bytes) is int and max_held_bytes >= 0):
        raise UsageError(f"max_held_bytes is {max_held_bytes!r}: give a whole number of bytes from 0 on.")
    return Settings(
        wait=wait is not False and not read_only,
        wait_s=None if isinstance(wait, bool) else wait,  # type: ignore[arg-type]
        when_alone=when_alone,  # type: ignore[arg-type]
        may_change_values=bool(may_change_values),
        read_only=bool(read_only),
        max_held_bytes=max_held_bytes,
        filters=checked_filters(filters),
    )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
