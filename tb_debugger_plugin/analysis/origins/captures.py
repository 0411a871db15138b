"""The arguments of a graph in the order in which they are passed, with the constants among them.

A function that uses a small tensor of Python has a Const op with its value, but the tensor is passed in all
the same, between the arguments that have a Placeholder. Which constants these are is not on record: they are
found by what the caller passes in.

Invariant: where nothing is passed in for which there is no Placeholder, the arguments are the Placeholders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from tb_debugger_plugin.analysis.catalog import Op, Static
from tb_debugger_plugin.analysis.snapshot import Snapshot
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
    """Returns the ops that are the arguments of a graph, in order.

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
    """The first op that a tensor fits: the next Placeholder, or a constant before it."""
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
    return tensor.size == _product(known)


def _product(dims: Sequence[int]) -> int:
    size = 1
    for dim in dims:
        size *= dim
    return size


def given_by_python(snapshot: Snapshot, graph: int) -> list[Given]:
    """Returns what the first call from Python passed to a graph; nothing if there was none."""
    rows = snapshot.rows(
        "SELECT t.name, o.has_value, o.size FROM execution_inputs i"
        " LEFT JOIN LATERAL (SELECT m.idx, m.has_value, m.size FROM execution_outputs m"
        "  WHERE m.tensor_id = i.tensor_id AND m.idx < i.idx ORDER BY m.idx DESC LIMIT 1) o ON true"
        " LEFT JOIN executions e ON e.idx = o.idx LEFT JOIN op_types t USING (op_type)"
        " WHERE i.idx = (SELECT min(idx) FROM executions WHERE graph = ?) ORDER BY i.slot",
        [graph],
    )
    return [_of_python(maker, has_value, size) for maker, has_value, size in rows]


def _of_python(maker: str | None, has_value: bool | None, size: float | None) -> Given:
    if maker is None:
        return Given()
    if has_value:
        return Given(False, None if size is None else int(size))
    return Given(True if any(word in maker for word in _HANDLES) else None)
