"""Names the program's variables, and finds the tensors of a graph that are handles of variables.

A graph captures a variable's handle: it has a placeholder for the handle itself, or for a placeholder of the
outer graph. Takes graphs and returns the paths of the variables of their resource tensors, such as
"dense_1/kernel".

Invariants: a variable is identified by the id of its handle, which TensorFlow never gives to another tensor.
No variable is kept alive.
"""

from __future__ import annotations

import gc
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Protocol, TypeAlias, TypeGuard, TypeVar

import tensorflow as tf
from tensorflow.python.framework import func_graph, ops
from tensorflow.python.ops import resource_variable_ops
from tensorflow.python.trackable import data_structures

from tb_debugger_plugin.capture.graph.called import function_attributes
from tb_debugger_plugin.capture.graph.objects import of_types, with_subclasses
from tb_debugger_plugin.capture.naming import keras2
from tb_debugger_plugin.capture.naming.keras2 import Keras2Paths
from tb_debugger_plugin.capture.tf_types import EagerTensor, FuncGraph, TfGraph, TfTensor, TfVariable

_VARIABLE = resource_variable_ops.BaseResourceVariable
#: The wrappers in which modules keep dicts and tuples.
_WRAPPERS = (data_structures._DictWrapper, data_structures._TupleWrapper)
#: TensorFlow's name of a variable without a name.
_NO_NAME = "Variable:0"
#: Most modules that are searched: in a program with more, the search would take too long.
_MOST_MODULES = 1000
#: Ops that pass on a handle unchanged.
_PASSES_ON_HANDLE = frozenset(("Identity", "Enter", "Switch"))
_log = logging.getLogger("tb_debugger_plugin")
_Thing = TypeVar("_Thing")
_Result = TypeVar("_Result")
#: Names of attributes, indices and keys, from the outside inwards.
_Path: TypeAlias = tuple[str, ...]


class _Layer(Protocol):
    """A layer of Keras 3."""

    name: str
    path: str | None
    _parent_path: str | None


class VariablePaths:
    """The variables of one recording, by the ids of their handles. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards the following fields
        self._names: dict[int, str] = {}
        self._searched: set[int] = set()
        self._layers: set[str] = set()

    def name(self, handle: int) -> str:
        """Return the path of the variable with a handle; empty when there is none, or none was searched."""
        return self._names.get(handle, "")

    def is_layer(self, path: str) -> bool:
        """Whether a Keras layer had this path when the program's objects were last searched."""
        return path in self._layers

    def find_used_by(self, graph: FuncGraph) -> None:
        """Find the names of the variables that a graph uses.

        Keras's path of a variable is in an object to which the variable has no reference, so all objects of
        the program are searched, some 50 ms for a million. That is done for variables that are new since the
        last search, and for other handles only when an outermost graph has them: graphs that make variables
        are inside others.

        Args:
          graph: A complete graph.
        """
        used = [variable for variable in _watched(graph) if variable is not None]
        handles = {handle for variable in used for handle in _handles(variable)}
        if not isinstance(graph.outer_graph, func_graph.FuncGraph):
            handles |= {outer._id for outer, inner in graph.captures if _is_eager_handle(outer)}
        with self._lock:
            new = handles - self._searched
            if new:
                self._searched |= handles
                self._search_objects()

    def _search_objects(self) -> None:
        kinds = (_VARIABLE, tf.Module, *_keras_types())
        variables, modules, keras_variables, layers = map(with_subclasses, kinds)
        of_keras2 = keras2.layer_types()
        objects = of_types(gc.get_objects(), variables | modules | keras_variables | layers | of_keras2)
        for thing in of_types(objects, variables):
            self._names.update(_named(thing, lambda variable: variable.name.partition(":")[0]))
        self._layers.update(
            path for layer in of_types(objects, layers) for path in _result_of(_path_of_layer, layer)
        )
        # Keras's own path of a variable, and its path in a module, are clearer than TensorFlow's name.
        self._names.update(_paths_in_modules(of_types(objects, modules)))
        for thing in of_types(objects, keras_variables):
            self._names.update(_named(thing, lambda variable: variable.path))
        self._add_names_of_keras2(of_types(objects, of_keras2))

    def _add_names_of_keras2(self, layers: list[keras2.Layer]) -> None:
        paths = Keras2Paths()
        _result_of(paths.learn, layers)
        for layer in layers:
            for path, weights in _result_of(
                lambda layer: (paths.path(layer), keras2.weights_of(layer)), layer
            ):
                self._layers.add(path)
                for name, weight in weights:
                    self._names.update(dict.fromkeys(_handles(weight), f"{path}/{name}"))


def _result_of(function: Callable[[_Thing], _Result], thing: _Thing) -> list[_Result]:
    """Return the result of a function of an object of the program; empty when its code raises."""
    try:
        return [function(thing)]
    except Exception as error:  # the other objects still get names
        _log.debug("A %s has no name:", type(thing).__name__, exc_info=error)
        return []


def _named(variable: TfVariable, name: Callable[[Any], str]) -> dict[int, str]:
    return {handle: path for path in _result_of(name, variable) for handle in _handles(variable)}


