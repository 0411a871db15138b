"""Reads event files through the whole viewer and returns the status of the recording."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tb_debugger_plugin.analysis.status import status
from tests.support.events import snapshot_of


def status_of(folder: Path) -> dict[str, Any]:
    """Returns the answer of the route `status` for the folder's only run."""
    with snapshot_of(folder) as snapshot:
        return status(snapshot)


def missing_in(folder: Path) -> list[tuple[str, list[str], str]]:
    """Returns reason, names and message of each part that the folder's only run has not recorded."""
    return [(each["reason"], each["names"], each["message"]) for each in status_of(folder)["not_recorded"]]
