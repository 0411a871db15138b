"""Encodes tensors in Python, through the native library.

Takes values as NumPy arrays of TensorFlow and returns what is recorded of them, the same as watch ops make of
such tensors: summaries, or whole tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TypeAlias

import numpy as np
import tensorflow as tf

from tb_debugger_plugin.capture.options import MEASURED_DTYPES
from tb_debugger_plugin.capture.tf_types import Array
from tb_debugger_plugin.events.messages import Message, TensorProto
from tb_debugger_plugin.events.modes import (
    BAD_SIGNS,
    DIMS,
    SHAPE_DIMS,
    SUMMARY_COLUMNS,
    TensorDebugMode,
    spec_of,
)
from tb_debugger_plugin.events.numbers import count_values
from tb_debugger_plugin.native.structs import TensorValue

_STRING = tf.string.as_datatype_enum
#: The dtypes with a health.
_MEASURED = frozenset(dtype.as_datatype_enum for dtype in MEASURED_DTYPES)
#: What `ChooseRule` returns if the value is too large for its rules.
_TOO_LARGE = -1
#: Chooses the rule that keeps a value; None if no rule wants it. Takes the rules, the size in bytes, and
#: whether it is bad.
ChooseRule: TypeAlias = Callable[[int, int, bool], "int | None"]


class SummaryEncoder:
    """Encodes the tensors of one recording.

    Args:
      module: `native.load()`.
      mode: What is recorded of a tensor.
      max_tensor_bytes: Size of the largest tensor to record whole; larger ones are summarised. -1: no limit.
      choose_rule: Decides which values are kept by rules.
    """

    def __init__(
        self, module: ModuleType, mode: TensorDebugMode, max_tensor_bytes: int, choose_rule: ChooseRule
    ) -> None:
        self._encode: Callable[..., bytes] = module.encode_summary
        self._bad_element: Callable[..., tuple[int, int] | None] = module.bad_element
        self._mode = mode
        self._max_tensor_bytes = max_tensor_bytes
        self._choose_rule = choose_rule

    def value(self, array: Array | bytes, dtype: int, tensor_id: int = -1, keep: int = 0) -> TensorValue:
        """Return what is recorded of a tensor: see `Sink.value`."""
        recorded = self._recorded(array, dtype, tensor_id, keep)
        if dtype not in _MEASURED:
            return recorded
        array = np.asarray(array)
        summary = (recorded.tensor_proto, int(recorded.mode))
        found = self._bad_element(_with_buffer(array), dtype, array.shape, *summary)
        if found is None:
            return recorded
        return recorded._replace(element=found[0], nan_element=found[1], shape=array.shape)

    def _recorded(self, array: Array | bytes, dtype: int, tensor_id: int, keep: int) -> TensorValue:
        if keep:
            size = bytes_of(array)
            rule = self._choose_rule(keep, size, self._is_bad(array, dtype))
            if rule == _TOO_LARGE:
                return TensorValue(self._left_out(array, dtype, tensor_id, size), TensorDebugMode.FULL_TENSOR)
            if rule is not None:
                return TensorValue(self._whole(array, dtype), TensorDebugMode.FULL_TENSOR, rule, size)
        return TensorValue(self.of(array, dtype, tensor_id), self._mode)

    def _is_bad(self, array: Array | bytes, dtype: int) -> bool:
        return dtype in _MEASURED and bool(not np.isfinite(np.asarray(array)).all())

    def _whole(self, array: Array | bytes, dtype: int) -> bytes:
        if dtype == _STRING:
            return bytes(tf.make_tensor_proto(np.asarray(array, object), tf.string).SerializeToString())
        assert not isinstance(array, bytes), "only strings are bytes"
        mode = int(TensorDebugMode.FULL_TENSOR)
        return self._encode(_with_buffer(array), dtype, array.shape, mode, -1)

    def _left_out(self, array: Array | bytes, dtype: int, tensor_id: int, size: int) -> bytes:
        """Return the summary of a tensor that is too large for its rules."""
        array = np.asarray(array)
        if dtype in _MEASURED:
            mode = self._mode if self._mode in SUMMARY_COLUMNS else TensorDebugMode.FULL_HEALTH
            encoded = self._encode(_with_buffer(array), dtype, array.shape, int(mode), tensor_id)
            proto = TensorProto.FromString(encoded)
        else:
            mode, proto = TensorDebugMode.SHAPE, _of_shape(array.shape, dtype, tensor_id)
        proto.summary_mode = mode
        proto.left_out_bytes = size
        return bytes(proto.SerializeToString())

    def of(self, array: Array | bytes, dtype: int, tensor_id: int = -1) -> bytes:
        """Return the encoded TensorProto of the summary of a tensor.

        Args:
          array: The tensor; TensorFlow gives a single string as `bytes`.
          dtype: TensorFlow's DataType number.
          tensor_id: The tensor id; -1 for every eager tensor.
        """
        if dtype == _STRING:
            return self._of_strings(np.asarray(array, object), tensor_id)
        assert not isinstance(array, bytes), "only strings are bytes"
        return self._encode(
            _with_buffer(array), dtype, array.shape, int(self._mode), tensor_id, self._max_tensor_bytes
        )

    def of_nothing(self, dtype: int, tensor_id: int) -> bytes:
        """Return the summary of a tensor whose elements are not read."""
        return self.of(np.empty(0), dtype, tensor_id)

    def of_shape(self, shape: tuple[int, ...], dtype: int, tensor_id: int) -> bytes:
        """Return the summary in the mode SHAPE, for a recording of any mode."""
        return bytes(_of_shape(shape, dtype, tensor_id).SerializeToString())

    def _of_strings(self, array: Array, tensor_id: int) -> bytes:
        """Return the summary of strings: only their layout in NumPy differs from TensorFlow's."""
        if self._mode != TensorDebugMode.FULL_TENSOR:
            return self._encode(b"", tf.float32.as_datatype_enum, (0,), int(self._mode), tensor_id)
        size = bytes_of(array)
        if not 0 <= self._max_tensor_bytes < size:
            return bytes(tf.make_tensor_proto(array, tf.string).SerializeToString())
        proto = _of_shape(array.shape, _STRING, tensor_id)
        proto.summary_mode = TensorDebugMode.SHAPE
        proto.left_out_bytes = size
        return bytes(proto.SerializeToString())


