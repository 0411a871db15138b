"""Describes which tensors are recorded whole, beside what the mode of the recording keeps of every tensor.

Takes what the user gives as `keep_values` and returns checked rules. Which rules a tensor has is decided when
its graph is built, or when an eager op first runs on a line. The sink applies `only_bad` and the limits when
the tensor is computed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from tb_debugger_plugin.capture.wrapped_names import unwrapped
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.native.arguments import KeepLimits

#: Default size limit in bytes of one value that is recorded whole: 1 MiB.
MAX_TENSOR_BYTES = 1 << 20
#: Default size limit in bytes of all values of a rule: 100 MiB.
MAX_TOTAL_BYTES = 100 << 20
#: Most rules of a recording: the native library has a bit for each, in a signed number of 64 bits with one
#: more.
MOST_RULES = 32


@dataclass(frozen=True, repr=False)
class KeepValues:
    """Which values a recording keeps whole, beside the summaries of its mode.

    Use::

        logits = tb_debugger_plugin.KeepValues(layer_regex="(^|/)logits$", only_bad=True)
        with tb_debugger_plugin.record("/path/to/logdir", keep_values=logits):
            model.fit(...)

    A value is kept if all conditions that are given hold for it. The filters of the recording come first:
    what they leave out is not recorded at all. Tensors that the mode does not measure, such as integers and
    strings, are recorded if they are chosen here.

    A value that is too large for a limit has its summary on record, with the number of bytes that were left
    out.

    Attributes:
      op_regex: Only of ops whose type matches this regular expression from its beginning, such as
        `"(Log|Exp)$"`. None (the default): all ops.
      name_regex: Only of graph ops whose name, with scopes, contains a match, such as `"^dense/MatMul$"`.
        None (the default): all ops, and eager ops too.
      layer_regex: Only of graph ops whose Keras layer has a path that contains a match, such as
        `"(^|/)dense_1$"`; the gradients of a layer belong to it. None (the default): all ops, and eager ops
        too.
      function_regex: Only inside functions whose name contains a match, and inside their parts. None (the
        default): all functions, and eager ops too.
      only_bad: If True, only values with an infinity or NaN.
      max_tensor_bytes: The largest value to keep, in bytes (the default: 1 MiB; None: no limit).
      max_total_bytes: All values that this object keeps must not be larger than this together, in bytes (the
        default: 100 MiB; None: no limit). Values that a circular buffer drops no longer count.

    Raises:
      UsageError: An attribute cannot be used. It is a `ValueError`.
    """

    op_regex: str | None = None
    name_regex: str | None = None
    layer_regex: str | None = None
    function_regex: str | None = None
    only_bad: bool = False
    max_tensor_bytes: int | None = MAX_TENSOR_BYTES
    max_total_bytes: int | None = MAX_TOTAL_BYTES

    def __post_init__(self) -> None:
        for name in ("op_regex", "name_regex", "layer_regex", "function_regex"):
            compiled(f"KeepValues.{name}", getattr(self, name))
        if not isinstance(self.only_bad, bool):
            raise UsageError(f"KeepValues.only_bad is {self.only_bad!r}: give True or False.")
        for name in ("max_tensor_bytes", "max_total_bytes"):
            number_of_bytes(f"KeepValues.{name}", getattr(self, name))

    def chooses(self, op_type: str, op_name: str | None, layer: str, functions: Iterable[str]) -> bool:
        """Whether the conditions that do not depend on the value hold.

        Args:
          op_type: Type of the op that makes the tensor.
          op_name: Name of the op in its graph; None for an eager op, which has none.
          layer: Path of its Keras layer; empty if it has none.
          functions: Names of the functions that the op is part of, or of the function when that is the op.
        """
        if self.op_regex is not None and not re.match(self.op_regex, op_type):
            return False
        if self.name_regex is not None and (op_name is None or not re.search(self.name_regex, op_name)):
            return False
        if self.layer_regex is not None and not (layer and re.search(self.layer_regex, layer)):
            return False
        regex = self.function_regex
        return regex is None or any(re.search(regex, name) for f in functions for name in unwrapped(f))

    @property
    def names_tensors(self) -> bool:
        """Whether it chooses tensors by their op, layer or function; else it is for all tensors."""
        return any((self.op_regex, self.name_regex, self.layer_regex, self.function_regex))

    def limits(self) -> KeepLimits:
        """The part that the sink applies to each value."""
        return KeepLimits(self.only_bad, _limit(self.max_tensor_bytes), _limit(self.max_total_bytes))

    def __repr__(self) -> str:
        """Return the attributes that differ from their defaults."""
        given = [
            f"{field.name}={value!r}"
            for field in fields(self)
            if (value := getattr(self, field.name)) != field.default
        ]
        return f"KeepValues({', '.join(given)})"


#: The forms in which a caller may choose values.
KeepArgument: TypeAlias = "KeepValues | Iterable[KeepValues] | str | None"


def make_rules(chosen: KeepArgument) -> tuple[KeepValues, ...]:
    """Check the user's `keep_values`.

    Args:
      chosen: One `KeepValues`, several, of which any may hold, a `name_regex`, or None.

    Raises:
      UsageError: It is something else; the message says what to give.
    """
    if chosen is None:
        return ()
    if isinstance(chosen, str):
        compiled("keep_values", chosen)
        return (KeepValues(name_regex=chosen),)
    rules = (chosen,) if isinstance(chosen, KeepValues) else chosen
    if not isinstance(rules, (list, tuple)) or not all(isinstance(rule, KeepValues) for rule in rules):
        raise UsageError(
            f"keep_values is {chosen!r}: give a tb_debugger_plugin.KeepValues, a list of them, or a regular "
            "expression for the names of graph ops."
        )
    if len(rules) > MOST_RULES:
        raise UsageError(f"keep_values has {len(rules)} elements: give at most {MOST_RULES}.")
    return tuple(rules)


def compiled(argument: str, pattern: Any) -> re.Pattern[str] | None:
    """Compile a regular expression of the user.

    Args:
      argument: Name of the argument.
      pattern: The argument.

    Raises:
      UsageError: It is no regular expression.
    """
    if pattern is None:
        return None
    try:
        return re.compile(pattern)
    except (re.error, TypeError) as error:
        raise UsageError(f"{argument} {pattern!r} is not a regular expression: {error}.") from None


def number_of_bytes(argument: str, size: Any) -> int | None:
    """Check a limit in bytes.

    Args:
      argument: Name of the argument.
      size: The argument; None for no limit.

    Raises:
      UsageError: It is no number of bytes.
    """
    if size is None or (isinstance(size, int) and not isinstance(size, bool) and size >= 0):
        return size
    raise UsageError(f"{argument} is {size!r}: give a number of bytes, or None for no limit.")


def _limit(size: int | None) -> int:
    return -1 if size is None else min(size, (1 << 63) - 1)
