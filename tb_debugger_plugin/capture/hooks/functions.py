"""Sees the functions that TensorFlow makes, and the calls of functions that Python makes.

Functions that a user wrote, their forward and backward functions, bodies of loops and branches, and functions
of input pipelines all pass `atomic_function.from_func_graph` when their graph is complete.

A call is one of a `tf.function`, or of a concrete function, that happens eagerly and outside of other such
calls in its thread: calls inside functions, and calls while a graph is built, are parts of an outer call.

Invariant: after `remove()` TensorFlow has its own methods again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from tensorflow.python.eager import context

from tb_debugger_plugin.capture.hooks.hook import (
    CALL_CONCRETE,
    CALL_FUNCTION,
    FROM_FUNC_GRAPH,
    Hook,
    HookTarget,
    hidden,
)
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
        function_type: object = None,
        overwrite: bool = False,
    ) -> AtomicFunction:
        function: AtomicFunction = self._hook.original(name, graph, attrs, function_type, overwrite)
        self._on_function(name.decode() if isinstance(name, bytes) else name, graph, attrs)
        return function


class FunctionCall(NamedTuple):
    """A call that is about to run.

    Attributes:
      function: The function: a `tf.function` or a concrete function.
      arguments: Its arguments by position.
      keywords: Its arguments by name.
      original: TensorFlow's own method.
    """

    function: object
    arguments: tuple[object, ...]
    keywords: dict[str, object]
    original: Callable[..., object]

    @hidden
    def run(self) -> object:
        """Run the call, and return what it returns."""
        return self.original(self.function, *self.arguments, **self.keywords)


#: Runs the call that it gets, and returns what it returns.
Around: TypeAlias = Callable[[FunctionCall], object]


class _Thread(threading.local):
    """Whether a thread is inside of a call. A class attribute, which is read faster than with a default."""

    is_inside = False


class FunctionCalls:
    """Passes each outermost call to a function, from the constructor to `remove()`.

    Args:
      around: Called instead of the function.
    """

    def __init__(self, around: Around) -> None:
        self._around = around
        self._thread = _Thread()
        self._hooks = [self._hook(CALL_FUNCTION), self._hook(CALL_CONCRETE)]
        for hook in self._hooks:
            hook.install()

    def remove(self) -> None:
        """Put TensorFlow's methods back."""
        for hook in self._hooks:
            hook.remove()

    def _hook(self, target: HookTarget) -> Hook:
        original, around, thread = target.get(), self._around, self._thread

        @hidden
        def call(function: object, /, *arguments: object, **keywords: object) -> object:
            if thread.is_inside or not context.executing_eagerly():
                return original(function, *arguments, **keywords)

            thread.is_inside = True
            try:
                return around(FunctionCall(function, arguments, keywords, original))
            finally:
                thread.is_inside = False

        return Hook(target, call)
