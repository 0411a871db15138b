"""Computes an expression.

Takes a parsed expression and a function that gives the tensors; returns an array, a number or a tuple.

Invariants: nothing is called that is not in `functions`; the size of a result is known to be small enough
before it is computed; arrays of tensors are read only.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.errors import DebuggerError, UsageError
from tb_debugger_plugin.expressions import functions
from tb_debugger_plugin.expressions.functions import (
    ATTRIBUTES,
    BUILTINS,
    CONSTANTS,
    FUNCTIONS,
    KEYWORDS,
    METHODS,
    SPREAD,
    WORDS,
    Array,
    Function,
    check_size,
)
from tb_debugger_plugin.expressions.parse import TENSOR, Expression, parse

#: Bits of a whole number; NumPy has no more.
MAX_BITS: Final = 64


def check_numeric(value: object) -> None:
    """Check that a value can be computed with.

    Raises:
      UsageError: It is a text, a list or something else.
    """
    kinds = (np.ndarray, int, float, complex)
    if not isinstance(value, kinds) or (isinstance(value, np.ndarray) and value.dtype.kind in "OSU"):
        raise UsageError("Texts and lists can be compared in an expression, but not computed with.")


def check_argument(value: object) -> None:
    """Check an argument of a function.

    Raises:
      UsageError: It is a text that no function takes, or an array of texts or of objects.
    """
    if isinstance(value, str) and value not in WORDS:
        raise UsageError(f"{value[:50]!r} is no argument here; known are {', '.join(sorted(WORDS))}.")
    if isinstance(value, (list, tuple)):
        for one in value:
            check_argument(one)
        value = np.asarray(value) if _is_regular(value) else value
    if isinstance(value, np.ndarray) and value.dtype.kind in "OSU":
        raise UsageError("Texts can be compared in an expression, but not computed with.")


def _is_regular(values: Sequence[npt.ArrayLike]) -> bool:
    """Whether the items are numbers or of one shape, so that they make an array."""
    return len({np.shape(one) for one in values}) <= 1


def check_bits(sign: ast.operator, left: int, right: int) -> None:
    """Check that the result of whole numbers is not too long, before it is computed.

    Raises:
      UsageError: It is.
    """
    bits = 0
    if isinstance(sign, ast.Pow) and right > 0:
        bits = left.bit_length() * right if abs(left) > 1 else 1
    elif isinstance(sign, ast.LShift):
        bits = left.bit_length() + right
    if bits > 2 * MAX_BITS:
        raise UsageError(f"A whole number in an expression has at most {MAX_BITS} bits.")


def indexed_size(value: Array, index: object) -> int:
    """Return a bound of the number of elements that an index selects."""
    parts = index if isinstance(index, tuple) else (index,)
    lists = [np.asarray(one) for one in parts if isinstance(one, (list, np.ndarray))]
    lists = [one for one in lists if one.dtype.kind != "b"]
    if not lists:
        return value.size
    # Each of the selected positions may have all elements of the other axes.
    others = sorted(value.shape, reverse=True)[: max(0, value.ndim - len(lists))]
    return int(math.prod(np.broadcast_shapes(*(one.shape for one in lists))) * math.prod(others))


#: Gives the array of a name in backticks.
Tensors = Callable[[str], Array]

_MODULES: Final = ("np", "numpy")

_BINARY: Final[dict[type[ast.operator], Callable[[object, object], object]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_UNARY: Final[dict[type[ast.unaryop], Callable[[Any], Any]]] = {
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Invert: operator.invert,
}
_COMPARISONS: Final[dict[type[ast.cmpop], Callable[[Any, Any], bool | Array]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: operator.contains(right, left),
    ast.NotIn: lambda left, right: not operator.contains(right, left),
}


def evaluate(text: str, tensors: Tensors) -> object:
    """Compute an expression.

    Use::

        evaluate("np.max(np.abs(`Log:0`))", read)

    Args:
      text: The expression.
      tensors: Gives the array of a name in backticks.

    Returns:
      An array, a number, a truth value, a text, or a tuple of these.

    Raises:
      UsageError: It is not of the language, or cannot be computed.
    """
    with warnings.catch_warnings():
        # About slices without elements, and about text that is no good Python: the answer says what it is.
        warnings.simplefilter("ignore")
        return _computed(parse(text), tensors)


def _computed(expression: Expression, tensors: Tensors) -> object:
    try:
        with np.errstate(all="ignore"):
            return _Evaluation(expression, tensors).value(expression.tree)
    except DebuggerError:
        raise
    except Exception as error:  # NumPy has its own classes of errors for shapes, kinds and matrices
        raise UsageError(f"{expression.text!r} cannot be computed: {_first_line(error)}.") from None


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")


class _Evaluation:
    """One computation; keeps the arrays of its tensors."""

    def __init__(self, expression: Expression, tensors: Tensors) -> None:
        self._expression = expression
        self._tensors = tensors
        self._arrays: dict[int, Array] = {}

    def value(self, node: ast.AST) -> Any:
        """Return what a node computes."""
        result = _KINDS[type(node)](self, node)
        if isinstance(result, np.generic):
            result = np.asarray(result)
        if isinstance(result, int) and result.bit_length() > MAX_BITS:
            raise UsageError(f"A whole number in an expression has at most {MAX_BITS} bits.")
        return result

    def constant(self, node: ast.Constant) -> object:
        return node.value

    def name(self, node: ast.Name) -> object:
        if node.id.startswith(TENSOR):
            return self._tensor(int(node.id.removeprefix(TENSOR)))
        raise UsageError(f"There is no {node.id!r} in an expression; {_hint(node.id)}")

    def _tensor(self, number: int) -> Array:
        if number not in self._arrays:
            array = self._tensors(self._expression.tensors[number]).view()
            array.setflags(write=False)
            self._arrays[number] = array
        return self._arrays[number]

    def sequence(self, node: ast.Tuple | ast.List) -> object:
        values = [self.value(one) for one in node.elts]
        return tuple(values) if isinstance(node, ast.Tuple) else values

    def slice(self, node: ast.Slice) -> object:
        ends = (node.lower, node.upper, node.step)
        return slice(*(None if end is None else self.value(end) for end in ends))

    def unary(self, node: ast.UnaryOp) -> object:
        operand = self.value(node.operand)
        if not isinstance(node.op, ast.Not):
            check_numeric(operand)
        return _UNARY[type(node.op)](operand)

    def binary(self, node: ast.BinOp) -> object:
        left, right = self.value(node.left), self.value(node.right)
        for operand in (left, right):
            check_numeric(operand)
        if isinstance(left, int) and isinstance(right, int):
            check_bits(node.op, left, right)
        is_product = isinstance(node.op, ast.MatMult)
        check_size((functions.matmul_size if is_product else functions.broadcast_size)(left, right))
        return _BINARY[type(node.op)](left, right)

    def compare(self, node: ast.Compare) -> object:
        left, result = self.value(node.left), None
        for sign, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.value(comparator)
            one = _compared(sign, left, right)
            result = one if result is None else np.logical_and(result, one)
            left = right
        return result

    def boolean(self, node: ast.BoolOp) -> object:
        is_and = isinstance(node.op, ast.And)
        for operand in node.values:
            result = self.value(operand)
            if bool(result) is not is_and:
                break
        return result

    def conditional(self, node: ast.IfExp) -> object:
        return self.value(node.body if bool(self.value(node.test)) else node.orelse)

    def subscript(self, node: ast.Subscript) -> object:
        value, index = self.value(node.value), self.value(node.slice)
        if isinstance(value, np.ndarray):
            check_size(indexed_size(value, index))
        elif not isinstance(value, (tuple, list)) or isinstance(index, str):
            raise UsageError("Only arrays, tuples and lists can be indexed in an expression.")
        elif isinstance(index, np.ndarray):
            index = int(index)
        return value[index]

    def attribute(self, node: ast.Attribute) -> object:
        path = _path(node)
        if path is not None:
            if path in CONSTANTS:
                return CONSTANTS[path]
            raise UsageError(
                f"np.{path} cannot be used here" + (", but called." if path in FUNCTIONS else ".")
            )
        value = self.value(node.value)
        if not isinstance(value, np.ndarray) or node.attr not in ATTRIBUTES:
            raise UsageError(f"An expression has no attribute {node.attr!r}; {_listed(ATTRIBUTES)}")
        if node.attr == "dtype":
            return str(value.dtype)
        return getattr(value, node.attr)

    def call(self, node: ast.Call) -> object:
        function, args = self._function(node.func)
        args += [self.value(one) for one in node.args]
        named: dict[str, object] = {}
        for one in node.keywords:
            if one.arg not in KEYWORDS:
                raise UsageError(f"A function in an expression takes no argument {one.arg or '**'!r}.")
            named[one.arg] = self.value(one.value)
        for value in (*args, *named.values()):
            check_argument(value)
        check_size(function.elements(*args, **named))
        result = function.call(*args, **named)
        return tuple(result) if isinstance(result, tuple) else result

    def _function(self, node: ast.expr) -> tuple[Function, list[object]]:
        """Return what is called, and the array whose method it is."""
        if isinstance(node, ast.Name):
            if node.id in BUILTINS:
                return BUILTINS[node.id], []
            raise UsageError(f"There is no function {node.id!r} in an expression; {_hint(node.id)}")
        if not isinstance(node, ast.Attribute):
            raise UsageError("Only functions with a name can be called in an expression.")
        path = _path(node)
        if path is not None:
            if path in FUNCTIONS:
                return FUNCTIONS[path], []
            raise UsageError(f"There is no function np.{path} in an expression.")
        if node.attr not in METHODS:
            raise UsageError(f"An array has no method {node.attr!r} in an expression; {_listed(METHODS)}")
        value = self.value(node.value)
        if not isinstance(value, (np.ndarray, int, float, complex)):
            raise UsageError(f"Only an array has the method {node.attr!r}.")
        function = FUNCTIONS[node.attr]
        return (_spread(function) if node.attr in SPREAD else function), [np.asarray(value)]


def _spread(function: Function) -> Function:
    """Return a function that takes a shape as one argument or as several."""

    def call(value: object, *args: object, **named: object) -> object:
        return function.call(value, *(args if len(args) < 2 else (args,)), **named)

    return function._replace(call=call)


def _path(node: ast.Attribute) -> str | None:
    """Return ``linalg.norm`` of ``np.linalg.norm``; None for something else."""
    parts: list[str] = []
    inner: ast.expr = node
    while isinstance(inner, ast.Attribute):
        parts.append(inner.attr)
        inner = inner.value
    is_module = isinstance(inner, ast.Name) and inner.id in _MODULES
    return ".".join(reversed(parts)) if is_module else None


def _hint(name: str) -> str:
    if name in FUNCTIONS:
        return f"write np.{name}."
    return "names of tensors stand in backticks, and functions after np."


def _listed(names: frozenset[str]) -> str:
    return f"there is {', '.join(sorted(names))}."


def _compared(sign: ast.cmpop, left: npt.ArrayLike, right: npt.ArrayLike) -> bool | Array:
    left, right = _for_texts(left, right), _for_texts(right, left)
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        if not isinstance(sign, (ast.In, ast.NotIn)):
            check_size(functions.broadcast_size(left, right))
    return _COMPARISONS[type(sign)](left, right)


def _for_texts(value: npt.ArrayLike, other: object) -> npt.ArrayLike:
    """Return a text as bytes, if it is compared with the elements of a tensor of strings."""
    is_compared = isinstance(other, np.ndarray) and other.dtype.kind == "O"
    return value.encode() if is_compared and isinstance(value, str) else value


#: By kind of node.
_KINDS: Final[dict[type[ast.AST], Callable[[_Evaluation, Any], object]]] = {
    ast.Constant: _Evaluation.constant,
    ast.Name: _Evaluation.name,
    ast.Tuple: _Evaluation.sequence,
    ast.List: _Evaluation.sequence,
    ast.Slice: _Evaluation.slice,
    ast.UnaryOp: _Evaluation.unary,
    ast.BinOp: _Evaluation.binary,
    ast.Compare: _Evaluation.compare,
    ast.BoolOp: _Evaluation.boolean,
    ast.IfExp: _Evaluation.conditional,
    ast.Subscript: _Evaluation.subscript,
    ast.Attribute: _Evaluation.attribute,
    ast.Call: _Evaluation.call,
}
