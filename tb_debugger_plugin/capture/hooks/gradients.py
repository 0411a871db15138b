"""Hooks of the two functions in which TensorFlow makes gradients.

Its code looks both up in a module: `imperative_grad` for tapes, and `_GradientsHelper` for `tf.gradients` and
backward functions.

Invariants: after `remove()` both functions are TensorFlow's own again. The hooks are on the stack while ops
of gradients are made, but error messages do not show them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tb_debugger_plugin.capture.hooks.hook import GRAPH_GRADIENTS, TAPE_GRADIENTS, Hook, hidden
from tb_debugger_plugin.capture.tf_types import TfGraph

#: Tensors, variables or gradients: one, or several in lists, tuples and dicts.
Nested: TypeAlias = Any
#: Takes the tensors or variables for which gradients were made, the gradients, and the graph of the forward
#: ops if it is another one. It must not raise.
OnGradients: TypeAlias = Callable[[Nested, Nested, TfGraph | None], None]


class GradientHooks:
    """Sees each gradient that TensorFlow makes, from the constructor to `remove()`.

    Args:
      on_gradients: Called after the gradients were made.
    """

    def __init__(self, on_gradients: OnGradients) -> None:
        self._on_gradients = on_gradients
        self._of_tape = Hook(TAPE_GRADIENTS, self._tape_gradients)
        self._of_graph = Hook(GRAPH_GRADIENTS, self._graph_gradients)
        self._of_tape.install()
        self._of_graph.install()

    def remove(self) -> None:
        """Put TensorFlow's functions back."""
        self._of_tape.remove()
        self._of_graph.remove()

    @hidden
    def _tape_gradients(
        self, tape: Any, target: Nested, sources: Nested, *args: Any, **kwargs: Any
    ) -> Nested:
        gradients = self._of_tape.original(tape, target, sources, *args, **kwargs)
        self._on_gradients(sources, gradients, None)
        return gradients

    @hidden
    def _graph_gradients(self, ys: Nested, xs: Nested, *args: Any, **kwargs: Any) -> Nested:
        gradients = self._of_graph.original(ys, xs, *args, **kwargs)
        self._on_gradients(xs, gradients, kwargs.get("src_graph"))
        return gradients
