"""Rows of the short tables, with a field for each column.

A row of a table that :mod:`tb_debugger_plugin.index.registry` numbers does not hold its number, which is the
table's first column. ``docs/schema.md`` explains the columns.

Invariant: :data:`ROWS` has the class of every short table, and :mod:`tb_debugger_plugin.index.schema` makes
the tables of it.
"""

from __future__ import annotations

import functools
from types import NoneType
from typing import Annotated, Final, NamedTuple, get_args, get_type_hints

# A plain int is an INTEGER.
BigInt = Annotated[int, "i8"]
SmallInt = Annotated[int, "i2"]
TinyInt = Annotated[int, "u1"]

_KINDS: Final[dict[object, str]] = {bool: "?", int: "i4", float: "f8", str: "O"}


@functools.cache
def kinds_of(row_type: type[NamedTuple]) -> dict[str, str]:
    """Return the NumPy dtype of each column; ``"O"`` for strings.

    Args:
      row_type: One of the classes below.
    """
    return {name: _kind(hint) for name, hint in get_type_hints(row_type, include_extras=True).items()}


def _kind(hint: object) -> str:
    if NoneType in get_args(hint):
        (hint,) = (part for part in get_args(hint) if part is not NoneType)
    return str(hint.__metadata__[0]) if hasattr(hint, "__metadata__") else _KINDS[hint]


class FileRow(NamedTuple):
    """A row of ``files``."""

    host: int
    suffix: str
    name: str
    fingerprint: str
    resume: BigInt
    size: BigInt
    state: str
    dropped: BigInt


class HostRow(NamedTuple):
    """A row of ``hosts``."""

    host: int
    name: str
    file_prefix: str
    start_time: float
    tensorflow_version: str = ""
    file_version: str = ""
    recorder_version: str = ""
    mode: TinyInt = 0
    circular_buffer_size: BigInt = 0
    process_id: BigInt = 0
    program: str = ""
    seen_executions: BigInt | None = None
    seen_traces: BigInt | None = None
    finished: bool | None = None
    failure: str = ""


class NoticeRow(NamedTuple):
    """A row of ``notices``."""

    severity: str
    file: str
    position: BigInt | None
    message: str


class SourceRow(NamedTuple):
    """A row of ``sources``."""

    source: int
    host: int
    file_index: int
    host_name: str
    path: str
    num_lines: int
    origin: TinyInt


class SourceLineRow(NamedTuple):
    """A row of ``source_lines``."""

    source: int
    line: int
    text: str


class NotRecordedRow(NamedTuple):
    """A row of ``not_recorded``."""

    host: int
    reason: str
    name: str | None
    message: str
    graph_id: str | None


class ChangedValueRow(NamedTuple):
    """A row of ``changed_values``."""

    host: int
    wall_time: float
    graph_id: str | None
    op_name: str
    slot: int
    expression: str


class BadElementRow(NamedTuple):
    """A row of ``bad_elements``."""

    host: int
    wall_time: float
    graph_id: str | None
    op_name: str
    slot: int
    element: BigInt
    nan_element: BigInt | None
    shape: int


class FrameRow(NamedTuple):
    """A row of ``frames``."""

    host: int
    frame_id: str
    file_index: int
    line: int
    function: str
    code: str | None


class FrameLineRow(NamedTuple):
    """A row of ``frame_lines``."""

    host: int
    file_index: int
    line: int
    text: str


class DeviceRow(NamedTuple):
    """A row of ``devices``."""

    host: int
    device_id: int
    name: str


class OpOutputRow(NamedTuple):
    """A row of ``op_outputs``."""

    op: int
    slot: int
    tensor_id: BigInt | None
    dtype: TinyInt
    shape: int


class OpGraphRow(NamedTuple):
    """A row of ``op_graphs``."""

    op: int
    position: int
    graph: int


class GradientRow(NamedTuple):
    """A row of ``gradients``."""

    op: int
    slot: int
    variable: str


class LossRow(NamedTuple):
    """A row of ``losses``."""

    op: int
    slot: int


class EdgeRow(NamedTuple):
    """A row of ``edges``."""

    op: int
    input_slot: int
    source_op: int
    source_slot: int


class ControlEdgeRow(NamedTuple):
    """A row of ``control_edges``."""

    op: int
    source_op: int


