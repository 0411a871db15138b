"""A graph of named nodes: inputs, recipients, and paths, as ``DebugDumpDir`` answers them.

Takes nodes with the names of their inputs. Walks are depth first in the order of the inputs, and do not go
through ``Merge`` nodes, whose inputs include the end of the loop that they begin.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final, NamedTuple

_QUEUES: Final = ("Barrier", "FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue", "Stack")
_READERS: Final = (
    *("FixedLengthRecordReader", "IdentityReader", "LMDBReader", "TFRecordReader", "TextLineReader"),
    "WholeFileReader",
)
_TABLES: Final = ("HashTable", "MutableDenseHashTable", "MutableHashTable", "MutableHashTableOfTensors")
_STORES: Final = ("ConditionalAccumulator", "SparseConditionalAccumulator", "TensorArray", "TensorArrayGrad")
_OPTIMIZERS: Final = (
    *("Adadelta", "Adagrad", "AdagradDA", "AdagradV2", "CenteredRMSProp", "Ftrl", "FtrlV2", "Momentum"),
    *("ProximalAdagrad", "ProximalGradientDescent", "RMSProp"),
)
_DENSE_OPTIMIZERS: Final = ("AdaMax", "Adam", "AddSign", "GradientDescent", "PowerSign")

#: Op types with a reference as first output.
REFERENCES: Final = frozenset(
    {
        *("Variable", "VariableV2", "TemporaryVariable", "StridedSliceAssign", "DebugGradientRefIdentity"),
        *("Assign", "AssignAdd", "AssignSub"),
        *(f"Scatter{kind}" for kind in ("Add", "Div", "Max", "Min", "Mul", "Sub", "Update")),
        *(f"ScatterNd{kind}" for kind in ("Add", "Max", "Min", "Sub", "Update")),
        *(
            f"Ref{kind}"
            for kind in ("Enter", "Exit", "Identity", "Merge", "NextIteration", "Select", "Switch")
        ),
        *(f"Apply{name}" for name in (*_OPTIMIZERS, *_DENSE_OPTIMIZERS)),
        *(f"SparseApply{name}" for name in _OPTIMIZERS),
        *(*_QUEUES, *_READERS, *_TABLES, *_STORES),
    }
)


_MERGE: Final = "Merge"


class GraphNode(NamedTuple):
    """A node.

    Attributes:
      name: Its name.
      op: Its op type.
      device: Its device; empty if not known.
      inputs: The tensors that it takes, such as ``a`` and ``b:1``.
      controls: The nodes that it waits for.
    """

    name: str
    op: str
    device: str
    inputs: Sequence[str]
    controls: Sequence[str]


def node_of(element: str) -> str:
    """Return the node of a node or tensor: ``a`` for ``a:1``."""
    name, colon, slot = element.rpartition(":")
    return name if colon and slot else element


class DebugGraph:
    """A graph in which inputs and recipients are looked up by name.

    Args:
      nodes: The nodes, in order.
      silent: Nodes for whose control inputs no recipients are noted.
    """

    def __init__(self, nodes: Iterable[GraphNode], silent: frozenset[str] = frozenset()) -> None:
        self.nodes = {node.name: node for node in nodes}
        self._silent = silent

    @cached_property
    def recipients(self) -> Mapping[str, list[str]]:
        """By node: the nodes that take its outputs, as often as they do."""
        return self._turned(
            (node_of(name), node.name) for node in self.nodes.values() for name in node.inputs
        )

    @cached_property
    def control_recipients(self) -> Mapping[str, list[str]]:
        """By node: the nodes that wait for it."""
        return self._turned(
            (name, node.name)
            for node in self.nodes.values()
            for name in node.controls
            if name not in self._silent
        )

    @cached_property
    def reversed_references(self) -> Mapping[str, list[str]]:
        """By node with a reference as output: the nodes that take the reference, and may write to it."""
        return self._turned(
            (name, node.name)
            for node in self.nodes.values()
            for name in map(node_of, node.inputs)
            if name in self.nodes and self.nodes[name].op in REFERENCES
        )

    def _turned(self, edges: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {name: [] for name in self.nodes}
        for source, target in edges:
            found.setdefault(source, []).append(target)
        return found

    def _inputs(self, name: str, *, control: bool, reversed_ref: bool) -> Iterator[str]:
        node = self.nodes.get(name)
        if node is not None:
            yield from node.inputs
            if control:
                yield from node.controls
        if reversed_ref:
            yield from self.reversed_references.get(name, ())

    def _is_merge(self, name: str) -> bool:
        node = self.nodes.get(name)
        return node is not None and node.op == _MERGE

    def walk(
        self, start: str, *, control: bool, reversed_ref: bool, until: str | None = None
    ) -> tuple[list[str], list[str] | None]:
        """Walk from a node to its inputs, their inputs, and so on.

        Args:
          start: The node.
          control: Whether control inputs are walked too.
          reversed_ref: Whether those who take a reference count as inputs of the one that gives it.
          until: The node at which the walk ends.

        Returns:
          The inputs in the order of the walk, and the path from the last node to the first if the walk ended
          at ``until``.
        """
        found: list[str] = []
        if node_of(start) == until:
            return found, [start]
        visited = {node_of(start)}
        path: list[tuple[str, Iterator[str]]] = []

        def enter(element: str) -> None:
            name = node_of(element)
            inputs = (
                () if self._is_merge(name) else self._inputs(name, control=control, reversed_ref=reversed_ref)
            )
            path.append((element, iter(tuple(inputs))))

        enter(start)
        while path:
            element = next(path[-1][1], None)
            if element is None:
                path.pop()
                continue
            name = node_of(element)
            if name in visited:
                continue
            found.append(element)
            if name == until:
                return found, [element, *(step for step, _ in reversed(path))]
            if not self._is_merge(name):
                visited.add(name)
            enter(element)
        return found, None
