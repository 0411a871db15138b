"""Finds where a recorded tensor is bad: the indices of its first NaN or infinity, as the recorder noted them.

Takes a value on record. The recorder notes the first infinite tensor, and the first one with NaN, of each
output of each op; of other tensors, and of those whose elements it never had at hand, nothing is known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tb_debugger_plugin.analysis.snapshot import JsonObject, Snapshot, remembered

#: Host, time, graph (None for an eager op), op and slot of a record.
_Key: TypeAlias = tuple[int, float, str | None, str, int]
#: Positions of its first bad element and of its first NaN, and the number of its shape.
_Place: TypeAlias = tuple[int, "int | None", int]


@dataclass(frozen=True)
class FirstBadElement(JsonObject):
    """Where a tensor is bad.

    Attributes:
      element: Position of its first NaN or infinity, in row-major order.
      nan_element: Position of its first NaN; None when it has none.
      shape: Its shape; None when it is not known.
      index: The indices of its first NaN or infinity; None when the shape is not known.
      nan_index: Those of its first NaN.
    """

    MEMBERS = "element nan_element shape index nan_index words"

    element: int
    nan_element: int | None
    shape: list[int] | None
    index: list[int] | None
    nan_index: list[int] | None

    @property
    def words(self) -> str:
        """The sentence: "Its first bad element is [5, 3] of [32, 10]."; empty for the only element."""
        if self.shape is None or self.index is None:
            return f"Its first bad element is number {self.element:,}, counted from 0."
        if math.prod(self.shape) == 1:
            return ""
        is_nan_later = self.nan_index is not None and self.nan_index != self.index
        nan = f", its first NaN {self.nan_index}" if is_nan_later else ""
        return f"Its first bad element is {self.index} of {self.shape}{nan}."


def bad_element_of_trace(snapshot: Snapshot, index: int) -> FirstBadElement | None:
    """Return where the tensor of a graph execution is bad; None when that is not known.

    Args:
      snapshot: The run.
      index: Its position in the list.
    """
    query = "SELECT wall_time, site FROM graph_executions WHERE idx = ?"
    rows = _places(snapshot) and snapshot.rows(query, [index])
    if not rows:
        return None
    ((when, number),) = rows
    site = snapshot.catalog.sites[number]
    graph_id, op_name = snapshot.catalog.graphs[site.graph].graph_id, snapshot.catalog.ops[site.op].name
    return bad_element_at(snapshot, site.host, when, (graph_id, op_name), site.slot)


def bad_element_of_execution(snapshot: Snapshot, index: int, slot: int) -> FirstBadElement | None:
    """Return the same for an output of an execution.

    Args:
      snapshot: The run.
      index: The position of the execution in the list.
      slot: The output.
    """
    query = "SELECT host, wall_time, name FROM executions JOIN op_types USING (op_type) WHERE idx = ?"
    rows = _places(snapshot) and snapshot.rows(query, [index])
    if not rows:
        return None
    ((host, when, name),) = rows
    return bad_element_at(snapshot, host, when, (None, name), slot)


@remembered(lambda snapshot, name, make: snapshot.remember_of(["bad_elements"], name, make))
def _places(snapshot: Snapshot) -> dict[_Key, _Place]:
    rows = snapshot.rows(
        "SELECT host, wall_time, graph_id, op_name, slot, element, nan_element, shape FROM bad_elements"
    )
    return {(host, when, graph, name, slot): tuple(place) for host, when, graph, name, slot, *place in rows}


def bad_element_at(
    snapshot: Snapshot, host: int, when: float, op: tuple[str | None, str], slot: int
) -> FirstBadElement | None:
    """Return the same for a record.

    Args:
      snapshot: The run.
      host: The number of its host.
      when: Its time.
      op: Id of the graph and name of the op; None and type of an eager op.
      slot: The output.
    """
    place = _places(snapshot).get((host, when, *op, slot))
    if place is None:
        return None
    element, nan_element, shape = place
    dims = _known(snapshot.catalog.dims(shape), element)
    if dims is None:
        return FirstBadElement(element, nan_element, None, None, None)
    nan_index = None if nan_element is None else _index(nan_element, dims)
    return FirstBadElement(element, nan_element, dims, _index(element, dims), nan_index)


def _known(dims: Sequence[int | None] | None, element: int) -> list[int] | None:
    """Return a shape that has an element; None when it is not known, or does not have it."""
    known = [dim for dim in dims or () if dim is not None]
    return known if dims is not None and len(known) == len(dims) and element < math.prod(known) else None


def _index(element: int, dims: Sequence[int]) -> list[int]:
    """Return the indices of an element."""
    index = []
    for dim in reversed(dims):
        element, at = divmod(element, dim)
        index.append(at)
    return index[::-1]
