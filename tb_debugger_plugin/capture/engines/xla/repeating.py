"""Decides whether a function can run a second time on the same arguments without side effects.

Takes a function and returns the `State` that a second run starts from: the variables that it reads, which the
first run may have changed.

Invariant: the function uses no other state from outside (random numbers, other workers, files).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import op_def_registry
from tensorflow.python.ops import handle_data_util

from tb_debugger_plugin.capture.graph.called import called_functions
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.plan.plan import live_ops
from tb_debugger_plugin.capture.tf_types import TfTensor

#: Returns the function of a name; None when it is not known.
Find: TypeAlias = Callable[[str], "Function | None"]


@dataclass(frozen=True)
class Variable:
    """A variable that is an argument of a function.

    Attributes:
      dtype: Dtype of its value.
      shape: Shape of its value.
      is_read: Whether the function uses the value from before the call.
      is_changed: Whether the function may change the value.
    """

    dtype: tf.DType
    shape: tf.TensorShape
    is_read: bool
    is_changed: bool

    @property
    def size(self) -> int:
        """Size of its value in bytes; 0 when its shape is not known."""
        return int(self.shape.num_elements() or 0) * int(self.dtype.size)


#: The variables of a function, by argument name.
State: TypeAlias = "dict[str, Variable]"

#: Memory limit in bytes for the old values of variables that a function changes, kept while it runs.
MOST_HELD = 1 << 30
#: Ops that TensorFlow calls stateful although they have no state of their own: XLA drops them, they only run
#: other graphs, or they only read a shape.
_HARMLESS = frozenset(
    {
        *("Assert", "Print", "PrintV2", "PlaceholderWithDefault", "VariableShape"),
        *("Case", "If", "PartitionedCall", "StatefulPartitionedCall", "While"),
    }
)
#: Ops whose only state is that of their handle: a variable, or a list made inside the function.
_OF_A_HANDLE = ("Assign", "Read", "Resource", "Rng", "Stack", "Stateful", "TensorArray", "VarIsInitialized")
#: Ops that take a variable and do not need its value: False for one that writes it, None for one that neither
#: reads nor writes.
_READS_FIRST: dict[str, bool | None] = {"AssignVariableOp": False, "VarIsInitializedOp": None}
#: Ops that do not change a variable.
_READS = frozenset({"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape"})


def state_of(function: Function, find: Find) -> State | None:
    """Return the variables of a function.

    Args:
      function: A function that still has its graph.
      find: Returns the functions that it calls.

    Returns:
      The variables, or None when the function cannot run again or the old values exceed `MOST_HELD`.
    """
    if not all(map(_is_repeatable, _op_types(function, find, set()))):
        return None
    state: State = {}
    for name in function.inputs:
        argument = function.graph.get_tensor_by_name(name)
        if argument.dtype == tf.variant:
            return None
        if argument.dtype == tf.resource:
            variable = _variable(argument, find)
            if variable is None:
                return None
            state[argument.op.name] = variable
    held = sum(variable.size for variable in state.values() if variable.is_read and variable.is_changed)
    return state if held <= MOST_HELD else None


#: Stands for the types of the ops of a function that is not known.
_UNKNOWN = "?"


def _op_types(function: Function, find: Find, seen: set[str]) -> Iterator[str]:
    """Yield the types of the ops of a function and of all functions that it calls."""
    for op in live_ops(function):
        yield op.type
        for name in set(called_functions(op)) - seen:
            seen.add(name)
            called = find(name)
            if called is None:
                yield _UNKNOWN
            else:
                yield from _op_types(called, find, seen)


def _is_repeatable(op_type: str) -> bool:
    definition = op_def_registry.get(op_type)
    if definition is None:
        return False
    if not definition.is_stateful or op_type in _HARMLESS:
        return True
    takes_handle = any(argument.type == types_pb2.DT_RESOURCE for argument in definition.input_arg)
    makes_list = op_type.startswith(("Stack", "TensorArray"))
    return op_type.startswith(_OF_A_HANDLE) and (takes_handle or makes_list)


def _variable(argument: TfTensor, find: Find) -> Variable | None:
    data = handle_data_util.get_resource_handle_data(argument)
    if data is None or not data.is_set or len(data.shape_and_type) != 1:
        return None
    (part,) = data.shape_and_type
    is_changed = any(user.type not in _READS for user in argument.consumers())
    shape = tf.TensorShape(part.shape)
    is_read = _begins_with_reading(argument, find) is True
    return Variable(tf.as_dtype(part.dtype), shape, is_read, is_changed)


def _begins_with_reading(handle: TfTensor, find: Find) -> bool | None:
    """Whether the first op that reads or writes a variable needs its value; None when there is no such op."""
    for op in sorted(handle.consumers(), key=lambda op: op._id):
        if op.type in ("PartitionedCall", "StatefulPartitionedCall"):
            called = find(called_functions(op)[0])
            assert called is not None, "the functions that are called are known"
            inner = [_argument(called, index) for index, taken in enumerate(op.inputs) if taken is handle]
            answers = [_begins_with_reading(argument, find) for argument in inner]
        else:
            answers = [_READS_FIRST.get(op.type, True)]
        for answer in answers:
            if answer is not None:
                return answer
    return None


def _argument(function: Function, index: int) -> TfTensor:
    return function.graph.get_tensor_by_name(function.inputs[index])
