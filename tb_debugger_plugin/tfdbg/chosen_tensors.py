"""Leaves out of the recording of a call what the user did not choose: `run --node_name_filter …`.

Everything is recorded, because what is watched cannot change between two calls; this module drops the records
of other tensors from the folder of the call.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from tb_debugger_plugin.events.framing import frame, read_records
from tb_debugger_plugin.events.messages import DebugEvent
from tb_debugger_plugin.index.runs import find_runs
from tb_debugger_plugin.reading.rows import GraphExecution
from tb_debugger_plugin.reading.run import Run
from tb_debugger_plugin.shell.program import RunRequest


class _Tensor(NamedTuple):
    graph_id: str
    op_name: str
    slot: int


def chooses(request: RunRequest) -> bool:
    """Whether a request chooses tensors by names, op types or dtypes."""
    return any((request.node_names, request.op_types, request.dtypes))


def keep_only_chosen(folder: Path, request: RunRequest) -> None:
    """Drop the records of tensors that a request does not choose.

    Args:
      folder: The folder of a call.
      request: All of its filters have to match, from the beginning.

    Raises:
      OSError: A file cannot be read or written.
    """
    chosen = _chosen(folder, request)
    for path in folder.glob("*.graph_execution_traces"):
        records, _ = read_records(path.read_bytes())
        path.write_bytes(b"".join(frame(record) for _, record in records if _tensor_of(record) in chosen))


def _chosen(folder: Path, request: RunRequest) -> set[_Tensor]:
    (found,) = find_runs(folder)
    with Run(found) as run:
        rows = run.graph_executions()
        return {_Tensor(row.graph_id, row.op_name, row.slot) for row in rows if _is_chosen(row, request)}


def _is_chosen(row: GraphExecution, request: RunRequest) -> bool:
    pairs = (
        (request.node_names, row.op_name),
        (request.op_types, row.op_type),
        (request.dtypes, row.dtype),
    )
    return all(pattern is None or re.match(pattern, text or "") for pattern, text in pairs)


def _tensor_of(record: bytes) -> _Tensor:
    trace = DebugEvent.FromString(record).graph_execution_trace
    return _Tensor(trace.tfdbg_context_id, trace.op_name, trace.output_slot)
