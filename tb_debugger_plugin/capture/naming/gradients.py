"""Registers which tensors of graphs are gradients of which variables.

Hooks the two functions in which TensorFlow makes gradients. Its code looks both up in a module:
`imperative_grad` for tapes, and `_GradientsHelper` for `tf.gradients` and backward functions.

Invariants: no error of this module reaches the program. After `remove()` both functions are TensorFlow's own
again. The hooks are on the stack while ops of gradients are made, but error messages do not show them.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Iterable
from typing import Any, TypeAlias

from tensorflow.python.framework import ops
from tensorflow.python.framework.indexed_slices import IndexedSlices
from tensorflow.python.util import nest

from tb_debugger_plugin.capture.hooks.hook import GRAPH_GRADIENTS, TAPE_GRADIENTS, Hook, hidden
from tb_debugger_plugin.capture.naming.layers import Layers
from tb_debugger_plugin.capture.naming.variables import captured_handle
from tb_debugger_plugin.capture.tf_types import TfGraph, TfTensor

#: Tensors, variables or gradients: one, or several in lists, tuples and dicts.
Nested: TypeAlias = object
_log = logging.getLogger("tb_debugger_plugin")


class Gradients:
    """The gradients that TensorFlow has made, from the constructor to `remove()`.

    Args:
      layers: Registers each graph with gradients of another graph, and that graph.
    """

    def __init__(self, layers: Layers) -> None:
        self._layers = layers
        self._lock = threading.Lock()  # guards _handles
        # For each graph and tensor number, the ids of the handles of variables.
        self._handles: weakref.WeakKeyDictionary[TfGraph, dict[int, list[int]]] = weakref.WeakKeyDictionary()
        self._of_tape = Hook(TAPE_GRADIENTS, self._tape_gradients)
        self._of_graph = Hook(GRAPH_GRADIENTS, self._graph_gradients)
        self._of_tape.install()
        self._of_graph.install()

    def remove(self) -> None:
        """Put TensorFlow's functions back."""
        self._of_tape.remove()
        self._of_graph.remove()

    def handles(self, tensor: TfTensor) -> list[int]:
        """Return the ids of the handles of the variables whose gradient a tensor is.

        Args:
          tensor: A tensor of a graph.
        """
        return self._handles.get(tensor.graph, {}).get(ops.tensor_id(tensor), [])

    @hidden
    def _tape_gradients(
        self, tape: object, target: Nested, sources: Nested, *args: object, **kwargs: object
    ) -> Nested:
        gradients = self._of_tape.original(tape, target, sources, *args, **kwargs)
        self._note(sources, gradients, None)
        return gradients

    @hidden
    def _graph_gradients(self, ys: Nested, xs: Nested, *args: object, **kwargs: Any) -> Nested:
        gradients = self._of_graph.original(ys, xs, *args, **kwargs)
        self._note(xs, gradients, kwargs.get("src_graph"))
        return gradients

    def _note(self, sources: Nested, gradients: Nested, forward: TfGraph | None) -> None:
        if forward is not None:
            self._layers.note_gradient(ops.get_default_graph(), forward)
        try:
            for source, gradient in zip(_listed(sources), _listed(gradients), strict=False):
                self._note_gradient(source, gradient)
        except Exception as error:  # the program must not see any error
            _log.debug("The variables of these gradients are not recorded:", exc_info=error)

    def _note_gradient(self, source: ops.Tensor, gradient: ops.Tensor | IndexedSlices | None) -> None:
        if isinstance(gradient, IndexedSlices):
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


def _listed(values: Nested) -> Iterable[object]:
    return values if isinstance(values, (list, tuple)) else nest.flatten(values)
