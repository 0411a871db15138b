"""Losses, probabilities and masks: logarithms, exponentials and softmax."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.diagnosis import situations as there
from tb_debugger_plugin.analysis.diagnosis.advice import (
    DATA,
    FINITE_MASK,
    LOG_SUM_EXP,
    SOFTMAX,
    UNMASK,
    Advice,
)
from tb_debugger_plugin.analysis.diagnosis.rewriting import Rewrite
from tb_debugger_plugin.analysis.diagnosis.situated import ANY_OP, DIVISIONS, Pattern
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS

PATTERNS: Final = (
    Pattern("data of an input pipeline", tuple(sorted(ARGUMENTS)), there.in_pipeline, DATA),
    Pattern(
        "a value that tf.where does not select, in the gradient",
        ANY_OP,
        there.in_unselected_branch,
        Advice(
            "tf.where does not stop the gradient of the branch that it leaves out: 0 times infinity is NaN."
            " Put a harmless value into the argument first, with a second tf.where inside.",
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
        "the log-sum-exp of a row of −∞",
        ANY_OP,
        there.own_log_sum_exp,
        Advice(
            "reduce_logsumexp subtracts the maximum itself. Of a row of nothing but −∞ it is −∞, which is"
            " right, and has no gradient: mask with a large negative number instead of −∞.",
            FINITE_MASK,
            is_upstream=True,
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
                Rewrite("maximum(sqrt(X), A)", "tf.maximum(tf.sqrt(tf.maximum(X, EPSILON)), A)"),
                Rewrite("maximum(X ** Y, A)", "tf.maximum(tf.maximum(X, EPSILON) ** Y, A)"),
                Rewrite("maximum(log(X), A)", "tf.maximum(tf.math.log(tf.maximum(X, EPSILON)), A)"),
                Rewrite("minimum(rsqrt(X), A)", "tf.minimum(tf.math.rsqrt(tf.maximum(X, EPSILON)), A)"),
            ),
            "tf.maximum(tf.sqrt(tf.maximum(x, EPSILON)), limit)",
        ),
    ),
    Pattern(
        "the log of a softmax",
        ("Log",),
        there.log_of("Softmax"),
        Advice(
            "The softmax rounds small probabilities to 0. tf.nn.log_softmax computes both in one step; a"
            " loss takes the logits with from_logits=True.",
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
            "The sigmoid rounds to 1 for large logits, and the log is −∞ there. tf.math.log_sigmoid of the"
            " negative logits is the same without it; a loss takes the logits with from_logits=True.",
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
            " step; a loss takes the logits with from_logits=True.",
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
            (LOG_SUM_EXP,),
            "tf.reduce_logsumexp(x, axis=-1)",
        ),
    ),
    Pattern(
        "the log of exponentials that are added",
        ("Exp", "Log"),
        there.log_of_added_exp,
        Advice(
            "tf.reduce_logsumexp of the stacked terms subtracts the maximum first, so that nothing overflows"
            " and no sum is 0.",
            (
                Rewrite("log(exp(X) + exp(Y) + exp(Z))", "tf.reduce_logsumexp(tf.stack([X, Y, Z]), axis=0)"),
                Rewrite("log(exp(X) + exp(Y))", "tf.reduce_logsumexp(tf.stack([X, Y]), axis=0)"),
            ),
            "tf.reduce_logsumexp(tf.stack([a, b]), axis=0)",
        ),
    ),
    Pattern(
        "a softmax written out",
        ("Exp", *DIVISIONS),
        there.own_softmax,
        Advice(
            "Subtract the maximum of each row before the exponential, which changes nothing else;"
            " tf.nn.softmax does.",
            SOFTMAX,
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
            "Where the factor is 0, the product is meant to be 0, but 0 · ∞ is NaN: tf.math.xlogy gives 0"
            " there.",
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
            (*FINITE_MASK, Rewrite("inf", "MASK")),
            "tf.where(mask, scores, -MASK)",
            is_upstream=True,
        ),
    ),
    Pattern(
        "the log of a probability",
        ("Log", "Xlogy"),
        there.log_of_probability,
        Advice(
            "Clip the probability from below, or let a loss take the logits instead.",
            (
                Rewrite("log(X)", "tf.math.log(tf.maximum(X, LEAST))"),
                Rewrite("xlogy(X, Y)", "tf.math.xlogy(X, tf.maximum(Y, LEAST))"),
            ),
            "tf.math.log(tf.maximum(p, LEAST))",
        ),
    ),
    Pattern("a row that is masked as a whole", ("Softmax", "LogSoftmax"), there.masked_with_infinity, UNMASK),
)
