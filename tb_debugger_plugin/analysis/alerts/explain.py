"""Explains an alert, or an op or execution with one, from what a run holds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from tb_debugger_plugin.analysis.alerts import alerts
from tb_debugger_plugin.analysis.alerts.alert_rules import LISTED
from tb_debugger_plugin.analysis.alerts.alerts import AlertJson
from tb_debugger_plugin.analysis.alerts.rule import AlertRule
from tb_debugger_plugin.analysis.calls.steps import step_of
from tb_debugger_plugin.analysis.catalog import Op
from tb_debugger_plugin.analysis.diagnosis.near_executions import EagerOp
from tb_debugger_plugin.analysis.diagnosis.near_ops import GraphOp
from tb_debugger_plugin.analysis.diagnosis.phrases import (
    LinkTarget,
    Phrase,
    Phrases,
    headline,
    line_phrases,
    moment_words,
    plain_text,
)
from tb_debugger_plugin.analysis.diagnosis.sentences import Explain, Subject, ValueExplanation
from tb_debugger_plugin.analysis.diagnosis.subjects import measured_source, of_execution, of_graph_op
from tb_debugger_plugin.analysis.graph.graphs import find_op
from tb_debugger_plugin.analysis.origins.origin import Origin
from tb_debugger_plugin.analysis.origins.origins import wrong_origins
from tb_debugger_plugin.analysis.snapshot import Json, JsonObject, Range, Snapshot, check_index
from tb_debugger_plugin.analysis.source.user_lines import UserLine, user_line
from tb_debugger_plugin.analysis.values.nearest_value import Side, nearest_traces
from tb_debugger_plugin.errors import BadQueryError


@dataclass(frozen=True, kw_only=True)
class Diagnosis(ValueExplanation, JsonObject):
    """The answer for one alert or op.

    Attributes:
      headline: One line of plain text: "Log in cross_entropy, train.py:68".
      where: The line of the program; of a gradient, that of the op whose gradient it is. Empty when it is
        not known.
      index: Position of the alert; None for an op or execution, and for an origin without an alert.
      alert: The alert, as the route ``alerts`` gives it; None where there is none.
      outcome: What swallowed the value, which no result shows.
      step: The step in which it was computed; None where that is not known, or the program has only one.
      tried: What ``tbdbg replay`` has tried with the call that GUARD has kept, and what came of it.
    """

    headline: str
    where: Phrases
    index: int | None = None
    alert: Annotated[Json, AlertJson] | None = None
    outcome: str | None = None
    step: int | None = None
    tried: str | None = None

    MEMBERS = "index alert headline what why where help example tried certainty missing element"

    @property
    def sentences(self) -> list[str]:
        """The answer as plain text, a paragraph each."""
        paragraphs = [self.outcome or "", plain_text(self.what), plain_text(self.why)]
        paragraphs += [moment_words(self.step), self.missing or "", plain_text(self.where), self.help or ""]
        paragraphs += ["" if self.example is None else self.example.words, self.tried or ""]
        return list(filter(None, paragraphs))


def diagnose_alert(snapshot: Snapshot, position: int | None = None) -> Diagnosis | None:
    """Explain an alert.

    Args:
      snapshot: The run.
      position: Position in the list of alerts; None for the first cause.

    Returns:
      None when nothing is wrong and no alert was asked for.

    Raises:
      BadQueryError: There is no such position.
    """
    every = alerts.alert_list(snapshot)
    if position is not None:
        check_index(position, len(every), "alert")
        return _of_alert(snapshot, every, position, None)
    origin, position = next(iter(wrong_origins(snapshot)), None), every.first_cause(snapshot)
    if position is None:
        return None if origin is None else _of_origin(origin, None, None)
    found = _of_alert(snapshot, every, position, origin)
    return found if origin is None else replace(found, outcome=_outcome(origin), tried=origin.tried)


def _outcome(origin: Origin) -> str | None:
    return origin.outcome if origin.category == "swallowed" else None


def _of_alert(snapshot: Snapshot, every: alerts.AlertList, position: int, origin: Origin | None) -> Diagnosis:
    """Return the answer for an alert, which may follow from an origin."""
    (alert,) = alerts.page(snapshot, every, Range(position, position + 1))
    if origin is not None and not alerts.is_at(origin, int(every.index[position]), int(every.slot[position])):
        return _of_origin(origin, position, alert)
    explain = LISTED[every.rule[position]].explainer()
    return replace(diagnose_value(snapshot, alert, explain), index=position)


def _of_origin(origin: Origin, position: int | None, alert: Json | None) -> Diagnosis:
    """Return the answer for what is no alert itself, such as an assignment, and the alert after it."""
    said = origin.phrases
    return Diagnosis(
        *(said.what, said.why, origin.advice, origin.example, origin.certainty, origin.missing),
        origin.element,
        headline=origin.headline,
        where=said.where,
        index=position,
        alert=alert,
        outcome=_outcome(origin),
        step=origin.step,
        tried=origin.tried,
    )


def diagnose_value(snapshot: Snapshot, alert: Json, explain: Explain) -> Diagnosis:
    """Explain a value in the words of a rule.

    Args:
      snapshot: The run.
      alert: The alert, as the route ``alerts`` gives it.
      explain: Writes the explanation.
    """
    slot, index = alert["output_slot"], alert["graph_execution_trace_index"]
    if index is None:
        found = _of_execution(snapshot, alert["execution_index"], slot, explain)
    else:
        op = find_op(snapshot, alert["graph_id"], alert["op_name"])
        found = _of_op(snapshot, op, slot, index, explain)
    return replace(found, alert=alert)


def diagnose_op(snapshot: Snapshot, graph_id: str, op_name: str, at: int | None = None) -> Diagnosis | None:
    """Explain the first output of an op that is an alert.

    Args:
      snapshot: The run.
      graph_id: The op's graph.
      op_name: Its name.
      at: Position in the list of graph executions; None for the end.

    Returns:
      None when no output is an alert there.

    Raises:
      BadQueryError: There is no such position.
      NotFoundError: There is no such graph, or no such op in it.
    """
    if at is not None:
        check_index(at, snapshot.num_graph_executions, "graph execution")
    op = find_op(snapshot, graph_id, op_name)
    slots = sorted({0, *(site.slot for site in snapshot.catalog.op_sites.get(op.number, ()))})
    for slot in slots:
        key = (*measured_source(snapshot, op.number, slot), Side.NEAREST)
        index = nearest_traces(snapshot, [key], at).get(key)
        rule = None if index is None else _rule_of(snapshot, index, -1)
        if index is not None and rule is not None:
            return _of_op(snapshot, op, slot, index, rule.explainer())
    return None


def diagnose_execution(snapshot: Snapshot, index: int) -> Diagnosis | None:
    """Explain the first output of an execution that is an alert; None when none is."""
    check_index(index, snapshot.num_executions, "execution")
    every = alerts.alert_list(snapshot)
    slots = every.slot[(every.index == index) & (every.slot >= 0)]
    if not len(slots):
        return None
    slot = int(slots.min())
    rule = _rule_of(snapshot, index, slot)
    return None if rule is None else _of_execution(snapshot, index, slot, rule.explainer())


def _rule_of(snapshot: Snapshot, index: int, slot: int) -> AlertRule | None:
    """Return the rule by which a value is an alert, or None. The slot of a graph execution is -1."""
    every = alerts.alert_list(snapshot)
    rules = every.rule[(every.index == index) & (every.slot == slot)]
    return LISTED[rules[0]] if len(rules) else None


def _of_op(snapshot: Snapshot, op: Op, slot: int, index: int, explain: Explain) -> Diagnosis:
    subject = of_graph_op(snapshot, op, slot, index).subject
    target = LinkTarget(snapshot.catalog.graphs[op.graph].graph_id, op.name, index)
    step = step_of(snapshot, graph_execution=index)
    forward = None if subject.around is None else subject.around.forward
    if not isinstance(forward, GraphOp):
        return _diagnosis(explain(subject), subject, step, user_line(snapshot, op.stack), target)
    target = _value_of(snapshot, forward.record, index)
    line = user_line(snapshot, forward.record.stack)
    return _diagnosis(explain(subject), subject, step, line, target, Phrase("link", forward.name, target))


def _value_of(snapshot: Snapshot, op: Op, index: int) -> LinkTarget:
    """Return the value of an op at a position, as what a link leads to."""
    key = (op.number, 0, Side.BEFORE)
    position = nearest_traces(snapshot, [key], index).get(key)
    return LinkTarget(snapshot.catalog.graphs[op.graph].graph_id, op.name, position)


def _of_execution(snapshot: Snapshot, index: int, slot: int, explain: Explain) -> Diagnosis:
    own = EagerOp(snapshot, index)
    subject = of_execution(snapshot, own.record, slot).subject
    step = step_of(snapshot, execution=index)
    forward = None if subject.around is None else subject.around.forward
    if not isinstance(forward, EagerOp):
        return _diagnosis(explain(subject), subject, step, own.user_line, LinkTarget(execution_index=index))
    target = LinkTarget(execution_index=forward.index)
    link = Phrase("link", forward.type, target)
    return _diagnosis(explain(subject), subject, step, forward.user_line, target, link)


def _diagnosis(
    explanation: ValueExplanation,
    subject: Subject,
    step: int | None,
    line: UserLine | None,
    target: LinkTarget,
    forward: Phrase | None = None,
) -> Diagnosis:
    return Diagnosis(
        **vars(explanation),
        headline=headline(subject.op_type, line),
        where=line_phrases(line, target, forward),
        step=step,
    )


def diagnose(
    snapshot: Snapshot,
    *,
    alert: int | None = None,
    execution: int | None = None,
    graph_id: str | None = None,
    op_name: str | None = None,
    at: int | None = None,
) -> Diagnosis | None:
    """Explain an alert, an execution or an op: the route ``diagnosis``.

    Args:
      snapshot: The run.
      alert: Position of the alert. Without any argument, the first cause is explained.
      execution: Position of the execution.
      graph_id: The op's graph.
      op_name: Name of the op.
      at: Position in the list of graph executions; None for the end.

    Returns:
      None when there is nothing bad to explain.

    Raises:
      BadQueryError: More than one thing is asked for, or a position does not exist.
      NotFoundError: The op does not exist.
    """
    if sum(given is not None for given in (alert, execution, graph_id or op_name)) > 1:
        raise BadQueryError("Only one of alert, execution and graph_id with op_name can be explained.")
    if execution is not None:
        return diagnose_execution(snapshot, execution)
    if graph_id is None and op_name is None:
        return diagnose_alert(snapshot, alert)
    if graph_id is None or op_name is None:
        raise BadQueryError("Both graph_id and op_name are needed.")
    return diagnose_op(snapshot, graph_id, op_name, at)
