"""The hook of the function in which TensorFlow makes every function of the runtime.

Functions that a user wrote, their forward and backward functions, bodies of loops and branches, and functions
of input pipelines all pass `atomic_function.from_func_graph` when their graph is complete.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tb_debugger_plugin.capture.hooks.hook import FROM_FUNC_GRAPH, Hook
from tb_debugger_plugin.capture.tf_types import AtomicFunction, FunctionAttributes, TfGraph

#: Takes the name, the graph and the attributes of a function that the runtime now has. It must not raise.
OnFunction: TypeAlias = Callable[[str, TfGraph, FunctionAttributes], None]


class FunctionHook:
    """Sees each function that TensorFlow makes, from the constructor to `remove()`.

    Args:
      on_function: Called after the function was made.
    """

    def __init__(self, on_function: OnFunction) -> None:
        self._on_function = on_function
        self._hook = Hook(FROM_FUNC_GRAPH, self._from_func_graph)
        self._hook.install()

    def remove(self) -> None:
        """Put TensorFlow's function back."""
        self._hook.remove()

    def _from_func_graph(
        self,
        name: str | bytes,
        graph: TfGraph,
        attrs: FunctionAttributes,
        function_type: Any = None,
        overwrite: bool = False,
    ) -> AtomicFunction:
        function: AtomicFunction = self._hook.original(name, graph, attrs, function_type, overwrite)
        self._on_function(name.decode() if isinstance(name, bytes) else name, graph, attrs)
        return function
