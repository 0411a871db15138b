"""The recorded numbers of a tensor, as far as a diagnosis reads them, and their words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, get_args

from tb_debugger_plugin.analysis.snapshot import Json

#: A kind of element, by the name of the summary's column that counts it.
Kind: TypeAlias = Literal["neg_inf", "negative", "zero", "positive", "pos_inf", "nan"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
BAD_KINDS: Final[tuple[Kind, ...]] = ("neg_inf", "pos_inf", "nan")
#: The words for bad elements that were not counted.
UNKNOWN_KIND: Final = "NaN or ∞"
_SYMBOLS: Final[dict[Kind, str]] = {"neg_inf": "−∞", "pos_inf": "+∞", "nan": "NaN"}
_NOUNS: Final[dict[Kind, str]] = {"negative": "negative value", "zero": "zero", "positive": "positive value"}
#: Dtypes whose elements are never NaN or infinite.
_ALWAYS_FINITE: Final = re.compile(r"q?u?int\d|bool|string|resource|variant")


@dataclass(frozen=True)
class Numbers:
    """What is recorded of one tensor. None means that the mode did not measure it.

    Attributes:
      dtype: Name of the dtype.
      size: Number of elements.
      counts: Number of elements by kind.
      largest: Largest magnitude of the finite elements.
      bad: Whether the tensor has NaN or infinity.
      low: The smallest finite element.
      high: The largest finite element.
    """

    dtype: str | None = None
    size: int | None = None
    counts: Mapping[Kind, int | None] = field(default_factory=dict)
    largest: float | None = None
    bad: bool | None = None
    low: float | None = None
    high: float | None = None

    @staticmethod
    def of_values(dtype: str | None, values: Sequence[float]) -> Numbers:
        """Return the numbers of a tensor whose elements are all known."""
        kinds = Counter(map(_kind, values))
        finite = [value for value in values if math.isfinite(value)]
        return Numbers(
            dtype,
            len(values),
            {kind: kinds[kind] for kind in KINDS},
            max(map(abs, finite), default=None),
            len(finite) < len(values),
            min(finite, default=None),
            max(finite, default=None),
        )

    @staticmethod
    def of_health(health: Json | None, dtype: str | None = None) -> Numbers:
        """Return the numbers of a *Health* of the HTTP contract.

        Args:
          health: None when nothing was measured.
          dtype: The dtype by the graph, used when the record has none.
        """
        if health is None:
            return Numbers(dtype)
        ends = [abs(health[name]) for name in ("min", "max") if health[name] is not None]
        return Numbers(
            health["dtype"] or dtype,
            _whole(health["size"]),
            {kind: _whole(health[kind]) for kind in KINDS},
            max(ends, default=None),
            health["bad"],
            health["min"],
            health["max"],
        )

    @property
    def is_bad(self) -> bool:
        """Whether the tensor is known to have NaN or infinity."""
        return self.num_bad > 0 if self.bad is None else self.bad

    @property
    def is_finite(self) -> bool | None:
        """Whether all elements are finite; None when that is not known."""
        if self.dtype is not None and _ALWAYS_FINITE.match(self.dtype):
            return True
        return None if self.bad is None else not self.bad

    @property
    def only(self) -> float | None:
        """The value that all elements have; None when they differ, or when it is not known."""
        if self.size and self.counts.get("zero") == self.size:
            return 0.0
        return self.low if self.is_finite and self.low == self.high else None

    @property
    def num_bad(self) -> int:
        """Number of bad elements that were counted."""
        return sum(self.counts.get(kind) or 0 for kind in BAD_KINDS)

    @property
    def bad_words(self) -> str:
        """The bad elements in words, such as "200 −∞, 3 NaN"."""
        counted = [(kind, self.counts.get(kind) or 0) for kind in BAD_KINDS]
        return ", ".join(count_words(kind, count) for kind, count in counted if count) or UNKNOWN_KIND


def count_words(kind: Kind, count: int) -> str:
    """Return a count in words: "200 −∞", "1 zero", "3 negative values"."""
    if kind in _SYMBOLS:
        return f"{count:,} {_SYMBOLS[kind]}"
    return f"{count:,} {_NOUNS[kind]}{'' if count == 1 else 's'}"


def _kind(value: float) -> Kind:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "pos_inf" if value > 0 else "neg_inf"
    return "zero" if value == 0 else "positive" if value > 0 else "negative"


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)


_TEXT: Final = re.compile(r"(?P<dtype>\w+) \[(?P<dims>[\d, ]*)\](?:: ?(?P<elements>.*))?", re.DOTALL)


def constant_numbers(text: str) -> Numbers | None:
    """Return the numbers of a constant; None when its text is cut or has no numbers.

    Args:
      text: The attribute ``value`` of a ``Const``.
    """
    found = _TEXT.fullmatch(text)
    if found is None or found["elements"] is None:
        return None
    size = math.prod(int(dim) for dim in found["dims"].split(",") if dim.strip())
    parts = [part.strip() for part in found["elements"].split(",") if part.strip()]
    try:
        values = [float(part) for part in parts]
    except ValueError:  # texts, complex numbers, booleans, or a list that was cut
        return None
    # A constant of many equal elements may be written as one of them.
    return Numbers.of_values(found["dtype"], values) if len(values) == size else None
