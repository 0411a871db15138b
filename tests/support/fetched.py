"""An oracle for graphs: computes all tensors of a graph without a recorder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import tensorflow as tf

from tb_debugger_plugin.capture.tf_types import FuncGraph, TfOp

#: Ops whose output is one of their inputs; the recorder does not watch them.
PASSES_ON = {"Identity", "Enter", "Exit", "Merge", "NextIteration", "Switch"}


@contextmanager
def without_graph_optimization() -> Iterator[None]:
    """Runs functions without Grappler, which fuses ops and reorders sums if no tensor is watched."""
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    try:
        yield
    finally:
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})


def fetched(
    concrete: tf.types.experimental.ConcreteFunction, *arguments: npt.ArrayLike
) -> dict[tuple[str, int], np.ndarray]:
    """Returns the values of the floating and complex tensors that a call computes, by op name and slot.

    Args:
      concrete: A `ConcreteFunction` whose graph changes no state.
      *arguments: Flat tensors, in the order of its placeholders.
    """
    graph = concrete.graph
    tensors = [
        tensor
        for op in _that_run(graph)
        if op.type not in PASSES_ON
        for tensor in op.outputs
        if tensor.dtype.is_floating or tensor.dtype.is_complex
    ]
    names = [tensor.name for tensor in graph.inputs]
    inputs = [*map(tf.convert_to_tensor, arguments), *concrete.captured_inputs]
    copy = graph.as_graph_def()

    @tf.function(autograph=False)
    def everything(*values: tf.Tensor) -> list[tf.Tensor]:
        return tf.graph_util.import_graph_def(
            copy,
            input_map=dict(zip(names, values, strict=True)),
            return_elements=[tensor.name for tensor in tensors],
            name="",
        )

    return {
        (tensor.op.name, tensor.value_index): value.numpy()
        for tensor, value in zip(tensors, everything(*inputs), strict=True)
    }


def _that_run(graph: FuncGraph) -> list[TfOp]:
    """Returns the ops that a result or a side effect needs, in the order in which they were made."""
    needed: set[TfOp] = set()
    waiting = [*graph.control_outputs, *(tensor.op for tensor in graph.outputs)]
    while waiting:
        op = waiting.pop()
        if op not in needed:
            needed.add(op)
            waiting += [*op.control_inputs, *(tensor.op for tensor in op.inputs)]
    return [op for op in graph.get_operations() if op in needed]
