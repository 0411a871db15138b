"""Decoded records of one of the two long lists, as columns.

Takes framed records of one host and returns :class:`Rows`. What a record becomes is said by
:mod:`~tb_debugger_plugin.index.traces` and :mod:`~tb_debugger_plugin.index.executions`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.events.numbers import Array, Floats, Integers
from tb_debugger_plugin.index.bounds import parse_bounded
from tb_debugger_plugin.index.frames import RecordFrames

Columns = Mapping[str, Array]

#: The largest step that the tables have room for.
INT32_MAX: Final = 2**31 - 1


def _take(columns: Columns, rows: Integers | slice) -> dict[str, Array]:
    return {name: values[rows] for name, values in columns.items()}


def _join(parts: Sequence[tuple[Columns, int]]) -> dict[str, Array]:
    """Concatenate columns of so many rows; NaN where a part lacks one, because it measured none of it."""
    missing = {count: np.broadcast_to(np.float64(np.nan), count) for _, count in parts}
    names = dict.fromkeys(name for columns, _ in parts for name in columns)
    return {
        name: np.concatenate([columns.get(name, missing[count]) for columns, count in parts])
        for name in names
    }


@dataclass(frozen=True)
class Slots:
    """What some rows have several of, one after the other.

    Attributes:
      counts: How many each row has.
      columns: One value for each slot of each row.
    """

    counts: Integers
    columns: Columns

    @property
    def rows(self) -> Integers:
        """The row of each slot."""
        return np.repeat(np.arange(len(self.counts)), self.counts)

    @property
    def numbers(self) -> Integers:
        """The number of each slot in its row, from 0."""
        return np.arange(self.counts.sum()) - np.repeat(self.counts.cumsum() - self.counts, self.counts)

    def take(self, rows: Integers | slice) -> Slots:
        """Return the slots of some of the rows."""
        begins = (self.counts.cumsum() - self.counts)[rows]
        taken = Slots(self.counts[rows], {})
        places = np.repeat(begins, taken.counts) + taken.numbers
        return Slots(taken.counts, _take(self.columns, places))


@dataclass(frozen=True)
class Rows:
    """Records of one list; those of one host are in the order of its file.

    Attributes:
      times: ``wall_time``; 0 where it is not finite.
      offsets: Where each record begins in the file.
      ends: Where the record after it begins.
      columns: One value for each record.
      slots: What a record has several of, by name.
    """

    times: Floats
    offsets: Integers
    ends: Integers
    columns: Columns
    slots: Mapping[str, Slots] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return the number of records."""
        return len(self.times)

    def take(self, rows: Integers | slice) -> Rows:
        """Return some of the rows, in the given order."""
        slots = {name: of_rows.take(rows) for name, of_rows in self.slots.items()}
        return Rows(self.times[rows], self.offsets[rows], self.ends[rows], _take(self.columns, rows), slots)


def join(parts: Sequence[Rows]) -> Rows:
    """Concatenate rows of one list; at least one part is needed."""
    if len(parts) == 1:
        return parts[0]
    slots = {}
    for name in parts[0].slots:
        of_parts = [part.slots[name] for part in parts]
        counts = np.concatenate([slots.counts for slots in of_parts])
        slots[name] = Slots(counts, _join([(slots.columns, int(slots.counts.sum())) for slots in of_parts]))
    return Rows(
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.offsets for part in parts]),
        np.concatenate([part.ends for part in parts]),
        _join([(part.columns, len(part)) for part in parts]),
        slots,
    )


def in_order(parts: Sequence[Rows]) -> Rows:
    """Concatenate rows of one file, in the order of the file."""
    parts = [part for part in parts if len(part)] or parts[:1]
    rows = join(parts)
    return rows if len(parts) == 1 else rows.take(np.argsort(rows.offsets, kind="stable"))


class Unreadable(NamedTuple):
    """A record that could not be parsed: its offset, and the reason."""

    offset: int
    reason: str


class Decoder(Protocol):
    """Decodes the records of one host's file; lives as long as the registry that numbers what they name."""

    def decode(self, frames: RecordFrames) -> tuple[Rows, list[Unreadable]]:
        """Decode records.

        Args:
          frames: Records of the host's file.

        Returns:
          The rows among them, in order, and the records that could not be parsed.
        """


class Parsed(NamedTuple):
    """Records that were parsed one by one.

    Attributes:
      rows: The numbers of the records that hold the kind.
      times: ``wall_time`` of each; 0 where it is not finite.
      steps: ``step`` of each; from 0, and at most what fits.
      records: What each holds.
      unreadable: The records that could not be parsed.
    """

    rows: Integers
    times: Floats
    steps: npt.NDArray[np.int32]
    records: list[Message]
    unreadable: list[Unreadable]


def parse_records(frames: RecordFrames, rows: Integers, kind: str) -> Parsed:
    """Parse records one by one.

    Args:
      frames: Records.
      rows: Numbers of the records to parse.
      kind: The field of a ``DebugEvent`` that is looked for; records without it are left out.
    """
    kept: list[int] = []
    events: list[Message] = []
    unreadable: list[Unreadable] = []
    for row in rows.tolist():
        try:
            event = parse_bounded(frames.payload(row))
        except FormatError as error:
            unreadable.append(Unreadable(int(frames.offsets[row]), str(error)))
            continue
        if event.HasField(kind):
            kept.append(row)
            events.append(event)
    times = np.array([event.wall_time for event in events], np.float64)
    steps = np.array([event.step for event in events], np.int64).clip(0, INT32_MAX).astype(np.int32)
    records = [getattr(event, kind) for event in events]
    return Parsed(np.array(kept, np.int64), finite(times), steps, records, unreadable)


def finite(times: Floats) -> Floats:
    """Return times with 0 for those that are not finite.

    Such a time is damage; it can be neither sorted nor sent as JSON.
    """
    return np.where(np.isfinite(times), times, 0.0)
