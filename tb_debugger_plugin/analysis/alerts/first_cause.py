"""The alert from which the others most likely follow: that of the first origin of the run.

Invariant: a run whose bad values are all expected has no first cause.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.origins.origin import Link, Origin
from tb_debugger_plugin.analysis.origins.origins import origins
from tb_debugger_plugin.analysis.snapshot import Snapshot


def first_cause(snapshot: Snapshot, index: npt.NDArray[np.int64], slot: npt.NDArray[np.int64]) -> int | None:
    """Return the position of the first cause among some alerts.

    Args:
      snapshot: The run.
      index: Position of the value of each alert in its list.
      slot: Output slot of an execution; -1 for a graph execution.
    """
    keys = [key for origin in wrong_origins(snapshot) for key in _keys(origin)]
    # Of millions of alerts, only those of the chains are made Python objects.
    rows = np.flatnonzero(np.isin(index, [position for position, _ in keys]))
    named = zip(index[rows].tolist(), slot[rows].tolist(), strict=True)
    positions = dict(zip(named, rows.tolist(), strict=True))
    return next((positions[key] for key in keys if key in positions), None)


def wrong_origins(snapshot: Snapshot) -> list[Origin]:
    """Return the origins of a run that are not expected, the most important first."""
    return [origin for origin in origins(snapshot) if origin.category != "expected"]


def is_at(origin: Origin, index: int, slot: int) -> bool:
    """Whether the value of an alert is where an origin was born; an assignment has no value of its own."""
    return _key(origin) == (index, slot)


def _keys(origin: Origin) -> list[tuple[int, int]]:
    """Return the values of an origin and of its chain, the birth first: an assignment has no value."""
    return [_key(origin), *map(_key, reversed(origin.chain))]


def _key(value: Origin | Link) -> tuple[int, int]:
    if value.graph_execution_index is not None:
        return value.graph_execution_index, -1
    if value.op_name is not None or value.execution_index is None:
        return -1, -1
    return value.execution_index, value.output_slot
