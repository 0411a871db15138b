"""The recorded program as objects: graphs, ops, stack frames, source files and alerts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tb_debugger_plugin.reading.value import Value

if TYPE_CHECKING:
    from tb_debugger_plugin.analysis.alerts.findings import Finding
    from tb_debugger_plugin.reading.analysis_of_run import AnalysisOfRun
    from tb_debugger_plugin.reading.program_of_run import ProgramOfRun


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
        """Returns the frame as Python prints it."""
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
    run: ProgramOfRun = field(repr=False, compare=False)

    def ops(self, **filters: Any) -> list[Op]:
        """Returns the ops of the graph; arguments as for :meth:`Run.ops`.

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
    run: ProgramOfRun = field(repr=False, compare=False)

    def inputs(self) -> list[str]:
        """Returns the names of its inputs, such as ``"MatMul:0"``.

        Use::

            op.inputs()
        """
        return [f"{one['op_name']}:{one['output_slot']}" for one in self.info()["inputs"]]

    def consumers(self) -> list[list[str]]:
        """Returns the names of the ops that take its outputs, for each output.

        Use::

            op.consumers()
        """
        return [[one["op_name"] for one in slot] for slot in self.info()["consumers"]]

    def info(self) -> dict[str, Any]:
        """Returns everything that the route ``graphs/op_info`` of ``docs/http-api.md`` answers.

        Use::

            op.info()["stack_frame_ids"]
        """
        return self.run.op_info(self.graph_id, self.name)

    def traceback(self) -> list[Frame]:
        """Returns the stack that made the op, outermost frame first.

        Use::

            print(*op.traceback(), sep="\\n")
        """
        return self.run.frames(self.info()["stack_frame_ids"])

    def values(self, slot: int = 0) -> list[Value]:
        """Returns each tensor that an output was, in order.

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


@dataclass(frozen=True)
class Alert:
    """A value that a rule reports, such as one with NaN.

    Attributes:
      index: Its position in the list of alerts.
      alert_type: The rule.
      op_type: The type of the op.
      op_name: The name of the op in its graph; None for an eager op.
      slot: The number of the output.
      wall_time: When the value was computed, in seconds since the epoch.
      facts: Everything that the route ``alerts`` of ``docs/http-api.md`` answers; of a rule that was asked
        for, that of ``alerts/found``: also ``severity``, ``count`` and ``source``.
    """

    index: int
    alert_type: str
    op_type: str | None
    op_name: str | None
    slot: int
    wall_time: float
    facts: dict[str, Any] = field(repr=False)
    run: AnalysisOfRun = field(repr=False, compare=False)
    finding: Finding | None = field(default=None, repr=False, compare=False)

    def value(self) -> Value:
        """Returns the value.

        Use::

            alert.value()[...]
        """
        inside = self.facts["graph_execution_trace_index"]
        if inside is not None:
            return self.run.value(graph_execution=inside)
        return self.run.value(execution=self.facts["execution_index"], slot=self.slot)

    def why(self) -> Any:
        """Returns the explanation, as :meth:`Run.why`.

        Use::

            print(alert.why())
        """
        return self.run.why(self.index) if self.finding is None else self.run.why_finding(self.finding)
