"""Says how certain a diagnosis is, and which recording would make it certain."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from tb_debugger_plugin.analysis.diagnosis.causes import Causes
from tb_debugger_plugin.analysis.diagnosis.evidence import Input, Inputs, may_be_of_one_run, new_kinds
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers

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
