"""The part of a run that describes the program: graphs, ops, stacks and source files."""

from __future__ import annotations

import re
from typing import Any

from tb_debugger_plugin.analysis import sources as source_files
from tb_debugger_plugin.analysis.graph import graphs
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.reading.program import Frame, Graph, Op, Source
from tb_debugger_plugin.reading.values_of_run import ValuesOfRun


class ProgramOfRun(ValuesOfRun):
    """The program of a run; see :class:`~tb_debugger_plugin.reading.run.Run`."""

    def graphs(self) -> list[Graph]:
        """Returns the graphs that were recorded.

        Use::

            [graph.name for graph in run.graphs()]
        """

        def all_graphs(snapshot: Snapshot) -> list[Graph]:
            known = snapshot.catalog.graphs
            return [
                Graph(one.graph_id, one.name, known[one.outer].graph_id if one.outer >= 0 else None, self)
                for one in known
            ]

        return self._ask(all_graphs)

    def ops(
        self,
        *,
        name: str | None = None,
        type: str | None = None,
        function: str | None = None,
        graph_id: str | None = None,
    ) -> list[Op]:
        """Returns ops of graphs.

        Use::

            run.ops(type="^MatMul$", function="train_step")[0].traceback()

        Args:
          name: A regular expression that matches any part of the name.
          type: The same for the type.
          function: The same for the name of the graph.
          graph_id: The id of the graph.

        Raises:
          UsageError: One of them is not a regular expression.
        """
        patterns = {"name": _pattern(name), "type": _pattern(type), "function": _pattern(function)}

        def chosen(op: Op) -> bool:
            matches = all(
                pattern.search(getattr(op, field) or "") for field, pattern in patterns.items() if pattern
            )
            return matches and graph_id in (None, op.graph_id)

        return [op for op in self._ask(self._all_ops) if chosen(op)]

    def _all_ops(self, snapshot: Snapshot) -> list[Op]:
        return [
            Op(
                *(
                    op.name,
                    op.type,
                    graph.graph_id,
                    graph.name,
                    op.device,
                    op.num_outputs,
                    op.layer,
                    op.variable,
                ),
                run=self,
            )
            for op in snapshot.catalog.ops
            for graph in [snapshot.catalog.graphs[op.graph]]
        ]

    def op_info(self, graph_id: str, op_name: str) -> dict[str, Any]:
        """Returns an op with inputs, consumers, stack and health.

        Use::

            run.op_info(op.graph_id, op.name)["inputs"]

        Args:
          graph_id: The id of its graph.
          op_name: Its name.

        Returns:
          The answer of the route ``graphs/op_info`` of ``docs/http-api.md``.

        Raises:
          NotFoundError: There is no such graph or op.
        """
        return self._ask(graphs.op_info, graph_id, op_name)

    def frames(self, ids: list[str]) -> list[Frame]:
        """Returns the frames of a stack.

        Use::

            run.frames(run.op_info(op.graph_id, op.name)["stack_frame_ids"])

        Args:
          ids: The ids of the frames.

        Raises:
          NotFoundError: There is no such frame.
        """
        found = self._ask(source_files.stack_frames, ids)
        return [
            Frame(path, line, function, detail["text"], detail["origin"])
            for (_, path, line, function), detail in zip(found["stack_frames"], found["details"], strict=True)
        ]

    def sources(self) -> list[Source]:
        """Returns the source files that were recorded.

        Use::

            [source.path for source in run.sources() if source.origin == "user"]
        """

        def all_sources(snapshot: Snapshot) -> list[Source]:
            files = [
                source_files.source_file(snapshot, n) for n in range(len(source_files.source_list(snapshot)))
            ]
            return [Source(one["file_path"], one["host_name"], one["origin"], one["lines"]) for one in files]

        return self._ask(all_sources)


def _pattern(text: str | None) -> re.Pattern[str] | None:
    try:
        return None if text is None else re.compile(text)
    except re.error as error:
        raise UsageError(f"{text!r} is not a regular expression: {error}.") from None
