"""Decides whether a tensor is in the memory of the host, where watch ops can read it, or on another device.

A tensor on another device is summarised there by TensorFlow's own `DebugNumericSummaryV2`, and only the
summary is copied to the host.

Invariant: the device that TensorFlow will choose for an op is not known when its graph is made. So on a
machine with other devices, a tensor only counts as on the CPU if the program has placed its op there.
"""

from __future__ import annotations

import functools

import tensorflow as tf
from tensorflow.python.eager import context

from tb_debugger_plugin.capture.tf_types import EagerTensor
from tb_debugger_plugin.events.modes import TensorDebugMode, spec_of

#: The dtypes for which `DebugNumericSummaryV2` has kernels on every type of device.
_DTYPES = frozenset((tf.float16, tf.float32, tf.float64))


def may_be_elsewhere(device: str) -> bool:
    """Whether a tensor of a device may be outside the host's memory.

    Args:
      device: Name of the device, or a part of it; empty when TensorFlow chooses.
    """
    return has_other_devices() and tf.DeviceSpec.from_string(device).device_type != "CPU"


def full_name(device: str) -> str:
    """Return the runtime's name of the device of an op in a graph.

    Args:
      device: The device in the graph; empty when TensorFlow chooses.

    Returns:
      The full name, or `device` itself when TensorFlow chooses between several devices.
    """
    if may_be_elsewhere(device) and tf.DeviceSpec.from_string(device).device_type is None:
        return device
    return _full_name(context.context().host_address_space(), device)


@functools.lru_cache(maxsize=256)
def _full_name(host: str, device: str) -> str:
    default = tf.DeviceSpec.from_string(f"{host}/device:CPU:0")
    return str(default.make_merged_spec(tf.DeviceSpec.from_string(device)).to_string())


@functools.cache
def has_other_devices() -> bool:
    """Whether the machine has other devices than CPUs."""
    # Physical devices: listing logical devices would fix them before the program has configured them.
    return any(device.device_type != "CPU" for device in tf.config.list_physical_devices())


def reduced_mode(mode: TensorDebugMode, dtype: tf.DType) -> TensorDebugMode | None:
    """Return the mode in which a tensor is summarised on its device; None when it is copied whole.

    Args:
      mode: The mode of the recording.
      dtype: Dtype of the tensor.
    """
    return spec_of(mode).reduced_as if dtype in _DTYPES else None


def reduce_on_device(tensor: EagerTensor, mode: TensorDebugMode) -> list[float]:
    """Return the summary of a tensor, computed on its own device.

    Args:
      tensor: A tensor with a `reduced_mode`.
      mode: That mode.
    """
    with tf.device(tensor.device):
        summary = tf.raw_ops.DebugNumericSummaryV2(
            input=tensor, output_dtype=tf.float64, tensor_debug_mode=int(mode), tensor_id=-1
        )
    numbers: list[float] = summary.numpy().tolist()
    return numbers
