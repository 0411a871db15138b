"""How urgent an alert is."""

from __future__ import annotations

import enum


class Severity(enum.IntEnum):
    """How urgent an alert is. The first cause is looked for among the most severe alerts."""

    LOW = 1
    MEDIUM = 2
    HIGH = 3
    CRITICAL = 4

    @property
    def word(self) -> str:
        """The name in answers, such as "critical"."""
        return self.name.lower()