class OpAttributeRow(NamedTuple):
    """A row of ``op_attributes``."""

    host: int
    attributes: int
    name: str
    value: str


class ThreadRow(NamedTuple):
    """A row of ``threads``."""

    host: int
    thread: int
    name: str


class SessionRequestRow(NamedTuple):
    """A row of ``session_requests``."""

    host: int
    request: int
    role: str
    position: int
    name: str
    dtype: TinyInt
    shape: int
    stack: int


class SessionRunRow(NamedTuple):
    """A row of ``session_runs``."""

    host: int
    session: int
    run: BigInt
    request: int
    thread: int
    begin_time: float
    end_time: float
    error: str | None
    in_ring: bool


class OpTimeRow(NamedTuple):
    """A row of ``op_times``."""

    host: int
    session: int
    run: BigInt
    device: str
    op_name: str
    start: BigInt
    op_start: BigInt
    op_time: BigInt
    all_time: BigInt
    in_ring: bool


class StackRow(NamedTuple):
    """A row of ``stacks``: a frame of a stack."""

    stack: int
    host: int
    host_name: str
    depth: int
    frame_id: str


class DumpCallRow(NamedTuple):
    """A row of ``dump_calls``: a call of ``Session.run`` whose tensors tfdbg v1 dumped."""

    call: int
    folder: str
    fetches: str | None
    feeds: str | None
    core_metadata: str
    settled: bool


class DumpGraphRow(NamedTuple):
    """A row of ``dump_graphs``: the partition graph of a device in a call."""

    call: int
    device: str
    path: str
    graph: int


class DumpFileRow(NamedTuple):
    """A row of ``dump_files``: a dump."""

    file: BigInt
    call: int
    path: str
    watch_key: str
    device: str
    time: BigInt
    bytes: BigInt
    idx: BigInt | None


class GraphRow(NamedTuple):
    """A row of ``graphs``, without its number; ``known`` says whether the graph was described."""

    host: int
    graph_id: str
    name: str | None = None
    outer_id: str | None = None
    known: bool = False


class OpRow(NamedTuple):
    """A row of ``ops``, without its number; ``known`` says whether the op was described."""

    graph: int
    name: str
    type: str | None = None
    device: str | None = None
    num_outputs: int | None = None
    wall_time: float | None = None
    stack: int = -1
    layer: str | None = None
    variable: str | None = None
    attributes: int = 0
    known: bool = False


class SiteRow(NamedTuple):
    """A row of ``sites``, without its number."""

    op: int
    graph: int
    host: int
    slot: int
    device: str | None


class OpTypeRow(NamedTuple):
    """A row of ``op_types``, without its number."""

    name: str
    is_function: bool


class ShapeRow(NamedTuple):
    """A row of ``shapes``, without its number."""

    text: str
    rank: SmallInt


#: The class of the rows of each short table.
ROWS: Final[dict[str, type[NamedTuple]]] = {
    "files": FileRow,
    "hosts": HostRow,
    "notices": NoticeRow,
    "not_recorded": NotRecordedRow,
    "changed_values": ChangedValueRow,
    "bad_elements": BadElementRow,
    "sources": SourceRow,
    "source_lines": SourceLineRow,
    "frames": FrameRow,
    "frame_lines": FrameLineRow,
    "stacks": StackRow,
    "devices": DeviceRow,
    "threads": ThreadRow,
    "graphs": GraphRow,
    "ops": OpRow,
    "op_outputs": OpOutputRow,
    "op_graphs": OpGraphRow,
    "gradients": GradientRow,
    "losses": LossRow,
    "edges": EdgeRow,
    "control_edges": ControlEdgeRow,
    "op_attributes": OpAttributeRow,
    "dump_calls": DumpCallRow,
    "dump_graphs": DumpGraphRow,
    "dump_files": DumpFileRow,
    "sites": SiteRow,
    "op_types": OpTypeRow,
    "shapes": ShapeRow,
    "session_requests": SessionRequestRow,
    "session_runs": SessionRunRow,
    "op_times": OpTimeRow,
}
#: The numbered tables: the column before those of the row.
NUMBERS: Final = {"graphs": "graph", "ops": "op", "sites": "site", "op_types": "op_type", "shapes": "shape"}
