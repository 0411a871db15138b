"""What an alert rule is: a question on recorded numbers, with thresholds that can be moved after the run.

A rule is a value. It finds the tensors that break it and says for each where that happened first, how often,
and what was measured there; it writes those numbers in words, and explains them.

Invariant: a rule reads tables and the catalog only, so that it can be evaluated again with other thresholds,
and returns at most one hit for each tensor, eager op and line, or function.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, TypeAlias

from tb_debugger_plugin.analysis.alerts.tensors import Role
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers
from tb_debugger_plugin.analysis.diagnosis.phrases import Phrases, number, text
from tb_debugger_plugin.analysis.diagnosis.sentences import (
    Explain,
    Subject,
    ValueExplanation,
    subject_phrases,
)
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.errors import UsageError


class Severity(enum.IntEnum):
    """How urgent an alert is. The first cause is looked for among the most severe alerts."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4

    @property
    def word(self) -> str:
        """The name in answers, such as "critical"."""
        return self.name.lower()


#: The value of a parameter: a number, or one of its choices.
Value: TypeAlias = float | str
Values: TypeAlias = Mapping[str, Value]
#: Where a default comes from.
Source: TypeAlias = Literal["the catalogue of the field", "Keras", "TensorFlow", "this plugin", "the user"]

#: The slot of a hit of a graph execution.
IN_GRAPH: Final = -1


@dataclass(frozen=True)
class Parameter:
    """A threshold of a rule.

    Attributes:
      name: As in ``rule.name=value``.
      default: Its value when nothing else is given.
      low, high: The ends of a slider, and the range of values that are taken.
      unit: What it counts, such as "steps"; empty for a pure number.
      scale: How a slider goes from `low` to `high`; "choice" for one of `choices`.
      source: Where the default comes from.
      choices: The words that may be chosen.
      is_whole: Whether it must be a whole number.
    """

    name: str
    default: Value
    low: float = 0.0
    high: float = 1.0
    unit: str = ""
    scale: Literal["linear", "log", "choice"] = "linear"
    source: Source = "the catalogue of the field"
    choices: tuple[str, ...] = ()
    is_whole: bool = False

    def parse(self, rule: str, given: object) -> Value:
        """Return a value that the parameter may have.

        Args:
          rule: The rule, for the message.
          given: A number, or its text.

        Raises:
          UsageError: It is none.
        """
        name = f"{rule}.{self.name}"
        if self.scale == "choice":
            if given not in self.choices:
                raise UsageError(f"{name} must be one of {', '.join(self.choices)}, but is {given!r:.50}.")
            return str(given)
        value = _number(given)
        if value is None or not self.low <= value <= self.high:
            raise UsageError(
                f"{name} must be a number from {self.low:g} to {self.high:g}, not {given!r:.50}."
            )
        if self.is_whole and value != int(value):
            raise UsageError(f"{name} must be a whole number, but is {value:g}.")
        return value


def _number(given: object) -> float | None:
    if isinstance(given, bool) or not isinstance(given, (int, float, str)):
        return None
    try:
        return float(given)
    except ValueError:
        return None


class RuleHit(NamedTuple):
    """A tensor, an eager op on a line, or a function that breaks a rule.

    Attributes:
      position: Position of the first value that breaks it: a graph execution, or an execution.
      slot: Output slot of the execution; -1 for a graph execution.
      times: How many of its values break the rule.
      last: Position of the last of them.
      measured: What was measured at the first one; None if the mode did not measure it.
      detail: More of what was measured, in words.
      severity: Of this hit; None = that of the rule.
      remark: A sentence on why it is most likely harmless; empty if nothing says so.
    """

    position: int
    slot: int
    times: int
    last: int
    measured: float | None = None
    detail: str = ""
    severity: Severity | None = None
    remark: str = ""


class TooSlowError(UsageError):
    """A rule of a user takes too long on a run, so it has no answer there; its text says so."""


#: Finds what breaks a rule; it may raise a `TooSlowError`.
Find: TypeAlias = Callable[[Snapshot, Values], Sequence[RuleHit]]


@dataclass(frozen=True)
class AlertRule:
    """A kind of alert.

    Attributes:
      id: The ``alert_type`` of its alerts; Debugger V2 knows only ``InfNanAlert``.
      title: What the page writes on its button.
      severity: How urgent it is.
      description: One sentence: when a value is an alert.
      find: Finds what breaks it.
      words: Writes in a few words what was measured, such as "200 −∞".
      explain: Writes the diagnosis of one alert.
      parameters: Its thresholds.
      columns: The numbers that a mode must measure.
      roles: The tensors it is about; empty = all.
      recommends: Roles of which a run must have tensors for the rule to be on by default; None = never on by
        default.
      advice: What usually helps.
      every: What holds of every value that breaks it, as SQL on columns of `graph_executions` and
        `execution_outputs` with the parameters as ``$name``; None for a rule about the history of a tensor.
      leaves_out: Returns the sites that `find` leaves out, for a rule with `every`.
      has_groups: Whether the tensors of a layer or variable that break it are one alert.
    """

    id: str
    title: str
    severity: Severity
    description: str
    find: Find
    words: Callable[[Numbers, RuleHit | None, Values], str]
    explain: Callable[[Subject, RuleHit | None, Values], ValueExplanation]
    parameters: tuple[Parameter, ...] = ()
    columns: tuple[str, ...] = ()
    roles: tuple[Role, ...] = ()
    recommends: tuple[Role, ...] | None = None
    advice: str | None = None
    every: str | None = None
    leaves_out: Callable[[Snapshot, Values], Collection[int]] | None = None
    has_groups: bool = True

    @property
    def defaults(self) -> dict[str, Value]:
        """The default of each parameter."""
        return {one.name: one.default for one in self.parameters}

    def explainer(self, hit: RuleHit | None = None, values: Values | None = None) -> Explain:
        """Return what writes the diagnosis of a value that breaks the rule.

        Args:
          hit: What was found; None for one value of many.
          values: The parameters; None = the defaults.
        """
        remark = (text(f"{hit.remark} "),) if hit is not None and hit.remark else ()

        def explain(subject: Subject) -> ValueExplanation:
            found = self.explain(subject, hit, values or self.defaults)
            return replace(found, why=(*remark, *found.why), help=found.help or self.advice)

        return explain

    def parameter(self, name: str) -> Parameter:
        """Return a parameter.

        Raises:
          UsageError: There is none of this name.
        """
        for one in self.parameters:
            if one.name == name:
                return one
        known = ", ".join(one.name for one in self.parameters) or "none"
        raise UsageError(f"{self.id} has no parameter {name!r:.50}; it has: {known}.")


def magnitude_words(value: float | None) -> str:
    """Return a magnitude with three digits: "3.2e+12"."""
    return "unknown" if value is None else f"{value:.3g}"


def magnitude_of(hit: RuleHit | None) -> str:
    """Return what was measured of a hit as a magnitude."""
    return magnitude_words(None if hit is None else hit.measured)


def explanation(subject: Subject, did: str, measured: str, why: str) -> ValueExplanation:
    """Return an explanation of a value that broke a rule.

    Args:
      subject: The value.
      did: What it did, such as "did not change".
      measured: The number; may be empty.
      why: A sentence on what this means.
    """
    what: Phrases = (*subject_phrases(subject), text(f" {did}"))
    what = (*what, text(" "), number(measured), text(".")) if measured else (*what, text("."))
    return ValueExplanation(what, (text(why),) if why else (), None)
