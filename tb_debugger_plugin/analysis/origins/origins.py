"""The origins of the bad values of a run, the most important first.

Takes a run; walks from the bad values that matter back to where they were born, and puts what was born there
into words. Values that were born and reach nothing that matters are expected if the table of expected values
allows each way in which they ended; otherwise something swallowed them.

Invariant: the work does not grow with the number of bad values, only with those of ops and of calls.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from tb_debugger_plugin.analysis.beside import read_trials
from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.analysis.lasting import Lasting, lasting, lasting_generation
from tb_debugger_plugin.analysis.lists.missing import is_cut
from tb_debugger_plugin.analysis.origins.births import Birth, Births, Node
from tb_debugger_plugin.analysis.origins.feeds import Feeds, feeds_of
from tb_debugger_plugin.analysis.origins.lines import Lines
from tb_debugger_plugin.analysis.origins.origin import RANKS, Category, Origin
from tb_debugger_plugin.analysis.origins.ranking import Found, Ranking
from tb_debugger_plugin.analysis.origins.sinks import BadSink, Sinks
from tb_debugger_plugin.analysis.origins.takers import Takers, Taking
from tb_debugger_plugin.analysis.origins.telling import Telling
from tb_debugger_plugin.analysis.origins.values import BadKind, ValueRef
from tb_debugger_plugin.analysis.snapshot import Snapshot

_NAME: Final = "origins"
_MAX_SINKS: Final = 96
_MAX_ORIGINS: Final = 64
_MAX_EXPECTED: Final = 16
#: Values that took an infinity, of which some may be NaN.
_MAX_TAKERS: Final = 64


#: What a birth is of, and its kind; or what brought it in, and what it came in by.
BirthKey = tuple[Hashable, ...]


@dataclass(frozen=True)
class Answer:
    """The origins of a run, and what was born in each.

    Attributes:
      origins: The most important first.
      births: The position of the origin by the key of a birth; without the kind, or without what it came in
        by, that of the first one of all.
    """

    origins: list[Origin]
    births: Mapping[BirthKey, int]

    def position(self, *keys: BirthKey) -> int | None:
        """Return the position of the origin of the first key that is known; None when none is."""
        return next((self.births[key] for key in keys if key in self.births), None)


def origins(snapshot: Snapshot) -> list[Origin]:
    """Return where the bad values of a run come from.

    Args:
      snapshot: The run. If it may lag, the answer may be that of an earlier commit.

    Returns:
      What is to be mended first; what is expected comes last.
    """
    return with_trials(snapshot, origins_with_births(snapshot).value.origins)


def with_trials(snapshot: Snapshot, found: list[Origin]) -> list[Origin]:
    """Return origins with what was tried since they were found, if anything was."""
    trials = read_trials(snapshot.loader.run) if found else {}
    if not trials:
        return found
    return [replace(one, tried=trials.get(one.op_name or "")) for one in found]


def wrong_origins(snapshot: Snapshot) -> list[Origin]:
    """Return the origins of a run that are not expected, the most important first."""
    return [origin for origin in origins(snapshot) if origin.category != "expected"]


def origins_with_births(snapshot: Snapshot) -> Lasting[Answer]:
    """Return the same with what was born in each, and with the commit that it is true of."""
    return lasting(snapshot, _NAME, lambda: _find(snapshot), is_small=True)


def origins_generation(snapshot: Snapshot) -> int:
    """Return of which commit the origins are that would be answered now; computes none."""
    return lasting_generation(snapshot, _NAME, is_small=True)


def _find(snapshot: Snapshot) -> Answer:
    feeds = feeds_of(snapshot)
    sinks = Sinks(feeds)
    if not sinks.firsts and not sinks.eager_seeds():
        return Answer([], {})
    search = _Search(feeds, sinks)
    telling = Telling(feeds, Lines(feeds))
    ranked = Ranking(feeds, search.run()).ranked()
    births: dict[BirthKey, int] = {}
    for position, found in enumerate(ranked):
        for key in _keys(feeds, found):
            births.setdefault(key, position)
    return Answer([telling.origin(found) for found in ranked], births)


def _keys(feeds: Feeds, found: Found) -> list[BirthKey]:
    birth = found.birth
    key = _key(feeds, birth)
    return [key, key[:-1], *((op.number, birth.kind) for op in found.same)]


def _key(feeds: Feeds, birth: Birth) -> BirthKey:
    value = birth.value
    if value.outside:
        entry = birth.entry
        return (value.outside, None if entry == value else feeds.what(entry))
    return (*feeds.what(value), birth.kind)


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
        self._takers = Takers(feeds)
        self._found: dict[BirthKey, Found] = {}
        #: Values of walks that led to what is wrong.
        self._explained: set[Node] = set()

    def run(self) -> list[Found]:
        """Return the births with the categories that their walks give them."""
        sinks = self._sinks.all()
        for sink in sinks[:_MAX_SINKS]:
            if sink.why == "weak" and self._has_origin():
                break
            if (sink.value, sink.kind) in self._births.seen or len(self._found) > _MAX_ORIGINS:
                continue
            self._follow(sink)
        self._follow_a_nan(sinks)
        self._add_unexplained()
        self._add_hidden_overflows()
        return self._without_repetitions()

    def _without_repetitions(self) -> list[Found]:
        """Return the findings, without what is expected of an op that is one for other bad values."""
        what = self._feeds.what
        wrong = {what(one.birth.value) for one in self._found.values() if one.category != "expected"}
        return [
            one
            for one in self._found.values()
            if one.takings or one.category != "expected" or what(one.birth.value) not in wrong
        ]

    def _follow(self, sink: BadSink) -> None:
        begin, is_explained = len(self._births.visits), False
        for birth in self._births.of(sink.value, sink.kind):
            found = self._of_unknown_kind(birth) if sink.kind is None else birth
            category = self._category(found, sink)
            is_explained |= category != "expected"
            self._add(Found(found, category, sink))
        if is_explained:
            self._explained.update(self._births.visits[begin:])

    def _follow_a_nan(self, sinks: list[BadSink]) -> None:
        """Make sure that a run in which NaN matters has something that is not expected."""
        if not self._has_origin() and (nan := next((sink for sink in sinks if sink.kind == "nan"), None)):
            self._follow(nan)

    def _has_origin(self) -> bool:
        return any(found.category != "expected" for found in self._found.values())

    def _of_unknown_kind(self, birth: Birth) -> Birth:
        """Return the op that may have made NaN of a constant infinity, if the mode tells no kinds apart."""
        if not birth.meant or birth.value.outside or birth.kind != "inf":
            return birth
        for (value, _), _ in birth.chain()[::-1]:
            if self._feeds.op_type(value) in op_kinds.NAN_OF_INF and not value.outside:
                return birth._replace(value=value, kind="nan", meant=False, is_certain=False)
        return birth

    def _category(self, birth: Birth, sink: BadSink | None = None) -> Category:
        value = birth.value
        brought = bool(value.outside) or self._feeds.brings_in(value) is not None
        # A variable may begin at infinity, but what a call returns is not bad because of that.
        is_shown = sink is not None and sink.why in ("output", "fetch") and not value.outside == "a variable"
        is_passed_in = bool(value.outside) and (is_shown or not self._is_initial(birth))
        is_wrong = (birth.kind is None and is_passed_in) or (bool(value.outside) and self._is_added(sink))
        if birth.meant and birth.kind != "nan" and not is_wrong:
            return "expected"
        if value.outside == "a variable":
            return "propagated" if is_cut(self._feeds.snapshot) else "came_in"
        if not birth.is_explained:
            return "propagated"
        return "came_in" if brought else "origin"

    def _is_added(self, sink: BadSink | None) -> bool:
        """Whether an op that computes with a variable changed it: an infinity never leaves it again."""
        op_type = None if sink is None or sink.why != "variable" else self._feeds.op_type(sink.value)
        return op_kinds.is_assignment(op_type) and op_type not in op_kinds.PLAIN_ASSIGNS

    def _is_initial(self, birth: Birth) -> bool:
        """Whether a value from outside is what a variable began with."""
        if birth.value.outside == "a variable":
            return True
        return op_kinds.is_assignment(self._feeds.op_type(birth.entry))

    def _add(self, found: Found) -> None:
        key = _key(self._feeds, found.birth)
        known = self._found.get(key)
        if known is None or RANKS[found.category] < RANKS[known.category]:
            self._found[key] = found
        elif found.category == known.category:
            takings = dict.fromkeys((*known.takings, *found.takings))
            self._found[key] = known._replace(takings=tuple(takings))

    def _add_unexplained(self) -> None:
        """Add the births of bad values that reach nothing that matters, or only what is meant."""
        left = _MAX_EXPECTED
        for value, kind in [*self._sinks.seeds(), *self._sinks.eager_seeds()]:
            if (value, kind) in self._explained or len(self._found) > _MAX_ORIGINS:
                continue
            takings = self._takers.of(value, kind)
            is_hidden = kind == "inf" and not self._is_seen(value, kind) and self._is_hidden(value)
            for birth in self._births.of(value, kind):
                found = self._unexplained(birth, takings, is_hidden=is_hidden)
                if found.category == "expected" and _key(self._feeds, birth) not in self._found:
                    left -= 1
                if found.category != "expected" or left >= 0:
                    self._add(found)

    def _unexplained(self, birth: Birth, takings: list[Taking], *, is_hidden: bool) -> Found:
        """Return a birth with what the table says of the ways in which its values ended."""
        if is_hidden and self._category(birth) != "expected":
            return Found(birth, self._category(birth), None)
        if birth.kind == "nan":
            takings = [each if each.is_known else each.of_nan() for each in takings]
        wrong = [each for each in takings if each.row(is_written=birth.meant) is None]
        if wrong:
            return Found(birth, "swallowed", None, tuple(wrong))
        return Found(birth, "expected", None, tuple(takings))

    def _add_hidden_overflows(self) -> None:
        for sink in self._sinks.divisors():
            for birth in self._births.of(sink.value, sink.kind):
                if self._feeds.op_type(birth.value) in op_kinds.ADDING:
                    self._add(Found(birth, self._category(birth), sink))

    def _is_hidden(self, value: ValueRef) -> bool:
        """Whether what took an infinity gave NaN of another input, without which the infinity would show."""
        if value.trace < 0:
            return False
        structure, traces = self._feeds.structure, self._feeds.traces
        op = self._feeds.op_of(value)
        takers = [] if op is None else structure.consumers(op.number)
        summing = [number for number in takers if structure.op(number).type in op_kinds.SUMMING]
        of_ops = self._feeds.snapshot.catalog.op_sites
        sites = [site.number for number in summing for site in of_ops.get(number, ())]
        following = traces.window(value.trace).of_sites(sites)
        return any((ValueRef(trace=int(idx)), "nan") in self._births.seen for idx in following[:_MAX_TAKERS])

    def _is_seen(self, value: ValueRef, kind: BadKind | None) -> bool:
        return (value, kind) in self._births.seen
