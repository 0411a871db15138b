"""Rules about bad values: NaN and infinities.

Each bad tensor has a severity of its own: whether its op made the bad value, or took it from another.
"""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.alerts.bad_nodes import bad_nodes
from tb_debugger_plugin.analysis.alerts.rule import AlertRule
from tb_debugger_plugin.analysis.alerts.severity import Severity
from tb_debugger_plugin.analysis.diagnosis.sentences import explain_bad
from tb_debugger_plugin.index.tensors import BAD

NAN_OR_INFINITY: Final = AlertRule(
    id="InfNanAlert",
    title="NaN/∞",
    severity=Severity.CRITICAL,
    description="The tensor has NaN, −∞ or +∞.",
    find=bad_nodes,
    words=lambda numbers, hit, values: numbers.bad_words,
    explain=lambda subject, hit, values: explain_bad(subject),
    columns=("any_bad",),
    recommends=(),
    every=(
        "SELECT idx FROM bad_graph_executions",
        f"SELECT idx, slot FROM execution_outputs WHERE health = {BAD}",
    ),
)

RULES: Final = (NAN_OR_INFINITY,)
