"""Lines about values that a debugger changed while the program was stopped at them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.values.changed_values import changed_values
from tb_debugger_plugin.shell.screen import Line, Part, link, plain


def record_changes(changes: Iterable[dict[str, Any]], **record: int) -> list[Line]:
    """Return a line for each change of a record.

    Use::

        record_changes(run.changed_values(), graph_execution=12)
        record_changes(run.changed_values(), execution=5, slot=0)

    Args:
      changes: The changes of the run.
      **record: What the facts of a change are if it is one of the record.
    """
    return [
        plain(f"  changed: the ops after it got {one['expression']}")
        for one in changes
        if all(one[name] == value for name, value in record.items())
    ]


def op_changes(snapshot: Snapshot, op: Op) -> list[Line]:
    """Return a line for each change of a tensor of an op, with a way to the value before."""
    graph_id = snapshot.catalog.graphs[op.graph].graph_id
    return [
        (Part("  Changed: "), _before(one), Part(f" to {one['expression']}"))
        for one in changed_values(snapshot)
        if (one["graph_id"], one["op_name"]) == (graph_id, op.name)
    ]


def _before(one: dict[str, Any]) -> Part:
    name = f"{one['op_name']}:{one['slot']}"
    return Part(name) if one["graph_execution"] is None else link(name, f"pt #{one['graph_execution']}")
