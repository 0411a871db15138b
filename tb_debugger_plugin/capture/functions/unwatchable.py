"""Finds the functions that a recording cannot see.

Input pipelines take copies of their functions when they are made, so nothing changes what those made before
the recording run; a function without a graph gives nothing to watch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tensorflow.python.data.ops import structured_function
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import atomic_function
from tensorflow.python.framework import func_graph

from tb_debugger_plugin.capture.functions.user_names import name_of_python_function
from tb_debugger_plugin.capture.not_recorded import Missing, joined
from tb_debugger_plugin.capture.objects import of_types
from tb_debugger_plugin.events.not_recorded import NotRecordedReason


def unwatchable(objects: list[Any]) -> Iterator[Missing]:
    """What is not seen of the functions that were there before a recording.

    Args:
      objects: Those of the program that Python's garbage collector knows.
    """
    wrappers = of_types(objects, {structured_function.StructuredFunctionWrapper})
    of_pipelines = {name for each in wrappers if (name := name_of_python_function(each._func)) is not None}
    if of_pipelines:
        yield Missing(
            NotRecordedReason.MADE_BEFORE,
            "The debugger does not see into functions of input pipelines that were made before it began to "
            f"record: {joined(of_pipelines)}. Make the pipelines afterwards to have them recorded.",
            tuple(sorted(of_pipelines)),
        )
    runtime = context.context()
    names = [
        each.name.decode()
        for each in of_types(objects, {atomic_function.AtomicFunction})
        if not isinstance(each._cached_graph, func_graph.FuncGraph) and runtime.has_function(each.name)
    ]
    if names:
        yield without_graph(names)


def without_graph(names: Iterable[str]) -> Missing:
    """Functions of which there is no graph are not seen.

    Args:
      names: Of the functions, in the runtime.
    """
    names = tuple(sorted(set(names)))
    return Missing(
        NotRecordedReason.NO_GRAPH,
        f"The debugger does not see into functions of which there is no graph: {joined(names)}.",
        names,
    )
