"""Orders the records of a graph: a tensor is recorded after the tensors that it was computed from.

An inline watch op is always in order. A watch op beside a tensor may run late, after a tensor that was
computed from its own is recorded: the first NaN on record would not be the first. Takes the planned tensors
and returns which watch ops must wait for others. Only watch ops and calls of functions wait, and, if watch
ops can fail, ops with effects, such as assignments; other ops of the program do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tb_debugger_plugin.capture.graph.called import function_attributes
from tb_debugger_plugin.capture.graph.session_graph import is_reference_read
from tb_debugger_plugin.capture.plan.attachment import Attachment
from tb_debugger_plugin.capture.plan.plan import Planned
from tb_debugger_plugin.capture.tf_types import TfOp

#: Control flow ops of TF1-style loops and branches. In a branch that is not taken, no input arrives, and an
#: op that waits for one does not run.
_CONTROL_FLOW = frozenset(("Enter", "Exit", "Merge", "NextIteration", "Switch", "RefSwitch", "RefMerge"))


def waits(
    planned: Sequence[Planned], name_of: Callable[[Planned], str], *, effects_wait: bool = False
) -> dict[str, list[str]]:
    """Return the names of the watch ops that another op waits for, by its name.

    Args:
      planned: The tensors of one graph.
      name_of: Returns the name of the watch op of a tensor.
      effects_wait: Whether ops with effects wait too, so that they do not run after a watch op that failed.
    """
    if not any(map(_is_late, planned)):
        return {}
    items = {(item.op.name, item.slot): item for item in planned if _takes_part(item)}
    pending: dict[tuple[str, int], list[str]] = {}  # by tensor: the watch ops to wait for
    result: dict[str, list[str]] = {}
    for op in planned[0].op.graph.get_operations():
        before = _pending_of_inputs(op, pending)
        if before and function_attributes(op.type):
            result[op.name] = before
            before = []
        elif before and effects_wait and op.op_def.is_stateful:
            result[op.name] = before
        for slot in range(len(op.outputs)):
            item = items.get((op.name, slot))
            if item is None:
                pending[op.name, slot] = before
                continue
            if before:
                result[name_of(item)] = before
            pending[op.name, slot] = [name_of(item)] if _is_late(item) else []
    return result


def _takes_part(item: Planned) -> bool:
    # A watch op beside the read of a variable may run before everything else: see `RunWatches`.
    is_before = _is_late(item) and is_reference_read(item.op)
    return item.attachment is not Attachment.CONSTANT and not is_before


def _is_late(item: Planned) -> bool:
    return item.attachment in (Attachment.BESIDE, Attachment.REDUCED)


def _pending_of_inputs(op: TfOp, pending: dict[tuple[str, int], list[str]]) -> list[str]:
    if op.type in _CONTROL_FLOW:
        return []
    # Only in loops, an input may come from an op that is made later.
    pending_by_input = [pending.get((tensor.op.name, tensor.value_index), ()) for tensor in op.inputs]
    return list(dict.fromkeys(name for names in pending_by_input for name in names))
