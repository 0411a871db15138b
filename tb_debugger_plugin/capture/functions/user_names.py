"""What the author of a program calls its functions: `loss (train.py:12)`."""

from __future__ import annotations

import functools
import itertools
import os
from types import FunctionType, MethodType
from typing import Any

from tensorflow.python.eager.polymorphic_function import polymorphic_function

from tb_debugger_plugin.capture.cells import CELLS
from tb_debugger_plugin.capture.frames import is_library
from tb_debugger_plugin.capture.functions.function import Function
from tb_debugger_plugin.capture.options import unwrapped

#: In so many ops of a graph the function is looked for: an op that is asked keeps the answer, 9 kB, for ever.
_MOST_OPS = 50


def name_of_python_function(function: Any) -> str | None:
    """A Python function, or what stands for one, as its author knows it; None when it is one of a library's.

    Args:
      function: Anything that can be called. Only what is known by its type is asked.
    """
    if type(function) is polymorphic_function.Function:
        return name_of_python_function(function.python_function)
    if type(function) is functools.partial:
        return name_of_python_function(function.func)
    if type(function) is MethodType:
        return name_of_python_function(function.__func__)
    if type(function) is not FunctionType:
        return str(getattr(type(function), "__name__", "a function"))
    code = function.__code__
    if is_library(code.co_filename):
        return None
    return f"{function.__name__} ({_line(code.co_filename, code.co_firstlineno)})"


def name_of(function: Function) -> str:
    """A function as its author knows it: its name, and a line of it where one is known.

    Args:
      function: One whose graph is there.
    """
    *_, name = unwrapped(function.name)
    place = _place(function.graph_of(), name)
    name = f"gradient of {name}" if "__backward_" in function.name else name
    return f"{name} ({place})" if place else name


def _place(graph: Any, name: str) -> str:
    """A line of the function of a graph; else one at which the program's author has its first op made."""
    first = ""
    for op in itertools.islice(graph.get_operations(), _MOST_OPS):
        traceback = op.traceback
        for frame in reversed(traceback.get_user_frames() if traceback else ()):
            if not is_library(frame.filename):
                place = _line(frame.filename, frame.lineno)
                if frame.name == name:
                    return place
                first = first or place
    return first


def _line(filename: str, number: int) -> str:
    return f"{CELLS.path_of(filename) or os.path.basename(filename)}:{number}"
