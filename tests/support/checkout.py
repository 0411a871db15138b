"""Lists the files of the checkout and the imports of its modules, for the rule tests."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "tb_debugger_plugin"


def tracked_files() -> list[Path]:
    """Lists every tracked file that exists."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [ROOT / name for name in names.split("\0") if name and (ROOT / name).is_file()]


def tracked_paths() -> set[Path]:
    """Returns every tracked file and every folder with tracked files, relative to the checkout."""
    files = {file.relative_to(ROOT) for file in tracked_files()}
    return files.union(*(file.parents for file in files))


def modules_of(room: str) -> list[Path]:
    """Lists the Python files of a folder, or the single file, of the package."""
    folder = PACKAGE / room
    return sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]


def imports_of(module: Path) -> Iterator[str]:
    """Yields the full name of every import in a module, imports for type checking included."""
    package = module.parent.relative_to(ROOT).parts
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            source = ".".join(filter(None, [base, node.module]))
            yield from (f"{source}.{alias.name}" for alias in node.names)
