"""Which tensors of graphs are the gradients of variables.

Both ways of TensorFlow to make gradients pass through one function each, which its code looks up in a module:
tapes through `imperative_grad`, `tf.gradients` and the backward functions of functions through
`_GradientsHelper`. In come what they were asked for and what they gave.

Rules: after `remove()` both are TensorFlow's own again; nothing that goes wrong here reaches the program; and
though our functions are on the stack while ops of gradients are made, error messages do not show them.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from tensorflow.python.eager import imperative_grad
from tensorflow.python.framework import indexed_slices, ops
from tensorflow.python.ops import gradients_util
from tensorflow.python.util import nest

from tb_debugger_plugin.capture.frames import HOOKS
from tb_debugger_plugin.capture.naming.layers import Layers
from tb_debugger_plugin.capture.naming.variables import captured_handle

_log = logging.getLogger("tb_debugger_plugin")
_Hook = TypeVar("_Hook", bound=Callable[..., Any])


def _unseen(hook: _Hook) -> _Hook:
    """Have TensorFlow take a function for one of its own, which it leaves out of error messages."""
    hook.__code__ = hook.__code__.replace(co_filename=HOOKS)
    return hook


class Gradients:
    """Watches gradients being made, from now until `remove()`.

    Args:
      layers: Is told in which graph gradients of which other are made.
    """

    def __init__(self, layers: Layers) -> None:
        self._layers = layers
        self._lock = threading.Lock()  # guards _handles
        # Ids of the variables' handles by the number of the tensor, by graph.
        self._handles: weakref.WeakKeyDictionary[Any, dict[int, list[int]]] = weakref.WeakKeyDictionary()
        self._of_tape = imperative_grad.imperative_grad
        self._of_graph = gradients_util._GradientsHelper
        imperative_grad.imperative_grad = self._tape_gradients
        gradients_util._GradientsHelper = self._graph_gradients

    def remove(self) -> None:
        """Stop watching."""
        if imperative_grad.imperative_grad == self._tape_gradients:
            imperative_grad.imperative_grad = self._of_tape
        if gradients_util._GradientsHelper == self._graph_gradients:
            gradients_util._GradientsHelper = self._of_graph

    def handles(self, tensor: Any) -> list[int]:
        """Ids of the handles of the variables whose gradient a tensor is.

        Args:
          tensor: Of a graph.
        """
        return self._handles.get(tensor.graph, {}).get(ops.tensor_id(tensor), [])

    @_unseen
    def _tape_gradients(self, tape: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        gradients = self._of_tape(tape, target, sources, *args, **kwargs)
        self._note(sources, gradients)
        return gradients

    @_unseen
    def _graph_gradients(self, ys: Any, xs: Any, *args: Any, **kwargs: Any) -> Any:
        gradients = self._of_graph(ys, xs, *args, **kwargs)
        self._note(xs, gradients)
        self._note_forward(kwargs.get("src_graph"))
        return gradients

    def _note_forward(self, forward: Any) -> None:
        if forward is not None:
            self._layers.note_gradient(ops.get_default_graph(), forward)

    def _note(self, sources: Any, gradients: Any) -> None:
        try:
            for source, gradient in zip(_listed(sources), _listed(gradients), strict=False):
                self._note_one(source, gradient)
        except Exception as error:  # whatever it is, the program must not see it
            _log.debug("Whose gradients these are is not recorded:", exc_info=error)

    def _note_one(self, source: Any, gradient: Any) -> None:
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
