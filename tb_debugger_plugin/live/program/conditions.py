"""Conditions of breakpoints: a small language of comparisons between the numbers of a tensor.

Takes a text such as ``nan > 0`` or ``max - min > 10 and size > 1``, checks that it is of the language, and
returns it in postfix notation, which the native gate evaluates for tensors of graphs. The same notation is
evaluated here for eager tensors.

A condition may also name the current step and call of the program. They are known before a tensor is
computed, so that the gate gets what is left of the condition.

Invariants: nothing of a text is ever run as Python. A condition has at most `MAX_STEPS` steps and needs at
most `MAX_STACK` numbers at a time. A comparison with NaN, such as the mean of a tensor without finite
elements, does not hold (but ``!=`` does). Truth is 1 or 0.
"""

from __future__ import annotations

import ast
import functools
import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.gate_table import MAX_STACK, MAX_STEPS, NUMBERS, StepKind
from tb_debugger_plugin.events.modes import MOMENTS
from tb_debugger_plugin.native.structs import ConditionStep, GateRule

#: Numbers of rules that are no breakpoints.
UNTIL_CONDITION: Final = 1_000_000_001
UNTIL_TENSOR: Final = 1_000_000_002
WATCHED: Final = 1_000_000_003
#: Hits of the rule that only makes the gate compute numbers.
_NEVER: Final = 1 << 31
MAX_TEXT: Final = 500

#: Other names, by the texts that they stand for.
_DERIVED: Final = {
    "inf": "ninf + pinf",
    "bad": "ninf + pinf + nan",
    "std": "sqrt(var)",
    "range": "max - min",
}
#: Names that count elements; one alone is a condition: that the count is above 0.
_COUNTS: Final = frozenset(("size", "ninf", "pinf", "nan", "neg", "zero", "pos", "inf", "bad"))
#: Numbers of the program, not of a tensor.
OF_PROGRAM: Final = ("step", "call")
NAMES: Final = (*NUMBERS, *_DERIVED, *OF_PROGRAM)
#: By the values of the steps that name them.
_NUMBERS: Final = (*NUMBERS, *OF_PROGRAM)

_ARITHMETIC: Final[dict[type[ast.operator], StepKind]] = {
    ast.Add: StepKind.ADD,
    ast.Sub: StepKind.SUBTRACT,
    ast.Mult: StepKind.MULTIPLY,
    ast.Div: StepKind.DIVIDE,
    ast.Mod: StepKind.REMAINDER,
}
_COMPARISONS: Final[dict[type[ast.cmpop], StepKind]] = {
    ast.Lt: StepKind.LT,
    ast.LtE: StepKind.LE,
    ast.Gt: StepKind.GT,
    ast.GtE: StepKind.GE,
    ast.Eq: StepKind.EQ,
    ast.NotEq: StepKind.NE,
}
_FUNCTIONS: Final = {"abs": StepKind.ABS, "sqrt": StepKind.SQRT}


def gate_rule(
    number: int, tensor_ids: frozenset[int] | None, condition: TensorCondition, ignore: int = 0
) -> GateRule:
    """Return a rule.

    Args:
      number: Names it.
      tensor_ids: The tensors; None for all.
      condition: What must hold of them.
      ignore: Hits that do not stop the program.
    """
    return GateRule(number, tensor_ids, condition.steps, condition.only_bad, ignore)


def measuring_rule(tensor_ids: frozenset[int]) -> GateRule:
    """Return a rule that holds no thread, and for which the gate computes all numbers of some tensors."""
    return GateRule(WATCHED, tensor_ids, parse_condition("var < -1").steps, ignore=_NEVER)


def _quotient(left: float, right: float) -> float:
    try:
        return left / right
    except ZeroDivisionError:
        is_defined = left != 0 and not math.isnan(left)
        return math.copysign(math.inf, left) * math.copysign(1.0, right) if is_defined else math.nan


def _remainder(left: float, right: float) -> float:
    return left % right if right else math.nan


#: What the steps that take values compute.
_RESULTS: Final[dict[StepKind, Callable[..., float]]] = {
    StepKind.NEGATIVE: operator.neg,
    StepKind.ADD: operator.add,
    StepKind.SUBTRACT: operator.sub,
    StepKind.MULTIPLY: operator.mul,
    StepKind.DIVIDE: _quotient,
    StepKind.REMAINDER: _remainder,
    StepKind.LT: operator.lt,
    StepKind.LE: operator.le,
    StepKind.GT: operator.gt,
    StepKind.GE: operator.ge,
    StepKind.EQ: operator.eq,
    StepKind.NE: operator.ne,
    StepKind.AND: lambda left, right: left != 0 and right != 0,
    StepKind.OR: lambda left, right: left != 0 or right != 0,
    StepKind.NOT: operator.not_,
    StepKind.ABS: abs,
    StepKind.SQRT: lambda value: math.sqrt(value) if value >= 0 else math.nan,
}


