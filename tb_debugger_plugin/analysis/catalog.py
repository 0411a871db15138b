"""The catalog of a run: its graphs, ops and sites, in memory.

Takes the tables of a database and returns lists indexed by number. The catalog is small compared with the
long lists (one row per op of the program, not per execution), changes only when new graphs are recorded, and
is kept between queries.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final, TypeVar

import duckdb
import numpy as np
import numpy.typing as npt

K = TypeVar("K")
V = TypeVar("V")

#: Levels of graphs inside graphs; programs have a dozen.
_MAX_DEPTH: Final = 64
#: Cached properties of a catalog that do not depend on its sites.
_NOT_OF_SITES: Final = frozenset({"op_numbers", "graph_numbers", "graph_callers"})


@dataclass(frozen=True)
class Graph:
    """A graph; ``outer`` is the number of the graph that was being made when this one was made, -1 = none."""

    number: int
    host: int
    graph_id: str
    name: str | None
    outer: int
    known: bool


@dataclass(frozen=True)
class Op:
    """An op of a graph; an op that is only referred to is not known and has no type."""

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
    attributes: int
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
    """The facts about an op's output that are known without running it."""

    tensor_id: int | None
    dtype: int
    shape: int


@dataclass(frozen=True)
class Catalog:
    """All numbered things of a run. Lists are indexed by number.

    Attributes:
      gradients: The variables whose gradient a tensor is, by op and slot.
      losses: Op and slot of the tensors of which gradients were asked for.
      op_graphs: The recorded graphs that an op runs, in order.
    """

    graphs: list[Graph]
    ops: list[Op]
    sites: list[Site]
    op_types: list[tuple[str, bool]]
    shapes: list[str]
    statics: dict[tuple[int, int], Static]
    gradients: dict[tuple[int, int], list[str]]
    losses: frozenset[tuple[int, int]]
    op_graphs: dict[int, list[int]]
    host_names: list[str]

    @cached_property
    def op_numbers(self) -> dict[tuple[int, str], int]:
        """The number of an op by graph and name."""
        return {(op.graph, op.name): op.number for op in self.ops}

    @cached_property
    def graph_numbers(self) -> dict[str, int]:
        """The number of a graph by id; that of the first host when several hosts use one id."""
        return {graph.graph_id: graph.number for graph in reversed(self.graphs)}

    def with_sites(self, more: list[Site]) -> Catalog:
        """Return the catalog with more sites, which come after those that it has."""
        catalog = replace(self, sites=[*self.sites, *more])
        for name in _NOT_OF_SITES & vars(self).keys():
            vars(catalog)[name] = vars(self)[name]  # what `cached_property` keeps
        return catalog

    @cached_property
    def op_sites(self) -> dict[int, list[Site]]:
        """The sites of each op."""
        sites: dict[int, list[Site]] = {}
        for site in self.sites:
            sites.setdefault(site.op, []).append(site)
        return sites

    @cached_property
    def site_graphs(self) -> npt.NDArray[np.int32]:
        """The graph of each site, as an array."""
        return np.array([site.graph for site in self.sites], np.int32)

    @cached_property
    def site_hosts(self) -> npt.NDArray[np.int32]:
        """The host of each site, as an array."""
        return np.array([site.host for site in self.sites], np.int32)

    @cached_property
    def site_statics(self) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int32]]:
        """The static dtype and shape of each site, as arrays."""
        none = Static(None, 0, -1)
        statics = [self.statics.get((site.op, site.slot), none) for site in self.sites]
        return (
            np.array([static.dtype for static in statics], np.uint8),
            np.array([static.shape for static in statics], np.int32),
        )

    @cached_property
    def graph_callers(self) -> dict[int, list[int]]:
        """The recorded graphs whose ops run each graph."""
        return _grouped(
            (graph, self.ops[op].graph) for op, graphs in self.op_graphs.items() for graph in set(graphs)
        )

    def ancestry(self, graph: int) -> list[int]:
        """Return the graph and those around it, outermost first; cuts cycles and towers made by damage."""
        chain: dict[int, None] = {}
        while graph >= 0 and graph not in chain and len(chain) < _MAX_DEPTH:
            chain[graph] = None
            graph = self.graphs[graph].outer
        return list(chain)[::-1]

    def graph_ids(self, graph: int) -> list[str]:
        """Return the ids of :meth:`ancestry`."""
        return [self.graphs[number].graph_id for number in self.ancestry(graph)]

    def dims(self, shape: int) -> list[int | None] | None:
        """Return the dimensions of a shape, None for an unknown dimension; None for shape -1."""
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
                "SELECT op, graph, name, type, device, num_outputs, wall_time, stack, layer, variable,"
                " attributes, known FROM ops ORDER BY op"
            )
        ],
        sites=load_sites(connection, 0),
        op_types=rows("SELECT name, is_function FROM op_types ORDER BY op_type"),
        shapes=[text for (text,) in rows("SELECT text FROM shapes ORDER BY shape")],
        statics={
            (op, slot): Static(*fields)
            for op, slot, *fields in rows("SELECT op, slot, tensor_id, dtype, shape FROM op_outputs")
        },
        gradients=_grouped(
            ((op, slot), variable) for op, slot, variable in rows("SELECT op, slot, variable FROM gradients")
        ),
        losses=frozenset(rows("SELECT op, slot FROM losses")),
        op_graphs=_grouped(rows("SELECT op, graph FROM op_graphs ORDER BY op, position")),
        host_names=distinct_names(rows("SELECT name, process_id FROM hosts ORDER BY host")),
    )


def load_sites(connection: duckdb.DuckDBPyConnection, first: int) -> list[Site]:
    """Return the sites from a number on.

    Args:
      connection: A connection to the run's database.
      first: The number.
    """
    rows = connection.execute(
        "SELECT site, op, graph, host, slot, device FROM sites WHERE site >= ? ORDER BY site", [first]
    )
    return [Site(*row) for row in rows.fetchall()]


def distinct_names(hosts: Sequence[tuple[str, int | None]]) -> list[str]:
    """Return distinct names of the hosts of a run: several processes of a job may run on one machine.

    Args:
      hosts: Name and process id of each host, by number; 0 or None when the process is not known.

    Returns:
      The names in the same order; a name that several hosts have is followed by the process id, or else by
      the number.
    """
    counts = Counter(name for name, _ in hosts)
    names = [f"{name} (process {pid})" if pid and counts[name] > 1 else name for name, pid in hosts]
    counts = Counter(names)
    return [f"{name} ({number})" if counts[name] > 1 else name for number, name in enumerate(names)]


def _grouped(rows: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    groups: dict[K, list[V]] = {}
    for key, value in rows:
        groups.setdefault(key, []).append(value)
    return groups


def _graphs(rows: Sequence[tuple[int, int, str, str | None, str | None, bool]]) -> list[Graph]:
    numbers = {(host, graph_id): number for number, host, graph_id, *_ in rows}
    return [
        Graph(number, host, graph_id, name, numbers.get((host, outer_id), -1) if outer_id else -1, known)
        for number, host, graph_id, name, outer_id, known in rows
    ]
