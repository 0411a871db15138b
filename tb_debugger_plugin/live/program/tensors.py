"""The tensors of the current call: those that passed the gate, and outputs of eager ops.

Takes eager ops from the hooks, and asks the gate for the rest. Returns `Tensor` messages, and elements by the
number of a tensor. Values at which the program stopped stay readable after their call, up to a size.

Invariants: the bytes of eager outputs and those that the gate holds are together within the limit of the
program, as far as the gate can be asked. Numbers rise in the order of time: a number is that of a block, and
the number of a tensor in the block; a new block begins with each call, and with the eager ops after it.

Not thread-safe: the controller holds its lock.
"""

from __future__ import annotations

import bisect
import functools
import math
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from tb_debugger_plugin.capture.gate import Gate, TensorOfGraph
from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.events.dtypes import FLOATING
from tb_debugger_plugin.events.gate_table import NUMBERS
from tb_debugger_plugin.events.messages import TensorProto
from tb_debugger_plugin.events.modes import SUMMARY_COLUMNS, TensorDebugMode
from tb_debugger_plugin.events.numbers import Array, count_values, moments_of, widened
from tb_debugger_plugin.live.messages.messages import Message, Number, Tensor
from tb_debugger_plugin.live.program.arrays import array_of, short_text
from tb_debugger_plugin.live.program.places import OpPlace
from tb_debugger_plugin.native import module_without_tensorflow
from tb_debugger_plugin.native.structs import Passed

if TYPE_CHECKING:
    from tb_debugger_plugin.capture.tf_types import EagerTensor, EagerTensors

# The numbers of a held tensor: those of FULL_NUMERICS, under the names that conditions use.
#
# The native library counts, if it is there and knows the dtype; else NumPy does.

_MODE: Final = TensorDebugMode.FULL_NUMERICS


def numbers_of(array: Array, dtype: int) -> dict[str, float]:
    """Return the numbers of a tensor by the names of `NUMBERS`; of strings only ``size``.

    Args:
      array: Its elements.
      dtype: TensorFlow's number of the dtype.
    """
    if array.dtype.kind in "OSU":
        return {"size": float(array.size)}
    native = _native()
    if native is not None and dtype in FLOATING and array.size:
        return _natively(native, np.ascontiguousarray(array), dtype)
    return _with_numpy(array)


@functools.cache
def _native() -> ModuleType | None:
    try:
        return module_without_tensorflow()
    except ImportError:
        return None


def _natively(native: ModuleType, array: Array, dtype: int) -> dict[str, float]:
    encoded = native.encode_summary(array.reshape(-1).view(np.uint8).data, dtype, array.shape, int(_MODE), 0)
    vector = np.frombuffer(TensorProto.FromString(encoded).tensor_content, "<f8").tolist()
    columns = dict(zip(SUMMARY_COLUMNS[_MODE], vector, strict=True))
    return {name: columns[column] for name, column in NUMBERS.items()}


def _with_numpy(array: Array) -> dict[str, float]:
    values = widened(array.reshape(-1))
    ordered = values.view(np.uint8) if values.dtype.kind == "b" else values
    columns = {**count_values(values), **moments_of(ordered)}
    return {name: float(columns.get(column, math.nan)) for name, column in NUMBERS.items()}


#: Returns the elements of an eager tensor.
ReadEager: TypeAlias = "Callable[[EagerTensor], Array]"
#: Tensors in a block of numbers: numbers stay whole in a browser for 30 million blocks.
_BLOCK: Final = 1 << 28
#: Most eager outputs that are noted in a call, as many as the gate notes.
_MOST_EAGER: Final = 100_000
#: Dtypes of handles, which are no values: resources and variants.
_HANDLES: Final = (20, 21)
#: Bytes of earlier values at which the program stopped.
_MAX_EARLIER_BYTES: Final = 64 << 20
#: Bytes of elements that are looked at for one list of tensors.
_MAX_MEASURED_BYTES: Final = 64 << 20

NOT_HELD: Final = (
    "Its value is not held: it was computed before values were wanted, or dropped for newer ones."
)
_COMPILED: Final = "XLA compiled its function, so its value never left the compiled program."


@dataclass
class EagerValue:
    """An output of an eager op.

    Attributes:
      number: Its number.
      place: Where it was made.
      tensor: The tensor; None if it was dropped.
      dtype: TensorFlow's number of its dtype.
      shape: Its shape.
      device: Its device.
      num_bytes: Bytes of its elements.
    """

    number: int
    place: OpPlace
    tensor: EagerTensor | None
    dtype: int
    shape: tuple[int, ...]
    device: str
    num_bytes: int


