"""The line of the user's code that a bad value belongs to.

Takes a value. Returns the innermost line of its stack that is not a library's. For an op of a gradient, that
is the line of the forward op, and the line that asked for the gradient comes beside it. For a value that was
fed into a session, it is the line that ran the session.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph.forward_op import differentiated_type
from tb_debugger_plugin.analysis.origins.feeds import Feeds
from tb_debugger_plugin.analysis.origins.values import ValueRef
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.source.user_lines import UserLine, user_line

#: The stack of a run of a session that was fed a tensor, by a time within the run.
_FED: Final = """
SELECT q.stack FROM session_runs r JOIN session_requests q USING (host, request)
WHERE host = $host AND r.begin_time <= $time AND r.end_time >= $time
  AND q.role = 'feed' AND q.name = $name
ORDER BY r.begin_time DESC LIMIT 1
"""
#: Executions before the op of a gradient among which its forward op is searched.
_MAX_BACK: Final = 20_000


@dataclass(frozen=True)
class ValuePlace:
    """Where a value was computed.

    Attributes:
      source: The line; for an op of a gradient, that of the forward op.
      gradient_source: The line that asked for the gradient; None for other ops.
      forward: The forward op in a graph.
    """

    source: UserLine | None = None
    gradient_source: UserLine | None = None
    forward: Op | None = None


class Lines:
    """The lines of a run; lives as long as a search.

    Args:
      feeds: The values of the run.
    """

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = feeds
        self._snapshot: Snapshot = feeds.snapshot

    def place(self, value: ValueRef) -> ValuePlace:
        """Return the lines of a value."""
        if value.execution >= 0:
            return self._of_execution(value.execution)
        op = self._feeds.op_of(value)
        if op is None:
            return ValuePlace()
        place = self.of_op(op)
        owner = self._feeds.call_of(value)
        if owner is None:
            return place
        if place.forward is None and self._feeds.structure.is_backward(op):
            forward = self._forward_outside(op, owner)
            if forward is not None:
                return ValuePlace(forward, place.source)
        # The ops of a function that was loaded have no lines, but its call has.
        return place if place.source is not None else ValuePlace(self._line(self._stack(owner)))

    def of_feed(self, value: ValueRef) -> UserLine | None:
        """Return the line that ran the session into which a value was fed; None when it is not on record."""
        op = self._feeds.op_of(value)
        if op is None:
            return None
        given = {
            "host": self._snapshot.catalog.graphs[op.graph].host,
            "time": self._feeds.time(value),
            "name": f"{op.name}:{self._feeds.slot_of(value)}",
        }
        rows = self._snapshot.rows(_FED, given)
        return self._line(rows[0][0]) if rows else None

    def of_op(self, op: Op) -> ValuePlace:
        """Return the lines of an op of a graph."""
        own = self._line(op.stack)
        forward = self._feeds.structure.forward(op)
        if forward is None:
            return ValuePlace(own)
        return ValuePlace(self._line(forward.stack) or own, own, forward)

    def _forward_outside(self, op: Op, owner: int) -> UserLine | None:
        """Return the line of an eager op whose gradient a function computes, such as that of a Jacobian."""
        name = differentiated_type(self._snapshot, op.stack)
        forward = None if name is None else self._forward_execution(owner, name)
        return None if forward is None else self._line(self._stack(forward))

    def _stack(self, execution: int) -> int:
        return self._feeds.eager.execution(execution).stack

    def _of_execution(self, index: int) -> ValuePlace:
        stack = self._stack(index)
        own = self._line(stack)
        name = differentiated_type(self._snapshot, stack)
        forward = None if name is None else self._forward_execution(index, name)
        if forward is None:
            return ValuePlace(own)
        return ValuePlace(self._line(self._stack(forward)) or own, own)

    def _forward_execution(self, index: int, op_type: str) -> int | None:
        """Return the last execution of a type before another one that has a tensor in common with it."""
        eager = self._feeds.eager
        wanted = set(eager.inputs(index))
        candidates = [
            earlier
            for earlier, name in self._snapshot.rows(
                "SELECT e.idx, t.name FROM executions e JOIN op_types t USING (op_type)"
                " WHERE e.idx < ? AND e.idx >= ? AND starts_with(t.name, ?) ORDER BY e.idx DESC LIMIT 256",
                [index, index - _MAX_BACK, op_type],
            )
        ]
        for earlier in candidates:
            made = {tensor_id for tensor_id, _ in eager.outputs(earlier).values()}
            if wanted & ({*eager.inputs(earlier)} | made):
                return int(earlier)
        return int(candidates[0]) if len(candidates) == 1 else None

    def _line(self, stack: int) -> UserLine | None:
        return user_line(self._snapshot, stack)
