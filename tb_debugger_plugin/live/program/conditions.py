"""Conditions of breakpoints: a small language of comparisons between the numbers of a tensor.

Takes a text such as ``nan > 0`` or ``max - min > 10 and size > 1``, checks that it is of the language, and
returns it in postfix notation, which the native gate evaluates for tensors of graphs. The same notation is
evaluated here for eager tensors.

Invariants: nothing of a text is ever run as Python. A condition has at most `MAX_STEPS` steps and needs at
most `MAX_STACK` numbers at a time.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.capture.gate import StepKind
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.live.program.postfix import COLUMNS, Step, depth_of, holds_only_for_bad, value_of
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


MAX_TEXT: Final = 500
MAX_STEPS: Final = 64
MAX_STACK: Final = 16

_INF: Final[tuple[Step, ...]] = ("ninf", "pinf", "+")
#: Names that stand for steps.
_DERIVED: Final[dict[str, tuple[Step, ...]]] = {
    "inf": _INF,
    "bad": (*_INF, "nan", "+"),
    "std": ("var", "sqrt"),
    "range": ("max", "min", "-"),
}
#: Names that count elements; one alone is a condition: that the count is above 0.
_COUNTS: Final = frozenset(("size", "ninf", "pinf", "nan", "neg", "zero", "pos", "inf", "bad"))
NAMES: Final = (*COLUMNS, *_DERIVED)

_ARITHMETIC: Final[dict[type[ast.operator], str]] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
}
_COMPARISONS: Final[dict[type[ast.cmpop], str]] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


@dataclass(frozen=True)
class Condition:
    """A condition.

    Attributes:
      text: Its text.
      steps: It in postfix notation; empty for a condition that always holds.
      only_bad: Whether it can hold only for tensors with an infinity or NaN.
      reads_moments: Whether it needs minimum, maximum, mean or variance.
    """

    text: str
    steps: tuple[Step, ...] = ()
    only_bad: bool = False
    reads_moments: bool = False

    @property
    def is_always(self) -> bool:
        """Whether it holds for every tensor."""
        return not self.steps

    def holds(self, numbers: Mapping[str, float]) -> bool:
        """Return whether it holds for a tensor.

        Args:
          numbers: The numbers of the tensor by the names of `postfix.COLUMNS`. A condition that names one
            that is not known, such as the mean of strings, does not hold.
        """
        if any(step in COLUMNS and step not in numbers for step in self.steps):
            return False
        return self.is_always or value_of(self.steps, numbers) != 0


@functools.lru_cache(maxsize=256)
def parse_condition(text: str) -> Condition:
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
        return Condition("")
    if len(text) > MAX_TEXT:
        raise UsageError(f"The condition is longer than {MAX_TEXT} characters.")
    steps = tuple(_truth(_tree(text)))
    if len(steps) > MAX_STEPS or depth_of(steps) > MAX_STACK:
        raise UsageError("The condition is too long: use two breakpoints instead.")
    moments = any(step in ("min", "max", "mean", "var") for step in steps)
    return Condition(text, steps, holds_only_for_bad(steps), moments)


def _tree(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        hint = " Write == for equal." if "=" in text.replace("==", "").replace("!=", "") else ""
        raise UsageError(f"{text!r} is no condition: {error.msg}.{hint}") from None
    except (ValueError, RecursionError, MemoryError, OverflowError):
        raise UsageError("The condition cannot be parsed: it is nested too deeply.") from None


def _truth(node: ast.expr) -> list[Step]:
    """Return the steps of what is true or false."""
    if isinstance(node, ast.BoolOp):
        sign = "and" if isinstance(node.op, ast.And) else "or"
        first, *others = map(_truth, node.values)
        return first + [step for other in others for step in (*other, sign)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [*_truth(node.operand), "not"]
    if isinstance(node, ast.Compare):
        return _comparison(node)
    if isinstance(node, ast.Name) and node.id in _COUNTS:
        return [*_number(node), 0.0, ">"]
    _number(node)  # a name that is not known, or something else that no condition has, is told first
    text = ast.unparse(node)[:50]
    raise UsageError(f"{text!r} is a number, not a condition: compare it, such as {text} > 0.")


def _comparison(node: ast.Compare) -> list[Step]:
    if any(type(sign) not in _COMPARISONS for sign in node.ops):
        raise UsageError("A condition compares with <, <=, >, >=, == and !=.")
    numbers = [_number(one) for one in (node.left, *node.comparators)]
    steps: list[Step] = []
    for at, sign in enumerate(node.ops):
        steps += [*numbers[at], *numbers[at + 1], _COMPARISONS[type(sign)]] + (["and"] if at else [])
    return steps


def _number(node: ast.expr) -> list[Step]:
    """Return the steps of a number."""
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        if isinstance(node.value, bool):
            raise UsageError(_misplaced(node))
        return [_constant(node.value)]
    if isinstance(node, ast.Name):
        return _named(node.id)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        return [*_number(node.left), *_number(node.right), _ARITHMETIC[type(node.op)]]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
        return [*_number(node.operand), *(["minus"] if isinstance(node.op, ast.USub) else [])]
    if isinstance(node, ast.Call):
        return _call(node)
    raise UsageError(_misplaced(node))


def _constant(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        raise UsageError("A number in the condition is too large.") from None


def _named(name: str) -> list[Step]:
    if name in COLUMNS:
        return [name]
    if name in _DERIVED:
        return list(_DERIVED[name])
    raise UsageError(f"A condition has no {name[:50]!r}: there is {', '.join(NAMES)}.")


def _call(node: ast.Call) -> list[Step]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in ("abs", "sqrt") or len(node.args) != 1 or node.keywords:
        raise UsageError("A condition calls only abs(...) and sqrt(...), of one number.")
    return [*_number(node.args[0]), name]


def _misplaced(node: ast.expr) -> str:
    text = ast.unparse(node)[:50]
    if isinstance(node, (ast.BoolOp, ast.Compare)) or (
        isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    ):
        return f"{text!r} is true or false, and a number is needed there: see the parentheses."
    return (
        f"A condition cannot have {text!r}: it has comparisons of numbers with + - * /, and, or, not,"
        " such as nan > 0 or max - min > 10."
    )
