"""Roots, norms, divisions, powers and angles."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.diagnosis import situations as there
from tb_debugger_plugin.analysis.diagnosis.advice import UNDER_ROOT, Advice
from tb_debugger_plugin.analysis.diagnosis.rewriting import Rewrite
from tb_debugger_plugin.analysis.diagnosis.situated import DIVISIONS, Pattern

_OPTIMIZERS: Final = ("Adam", "AdamW", "Nadam", "RMSprop", "Adagrad", "Adadelta", "Adamax")
#: Ops that are a step of an optimizer as a whole.
UPDATES: Final = (
    *(
        "ResourceApplyAdam",
        "ResourceApplyAdamWithAmsgrad",
        "ResourceApplyRMSProp",
        "ApplyAdam",
        "ApplyRMSProp",
    ),
    *("ResourceApplyCenteredRMSProp", "ResourceApplyAdagradV2", "ResourceApplyAdadelta"),
    "ResourceApplyAdaMax",
)

NO_EPSILON: Final = Advice(
    "The optimizer divides by the root of its second moment, which is 0 where a gradient was always 0: give"
    " it an epsilon.",
    tuple(Rewrite(f"{name}(*R, epsilon=E, **K)", "F(*R, epsilon=SMALL, **K)") for name in _OPTIMIZERS),
    "tf.keras.optimizers.Adam(learning_rate, epsilon=SMALL)",
)
_ROUNDED_EPSILON: Final = Advice(
    "The epsilon of the optimizer is 0 in float16: numbers below 6e-8, such as 1e-8, are rounded to 0 there."
    " Raise it to 1e-3, or keep the variables and their moments in float32.",
    (
        *NO_EPSILON.rewrites,
        *(Rewrite(f"{name}(*R, **K)", "F(*R, epsilon=SMALL, **K)") for name in _OPTIMIZERS),
    ),
    "tf.keras.optimizers.Adam(learning_rate, epsilon=SMALL)",
)
_NO_NAN: Final = (
    Rewrite("A / B", "tf.math.divide_no_nan(A, B)"),
    Rewrite("divide(A, B)", "tf.math.divide_no_nan(A, B)"),
)

_CLIPPED: Final = tuple(
    Rewrite(f"{name}(X)", f"tf.{path}(tf.clip_by_value(X, -1 + NEAR, 1 - NEAR))")
    for name, path in (("acos", "acos"), ("asin", "asin"), ("atanh", "atanh"), ("erfinv", "math.erfinv"))
)

PATTERNS: Final = (
    Pattern(
        "an integer that wrapped around",
        ("Log", "Log1p", "Sqrt", "Rsqrt", "Pow", *DIVISIONS, "Reciprocal"),
        there.wrapped_integer,
        Advice(
            "The argument was computed in an integer dtype and cast afterwards. Integers wrap around: in"
            " uint8, 255 + 1 is 0 and 3 - 5 is 254. Cast first and compute then.",
            tuple(Rewrite(f"cast(X {sign} Y, T)", f"F(X, T) {sign} F(Y, T)") for sign in "+-*"),
            "tf.cast(a, tf.float32) - tf.cast(b, tf.float32)",
            is_upstream=True,
        ),
    ),
    Pattern(
        "an optimizer whose epsilon is 0 in float16",
        (*DIVISIONS, *UPDATES),
        there.optimizer_with_rounded_epsilon,
        _ROUNDED_EPSILON,
    ),
    Pattern(
        "an epsilon that is 0 in float16",
        ("Log", "Sqrt", "Rsqrt", *DIVISIONS, "Reciprocal"),
        there.rounded_epsilon,
        Advice(
            "The epsilon, or the lower limit, is 0 in float16: numbers below 6e-8, such as 1e-8, are rounded"
            " to 0 there. Take a larger one, such as 1e-3, or compute this part in float32.",
        ),
    ),
    Pattern(
        "a limit that rounds to 1",
        ("Log", *DIVISIONS, "Reciprocal"),
        there.rounded_limit,
        Advice(
            "The limit below 1 is 1 in this dtype, so that 1 - x is 0: the largest number below 1 is 0.996"
            " in bfloat16, 0.9995 in float16 and 0.99999994 in float32. Clip to a limit that the dtype has,"
            " compute this part in float32, or let the loss take the logits.",
        ),
    ),
    Pattern(
        "a variance as the difference of two means",
        ("Sqrt", "Rsqrt", "Log", "Pow"),
        there.difference_of_means,
        Advice(
            "mean(x²) − mean(x)² may be a little below 0 by round-off. Compute the mean of the squared"
            " differences: tf.math.reduce_variance.",
            (Rewrite("sqrt(X)", "tf.sqrt(tf.maximum(X, EPSILON))"),),
            "tf.sqrt(tf.math.reduce_variance(x, axis=0) + EPSILON)",
        ),
    ),
    Pattern(
        "a squared distance that is below 0 by round-off",
        ("Sqrt", "Rsqrt"),
        there.squared_distance,
        Advice(
            "a² + b² − 2ab may be a little below 0 by round-off, where the points are equal: clip it just"
            " above 0.",
            (Rewrite("sqrt(X)", "tf.sqrt(tf.maximum(X, EPSILON))"),),
            "tf.sqrt(tf.maximum(squared, EPSILON))",
        ),
    ),
    Pattern(
        "the root of a variance, in a gradient",
        ("Sqrt", "Rsqrt"),
        there.root_of_variance,
        Advice(
            "Where all values are equal the variance is 0, and the root has no gradient there: add an"
            " epsilon under the root.",
            UNDER_ROOT,
            "tf.sqrt(tf.math.reduce_variance(x, axis=0) + EPSILON)",
        ),
    ),
    Pattern(
        "a norm at 0",
        ("Sqrt", "Rsqrt", "EuclideanNorm", "Norm"),
        there.root_of_squares,
        Advice(
            "This is a norm or a distance, and it is 0 somewhere: its gradient is not defined there. Add a"
            " small epsilon under the root.",
            UNDER_ROOT,
            "tf.sqrt(tf.reduce_sum(tf.square(x), axis=-1) + EPSILON)",
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
            "The gradient of atan2 divides by x² + y², which is 0 at the origin: put another x there, where"
            " the angle is 0 as well.",
            (
                Rewrite(
                    "atan2(Y, X)",
                    "tf.where(tf.equal(tf.abs(X) + tf.abs(Y), 0), 0.0, tf.atan2(Y,"
                    " tf.where(tf.equal(tf.abs(X) + tf.abs(Y), 0), tf.ones_like(X), X)))",
                ),
            ),
            "tf.where(is_origin, 0.0, tf.atan2(y, tf.where(is_origin, tf.ones_like(x), x)))",
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
        "values that are divided by their deviation",
        DIVISIONS,
        there.centered_over_deviation,
        Advice(
            "Where all values are equal the deviation is 0, and so is the distance from the mean: add an"
            " epsilon to the deviation, as normalisations do.",
            (
                Rewrite("A / sqrt(B)", "A / (tf.sqrt(B) + SMALL)"),
                Rewrite("A / (sqrt(B) + E)", "A / (tf.sqrt(B) + SMALL)"),
                Rewrite("A / reduce_std(X, *R, **K)", "A / (tf.math.reduce_std(X, *R, **K) + SMALL)"),
                Rewrite("A / B", "A / (B + SMALL)"),
            ),
            "(x - mean) / (tf.sqrt(variance) + SMALL)",
        ),
    ),
    Pattern(
        "a vector that is divided by its norm",
        DIVISIONS,
        there.vector_over_norm,
        Advice(
            "A vector of zeros has no direction. If 0 is right for it, use tf.math.divide_no_nan, which"
            " gives 0 there, as tf.math.l2_normalize does.",
            (Rewrite("A / norm(X, *R, **K)", "tf.math.divide_no_nan(A, tf.norm(X, *R, **K))"), *_NO_NAN),
            "tf.math.l2_normalize(x, axis=-1)",
        ),
    ),
    Pattern(
        "a division by a root without an epsilon",
        DIVISIONS,
        there.divided_by_bare_root,
        Advice(
            "Optimizers and normalisations add an epsilon to the root that they divide by; here it is 0 or"
            " missing. Find out why the root is 0, and decide what the result shall be there.",
        ),
    ),
    Pattern(
        "a scaling to the range",
        DIVISIONS,
        there.scaled_to_range,
        Advice(
            "Maximum and minimum are equal where a column is constant. tf.math.divide_no_nan gives 0 there.",
            _NO_NAN,
            "tf.math.divide_no_nan(x - low, high - low)",
        ),
    ),
    Pattern(
        "a division by a range",
        DIVISIONS,
        there.divided_by_range,
        Advice(
            "Maximum and minimum are equal where a column is constant: leave such columns out, or decide"
            " what they are scaled to.",
        ),
    ),
    Pattern(
        "a mean of what a mask or a group selects",
        DIVISIONS,
        there.mean_of_selected,
        Advice(
            "Nothing was selected, so that both the sum and the count are 0: tf.math.divide_no_nan gives 0"
            " there.",
            _NO_NAN,
            "tf.math.divide_no_nan(tf.reduce_sum(loss * mask), tf.reduce_sum(mask))",
        ),
    ),
    Pattern(
        "a share of nothing",
        DIVISIONS,
        there.share,
        Advice(
            "A part is divided by the whole, and both are 0: tf.math.divide_no_nan gives 0 there.",
            _NO_NAN,
            "tf.math.divide_no_nan(x, tf.reduce_sum(x, axis=-1, keepdims=True))",
        ),
    ),
    Pattern(
        "a division by the count of a mask",
        DIVISIONS,
        there.divided_by_count,
        Advice(
            "The divisor counts what a mask or a group selects, and nothing was selected: leave such a batch"
            " or group out, or decide what the result shall be there.",
        ),
    ),
    Pattern(
        "a division by the own sum",
        DIVISIONS,
        there.divided_by_own_sum,
        Advice(
            "The sum of the values is 0: they are all 0, or they cancel. Decide what their shares shall be"
            " then.",
        ),
    ),
    Pattern(
        "an exponential that is rounded to 0",
        ("Log", *DIVISIONS, "Reciprocal", "Rsqrt"),
        there.underflowing_exp,
        Advice(
            "The exponential of a very negative number is 0: below -104 in float32, -17 in float16. Stay in"
            " logarithms (tf.reduce_logsumexp, tf.nn.log_softmax), or subtract the maximum before the"
            " exponential.",
        ),
    ),
    Pattern(
        "a division by a whole number",
        (*DIVISIONS, "Reciprocal", "Inv"),
        there.divided_by_whole_number,
        Advice(
            "The divisor is a whole number, such as a counter or a length, and is 0: begin at 1, or decide"
            " what the result of nothing shall be.",
        ),
    ),
    Pattern(
        "the root of a step that is counted from 0",
        ("Rsqrt",),
        there.step_from_zero,
        Advice(
            "The argument is a counter, such as a step, and is 0: count from 1.",
            (Rewrite("rsqrt(X)", "tf.math.rsqrt(X + 1.0)"),),
            "tf.math.rsqrt(tf.cast(step, tf.float32) + 1.0)",
        ),
    ),
    Pattern(
        "the root of a whole number",
        ("Rsqrt",),
        there.divided_by_whole_number,
        Advice(
            "The argument is a whole number, such as a degree or a length, and is 0: decide what nothing"
            " counts.",
        ),
    ),
    Pattern(
        "the gradient of a root at 0, written as a power",
        ("Pow",),
        there.root_as_power,
        Advice(
            "The gradient of a power below 1 is infinite at 0: keep the base above 0.",
            (
                Rewrite("X ** Y", "tf.maximum(X, EPSILON) ** Y"),
                Rewrite("pow(X, Y)", "tf.pow(tf.maximum(X, EPSILON), Y)"),
            ),
            "tf.pow(tf.maximum(x, EPSILON), 0.5)",
        ),
    ),
    Pattern(
        "the gradient of a power at 0",
        ("Pow",),
        there.any_gradient,
        Advice(
            "The gradient of a power below 1 is infinite at 0: keep the base so far above 0 that the"
            " gradient is of use.",
        ),
    ),
    Pattern(
        "the gradient at the end of the range",
        ("Acos", "Asin", "Atanh", "Acosh", "Erfinv", "Ndtri"),
        there.any_gradient,
        Advice(
            "The gradient is infinite at the ends of the range: clip the argument to just inside, for"
            " example a cosine that is 1 by round-off.",
            _CLIPPED,
            "tf.acos(tf.clip_by_value(x, -1 + NEAR, 1 - NEAR))",
        ),
    ),
    Pattern(
        "a cosine or a tanh at the end of the range",
        ("Acos", "Asin", "Atanh"),
        there.rounded_cosine,
        Advice(
            "The argument is at the end of the range, or beyond it by round-off: clip it to just inside.",
            _CLIPPED,
            "tf.acos(tf.clip_by_value(x, -1 + NEAR, 1 - NEAR))",
        ),
    ),
)
