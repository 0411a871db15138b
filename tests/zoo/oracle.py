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
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tests.zoo.truth import Cause, Program

if TYPE_CHECKING:
    from tb_debugger_plugin.capture.tf_types import EagerTensor

#: Ops that make no value themselves: what they return comes from outside.
_READERS = frozenset(
    {
        *("EagerPyFunc", "PyFunc", "PyFuncStateless", "IteratorGetNext", "OptionalGetValue", "RestoreV2"),
        *("DecodeCSV", "StringToNumber", "ParseExampleV2", "ParseSequenceExampleV2", "ParseTensor"),
        *("DecodeRaw", "LookupTableFindV2"),
    }
)
#: Ops that return what an earlier op wrote somewhere.
_CARRIERS = frozenset({"ReadVariableOp", "ResourceGather", "TensorListStack", "TensorListGetItem"})


class Event(NamedTuple):
    """A bad value appears.

    Attributes:
      kind: "nan" or "inf".
      op_type: The op whose output is bad while its inputs are not; empty if the value came in.
      lines: The lines of the program, innermost first; of an op of a gradient those of the forward op.
    """

    kind: str
    op_type: str
    lines: tuple[int, ...]


#: The lines of the program in a stack, innermost first.
_Lines: TypeAlias = tuple[int, ...]


class Oracle:
    """Looks at each op of a program. Begins with `watch`, in each thread."""

    def __init__(self, path: Path) -> None:
        self.events: list[Event] = []
        self._path = str(path)
        self._kinds: dict[int, frozenset[str]] = {}  # of tensors, by their numbers
        self._makers: dict[int, _Lines] = {}
        self._users: dict[tuple[str, int], _Lines] = {}
        self._tensors: list[object] = []  # numbers of tensors are never used twice while these are alive
        self._lock = threading.RLock()  # guards the fields above

    def watch(self) -> None:
        """Look at the ops of this thread from now on."""
        from tensorflow.python.eager import context
        from tensorflow.python.framework import op_callbacks

        if self._see not in context.context().op_callbacks:
            op_callbacks.add_op_callback(self._see)

    def keep(self, function: object) -> None:
        """Hold a function as long as the program runs."""
        self._tensors.append(function)

    def see_value(self, value: npt.ArrayLike) -> None:
        """Look at an array that becomes a tensor."""
        array = np.asarray(value)
        if array.dtype.kind in "fc":
            self._comes_in(_kinds_of_array(array), self._lines_of(sys._getframe(1)))

    def _see(
        self,
        op_type: str | bytes,
        inputs: Sequence[EagerTensor],
        attrs: object,
        outputs: Sequence[EagerTensor],
        op_name: str | None = None,
        graph: object = None,
    ) -> None:
        if graph is not None:
            return
        with self._lock:
            op_type = op_type if isinstance(op_type, str) else op_type.decode()
            lines = self._lines_of(sys._getframe(1))
            self._see_inputs(op_type, inputs, lines)
            bad_inputs = frozenset().union(*(self._kinds.get(id(each), frozenset()) for each in inputs))
            for output in outputs:
                self._see_output(op_type, output, bad_inputs, lines)

    def _see_inputs(self, op_type: str, inputs: Sequence[EagerTensor], lines: _Lines) -> None:
        for tensor in inputs:
            if id(tensor) not in self._kinds:
                self._comes_in(self._remember(tensor), lines)
            self._users[op_type, id(tensor)] = lines

    def _see_output(
        self, op_type: str, tensor: EagerTensor, bad_inputs: frozenset[str], lines: _Lines
    ) -> None:
        self._makers[id(tensor)] = lines
        new = self._remember(tensor) - bad_inputs
        if op_type in _READERS:
            self._comes_in(new, lines)
        elif op_type not in _CARRIERS:
            self.events += [Event(kind, op_type, lines) for kind in sorted(new)]

    def _comes_in(self, kinds: frozenset[str], lines: _Lines) -> None:
        self.events += [Event(kind, "", lines) for kind in sorted(kinds)]

    def _remember(self, tensor: EagerTensor) -> frozenset[str]:
        self._tensors.append(tensor)
        self._kinds[id(tensor)] = _kinds_of(tensor)
        return self._kinds[id(tensor)]

    def _lines_of(self, frame: FrameType | None) -> _Lines:
        """The lines of the program; inside a gradient those of the forward op."""
        lines: list[int] = []
        while frame is not None:
            is_gradient = frame.f_code.co_name == "_gradient_function" and "op_name" in frame.f_locals
            if is_gradient and not lines and (forward := self._forward_of(frame.f_locals)):
                return forward
            if frame.f_code.co_filename == self._path:
                lines.append(frame.f_lineno)
            frame = frame.f_back
        return tuple(lines)

    def _forward_of(self, names: dict[str, Any]) -> _Lines:
        """The lines of the op whose gradient is computed, by what its gradient function is given."""
        made = [self._makers.get(id(tensor), ()) for tensor in names["outputs"] or ()]
        used = [self._users.get((names["op_name"], id(tensor)), ()) for tensor in names["inputs"] or ()]
        return next(filter(None, [*made, *used]), ())


