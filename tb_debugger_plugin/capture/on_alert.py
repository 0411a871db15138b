"""Describes what happens at an alert: which bad values and which rules count, and what follows.

Takes the user's `on_alert` and the arguments beside it, and returns an `OnAlert`, or raises a `UsageError`
that says what to do. Rules are checked where they can be read, in `own_recording.py`. Which ops may ring the
alarm is decided when their graph is built, or when an eager op first runs on a line; the native library
notices the bad value when it is recorded.
"""

from __future__ import annotations

import enum
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from tb_debugger_plugin.errors import UsageError

#: The kinds of bad values that a user may choose.
KINDS: Final = ("nan", "inf")
#: The rule of `docs/guide/rules.md` for both kinds.
_BAD_VALUES: Final = "InfNanAlert"
_RULE: Final = re.compile(r"[A-Z]\w*Alert")
#: Outputs that hold no results: empty batches make them NaN, and kernels keep scratch values in them.
_ONLY_FIRST: Final = re.compile(r"FusedBatchNorm(V[23])?")


class AlertAction(enum.Enum):
    """What follows an alert."""

    #: The op or graph fails.
    RAISE = "raise"
    #: The recording ends after the call, and the program goes on.
    STOP = "stop"
    #: A function of the user is called after the call.
    CALL = "call"


#: The forms in which a user may give `on_alert`; a function takes a `BadValue`.
OnAlertArgument: TypeAlias = "str | Callable[[Any], object] | None"


@dataclass(frozen=True)
class OnAlert:
    """Which values are bad, which rules are asked, and what follows.

    Attributes:
      action: What follows.
      function: The user's function for `AlertAction.CALL`.
      kinds: The kinds that count; None for all, and only NaN as soon as a constant of the program is
        infinite. Empty if no value is bad.
      ignore: Patterns of op types, which must match the whole type, and of op names, in which they must
        occur.
      rules: The alert rules that are asked beside, as `tbdbg alerts --rule` takes them.
      rules_file: A file with more rules.
    """

    action: AlertAction
    function: Callable[[Any], object] | None = None
    kinds: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    rules_file: str | None = None
    _memo: dict[tuple[str, str], bool] = field(default_factory=dict, compare=False, repr=False)

    def may_ring(self, op_type: str, slot: int, op_name: str | None) -> bool:
        """Whether an output of an op may ring the alarm.

        Args:
          op_type: Type of the op, or name of a function.
          slot: Number of the output.
          op_name: Name of the op in its graph; None for an eager op.
        """
        if not self.judges_values or (slot and _ONLY_FIRST.fullmatch(op_type)):
            return False
        return not self.ignores(op_type, op_name)

    @property
    def judges_values(self) -> bool:
        """Whether any value is bad."""
        return self.kinds != ()

    def ignores(self, op_type: str, op_name: str | None) -> bool:
        """Whether the alerts of an op are meant.

        Args:
          op_type: Type of the op, or name of a function.
          op_name: Name of the op in its graph; None for an eager op.
        """
        key = op_type, op_name or ""
        if key not in self._memo:
            self._memo[key] = any(
                re.fullmatch(pattern, op_type) or (op_name and re.search(pattern, op_name))
                for pattern in self.ignore
            )
        return self._memo[key]


def make_on_alert(
    on_alert: OnAlertArgument,
    kinds: Iterable[str] | None,
    ignore: Iterable[str] | str,
    rules: Iterable[str] | str | None = None,
    rules_file: str | os.PathLike[str] | None = None,
) -> OnAlert | None:
    """Check the user's arguments.

    Raises:
      UsageError: An argument cannot be used.
    """
    patterns = _patterns(ignore)
    if on_alert is None:
        if kinds is not None or patterns or rules is not None or rules_file is not None:
            raise UsageError(
                "alert_kinds, ignore_alerts, alert_rules and rules_file need on_alert: give "
                "on_alert='raise', for example."
            )
        return None
    asked = _rules(rules)
    if rules_file is not None and not asked:
        raise UsageError("rules_file needs alert_rules: give alert_rules='recommended', for example.")
    file = None if rules_file is None else os.path.abspath(rules_file)
    which = (_kinds(kinds, asked), patterns, asked, file)
    if callable(on_alert):
        return OnAlert(AlertAction.CALL, on_alert, *which)
    if on_alert not in (AlertAction.RAISE.value, AlertAction.STOP.value):
        raise UsageError(
            f"on_alert is {on_alert!r}: give 'raise', 'stop', or a function that takes the bad value."
        )
    return OnAlert(AlertAction(on_alert), None, *which)


def _rules(rules: Iterable[str] | str | None) -> tuple[str, ...]:
    chosen = () if rules is None else (rules,) if isinstance(rules, str) else tuple(rules)
    if rules is not None and not (chosen and all(isinstance(rule, str) for rule in chosen)):
        raise UsageError(
            f"alert_rules is {rules!r}: give rules such as ['LargeGradientAlert:limit=10'], 'recommended' or "
            "'all'."
        )
    return chosen


def _kinds(kinds: Iterable[str] | None, rules: tuple[str, ...]) -> tuple[str, ...] | None:
    if kinds is None:
        return None
    chosen = (kinds,) if isinstance(kinds, str) else tuple(kinds)
    if not chosen and rules:
        return ()
    for kind in chosen:
        _check_rule(kind)
    if chosen == (_BAD_VALUES,):
        return None
    if not chosen or any(kind not in KINDS for kind in chosen):
        raise UsageError(
            f"The kinds of bad values are {kinds!r}: give some of {', '.join(map(repr, KINDS))}."
        )
    return tuple(kind for kind in KINDS if kind in chosen)


def _check_rule(kind: object) -> None:
    """Check that a kind is not a rule about numbers.

    Raises:
      UsageError: It is one.
    """
    if isinstance(kind, str) and _RULE.fullmatch(kind) and kind != _BAD_VALUES:
        raise UsageError(
            f"{kind} is a rule and no kind of bad value: give alert_rules=[{kind!r}] instead of alert_kinds."
        )


def _patterns(ignore: Iterable[str] | str) -> tuple[str, ...]:
    patterns = (ignore,) if isinstance(ignore, str) else tuple(ignore)
    for pattern in patterns:
        try:
            re.compile(pattern)
        except (re.error, TypeError) as error:
            raise UsageError(f"{pattern!r}, an op to ignore, is not a regular expression: {error}.") from None
    return patterns
