"""Builds `frontend/` into `tb_debugger_plugin/static/`, with npm and Vite."""

from __future__ import annotations

import sys

from build_steps.answers import build_answers
from build_steps.freshness import PACKAGE, files_below, is_fresh
from build_steps.node import FROM_PYPI, FRONTEND, find_node, run_npm
from build_steps.tables import build_tables

RESULT = PACKAGE / "static" / "index.js"
_NOT_SOURCES = frozenset({"node_modules", "dist", "coverage", "test-results"})


def frontend_is_fresh() -> bool:
    """Whether the built front end is newer than all of its sources."""
    return is_fresh(RESULT, files_below(FRONTEND, skip=_NOT_SOURCES))


def build_frontend() -> None:
    """Build the front end if a source is newer than the result."""
    build_tables()
    build_answers()
    if not (FRONTEND / "src" / "main.ts").exists():
        print("frontend/src/main.ts is missing: the package will have no page.")
        return
    if frontend_is_fresh():
        return
    install_dependencies()
    _npm("run", "build")


def install_dependencies() -> None:
    """Install the packages of the lock file, unless `node_modules` already has them.

    `npm ci` is not used: it refuses a lock file without the native packages of other platforms, and a lock
    file that was made with a mirror can lack them.
    """
    installed = FRONTEND / "node_modules" / ".package-lock.json"
    if not is_fresh(installed, [FRONTEND / "package.json", FRONTEND / "package-lock.json"]):
        _npm("install", "--no-save")


def _npm(*args: str) -> None:
    node = find_node()
    if node is None:
        raise RuntimeError(
            f"Building the front end needs Node.js: install it, or run `pip install '{FROM_PYPI}'`."
        )
    if run_npm(node, *args) != 0:
        raise RuntimeError(f"`npm {' '.join(args)}` failed in {FRONTEND}; its output is above.")


if __name__ == "__main__":
    try:
        # Lint and tests need the dependencies even if the page is fresh.
        install_dependencies()
        build_frontend()
    except RuntimeError as error:
        sys.exit(str(error))