def _kinds_of(tensor: EagerTensor) -> frozenset[str]:
    if not hasattr(tensor, "numpy") or not (tensor.dtype.is_floating or tensor.dtype.is_complex):
        return frozenset()
    return _kinds_of_array(np.asarray(tensor.numpy()))


def _kinds_of_array(value: np.ndarray) -> frozenset[str]:
    value = value if value.dtype.kind == "c" else value.astype(np.float64)
    return frozenset(kind for kind, bad in (("nan", np.isnan(value)), ("inf", np.isinf(value))) if bad.any())


def disagreement(program: Program) -> str:
    """Compare the declared cause of a program with where its bad values are born.

    Bad values of lines that are meant do not count. A buggy program has the declared cause as its first one
    of that kind with a line of the program; a healthy one has nothing but meant ones, and at least one. What
    Python hands to an op of an input pipeline has no line: it is meant if what is made of it is.

    Args:
      program: The program; call this in a process of its own.

    Returns:
      What is wrong with the declaration; empty if nothing is.
    """
    events = births(program.path, program.arguments)
    wrong = [event for event in events if not program.meant.intersection(event.lines[:1])]
    cause = program.cause
    if cause is None:
        meant = {event.kind for event in events if event not in wrong}
        wrong = [event for event in wrong if event.lines or event.kind not in meant]
        # What is left out of an array before it is a tensor cannot be seen.
        return (
            ""
            if (events or program.arguments) and not wrong
            else f"Not meant: {wrong[:3]}, all: {events[:3]}"
        )
    first = next((event for event in wrong if event.lines and event.kind in cause.kinds), None)
    return "" if first and _is(first, cause) else f"Declared {cause}, but the first are {wrong[:3]}"


def _is(event: Event, cause: Cause) -> bool:
    """Whether an event is a declared cause; for what comes in, a line that calls the innermost one does."""
    if cause.came_in:
        return not event.op_type and bool(cause.lines.intersection(event.lines))
    return event.op_type in cause.op_types and bool(cause.lines.intersection(event.lines[:1]))


def births(path: Path, arguments: Sequence[str] = ()) -> list[Event]:
    """Run a program op by op; call it in a process of its own.

    Args:
      path: The program.
      arguments: What it is called with.

    Returns:
      Every birth and every coming in of bad values, in order. A program that raises has the events before.
    """
    import tensorflow as tf
    from tensorflow.python.autograph.impl import api
    from tensorflow.python.client import session
    from tensorflow.python.framework import constant_op
    from tensorflow.python.ops import script_ops

    tf.config.run_functions_eagerly(True)
    tf.data.experimental.enable_debug_mode()
    api.tf_convert = lambda function, *_, **__: function  # the stack of converted code has other files
    oracle = Oracle(path)
    # Callbacks belong to threads. Functions of input pipelines run in threads of TensorFlow's.
    _call_first(threading.Thread, "run", lambda _: oracle.watch())
    _call_first(script_ops.FuncRegistry, "__call__", lambda *_: oracle.watch())
    # The registry forgets functions of data sets that Python does not hold.
    _call_first(script_ops.FuncRegistry, "insert", lambda _, function: oracle.keep(function))
    _call_first(constant_op, "convert_to_eager_tensor", lambda value, *_, **__: oracle.see_value(value))
    _call_first(session.BaseSession, "run", _see_feeds(oracle))
    oracle.watch()
    sys.argv = [str(path), *arguments]
    runpy.run_path(str(path), run_name="__main__")
    return oracle.events


def _see_feeds(oracle: Oracle) -> Callable[..., None]:
    """Looks at what is fed to a session; the ops inside cannot be looked at."""

    def see(
        _: object,
        __: object,
        feeds: dict[object, npt.ArrayLike] | None = None,
        *rest: object,
        **names: object,
    ) -> None:
        for value in (feeds or {}).values():
            oracle.see_value(value)

    return see


def _call_first(owner: object, name: str, call: Callable[..., None]) -> None:
    original = getattr(owner, name)

    def replacement(*args: object, **kwargs: object) -> object:
        call(*args)
        return original(*args, **kwargs)

    setattr(owner, name, replacement)
