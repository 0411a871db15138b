"""Puts an origin into words: what was made, from which inputs, why, where, what helps, and the chain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.diagnosis.numbers import UNKNOWN_KIND, Numbers
from tb_debugger_plugin.analysis.diagnosis.phrases import Phrase, Phrases, Target, code, text
from tb_debugger_plugin.analysis.diagnosis.role import Role
from tb_debugger_plugin.analysis.diagnosis.sentences import Explanation, Subject, explain_bad
from tb_debugger_plugin.analysis.diagnosis.subjects import Health, Recorded, of_execution, of_graph_op
from tb_debugger_plugin.analysis.lists import executions
from tb_debugger_plugin.analysis.origins import op_kinds
from tb_debugger_plugin.analysis.origins.births import Birth, Node
from tb_debugger_plugin.analysis.origins.feeds import Feeds
from tb_debugger_plugin.analysis.origins.lines import Lines, Place
from tb_debugger_plugin.analysis.origins.origin import Category, Certainty, Link, Origin
from tb_debugger_plugin.analysis.origins.sinks import Sink
from tb_debugger_plugin.analysis.origins.values import BadKind, Feed, Relation, Value
from tb_debugger_plugin.analysis.snapshot import Range
from tb_debugger_plugin.analysis.user_lines import UserLine
from tb_debugger_plugin.analysis.values import health
from tb_debugger_plugin.analysis.values.nearest_value import health_of
from tb_debugger_plugin.events.tensorflow_names import display_name
from tb_debugger_plugin.index.tensors import BAD

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
_PASSED: Final = "Check what the program passes in, for example with numpy.isfinite."
_HELP: Final = {
    "a value of Python": _PASSED,
    "an argument": _PASSED,
    "a feed": "Check what the program feeds, for example with numpy.isfinite.",
}


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

    def origin(self, birth: Birth, category: Category, sink: Sink | None) -> Origin:
        """Write one origin.

        Args:
          birth: The birth.
          category: Its category.
          sink: The value that matters from which it was found; None for what is expected.
        """
        value = birth.value
        # What came from outside is shown at the value that it came in by.
        shown = birth.entry
        place = self._lines.place(shown)
        op = self._feeds.op_of(shown)
        kind, is_certain = self._kind(birth, shown)
        recorded = self._recorded(shown, op)
        subject = recorded.subject
        explanation = explain_bad(subject)
        brought = value.outside or op_kinds.brings_in(self._feeds.op_type(value)) or ""
        why = (text(_OUTSIDE[brought]),) if brought in _OUTSIDE else explanation.why
        if sink is not None and sink.why == "divisor":
            why = (*why, text(" A division by it gives 0, which hides the overflow."))
        if category == "expected":
            why = (*why, text(" " + _harmless(birth, is_certain)))
        certainty, missing = self._certainty(birth, is_certain, explanation)
        return Origin(
            kind,
            is_certain,
            category,
            subject.op_type,
            subject.op_name,
            subject.slot,
            None if op is None else self._snapshot.catalog.graphs[op.graph].graph_id,
            None if op is None else op.layer,
            None if subject.function is None else display_name(subject.function),
            None if op is None else op.variable,
            place.source,
            place.gradient_source,
            self._step(shown),
            self._execution(shown),
            shown.trace if shown.trace >= 0 else None,
            self._count(shown, kind),
            _headline(subject, place.source),
            _with_kind(explanation.what, kind) if is_certain else explanation.what,
            why,
            self._where(shown, place),
            _evidence(recorded),
            None if category == "expected" else _HELP.get(value.outside, explanation.help),
            None if category == "expected" else explanation.example,
            certainty,
            missing,
            self._chain(birth.chain(), kind),
        )

    def _kind(self, birth: Birth, shown: Value) -> tuple[BadKind, bool]:
        measured = self._feeds.measured(shown)
        is_told = measured.has_nan is not None or self._was_read_as(birth)
        is_certain = birth.kind is not None and is_told
        if (
            birth.kind is not None
            and measured.nan
            and not birth.meant_inputs
            and self._has_good_inputs(shown)
        ):
            infinite = (measured.neg_inf or 0) + (measured.pos_inf or 0)
            return ("nan" if measured.nan >= infinite else "inf"), is_certain
        if birth.kind is not None:
            return birth.kind, is_certain
        return self._likely_kind(birth.value), False

    def _was_read_as(self, birth: Birth) -> bool:
        """Whether what was not measured itself, such as an assignment, was measured where it came next."""
        known = (self._feeds.measured(value) for (value, _), _ in birth.chain()[::-1])
        nearest = next((each for each in known if each.bad is not None), None)
        return nearest is not None and birth.kind is not None and nearest.has(birth.kind) is True

    def _has_good_inputs(self, value: Value) -> bool:
        return not any(self._feeds.measured(feed.value).bad for feed in self._feeds.of(value))

    def _likely_kind(self, value: Value) -> BadKind:
        """What ops of this type mostly make."""
        op, op_type = self._feeds.op_of(value), self._feeds.op_type(value)
        if op is not None and op_type == "Mean":
            # The mean over nothing is NaN; over something, its sum overflows.
            shapes = [
                self._snapshot.catalog.statics.get(each) for each in self._feeds.structure.inputs(op.number)
            ]
            dims = None if not shapes or shapes[0] is None else self._snapshot.catalog.dims(shapes[0].shape)
            return "inf" if dims is not None and all(dims) else "nan"
        return "inf" if op_type in op_kinds.MOSTLY_INF else "nan"

    def _recorded(self, value: Value, op: Op | None) -> Recorded:
        if value.execution >= 0:
            (execution,) = executions.data(self._snapshot, Range(value.execution, value.execution + 1))
            return of_execution(self._snapshot, execution, max(0, value.slot))
        if op is None:
            subject = Subject(self._feeds.op_type(value), None, 0, None, Role(), Numbers())
            return Recorded(subject, None, [])
        is_recorded = value.trace >= 0
        return of_graph_op(
            self._snapshot,
            op,
            self._feeds.slot_of(value),
            value.trace if is_recorded else value.near,
            is_recorded=is_recorded,
            known=self._known_inputs(value),
        )

    def _known_inputs(self, value: Value) -> dict[int, Health]:
        """The health of inputs that were followed to where they come from, such as another call."""
        known: dict[int, Health] = {}
        for feed in self._feeds.of(value):
            measured = self._health(feed.value) if feed.input_slot >= 0 else None
            if measured is not None and (feed.input_slot not in known or measured["bad"]):
                known[feed.input_slot] = measured
        return known

    def _health(self, value: Value) -> Health:
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

    def _execution(self, value: Value) -> int | None:
        if value.execution >= 0:
            return value.execution
        near = value.trace if value.trace >= 0 else value.near
        return self._feeds.traces.window(near).owner if 0 <= near else None

    def _step(self, value: Value) -> int | None:
        """How often the function in which a value was computed had been called before."""
        index = self._execution(value)
        if index is None or not self._feeds.eager.execution(index).is_function:
            return None
        ((count,),) = self._snapshot.rows(
            "SELECT count(*) FROM executions WHERE idx < ? AND op_type ="
            " (SELECT op_type FROM executions WHERE idx = ?)",
            [index, index],
        )
        return int(count)

    def _count(self, value: Value, kind: BadKind) -> int:
        condition = "nan > 0 OR nan IS NULL" if kind == "nan" else "pos_inf + neg_inf > 0 OR nan IS NULL"
        if value.trace >= 0:
            rows = self._snapshot.rows(
                f"SELECT count(*) FROM graph_executions WHERE site = ? AND health = {BAD} AND ({condition})",
                [self._feeds.traces.site(value.trace)],
            )
            return int(rows[0][0])
        if value.execution >= 0 and value.slot >= 0:
            rows = self._snapshot.rows(
                f"SELECT count(*) FROM executions WHERE health = {BAD} AND (op_type, stack) ="
                " (SELECT (op_type, stack) FROM executions WHERE idx = ?)",
                [value.execution],
            )
            return max(1, int(rows[0][0]))
        return 1

    def _where(self, value: Value, place: Place) -> Phrases:
        op = self._feeds.op_of(value)
        target = Target(execution_index=self._execution(value))
        if op is not None:
            graph_id = self._snapshot.catalog.graphs[op.graph].graph_id
            target = Target(graph_id, op.name, value.trace if value.trace >= 0 else None)
        before: Phrases = ()
        if place.forward is not None:
            graph_id = self._snapshot.catalog.graphs[place.forward.graph].graph_id
            forward = Target(graph_id, place.forward.name)
            before = (
                text("Part of the gradient of "),
                Phrase("link", place.forward.name, forward),
                text(". "),
            )
        if place.source is None:
            return before
        link = Phrase("link", place.source.name, target)
        line = place.source.text
        return (*before, link, text(" "), code(line)) if line else (*before, link)

    def _certainty(
        self, birth: Birth, kind_is_certain: bool, explanation: Explanation
    ) -> tuple[Certainty, str | None]:
        if birth.value.outside == "a variable":
            return "possible", "Record the whole program, without a circular buffer, to see the assignment."
        if not kind_is_certain:
            return "likely", 'Record with tensor_debug_mode="FULL_HEALTH" to tell NaN and infinity apart.'
        if birth.value.outside == "a feed":
            return "proven", "Lines of Session.run are not on record: look for the one that feeds this."
        if self._feeds.measured(birth.entry).bad is None:
            return "proven", None  # no mode measures what is assigned
        if not birth.is_certain:
            return "likely", "Some inputs of the op were not measured; they may have been bad already."
        return "proven", explanation.missing

    def _chain(self, nodes: list[tuple[Node, Feed | None]], kind: BadKind) -> list[Link]:
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

    def _is_trivial(self, value: Value) -> bool:
        if value.execution >= 0:
            return self._feeds.op_type(value) in op_kinds.TRIVIAL
        op = self._feeds.op_of(value)
        return op is not None and op.type in op_kinds.TRIVIAL

    def _link(self, value: Value, kind: BadKind, relation: Relation, skipped: int) -> Link:
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
            self._step(value),
            self._execution(value),
            value.trace if value.trace >= 0 else None,
            kind,
            relation,
            f"{display_name(op_type)} {_WORDS[relation]}",
            skipped,
        )


def _harmless(birth: Birth, kind_is_certain: bool) -> str:
    if birth.meant and not kind_is_certain:
        return "If it is an infinity, the program wrote it itself, and no call returned it."
    if birth.meant:
        return "The program wrote this infinity itself, and no NaN was made of it."
    return "It did not reach any variable, result or fetched value: what took it gave good values."


def _evidence(recorded: Recorded) -> dict[str, Any]:
    inputs = [{"name": name, "health": one} for name, one in recorded.inputs]
    return {"output": recorded.output, "inputs": inputs}


def _with_kind(what: Phrases, kind: BadKind) -> Phrases:
    """The same words with the kind, where it is known only from what came next."""
    known = {"nan": "NaN", "inf": "∞"}[kind]
    return tuple(replace(part, text=known) if part.text == UNKNOWN_KIND else part for part in what)


def _headline(subject: Subject, line: UserLine | None) -> str:
    name = display_name(subject.op_type)
    if line is None:
        return name
    return f"{name}{f' in {line.function}' if line.function else ''}, {line.name}"
