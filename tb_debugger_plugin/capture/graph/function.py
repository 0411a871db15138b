"""Describes and finds the functions of the runtime.

A TensorFlow function is a name in the runtime with a definition made from a `FuncGraph`. A graph may get more
inputs and outputs after a function was made from it (a function and its forward function share a graph), so a
`Function` keeps the names of the inputs and outputs that it was made with.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import atomic_function, attributes
from tensorflow.python.framework import func_graph

from tb_debugger_plugin.capture.graph.objects import of_types, with_subclasses
from tb_debugger_plugin.capture.tf_types import (
    AtomicFunction,
    AttrValue,
    FuncGraph,
    FunctionAttributes,
    TfOp,
    TfTensor,
)


@dataclass(frozen=True)
class Function:
    """A function of the program.

    Attributes:
      name: Its name in the runtime.
      graph_of: Returns the graph it was made from; None when graph and function were deleted.
      attrs: The attributes of its definition, by name.
      inputs: Names of its argument tensors.
      outputs: Names of its result tensors.
      control_outputs: Names of the ops that run without a result.
    """

    name: str
    graph_of: Callable[[], FuncGraph | None]
    attrs: Mapping[str, AttrValue]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    control_outputs: tuple[str, ...]

    @property
    def graph(self) -> FuncGraph:
        """The graph it was made from. Only for a function that still has it."""
        graph = self.graph_of()
        assert graph is not None, "the function was deleted"
        return graph

    @property
    def is_compiled(self) -> bool:
        """Whether XLA compiles it. XLA has no kernel for the watch ops."""
        value = self.attrs.get(attributes.XLA_COMPILE)
        return value is not None and bool(value.b)

    def result_tensors(self) -> list[TfTensor]:
        """Return its results, as tensors of its graph."""
        graph = self.graph
        return [graph.get_tensor_by_name(name) for name in self.outputs]

    def control_ops(self) -> list[TfOp]:
        """Return the ops of its graph that run without a result."""
        graph = self.graph
        return [graph.get_operation_by_name(name) for name in self.control_outputs]


def new_function(name: str, graph: FuncGraph, attrs: FunctionAttributes) -> Function:
    """Return the function that `from_func_graph` has made from these arguments.

    Args:
      name: Name of the function.
      graph: Its graph.
      attrs: The attributes that `from_func_graph` takes.
    """
    return Function(
        name,
        weakref.ref(graph),
        attributes.parse_func_attrs(dict(attrs or {})),
        tuple(tensor.name for tensor in graph.inputs),
        tuple(tensor.name for tensor in graph.outputs),
        tuple(op.name for op in graph.control_outputs),
    )


def existing_functions(objects: Iterable[object]) -> Iterator[tuple[Function, AtomicFunction]]:
    """Find the functions that the program has made and can still call.

    Yields each function with the object that keeps it in the runtime while the caller uses it.

    Args:
      objects: The objects that Python's garbage collector knows.
    """
    runtime = context.context()
    for atomic in of_types(objects, with_subclasses(atomic_function.AtomicFunction)):
        graph = atomic._cached_graph
        if isinstance(graph, func_graph.FuncGraph) and runtime.has_function(atomic.name):
            yield _from_definition(atomic, graph), atomic


def _from_definition(function: AtomicFunction, graph: FuncGraph) -> Function:
    # A graph appends the inputs and outputs that it gets later.
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
