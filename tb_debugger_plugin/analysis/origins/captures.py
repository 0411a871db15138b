"""The arguments of a graph in the order in which they are passed, with the constants among them.

A function that uses a small tensor of Python has a Const op with its value, but the tensor is passed in all
the same, between the arguments that have a Placeholder. Which constants these are is not on record: they are
found by what the caller passes in.

Invariant: where nothing is passed in for which there is no Placeholder, the arguments are the Placeholders.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from tb_debugger_plugin.analysis.catalog import Op, Static
from tb_debugger_plugin.analysis.snapshot import Snapshot, remembered
from tb_debugger_plugin.events.dtypes import dtype_name
from tb_debugger_plugin.events.tensorflow_names import ARGUMENTS

_HANDLES: Final = ("VarHandleOp", "Iterator", "HashTable")


class Given(NamedTuple):
    """What is known of a tensor that is passed in.

    Attributes:
      is_handle: Whether it is the handle of a variable or of another resource; None when that is not known.
      size: Number of elements; None when that is not known.
      static: Its dtype and shape, if an op of a graph passes it.
    """

    is_handle: bool | None = None
    size: int | None = None
    static: Static | None = None


def arguments(snapshot: Snapshot, ops: Sequence[Op], given: Sequence[Given]) -> list[int]:
    """Return the ops that are the arguments of a graph, in order.

    Args:
      snapshot: The run.
      ops: The ops of the graph in the order in which they were made.
      given: What one caller passes in; nothing if there is none on record.
    """
    placeholders = [op.number for op in ops if op.type in ARGUMENTS]
    left = len(given) - len(placeholders)
    if left <= 0:
        return placeholders
    found: list[int] = []
    waiting = [op for op in ops if op.type in ARGUMENTS or op.type == "Const"]
    for tensor in given:
        fitting = _next(snapshot, waiting, tensor, left)
        if fitting is None:
            return placeholders
        op = waiting[fitting]
        found.append(op.number)
        left -= op.type == "Const"
        waiting = waiting[fitting + 1 :]
    return placeholders if left or any(op.type in ARGUMENTS for op in waiting) else found


def _next(snapshot: Snapshot, waiting: Sequence[Op], tensor: Given, left: int) -> int | None:
    """Return the first op that a tensor fits: the next Placeholder, or a constant before it."""
    end = next((i for i, op in enumerate(waiting) if op.type in ARGUMENTS), len(waiting))
    if end < len(waiting) and (not left or _fits(snapshot, waiting[end], tensor)):
        return end
    return next((i for i in range(end) if _fits(snapshot, waiting[i], tensor)), None)


def _fits(snapshot: Snapshot, op: Op, tensor: Given) -> bool:
    own = snapshot.catalog.statics.get((op.number, 0))
    if own is None:
        return True
    if tensor.static is not None:
        # The caller may know more of the shape than the function.
        return own.dtype == tensor.static.dtype and (op.type in ARGUMENTS or own.shape == tensor.static.shape)
    is_handle = dtype_name(own.dtype) in ("resource", "variant")
    if tensor.is_handle is not None and tensor.is_handle != is_handle:
        return False
    dims = snapshot.catalog.dims(own.shape)
    known = [dim for dim in dims or () if dim is not None and dim >= 0]
    if tensor.size is None or dims is None or len(known) < len(dims):
        return True
    return tensor.size == math.prod(known)


def given_by_python(snapshot: Snapshot, graph: int) -> list[Given]:
    """Return what the first call from Python passed to a graph; nothing if there was none."""
    return _all_given(snapshot).get(graph, [])


@remembered(Snapshot.remember)
def _all_given(snapshot: Snapshot) -> dict[int, list[Given]]:
    rows = snapshot.rows(
        "WITH firsts AS (SELECT graph, min(idx) AS idx FROM executions WHERE graph >= 0 GROUP BY graph),"
        " given AS (SELECT f.graph, f.idx, i.slot, i.tensor_id"
        "  FROM firsts f JOIN execution_inputs i USING (idx))"
        " SELECT g.graph, t.name, m.has_value, m.size FROM given g"
        " ASOF LEFT JOIN execution_outputs m ON m.tensor_id = g.tensor_id AND g.idx > m.idx"
        " LEFT JOIN executions e ON e.idx = m.idx LEFT JOIN op_types t ON t.op_type = e.op_type"
        " ORDER BY g.graph, g.slot"
    )
    found: dict[int, list[Given]] = {}
    for graph, *fields in rows:
        found.setdefault(graph, []).append(_of_python(*fields))
    return found


def _of_python(maker: str | None, has_value: bool | None, size: float | None) -> Given:
    if maker is None:
        return Given()
    if has_value:
        return Given(False, None if size is None else int(size))
    return Given(True if any(word in maker for word in _HANDLES) else None)
