"""Describes which tensors are recorded whole, beside what the mode of the recording keeps of every tensor.

Takes what the user gives as `keep_values` and returns checked rules. Which rules a tensor has is decided when
its graph is built, or when an eager op first runs on a line. The sink applies `only_bad` and the limits when
the tensor is computed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Final, NamedTuple, TypeAlias

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.tensorflow_names import unwrapped
from tb_debugger_plugin.native.structs import KeepLimits

#: Default size limit in bytes of one value that is recorded whole: 1 MiB.
MAX_TENSOR_BYTES = 1 << 20
#: Default size limit in bytes of all values of a rule: 100 MiB.
MAX_TOTAL_BYTES = 100 << 20
#: Most rules of a recording: the native library has a bit for each, in a signed number of 64 bits with one
#: more.
MOST_RULES = 32


class TensorFacts(NamedTuple):
    """What is known of a tensor before it is computed.

    Attributes:
      op_type: Type of the op that makes it, or name of a function.
      dtype: Its dtype, a `tf.DType`.
      op_name: Name of the op in its graph; None for an eager op, which has none.
      layer: Path of the Keras layer of the op; empty if it has none.
      functions: Names of the functions that the op is part of, or of the function when that is the op.
    """

    op_type: str
    dtype: object
    op_name: str | None = None
    layer: str = ""
    functions: tuple[str, ...] = ()


def _fits_function(regex: str, tensor: TensorFacts) -> bool:
    return any(re.search(regex, name) for function in tensor.functions for name in unwrapped(function))


#: The attributes of `KeepValues` that are regular expressions, each with what it must match in a tensor.
_CRITERIA: Final[Mapping[str, Callable[[str, TensorFacts], object]]] = {
    "op_regex": lambda regex, tensor: re.match(regex, tensor.op_type),
    "name_regex": lambda regex, tensor: tensor.op_name is not None and re.search(regex, tensor.op_name),
    "layer_regex": lambda regex, tensor: tensor.layer and re.search(regex, tensor.layer),
    "function_regex": _fits_function,
}


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
        for name in _CRITERIA:
            compiled(f"KeepValues.{name}", getattr(self, name))
        if not isinstance(self.only_bad, bool):
            raise UsageError(f"KeepValues.only_bad is {self.only_bad!r}: give True or False.")
        for name in ("max_tensor_bytes", "max_total_bytes"):
            number_of_bytes(f"KeepValues.{name}", getattr(self, name))

    def chooses(self, tensor: TensorFacts) -> bool:
        """Whether the criteria that do not depend on the value hold.

        Args:
          tensor: What is known of the tensor.
        """
        given = ((fits, getattr(self, name)) for name, fits in _CRITERIA.items())
        return all(fits(regex, tensor) for fits, regex in given if regex is not None)

    @property
    def names_tensors(self) -> bool:
        """Whether it chooses tensors by their op, layer or function; else it is for all tensors."""
        return any(getattr(self, name) for name in _CRITERIA)

    def limits(self) -> KeepLimits:
        """Return the part that the sink applies to each value."""
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


def compiled(argument: str, pattern: str | None) -> re.Pattern[str] | None:
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


def number_of_bytes(argument: str, size: object) -> int | None:
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