def _paths_in_modules(modules: list[tf.Module]) -> dict[int, str]:
    """Return the paths of variables without a name: attributes from the outermost `tf.Module` inwards."""
    paths: dict[int, _Path] = {}
    for module in modules[:_MOST_MODULES]:
        for path, variable in chain.from_iterable(_result_of(_variables_without_a_name, module)):
            for handle in _handles(variable):
                paths[handle] = max(paths.get(handle, ()), path, key=len)
    return {handle: "/".join(path) for handle, path in paths.items()}


def _variables_without_a_name(module: tf.Module) -> list[tuple[_Path, TfVariable]]:
    """Return the variables in a module, with paths. Objects on a path are identified by type only."""
    variables: list[tuple[_Path, TfVariable]] = []
    seen: set[int] = set()
    waiting: deque[tuple[_Path, Any]] = deque([((str(module.name),), module)])
    while waiting:
        path, thing = waiting.popleft()
        if issubclass(type(thing), _VARIABLE):
            if thing.name == _NO_NAME:
                variables.append((path, thing))
        elif id(thing) not in seen:
            seen.add(id(thing))
            waiting.extend(((*path, str(key)), part) for key, part in _parts(thing))
    return variables


def _parts(thing: Any) -> Iterable[tuple[object, object]]:
    """Return the parts of a module, list, tuple or dict, each with its attribute name, index or key."""
    kind = type(thing)
    if kind in _WRAPPERS:
        thing = thing.__wrapped__
        kind = type(thing)
    if issubclass(kind, tf.Module):
        return [item for item in vars(thing).items() if item[0] not in kind._TF_MODULE_IGNORED_PROPERTIES]
    if issubclass(kind, dict):
        return list(dict.items(thing))
    return enumerate(thing) if issubclass(kind, (list, tuple)) else ()


def _watched(graph: FuncGraph) -> Iterator[TfVariable | None]:
    # The first while a graph is built, the second afterwards.
    yield from (reference() for reference in graph._weak_variables)
    yield from graph._watched_variables


def _handles(variable: TfVariable) -> list[int]:
    """Return the ids of the handles of a variable: Keras's, TensorFlow's, or one of several components."""
    inner = getattr(variable, "_value", variable)
    parts = getattr(inner, "_values", None) or [inner]
    handles = [getattr(part, "_handle", None) for part in parts]
    return [handle._id for handle in handles if _is_eager_handle(handle)]


def _is_eager_handle(tensor: object) -> TypeGuard[EagerTensor]:
    return isinstance(tensor, ops.EagerTensor) and tensor.dtype == tf.resource


def _keras_types() -> tuple[type | None, type | None]:
    """Return Keras's variable and layer classes; None without Keras 3."""
    keras = sys.modules.get("keras")
    variable = getattr(keras, "Variable", None)
    layer = getattr(getattr(keras, "layers", None), "Layer", None)
    # Keras 2 has no variables of its own, and layers without a path: see `keras2`.
    return (None, None) if variable is None else (variable, layer)


def _path_of_layer(layer: _Layer) -> str:
    """Return the path of a Keras layer; empty when it was not built."""
    if hasattr(layer, "path"):
        return str(layer.path or "")
    # Up to Keras 3.3 a layer only has the path of its parent, once it has run.
    return "" if layer._parent_path is None else "/".join(filter(None, (layer._parent_path, layer.name)))


def captured_handle(tensor: EagerTensor | TfTensor) -> int | None:
    """Return the id of the eager handle that a resource tensor is or captures, or None.

    Args:
      tensor: An eager tensor, or a tensor of a `FuncGraph`, which captures it from its outer graphs.
    """
    while not isinstance(tensor, ops.EagerTensor):
        graph = getattr(tensor, "graph", None)
        if not isinstance(graph, func_graph.FuncGraph):
            return None
        outer = [outer for outer, inner in graph.captures if inner is tensor]
        if not outer:
            return None
        tensor = outer[0]
    return int(tensor._id)


def handles_by_op(graph: FuncGraph) -> dict[str, int]:
    """Return the variables that the ops of a graph represent, read or assign: ids of handles by op name.

    Args:
      graph: A complete graph.

    Returns:
      The first variable of each op. Ops that call functions have none.
    """
    tensors = _captured(graph)
    handles = {}
    for op in graph.get_operations():
        for tensor in (*op.outputs[:1], *op.inputs):
            handle = tensors.get(ops.tensor_id(tensor))
            if handle is not None and not function_attributes(op.type):
                handles[op.name] = handle
                if op.type in _PASSES_ON_HANDLE:
                    tensors[ops.tensor_id(op.outputs[0])] = handle
                break
    return handles


def _captured(graph: TfGraph) -> dict[int, int]:
    """Return the ids of the captured handles, by the numbers of their placeholders."""
    if not isinstance(graph, func_graph.FuncGraph):
        return {}
    handles = {}
    outer_handles: dict[int, int] | None = None
    for outer, inner in graph.captures:
        if inner.dtype != tf.resource:
            continue
        if isinstance(outer, ops.EagerTensor):
            handles[ops.tensor_id(inner)] = outer._id
            continue
        if outer_handles is None:
            outer_handles = _captured(graph.outer_graph)
        if ops.tensor_id(outer) in outer_handles:
            handles[ops.tensor_id(inner)] = outer_handles[ops.tensor_id(outer)]
    return handles
