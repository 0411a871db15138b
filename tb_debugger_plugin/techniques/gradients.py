"""Returns the gradients of intermediate tensors beside the results of a function."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import ParamSpec, TypeVar

import tensorflow as tf

from tb_debugger_plugin.capture.tf_types import Array, TfGraph, TfTensor
from tb_debugger_plugin.expressions.names import suggestion
from tb_debugger_plugin.techniques.places import not_converted, usage_error

P = ParamSpec("P")
R = TypeVar("R")


def gradient_of(
    loss: Callable[P, R], names: str | Sequence[str]
) -> Callable[P, tuple[R, dict[str, Array | None]]]:
    """Return the gradients of a function's result with respect to tensors inside, by name.

    Use::

        value, gradients = tb_debugger_plugin.gradient_of(loss, ["dense/Relu", "logits:0"])(images, labels)

    The function is traced anew for this; the program's own trace does not change. The names are those of
    tensors of the function itself, not inside its loops, its branches or the functions that it calls: there,
    use `interpose(tensor, gradient=...)`.

    Args:
      loss: A `tf.function`, a Keras model, or a function of TensorFlow ops. If the result has several
        elements, the gradient is that of their sum.
      names: Names of ops (of their first outputs), of tensors such as `"split:1"`, or regular expressions,
        which must match the whole name of an op.

    Returns:
      A function with the same arguments. It returns the result, and a dict: the gradients as NumPy arrays by
      name, each with the shape of its tensor; None if the result does not depend on it.

    Raises:
      UsageError: When it is called: there is no such tensor. It is a `ValueError`.
    """
    wanted = (names,) if isinstance(names, str) else tuple(names)
    original = getattr(loss, "python_function", loss)
    found: dict[int, list[str]] = {}

    @tf.function  # type: ignore[untyped-decorator]
    def with_gradients(*args: P.args, **kwargs: P.kwargs) -> tuple[R, list[tf.Tensor]]:
        result = original(*args, **kwargs)
        return result, _gradients(result, wanted, found)

    def call(*args: P.args, **kwargs: P.kwargs) -> tuple[R, dict[str, Array | None]]:
        traced = with_gradients.get_concrete_function(*args, **kwargs)
        result, gradients = with_gradients(*args, **kwargs)
        names_found = found[id(traced.graph)]
        values = iter(gradients)
        return result, {
            name.lstrip("-"): None if name.startswith("-") else next(values).numpy() for name in names_found
        }

    return call


@not_converted
def _gradients(result: object, wanted: Sequence[str], found: dict[int, list[str]]) -> list[tf.Tensor]:
    """Return the gradients that are not None; puts all names into `found`, with a minus if there is none."""
    graph = tf.compat.v1.get_default_graph()
    tensors = {name: tensor for request in wanted for name, tensor in _tensors(graph, request).items()}
    losses = [one for one in tf.nest.flatten(result) if one.dtype.is_floating or one.dtype.is_complex]
    gradients = tf.gradients(losses, list(tensors.values()), unconnected_gradients="none")
    found[id(graph)] = [
        f"-{name}" if gradient is None else name for name, gradient in zip(tensors, gradients, strict=True)
    ]
    return [tf.convert_to_tensor(gradient) for gradient in gradients if gradient is not None]


def _tensors(graph: TfGraph, request: str) -> dict[str, TfTensor]:
    """Return the tensors that a name or regular expression stands for."""
    ops = {op.name: op for op in graph.get_operations() if op.outputs}
    name, _, slot = request.partition(":")
    if name in ops and (not slot or (slot.isdigit() and int(slot) < len(ops[name].outputs))):
        return {request: ops[name].outputs[int(slot or 0)]}
    try:
        chosen = {f"{one}:0": op.outputs[0] for one, op in ops.items() if re.fullmatch(request, one)}
    except re.error as error:
        raise usage_error(f"{request!r} is no name of a tensor and no regular expression: {error}.") from None
    chosen = {one: tensor for one, tensor in chosen.items() if tensor.dtype.is_floating}
    if not chosen:
        raise usage_error(f"The function has no tensor {request!r}; {suggestion(name, ops)}")
    return chosen
