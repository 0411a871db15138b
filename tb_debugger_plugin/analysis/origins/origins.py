"""The origins of the bad values of a run, the most important first.

Takes a run; walks from the bad values that matter back to where they were born, and puts what was born there
into words. Values that were born and matter to nobody are expected.

Invariant: the work does not grow with the number of bad values, only with those of ops and of calls.
"""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.origins import op_kinds
from tb_debugger_plugin.analysis.origins.births import Birth, Births
from tb_debugger_plugin.analysis.origins.feeds import Feeds
from tb_debugger_plugin.analysis.origins.lines import Lines
from tb_debugger_plugin.analysis.origins.origin import RANKS, Category, Origin
from tb_debugger_plugin.analysis.origins.sinks import Sink, Sinks
from tb_debugger_plugin.analysis.origins.telling import Telling
from tb_debugger_plugin.analysis.origins.values import BadKind, Value
from tb_debugger_plugin.analysis.snapshot import Snapshot

_MAX_SINKS: Final = 96
_MAX_ORIGINS: Final = 64
_MAX_EXPECTED: Final = 16


def origins(snapshot: Snapshot) -> list[Origin]:
    """Returns where the bad values of a run come from.

    Args:
      snapshot: The run.

    Returns:
      What is to be mended first; what is expected comes last.
    """
    return snapshot.remember("origins", lambda: _find(snapshot))


def _find(snapshot: Snapshot) -> list[Origin]:
    feeds = Feeds(snapshot)
    sinks = Sinks(feeds)
    if not sinks.firsts and not sinks.eager_seeds():
        return []
    search = _Search(feeds, sinks)
    found = search.run()
    telling = Telling(feeds, Lines(feeds))
    told = [telling.origin(birth, category, sink) for birth, category, sink in found]
    return sorted(told, key=lambda origin: RANKS[origin.category])


_Found = "tuple[Birth, Category, Sink | None]"


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
                self._add(birth, self._category(birth, sink), sink)
        self._add_expected()
        order = {"origin": 0, "came_in": 0, "propagated": 1, "expected": 2}
        return sorted(
            self._found.values(),
            key=lambda each: (order[each[1]], each[2] is not None and each[2].why == "weak"),
        )

    def _has_origin(self) -> bool:
        return any(category != "expected" for _, category, _ in self._found.values())

    def _category(self, birth: Birth, sink: Sink) -> Category:
        value = birth.value
        brought = bool(value.outside) or op_kinds.brings_in(self._feeds.op_type(value)) is not None
        if birth.meant and birth.kind != "nan":
            return "expected"
        if value.outside == "a variable":
            return "propagated" if self._is_cut() else "came_in"
        return "came_in" if brought else "origin"

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
