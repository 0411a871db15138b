"""Source files, stack frames, and whose code a frame is.

In come numbers and ids, out come paths, lines and functions as they were recorded. Source text comes from the
log only: no path that a log names is ever opened.
"""

from __future__ import annotations

import re
from typing import Any, Final

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.events.origins import Origin

USER: Final = "user"
LIBRARY: Final = "library"

_LIBRARY: Final = re.compile(
    r"(^|/)(site-packages|dist-packages|lib/python\d+(\.\d+)*|lib64/python\d+(\.\d+)*)/"
    r"|(^|/)(tensorflow|keras|tf_keras)/python/"
    r"|(^|/)keras/(src|api)/"
    r"|^<frozen |^<__array_function__"
)
_OWN: Final = re.compile(r"(^|/)tb_debugger_plugin/(?!examples/)")
_OWN_EXAMPLE: Final = re.compile(r"(^|/)tb_debugger_plugin/examples/")
# TensorFlow writes what autograph made of a function to files of this name.
_GENERATED: Final = re.compile(r"(^|/)__autograph_generated_file[^/]*\.py$")


def origin(path: str, recorded: int | None = None) -> str:
    """Whose code a file is.

    Args:
      path: As it was recorded, on whatever system.
      recorded: What the recorder said, who knew where its libraries are; TensorFlow's says nothing.

    Returns:
      :data:`LIBRARY` for installed packages, the standard library, TensorFlow, Keras and this package but its
      examples; else :data:`USER`.
    """
    if recorded:
        return LIBRARY if recorded == Origin.LIBRARY else USER
    plain = path.replace("\\", "/")
    if _OWN_EXAMPLE.search(plain):
        return USER
    is_library = any(pattern.search(plain) for pattern in (_LIBRARY, _OWN, _GENERATED))
    return LIBRARY if is_library else USER


def source_list(snapshot: Snapshot) -> list[list[str]]:
    """Host and path of each source file, in the order of their indices."""
    return [list(row) for row in snapshot.rows("SELECT host_name, path FROM sources ORDER BY source")]


def source_file(snapshot: Snapshot, index: int) -> dict[str, Any]:
    """One source file: whole, or the lines around recorded frames.

    Raises:
      NotFoundError: There is none with that index.
    """
    found = snapshot.rows("SELECT host_name, path, origin FROM sources WHERE source = ?", [index])
    if not found:
        raise NotFoundError(f"There is no source file {index}.")
    host_name, path, recorded = found[0]
    lines = snapshot.rows("SELECT text FROM source_lines WHERE source = ? ORDER BY line", [index])
    return {
        "host_name": host_name,
        "file_path": path,
        "lines": [text for (text,) in lines],
        "origin": origin(path, recorded),
        "excerpts": [] if lines else _excerpts(snapshot, index),
    }


def _excerpts(snapshot: Snapshot, index: int) -> list[dict[str, Any]]:
    """The lines around recorded frames, those that follow one another together."""
    found: list[dict[str, Any]] = []
    for line, text in snapshot.rows(
        "SELECT f.line, any_value(f.text) FROM frame_lines f JOIN sources s USING (host, file_index)"
        " WHERE s.source = ? GROUP BY f.line ORDER BY f.line",
        [index],
    ):
        if not found or found[-1]["first_line"] + len(found[-1]["lines"]) != line:
            found.append({"first_line": line, "lines": []})
        found[-1]["lines"].append(text)
    return found


def stack_of(snapshot: Snapshot, stack: int) -> tuple[str | None, list[str]]:
    """Host name and frame ids of a stack, outermost first; of stack -1, nothing."""
    return stacks_of(snapshot, [stack]).get(stack, (None, []))


def stacks_of(snapshot: Snapshot, stacks: list[int]) -> dict[int, tuple[str | None, list[str]]]:
    """Host name and frame ids of some stacks by number."""
    wanted = sorted({stack for stack in stacks if stack >= 0})
    if not wanted:
        return {}
    found = snapshot.rows(
        "SELECT stack, any_value(host_name), list(frame_id ORDER BY depth) FROM stacks"
        " WHERE stack IN (SELECT unnest(?)) GROUP BY stack",
        [wanted],
    )
    return {stack: (host_name, list(frames)) for stack, host_name, frames in found}


def stack_frames(snapshot: Snapshot, ids: list[str]) -> dict[str, Any]:
    """Frames by their ids.

    Args:
      snapshot: The run.
      ids: In the order that is wanted; one may come several times.

    Returns:
      ``stack_frames`` as Debugger V2 gives them, and ``details`` beside.

    Raises:
      NotFoundError: A frame does not exist.
    """
    found = {
        row[0]: row[1:]
        for row in snapshot.rows(
            "SELECT f.frame_id, coalesce(s.host_name, h.name), s.path, f.line, f.function, s.source, l.text,"
            " f.code, s.origin FROM frames f LEFT JOIN hosts h ON h.host = f.host"
            " LEFT JOIN sources s ON s.host = f.host AND s.file_index = f.file_index"
            " LEFT JOIN source_lines l ON l.source = s.source AND l.line = f.line"
            " WHERE f.frame_id IN (SELECT unnest(?))",
            [sorted(set(ids))],
        )
    }
    missing = next((frame_id for frame_id in ids if frame_id not in found), None)
    if missing is not None:
        raise NotFoundError(f"There is no stack frame with the id {missing!r}.")
    frames = [found[frame_id] for frame_id in ids]
    return {
        "stack_frames": [[host, path, line, function] for host, path, line, function, *_ in frames],
        "details": [
            {
                "file_index": source,
                "text": text if text is not None else code,
                "origin": origin(path or "", recorded),
            }
            for _, path, _, _, source, text, code, recorded in frames
        ],
    }
