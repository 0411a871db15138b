"""Parses an expression: finds the tensors in backticks, and checks that the rest is of the language.

Takes a text and returns an :class:`Expression`: a syntax tree in which each tensor is a name that cannot be
typed, and the names of the tensors. No name in backticks is ever parsed as code.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.errors import UsageError

MAX_TEXT: Final = 2000
_MAX_DEPTH: Final = 100
#: Stands before the number of a tensor. Names that begin with an underscore are refused in the text itself.
TENSOR: Final = "_tensor_"
_TENSOR_TEXT: Final = re.compile(r"`([^`]*)`")
_PRIVATE: Final = re.compile(r"(?<!\w)_|__")

_NODES: Final = (
    *(ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Tuple, ast.List, ast.Slice, ast.Subscript),
    *(ast.UnaryOp, ast.UAdd, ast.USub, ast.Not, ast.Invert),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.MatMult),
    *(ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift),
    *(ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn),
    *(ast.BoolOp, ast.And, ast.Or, ast.IfExp, ast.Attribute, ast.Call, ast.keyword),
)
_CONSTANTS: Final = (int, float, complex, bool, str, type(None), type(...))


@dataclass(frozen=True)
class Expression:
    """An expression.

    Attributes:
      text: Its text.
      tree: What it computes.
      tensors: The names in backticks, in the order of their numbers.
    """

    text: str
    tree: ast.expr
    tensors: tuple[str, ...]


def parse(text: str) -> Expression:
    """Parse an expression.

    Raises:
      UsageError: It is not of the language.
    """
    if len(text) > MAX_TEXT:
        raise UsageError(f"The expression is longer than {MAX_TEXT} characters.")
    tensors: list[str] = []

    def number(match: re.Match[str]) -> str:
        name = match[1].strip()
        if name not in tensors:
            tensors.append(name)
        return f" {TENSOR}{tensors.index(name)} "

    if _PRIVATE.search(_TENSOR_TEXT.sub(" ", text)):
        raise UsageError("Names in an expression do not begin with _; put names of tensors in backticks.")
    code = _TENSOR_TEXT.sub(number, text).strip()
    tree = _tree(code, text)
    _check(tree, 0)
    return Expression(text, tree, tuple(tensors))


def _tree(code: str, text: str) -> ast.expr:
    try:
        return ast.parse(code, mode="eval").body
    except SyntaxError as error:
        hint = " A backtick is not closed." if text.count("`") % 2 else ""
        raise UsageError(f"{text!r} is no expression: {error.msg}.{hint}") from None
    except (ValueError, RecursionError, MemoryError, OverflowError):
        raise UsageError(
            "The expression cannot be parsed: it is nested too deeply, or a number is too long."
        ) from None


def _check(node: ast.AST, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise UsageError("The expression is nested too deeply.")
    if not isinstance(node, _NODES):
        raise UsageError(f"An expression cannot have a {_described(node)}.")
    if isinstance(node, ast.Constant) and not isinstance(node.value, _CONSTANTS):
        raise UsageError(f"An expression cannot have {node.value!r}.")
    for child in ast.iter_child_nodes(node):
        _check(child, depth + 1)


def _described(node: ast.AST) -> str:
    names = {
        "Lambda": "lambda",
        "NamedExpr": "assignment",
        "JoinedStr": "formatted text",
        "ListComp": "comprehension",
        "GeneratorExp": "comprehension",
        "Starred": "starred argument",
        "Dict": "dict",
        "Set": "set",
        "Await": "await",
        "Yield": "yield",
    }
    kind = type(node).__name__
    return names.get(kind, kind)
