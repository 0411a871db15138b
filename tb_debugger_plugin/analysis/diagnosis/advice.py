"""What usually helps against bad values, with the change of a line where it can be written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.rewriting import Example, Rewrite, example_of


@dataclass(frozen=True)
class Advice:
    """What helps.

    Attributes:
      words: A sentence.
      rewrites: Changes of a line, the most specific one first.
      like: An example for a line in which none of them is found.
    """

    words: str
    rewrites: Sequence[Rewrite] = ()
    like: str | None = None

    def example(self, lines: Sequence[str | None]) -> Example | None:
        """The changed line; else an example that is only like the program.

        Args:
          lines: Texts of lines of the program, the most probable one first.
        """
        found = (example_of(line, self.rewrites) for line in lines)
        general = None if self.like is None else Example(None, self.like)
        return next((example for example in found if example is not None), general)


CLIP_LOG: Final = Advice(
    "Clip the argument of the log from below; if it is a probability, let a loss take the logits instead.",
    (
        Rewrite("log(X)", "tf.math.log(tf.maximum(X, 1e-7))"),
        Rewrite("log1p(X)", "tf.math.log1p(tf.maximum(X, -1 + 1e-6))"),
        Rewrite("xlogy(X, Y)", "tf.math.xlogy(X, tf.maximum(Y, 1e-7))"),
        Rewrite("xlog1py(X, Y)", "tf.math.xlog1py(X, tf.maximum(Y, -1 + 1e-6))"),
    ),
    "tf.math.log(tf.maximum(p, 1e-7))",
)
DIVIDE: Final = Advice(
    "Where the divisor may be 0, use tf.math.divide_no_nan, which gives 0 there, or keep it away from 0 with"
    " a small epsilon.",
    (
        Rewrite("divide(A, B)", "tf.math.divide_no_nan(A, B)"),
        Rewrite("reciprocal(X)", "tf.math.reciprocal_no_nan(X)"),
        Rewrite("A / B", "tf.math.divide_no_nan(A, B)"),
        Rewrite("A // B", "tf.floor(tf.math.divide_no_nan(A, B))"),
        Rewrite("xdivy(A, B)", "tf.math.divide_no_nan(A, B)"),
    ),
    "tf.math.divide_no_nan(a, b)",
)
ROOT: Final = Advice(
    "Add a small epsilon under the root: neither it nor its gradient is infinite then.",
    (
        Rewrite("rsqrt(X)", "tf.math.rsqrt(X + 1e-12)"),
        Rewrite("sqrt(X)", "tf.sqrt(X + 1e-12)"),
        Rewrite("norm(X, axis=A, **K)", "tf.sqrt(tf.reduce_sum(tf.square(X), axis=A, **K) + 1e-12)"),
        Rewrite("norm(X)", "tf.sqrt(tf.reduce_sum(tf.square(X)) + 1e-12)"),
        Rewrite("reduce_euclidean_norm(X, *R, **K)", "tf.sqrt(tf.reduce_sum(tf.square(X), *R, **K) + 1e-12)"),
        Rewrite("reduce_std(X, *R, **K)", "tf.sqrt(tf.math.reduce_variance(X, *R, **K) + 1e-12)"),
    ),
    "tf.sqrt(x + 1e-12)",
)
NOT_NEGATIVE: Final = Advice(
    "Clip the argument of the root a little above 0, or find out why it is negative: round-off, or a sign.",
    (
        Rewrite("rsqrt(X)", "tf.math.rsqrt(tf.maximum(X, 1e-12))"),
        Rewrite("sqrt(X)", "tf.sqrt(tf.maximum(X, 1e-12))"),
    ),
    "tf.sqrt(tf.maximum(x, 1e-12))",
)
POWER: Final = Advice(
    "Keep the base above 0, or use a whole power.",
    (
        Rewrite("X ** Y", "tf.maximum(X, 1e-12) ** Y"),
        Rewrite("pow(X, Y)", "tf.pow(tf.maximum(X, 1e-12), Y)"),
    ),
    "tf.pow(tf.maximum(x, 1e-12), y)",
)
RANGE: Final = Advice(
    "Look at the scale of the inputs: learning rate, initialisation, normalisation, or a wider dtype."
)
MAXIMUM: Final = Advice(
    "Clip the argument of the exponential; in a softmax or the log of a sum, subtract the maximum first.",
    (
        Rewrite("exp(X) / reduce_sum(exp(X), axis=A, keepdims=True)", "tf.nn.softmax(X, axis=A)"),
        Rewrite("exp(X) / reduce_sum(exp(X), *R, **K)", "tf.exp(X - tf.reduce_logsumexp(X, *R, **K))"),
        Rewrite("log(reduce_sum(exp(X), *R, **K))", "tf.reduce_logsumexp(X, *R, **K)"),
        Rewrite("exp(X)", "tf.exp(tf.minimum(X, 80.0))"),
        Rewrite("expm1(X)", "tf.math.expm1(tf.minimum(X, 80.0))"),
        Rewrite("sinh(X)", "tf.sinh(tf.clip_by_value(X, -80.0, 80.0))"),
        Rewrite("cosh(X)", "tf.cosh(tf.clip_by_value(X, -80.0, 80.0))"),
    ),
    "tf.exp(tf.minimum(x, 80.0))",
)
_BETWEEN_ONES: Final = (("acos", "acos"), ("asin", "asin"), ("atanh", "atanh"), ("erfinv", "math.erfinv"))
INSIDE: Final = Advice(
    "Clip the argument to just inside the range.",
    (
        *(
            Rewrite(f"{name}(X)", f"tf.{path}(tf.clip_by_value(X, -1 + 1e-6, 1 - 1e-6))")
            for name, path in _BETWEEN_ONES
        ),
        Rewrite("ndtri(X)", "tf.math.ndtri(tf.clip_by_value(X, 1e-6, 1 - 1e-6))"),
        Rewrite("acosh(X)", "tf.acosh(tf.maximum(X, 1 + 1e-6))"),
    ),
    "tf.acos(tf.clip_by_value(x, -1 + 1e-6, 1 - 1e-6))",
)
NARROW: Final = Advice(
    "Keep this part in float32, or scale the values (the loss, with loss scaling) before they become narrow.",
    (Rewrite("cast(X, T)", "tf.cast(X, tf.float32)"),),
    "tf.cast(x, tf.float32)",
)
_SUMS: Final = ("reduce_sum", "reduce_mean", "square", "cumsum", "reduce_prod")
WIDE_SUM: Final = Advice(
    "float16 ends at 65,504: compute this in float32 and cast the result, or train with mixed_float16, which"
    " scales the loss.",
    (
        *(
            Rewrite(f"{name}(cast(X, T), *R, **K)", f"tf.{name}(tf.cast(X, tf.float32), *R, **K)")
            for name in _SUMS
        ),
        *(Rewrite(f"{name}(X, *R, **K)", f"tf.{name}(tf.cast(X, tf.float32), *R, **K)") for name in _SUMS),
    ),
    "tf.cast(tf.reduce_sum(tf.cast(x, tf.float32)), x.dtype)",
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
UNMASK: Final = Advice(
    "Leave at least one entry of each row unmasked, or mask with a large negative number such as -1e9.",
    (
        Rewrite("-inf", "-1e9"),
        Rewrite("float('-inf')", "-1e9"),
        Rewrite("softmax(X, **K)", "tf.nn.softmax(tf.maximum(X, -1e9), **K)"),
        Rewrite("log_softmax(X, **K)", "tf.nn.log_softmax(tf.maximum(X, -1e9), **K)"),
    ),
    "tf.nn.softmax(tf.where(mask, scores, -1e9))",
)
JITTER: Final = Advice(
    "Add a small multiple of the identity to the matrix (jitter), or compute in float64; check that it is"
    " symmetric.",
    tuple(
        Rewrite(f"{name}(X)", f"tf.linalg.{name}(X + 1e-6 * tf.eye(tf.shape(X)[-1], dtype=X.dtype))")
        for name in ("cholesky", "logdet", "slogdet", "inv", "sqrtm")
    ),
    "tf.linalg.cholesky(k + 1e-6 * tf.eye(tf.shape(k)[-1], dtype=k.dtype))",
)
DATA: Final = Advice(
    "Check the data before they enter the model: drop the bad rows, or replace the values.",
    like="dataset = dataset.filter(lambda x, y: tf.reduce_all(tf.math.is_finite(x)))",
)
