"""Source files, stack frames, and whose code a frame is.

Takes numbers and ids and returns paths, lines and functions as they were recorded. Source text comes from the
log only: no path that a log names is ever opened.
"""

from __future__ import annotations

import re
from typing import Final, TypedDict

from tb_debugger_plugin.analysis.snapshot import Json, Snapshot
from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.events.origins import CodeOrigin

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
# TensorFlow writes the code that autograph generates to files with this name.
_GENERATED: Final = re.compile(r"(^|/)__autograph_generated_file[^/]*\.py$")


def whose_code(path: str, recorded: int | None = None) -> str:
    """Return whose code a file is.

    Args:
      path: The path as it was recorded, on any system.
      recorded: The number from our recorder, which knows where its libraries are; TensorFlow's has none.

    Returns:
      :data:`LIBRARY` for installed packages, the standard library, TensorFlow, Keras and this package except
      its examples; else :data:`USER`.
    """
    if recorded:
        return LIBRARY if recorded == CodeOrigin.LIBRARY else USER
    plain = path.replace("\\", "/")
    if _OWN_EXAMPLE.search(plain):
        return USER
    is_library = any(pattern.search(plain) for pattern in (_LIBRARY, _OWN, _GENERATED))
    return LIBRARY if is_library else USER


class ExcerptJson(TypedDict):
    """Some lines of a file."""

    first_line: int  #: number of the first line, from 1
    lines: list[str]  #: the lines


class SourceFileJson(TypedDict):
    """A source file."""

    host_name: str  #: host and path of the file
    file_path: str
    lines: list[str]  #: all lines; empty when the file is not on record as a whole
    origin: str  #: `user` or `library`: whose code it is
    excerpts: list[ExcerptJson]  #: when `lines` is empty, the lines around recorded frames


class FrameDetailJson(TypedDict):
    """What Debugger V2 does not say of a frame."""

    file_index: int | None  #: position in [source_files/list](#source_fileslist), or null
    text: str | None  #: the line of code, or null
    origin: str  #: `user` or `library`


class FramesJson(TypedDict):
    """Frames of stacks."""

    stack_frames: list[tuple[str, str, int, str]]  #: for each id: host, path, line and function
    details: list[FrameDetailJson]  #: for each id: what Debugger V2 lacks


def source_list(snapshot: Snapshot) -> list[list[str]]:
    """Return host and path of each source file, in the order of their indices."""
    return [list(row) for row in snapshot.rows("SELECT host_name, path FROM sources ORDER BY source")]


def source_file(snapshot: Snapshot, index: int) -> Json:
    """Return one source file: the whole file, or the lines around recorded frames.

    Raises:
      NotFoundError: There is no file with that index.
    """
    rows = snapshot.rows("SELECT host_name, path, origin FROM sources WHERE source = ?", [index])
    if not rows:
        raise NotFoundError(f"There is no source file {index}.")
    host_name, path, recorded = rows[0]
    lines = snapshot.rows("SELECT text FROM source_lines WHERE source = ? ORDER BY line", [index])
    return {
        "host_name": host_name,
        "file_path": path,
        "lines": [text for (text,) in lines],
        "origin": whose_code(path, recorded),
        "excerpts": [] if lines else _excerpts(snapshot, index),
    }


def _excerpts(snapshot: Snapshot, index: int) -> list[Json]:
    """Return the lines around recorded frames; consecutive lines are one excerpt."""
    excerpts: list[Json] = []
    for line, text in snapshot.rows(
        "SELECT f.line, any_value(f.text) FROM frame_lines f JOIN sources s USING (host, file_index)"
        " WHERE s.source = ? GROUP BY f.line ORDER BY f.line",
        [index],
    ):
        if not excerpts or excerpts[-1]["first_line"] + len(excerpts[-1]["lines"]) != line:
            excerpts.append({"first_line": line, "lines": []})
        excerpts[-1]["lines"].append(text)
    return excerpts


#: Host name and frame ids where nothing is recorded.
NO_STACK: Final[tuple[str | None, list[str]]] = (None, [])


def stack_of(snapshot: Snapshot, stack: int) -> tuple[str | None, list[str]]:
    """Return host name and frame ids of a stack, outermost first; nothing for stack -1."""
    return stacks_of(snapshot, [stack]).get(stack, NO_STACK)


def stacks_of(snapshot: Snapshot, stacks: list[int]) -> dict[int, tuple[str | None, list[str]]]:
    """Return host name and frame ids of some stacks by number."""
    numbers = sorted({stack for stack in stacks if stack >= 0})
    if not numbers:
        return {}
    rows = snapshot.rows(
        "SELECT stack, host_name, frame_id FROM stacks WHERE stack IN (SELECT unnest(?))"
        " ORDER BY stack, depth",
        [numbers],
    )
    found: dict[int, tuple[str | None, list[str]]] = {}
    for stack, host_name, frame in rows:
        found.setdefault(stack, (host_name, []))[1].append(frame)
    return found


def stack_frames(snapshot: Snapshot, ids: list[str]) -> Json:
    """Return frames by their ids.

    Args:
      snapshot: The run.
      ids: The ids in the order of the result; an id may occur several times.

    Returns:
      ``stack_frames`` as in Debugger V2, and ``details`` in the same order.

    Raises:
      NotFoundError: A frame does not exist.
    """
    if not ids:
        return {"stack_frames": [], "details": []}
    rows = {
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
    missing = next((frame_id for frame_id in ids if frame_id not in rows), None)
    if missing is not None:
        raise NotFoundError(f"There is no stack frame with the id {missing!r}.")
    frames = [rows[frame_id] for frame_id in ids]
    return {
        "stack_frames": [[host, path, line, function] for host, path, line, function, *_ in frames],
        "details": [
            {
                "file_index": source,
                "text": text if text is not None else code,
                "origin": whose_code(path or "", recorded),
            }
            for _, path, _, _, source, text, code, recorded in frames
        ],
    }
