"""The known ways in which ops make NaN and infinity: a table by subject in each module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.advice import Advice
from tb_debugger_plugin.analysis.diagnosis.evidence import Check
from tb_debugger_plugin.analysis.diagnosis.numbers import BAD_KINDS, Kind


@dataclass(frozen=True)
class Cause:
    """A way in which some ops make bad values.

    Attributes:
      ops: Types of the ops.
      gives: The kinds of bad values that it explains; it is checked only for these.
      because: A clause such as "the logarithm of 0 is −∞".
      check: What the recorded numbers must show.
      help: What usually helps.
    """

    ops: Sequence[str]
    gives: Sequence[Kind]
    because: str
    check: Check
    help: Advice | None = None


NAN: Final[tuple[Kind, ...]] = ("nan",)
INFINITE: Final[tuple[Kind, ...]] = ("neg_inf", "pos_inf")
#: Causes that say where a value comes from, not how it was computed.
ANY: Final = BAD_KINDS
#: The sentence puts the name of the dtype in the place of "the dtype".
BEYOND: Final = "its result is beyond the range of the dtype"
