"""Finds the tensors of graphs that are gradients of variables.

TensorFlow makes gradients in two functions, which its code looks up in a module: `imperative_grad` for tapes,
and `_GradientsHelper` for `tf.gradients` and backward functions. Hooks of both read their arguments and
results.

Invariants: after `remove()` both functions are TensorFlow's own again. No error of this module reaches the
program. The hooks are on the stack while ops of gradients are made, but error messages do not show them.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tensorflow.python.framework import indexed_slices, ops
from tensorflow.python.util import nest

from tb_debugger_plugin.capture.hooks.hook import GRAPH_GRADIENTS, TAPE_GRADIENTS, Hook
from tb_debugger_plugin.capture.naming.layers import Layers
from tb_debugger_plugin.capture.naming.variables import captured_handle
from tb_debugger_plugin.capture.stacks.frames import HOOKS

_log = logging.getLogger("tb_debugger_plugin")
_Hook = TypeVar("_Hook", bound=Callable[..., Any])


def _hidden(hook: _Hook) -> _Hook:
    """Give a hook a file name of TensorFlow, so that TensorFlow leaves it out of error messages."""
    hook.__code__ = hook.__code__.replace(co_filename=HOOKS)
    return hook


class Gradients:
    """Watches TensorFlow make gradients, until `remove()`.

    Args:
      layers: Registers each graph with gradients of another graph, and that graph.
    """

    def __init__(self, layers: Layers) -> None:
        self._layers = layers
        self._lock = threading.Lock()  # guards _handles
        # For each graph and tensor number, the ids of the handles of variables.
        self._handles: weakref.WeakKeyDictionary[Any, dict[int, list[int]]] = weakref.WeakKeyDictionary()
        self._of_tape = Hook(TAPE_GRADIENTS, self._tape_gradients)
        self._of_graph = Hook(GRAPH_GRADIENTS, self._graph_gradients)
        self._of_tape.install()
        self._of_graph.install()

    def remove(self) -> None:
        """Stop watching."""
        self._of_tape.remove()
        self._of_graph.remove()

    def handles(self, tensor: Any) -> list[int]:
        """Ids of the handles of the variables whose gradient a tensor is.

        Args:
          tensor: A tensor of a graph.
        """
        return self._handles.get(tensor.graph, {}).get(ops.tensor_id(tensor), [])

    @_hidden
    def _tape_gradients(self, tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        gradients = self._of_tape.original(tape, target, sources, *args, **kwargs)
        self._note(sources, gradients)
        return gradients

    @_hidden
    def _graph_gradients(self, ys: Any, xs: Any, *args: Any, **kwargs: Any) -> Any:
        gradients = self._of_graph.original(ys, xs, *args, **kwargs)
        self._note(xs, gradients)
        self._note_forward(kwargs.get("src_graph"))
        return gradients

    def _note_forward(self, forward: Any) -> None:
        if forward is not None:
            self._layers.note_gradient(ops.get_default_graph(), forward)

    def _note(self, sources: Any, gradients: Any) -> None:
        try:
            for source, gradient in zip(_listed(sources), _listed(gradients), strict=False):
                self._note_gradient(source, gradient)
        except Exception as error:  # the program must not see any error
            _log.debug("The variables of these gradients are not recorded:", exc_info=error)

    def _note_gradient(self, source: Any, gradient: Any) -> None:
        if isinstance(gradient, indexed_slices.IndexedSlices):
            gradient = gradient.values
        if gradient is None or isinstance(gradient, ops.EagerTensor):
            return
        handle = captured_handle(getattr(source, "handle", source))
        if handle is None:
            return
        with self._lock:
            handles = self._handles.setdefault(gradient.graph, {}).setdefault(ops.tensor_id(gradient), [])
            if handle not in handles:
                handles.append(handle)


def _listed(values: Any) -> Iterable[Any]:
    return values if isinstance(values, (list, tuple)) else nest.flatten(values)
