"""Writes each stack frame and each source file of the program once.

Takes frames as (file, line, function) and returns the ids by which records refer to them. The user's files
and notebook cells are recorded completely; for library files, only the path and the lines around each frame.

Invariant: a frame and its source file are on disk before the id of the frame is returned.
"""

from __future__ import annotations

import functools
import itertools
import linecache
import os
import sysconfig
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from types import CodeType, FrameType
from typing import NamedTuple, Protocol

from tensorflow.python.autograph.impl import api as autograph
from tensorflow.python.autograph.pyct.origin_info import OriginInfo
from tensorflow.python.framework import op_callbacks
from tensorflow.python.util import tf_stack

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.capture.stacks.calls import RunningLine
from tb_debugger_plugin.capture.stacks.cells import CELLS
from tb_debugger_plugin.capture.stacks.source_excerpts import LibraryLines
from tb_debugger_plugin.capture.tf_types import StackFrame, TfOp
from tb_debugger_plugin.events.messages import (
    CodeLocation,
    DebugEvent,
    FileLineCol,
    Message,
    SourceFile,
    StackFrameWithId,
)
from tb_debugger_plugin.events.origins import CodeOrigin

_PACKAGE = os.path.join(os.path.dirname(os.path.abspath(tb_debugger_plugin.__file__)), "")
_EXAMPLES = os.path.join(_PACKAGE, "examples") + os.sep
_LIBRARIES = tuple(
    {os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib")}
)
#: Folders of packages that sysconfig does not list: the user's own, and those of another environment.
_INSTALLED = tuple(f"{os.sep}{folder}{os.sep}" for folder in ("site-packages", "dist-packages"))
#: The file name of our hooks: functions that call TensorFlow instead of the program.
HOOKS = os.path.join(os.path.dirname(op_callbacks.__file__), "tb_debugger_plugin_hooks.py")
#: Our own files: their frames are left out of every stack.
_OWN = (
    HOOKS,
    os.path.join(_PACKAGE, "capture") + os.sep,
    os.path.join(_PACKAGE, "live") + os.sep,
    os.path.join(_PACKAGE, "native") + os.sep,
    os.path.join(_PACKAGE, "techniques") + os.sep,
    os.path.join(_PACKAGE, "tfdbg") + os.sep,
    op_callbacks.__file__,  # TensorFlow calls us from there
)
#: What Python calls the code of `python -c`, of its standard input, and of its prompts.
_TYPED = ("<string>", "<stdin>", "<console>", "<python-input-")
#: Number of lines recorded before and after the line of a library frame.
_AROUND = 3


class RecordedFrame(NamedTuple):
    """One line of a stack."""

    path: str
    line: int
    function: str


class EventWriter(Protocol):
    """Takes records; see `sinks.Sink`."""

    def write(self, suffix: str, *events: Message) -> None:
        """Append events to the file with a suffix."""


def is_library(path: str) -> bool:
    """Whether a source file belongs to a library or to Python, not to the user's program."""
    if path.startswith((_EXAMPLES, *_TYPED)) or path in CELLS or CELLS.path_of(path) is not None:
        return False
    if path.startswith((_PACKAGE, *_LIBRARIES)) or not os.path.isabs(path) or _is_generated(path):
        return True
    return any(folder in path for folder in _INSTALLED)


class StackFrames:
    """The frames and files of one recording. Thread-safe.

    Args:
      writer: Takes `source_files` and `stack_frames` records.
      host: Name of this host.
      prefix: Prefix of ids, different in each process of the run.
    """

    def __init__(self, writer: EventWriter, host: str, prefix: str) -> None:
        self._writer = writer
        self._host = host
        self._prefix = prefix
        self._lock = threading.Lock()  # guards the following fields
        self._counter = itertools.count()
        self._frames: dict[RecordedFrame, str] = {}
        self._files: dict[str, int] = {}
        self._stacks: dict[Hashable, tuple[str, ...]] = {}
        self._library = LibraryLines()
        #: Returns a key of the stack that ends in a frame, unique while its code lives; `current` keeps it
        #: alive.
        self.key = _stack_key_function()
        # _stacks has the addresses of code objects, so they must stay alive.
        self._codes: dict[int, CodeType] = {}

    def ids(self, frames: Iterable[RecordedFrame]) -> tuple[str, ...]:
        """Return the ids of frames, in the same order; write the frames that are new."""
        frames = list(frames)
        known = self._frames
        try:
            return tuple([known[frame] for frame in frames])
        except KeyError:
            with self._lock:
                self._write_new(frames)
            return tuple([known[frame] for frame in frames])

    def current(self, frame: FrameType) -> tuple[str, ...]:
        """Return the ids of the running stack, outermost first, without this package's own frames.

        Args:
          frame: The innermost frame that is part of the key.
        """
        key = self.key(frame)
        ids = self._stacks.get(key)
        if ids is None:
            self._keep_codes(frame)
            ids = self._stacks[key] = self.ids(_frames_of(tf_stack.extract_stack()))
        return ids

    def code_location(self, ids: tuple[str, ...]) -> bytes:
        """Return the encoded CodeLocation of a stack.

        Args:
          ids: The ids of its frames, outermost first.
        """
        return _encoded_location(self._host, ids)

    def of_ids(self, ids: Iterable[str]) -> list[RecordedFrame]:
        """Return the frames of some ids, in the same order."""
        with self._lock:
            frames = {frame_id: frame for frame, frame_id in self._frames.items()}
        return [frames[frame_id] for frame_id in ids]

    def forget_files(self) -> None:
        """Drop the text of library files."""
        self._library.forget()

    def _keep_codes(self, innermost: FrameType) -> None:
        frame: FrameType | None = innermost
        while frame is not None:
            self._codes[id(frame.f_code)] = frame.f_code
            frame = frame.f_back

    def _write_new(self, frames: list[RecordedFrame]) -> None:
        new = [frame for frame in dict.fromkeys(frames) if frame not in self._frames]
        files = [path for path in dict.fromkeys(frame.path for frame in new) if path not in self._files]
        if files:
            self._writer.write("source_files", *[self._source_file(path) for path in files])
        for path in files:
            self._files[path] = len(self._files)
        ids = [f"{self._prefix}{next(self._counter):x}" for _ in new]
        self._writer.write("stack_frames", *map(self._stack_frame, ids, new))
        self._frames.update(zip(new, ids, strict=True))

    def _source_file(self, path: str) -> Message:
        library = is_library(path)
        source = SourceFile(
            file_path=path,
            host_name=self._host,
            origin=CodeOrigin.LIBRARY if library else CodeOrigin.USER,
            lines=[] if library else _lines(path),
        )
        return DebugEvent(source_file=source)

    def _stack_frame(self, frame_id: str, frame: RecordedFrame) -> Message:
        location = FileLineCol(file_index=self._files[frame.path], line=frame.line, func=frame.function)
        if is_library(frame.path):
            first = max(1, frame.line - _AROUND)
            lines = self._library.between(frame.path, first, frame.line + _AROUND)
            if lines:
                location.first_line = first
                location.lines.extend(lines)
                location.code = "".join(lines[frame.line - first : frame.line - first + 1]).strip()
        else:
            location.code = linecache.getline(CELLS.file_of(frame.path), frame.line).strip()
        return DebugEvent(stack_frame_with_id=StackFrameWithId(id=frame_id, file_line_col=location))


@functools.lru_cache(maxsize=64)
def _encoded_location(host: str, ids: tuple[str, ...]) -> bytes:
    """Return the encoded location; cached, because most ops have the stack of an op before them."""
    return bytes(CodeLocation(host_name=host, stack_frame_ids=ids).SerializeToString())


def _lines(path: str) -> list[str]:
    """Return the lines of a source file as TensorFlow counts: an empty one after the last line break."""
    lines = [line.rstrip("\r\n") for line in linecache.getlines(CELLS.file_of(path))]
    return [*lines, ""] if lines and _ends_in_a_line_break(path) else lines


def _ends_in_a_line_break(path: str) -> bool:
    # linecache adds a line break if the last line has none, so the file itself is read.
    try:
        with open(path, "rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) in b"\r\n"
    except OSError:
        return False  # no file, such as a cell of a notebook, or an empty one


def _stack_key_function() -> Callable[[FrameType], Hashable]:
    """Return the native function that makes a key of a stack, or its Python twin, which is slower."""
    try:
        key: Callable[[FrameType], Hashable] = native.module_without_tensorflow().stack_key
        return key
    except ImportError:
        return _stack_key


def _stack_key(innermost: FrameType) -> tuple[int, ...]:
    key = []
    frame: FrameType | None = innermost
    while frame is not None:
        key.append(id(frame.f_code))
        key.append(frame.f_lasti)
        frame = frame.f_back
    return tuple(key)


def _frames_of(stack: Iterable[StackFrame]) -> list[RecordedFrame]:
    """Return the frames of a stack that TensorFlow extracted, which maps AutoGraph's code to lines."""
    return [
        _frame(frame.filename, frame.lineno, frame.name)
        for frame in stack
        if not frame.filename.startswith(_OWN)
    ]


def user_frame() -> RecordedFrame:
    """Return the innermost running line of the program, also in code that AutoGraph has converted."""
    frames = _frames_of(tf_stack.extract_stack())
    own = [frame for frame in frames if not is_library(frame.path)]
    return (own or frames)[-1]


def user_place(innermost: FrameType) -> tuple[str, int]:
    """Path and line of the program in a running stack, which may be another thread's.

    Args:
      innermost: The innermost frame of the stack.

    Returns:
      Those of the innermost frame of the program; empty and 0 if there is none.
    """
    running = next(running_lines(innermost), None)
    return ("", 0) if running is None else (running.path, running.line)


def running_lines(innermost: FrameType) -> Iterator[RunningLine]:
    """Yield the lines of the program in a running stack, which may be another thread's, innermost first.

    Args:
      innermost: The innermost frame of the stack.
    """
    frame: FrameType | None = innermost
    callee = innermost
    while frame is not None:
        path, line, _ = _frame(frame.f_code.co_filename, frame.f_lineno, "")
        if not path.startswith(_OWN) and not is_library(path):
            yield RunningLine(path, line, frame, callee)
        callee = frame
        frame = frame.f_back


def creation_stacks(ops: Iterable[TfOp]) -> dict[str, tuple[RecordedFrame, ...]]:
    """Return the creation stacks of graph ops, outermost frame first, without our own frames.

    TensorFlow compares stacks in C++ and returns each frame and each stack once: a large graph has thousands
    of ops and hundreds of stacks.

    Args:
      ops: Ops of one graph.

    Returns:
      Stacks by op name; ops with the same stack share one tuple. Ops made in C++ have none.
    """
    builder = tf_stack.GraphDebugInfoBuilder()
    for op in ops:
        traceback = op.traceback
        if traceback is not None:
            builder.AccumulateStackTrace("", op.name, traceback)
    info = builder.Build()
    frames = {key: _frame(info.files[f.file_index], f.line, f.func) for key, f in info.frames_by_id.items()}
    stacks = {
        stack_id: tuple(frames[key] for key in trace.frame_id if not frames[key].path.startswith(_OWN))
        for stack_id, trace in info.traces_by_id.items()
    }
    # The builder's keys are "op@function".
    return {name.removesuffix("@"): stacks[key] for name, key in info.name_to_trace_id.items()}


def _frame(filename: str, line: int, function: str) -> RecordedFrame:
    """Return a frame under the recorded path; in code that AutoGraph converted, the program's line.

    TensorFlow itself maps such lines, but only in the thread that converts, and until the function is made.
    """
    path = _path(filename)
    if _is_generated(path):
        origin = _source_map(path).get((path, line))
        if origin is not None:
            return RecordedFrame(
                _path(origin.loc.filename), origin.loc.lineno, origin.function_name or function
            )
    return RecordedFrame(path, line, function)


@functools.lru_cache(maxsize=4096)
def _is_generated(path: str) -> bool:
    """Whether AutoGraph has written a file."""
    return os.path.basename(path).startswith("__autograph_generated_file")


def _source_map(path: str) -> Mapping[tuple[str, int], OriginInfo]:
    """Return AutoGraph's own map of a file that it has written: from lines of it to those of the program."""
    try:
        return _found_source_map(path)
    except (LookupError, AttributeError, RuntimeError):
        return {}  # another version of AutoGraph, or another thread converts a function now


@functools.lru_cache(maxsize=1024)
def _found_source_map(path: str) -> Mapping[tuple[str, int], OriginInfo]:
    for by_options in list(autograph._TRANSPILER._cache._cache.values()):
        for factory in list(by_options.values()):
            if factory.module.__file__ == path:
                source_map: Mapping[tuple[str, int], OriginInfo] = factory.source_map
                return source_map
    raise LookupError(path)


def _path(filename: str) -> str:
    """Return the path under which a file is recorded."""
    return CELLS.path_of(filename) or _absolute(filename)


@functools.cache
def _absolute(path: str) -> str:
    return path if path.startswith("<") else os.path.abspath(path)
