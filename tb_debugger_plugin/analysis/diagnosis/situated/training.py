"""Matrices, optimizers, normalisation, narrow dtypes and training that diverges."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.diagnosis import situations as there
from tb_debugger_plugin.analysis.diagnosis.advice import JITTER, WIDE_SUM, Advice
from tb_debugger_plugin.analysis.diagnosis.rewriting import Rewrite
from tb_debugger_plugin.analysis.diagnosis.situated import Pattern
from tb_debugger_plugin.analysis.diagnosis.situated.divisions import NO_EPSILON, UPDATES

_IN_HALF: Final = (
    *("Sum", "Mean", "Square", "Prod", "Cumsum", "L2Loss", "MatMul", "BatchMatMulV2", "Einsum"),
    *("Conv2D", "Mul", "AddV2", "AddN", "BiasAdd", "Exp", "Pow", "SquaredDifference"),
)
_GROWING: Final = (
    *("MatMul", "BatchMatMulV2", "Conv2D", "Mul", "Square", "SquaredDifference", "Sum", "Mean"),
    *("Exp", "AddV2", "Sub", "BiasAdd", "L2Loss", "Pow", "Einsum", "Cast", "Prod"),
)
#: Numbers that programs write for a mask.
_LARGE: Final = ("1e9", "1e10", "1e12", "1e5", "1e6", "1e8", "1e7", "1e30", "1e20")

PATTERNS: Final = (
    Pattern(
        "a matrix that is not positive definite",
        ("Cholesky", "LogMatrixDeterminant", "MatrixSquareRoot", "MatrixLogarithm"),
        there.always,
        JITTER,
    ),
    Pattern(
        "an optimizer with an epsilon of 0",
        UPDATES,
        there.zero_epsilon,
        NO_EPSILON,
    ),
    Pattern(
        "a batch normalisation without an epsilon",
        ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"),
        there.batch_norm_without_epsilon,
        Advice(
            "A channel whose values are all equal has a variance of 0: give the normalisation an epsilon.",
            (
                Rewrite(
                    "BatchNormalization(*R, epsilon=E, **K)",
                    "F(*R, epsilon=1e-3, **K)",
                ),
            ),
            "tf.keras.layers.BatchNormalization(epsilon=1e-3)",
        ),
    ),
    Pattern(
        "a mask that is too large for the dtype",
        ("Cast",),
        there.finite_mask_too_large,
        Advice(
            "A constant of the program is beyond the range of the dtype: write one that it has, with room"
            " for what is added to it.",
            (
                *(Rewrite(f"cast(-{number}, T)", "F(-MASK, T)") for number in _LARGE),
                *(Rewrite(f"cast({number}, T)", "F(MASK, T)") for number in _LARGE),
            ),
            "tf.cast(-MASK, x.dtype)",
        ),
    ),
    Pattern(
        "a computation in float16, in mixed precision",
        _IN_HALF,
        there.mixed_precision,
        Advice(
            "float16 ends at 65,504, and loss scaling does not help a forward pass: compute this part in"
            " float32"
            ' (a layer with dtype="float32"), or scale the values down before it.',
        ),
    ),
    Pattern(
        "a computation in float16",
        _IN_HALF,
        there.in_float16,
        WIDE_SUM,
    ),
    Pattern(
        "a norm over all gradients",
        ("L2Loss", "Sum", "AddN", "Sqrt"),
        there.global_norm,
        Advice(
            "The squares of the gradients overflow, and clip_by_global_norm then gives NaN: leave such a"
            " batch out, clip each gradient by value first, or lower the learning rate.",
        ),
    ),
    Pattern(
        "values that grew from step to step",
        _GROWING,
        there.grew_over_steps,
        Advice(
            "The values grew from step to step until they overflowed: the training diverged. Lower the"
            " learning rate, clip the gradients, or normalise the inputs.",
        ),
    ),
    Pattern(
        "an overflow after finite values",
        _GROWING,
        there.overflow_after_finite,
        Advice(
            "The op gave finite values before: they grew until they overflowed, or this input is an outlier."
            " If they grew, the training diverges: lower the learning rate, clip the gradients, or normalise"
            " the inputs.",
            without_training="The op gave finite values before: they grew from turn to turn until they"
            " overflowed, or this input is an outlier. If they grow, end the turns earlier, or compute with"
            " logarithms.",
        ),
    ),
)
