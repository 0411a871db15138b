"""What a run's graphs, ops and sites are, in memory.

In come the tables of a database, out come lists indexed by their numbers. It is small beside the long lists
(one row per op of the program, not per execution), changes only when new graphs are met, and is kept
between questions.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import duckdb
import numpy as np
import numpy.typing as npt

#: Of graphs inside graphs; programs have a dozen.
_MAX_DEPTH: Final = 64


@dataclass(frozen=True)
class Graph:
    """A graph; ``outer`` is the number of the graph in whose making it was made, -1 = none."""

    number: int
    host: int
    graph_id: str
    name: str | None
    outer: int
    known: bool


@dataclass(frozen=True)
class Op:
    """An op of a graph; one that is only referred to is not known and has no type."""

    number: int
    graph: int
    name: str
    type: str | None
    device: str | None
    num_outputs: int | None
    wall_time: float | None
    stack: int
    layer: str | None
    variable: str | None
    known: bool


@dataclass(frozen=True)
class Site:
    """A slot of an op on a device: where the tensors of ``graph_executions`` are computed."""

    number: int
    op: int
    graph: int
    host: int
    slot: int
    device: str | None


@dataclass(frozen=True)
class Static:
    """What is known of an op's output without running it."""

    tensor_id: int | None
    dtype: int
    shape: int


@dataclass(frozen=True)
class Catalog:
    """Everything of a run that is numbered. Lists are indexed by number.

    Attributes:
      gradients: The variables whose gradient a tensor is, by op and slot.
      op_graphs: The graphs that an op runs, as far as they are recorded, in order.
    """

    graphs: list[Graph]
    ops: list[Op]
    sites: list[Site]
    op_types: list[tuple[str, bool]]
    shapes: list[str]
    statics: dict[tuple[int, int], Static]
    gradients: dict[tuple[int, int], list[str]]
    op_graphs: dict[int, list[int]]
    host_names: list[str]

    @cached_property
    def op_numbers(self) -> dict[tuple[int, str], int]:
        """Number of an op by graph and name."""
        return {(op.graph, op.name): op.number for op in self.ops}

    @cached_property
    def graph_numbers(self) -> dict[str, int]:
        """Number of a graph by id; of the first host's when several hosts use one id."""
        return {graph.graph_id: graph.number for graph in reversed(self.graphs)}

    @cached_property
    def op_sites(self) -> dict[int, list[Site]]:
        """The sites of each op."""
        found: dict[int, list[Site]] = {}
        for site in self.sites:
            found.setdefault(site.op, []).append(site)
        return found

    @cached_property
    def site_graphs(self) -> npt.NDArray[np.int32]:
        """Graph of each site, as an array."""
        return np.array([site.graph for site in self.sites], np.int32)

    @cached_property
    def site_hosts(self) -> npt.NDArray[np.int32]:
        """Host of each site, as an array."""
        return np.array([site.host for site in self.sites], np.int32)

    @cached_property
    def site_statics(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
        """Static dtype and shape of each site, as arrays."""
        none = Static(None, 0, -1)
        statics = [self.statics.get((site.op, site.slot), none) for site in self.sites]
        return (
            np.array([static.dtype for static in statics], np.uint8),
            np.array([static.shape for static in statics], np.int32),
        )

    @cached_property
    def graph_callers(self) -> dict[int, list[int]]:
        """The graphs whose ops run each graph, as far as they are recorded."""
        return _grouped(
            (graph, self.ops[op].graph) for op, graphs in self.op_graphs.items() for graph in set(graphs)
        )

    def ancestry(self, graph: int) -> list[int]:
        """The graph and those around it, outermost first; a cycle or a tower, made by damage, is cut."""
        chain: dict[int, None] = {}
        while graph >= 0 and graph not in chain and len(chain) < _MAX_DEPTH:
            chain[graph] = None
            graph = self.graphs[graph].outer
        return list(chain)[::-1]

    def graph_ids(self, graph: int) -> list[str]:
        """Ids of :meth:`ancestry`."""
        return [self.graphs[number].graph_id for number in self.ancestry(graph)]

    def dims(self, shape: int) -> list[int | None] | None:
        """Dimensions of a shape, None for one that is not known; None for shape -1."""
        if shape < 0:
            return None
        parsed: list[int | None] = json.loads(self.shapes[shape].replace("?", "null"))
        return parsed


def load_catalog(connection: duckdb.DuckDBPyConnection) -> Catalog:
    """Read the catalog from a run's database."""

    def rows(query: str) -> list[tuple[Any, ...]]:
        return connection.execute(query).fetchall()

    return Catalog(
        graphs=_graphs(
            rows("SELECT graph, host, graph_id, name, outer_id, known FROM graphs ORDER BY graph")
        ),
        ops=[
            Op(*row)
            for row in rows(
                "SELECT op, graph, name, type, device, num_outputs, wall_time, stack, layer, variable, known"
                " FROM ops ORDER BY op"
            )
        ],
        sites=[
            Site(*row) for row in rows("SELECT site, op, graph, host, slot, device FROM sites ORDER BY site")
        ],
        op_types=rows("SELECT name, is_function FROM op_types ORDER BY op_type"),
        shapes=[text for (text,) in rows("SELECT text FROM shapes ORDER BY shape")],
        statics={
            (op, slot): Static(*fields)
            for op, slot, *fields in rows("SELECT op, slot, tensor_id, dtype, shape FROM op_outputs")
        },
        gradients=_grouped(
            ((op, slot), variable) for op, slot, variable in rows("SELECT op, slot, variable FROM gradients")
        ),
        op_graphs=_grouped(rows("SELECT op, graph FROM op_graphs ORDER BY op, place")),
        host_names=distinct_names(rows("SELECT name, process_id FROM hosts ORDER BY host")),
    )


def distinct_names(hosts: Sequence[tuple[str, int | None]]) -> list[str]:
    """Names that tell the hosts of a run apart: several processes of a job may run on one machine.

    Args:
      hosts: Name and process of each, by number; 0 or None where the process is not known.

    Returns:
      The names, in the same order; one that several have is followed by the process, or else by the number.
    """
    counts = Counter(name for name, _ in hosts)
    found = [f"{name} (process {pid})" if pid and counts[name] > 1 else name for name, pid in hosts]
    counts = Counter(found)
    return [f"{name} ({number})" if counts[name] > 1 else name for number, name in enumerate(found)]


def _grouped(rows: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    found: dict[Any, list[Any]] = {}
    for key, value in rows:
        found.setdefault(key, []).append(value)
    return found


def _graphs(rows: list[tuple[Any, ...]]) -> list[Graph]:
    numbers = {(host, graph_id): number for number, host, graph_id, *_ in rows}
    return [
        Graph(number, host, graph_id, name, numbers.get((host, outer_id), -1) if outer_id else -1, known)
        for number, host, graph_id, name, outer_id, known in rows
    ]
