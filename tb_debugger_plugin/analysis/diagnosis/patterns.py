"""The situations around an op that need advice of their own: a table with one row for each.

A row is looked at for the types of ops that it names: the op that made a bad value and, for a gradient, the
op whose gradient it is. The first row whose situation is there counts, so special rows come before
general ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.diagnosis import situations as there
from tb_debugger_plugin.analysis.diagnosis.advice import DATA, JITTER, ROOT, UNMASK, WIDE_SUM, Advice
from tb_debugger_plugin.analysis.diagnosis.around import Scene
from tb_debugger_plugin.analysis.diagnosis.rewriting import Rewrite
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS

#: The row is looked at for all types of ops.
ANY_OP: Final = ("*",)
DIVISIONS: Final = ("RealDiv", "Div", "TruncateDiv", "FloorDiv", "Xdivy")


@dataclass(frozen=True)
class Pattern:
    """A situation and what helps in it.

    Attributes:
      name: What the situation is, in a few words.
      ops: Types of ops.
      is_there: Whether the situation is there.
      advice: What helps.
    """

    name: str
    ops: Sequence[str]
    is_there: Callable[[Scene], bool]
    advice: Advice


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
    Pattern("data of an input pipeline", tuple(sorted(ARGUMENTS)), there.in_pipeline, DATA),
    Pattern(
        "a value that tf.where does not select, in the gradient",
        ANY_OP,
        there.in_unselected_branch,
        Advice(
            "tf.where does not stop the gradient of the branch that it leaves out: 0 times infinity is"
            " NaN. Put a"
            " harmless value into the argument first, with a second tf.where inside.",
            (
                Rewrite("where(C, A / X, B)", "tf.where(C, A / tf.where(C, X, tf.ones_like(X)), B)"),
                Rewrite("where(C, A, B / X)", "tf.where(C, A, B / tf.where(C, tf.ones_like(X), X))"),
                *(
                    Rewrite(
                        f"where(C, {name}(X), B)",
                        f"tf.where(C, tf.{path}(tf.where(C, X, tf.ones_like(X))), B)",
                    )
                    for name, path in there.EDGED
                ),
                *(
                    Rewrite(
                        f"where(C, B, {name}(X))",
                        f"tf.where(C, B, tf.{path}(tf.where(C, tf.ones_like(X), X)))",
                    )
                    for name, path in there.EDGED
                ),
                Rewrite("where(C, X ** Y, B)", "tf.where(C, tf.where(C, X, tf.ones_like(X)) ** Y, B)"),
            ),
            "tf.where(mask, tf.sqrt(tf.where(mask, x, tf.ones_like(x))), 0.0)",
        ),
    ),
    Pattern(
        "the log of a softmax",
        ("Log",),
        there.log_of("Softmax"),
        Advice(
            "The softmax rounds small probabilities to 0. tf.nn.log_softmax computes both in one step; a"
            " loss takes"
            " the logits with from_logits=True.",
            (
                Rewrite("log(softmax(X, **K))", "tf.nn.log_softmax(X, **K)"),
                Rewrite("log(softmax(X, A))", "tf.nn.log_softmax(X, A)"),
                Rewrite("log(exp(X) / reduce_sum(exp(X), *R, **K))", "X - tf.reduce_logsumexp(X, *R, **K)"),
            ),
            "tf.nn.log_softmax(logits)",
        ),
    ),
    Pattern(
        "the log of 1 minus a sigmoid",
        ("Log",),
        there.log_of_one_minus_sigmoid,
        Advice(
            "The sigmoid rounds to 1 for large logits, and the log is −∞ there. tf.math.log_sigmoid of"
            " the negative"
            " logits is the same without it; a loss takes the logits with from_logits=True.",
            (
                Rewrite("log(1 - sigmoid(X))", "tf.math.log_sigmoid(-X)"),
                Rewrite("log(1.0 - sigmoid(X))", "tf.math.log_sigmoid(-X)"),
            ),
            "tf.math.log_sigmoid(-logits)",
        ),
    ),
    Pattern(
        "the log of a sigmoid",
        ("Log",),
        there.log_of("Sigmoid"),
        Advice(
            "The sigmoid rounds to 0 for very negative logits. tf.math.log_sigmoid computes both in one"
            " step; a"
            " loss takes the logits with from_logits=True.",
            (Rewrite("log(sigmoid(X))", "tf.math.log_sigmoid(X)"),),
            "tf.math.log_sigmoid(logits)",
        ),
    ),
    Pattern(
        "the log of a sum of exponentials",
        ("Exp", "Log"),
        there.log_of_sum_of_exp,
        Advice(
            "tf.reduce_logsumexp subtracts the maximum first, so that nothing overflows and no sum is 0.",
            (Rewrite("log(reduce_sum(exp(X), *R, **K))", "tf.reduce_logsumexp(X, *R, **K)"),),
            "tf.reduce_logsumexp(x, axis=-1)",
        ),
    ),
    Pattern(
        "a softmax written out",
        ("Exp", *DIVISIONS),
        there.own_softmax,
        Advice(
            "Subtract the maximum of each row before the exponential, which changes nothing else;"
            " tf.nn.softmax"
            " does.",
            (
                Rewrite("exp(X) / reduce_sum(exp(X), axis=A, keepdims=True)", "tf.nn.softmax(X, axis=A)"),
                Rewrite(
                    "exp(X) / reduce_sum(exp(X), *R, **K)", "tf.exp(X - tf.reduce_logsumexp(X, *R, **K))"
                ),
                Rewrite("exp(X)", "tf.exp(X - tf.reduce_max(X, axis=-1, keepdims=True))"),
            ),
            "tf.nn.softmax(logits, axis=-1)",
        ),
    ),
    Pattern(
        "a softplus written out",
        ("Exp",),
        there.own_softplus,
        Advice(
            "tf.nn.softplus is the same, and does not overflow.",
            (
                Rewrite("log(1 + exp(X))", "tf.nn.softplus(X)"),
                Rewrite("log(1.0 + exp(X))", "tf.nn.softplus(X)"),
                Rewrite("log(exp(X) + 1)", "tf.nn.softplus(X)"),
                Rewrite("log(exp(X) + 1.0)", "tf.nn.softplus(X)"),
                Rewrite("log1p(exp(X))", "tf.nn.softplus(X)"),
            ),
            "tf.nn.softplus(x)",
        ),
    ),
    Pattern(
        "a logarithm times 0",
        ("Log", "Mul"),
        there.log_times,
        Advice(
            "Where the factor is 0, the product is meant to be 0, but 0 · ∞ is NaN: tf.math.xlogy gives"
            " 0 there.",
            (
                Rewrite("Y * log(X)", "tf.math.xlogy(Y, X)"),
                Rewrite("log(X) * Y", "tf.math.xlogy(Y, X)"),
                Rewrite("multiply(Y, log(X))", "tf.math.xlogy(Y, X)"),
                Rewrite("Y * log1p(X)", "tf.math.xlog1py(Y, X)"),
            ),
            "tf.math.xlogy(y, p)",
        ),
    ),
    Pattern(
        "a mask that is multiplied by infinity",
        ("Mul",),
        there.infinite_factor,
        Advice(
            "Where the mask is 0, 0 · ∞ is NaN. Choose with tf.where, or multiply by a large finite number.",
            (Rewrite("-inf", "-1e9"), Rewrite("float('-inf')", "-1e9"), Rewrite("inf", "1e9")),
            "tf.where(mask, scores, -1e9)",
        ),
    ),
    Pattern("a row that is masked as a whole", ("Softmax", "LogSoftmax"), there.masked_with_infinity, UNMASK),
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
    Pattern(
        "a matrix that is not positive definite",
        ("Cholesky", "LogMatrixDeterminant", "MatrixSquareRoot", "MatrixLogarithm"),
        there.always,
        JITTER,
    ),
    Pattern(
        "an optimizer with an epsilon of 0",
        (
            "ResourceApplyAdam",
            "ResourceApplyAdamWithAmsgrad",
            "ResourceApplyRMSProp",
            "ResourceApplyCenteredRMSProp",
            "ResourceApplyAdagradV2",
            "ResourceApplyAdadelta",
            "ResourceApplyAdaMax",
        ),
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
        "a computation in float16",
        (
            *("Sum", "Mean", "Square", "Prod", "Cumsum", "L2Loss", "MatMul", "BatchMatMulV2", "Einsum"),
            *("Conv2D", "Mul", "AddV2", "AddN", "BiasAdd", "Exp", "Pow", "SquaredDifference"),
        ),
        there.in_float16,
        WIDE_SUM,
    ),
    Pattern(
        "a norm over all gradients",
        ("L2Loss", "Sum", "AddN", "Sqrt"),
        there.global_norm,
        Advice(
            "The squares of the gradients overflow, and clip_by_global_norm then gives NaN: clip each"
            " gradient by"
            " value first, or lower the learning rate.",
            (
                Rewrite(
                    "clip_by_global_norm(X, *R, **K)",
                    "F([tf.clip_by_value(g, -1e6, 1e6) for g in X], *R, **K)",
                ),
            ),
            "grads = [tf.clip_by_value(g, -1e6, 1e6) for g in grads]",
        ),
    ),
    Pattern(
        "values that grew from step to step",
        (
            *("MatMul", "BatchMatMulV2", "Conv2D", "Mul", "Square", "SquaredDifference", "Sum", "Mean"),
            *("Exp", "AddV2", "Sub", "BiasAdd", "L2Loss", "Pow", "Einsum", "Cast", "Prod"),
        ),
        there.grew_over_steps,
        Advice(
            "The values grew from step to step until they overflowed: the training diverged. Lower the"
            " learning"
            " rate, clip the gradients, or normalise the inputs.",
            (
                *(
                    Rewrite(f"{name}({given})", f"F({given} / 10, clipnorm=1.0)")
                    for name in ("SGD", "Adam", "RMSprop", "Adagrad")
                    for given in ("L", "learning_rate=L")
                ),
            ),
            "tf.keras.optimizers.SGD(learning_rate / 10, clipnorm=1.0)",
        ),
    ),
)
