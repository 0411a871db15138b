"""Checks whether a generated file is newer than all of its sources."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tb_debugger_plugin"


def is_fresh(result: Path, sources: Iterable[Path]) -> bool:
    """Whether `result` exists and no source was changed after `result` was."""
    if not result.exists():
        return False
    made = result.stat().st_mtime
    return all(source.stat().st_mtime <= made for source in sources)


def files_below(folder: Path, *, skip: frozenset[str] = frozenset()) -> Iterator[Path]:
    """Yields every file below `folder`, except for folders and files named in `skip`."""
    for entry in sorted(folder.iterdir()):
        if entry.name in skip:
            continue
        if entry.is_dir():
            yield from files_below(entry, skip=skip)
        else:
            yield entry
