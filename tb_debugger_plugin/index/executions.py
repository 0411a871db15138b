"""Decodes executions from their bytes, a whole batch at a time.

Takes framed records of one host's ``execution`` and returns columns. Records whose bytes are plain are
decoded by the library that is compiled from ``src/executions.cc``, when there is one; the others are parsed.

Invariant: :func:`parse_executions`, which parses every record, returns the same rows.
"""

from __future__ import annotations

import ctypes
import itertools
import secrets
import weakref
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events.messages import CodeLocation, Message
from tb_debugger_plugin.events.modes import SUMMARY_COLUMNS, TensorDebugMode
from tb_debugger_plugin.events.numbers import Array, Floats, Integers
from tb_debugger_plugin.index import tensors
from tb_debugger_plugin.index.frames import RecordFrames, load_library
from tb_debugger_plugin.index.records import (
    INT32_MAX,
    Rows,
    Slots,
    Unreadable,
    finite,
    in_order,
    parse_records,
)
from tb_debugger_plugin.index.registry import Registry

#: The field of a ``DebugEvent`` that holds an execution.
EXECUTION_FIELD: Final = "execution"


class _Outputs(NamedTuple):
    """The outputs of some executions, one after the other.

    Attributes:
      counts: How many each execution has.
      ids: Ids of the tensors.
      has_id: Whether the record has an id.
      devices: Ids of the devices; -1 = the record has none.
      has_value: Whether the output is watched.
      summaries: Columns of summaries.
    """

    counts: Integers
    ids: Integers
    has_id: npt.NDArray[np.bool_]
    devices: Integers
    has_value: npt.NDArray[np.bool_]
    summaries: dict[str, Array]


def _rows(
    host: int,
    places: tuple[Floats, Integers, Integers],
    numbers: dict[str, Array],
    input_ids: tuple[Integers, Integers],
    outputs: _Outputs,
) -> Rows:
    """Make rows of the list of executions.

    Args:
      host: The number of the host.
      places: Times, offsets and ends.
      numbers: The columns of ``executions`` that a record holds, as they are.
      input_ids: How many inputs each execution has, and the ids of all.
      outputs: The outputs.
    """
    count = len(places[0])
    slots = {
        "inputs": Slots(input_ids[0], {"tensor_id": input_ids[1]}),
        "outputs": Slots(
            outputs.counts,
            {
                **outputs.summaries,
                "tensor_id": outputs.ids,
                "has_id": outputs.has_id,
                "device_id": outputs.devices.clip(-1, INT32_MAX).astype(np.int32),
                "host": np.full(len(outputs.ids), host, np.int32),
                "has_value": outputs.has_value,
            },
        ),
    }
    columns: dict[str, Array] = {
        "host": np.full(count, host, np.int32),
        **{name: np.asarray(values, np.int32) for name, values in numbers.items()},
        "mode": np.clip(numbers["mode"], 0, 255).astype(np.uint8),
        "health": _worst(slots["outputs"], count),
        "num_inputs": input_ids[0].astype(np.int32),
    }
    return Rows(*places, columns, slots)


def _worst(outputs: Slots, count: int) -> npt.NDArray[np.uint8]:
    health = np.zeros(count, np.uint8)
    np.maximum.at(health, outputs.rows, outputs.columns["health"])
    return health


def parse_executions(
    frames: RecordFrames, rows: Integers, registry: Registry, host: int
) -> tuple[Rows, list[Unreadable]]:
    """Parse records one by one.

    Args:
      frames: Records.
      rows: Numbers of the records to parse.
      registry: Numbers op types, graphs, stacks and shapes.
      host: The number of the host.

    Returns:
      The executions, and the records that could not be parsed.
    """
    found = parse_records(frames, rows, EXECUTION_FIELD)
    records = found.records
    numbers = {
        "op_type": [registry.op_type(record.op_type) for record in records],
        "graph": [registry.graph(host, record.graph_id) if record.graph_id else -1 for record in records],
        "stack": [registry.stack(host, record.code_location) for record in records],
        "step": found.steps,
        "thread": [record.thread_id for record in records],
        "mode": [record.tensor_debug_mode for record in records],
        "num_outputs": [record.num_outputs for record in records],
        "num_values": [len(record.tensor_protos) for record in records],
    }
    inputs = [record.input_tensor_ids for record in records]
    places = (found.times, frames.offsets[found.rows], frames.ends[found.rows])
    columns = {name: np.array(values, np.int32) for name, values in numbers.items()}
    input_ids = (_lengths(inputs), _flat(inputs))
    return _rows(host, places, columns, input_ids, _parsed_outputs(records, registry)), found.unreadable


