"""One value that a program holds while it is paused: what is known of it, and its elements.

Takes a program and the number of a tensor. Returns a :class:`LiveValue`, which answers what a recorded value
answers.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from tb_debugger_plugin.analysis.snapshot import Columns, Json, Range
from tb_debugger_plugin.analysis.values.elements import read_slice
from tb_debugger_plugin.analysis.values.health import finite
from tb_debugger_plugin.analysis.values.slicing import Index, slicing_of
from tb_debugger_plugin.errors import FormatError, NotFoundError, QueryError
from tb_debugger_plugin.events.dtypes import dtype_name, numpy_dtype
from tb_debugger_plugin.events.gate_table import NUMBERS
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.numbers import Array, widened
from tb_debugger_plugin.index.stored_tensor import StoredElements
from tb_debugger_plugin.index.tensors import BAD, GOOD, NOT_MEASURED
from tb_debugger_plugin.live.messages.messages import Message
from tb_debugger_plugin.live.viewer.elements import checked_shape, elements_of
from tb_debugger_plugin.live.viewer.followed_program import FollowedProgram

#: Tensors of one question, and the most questions for the occurrences of a tensor.
_PAGE: Final = 2000
_MAX_PAGES: Final = 100
#: Seconds after which the occurrences that were found are enough.
_SEARCH_S: Final = 10.0


@dataclass(frozen=True)
class LiveValue:
    """A tensor of the current call, or the result of an expression.

    Attributes:
      program: The program.
      tensor: The tensor, as the program lists it.
    """

    program: FollowedProgram
    tensor: Message

    @property
    def name(self) -> str:
        """The op and the slot, such as ``Log:0``."""
        return f"{self.tensor.op_name or self.tensor.op_type}:{self.tensor.slot}"

    @property
    def index(self) -> int:
        """The number of the tensor."""
        return int(self.tensor.number)

    @property
    def generation(self) -> int:
        """A number that changes when the program has gone on."""
        return 0 if self.program.state is None else int(self.program.state.version)

    @property
    def shape(self) -> list[int] | None:
        """The shape; None when it is not known, or impossible."""
        shape = checked_shape(self.tensor)
        return None if shape is None else list(shape)

    @contextlib.contextmanager
    def elements(self) -> Iterator[StoredElements]:
        """Give the elements, which can be read while the block runs.

        Raises:
          NotFoundError: The program does not hold them, or not any more.
        """
        try:
            yield elements_of(self.program.service, self.tensor)
        except FormatError as error:
            raise NotFoundError(f"The value of {self.name} cannot be read: {error}.") from error
        except NotFoundError as error:
            raise NotFoundError(f"{self.name} has no value here. {error}") from error

    def to_json(self) -> Json:
        """Return the value without its elements, as the route ``values/info`` answers."""
        tensor, shape = self.tensor, self.shape
        kind = numpy_dtype(tensor.dtype)
        size = None if shape is None else math.prod(shape)
        reason = tensor.no_value or "The program does not hold this value."
        return {
            "program": self.program.id,
            "tensor": self.index,
            "graph_execution": None,
            "execution": None,
            "slot": tensor.slot,
            "name": self.name,
            "op_type": tensor.op_type,
            "op_name": tensor.op_name if tensor.graph_id else None,
            "graph_id": tensor.graph_id or None,
            "function": tensor.function or None,
            "wall_time": self._wall_time,
            "dtype": dtype_name(tensor.dtype),
            "shape": shape,
            "size": size,
            "bytes": None if kind is None or size is None else size * kind.itemsize,
            "is_kept": tensor.has_value,
            "reason": None if tensor.has_value else reason,
            "health": self._health(),
            "element": None,
        }

    @property
    def _wall_time(self) -> float:
        state = self.program.state
        since = 0.0 if state is None else state.pause.wall_time
        return since if math.isfinite(since) and since > 0 else time.time()

    def _health(self) -> Json | None:
        numbers, shape = _numbers(self.tensor), self.shape
        if not numbers:
            return None
        return {
            "graph_execution_index": None,
            "debug_tensor_value": None,
            "tensor_debug_mode": int(TensorDebugMode.FULL_NUMERICS),
            "dtype": dtype_name(self.tensor.dtype),
            "rank": None if shape is None else len(shape),
            "shape": shape,
            **{name: finite(numbers.get(name)) for name in NUMBERS.values()},
            "bad": health_of(self.tensor) == BAD,
        }

    # Its occurrences in the current call.

    def count(self) -> tuple[int, int]:
        """Return how often the tensor was computed in the current call, and how often before this time."""
        numbers = [one.number for one in self._occurrences()]
        return len(numbers), sum(number < self.index for number in numbers)

    def page(self, positions: Range) -> Columns:
        """Return some occurrences: ``index``, ``wall_time``, ``health`` and ``is_kept``."""
        chosen = self._occurrences()[positions.begin : positions.end]
        return {
            "index": np.array([one.number for one in chosen], np.float64),
            "wall_time": np.full(len(chosen), self._wall_time),
            "health": np.array([health_of(one) for one in chosen], np.uint8),
            "is_kept": np.array([one.has_value for one in chosen], np.uint8),
        }

    def element_of_each(self, columns: Columns, indices: tuple[Index, ...]) -> Array:
        """Return one element of each occurrence as float64; NaN where there is none."""
        by_number = {one.number: one for one in self._occurrences()}
        chosen = [by_number.get(int(number)) for number in columns["index"]]
        return np.array([_element(self.program, one, indices) for one in chosen], np.float64)

    def _occurrences(self) -> list[Message]:
        wanted = _identity(self.tensor)
        found = [one for one in all_tensors(self.program) if _identity(one) == wanted]
        return found or [self.tensor]


def find_live_value(program: FollowedProgram, number: int) -> LiveValue:
    """Return a value.

    Args:
      program: The program.
      number: The number of the tensor.

    Raises:
      NotFoundError: The program does not hold it any more, or does not answer.
    """
    result = program.result(number)
    if result is not None:
        return LiveValue(program, result)
    for tensor in program.service.list_tensors(number - 1, 1).tensors:
        if tensor.number == number:
            return LiveValue(program, tensor)
    raise NotFoundError(f"The program has gone on: it does not hold tensor {number} any more.")


def all_tensors(program: FollowedProgram) -> list[Message]:
    """Return the tensors of the current call, as far as they can be listed in some seconds.

    Raises:
      QueryError: The program does not answer.
    """
    tensors: list[Message] = []
    end = time.monotonic() + _SEARCH_S
    for _ in range(_MAX_PAGES):
        after = tensors[-1].number if tensors else 0
        page = program.service.list_tensors(after, _PAGE).tensors
        # A program that repeats itself must not be asked for ever.
        new = [one for one in page if one.number > after]
        tensors += new
        if not new or len(new) < len(page) or time.monotonic() > end:
            break
    return tensors


def _identity(tensor: Message) -> tuple[str, str, int]:
    return tensor.graph_id, tensor.op_name, tensor.slot


def _numbers(tensor: Message) -> dict[str, float]:
    given = {one.name: one.value for one in tensor.numbers}
    return {column: given[name] for name, column in NUMBERS.items() if name in given}


def health_of(tensor: Message) -> int:
    """Return whether a tensor is bad, as the column ``health`` says it."""
    numbers = _numbers(tensor)
    if not {"neg_inf", "pos_inf", "nan"} & set(numbers):
        return NOT_MEASURED
    return BAD if any(numbers.get(name, 0) > 0 for name in ("neg_inf", "pos_inf", "nan")) else GOOD


def _element(program: FollowedProgram, tensor: Message | None, indices: tuple[Index, ...]) -> float:
    if tensor is None:
        return math.nan
    try:
        elements = elements_of(program.service, tensor)
        slicing = slicing_of(indices, elements.shape)
        if slicing.size != 1 or elements.kind.kind == "O":
            return math.nan
        element = widened(read_slice(elements, slicing)).reshape(-1)[0]
        return float(abs(element) if elements.kind.kind == "c" else element)
    except (QueryError, FormatError):  # the slice does not fit, or the program has gone on
        return math.nan
