"""Finds the Keras layer of an op.

While a layer runs, Keras keeps it on a stack, so an op that is made then belongs to that layer. The name of
an op is less reliable: TensorFlow adds numbers to name scopes, so that the scope "dense_1" may be that of the
layer "dense". But the ops of a gradient are made later, in a scope with the name of the forward op's scope,
so their layer is found by name.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable, Mapping

from tensorflow.python.framework import func_graph

from tb_debugger_plugin.capture.naming import keras2
from tb_debugger_plugin.capture.naming.keras2 import Keras2Paths
from tb_debugger_plugin.capture.tf_types import FuncGraph, TfGraph
from tb_debugger_plugin.events.tensorflow_names import GRADIENT_SCOPES


def running_layer() -> str:
    """Path of the layer of Keras 3 that runs in this thread; empty when there is none."""
    state = sys.modules.get("keras.src.backend.common.global_state")
    scopes = state and state.get_global_attribute("name_scope_stack")
    if not scopes:
        return ""
    layer_type = sys.modules["keras"].layers.Layer
    path = ""
    parts: list[str] = []
    for scope in scopes:
        if scope.override_parent is not None:
            parts = [part for part in scope.override_parent.split("/") if part]
        parts.append(scope.name)
        if issubclass(type(scope.caller), layer_type):
            path = "/".join(parts)
    return path


class Layers:
    """The layers of the ops of one recording."""

    def __init__(self) -> None:
        self._of_keras2 = Keras2Paths()
        self._noted: weakref.WeakKeyDictionary[TfGraph, dict[str, str]] = weakref.WeakKeyDictionary()
        self._scopes: weakref.WeakKeyDictionary[TfGraph, dict[str, str]] = weakref.WeakKeyDictionary()
        self._forward: weakref.WeakKeyDictionary[TfGraph, weakref.ref[TfGraph]] = weakref.WeakKeyDictionary()

    def note_op(self, graph: TfGraph, op_name: str) -> None:
        """Store the running layer for an op that is being made."""
        noted = self._noted.get(graph)
        if noted is None:
            noted = self._noted[graph] = {}
        noted[op_name] = running_layer() or self._running_of_keras2()

    def _running_of_keras2(self) -> str:
        layer = keras2.running()
        return "" if layer is None else self._of_keras2.path(layer)

    def note_gradient(self, graph: TfGraph, forward: TfGraph) -> None:
        """Store that a graph has gradients of another graph's ops."""
        if graph is not forward:
            self._forward[graph] = weakref.ref(forward)

    def of_ops(self, graph: TfGraph, names: Iterable[str], owners: Mapping[str, str]) -> dict[str, str]:
        """Return the layers of some ops of a graph, by op name; ops without a layer are left out.

        Args:
          graph: A complete graph.
          names: Names of ops that were not in an earlier call.
          owners: The layer of the variable that an op reads, by op name. It is used for graphs that were made
            before the recording.
        """
        noted = self._noted.pop(graph, {}) if names else {}
        scopes = self._scopes.setdefault(graph, {})
        for name in names:
            if name not in noted and name in owners:
                scopes.update(_scope_of_layer(name, owners[name]))
        scopes.update((name.rpartition("/")[0], layer) for name, layer in noted.items() if layer)
        layers = {name: noted.get(name) or self._by_scope(graph, name, name in noted) for name in names}
        return {name: layer for name, layer in layers.items() if layer}

    def _by_scope(self, graph: TfGraph, name: str, was_noted: bool) -> str:
        plain = GRADIENT_SCOPES.sub("", name)
        if plain != name:
            layers = (self._nearest(related, plain) for related in self._related(graph))
            return next(filter(None, layers), "")
        return "" if was_noted else self._nearest(graph, name)

    def _related(self, graph: TfGraph) -> list[FuncGraph]:
        """Return the graph, the graphs whose gradients it has, and their outer graphs."""
        related: list[FuncGraph] = []
        waiting: list[TfGraph | None] = [graph]
        while waiting:
            candidate = waiting.pop(0)
            if isinstance(candidate, func_graph.FuncGraph) and candidate not in related:
                related.append(candidate)
                forward = self._forward.get(candidate)
                waiting += [forward() if forward else None, candidate.outer_graph]
        return related

    def _nearest(self, graph: TfGraph, name: str) -> str:
        scopes = self._scopes.get(graph, {})
        scope = name.rpartition("/")[0]
        while scope:
            if scope in scopes:
                return scopes[scope]
            scope = scope.rpartition("/")[0]
        return ""


def _scope_of_layer(op_name: str, layer: str) -> dict[str, str]:
    """Return the name scope of a layer, from an op in it: the layer's name, possibly with a number."""
    last = layer.rpartition("/")[2]
    parts = op_name.split("/")[:-1]
    for end in range(len(parts), 0, -1):
        stem, _, number = parts[end - 1].rpartition("_")
        if parts[end - 1] == last or (stem == last and number.isdigit()):
            return {"/".join(parts[:end]): layer}
    return {}
