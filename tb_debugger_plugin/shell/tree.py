"""A walk along the edges of a graph as the lines of a tree.

Goes depth first from a node to its neighbours, without recursion. What is below a node is shown where the
node comes first; later it is marked as shown above, unless the depth ended below it there, and there is more
depth now. So a tree has not many more lines than the graph has edges, however often ways meet again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from tb_debugger_plugin.analysis.graph.adjacency import Neighbour

_OPEN, _CLOSED, _BRANCH = "|  ", "   ", "|- "
#: Deeper levels are not moved further to the right: their depth is written beside them.
_MOST_INDENT: Final = 150


class Step(NamedTuple):
    """A line of a tree.

    Attributes:
      indent: The lines that lead to it.
      depth: Its distance from the root; from 1.
      neighbour: What is there; None where the depth ends.
      is_above: Whether what is below it is shown above.
    """

    indent: str
    depth: int
    neighbour: Neighbour | None
    is_above: bool = False


class _Level:
    """A node on the way that is being walked, and its neighbours."""

    def __init__(self, op: int, neighbours: Sequence[Neighbour], indent: str) -> None:
        self.op = op
        self.indent = indent
        self.is_cut = False
        self._neighbours = neighbours
        self._at = 0

    def take(self) -> Neighbour | None:
        self._at += 1
        return self._neighbours[self._at - 1] if self._at <= len(self._neighbours) else None

    @property
    def below(self) -> str:
        """The lines that lead to what is below the neighbour that was taken last."""
        bar = _OPEN if self._at < len(self._neighbours) else _CLOSED
        return (self.indent + bar)[-_MOST_INDENT:]


def steps(root: int, neighbours_of: Callable[[int], Sequence[Neighbour]], depth: int) -> Iterator[Step]:
    """Yield the lines of a tree.

    Args:
      root: The number of the op at which it begins; it has no line of its own.
      neighbours_of: Returns what is below an op.
      depth: The greatest distance from the root.
    """
    reached = {root: depth}  # how deep the tree went below each op
    cut: set[int] = set()  # ops below which the tree ended too early
    levels = [_Level(root, neighbours_of(root), "")]
    while levels:
        neighbour = levels[-1].take()
        if neighbour is None:
            ended = levels.pop()
            if ended.is_cut and levels:
                cut.add(ended.op)
                levels[-1].is_cut = True
            continue
        op, left = neighbour.op, depth - len(levels)
        indent = levels[-1].indent
        below = neighbours_of(op)
        is_above = bool(below) and op in reached and (op not in cut or reached[op] >= left)
        yield Step(indent + _BRANCH, len(levels), neighbour, is_above)
        if (is_above and op in cut) or (below and not is_above and left == 0):
            levels[-1].is_cut = True
        if not below or is_above:
            continue
        if left == 0:
            yield Step(levels[-1].below + _BRANCH, len(levels) + 1, None)
        else:
            reached[op] = left
            cut.discard(op)
            levels.append(_Level(op, below, levels[-1].below))
