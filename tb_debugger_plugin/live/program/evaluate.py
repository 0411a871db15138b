"""Expressions over the held tensors, in the language of the shell.

Names stand in backticks: ``Log:0``, ``Log:0[2]`` for the third time that it was computed in the call, or
``#12`` for the number of a tensor. Without a time, the latest is meant. ``value`` without backticks is the
tensor at which the program is paused.

Thread-safe. Only looking tensors up takes the lock of the controller, not computing.
"""

from __future__ import annotations

import contextlib
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final

import numpy as np

from tb_debugger_plugin.errors import DebuggerError, NotFoundError, UsageError, user_message
from tb_debugger_plugin.events import dtypes
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.expressions.evaluate import evaluate
from tb_debugger_plugin.expressions.functions import MAX_ELEMENTS
from tb_debugger_plugin.expressions.names import (
    KnownTensor,
    TensorName,
    chosen,
    nth,
    number_in_brackets,
    only_slot,
    parse_tensor_name,
)
from tb_debugger_plugin.expressions.parse import parse
from tb_debugger_plugin.live.messages.messages import Evaluation, Message, Number
from tb_debugger_plugin.live.program.arrays import short_text
from tb_debugger_plugin.live.program.conditions import OF_PROGRAM
from tb_debugger_plugin.live.program.tensors import CallTensors, HeldValue, numbers_of

#: Results have numbers from here on, which no tensor has.
FIRST_RESULT: Final = 1 << 52
#: Bytes of the results that stay readable.
_MAX_BYTES: Final = 256 << 20
_MOST: Final = 50
_MAX_TEXT: Final = 1000
_VALUE: Final = "value"
#: What is no name, such as a text; and names.
_PARTS: Final = re.compile(r"(`[^`]*`)|'[^']*'|\"[^\"]*\"|(?<![\w.])[A-Za-z]\w*(?!\w|\s*=[^=])")


def with_value(text: str, names: Sequence[str] = (_VALUE,)) -> str:
    """Return an expression in which the name ``value``, or other names, stand in backticks, as tensors do."""
    return _PARTS.sub(lambda match: f"`{match[0]}`" if match[0] in names else match[0], text)


class ElementCondition:
    """A condition on the elements of a tensor: an expression that is true or false: ``any(value > 3)``.

    It may name the numbers of the program, as others do. It has the form of a filter.

    Args:
      text: The expression.
      program: Returns the numbers of the program.

    Attributes:
      failure: Why it could not be computed of a tensor, such as one of another shape, for which it does not
        hold; empty if it always could.

    Raises:
      UsageError: It is not of the language.
    """

    def __init__(self, text: str, program: Callable[[], Mapping[str, float]]) -> None:
        self._expression = with_value(text, (_VALUE, *OF_PROGRAM))
        self._program = program
        self.failure = ""
        parse(self._expression)

    @staticmethod
    def is_meant(text: str) -> bool:
        """Return whether a text names ``value``."""
        return with_value(text) != text

    def __call__(self, datum: object, array: Array) -> bool:
        """Return whether it holds for an array."""
        values = {name: np.asarray(number) for name, number in self._program().items()}
        values[_VALUE] = _computable(HeldValue(array, 0), _VALUE)
        try:
            result = np.asarray(evaluate(self._expression, lambda name: _found(name, values)))
        except DebuggerError as error:
            self.failure = str(error)
            return False
        if result.size != 1:
            self.failure = f"It has {result.size:,} truth values: write any(...) or all(...) around it."
        return result.size == 1 and bool(result)


def _found(name: str, values: Mapping[str, Array]) -> Array:
    if name not in values:
        raise UsageError(f"A condition knows only the tensor itself, as `value`, not `{name}`.")
    return values[name]


