"""Roots, norms, divisions, powers and angles."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.diagnosis import situations as there
from tb_debugger_plugin.analysis.diagnosis.advice import ROOT, Advice
from tb_debugger_plugin.analysis.diagnosis.pattern import DIVISIONS, Pattern
from tb_debugger_plugin.analysis.diagnosis.rewriting import Rewrite

NO_EPSILON: Final = Advice(
    "The optimizer divides by the root of its second moment, which is 0 where a gradient was always 0:"
    " give it an epsilon.",
    tuple(
        Rewrite(f"{name}(*R, epsilon=E, **K)", "F(*R, epsilon=1e-7, **K)")
        for name in ("Adam", "AdamW", "Nadam", "RMSprop", "Adagrad", "Adadelta", "Adamax")
    ),
    "tf.keras.optimizers.Adam(learning_rate, epsilon=1e-7)",
)

PATTERNS: Final = (
    Pattern(
        "a variance as the difference of two means",
        ("Sqrt", "Rsqrt", "Log", "Pow"),
        there.difference_of_means,
        Advice(
            "mean(x²) − mean(x)² may be a little below 0 by round-off. Compute the mean of the squared"
            " differences:"
            " tf.math.reduce_variance.",
            (Rewrite("sqrt(X)", "tf.sqrt(tf.maximum(X, 1e-12))"),),
            "tf.sqrt(tf.math.reduce_variance(x, axis=0) + 1e-12)",
        ),
    ),
    Pattern(
        "the root of a variance, in a gradient",
        ("Sqrt", "Rsqrt"),
        there.root_of_variance,
        Advice(
            "Where all values are equal the variance is 0, and the root has no gradient there: add an epsilon"
            " under the root.",
            ROOT.rewrites,
            "tf.sqrt(tf.math.reduce_variance(x, axis=0) + 1e-6)",
        ),
    ),
    Pattern(
        "a norm at 0",
        ("Sqrt", "Rsqrt", "EuclideanNorm", "Norm"),
        there.root_of_squares,
        Advice(
            "This is a norm or a distance, and it is 0 somewhere: its gradient is not defined there. Add"
            " a small"
            " epsilon under the root.",
            ROOT.rewrites,
            "tf.sqrt(tf.reduce_sum(tf.square(x), axis=-1) + 1e-12)",
        ),
    ),
    Pattern(
        "a division by a constant 0",
        DIVISIONS,
        there.divided_by_constant_zero,
        Advice("The divisor is a constant of the program, and it is 0: a temperature, a count or a default."),
    ),
    Pattern(
        "the angle at the origin",
        ("Atan2",),
        there.any_gradient,
        Advice(
            "The gradient of atan2 divides by x² + y², which is 0 at the origin: move one of the two"
            " away from it.",
            (Rewrite("atan2(Y, X)", "tf.atan2(Y, tf.where(tf.equal(X, 0), 1e-12, X))"),),
            "tf.atan2(y, tf.where(tf.equal(x, 0), 1e-12, x))",
        ),
    ),
    Pattern(
        "a bias correction at step 0",
        DIVISIONS,
        there.bias_correction,
        Advice(
            "1 − β⁰ is 0: count the steps from 1 where the moments are corrected.",
            (Rewrite("A / (B - C ** T)", "A / (B - C ** (T + 1))"),),
            "m / (1 - beta ** (step + 1))",
        ),
    ),
    Pattern(
        "an optimizer that divides by a root without an epsilon",
        DIVISIONS,
        there.optimizer_without_epsilon,
        NO_EPSILON,
    ),
    Pattern(
        "a division by a root without an epsilon",
        DIVISIONS,
        there.divided_by_bare_root,
        Advice(
            "Optimizers and normalisations add an epsilon to the root that they divide by; here it is 0 or"
            " missing.",
            (
                Rewrite("A / sqrt(B)", "A / (tf.sqrt(B) + 1e-7)"),
                Rewrite("A / (sqrt(B) + E)", "A / (tf.sqrt(B) + 1e-7)"),
                Rewrite("A / reduce_std(X, *R, **K)", "A / (tf.math.reduce_std(X, *R, **K) + 1e-7)"),
                Rewrite("A / norm(X, *R, **K)", "tf.math.divide_no_nan(A, tf.norm(X, *R, **K))"),
                Rewrite("A / B", "tf.math.divide_no_nan(A, B)"),
            ),
            "x / (tf.sqrt(variance) + 1e-7)",
        ),
    ),
    Pattern(
        "a division by a range",
        DIVISIONS,
        there.divided_by_range,
        Advice(
            "Maximum and minimum are equal where a column is constant. tf.math.divide_no_nan gives 0 there.",
            (Rewrite("A / B", "tf.math.divide_no_nan(A, B)"),),
            "tf.math.divide_no_nan(x - low, high - low)",
        ),
    ),
    Pattern(
        "a division by the count of a mask",
        DIVISIONS,
        there.divided_by_count,
        Advice(
            "The divisor counts what a mask or a group selects, and nothing was selected:"
            " tf.math.divide_no_nan"
            " gives 0 there.",
            (
                Rewrite("A / B", "tf.math.divide_no_nan(A, B)"),
                Rewrite("divide(A, B)", "tf.math.divide_no_nan(A, B)"),
            ),
            "tf.math.divide_no_nan(tf.reduce_sum(loss * mask), tf.reduce_sum(mask))",
        ),
    ),
    Pattern(
        "a normalisation by the sum",
        DIVISIONS,
        there.divided_by_own_sum,
        Advice(
            "The values that are divided by their sum are all 0: tf.math.divide_no_nan gives 0 there.",
            (
                Rewrite("A / B", "tf.math.divide_no_nan(A, B)"),
                Rewrite("divide(A, B)", "tf.math.divide_no_nan(A, B)"),
            ),
            "tf.math.divide_no_nan(x, tf.reduce_sum(x, axis=-1, keepdims=True))",
        ),
    ),
    Pattern(
        "a division by a whole number",
        (*DIVISIONS, "Reciprocal", "Inv"),
        there.divided_by_whole_number,
        Advice(
            "The divisor is a whole number, such as a counter or a length, and is 0: begin at 1, or use"
            " tf.math.divide_no_nan.",
            (Rewrite("A / B", "tf.math.divide_no_nan(A, B)"),),
            "total / tf.maximum(tf.cast(count, tf.float32), 1.0)",
        ),
    ),
    Pattern(
        "the root of a whole number",
        ("Rsqrt",),
        there.divided_by_whole_number,
        Advice(
            "The argument is a whole number, such as a counter of steps, and is 0: begin at 1.",
            (Rewrite("rsqrt(X)", "tf.math.rsqrt(tf.maximum(X, 1.0))"),),
            "tf.math.rsqrt(tf.cast(step, tf.float32) + 1.0)",
        ),
    ),
    Pattern(
        "the gradient of a power at 0",
        ("Pow",),
        there.any_gradient,
        Advice(
            "The gradient of a power below 1 is infinite at 0: keep the base above 0.",
            (
                Rewrite("X ** Y", "tf.maximum(X, 1e-12) ** Y"),
                Rewrite("pow(X, Y)", "tf.pow(tf.maximum(X, 1e-12), Y)"),
            ),
            "tf.pow(tf.maximum(x, 1e-12), 0.5)",
        ),
    ),
    Pattern(
        "the gradient at the end of the range",
        ("Acos", "Asin", "Atanh", "Acosh", "Erfinv", "Ndtri"),
        there.any_gradient,
        Advice(
            "The gradient is infinite at the ends of the range: clip the argument to just inside, for example"
            " a cosine that is 1 by round-off.",
            tuple(
                Rewrite(f"{name}(X)", f"tf.{path}(tf.clip_by_value(X, -1 + 1e-6, 1 - 1e-6))")
                for name, path in (
                    ("acos", "acos"),
                    ("asin", "asin"),
                    ("atanh", "atanh"),
                    ("erfinv", "math.erfinv"),
                )
            ),
            "tf.acos(tf.clip_by_value(x, -1 + 1e-6, 1 - 1e-6))",
        ),
    ),
)
