"""Whether a function can be run once more on what it was called with, and nobody notices.

In comes a function, out comes the `State` that a second run starts from: the variables that it reads, which
the first run may have changed. Rule: what else lives outside the function (random numbers, other workers,
files) must not be in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import op_def_registry
from tensorflow.python.ops import handle_data_util

from tb_debugger_plugin.capture.functions.called import called_functions
from tb_debugger_plugin.capture.functions.function import Function
from tb_debugger_plugin.capture.watching.plan import live_ops

#: Gives the function of a name; None when it is not known.
Find: TypeAlias = Callable[[str], "Function | None"]


@dataclass(frozen=True)
class Variable:
    """A variable that a function takes.

    Attributes:
      dtype: Of its value.
      shape: Of its value.
      is_read: Whether the function needs the value that it has at the beginning.
      is_changed: Whether the function may give it another one.
    """

    dtype: tf.DType
    shape: tf.TensorShape
    is_read: bool
    is_changed: bool

    @property
    def size(self) -> int:
        """Bytes of its value; 0 when its shape is not known."""
        return int(self.shape.num_elements() or 0) * int(self.dtype.size)


#: The variables of a function, by the name of the argument.
State: TypeAlias = "dict[str, Variable]"

#: So many bytes at most stay in memory while a function runs: what the variables that it changes held before.
MOST_HELD = 1 << 30
#: Ops with a state that is none: they are left out by XLA, only run other graphs, or only ask for a shape.
_HARMLESS = frozenset(
    {
        *("Assert", "Print", "PrintV2", "PlaceholderWithDefault", "VariableShape"),
        *("Case", "If", "PartitionedCall", "StatefulPartitionedCall", "While"),
    }
)
#: Ops whose state is what their handle stands for: a variable, or a list made inside the function.
_OF_A_HANDLE = ("Assign", "Read", "Resource", "Rng", "Stack", "Stateful", "TensorArray", "VarIsInitialized")
#: Ops that take a variable and do not need its value: False writes one, None neither reads nor writes.
_READS_FIRST: dict[str, bool | None] = {"AssignVariableOp": False, "VarIsInitializedOp": None}
#: Ops that leave a variable as it is.
_READS = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape"})


def state_of(function: Function, find: Find) -> State | None:
    """The variables of a function.

    Args:
      function: Whose graph is there.
      find: Knows the functions that it calls.

    Returns:
      None when it cannot be run again, or when too much would have to be kept for that.
    """
    if not all(_is_repeatable(op) for op in _all_ops(function, find, set())):
        return None
    state: State = {}
    for name in function.inputs:
        argument = function.graph_of().get_tensor_by_name(name)
        if argument.dtype == tf.variant:
            return None
        if argument.dtype == tf.resource:
            variable = _variable(argument, find)
            if variable is None:
                return None
            state[argument.op.name] = variable
    held = sum(each.size for each in state.values() if each.is_read and each.is_changed)
    return state if held <= MOST_HELD else None


class _Unknown:
    """Stands for an op that nobody knows."""

    type = "?"


def _all_ops(function: Function, find: Find, seen: set[str]) -> Iterator[Any]:
    """The ops of a function, and of all that it calls."""
    for op in live_ops(function):
        yield op
        for name in set(called_functions(op)) - seen:
            seen.add(name)
            called = find(name)
            if called is None:
                yield _Unknown
            else:
                yield from _all_ops(called, find, seen)


def _is_repeatable(op: Any) -> bool:
    definition = op_def_registry.get(op.type)
    if definition is None:
        return False
    if not definition.is_stateful or op.type in _HARMLESS:
        return True
    takes_handle = any(argument.type == types_pb2.DT_RESOURCE for argument in definition.input_arg)
    makes_list = op.type.startswith(("Stack", "TensorArray"))
    return op.type.startswith(_OF_A_HANDLE) and (takes_handle or makes_list)


def _variable(argument: Any, find: Find) -> Variable | None:
    data = handle_data_util.get_resource_handle_data(argument)
    if data is None or not data.is_set or len(data.shape_and_type) != 1:
        return None
    (part,) = data.shape_and_type
    is_changed = any(user.type not in _READS for user in argument.consumers())
    shape = tf.TensorShape(part.shape)
    is_read = _begins_with_reading(argument, find) is True
    return Variable(tf.as_dtype(part.dtype), shape, is_read, is_changed)


def _begins_with_reading(handle: Any, find: Find) -> bool | None:
    """Whether the first op to read or write a variable needs its value; None when no op does either."""
    for op in sorted(handle.consumers(), key=lambda op: op._id):
        if op.type in ("PartitionedCall", "StatefulPartitionedCall"):
            called = find(called_functions(op)[0])
            assert called is not None, "all functions that are called are known"
            inner = [_argument(called, index) for index, taken in enumerate(op.inputs) if taken is handle]
            answers = [_begins_with_reading(each, find) for each in inner]
        else:
            answers = [_READS_FIRST.get(op.type, True)]
        for answer in answers:
            if answer is not None:
                return answer
    return None


def _argument(function: Function, index: int) -> Any:
    return function.graph_of().get_tensor_by_name(function.inputs[index])
