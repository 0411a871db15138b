"""Names functions as their author knows them: `loss (train.py:12)`."""

from __future__ import annotations

import functools
import itertools
import os
from types import FunctionType, MethodType
from typing import Any

from tensorflow.python.eager.polymorphic_function import polymorphic_function

from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.stacks.cells import CELLS
from tb_debugger_plugin.capture.stacks.frames import is_library
from tb_debugger_plugin.capture.tf_types import TfGraph
from tb_debugger_plugin.events.tensorflow_names import unwrapped

#: Most ops whose stacks are searched: each op whose stack is read keeps 9 kB for ever.
_MOST_OPS = 50


def name_of_python_function(function: Any) -> str | None:
    """Return the name of a Python function or a wrapper of one; None for a function of a library.

    Args:
      function: Any callable. Only attributes of known types are read.
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
    return f"{function.__name__} ({line_name(code.co_filename, code.co_firstlineno)})"


def name_of(function: Function) -> str:
    """Return the name of a function and one of its lines, if one is known.

    Args:
      function: A function that still has its graph.
    """
    *_, name = unwrapped(function.name)
    location = _location(function.graph, name)
    name = f"gradient of {name}" if "__backward_" in function.name else name
    return f"{name} ({location})" if location else name


def _location(graph: TfGraph, name: str) -> str:
    """Return a line in the function of a graph, or the user's line that made the graph's first op."""
    first = ""
    for op in itertools.islice(graph.get_operations(), _MOST_OPS):
        traceback = op.traceback
        for frame in reversed(traceback.get_user_frames() if traceback else ()):
            if not is_library(frame.filename):
                location = line_name(frame.filename, frame.lineno)
                if frame.name == name:
                    return location
                first = first or location
    return first


def line_name(filename: str, number: int) -> str:
    """Return a line as messages name it."""
    return f"{CELLS.path_of(filename) or os.path.basename(filename)}:{number}"
