"""`li` and `lo`: the inputs of a node, or the nodes that take its outputs, as a tree."""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.graph.adjacency import (
    Adjacency,
    Neighbour,
    adjacency,
    after_calls,
    before_calls,
)
from tb_debugger_plugin.analysis.graph.graph_calls import graph_calls
from tb_debugger_plugin.analysis.graph.tensor_counts import tensor_counts
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.command import Answer, Command, Completes
from tb_debugger_plugin.shell.commands.nodes import HIDDEN_TYPES, add_node, find_node
from tb_debugger_plugin.shell.lazy_lines import LazyLines
from tb_debugger_plugin.shell.links import command_line, graph_option
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell

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


#: Lines of a tree; `-d` and the links lead to the rest.
MAX_LINES: Final = 10_000


class _Direction(NamedTuple):
    """A direction of the walk: the words of its screen, and the edges that it follows."""

    alias: str
    title: str
    words: str
    kind: str
    data: Callable[[Adjacency, int], list[Neighbour]]
    control: Callable[[Adjacency, int], list[Neighbour]]
    calls: Callable[[Snapshot, int], list[Neighbour]]


_INPUTS: Final = _Direction(
    *("li", "Inputs to", "inputs", "input"), Adjacency.inputs, Adjacency.control_inputs, before_calls
)
_OUTPUTS: Final = _Direction(
    *("lo", "Recipients of", "recipients", "recipient"),
    Adjacency.consumers,
    Adjacency.control_consumers,
    after_calls,
)


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_node(parser)
    parser.add_argument("-r", "--recursive", action="store_true", help="also those of these nodes, and so on")
    parser.add_argument("-d", "--depth", type=int, metavar="N", help="the greatest depth with -r")
    parser.add_argument("-c", "--control", action="store_true", help="also edges without tensors")
    parser.add_argument("-t", "--op_type", action="store_true", help="also the types of the ops")
    parser.add_argument("-f", "--follow_calls", action="store_true", help="also into and out of functions")


def _depth(shell: Shell, args: argparse.Namespace) -> int:
    if args.depth is not None and args.depth < 1:
        raise UsageError(f"The depth is {args.depth}; give a whole number from 1 on.")
    if not args.recursive:
        return 1
    return int(args.depth or shell.settings["graph_recursion_depth"])


def _answer(direction: _Direction) -> Callable[[Shell, argparse.Namespace], Answer]:
    def answer(shell: Shell, args: argparse.Namespace) -> Answer:
        with shell.run.snapshot() as snapshot:
            op = find_node(snapshot, args, [direction.alias, *_options(args)])
            if isinstance(op, Screen):
                return op
            return Screen(_Tree(snapshot, direction, args).lines(op, _depth(shell, args)))

    return answer


def _options(args: argparse.Namespace) -> list[str]:
    names = (("recursive", "-r"), ("control", "-c"), ("op_type", "-t"), ("follow_calls", "-f"))
    return [option for name, option in names if getattr(args, name)]


class _Tree:
    """The lines of a tree; lives for one command."""

    def __init__(self, snapshot: Snapshot, direction: _Direction, args: argparse.Namespace) -> None:
        self._snapshot = snapshot
        self._direction = direction
        self._args = args
        self._edges = adjacency(snapshot)
        self._bad = tensor_counts(snapshot).bad
        # Lines are made when they are shown, after the snapshot is closed.
        self._calls = graph_calls(snapshot).graphs
        self._known: dict[int, Sequence[Neighbour]] = {}

    def lines(self, op: Op, depth: int) -> Sequence[Line]:
        walk = steps(op.number, self._below, depth)
        found = list(itertools.islice(walk, MAX_LINES))
        foot = [] if found else [plain("  [None]")]
        if next(walk, None) is not None:
            foot.append(plain(f"(Cut after {MAX_LINES:,} lines: give a smaller depth with -d.)"))
        rows: list[Step | Line] = [*found, *foot, *self._legend()]
        return LazyLines([self._head(op, depth)], rows, self._line)

    def _head(self, op: Op, depth: int) -> Line:
        control = f", control {self._direction.words} included" if self._args.control else ""
        title, end = f'{self._direction.title} node "', f'" (Depth limit = {depth}{control}):'
        return (Part(title), Part(op.name, Style.HEADING), Part(end))

    def _below(self, op: int) -> Sequence[Neighbour]:
        if op not in self._known:
            self._known[op] = self._find_below(op)
        return self._known[op]

    def _find_below(self, op: int) -> Sequence[Neighbour]:
        ops = self._snapshot.catalog.ops
        found = self._direction.data(self._edges, op)
        if self._args.control:
            waiting = self._direction.control(self._edges, op)
            found = found + sorted(waiting, key=lambda one: ops[one.op].name)
        if self._args.follow_calls:
            found = found + self._direction.calls(self._snapshot, op)
        return [one for one in found if ops[one.op].type not in HIDDEN_TYPES]

    def _line(self, step: Step | Line) -> Line:
        if not isinstance(step, Step):
            return step
        if step.neighbour is None:
            return plain(f"{step.indent}...")
        op = self._snapshot.catalog.ops[step.neighbour.op]
        control = "(Ctrl) " if step.neighbour.is_control else ""
        call = f"({step.neighbour.call}) " if step.neighbour.call else ""
        kind = f"[{op.type or '?'}] " if self._args.op_type else ""
        name = f"{op.name}:{step.neighbour.slot}" if step.neighbour.slot else op.name
        style = Style.BAD if self._bad[op.number] else Style.PLAIN
        command = command_line(self._direction.alias, "-c", "-r", op.name, *graph_option(self._snapshot, op))
        marks = [Part(" (shown above)", Style.MUTED)] if step.is_above else self._called(op)
        return (
            Part(f"{step.indent}({step.depth}) {control}{call}{kind}"),
            link(name, command, style),
            *marks,
        )

    def _called(self, op: Op) -> list[Part]:
        called = self._calls.get(op.number)
        if not called or self._args.follow_calls:
            return []
        names = [self._snapshot.catalog.graphs[number].name or "a graph" for number, _ in called]
        return [Part(f" (runs {', '.join(names)})", Style.MUTED)]

    def _legend(self) -> list[Line]:
        kind = self._direction.kind
        lines = [(), plain("Legend:"), plain("  (d): recursion depth = d.")]
        if self._args.control:
            lines.append(plain(f"  (Ctrl): Control {kind}."))
        if self._args.op_type:
            lines.append(plain(f"  [Op]: {kind.capitalize()} node has op type Op."))
        if self._args.follow_calls:
            lines.append(plain("  (into), (out): into a function that an op runs, or out of it."))
        return lines


def _command(direction: _Direction, name: str, summary: str) -> Command:
    return Command(
        name,
        (direction.alias,),
        summary,
        _answer(direction),
        _arguments,
        completes=Completes.NODE,
        option_completes=(("-g", Completes.FUNCTION), ("--function", Completes.FUNCTION)),
        examples=(f"{direction.alias} -r -c loss/Log", f"{direction.alias} -r -d 3 -t Log"),
    )


COMMANDS: Final = (
    _command(_INPUTS, "list_inputs", "show the inputs of a node as a tree"),
    _command(_OUTPUTS, "list_outputs", "show the nodes that take the outputs of a node as a tree"),
)