@dataclass(frozen=True)
class HeldValue:
    """The elements of a tensor.

    Attributes:
      array: The elements; objects for strings.
      dtype: TensorFlow's number of the dtype.
    """

    array: Array
    dtype: int


class CallTensors:
    """The tensors of the current call.

    Args:
      gate: The gate of the recording; None without one.
      max_bytes: Bytes of values that may be held.
      read_eager: Returns the elements of an eager tensor.
    """

    def __init__(self, gate: Gate | None, max_bytes: int, read_eager: ReadEager) -> None:
        self._gate = gate
        self._max_bytes = max_bytes
        self._read_eager = read_eager
        self._of_graphs: dict[int, TensorOfGraph] = {}
        self._block = 0  # of the tensors of graphs in the current call
        self._floor = 0  # no number of the gate in this block is lower
        self._last_passed = 0
        self._next_eager = _BLOCK
        self._eager: deque[EagerValue] = deque(maxlen=_MOST_EAGER)
        self._held: deque[EagerValue] = deque()  # those with values
        self._eager_bytes = 0
        self._dropped = 0
        self._ops: Counter[str] = Counter()
        self._earlier: OrderedDict[int, HeldValue] = OrderedDict()
        self._measured: dict[int, dict[str, float]] = {}
        self._changed: dict[int, HeldValue] = {}
        #: The number of the current call; `NO_CALL` if it cannot be told from others.
        self.call = 0

    def know(self, tensors: Iterable[TensorOfGraph]) -> None:
        """Take in tensors of graphs before they are computed."""
        self._of_graphs.update((one.tensor_id, one) for one in tensors)

    def begin_call(self) -> None:
        """Forget the tensors of the calls before: no other call may run."""
        if self._gate is not None:
            self._passed(0, 1)  # raises the floor
            self._gate.forget_values()
        self.drop_eager()
        self._ops.clear()
        self._measured.clear()
        self._changed.clear()
        self._dropped = 0
        self._floor = self._last_passed
        self._block = self._next_eager // _BLOCK + 1
        self._next_eager = (self._block + 1) * _BLOCK

    def forget_ended(self, running: Collection[int]) -> None:
        """Forget the tensors of graphs of the calls that have ended.

        Args:
          running: The numbers of the calls that run.
        """
        if self._gate is not None:
            self._gate.forget_values(tuple(running))

    def drop_eager(self) -> None:
        """Drop all eager outputs."""
        self._eager.clear()
        self._held.clear()
        self._eager_bytes = 0

    def add_eager(
        self, op_type: str, outputs: EagerTensors, path: str, line: int, *, held: bool
    ) -> list[EagerValue]:
        """Note the outputs of an eager op that has just run.

        Args:
          op_type: Its type.
          outputs: Its outputs.
          path: File of the line of the program that ran it; empty if not known.
          line: That line.
          held: Whether the values stay readable.
        """
        name = f"{op_type}_{self._ops[op_type]}" if self._ops[op_type] else op_type
        self._ops[op_type] += 1
        return [
            self._add(OpPlace(name, slot, op_type, path=path, line=line), tensor, held=held)
            for slot, tensor in enumerate(outputs)
            if tensor.dtype.as_datatype_enum not in _HANDLES
        ]

    def _add(self, place: OpPlace, tensor: EagerTensor, *, held: bool) -> EagerValue:
        dtype, shape = tensor.dtype, tuple(tensor.shape.as_list())
        size = int(np.prod(shape, dtype=np.float64)) * max(1, dtype.size or 0)
        self._next_eager += 1
        number = dtype.as_datatype_enum
        entry = EagerValue(self._next_eager, place, tensor, number, shape, tensor.device or "", size)
        if held:
            self._eager.append(entry)
            self._held.append(entry)
            self._eager_bytes += size
            self._keep_to_the_limit()
        return entry

    def _keep_to_the_limit(self) -> None:
        while self._eager_bytes > self._max_bytes and len(self._held) > 1:
            oldest = self._held.popleft()
            oldest.tensor = None
            self._eager_bytes -= oldest.num_bytes
            self._dropped += 1

    def held_bytes(self) -> tuple[int, int]:
        """Return the bytes of all values that are held, and how many values were dropped in this call."""
        held, dropped = self._eager_bytes, self._dropped
        if self._gate is not None:
            counts = self._gate.counts()
            held, dropped = held + counts.held_bytes, dropped + counts.dropped_values
        return held, dropped

    def listed(self, after: int, limit: int) -> tuple[list[Message], int]:
        """Return the tensors with a higher number in the order of time, and how many there are in all."""
        passed = self._passed(after, limit)
        numbers = [one.number for one in self._eager]
        first = bisect.bisect_right(numbers, after)
        eager = [self._eager[at] for at in range(first, min(len(numbers), first + limit))]
        budget = [_MAX_MEASURED_BYTES]
        messages = [self.message_of_passed(one, budget) for one in passed]
        messages += [self.message_of_eager(one, budget) for one in eager]
        messages.sort(key=lambda one: int(one.number))
        total = len(numbers) + (self._gate.counts(self.call).passed if self._gate is not None else 0)
        return messages[:limit], total

    def _passed(self, after: int, limit: int) -> list[Passed]:
        if self._gate is None or after >= (self._block + 1) * _BLOCK:
            return []
        passed = self._gate.tensors(max(self._floor, self._gates_number(after)), limit, self.call)
        self._last_passed = max([self._last_passed, *(one.number for one in passed)])
        return passed

    def new_passed(self, after: int) -> list[Passed]:
        """Return what has passed the gate after a number of the gate."""
        passed = [] if self._gate is None else self._gate.tensors(after, _MOST_EAGER)
        self._last_passed = max([self._last_passed, *(one.number for one in passed)])
        return passed

    def _gates_number(self, number: int) -> int:
        return max(0, number - self._block * _BLOCK) + self._floor

    def number_of_passed(self, passed: Passed) -> int:
        """Return the number of a tensor of a graph."""
        return self._block * _BLOCK + passed.number - self._floor

    def message_of_passed(self, passed: Passed, budget: list[int] | None = None) -> Message:
        """Return a tensor that passed the gate.

        Args:
          passed: The tensor.
          budget: Bytes of elements that may be looked at, which this reduces; None for any number.
        """
        self._last_passed = max(self._last_passed, passed.number)
        number = self.number_of_passed(passed)
        known = self._of_graphs.get(passed.tensor_id)
        message = Tensor(number=number, dtype=passed.dtype, occurrence=passed.occurrence)
        shape = passed.shape if passed.shape is not None else _static_shape(known)
        message.shape.extend(shape or ())
        message.unknown_shape = shape is None
        message.was_changed = passed.was_changed or number in self._changed
        if known is not None:
            message.graph_id, message.op_name, message.slot = known.graph_id, known.op_name, known.slot
            message.op_type, message.device, message.layer = known.op_type, known.device, known.layer
            message.function, message.path, message.line = known.function, known.path, known.line
        message.has_value = passed.is_held
        if not passed.is_held:
            message.no_value = _COMPILED if known is not None and known.is_compiled else NOT_HELD
        self._describe(message, passed.num_bytes, budget, known_numbers(passed))
        return message

    def message_of_eager(self, entry: EagerValue, budget: list[int] | None = None) -> Message:
        """Return an output of an eager op; see `message_of_passed`."""
        place = entry.place
        message = Tensor(
            number=entry.number,
            op_name=place.op_name,
            slot=place.slot,
            op_type=place.op_type,
            dtype=entry.dtype,
            shape=entry.shape,
            device=entry.device,
            occurrence=1,
            path=place.path,
            line=place.line,
            has_value=entry.tensor is not None,
            no_value="" if entry.tensor is not None else NOT_HELD,
            was_changed=entry.number in self._changed,
        )
        self._describe(message, entry.num_bytes, budget)
        return message

    def _describe(
        self,
        message: Message,
        num_bytes: int,
        budget: list[int] | None,
        numbers: Mapping[str, float] | None = None,
    ) -> None:
        """Add the text and the numbers of a tensor, as far as the budget goes."""
        number = int(message.number)
        if message.has_value and (budget is None or num_bytes <= budget[0]):
            if budget is not None:
                budget[0] -= num_bytes
            try:
                value = self.value(number)
                message.text = short_text(value.array)
                if number in self._changed or len(numbers or ()) < len(NUMBERS):
                    numbers = self._numbers(number, value)
            except Exception as error:  # a dtype without arrays, a device that fails
                message.has_value, message.no_value = False, f"Its value cannot be read: {error}"
        message.numbers.extend(Number(name=name, value=value) for name, value in (numbers or {}).items())

    def _numbers(self, number: int, value: HeldValue) -> dict[str, float]:
        if number not in self._measured:
            self._measured[number] = numbers_of(value.array, value.dtype)
        return self._measured[number]

    def eager_numbers(self, entry: EagerValue) -> dict[str, float]:
        """Return the numbers of an output of an eager op; none if its elements cannot be read."""
        if entry.tensor is None:
            return {}
        try:
            return self._numbers(entry.number, HeldValue(self._read_eager(entry.tensor), entry.dtype))
        except Exception:  # whatever it is, the op has none
            return {}

    def numbers_of_eager(self, tensor: EagerTensor) -> dict[str, float]:
        """Return the numbers of any eager tensor; none if its elements cannot be read."""
        try:
            return numbers_of(self._read_eager(tensor), int(tensor.dtype.as_datatype_enum))
        except Exception:  # a handle, or another device that fails
            return {}

    def value(self, number: int) -> HeldValue:
        """Return the elements of a tensor.

        Raises:
          NotFoundError: There is no such tensor, or its value is not held.
          UsageError: NumPy has no arrays of its dtype.
        """
        if number in self._changed:
            return self._changed[number]
        if number in self._earlier:
            return self._earlier[number]
        if number // _BLOCK == self._block and self._gate is not None:
            elements = self._gate.elements(number - self._block * _BLOCK + self._floor)
            if elements is not None:
                return HeldValue(array_of(elements), elements.dtype)
            raise NotFoundError(NOT_HELD)
        entry = self._find_eager(number)
        if entry is None:
            raise NotFoundError(f"There is no tensor #{number} now: its call is over.")
        if entry.tensor is None:
            raise NotFoundError(NOT_HELD)
        return HeldValue(self._read_eager(entry.tensor), entry.dtype)

    def _find_eager(self, number: int) -> EagerValue | None:
        found = (one for one in self._eager if one.number == number)
        return next(found, None)

    def output_of(self, op_name: str) -> Message | None:
        """Return the first output of an op of a graph, without a value; None if there is no such op.

        Args:
          op_name: Its name. Of several functions with such an op, the one that was made last is meant.
        """
        found = (one for one in reversed(self._of_graphs.values()) if one.op_name == op_name)
        known = next(found, None)
        return None if known is None else self._not_computed(known)

    def inputs_of(self, output: Message) -> list[Message]:
        """Return the tensors that an op of a graph takes, as they were computed last in the current call.

        Args:
          output: An output of the op.
        """
        place = output.graph_id, output.op_name
        of_op = (one for one in self._of_graphs.values() if (one.graph_id, one.op_name) == place)
        wanted = next((one.inputs for one in of_op), ())
        last = {passed.tensor_id: passed for passed in self._passed(0, _MOST_EAGER)}
        return [
            self.message_of_passed(last[one]) if one in last else self._not_computed(self._of_graphs[one])
            for one in wanted
            if one in self._of_graphs
        ]

    def _not_computed(self, known: TensorOfGraph) -> Message:
        passed = Passed(0, known.tensor_id, 0, known.dtype, None, None, 0, False, False)
        message = self.message_of_passed(passed)
        message.number = 0
        return message

    def remember(self, message: Message) -> None:
        """Keep the value of a tensor at which the program has stopped, after its call too."""
        if not message.has_value:
            return
        self._earlier[int(message.number)] = self.value(int(message.number))
        while sum(one.array.nbytes for one in self._earlier.values()) > _MAX_EARLIER_BYTES:
            self._earlier.popitem(last=False)

    def change(self, number: int, value: HeldValue) -> None:
        """Note that a tensor of the current call has another value now."""
        self._measured.pop(number, None)
        self._changed[number] = value

    def search(self, op_name: str) -> Iterator[Message]:
        """Yield the held tensors of an op, in the order of time, without numbers and texts."""
        nothing = [0]
        for passed in self._passed(0, _MOST_EAGER):
            known = self._of_graphs.get(passed.tensor_id)
            if known is not None and known.op_name == op_name:
                yield self.message_of_passed(passed, nothing)
        for entry in self._eager:
            if entry.place.op_name == op_name:
                yield self.message_of_eager(entry, nothing)

    def op_names(self) -> set[str]:
        """Return the names of the ops that have a held tensor."""
        passed = (self._of_graphs.get(one.tensor_id) for one in self._passed(0, _MOST_EAGER))
        return {one.place.op_name for one in self._eager} | {one.op_name for one in passed if one is not None}


def _static_shape(tensor: TensorOfGraph | None) -> tuple[int, ...] | None:
    """Return the shape that a tensor has each time; None if that is not known."""
    dims = None if tensor is None else tensor.dims
    return None if dims is None or min(dims, default=0) < 0 else dims


def known_numbers(passed: Passed) -> dict[str, float]:
    """Return the numbers that the gate has computed of a tensor."""
    pairs = zip(NUMBERS, passed.numbers or (None,) * len(NUMBERS), strict=True)
    return {name: value for name, value in pairs if value is not None}
