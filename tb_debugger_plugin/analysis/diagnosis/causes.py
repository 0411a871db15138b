"""The known ways in which ops make NaN and infinity: a table with one row for each way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.advice import (
    CLIP_LOG,
    DATA,
    DIVIDE,
    EMPTY,
    INSIDE,
    MAXIMUM,
    NARROW,
    NOT_NEGATIVE,
    POWER,
    RANGE,
    ROOT,
    UNMASK,
    Advice,
)
from tb_debugger_plugin.analysis.diagnosis.evidence import (
    MAYBE,
    Blame,
    Check,
    Input,
    all_are,
    always,
    below_zero,
    both,
    divided_by_zero,
    either,
    empty_in,
    finite_in,
    guess,
    holds,
    infinite_in,
    infinities,
    measured,
    new_kinds,
    unless,
)
from tb_debugger_plugin.analysis.diagnosis.numbers import BAD_KINDS, Kind, Numbers
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS


@dataclass(frozen=True)
class Cause:
    """A way in which some ops make bad values.

    Attributes:
      ops: Types of the ops.
      gives: The kinds of bad values that it explains; it is checked only for these.
      because: A clause such as "the logarithm of 0 is −∞".
      check: What the recorded numbers must show.
      help: What usually helps.
    """

    ops: Sequence[str]
    gives: Sequence[Kind]
    because: str
    check: Check
    help: Advice | None = None


@dataclass(frozen=True)
class Proven:
    """A cause that the numbers prove, and the inputs to blame."""

    cause: Cause
    blames: Sequence[Blame]


@dataclass(frozen=True)
class Causes:
    """Why an output is bad.

    Attributes:
      proven: Causes that the numbers prove.
      possible: Causes that the numbers neither prove nor refute.
    """

    proven: Sequence[Proven]
    possible: Sequence[Cause]


NAN: Final[tuple[Kind, ...]] = ("nan",)
INFINITE: Final[tuple[Kind, ...]] = ("neg_inf", "pos_inf")
#: Causes that say where a value comes from, not how it was computed.
ANY: Final = BAD_KINDS

BEYOND: Final = "its result is beyond the range of the dtype"

DIVIDING: Final = ("RealDiv", "Div", "TruncateDiv", "FloorDiv")
REMAINDERS: Final = ("Mod", "FloorMod", "TruncateMod")
SUMS: Final = ("AddN", "Sum", "Mean", "Cumsum", "SegmentSum", "UnsortedSegmentSum")
SUMS_OF_TWO: Final = ("AddV2", "Add", "Sub", "BiasAdd", "SquaredDifference")
SUMS_OF_PRODUCTS: Final = (
    "MatMul",
    "BatchMatMul",
    "BatchMatMulV2",
    "BatchMatMulV3",
    "Conv2D",
    "Conv3D",
    "DepthwiseConv2dNative",
    "Einsum",
)
PRODUCTS: Final = ("Prod", "Cumprod")
READING: Final = (
    "IteratorGetNext",
    "IteratorGetNextSync",
    "ReadFile",
    "DecodeRaw",
    "DecodeCSV",
    "ParseExampleV2",
    "StringToNumber",
)
#: Ops that compute with their first input only: the others are indices, axes or labels.
FIRST_INPUT_ONLY: Final = frozenset({*SUMS, *PRODUCTS, "SparseSoftmaxCrossEntropyWithLogits"} - {"AddN"})

BOTH_ZERO: Final = both(holds(0, "zero"), holds(1, "zero"))
BOTH_INFINITE: Final = both(infinite_in(0), infinite_in(1))
ZERO_TO_NEGATIVE: Final = both(holds(0, "zero"), holds(1, "negative"))


def _without(ops: Sequence[str], left_out: str) -> list[str]:
    return [op for op in ops if op != left_out]


#: The first proven cause counts, so causes that numbers prove come before causes by exclusion.
CAUSES: Final = (
    Cause(("Log",), ("neg_inf",), "the logarithm of 0 is −∞", holds(0, "zero"), CLIP_LOG),
    Cause(("Log",), NAN, "the logarithm of a negative number is NaN", below_zero(0), CLIP_LOG),
    Cause(("Log1p",), ("neg_inf",), "log1p of −1 is −∞", holds(0, "negative"), CLIP_LOG),
    Cause(("Log1p",), NAN, "log1p of a value below −1 is NaN", below_zero(0), CLIP_LOG),
    # The result is 0 where x is 0. x times a logarithm overflows only for x near the end of the range.
    Cause(("Xlogy",), INFINITE, "the logarithm of 0 is −∞", unless(infinities, holds(1, "zero")), CLIP_LOG),
    Cause(
        ("Xlogy",),
        NAN,
        "the logarithm of a negative number is NaN",
        unless(infinities, holds(1, "negative")),
        CLIP_LOG,
    ),
    Cause(("Reciprocal", "Inv"), INFINITE, "1 / 0 is infinite", holds(0, "zero"), DIVIDE),
    Cause(
        DIVIDING,
        INFINITE,
        "x / 0 is infinite",
        divided_by_zero(over=0, under=1, zero_over_zero="nan"),
        DIVIDE,
    ),
    Cause(DIVIDING, NAN, "0 / 0 is NaN", unless(BOTH_INFINITE, BOTH_ZERO), DIVIDE),
    Cause(
        ("Xdivy",),
        INFINITE,
        "x / 0 is infinite",
        divided_by_zero(over=0, under=1, zero_over_zero="finite"),
        DIVIDE,
    ),
    Cause((*DIVIDING, "Xdivy"), INFINITE, BEYOND, unless(holds(1, "zero"), finite_in), DIVIDE),
    Cause(DIVIDING, NAN, "∞ / ∞ is NaN", unless(BOTH_ZERO, BOTH_INFINITE)),
    Cause(("Xdivy",), NAN, "∞ / ∞ is NaN", BOTH_INFINITE),
    Cause(
        REMAINDERS,
        NAN,
        "the remainder of a division by 0 is NaN",
        holds(1, "zero"),
        DIVIDE,
    ),
    Cause(REMAINDERS, NAN, "the remainder of ∞ is NaN", infinite_in(0)),
    Cause(("Rsqrt",), INFINITE, "1 / √0 is infinite", holds(0, "zero"), ROOT),
    Cause(
        ("Sqrt", "Rsqrt"),
        NAN,
        "the root of a negative number is NaN",
        below_zero(0),
        NOT_NEGATIVE,
    ),
    Cause(
        ("SqrtGrad",),
        INFINITE,
        "the gradient of a root has no limit at 0",
        divided_by_zero(over=1, under=0, zero_over_zero="finite"),
        ROOT,
    ),
    # As XLA compiles it; the kernel of the op keeps a gradient of 0.
    Cause(
        ("SqrtGrad",),
        NAN,
        "the gradient of a root at 0, times 0, is NaN",
        unless(BOTH_INFINITE, BOTH_ZERO),
        ROOT,
    ),
    # Proven where all powers are negative, or all bases are 0.
    Cause(
        ("Pow",),
        INFINITE,
        "0 to a negative power is infinite",
        either(
            both(ZERO_TO_NEGATIVE, either(all_are(0, "zero"), all_are(1, "negative"))),
            guess(ZERO_TO_NEGATIVE),
        ),
        DIVIDE,
    ),
    Cause(
        ("Pow",),
        NAN,
        "a fractional power of a negative number is NaN",
        holds(0, "negative"),
        POWER,
    ),
    Cause(("Pow",), INFINITE, BEYOND, unless(ZERO_TO_NEGATIVE, finite_in), RANGE),
    Cause(
        ("Acos", "Asin", "Atanh", "Erfinv"),
        NAN,
        "it is defined only between −1 and 1",
        either(infinite_in(0), measured),
        INSIDE,
    ),
    Cause(("Atanh", "Erfinv"), INFINITE, "it is infinite at −1 and 1", measured, INSIDE),
    Cause(("Ndtri",), NAN, "it is defined only between 0 and 1", either(infinite_in(0), measured), INSIDE),
    Cause(("Ndtri",), INFINITE, "it is infinite at 0 and 1", measured, INSIDE),
    Cause(("Acosh",), NAN, "it is defined only from 1 on", either(holds(0, "neg_inf"), measured), INSIDE),
    Cause(("Exp", "Expm1", "Square", "Cosh"), ("pos_inf",), BEYOND, finite_in, MAXIMUM),
    Cause(("Sinh",), INFINITE, BEYOND, finite_in, MAXIMUM),
    Cause(("Reciprocal", "Inv", "SqrtGrad"), INFINITE, BEYOND, unless(holds(0, "zero"), finite_in), DIVIDE),
    Cause(
        ("Cast",),
        INFINITE,
        "the values are beyond the range of the narrower dtype",
        finite_in,
        NARROW,
    ),
    Cause(
        ("Mean",),
        NAN,
        "the mean over nothing is NaN",
        empty_in,
        EMPTY,
    ),
    Cause(
        (
            *SUMS,
            *SUMS_OF_TWO,
            *SUMS_OF_PRODUCTS,
            *PRODUCTS,
            "Mul",
            "L2Loss",
            "FusedBatchNormV3",
            "LogSoftmax",
            "RsqrtGrad",
            "ReciprocalGrad",
            "InvGrad",
        ),
        INFINITE,
        BEYOND,
        finite_in,
        RANGE,
    ),
    Cause(
        (*_without(SUMS, "Mean"), *SUMS_OF_PRODUCTS),
        NAN,
        "its partial sums are beyond the range of the dtype, and ∞ − ∞ is NaN",
        finite_in,
        RANGE,
    ),
    Cause(
        ("Mean",),
        NAN,
        "its partial sums are beyond the range of the dtype, and ∞ − ∞ is NaN",
        unless(empty_in, finite_in),
        RANGE,
    ),
    Cause(
        PRODUCTS,
        NAN,
        "its partial products are beyond the range of the dtype, and 0 · ∞ is NaN",
        finite_in,
        RANGE,
    ),
    Cause(
        ("SparseSoftmaxCrossEntropyWithLogits",),
        NAN,
        "a label outside the range of the classes gives NaN",
        finite_in,
        Advice("Compare the labels with the number of classes."),
    ),
    Cause(
        (*ARGUMENTS, "PlaceholderWithDefault"),
        ANY,
        "it is an argument: the caller of the function passed it in",
        always,
    ),
    Cause(
        ("ReadVariableOp", "VariableV2", "ResourceGather", "ResourceGatherNd"),
        ANY,
        "the variable held it already: see the op that assigned it last",
        always,
    ),
    Cause(READING, ANY, "it is in the input data", always, DATA),
    Cause(
        ("Const",), ANY, "it is a constant of the program; a mask of −∞ before a softmax is intended", always
    ),
)
#: How infinite inputs give NaN.
FROM_INFINITY: Final = (
    Cause(
        ("Softmax", "LogSoftmax"),
        NAN,
        "the softmax of a row of nothing but −∞ is NaN",
        unless(holds(0, "pos_inf"), holds(0, "neg_inf")),
        UNMASK,
    ),
    Cause(("Softmax", "LogSoftmax"), NAN, "the softmax of a row with +∞ is NaN", holds(0, "pos_inf")),
    # A row of nothing but −∞ gives NaN whatever its labels are.
    Cause(
        ("SoftmaxCrossEntropyWithLogits",),
        NAN,
        "a label of 0 times a logit of −∞ is NaN",
        guess(both(holds(0, "neg_inf"), holds(1, "zero"))),
        UNMASK,
    ),
    Cause(SUMS_OF_TWO, NAN, "∞ − ∞ is NaN", BOTH_INFINITE),
    Cause(SUMS, NAN, "∞ − ∞ is NaN", infinities),
    Cause(
        ("Mul",),
        NAN,
        "0 · ∞ is NaN",
        either(both(infinite_in(0), holds(1, "zero")), both(infinite_in(1), holds(0, "zero"))),
    ),
    Cause(SUMS_OF_PRODUCTS, NAN, "0 · ∞ and ∞ − ∞ are NaN", infinities),
    Cause(PRODUCTS, NAN, "0 · ∞ is NaN", infinities),
    Cause(("Sin", "Cos", "Tan"), NAN, "it has no value at ∞", infinite_in(0)),
)


def _by_op() -> dict[str, list[Cause]]:
    causes = defaultdict(list)
    for cause in (*CAUSES, *FROM_INFINITY):
        for op in cause.ops:
            causes[op].append(cause)
    return causes


_BY_OP: Final = _by_op()


def causes_of(op_type: str, inputs: Sequence[Input], output: Numbers) -> Causes:
    """Find the causes of the bad kinds of an output that no input has.

    A cause counts only for the kinds that it gives. Where the kinds are not known, only causes that say
    where a value comes from are proven.

    Args:
      op_type: Type of the op.
      inputs: All its inputs, in the order of their slots.
      output: The bad output.
    """
    inputs = inputs[:1] if op_type in FIRST_INPUT_ONLY else inputs
    kinds = new_kinds(inputs, output)
    may_be_proven = _provable(kinds is not None, all(each.is_finite is not None for each in inputs))
    open_kinds = set(BAD_KINDS if kinds is None else kinds)
    proven: list[Proven] = []
    possible: list[Cause] = []
    for cause in _BY_OP.get(op_type, ()):
        finding = cause.check(inputs, output) if open_kinds.intersection(cause.gives) else None
        if finding is None:
            continue
        if finding == MAYBE or not may_be_proven(cause):
            possible.append(cause)
        else:
            proven.append(Proven(cause, [blame for blame in finding if isinstance(blame, Blame)]))
            open_kinds.difference_update(cause.gives)
    return Causes(proven, [cause for cause in possible if open_kinds.intersection(cause.gives)])


def _provable(kinds_are_known: bool, inputs_are_measured: bool) -> Callable[[Cause], bool]:
    """Whether numbers can prove a cause: a NaN may come from an input that was not measured."""

    def check(cause: Cause) -> bool:
        if cause.gives is ANY:
            return True
        return kinds_are_known and (inputs_are_measured or "nan" not in cause.gives)

    return check
