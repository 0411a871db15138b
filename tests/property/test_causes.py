"""`analysis/diagnosis/causes.py`: each proven cause did happen, by real float32 arithmetic."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pytest

from tb_debugger_plugin.analysis.diagnosis.causes import CAUSES, causes_of
from tb_debugger_plugin.analysis.diagnosis.evidence import Input, may_be_of_one_run
from tb_debugger_plugin.analysis.diagnosis.known import ANY
from tb_debugger_plugin.analysis.diagnosis.known.arithmetic import COMPLEX_DIVISION
from tb_debugger_plugin.analysis.diagnosis.numbers import BAD_KINDS, KINDS, Kind, Numbers
from tb_debugger_plugin.analysis.graph.op_kinds import COLLECTIVES
from tests.support.oracles import (
    MATRIX_GUESSES,
    NO_INFINITY,
    NO_VALUE,
    ORACLES,
    VARIANCE,
    WRONG_LABEL,
    F,
    Oracle,
    finite,
)

_ROUNDS = 3000
_TABLE = CAUSES
#: Causes that only say where a value comes from, or that no arithmetic here can show.
NOT_COMPUTED = {
    *(cause.because for cause in CAUSES if cause.gives is ANY),
    WRONG_LABEL,
    NO_INFINITY,
    COMPLEX_DIVISION,
    *(cause.because for cause in CAUSES if "Const" in cause.ops),
    "a label of 0 times a logit of −∞ is NaN",
}
#: Causes that are never called proven: the numbers of whole tensors cannot show them.
GUESSED = {
    *MATRIX_GUESSES[1:],
    NO_VALUE,
    VARIANCE,
    "a row of logits is nothing but −∞, or has +∞",
    "no alignment is possible: a label is longer than its sequence",
    "the variance of a channel is 0, and its root is in the divisor",
    "the diagonal of the matrix has a 0, which divides",
    "the matrix has none: an eigenvalue is 0",
    "a parameter of the distribution is outside its range, such as a rate or a scale that is not above 0",
    "its own inputs are finite, so another replica or worker passed it in",
    "another replica or worker passed it in, or what all of them give is beyond the range of the dtype",
}
#: Ops of which only some causes have an oracle, and those that take what is in other processes.
PARTLY = {
    *("MatrixTriangularSolve", "BatchMatrixTriangularSolve", "MatrixDeterminant", "MatrixExponential"),
    *COLLECTIVES,
}
MODES = ("FULL", "CONCISE", "CURT", "NUMERICS")
VALUES = [0.0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, 90, -90, 1e-39, 1e-20, -1e-20, 1e20, -1e20, 3e38, -3e38]
BAD_VALUES = [math.inf, -math.inf, math.nan]


def kind_of(x: float) -> Kind:
    if math.isnan(x):
        return "nan"
    if math.isinf(x):
        return "pos_inf" if x > 0 else "neg_inf"
    return "zero" if x == 0 else "positive" if x > 0 else "negative"


def measure(mode: str, values: Sequence[F], dtype: str = "float32") -> Numbers:
    """The numbers that a mode records of some values."""
    if mode == "NUMERICS":
        return Numbers.of_values(dtype, list(map(float, values)))
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
    is_empty = oracle.is_whole and oracle.least == 0 and rng.random() < 0.05
    size = 0 if is_empty else rng.randint(1, 6)
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
        op, mode = rng.choice(oracle.ops), MODES[round_ % len(MODES)]
        given = [
            Input(str(i), None if rng.random() < 0.1 else measure(mode, values))
            for i, values in enumerate(inputs)
        ]
        assert may_be_of_one_run(op, given, measure(mode, output, oracle.dtype)), (op, made)
        causes = causes_of(op, given, measure(mode, output, oracle.dtype))
        for proven in causes.proven:
            because = proven.cause.because
            assert mode != "CURT" and happened(oracle, because, made), (mode, op, because, made)
            assert not any(blame.held.startswith("0 ") for blame in proven.blames)
            PROVEN.update((each, because) for each in oracle.ops if each in proven.cause.ops)
        assert {cause.because for cause in causes.possible} <= known
        if mode in ("FULL", "NUMERICS") and finite(*(float(x) for values in inputs for x in values)):
            assert causes.proven or causes.possible, (op, made)


def test_each_row_of_the_table_was_proven_for_each_of_its_ops() -> None:
    unproven = NOT_COMPUTED | GUESSED
    rows = {(op, cause.because) for cause in _TABLE for op in cause.ops if cause.because not in unproven}
    if not PROVEN:
        pytest.skip("runs with the oracles only")
    assert {(op, because) for op, because in rows - PROVEN if op not in PARTLY} == set()


def test_a_guess_is_never_called_proven() -> None:
    if not PROVEN:
        pytest.skip("runs with the oracles only")
    assert not GUESSED & {because for _, because in PROVEN}


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
