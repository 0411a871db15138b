"""Advice for the situation around an op: a table by subject in each module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.advice import Advice
from tb_debugger_plugin.analysis.diagnosis.around import Scene

#: The row is looked at for all types of ops.
ANY_OP: Final = ("*",)
DIVISIONS: Final = ("RealDiv", "Div", "TruncateDiv", "FloorDiv", "Xdivy")


@dataclass(frozen=True)
class Pattern:
    """A situation and what helps in it.

    Attributes:
      name: What the situation is, in a few words.
      ops: Types of ops.
      is_there: Whether the situation is there.
      advice: What helps.
    """

    name: str
    ops: Sequence[str]
    is_there: Callable[[Scene], bool]
    advice: Advice
