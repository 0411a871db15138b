"""Finds the paths of Keras 2's layers: `tf_keras`, which is also `tf.keras` with TF_USE_LEGACY_KERAS.

A layer of Keras 2 only has its own name. Its path begins with the names of the layers and models that hold
it, as in Keras 3.
"""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Iterable, Sequence
from typing import Protocol

from tb_debugger_plugin.capture.graph.objects import of_types, with_subclasses
from tb_debugger_plugin.capture.tf_types import TfVariable


class Layer(Protocol):
    """A layer or a model of Keras 2."""

    name: str
    _trainable_weights: Sequence[TfVariable]
    _non_trainable_weights: Sequence[TfVariable]

    def _flatten_layers(self, *, recursive: bool, include_self: bool) -> Iterable[Layer]: ...


def layer_types() -> set[type]:
    """Return the types of all layers and models of Keras 2; empty when it is not imported."""
    layers = getattr(sys.modules.get("tf_keras"), "layers", None)
    return with_subclasses(getattr(layers, "Layer", None))


def running() -> Layer | None:
    """Return the innermost layer of Keras 2 that runs in this thread; None when there is none."""
    state = getattr(sys.modules.get("tf_keras.src.engine.base_layer_utils"), "_call_context", None)
    context = getattr(state, "call_context", None)
    return None if context is None else context.layer


class Keras2Paths:
    """The paths of layers, found when they are first needed. Holds only weak references to layers."""

    def __init__(self) -> None:
        self._paths: dict[int, tuple[weakref.ref[Layer], str]] = {}
        self._outermost: list[weakref.ref[Layer]] = []

    def path(self, layer: Layer) -> str:
        """Return the path of a layer."""
        if not self._knows(layer):
            # Most new layers are in a known model; otherwise all objects of the program are searched.
            self.learn(filter(None, [outermost() for outermost in self._outermost]))
        if not self._knows(layer):
            self.learn(of_types(gc.get_objects(), layer_types()))
        if not self._knows(layer):
            self._paths[id(layer)] = weakref.ref(layer), layer.name
        return self._paths[id(layer)][1]

    def learn(self, layers: Iterable[Layer]) -> None:
        """Find the paths of some layers and of all layers in them.

        Args:
          layers: Layers of Keras 2.
        """
        layers = list(layers)
        held = {id(inner) for layer in layers for inner in _layers_in(layer)}
        outermost = [layer for layer in layers if id(layer) not in held]
        self._outermost = [weakref.ref(layer) for layer in outermost]
        waiting = [(layer, layer.name) for layer in outermost]
        seen: set[int] = set()
        while waiting:
            layer, path = waiting.pop(0)
            if id(layer) not in seen:
                seen.add(id(layer))
                self._paths[id(layer)] = weakref.ref(layer), path
                waiting += [(inner, f"{path}/{inner.name}") for inner in _layers_in(layer)]

    def _knows(self, layer: Layer) -> bool:
        known = self._paths.get(id(layer))
        return known is not None and known[0]() is layer


def _layers_in(layer: Layer) -> list[Layer]:
    return list(layer._flatten_layers(recursive=False, include_self=False))


def weights_of(layer: Layer) -> list[tuple[str, TfVariable]]:
    """Return a layer's own variables, with their names in the layer."""
    own = [*layer._trainable_weights, *layer._non_trainable_weights]
    return [(weight.name.partition(":")[0].rpartition("/")[2], weight) for weight in own]