def _value(steps: Sequence[ConditionStep], numbers: Mapping[str, float | None]) -> float | None:
    """Return what steps compute; None if that depends on a number that is None."""
    stack: list[float | None] = []
    for kind, value in steps:
        if kind is StepKind.CONSTANT:
            stack.append(value)
        elif kind is StepKind.NUMBER:
            stack.append(numbers[_NUMBERS[int(value)]])
        else:
            operands = stack[-kind.operands :]
            stack[-kind.operands :] = [_result(kind, operands)]
    return stack[-1]


def _result(kind: StepKind, operands: Sequence[float | None]) -> float | None:
    if None not in operands:
        return float(_RESULTS[kind](*operands))
    if kind is StepKind.AND and 0 in operands:
        return 0.0
    is_true = any(value is not None and value != 0 for value in operands)
    return 1.0 if kind is StepKind.OR and is_true else None


def _depth(steps: Sequence[ConditionStep]) -> int:
    """Return the most numbers that are on the stack at a time."""
    height = most = 0
    for step in steps:
        height += 1 - step.kind.operands
        most = max(most, height)
    return most


def _fixed(steps: Sequence[ConditionStep], numbers: Mapping[str, float]) -> tuple[ConditionStep, ...]:
    """Return what is left of steps when some numbers are known."""
    stack: list[tuple[ConditionStep, ...]] = []
    for step in steps:
        kind = step.kind
        if kind is StepKind.NUMBER and _NUMBERS[int(step.value)] in numbers:
            stack.append((ConditionStep(StepKind.CONSTANT, numbers[_NUMBERS[int(step.value)]]),))
        elif kind.operands == 0:
            stack.append((step,))
        else:
            stack[-kind.operands :] = [_joined(step, stack[-kind.operands :])]
    return stack[-1]


def _joined(step: ConditionStep, operands: Sequence[tuple[ConditionStep, ...]]) -> tuple[ConditionStep, ...]:
    known = [one[0].value if _is_constant(one) else None for one in operands]
    result = _result(step.kind, known)
    if result is not None:
        return (ConditionStep(StepKind.CONSTANT, result),)
    if step.kind in (StepKind.AND, StepKind.OR):
        left, *others = (one for one, value in zip(operands, known, strict=True) if value is None)
        if not others:
            return left  # the other one, which is known, decides nothing
    return (*itertools.chain.from_iterable(operands), step)


def _is_constant(steps: Sequence[ConditionStep]) -> bool:
    return len(steps) == 1 and steps[0].kind is StepKind.CONSTANT


#: What is known of each tensor without infinity and NaN.
_OF_GOOD: Final = {name: 0.0 if name in ("ninf", "pinf", "nan") else None for name in _NUMBERS}


@dataclass(frozen=True)
class TensorCondition:
    """A condition.

    Attributes:
      text: Its text.
      steps: It in postfix notation; empty for a condition that always holds.
      only_bad: Whether it can hold only for tensors with an infinity or NaN. A no, where that is not certain,
        costs the gate time and nothing else.
      reads_moments: Whether it needs minimum, maximum, mean or variance.
    """

    text: str
    steps: tuple[ConditionStep, ...] = ()
    only_bad: bool = False
    reads_moments: bool = False

    @property
    def is_always(self) -> bool:
        """Whether it holds for every tensor."""
        return not self.steps

    @property
    def is_never(self) -> bool:
        """Whether it holds for no tensor, whatever its numbers are."""
        return _is_constant(self.steps)

    @property
    def reads_tensors(self) -> bool:
        """Whether it names numbers of a tensor."""
        return bool(_named_by(self.steps) - set(OF_PROGRAM))

    def at(self, program: Mapping[str, float]) -> TensorCondition:
        """Return the condition at a step and a call of the program.

        Args:
          program: The numbers of the program by the names of `OF_PROGRAM`.
        """
        if not _named_by(self.steps) & program.keys():
            return self
        steps = _fixed(self.steps, program)
        return _condition(self.text, () if _is_constant(steps) and steps[0].value else steps)

    def holds(self, numbers: Mapping[str, float]) -> bool:
        """Return whether it holds for a tensor.

        Args:
          numbers: The numbers of the tensor by the names of `NUMBERS`. A condition that names one that is not
            known, such as the mean of strings, does not hold; nor does one that names numbers of the program.
        """
        if not _named_by(self.steps) <= numbers.keys():
            return False
        return self.is_always or _value(self.steps, numbers) != 0


def _named_by(steps: Sequence[ConditionStep]) -> set[str]:
    return {_NUMBERS[int(step.value)] for step in steps if step.kind is StepKind.NUMBER}


