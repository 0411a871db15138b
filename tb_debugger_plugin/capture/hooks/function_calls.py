"""Sees the calls of functions that Python makes, from the outside of TensorFlow.

Takes each call of a `tf.function`, or of a concrete function, that happens eagerly and outside of other such
calls in its thread: calls inside functions, and calls while a graph is built, are parts of an outer call.

Invariant: after `remove()` TensorFlow has its own methods again.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from tensorflow.python.eager import context

from tb_debugger_plugin.capture.hooks.hook import CALL_CONCRETE, CALL_FUNCTION, Hook, Target, hidden


@dataclass(frozen=True)
class FunctionCall:
    """A call that is about to run.

    Attributes:
      function: The function: a `tf.function` or a concrete function.
      arguments: Its arguments by position.
      keywords: Its arguments by name.
    """

    function: Any
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    _original: Callable[..., Any]

    @hidden
    def run(self) -> Any:
        """Run the call, and return what it returns."""
        return self._original(self.function, *self.arguments, **self.keywords)


#: Runs the call that it gets, and returns what it returns.
Around: TypeAlias = Callable[[FunctionCall], Any]


class FunctionCalls:
    """Passes each outermost call to a function, from the constructor to `remove()`.

    Args:
      around: Called instead of the function.
    """

    def __init__(self, around: Around) -> None:
        self._around = around
        self._thread = threading.local()
        self._hooks = [self._hook(CALL_FUNCTION), self._hook(CALL_CONCRETE)]
        for hook in self._hooks:
            hook.install()

    def remove(self) -> None:
        """Put TensorFlow's methods back."""
        for hook in self._hooks:
            hook.remove()

    def _hook(self, target: Target) -> Hook:
        original = target.get()

        @hidden
        def call(function: Any, /, *arguments: Any, **keywords: Any) -> Any:
            if not self._is_outermost():
                return original(function, *arguments, **keywords)

            self._thread.is_inside = True
            try:
                return self._around(FunctionCall(function, arguments, keywords, original))
            finally:
                self._thread.is_inside = False

        return Hook(target, call)

    def _is_outermost(self) -> bool:
        return not getattr(self._thread, "is_inside", False) and context.executing_eagerly()
