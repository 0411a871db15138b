"""Which node of one run is which node of the other.

Takes two outlines. Groups are paired by name and by what they hold, then nodes inside them: by exact name
where all names agree, else by the difference of the two sequences of tokens, and what is left between common
nodes by name, type, inputs and order. No node has two partners.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from tb_debugger_plugin.analysis.compare.outline import Group, Node, Outline

# Finds the common elements of two sequences, in order.
#
# Takes two sequences of tokens. Returns pairs of positions that rise in both. Common ends and tokens that
# both have once are anchors; between them the standard library's matcher looks, in gaps of bounded size.

Pairs = list[tuple[int, int]]

#: Elements of the longer side of a gap in which the matcher looks; it takes quadratic time.
_MAX_GAP: Final = 1500


def common(first: Sequence[Hashable], second: Sequence[Hashable]) -> Pairs:
    """Return the positions of the common elements of two sequences."""
    pairs: Pairs = []
    begin_a = begin_b = 0
    for a, b in [*_anchors(first, second), (len(first), len(second))]:
        pairs += _gap(first, second, (begin_a, a), (begin_b, b))
        if a < len(first):
            pairs.append((a, b))
        begin_a, begin_b = a + 1, b + 1
    return pairs


def _anchors(first: Sequence[Hashable], second: Sequence[Hashable]) -> Pairs:
    """Return the tokens that are once in both, as far as they are in the same order."""
    in_first, in_second = Counter(first), Counter(second)
    where = {token: at for at, token in enumerate(second) if in_second[token] == 1}
    found = [(a, where[token]) for a, token in enumerate(first) if in_first[token] == 1 and token in where]
    return _rising(found)


def _rising(pairs: Pairs) -> Pairs:
    """Return the longest part of pairs whose second position rises, too."""
    ends: list[int] = []  # the second position of the last pair of the best chain of each length
    at: list[int] = []
    previous: list[int] = []
    for number, (_, b) in enumerate(pairs):
        place = bisect_left(ends, b)
        previous.append(at[place - 1] if place else -1)
        if place == len(ends):
            ends.append(b)
            at.append(number)
        else:
            ends[place], at[place] = b, number
    chain: Pairs = []
    number = at[-1] if at else -1
    while number >= 0:
        chain.append(pairs[number])
        number = previous[number]
    return chain[::-1]


def _gap(
    first: Sequence[Hashable], second: Sequence[Hashable], in_a: tuple[int, int], in_b: tuple[int, int]
) -> Pairs:
    (begin_a, end_a), (begin_b, end_b) = in_a, in_b
    head: Pairs = []
    while begin_a < end_a and begin_b < end_b and first[begin_a] == second[begin_b]:
        head.append((begin_a, begin_b))
        begin_a, begin_b = begin_a + 1, begin_b + 1
    tail: Pairs = []
    while begin_a < end_a and begin_b < end_b and first[end_a - 1] == second[end_b - 1]:
        end_a, end_b = end_a - 1, end_b - 1
        tail.append((end_a, end_b))
    middle: Pairs = []
    if begin_a < end_a and begin_b < end_b and max(end_a - begin_a, end_b - begin_b) <= _MAX_GAP:
        matcher = SequenceMatcher(None, first[begin_a:end_a], second[begin_b:end_b], autojunk=False)
        for block in matcher.get_matching_blocks():
            middle += [(begin_a + block.a + n, begin_b + block.b + n) for n in range(block.size)]
    return [*head, *middle, *tail[::-1]]


#: Part of the tokens that graphs of different names share if they are taken for the same.
_ALIKE: Final = 0.5


@dataclass(frozen=True)
class Pair:
    """A node of each run.

    Attributes:
      first, second: The nodes.
      how: ``name``, ``structure`` or ``order``: what they were paired by.
    """

    first: Node
    second: Node
    how: str

    @property
    def is_changed(self) -> bool:
        """Whether the op is another one in the second run."""
        return self.first.type != self.second.type or self.first.constant != self.second.constant


@dataclass(frozen=True)
class Alignment:
    """The pairs of two runs.

    Attributes:
      pairs: In the order of the first run.
      only_first, only_second: The nodes without a partner, in order.
    """

    pairs: list[Pair]
    only_first: list[Node]
    only_second: list[Node]


def align(first: Outline, second: Outline) -> Alignment:
    """Pair the nodes of two runs."""
    pairs: list[Pair] = []
    partner: dict[int, int] = {}
    for a, b in _paired_groups(first.groups, second.groups):
        found = _paired_nodes(a, b, partner)
        partner.update((pair.first.number, pair.second.number) for pair in found)
        pairs += found
    taken = set(partner.values())
    return Alignment(
        sorted(pairs, key=lambda pair: pair.first.number),
        [node for node in first.nodes if node.number not in partner],
        [node for node in second.nodes if node.number not in taken],
    )


def _paired_groups(first: list[Group], second: list[Group]) -> list[tuple[Group, Group]]:
    """Pair groups by host and name: those that are equal first, then by order; then any that are alike."""
    pairs: list[tuple[Group, Group]] = []
    keys: tuple[Callable[[Group], Hashable], ...] = (
        lambda group: (group.host, group.name, group.graph < 0, _content(group)),
        lambda group: (group.host, group.name, group.graph < 0),
        lambda group: (group.name, group.graph < 0),
        lambda group: (group.host, group.graph >= 0 or group.name, _content(group)),
    )
    for key in keys:
        found = _in_order(first, second, key)
        pairs += found
        first = _without(first, (a for a, _ in found))
        second = _without(second, (b for _, b in found))
    return pairs + _alike(first, second)


def _content(group: Group) -> Hashable:
    return tuple((node.type, node.name) for node in group.nodes)


def _in_order(
    first: list[Group], second: list[Group], key: Callable[[Group], Hashable]
) -> list[tuple[Group, Group]]:
    others: dict[Hashable, list[Group]] = defaultdict(list)
    for group in reversed(second):
        others[key(group)].append(group)
    return [(group, others[key(group)].pop()) for group in first if others[key(group)]]


def _without(groups: list[Group], taken: Iterable[Group]) -> list[Group]:
    numbers = {group.number for group in taken}
    return [group for group in groups if group.number not in numbers]


def _alike(first: list[Group], second: list[Group]) -> list[tuple[Group, Group]]:
    pairs = []
    tokens = {group.number: {(node.type, node.name) for node in group.nodes} for group in second}
    for group in first:
        own = {(node.type, node.name) for node in group.nodes}
        scores = [
            (len(own & tokens[other.number]) / len(own | tokens[other.number]), -other.number, other)
            for other in second
            if (other.graph < 0) == (group.graph < 0)
        ]
        best = max(scores, default=None)
        # Two threads are alike only in what they are: the first one without a partner is taken.
        if best is not None and best[0] >= _ALIKE:
            pairs.append((group, best[2]))
            second = _without(second, [best[2]])
    return pairs


def _paired_nodes(first: Group, second: Group, partner: dict[int, int]) -> list[Pair]:
    if first.graph >= 0 and _content(first) == _content(second):
        return [Pair(a, b, "name") for a, b in zip(first.nodes, second.nodes, strict=True)]
    matched = common([node.token for node in first.nodes], [node.token for node in second.nodes])
    pairs = [_pair(first.nodes[a], second.nodes[b]) for a, b in matched]
    known = {**partner, **{pair.first.number: pair.second.number for pair in pairs}}
    begin_a = begin_b = 0
    for a, b in [*matched, (len(first.nodes), len(second.nodes))]:
        gap = first.nodes[begin_a:a], second.nodes[begin_b:b]
        if all(gap):
            found = _in_gap(*gap, known)
            pairs += found
            known.update((pair.first.number, pair.second.number) for pair in found)
        begin_a, begin_b = a + 1, b + 1
    # A line that moved: its ops are elsewhere in the order, under the same name.
    taken = set(known.values())
    left = [node for node in first.nodes if node.number not in known]
    right = [node for node in second.nodes if node.number not in taken]
    return pairs + _by(left, right, lambda node: node.token, "structure")[0]


def _pair(a: Node, b: Node) -> Pair:
    return Pair(a, b, "name" if a.name == b.name else "structure")


def _in_gap(first: list[Node], second: list[Node], partner: dict[int, int]) -> list[Pair]:
    """Pair what is left between two common nodes."""
    pairs: list[Pair] = []

    def here(node: Node) -> Hashable:
        return tuple(node.inputs) or None

    def there(node: Node) -> Hashable:
        mapped = [(partner.get(source, -1), slot) for source, slot in node.inputs]
        return tuple(mapped) or None

    keys: tuple[tuple[Callable[[Node], Hashable], str], ...] = (
        (lambda node: (node.type, node.name), "name"),
        (lambda node: (node.type, node.layer, node.source and node.source.text), "structure"),
        (lambda node: (node.type, node.layer), "structure"),
    )
    for key, how in keys:
        found, first, second = _by(first, second, key, how)
        pairs += found
        partner = {**partner, **{pair.first.number: pair.second.number for pair in found}}
    # An op that took the place of another one has the same inputs.
    found, first, second = _by(first, second, there, "structure", other=here)
    pairs += [pair for pair in found if pair.first.inputs]
    kept = {pair.first.number for pair in found if not pair.first.inputs}
    first += [pair.first for pair in found if pair.first.number in kept]
    second += [pair.second for pair in found if pair.first.number in kept]
    if len(first) == len(second):
        pairs += [Pair(a, b, "order") for a, b in zip(sorted_nodes(first), sorted_nodes(second), strict=True)]
    return pairs


def sorted_nodes(nodes: list[Node]) -> list[Node]:
    """Return nodes in their order."""
    return sorted(nodes, key=lambda node: node.number)


def _by(
    first: list[Node],
    second: list[Node],
    key: Callable[[Node], Hashable],
    how: str,
    *,
    other: Callable[[Node], Hashable] | None = None,
) -> tuple[list[Pair], list[Node], list[Node]]:
    """Pair nodes with equal keys, in order; return the pairs and what is left of both."""
    there: dict[Hashable, list[Node]] = defaultdict(list)
    for node in reversed(second):
        there[(other or key)(node)].append(node)
    pairs: list[Pair] = []
    left = []
    for node in first:
        partners = there[key(node)]
        if partners:
            pairs.append(Pair(node, partners.pop(), how))
        else:
            left.append(node)
    taken = {pair.second.number for pair in pairs}
    return pairs, left, [node for node in second if node.number not in taken]
