"""In which order the tensors of a graph are recorded: none before what it was computed from.

A watch op in line takes care of that by itself. One beside runs when TensorFlow finds the time, and in the
meantime what is computed from its tensor might be recorded: the first NaN on record would not be the first.
In come the planned tensors; out comes who waits for whom. Only watch ops wait, and calls of functions: what
the program computes between them does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tb_debugger_plugin.capture.functions.called import function_attributes
from tb_debugger_plugin.capture.watching.attachment import Attachment
from tb_debugger_plugin.capture.watching.plan import Planned

#: In TF1-style loops and branches some inputs never come, and what waits for them never runs.
_STEERS = frozenset(("Enter", "Exit", "Merge", "NextIteration", "Switch", "RefSwitch", "RefMerge"))


def waits(planned: Sequence[Planned], name_of: Callable[[Planned], str]) -> dict[str, list[str]]:
    """The watch ops that others wait for, by the name of who waits: a watch op, or a call.

    Args:
      planned: The tensors of one graph.
      name_of: Names the watch op of one of them.
    """
    if not any(map(_is_late, planned)):
        return {}
    items = {
        (item.op.name, item.slot): item for item in planned if item.attachment is not Attachment.CONSTANT
    }
    pending: dict[tuple[str, int], list[str]] = {}  # by tensor: what its record would come after
    result: dict[str, list[str]] = {}
    for op in planned[0].op.graph.get_operations():
        before = _pending_of_inputs(op, pending)
        if before and function_attributes(op.type):
            result[op.name] = before
            before = []
        for slot in range(len(op.outputs)):
            item = items.get((op.name, slot))
            if item is None:
                pending[op.name, slot] = before
                continue
            if before:
                result[name_of(item)] = before
            pending[op.name, slot] = [name_of(item)] if _is_late(item) else []
    return result


def _is_late(item: Planned) -> bool:
    return item.attachment in (Attachment.BESIDE, Attachment.REDUCED)


def _pending_of_inputs(op: Any, pending: dict[tuple[str, int], list[str]]) -> list[str]:
    if op.type in _STEERS:
        return []
    # The inputs of an op may come from one that is made later, in loops only.
    found = [pending.get((tensor.op.name, tensor.value_index), ()) for tensor in op.inputs]
    return list(dict.fromkeys(name for names in found for name in names))
