"""Recordings in FULL_NUMERICS of a small training program whose tensors a test chooses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.support.events import Recording, kinds_of, vector

#: The ops of the training function, in order: name, type, inputs, and fields of our own.
OPS: tuple[tuple[str, str, tuple[str, ...], dict[str, str | list[str]]], ...] = (
    ("x", "Placeholder", (), {}),
    ("read", "ReadVariableOp", ("h:0",), {"variable": "dense/kernel", "layer": "dense"}),
    ("read_2", "ReadVariableOp", ("h:0",), {"variable": "out/kernel", "layer": "out"}),
    ("MatMul", "MatMul", ("x:0", "read:0"), {"layer": "dense"}),
    ("Relu", "Relu", ("MatMul:0",), {"layer": "dense"}),
    ("same", "Identity", ("MatMul:0",), {"layer": "out"}),
    ("Tanh", "Tanh", ("same:0",), {"layer": "out"}),
    ("Sigmoid", "Sigmoid", ("MatMul:0",), {"layer": "out"}),
    ("gradient_tape/MatMul", "MatMul", ("Relu:0",), {"gradient_of": ["dense/kernel"]}),
    ("gradient_tape/out", "MatMul", ("Tanh:0",), {"gradient_of": ["out/kernel"]}),
    ("Mul", "Mul", ("gradient_tape/MatMul:0",), {}),
    ("Assign", "AssignSubVariableOp", ("h:0", "Mul:0"), {"variable": "dense/kernel"}),
)


def numerics(array: npt.ArrayLike, dtype: int = 1, tensor_id: int = -1) -> Message:
    """Makes the FULL_NUMERICS summary of an array, counted one element at a time."""
    flat = [float(x) for x in np.ravel(np.asarray(array, np.float64))]
    finite = [x for x in flat if math.isfinite(x)]
    mean = sum(finite) / len(finite) if finite else math.nan
    variance = sum((x - mean) ** 2 for x in finite) / len(finite) if finite else math.nan
    ends = (min(finite), max(finite)) if finite else (math.nan, math.nan)
    return vector([tensor_id, -1, dtype, np.ndim(array), len(flat), *kinds_of(flat), *ends, mean, variance])


def training(
    folder: Path,
    steps: Sequence[Mapping[str, npt.ArrayLike | Message]],
    *,
    mode: TensorDebugMode = TensorDebugMode.FULL_NUMERICS,
    dtype: int = 1,
    host: str = "worker0",
) -> Recording:
    """Writes a training function that ran some steps.

    Args:
      folder: The dump root.
      steps: The value of some of :data:`OPS` in each step, by name.
      mode: Of the recording; its values must be summaries then, if it is another.
      dtype: Of the values.
      host: The process.
    """
    recording = Recording(folder, mode=mode, host=host)
    recording.source("/home/me/train.py", ["def step(x):", "  return model(x)", "step(x)"])
    recording.frame("f1", 0, 2, "step")
    recording.frame("f2", 0, 3, "main")
    recording.device(1)
    recording.graph("g1", "step")
    recording.op("g1", "h", "Placeholder", ids=[1], variable="dense/kernel")
    for number, (name, op_type, inputs, names) in enumerate(OPS):
        recording.op("g1", name, op_type, inputs, ids=[10 + number], stack=["f1"], **names)
    for step in steps:
        for name, value in step.items():
            made = numerics(value, dtype) if mode is TensorDebugMode.FULL_NUMERICS else value
            recording.trace("g1", name, made)
        recording.execution("__inference_step_7", graph_id="g1", stack=["f2"])
    return recording
