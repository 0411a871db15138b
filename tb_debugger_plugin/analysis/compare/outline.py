"""What a run computed, as groups of nodes in order, without numbers that change from run to run.

Takes a snapshot. A group is a graph, or what one thread ran eagerly. A node is an op of a graph, or all eager
executions of one type of op or function by one line. Each has a token, which is equal for the same op of
another run even if names got other numbers.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tb_debugger_plugin.analysis.graph.adjacency import adjacency
from tb_debugger_plugin.analysis.lists.executions import thread_names
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.source.user_lines import UserLine, all_user_lines
from tb_debugger_plugin.events.tensorflow_names import display_name

_NUMBER: Final = re.compile(r"_\d+(?=$|/|_)")


class EagerKey(NamedTuple):
    """Host, thread, op type and stack of eager executions."""

    host: int
    thread: int
    op_type: int
    stack: int


def without_numbers(name: str) -> str:
    """Return a name without the numbers that TensorFlow adds to make it unique."""
    return _NUMBER.sub("", name)


@dataclass(frozen=True)
class Node:
    """An op of a graph, or the eager executions of a line.

    Attributes:
      number: The position in the outline.
      group: The number of its group.
      op: The op; -1 for eager executions.
      type, name: Of the op; for eager executions the type of the op, or the function, twice.
      layer: The Keras layer.
      variable: The variable that it is, reads or assigns.
      source: The user's line.
      inputs: The nodes and slots of the tensors that it takes, in a graph.
      constant: The value of a constant, as text.
    """

    number: int
    group: int
    op: int
    type: str
    name: str
    layer: str | None
    variable: str | None
    source: UserLine | None
    inputs: tuple[tuple[int, int], ...] = ()
    constant: str | None = None

    @property
    def token(self) -> Hashable:
        """Equal for the same op of another run."""
        source = self.source
        place = ("", "") if source is None else (source.function, source.text)
        return (self.type, without_numbers(self.name), self.layer, *place)

    @property
    def is_eager(self) -> bool:
        """Whether it ran outside of graphs."""
        return self.op < 0


@dataclass
class Group:
    """A graph, or a thread with eager executions.

    Attributes:
      number: The position in the outline.
      host: The number of the host.
      name: The name without numbers.
      graph: The number of the graph; -1 for eager executions.
      nodes: In the order of creation, or of the first execution.
    """

    number: int
    host: int
    name: str
    graph: int
    nodes: list[Node] = field(default_factory=list)


@dataclass(frozen=True)
class Outline:
    """What a run computed; :func:`outline` makes it.

    Attributes:
      groups, nodes: All of them, by number.
      of_op: The node by number of the op.
      of_eager: The node by key of eager executions.
    """

    groups: list[Group]
    nodes: list[Node]
    of_op: dict[int, int]
    of_eager: dict[EagerKey, int]


def outline(snapshot: Snapshot) -> Outline:
    """Return the outline of a run."""
    made = Outline([], [], {}, {})
    lines = all_user_lines(snapshot)
    _add_graphs(snapshot, made, lines)
    _add_eager(snapshot, made, lines)
    return made


def _add_graphs(snapshot: Snapshot, made: Outline, lines: Mapping[int, UserLine]) -> None:
    catalog, edges = snapshot.catalog, adjacency(snapshot)
    constants = _constants(snapshot)
    groups: dict[int, Group] = {}
    known = [op for op in catalog.ops if op.type is not None]
    numbers = {op.number: number for number, op in enumerate(known)}
    made.of_op.update(numbers)
    for op in known:
        group = groups.get(op.graph)
        if group is None:
            graph = catalog.graphs[op.graph]
            name = without_numbers(display_name(graph.name or ""))
            group = groups[op.graph] = Group(len(made.groups), graph.host, name, op.graph)
            made.groups.append(group)
        inputs = tuple(
            (numbers[source], slot)
            for _, source, slot in edges.numbered_inputs(op.number)
            if source in numbers
        )
        node = Node(
            *(len(made.nodes), group.number, op.number, op.type or "", op.name, op.layer, op.variable),
            lines.get(op.stack),
            inputs,
            constants.get(op.number),
        )
        made.nodes.append(node)
        group.nodes.append(node)


def _constants(snapshot: Snapshot) -> dict[int, str]:
    rows = snapshot.rows(
        "SELECT o.op, a.value FROM ops o JOIN graphs g USING (graph)"
        " JOIN op_attributes a ON a.host = g.host AND a.attributes = o.attributes"
        " WHERE o.type = 'Const' AND a.name = 'value' AND o.attributes != 0"
    )
    return dict(rows)


def _add_eager(snapshot: Snapshot, made: Outline, lines: Mapping[int, UserLine]) -> None:
    threads = thread_names(snapshot)
    rows = snapshot.rows("SELECT host, thread, op_type, stack FROM executions GROUP BY ALL ORDER BY min(idx)")
    groups: dict[tuple[int, int], Group] = {}
    nodes: dict[Hashable, int] = {}
    for host, thread, op_type, stack in rows:
        if (host, thread) not in groups:
            name = f"thread {threads.get((host, thread), '')}"
            groups[host, thread] = Group(len(made.groups), host, name, -1)
            made.groups.append(groups[host, thread])
        group = groups[host, thread]
        kind = without_numbers(display_name(snapshot.catalog.op_types[op_type][0]))
        node = Node(len(made.nodes), group.number, -1, kind, kind, None, None, lines.get(stack))
        key = (group.number, node.token, None if node.source is None else node.source.line)
        if key not in nodes:
            nodes[key] = node.number
            made.nodes.append(node)
            group.nodes.append(node)
        made.of_eager[EagerKey(host, thread, op_type, stack)] = nodes[key]
