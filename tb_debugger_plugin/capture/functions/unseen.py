"""What a recording cannot see of the functions that were there before it.

In come the objects of the program; out comes a sentence for each reason, with the names of the functions, for
the log. Input pipelines take copies of their functions when they are made, so nothing changes what those
made earlier run; a function without a graph gives nothing to watch.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from tensorflow.python.data.ops import structured_function
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import atomic_function
from tensorflow.python.framework import func_graph

from tb_debugger_plugin.capture.frames import is_library

#: So many names are given; of the others, how many there are.
_MOST_NAMES = 10


def sentences(objects: Iterable[Any]) -> Iterator[str]:
    """Say which functions are not seen; nothing when all are.

    Args:
      objects: Those of the program that Python's garbage collector knows.
    """
    wrappers, graphless = [], []
    for found in objects:
        if type(found) is structured_function.StructuredFunctionWrapper:
            wrappers.append(found)
        elif type(found) is atomic_function.AtomicFunction:
            if not isinstance(found._cached_graph, func_graph.FuncGraph):
                graphless.append(found)
    if names := joined(name for wrapper in wrappers if (name := _users_name(wrapper._func)) is not None):
        yield (
            f"The debugger does not see into functions of input pipelines that were made before it began to "
            f"record: {names}. Make the pipelines afterwards to have them recorded."
        )
    runtime = context.context()
    if names := joined(each.name.decode() for each in graphless if runtime.has_function(each.name)):
        yield f"The debugger does not see into functions of which there is no graph: {names}."


def _users_name(function: Any) -> str | None:
    """A function as its author knows it; None when it is one of a library's."""
    function = getattr(function, "python_function", function)  # of a tf.function
    function = getattr(function, "func", function)  # of a partial
    code = getattr(function, "__code__", None)
    if code is None:
        return str(getattr(function, "__name__", type(function).__name__))
    if is_library(code.co_filename):
        return None
    return f"{function.__name__} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"


def joined(names: Iterable[str]) -> str:
    """Names for a sentence, each once, the first of them when there are many."""
    names = sorted(set(names))
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
