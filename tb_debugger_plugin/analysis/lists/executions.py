"""Pages of the list of executions: what Python ran, op by op.

Takes a range of positions and returns JSON-like values in the shapes of Debugger V2, with our own fields
added.
"""

from __future__ import annotations

from typing import TypedDict

from tb_debugger_plugin.analysis.snapshot import Json, Range, Snapshot, SqlRow, remembered
from tb_debugger_plugin.analysis.source.sources import stacks_of
from tb_debugger_plugin.analysis.values import health
from tb_debugger_plugin.analysis.values.health import HealthJson


class ExecutionDigestJson(TypedDict):
    """An execution in short."""

    wall_time: float  #: seconds since the epoch
    op_type: str  #: type of the op, or name of the function
    output_tensor_device_ids: list[int] | None  #: number of the device of each output; null when not known


class ExecutionInputJson(TypedDict):
    """An input of an execution."""

    tensor_id: int  #: its tensor id
    execution_index: int | None  #: the execution that made it; null when not known
    output_slot: int | None
    op_type: str | None
    debug_tensor_value: list[float | None] | None  #: its summary and [health](#health); null when not known
    health: HealthJson | None


class ExecutionDataJson(ExecutionDigestJson):
    """An execution in full."""

    host_name: str | None  #: name of the host
    stack_frame_ids: list[str]  #: ids of the frames, outermost first
    tensor_debug_mode: int  #: number of the [mode](event-format.md#summaries)
    graph_id: str  #: the graph that ran; empty for an op
    input_tensor_ids: list[int]  #: tensor ids of the inputs
    output_tensor_ids: list[int]  #: tensor ids of the outputs
    #: of each output, its [summary](event-format.md#summaries) or null
    debug_tensor_values: list[list[float | None] | None] | None
    index: int  #: position of the execution
    inputs: list[ExecutionInputJson]  #: the inputs
    outputs: list[HealthJson | None]  #: the [health](#health) of each output slot; null when not measured
    device_names: list[str | None]  #: names of the devices of `output_tensor_device_ids`
    thread_name: str | None  #: the thread that ran it, as Python names it; null when not recorded


def digests(snapshot: Snapshot, page: Range) -> list[Json]:
    """Return the short form of each execution of a page."""
    devices = _output_devices(snapshot, page)
    return [
        {"wall_time": wall_time, "op_type": op_type, "output_tensor_device_ids": devices.get(idx)}
        for idx, wall_time, op_type in snapshot.rows(
            "SELECT e.idx, e.wall_time, o.name FROM executions e JOIN op_types o USING (op_type)"
            " WHERE e.idx >= ? AND e.idx < ? ORDER BY e.idx",
            [page.begin, page.end],
        )
    ]


def _output_devices(snapshot: Snapshot, page: Range) -> dict[int, list[int]]:
    devices: dict[int, list[int]] = {}
    for idx, device in snapshot.rows(
        "SELECT idx, device_id FROM execution_outputs WHERE idx >= ? AND idx < ? AND device_id >= 0"
        " ORDER BY idx, slot",
        [page.begin, page.end],
    ):
        devices.setdefault(idx, []).append(device)
    return devices


def data(snapshot: Snapshot, page: Range) -> list[Json]:
    """Return the long form of each execution of a page."""
    rows = snapshot.rows(
        "SELECT e.idx, e.host, e.wall_time, o.name, e.graph, e.stack, e.mode, e.num_values, e.thread"
        " FROM executions e JOIN op_types o USING (op_type) WHERE e.idx >= ? AND e.idx < ? ORDER BY e.idx",
        [page.begin, page.end],
    )
    stacks = stacks_of(snapshot, [row[5] for row in rows])
    outputs = _outputs(snapshot, page)
    inputs = _inputs(snapshot, page)
    devices, threads = _device_names(snapshot), thread_names(snapshot)
    return [
        {
            **_execution(snapshot, row, stacks, outputs, inputs, devices),
            "thread_name": threads.get((row[1], row[8])),
        }
        for row in rows
    ]


