"""The table of expected bad values: the ways in which NaN and infinities may vanish without harm.

Takes the op that took a bad value and gave good ones, and the kind of the bad elements. Returns the row that
allows it. What no row allows is a finding, however good the values are that came of it.

Invariant: this is the only place that calls a bad value expected; ``docs/guide/origins.md`` lists its rows.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Literal, NamedTuple, TypeAlias

from tb_debugger_plugin.analysis.graph import op_kinds

BadElement: TypeAlias = Literal["nan", "neg_inf", "pos_inf"]

INFINITIES: Final[frozenset[BadElement]] = frozenset({"neg_inf", "pos_inf"})
_ALL: Final[frozenset[BadElement]] = INFINITIES | {"nan"}
#: What takes a value, where it is no op.
BRANCH: Final = "a branch that did not run"
DATA_SET: Final = "a data set"
NOTHING: Final = "nothing"


class ExpectedRow(NamedTuple):
    """A way in which a bad value may vanish.

    Attributes:
      words: The value, as a sentence and the guide name it.
      example: A line of a program that has such a value.
      elements: The kinds of bad elements that may vanish so.
      takers: The types of the ops that may take it and give good values.
      is_written: Whether the row is only for what the program wrote itself: a constant, or what a variable
        begins with.
    """

    words: str
    example: str
    elements: frozenset[BadElement]
    takers: frozenset[str]
    is_written: bool = False


#: All of them.
EXPECTED: Final = (
    ExpectedRow(
        "the side that `tf.where` does not take",
        "tf.where(x > 0, tf.math.log(x), 0.0)",
        _ALL,
        frozenset({"Select", "SelectV2"}),
    ),
    ExpectedRow(
        "what goes into a branch that does not run, such as a step that loss scaling skips",
        "keras.optimizers.LossScaleOptimizer(optimizer)",
        _ALL,
        frozenset({BRANCH}),
    ),
    ExpectedRow(
        "what `multiply_no_nan`, `divide_no_nan`, `xlogy` and their kin multiply by 0",
        "tf.math.multiply_no_nan(tf.math.log(p), p)",
        _ALL,
        frozenset({"MulNoNan", "DivNoNan", "Xlogy", "Xlog1py", "Xdivy"}),
    ),
    ExpectedRow(
        "minus infinity under a softmax, a log-sum-exp or an exponential",
        "tf.nn.softmax(scores + mask)",
        frozenset({"neg_inf"}),
        frozenset(
            """Softmax LogSoftmax SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits Exp Expm1
            Multinomial StatelessMultinomial CTCLoss CTCLossV2""".split()
        ),
    ),
    ExpectedRow(
        "an infinity under a minimum, a maximum, a clip or a relu",
        "best.assign(tf.minimum(best, loss))",
        INFINITIES,
        frozenset(
            """Minimum Maximum Min Max ClipByValue Relu Relu6 SegmentMin SegmentMax SegmentMinV2 SegmentMaxV2
            UnsortedSegmentMin UnsortedSegmentMax MaxPool MaxPoolV2 MaxPool3D MaxPoolWithArgmax MaxPoolGrad
            MaxPoolGradV2 MaxPool3DGrad ReluGrad Relu6Grad""".split()
        ),
    ),
    ExpectedRow(
        "an infinity that is compared or sorted",
        "is_better = loss < best",
        INFINITIES,
        op_kinds.COMPARING,
    ),
    ExpectedRow(
        "what only `is_nan`, `is_inf` or `is_finite` read",
        "missing = tf.math.is_nan(features)",
        _ALL,
        op_kinds.CHECKING,
    ),
    ExpectedRow(
        "elements that a gather, a slice, a boolean mask or the filter of a data set leaves out",
        "tf.boolean_mask(losses, is_valid)",
        _ALL,
        op_kinds.CHOOSING | {DATA_SET},
    ),
    ExpectedRow(
        "an infinity that the program wrote itself, as a divisor, or where it is shown",
        "precision = 1.0 / tf.constant(math.inf)",
        INFINITIES,
        frozenset(op_kinds.DIVISORS) | op_kinds.SHOWING,
        is_written=True,
    ),
    ExpectedRow(
        "a value that nothing takes", "sign, _ = tf.linalg.slogdet(matrix)", _ALL, frozenset({NOTHING})
    ),
)


def row_of(
    taker: str, elements: Collection[BadElement], *, is_written: bool, is_known: bool
) -> ExpectedRow | None:
    """Return the row that allows an op to make good values of bad ones; None if none does.

    Args:
      taker: Type of the op, or one of the words above.
      elements: The kinds of the bad elements that it took.
      is_written: Whether the program wrote them itself.
      is_known: Whether these kinds are on record; otherwise they are those that may be.
    """
    return next(
        (
            row
            for row in EXPECTED
            if taker in row.takers
            and (is_written or not row.is_written)
            and (row.elements.issuperset(elements) if is_known else row.elements.intersection(elements))
        ),
        None,
    )
