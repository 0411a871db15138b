"""The registry of alert rules: which recorded values are alerts, and how each is explained.

To add a rule, add a value to its family in ``families/``. The routes, the page, ``tbdbg`` and the documents
take it from there.
"""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.alerts.families import (
    activations,
    bad_values,
    gradients,
    growth,
    precision,
    program,
    weights,
)
from tb_debugger_plugin.analysis.alerts.families.bad_values import NAN_OR_INFINITY
from tb_debugger_plugin.analysis.alerts.families.growth import EXPLODING
from tb_debugger_plugin.analysis.alerts.rule import AlertRule

__all__ = ["EXPLODING", "FAMILIES", "LISTED", "NAN_OR_INFINITY", "RULES"]

#: The rules of which every value is listed without being asked for: the alerts of Debugger V2, and values on
#: their way there. They cost one look at a column, so a run that grows is judged by them all the time.
LISTED: Final[tuple[AlertRule, ...]] = (NAN_OR_INFINITY, EXPLODING)
#: All rules by family.
FAMILIES: Final[dict[str, tuple[AlertRule, ...]]] = {
    "bad values": bad_values.RULES,
    "growth": growth.RULES,
    "gradients": gradients.RULES,
    "activations": activations.RULES,
    "weights": weights.RULES,
    "precision": precision.RULES,
    "program": program.RULES,
}
#: All rules.
RULES: Final[tuple[AlertRule, ...]] = tuple(rule for family in FAMILIES.values() for rule in family)
