"""Divisions, powers, sums, products and changes of the dtype."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.diagnosis.advice import DIVIDE, EMPTY, NARROW, POWER, RANGE, Advice
from tb_debugger_plugin.analysis.diagnosis.evidence import (
    all_are,
    both,
    divided_by_zero,
    either,
    empty_in,
    finite_in,
    guess,
    holds,
    infinite_in,
    infinities,
    is_complex,
    is_fraction,
    of_dtype,
    unless,
)
from tb_debugger_plugin.analysis.diagnosis.known import BEYOND, INFINITE, NAN, Cause
from tb_debugger_plugin.analysis.diagnosis.ranges import (
    of_all,
    of_one,
    of_products,
    of_sum,
    overflow,
    power,
)

DIVIDING: Final = ("RealDiv", "Div", "TruncateDiv", "FloorDiv")
REMAINDERS: Final = ("Mod", "FloorMod", "TruncateMod")
#: Sums of the elements of the first input.
PLAIN_SUMS: Final = (
    *("Sum", "Cumsum", "SegmentSum", "SegmentSumV2", "UnsortedSegmentSum", "SparseSegmentSum"),
    "BiasAddGrad",
)
MEANS: Final = ("Mean", "SegmentMean", "SparseSegmentMean", "AvgPool", "AvgPool3D")
SUMS: Final = ("AddN", *PLAIN_SUMS, *MEANS)
SUMS_OF_TWO: Final = ("AddV2", "Add", "Sub", "BiasAdd", "SquaredDifference")
SUMS_OF_PRODUCTS: Final = (
    *("MatMul", "BatchMatMul", "BatchMatMulV2", "BatchMatMulV3", "Einsum", "SparseTensorDenseMatMul"),
    *("Conv2D", "Conv3D", "DepthwiseConv2dNative"),
    *("Conv2DBackpropFilter", "Conv2DBackpropInput", "Conv3DBackpropFilterV2", "Conv3DBackpropInputV2"),
)
PRODUCTS: Final = ("Prod", "Cumprod")
#: Ops that compute with their first input only: the others are indices, axes or labels.
FIRST_INPUT_ONLY: Final = frozenset({*SUMS, *PRODUCTS, "Max", "Min", "EuclideanNorm"} - {"AddN"})

COMPLEX_DIVISION: Final = "a complex number divided by 0 is NaN"
_EMPTY_EXTREME: Final = Advice(
    "Check that there is something to choose from, or join the values with a limit of your own first."
)
_PARTIAL_SUMS: Final = "its partial sums are beyond the range of the dtype, and ∞ − ∞ is NaN"

BOTH_ZERO: Final = both(holds(0, "zero"), holds(1, "zero"))
BOTH_INFINITE: Final = both(infinite_in(0), infinite_in(1))
ZERO_TO_NEGATIVE: Final = both(holds(0, "zero"), holds(1, "negative"))

DIVISIONS: Final = (
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
    Cause(
        ("RealDiv", "Div"),
        NAN,
        COMPLEX_DIVISION,
        both(holds(1, "zero"), is_complex),
        DIVIDE,
    ),
    Cause(("Reciprocal", "Inv"), NAN, COMPLEX_DIVISION, both(holds(0, "zero"), is_complex), DIVIDE),
    Cause((*DIVIDING, "Xdivy"), INFINITE, BEYOND, unless(holds(1, "zero"), finite_in), DIVIDE),
    Cause(("DivNoNan",), INFINITE, BEYOND, finite_in, RANGE),
    Cause((*DIVIDING, "DivNoNan"), NAN, "∞ / ∞ is NaN", unless(BOTH_ZERO, BOTH_INFINITE)),
    Cause(("Xdivy",), NAN, "∞ / ∞ is NaN", BOTH_INFINITE),
    Cause(REMAINDERS, NAN, "the remainder of a division by 0 is NaN", holds(1, "zero"), DIVIDE),
    Cause(REMAINDERS, NAN, "the remainder of ∞ is NaN", infinite_in(0)),
    Cause(("Reciprocal", "Inv"), INFINITE, BEYOND, unless(holds(0, "zero"), finite_in), DIVIDE),
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
        both(holds(0, "negative"), is_fraction(1)),
        POWER,
    ),
    Cause(("Pow",), INFINITE, BEYOND, unless(ZERO_TO_NEGATIVE, overflow(power)), RANGE),
)
SUMS_AND_PRODUCTS: Final = (
    Cause(("Mean",), NAN, "the mean over nothing is NaN", empty_in, EMPTY),
    # A finite input has no −∞, so the maximum was taken over nothing.
    Cause(("Max",), ("neg_inf",), "the maximum of nothing is −∞", finite_in, _EMPTY_EXTREME),
    Cause(("Min",), ("pos_inf",), "the minimum of nothing is +∞", finite_in, _EMPTY_EXTREME),
    Cause((*PLAIN_SUMS, *MEANS), INFINITE, BEYOND, overflow(of_sum()), RANGE),
    Cause(("EuclideanNorm",), INFINITE, BEYOND, overflow(of_sum(lambda x: x * x)), RANGE),
    Cause(("L2Loss",), INFINITE, BEYOND, overflow(of_sum(lambda x: x * x)), RANGE),
    Cause(
        ("AddN", "AddV2", "Add", "Sub", "BiasAdd"),
        INFINITE,
        BEYOND,
        overflow(of_all(lambda *x: sum(x))),
        RANGE,
    ),
    Cause(("SquaredDifference",), INFINITE, BEYOND, overflow(of_all(lambda *x: sum(x) ** 2)), RANGE),
    Cause(("Mul", "MulNoNan"), INFINITE, BEYOND, overflow(of_all(lambda a, b: a * b)), RANGE),
    Cause(SUMS_OF_PRODUCTS, INFINITE, BEYOND, overflow(of_products), RANGE),
    Cause(PRODUCTS, INFINITE, BEYOND, finite_in, RANGE),
    Cause(
        ("TensorScatterAdd", "ScatterNd", "ResizeBilinear", "LinSpace", "DenseBincount", "Bincount"),
        INFINITE,
        BEYOND,
        finite_in,
        RANGE,
    ),
    Cause(("AddN",), NAN, _PARTIAL_SUMS, overflow(of_all(lambda *x: sum(x))), RANGE),
    Cause((*PLAIN_SUMS, *MEANS[1:]), NAN, _PARTIAL_SUMS, overflow(of_sum()), RANGE),
    Cause(SUMS_OF_PRODUCTS, NAN, _PARTIAL_SUMS, overflow(of_products), RANGE),
    Cause(("Mean",), NAN, _PARTIAL_SUMS, unless(empty_in, overflow(of_sum())), RANGE),
    Cause(
        PRODUCTS,
        NAN,
        "its partial products are beyond the range of the dtype, and 0 · ∞ is NaN",
        finite_in,
        RANGE,
    ),
)
FROM_INFINITY: Final = (
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
)
CASTS: Final = (
    Cause(
        ("Cast",),
        INFINITE,
        "the values are beyond the range of the dtype",
        overflow(of_one(abs)),
        NARROW,
    ),
    Cause(
        ("Cast",),
        NAN,
        "the dtype has no infinity: values beyond its range become NaN",
        both(of_dtype("float8_e4m3fn"), either(infinite_in(0), overflow(of_one(abs)))),
        NARROW,
    ),
)
CAUSES: Final = (*DIVISIONS, *SUMS_AND_PRODUCTS, *CASTS, *FROM_INFINITY)
