"""What is not the same in the programs of two runs, without looking at what they computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from tb_debugger_plugin.analysis.compare.alignment import Alignment, Pair
from tb_debugger_plugin.analysis.compare.comparison import Change, Side
from tb_debugger_plugin.analysis.compare.outline import Node

#: Types of ops that only carry constants, arguments or order.
_PLUMBING: Final = frozenset("NoOp Const Placeholder _Arg Arg Identity _Retval Retval".split())

Sides = tuple[Callable[[Node], Side], Callable[[Node], Side]]


def changes(
    alignment: Alignment, sides: Sides, dtypes: Callable[[Pair], tuple[str, str] | None]
) -> list[Change]:
    """Return the changes in the order of the first program, and those of the second after them.

    Args:
      alignment: The pairs.
      sides: Describes a node of the first and of the second run.
      dtypes: The dtypes of the outputs of a pair, where they are known and differ.
    """
    here, there = sides
    found = [
        Change(kind, here(pair.first), there(pair.second), words)
        for pair in alignment.pairs
        for kind, words in _of_pair(pair, dtypes(pair))
    ]
    gone = [
        Change("only_first", here(node), None, f"{node.type} is only in the first run")
        for node in alignment.only_first
        if node.type not in _PLUMBING
    ]
    added = [
        Change("only_second", None, there(node), f"{node.type} is only in the second run")
        for node in alignment.only_second
        if node.type not in _PLUMBING
    ]
    return [*found, *gone, *added]


def _of_pair(pair: Pair, dtypes: tuple[str, str] | None) -> Iterator[tuple[str, str]]:
    first, second = pair.first, pair.second
    if first.type != second.type:
        yield "op", f"{first.type} became {second.type}"
    elif first.constant != second.constant:
        yield "constant", f"{first.constant} became {second.constant}"
    elif dtypes is not None:
        yield "dtype", f"{dtypes[0]} became {dtypes[1]}"
