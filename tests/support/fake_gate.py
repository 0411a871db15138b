"""A gate without TensorFlow, and eager tensors that are arrays: programs of tests pass tensors by hand."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Protocol

import numpy as np

from tb_debugger_plugin.capture.gate import TensorOfGraph
from tb_debugger_plugin.capture.stacks.calls import RunningLine
from tb_debugger_plugin.events import dtypes
from tb_debugger_plugin.events.gate_table import NUMBERS, CannotChange
from tb_debugger_plugin.live.program.conditions import TensorCondition
from tb_debugger_plugin.live.program.eager_stops import EagerAccess
from tb_debugger_plugin.live.program.tensors import numbers_of
from tb_debugger_plugin.native.structs import NO_CALL, GateCounts, GateHit, GateRule, Passed


class FakeElements(bytearray):
    """Elements that are held; a bytearray, since it has the buffer protocol."""

    def __init__(self, array: np.ndarray) -> None:
        super().__init__(b"" if array.dtype == object else np.ascontiguousarray(array).tobytes())
        self._array = array
        self.dtype = number_of(array)
        self.shape = array.shape
        self.num_bytes = array.nbytes

    def strings(self, begin: int, end: int) -> list[bytes]:
        if self._array.dtype != object:
            raise TypeError("no strings")
        return list(self._array.reshape(-1)[begin:end])


def number_of(array: np.ndarray) -> int:
    """TensorFlow's number of the dtype of an array."""
    if array.dtype == object:
        return dtypes.STRING
    return next(number for number in dtypes.NAMES if dtypes.numpy_dtype(number) == array.dtype)


@dataclass
class _Held:
    hit: GateHit
    array: np.ndarray
    is_released: bool = False


