"""Rules of the gate, made from conditions."""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.capture.gate import StepKind
from tb_debugger_plugin.live.program.conditions import Condition
from tb_debugger_plugin.live.program.postfix import COLUMNS, Step
from tb_debugger_plugin.native.arguments import ConditionStep, GateRule

#: Numbers of rules that are no breakpoints.
UNTIL_CONDITION: Final = 1_000_000_001
UNTIL_TENSOR: Final = 1_000_000_002
WATCHED: Final = 1_000_000_003
#: Hits of the rule that only makes the gate compute numbers.
_NEVER: Final = 1 << 31

_KINDS: Final = {
    "minus": StepKind.NEGATIVE,
    "+": StepKind.ADD,
    "-": StepKind.SUBTRACT,
    "*": StepKind.MULTIPLY,
    "/": StepKind.DIVIDE,
    "<": StepKind.LT,
    "<=": StepKind.LE,
    ">": StepKind.GT,
    ">=": StepKind.GE,
    "==": StepKind.EQ,
    "!=": StepKind.NE,
    "and": StepKind.AND,
    "or": StepKind.OR,
    "not": StepKind.NOT,
    "abs": StepKind.ABS,
    "sqrt": StepKind.SQRT,
}


def gate_rule(
    number: int, tensor_ids: frozenset[int] | None, condition: Condition, ignore: int = 0
) -> GateRule:
    """Return a rule.

    Args:
      number: Names it.
      tensor_ids: The tensors; None for all.
      condition: What must hold of them.
      ignore: Hits that do not stop the program.
    """
    return GateRule(number, tensor_ids, tuple(map(_step, condition.steps)), condition.only_bad, ignore)


def _step(step: Step) -> ConditionStep:
    if isinstance(step, float):
        return ConditionStep(StepKind.CONSTANT, step)
    if step in _KINDS:
        return ConditionStep(_KINDS[step])
    return ConditionStep(StepKind.NUMBER, COLUMNS.index(step))


def measuring_rule(tensor_ids: frozenset[int]) -> GateRule:
    """Return a rule that holds no thread, and for which the gate computes all numbers of some tensors."""
    never = (_step("var"), _step(-1.0), _step("<"))
    return GateRule(WATCHED, tensor_ids, never, ignore=_NEVER)
