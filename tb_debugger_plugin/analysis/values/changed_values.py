"""Lists the values that a debugger changed while the program was stopped at them.

Takes a run and returns what was changed, with the position of the record that holds the value before. What
the program computed from a changed value is not what it computes by itself.
"""

from __future__ import annotations

import re
from typing import Final, TypedDict

from tb_debugger_plugin.analysis.calls.call_owner import owner_of
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered

#: The last changes; each was made by hand.
MOST: Final = 1000
#: The number in the name of an eager op.
_NUMBER: Final = re.compile(r"_\d+\Z")


class ChangedValueJson(TypedDict):
    """A value that a debugger changed."""

    host: str  #: name of the host
    wall_time: float  #: seconds since the epoch
    graph_id: str | None  #: the graph of the op; null for an eager op
    op_name: str  #: name of the op
    slot: int  #: slot of the tensor
    expression: str  #: what its value was replaced by
    #: position of the record that holds the value before; null when it is not there, or was overwritten
    graph_execution: int | None
    execution: int | None
    owner_execution_index: int | None  #: the Python call that the graph ran in; null when not known


@remembered(Snapshot.remember)
def changed_values(snapshot: Snapshot) -> list[ChangedValueJson]:
    """Return the last changes in the order of time.

    Args:
      snapshot: The run.
    """
    rows = snapshot.rows_of(
        "changed_values",
        "SELECT host, wall_time, graph_id, op_name, slot, expression FROM changed_values"
        " ORDER BY wall_time DESC LIMIT ?",
        [MOST],
    )
    return [_described(snapshot, *row) for row in reversed(rows)]


def _described(
    snapshot: Snapshot, host: int, when: float, graph_id: str | None, name: str, slot: int, expression: str
) -> ChangedValueJson:
    trace = None if graph_id is None else _trace(snapshot, host, when, graph_id, name, slot)
    return {
        "host": snapshot.catalog.host_names[host],
        "wall_time": when,
        "graph_id": graph_id,
        "op_name": name,
        "slot": slot,
        "expression": expression,
        "graph_execution": trace,
        "execution": _execution(snapshot, host, when, name) if graph_id is None else None,
        "owner_execution_index": None if trace is None else owner_of(snapshot, trace),
    }


def _trace(snapshot: Snapshot, host: int, when: float, graph_id: str, name: str, slot: int) -> int | None:
    """Return the last record of the tensor until the change: the thread is held after it was written."""
    index: int | None
    ((index,),) = snapshot.rows(
        "SELECT max(t.idx) FROM graph_executions t JOIN sites s USING (site) JOIN ops o USING (op)"
        " JOIN graphs g ON g.graph = s.graph WHERE s.host = ? AND t.wall_time <= ? AND g.graph_id = ?"
        " AND o.name = ? AND s.slot = ?",
        [host, when, graph_id, name, slot],
    )
    return index


def _execution(snapshot: Snapshot, host: int, when: float, name: str) -> int | None:
    index: int | None
    ((index,),) = snapshot.rows(
        "SELECT max(e.idx) FROM executions e JOIN op_types o USING (op_type)"
        " WHERE e.host = ? AND e.wall_time <= ? AND o.name = ?",
        [host, when, _NUMBER.sub("", name)],
    )
    return index
