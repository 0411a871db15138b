"""Finds the causes of bad values in the tables of ``known``."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.cause import ANY, Cause
from tb_debugger_plugin.analysis.diagnosis.evidence import MAYBE, Blame, Input, new_kinds
from tb_debugger_plugin.analysis.diagnosis.known import algebra, arithmetic, functions, learning, outside
from tb_debugger_plugin.analysis.diagnosis.numbers import BAD_KINDS, Numbers
from tb_debugger_plugin.analysis.diagnosis.same_run import may_be_of_one_run

_LIBRARY: Final = re.compile(r"^_(?:MklNative|Mkl)?(?:Fused)?(?=[A-Z])")
_RENAMED: Final = {"_FusedBatchNormEx": "FusedBatchNormV3", "_FusedBatchNormGradEx": "FusedBatchNormGradV3"}
#: Types that begin like those of a library, and are not.
_OWN: Final = frozenset({"_Arg", "_Retval", "_Send", "_Recv", "_HostSend", "_HostRecv"})


def plain_type(op_type: str) -> str:
    """Return the type of the op that the program wrote."""
    if op_type in _OWN:
        return op_type
    return _RENAMED.get(op_type) or _LIBRARY.sub("", op_type)


#: All known causes. The first proven one counts, so causes that numbers prove come before those by exclusion.
CAUSES: Final = (
    *functions.CAUSES,
    *arithmetic.CAUSES,
    *learning.CAUSES,
    *algebra.CAUSES,
    *outside.CAUSES,
)
#: Ops that compute with their first input only.
FIRST_INPUT_ONLY: Final = arithmetic.FIRST_INPUT_ONLY | {"SparseSoftmaxCrossEntropyWithLogits"}


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


def _by_op() -> dict[str, list[Cause]]:
    causes = defaultdict(list)
    for cause in CAUSES:
        for op in cause.ops:
            causes[op].append(cause)
    return causes


_BY_OP: Final = _by_op()


def causes_of(op_type: str, inputs: Sequence[Input], output: Numbers) -> Causes:
    """Find the causes of the bad kinds of an output that no input has.

    A cause counts only for the kinds that it gives. Where the kinds are not known, only causes that say
    where a value comes from are proven; likewise where the inputs on record cannot have given this output.

    Args:
      op_type: Type of the op.
      inputs: All its inputs, in the order of their slots.
      output: The bad output.
    """
    op_type = plain_type(op_type)
    inputs = inputs[:1] if op_type in FIRST_INPUT_ONLY else inputs
    kinds = new_kinds(inputs, output)
    are_known = kinds is not None and may_be_of_one_run(op_type, inputs, output)
    may_be_proven = _provable(are_known, all(each.is_finite is not None for each in inputs))
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


def _provable(are_known: bool, inputs_are_measured: bool) -> Callable[[Cause], bool]:
    """Whether numbers can prove a cause: a NaN may come from an input that was not measured."""

    def check(cause: Cause) -> bool:
        if cause.gives is ANY:
            return True
        return are_known and (inputs_are_measured or "nan" not in cause.gives)

    return check
