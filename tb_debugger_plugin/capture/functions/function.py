"""The functions of the runtime: found and remembered.

A TensorFlow function is a name in the runtime with a definition made from a `FuncGraph`. A graph may get more
inputs and outputs after a function was made from it (forward functions of gradients share the graph of the
plain one), so a `Function` keeps the names of those it was made with.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import atomic_function, attributes
from tensorflow.python.framework import func_graph

from tb_debugger_plugin.capture.objects import of_types, with_subclasses


@dataclass(frozen=True)
class Function:
    """A function as it was made.

    Attributes:
      name: In the runtime.
      graph_of: Gives the `FuncGraph` it was made from, or None when that is gone and the function with it.
      attrs: The attributes of its definition: protobufs by name.
      inputs: Names of its argument tensors.
      outputs: Names of its result tensors.
      control_outputs: Names of the ops that run without a result.
    """

    name: str
    graph_of: Callable[[], Any]
    attrs: Mapping[str, attr_value_pb2.AttrValue]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    control_outputs: tuple[str, ...]

    @property
    def is_compiled(self) -> bool:
        """Whether XLA compiles it; it has no kernel for our ops."""
        value = self.attrs.get(attributes.XLA_COMPILE)
        return value is not None and bool(value.b)

    def result_tensors(self) -> list[Any]:
        """Its results, as tensors of its graph."""
        graph = self.graph_of()
        return [graph.get_tensor_by_name(name) for name in self.outputs]

    def control_ops(self) -> list[Any]:
        """The ops that run without a result, of its graph."""
        graph = self.graph_of()
        return [graph.get_operation_by_name(name) for name in self.control_outputs]


def just_made(name: str, graph: Any, attrs: Mapping[str, Any] | None) -> Function:
    """The function that `from_func_graph` has made from its arguments.

    Args:
      name: Of the function.
      graph: The `FuncGraph`.
      attrs: Attributes as `from_func_graph` takes them.
    """
    return Function(
        name,
        weakref.ref(graph),
        attributes.parse_func_attrs(dict(attrs or {})),
        tuple(tensor.name for tensor in graph.inputs),
        tuple(tensor.name for tensor in graph.outputs),
        tuple(op.name for op in graph.control_outputs),
    )


def already_there(objects: Iterable[Any]) -> Iterator[tuple[Function, Any]]:
    """The functions that the program has made so far and can still call.

    Each comes with the object to hold while it is worked on: without it the runtime may drop the function.

    Args:
      objects: Those of the program that Python's garbage collector knows.
    """
    runtime = context.context()
    for found in of_types(objects, with_subclasses(atomic_function.AtomicFunction)):
        graph = found._cached_graph
        if isinstance(graph, func_graph.FuncGraph) and runtime.has_function(found.name):
            yield _as_it_was_made(found, graph), found


def _as_it_was_made(function: Any, graph: Any) -> Function:
    # What a graph gets later comes after what it had.
    definition = function.definition
    num_inputs, num_outputs = len(definition.signature.input_arg), len(definition.signature.output_arg)
    return Function(
        function.name.decode(),
        weakref.ref(graph),
        {
            name: value
            for name, value in definition.attr.items()
            if name in attributes.MONOMORPHIC_FUNCTION_ALLOWLIST
        },
        tuple(tensor.name for tensor in graph.inputs[:num_inputs]),
        tuple(tensor.name for tensor in graph.outputs[:num_outputs]),
        tuple(op.name for op in graph.control_outputs),
    )
