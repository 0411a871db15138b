"""Finds the common elements of two sequences, in order.

Takes two sequences of tokens. Returns pairs of positions that rise in both. Common ends and tokens that both
have once are anchors; between them the standard library's matcher looks, in gaps of bounded size.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from typing import Final

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
