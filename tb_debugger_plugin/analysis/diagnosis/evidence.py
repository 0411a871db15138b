"""Checks of recorded numbers for and against a cause.

A :data:`Check` takes the inputs of an op and its output, which is bad in a way that no input is, and returns
a :data:`Finding`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from tb_debugger_plugin.analysis.diagnosis.numbers import BAD_KINDS, Kind, Numbers, count_words


@dataclass(frozen=True)
class Input:
    """An input of an op.

    Attributes:
      name: As the page shows it, such as ``probs:0``.
      numbers: What is recorded of it; None when the input is not known at all.
      is_of_no_op: Whether no op on record made it; its name is then "number 2".
    """

    name: str
    numbers: Numbers | None = None
    is_of_no_op: bool = False

    @property
    def is_finite(self) -> bool | None:
        """Whether all elements are finite; None when that is not known."""
        return None if self.numbers is None else self.numbers.is_finite

    @property
    def is_bad(self) -> bool:
        """Whether the input is known to have NaN or infinity."""
        return self.numbers is not None and self.numbers.is_bad

    def count(self, kind: Kind) -> int | None:
        """Return the number of elements of a kind; None when it was not counted."""
        return None if self.numbers is None else self.numbers.counts.get(kind)

    @property
    def size(self) -> int | None:
        """Number of elements; None when it is not known."""
        return None if self.numbers is None else self.numbers.size


@dataclass(frozen=True)
class Blame:
    """An input that caused a bad value.

    Attributes:
      input: The input.
      held: What it held, such as "200 zeros".
    """

    input: Input
    held: str


Inputs: TypeAlias = Sequence[Input]
MAYBE: Final = "maybe"
#: The inputs to blame when the cause is proven; :data:`MAYBE` when the numbers do not decide; None when they
#: refute it. A proven cause may blame no input.
Finding: TypeAlias = "tuple[Blame, ...] | Literal['maybe'] | None"
Check: TypeAlias = Callable[[Inputs, Numbers], Finding]


def measured(inputs: Inputs, output: Numbers) -> Finding:
    """No input is to blame, and each was measured."""
    is_known = bool(inputs) and all(each.is_finite is not None for each in inputs)
    return () if is_known else MAYBE


def always(inputs: Inputs, output: Numbers) -> Finding:
    """Need no numbers."""
    return ()


def finite_in(inputs: Inputs, output: Numbers) -> Finding:
    """All inputs were finite."""
    if any(each.is_finite is False for each in inputs):
        return None
    return measured(inputs, output)


def infinities(inputs: Inputs, output: Numbers) -> Finding:
    """Find whether some input has infinities."""
    findings = [infinite_in(slot)(inputs, output) for slot in range(len(inputs))]
    blames = tuple(blame for finding in findings if isinstance(finding, tuple) for blame in finding)
    if blames:
        return MAYBE if measured(inputs, output) == MAYBE else blames
    return None if all(each.is_finite for each in inputs) else MAYBE


def empty_in(inputs: Inputs, output: Numbers) -> Finding:
    """Find whether the first input has no elements."""
    if not inputs or inputs[0].size is None:
        return MAYBE
    return (Blame(inputs[0], "no value at all"),) if inputs[0].size == 0 else None


def holds(slot: int, kind: Kind) -> Check:
    """Make a check whether the input in a slot has elements of a kind."""

    def check(inputs: Inputs, output: Numbers) -> Finding:
        if slot >= len(inputs):
            return MAYBE
        count = inputs[slot].count(kind)
        if count is None and kind in BAD_KINDS and inputs[slot].is_finite:
            count = 0
        if count is None:
            return MAYBE
        return (Blame(inputs[slot], count_words(kind, count)),) if count else None

    return check


def both(first: Check, second: Check) -> Check:
    """Both checks hold."""

    def check(inputs: Inputs, output: Numbers) -> Finding:
        a, b = first(inputs, output), second(inputs, output)
        if a is None or b is None:
            return None
        return MAYBE if isinstance(a, str) or isinstance(b, str) else _joined(a, b)

    return check


def either(first: Check, second: Check) -> Check:
    """One of the checks holds; the blames of both count."""

    def check(inputs: Inputs, output: Numbers) -> Finding:
        a, b = first(inputs, output), second(inputs, output)
        if a is None or b is None:
            return b if a is None else a
        if isinstance(a, str) or isinstance(b, str):
            return b if isinstance(a, str) else a
        return _joined(a, b)

    return check


def _joined(a: tuple[Blame, ...], b: tuple[Blame, ...]) -> tuple[Blame, ...]:
    return (*a, *(blame for blame in b if blame not in a))


def unless(other: Check, wanted: Check) -> Check:
    """Make a check whether the wanted check holds; it is undecided where the other one may hold as well."""

    def check(inputs: Inputs, output: Numbers) -> Finding:
        finding = wanted(inputs, output)
        return finding if finding is None or other(inputs, output) is None else MAYBE

    return check


def guess(wanted: Check) -> Check:
    """Return the wanted check, never proven."""
    return unless(always, wanted)


def infinite_in(slot: int) -> Check:
    """Make a check whether the input in a slot has infinities."""
    return either(holds(slot, "neg_inf"), holds(slot, "pos_inf"))


def below_zero(slot: int) -> Check:
    """Make a check whether the input in a slot has elements below 0."""
    return either(holds(slot, "negative"), holds(slot, "neg_inf"))


def all_are(slot: int, kind: Kind) -> Check:
    """All elements of the input in a slot are of a kind."""

    def check(inputs: Inputs, output: Numbers) -> Finding:
        if slot < len(inputs) and inputs[slot].count(kind) != inputs[slot].size:
            return None
        return holds(slot, kind)(inputs, output)

    return check


def outside(low: float, high: float) -> Check:
    """Make a check whether some element of the first input is outside of limits."""

    def check(inputs: Inputs, output: Numbers) -> Finding:
        numbers = inputs[0].numbers if inputs else None
        if numbers is None or numbers.low is None or numbers.high is None:
            return measured(inputs, output)
        beyond = [value for value in (numbers.low, numbers.high) if not low <= value <= high]
        words = " and ".join(f"{value:.9g}" for value in beyond)
        return (Blame(inputs[0], f"values such as {words}"),) if beyond else None

    return check


def reaches(low: float, high: float) -> Check:
    """Make a check whether the first input has elements at one of two limits."""

    def check(inputs: Inputs, output: Numbers) -> Finding:
        numbers = inputs[0].numbers if inputs else None
        if numbers is None or numbers.low is None or numbers.high is None:
            return measured(inputs, output)
        # Beyond the limits the result is NaN, which does not hide that other elements are at them.
        return measured(inputs, output) if numbers.low <= low or numbers.high >= high else None

    return check


def is_fraction(slot: int) -> Check:
    """Make a check whether elements are not whole; refuted where all are the same whole number."""

    def check(inputs: Inputs, output: Numbers) -> Finding:
        numbers = inputs[slot].numbers if slot < len(inputs) else None
        only = None if numbers is None else numbers.only
        return None if only is not None and only.is_integer() else ()

    return check


def of_dtype(name: str) -> Check:
    """Make a check whether the output is of a dtype."""

    def check(inputs: Inputs, output: Numbers) -> Finding:
        if output.dtype is None:
            return MAYBE
        return () if output.dtype == name else None

    return check


def is_complex(inputs: Inputs, output: Numbers) -> Finding:
    """Find whether the output is known to be complex."""
    return () if output.dtype is not None and output.dtype.startswith("complex") else None


def divided_by_zero(*, over: int, under: int, zero_over_zero: Literal["nan", "finite"]) -> Check:
    """Return a number other than 0 is divided by 0.

    A zero under the division does not count where a 0 or a NaN is over it. There are at most as many such
    places as the input over it has zeros and NaN and, where 0 / 0 is NaN, as the output has NaN.

    Args:
      over: Slot of the dividend.
      under: Slot of the divisor.
      zero_over_zero: What 0 / 0 gives.
    """

    def check(inputs: Inputs, output: Numbers) -> Finding:
        finding = holds(under, "zero")(inputs, output)
        zeros = _uses(inputs, under, "zero", output)
        zeros_over, nan_over = (_uses(inputs, over, kind, output) for kind in ("zero", "nan"))
        limits = [
            None if zeros_over is None or nan_over is None else zeros_over + nan_over,
            output.counts.get("nan") if zero_over_zero == "nan" else None,
        ]
        is_proven = any(
            limit == 0 or (limit is not None and zeros is not None and zeros > limit) for limit in limits
        )
        return finding if finding is None or is_proven else MAYBE

    return check


def _uses(inputs: Inputs, slot: int, kind: Kind, output: Numbers) -> float | None:
    """Return the number of output elements computed from elements of a kind, all equally often."""
    count = inputs[slot].count(kind) if slot < len(inputs) else None
    if not count:
        return count
    size = inputs[slot].size
    return None if not size or output.size is None else count * output.size / size


def new_kinds(inputs: Inputs, output: Numbers) -> frozenset[Kind] | None:
    """Return the bad kinds of the output that no input has; None when the output is only known to be bad."""
    there = [kind for kind in BAD_KINDS if output.counts.get(kind)]
    if not there:
        return None
    return frozenset(
        kind for kind in there if not any(each.is_bad and each.count(kind) != 0 for each in inputs)
    )


#: Ops that compute each element of the output from one element of their only input.
_OF_ONE: Final = frozenset(
    {
        *(
            "Abs",
            "Acos",
            "Acosh",
            "Asin",
            "Asinh",
            "Atan",
            "Atanh",
            "Cos",
            "Cosh",
            "Digamma",
            "Erf",
            "Erfinv",
        ),
        *("Exp", "Expm1", "Identity", "Inv", "Lgamma", "Log", "Log1p", "Ndtri", "Neg", "Reciprocal", "Relu"),
        *("Rsqrt", "Sigmoid", "Sin", "Sinh", "Softplus", "Sqrt", "Square", "Tan", "Tanh"),
    }
)
_INFINITE: Final[tuple[Kind, ...]] = ("neg_inf", "pos_inf")
#: Kinds of elements of the input that always give one of some kinds in the output.
_GIVES: Final[dict[str, tuple[tuple[tuple[Kind, ...], tuple[Kind, ...]], ...]]] = {
    "Log": ((("zero",), ("neg_inf",)), (("neg_inf", "nan"), ("nan",))),
    "Reciprocal": ((("zero",), _INFINITE),),
    "Inv": ((("zero",), _INFINITE),),
    "Rsqrt": ((("zero",), _INFINITE), (("neg_inf", "nan"), ("nan",))),
    "Sqrt": ((("neg_inf", "nan"), ("nan",)),),
}
#: NaN gives NaN.
_ALL_GIVE: Final = ((("nan",), ("nan",)),)
#: Ops whose NaN come only from some kinds of elements.
_NAN_FROM: Final[dict[str, tuple[Kind, ...]]] = dict.fromkeys(
    ("Log", "Sqrt", "Rsqrt"), ("negative", "neg_inf", "nan")
)


def may_be_of_one_run(op_type: str, inputs: Sequence[Input], output: Numbers) -> bool:
    """Whether an output can have come from the numbers of its inputs; True where nothing speaks against it.

    Args:
      op_type: Type of the op.
      inputs: Its inputs.
      output: The output.
    """
    given = inputs[0].numbers if len(inputs) == 1 else None
    if op_type not in _OF_ONE or given is None or given.bad is None:
        return True
    if given.size is not None and output.size is not None and given.size != output.size:
        return False
    for kinds, made in (*_ALL_GIVE, *_GIVES.get(op_type, ())):
        least, there = _count(given, kinds), _count(output, made)
        if least is not None and there is not None and there < least:
            return False
    most, nan = _count(given, _NAN_FROM.get(op_type, ())), output.counts.get("nan")
    return op_type not in _NAN_FROM or most is None or nan is None or nan <= most


def _count(numbers: Numbers, kinds: Sequence[Kind]) -> int | None:
    counts = [numbers.counts.get(kind) for kind in kinds]
    return None if None in counts else sum(count or 0 for count in counts)
