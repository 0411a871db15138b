"""Decides whether a function may update its variables in place: tensors are checked before the updates then.

To hold the old value of a variable makes TensorFlow update a copy of it: for large models a third of a step.
So the guard looks at what goes into the updates, lets them wait for that, and holds old values only if
something of it is bad or large (`native/src/guard_op.h`).

Invariant: while what is looked at is below `_LARGE`, and variables were so at one of the last `LOOK_EVERY`
calls, nothing from the first update on overflows, is divided by zero or is the root of a negative number.
Intervals prove it for each function; where they do not, old values are held at each call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Final

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import tensor_util

from tb_debugger_plugin.capture.engines.guard.intervals import (
    NOT_NEGATIVE,
    ROOTS,
    RULES,
    Interval,
    NotProvenError,
    bounded,
    product,
    same,
    total,
    union,
)
from tb_debugger_plugin.capture.engines.guard.taken import (
    CALLS,
    READS,
    Source,
    Variable,
    is_table,
    source_of,
    variable_of,
)
from tb_debugger_plugin.capture.engines.xla.nonfinite import REARRANGES
from tb_debugger_plugin.capture.graph.called import called_functions
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.plan.attachment import is_added_into
from tb_debugger_plugin.capture.tf_types import TfOp, TfTensor

#: From this many bytes of variables on, it is worth it: the looks take a tenth of the first call.
WORTH_IT: Final = 16 << 20
#: What is large: see `HasLarge` of `native/src/summary.h`.
_LARGE = 2.0**40
#: How many calls pass until variables are looked at again: `kLookEvery` of `native/src/guard_op.cc`.
LOOK_EVERY: Final = 32
#: Variables of at most so many elements are held at each call: that costs nothing, and some are read between.
SMALL: Final = 16
#: How far back an op is followed that is before the updates.
_DEPTH = 20
_DTYPES = (tf.float32, tf.float64, tf.bfloat16)
#: Ops that add to a variable in place, how often at most to the same element, and with which sign.
_ADDS = {
    "AssignAddVariableOp": 1.0,
    "AssignSubVariableOp": -1.0,
    "ResourceScatterAdd": 2.0**31,
    "ResourceScatterSub": -(2.0**31),
}
_SCATTERS = ("ResourceScatterAdd", "ResourceScatterSub")
#: All that may change one here.
_CHANGES = (*_ADDS, "AssignVariableOp")
_RULES = {**RULES, **dict.fromkeys(REARRANGES, same)}
#: Ops that give elements of a variable.
_GIVES_VALUE = ("ReadVariableOp", "ResourceGather", "ResourceGatherNd")

#: Returns the function of a name; None if it has no graph.
Find = Callable[[str], Function | None]


def look_first(function: Function, find: Find) -> LookFirst | None:
    """Return where a guard looks before the first update; None if it has to hold old values.

    Args:
      function: A function that Python calls, with its graph.
      find: Returns the function of a name.
    """
    path: list[str] = []
    called: Function | None = function
    while called is not None and not called.is_compiled and called.name not in path:
        path.append(called.name)
        updates = _Updates(called, find)
        if updates.variables:
            return updates.proven(tuple(path))
        called = updates.only_call()
    return None


@dataclass(frozen=True)
class LookFirst:
    """Where and at what a guard looks before variables are updated.

    Attributes:
      path: Names of functions: the one that Python calls, the one that it calls, and so on to the one that
        updates variables.
      variables: The arguments of the last one whose old values are held only if something was found, and what
        they are.
      waiting: Names of the ops that change them.
      after: Names of those ops and of all that run after them.
      looked_at: What goes into these.
      not_negative: Which of the variables must not be negative.
    """

    path: tuple[str, ...]
    variables: Mapping[str, Variable]
    waiting: frozenset[str]
    after: frozenset[str]
    looked_at: tuple[Source, ...]
    not_negative: frozenset[str]


_LOOKED_AT = Interval(-_LARGE, _LARGE)
_OF_INTEGERS = Interval(-(2.0**64), 2.0**64)


class _Tensor:
    """A tensor of a graph, with what is asked of it often: asking TensorFlow takes long.

    Args:
      tensor: The tensor.
      all_tensors: Those of the graph that are known, by name.
    """

    def __init__(self, tensor: TfTensor, all_tensors: dict[str, _Tensor]) -> None:
        self.tensor = tensor
        self.op: TfOp = tensor.op
        self.type: str = self.op.type
        self.is_floating: bool = tensor.dtype.is_floating
        self.is_scalar: bool = tensor.shape.rank == 0
        self.constant = _of_constant(tensor) if self.type == "Const" and self.is_floating else None
        self.rule = _RULES.get(self.type) if tensor.dtype in _DTYPES else None
        self._all = all_tensors

    @cached_property
    def inputs(self) -> list[_Tensor]:
        """The inputs of its op."""
        return [_known_tensor(tensor, self._all) for tensor in self.op.inputs]


def _known_tensor(tensor: TfTensor, all_tensors: dict[str, _Tensor]) -> _Tensor:
    known = all_tensors.get(tensor.name)
    if known is None:
        known = all_tensors[tensor.name] = _Tensor(tensor, all_tensors)
    return known


class _Updates:
    """What a function does from its first update of a large variable on.

    Args:
      function: The function.
      find: Returns the function of a name.

    Attributes:
      variables: The arguments that are large variables which it updates in place.
    """

    def __init__(self, function: Function, find: Find) -> None:
        self._find = find
        self._arguments: dict[str, Variable] = {}
        self._changes: dict[str, list[TfOp]] = {}  # the ops that may change a variable, by argument
        self.variables: list[TfTensor] = []
        arguments = dict[str, TfTensor]()
        for name in function.inputs:
            argument = function.graph.get_tensor_by_name(name)
            variable = variable_of(argument) if argument.dtype == tf.resource else None
            if variable is not None:
                self._arguments[name], arguments[name] = variable, argument
        if sum(variable.size for variable in self._arguments.values()) < WORTH_IT:
            return
        for name, variable in self._arguments.items():
            argument = arguments[name]
            changes = [op for op in argument.consumers() if _may_change(op, argument, find)]
            self._changes[name] = changes
            is_large = variable.dtype in _DTYPES and (variable.shape.num_elements() or 0) > SMALL
            if is_large and any(op.type in _ADDS for op in changes):
                self.variables.append(argument)

    def only_call(self) -> Function | None:
        """Return the function that is called by the only op that changes variables; None for other ops."""
        changing = dict.fromkeys(op for changes in self._changes.values() for op in changes)
        if len(changing) != 1 or next(iter(changing)).type not in CALLS:
            return None
        (name,) = called_functions(*changing)
        return self._find(name)

    def proven(self, path: tuple[str, ...]) -> LookFirst | None:
        """Return where to look, if nothing can be bad that was not looked at."""
        if sum(self._arguments[argument.name].size for argument in self.variables) < WORTH_IT:
            return None
        waiting = dict.fromkeys(op for argument in self.variables for op in self._changes[argument.name])
        if any(op.type not in _CHANGES for op in waiting):
            return None
        after = _after(waiting)
        changed = {op.inputs[0].name for op in after if op.type in _CHANGES}
        bounded = [name for name in self._arguments if name in changed and self._is_bounded(name, after)]
        bounds = _Bounds(self._arguments, bounded, after)
        if not bounds.are_proven():
            return None
        return LookFirst(
            path,
            {argument.op.name: self._arguments[argument.name] for argument in self.variables},
            frozenset([op.name for op in waiting]),
            frozenset([op.name for op in after]),
            tuple([source_of(each.tensor) for each in (*bounds.looked_at, *bounds.scalars)]),
            frozenset([name.partition(":")[0] for name in bounds.not_negative]),
        )

    def _is_bounded(self, name: str, after: Mapping[TfOp, None]) -> bool:
        """Whether a variable has a dtype with bounds, and only ops change it that have them."""
        variable = self._arguments.get(name)
        if variable is None or variable.dtype not in _DTYPES:
            return False
        changes = self._changes[name]
        return all(op in after for op in changes) and not is_table(variable, [op.type for op in changes])


def _after(waiting: Iterable[TfOp]) -> dict[TfOp, None]:
    """Return ops and all that run after them, each after what it needs of them."""
    users = {op: _users(op) for op in waiting}
    new = list(users)
    while new:
        for user in users[new.pop()]:
            if user not in users:
                users[user] = _users(user)
                new.append(user)
    pending = dict.fromkeys(users, 0)
    for each in users.values():
        for user in each:
            pending[user] += 1
    ordered = [op for op, number in pending.items() if number == 0]
    for op in ordered:
        for user in users[op]:
            pending[user] -= 1
            if pending[user] == 0:
                ordered.append(user)
    return dict.fromkeys(ordered)


def _users(op: TfOp) -> dict[TfOp, None]:
    """Return the ops that take something of an op or wait for it, in an order that runs have in common."""
    users = {*(user for tensor in op.outputs for user in tensor.consumers()), *op._control_outputs}
    return dict.fromkeys(sorted(users, key=lambda user: user._id))


class _Bounds:
    """The bounds of variables, and of what is computed from the first update on.

    Args:
      variables: The arguments that are variables, by their names as tensors.
      bounded: Those of them that are looked at after each few calls: floats that only the ops change.
      ops: What runs from the first update on, in order.

    Attributes:
      looked_at: What goes into the updates and is looked at.
      scalars: Scalars that go into the ops. They are looked at as well.
      not_negative: Variables of which roots are taken; they are looked at for being negative as well.
    """

    def __init__(
        self, variables: Mapping[str, Variable], bounded: Iterable[str], ops: Mapping[TfOp, None]
    ) -> None:
        self._variables = variables
        self._values = dict.fromkeys(bounded, _LOOKED_AT)
        self._before = self._values
        self._known: dict[_Tensor, Interval] = {}
        self._can_follow = True
        all_tensors: dict[str, _Tensor] = {}
        self._steps: list[Callable[[], None]] = []
        self._num_changes = Counter(op.inputs[0].name for op in ops if op.type in _CHANGES)
        self.scalars: dict[_Tensor, None] = {}
        roots = [_known_tensor(op.inputs[0], all_tensors) for op in ops if op.type in ROOTS]
        self.not_negative = {name for name in map(_only_variable, roots) if name in self._values}
        self._values.update(dict.fromkeys(self.not_negative, Interval(0.0, _LARGE)))
        into: dict[_Tensor, None] = {}
        for op in ops:
            tensors = [_known_tensor(tensor, all_tensors) for tensor in op.inputs]
            outputs = [_known_tensor(tensor, all_tensors) for tensor in op.outputs]
            if op.type in _CHANGES:
                self._steps.append(partial(self._change, op.type, tensors[0].tensor.name, tensors[-1]))
                into[tensors[-1]] = None
            elif op.type in _GIVES_VALUE:
                self._steps.append(partial(self._read, outputs[0], tensors[0].tensor.name))
            elif any(each.tensor.dtype.is_floating or each.tensor.dtype.is_complex for each in outputs):
                self._steps.append(partial(self._compute, outputs))
            elif op.op_def.is_stateful or any(each.tensor.dtype == tf.variant for each in outputs):
                self._can_follow = False
        self.looked_at = [
            each for each in into if each.op not in ops and each.is_floating and each.constant is None
        ]
        # One more reference to what is added into changes the sum.
        self._can_follow &= not any(is_added_into(each.tensor, at_least=3) for each in self.looked_at)

    def are_proven(self) -> bool:
        """Whether nothing can be bad, as long as what is looked at is not, and variables were not large."""
        looked_at, at_start = self.looked_at, dict(self._values)
        self.looked_at = self._without_what_follows()
        for tensors in (self.looked_at, looked_at):
            self.looked_at, self._values = tensors, dict(at_start)
            try:
                for _ in range(LOOK_EVERY if self._can_follow else 0):
                    self._follow_call()
            except NotProvenError:
                continue
            return self._can_follow
        return False

    def _without_what_follows(self) -> list[_Tensor]:
        """Return what to look at, without what is small if the rest of it is."""
        bounded_by: dict[_Tensor, set[_Tensor]] = {}
        for tensor in self.looked_at:
            self._known.clear()
            self._bound_inputs(tensor, _LARGE)
            for each in self._known:
                bounded_by.setdefault(each, set()).add(tensor)
        self._known.clear()
        left = set(self.looked_at)
        for tensor in self.looked_at:
            left.remove(tensor)
            if not self._follows(tensor, lambda each: bool(bounded_by.get(each, set()) & left), {}):
                left.add(tensor)
        return [tensor for tensor in self.looked_at if tensor in left]

    def _follows(
        self,
        tensor: _Tensor,
        is_bounded: Callable[[_Tensor], bool],
        known: dict[_Tensor, bool],
        depth: int = 0,
    ) -> bool:
        """Whether a tensor is computed of constants, old variables and what has bounds only."""
        if tensor not in known:
            known[tensor] = is_bounded(tensor) or self._given(tensor) is not None
            if not known[tensor] and tensor.rule is not None and depth < _DEPTH:
                known[tensor] = all(
                    self._follows(each, is_bounded, known, depth + 1) for each in tensor.inputs
                )
        return known[tensor]

    def _follow_call(self) -> None:
        self._known.clear()
        self._before = dict(self._values)
        for tensor in self.looked_at:
            self._bound_inputs(tensor, _LARGE)
        for step in self._steps:
            step()

    def _value(self, name: str) -> Interval:
        value = self._values.get(name)
        if value is None:
            variable = self._variables.get(name)
            if variable is None or variable.dtype.is_floating or variable.dtype.is_complex:
                raise NotProvenError  # nobody looks at it
            return _OF_INTEGERS
        return value

    def _read(self, output: _Tensor, name: str) -> None:
        self._known[output] = self._value(name)

    def _change(self, type_: str, name: str, given: _Tensor) -> None:
        change = self._interval(given)
        if name not in self._values:
            # A number, or a table: of these it is only looked at what is added.
            variable = self._variables.get(name)
            if variable is None or (type_ not in _SCATTERS and variable.dtype.is_floating):
                raise NotProvenError
            return
        now, times = self._values[name], _ADDS.get(type_)
        if times is not None:
            change = product(change, Interval(times, times))
            if type_ in _SCATTERS:
                change = union(change, Interval(0.0, 0.0))
            change = total(now, change)
            is_only = self._num_changes[name] == 1
            if now.low >= 0 and type_ == "AssignAddVariableOp" and is_only and self._is_mean(given, name):
                change = Interval(max(change.low, 0.0), change.high)
        self._values[name] = bounded(change)

    def _is_mean(self, given: _Tensor, name: str) -> bool:
        """Whether adding a tensor to a variable makes it a mean of itself and of something not negative.

        That is (x - variable) * constant, with a constant from 0 to 1, which rounding does not make negative.
        """
        if given.type != "Mul":
            return False
        for difference, factor in (given.inputs, reversed(given.inputs)):
            if factor.constant is None or not 0 <= factor.constant.low <= factor.constant.high <= 1:
                continue
            if difference.type == "Sub":
                one, variable = difference.inputs
                is_own = variable.type == "ReadVariableOp" and variable.inputs[0].tensor.name == name
                return is_own and self._interval(one).low >= 0
        return False

    def _compute(self, outputs: list[_Tensor]) -> None:
        (output, *more) = outputs
        if output.rule is None or more:
            raise NotProvenError
        given = [self._interval(tensor) for tensor in output.inputs]
        self._known[output] = bounded(output.rule(*given))

    def _interval(self, tensor: _Tensor, depth: int = 0) -> Interval:
        """Return the bounds of a tensor; also of one from before the updates, by what is looked at."""
        known = self._known.get(tensor)
        if known is not None:
            return known
        if not tensor.is_floating:
            if not (tensor.tensor.dtype.is_integer or tensor.tensor.dtype.is_bool):
                raise NotProvenError
            return _OF_INTEGERS
        known = self._given(tensor)
        if known is None and tensor.is_scalar:
            self.scalars[tensor] = None
            known = _LOOKED_AT
        if known is None:
            if tensor.rule is None or depth == _DEPTH:
                raise NotProvenError
            known = tensor.rule(*(self._interval(each, depth + 1) for each in tensor.inputs))
        self._known[tensor] = known = bounded(known)
        return known

    def _given(self, tensor: _Tensor) -> Interval | None:
        """Return the bounds of a constant, or of a variable before the call."""
        if tensor.type != "ReadVariableOp":
            return tensor.constant
        return self._before.get(tensor.inputs[0].tensor.name)

    def _bound_inputs(self, tensor: _Tensor, most: float, depth: int = 0) -> None:
        """Note how large a tensor is at most, and what follows for what it is computed from."""
        self._known[tensor] = Interval(0.0 if tensor.type in NOT_NEGATIVE else -most, most)
        if depth == _DEPTH:
            return
        if tensor.type in REARRANGES or tensor.type == "Square":
            self._bound_inputs(tensor.inputs[0], most**0.5 if tensor.type == "Square" else most, depth + 1)
        elif tensor.type in ("AddV2", "Mul", "Sub"):
            for one, other in (tensor.inputs, reversed(tensor.inputs)):
                given = self._given(other)
                if given is None:
                    continue
                largest, least = max(-given.low, given.high), max(-given.high, given.low)
                if tensor.type != "Mul":
                    self._bound_inputs(one, most + largest, depth + 1)
                elif least > 0:
                    self._bound_inputs(one, most / least, depth + 1)


def _only_variable(tensor: _Tensor) -> str:
    """Return the variable whose value a tensor is, but for constants that are added; empty for others."""
    while tensor.type in ("Add", "AddV2") and tensor.inputs[1].constant is not None:
        tensor = tensor.inputs[0]
    return tensor.inputs[0].tensor.name if tensor.type == "ReadVariableOp" else ""


def _of_constant(tensor: TfTensor) -> Interval | None:
    value = tensor_util.constant_value(tensor)
    if value is None or not value.size:
        return None
    wide = np.asarray(value, np.float64)
    interval = Interval(float(wide.min()), float(wide.max()))
    return interval if np.isfinite(interval).all() else None


def _may_change(op: TfOp, variable: TfTensor, find: Find) -> bool:
    """Whether an op may change a variable that it takes."""
    names = called_functions(op)
    if not names:
        return op.type not in READS
    called = [find(name) for name in names]
    if op.type not in CALLS:
        return any(function is None or _changes_any(function, find) for function in called)
    (function,) = called
    if function is None:
        return True
    arguments = [function.graph.get_tensor_by_name(name) for name in function.inputs]
    inner = [
        argument for argument, given in zip(arguments, op.inputs, strict=True) if given.name == variable.name
    ]
    return any(_may_change(user, argument, find) for argument in inner for user in argument.consumers())


def _changes_any(function: Function, find: Find) -> bool:
    arguments = [function.graph.get_tensor_by_name(name) for name in function.inputs]
    return any(
        _may_change(user, argument, find)
        for argument in arguments
        if argument.dtype == tf.resource
        for user in argument.consumers()
    )
