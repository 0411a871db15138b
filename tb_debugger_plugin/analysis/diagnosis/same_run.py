"""Checks whether the recorded numbers of an op's inputs can belong to its output.

With a circular buffer, in a loop or with several threads, the last recorded values of an input may be of
another run of the op. Then they prove nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.evidence import Input
from tb_debugger_plugin.analysis.diagnosis.numbers import Kind, Numbers

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
