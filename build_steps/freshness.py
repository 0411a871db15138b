"""Checks whether a generated file is newer than all of its sources, and writes it if not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "tb_debugger_plugin"


def is_fresh(result: Path, sources: Iterable[Path]) -> bool:
    """Whether `result` exists and no source was changed after `result` was."""
    if not result.exists():
        return False
    made = result.stat().st_mtime
    return all(source.stat().st_mtime <= made for source in sources)


def write_if_stale(path: Path, sources: Iterable[Path], text: Callable[[], str]) -> None:
    """Write `text()` to `path` if a source was changed after `path` was."""
    if is_fresh(path, sources):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text(), encoding="utf-8")


def files_below(folder: Path, *, skip: frozenset[str] = frozenset()) -> Iterator[Path]:
    """Yield every file below `folder`, except for folders and files named in `skip`."""
    for entry in sorted(folder.iterdir()):
        if entry.name in skip:
            continue
        if entry.is_dir():
            yield from files_below(entry, skip=skip)
        else:
            yield entry
