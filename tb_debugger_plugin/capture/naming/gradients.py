"""Registers which tensors of graphs are gradients of which variables.

Invariant: no error of this module reaches the program.
"""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Iterable
from typing import Any

from tensorflow.python.framework import indexed_slices, ops
from tensorflow.python.util import nest

from tb_debugger_plugin.capture.hooks.gradients import GradientHooks, Nested
from tb_debugger_plugin.capture.naming.layers import Layers
from tb_debugger_plugin.capture.naming.variables import captured_handle
from tb_debugger_plugin.capture.tf_types import TfGraph, TfTensor

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
        self._hooks = GradientHooks(self._note)

    def remove(self) -> None:
        """Remove the hooks."""
        self._hooks.remove()

    def handles(self, tensor: TfTensor) -> list[int]:
        """Return the ids of the handles of the variables whose gradient a tensor is.

        Args:
          tensor: A tensor of a graph.
        """
        return self._handles.get(tensor.graph, {}).get(ops.tensor_id(tensor), [])

    def _note(self, sources: Nested, gradients: Nested, forward: TfGraph | None) -> None:
        if forward is not None:
            self._layers.note_gradient(ops.get_default_graph(), forward)
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


def _listed(values: Nested) -> Iterable[Any]:
    return values if isinstance(values, (list, tuple)) else nest.flatten(values)
