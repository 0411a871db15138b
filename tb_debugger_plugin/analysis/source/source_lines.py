"""Lines of source files, as they were recorded.

Lines are those that are on record; no path is ever opened.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.errors import NotFoundError

_SHOWN: Final = 5


@dataclass(frozen=True)
class RecordedFile:
    """A source file and its lines, as they were recorded.

    Attributes:
      path: The path on the machine of the program.
      sources: Its numbers; several hosts may have recorded it.
      lines: The text of each line that is on record, by number from 1.
    """

    path: str
    sources: list[int]
    lines: dict[int, str]


def recorded_file(snapshot: Snapshot, text: str) -> RecordedFile:
    """Return a source file by its path, or by the end of it.

    Raises:
      NotFoundError: There is no such file, or there are several.
    """
    rows = snapshot.rows("SELECT source, path FROM sources ORDER BY source")
    paths = {path for _, path in rows}
    ends = [path for path in paths if path.endswith("/" + text) or path.endswith("\\" + text)]
    near = sorted(ends or (path for path in paths if text in path))
    chosen = [text] if text in paths else near
    if len(chosen) != 1:
        raise NotFoundError(_no_file(text, chosen, bool(paths)))
    sources = [source for source, path in rows if path == chosen[0]]
    return RecordedFile(chosen[0], sources, _lines(snapshot, sources))


def _no_file(text: str, several: list[str], has_files: bool) -> str:
    if several:
        left = len(several) - _SHOWN
        more = f" and {left} more" if left > 0 else ""
        return f"{len(several)} source files have {text!r}: {', '.join(several[:_SHOWN])}{more}."
    if not has_files:
        return "No source files are on record: TensorFlow's own dumps hold none."
    return f"No source file has {text!r} in its path; `ls` lists those that are on record."


def _lines(snapshot: Snapshot, sources: list[int]) -> dict[int, str]:
    whole = snapshot.rows(
        "SELECT line, any_value(text) FROM source_lines WHERE source IN (SELECT unnest(?)) GROUP BY line",
        [sources],
    )
    return dict(
        whole
        or snapshot.rows(
            "SELECT f.line, any_value(f.text) FROM frame_lines f JOIN sources s USING (host, file_index)"
            " WHERE s.source IN (SELECT unnest(?)) GROUP BY f.line",
            [sources],
        )
    )
