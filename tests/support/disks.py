"""Runs a command that finds small or odd disks in folders."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_MOUNTED = """
while [ "$1" != -- ]; do mount $1 "$2" "$3" || exit 1; shift 3; done
shift; "$@"; code=$?
exit $code
"""


def with_disks(options: str, disks: dict[Path, str], *unshare: str) -> tuple[str, ...]:
    """Words before a command that let it find each folder to be a disk; no other process sees them."""
    mounts = [word for folder, device in disks.items() for word in (options, device, str(folder))]
    around = ("unshare", *unshare, "sh", "-c", _MOUNTED, "sh", *mounts, "--")
    for folder in disks:
        folder.mkdir()
    if shutil.which("unshare") is None or subprocess.run([*around, "true"]).returncode != 0:
        pytest.skip(f"this machine does not let this user mount {options}")
    return around
