"""Decides whether a function may update its variables in place, because what goes into the updates tells.

To hold the old value of a variable makes TensorFlow update a copy of it: for large models a third of a step.
So the guard looks at what goes into the updates, lets them wait for that, and holds old values only if
something of it is bad or large (`native/src/guard_op.h`).

Invariant: while what is looked at is below `_LARGE`, and variables were so at one of the last `_LOOK_EVERY`
calls, nothing from the first update on overflows, is divided by zero or is the root of a negative number.
Intervals prove it for each function; where they do not, old values are held at each call. What is not proven
but looked at is the sign of second moments.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import tensor_util

from tb_debugger_plugin.capture.engines.guard.taken import (
    CALLS,
    READS,
    Source,
    Variable,
    source_of,
    variable_of,
)
from tb_debugger_plugin.capture.engines.xla.nonfinite import REARRANGES
from tb_debugger_plugin.capture.graph.called import called_functions
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.plan.plan import live_ops
from tb_debugger_plugin.capture.tf_types import TfOp, TfTensor

#: From this many bytes of variables on, it is worth it.
WORTH_IT: Final = 1 << 20
#: What is large: see `HasLarge` of `native/src/summary.h`.
_LARGE = 2.0**40
#: How many calls pass until variables are looked at again: `kLookEvery` of `native/src/guard_op.cc`.
_LOOK_EVERY = 32
#: What nothing may exceed: float32 and bfloat16 end at 2^128.
_MOST = 2.0**126
#: Variables of at most so many elements are held at each call: that costs nothing, and some are read between.
SMALL: Final = 16
_DTYPES = (tf.float32, tf.float64, tf.bfloat16)
#: Ops that add to a variable in place, how often at most to the same element, and with which sign.
_ADDS = {
    "AssignAddVariableOp": 1.0,
    "AssignSubVariableOp": -1.0,
    "ResourceScatterAdd": 2.0**31,
    "ResourceScatterSub": -(2.0**31),
}
#: All that may change one here.
_CHANGES = (*_ADDS, "AssignVariableOp")
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


class _Interval(NamedTuple):
    """Bounds of all elements of a tensor."""

    low: float
    high: float


_LOOKED_AT = _Interval(-_LARGE, _LARGE)
_OF_INTEGERS = _Interval(-(2.0**64), 2.0**64)


class _NotProvenError(Exception):
    """Something may be bad although nothing was that went into the updates.

    Args:
      variable: The variable that would have to be positive, if that would do.
    """

    def __init__(self, variable: TfTensor | None = None) -> None:
        super().__init__()
        self.variable = variable


class _Updates:
    """What a function does from its first update of a large variable on.

    Args:
      function: The function.
      find: Returns the function of a name.

    Attributes:
      variables: The arguments that are large variables which it updates in place.
    """

    def __init__(self, function: Function, find: Find) -> None:
        self._function = function
        self._find = find
        self._live = live = live_ops(function)
        self._arguments: dict[str, Variable] = {}
        for name in function.inputs:
            argument = function.graph.get_tensor_by_name(name)
            variable = variable_of(argument) if argument.dtype == tf.resource else None
            if variable is not None:
                self._arguments[argument.name] = variable
        self.variables = [
            function.graph.get_tensor_by_name(name)
            for name, variable in self._arguments.items()
            if variable.dtype in _DTYPES and (variable.shape.num_elements() or 0) > SMALL
        ]
        self.variables = [
            argument
            for argument in self.variables
            if any(op.type in _ADDS and op in live for op in argument.consumers())
        ]

    def only_call(self) -> Function | None:
        """Return the function that is called by the only op that changes variables; None for other ops."""
        changing = [op for op in self._live if any(_may_change(op, of, self._find) for of in _resources(op))]
        if len(changing) != 1 or changing[0].type not in CALLS:
            return None
        (name,) = called_functions(changing[0])
        return self._find(name)

    def proven(self, path: tuple[str, ...]) -> LookFirst | None:
        """Return where to look, if nothing can be bad that was not looked at."""
        if sum(self._arguments[argument.name].size for argument in self.variables) < WORTH_IT:
            return None
        waiting = {
            op
            for argument in self.variables
            for op in argument.consumers()
            if op in self._live and _may_change(op, argument, self._find)
        }
        if any(op.type not in _CHANGES for op in waiting):
            return None
        after = self._after(waiting)
        into = [op.inputs[-1] for op in after if op.type in _CHANGES]
        looked_at = {
            tensor.name: tensor for tensor in into if tensor.op not in after and tensor.dtype.is_floating
        }
        proof = self._proof(after, looked_at)
        for name in looked_at:
            rest = {other: tensor for other, tensor in looked_at.items() if other != name}
            shorter = None if proof is None else self._proof(after, rest)
            if shorter is not None:
                looked_at, proof = rest, shorter
        if proof is None:
            return None
        return LookFirst(
            path,
            {argument.op.name: self._arguments[argument.name] for argument in self.variables},
            frozenset([op.name for op in waiting]),
            frozenset([op.name for op in after]),
            tuple([source_of(tensor) for tensor in (*looked_at.values(), *proof.scalars.values())]),
            frozenset([name.partition(":")[0] for name in proof.not_negative]),
        )

    def _proof(self, after: Collection[TfOp], looked_at: Mapping[str, TfTensor]) -> _Bounds | None:
        """Return the bounds of what is computed if some tensors are looked at; None if something has none.

        Args:
          after: What runs from the first update on.
          looked_at: The tensors, by name.
        """
        live = [op for op in after if op in self._live]
        changed = {op.inputs[0].name for op in live if op.type in _CHANGES}
        changed = {name for name in changed if self._is_bounded(name, after)}
        not_negative: set[str] = set()
        while True:
            bounds = _Bounds(self._arguments, changed, not_negative, looked_at)
            try:
                for _ in range(_LOOK_EVERY):
                    bounds.add(live)
            except _NotProvenError as error:
                if error.variable is None or error.variable.name in not_negative:
                    return None
                not_negative.add(error.variable.name)
                continue
            return bounds

    def _is_bounded(self, name: str, after: Collection[TfOp]) -> bool:
        """Whether a variable has a dtype with bounds, and only ops change it that have them."""
        variable = self._arguments.get(name)
        users = self._function.graph.get_tensor_by_name(name).consumers()
        changes = [op for op in users if op in self._live and _may_change(op, op.inputs[0], self._find)]
        return variable is not None and variable.dtype in _DTYPES and all(op in after for op in changes)

    def _after(self, waiting: set[TfOp]) -> dict[TfOp, None]:
        """Return the ops that change variables, and those that run after them, each after what it needs."""
        users: dict[TfOp, list[TfOp]] = {}
        for op in self._function.graph.get_operations():
            for before in _needed(op):
                users.setdefault(before, []).append(op)
        after, new = set(waiting), list(waiting)
        while new:
            added = [user for user in users.get(new.pop(), ()) if user not in after]
            after.update(added)
            new += added
        pending = {op: len(_needed(op) & after) for op in after}
        ordered = [op for op, number in pending.items() if number == 0]
        for op in ordered:
            for user in users.get(op, ()):
                pending[user] -= 1
                if pending[user] == 0:
                    ordered.append(user)
        return dict.fromkeys(ordered)


class _Bounds:
    """The bounds of variables, and of what is computed from the first update on.

    Args:
      variables: The arguments that are variables, by their names as tensors.
      changed: Those of them that are looked at after each few calls: floats that the ops change.
      not_negative: Which of them are taken to be positive or zero.
      looked_at: What is looked at, by name.

    Attributes:
      not_negative: The same.
      scalars: What has to be looked at besides.
    """

    def __init__(
        self,
        variables: Mapping[str, Variable],
        changed: Iterable[str],
        not_negative: Collection[str],
        looked_at: Mapping[str, TfTensor],
    ) -> None:
        self._looked_at = looked_at
        self._variables = variables
        self._values = dict.fromkeys(changed, _LOOKED_AT)
        self._values_before: dict[str, _Interval] = {}
        self._tensors: dict[str, _Interval] = {}
        self.not_negative = frozenset(not_negative)
        self.scalars: dict[str, TfTensor] = {}

    def add(self, ops: Iterable[TfOp]) -> None:
        """Follow a call.

        Raises:
          _NotProvenError: Something may be bad.
        """
        self._tensors.clear()
        self._values_before = dict(self._values)
        for tensor in self._looked_at.values():
            self._tell(tensor, _LARGE)
        for op in ops:
            if op.type in _CHANGES:
                self._change(op)
            elif op.type in _GIVES_VALUE:
                self._tensors[op.outputs[0].name] = self._value(op.inputs[0])
            elif any(tensor.dtype.is_floating or tensor.dtype.is_complex for tensor in op.outputs):
                self._compute(op)
            elif op.op_def.is_stateful or any(tensor.dtype == tf.variant for tensor in op.outputs):
                raise _NotProvenError

    def _value(self, handle: TfTensor) -> _Interval:
        if handle.name not in self._values:
            variable = self._variables.get(handle.name)
            if variable is None or variable.dtype.is_floating or variable.dtype.is_complex:
                raise _NotProvenError  # nobody looks at it
            return _OF_INTEGERS
        low, high = self._values[handle.name]
        return _Interval(max(low, 0.0) if handle.name in self.not_negative else low, high)

    def _change(self, op: TfOp) -> None:
        handle, given = op.inputs[0], op.inputs[-1]
        now, change = self._value(handle), self._interval(given)
        if handle.name not in self._values:
            return
        times = _ADDS.get(op.type)
        if times is not None:
            change = _sum(now, _product(change, _Interval(times, times)))
        self._values[handle.name] = _bounded(change)

    def _compute(self, op: TfOp) -> None:
        rule = _RULES.get(op.type)
        if rule is None or len(op.outputs) != 1 or op.outputs[0].dtype not in _DTYPES:
            raise _NotProvenError
        given = [self._interval(tensor) for tensor in op.inputs]
        if op.type in _ROOTS and given[0].low < 0:
            raise _NotProvenError(_only_variable(op.inputs[0]))
        self._tensors[op.outputs[0].name] = _bounded(rule(*given))

    def _interval(self, tensor: TfTensor) -> _Interval:
        """Return the bounds of a tensor; also of one from before the updates, by what is looked at."""
        if tensor.name in self._tensors:
            return self._tensors[tensor.name]
        if not tensor.dtype.is_floating:
            return _OF_INTEGERS
        known = self._known(tensor)
        if known is None and tensor.shape.rank == 0:
            self.scalars[tensor.name] = tensor
            known = _LOOKED_AT
        if known is None:
            rule = _RULES.get(tensor.op.type)
            if rule is None:
                raise _NotProvenError
            known = rule(*map(self._interval, tensor.op.inputs))
        self._tensors[tensor.name] = known = _bounded(known)
        return known

    def _tell(self, tensor: TfTensor, most: float) -> None:
        """Note how large a tensor is at most, and what follows for what it is computed from."""
        self._tensors[tensor.name] = _Interval(-most, most)
        op = tensor.op
        if op.type in REARRANGES or op.type == "Square":
            self._tell(op.inputs[0], most**0.5 if op.type == "Square" else most)
        elif op.type in ("AddV2", "Mul", "Sub"):
            for one, other in (op.inputs, reversed(op.inputs)):
                known = self._known(other)
                if known is None:
                    continue
                largest, least = max(-known.low, known.high), max(-known.high, known.low)
                if op.type != "Mul":
                    self._tell(one, most + largest)
                elif least > 0:
                    self._tell(one, most / least)

    def _known(self, tensor: TfTensor) -> _Interval | None:
        """Return the bounds of a constant, or of a variable before the call."""
        if tensor.op.type == "Const":
            return _of_constant(tensor)
        is_variable = tensor.op.type == "ReadVariableOp"
        return self._values_before.get(tensor.op.inputs[0].name) if is_variable else None


def _only_variable(tensor: TfTensor) -> TfTensor | None:
    """Return the variable whose value a tensor is, but for a constant that is added; None for others."""
    while tensor.op.type in ("Add", "AddV2") and tensor.op.inputs[1].op.type == "Const":
        tensor = tensor.op.inputs[0]
    return tensor.op.inputs[0] if tensor.op.type == "ReadVariableOp" else None


def _of_constant(tensor: TfTensor) -> _Interval | None:
    value = tensor_util.constant_value(tensor)
    if value is None or not value.size:
        return None
    wide = np.asarray(value, np.float64)
    return _bounded(_Interval(float(wide.min()), float(wide.max())))


def _bounded(interval: _Interval) -> _Interval:
    if not (-_MOST <= interval.low <= interval.high <= _MOST):  # not with NaN, either
        raise _NotProvenError
    return interval


def _negative(one: _Interval) -> _Interval:
    return _Interval(-one.high, -one.low)


def _sum(*intervals: _Interval) -> _Interval:
    return _Interval(sum(one.low for one in intervals), sum(one.high for one in intervals))


def _difference(one: _Interval, other: _Interval) -> _Interval:
    return _sum(one, _negative(other))


def _product(one: _Interval, other: _Interval) -> _Interval:
    corners = [first * second for first, second in itertools.product(one, other)]
    return _Interval(min(corners), max(corners))


def _quotient(one: _Interval, other: _Interval) -> _Interval:
    if other.low <= 0 <= other.high:
        raise _NotProvenError
    return _product(one, _Interval(1 / other.high, 1 / other.low))


def _square(one: _Interval) -> _Interval:
    return _Interval(0.0, max(one.low**2, one.high**2))


def _root(one: _Interval) -> _Interval:
    if one.low < 0:
        raise _NotProvenError
    return _Interval(one.low**0.5, one.high**0.5)


def _reciprocal_root(one: _Interval) -> _Interval:
    return _quotient(_Interval(1.0, 1.0), _root(one))


def _same(one: _Interval, *_: _Interval) -> _Interval:
    return one


def _union(*intervals: _Interval) -> _Interval:
    return _Interval(min(one.low for one in intervals), max(one.high for one in intervals))


#: What ops give, by the bounds of their inputs.
_RULES: dict[str, Callable[..., _Interval]] = {
    **dict.fromkeys((*REARRANGES, "BroadcastTo", "Cast", "Tile"), _same),
    **dict.fromkeys(("Add", "AddN", "AddV2"), _sum),
    "Sub": _difference,
    "Mul": _product,
    "RealDiv": _quotient,
    "Neg": _negative,
    "Abs": lambda one: _Interval(0.0, max(-one.low, one.high)),
    "Sign": lambda one: _Interval(-1.0, 1.0),
    "Square": _square,
    "Sqrt": _root,
    "Rsqrt": _reciprocal_root,
    "Maximum": lambda one, other: _Interval(max(one.low, other.low), max(one.high, other.high)),
    "Minimum": lambda one, other: _Interval(min(one.low, other.low), min(one.high, other.high)),
    **dict.fromkeys(("Select", "SelectV2"), lambda condition, one, other: _union(one, other)),
}
_ROOTS = ("Sqrt", "Rsqrt")


def _needed(op: TfOp) -> set[TfOp]:
    return {*(tensor.op for tensor in op.inputs), *op.control_inputs}


def _resources(op: TfOp) -> Iterator[TfTensor]:
    for tensor in op.inputs:
        if tensor.dtype == tf.resource and variable_of(tensor) is not None:
            yield tensor


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