def _lengths(lists: Sequence[Sequence[object]]) -> Integers:
    return np.fromiter(map(len, lists), np.int64, len(lists))


def _flat(lists: Sequence[Sequence[int]]) -> Integers:
    return np.fromiter(itertools.chain.from_iterable(lists), np.int64)


def _parsed_outputs(records: Sequence[Message], registry: Registry) -> _Outputs:
    ids = [record.output_tensor_ids for record in records]
    devices = [record.output_tensor_device_ids for record in records]
    counts = np.zeros(len(records), np.int64)
    for lists in (ids, devices, [record.tensor_protos for record in records]):
        np.maximum(counts, _lengths(lists), out=counts)
    slots = Slots(counts, {})

    def filled(lists: Sequence[Sequence[int]], default: int) -> tuple[Integers, npt.NDArray[np.bool_]]:
        """Return an element for each slot, and whether its record has one; a record may have too few."""
        has = slots.numbers < _lengths(lists)[slots.rows]
        values = np.full(len(has), default, np.int64)
        values[has] = _flat(lists)
        return values, has

    protos: list[Message | None] = []
    for record, count in zip(records, counts.tolist(), strict=True):
        protos += [*record.tensor_protos, *[None] * (count - len(record.tensor_protos))]
    modes = np.array([record.tensor_debug_mode for record in records], np.int64)[slots.rows].tolist()
    # An empty TensorProto is the placeholder of an output that is not watched.
    has_value = np.array([proto is not None and bool(proto.dtype) for proto in protos], bool)
    summaries = tensors.summarize(modes, protos, registry.shape).columns
    return _Outputs(counts, *filled(ids, 0), filled(devices, -1)[0], has_value, summaries)


