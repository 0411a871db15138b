"""Lines of the program: those that tensors of functions come from, and those that its threads run.

A breakpoint on a line that makes no op itself stops at the first op that the line leads to. If it leads to
none, the breakpoint moves to the next line of the same function that does.
"""

from __future__ import annotations

import ast
import functools
import linecache
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tb_debugger_plugin.capture.gate import Line, TensorOfGraph
from tb_debugger_plugin.capture.stacks.calls import RunningLine
from tb_debugger_plugin.capture.stacks.cells import CELLS


class LineRuns:
    """Notices when threads begin to run a line, for one line of a breakpoint.

    It holds the frames of the last run of each thread, so that those of the next run are others.
    """

    def __init__(self) -> None:
        self._last: dict[int, RunningLine] = {}

    def begins(self, running: RunningLine | None) -> bool:
        """Return whether the current thread runs the line, and not since it last came here.

        Args:
          running: The line, if the thread runs it now.
        """
        thread = threading.get_ident()
        last = self._last.pop(thread, None)
        if running is None:
            return False
        self._last[thread] = running
        return last is None or last.frame is not running.frame or last.callee is not running.callee


class SourceFunction(NamedTuple):
    """A function of a source file.

    Attributes:
      name: Its name.
      first: Its first line, that of its first decorator if it has any.
      last: Its last line.
    """

    name: str
    first: int
    last: int


def function_at(path: str, line: int) -> SourceFunction | None:
    """Return the innermost function around a line; None if there is none, or if the file cannot be read."""
    around = [one for one in _functions_of(path) if one.first <= line <= one.last]
    return max(around, key=lambda one: one.first, default=None)


@functools.lru_cache(maxsize=64)
def _functions_of(path: str) -> tuple[SourceFunction, ...]:
    try:
        tree = ast.parse("".join(linecache.getlines(CELLS.file_of(path))))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()  # no Python, such as a cell with magic commands
    return tuple(_functions_in(tree))


def _functions_in(tree: ast.AST) -> Iterator[SourceFunction]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            yield SourceFunction(node.name, first, node.end_lineno or node.lineno)


class NearLine(NamedTuple):
    """Where a breakpoint on a line can be.

    Attributes:
      function: The function around the line, which is made.
      line: The first line of it that leads to ops, of those asked for; 0 if there is none.
    """

    function: SourceFunction
    line: int


class LinesOfFunctions:
    """The lines that lead to ops of the functions that are made."""

    def __init__(self) -> None:
        self._made: dict[str, set[int]] = {}  # by path; with those of constants
        self._stopping: dict[str, set[int]] = {}

    def take_in(self, tensors: Iterable[TensorOfGraph]) -> None:
        """Take in tensors of graphs that are new."""
        # Graphs of sessions are built by the whole program, not by its functions.
        of_functions = [one for one in tensors if one.function]
        _add({one.lines for one in of_functions}, self._made)
        _add({one.lines for one in of_functions if not one.is_constant}, self._stopping)

    def near(self, paths: Iterable[str], line: int, first: int) -> NearLine | None:
        """Return where a breakpoint on a line can be; None if its function is not made.

        Args:
          paths: The source files that are meant, of `paths`.
          line: The line.
          first: The first line that is asked for.
        """
        for path in paths:
            function, made = function_at(path, line), self._made[path]
            if function is not None and any(function.first <= one <= function.last for one in made):
                return NearLine(function, self._next(path, function, first))
        return None

    def _next(self, path: str, function: SourceFunction, first: int) -> int:
        below = sorted(one for one in self._stopping.get(path, ()) if first <= one <= function.last)
        return next((one for one in below if function_at(path, one) == function), 0)

    @property
    def paths(self) -> list[str]:
        """The source files."""
        return list(self._made)


def _add(stacks: Iterable[Sequence[Line]], lines: dict[str, set[int]]) -> None:
    for stack in stacks:
        for path, line in stack:
            lines.setdefault(path, set()).add(line)
