"""Finds the functions that a recording cannot see.

Input pipelines copy their functions when they are made, so the recorder cannot change the pipelines that were
made before the recording. A function without a graph has nothing to watch.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Container, Iterable, Iterator

from tensorflow.python.data.ops import structured_function
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import atomic_function
from tensorflow.python.framework import func_graph

from tb_debugger_plugin.capture.graph.called import with_callees
from tb_debugger_plugin.capture.graph.objects import of_types
from tb_debugger_plugin.capture.graph.user_names import name_of_python_function
from tb_debugger_plugin.capture.not_recorded import Missing, name_list
from tb_debugger_plugin.capture.tf_types import FunctionDef
from tb_debugger_plugin.events.not_recorded import NotRecordedReason


def unwatchable(objects: list[object]) -> Iterator[Missing]:
    """Find the functions of the program that a new recording cannot see.

    Args:
      objects: The objects that Python's garbage collector knows.
    """
    wrappers = of_types(objects, {structured_function.StructuredFunctionWrapper})
    user_names = (name_of_python_function(wrapper._func) for wrapper in wrappers)
    of_pipelines = {name for name in user_names if name is not None}
    if of_pipelines:
        yield Missing(
            NotRecordedReason.MADE_BEFORE,
            "The debugger does not record functions of input pipelines that were made before the recording: "
            f"{name_list(of_pipelines)}. Make the pipelines after the recording has begun to record them.",
            tuple(sorted(of_pipelines)),
        )
    runtime = context.context()
    names = [
        atomic.name.decode()
        for atomic in of_types(objects, {atomic_function.AtomicFunction})
        if not isinstance(atomic._cached_graph, func_graph.FuncGraph) and runtime.has_function(atomic.name)
    ]
    if names:
        yield without_graph(names)


def called_without_graph(
    called: Iterable[str], definition_of: Callable[[str], FunctionDef | None], known: Container[str]
) -> Missing | None:
    """Find functions that have no graph among those that are called.

    Args:
      called: Names of called functions.
      definition_of: Returns the definition of a name, or None.
      known: The names of the functions that have a graph.

    Returns:
      The report of the functions without a graph, and of those that they call; None when all have one.
    """
    unknown = [name for name in called if name not in known]
    all_unknown = with_callees(unknown, definition_of) if unknown else []
    names = [name for name in all_unknown if name not in known]
    return without_graph(names) if names else None


def without_graph(names: Iterable[str]) -> Missing:
    """Return the report of functions that have no graph.

    Args:
      names: Names of the functions in the runtime.
    """
    names = tuple(sorted(set(names)))
    # Graphs are found among the objects of Python's garbage collector, which hides those that are frozen.
    hint = (
        " Call gc.unfreeze() before the recording begins, so that it finds graphs."
        if gc.get_freeze_count()
        else ""
    )
    return Missing(
        NotRecordedReason.NO_GRAPH,
        f"The debugger does not record functions that have no graph: {name_list(names)}.{hint}",
        names,
    )
