"""Records several small tensors by one watch op: most tensors of optimizers are small, and there are many.

TensorFlow goes through a graph some twenty times to optimize it, so each watch op makes the first call
slower. Takes the plan for a function and returns one in which some tensors are recorded by the watch op of
another tensor.

Invariant: the watch op of tensor B records tensor A only if everything computed from A is computed element by
element, which never fails, and only for B. So A is recorded before what was computed from it, and is not lost
when the program fails there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeAlias

from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.plan.attachment import REUSES_INPUT_BUFFER, Attachment, size_of
from tb_debugger_plugin.capture.plan.plan import Plan, Planned
from tb_debugger_plugin.capture.tf_types import TfTensor

#: Most elements of a coalesced tensor: its memory is kept until the last tensor of its watch op is computed.
_SMALL = 1 << 12
#: Most tensors that one watch op records.
_MOST = 16

_Key: TypeAlias = tuple[str, int]


def coalesce(function: Function, plan: Plan) -> Plan:
    """Coalesce small tensors with the tensor that they are computed for.

    Args:
      function: A function with a complete graph.
      plan: The tensors to watch in it.
    """
    ends = _ends(plan, results=set(map(id, function.result_tensors())))
    coalesced: dict[_Key, list[Planned]] = {}
    own = []
    for item in plan.tensors:
        key = _key(item)
        if ends.get(key, key) == key:
            own.append(item)
        else:
            coalesced.setdefault(ends[key], []).append(item)
    tensors = [replace(item, coalesced=tuple(coalesced.get(_key(item), ()))) for item in own]
    return replace(plan, tensors=tuple(tensors))


def _ends(plan: Plan, results: Collection[int]) -> dict[_Key, _Key]:
    """For each tensor, the tensor whose watch op records it: itself or a later one."""
    ends: dict[_Key, _Key] = {}
    items: dict[_Key, Planned] = {}
    recorded: Counter[_Key] = Counter()
    # Backwards: what is computed from a tensor comes after it.
    for item in reversed(plan.tensors):
        if item.attachment not in (Attachment.INLINE, Attachment.BESIDE):
            continue
        key = end = _key(item)
        if id(item.tensor) not in results and _can_be_coalesced(item):
            later = _only_end(item.tensor, ends)
            if later is not None and recorded[later] < _MOST and _is_alike(item, items[later]):
                end = later
        items[key] = item
        ends[key] = end
        recorded[end] += 1
    return ends


def _key(item: Planned) -> _Key:
    return item.op.name, item.slot


def _can_be_coalesced(item: Planned) -> bool:
    # A tensor that is watched beside is large, or has integers.
    is_alone = item.is_isolated or item.same
    return item.attachment is Attachment.INLINE and not is_alone and 0 < size_of(item.tensor) <= _SMALL


def _only_end(tensor: TfTensor, ends: Mapping[_Key, _Key]) -> _Key | None:
    """Return the only tensor whose watch op records all that is computed from a tensor, or None."""
    users = tensor.consumers()
    if any(user.type not in REUSES_INPUT_BUFFER for user in users):
        return None
    user_ends = {ends.get((user.name, 0)) for user in users}
    return user_ends.pop() if len(user_ends) == 1 else None


def _is_alike(item: Planned, end: Planned) -> bool:
    if end.is_isolated:
        return False
    return bool(item.tensor.dtype == end.tensor.dtype and item.op.device == end.op.device)
