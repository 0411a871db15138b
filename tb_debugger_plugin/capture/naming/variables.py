"""Names of the program's variables, and which tensors of a graph hold one.

A graph takes a variable's handle from outside: as a placeholder for the handle itself, or for that of the
graph around it. In come graphs, out come the paths of the variables behind their resource tensors, such as
"dense_1/kernel".

Rule: a variable is known by the id of its handle, which TensorFlow never gives to another tensor; no variable
is kept alive.
"""

from __future__ import annotations

import gc
import logging
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, TypeVar

import tensorflow as tf
from tensorflow.python.framework import func_graph, ops
from tensorflow.python.ops import resource_variable_ops
from tensorflow.python.trackable import data_structures

from tb_debugger_plugin.capture.functions.called import function_attributes
from tb_debugger_plugin.capture.naming import keras2
from tb_debugger_plugin.capture.naming.keras2 import Keras2Paths
from tb_debugger_plugin.capture.objects import of_types, with_subclasses

_VARIABLE = resource_variable_ops.BaseResourceVariable
#: In what modules keep the dicts and tuples that they are given.
_WRAPPERS = (data_structures._DictWrapper, data_structures._TupleWrapper)
#: What TensorFlow calls a variable that was given no name.
_NO_NAME = "Variable:0"
#: A program that keeps more modules than that would be searched through for too long.
_MOST_MODULES = 1000
#: Ops that hand a handle on as it is.
_PASSED_ON = frozenset(("Identity", "Enter", "Switch"))
_log = logging.getLogger("tb_debugger_plugin")
_Answer = TypeVar("_Answer")


class Variables:
    """The variables of one recording, by the ids of their handles. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()  # guards what follows
        self._names: dict[int, str] = {}
        self._asked: set[int] = set()
        self._layers: set[str] = set()

    def name(self, handle: int) -> str:
        """The path of the variable with a handle; empty when there is none, or it was never looked for."""
        return self._names.get(handle, "")

    def is_layer(self, path: str) -> bool:
        """Whether a Keras layer had this path when the program's objects were last looked through."""
        return path in self._layers

    def look_for_those_of(self, graph: Any) -> None:
        """Learn the names of the variables that a graph uses.

        Keras's path of a variable stands in an object that the variable does not know, so all objects of the
        program are looked through, some 50 ms for a million. That is done for variables that were not there
        the last time, and for other handles only when an outermost graph has them: graphs that make variables
        are inside.

        Args:
          graph: A `FuncGraph`.
        """
        used = [variable for variable in _watched(graph) if variable is not None]
        handles = {handle for variable in used for handle in _handles(variable)}
        if not isinstance(graph.outer_graph, func_graph.FuncGraph):
            handles |= {outer._id for outer, inner in graph.captures if _is_eager_handle(outer)}
        with self._lock:
            new = handles - self._asked
            if new:
                self._asked |= handles
                self._look_through_objects()

    def _look_through_objects(self) -> None:
        kinds = (_VARIABLE, tf.Module, *_keras_types())
        variables, modules, keras_variables, layers = map(with_subclasses, kinds)
        of_keras2 = keras2.layer_types()
        found = of_types(gc.get_objects(), variables | modules | keras_variables | layers | of_keras2)
        for thing in of_types(found, variables):
            self._names.update(_named(thing, lambda variable: variable.name.partition(":")[0]))
        self._layers.update(
            path for layer in of_types(found, layers) for path in _asked(_path_of_layer, layer)
        )
        # Keras's own path of a variable, and where it stands in a module, say more than TensorFlow's name.
        self._names.update(_paths_in_modules(of_types(found, modules)))
        for thing in of_types(found, keras_variables):
            self._names.update(_named(thing, lambda variable: variable.path))
        self._look_at_keras2(of_types(found, of_keras2))

    def _look_at_keras2(self, layers: list[Any]) -> None:
        paths = Keras2Paths()
        _asked(paths.learn, layers)
        for layer in layers:
            for path, weights in _asked(lambda one: (paths.path(one), keras2.weights_of(one)), layer):
                self._layers.add(path)
                for name, weight in weights:
                    self._names.update(dict.fromkeys(_handles(weight), f"{path}/{name}"))


def _asked(question: Callable[[Any], _Answer], thing: Any) -> list[_Answer]:
    """The answer of one of the program's objects, whose class may be the program's; none when it fails."""
    try:
        return [question(thing)]
    except Exception as error:  # the names of others are still worth having
        _log.debug("A %s has no name:", type(thing).__name__, exc_info=error)
        return []


def _named(variable: Any, name: Callable[[Any], str]) -> dict[int, str]:
    return {handle: found for found in _asked(name, variable) for handle in _handles(variable)}


