"""Finds this machine's Chromium or Chrome, or installs Debian's.

`python -m tests.support.chromium` installs a missing browser if it may, and prints the browser's path or what
is missing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

#: Debian's package of the shell without windows starts sooner, and takes a fifth less of a processor.
_PACKAGES = ("chromium-headless-shell", "chromium")
_NAMES = (*_PACKAGES, "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_PLACES = (
    Path("/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"),
    Path("/Applications/Chromium.app/Contents/MacOS/Chromium"),
)
ADVICE = (
    "No Chrome or Chromium found: install one, or name it in the variable CHROME. Browser tests are skipped."
)


def find_chromium() -> str | None:
    """Returns the browser's path: `$CHROME`, else one on PATH, else a usual location; None without one."""
    named = os.environ.get("CHROME")
    if named:
        return named
    on_path = next(filter(None, map(shutil.which, _NAMES)), None)
    return on_path or next((str(place) for place in _PLACES if place.exists()), None)


def install_chromium() -> bool:
    """Install Debian's Chromium with apt-get, as root or with passwordless sudo; whether that worked."""
    if shutil.which("apt-get") is None:
        return False
    become_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if become_root and (shutil.which("sudo") is None or subprocess.run(["sudo", "-n", "true"]).returncode):
        return False
    apt = [*become_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    install = [*apt, "install", "-y", "--no-install-recommends"]
    return subprocess.run([*apt, "update"]).returncode == 0 and any(
        subprocess.run([*install, package]).returncode == 0 for package in _PACKAGES
    )


def main() -> int:
    """Find or install a browser; returns 0 also without one, because most tests need none."""
    if find_chromium() is None:
        print("Installing Chromium for the browser tests.", flush=True)
        install_chromium()
    print(f"Browser: {find_chromium() or ADVICE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
