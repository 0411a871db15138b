"""What the functions of an input pipeline computed before an element of it arrived."""

from __future__ import annotations

import functools

from tb_debugger_plugin.analysis.origins.structure import Structure
from tb_debugger_plugin.analysis.origins.traces import BAD_ROWS, sites_of
from tb_debugger_plugin.analysis.origins.values import BadKind, Measured, Value
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.events.tensorflow_names import is_of_pipeline
from tb_debugger_plugin.index.tensors import BAD


class Pipelines:
    """The input pipelines of a run; lives as long as a search.

    Args:
      snapshot: The run.
      structure: Its graphs.
    """

    def __init__(self, snapshot: Snapshot, structure: Structure) -> None:
        self._snapshot = snapshot
        self._structure = structure

    def result(self, value: Value, own: Measured, kind: BadKind | None, but: int | None) -> int | None:
        """Return the last bad result that a function of an input pipeline gave before a value.

        One with as many bad elements comes before others: it may be the value itself. One with more is none,
        unless it was taken apart since.

        Args:
          value: The value.
          own: What was recorded of it.
          kind: The kind of bad elements that is followed.
          but: A graph that did not make it.
        """
        sites = [site for graph, sites in self._sites.items() if graph != but for site in sites]
        if not sites:
            return None
        before = "idx < $trace" if value.trace >= 0 else "wall_time <= $time"
        counted = " AND ".join(
            f"{name} = {count}"
            for name, count in zip(("nan", "neg_inf", "pos_inf"), own.counts()[1:], strict=True)
            if count is not None
        )
        rows = self._snapshot.rows(
            f"SELECT max(idx) FILTER ({counted or 'true'}), max(idx) FROM graph_executions WHERE {before}"
            f" AND health = {BAD} AND {BAD_ROWS.get(kind or '', 'true')} AND site IN (SELECT unnest($sites))",
            {"trace": value.trace, "sites": sites}
            if value.trace >= 0
            else {"time": own.time, "sites": sites},
        )
        ((same, last),) = rows
        found = last if same is None else same
        return None if found is None else int(found)

    @functools.cached_property
    def _sites(self) -> dict[int, list[int]]:
        """The sites of the results of each function of input pipelines."""
        graphs = [one for one in self._snapshot.catalog.graphs if is_of_pipeline(one.name or "")]
        return {graph.number: self._result_sites(graph.number) for graph in graphs}

    def _result_sites(self, graph: int) -> list[int]:
        sources = (one for end in self._structure.results(graph) for one in self._structure.sources(end, 0))
        return sites_of(self._snapshot, [(one.op, one.slot) for one in sources if one.end is None])
