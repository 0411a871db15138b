"""Losses, probabilities and masks: logarithms, exponentials and softmax."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.diagnosis import situations as there
from tb_debugger_plugin.analysis.diagnosis.advice import DATA, UNMASK, Advice
from tb_debugger_plugin.analysis.diagnosis.pattern import ANY_OP, DIVISIONS, Pattern
from tb_debugger_plugin.analysis.diagnosis.rewriting import Rewrite
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS

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
        "a limit after a function with an edge, in the gradient",
        ANY_OP,
        there.limited_afterwards,
        Advice(
            "A limit after the function does not stop its gradient: 0 times infinity is NaN. Limit the"
            " argument instead.",
            (
                Rewrite("maximum(sqrt(X), A)", "tf.sqrt(tf.maximum(X, 1e-12))"),
                Rewrite("maximum(X ** Y, A)", "tf.maximum(X, 1e-12) ** Y"),
                Rewrite("maximum(log(X), A)", "tf.math.log(tf.maximum(X, 1e-7))"),
                Rewrite("minimum(rsqrt(X), A)", "tf.math.rsqrt(tf.maximum(X, 1e-12))"),
            ),
            "tf.sqrt(tf.maximum(x, 1e-12))",
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
)
