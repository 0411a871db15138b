"""Ops in plain float32 arithmetic, and how to see which of their known causes happened.

``ORACLES`` has one entry for each way to compute an op; some ops have two, for the kernel and for XLA.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tb_debugger_plugin.analysis.diagnosis.known import BEYOND
from tb_debugger_plugin.analysis.diagnosis.known.algebra import TRANSFORMS
from tb_debugger_plugin.analysis.diagnosis.known.arithmetic import MEANS, PLAIN_SUMS, SUMS_OF_PRODUCTS
from tb_debugger_plugin.analysis.diagnosis.known.learning import NORMALISING

F = np.float32
#: Whether a cause explains one output element; gets the output and the inputs it was computed from.
Happened = Callable[..., bool]


@dataclass(frozen=True)
class Oracle:
    """An op in plain arithmetic.

    Attributes:
      ops: Types of the ops that compute this.
      arity: Number of inputs.
      run: Gives the output; element by element of broadcast inputs, or of whole inputs.
      causes: What may go wrong, and how to see that it did.
      is_whole: Whether ``run`` takes whole inputs.
      largest: Inputs of a larger magnitude are left out.
      least: Smallest number of elements of an input.
      dtype: Dtype of the output.
    """

    ops: Sequence[str]
    arity: int
    run: Callable[..., object]
    causes: Mapping[str, Happened]
    is_whole: bool = False
    largest: float = math.inf
    least: int = 0
    dtype: str = "float32"


def finite(*values: float) -> bool:
    return all(map(math.isfinite, values))


def overflows(o: float, *x: float) -> bool:
    return finite(*x) and math.isinf(o)


def any_infinite(o: float, *x: float) -> bool:
    return any(map(math.isinf, x)) and math.isnan(o)


def outside(inside: Callable[[float], bool]) -> Happened:
    return lambda o, x: not inside(x) and math.isnan(o)


def nothing(o: float, *x: float) -> bool:
    return not x


def may_be(o: float, *x: float) -> bool:
    """It is never called proven where it may not be; there is nothing to check."""
    return False


WHOLE_SUMS = tuple(op for op in PLAIN_SUMS if op != "Cumsum")
ADDED_UP = ("TensorScatterAdd", "ScatterNd", "ResizeBilinear", "LinSpace", "DenseBincount", "Bincount")
PARTIAL_SUMS = "its partial sums are beyond the range of the dtype, and ∞ − ∞ is NaN"
PARTIAL_PRODUCTS = "its partial products are beyond the range of the dtype, and 0 · ∞ is NaN"
VARIANCE = "the variance of a channel is 0, or below 0, and its root is in the divisor"
SLOPE = "a gradient of ∞ times a slope of 0 is NaN"
MASKED_LABEL = "a class that is masked with −∞ is the label of an example"
OUTSIDE = "one of its arguments is outside the range in which it is defined"
NO_INFINITY = "the dtype has no infinity: values beyond its range become NaN"
WRONG_LABEL = "a label outside the range of the classes gives NaN"
NO_VALUE = "it may have no value at ∞"
MATRIX_GUESSES = (
    BEYOND,
    "the matrix is singular, or so nearly that the result is beyond the range of the dtype",
    "its partial results are beyond the range of the dtype, and ∞ − ∞ is NaN",
)
DIVIDED: dict[str, Happened] = {
    "x / 0 is infinite": lambda o, a, b: b == 0 and a != 0 and math.isinf(o),
    BEYOND: lambda o, a, b: finite(a, b) and b != 0 and math.isinf(o),
    "∞ / ∞ is NaN": lambda o, a, b: math.isinf(a) and math.isinf(b) and math.isnan(o),
}
ZERO_BY_ZERO: dict[str, Happened] = {
    **DIVIDED,
    "0 / 0 is NaN": lambda o, a, b: a == 0 and b == 0 and math.isnan(o),
}
SUMMED: dict[str, Happened] = {
    BEYOND: overflows,
    "∞ − ∞ is NaN": any_infinite,
    PARTIAL_SUMS: lambda o, *x: finite(*x) and math.isnan(o),
}
#: Among several terms, partial sums may be infinite as well.
SUMMED_UP: dict[str, Happened] = {**SUMMED, "∞ − ∞ is NaN": lambda o, *x: math.isnan(o)}
MULTIPLIED: dict[str, Happened] = {
    BEYOND: overflows,
    "0 · ∞ is NaN": any_infinite,
    PARTIAL_PRODUCTS: lambda o, *x: finite(*x) and math.isnan(o),
}
LOG: dict[str, Happened] = {
    "the logarithm of 0 is −∞": lambda o, x: x == 0 and math.isinf(o),
    "the logarithm of a negative number is NaN": lambda o, x: x < 0 and math.isnan(o),
}
XLOGY: dict[str, Happened] = {
    because: lambda o, x, y, log=log: x != 0 and log(o, y) for because, log in LOG.items()
}
LOG1P: dict[str, Happened] = {
    "log1p of −1 is −∞": lambda o, x: x == -1 and math.isinf(o),
    "log1p of a value below −1 is NaN": lambda o, x: x < -1 and math.isnan(o),
}
XLOG1PY: dict[str, Happened] = {
    because: lambda o, x, y, log=log: x != 0 and log(o, y) for because, log in LOG1P.items()
}
SOFTMAX: dict[str, Happened] = {
    "the softmax of a row of nothing but −∞ is NaN": lambda o, *x: (
        all(y == -math.inf for y in x) and math.isnan(o)
    ),
    "the softmax of a row with +∞ is NaN": lambda o, *x: math.inf in x and math.isnan(o),
}
BETWEEN_ONES = {
    "it is defined only between −1 and 1": outside(lambda x: abs(x) <= 1),
    "it is infinite at −1 and 1": lambda o, x: abs(x) == 1 and math.isinf(o),
}


def folded(x: Sequence[F], none: F, join: Callable[[F, F], F]) -> F:
    """A sum or product by halves, as several threads compute it."""
    if len(x) < 2:
        return x[0] if len(x) else none
    half = math.ceil(len(x) / 2)
    return join(folded(x[:half], none, join), folded(x[half:], none, join))


def total(x: Sequence[F]) -> F:
    return folded(x, F(0), lambda a, b: a + b)


def product(x: Sequence[F]) -> F:
    return folded(x, F(1), lambda a, b: a * b)


def running(fold: Callable[[Sequence[F]], F]) -> Callable[[Sequence[F]], list[F]]:
    return lambda x: [fold(x[: i + 1]) for i in range(len(x))]


def mean(x: Sequence[F]) -> list[F]:
    return [total(x) / F(len(x))]


def dot(a: Sequence[F], b: Sequence[F]) -> list[F]:
    return [total([x * b[i % len(b)] for i, x in enumerate(a)])] if len(b) else [F(0)]


def softmax(x: Sequence[F]) -> np.ndarray:
    exps = np.exp(np.array(x) - max(x, default=F(0)))
    return exps / total(list(exps))


def log_softmax(x: Sequence[F]) -> np.ndarray:
    shifted = np.array(x) - max(x, default=F(0))
    return shifted - np.log(total(list(np.exp(shifted))))


def erfinv(x: F) -> F:
    """Right where it is infinite and where it is not defined."""
    return F("nan") if not abs(x) <= 1 else x / F(1 - abs(x) > 0)


def ndtri(x: F) -> F:
    return F("nan") if not 0 <= x <= 1 else np.log(x / (F(1) - x))


def lgamma(x: F) -> F:
    """Right where it is infinite."""
    if not math.isfinite(x):
        return F("nan") if math.isnan(x) else F(math.inf)
    return F(math.inf) if x <= 0 and x == np.floor(x) else F(abs(math.lgamma(float(x))))


def cross_entropy(logits: Sequence[F], labels: Sequence[F]) -> list[F]:
    logs = log_softmax(logits)
    return [total([-abs(labels[i % len(labels)]) * y for i, y in enumerate(logs)])]


def fourier(x: Sequence[F]) -> list[F]:
    """The first and the middle coefficient."""
    return [total(x), total([y if i % 2 else -y for i, y in enumerate(x)])]


def of_one(op: str, run: Callable[..., object], causes: Mapping[str, Happened]) -> Oracle:
    return Oracle((op,), 1, run, causes)


ORACLES = (
    of_one("Log", np.log, LOG),
    of_one("Log1p", np.log1p, LOG1P),
    Oracle(("Xlogy",), 2, lambda x, y: F(0) if x == 0 else x * np.log(y), XLOGY, largest=1e30),
    Oracle(("Xlog1py",), 2, lambda x, y: F(0) if x == 0 else x * np.log1p(y), XLOG1PY, largest=1e30),
    Oracle(
        ("Reciprocal", "Inv"),
        1,
        lambda x: F(1) / x,
        {
            "1 / 0 is infinite": lambda o, x: x == 0 and math.isinf(o),
            BEYOND: lambda o, x: x != 0 and math.isinf(o),
        },
    ),
    Oracle(("RealDiv", "Div"), 2, lambda a, b: a / b, ZERO_BY_ZERO),
    Oracle(("FloorDiv",), 2, lambda a, b: np.floor(a / b), ZERO_BY_ZERO),
    Oracle(("TruncateDiv",), 2, lambda a, b: np.trunc(a / b), ZERO_BY_ZERO),
    Oracle(
        ("DivNoNan",),
        2,
        lambda a, b: F(0) if b == 0 else a / b,
        {BEYOND: DIVIDED[BEYOND], "∞ / ∞ is NaN": DIVIDED["∞ / ∞ is NaN"]},
    ),
    Oracle(("Xdivy",), 2, lambda a, b: F(0) if a == 0 else a / b, DIVIDED),
    Oracle(
        ("Mod", "FloorMod", "TruncateMod"),
        2,
        np.fmod,
        {
            "the remainder of a division by 0 is NaN": lambda o, a, b: b == 0 and math.isnan(o),
            "the remainder of ∞ is NaN": lambda o, a, b: math.isinf(a) and math.isnan(o),
        },
    ),
    of_one(
        "Sqrt",
        np.sqrt,
        {"the root of a negative number is NaN": lambda o, x: x < 0 and math.isnan(o)},
    ),
    of_one(
        "Rsqrt",
        # Numbers below the normal ones are read as 0.
        lambda x: F(1) / np.sqrt(F(0) if abs(x) < 1e-38 else x),
        {
            "numbers too small for the dtype count as 0, and 1 / √0 is infinite": lambda o, x: (
                0 < abs(x) < 1e-38 and math.isinf(o)
            ),
            "1 / √0 is infinite": lambda o, x: x == 0 and math.isinf(o),
            "the root of a negative number is NaN": lambda o, x: x < 0 and math.isnan(o),
        },
    ),
    # The kernel, and what XLA makes of it.
    Oracle(
        ("SqrtGrad",),
        2,
        lambda y, dy: F(0) if dy == 0 else F(0.5) * dy / y,
        {
            "the gradient of a root has no limit at 0": lambda o, y, dy: y == 0 and dy != 0 and math.isinf(o),
            BEYOND: lambda o, y, dy: finite(y, dy) and y != 0 and math.isinf(o),
        },
    ),
    Oracle(
        ("SqrtGrad",),
        2,
        lambda y, dy: F(0.5) * dy / y,
        {
            "the gradient of a root has no limit at 0": lambda o, y, dy: y == 0 and dy != 0 and math.isinf(o),
            "the gradient of a root at 0, times 0, is NaN": lambda o, y, dy: (
                y == 0 and dy == 0 and math.isnan(o)
            ),
            BEYOND: lambda o, y, dy: finite(y, dy) and y != 0 and math.isinf(o),
        },
    ),
    Oracle(
        ("Pow",),
        2,
        np.power,
        {
            "0 to a negative power is infinite": lambda o, a, b: a == 0 and b < 0 and math.isinf(o),
            "a fractional power of a negative number is NaN": lambda o, a, b: a < 0 and math.isnan(o),
            BEYOND: lambda o, a, b: finite(a, b) and not (a == 0 and b < 0) and math.isinf(o),
        },
    ),
    of_one("Acos", np.arccos, BETWEEN_ONES),
    of_one("Asin", np.arcsin, BETWEEN_ONES),
    of_one("Atanh", np.arctanh, BETWEEN_ONES),
    of_one("Erfinv", erfinv, BETWEEN_ONES),
    of_one(
        "Ndtri",
        ndtri,
        {
            "it is defined only between 0 and 1": outside(lambda x: 0 <= x <= 1),
            "it is infinite at 0 and 1": lambda o, x: x in (0, 1) and math.isinf(o),
        },
    ),
    of_one("Acosh", np.arccosh, {"it is defined only from 1 on": outside(lambda x: x >= 1)}),
    of_one("Exp", np.exp, {BEYOND: overflows}),
    of_one("Expm1", np.expm1, {BEYOND: overflows}),
    of_one("Square", np.square, {BEYOND: overflows}),
    of_one("Cosh", np.cosh, {BEYOND: overflows}),
    of_one("Sinh", np.sinh, {BEYOND: overflows}),
    Oracle(
        ("Cast",),
        1,
        lambda x: F(np.float16(x)),
        {"the values are beyond the range of the dtype": overflows, NO_INFINITY: may_be},
        dtype="float16",
    ),
    Oracle(("AddV2", "Add", "BiasAdd"), 2, lambda a, b: a + b, SUMMED),
    Oracle(("Sub",), 2, lambda a, b: a - b, SUMMED),
    Oracle(("SquaredDifference",), 2, lambda a, b: (a - b) * (a - b), SUMMED),
    Oracle(("AddN",), 4, lambda *x: total(x), SUMMED_UP),
    Oracle(WHOLE_SUMS, 1, lambda x: [total(x)], SUMMED_UP, is_whole=True),
    Oracle(MEANS[1:], 1, lambda x: mean(x) if len(x) else [], SUMMED_UP, is_whole=True),
    *(
        Oracle((op,), 1, run, {because: nothing}, is_whole=True)
        for op, run, because in (
            ("Max", lambda x: [max(x, default=F(-math.inf))], "the maximum of nothing is −∞"),
            ("Min", lambda x: [min(x, default=F(math.inf))], "the minimum of nothing is +∞"),
        )
    ),
    Oracle(
        ("EuclideanNorm",),
        1,
        lambda x: [np.sqrt(total([y * y for y in x]))],
        {BEYOND: overflows},
        is_whole=True,
    ),
    Oracle(("Cumsum",), 1, running(total), SUMMED_UP, is_whole=True),
    Oracle(
        ("Mean",),
        1,
        mean,
        {**SUMMED_UP, "the mean over nothing is NaN": lambda o, *x: not x and math.isnan(o)},
        is_whole=True,
    ),
    Oracle(("L2Loss",), 1, lambda x: [total([y * y for y in x]) / F(2)], {BEYOND: overflows}, is_whole=True),
    Oracle(
        SUMS_OF_PRODUCTS,
        2,
        dot,
        {**SUMMED, "0 · ∞ and ∞ − ∞ are NaN": any_infinite},
        is_whole=True,
    ),
    Oracle(
        ("Mul",),
        2,
        lambda a, b: a * b,
        {
            BEYOND: overflows,
            "0 · ∞ is NaN": lambda o, a, b: (
                ((a == 0 and math.isinf(b)) or (b == 0 and math.isinf(a))) and math.isnan(o)
            ),
        },
    ),
    Oracle(("MulNoNan",), 2, lambda a, b: F(0) if b == 0 else a * b, {BEYOND: overflows}),
    Oracle(ADDED_UP, 2, lambda a, b: a + b, {BEYOND: overflows}),
    Oracle(TRANSFORMS, 1, fourier, SUMMED_UP, is_whole=True),
    Oracle(("Prod",), 1, lambda x: [product(x)], MULTIPLIED, is_whole=True),
    Oracle(("Cumprod",), 1, running(product), MULTIPLIED, is_whole=True),
    Oracle(
        NORMALISING,
        1,
        mean,
        {
            BEYOND: overflows,
            "the batch is empty, and the mean over nothing is NaN": nothing,
            VARIANCE: may_be,
        },
        is_whole=True,
    ),
    Oracle(
        ("LRN",),
        1,
        lambda x: [y / np.sqrt(total([z * z for z in x])) for y in x],
        {"the divisor is 0 where all values are 0 or tiny: its bias is 0": lambda o, *x: not finite(o)},
        is_whole=True,
        largest=1e10,
    ),
    of_one(
        "Lgamma",
        lgamma,
        {
            "lgamma of 0 is +∞": lambda o, x: x == 0,
            "it is infinite at −1, −2 and so on, and beyond the range for very large arguments": (
                lambda o, x: x != 0 and overflows(o, x)
            ),
        },
    ),
    of_one(
        "Digamma",
        lambda x: F("nan") if x == -math.inf or (x <= 0 and x == np.floor(x)) else x,
        {
            "it has poles at 0, −1, −2 and so on": lambda o, x: finite(x) and math.isnan(o),
            "it has no value at −∞": lambda o, x: x == -math.inf,
        },
    ),
    Oracle(
        ("BesselK0", "BesselK1", "BesselK0e", "BesselK1e"),
        1,
        lambda x: F(math.inf) if x <= 0 else F(0),
        {"it is infinite at 0": lambda o, x: x <= 0},
    ),
    Oracle(
        ("BesselY0", "BesselY1"),
        1,
        lambda x: F(-math.inf) if x <= 0 else F(0),
        {"it is infinite at 0": lambda o, x: x <= 0},
    ),
    Oracle(("BesselI0", "BesselI1"), 1, np.sinh, {BEYOND: overflows}),
    of_one(
        "Expint",
        lambda x: F("nan") if x < 0 else np.log(x) + np.exp(x),
        {
            "it is infinite at 0": lambda o, x: x == 0,
            BEYOND: overflows,
            "it is defined only above 0": lambda o, x: x < 0,
        },
    ),
    Oracle(
        ("Polygamma", "Zeta"),
        2,
        lambda n, x: F("nan") if not n > 0 or math.inf in (n, x) else F(math.inf) if x <= 0 else F(1),
        {
            "it is infinite at its poles": lambda o, n, x: n > 0 and x <= 0,
            OUTSIDE: lambda o, n, x: n <= 0,
            NO_VALUE: may_be,
        },
    ),
    Oracle(
        ("Igamma", "Igammac", "IgammaGradA", "Betainc"),
        2,
        lambda a, x: F("nan") if not (a > 0 and x >= 0) or math.inf in (a, x) else F(1),
        {OUTSIDE: lambda o, a, x: finite(a, x), NO_VALUE: may_be},
    ),
    Oracle(
        ("RsqrtGrad", "ReciprocalGrad", "InvGrad"),
        2,
        lambda y, dy: F(0) if dy == 0 else -(dy * y) * y,
        {
            BEYOND: overflows,
            "the gradient of 1 / x and of 1 / √x is infinite at 0": lambda o, y, dy: (
                math.isinf(y) and math.isinf(o)
            ),
        },
    ),
    Oracle(
        ("TanhGrad", "SigmoidGrad"),
        2,
        lambda y, dy: dy * ((F(1) - y) * y),
        {SLOPE: any_infinite},
        largest=1,
    ),
    Oracle(
        ("SoftplusGrad", "SoftsignGrad", "EluGrad", "SeluGrad"),
        2,
        lambda dy, x: dy * (F(1) if x > 0 else F(0)),
        {SLOPE: any_infinite},
    ),
    Oracle(
        ("SoftmaxCrossEntropyWithLogits",),
        2,
        cross_entropy,
        {
            BEYOND: overflows,
            MASKED_LABEL: lambda o, *x: -math.inf in x and math.isinf(o),
            "a label of 0 times a logit of −∞ is NaN": may_be,
        },
        is_whole=True,
        least=1,
    ),
    Oracle(
        ("SparseSoftmaxCrossEntropyWithLogits",),
        1,
        lambda z: [-y for y in log_softmax(z)],
        {
            BEYOND: overflows,
            MASKED_LABEL: lambda o, *x: -math.inf in x and math.isinf(o),
            "a row of logits is nothing but −∞, or has +∞": may_be,
            WRONG_LABEL: may_be,
        },
        is_whole=True,
        least=1,
    ),
    Oracle(
        ("Cholesky",),
        1,
        lambda x: [np.sqrt(x[0]), x[0] - x[0]],
        {
            "the matrix is not positive definite": lambda o, *x: finite(*x) and x[0] < 0 and math.isnan(o),
            "a matrix with ∞ has none": any_infinite,
        },
        is_whole=True,
        least=1,
    ),
    Oracle(
        ("LogMatrixDeterminant", "MatrixDeterminant"),
        1,
        lambda x: [np.log(np.abs(x[0])) + x[0] - x[0]],
        {
            "the matrix is singular: its determinant is 0, and the logarithm of 0 is −∞": (
                lambda o, *x: 0 in x and o == -math.inf
            ),
            BEYOND: may_be,
            "a matrix with ∞ has none": any_infinite,
        },
        is_whole=True,
        least=1,
    ),
    Oracle(
        ("Svd", "SelfAdjointEigV2", "Qr", "Eig", "Lu", "MatrixExponential", "MatrixInverse"),
        1,
        lambda x: [y - y for y in x],
        {
            "a matrix with ∞ has no decomposition": any_infinite,
            **dict.fromkeys(MATRIX_GUESSES, may_be),
        },
        is_whole=True,
    ),
    Oracle(("Softmax",), 1, softmax, SOFTMAX, is_whole=True),
    Oracle(("LogSoftmax",), 1, log_softmax, {**SOFTMAX, BEYOND: overflows}, is_whole=True),
    *(
        of_one(op, run, {"it has no value at ∞": lambda o, x: math.isinf(x) and math.isnan(o)})
        for op, run in (("Sin", np.sin), ("Cos", np.cos), ("Tan", np.tan))
    ),
)
