"""Tensors whose numbers are followed while the program runs, for live curves.

Takes tensors as they are computed; keeps the last numbers of each `Where` that is watched.

Not thread-safe: the controller holds its lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from tb_debugger_plugin.capture.gate import TensorOfGraph
from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.live.messages.messages import Message, Number, WatchedPoint
from tb_debugger_plugin.live.messages.messages import Watched as WatchedMessage
from tb_debugger_plugin.live.program.breakpoints import place_of
from tb_debugger_plugin.live.program.places import BreakpointTarget, OpPlace, make_target
from tb_debugger_plugin.live.program.tensors import CallTensors, known_numbers

_MOST: Final = 16
#: Points of one curve: a state must not grow without bound.
MAX_POINTS: Final = 200


@dataclass
class Curve:
    """What is watched.

    Attributes:
      number: Names it.
      where: What the user asked for.
      target: Which tensors fit.
      tensors: Those of graphs.
      points: The last numbers.
    """

    number: int
    where: Message
    target: BreakpointTarget
    tensors: set[int] = field(default_factory=set)
    points: deque[Message] = field(default_factory=lambda: deque(maxlen=MAX_POINTS))

    def take_in(self, tensors: Iterable[TensorOfGraph]) -> None:
        """Take in tensors of graphs that are new."""
        self.tensors.update(one.tensor_id for one in tensors if self.target.fits(place_of(one)))

    def add(self, call: int, wall_time: float, numbers: Mapping[str, float]) -> None:
        """Add a point."""
        point = WatchedPoint(call=call, wall_time=wall_time)
        point.numbers.extend(Number(name=name, value=value) for name, value in numbers.items())
        self.points.append(point)


class Watched:
    """The tensors that are watched."""

    def __init__(self) -> None:
        self._curves: dict[int, Curve] = {}
        self._known: dict[int, TensorOfGraph] = {}
        self._last_number = 0
        self._last_passed = 0

    def __iter__(self) -> Iterator[Curve]:
        return iter(self._curves.values())

    def __bool__(self) -> bool:
        return bool(self._curves)

    def take_in(self, tensors: Iterable[TensorOfGraph]) -> None:
        """Take in tensors of graphs that are new."""
        tensors = list(tensors)
        self._known.update((one.tensor_id, one) for one in tensors)
        for one in self:
            one.take_in(tensors)

    def add(self, where: Message) -> int:
        """Watch what fits; return the number of it.

        Raises:
          UsageError: It is no place of tensors, or too much is watched.
        """
        target = make_target(where)
        if target.calls:
            raise UsageError("A call has no numbers that can be watched.")
        if len(self._curves) >= _MOST:
            raise UsageError(f"A program watches at most {_MOST} curves: remove some.")
        self._last_number += 1
        kept = type(where)()
        kept.CopyFrom(where)
        curve = self._curves[self._last_number] = Curve(self._last_number, kept, target)
        curve.take_in(self._known.values())
        return self._last_number

    def remove(self, number: int) -> None:
        """Watch something no longer.

        Raises:
          NotFoundError: It is not watched.
        """
        if self._curves.pop(number, None) is None:
            raise NotFoundError(f"Nothing with the number {number} is watched.")

    def tensor_ids(self) -> frozenset[int]:
        """Return the tensors of graphs that are watched."""
        return frozenset(number for one in self for number in one.tensors)

    def unrecorded(self) -> frozenset[int]:
        """Return those of them that are computed without a watch op, unless they get one."""
        return frozenset(number for number in self.tensor_ids() if not self._known[number].is_recorded)

    def _of_tensor(self, tensor_id: int) -> list[Curve]:
        return [one for one in self if tensor_id in one.tensors]

    def _of_place(self, place: OpPlace) -> list[Curve]:
        return [one for one in self if one.target.may_be_eager and one.target.fits(place)]

    def follow(self, tensors: CallTensors, wall_time: float) -> bool:
        """Add what has passed the gate since the last time; return whether anything was added.

        Args:
          tensors: The tensors of the current call.
          wall_time: The time.
        """
        is_new = False
        for passed in tensors.new_passed(self._last_passed):
            self._last_passed = passed.number
            curves = self._of_tensor(passed.tensor_id)
            numbers = known_numbers(passed) if curves else {}
            for curve in curves if numbers else ():
                curve.add(tensors.call, wall_time, numbers)
                is_new = True
        return is_new

    def add_eager(
        self, place: OpPlace, numbers: Callable[[], Mapping[str, float]], call: int, wall_time: float
    ) -> None:
        """Add an output of an eager op.

        Args:
          place: Where it was made.
          numbers: Returns its numbers.
          call: The current call.
          wall_time: The time.
        """
        for curve in self._of_place(place):
            curve.add(call, wall_time, numbers())

    def messages(self) -> list[Message]:
        """Return what is watched, with the points."""
        return [WatchedMessage(where=one.where, number=one.number, points=one.points) for one in self]
