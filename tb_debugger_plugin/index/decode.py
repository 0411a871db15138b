"""Turns decoded records of the two long lists into columns of their tables.

Takes events with their host and returns NumPy columns that can be inserted as they are. The registry numbers
everything that repeats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from tb_debugger_plugin.events.modes import STORED
from tb_debugger_plugin.index import tensors
from tb_debugger_plugin.index.columns import Array, integers, measured
from tb_debugger_plugin.index.registry import Registry
from tb_debugger_plugin.index.traces import TraceRows

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
    event: Any
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
    """Returns columns of ``graph_executions``.

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
    """Returns columns of ``bad_graph_executions``: the positions of the bad rows of ``graph_executions``.

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
    """Returns columns of ``executions``, ``execution_inputs`` and ``execution_outputs``.

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


def _numbered_columns(rows: Sequence[Row], records: Sequence[Any], registry: Registry) -> dict[str, Array]:
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


def _input_columns(records: Sequence[Any], first: int) -> dict[str, Array]:
    rows = [
        (first + row, slot, tensor_id)
        for row, record in enumerate(records)
        for slot, tensor_id in enumerate(record.input_tensor_ids)
    ]
    table = np.array(rows, np.int64).reshape(-1, 3)
    return {"idx": table[:, 0], "slot": table[:, 1].astype(np.int32), "tensor_id": table[:, 2]}


def _output_columns(
    rows: Sequence[Row], records: Sequence[Any], registry: Registry, first: int
) -> dict[str, Array]:
    keys: list[tuple[int, int, int]] = []
    ids: list[int | None] = []
    devices: list[int] = []
    modes: list[int] = []
    protos: list[Any] = []
    for position, (row, record) in enumerate(zip(rows, records, strict=True), start=first):
        known_ids, known_devices = record.output_tensor_ids, record.output_tensor_device_ids
        values = record.tensor_protos
        for slot in range(max(len(known_ids), len(known_devices), len(values))):
            keys.append((position, slot, row.host))
            ids.append(known_ids[slot] if slot < len(known_ids) else None)
            devices.append(known_devices[slot] if slot < len(known_devices) else -1)
            modes.append(record.tensor_debug_mode)
            protos.append(values[slot] if slot < len(values) else None)
    columns = _summary_columns(tensors.summarize(modes, protos, registry.shape).columns)
    key_columns = np.array(keys, np.int64).reshape(-1, 3)
    columns["tensor_id"] = integers(ids)
    columns["device_id"] = np.array(devices, np.int64).clip(-1, _INT32_MAX).astype(np.int32)
    columns["idx"], columns["host"] = key_columns[:, 0], key_columns[:, 2].astype(np.int32)
    columns["slot"] = key_columns[:, 1].astype(np.int32)
    # An empty TensorProto is the placeholder of an output that is not watched.
    columns["has_value"] = np.array([proto is not None and bool(proto.dtype) for proto in protos], bool)
    return columns
