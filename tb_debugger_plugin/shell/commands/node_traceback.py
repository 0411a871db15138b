"""The stack that made a node as lines; frames of the program come before those of libraries."""

from __future__ import annotations

from typing import NamedTuple

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.sources import USER, stack_frames, stack_of
from tb_debugger_plugin.shell.links import source_command
from tb_debugger_plugin.shell.screen import Line, Part, Style, link, plain


class _Frame(NamedTuple):
    depth: int
    path: str
    line: int
    function: str
    text: str | None
    is_user: bool


def traceback_lines(snapshot: Snapshot, op: Op) -> list[Line]:
    """Return the frames that made an op, after a heading."""
    return [(), (), plain("Traceback of node construction:", Style.HEADING), *_lines_of(snapshot, op.stack)]


def _lines_of(snapshot: Snapshot, stack: int) -> list[Line]:
    frames = stack_lines(snapshot, stack)
    return frames or [plain("(Not recorded: TensorFlow's own dumps hold no stacks.)")]


def stack_lines(snapshot: Snapshot, stack: int) -> list[Line]:
    """Return the frames of a stack, four lines each; nothing if it was not recorded."""
    frames = _frames(snapshot, stack)
    own = [line for frame in frames if frame.is_user for line in _frame_lines(frame)]
    libraries = [line for frame in frames if not frame.is_user for line in _frame_lines(frame)]
    if own and libraries:
        libraries = [plain("Frames of libraries:", Style.MUTED), *libraries]
    return [*own, *libraries]


def _frames(snapshot: Snapshot, stack: int) -> list[_Frame]:
    _, ids = stack_of(snapshot, stack)
    found = stack_frames(snapshot, ids)
    return [
        _Frame(depth, path or "?", line, function, detail["text"], detail["origin"] == USER)
        for depth, ((_, path, line, function), detail) in enumerate(
            zip(found["stack_frames"], found["details"], strict=True)
        )
    ]


def _frame_lines(frame: _Frame) -> list[Line]:
    style = Style.PLAIN if frame.is_user else Style.MUTED
    text = "None" if frame.text is None else f'"{frame.text.strip()}"'
    return [
        plain(f"{frame.depth}: {frame.path}", style),
        (Part("  "), link(f"Line:     {frame.line}", source_command(frame.path, frame.line), style)),
        plain(f"  Function: {frame.function}", style),
        plain(f"  Text:     {text}", style),
        (),
    ]
