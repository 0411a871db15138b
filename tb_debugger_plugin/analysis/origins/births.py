"""The values in which the badness of a value was born, and the chains to them.

Walks from a value backwards along the feeds that carried its badness. A NaN that infinities made is traced to
them: if one of them was made by mistake, its op is the origin; if all were meant, the op that made NaN is.

Invariant: a walk visits a bounded number of values.
"""

from __future__ import annotations

from collections import ChainMap, deque
from typing import Final, NamedTuple

from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.analysis.origins.expected import INFINITIES, BadElement, row_of
from tb_debugger_plugin.analysis.origins.feeds import Feeds
from tb_debugger_plugin.analysis.origins.steps import BirthSteps
from tb_debugger_plugin.analysis.origins.values import BadKind, ValueFeed, ValueRef

_PRODUCTS: Final = frozenset("Mul MatMul BatchMatMulV2 Einsum".split())
#: Values that one walk visits, and all walks of a search.
_MAX_WALK: Final = 4_000
_MAX_VISITED: Final = 24_000

Node = tuple[ValueRef, "BadKind | None"]
#: Each value of a walk, with the one that it fed, and how.
Parents = ChainMap[Node, "tuple[Node, ValueFeed] | None"]


class Birth(NamedTuple):
    """A value in which badness was born.

    Attributes:
      value: The value.
      kind: What was born; None when the record does not say.
      parents: The walk in which it was found.
      is_certain: Whether all of its inputs were measured.
      meant: Whether an infinity was meant: see :meth:`Births.is_meant`.
      meant_inputs: For a NaN: the births of the infinities that it was made of, which were meant.
      is_explained: False if the value is only the earliest one that a walk reached.
    """

    value: ValueRef
    kind: BadKind | None
    parents: Parents
    is_certain: bool = True
    meant: bool = False
    meant_inputs: tuple[ValueRef, ...] = ()
    is_explained: bool = True

    @property
    def entry(self) -> ValueRef:
        """The value itself, or for what came from outside the one that it came in by."""
        chain = self.chain() if self.value.outside else []
        return chain[-2][0][0] if len(chain) > 1 else self.value

    def chain(self) -> list[tuple[Node, ValueFeed | None]]:
        """Return the values from the beginning of the walk to this one, each with how it fed the last."""
        node: Node | None = (self.value, self.kind)
        if node not in self.parents:
            node = next((each for each in self.parents if each[0] == self.value), node)
        links: list[tuple[Node, ValueFeed | None]] = []
        seen: set[Node] = set()
        while node is not None and node not in seen:
            seen.add(node)
            parent = self.parents.get(node)
            links.append((node, None if parent is None else parent[1]))
            node = None if parent is None else parent[0]
        return links[::-1]


