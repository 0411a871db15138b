"""Names a function and the arrays among the arguments of its call.

Takes a call and returns texts and NumPy arrays. Arrays are made when somebody asks for them.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TypeGuard

import numpy as np
import tensorflow as tf
from tensorflow.python.util import nest

from tb_debugger_plugin.capture.hooks.functions import FunctionCall
from tb_debugger_plugin.capture.tf_types import Array


def name_of(function: object) -> str:
    """Return the name by which the user knows a function."""
    graph = getattr(function, "_func_graph", None)
    if graph is not None:
        return str(graph.name)
    return str(getattr(function, "_name", None) or getattr(function, "__name__", type(function).__name__))


class Arguments(Mapping[str, Array]):
    """The arrays among the arguments of a call by name, such as ``x``, ``batch/0`` and ``batch/image``.

    Args:
      call: The call.
    """

    def __init__(self, call: FunctionCall) -> None:
        self._call = call

    def __getitem__(self, name: str) -> Array:
        """Return an argument as a NumPy array."""
        value = self._tensors[name]
        return np.asarray(value) if isinstance(value, (np.ndarray, np.generic)) else value.numpy()

    def __iter__(self) -> Iterator[str]:
        """Return an iterator over the names."""
        return iter(self._tensors)

    def __len__(self) -> int:
        """Return the number of arrays."""
        return len(self._tensors)

    def described(self) -> Iterator[str]:
        """Yield each array as text, such as `x: float32 [2, 3]`, without copying it."""
        for name, value in self._tensors.items():
            dtype = getattr(value.dtype, "name", value.dtype)
            yield f"{name}: {dtype} {list(value.shape)}"

    @cached_property
    def _tensors(self) -> dict[str, Array | tf.Tensor]:
        return {
            f"{name}/{path}" if path else name: value
            for name, argument in _by_name(self._call).items()
            for path, value in _flat(argument)
            if _is_array(value)
        }


def _by_name(call: FunctionCall) -> dict[str, object]:
    python_function = getattr(call.function, "python_function", None)
    with contextlib.suppress(TypeError, ValueError):  # whatever it is, the program says why its call is wrong
        if python_function is not None:
            return dict(inspect.signature(python_function).bind(*call.arguments, **call.keywords).arguments)
    return {**{f"argument_{at}": value for at, value in enumerate(call.arguments)}, **call.keywords}


def _flat(argument: object) -> list[tuple[str, object]]:
    try:
        return [("/".join(map(str, path)), value) for path, value in nest.flatten_with_tuple_paths(argument)]
    except (AttributeError, TypeError, ValueError):
        return [("", argument)]


def _is_array(value: object) -> TypeGuard[Array | tf.Tensor]:
    if isinstance(value, (np.ndarray, np.generic)):
        return True
    return (tf.is_tensor(value) or isinstance(value, tf.Variable)) and hasattr(value, "numpy")
