"""`analysis/diagnosis/causes.py`: a cause that is called proven happened in TensorFlow's own kernels."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
import tensorflow as tf

from tb_debugger_plugin.analysis.diagnosis.causes import causes_of
from tb_debugger_plugin.analysis.diagnosis.evidence import Input
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers
from tests.support.oracles import ORACLES, F, Oracle

pytestmark = pytest.mark.tensorflow

_ROUNDS = 250
_VALUES = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, 90, -90, 1e-20, -1e-20, 1e20, -1e20, 3e38, -3e38]
_BAD = [math.inf, -math.inf, math.nan]
_raw = tf.raw_ops
#: Each op of the oracles that works element by element, by TensorFlow.
RUN: Mapping[str, Callable[..., tf.Tensor]] = {
    **{
        op: lambda *x, op=op: getattr(_raw, op)(x=x[0])
        for op in (
            *("Log", "Log1p", "Reciprocal", "Sqrt", "Rsqrt", "Acos", "Asin", "Atanh", "Erfinv", "Acosh"),
            *("Exp", "Expm1", "Square", "Cosh", "Sinh", "Sin", "Cos", "Tan", "Lgamma", "Digamma", "Ndtri"),
        )
    },
    **{
        op: lambda *x, op=op: getattr(_raw, op)(x=x[0], y=x[1])
        for op in (
            *("RealDiv", "Div", "FloorDiv", "Xdivy", "Xlogy", "Xlog1py", "DivNoNan", "FloorMod"),
            *("Pow", "AddV2", "Sub", "Mul", "MulNoNan", "SquaredDifference"),
        )
    },
    "SqrtGrad": lambda y, dy: _raw.SqrtGrad(y=y, dy=dy),
    "Cast": lambda x: tf.cast(tf.cast(x, tf.float16), tf.float32),
}


def kinds_agree(because: str, oracle: Oracle, inputs: Sequence[Sequence[float]], output: Sequence[F]) -> bool:
    """Whether the cause happened to some element, by the oracle's look at TensorFlow's results."""
    return any(
        oracle.causes[because](float(o), *(float(x[i % len(x)]) for x in inputs))
        for i, o in enumerate(output)
    )


def oracles_of(op: str) -> list[Oracle]:
    return [oracle for oracle in ORACLES if op in oracle.ops and not oracle.is_whole]


@pytest.mark.parametrize("op", RUN)
def test_a_proven_cause_happened_in_the_kernel(op: str) -> None:
    rng = random.Random(op)
    (oracle, *others) = oracles_of(op)
    known = {because: each for each in (oracle, *others) for because in each.causes}
    for _ in range(_ROUNDS):
        pool = rng.choices([x for x in _VALUES if abs(x) <= oracle.largest], k=3)
        pool += rng.choices(_BAD, k=rng.randint(0, 1))
        inputs = [[F(rng.choice(pool)) for _ in range(4)] for _ in range(oracle.arity)]
        output = RUN[op](*(tf.constant(x) for x in inputs)).numpy()
        if np.isfinite(output).all():
            continue
        numbers = Numbers.of_values(oracle.dtype, output.tolist())
        given = [
            Input(str(i), Numbers.of_values("float32", [float(v) for v in x])) for i, x in enumerate(inputs)
        ]
        causes = causes_of(op, given, numbers)
        for proven in causes.proven:
            because = proven.cause.because
            assert because in known, (op, because)
            assert kinds_agree(because, known[because], inputs, output), (op, because, inputs, output)
        if all(np.isfinite(x).all() for x in inputs):
            assert causes.proven or causes.possible, (op, inputs, output)