@functools.lru_cache(maxsize=256)
def parse_condition(text: str) -> TensorCondition:
    """Parse a condition.

    Use::

        parse_condition("nan > 0 or max - min > 10").holds(numbers)

    Args:
      text: The condition; an empty text always holds. Its names are those of `NAMES`, its functions ``abs``
        and ``sqrt``.

    Raises:
      UsageError: It is not of the language.
    """
    text = text.strip()
    if not text:
        return TensorCondition("")
    if len(text) > MAX_TEXT:
        raise UsageError(f"The condition is longer than {MAX_TEXT} characters.")
    steps = tuple(_truth(_tree(text)))
    if len(steps) > MAX_STEPS or _depth(steps) > MAX_STACK:
        raise UsageError("The condition is too long: use two breakpoints instead.")
    return _condition(text, steps)


def _condition(text: str, steps: tuple[ConditionStep, ...]) -> TensorCondition:
    reads_moments = any(NUMBERS.get(name) in MOMENTS for name in _named_by(steps))
    only_bad = bool(steps) and _value(steps, _OF_GOOD) == 0
    return TensorCondition(text, steps, only_bad, reads_moments)


def _tree(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        hint = " Write == for equal." if "=" in text.replace("==", "").replace("!=", "") else ""
        raise UsageError(f"{text!r} is no condition: {error.msg}.{hint}") from None
    except (ValueError, RecursionError, MemoryError, OverflowError):
        raise UsageError("The condition cannot be parsed: it is nested too deeply.") from None


def _truth(node: ast.expr) -> list[ConditionStep]:
    """Return the steps of what is true or false."""
    if isinstance(node, ast.BoolOp):
        sign = ConditionStep(StepKind.AND if isinstance(node.op, ast.And) else StepKind.OR)
        first, *others = map(_truth, node.values)
        return first + [step for other in others for step in (*other, sign)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [*_truth(node.operand), ConditionStep(StepKind.NOT)]
    if isinstance(node, ast.Compare):
        return _comparison(node)
    if isinstance(node, ast.Name) and node.id in _COUNTS:
        return [*_number(node), _constant(0), ConditionStep(StepKind.GT)]
    _number(node)  # a name that is not known, or something else that no condition has, is told first
    text = ast.unparse(node)[:50]
    raise UsageError(f"{text!r} is a number, not a condition: compare it, such as {text} > 0.")


def _comparison(node: ast.Compare) -> list[ConditionStep]:
    if any(type(sign) not in _COMPARISONS for sign in node.ops):
        raise UsageError("A condition compares with <, <=, >, >=, == and !=.")
    numbers = [_number(one) for one in (node.left, *node.comparators)]
    steps: list[ConditionStep] = []
    for at, sign in enumerate(node.ops):
        steps += [*numbers[at], *numbers[at + 1], ConditionStep(_COMPARISONS[type(sign)])]
        steps += [ConditionStep(StepKind.AND)] if at else []
    return steps


def _number(node: ast.expr) -> list[ConditionStep]:
    """Return the steps of a number."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        if isinstance(node.value, bool):
            raise UsageError(_misplaced(node))
        return [_constant(node.value)]
    if isinstance(node, ast.Name):
        return _named(node.id)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        sign = ConditionStep(_ARITHMETIC[type(node.op)])
        return [*_number(node.left), *_number(node.right), sign]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        is_negative = isinstance(node.op, ast.USub)
        return _number(node.operand) + [ConditionStep(StepKind.NEGATIVE)] * is_negative
    if isinstance(node, ast.Call):
        return _call(node)
    raise UsageError(_misplaced(node))


def _constant(value: float) -> ConditionStep:
    try:
        return ConditionStep(StepKind.CONSTANT, float(value))
    except OverflowError:
        raise UsageError("A number in the condition is too large.") from None


def _named(name: str) -> list[ConditionStep]:
    if name in _NUMBERS:
        return [ConditionStep(StepKind.NUMBER, _NUMBERS.index(name))]
    if name in _DERIVED:
        return _number(_tree(_DERIVED[name]))
    raise UsageError(f"A condition has no {name[:50]!r}: there is {', '.join(NAMES)}.")


def _call(node: ast.Call) -> list[ConditionStep]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in _FUNCTIONS or len(node.args) != 1 or node.keywords:
        raise UsageError("A condition calls only abs(...) and sqrt(...), of one number.")
    return [*_number(node.args[0]), ConditionStep(_FUNCTIONS[name])]


def _misplaced(node: ast.expr) -> str:
    text = ast.unparse(node)[:50]
    if isinstance(node, (ast.BoolOp, ast.Compare)) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    ):
        return f"{text!r} is true or false, and a number is needed there: see the parentheses."
    return (
        f"A condition cannot have {text!r}: it has comparisons of numbers with + - * / %, and, or, not,"
        " such as nan > 0 or max - min > 10."
    )
