"""Finds where bad values are born, op by op, without the debugger.

The program runs with its functions and input pipelines executed eagerly, so that the value of every tensor
can be looked at in Python. A value is born at an op with NaN (or infinity) in an output and none in its
inputs. It comes in with a tensor that no op made, or with an op that reads from elsewhere. Slow and obvious.
"""

from __future__ import annotations

import runpy
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from tests.zoo.truth import Program

#: Ops that make no value themselves: what they return comes from outside.
_READERS = frozenset(
    {"EagerPyFunc", "PyFunc", "PyFuncStateless", "IteratorGetNext", "OptionalGetValue", "RestoreV2"}
)
#: Ops that return what an earlier op wrote somewhere.
_CARRIERS = frozenset({"ReadVariableOp", "ResourceGather", "TensorListStack", "TensorListGetItem"})


class Event(NamedTuple):
    """A bad value appears.

    Attributes:
      kind: "nan" or "inf".
      op_type: The op whose output is bad while its inputs are not; empty if the value came in.
      line: The innermost line of the program; of an op of a gradient that of the forward op; 0 if unknown.
      taker: The op that has the value as its output, or that took it if it came in.
    """

    kind: str
    op_type: str
    line: int
    taker: str


class _Forward(NamedTuple):
    op_type: str
    line: int


class Oracle:
    """Looks at each op of a program. Begins with `watch`, in each thread."""

    def __init__(self, path: Path) -> None:
        self.events: list[Event] = []
        self._path = str(path)
        self._kinds: dict[int, frozenset[str]] = {}  # of tensors, by their numbers
        self._makers: dict[int, _Forward] = {}
        self._users: dict[tuple[str, int], _Forward] = {}
        self._tensors: list[Any] = []  # numbers of tensors are never used twice while these are alive
        self._lock = threading.RLock()  # guards the fields above

    def watch(self) -> None:
        """Look at the ops of this thread from now on."""
        from tensorflow.python.eager import context
        from tensorflow.python.framework import op_callbacks

        if self._see not in context.context().op_callbacks:
            op_callbacks.add_op_callback(self._see)

    def _see(
        self,
        op_type: str,
        inputs: Sequence[Any],
        attrs: Any,
        outputs: Sequence[Any],
        op_name: str | None = None,
        graph: Any = None,
    ) -> None:
        if graph is not None:
            return
        with self._lock:
            op_type = op_type if isinstance(op_type, str) else op_type.decode()
            line = self._line_of(sys._getframe(1))
            self._see_inputs(op_type, inputs, line)
            bad_inputs = frozenset().union(*(self._kinds.get(id(each), frozenset()) for each in inputs))
            for output in outputs:
                self._see_output(op_type, output, bad_inputs, line)

    def _see_inputs(self, op_type: str, inputs: Sequence[Any], line: int) -> None:
        for tensor in inputs:
            if id(tensor) not in self._kinds:
                self._remember(tensor)
                self.events += [Event(kind, "", line, op_type) for kind in sorted(self._kinds[id(tensor)])]
            self._users[op_type, id(tensor)] = _Forward(op_type, line)

    def _see_output(self, op_type: str, tensor: Any, bad_inputs: frozenset[str], line: int) -> None:
        self._remember(tensor)
        self._makers[id(tensor)] = _Forward(op_type, line)
        new = sorted(self._kinds[id(tensor)] - bad_inputs)
        if op_type not in _CARRIERS:
            maker = "" if op_type in _READERS else op_type
            self.events += [Event(kind, maker, line, op_type) for kind in new]

    def _remember(self, tensor: Any) -> None:
        self._tensors.append(tensor)
        self._kinds[id(tensor)] = _kinds_of(tensor)

    def _line_of(self, frame: FrameType | None) -> int:
        """The line of the program; inside a gradient that of the forward op."""
        while frame is not None:
            if frame.f_code.co_name == "_gradient_function" and frame.f_code.co_filename.endswith(
                "backprop.py"
            ):
                forward = self._forward_of(frame.f_locals)
                if forward is not None:
                    return forward.line
            if frame.f_code.co_filename == self._path:
                return frame.f_lineno
            frame = frame.f_back
        return 0

    def _forward_of(self, names: dict[str, Any]) -> _Forward | None:
        """The op whose gradient is being computed, by the tensors that its gradient function is given."""
        for tensor in names["outputs"] or ():
            if id(tensor) in self._makers:
                return self._makers[id(tensor)]
        users = (self._users.get((names["op_name"], id(tensor))) for tensor in names["inputs"] or ())
        return next((user for user in users if user is not None), None)


def _kinds_of(tensor: Any) -> frozenset[str]:
    if not hasattr(tensor, "numpy") or not (tensor.dtype.is_floating or tensor.dtype.is_complex):
        return frozenset()
    value = np.asarray(tensor.numpy())
    value = value if value.dtype.kind == "c" else value.astype(np.float64)
    return frozenset(kind for kind, bad in (("nan", np.isnan(value)), ("inf", np.isinf(value))) if bad.any())


def disagreement(program: Program) -> str:
    """Compare the declared cause of a program with where its bad values are born.

    Bad values of lines that are meant do not count. A buggy program has the declared cause as its first one
    of that kind; a healthy one has nothing but meant ones, and at least one.

    Args:
      program: The program; call this in a process of its own.

    Returns:
      What is wrong with the declaration; empty if nothing is.
    """
    events = births(program.path)
    wrong = [event for event in events if event.line not in program.meant]
    cause = program.cause
    if cause is None:
        return "" if events and not wrong else f"Not meant: {wrong[:3]}, all: {events[:3]}"
    of_kind = [event for event in wrong if event.kind in cause.kinds]
    first = of_kind[0] if of_kind else None
    if first is None or first.line not in cause.lines or first.op_type not in (cause.op_types or {""}):
        return f"Declared {cause}, but the first are {wrong[:3]}"
    return ""


def births(path: Path) -> list[Event]:
    """Run a program op by op; call it in a process of its own.

    Args:
      path: The program.

    Returns:
      Every birth and every coming in of bad values, in order. A program that raises has the events before.
    """
    import tensorflow as tf
    from tensorflow.python.ops import script_ops

    tf.config.run_functions_eagerly(True)
    tf.data.experimental.enable_debug_mode()
    oracle = Oracle(path)
    # Callbacks belong to threads. Functions of input pipelines run in threads of TensorFlow's.
    _call_first(threading.Thread, "run", oracle.watch)
    _call_first(script_ops.FuncRegistry, "__call__", oracle.watch)
    oracle.watch()
    runpy.run_path(str(path), run_name="__main__")
    return oracle.events


def _call_first(owner: type, name: str, call: Callable[[], None]) -> None:
    original = getattr(owner, name)

    def replacement(*args: Any, **kwargs: Any) -> Any:
        call()
        return original(*args, **kwargs)

    setattr(owner, name, replacement)
