"""Turns decoded records of the two long lists into columns of their tables.

Takes events with their host and returns NumPy columns that can be inserted as they are. The registry numbers
everything that repeats.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.events.modes import STORED
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index import tensors
from tb_debugger_plugin.index.columns import measured
from tb_debugger_plugin.index.registry import Registry
from tb_debugger_plugin.index.traces import Integers, TraceRows

_INT32_MAX: Final = 2**31 - 1


@dataclass(frozen=True)
class Row:
    """One execution.

    Attributes:
      host: The number of the host.
      event: The ``DebugEvent``.
      position: The value of column ``position``.
    """

    host: int
    event: Message
    position: int


def _times(rows: Sequence[Row]) -> Array:
    times = np.array([row.event.wall_time for row in rows], np.float64)
    return np.where(np.isfinite(times), times, 0.0)


def _summary_columns(summaries: dict[str, Array]) -> dict[str, Array]:
    columns = {name: values for name, values in summaries.items() if name not in STORED}
    for name in STORED:
        values = measured(summaries[name]) if name in summaries else None
        if values is not None:
            columns[name] = values
    ids = columns["tensor_id"]
    fits = np.abs(np.nan_to_num(ids)) < 2**53
    columns["tensor_id"] = np.ma.array(
        np.where(fits, np.nan_to_num(ids), 0).astype(np.int64), mask=np.isnan(ids) | ~fits
    )
    return columns


def trace_columns(rows: TraceRows, first: int) -> dict[str, Array]:
    """Return columns of ``graph_executions``.

    Args:
      rows: Decoded traces.
      first: The position of the first row in the list.
    """
    return {
        "idx": np.arange(first, first + len(rows)),
        "wall_time": rows.times,
        "site": rows.sites,
        "position": rows.offsets,
        **_summary_columns(rows.summaries),
    }


def bad_columns(traces: dict[str, Array], first: int) -> dict[str, Array]:
    """Return columns of ``bad_graph_executions``: the positions of the bad rows of ``graph_executions``.

    Args:
      traces: Columns from :func:`trace_columns`.
      first: The number of bad rows before.
    """
    positions = traces["idx"][traces["health"] == tensors.BAD]
    return {"bad": np.arange(first, first + len(positions)), "idx": positions}


@dataclass(frozen=True)
class ExecutionColumns:
    """Columns of the three tables of executions."""

    executions: dict[str, Array]
    inputs: dict[str, Array]
    outputs: dict[str, Array]


def execution_columns(rows: Sequence[Row], registry: Registry, first: int) -> ExecutionColumns:
    """Return columns of ``executions``, ``execution_inputs`` and ``execution_outputs``.

    Args:
      rows: Events that hold an ``execution``.
      registry: Numbers op types, graphs, stacks and shapes.
      first: The position of the first row in the list.
    """
    records = [row.event.execution for row in rows]
    outputs = _output_columns(rows, records, registry, first)
    executions = {
        "idx": np.arange(first, first + len(rows)),
        "host": np.array([row.host for row in rows], np.int32),
        "wall_time": _times(rows),
        "position": np.array([row.position for row in rows], np.int64),
        **_numbered_columns(rows, records, registry),
        "mode": np.clip([record.tensor_debug_mode for record in records], 0, 255).astype(np.uint8),
        "health": _worst_health(outputs, first, len(rows)),
        "num_inputs": np.array([len(record.input_tensor_ids) for record in records], np.int32),
        "num_outputs": np.array([record.num_outputs for record in records], np.int32),
        "num_values": np.array([len(record.tensor_protos) for record in records], np.int32),
    }
    return ExecutionColumns(executions, _input_columns(records, first), outputs)


def _numbered_columns(
    rows: Sequence[Row], records: Sequence[Message], registry: Registry
) -> dict[str, Array]:
    hosts = [row.host for row in rows]
    op_types = [registry.op_type(record.op_type) for record in records]
    graphs = [
        registry.graph(host, record.graph_id) if record.graph_id else -1
        for host, record in zip(hosts, records, strict=True)
    ]
    stacks = [registry.stack(host, record.code_location) for host, record in zip(hosts, records, strict=True)]
    threads = [record.thread_id for record in records]
    columns = {"op_type": op_types, "graph": graphs, "stack": stacks, "thread": threads}
    return {name: np.array(numbers, np.int32) for name, numbers in columns.items()}


def _worst_health(outputs: dict[str, Array], first: int, count: int) -> Array:
    health = np.zeros(count, np.uint8)
    np.maximum.at(health, outputs["idx"] - first, outputs["health"])
    return health


@dataclass(frozen=True)
class _Slots:
    """The slots of some records, one after the other: the number of its record and its own number."""

    rows: Integers
    slots: Integers

    def filled(self, lists: Sequence[Sequence[Any]], default: Any, kind: Any) -> tuple[Array, Array]:
        """Return an element for each slot, and whether its record has one; a record may have too few."""
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        has = self.slots < lengths[self.rows]
        values = np.full(len(has), default, kind)
        values[has] = np.fromiter(itertools.chain.from_iterable(lists), kind, lengths.sum())
        return values, has


def _slots_of(*lists: Sequence[Sequence[Any]]) -> _Slots:
    """Return as many slots for each record as the longest of its lists has elements."""
    counts = np.zeros(len(lists[0]), np.int64)
    for of_records in lists:
        np.maximum(counts, np.fromiter(map(len, of_records), np.int64, len(counts)), out=counts)
    rows = np.repeat(np.arange(len(counts)), counts)
    return _Slots(rows, np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows])


def _input_columns(records: Sequence[Message], first: int) -> dict[str, Array]:
    inputs = [record.input_tensor_ids for record in records]
    slots = _slots_of(inputs)
    ids, _ = slots.filled(inputs, 0, np.int64)
    return {"idx": first + slots.rows, "slot": slots.slots.astype(np.int32), "tensor_id": ids}


def _output_columns(
    rows: Sequence[Row], records: Sequence[Message], registry: Registry, first: int
) -> dict[str, Array]:
    known_ids = [record.output_tensor_ids for record in records]
    known_devices = [record.output_tensor_device_ids for record in records]
    values = [record.tensor_protos for record in records]
    slots = _slots_of(known_ids, known_devices, values)
    ids, has_id = slots.filled(known_ids, 0, np.int64)
    devices, _ = slots.filled(known_devices, -1, np.int64)
    protos = slots.filled(values, None, object)[0].tolist()
    modes = np.array([record.tensor_debug_mode for record in records], np.int64)[slots.rows].tolist()
    columns = _summary_columns(tensors.summarize(modes, protos, registry.shape).columns)
    columns["tensor_id"] = ids if has_id.all() else np.ma.array(ids, mask=~has_id)
    columns["device_id"] = devices.clip(-1, _INT32_MAX).astype(np.int32)
    columns["idx"], columns["slot"] = first + slots.rows, slots.slots.astype(np.int32)
    columns["host"] = np.array([row.host for row in rows], np.int32)[slots.rows]
    # An empty TensorProto is the placeholder of an output that is not watched.
    columns["has_value"] = np.array([proto is not None and bool(proto.dtype) for proto in protos], bool)
    return columns
