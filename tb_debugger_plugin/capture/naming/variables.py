"""Names of the program's variables, and which tensors of a graph hold one.

A graph takes a variable's handle from outside: as a placeholder for the handle itself, or for that of the
graph around it. In come graphs, out come the paths of the variables behind their resource tensors, such as
"dense_1/kernel".

Rule: a variable is known by the id of its handle, which TensorFlow never gives to another tensor; no variable
is kept alive.
"""

from __future__ import annotations

import gc
import itertools
import sys
import threading
from collections.abc import Iterator
from typing import Any

import tensorflow as tf
from tensorflow.python.framework import func_graph, ops
from tensorflow.python.ops import resource_variable_ops

from tb_debugger_plugin.capture.functions.called import function_attributes

_VARIABLE = resource_variable_ops.BaseResourceVariable
#: What TensorFlow calls a variable that was given no name.
_NO_NAME = "Variable:0"
#: A program that keeps more modules than that would be searched through for too long.
_MOST_MODULES = 1000
#: Ops that hand a handle on as it is.
_PASSED_ON = frozenset(("Identity", "Enter", "Switch"))


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
        variables, modules, keras_variables, layers = map(_with_subclasses, kinds)
        wanted = variables | modules | keras_variables | layers
        # Not isinstance, which is slow, and asks proxies for what they stand for.
        objects = gc.get_objects()
        found = list(itertools.compress(objects, map(wanted.__contains__, map(type, objects))))
        del objects
        for thing in found:
            if type(thing) in variables:
                self._names.update(dict.fromkeys(_handles(thing), thing.name.partition(":")[0]))
            elif type(thing) in layers:
                self._layers.add(_path_of_layer(thing))
        # Keras's own path of a variable, and where it stands in a module, say more than TensorFlow's name.
        self._names.update(_paths_in_modules([thing for thing in found if type(thing) in modules]))
        for thing in found:
            if type(thing) in keras_variables:
                self._names.update(dict.fromkeys(_handles(thing), thing.path))


def _paths_in_modules(modules: list[Any]) -> dict[int, str]:
    """Where variables without a name stand: attributes from the outermost `tf.Module` inwards."""
    found: dict[int, tuple[str, ...]] = {}
    for module in modules[:_MOST_MODULES]:
        for path, variable in module._flatten(predicate=_has_no_name, with_path=True):
            whole = (module.name, *map(str, path))
            for handle in _handles(variable):
                found[handle] = max(found.get(handle, ()), whole, key=len)
    return {handle: "/".join(path) for handle, path in found.items()}


def _has_no_name(thing: Any) -> bool:
    return isinstance(thing, _VARIABLE) and thing.name == _NO_NAME


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


def _with_subclasses(kind: Any) -> set[Any]:
    found = set()
    waiting = [] if kind is None else [kind]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += type.__subclasses__(one)
    return found


def _keras_types() -> tuple[Any, Any]:
    """Keras's variable and layer; None where there is no Keras 3."""
    keras = sys.modules.get("keras")
    variable = getattr(keras, "Variable", None)
    layer = getattr(getattr(keras, "layers", None), "Layer", None)
    # Keras 2 has no variables of its own, and layers without a path.
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
