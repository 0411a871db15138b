"""Registers which tensors of graphs are gradients of which variables, and of which losses they are gradients.

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
from tensorflow.python.framework.tensor import Tensor
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
        self._lock = threading.Lock()  # guards _handles and _losses
        # For each graph and tensor number, the ids of the handles of variables.
        self._handles: weakref.WeakKeyDictionary[TfGraph, dict[int, list[int]]] = weakref.WeakKeyDictionary()
        # The numbers of the losses of each graph.
        self._losses: weakref.WeakKeyDictionary[TfGraph, set[int]] = weakref.WeakKeyDictionary()
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

    def is_loss(self, tensor: TfTensor) -> bool:
        """Whether gradients of a tensor of a graph were asked for, with respect to variables."""
        return ops.tensor_id(tensor) in self._losses.get(tensor.graph, ())

    @hidden
    def _tape_gradients(
        self, tape: object, target: Nested, sources: Nested, *args: object, **kwargs: object
    ) -> Nested:
        gradients = self._of_tape.original(tape, target, sources, *args, **kwargs)
        self._note(target, sources, gradients, None)
        return gradients

    @hidden
    def _graph_gradients(self, ys: Nested, xs: Nested, *args: object, **kwargs: Any) -> Nested:
        gradients = self._of_graph.original(ys, xs, *args, **kwargs)
        self._note(ys, xs, gradients, kwargs.get("src_graph"))
        return gradients

    def _note(self, targets: Nested, sources: Nested, gradients: Nested, forward: TfGraph | None) -> None:
        if forward is not None:
            self._layers.note_gradient(ops.get_default_graph(), forward)
        try:
            pairs = zip(_listed(sources), _listed(gradients), strict=False)
            of_variables = [self._note_gradient(source, gradient) for source, gradient in pairs]
            # The outputs of a function whose gradient TensorFlow makes are no losses.
            if forward is None and any(of_variables):
                self._note_losses(targets)
        except Exception as error:  # the program must not see any error
            _log.debug("The variables of these gradients are not recorded:", exc_info=error)

    def _note_gradient(self, source: ops.Tensor, gradient: ops.Tensor | IndexedSlices | None) -> bool:
        """Store whose gradient a tensor is; whether it is that of a variable."""
        if isinstance(gradient, IndexedSlices):
            gradient = gradient.values
        if gradient is None or isinstance(gradient, ops.EagerTensor):
            return False
        handle = captured_handle(getattr(source, "handle", source))
        if handle is None:
            return False
        with self._lock:
            handles = self._handles.setdefault(gradient.graph, {}).setdefault(ops.tensor_id(gradient), [])
            if handle not in handles:
                handles.append(handle)
        return True

    def _note_losses(self, targets: Nested) -> None:
        for target in _listed(targets):
            if isinstance(target, Tensor) and not isinstance(target, ops.EagerTensor):
                with self._lock:
                    self._losses.setdefault(target.graph, set()).add(ops.tensor_id(target))


def _listed(values: Nested) -> Iterable[object]:
    return values if isinstance(values, (list, tuple)) else nest.flatten(values)
