"""Attributes bad tensors to the origins that they come from.

Takes a run; walks back from the first bad value of each tensor, all of them in one search, and hands each
origin what its births lead to, the most important origin first. Returns an :class:`Attribution`.

Invariants: each value is looked at once, so the work grows with the number of bad tensors and not with that
of bad values; a tensor that comes from several origins has the first of them.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.lasting import lasting
from tb_debugger_plugin.analysis.origins.births import Node
from tb_debugger_plugin.analysis.origins.feeds import Feeds, feeds_of
from tb_debugger_plugin.analysis.origins.origin import Origin
from tb_debugger_plugin.analysis.origins.origins import Answer, origins_with_births
from tb_debugger_plugin.analysis.origins.sinks import Sinks
from tb_debugger_plugin.analysis.origins.steps import BirthSteps
from tb_debugger_plugin.analysis.origins.values import ValueRef
from tb_debugger_plugin.analysis.snapshot import Snapshot

#: Values that the search looks at.
_MAX_VISITED: Final = 24_000


@dataclass(frozen=True)
class Attribution:
    """Which origin each bad tensor comes from.

    Attributes:
      origins: The origins, the most important first.
      sites: The position of the origin by the site of a tensor of a graph.
      executions: The same by the execution and slot of an eager op's first bad output.
    """

    origins: list[Origin]
    sites: dict[int, int]
    executions: dict[tuple[int, int], int]


def attribution(snapshot: Snapshot) -> Attribution:
    """Return which origin each bad tensor of a run comes from, by its first bad value.

    Args:
      snapshot: The run. If it may lag, the answer may be that of an earlier commit.
    """
    return lasting(snapshot, "attribution", lambda: _attribute(snapshot)).value


def _attribute(snapshot: Snapshot) -> Attribution:
    answer = origins_with_births(snapshot).value
    if not answer.origins:
        return Attribution([], {}, {})
    search = _Search(feeds_of(snapshot), answer)
    sinks = Sinks(search.feeds)
    seeds = [*sinks.seeds(), *sinks.eager_seeds()]
    search.look_back(seeds)
    owners = search.owners()
    found = Attribution(answer.origins, {}, {})
    for node in seeds:
        if node in owners:
            _add(found, search.feeds, node[0], owners[node])
    return found


def _add(found: Attribution, feeds: Feeds, value: ValueRef, origin: int) -> None:
    """Add a value; one with NaN and infinities has the more important origin."""
    if value.trace >= 0:
        site = feeds.traces.site(value.trace)
        found.sites[site] = min(origin, found.sites.get(site, origin))
    else:
        key = value.execution, value.slot
        found.executions[key] = min(origin, found.executions.get(key, origin))


class _Search:
    """A walk back from many values at once.

    Args:
      feeds: The values of the run.
      answer: Its origins.
    """

    def __init__(self, feeds: Feeds, answer: Answer) -> None:
        self.feeds = feeds
        self._answer = answer
        self._steps = BirthSteps.of_feeds(feeds)
        #: The values that each value was passed on to.
        self._fed: dict[Node, list[Node]] = defaultdict(list)
        #: The values with which each origin begins.
        self._births: dict[int, list[Node]] = defaultdict(list)

    def look_back(self, seeds: list[Node]) -> None:
        """Follow values to their births."""
        waiting = deque(dict.fromkeys(seeds))
        seen = set(waiting)
        visited = 0
        while waiting and visited < _MAX_VISITED:
            node = waiting.popleft()
            visited += 1
            for origin in self._begun_at(node):
                self._births[origin].append(node)
            for before in self._before(node):
                self._fed[before].append(node)
                if before not in seen:
                    seen.add(before)
                    waiting.append(before)

    def _before(self, node: Node) -> Iterator[Node]:
        """Yield what carried the badness of a value, or the infinities that a NaN was made of."""
        step = self._steps.of(*node)
        yield from ((feed.value, kind) for feed, kind in step.carriers if not feed.value.outside)
        for feed in step.from_infinities:
            if not feed.value.outside:
                yield feed.value, "inf" if self.feeds.measured(feed.value).has_inf else None

    def _begun_at(self, node: Node) -> Iterator[int]:
        """Yield the origins of which a value is a birth, or by which it came in."""
        value, kind = node
        step = self._steps.of(value, kind)
        what = self.feeds.what(value)
        own = self._answer.position((*what, kind), what)
        is_birth = step.is_born or kind is None
        if own is not None and (is_birth or self._answer.origins[own].category == "propagated"):
            yield own
        given = [feed.value.outside for feed, _ in step.carriers] + [
            feed.value.outside for feed in step.from_infinities
        ]
        for outside in filter(None, given):
            found = self._answer.position((outside, what), (outside,))
            if found is not None:
                yield found

    def owners(self) -> dict[Node, int]:
        """Return the first origin that leads to each value."""
        owners: dict[Node, int] = {}
        for origin in sorted(self._births):
            waiting = [node for node in self._births[origin] if node not in owners]
            owners.update(dict.fromkeys(waiting, origin))
            while waiting:
                following = [node for node in self._fed[waiting.pop()] if node not in owners]
                owners.update(dict.fromkeys(following, origin))
                waiting += following
        return owners
