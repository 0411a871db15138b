"""Small tensors that one watch op records: in optimizers most tensors are small, and there are many.

TensorFlow goes some twenty times through a graph to optimize it, so each watch op costs in the first call,
whatever it does. In comes the plan for a function; out comes one in which some tensors stand before
others, whose watch ops record them.

Rule: a tensor is recorded by the op of another one only when all that is computed from it is computed for
that one, element by element, which never fails. So none is recorded behind what was computed from it, nor
lost when the program fails at what was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TypeAlias

import tensorflow as tf

from tb_debugger_plugin.capture.functions.function import Function
from tb_debugger_plugin.capture.watching.attachment import TAKES_BUFFERS_OVER, Attachment, size_of
from tb_debugger_plugin.capture.watching.plan import Plan, Planned

#: Tensors of more elements have a watch op of their own: others live until the last of their op is computed.
_SMALL = 1 << 12
#: So many one watch op records at most.
_MOST = 16

_Key: TypeAlias = tuple[str, int]


def coalesce(function: Function, plan: Plan) -> Plan:
    """Let small tensors be recorded by the watch op of what they are computed for.

    Args:
      function: Whose graph is complete.
      plan: What to watch in it.
    """
    ends = _ends(plan, results=set(map(id, function.result_tensors())))
    before: dict[_Key, list[Planned]] = {}
    own = []
    for item in plan.tensors:
        key = _key(item)
        if ends.get(key, key) == key:
            own.append(item)
        else:
            before.setdefault(ends[key], []).append(item)
    return replace(
        plan, tensors=tuple([replace(item, before=tuple(before.get(_key(item), ()))) for item in own])
    )


def _ends(plan: Plan, results: Collection[int]) -> dict[_Key, _Key]:
    """Whose watch op records each tensor, its own or another one's."""
    ends: dict[_Key, _Key] = {}
    items: dict[_Key, Planned] = {}
    recorded: Counter[_Key] = Counter()
    # Backwards: what is computed from a tensor comes behind it.
    for item in reversed(plan.tensors):
        if item.attachment not in (Attachment.INLINE, Attachment.BESIDE):
            continue
        key = end = _key(item)
        if id(item.tensor) not in results and _can_wait(item):
            later = _only_end(item.tensor, ends)
            if later is not None and recorded[later] < _MOST and _is_alike(item, items[later]):
                end = later
        items[key] = item
        ends[key] = end
        recorded[end] += 1
    return ends


def _key(item: Planned) -> _Key:
    return item.op.name, item.slot


def _can_wait(item: Planned) -> bool:
    # One beside is large, or no number.
    return item.attachment is Attachment.INLINE and not item.same and 0 < size_of(item.tensor) <= _SMALL


def _only_end(tensor: tf.Tensor, ends: Mapping[_Key, _Key]) -> _Key | None:
    """Whose watch op records all that is computed from a tensor; None when that is more than one, or none."""
    users = tensor.consumers()
    if any(user.type not in TAKES_BUFFERS_OVER for user in users):
        return None
    found = {ends.get((user.name, 0)) for user in users}
    return found.pop() if len(found) == 1 else None


def _is_alike(item: Planned, end: Planned) -> bool:
    return bool(item.tensor.dtype == end.tensor.dtype and item.op.device == end.op.device)
