"""Which rules are evaluated, and with which thresholds.

Texts are ``rule.parameter=value`` in routes and ``RULE:parameter=value`` on the command line; from Python,
mappings. Equal settings are equal values, so answers are kept by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from tb_debugger_plugin.analysis.alerts.alert_rules import RULES
from tb_debugger_plugin.analysis.alerts.allow import Allowed
from tb_debugger_plugin.analysis.alerts.own_files import NO_FILES, OwnFiles
from tb_debugger_plugin.analysis.alerts.rule import AlertRule, Value
from tb_debugger_plugin.errors import UsageError

#: Words in place of ids of rules.
RECOMMENDED: Final = "recommended"
ALL: Final = "all"


@dataclass(frozen=True)
class RuleSettings:
    """The thresholds that differ from the defaults, and the rules that are asked for.

    Attributes:
      values: The value of a parameter, by the id of the rule and its name.
      rules: The ids of the rules, or "all", or "recommended".
      known: The rules that there are: those of the registry, and those of the user.
      allowed: Alerts that are meant.
    """

    values: Mapping[tuple[str, str], Value] = field(default_factory=dict)
    rules: tuple[str, ...] = (RECOMMENDED,)
    known: tuple[AlertRule, ...] = RULES
    allowed: tuple[Allowed, ...] = ()

    def of_rule(self, rule: AlertRule) -> dict[str, Value]:
        """Return the value of each parameter of a rule."""
        return {name: self.values.get((rule.id, name), default) for name, default in rule.defaults.items()}

    def rule(self, rule_id: str) -> AlertRule:
        """Return a known rule by its id.

        Raises:
          UsageError: There is none.
        """
        for rule in self.known:
            if rule.id == rule_id:
                return rule
        ids = ", ".join(rule.id for rule in self.known)
        raise UsageError(f"There is no rule {rule_id!r:.50}; choose from {ids}.")


DEFAULTS: Final = RuleSettings()


def make_settings(
    given: Iterable[tuple[str, str, object]],
    rules: Iterable[str] | None = None,
    own: OwnFiles = NO_FILES,
) -> RuleSettings:
    """Check settings.

    Args:
      given: The id of a rule, the name of a parameter, and its value, as text or number.
      rules: The rules that are asked for; None = the recommended ones.
      own: What the user's files say.

    Raises:
      UsageError: There is no such rule or parameter, or it cannot have this value.
    """
    chosen = (RECOMMENDED,) if rules is None else tuple(dict.fromkeys(rules))
    settings = RuleSettings({}, chosen, own.known, own.allowed)
    for rule_id in chosen:
        if rule_id not in (RECOMMENDED, ALL):
            settings.rule(rule_id)
    values = {
        (rule_id, name): settings.rule(rule_id).parameter(name).parse(rule_id, value)
        for rule_id, name, value in given
    }
    return replace(settings, values=values)


def settings_of_texts(texts: Iterable[str] | None, own: OwnFiles = NO_FILES) -> RuleSettings:
    """Return the settings of texts such as ``LargeGradientAlert:limit=10``.

    Args:
      texts: Each names a rule, and after a colon its thresholds; None for the recommended rules.
      own: What the user's files say.

    Raises:
      UsageError: A text names no rule, or no parameter that may have this value.
    """
    if texts is None:
        return make_settings((), None, own)
    given: list[tuple[str, str, object]] = []
    rules: list[str] = []
    for text in texts:
        rule, _, parameters = text.partition(":")
        rules.append(rule)
        for one in filter(None, parameters.split(",")):
            name, _, value = one.partition("=")
            given.append((rule, name.strip(), value.strip()))
    return make_settings(given, rules, own)
