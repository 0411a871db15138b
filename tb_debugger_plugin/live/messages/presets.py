"""The ready-made conditions of breakpoints: those of TensorBoard's first debugger, under its names.

Each makes the text of a condition, so a breakpoint holds nothing but such a text.
`live/program/conditions.py` defines what a text means.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Preset(NamedTuple):
    """A ready-made condition.

    Attributes:
      name: What the user chooses.
      template: The condition, with ``{}`` for the reference value if it has one.
    """

    name: str
    template: str

    @property
    def has_value(self) -> bool:
        """Whether it compares with a reference value."""
        return "{}" in self.template

    def text(self, value: float = 0.0) -> str:
        """Return the condition.

        Args:
          value: The reference value (default: 0).
        """
        return self.template.format(f"{value:.17g}" if self.has_value else "")


PRESETS: Final = (
    Preset("Contains +/-∞ or NaN", "bad > 0"),
    Preset("Contains +/-∞", "inf > 0"),
    Preset("Contains NaN", "nan > 0"),
    Preset("Max >", "max > {}"),
    Preset("Max <", "max < {}"),
    Preset("Min >", "min > {}"),
    Preset("Min <", "min < {}"),
    Preset("Max - Min >", "range > {}"),
    Preset("Max - Min <", "range < {}"),
    Preset("Mean >", "mean > {}"),
    Preset("Mean <", "mean < {}"),
    Preset("Standard deviation >", "std > {}"),
    Preset("Standard deviation <", "std < {}"),
)
