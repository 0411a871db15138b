"""The origins of the bad values of a run, the most important first.

Takes a run; walks from the bad values that matter back to where they were born, and puts what was born there
into words. Values that were born and matter to nobody are expected.

Invariant: the work does not grow with the number of bad values, only with those of ops and of calls.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph.forward_op import forward_op
from tb_debugger_plugin.analysis.lasting import Lasting, lasting, lasting_generation
from tb_debugger_plugin.analysis.origins import op_kinds
from tb_debugger_plugin.analysis.origins.births import Birth, Births
from tb_debugger_plugin.analysis.origins.feeds import Feeds
from tb_debugger_plugin.analysis.origins.lines import Lines
from tb_debugger_plugin.analysis.origins.origin import RANKS, Category, Origin
from tb_debugger_plugin.analysis.origins.sinks import Sink, Sinks
from tb_debugger_plugin.analysis.origins.telling import Telling
from tb_debugger_plugin.analysis.origins.values import BadKind, Value
from tb_debugger_plugin.analysis.snapshot import Snapshot

_NAME: Final = "origins"
_MAX_SINKS: Final = 96
_MAX_ORIGINS: Final = 64
_MAX_EXPECTED: Final = 16


def origins(snapshot: Snapshot) -> list[Origin]:
    """Returns where the bad values of a run come from.

    Args:
      snapshot: The run. If it may lag, the answer may be that of an earlier commit.

    Returns:
      What is to be mended first; what is expected comes last.
    """
    return dated_origins(snapshot).value


def dated_origins(snapshot: Snapshot) -> Lasting[list[Origin]]:
    """Returns the same with the commit that it is true of."""
    return lasting(snapshot, _NAME, lambda: _find(snapshot))


def origins_generation(snapshot: Snapshot) -> int:
    """Returns of which commit the origins are that would be answered now; computes none."""
    return lasting_generation(snapshot, _NAME)


def _find(snapshot: Snapshot) -> list[Origin]:
    feeds = Feeds(snapshot)
    sinks = Sinks(feeds)
    if not sinks.firsts and not sinks.eager_seeds():
        return []
    search = _Search(feeds, sinks)
    found = search.run()
    telling = Telling(feeds, Lines(feeds))
    return [telling.origin(birth, category, sink) for birth, category, sink in found]


class _Search:
    """The walks from all values that matter.

    Args:
      feeds: The values of the run.
      sinks: Those that matter.
    """

    def __init__(self, feeds: Feeds, sinks: Sinks) -> None:
        self._feeds = feeds
        self._sinks = sinks
        self._births = Births(feeds)
        self._found: dict[tuple[object, ...], tuple[Birth, Category, Sink | None]] = {}

    def run(self) -> list[tuple[Birth, Category, Sink | None]]:
        """Births with their categories, the most important first."""
        for sink in self._sinks.all()[:_MAX_SINKS]:
            if sink.why == "weak" and self._has_origin():
                break
            if (sink.value, sink.kind) in self._births.seen or len(self._found) > _MAX_ORIGINS:
                continue
            for birth in self._births.of(sink.value, sink.kind):
                found = self._of_unknown_kind(birth) if sink.kind is None else birth
                self._add(found, self._category(found), sink)
        self._add_expected()
        self._set_back()
        self._bring_forward()
        self._name_forward_ops()
        return sorted(self._found.values(), key=lambda each: self._rank(*each))

    def _set_back(self) -> None:
        """Take births at unmeasured inputs for propagated ones if something else was born before."""
        certain = [self._moment(birth) for birth, category, _ in self._certain()]
        first = min(certain, default=math.inf)
        for key, (birth, category, sink) in list(self._found.items()):
            is_late = not birth.is_certain and self._moment(birth) > first
            if category == "origin" and (is_late or (self._is_opaque(birth) and first < math.inf)):
                self._found[key] = (birth, "propagated", sink)

    def _bring_forward(self) -> None:
        """Take what was born first, before an unexplained value of a variable, for an origin.

        Where no assignment is on record, as in recordings of TensorFlow, nobody knows what reached it.
        """
        unexplained = [
            self._moment(birth)
            for birth, category, _ in self._found.values()
            if category == "came_in" and birth.value.outside == "a variable"
        ]
        before = min(unexplained, default=-math.inf)
        earlier = [
            (self._moment(birth), self._time(birth), key)
            for key, (birth, category, _) in self._found.items()
            if category == "expected" and not birth.meant and not self._is_opaque(birth)
        ]
        first = min(earlier, key=lambda each: each[:2], default=None)
        if first is not None and first[0] < before:
            birth, _, sink = self._found[first[2]]
            self._found[first[2]] = (birth._replace(is_certain=False), "origin", sink)

    def _name_forward_ops(self) -> None:
        """Take what was born in an op for an origin if something was born in its gradient, which matters."""
        gradients = [
            forward_op(self._feeds.snapshot, op)
            for birth, category, _ in self._found.values()
            if category == "origin" and (op := self._feeds.op_of(birth.value)) is not None
        ]
        for key, (birth, category, sink) in list(self._found.items()):
            op = self._feeds.op_of(birth.value)
            if category == "expected" and not birth.meant and op is not None and op in gradients:
                self._found[key] = (birth, "origin", sink)

    def _is_opaque(self, birth: Birth) -> bool:
        """Whether the op only passes values on: what made this one is not on record."""
        value = birth.value
        if value.execution >= 0:
            return self._feeds.eager.execution(value.execution).is_function
        op = self._feeds.op_of(value)
        return op is not None and (
            op.type in op_kinds.COPIES or bool(self._feeds.structure.called(op.number))
        )

    def _certain(self) -> Iterator[tuple[Birth, Category, Sink | None]]:
        for each in self._found.values():
            is_known = each[0].is_certain and not self._is_opaque(each[0])
            if each[1] in ("origin", "came_in") and is_known:
                yield each

    def _rank(self, birth: Birth, category: Category, sink: Sink | None) -> tuple[float, ...]:
        """The order: what is wrong, what matters most, the earliest call, forward before backward."""
        op = self._feeds.op_of(birth.value)
        return (
            RANKS[category],
            sink is not None and sink.why == "weak" and not self._has_gradient(op),
            max(self._moment(birth), self._moment_of_forward(op)),
            op is not None and self._feeds.structure.is_backward(op),
            self._time(birth),
        )

    def _has_gradient(self, op: Op | None) -> bool:
        """Whether something was born in the gradient of an op, too."""
        others = (self._feeds.op_of(birth.value) for birth, _, _ in self._found.values())
        return op is not None and any(
            other is not None and forward_op(self._feeds.snapshot, other) == op for other in others
        )

    def _moment_of_forward(self, op: Op | None) -> float:
        """The moment of the forward op of an op of a gradient, if something was born there, too."""
        forward = None if op is None else forward_op(self._feeds.snapshot, op)
        moments = [
            self._moment(birth)
            for birth, category, _ in self._found.values()
            if forward is not None and category == "origin" and self._feeds.op_of(birth.value) == forward
        ]
        return min(moments, default=-math.inf)

    def _moment(self, birth: Birth) -> float:
        """When the call in which a value was born returned, or when it was born in one that did not."""
        value = self._of_time(birth)
        near = value.trace if value.trace >= 0 else value.near
        owner = self._feeds.traces.window(near).owner if near >= 0 else None
        return self._time(birth) if owner is None else self._feeds.eager.execution(owner).time

    def _time(self, birth: Birth) -> float:
        return self._feeds.time(self._of_time(birth))

    def _of_time(self, birth: Birth) -> Value:
        """The value itself, or for what came from outside the one that it came in by."""
        chain = birth.chain()
        return chain[-2][0][0] if birth.value.outside and len(chain) > 1 else birth.value

    def _has_origin(self) -> bool:
        return any(category != "expected" for _, category, _ in self._found.values())

    def _of_unknown_kind(self, birth: Birth) -> Birth:
        """The op that may have made NaN of a constant infinity, where the mode tells no kinds apart."""
        if not birth.meant or birth.value.outside or birth.kind != "inf":
            return birth
        for (value, _), _ in birth.chain()[::-1]:
            if self._feeds.op_type(value) in op_kinds.NAN_OF_INF and not value.outside:
                return birth._replace(value=value, kind="nan", meant=False, is_certain=False)
        return birth

    def _category(self, birth: Birth) -> Category:
        value = birth.value
        brought = bool(value.outside) or op_kinds.brings_in(self._feeds.op_type(value)) is not None
        is_passed_in = bool(value.outside) and not self._is_initial(birth)
        if birth.meant and birth.kind != "nan" and not (birth.kind is None and is_passed_in):
            return "expected"
        if value.outside == "a variable":
            return "propagated" if self._is_cut() else "came_in"
        return "came_in" if brought else "origin"

    def _is_initial(self, birth: Birth) -> bool:
        """Whether a value from outside is what a variable began with."""
        if birth.value.outside == "a variable":
            return True
        return op_kinds.is_assignment(self._feeds.op_type(self._of_time(birth)))

    def _is_cut(self) -> bool:
        rows = self._feeds.snapshot.rows("SELECT max(circular_buffer_size) FROM hosts")
        return bool(rows[0][0])

    def _add(self, birth: Birth, category: Category, sink: Sink | None) -> None:
        key = self._key(birth)
        known = self._found.get(key)
        if known is None or RANKS[category] < RANKS[known[1]]:
            self._found[key] = (birth, category, sink)

    def _key(self, birth: Birth) -> tuple[object, ...]:
        value = birth.value
        if value.outside:
            chain = birth.chain()
            return (value.outside, self._what(chain[-2][0][0]) if len(chain) > 1 else None)
        return (self._what(value), birth.kind)

    def _what(self, value: Value) -> tuple[object, ...]:
        if value.execution >= 0:
            execution = self._feeds.eager.execution(value.execution)
            return (execution.op_type, execution.stack)
        op = self._feeds.op_of(value)
        return (value.outside,) if op is None else (op.number,)

    def _add_expected(self) -> None:
        left = _MAX_EXPECTED
        for value, kind in [*self._sinks.seeds(), *self._sinks.eager_seeds()]:
            if left <= 0:
                return
            if self._is_seen(value, kind):
                continue
            for birth in self._births.of(value, kind):
                if self._key(birth) not in self._found:
                    self._add(birth, "expected", None)
                    left -= 1

    def _is_seen(self, value: Value, kind: BadKind | None) -> bool:
        return (value, kind) in self._births.seen