def of_vector(numbers: Array) -> Message:
    """Return the TensorProto of the numbers of a summary."""
    proto = TensorProto(dtype=tf.float64.as_datatype_enum, tensor_content=numbers.tobytes())
    proto.tensor_shape.dim.add(size=numbers.size)
    return proto


def summarized(array: Array, dtype: int, mode: TensorDebugMode, tensor_id: int) -> Message:
    """Return the TensorProto of the summary of a tensor, as TensorFlow's own ops would make it.

    Args:
      array: The tensor.
      dtype: TensorFlow's DataType number.
      mode: A mode that TensorFlow's ops have, and that has a summary.
      tensor_id: The tensor id; -1 for every eager tensor.
    """
    columns: dict[str, float] = {"tensor_id": tensor_id, "device_id": -1, "dtype": dtype}
    columns |= {"rank": array.ndim, "size": array.size, **dict.fromkeys(DIMS, 0)}
    columns |= zip(DIMS, array.shape[-SHAPE_DIMS:], strict=False)
    if spec_of(mode).reads_elements:
        columns |= count_values(array)
        columns["any_bad"] = float(any(columns.get(name) for name in BAD_SIGNS))
    return of_vector(np.array([columns[name] for name in SUMMARY_COLUMNS[mode]], np.float64))


def _of_shape(shape: tuple[int, ...], dtype: int, tensor_id: int) -> Message:
    array = np.broadcast_to(np.uint8(0), shape)  # of any size, in one byte
    return summarized(array, dtype, TensorDebugMode.SHAPE, tensor_id)


def _with_buffer(array: Array) -> Array:
    """Return the same bytes in a built-in dtype: others, such as bfloat16, have no buffer interface."""
    return array if array.dtype.isbuiltin == 1 else array.view(f"u{array.dtype.itemsize}")


def marked(value: TensorValue) -> bytes:
    """Return the TensorProto of a summary in a FULL_TENSOR Execution, as another output is kept.

    Args:
      value: The summary.
    """
    proto = TensorProto.FromString(value.tensor_proto)
    proto.summary_mode = value.mode
    return bytes(proto.SerializeToString())


def bytes_of(array: Array | bytes) -> int:
    """Return the bytes of the elements of a tensor; for strings, of their contents.

    Args:
      array: The tensor, as TensorFlow gives it.
    """
    array = np.asarray(array, object) if isinstance(array, bytes) else array
    return sum(map(len, array.ravel().tolist())) if array.dtype == object else array.nbytes
