"""Reads from a run what is known of the whole program: whether it trains, and in which precision.

Takes a snapshot and the path of a file of the program. Source text comes from the log only.
"""

from __future__ import annotations

import re
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.surroundings import ProgramFacts
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.source.sources import USER, whose_code
from tb_debugger_plugin.events.tensorflow_names import is_gradient

#: Ops that change a variable by a step, or scale a loss: no program that only predicts has them.
_STEPS: Final = re.compile(
    r"(Resource)?(Sparse)?Apply[A-Z]|Assign(Sub|Add)|(Resource)?Scatter(Sub|Add)|\w+Grad(V\d)?$"
)
_MIXED: Final = re.compile(r"mixed_b?float16|LossScale|enable_mixed_precision")


def facts_of(snapshot: Snapshot, path: str | None) -> ProgramFacts:
    """Return what is known of the program.

    Args:
      snapshot: The run.
      path: The file with the user's line.
    """
    texts = snapshot.remember("program texts", lambda: _texts(snapshot))
    trains = snapshot.remember("program trains", lambda: _trains(snapshot))
    return ProgramFacts(trains, any(map(_MIXED.search, texts.values())), texts.get(path or ""))


def _trains(snapshot: Snapshot) -> bool:
    if any(is_gradient(op.name) or _STEPS.match(op.type or "") for op in snapshot.catalog.ops):
        return True
    types = snapshot.rows("SELECT DISTINCT op_type FROM executions")
    return any(_STEPS.match(str(op_type)) for (op_type,) in types)


def _texts(snapshot: Snapshot) -> dict[str, str]:
    """Return the user's own files by path; files of which only some lines are on record are left out."""
    files = snapshot.rows("SELECT source, path, origin FROM sources")
    own = {source: path for source, path, recorded in files if whose_code(path, recorded) == USER}
    rows = snapshot.rows(
        "SELECT source, string_agg(text, chr(10) ORDER BY line) FROM source_lines"
        " WHERE source IN (SELECT unnest(?::INTEGER[])) GROUP BY source",
        [list(own)],
    )
    return {own[source]: text for source, text in rows}
