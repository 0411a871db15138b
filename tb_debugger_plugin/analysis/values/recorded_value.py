"""One recorded value: what is known of it, and its elements.

Takes a position in one of the long lists, or the name of a tensor. Returns a :class:`RecordedValue`, which
says whether its elements are kept, and reads them.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Final, TypedDict

from tb_debugger_plugin.analysis.names import positions_of, sites_named
from tb_debugger_plugin.analysis.snapshot import Json, Snapshot, check_index
from tb_debugger_plugin.analysis.values import health
from tb_debugger_plugin.analysis.values.bad_element import FirstBadElement, bad_element_at
from tb_debugger_plugin.analysis.values.nearest_value import trace_row
from tb_debugger_plugin.errors import BadQueryError, FormatError, NotFoundError, UsageError
from tb_debugger_plugin.events.dtypes import dtype_name, numpy_dtype
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.modes import TensorDebugMode, mode_name
from tb_debugger_plugin.expressions.names import TensorName, nth, only_slot, parse_tensor_name
from tb_debugger_plugin.index.dumps.dump_places import dump_of, not_dumped, open_dump
from tb_debugger_plugin.index.runs import RunKind
from tb_debugger_plugin.index.stored_tensor import StoredElements
from tb_debugger_plugin.index.value_places import RecordPlace, open_elements, read_place
from tb_debugger_plugin.index.values import MAX_SIZE


class ValueFactsJson(TypedDict):
    """A value without its elements."""

    graph_execution: int | None  #: position in one of the lists; null in the other
    execution: int | None
    slot: int  #: number of the output
    name: str  #: op and slot
    op_type: str | None  #: op type, or name of the function; null when not known
    op_name: str | None  #: op, graph and name of the graph; null for an eager op
    graph_id: str | None
    function: str | None
    wall_time: float  #: seconds since the epoch
    dtype: str | None  #: null when not known
    shape: list[int] | None
    size: int | None
    bytes: int | None
    is_kept: bool  #: whether the recording holds the elements
    reason: str | None  #: why it does not, in a sentence; null when it does
    health: Annotated[Json, health.HealthJson] | None  #: [Health](#health); null when nothing is recorded
    element: Annotated[Json, FirstBadElement] | None  #: where it is bad; null when that is not known


@dataclass(frozen=True)
class RecordedValue:
    """A tensor at one time.

    Attributes:
      snapshot: The run.
      index: The position in its list.
      slot: The number of the output.
      is_execution: Whether the list is that of executions.
      wall_time: Seconds since the epoch.
      host: The number of the host.
      op_type: The type of the op, or the name of the function.
      op_name: The name of the op in its graph; None for an execution.
      graph: The number of the graph; -1 for an eager op.
      place: Where the record is; in a run of dumps, the file.
      row: The columns of its summary.
      is_measured: Whether there is anything about the output in the record.
      bad_element: Where it is bad; None when that is not known.
    """

    snapshot: Snapshot
    index: int
    slot: int
    is_execution: bool
    wall_time: float
    host: int
    op_type: str | None
    op_name: str | None
    graph: int
    place: RecordPlace | Location
    row: Json
    is_measured: bool
    bad_element: FirstBadElement | None

    @property
    def name(self) -> str:
        """The op and the slot, such as ``Log:0``."""
        return f"{self.op_name or self.op_type}:{self.slot}"

    @property
    def is_kept(self) -> bool:
        """Whether the record holds the elements."""
        return self.is_measured and self.row["mode"] == TensorDebugMode.FULL_TENSOR and not self.is_in_tables

    @property
    def is_in_tables(self) -> bool:
        """Whether the run is a folder of tables, which hold no values."""
        return self._kind is RunKind.TABLES

    @property
    def _kind(self) -> RunKind:
        return self.snapshot.loader.run.kind

    @property
    def shape(self) -> list[int] | None:
        """The shape; None when it is not known."""
        dims = self.snapshot.catalog.dims(self.row["shape"])
        known = [dim for dim in dims or () if dim is not None]
        return known if dims is not None and len(known) == len(dims) else None

    @property
    def reason(self) -> str | None:
        """Why the elements are not kept, in one sentence; None when they are."""
        if self.is_kept:
            return None
        if self.is_in_tables:
            return "This run is a folder of tables, which hold no values: open the event files instead."
        if not self.is_measured:
            return "Nothing is recorded of this output."
        if self._kind is RunKind.DUMPS:
            return self._not_dumped
        left_out = self._left_out_bytes()
        if left_out:
            return (
                f"The value has {left_out:,} bytes, which is more than the recording keeps"
                " (max_tensor_bytes, max_total_bytes); it holds a summary instead."
            )
        mode = mode_name(self.row["mode"])
        return (
            f"The recording holds the summary of mode {mode}, but not the value: record with keep_values=...,"
            ' or in mode "FULL_TENSOR".'
        )

    def _left_out_bytes(self) -> int:
        if not isinstance(self.place, RecordPlace):
            return 0
        try:
            return read_place(self.snapshot.loader.run.file_sets[self.host], self.place).left_out_bytes
        except (FormatError, OSError):
            return 0

    @property
    def _not_dumped(self) -> str:
        if dtype_name(self.row["dtype"]) is None:
            return "The file of the dump is damaged or cut off."
        return not_dumped(self.row["dtype"]).reason

    @contextlib.contextmanager
    def elements(self) -> Iterator[StoredElements]:
        """Give the elements, which can be read while the block runs.

        Raises:
          NotFoundError: They are not kept, are cut off or are damaged.
        """
        if not self.is_kept:
            raise NotFoundError(f"{self.name} has no value here. {self.reason}")
        with contextlib.ExitStack() as stack:
            try:
                elements = stack.enter_context(_OPENERS[self._kind](self))
            except (FormatError, OSError) as error:
                raise self._unreadable(error) from error
            try:
                yield elements
            except FormatError as error:
                raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> NotFoundError:
        return NotFoundError(f"The value of {self.name} cannot be read: {error}.")

    def to_json(self) -> Json:
        """Return the value without its elements, as the route ``values/info`` answers."""
        graph = self.snapshot.catalog.graphs[self.graph] if self.graph >= 0 else None
        kind, shape = numpy_dtype(self.row["dtype"]), self.shape
        size = None if shape is None else math.prod(shape)
        if size is not None and size >= MAX_SIZE:
            size = None  # damage: a program has no such tensor, and JSON no such number
        index = None if self.is_execution else self.index
        found = self.bad_element
        return {
            "graph_execution": index,
            "execution": self.index if self.is_execution else None,
            "slot": self.slot,
            "name": self.name,
            "op_type": self.op_type,
            "op_name": self.op_name,
            "graph_id": None if graph is None else graph.graph_id,
            "function": None if graph is None else graph.name,
            "wall_time": self.wall_time,
            "dtype": dtype_name(self.row["dtype"]),
            "shape": shape,
            "size": size,
            "bytes": None if kind is None or size is None else size * kind.itemsize,
            "is_kept": self.is_kept,
            "reason": self.reason,
            "health": health.health(self.snapshot, self.row, index=index, eager=self.is_execution)
            if self.is_measured
            else None,
            "element": None if found is None else found.to_json(),
        }


_Opened = contextlib.AbstractContextManager[StoredElements]


def _open_record(value: RecordedValue) -> _Opened:
    assert isinstance(value.place, RecordPlace)
    return open_elements(value.snapshot.loader.run.file_sets[value.host], value.place)


def _open_dump(value: RecordedValue) -> _Opened:
    assert not isinstance(value.place, RecordPlace)
    return open_dump(value.place)


#: By the kind of the run: opens the elements of a value that is kept.
_OPENERS: Final[dict[RunKind, Callable[[RecordedValue], _Opened]]] = {
    RunKind.EVENTS: _open_record,
    RunKind.DUMPS: _open_dump,
}


def find_value(
    snapshot: Snapshot, *, graph_execution: int | None = None, execution: int | None = None, slot: int = 0
) -> RecordedValue:
    """Return a value.

    Args:
      snapshot: The run.
      graph_execution: Its position in the list of graph executions, or
      execution: its position in the list of executions.
      slot: The number of the output of the execution.

    Raises:
      BadQueryError: Both positions or none are given, or there is no such position.
      NotFoundError: The execution has no such output.
    """
    if (graph_execution is None) == (execution is None):
        raise BadQueryError("Exactly one of the parameters execution and graph_execution is needed.")
    if graph_execution is not None:
        return _of_graph_execution(snapshot, graph_execution)
    assert execution is not None
    return _of_execution(snapshot, execution, slot)


def value_named(
    snapshot: Snapshot, tensor: str, function: str | None, graph_id: str | None, occurrence: int
) -> RecordedValue:
    """Return a value by the name or position that a user types; arguments as for `reading.run.Run.value`."""
    name = parse_tensor_name(tensor)
    if name.is_position:
        place = {"graph_execution": name.graph_execution, "execution": name.execution}
        return find_value(snapshot, **place, slot=name.slot or 0)
    positions = _positions(snapshot, name, function, graph_id)
    return _of_graph_execution(snapshot, positions[nth(occurrence, len(positions), name.text)])


def values_named(
    snapshot: Snapshot, tensor: str, function: str | None, graph_id: str | None
) -> list[RecordedValue]:
    """Return every occurrence of a tensor; arguments as for :func:`value_named`."""
    positions = _positions(snapshot, parse_tensor_name(tensor), function, graph_id)
    return [_of_graph_execution(snapshot, index) for index in positions]


def _positions(snapshot: Snapshot, name: TensorName, function: str | None, graph_id: str | None) -> list[int]:
    if name.slicing:
        raise UsageError(f"{name.text} has a slice, {name.slicing}: take its value, and slice that.")
    sites = sites_named(snapshot, name, function, graph_id)
    only_slot(name, (site.slot for site in sites))
    return positions_of(snapshot, sites)


def _of_graph_execution(snapshot: Snapshot, index: int) -> RecordedValue:
    check_index(index, snapshot.num_graph_executions, "graph execution")
    ((wall_time, number, position, *fields),) = snapshot.rows(
        f"SELECT t.wall_time, t.site, t.position, {health.SELECT} FROM graph_executions t WHERE t.idx = ?",
        [index],
    )
    site = snapshot.catalog.sites[number]
    op, graph_id = snapshot.catalog.ops[site.op], snapshot.catalog.graphs[site.graph].graph_id
    run = snapshot.loader.run
    place: RecordPlace | Location = RecordPlace(GRAPH_EXECUTION_TRACES, position)
    if run.is_of_dumps:
        place = dump_of(snapshot.connection, run.folder, index)
    return RecordedValue(
        *(snapshot, index, site.slot, False, wall_time, site.host, op.type, op.name, site.graph, place),
        trace_row(snapshot, number, fields),
        True,
        bad_element_at(snapshot, site.host, wall_time, (graph_id, op.name), site.slot),
    )


def _of_execution(snapshot: Snapshot, index: int, slot: int) -> RecordedValue:
    check_index(index, snapshot.num_executions, "execution")
    ((host, wall_time, position, op_type, graph, num_outputs),) = snapshot.rows(
        "SELECT e.host, e.wall_time, e.position, o.name, e.graph, e.num_outputs"
        " FROM executions e JOIN op_types o USING (op_type) WHERE e.idx = ?",
        [index],
    )
    rows = snapshot.rows(
        f"SELECT t.has_value, {health.SELECT} FROM execution_outputs t WHERE t.idx = ? AND t.slot = ?",
        [index, slot],
    )
    if not rows:
        raise NotFoundError(f"Execution {index} has no output {slot}; it has {num_outputs} outputs.")
    ((has_value, *fields),) = rows
    place = RecordPlace(EXECUTION, position, slot)
    return RecordedValue(
        *(snapshot, index, slot, True, wall_time, host, op_type, None, graph, place),
        health.as_row(fields),
        has_value,
        bad_element_at(snapshot, host, wall_time, (None, op_type), slot),
    )
