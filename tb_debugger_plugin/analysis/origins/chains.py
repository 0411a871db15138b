"""Writes the chain from the first bad value that the user sees back to where it was born.

Invariant: values that only pass it on are counted, and not links; a chain has a bounded number of links.
"""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.analysis.origins.births import Node
from tb_debugger_plugin.analysis.origins.feeds import Feeds
from tb_debugger_plugin.analysis.origins.lines import Lines
from tb_debugger_plugin.analysis.origins.origin import Link
from tb_debugger_plugin.analysis.origins.values import BadKind, Relation, ValueFeed, ValueRef
from tb_debugger_plugin.events.tensorflow_names import display_name

_MAX_LINKS: Final = 200
_WORDS: Final[dict[Relation, str]] = {
    "input": "took it as an input",
    "argument": "was passed in by the caller",
    "result": "was returned by the function",
    "iteration": "comes from the turn of the loop before",
    "assignment": "was assigned to the variable",
    "gradient": "is used by the gradient",
    "step": "comes from an earlier step",
    "data": "comes from the input data",
}


class Chains:
    """Writes the chains of one run.

    Args:
      feeds: Its values.
      lines: Its lines.
    """

    def __init__(self, feeds: Feeds, lines: Lines) -> None:
        self._feeds = feeds
        self._lines = lines
        self._catalog = feeds.snapshot.catalog

    def links(self, nodes: list[tuple[Node, ValueFeed | None]], kind: BadKind) -> list[Link]:
        """Return the links of a chain.

        Args:
          nodes: The values of a walk, each with how it fed the one before.
          kind: The kind of bad elements where a node has none.
        """
        links: list[Link] = []
        skipped = 0
        relation: Relation = "input"
        last = len(nodes) - 1
        for number, ((value, own), feed) in enumerate(nodes):
            if feed is not None and feed.relation != "input":
                relation = feed.relation
            if value.outside and number:
                continue
            is_end = number in (0, last) or (number == last - 1 and bool(nodes[last][0][0].outside))
            if not is_end and self._is_trivial(value):
                skipped += 1
                continue
            links.append(self._link(value, own or kind, relation, skipped))
            skipped, relation = 0, "input"
        return links if len(links) <= _MAX_LINKS else links[: _MAX_LINKS // 2] + links[-_MAX_LINKS // 2 :]

    def _is_trivial(self, value: ValueRef) -> bool:
        if value.execution >= 0:
            return self._feeds.op_type(value) in op_kinds.TRIVIAL
        op = self._feeds.op_of(value)
        return op is not None and op.type in op_kinds.TRIVIAL

    def _link(self, value: ValueRef, kind: BadKind, relation: Relation, skipped: int) -> Link:
        op = self._feeds.op_of(value)
        graph = None if op is None else self._catalog.graphs[op.graph]
        op_type = self._feeds.op_type(value)
        return Link(
            op_type,
            None if op is None else op.name,
            self._feeds.slot_of(value),
            None if graph is None else graph.graph_id,
            None if graph is None or graph.name is None else display_name(graph.name),
            self._lines.place(value).source,
            self._feeds.step(value),
            self._feeds.call_of(value),
            value.trace if value.trace >= 0 else None,
            kind,
            relation,
            f"{display_name(op_type)} {_WORDS[relation]}",
            skipped,
        )
