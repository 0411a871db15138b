"""The situations around an op that need advice of their own: the tables of ``situated`` as one.

A row is looked at for the types of ops that it names: the op that made a bad value and, for a gradient, the
op whose gradient it is. The first row whose situation is there counts, so special rows come before general
ones.
"""

from __future__ import annotations

from typing import Final

from tb_debugger_plugin.analysis.diagnosis.situated import divisions, losses, training

PATTERNS: Final = (*losses.PATTERNS, *divisions.PATTERNS, *training.PATTERNS)
