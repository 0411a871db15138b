"""Attributes of graph ops as text.

Takes an op of a graph and returns the names and values of its attributes. Few ops of a program have
attributes of their own, so equal ones are recognised by their bytes, and turned into text once.

Invariants: a text has at most 200 characters. A large constant is not copied: its value is dtype and shape.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Hashable, Iterable
from itertools import islice
from typing import Final

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, tensor_pb2, tensor_shape_pb2

from tb_debugger_plugin.capture.tf_types import AttrValue, NodeDef, TfOp
from tb_debugger_plugin.events.dtypes import NAMES

#: Most characters of a value.
MAX_TEXT: Final = 200
#: Elements of a tensor, and parts of a list, that are shown.
_MOST_SHOWN: Final = 8
#: Constants with more elements than this are not copied.
_MOST_COPIED: Final = 64
#: Longer keys are replaced by a hash.
_LONGEST_KEY: Final = 256
_REF: Final = 100  # a reference dtype has the number of its dtype and this

#: Names and values of attributes, in the order of the names.
Attributes = tuple[tuple[str, str], ...]


def attributes_key(op: TfOp) -> tuple[Hashable, Callable[[], Attributes]]:
    """Return a key that is equal only for ops with equal attributes, and a function that returns these.

    Args:
      op: An op of a graph.
    """
    if op.type == "Const":
        output = op.outputs[0]
        dims = output.shape.as_list() if output.shape.rank is not None else [None]
        if None in dims or math.prod(dims) > _MOST_COPIED:
            dtype = output.dtype.as_datatype_enum
            return (dtype, tuple(dims)), lambda: _of_large_constant(dtype, dims)
    node = op.node_def
    # Empty texts are not encoded; ClearField takes longer than all the rest.
    node.name = node.op = node.device = ""
    del node.input[:]
    if node.HasField("experimental_debug_info"):  # names that only this op has
        node.ClearField("experimental_debug_info")
    data = node.SerializeToString(deterministic=True)
    key = data if len(data) <= _LONGEST_KEY else hashlib.blake2b(data).digest()
    return key, lambda: _texts(node)


def _of_large_constant(dtype: int, dims: list[int | None]) -> Attributes:
    name = _dtype(dtype)
    return (("dtype", name), ("value", f"{name} {_dims(dims)}"))


def _texts(node: NodeDef) -> Attributes:
    return tuple((name, attribute_text(node.attr[name])) for name in sorted(node.attr))


def attribute_text(value: AttrValue) -> str:
    """Return the value of an attribute as text.

    Args:
      value: The value.
    """
    kind = value.WhichOneof("value")
    return _cut(_TEXTS[kind](getattr(value, kind))) if kind else ""


def constant_value(proto: tensor_pb2.TensorProto) -> npt.NDArray[np.generic]:
    """Return the elements of a constant.

    TensorFlow sets the dtype of an array where it reads floats of 16 or 8 bits. NumPy 2.5 warns of that, and
    a program may turn warnings into exceptions.

    Args:
      proto: The constant.

    Raises:
      TypeError: NumPy lacks the dtype, such as that of a resource.
      ValueError: There are too many elements for the shape.
    """
    if not proto.half_val and not proto.float8_val:
        return np.asarray(tf.make_ndarray(proto))
    bits = (
        np.array(proto.half_val, np.uint16) if proto.half_val else np.frombuffer(proto.float8_val, np.uint8)
    )
    dims = [dim.size for dim in proto.tensor_shape.dim]
    # The last element stands for all that follow.
    elements = np.pad(bits, (0, math.prod(dims) - bits.size), "edge")
    return np.asarray(elements.view(tf.as_dtype(proto.dtype).as_numpy_dtype).reshape(dims))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


def _string(data: bytes) -> str:
    return data[: 4 * MAX_TEXT].decode("utf-8", "replace")


def _dtype(number: int) -> str:
    name = NAMES.get(number % _REF, str(number))
    return f"{name}_ref" if number > _REF else name


def _shape(shape: tensor_shape_pb2.TensorShapeProto) -> str:
    return "?" if shape.unknown_rank else _dims([None if d.size < 0 else d.size for d in shape.dim])


def _dims(dims: Iterable[int | None]) -> str:
    return f"[{', '.join('?' if dim is None else str(dim) for dim in dims)}]"


def _tensor(proto: tensor_pb2.TensorProto) -> str:
    head = f"{_dtype(proto.dtype)} {_shape(proto.tensor_shape)}"
    if proto.ByteSize() > _MOST_COPIED * 1024:
        return head
    try:
        elements = constant_value(proto).ravel()
    except (TypeError, ValueError):  # a dtype that NumPy lacks, such as a resource
        return head
    return f"{head}: {_listed(map(_element, elements), elements.size)}"


def _element(element: object) -> str:
    return _string(element) if isinstance(element, bytes) else str(element)


def _listed(parts: Iterable[str], count: int) -> str:
    shown = list(islice(parts, _MOST_SHOWN))
    return ", ".join(shown + ["…"] * (count > len(shown)))


def _list(values: attr_value_pb2.AttrValue.ListValue) -> str:
    for field, parts in values.ListFields():
        text = _TEXTS[field.name]
        return f"[{_listed((text(part) for part in parts), len(parts))}]"
    return "[]"


def _float(value: float) -> str:
    return str(np.float32(value))


_TEXTS: Final[dict[str, Callable[..., str]]] = {
    "s": _string,
    "i": str,
    "f": _float,
    "b": lambda value: "true" if value else "false",
    "type": _dtype,
    "shape": _shape,
    "tensor": _tensor,
    "func": lambda function: str(function.name),
    "list": _list,
    "placeholder": str,
}