class _Library:
    """A decoder of plain records in the compiled library; lives as long as the registry.

    Args:
      library: The compiled library.
      registry: Numbers op types, graphs, stacks and shapes.
      host: The number of the host.
    """

    #: Columns of numbers, in the order of ``Executions::Rows`` in ``src/executions.h``.
    _COLUMNS: Final = (
        *("op_type", "graph", "stack", "step", "thread", "mode"),
        *("num_outputs", "num_inputs", "num_values", "num_slots"),
    )

    def __init__(self, library: ctypes.CDLL, registry: Registry, host: int) -> None:
        self._library = library
        self._registry = registry
        self._host = host
        widths = np.full(max(SUMMARY_COLUMNS) + 1, -1, np.int32)
        for mode, names in SUMMARY_COLUMNS.items():
            widths[mode] = len(names)
        self._handle = library.tbdbg_executions_new(secrets.randbits(64), widths.ctypes.data, len(widths))
        weakref.finalize(self, library.tbdbg_executions_delete, self._handle)
        self._number_of: dict[str, Callable[[bytes], int]] = {
            "op_type": lambda text: registry.op_type(text.decode()),
            "graph": lambda text: registry.graph(host, text.decode()),
            "stack": lambda text: registry.stack(host, CodeLocation.FromString(text)),
        }
        # The registry's number of each text, by the library's number; the last one is for -1, no text.
        self._numbers = dict.fromkeys(self._number_of, np.array([-1], np.int32))

    def decode(self, frames: RecordFrames) -> tuple[Rows, Integers]:
        """Decode the plain records.

        Args:
          frames: Records of the host's ``execution``.

        Returns:
          The executions, and the numbers of the records that are not plain.
        """
        starts, lengths = np.ascontiguousarray(frames.starts), np.ascontiguousarray(frames.lengths)
        is_plain, sizes = np.empty(len(starts), bool), np.empty(6, np.int64)
        self._library.tbdbg_executions_decode(
            *(self._handle, frames.data.ctypes.data, starts.ctypes.data, lengths.ctypes.data, len(starts)),
            *(is_plain.ctypes.data, sizes.ctypes.data),
        )
        count, num_inputs, num_outputs, *num_texts = sizes.tolist()
        times, numbers = np.empty(count), np.empty((len(self._COLUMNS), count), np.int32)
        inputs, outputs = np.empty(num_inputs, np.int64), np.empty((3, num_outputs), np.int64)
        has_id = np.empty(num_outputs, bool)
        self._library.tbdbg_executions_copy(
            self._handle, *(array.ctypes.data for array in (times, numbers, inputs, outputs, has_id))
        )
        columns = dict(zip(self._COLUMNS, numbers, strict=True))
        for kind, (name, total) in enumerate(zip(self._number_of, num_texts, strict=True)):
            columns[name] = self._learn(kind, name, total)[columns[name]]
        counts = columns.pop("num_slots").astype(np.int64)
        num_of_inputs = columns.pop("num_inputs").astype(np.int64)
        ids, devices, summaries = outputs
        modes = columns["mode"].repeat(counts)
        watched = summaries >= 0
        measured = self._summarize(frames, modes, summaries)
        selected = slice(None) if is_plain.all() else is_plain
        places = (finite(times), frames.offsets[selected], frames.ends[selected])
        of_outputs = _Outputs(counts, ids, has_id, devices, watched, measured)
        rows = _rows(self._host, places, columns, (num_of_inputs, inputs), of_outputs)
        return rows, np.flatnonzero(~is_plain)

    def _learn(self, kind: int, name: str, total: int) -> npt.NDArray[np.int32]:
        """Return the registry's numbers of the library's texts, of which there are now so many."""
        known = self._numbers[name]
        if total >= len(known):
            new = [self._number_of[name](self._text(kind, text)) for text in range(len(known) - 1, total)]
            self._numbers[name] = known = np.concatenate([known[:-1], np.array([*new, -1], np.int32)])
        return known

    def _text(self, kind: int, number: int) -> bytes:
        size = ctypes.c_int64()
        at = self._library.tbdbg_executions_text(self._handle, kind, number, ctypes.byref(size))
        return ctypes.string_at(at, size.value)

    def _summarize(self, frames: RecordFrames, modes: Array, begins: Integers) -> dict[str, Array]:
        """Return the columns of the summaries that begin at places of the data; below 0 there is none."""
        vectors: dict[TensorDebugMode, list[tuple[tensors.Rows, Floats]]] = {}
        found = np.flatnonzero(begins >= 0)
        for mode in np.unique(modes[found]).tolist():
            rows = found[modes[found] == mode]
            values = np.empty((len(SUMMARY_COLUMNS[mode]), len(rows)))
            at = np.ascontiguousarray(begins[rows])
            self._library.tbdbg_gather(
                frames.data.ctypes.data, at.ctypes.data, len(rows), len(values), values.ctypes.data
            )
            selected: tensors.Rows = slice(None) if len(rows) == len(begins) else rows
            vectors[TensorDebugMode(mode)] = [(selected, values.T)]
        return tensors.summarize_vectors(modes, vectors, self._registry.shape).columns


class ExecutionDecoder:
    """Decodes one host's executions; see :class:`~tb_debugger_plugin.index.records.Decoder`.

    Args:
      registry: Numbers op types, graphs, stacks and shapes.
      host: The number of the host.
    """

    def __init__(self, registry: Registry, host: int) -> None:
        self._registry = registry
        self._host = host
        library = load_library()
        self._library = None if library is None else _Library(library, registry, host)

    def decode(self, frames: RecordFrames) -> tuple[Rows, list[Unreadable]]:
        """See :meth:`Decoder.decode <tb_debugger_plugin.index.records.Decoder.decode>`."""
        if self._library is None:
            return parse_executions(frames, np.arange(len(frames.starts)), self._registry, self._host)
        plain, rest = self._library.decode(frames)
        if not len(rest):
            return plain, []
        parsed, unreadable = parse_executions(frames, rest, self._registry, self._host)
        return in_order([plain, parsed]), unreadable
