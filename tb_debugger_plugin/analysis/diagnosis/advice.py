"""What usually helps against bad values, with the change of a line where it keeps what the line means.

A change is offered only in a situation that shows that it is right: here stand those that the text of the
line proves, such as ``log(softmax(x))``. Elsewhere the words say what to decide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.dialect import TENSORFLOW, Dialect
from tb_debugger_plugin.analysis.diagnosis.rewriting import Example, Rewrite, example_of, with_numbers


@dataclass(frozen=True)
class Advice:
    """What helps.

    Attributes:
      words: A sentence.
      rewrites: Changes of a line, the most specific one first.
      like: An example for a line in which none of them is found.
      is_upstream: Whether the lines that made the inputs may have to change, too.
      without_training: The sentence for a program that only predicts, if that is another one.
    """

    words: str
    rewrites: Sequence[Rewrite] = ()
    like: str | None = None
    is_upstream: bool = False
    without_training: str | None = None

    def example(
        self, lines: Sequence[str | None], dtype: str | None = None, dialect: Dialect = TENSORFLOW
    ) -> Example | None:
        """Return the changed line; else an example that is only like the program.

        Args:
          lines: Texts of lines of the program, the most probable one first.
          dtype: The dtype that numbers in the changed line have to fit.
          dialect: The library that the program uses.
        """
        for line in lines:
            found = example_of(line, self.rewrites, dtype)
            code = None if found is None else dialect.code(found.after)
            if found is not None and code is not None:
                return Example(found.before, code)
        general = None if self.like is None else dialect.code(with_numbers(self.like, dtype))
        return None if general is None else Example(None, general)


#: Changes that the text of the line proves right: they compute the same, and nothing overflows.
SOFTMAX: Final = (
    Rewrite("exp(X) / reduce_sum(exp(X), axis=A, keepdims=True)", "tf.nn.softmax(X, axis=A)"),
    Rewrite("exp(X) / reduce_sum(exp(X), *R, **K)", "tf.exp(X - tf.reduce_logsumexp(X, *R, **K))"),
)
LOG_SUM_EXP: Final = Rewrite("log(reduce_sum(exp(X), *R, **K))", "tf.reduce_logsumexp(X, *R, **K)")
#: Roots of sums of squares, whose gradient is 0 where they are: the epsilon changes nothing else.
DEVIATIONS: Final = (
    Rewrite("norm(X, axis=A, **K)", "tf.sqrt(tf.reduce_sum(tf.square(X), axis=A, **K) + EPSILON)"),
    Rewrite("norm(X)", "tf.sqrt(tf.reduce_sum(tf.square(X)) + EPSILON)"),
    Rewrite("reduce_euclidean_norm(X, *R, **K)", "tf.sqrt(tf.reduce_sum(tf.square(X), *R, **K) + EPSILON)"),
    Rewrite("reduce_std(X, *R, **K)", "tf.sqrt(tf.math.reduce_variance(X, *R, **K) + EPSILON)"),
)
UNDER_ROOT: Final = (
    Rewrite("rsqrt(X)", "tf.math.rsqrt(X + EPSILON)"),
    Rewrite("sqrt(X)", "tf.sqrt(X + EPSILON)"),
    *DEVIATIONS,
)

LOG: Final = Advice(
    "Find out why the argument of the log is 0 or negative, and decide what the logarithm shall be there."
    " Only a probability may simply be clipped from below; a loss better takes the logits.",
)
DIVIDE: Final = Advice(
    "The divisor is 0: find out why, and decide what the result shall be there: leave the case out, choose a"
    " value with tf.where (also for the divisor inside), or keep the divisor away from 0.",
)
ROOT: Final = Advice(
    "The argument is 0, where the root has no slope and 1 / √x no value: decide what the result shall be"
    " there, or keep the argument away from 0.",
    DEVIATIONS,
)
NOT_NEGATIVE: Final = Advice(
    "Find out why the argument of the root is negative: a sign, an index, or round-off. Only round-off may"
    " be clipped at 0.",
)
POWER: Final = Advice(
    "Find out why the base is negative: keep it above 0, use a whole power, or take the power of the"
    " magnitude and put the sign back.",
)
RANGE: Final = Advice(
    "Look at the scale of the inputs: learning rate, initialisation, normalisation, or a wider dtype.",
    without_training="Look at the scale of the inputs: the data, their normalisation, the weights that were"
    " loaded, or a wider dtype.",
)
MAXIMUM: Final = Advice(
    "Look at why the argument of the exponential is so large; in a softmax or the log of a sum, subtract the"
    " maximum first.",
    (
        *SOFTMAX,
        LOG_SUM_EXP,
        Rewrite("log(cosh(X))", "X + tf.nn.softplus(-2.0 * X) - 0.6931472"),
        Rewrite("log(expm1(X))", "X + tf.math.log(-tf.math.expm1(-X))"),
    ),
)
INSIDE: Final = Advice(
    "Find out why the argument is outside the range, or at its end. Only round-off may be clipped.",
)
NARROW: Final = Advice(
    "Keep this part in float32, or scale the values (the loss, with loss scaling) before they become narrow.",
)
WIDE_SUM: Final = Advice(
    "float16 ends at 65,504: cast the inputs to float32 before this and the result back after it, where it"
    " is small again, or train with mixed_float16, which scales the loss.",
)
EMPTY: Final = Advice(
    "Skip batches and masks that select nothing, or divide the sum by the count with tf.math.divide_no_nan.",
    (
        Rewrite(
            "reduce_mean(X)",
            "tf.math.divide_no_nan(tf.reduce_sum(X), tf.cast(tf.size(X), X.dtype))",
        ),
    ),
    "tf.math.divide_no_nan(tf.reduce_sum(x), tf.cast(tf.size(x), x.dtype))",
)
#: An infinity that the program writes as a mask.
FINITE_MASK: Final = (Rewrite("-inf", "-MASK"), Rewrite("float('-inf')", "-MASK"))
UNMASK: Final = Advice(
    "Leave at least one entry of each row unmasked, or mask with a large finite number and set the weights"
    " of what is masked to 0 after the softmax.",
    (
        Rewrite(
            "softmax(X, **K)",
            "tf.where(tf.math.is_inf(X), 0.0, tf.nn.softmax(tf.maximum(X, -MASK), **K))",
        ),
    ),
    "tf.where(mask, tf.nn.softmax(tf.where(mask, scores, -MASK)), 0.0)",
)
JITTER: Final = Advice(
    "Add a small multiple of the identity to the matrix (jitter), or compute in float64; check that it is"
    " symmetric.",
    tuple(
        Rewrite(f"{name}(X)", f"tf.linalg.{name}(X + 1e-6 * tf.eye(tf.shape(X)[-1], dtype=X.dtype))")
        for name in ("cholesky", "sqrtm")
    ),
    "tf.linalg.cholesky(k + 1e-6 * tf.eye(tf.shape(k)[-1], dtype=k.dtype))",
)
DATA: Final = Advice(
    "Check the data before they enter the model: drop the bad rows, or replace the values.",
    like="dataset = dataset.filter(lambda x, y: tf.reduce_all(tf.math.is_finite(x)))",
)
