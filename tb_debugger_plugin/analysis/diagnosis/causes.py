"""Finds the causes of bad values in the tables of ``known``, and what helps in those of ``situated``.

Also says how certain the causes are, and which recording would make them certain.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypeVar

from tb_debugger_plugin.analysis.diagnosis.advice import Advice
from tb_debugger_plugin.analysis.diagnosis.around import Scene, producers
from tb_debugger_plugin.analysis.diagnosis.dialect import dialect_of
from tb_debugger_plugin.analysis.diagnosis.evidence import (
    MAYBE,
    Blame,
    Input,
    Inputs,
    may_be_of_one_run,
    new_kinds,
)
from tb_debugger_plugin.analysis.diagnosis.known import (
    ANY,
    Cause,
    algebra,
    arithmetic,
    functions,
    learning,
    outside,
)
from tb_debugger_plugin.analysis.diagnosis.numbers import BAD_KINDS, Numbers
from tb_debugger_plugin.analysis.diagnosis.rewriting import Example
from tb_debugger_plugin.analysis.diagnosis.situated import ANY_OP, Pattern, divisions, losses, training
from tb_debugger_plugin.analysis.diagnosis.surroundings import Surroundings
from tb_debugger_plugin.analysis.graph import op_kinds

_Row = TypeVar("_Row", Cause, Pattern)
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
FIRST_INPUT_ONLY: Final = (
    arithmetic.FIRST_INPUT_ONLY | op_kinds.COLLECTIVES | {"SparseSoftmaxCrossEntropyWithLogits"}
)


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


def _by_op(rows: Sequence[_Row]) -> dict[str, list[_Row]]:
    types = {op for row in rows for op in row.ops}
    return {op: [row for row in rows if op in row.ops or row.ops == ANY_OP] for op in types}


_CAUSES_OF: Final = _by_op(CAUSES)


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
    for cause in _CAUSES_OF.get(op_type, ()):
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


#: All situations around an op that need advice of their own. A row is looked at for the types of ops that it
#: names: the op that made a bad value and, for a gradient, the op whose gradient it is. The first row whose
#: situation is there counts, so special rows come before general ones.
PATTERNS: Final = (*losses.PATTERNS, *divisions.PATTERNS, *training.PATTERNS)
#: Steps to the lines that made an input.
_UPSTREAM: Final = 4
_PATTERNS_OF: Final = _by_op(PATTERNS)


def advice_for(
    causes: Causes, output: Numbers, surroundings: Surroundings | None, function: str | None = None
) -> Advice | None:
    """Return what helps; None when the op only passed on what was bad, or when nothing is known to help.

    Args:
      causes: Why the output is bad.
      output: The bad output.
      surroundings: What is around the op; None when that is not known.
      function: Name of the op's graph.
    """
    first = next(iter([*(proven.cause for proven in causes.proven), *causes.possible]), None)
    if first is None:
        return None
    pattern = None if surroundings is None else pattern_of(Scene(surroundings, output, function))
    return first.help if pattern is None else pattern.advice


def pattern_of(scene: Scene) -> Pattern | None:
    """Return the first situation that is there."""
    types = dict.fromkeys([scene.focus.type, scene.op.type])
    for type_ in types:
        for pattern in _PATTERNS_OF.get(type_, _PATTERNS_OF[ANY_OP[0]]):
            if pattern.is_there(scene):
                return pattern
    return None


def example_for(advice: Advice, scene: Scene) -> Example | None:
    """Return the line of the program as it should be, in the library that the file uses; else one like it."""
    dtype = scene.output.dtype or scene.op.attributes.get("T")
    lines = lines_of(scene.around, upstream=advice.is_upstream)
    return advice.example(lines, dtype, dialect_of(scene.around.program.text))


def words_for(advice: Advice, scene: Scene) -> str:
    """Return the sentence for the program: without learning rate in predictions, or ``tf`` in Keras."""
    program = scene.around.program
    words = advice.words if program.trains else advice.without_training or advice.words
    return dialect_of(program.text).words(words)


def lines_of(surroundings: Surroundings | None, *, upstream: bool = False) -> list[str | None]:
    """Return Texts of the lines that may have to change: that of the op which the program wrote comes first.

    Args:
      surroundings: What is around the op.
      upstream: Whether the lines of the ops before it count.
    """
    if surroundings is None:
        return []
    written = surroundings.forward or surroundings.op
    makers = [near.line for near in producers(written, _UPSTREAM)] if upstream else []
    return [*dict.fromkeys([written.line, surroundings.op.line, *makers])]


#: ``proven``: the recorded numbers leave no other cause. ``likely``: one cause fits, or the value was bad in
#: an input. ``possible``: several causes fit, or none is known.
Certainty: TypeAlias = Literal["proven", "likely", "possible"]

_COUNTS: Final = 'Record with tensor_debug_mode="FULL_HEALTH"'
_RANGE: Final = 'Record with tensor_debug_mode="FULL_NUMERICS"'
_ELEMENTS: Final = 'Keep the elements (keep_values, or tensor_debug_mode="FULL_TENSOR")'
_OTHER_RUN: Final = (
    "The recorded numbers of its input are of another run of the op: record all of them"
    " (circular_buffer_size=-1)."
)


def certainty_of(causes: Causes, inputs: Inputs, output: Numbers) -> Certainty:
    """How certain the first cause is.

    Args:
      causes: The causes that were found.
      inputs: The inputs of the op.
      output: The bad output.
    """
    if causes.proven:
        return "proven" if not causes.possible else "likely"
    if not causes.possible:
        return "likely" if any(each.is_bad for each in inputs) else "possible"
    return "likely" if len(causes.possible) == 1 else "possible"


def missing_of(op_type: str, causes: Causes, inputs: Inputs, output: Numbers) -> str | None:
    """Return what would decide between the causes; None when they are certain, or when nothing would.

    Args:
      op_type: Type of the op.
      causes: The causes that were found.
      inputs: The inputs of the op.
      output: The bad output.
    """
    if not may_be_of_one_run(op_type, inputs, output):
        return _OTHER_RUN
    if new_kinds(inputs, output) is None:
        if output.bad is None:
            return None  # it was not measured, which no mode changes
        return f"{_COUNTS} to know how many of the values are NaN and how many are infinite."
    if not causes.possible:
        return None
    unmeasured = [each for each in inputs if each.is_finite is None]
    if unmeasured:
        return _not_on_record(unmeasured)
    if any(_is_counted_in_part(each) for each in inputs):
        return f"{_COUNTS} to know which inputs had zeros and negative values."
    if any(each.numbers is not None and each.numbers.low is None for each in inputs):
        return f"{_RANGE} to know how large the inputs were."
    return f"{_ELEMENTS} to know which elements of the inputs met."


def _is_counted_in_part(input_: Input) -> bool:
    numbers = input_.numbers
    return numbers is not None and numbers.bad is not None and numbers.counts.get("zero") is None


def _not_on_record(inputs: Sequence[Input]) -> str:
    more = " and more" if len(inputs) > 3 else ""
    names = f"{' and '.join(each.name for each in inputs[:3])}{more}"
    if all(each.is_of_no_op for each in inputs):
        return f"No op on record made its input {names}: print it, or compute it while recording."
    return f"The values of {names} are not on record: watch {'it' if len(inputs) == 1 else 'them'} as well."