class FakeGate:
    """A gate at which threads of tests are held: see `pass_tensor`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.rules: list[GateRule] = []
        self._hits: dict[GateRule, int] = {}
        self._wants_next = False
        self._held: _Held | None = None
        self._returned = 0
        self._numbers = itertools.count(1)
        self._hit_numbers = itertools.count(1)
        self._noted: list[Passed] = []
        self._arrays: dict[int, np.ndarray] = {}
        self.max_bytes = 0
        self.held_calls: list[int] = []
        self.is_closed = False
        self.cannot_change = CannotChange.CAN_CHANGE

    # What a program of a test does.

    def pass_tensor(self, tensor_id: int, array: np.ndarray) -> np.ndarray:
        """Compute a tensor: wait while a thread is held, then maybe be held; returns what consumers get."""
        with self._changed:
            self.held_calls.append(NO_CALL)
            self._changed.wait_for(lambda: self._held is None)
            self.held_calls.pop()
            passed = self._note(tensor_id, array)
            rule = self._stops(passed, numbers_of(array, passed.dtype))
            if rule is None:
                return array
            hit = GateHit(next(self._hit_numbers), rule, passed, self.cannot_change, False, False)
            held = self._held = _Held(hit, array)
            self._changed.notify_all()
            self._changed.wait_for(lambda: held.is_released)
            return held.array

    def _note(self, tensor_id: int, array: np.ndarray) -> Passed:
        occurrence = 1 + sum(one.tensor_id == tensor_id for one in self._noted)
        is_held = 0 < array.nbytes <= self.max_bytes
        numbers = numbers_of(array, number_of(array))
        known = tuple(numbers.get(name) for name in NUMBERS)
        passed = Passed(
            next(self._numbers),
            tensor_id,
            occurrence,
            number_of(array),
            array.shape,
            known,
            array.nbytes,
            is_held,
            False,
        )
        if self.max_bytes:
            self._noted.append(passed)
        if is_held:
            self._arrays[passed.number] = array
        return passed

    def _stops(self, passed: Passed, numbers: dict[str, float]) -> int | None:
        stop = None
        for rule in self.rules:
            fits = rule.tensor_ids is None or passed.tensor_id in rule.tensor_ids
            if fits and TensorCondition("", tuple(rule.condition)).holds(numbers):
                self._hits[rule] = self._hits.get(rule, 0) + 1
                if stop is None and self._hits[rule] > rule.ignore:
                    stop = rule.number
        if stop is None and self._wants_next:
            stop = 0
        if stop is not None:
            self._wants_next = False
        return stop

    # The gate.

    def set_rules(self, rules: Sequence[GateRule]) -> None:
        with self._changed:
            self.rules = list(rules)
            self._hits = {rule: self._hits.get(rule, 0) for rule in rules}

    def stop_at_next(self, wanted: bool) -> None:
        with self._changed:
            self._wants_next = wanted

    def wait(self, timeout: float) -> GateHit | None:
        with self._changed:
            self._changed.wait_for(self._has_new_hit, timeout)
            if not self._has_new_hit():
                return None
            self._returned = self._held.hit.number
            return self._held.hit

    def _has_new_hit(self) -> bool:
        return self._held is not None and self._held.hit.number > self._returned

    def release(self, hit_number: int) -> bool:
        with self._changed:
            if self._held is None or self._held.hit.number != hit_number:
                return False
            self._held.is_released, self._held = True, None
            self._changed.notify_all()
            return True

    def let_all_pass(self) -> None:
        with self._changed:
            self.rules, self._hits, self._wants_next = [], {}, False
            if self._held is not None:
                self.release(self._held.hit.number)

    def close(self) -> None:
        self.is_closed = True
        self.let_all_pass()

    def hold_values(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes

    def forget_values(self, calls: Sequence[int] = ()) -> None:
        with self._changed:
            self._noted.clear()
            self._arrays.clear()

    def tensors(self, after: int = 0, limit: int = 1000, call: int = NO_CALL) -> list[Passed]:
        with self._changed:
            return [one for one in self._noted if one.number > after][:limit]

    def elements(self, number: int) -> FakeElements | None:
        with self._changed:
            array = self._arrays.get(number)
            return None if array is None else FakeElements(array)

    def replace(self, hit_number: int, data: bytes | bytearray | memoryview) -> None:
        with self._changed:
            held = self._held
            if held is None or held.hit.number != hit_number or held.hit.cannot_change:
                raise RuntimeError("no thread is held there")
            held.array = np.frombuffer(bytes(data), held.array.dtype).reshape(held.array.shape)
            self._arrays[held.hit.tensor.number] = held.array

    def counts(self, call: int = NO_CALL) -> GateCounts:
        with self._changed:
            hits = {rule.number: count for rule, count in self._hits.items()}
            return GateCounts(hits, sum(one.nbytes for one in self._arrays.values()), 0, len(self._noted))

    @property
    def hit(self) -> GateHit | None:
        return self._held.hit if self._held is not None else None


class GraphObserver(Protocol):
    """What a controller is told of new functions."""

    def at_new_tensors(self, tensors: Sequence[TensorOfGraph]) -> None:
        """Hear of the tensors of a function."""


@dataclass
class FakeRecording:
    """A recording with a gate and tensors of graphs."""

    gate: FakeGate | None
    dump_root: str
    watched: list[TensorOfGraph] = field(default_factory=list)
    isolated: list[frozenset[int]] = field(default_factory=list)
    changed: list[tuple[str, str, int, str]] = field(default_factory=list)
    does_not_stop: str = ""
    step: int = 0
    observer: GraphObserver | None = None

    def observe(self, observer: GraphObserver) -> None:
        self.observer = observer

    def note_running_stack(self, frame: FrameType) -> None:
        """The test has no sources."""

    def note_changed_value(self, graph_id: str, op_name: str, slot: int, expression: str) -> None:
        self.changed.append((graph_id, op_name, slot, expression))

    def isolate(self, tensor_ids: frozenset[int]) -> frozenset[int]:
        self.isolated.append(tensor_ids)
        return tensor_ids

    def make_function(self, *tensors: TensorOfGraph) -> None:
        """Make a function with some tensors."""
        self.watched += tensors
        if self.observer is not None:
            self.observer.at_new_tensors(tensors)


@dataclass
class FakeProgram:
    """A program; remembers what its controller did to it."""

    recording: FakeRecording
    sees_eager_ops: bool = False
    tells_calls_apart: bool = False
    flushes: int = 0
    told: list[bool] = field(default_factory=list)

    def tell_waiting(self, *, is_over: bool) -> None:
        self.told.append(is_over)

    def flush(self) -> None:
        self.flushes += 1

    def see_eager_ops(self, wanted: bool) -> None:
        self.sees_eager_ops = wanted

    def tell_calls_apart(self, wanted: bool) -> None:
        self.tells_calls_apart = wanted


class FakeClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def now(self) -> float:
        return self.seconds

    def wall(self) -> float:
        return 1e9 + self.seconds


@dataclass(frozen=True)
class _DType:
    as_datatype_enum: int
    size: int


@dataclass(frozen=True)
class _Shape:
    dims: tuple[int, ...]

    def as_list(self) -> list[int]:
        return list(self.dims)


class FakeTensor:
    """An eager tensor: an array on a device."""

    def __init__(self, array: np.ndarray, device: str = "/device:CPU:0") -> None:
        self.array = array
        self.device = device
        self.dtype = _DType(number_of(array), array.dtype.itemsize)
        self.shape = _Shape(array.shape)


class FakeEager(EagerAccess):
    """Eager ops of a test: their names begin with a capital letter, and all are on one line."""

    line = 7
    callers: Sequence[RunningLine] = ()

    def is_op(self, op_type: str) -> bool:
        return op_type[:1].isupper()

    def place(self, frame: FrameType) -> tuple[str, int]:
        return "/home/user/train.py", self.line

    def lines(self, frame: FrameType) -> list[RunningLine]:
        return [RunningLine(*self.place(frame), frame, frame), *self.callers]

    def read(self, tensor: FakeTensor) -> np.ndarray:
        return tensor.array

    def make(self, array: np.ndarray, like: FakeTensor) -> FakeTensor:
        return FakeTensor(array, like.device)


def tensor_of_graph(tensor_id: int, op_name: str, op_type: str = "", **facts: object) -> TensorOfGraph:
    """A watched tensor of the function `train`."""
    made = TensorOfGraph(
        tensor_id, "g", op_name, 0, op_type or op_name, 1, None, "", "train", "", "/home/user/train.py", 10
    )
    return made._replace(**facts)
