"""Puts an origin into words: what was made, from which inputs, why, where, what helps, and the chain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.diagnosis.causes import Certainty
from tb_debugger_plugin.analysis.diagnosis.near_ops import Health
from tb_debugger_plugin.analysis.diagnosis.numbers import UNKNOWN_KIND, Numbers
from tb_debugger_plugin.analysis.diagnosis.phrases import (
    LinkTarget,
    Phrase,
    Phrases,
    headline,
    line_phrases,
    plain_text,
    text,
)
from tb_debugger_plugin.analysis.diagnosis.sentences import ModelRole, Subject, ValueExplanation, explain_bad
from tb_debugger_plugin.analysis.diagnosis.subjects import Recorded, of_execution, of_graph_op
from tb_debugger_plugin.analysis.graph import op_kinds
from tb_debugger_plugin.analysis.lists import executions
from tb_debugger_plugin.analysis.lists.missing import keeping_all
from tb_debugger_plugin.analysis.origins.births import Birth, Node
from tb_debugger_plugin.analysis.origins.feeds import Feeds
from tb_debugger_plugin.analysis.origins.lines import Lines, ValuePlace
from tb_debugger_plugin.analysis.origins.origin import Category, Link, Origin, OriginPhrases
from tb_debugger_plugin.analysis.origins.ranking import Found
from tb_debugger_plugin.analysis.origins.sinks import BadSink
from tb_debugger_plugin.analysis.origins.takers import Taking
from tb_debugger_plugin.analysis.origins.traces import BAD_ROWS
from tb_debugger_plugin.analysis.origins.values import BadKind, Relation, ValueFeed, ValueRef
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot, remembered
from tb_debugger_plugin.analysis.values import health
from tb_debugger_plugin.analysis.values.nearest_value import health_of
from tb_debugger_plugin.events.tensorflow_names import display_name
from tb_debugger_plugin.index.tensors import BAD

_SATURATED: Final = frozenset(
    "Sigmoid Tanh Erf Erfc Atan Softsign Sign Elu Selu Softplus HardSigmoid Relu6".split()
)
_CHOOSING: Final = frozenset("ArgMax ArgMin TopK TopKV2 ApproxTopK NthElement InTopK InTopKV2".split())
_TEXT: Final = frozenset({"AsString", "StringFormat"})


def swallowed_words(takings: Iterable[Taking]) -> str:
    """Return the sentences of a finding: what took the value, what that made of it, and what that decided."""
    told = dict.fromkeys(map(_sentence, takings))
    return " ".join(["No result shows it.", *list(told)[:_MAX_NAMED]])


def expected_words(takings: Iterable[Taking], *, is_written: bool) -> str:
    """Return the sentences for a value that the table expects; empty if nothing on record took it."""
    rows = dict.fromkeys(taking.row(is_written=is_written) for taking in takings)
    named = [row.words.replace("`", "") for row in rows if row is not None]
    return f"It is expected: {'; '.join(named[:_MAX_NAMED])}." if named else ""


def unmeasured(takings: Iterable[Taking]) -> list[str]:
    """Return the ops that took a value and whose output is not on record."""
    return list(dict.fromkeys(display_name(each.taker) for each in takings if not each.is_measured))


def _sentence(taking: Taking) -> str:
    name = display_name(taking.taker)
    if not taking.is_measured:
        return f"{name} took it, and what it made of it is not on record."
    decided = f", which {taking.decided}" if taking.decided else ""
    return f"{name}: {_effect(taking)}{decided}."


def _effect(taking: Taking) -> str:
    is_nan = "nan" in taking.elements
    kind = "NaN" if is_nan else "infinity"
    taker = taking.taker
    if taker == "Cast":
        return f"the integer of {'a NaN' if is_nan else 'an infinity'} is undefined"
    if taker == "NotEqual":
        return "each number is unequal to NaN"
    if taker in _CHOOSING:
        return f"what it chooses among {kind} is arbitrary"
    if taker in op_kinds.COMPARING:
        return "a comparison with NaN is false"
    if taker in _SATURATED:
        return f"it saturated at {kind}"
    if taker in op_kinds.DIVISORS:
        return f"a division by {kind} gives 0"
    if taker in op_kinds.SHOWING | _TEXT:
        return f"it shows {kind}"
    return f"it made finite values of {kind}"


_OUTSIDE: Final = {
    "the input data": "It was in the input data already.",
    "a value of Python": "The program passed it in from Python.",
    "an argument": "It was passed in as an argument.",
    "a feed": "It was fed into the session.",
    "a variable": "The variable held it already: no assignment that made it is on record.",
    "a checkpoint": "It was read from a checkpoint.",
    "a Python function": "A Python function returned it.",
    "a constant": "It is a constant of the program.",
}
_KIND_UNCOUNTED: Final = 'Record with tensor_debug_mode="FULL_HEALTH" to tell NaN and infinity apart.'
_KIND_UNMEASURED: Final = "The value itself was not measured: what it was follows from what came of it."
_UNMEASURED: Final = "Record what {} made of it, without a filter, to know whether it did harm."
#: Other ops of the same line that are named.
_MAX_NAMED: Final = 3
_PASSED: Final = "Check what the program passes in, for example with numpy.isfinite."
_HELP: Final = {
    "a value of Python": _PASSED,
    "an argument": _PASSED,
    "a feed": "Check what the program feeds, for example with numpy.isfinite.",
}
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

Takings = tuple[Taking, ...]


@remembered(Snapshot.remember)
def _bad_of_sites(snapshot: Snapshot, kind: BadKind) -> dict[int, int]:
    """Return how many traces of each site have bad elements of a kind."""
    query = (
        f"SELECT site, count(*) FROM graph_executions WHERE health = {BAD} AND {BAD_ROWS[kind]} GROUP BY site"
    )
    return dict(snapshot.rows(query))


@remembered(Snapshot.remember)
def _bad_calls(snapshot: Snapshot) -> dict[tuple[str, bool, int], int]:
    """Return how many executions of each op, or function, and stack have a bad output."""
    rows = snapshot.rows(
        f"SELECT op_type, stack, count(*) FROM executions WHERE health = {BAD} GROUP BY op_type, stack"
    )
    return {(*snapshot.catalog.op_types[op_type], stack): count for op_type, stack, count in rows}


class Telling:
    """Writes the origins of one run.

    Args:
      feeds: Its values.
      lines: Its lines.
    """

    def __init__(self, feeds: Feeds, lines: Lines) -> None:
        self._feeds = feeds
        self._lines = lines
        self._snapshot = feeds.snapshot

    def origin(self, found: Found) -> Origin:
        """Write one origin.

        Args:
          found: What was born, and what is known of it.
        """
        birth, category, sink, takings = found.birth, found.category, found.sink, found.takings
        value = birth.value
        # What came from outside is shown at the value that it came in by.
        shown = birth.entry
        place = self._place(birth)
        op = self._feeds.op_of(shown)
        kind, is_certain = self._kind(birth)
        recorded = self._recorded(shown, op)
        subject = recorded.subject
        explanation = explain_bad(subject)
        brought = value.outside or self._feeds.brings_in(value) or ""
        why = (text(_OUTSIDE[brought]),) if brought in _OUTSIDE else explanation.why
        if sink is not None and sink.why == "divisor":
            why = (*why, text(" A division by it gives 0, which hides the overflow."))
        if found.same:
            why = (*why, text(f" {_repeated(found.same)}"))
        outcome = _outcome(birth, category, takings, kind_is_certain=is_certain)
        if outcome is not None:
            why = (*why, text(f" {outcome}"))
        certainty, missing = self._certainty(birth, sink, is_certain, explanation)
        if category == "swallowed" and (unknown := unmeasured(takings)):
            certainty, missing = "possible", _UNMEASURED.format(", ".join(unknown))
        what = _with_kind(explanation.what, kind) if is_certain else explanation.what
        return Origin(
            kind=kind,
            kind_is_certain=is_certain,
            category=category,
            op_type=subject.op_type,
            op_name=subject.op_name,
            output_slot=subject.slot,
            graph_id=None if op is None else self._snapshot.catalog.graphs[op.graph].graph_id,
            layer=None if op is None else op.layer,
            function=None if subject.function is None else display_name(subject.function),
            variable=None if op is None else op.variable,
            source=place.source,
            gradient_source=place.gradient_source,
            step=self._feeds.step(shown),
            execution_index=self._feeds.call_of(shown),
            graph_execution_index=shown.trace if shown.trace >= 0 else None,
            element=explanation.element,
            count=self._count(shown, kind, found.same),
            headline=headline(subject.op_type, place.source),
            evidence={
                "output": recorded.output,
                "inputs": [{"name": name, "health": one} for name, one in recorded.inputs],
            },
            advice=None if category == "expected" else _HELP.get(value.outside, explanation.help),
            example=None if category == "expected" else explanation.example,
            outcome=outcome,
            certainty=certainty,
            missing=missing,
            chain=self._links(birth.chain(), kind),
            explanation=" ".join(plain_text(phrases) for phrases in (what, why) if phrases),
            phrases=OriginPhrases(what, why, self._where(shown, place)),
        )

    def _kind(self, birth: Birth) -> tuple[BadKind, bool]:
        """Return the kind, and whether it is certain."""
        shown = birth.entry
        measured = self._feeds.measured(shown)
        is_told = measured.has_nan is not None or self._was_read_as(birth)
        is_certain = birth.kind is not None and is_told
        if birth.kind is None:
            return self._likely_kind(birth.value), False
        fed = (self._feeds.measured(feed.value) for feed in self._feeds.of(shown))
        if measured.nan and not birth.meant_inputs and not any(each.bad for each in fed):
            infinite = (measured.neg_inf or 0) + (measured.pos_inf or 0)
            return ("nan" if measured.nan >= infinite else "inf"), is_certain
        return birth.kind, is_certain

    def _was_read_as(self, birth: Birth) -> bool:
        """Whether what was not measured itself, such as an assignment, was measured where it came next.

        What an op made of it may be bad for another reason, or in another way.
        """
        values = (value for (value, _), _ in birth.chain()[::-1])
        nearest = next((one for one in values if self._feeds.measured(one).bad is not None), None)
        if nearest is None or birth.kind is None or self._feeds.measured(nearest).has(birth.kind) is not True:
            return False
        return self._feeds.op_type(nearest) in op_kinds.COPIES | op_kinds.READS

    def _likely_kind(self, value: ValueRef) -> BadKind:
        """Return what ops of this type mostly make."""
        op, op_type = self._feeds.op_of(value), self._feeds.op_type(value)
        if op is not None and op_type == "Mean":
            # The mean over nothing is NaN; over something, its sum overflows.
            shapes = [
                self._snapshot.catalog.statics.get(each) for each in self._feeds.structure.inputs(op.number)
            ]
            dims = None if not shapes or shapes[0] is None else self._snapshot.catalog.dims(shapes[0].shape)
            return "inf" if dims is not None and all(dims) else "nan"
        return "inf" if op_type in op_kinds.MOSTLY_INF else "nan"

    def _links(self, nodes: list[tuple[Node, ValueFeed | None]], kind: BadKind) -> list[Link]:
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
        graph = None if op is None else self._snapshot.catalog.graphs[op.graph]
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

    def _place(self, birth: Birth) -> ValuePlace:
        fed = self._lines.of_feed(birth.entry) if birth.value.outside == "a feed" else None
        return self._lines.place(birth.entry) if fed is None else ValuePlace(fed)

    def _recorded(self, value: ValueRef, op: Op | None) -> Recorded:
        if value.execution >= 0:
            (execution,) = executions.data(self._snapshot, Range(value.execution, value.execution + 1))
            return of_execution(self._snapshot, execution, max(0, value.slot))
        if op is None:
            subject = Subject(self._feeds.op_type(value), None, 0, None, ModelRole(), Numbers())
            return Recorded(subject, None, [])
        is_recorded = value.trace >= 0
        return of_graph_op(
            self._snapshot,
            op,
            self._feeds.slot_of(value),
            value.at,
            is_recorded=is_recorded,
            known=self._known_inputs(value),
        )

    def _known_inputs(self, value: ValueRef) -> dict[int, Health]:
        """Return the health of inputs that were followed to where they come from, such as another call."""
        known: dict[int, Health] = {}
        for feed in self._feeds.of(value):
            measured = self._health(feed.value) if feed.input_slot >= 0 else None
            if measured is not None and (feed.input_slot not in known or measured["bad"]):
                known[feed.input_slot] = measured
        return known

    def _health(self, value: ValueRef) -> Health:
        if value.trace >= 0:
            return health_of(self._snapshot, [value.trace]).get(value.trace)
        if value.execution < 0 or value.slot < 0:
            return None
        rows = self._snapshot.rows(
            f"SELECT {health.SELECT} FROM execution_outputs t WHERE t.idx = ? AND t.slot = ? AND t.has_value",
            [value.execution, value.slot],
        )
        if not rows:
            return None
        return health.health(self._snapshot, health.as_row(rows[0]), index=None, eager=True)

    def _count(self, value: ValueRef, kind: BadKind, same: tuple[Op, ...]) -> int:
        if value.trace >= 0:
            of_ops = self._snapshot.catalog.op_sites
            sites = {site.number for op in same for site in of_ops.get(op.number, ())}
            counts = _bad_of_sites(self._snapshot, kind)
            return sum(counts.get(site, 0) for site in sites | {self._feeds.traces.site(value.trace)})
        if value.execution >= 0 and value.slot >= 0:
            made = self._feeds.eager.execution(value.execution)
            calls = _bad_calls(self._snapshot)
            return max(1, calls.get((made.op_type, made.is_function, made.stack), 0))
        return 1

    def _where(self, value: ValueRef, place: ValuePlace) -> Phrases:
        op = self._feeds.op_of(value)
        target = LinkTarget(execution_index=self._feeds.call_of(value))
        if op is not None:
            graph_id = self._snapshot.catalog.graphs[op.graph].graph_id
            target = LinkTarget(graph_id, op.name, value.trace if value.trace >= 0 else None)
        if place.forward is None:
            return line_phrases(place.source, target)
        graph_id = self._snapshot.catalog.graphs[place.forward.graph].graph_id
        forward = Phrase("link", place.forward.name, LinkTarget(graph_id, place.forward.name))
        return line_phrases(place.source, target, forward)

    def _was_counted(self, birth: Birth) -> bool:
        """Whether the mode tells NaN and infinity apart: in what came of a value, if not in the value."""
        return any(self._feeds.measured(value).has_nan is not None for (value, _), _ in birth.chain())

    def _certainty(
        self, birth: Birth, sink: BadSink | None, kind_is_certain: bool, explanation: ValueExplanation
    ) -> tuple[Certainty, str | None]:
        if sink is not None and sink.why == "divisor":
            return "likely", "Whether the program means to divide by it is not on record."
        if birth.value.outside == "a variable":
            keeping = keeping_all(self._snapshot)
            kept = f", with {keeping}," if keeping else ""
            return "possible", f"Record the whole program{kept} to see the assignment."
        if not birth.is_explained:
            keeping = keeping_all(self._snapshot)
            kept = f" Record with {keeping} to keep all." if keeping else ""
            return "possible", f"It is not explained further: what it was made from is not on record.{kept}"
        if not kind_is_certain:
            return "likely", _KIND_UNMEASURED if self._was_counted(birth) else _KIND_UNCOUNTED
        if self._feeds.measured(birth.entry).bad is None:
            return "proven", None  # no mode measures what is assigned
        if not birth.is_certain:
            return "likely", "Some inputs of the op were not measured; they may have been bad already."
        return "proven", explanation.missing


def _repeated(same: tuple[Op, ...]) -> str:
    names = ", ".join(op.name for op in same[:_MAX_NAMED])
    more = "" if len(same) <= _MAX_NAMED else f" and {len(same) - _MAX_NAMED:,} more"
    return f"The same line made it in {len(same):,} more {'op' if len(same) == 1 else 'ops'}: {names}{more}."


def _outcome(birth: Birth, category: Category, takings: Takings, *, kind_is_certain: bool) -> str | None:
    if category == "swallowed":
        return swallowed_words(takings)
    return _harmless(birth, kind_is_certain, takings) if category == "expected" else None


def _harmless(birth: Birth, kind_is_certain: bool, takings: Takings) -> str:
    ended = expected_words(takings, is_written=birth.meant)
    if birth.meant and not kind_is_certain:
        return f"If it is an infinity, the program wrote it itself, and no call returned it. {ended}".rstrip()
    if birth.meant:
        return f"The program wrote this infinity itself, and no NaN was made of it. {ended}".rstrip()
    return ended or "Nothing on record took it."


def _with_kind(what: Phrases, kind: BadKind) -> Phrases:
    """Return the same words with the kind, where it is known only from what came next."""
    known = {"nan": "NaN", "inf": "∞"}[kind]
    return tuple(replace(part, text=known) if part.text == UNKNOWN_KIND else part for part in what)