def _paths_in_modules(modules: list[Any]) -> dict[int, str]:
    """Where variables without a name stand: attributes from the outermost `tf.Module` inwards."""
    found: dict[int, tuple[str, ...]] = {}
    for module in modules[:_MOST_MODULES]:
        for path, variable in chain.from_iterable(_asked(_variables_without_a_name, module)):
            for handle in _handles(variable):
                found[handle] = max(found.get(handle, ()), path, key=len)
    return {handle: "/".join(path) for handle, path in found.items()}


def _variables_without_a_name(module: Any) -> list[tuple[tuple[str, ...], Any]]:
    """The variables in a module, and the paths to them: what stands in the way is known by its type only."""
    found: list[tuple[tuple[str, ...], Any]] = []
    seen: set[int] = set()
    waiting: deque[tuple[tuple[str, ...], Any]] = deque([((str(module.name),), module)])
    while waiting:
        path, thing = waiting.popleft()
        if issubclass(type(thing), _VARIABLE):
            if thing.name == _NO_NAME:
                found.append((path, thing))
        elif id(thing) not in seen:
            seen.add(id(thing))
            waiting.extend(((*path, str(key)), part) for key, part in _parts(thing))
    return found


def _parts(thing: Any) -> Iterable[tuple[Any, Any]]:
    """What stands in a module, or a list, tuple or dict in one, each with its attribute, place or key."""
    kind = type(thing)
    if kind in _WRAPPERS:
        thing = thing.__wrapped__
        kind = type(thing)
    if issubclass(kind, tf.Module):
        return [item for item in vars(thing).items() if item[0] not in kind._TF_MODULE_IGNORED_PROPERTIES]
    if issubclass(kind, dict):
        return list(dict.items(thing))
    return enumerate(thing) if issubclass(kind, (list, tuple)) else ()


def _watched(graph: Any) -> Iterator[Any]:
    # While a graph is built they stand in the one, afterwards in the other.
    yield from (reference() for reference in graph._weak_variables)
    yield from graph._watched_variables


def _handles(variable: Any) -> list[int]:
    """Ids of the handles of a variable: Keras's, TensorFlow's, or one of several components."""
    inner = getattr(variable, "_value", variable)
    parts = getattr(inner, "_values", None) or [inner]
    handles: list[Any] = [getattr(part, "_handle", None) for part in parts]
    return [handle._id for handle in handles if _is_eager_handle(handle)]


def _is_eager_handle(tensor: Any) -> bool:
    return isinstance(tensor, ops.EagerTensor) and tensor.dtype == tf.resource


def _keras_types() -> tuple[Any, Any]:
    """Keras's variable and layer; None where there is no Keras 3."""
    keras = sys.modules.get("keras")
    variable = getattr(keras, "Variable", None)
    layer = getattr(getattr(keras, "layers", None), "Layer", None)
    # Keras 2 has no variables of its own, and layers without a path: see `keras2`.
    return (None, None) if variable is None else (variable, layer)


def _path_of_layer(layer: Any) -> str:
    """Where a Keras layer stands; empty when it was not built."""
    if hasattr(layer, "path"):
        return str(layer.path or "")
    # Up to Keras 3.3 a layer only knows what it stands in, once it has run.
    return "" if layer._parent_path is None else "/".join(filter(None, (layer._parent_path, layer.name)))


def captured_handle(tensor: Any) -> int | None:
    """The id of the eager handle that a resource tensor is, or stands for; None when it is none.

    Args:
      tensor: Eager, or of a `FuncGraph`, which takes it from the graphs around it.
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


def handles_by_op(graph: Any) -> dict[str, int]:
    """The variables that the ops of a graph stand for, read or assign: ids of handles by op name.

    Args:
      graph: A complete `FuncGraph`.

    Returns:
      Of an op with several, the first. Ops that call functions have none.
    """
    tensors = _captured(graph)
    found = {}
    for op in graph.get_operations():
        for tensor in (*op.outputs[:1], *op.inputs):
            handle = tensors.get(ops.tensor_id(tensor))
            if handle is not None and not function_attributes(op.type):
                found[op.name] = handle
                if op.type in _PASSED_ON:
                    tensors[ops.tensor_id(op.outputs[0])] = handle
                break
    return found


def _captured(graph: Any) -> dict[int, int]:
    """Handles by the numbers of the placeholders that stand for them."""
    if not isinstance(graph, func_graph.FuncGraph):
        return {}
    found = {}
    outer_found: dict[int, int] | None = None
    for outer, inner in graph.captures:
        if inner.dtype != tf.resource:
            continue
        if isinstance(outer, ops.EagerTensor):
            found[ops.tensor_id(inner)] = outer._id
            continue
        if outer_found is None:
            outer_found = _captured(graph.outer_graph)
        if ops.tensor_id(outer) in outer_found:
            found[ops.tensor_id(inner)] = outer_found[ops.tensor_id(outer)]
    return found
