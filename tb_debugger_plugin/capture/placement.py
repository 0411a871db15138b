"""Where tensors lie: in the memory of the host, where our ops read them, or on another device.

A tensor on another device is summarised there by TensorFlow's own `DebugNumericSummaryV2`, and only the
numbers come to the host. Rule: where TensorFlow will put an op is not known when its graph is made, so on a
machine with other devices only what the program put on a CPU counts as being there.
"""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf
from tensorflow.python.eager import context

from tb_debugger_plugin.events.modes import TensorDebugMode

#: What `DebugNumericSummaryV2` has kernels for on every kind of device.
_DTYPES = frozenset((tf.float16, tf.float32, tf.float64))
#: What it is asked for in each mode; in others a tensor comes to the host whole.
_MODES = {
    TensorDebugMode.NO_TENSOR: TensorDebugMode.CURT_HEALTH,
    TensorDebugMode.CURT_HEALTH: TensorDebugMode.CURT_HEALTH,
    TensorDebugMode.CONCISE_HEALTH: TensorDebugMode.CONCISE_HEALTH,
    TensorDebugMode.FULL_HEALTH: TensorDebugMode.FULL_HEALTH,
    TensorDebugMode.FULL_NUMERICS: TensorDebugMode.FULL_HEALTH,
    TensorDebugMode.SHAPE: TensorDebugMode.SHAPE,
}


def may_be_elsewhere(device: str) -> bool:
    """Whether what is computed on a device may lie outside the host's memory.

    Args:
      device: Its name, or a part of it; empty when TensorFlow chooses.
    """
    return has_other_devices() and tf.DeviceSpec.from_string(device).device_type != "CPU"


def full_name(device: str) -> str:
    """The name under which the runtime knows the device of an op in a graph.

    Args:
      device: What the graph says of it; empty when TensorFlow chooses.

    Returns:
      `device` itself where TensorFlow chooses between several devices.
    """
    if may_be_elsewhere(device) and tf.DeviceSpec.from_string(device).device_type is None:
        return device
    return _full_name(context.context().host_address_space(), device)


@functools.lru_cache(maxsize=256)
def _full_name(host: str, device: str) -> str:
    whole = tf.DeviceSpec.from_string(f"{host}/device:CPU:0")
    return whole.make_merged_spec(tf.DeviceSpec.from_string(device)).to_string()  # type: ignore[no-any-return]


@functools.cache
def has_other_devices() -> bool:
    """Whether the machine has other devices than CPUs."""
    # Physical devices: asking for logical ones would fix them before the program has had its say.
    return any(device.device_type != "CPU" for device in tf.config.list_physical_devices())


def reduced_mode(mode: TensorDebugMode, dtype: tf.DType) -> TensorDebugMode | None:
    """What a tensor on another device is reduced to there; None when it has to come to the host whole.

    Args:
      mode: What the user wants recorded.
      dtype: Of the tensor.
    """
    return _MODES.get(mode) if dtype in _DTYPES else None


def reduce_there(tensor: Any, mode: TensorDebugMode) -> list[float]:
    """The summary of an eager tensor, computed on its own device.

    Args:
      tensor: For which there is a `reduced_mode`.
      mode: That one.
    """
    with tf.device(tensor.device):
        summary = tf.raw_ops.DebugNumericSummaryV2(
            input=tensor, output_dtype=tf.float64, tensor_debug_mode=int(mode), tensor_id=-1
        )
    return summary.numpy().tolist()  # type: ignore[no-any-return]
