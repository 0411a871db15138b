"""`analysis/diagnosis/causes.py`: each proven cause did happen, by real float32 arithmetic."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from tb_debugger_plugin.analysis.diagnosis.causes import (
    ANY,
    BEYOND,
    CAUSES,
    FROM_INFINITY,
    SUMS_OF_PRODUCTS,
    causes_of,
)
from tb_debugger_plugin.analysis.diagnosis.evidence import Input
from tb_debugger_plugin.analysis.diagnosis.numbers import BAD_KINDS, KINDS, Kind, Numbers

F = np.float32
#: Whether a cause explains one output element; gets the output and the inputs it was computed from.
Happened = Callable[..., bool]
_ROUNDS = 3000
_TABLE = (*CAUSES, *FROM_INFINITY)


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
    """

    ops: Sequence[str]
    arity: int
    run: Callable[..., object]
    causes: Mapping[str, Happened]
    is_whole: bool = False
    largest: float = math.inf


def finite(*values: float) -> bool:
    return all(map(math.isfinite, values))


def overflows(o: float, *x: float) -> bool:
    return finite(*x) and math.isinf(o)


def any_infinite(o: float, *x: float) -> bool:
    return any(map(math.isinf, x)) and math.isnan(o)


def outside(inside: Callable[[float], bool]) -> Happened:
    return lambda o, x: not inside(x) and math.isnan(o)


PARTIAL_SUMS = "its partial sums are beyond the range of the dtype, and ∞ − ∞ is NaN"
PARTIAL_PRODUCTS = "its partial products are beyond the range of the dtype, and 0 · ∞ is NaN"
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


def of_one(op: str, run: Callable[..., object], causes: Mapping[str, Happened]) -> Oracle:
    return Oracle((op,), 1, run, causes)


ORACLES = (
    of_one("Log", np.log, LOG),
    of_one(
        "Log1p",
        np.log1p,
        {
            "log1p of −1 is −∞": lambda o, x: x == -1 and math.isinf(o),
            "log1p of a value below −1 is NaN": lambda o, x: x < -1 and math.isnan(o),
        },
    ),
    Oracle(("Xlogy",), 2, lambda x, y: F(0) if x == 0 else x * np.log(y), XLOGY, largest=1e30),
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
        lambda x: F(1) / np.sqrt(x),
        {
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
        ("RsqrtGrad",),
        2,
        lambda y, dy: F(0) if dy == 0 else F(-0.5) * (dy * y) * (y * y),
        {BEYOND: overflows},
    ),
    Oracle(("ReciprocalGrad", "InvGrad"), 2, lambda y, dy: -(y * dy) * y, {BEYOND: overflows}),
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
    of_one(
        "Cast",
        lambda x: F(np.float16(x)),
        {"the values are beyond the range of the narrower dtype": overflows},
    ),
    Oracle(("AddV2", "Add", "BiasAdd"), 2, lambda a, b: a + b, SUMMED),
    Oracle(("Sub",), 2, lambda a, b: a - b, SUMMED),
    Oracle(("SquaredDifference",), 2, lambda a, b: (a - b) * (a - b), SUMMED),
    Oracle(("AddN",), 4, lambda *x: total(x), SUMMED_UP),
    Oracle(("Sum", "SegmentSum", "UnsortedSegmentSum"), 1, lambda x: [total(x)], SUMMED_UP, is_whole=True),
    Oracle(("Cumsum",), 1, running(total), SUMMED_UP, is_whole=True),
    Oracle(
        ("Mean",),
        1,
        lambda x: [total(x) / F(len(x))],
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
    Oracle(("Prod",), 1, lambda x: [product(x)], MULTIPLIED, is_whole=True),
    Oracle(("Cumprod",), 1, running(product), MULTIPLIED, is_whole=True),
    Oracle(("FusedBatchNormV3",), 3, lambda x, scale, offset: x * scale + offset, {BEYOND: overflows}),
    Oracle(("Softmax",), 1, softmax, SOFTMAX, is_whole=True),
    Oracle(("LogSoftmax",), 1, log_softmax, {**SOFTMAX, BEYOND: overflows}, is_whole=True),
    *(
        of_one(op, run, {"it has no value at ∞": lambda o, x: math.isinf(x) and math.isnan(o)})
        for op, run in (("Sin", np.sin), ("Cos", np.cos), ("Tan", np.tan))
    ),
)
#: Causes that only say where a value comes from, or that no arithmetic here can show.
NOT_COMPUTED = {
    *(cause.because for cause in CAUSES if cause.gives is ANY),
    "a label outside the range of the classes gives NaN",
    "a label of 0 times a logit of −∞ is NaN",
}
VALUES = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, 90, -90, 1e-39, 1e-20, -1e-20, 1e20, -1e20, 3e38, -3e38]
BAD_VALUES = [math.inf, -math.inf, math.nan]


def kind_of(x: float) -> Kind:
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "pos_inf" if x > 0 else "neg_inf"
    return "zero" if x == 0 else "positive" if x > 0 else "negative"


