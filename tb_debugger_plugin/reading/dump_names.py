"""Checks the devices and names that callers of ``DebugDumpDir`` give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tb_debugger_plugin.reading.dump_contents import DumpContents

_NAMES: Final = 5


def check_device(contents: DumpContents, device_name: str | None) -> None:
    """Check that there is a device.

    Raises:
      ValueError: There is no such device.
    """
    if device_name is not None and device_name not in contents.devices:
        raise ValueError(
            f"There is no device {device_name!r}; there is {listed(contents.devices) or 'none'}."
        )


def check_one(what: str, option: str, values: set[str]) -> None:
    """Check that a thing is found once.

    Args:
      what: The thing, as "a node 'x'".
      option: The argument that chooses one of several.
      values: The values of that argument.

    Raises:
      ValueError: There are several.
    """
    if len(values) > 1:
        raise ValueError(
            f"Several have {what}; choose one with {option}: {listed(sorted(map(repr, values)))}."
        )


def listed(names: Sequence[str]) -> str:
    """Returns the first names as a text, and how many more there are."""
    left = len(names) - _NAMES
    return ", ".join(names[:_NAMES]) + (f" and {left} more" if left > 0 else "")
