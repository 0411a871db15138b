"""Writes a changed line of a program: replaces a call that is found in its text.

A :class:`Rewrite` is a pair of expressions. In them a capital letter stands for any expression, ``*R`` for
the remaining arguments, and ``**K`` for the remaining keywords. A name is found by its last part, so
``log(X)`` is found in ``tf.math.log(p)``. ``F`` is the outermost function as the program names it. Words in
capitals are numbers that fit the dtype: ``EPSILON`` is added under a root and ``SMALL`` to a divisor,
``LEAST`` is the least probability, ``MASK`` the magnitude of a mask, and ``NEAR`` the distance from the end
of a range.

Invariants: the text is parsed and never evaluated. When it cannot be parsed, or nothing is found, the result
is None. A call of the program's own function, and one that draws random numbers, is never written twice.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.snapshot import JsonObject

_OPENING: Final = {")": "(", "]": "[", "}": "{"}
_CLOSING: Final = {opening: closing for closing, opening in _OPENING.items()}
#: Longer lines are data, not code.
_LONGEST: Final = 1000
_EXPONENT: Final = re.compile(r"(?<=\d)e-0(\d)\b")
_ZEROS: Final = re.compile(r"\b1(0{6,})\.0\b")
#: Other names of functions.
_ALIASES: Final = {
    "sum": "reduce_sum",
    "mean": "reduce_mean",
    "std": "reduce_std",
    "arccos": "acos",
    "arcsin": "asin",
    "power": "pow",
    "div": "divide",
    "truediv": "divide",
}

#: The letter for the outermost function as the program names it.
_FUNCTION: Final = "F"

#: The numbers by dtype. A sum, a product or a cast with them is finite, and they are not rounded away. As
#: what is clipped has no gradient, the least probability is the smallest whose log has a finite one.
_NUMBERS: Final = {"EPSILON": "1e-12", "LEAST": "1e-37", "MASK": "1e9", "NEAR": "1e-6", "SMALL": "1e-7"}
_NUMBERS_OF: Final = {
    "float16": {"EPSILON": "1e-4", "LEAST": "1e-4", "MASK": "3e4", "NEAR": "1e-3", "SMALL": "1e-3"},
    "half": {"EPSILON": "1e-4", "LEAST": "1e-4", "MASK": "3e4", "NEAR": "1e-3", "SMALL": "1e-3"},
    "bfloat16": {**_NUMBERS, "NEAR": "1e-2"},
}
_NUMBER: Final = re.compile(rf"\b({'|'.join(_NUMBERS)})\b")
#: Modules whose functions give the same when they are called again.
_LIBRARIES: Final = frozenset({"tf", "tensorflow", "np", "numpy", "keras", "ops", "K", "math"})
_RANDOM: Final = re.compile(r"random|dropout|shuffle")

#: What letters stand for: an expression, arguments or keywords.
_Bound = dict[str, "ast.expr | list[ast.expr] | list[ast.keyword]"]


@dataclass(frozen=True)
class Rewrite:
    """A change of an expression.

    Attributes:
      before: The expression that is looked for, such as ``log(X)``.
      after: What replaces it, such as ``tf.math.log(tf.maximum(X, 1e-7))``.
    """

    before: str
    after: str


@dataclass(frozen=True)
class Example(JsonObject):
    """A line of the program before and after a change.

    Attributes:
      before: The part of its line to replace; None when ``after`` is only like the program.
      after: The code to put there.
    """

    before: str | None
    after: str

    @property
    def words(self) -> str:
        """The example as a line of text."""
        return f"Example: {self.after}" if self.before is None else f"Change {self.before} to {self.after}"


def with_numbers(code: str, dtype: str | None = None) -> str:
    """Code with the numbers that fit a dtype in the places of their names."""
    return _NUMBER.sub(lambda found: _NUMBERS_OF.get(dtype or "", _NUMBERS)[found[1]], code)


def example_of(line: str | None, rewrites: Sequence[Rewrite], dtype: str | None = None) -> Example | None:
    """Return the first change that fits a line.

    Args:
      line: Text of the line; it may be a part of a statement.
      rewrites: The changes, the most specific one first.
      dtype: The dtype that numbers have to fit.
    """
    parsed = None if line is None or len(line) > _LONGEST else _parsed(line)
    if parsed is None:
        return None
    text, tree = parsed
    try:
        found = (
            _applied(text, tree, Rewrite(each.before, with_numbers(each.after, dtype))) for each in rewrites
        )
        return next((example for example in found if example is not None), None)
    except RecursionError:  # a sum of hundreds of terms
        return None


def _parsed(line: str) -> tuple[str, ast.Module] | None:
    text = _balanced(line.strip())
    for candidate in (text, f"{text} pass"):
        try:
            return candidate, ast.parse(candidate)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
    return None


def _balanced(line: str) -> str:
    """Return the line with its open brackets closed, and without closing ones that it did not open."""
    stack: list[str] = []
    for i, char in enumerate(line):
        if char in _CLOSING:
            stack.append(char)
        elif char in _OPENING:
            if not stack or stack[-1] != _OPENING[char]:
                return line[:i]
            stack.pop()
    return line.rstrip("\\") + "".join(_CLOSING[char] for char in reversed(stack))


def _applied(text: str, tree: ast.Module, rewrite: Rewrite) -> Example | None:
    wanted = ast.parse(rewrite.before, mode="eval").body
    found = [(node, bound) for node in _expressions(tree) if (bound := _match(wanted, node)) is not None]
    if len(found) != 1:  # which of several calls it was is not certain
        return None
    node, bound = found[0]
    before = ast.get_source_segment(text, node)
    if any(not _is_repeatable(bound[letter]) for letter in _repeated(rewrite.after) & bound.keys()):
        return None
    filled = _Filled(bound).visit(ast.parse(rewrite.after, mode="eval")).body
    after = _short(ast.unparse(filled))
    if isinstance(filled, ast.BinOp) and not _is_same_operation(filled, node):
        after = f"({after})"  # it may stand between operators that bind more strongly
    return None if before is None or before == after else Example(before, after)


def _repeated(code: str) -> set[str]:
    """Return the letters that code has more than once."""
    names = Counter(node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name))
    return {name for name, count in names.items() if count > 1}


def _is_repeatable(bound: ast.expr | list[ast.expr] | list[ast.keyword]) -> bool:
    """Whether an expression may be computed again: it calls only libraries, and nothing random."""
    parts: Sequence[ast.AST] = [bound] if isinstance(bound, ast.expr) else bound
    calls = [node.func for part in parts for node in ast.walk(part) if isinstance(node, ast.Call)]
    return all(_root(call) in _LIBRARIES and not _RANDOM.search(ast.unparse(call)) for call in calls)


def _root(function: ast.expr) -> str | None:
    while isinstance(function, ast.Attribute):
        function = function.value
    return function.id if isinstance(function, ast.Name) else None


def _is_same_operation(a: ast.BinOp, b: ast.expr) -> bool:
    return isinstance(b, ast.BinOp) and type(a.op) is type(b.op)


def _short(code: str) -> str:
    """Code with numbers as people write them: Python writes 1e-7 as 1e-07, and 1e9 in full."""
    return _ZEROS.sub(lambda found: f"1e{len(found[1])}", _EXPONENT.sub(r"e-\1", code))


def _expressions(tree: ast.Module) -> Iterator[ast.expr]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.expr))


def _match(wanted: ast.expr, node: ast.expr) -> _Bound | None:
    bound: _Bound = {}
    return bound if _fits(wanted, node, bound) else None


def _fits(wanted: ast.expr, node: ast.expr, bound: _Bound) -> bool:
    if isinstance(wanted, ast.Name) and _is_letter(wanted.id):
        return _bind(wanted.id, node, bound)
    if isinstance(wanted, ast.Name):
        return _last_name(node) == wanted.id
    if isinstance(wanted, ast.Constant):
        return isinstance(node, ast.Constant) and node.value == wanted.value
    if isinstance(wanted, ast.Call):
        return isinstance(node, ast.Call) and _call_fits(wanted, node, bound)
    if isinstance(wanted, ast.BinOp):
        return (
            isinstance(node, ast.BinOp)
            and type(node.op) is type(wanted.op)
            and _fits(wanted.left, node.left, bound)
            and _fits(wanted.right, node.right, bound)
        )
    if isinstance(wanted, ast.UnaryOp):
        return (
            isinstance(node, ast.UnaryOp)
            and type(node.op) is type(wanted.op)
            and _fits(wanted.operand, node.operand, bound)
        )
    return ast.dump(wanted) == ast.dump(node)


def _call_fits(wanted: ast.Call, node: ast.Call, bound: _Bound) -> bool:
    if _last_name(wanted.func) != _last_name(node.func):
        return False
    bound.setdefault(_FUNCTION, node.func)
    arguments, rest = list(node.args), None
    if wanted.args and isinstance(wanted.args[-1], ast.Starred):
        rest = wanted.args[-1].value
    count = len(wanted.args) - (rest is not None)
    if len(arguments) < count or (rest is None and len(arguments) > count):
        return False
    if not all(_fits(a, b, bound) for a, b in zip(wanted.args, arguments[:count], strict=False)):
        return False
    if isinstance(rest, ast.Name):
        bound[rest.id] = arguments[count:]
    return _keywords_fit(wanted.keywords, node.keywords, bound)


def _keywords_fit(wanted: list[ast.keyword], given: list[ast.keyword], bound: _Bound) -> bool:
    left = {keyword.arg: keyword for keyword in given}
    if not any(keyword.arg is None for keyword in wanted):
        left.pop("name", None)  # the name of an op changes nothing
    for keyword in wanted:
        if keyword.arg is None:
            continue
        match = left.pop(keyword.arg, None)
        if match is None or not _fits(keyword.value, match.value, bound):
            return False
    rest = next((keyword.value for keyword in wanted if keyword.arg is None), None)
    if isinstance(rest, ast.Name):
        bound[rest.id] = list(left.values())
        return True
    return not left


def _bind(letter: str, node: ast.expr, bound: _Bound) -> bool:
    known = bound.setdefault(letter, node)
    return isinstance(known, ast.expr) and ast.dump(known) == ast.dump(node)


def _is_letter(name: str) -> bool:
    return len(name) == 1 and name.isupper()


def _last_name(function: ast.expr) -> str | None:
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
    return _ALIASES.get(name, name) if name is not None else None


class _Filled(ast.NodeTransformer):
    """Puts expressions in the places of letters."""

    def __init__(self, bound: _Bound) -> None:
        self._bound = bound

    def visit_Name(self, node: ast.Name) -> ast.AST:
        found = self._bound.get(node.id)
        return found if isinstance(found, ast.expr) else node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)  # before the user's own names are in it, which may be letters
        arguments: list[ast.expr] = []
        for argument in node.args:
            rest = self._rest(argument.value) if isinstance(argument, ast.Starred) else None
            arguments += [argument] if rest is None else [each for each in rest if isinstance(each, ast.expr)]
        keywords: list[ast.keyword] = []
        for keyword in node.keywords:
            rest = self._rest(keyword.value) if keyword.arg is None else None
            keywords += (
                [keyword] if rest is None else [each for each in rest if isinstance(each, ast.keyword)]
            )
        node.args, node.keywords = arguments, keywords
        return node

    def _rest(self, name: ast.expr) -> Sequence[ast.AST] | None:
        found = self._bound.get(name.id) if isinstance(name, ast.Name) else None
        return found if isinstance(found, list) else None
