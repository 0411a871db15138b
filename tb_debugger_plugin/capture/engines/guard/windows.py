"""Keeps what the last calls of a function were given, and runs them again to find the first that went bad.

```
variables ──► base ──► call 1 ──► call 2 ──► ... ──► call 32 ──► base of the next window
               │         │ arguments, results of what cannot run twice      │ bad?
               └─────────┴──► the same calls again, on other variables ◄────┘
```

To hold the variables from before each call makes TensorFlow copy them each time. A window holds them before
its first call only; what they were before a later one is computed again. So a call costs what it costs
without a guard, except that its results are checked.

Invariant: a window ends when another function or op changes a variable that the function uses, so that the
same calls give the same values again.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.ops import gen_resource_variable_ops

from tb_debugger_plugin.capture.engines.guard.copies import Guarded, argument_names
from tb_debugger_plugin.capture.engines.guard.replay_copies import Edited, ReplayCopies
from tb_debugger_plugin.capture.engines.guard.replays import CallFunction, arguments_of, new_variable
from tb_debugger_plugin.capture.engines.guard.taken import Label, Taken, Variable
from tb_debugger_plugin.capture.graph.definitions import definition_of
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.options import MEASURED_DTYPES
from tb_debugger_plugin.capture.tf_types import EagerTensor

#: Most calls of a window: all of them may have to run again.
MOST_CALLS: Final = 32
#: Seconds after which a window ends: its calls may have to run again.
_MOST_SECONDS = 20.0
#: Variables of at most so many elements are noted at each call after they changed from outside.
_SMALL_ELEMENTS = 16
#: How many windows a function has before it is judged, and how many calls each must have to be worth it.
_TRIAL, _FEWEST_CALLS = 8, 3


class _Call(NamedTuple):
    """What a call was given.

    Attributes:
      inputs: Its inputs that are no resources.
      kept: What a replay gets instead of running ops.
      small: Values of small variables by argument, if others have changed some since the last call.
      number: Its number, among the calls of the function.
      step: How many steps the program had marked.
    """

    inputs: Sequence[EagerTensor]
    kept: Sequence[EagerTensor]
    small: Mapping[str, EagerTensor]
    number: int
    step: int


@dataclass(frozen=True)
class FoundCall:
    """The first call of a window that went bad.

    Attributes:
      inputs: Its inputs.
      given: The same; small variables that it only reads are copies with the values of that call.
      held: What a replay needs, in the order of `Guarded.held`.
      outputs: Its results, when it ran again.
      bad: What was bad after it.
      came: What was bad of its variables before it.
      index: Its number, among the calls of the function.
      step: How many steps the program had marked.
    """

    inputs: tuple[EagerTensor, ...]
    given: tuple[EagerTensor, ...]
    held: tuple[EagerTensor, ...]
    outputs: tuple[EagerTensor, ...]
    bad: tuple[Label, ...]
    came: tuple[Label, ...]
    index: int
    step: int


class Windows:
    """The windows of all functions of one recording.

    Args:
      functions: The functions of the program.
      taken: Returns what a guard takes of a function that another one calls.
      call: Runs a function.
      has_bad: Returns whether one of some tensors is bad.
      max_held_bytes: The most that all windows may hold.

    Attributes:
      exist: Whether there is any.
    """

    def __init__(
        self,
        functions: FunctionTable,
        taken: Callable[[str], Taken | None],
        call: CallFunction,
        has_bad: Callable[[Sequence[EagerTensor]], bool],
        max_held_bytes: int,
    ) -> None:
        copies = ReplayCopies(functions, taken, lambda f: Edited(definition_of(f)), "rerun", all_called=False)
        self._define = copies.define
        self.call = call
        self.has_bad = has_bad
        self.max_held_bytes = max_held_bytes
        self._windows: list[Window] = []
        self.exist = False

    def add(self, guarded: Guarded, inputs: Sequence[EagerTensor]) -> Window:
        """Return the window of a function that Python calls with some inputs for the first time."""
        window = Window(guarded, self, inputs)
        self._windows.append(window)
        self.exist = True
        return window

    def end(self) -> None:
        """Hold nothing any more."""
        for window in self._windows:
            window.drop()
        self._windows = []

    @property
    def held_bytes(self) -> int:
        """Size of all that windows hold."""
        return sum([window.held_bytes for window in self._windows])

    def remove(self, window: Window) -> None:
        """Forget the window of a function that the program has deleted."""
        self._windows = [one for one in self._windows if one is not window]
        window.drop()

    def rerun(self, taken: Taken) -> str:
        """Return the name of the function that runs a call again, without what cannot run twice.

        Raises:
          Exception: TensorFlow refuses it.
        """
        name = taken.function.name
        if taken.kept or not context.context().has_function(name):
            name = self._define(taken.function, taken)
        return name

    def note_change(self, handle: EagerTensor | None = None) -> None:
        """Note that a variable was changed outside of functions; None if that may be any."""
        for window in self._windows:
            window.note_change(handle)

    def note_call(self, own: Window | None, changed: Sequence[EagerTensor]) -> None:
        """Note that a function is called which changes some variables, besides those of its own window."""
        for window in self._windows:
            if window is not own and window.uses(map(id, changed)):
                window.note_change()

    def make_room(self, for_window: Window) -> None:
        """Let those windows that began first hold nothing, until another one may begin."""
        others = sorted((one for one in self._windows if one is not for_window), key=lambda one: one.began)
        held = sum(one.held_bytes for one in others) + for_window.base_bytes
        for other in others:
            if held <= self.max_held_bytes:
                return
            held -= other.held_bytes
            other.drop()


class Window:
    """The last calls of one function.

    One thread at a time may be between `enter` and `leave`; calls of others are not kept.

    Args:
      guarded: The function.
      windows: The other windows.
      inputs: Inputs of its first call.

    Attributes:
      is_resting: Whether nothing is held because calls are bad.
      left: The variables that were bad when it began to rest.
      copy: Name of its guarded copy.
      num_kept: How many results that returns after those of the function.
      began: When it began, by `time.monotonic`.
      base_bytes: Size of the variables that it holds.
      held_bytes: Size of all that it holds.
    """

    def __init__(self, guarded: Guarded, windows: Windows, inputs: Sequence[EagerTensor]) -> None:
        self._guarded = guarded
        self._windows = windows
        taken = guarded.taken
        names = argument_names(taken.function)
        self._position = {name: index for index, name in enumerate(names)}
        self._resources = [index for index, one in enumerate(inputs) if one.dtype == tf.resource]
        self._no_resources = [index for index, one in enumerate(inputs) if one.dtype != tf.resource]
        self._of_variables = [self._position[name] for name in taken.variables]
        self._small = {
            name for name, one in taken.variables.items() if 0 < one.size <= _SMALL_ELEMENTS * one.dtype.size
        }
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self._num_others = 0  # calls of other threads that run
        self._handles: dict[int, weakref.ref[EagerTensor]] = {}  # of resources, by their positions
        self._ids: list[int] = []
        self._uses: frozenset[int] = frozenset()
        self._base: dict[str, EagerTensor] = {}
        self._small_base: dict[str, EagerTensor] = {}
        self._base_is_bad = False
        self._calls: list[_Call] = []
        self._num_looked_at = 0  # of these
        self._is_over = True
        self._small_changed = False
        self._of_next: Mapping[str, EagerTensor] = {}
        self.is_resting = False
        self.left: tuple[Label, ...] = ()
        self._num_windows = self._num_calls = 0
        self.copy = guarded.name.encode()
        self.num_kept = len(taken.kept_sources)
        self.began = 0.0
        self.base_bytes = sum(taken.variables[name].size for name in taken.old)
        self.held_bytes = 0
        self._note_handles(inputs)

    @property
    def is_futile(self) -> bool:
        """Whether most windows end after so few calls that old variables may as well be held at each."""
        return self._num_windows >= _TRIAL and self._num_calls < _FEWEST_CALLS * self._num_windows

    def uses(self, ids: Iterable[int]) -> bool:
        """Whether one of some handles, by their ids, is that of a variable that the function uses."""
        return not self._uses.isdisjoint(ids)

    def enter(self, *, is_call: bool = True) -> bool:
        """Begin a call, or a look at what is kept; return False if another thread is in one.

        Neither of two calls is kept then.
        """
        if self._lock.acquire(blocking=False):
            return True
        if is_call:
            with self._counting:
                self._num_others += 1
            self._is_over = True
        return False

    def leave(self, *, is_alone: bool = True) -> None:
        """End a call or a look, as `enter` has begun it."""
        if is_alone:
            self._lock.release()
        else:
            with self._counting:
                self._num_others -= 1
            self._is_over = True

    def note_change(self, handle: EagerTensor | None = None) -> None:
        """Note that others changed a variable by its handle, or may have changed all of them."""
        if handle is None:
            self._is_over = True
            self.is_resting = False
        elif id(handle) in self._ids:
            name = self._name_of(handle)
            if name in self._small:
                self._small_changed = True
            else:
                self._is_over = True
                self.is_resting = False

    def must_begin(self, inputs: Sequence[EagerTensor]) -> bool:
        """Whether a new window begins with a call."""
        if self.is_resting or self._num_others:
            return False
        return (
            self._is_over
            or len(self._calls) >= MOST_CALLS
            or self._windows.held_bytes > self._windows.max_held_bytes
            or time.monotonic() - self.began > _MOST_SECONDS
            or self._ids != self._ids_of(inputs)
        )

    @property
    def began_badly(self) -> bool:
        """Whether variables were bad before the first call, which is over."""
        return self._base_is_bad and bool(self._calls)

    def went_bad(self) -> bool:
        """Whether variables are bad after the last call that were good before the first."""
        if len(self._calls) <= self._num_looked_at or self._base_is_bad:
            return False
        self._num_looked_at = len(self._calls)
        return self._windows.has_bad(list(self._values(self.given(()), self._guarded.taken.old).values()))

    def begin(self, inputs: Sequence[EagerTensor]) -> None:
        """Hold the variables from before a call."""
        self.drop()
        self._note_handles(inputs)
        self._is_over = self._small_changed = False  # first: others may change a variable at any time
        self._of_next = {}
        self.began = time.monotonic()
        self._windows.make_room(self)
        self._base = self._values(self.given(inputs), self._guarded.taken.old)
        self._small_base = self._values(self.given(inputs), self._small)
        self._base_is_bad = self._windows.has_bad(list(self._base.values()))
        self.held_bytes = self.base_bytes
        self._num_windows += 1

    @property
    def must_note_small(self) -> bool:
        """Whether others have changed small variables since the last call, or before that."""
        return self._small_changed or bool(self._of_next)

    def note_small(self, inputs: Sequence[EagerTensor]) -> None:
        """Note the values of small variables before a call, if others have changed some."""
        has_changed, self._small_changed = self._small_changed, False
        self._of_next = self._values(self.given(inputs), self._small) if has_changed else {}

    def add(self, inputs: Sequence[EagerTensor], kept: Sequence[EagerTensor], index: int, step: int) -> None:
        """Keep a call that is over.

        Args:
          inputs: Its inputs.
          kept: What the copy has returned besides the results.
          index: Its number, among the calls of the function.
          step: How many steps the program has marked.
        """
        if self._is_over or self.is_resting:
            return
        given = [inputs[index] for index in self._no_resources]
        last = self._calls[-1].inputs if self._calls else []
        self._calls.append(_Call(given, kept, self._of_next, index, step))
        self._num_calls += 1
        if kept or list(map(id, given)) != list(map(id, last)):
            self.held_bytes += sum(map(_size_of, (*kept, *given)))

    def drop(self) -> None:
        """Hold nothing any more."""
        self._base, self._small_base, self._calls, self._num_looked_at = {}, {}, [], 0
        self.held_bytes = 0
        self._is_over = True

    def rest(self, inputs: Sequence[EagerTensor]) -> None:
        """Hold nothing, and if variables are bad, nothing until calls are good again."""
        self.drop()
        self.left = self._bad(self._values(self.given(inputs), self._guarded.taken.old))
        self.is_resting = bool(self.left)

    def wake(self) -> None:
        """Begin a window with the next call."""
        self.is_resting = False

    def find(
        self, inputs: Sequence[EagerTensor], noticed: int = -1, what: Sequence[Label] = ()
    ) -> FoundCall | None:
        """Run the calls of the window again, up to the first that goes bad; return that.

        Args:
          inputs: See `given`.
          noticed: Number of the last call, if a guard has noticed that something is bad in it.
          what: What that is, which a result need not show.

        Raises:
          Exception: A call fails.
        """
        guarded, taken, has_bad = self._guarded, self._guarded.taken, self._windows.has_bad
        if not self._base:
            return None
        rerun, num_outputs = self._windows.rerun(taken).encode(), len(taken.function.outputs)
        resources = self.given(inputs)
        values: Mapping[str, EagerTensor] = self._base
        small: Mapping[str, EagerTensor] = self._small_base
        for call in self._calls:
            inputs_of_call = resources | dict(zip(self._no_resources, call.inputs, strict=True))
            small = call.small or small
            values = {name: call.small.get(name, value) for name, value in values.items()}
            copies = {
                self._position[name]: new_variable(taken.variables[name], small[name])
                for name in self._small - taken.changed
            }
            given = self._in_order(inputs_of_call | copies)
            of_arguments = [given[self._position[argument]] for argument in guarded.arguments]
            held = (*of_arguments, *(values[name] for name in taken.old), *call.kept)
            arguments = arguments_of(guarded, held, given)
            outputs = tuple(self._windows.call(rerun, arguments, num_outputs) or ())
            before, values = values, self._values(dict(enumerate(arguments)), taken.old)
            if call.number == noticed or has_bad([*outputs, *values.values()]):
                came = self._bad(before) if self._base_is_bad else ()
                bad = (*_bad_results(taken, outputs, has_bad), *self._bad(values)) or tuple(what)
                of_program = self._in_order(inputs_of_call)
                return FoundCall(of_program, given, held, outputs, bad, came, call.number, call.step)
        return None

    def _in_order(self, given: Mapping[int, EagerTensor]) -> tuple[EagerTensor, ...]:
        return tuple([given[index] for index in range(len(self._position))])

    def given(self, inputs: Sequence[EagerTensor]) -> dict[int, EagerTensor]:
        """Return the resources that the calls are given, by position.

        Args:
          inputs: Inputs of another call, which stand in for those that do not exist any more, as the iterator
            of a loop that is over: nothing takes them when a call runs again. A variable does if there are
            none.
        """
        found = {index: handle() for index, handle in self._handles.items()}
        given = {index: handle for index, handle in found.items() if handle is not None}
        others = dict(enumerate(inputs)) or dict.fromkeys(found, next(iter(given.values()), None))
        dead = {index: others[index] for index in found if index not in given}
        return given | {index: one for index, one in dead.items() if one is not None}

    def _bad(self, values: Mapping[str, EagerTensor]) -> tuple[Label, ...]:
        return tuple(
            [
                Label(self._guarded.taken.function, name, is_variable=True)
                for name, value in values.items()
                if self._windows.has_bad([value])
            ]
        )

    def _values(self, inputs: Mapping[int, EagerTensor], names: Iterable[str]) -> dict[str, EagerTensor]:
        """Return the values of variables, by the names of their arguments."""
        variables = self._guarded.taken.variables
        return {
            name: read(inputs[self._position[name]], variables[name])
            for name in names
            if self._position[name] in inputs
        }

    def _note_handles(self, inputs: Sequence[EagerTensor]) -> None:
        drop = weakref.WeakMethod(self.drop)

        def on_deleted(_: object) -> None:
            if (forget := drop()) is not None:
                forget()

        # The calls of a loop whose iterator is gone can run again, those of a model that is gone cannot.
        of_variables = frozenset(self._of_variables)
        self._handles = {
            index: weakref.ref(inputs[index], on_deleted if index in of_variables else None)
            for index in self._resources
        }
        self._ids = self._ids_of(inputs)
        self._uses = frozenset(self._ids)

    def _ids_of(self, inputs: Sequence[EagerTensor]) -> list[int]:
        return [id(inputs[index]) for index in self._of_variables]

    def _name_of(self, handle: EagerTensor) -> str:
        return list(self._guarded.taken.variables)[self._ids.index(id(handle))]


def _size_of(tensor: EagerTensor) -> int:
    return int(tensor._num_elements() * tensor.dtype.size)  # by its shape it takes 2 us longer


def read(handle: EagerTensor, variable: Variable) -> EagerTensor:
    """Return the value of a variable."""
    value: EagerTensor = gen_resource_variable_ops.read_variable_op(handle, dtype=variable.dtype)
    return value


def _bad_results(
    taken: Taken, outputs: Sequence[EagerTensor], has_bad: Callable[[Sequence[EagerTensor]], bool]
) -> list[Label]:
    return [
        Label(taken.function, f"result {index}", is_variable=False)
        for index, output in enumerate(outputs)
        if output.dtype in MEASURED_DTYPES and has_bad([output])
    ]