def _execution(
    snapshot: Snapshot,
    row: SqlRow,
    stacks: dict[int, tuple[str | None, list[str]]],
    outputs: dict[int, list[Json]],
    inputs: dict[int, list[Json]],
    devices: dict[tuple[int, int], str],
) -> Json:
    idx, host, wall_time, op_type, graph, stack, mode, num_values, _ = row
    host_name, frames = stacks.get(stack, (snapshot.catalog.host_names[host], []))
    own = outputs.get(idx, [])
    device_ids = [output["device_id"] for output in own if output["device_id"] >= 0]
    own_inputs = inputs.get(idx, [])
    return {
        "index": idx,
        "wall_time": wall_time,
        "op_type": op_type,
        "output_tensor_device_ids": device_ids or None,
        "host_name": host_name,
        "stack_frame_ids": frames,
        "tensor_debug_mode": mode,
        "graph_id": snapshot.catalog.graphs[graph].graph_id if graph >= 0 else "",
        "input_tensor_ids": [tensor["tensor_id"] for tensor in own_inputs],
        "output_tensor_ids": [out["tensor_id"] for out in own if out["tensor_id"] is not None],
        "debug_tensor_values": [
            health.summary_vector(snapshot, output, eager=True) if output["has_value"] else None
            for output in own[:num_values]
        ]
        or None,
        "inputs": own_inputs,
        "outputs": [_health(snapshot, output, output["has_value"]) for output in own],
        "device_names": [devices.get((host, device_id)) for device_id in device_ids],
    }


def _health(snapshot: Snapshot, row: Json, has_value: bool) -> Json | None:
    return health.health(snapshot, row, index=None, eager=True) if has_value else None


def _outputs(snapshot: Snapshot, page: Range) -> dict[int, list[Json]]:
    outputs: dict[int, list[Json]] = {}
    for idx, has_value, *fields in snapshot.rows(
        f"SELECT t.idx, t.has_value, {health.SELECT} FROM execution_outputs t"
        " WHERE t.idx >= ? AND t.idx < ? ORDER BY t.idx, t.slot",
        [page.begin, page.end],
    ):
        outputs.setdefault(idx, []).append({**health.as_row(fields), "has_value": has_value})
    return outputs


def _inputs(snapshot: Snapshot, page: Range) -> dict[int, list[Json]]:
    # A tensor id may be used again, so the maker of an input is the latest execution before this one.
    inputs: dict[int, list[Json]] = {}
    makers = _makers(snapshot, page)
    for idx, slot, tensor_id in snapshot.rows(
        "SELECT idx, slot, tensor_id FROM execution_inputs WHERE idx >= ? AND idx < ? ORDER BY idx, slot",
        [page.begin, page.end],
    ):
        maker = makers.get((idx, slot), _UNKNOWN_MAKER)
        inputs.setdefault(idx, []).append({"tensor_id": tensor_id, **maker})
    return inputs


_UNKNOWN_MAKER: Json = dict.fromkeys(
    ("execution_index", "output_slot", "op_type", "debug_tensor_value", "health")
)


def _makers(snapshot: Snapshot, page: Range) -> dict[tuple[int, int], Json]:
    rows = snapshot.rows(
        "WITH inputs AS (SELECT i.idx AS consumer, i.slot AS input, i.tensor_id, e.host"
        "  FROM execution_inputs i JOIN executions e USING (idx) WHERE i.idx >= ? AND i.idx < ?),"
        " made AS (SELECT w.consumer, w.input, max(o.idx) AS idx FROM inputs w JOIN execution_outputs o"
        "  ON o.tensor_id = w.tensor_id AND o.host = w.host AND o.idx < w.consumer GROUP BY ALL)"
        f" SELECT m.consumer, m.input, t.idx, t.slot, n.name, t.has_value, {health.SELECT}"
        " FROM made m JOIN inputs w ON w.consumer = m.consumer AND w.input = m.input"
        " JOIN execution_outputs t ON t.idx = m.idx AND t.tensor_id = w.tensor_id"
        " JOIN executions e ON e.idx = t.idx JOIN op_types n ON n.op_type = e.op_type ORDER BY t.slot DESC",
        [page.begin, page.end],
    )
    return {
        (consumer, slot): _maker(snapshot, idx, output_slot, op_type, has_value, health.as_row(fields))
        for consumer, slot, idx, output_slot, op_type, has_value, *fields in rows
    }


def _maker(snapshot: Snapshot, idx: int, slot: int, op_type: str, has_value: bool, row: Json) -> Json:
    return {
        "execution_index": idx,
        "output_slot": slot,
        "op_type": op_type,
        "debug_tensor_value": health.summary_vector(snapshot, row, eager=True) if has_value else None,
        "health": _health(snapshot, row, has_value),
    }


@remembered(Snapshot.remember)
def thread_names(snapshot: Snapshot) -> dict[tuple[int, int], str]:
    """Return the names of threads by host and number."""
    return {
        (host, number): name for host, number, name in snapshot.rows("SELECT host, thread, name FROM threads")
    }


def _device_names(snapshot: Snapshot) -> dict[tuple[int, int], str]:
    return {
        (host, number): name
        for host, number, name in snapshot.rows("SELECT host, device_id, name FROM devices")
    }
