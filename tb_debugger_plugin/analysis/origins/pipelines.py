"""What the functions of an input pipeline computed before an element of it arrived."""

from __future__ import annotations

import functools

from tb_debugger_plugin.analysis.origins.structure import Structure
from tb_debugger_plugin.analysis.origins.traces import sites_of
from tb_debugger_plugin.analysis.origins.values import Measured
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

    def result(self, time: float, same: Measured | None, but: int | None) -> int | None:
        """The last bad result of a function of an input pipeline.

        Args:
          time: When it was there at the latest.
          same: The numbers that it has, if it was passed on as it was.
          but: A graph that did not make it.
        """
        sites = [site for graph, sites in self._sites.items() if graph != but for site in sites]
        if not sites:
            return None
        counts = "" if same is None or same.nan is None else f" AND nan = {same.nan}"
        rows = self._snapshot.rows(
            f"SELECT max(idx) FROM graph_executions WHERE wall_time <= ? AND health = {BAD}{counts}"
            " AND site IN (SELECT unnest(?))",
            [time, sites],
        )
        return None if rows[0][0] is None else int(rows[0][0])

    @functools.cached_property
    def _sites(self) -> dict[int, list[int]]:
        """The sites of the results of each function of input pipelines."""
        graphs = [one for one in self._snapshot.catalog.graphs if is_of_pipeline(one.name or "")]
        return {graph.number: self._result_sites(graph.number) for graph in graphs}

    def _result_sites(self, graph: int) -> list[int]:
        sources = (one for end in self._structure.results(graph) for one in self._structure.sources(end, 0))
        return sites_of(self._snapshot, [(one.op, one.slot) for one in sources if one.end is None])
