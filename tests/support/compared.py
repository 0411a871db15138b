"""Two recordings of one small training program, the second of which has ELU in the place of ReLU.

::

    x ─┐
       ├─ MatMul ── Relu or Elu ── Mean       graph "step", layer "dense", then an eager Mul
    w ─┘

The weights follow the results, so that the runs drift apart step by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.support.events import Recording
from tests.support.numerics import numerics

Array = npt.NDArray[np.float32]

STEPS = 12
#: The lines of the program.
LINES = (
    "import tensorflow as tf",
    "",
    "@tf.function",
    "def step(x):",
    "  h = x @ w",
    "  h = tf.nn.{op}(h)",
    "  return tf.reduce_mean(h)",
    "",
    "for x in data:",
    "  loss = step(x)",
    "  total = 2.0 * loss",
)


class Step(NamedTuple):
    """The values of a step, by name of the op."""

    x: Array
    w: Array
    product: Array
    h: Array
    loss: Array
    total: Array


def computed(op: str, *, steps: int = STEPS, seed: int = 1) -> list[Step]:
    """Computes the program with ``op``, which is ``relu`` or ``elu``, one step at a time."""
    generator = np.random.default_rng(seed)
    w = generator.normal(size=(4, 8)).astype(np.float32)
    result = []
    for _ in range(steps):
        x = generator.normal(size=(4, 4)).astype(np.float32)
        product = x @ w
        h = np.maximum(product, 0) if op == "relu" else np.where(product > 0, product, np.expm1(product))
        loss = np.mean(h, dtype=np.float32)
        result.append(Step(x, w, product, h.astype(np.float32), loss, np.float32(2) * loss))
        w = (w - 0.05 * loss * np.sign(w)).astype(np.float32)
    return result


def write_run(folder: Path, op: str, steps: Sequence[Step], *, scope: str = "", dropped: int = 0) -> Path:
    """Writes the recording of the program with ``op``; names of ops begin with ``scope``.

    A circular buffer dropped some steps before those that are written.
    """
    size = 5 * len(steps) if dropped else 0
    recording = Recording(folder, mode=TensorDebugMode.FULL_NUMERICS, circular_buffer_size=size)
    recording.source("/home/me/train.py", [line.format(op=op) for line in LINES])
    for name, line, function in (("matmul", 5, "step"), ("act", 6, "step"), ("mean", 7, "step")):
        recording.frame(name, 0, line, function)
    recording.frame("call", 0, 10, "main")
    recording.frame("mul", 0, 11, "main")
    recording.device(1)
    recording.graph("g1", "step")
    kind = {"relu": "Relu", "elu": "Elu"}[op]
    dense = {"layer": f"{scope}dense"}
    ops: tuple[tuple[str, str, tuple[str, ...], dict[str, str | list[str]]], ...] = (
        ("x", "Placeholder", (), {}),
        ("read", "ReadVariableOp", (), {"stack": ["matmul"], "variable": "dense/w", **dense}),
        ("MatMul", "MatMul", ("x", "read"), {"stack": ["matmul"], **dense}),
        (kind, kind, ("MatMul",), {"stack": ["act"], **dense}),
        ("Mean", "Mean", (kind,), {"stack": ["mean"]}),
    )
    for number, (name, op_type, inputs, facts) in enumerate(ops, 1):
        taken = [f"{scope}{source}:0" for source in inputs]
        recording.op("g1", f"{scope}{name}", op_type, taken, ids=[number], **facts)
    for number, step in enumerate(steps):
        for tensor, ((name, *_), value) in enumerate(zip(ops, step, strict=False), 1):
            recording.trace("g1", f"{scope}{name}", numerics(value, tensor_id=tensor))
        ids = [100 + 2 * number, 101 + 2 * number]
        recording.execution(
            "__inference_step_7", [numerics(step.loss)], graph_id="g1", ids=ids[:1], stack=["call"]
        )
        recording.execution("Mul", [numerics(step.total)], inputs=ids[:1], ids=ids[1:], stack=["mul"])
    count = dropped + len(steps)
    recording.counts(2 * count, 5 * count, finished=True)
    return recording.close()


def write_pair(logdir: Path, *, steps: int = STEPS) -> tuple[list[Step], list[Step]]:
    """Writes the runs ``base`` and ``changed``; returns what they computed."""
    base, changed = computed("relu", steps=steps), computed("elu", steps=steps)
    write_run(logdir / "base", "relu", base)
    write_run(logdir / "changed", "elu", changed)
    return base, changed