def measure(mode: str, values: Sequence[F]) -> Numbers:
    """The numbers that a mode records of some values."""
    counted: Mapping[str, Sequence[Kind]] = {"FULL": KINDS, "CONCISE": BAD_KINDS, "CURT": ()}
    kinds = [kind_of(float(x)) for x in values]
    counts = {kind: kinds.count(kind) for kind in counted[mode]}
    is_bad = any(kind in BAD_KINDS for kind in kinds)
    return Numbers(None, None if mode == "CURT" else len(values), counts, bad=is_bad)


Sample = tuple[list[list[F]], list[F]]


def sample(oracle: Oracle, rng: random.Random) -> Sample:
    """Random inputs, and what the op makes of them."""
    good = [F(x) for x in VALUES if abs(x) <= oracle.largest]
    large = [x for x in good if abs(x) >= 1e20]
    # Few different values, so that all of a tensor are often of one kind.
    pool = rng.choices(good, k=3) if rng.random() < 0.7 else rng.choices(rng.choice([good, large or good]))
    if rng.random() < 0.4:
        pool.append(F(rng.choice(BAD_VALUES)))
    if rng.random() < 0.3:
        pool += [-x for x in pool]
    size = 0 if oracle.is_whole and rng.random() < 0.05 else rng.randint(1, 6)
    is_sorted = rng.random() < 0.3
    inputs = []
    for i in range(oracle.arity):
        values = rng.choices(pool, k=1 if i > 0 and rng.random() < 0.3 else size)
        inputs.append(sorted(values) if is_sorted else values)
    return inputs, [F(x) for x in computed(oracle, inputs)]


def at(inputs: Sequence[Sequence[F]], i: int) -> list[F]:
    return [x[i % len(x)] for x in inputs]


def computed(oracle: Oracle, inputs: Sequence[Sequence[F]]) -> Sequence[F]:
    if oracle.is_whole:
        return list(oracle.run(*inputs))
    return [oracle.run(*at(inputs, i)) for i in range(len(inputs[0]))]


def happened(oracle: Oracle, because: str, made: Sample) -> bool:
    inputs, output = made
    if because not in oracle.causes:
        return False
    whole = [float(x) for values in inputs for x in values]
    return any(
        oracle.causes[because](float(o), *(whole if oracle.is_whole else map(float, at(inputs, i))))
        for i, o in enumerate(output)
    )


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with np.errstate(all="ignore"):
        yield


PROVEN: set[tuple[str, str]] = set()


@pytest.mark.parametrize("oracle", ORACLES, ids=lambda oracle: "-".join(oracle.ops))
def test_a_proven_cause_happened_to_some_element_however_much_was_measured(oracle: Oracle) -> None:
    rng = random.Random(ORACLES.index(oracle))
    known = {because for each in ORACLES if oracle.ops[0] in each.ops for because in each.causes}
    for round_ in range(_ROUNDS):
        made = inputs, output = sample(oracle, rng)
        if finite(*map(float, output)):
            continue
        op, mode = rng.choice(oracle.ops), ("FULL", "CONCISE", "CURT")[round_ % 3]
        given = [
            Input(str(i), None if rng.random() < 0.1 else measure(mode, values))
            for i, values in enumerate(inputs)
        ]
        causes = causes_of(op, given, measure(mode, output))
        for proven in causes.proven:
            because = proven.cause.because
            assert mode != "CURT" and happened(oracle, because, made), (mode, op, because, made)
            assert not any(blame.held.startswith("0 ") for blame in proven.blames)
            PROVEN.add((op, because))
        assert {cause.because for cause in causes.possible} <= known
        if mode == "FULL" and finite(*(float(x) for values in inputs for x in values)):
            assert causes.proven or causes.possible, (op, made)


def test_each_row_of_the_table_was_proven_for_each_of_its_ops() -> None:
    rows = {(op, cause.because) for cause in _TABLE for op in cause.ops if cause.because not in NOT_COMPUTED}
    if not PROVEN:
        pytest.skip("runs with the oracles only")
    assert rows <= PROVEN


@pytest.mark.parametrize("kind", BAD_KINDS)
def test_a_cause_is_named_only_for_a_kind_that_it_gives(kind: Kind) -> None:
    numbers = measure("FULL", [F(0), F(-1), F(1)])
    output = Numbers(None, 3, {kind: 3}, bad=True)
    for op in {op for cause in _TABLE for op in cause.ops}:
        causes = causes_of(op, [Input("x", numbers)] * 2, output)
        named = [*(proven.cause for proven in causes.proven), *causes.possible]
        assert all(kind in cause.gives for cause in named)


def test_causes_that_no_arithmetic_shows_are_possible_or_say_only_where() -> None:
    nan = measure("FULL", [F("nan")])
    logits = [Input("x", measure("FULL", [F("-inf"), F(1)])), Input("y", measure("FULL", [F(0), F(1)]))]
    crossed = causes_of("SoftmaxCrossEntropyWithLogits", logits, nan)
    assert not crossed.proven
    assert [cause.because for cause in crossed.possible] == ["a label of 0 times a logit of −∞ is NaN"]
    sparse = [Input("x", measure("FULL", [F(1), F(2)])), Input("labels")]
    (proven,) = causes_of("SparseSoftmaxCrossEntropyWithLogits", sparse, nan).proven
    assert proven.cause.because == "a label outside the range of the classes gives NaN"
