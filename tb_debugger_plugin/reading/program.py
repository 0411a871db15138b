"""The recorded program as objects: graphs, ops, stack frames and source files."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tb_debugger_plugin.analysis import catalog
from tb_debugger_plugin.analysis.snapshot import Json, Snapshot
from tb_debugger_plugin.analysis.source import sources as source_files
from tb_debugger_plugin.errors import UsageError

if TYPE_CHECKING:
    from tb_debugger_plugin.reading.run import Run
    from tb_debugger_plugin.reading.value import Value


@dataclass(frozen=True)
class Frame:
    """A line of a stack.

    Attributes:
      path: The file, as it was named when the program ran.
      line: The line, from 1.
      function: The function.
      code: The text of the line; None if it was not recorded.
      origin: ``"user"`` or ``"library"``.
    """

    path: str
    line: int
    function: str
    code: str | None
    origin: str

    def __str__(self) -> str:
        """Return the frame as Python prints it."""
        code = f"\n    {self.code.strip()}" if self.code else ""
        return f'  File "{self.path}", line {self.line}, in {self.function}{code}'


@dataclass(frozen=True)
class Graph:
    """A graph that was recorded.

    Attributes:
      graph_id: Its id.
      name: The name of its function; None if it was not described.
      outer_id: The id of the graph in which it was made; None for an outermost graph.
    """

    graph_id: str
    name: str | None
    outer_id: str | None
    run: Run = field(repr=False, compare=False)

    def ops(self, **filters: str | None) -> list[Op]:
        """Return the ops of the graph; arguments as for :meth:`Run.ops`.

        Use::

            graph.ops(type="MatMul")
        """
        return self.run.ops(graph_id=self.graph_id, **filters)


@dataclass(frozen=True)
class Op:
    """An op of a graph.

    Attributes:
      name: Its name.
      type: Its type; None if it was only referred to.
      graph_id: The graph.
      function: The name of the graph.
      device: The device; None if it was not placed when the graph was made.
      num_outputs: The number of outputs.
      layer: The path of the Keras layer that made it.
      variable: The path of the variable that it reads or assigns.
    """

    name: str
    type: str | None
    graph_id: str
    function: str | None
    device: str | None
    num_outputs: int | None
    layer: str | None
    variable: str | None
    run: Run = field(repr=False, compare=False)

    def inputs(self) -> list[str]:
        """Return the names of its inputs, such as ``"MatMul:0"``.

        Use::

            op.inputs()
        """
        return [f"{one['op_name']}:{one['output_slot']}" for one in self.info()["inputs"]]

    def consumers(self) -> list[list[str]]:
        """Return the names of the ops that take its outputs, for each output.

        Use::

            op.consumers()
        """
        return [[one["op_name"] for one in slot] for slot in self.info()["consumers"]]

    def info(self) -> Json:
        """Return everything that the route ``graphs/op_info`` of ``docs/http-api.md`` answers.

        Use::

            op.info()["stack_frame_ids"]
        """
        return self.run.op_info(self.graph_id, self.name)

    def traceback(self) -> list[Frame]:
        """Return the stack that made the op, outermost frame first.

        Use::

            print(*op.traceback(), sep="\\n")
        """
        return self.run.frames(self.info()["stack_frame_ids"])

    def values(self, slot: int = 0) -> list[Value]:
        """Return each tensor that an output was, in order.

        Use::

            [value.summary["nan"] for value in op.values()]

        Args:
          slot: The number of the output.
        """
        return self.run.values(f"{self.name}:{slot}", graph_id=self.graph_id)


@dataclass(frozen=True)
class Source:
    """A source file as it was when the program ran.

    Attributes:
      path: The path on the machine of the program.
      host: The name of the host.
      origin: ``"user"`` or ``"library"``.
      lines: The lines; empty if only those around recorded frames are on record.
    """

    path: str
    host: str
    origin: str
    lines: list[str] = field(repr=False)


def graphs_of(snapshot: Snapshot, run: Run) -> list[Graph]:
    """Return the graphs of a run."""
    known = snapshot.catalog.graphs
    return [
        Graph(one.graph_id, one.name, known[one.outer].graph_id if one.outer >= 0 else None, run)
        for one in known
    ]


def ops_of(
    snapshot: Snapshot, run: Run, expressions: dict[str, str | None], graph_id: str | None
) -> list[Op]:
    """Return ops of a run.

    Args:
      snapshot: The run.
      run: What the ops ask for more.
      expressions: Regular expressions for fields of an op; None matches all.
      graph_id: The id of their graph; None = any.

    Raises:
      UsageError: One of them is not a regular expression.
    """
    patterns = {name: _pattern(text) for name, text in expressions.items()}

    def chosen(op: Op) -> bool:
        matches = all(
            pattern.search(getattr(op, field) or "") for field, pattern in patterns.items() if pattern
        )
        return matches and graph_id in (None, op.graph_id)

    graphs = snapshot.catalog.graphs
    ops = (_op(op, graphs[op.graph], run) for op in snapshot.catalog.ops)
    return [op for op in ops if chosen(op)]


def _op(op: catalog.Op, graph: catalog.Graph, run: Run) -> Op:
    names = (op.name, op.type, graph.graph_id, graph.name, op.device)
    return Op(*names, op.num_outputs, op.layer, op.variable, run=run)


def frames_of(snapshot: Snapshot, ids: list[str]) -> list[Frame]:
    """Return the frames of a stack by their ids."""
    found = source_files.stack_frames(snapshot, ids)
    return [
        Frame(path, line, function, detail["text"], detail["origin"])
        for (_, path, line, function), detail in zip(found["stack_frames"], found["details"], strict=True)
    ]


def sources_of(snapshot: Snapshot) -> list[Source]:
    """Return the source files of a run."""
    numbers = range(len(source_files.source_list(snapshot)))
    files = [source_files.source_file(snapshot, number) for number in numbers]
    return [Source(one["file_path"], one["host_name"], one["origin"], one["lines"]) for one in files]


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise UsageError(f"{text!r} is not a regular expression: {error}.") from None