class Births:
    """A search for births in one run.

    Args:
      feeds: Its values.
    """

    def __init__(self, feeds: Feeds) -> None:
        self._feeds = feeds
        self._steps = BirthSteps.of_feeds(feeds)
        self._visited = 0
        self._known: dict[Node, list[Birth]] = {}
        #: All values that walks from values that matter have visited.
        self.seen: set[Node] = set()
        #: The values that the walks of this search have visited, in order.
        self.visits: list[Node] = []

    def of(self, value: ValueRef, kind: BadKind | None) -> list[Birth]:
        """Return the births that a bad value comes from, the nearest first; at least one."""
        return self._walk([((value, kind), None)], ChainMap())

    def _walk(self, begin: list[tuple[Node, tuple[Node, ValueFeed] | None]], parents: Parents) -> list[Birth]:
        births: list[Birth] = []
        own = parents.maps[0]
        queue: deque[Node] = deque()
        for node, parent in begin:
            own[node] = parent
            queue.append(node)
        visited = 0
        while queue and visited < _MAX_WALK and self._visited < _MAX_VISITED:
            node = queue.popleft()
            visited += 1
            self._visited += 1
            self.seen.add(node)
            self.visits.append(node)
            step = self._steps.of(*node)
            for feed, kind in step.carriers:
                following = (feed.value, kind)
                if following not in own:
                    own[following] = (node, feed)
                    queue.append(following)
            if step.is_born:
                if node not in self._known:
                    self._known[node] = self._born(node, parents, step.from_infinities, step.is_certain)
                births += self._known[node]
        return births or [self._reached(parents)]

    def _reached(self, parents: Parents) -> Birth:
        """Return the earliest value of a walk that found no birth, in a recording that lacks something."""
        value, kind = min(parents.maps[0], key=lambda node: (self._feeds.time(node[0]), node[0]))
        return Birth(value, kind, parents, is_certain=False, is_explained=False)

    def _born(
        self, node: Node, parents: Parents, infinities: list[ValueFeed], is_certain: bool
    ) -> list[Birth]:
        value, kind = node
        if not infinities:
            made: BadKind | None = kind or self._kind_made(value)
            self._alias(node, (value, made), parents)
            return [Birth(value, made, parents, is_certain, made != "nan" and self.is_meant(value))]
        begin: list[tuple[Node, tuple[Node, ValueFeed] | None]] = [
            ((feed.value, "inf" if self._feeds.measured(feed.value).has_inf else None), (node, feed))
            for feed in infinities
        ]
        # A walk of its own: this one may have visited the same values for another kind.
        sources = self._walk(begin, ChainMap({}, parents))
        wrong = [
            birth._replace(meant=False)
            for birth in sources
            if not (birth.meant or self._was_harmless(birth, value))
            or self._is_factor(birth, value, infinities)
            or self._was_set(birth, value)
        ]
        if wrong:
            return wrong
        product = self._product(sources) if kind is None else None
        if product is not None:
            self._alias(node, (product, None), parents)
            return [Birth(product, "nan", sources[0].parents, False)]
        self._alias(node, (value, "nan"), parents)
        return [
            Birth(value, "nan", parents, is_certain, meant_inputs=tuple(birth.value for birth in sources))
        ]

    def _product(self, sources: list[Birth]) -> ValueRef | None:
        """Return a product with an infinite constant, NaN where the other factor is 0: no mask is so."""
        for source in sources:
            users = [value for (value, _), _ in source.chain()[::-1] if value != source.value]
            if users and self._feeds.op_type(users[0]) == "Mul":
                return users[0]
        return None

    def _is_factor(self, birth: Birth, nan: ValueRef, infinities: list[ValueFeed]) -> bool:
        """Whether +infinity is among finite factors of a product: a weight is not infinite on purpose."""
        if self._feeds.op_type(nan) not in _PRODUCTS:
            return False
        given = [self._feeds.measured(feed.value) for feed in infinities]
        return birth.meant and any(
            each.pos_inf and not each.neg_inf and each.finite_positive for each in given
        )

    def _was_set(self, birth: Birth, nan: ValueRef) -> bool:
        """Whether Python set a variable to an infinity of which an op made NaN that means none."""
        if not birth.value.outside or not op_kinds.is_assignment(self._feeds.op_type(birth.entry)):
            return False
        numbers = [self._feeds.measured(each) for (each, _), _ in birth.chain()]
        elements: set[BadElement] = set()
        if any(each.neg_inf for each in numbers):
            elements.add("neg_inf")
        if any(each.pos_inf for each in numbers):
            elements.add("pos_inf")
        row = row_of(
            self._feeds.op_type(nan), elements or INFINITIES, is_written=True, is_known=bool(elements)
        )
        return row is None

    def _alias(self, node: Node, named: Node, parents: Parents) -> None:
        if named != node:
            parents.setdefault(named, parents[node])

    def _kind_made(self, value: ValueRef) -> BadKind | None:
        measured = self._feeds.measured(value)
        if measured.has_nan is not None:
            return "nan" if measured.has_nan else "inf"
        op, op_type = self._feeds.op_of(value), self._feeds.op_type(value)
        if op is not None and op_type in op_kinds.CONSTANTS:
            return self._feeds.structure.constant_kind(op.number)
        return "nan" if op_type in op_kinds.NAN_OF_FINITE else "inf" if op_type in op_kinds.INF_ONLY else None

    def is_meant(self, value: ValueRef) -> bool:
        """Whether the program wrote an infinity itself: a constant, an argument, the log of a mask."""
        if value.outside:
            return value.outside != "the input data"
        if self._feeds.brings_in(value) is not None:
            return self._feeds.op_type(value) in op_kinds.CONSTANTS
        op = self._feeds.op_of(value)
        return op is not None and op.type == "Log" and self._is_of_mask(op.number)

    def _is_of_mask(self, op: int) -> bool:
        """Whether the input of an op is a mask: a cast of booleans or integers."""
        structure = self._feeds.structure
        for source, _ in structure.inputs(op):
            if structure.op(source).type == "Cast":
                return all(structure.is_discrete(*tensor) for tensor in structure.inputs(source))
        return False

    def _was_harmless(self, birth: Birth, nan: ValueRef) -> bool:
        """Whether the same op gave infinities in an earlier call, from which no NaN followed."""
        if birth.value.trace < 0 or nan.trace < 0 or birth.kind == "nan":
            return False
        traces = self._feeds.traces
        window = traces.window(birth.value.trace)
        rows = self._feeds.snapshot.rows(
            "SELECT min(idx) FROM graph_executions WHERE site = ? AND idx < ?"
            " AND (pos_inf > 0 OR neg_inf > 0)",
            [traces.site(birth.value.trace), int(window.idx[0])],
        )
        (first,) = rows[0]
        if first is None:
            return False
        earlier = traces.window(int(first))
        same = earlier.of_sites([traces.site(nan.trace)])
        return len(same) > 0 and not any(earlier.measured(int(idx)).bad for idx in same[:64])
