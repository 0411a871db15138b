"""Finds activations whose inputs are outside of the range in which they have a slope.

Takes minimum, maximum, mean and variance of the input. If all elements are on one side of an end, the share
outside is known; if all are inside, it is 0. Else it is estimated as that of normally distributed elements,
and the hit says so.
"""

from __future__ import annotations

import math
from typing import Final

from tb_debugger_plugin.analysis.alerts.rule import IN_GRAPH, Find, Hit, Values
from tb_debugger_plugin.analysis.alerts.search import sites_condition
from tb_debugger_plugin.analysis.alerts.tensors import Role
from tb_debugger_plugin.analysis.snapshot import Snapshot

_SLOPE: Final = 2 * math.sqrt(2 / math.pi)


def _below(end: str) -> str:
    """Return SQL for the share of normally distributed elements below an end (Page, within 2e-4)."""
    z = f"(({end} - mean) / greatest(sqrt(variance), 1e-300))"
    z = f"greatest(-8.0, least(8.0, {z}))"
    return f"1 / (1 + exp(-{_SLOPE} * ({z} + 0.044715 * {z} ** 3)))"


_SHARE: Final = (
    "CASE WHEN min >= $high OR max <= $low THEN 1.0 WHEN min > $low AND max < $high THEN 0.0"
    f" ELSE {_below('$low')} + 1 - {_below('$high')} END"
)


def saturated(role: Role) -> Find:
    """Return a search for the inputs of activations.

    Args:
      role: The inputs.
    """

    def find(snapshot: Snapshot, values: Values) -> list[Hit]:
        only, chosen = sites_condition(snapshot, [role])
        rows = snapshot.rows(
            f"WITH shares AS (SELECT site, idx, {_SHARE} AS share, min < $high AND max > $low AS is_estimated"
            f" FROM graph_executions WHERE {only} AND variance IS NOT NULL)"
            " SELECT min(idx), count(*), max(idx), arg_min(share, idx), arg_min(is_estimated, idx)"
            " FROM shares WHERE share >= $share GROUP BY site",
            {**chosen, **values},
        )
        return [
            Hit(index, IN_GRAPH, count, last, share, detail="about " if is_estimated else "")
            for index, count, last, share, is_estimated in rows
        ]

    return find
