"""Makes summaries of tensors in Python, through the native library.

Takes values as NumPy arrays of TensorFlow and returns encoded TensorProtos, the same as watch ops make of
such tensors.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
import tensorflow as tf

from tb_debugger_plugin.capture.tf_types import Array
from tb_debugger_plugin.events.messages import Message, TensorProto
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.native import twin

_STRING = tf.string.as_datatype_enum


class Summaries:
    """Makes the summaries of one recording.

    Args:
      module: `native.load()`.
      mode: What is recorded of a tensor.
      max_tensor_bytes: Size of the largest tensor to record whole; larger ones are summarised. -1: no limit.
    """

    def __init__(self, module: ModuleType, mode: TensorDebugMode, max_tensor_bytes: int) -> None:
        self._encode = module.encode_summary
        self._mode = mode
        self._max_tensor_bytes = max_tensor_bytes

    def of(self, array: Array | bytes, dtype: int, tensor_id: int = -1) -> bytes:
        """The encoded TensorProto of the summary of a tensor.

        Args:
          array: The tensor; TensorFlow gives a single string as `bytes`.
          dtype: TensorFlow's DataType number.
          tensor_id: The tensor id; -1 for every eager tensor.
        """
        if dtype == _STRING:
            return self._of_strings(np.asarray(array, object), tensor_id)
        assert not isinstance(array, bytes), "only strings are bytes"
        return self._encode(  # type: ignore[no-any-return]
            _with_buffer(array), dtype, array.shape, int(self._mode), tensor_id, self._max_tensor_bytes
        )

    def of_nothing(self, dtype: int, tensor_id: int) -> bytes:
        """The summary of a tensor whose elements are not read."""
        return self.of(np.empty(0), dtype, tensor_id)

    def of_shape(self, shape: tuple[int, ...], dtype: int, tensor_id: int) -> bytes:
        """The summary in the mode SHAPE, for a recording of any mode."""
        return bytes(_of_shape(shape, dtype, tensor_id).SerializeToString())

    def _of_strings(self, array: Array, tensor_id: int) -> bytes:
        """The summary of strings: only their layout in NumPy differs from TensorFlow's."""
        if self._mode != TensorDebugMode.FULL_TENSOR:
            return self._encode(  # type: ignore[no-any-return]
                b"", tf.float32.as_datatype_enum, (0,), int(self._mode), tensor_id
            )
        size = sum(map(len, array.ravel().tolist()))
        if not 0 <= self._max_tensor_bytes < size:
            return bytes(tf.make_tensor_proto(array, tf.string).SerializeToString())
        proto = _of_shape(array.shape, _STRING, tensor_id)
        proto.summary_mode = TensorDebugMode.SHAPE
        proto.left_out_bytes = size
        return bytes(proto.SerializeToString())


def of_vector(numbers: Array) -> Message:
    """The TensorProto of the numbers of a summary."""
    proto = TensorProto(dtype=tf.float64.as_datatype_enum, tensor_content=numbers.tobytes())
    proto.tensor_shape.dim.add(size=numbers.size)
    return proto


def _of_shape(shape: tuple[int, ...], dtype: int, tensor_id: int) -> Message:
    array = np.broadcast_to(np.uint8(0), shape)  # of any size, in one byte
    return of_vector(np.array(twin.summarize(array, dtype, TensorDebugMode.SHAPE, tensor_id)))


def _with_buffer(array: Array) -> Array:
    """The same bytes in a built-in dtype: NumPy has no buffer interface for others, such as bfloat16."""
    return array if array.dtype.isbuiltin == 1 else array.view(f"u{array.dtype.itemsize}")