class Results:
    """Computes expressions, and keeps the last results.

    Args:
      tensors: The held tensors.
      lock: Guards them and the results; a thread may take it twice.
    """

    def __init__(self, tensors: CallTensors, lock: AbstractContextManager[object]) -> None:
        self._tensors = tensors
        self._lock = lock
        self._results: OrderedDict[int, HeldValue] = OrderedDict()
        self._next = FIRST_RESULT

    def compute(self, text: str, paused_at: int) -> object:
        """Compute an expression.

        Args:
          text: The expression.
          paused_at: Number of the tensor that ``value`` means; 0 if there is none.

        Raises:
          DebuggerError: It cannot be computed.
        """
        return evaluate(with_value(text), lambda name: self._array(name, paused_at))

    def evaluate(self, text: str, paused_at: int) -> Message:
        """Return the `Evaluation` of an expression; see `compute`."""
        try:
            result = self.compute(text, paused_at)
            array = np.asarray(result)
        except DebuggerError as error:
            return Evaluation(done=False, text=str(error))
        except Exception as error:  # a ragged tuple is no array; an answer is due all the same
            return Evaluation(done=False, text=user_message(error))
        dtype = _dtype_number(array)
        if dtype == 0 or isinstance(result, str):
            return Evaluation(done=True, text=_cut(repr(result)))
        answer = Evaluation(done=True, dtype=dtype, shape=array.shape)
        answer.text = short_text(array) or _cut(np.array2string(array, separator=", ", threshold=100))
        answer.tensor = self._keep(HeldValue(array, dtype))
        with contextlib.suppress(Exception):  # a dtype that has none
            numbers = numbers_of(array, dtype)
            answer.numbers.extend(Number(name=name, value=value) for name, value in numbers.items())
        return answer

    def _keep(self, value: HeldValue) -> int:
        with self._lock:
            self._next += 1
            self._results[self._next] = value
            held = sum(one.array.nbytes for one in self._results.values())
            while len(self._results) > 1 and (held > _MAX_BYTES or len(self._results) > _MOST):
                held -= self._results.popitem(last=False)[1].array.nbytes
            return self._next

    def value(self, number: int) -> HeldValue:
        """Return the elements of a tensor or of a result.

        Raises:
          NotFoundError: There is none of that number, or its value is not held.
        """
        with self._lock:
            if number < FIRST_RESULT:
                return self._tensors.value(number)
            if number in self._results:
                return self._results[number]
        raise NotFoundError("The result is not kept any more: evaluate the expression again.")

    def _array(self, text: str, paused_at: int) -> Array:
        if text == _VALUE:
            if not paused_at:
                raise NotFoundError("The program is not paused at a tensor, so there is no `value`.")
            return _computable(self.value(paused_at), text)
        name = parse_tensor_name(text)
        if name.execution is not None:
            raise UsageError(f"`{text}`: write `#12` for the number of a tensor.")
        number = name.graph_execution
        return _computable(self.value(self._number(name) if number is None else number), text)

    def _number(self, name: TensorName) -> int:
        wanted = number_in_brackets(name)
        with self._lock:
            held = [KnownTensor(one.slot, None, one) for one in self._tensors.search(name.node)]
            found = chosen(name, held, self._tensors.op_names, "computed in the current call")
        only_slot(name, (one.slot for one in found))
        return int(found[nth(wanted, len(found), name.text)].number)


def _computable(value: HeldValue, name: str) -> Array:
    if value.array.size > MAX_ELEMENTS:
        raise UsageError(
            f"`{name}` has {value.array.size:,} elements; an expression takes at most {MAX_ELEMENTS:,}."
        )
    return value.array.astype(np.float32) if value.array.dtype.kind == "V" else value.array


_NUMBER_OF: Final = {
    kind: number
    for number in dtypes.NAMES
    if number < 11 or number > 13
    if (kind := dtypes.numpy_dtype(number)) is not None and number not in (15, 16)
}


def _dtype_number(array: Array) -> int:
    """Return TensorFlow's number of the dtype of a result; 0 if its elements cannot be shown."""
    if array.dtype.kind == "O":
        return dtypes.STRING if all(isinstance(one, bytes) for one in array.flat) else 0
    return _NUMBER_OF.get(array.dtype.newbyteorder("="), 0)


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"
