"""The part of a run that finds recorded values."""

from __future__ import annotations

import re
from typing import Final

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.values.recorded_value import find_value
from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.reading.questions import Questions
from tb_debugger_plugin.reading.value import Value

_TENSOR: Final = re.compile(r"(?P<op>.+?)(?::(?P<slot>[0-9]{1,9}))?")


class ValuesOfRun(Questions):
    """The values of a run; see :class:`~tb_debugger_plugin.reading.run.Run`."""

    def value(
        self,
        tensor: str | None = None,
        *,
        occurrence: int = -1,
        function: str | None = None,
        graph_id: str | None = None,
        graph_execution: int | None = None,
        execution: int | None = None,
        slot: int = 0,
    ) -> Value:
        """Returns a recorded tensor, whose elements are read when it is sliced.

        Use::

            run.value("Log:0")[:, 1]
            run.value("Log:0", occurrence=0, function="loss")
            run.value(graph_execution=2)
            run.value(execution=1, slot=0)

        Args:
          tensor: The name of a tensor in a graph, such as ``"Log:0"``; the slot may be left out.
          occurrence: Which time it was computed, from 0; negative numbers count from the end, and -1 (the
            default) is the last time.
          function: The name of its graph; needed if several graphs have such a tensor.
          graph_id: The id of its graph, instead.
          graph_execution: Instead of a name, a position in the list of graph executions, or
          execution: a position in the list of executions.
          slot: The number of the output, for an execution.

        Raises:
          BadQueryError: There is no such position, or not exactly one of the three is given.
          NotFoundError: There is no such tensor or occurrence, or several graphs have it.
        """
        if tensor is None:
            return self._ask(
                lambda snapshot: Value(
                    find_value(snapshot, graph_execution=graph_execution, execution=execution, slot=slot)
                )
            )
        if graph_execution is not None or execution is not None:
            raise UsageError("Give the name of a tensor, or a position, but not both.")
        return self._ask(self._of_tensor, tensor, function, graph_id, occurrence)

    def _of_tensor(
        self, snapshot: Snapshot, tensor: str, function: str | None, graph_id: str | None, occurrence: int
    ) -> Value:
        indices = _occurrences(snapshot, tensor, function, graph_id)
        if not -len(indices) <= occurrence < len(indices):
            raise NotFoundError(
                f"{tensor} has {len(indices)} occurrences, so there is no occurrence {occurrence}."
            )
        return Value(find_value(snapshot, graph_execution=indices[occurrence]))

    def values(self, tensor: str, *, function: str | None = None, graph_id: str | None = None) -> list[Value]:
        """Returns every occurrence of a tensor of a graph, in order.

        Use::

            [value.summary["nan"] for value in run.values("Log:0")]

        Args:
          tensor: The name of the tensor, such as ``"Log:0"``.
          function: The name of its graph; needed if several graphs have such a tensor.
          graph_id: The id of its graph, instead.

        Raises:
          NotFoundError: There is no such tensor, or several graphs have it.
        """

        def found(snapshot: Snapshot) -> list[Value]:
            indices = _occurrences(snapshot, tensor, function, graph_id)
            return [Value(find_value(snapshot, graph_execution=index)) for index in indices]

        return self._ask(found)


def _occurrences(snapshot: Snapshot, tensor: str, function: str | None, graph_id: str | None) -> list[int]:
    """The positions of the occurrences of a tensor of a graph."""
    match = _TENSOR.fullmatch(tensor)
    op_name, slot = (match["op"], int(match["slot"] or 0)) if match else (tensor, 0)
    catalog = snapshot.catalog
    sites = [
        site
        for site in catalog.sites
        if (catalog.ops[site.op].name, site.slot) == (op_name, slot)
        and function in (None, catalog.graphs[site.graph].name)
        and graph_id in (None, catalog.graphs[site.graph].graph_id)
    ]
    names = sorted({str(catalog.graphs[site.graph].name) for site in sites})
    if not sites:
        raise NotFoundError(f"No tensor {op_name}:{slot} is recorded; ops() lists the ops of the graphs.")
    if len({site.graph for site in sites}) > 1:
        what = f"the functions {', '.join(names)}" if len(names) > 1 else f"several graphs named {names[0]}"
        raise NotFoundError(f"{op_name}:{slot} is in {what}: give function=... or graph_id=....")
    rows = snapshot.rows(
        "SELECT idx FROM graph_executions WHERE site IN (SELECT unnest(?)) ORDER BY idx",
        [[site.number for site in sites]],
    )
    return [index for (index,) in rows]
