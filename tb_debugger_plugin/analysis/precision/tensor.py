"""What would become of one tensor in another dtype."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final, TypedDict

from tb_debugger_plugin.analysis.precision.magnitudes import Magnitudes, Share, share_below
from tb_debugger_plugin.analysis.snapshot import Json, JsonObject
from tb_debugger_plugin.analysis.source.user_lines import UserLine
from tb_debugger_plugin.analysis.values.float_formats import Format
from tb_debugger_plugin.events.dtypes import NAMES

#: Powers of two of headroom below which a tensor is near the limit.
NEAR: Final = 2.0
#: The share of the elements that are not 0 from which their loss counts.
COUNTS: Final = 0.01


class PrecisionVerdict(enum.Enum):
    """What would become of a tensor, the worst first."""

    OVERFLOWS = "overflows"
    VANISHES = "vanishes"
    NEAR_OVERFLOW = "near_overflow"
    LOSES_BITS = "loses_bits"
    FITS_ABOVE = "fits_above"
    FITS = "fits"


#: The worst is 0.
RANKS: Final = {verdict: rank for rank, verdict in enumerate(PrecisionVerdict)}


@dataclass(frozen=True)
class Moment(JsonObject):
    """A value of a tensor.

    Attributes:
      step: How many values of the tensor come before it on record.
      execution_index, graph_execution_index: Its position in one of the two lists; None in the other.
    """

    step: int
    execution_index: int | None = None
    graph_execution_index: int | None = None


class TensorPrecisionJson(TypedDict):
    """A tensor in another dtype, as routes give it."""

    name: str  #: the tensor; `op_name` and `graph_id` are null for an eager op
    op_name: str | None
    op_type: str | None
    output_slot: int
    graph_id: str | None
    function: str | None  #: what it belongs to
    layer: str | None
    variable: str | None
    gradient_of: list[str]
    dtype: str  #: the dtype that it has
    source: Annotated[Json, UserLine] | None  #: the user's [line](#lines), as in [origins](#origins)
    values: int  #: how many values are on record
    elements: int  #: their finite elements together, and how many of these are 0
    zeros: int
    largest: float  #: the largest magnitude of finite elements
    smallest: float | None  #: the smallest; null when it is not on record
    #: powers of two from `largest` to the largest number of the dtype, below 0 beyond it; null if all
    #: elements are 0
    headroom: float | None
    nearest: Annotated[Json, Moment]  #: the value that has the largest magnitude
    overflow: Annotated[Json, Moment] | None  #: the first value that would overflow, or null
    overflowing_values: int  #: how many values would overflow
    #: the share of the elements other than 0 that would become 0: the least and the largest that the record
    #: allows
    vanishing: list[float]
    without_mantissa: list[float]  #: the same of those that would keep no bit of the mantissa
    subnormal: list[float]  #: the same of those that would lose some
    #: `overflows`, `vanishes`, `near_overflow` (less than 2 powers of two), `loses_bits`, `fits_above`
    #: (whether elements are too small is not on record) or `fits`
    verdict: str


@dataclass(frozen=True)
class TensorPlace:
    """Which tensor it is.

    Attributes:
      op_name: None for eager ops.
      op_type: Type of its op, or name of a function.
      output_slot: Slot of the op.
      graph_id, function: The graph, and the function that it is.
      layer, variable: Names of the layer and of the variable, if they are on record.
      gradient_of: The variables whose gradient it is.
      is_gradient: Whether it is computed in a gradient.
      source: The user's line.
    """

    op_name: str | None
    op_type: str | None
    output_slot: int
    graph_id: str | None
    function: str | None
    layer: str | None
    variable: str | None
    gradient_of: tuple[str, ...]
    is_gradient: bool
    source: UserLine | None

    @property
    def name(self) -> str:
        """Op and slot, or type and slot of an eager op."""
        return f"{self.op_name or self.op_type or '?'}:{self.output_slot}"


@dataclass(frozen=True)
class TensorPrecision:
    """A tensor in another dtype.

    Attributes:
      place: Which tensor.
      found: Its magnitudes on record.
      target: The dtype.
      nearest: The value with the largest magnitude.
      overflow: The first value that overflows; None when none does.
    """

    place: TensorPlace
    found: Magnitudes
    target: Format
    nearest: Moment
    overflow: Moment | None

    @property
    def headroom(self) -> float | None:
        """Powers of two to the largest number of the dtype; None when all elements are 0."""
        return self.target.headroom(self.found.largest) if self.found.largest > 0 else None

    @property
    def vanishing(self) -> Share:
        """The share of the elements that becomes 0."""
        return share_below(self.found, math.nextafter(self.target.vanishes_to, math.inf))

    @property
    def without_mantissa(self) -> Share:
        """The share of the elements that keeps no bit of the mantissa, or becomes 0."""
        return share_below(self.found, 2 * self.target.smallest)

    @property
    def subnormal(self) -> Share:
        """The share of the elements that loses bits of the mantissa, or becomes 0."""
        return share_below(self.found, self.target.smallest_normal)

    @cached_property
    def verdict(self) -> PrecisionVerdict:
        """The worst that would happen."""
        least = self.found.least_largest
        if self.overflow is not None:
            return PrecisionVerdict.OVERFLOWS
        if self.vanishing.least >= COUNTS or (least is not None and least <= self.target.vanishes_to):
            return PrecisionVerdict.VANISHES
        if self.headroom is not None and self.headroom < NEAR:
            return PrecisionVerdict.NEAR_OVERFLOW
        if self.subnormal.least >= COUNTS:
            return PrecisionVerdict.LOSES_BITS
        return PrecisionVerdict.FITS if self.subnormal.most < COUNTS else PrecisionVerdict.FITS_ABOVE

    @property
    def dtype(self) -> str:
        """The dtype that it has."""
        return NAMES.get(self.found.dtype, "?")

    def to_json(self) -> TensorPrecisionJson:
        """Return the tensor as the HTTP contract has it."""
        place, found = self.place, self.found
        return {
            "name": place.name,
            "op_name": place.op_name,
            "op_type": place.op_type,
            "output_slot": place.output_slot,
            "graph_id": place.graph_id,
            "function": place.function,
            "layer": place.layer,
            "variable": place.variable,
            "gradient_of": list(place.gradient_of),
            "dtype": self.dtype,
            "source": None if place.source is None else place.source.to_json(),
            "values": found.values,
            "elements": found.elements,
            "zeros": found.zeros,
            "largest": found.largest,
            "smallest": found.smallest,
            "headroom": self.headroom,
            "nearest": self.nearest.to_json(),
            "overflow": None if self.overflow is None else self.overflow.to_json(),
            "overflowing_values": found.num_over,
            "vanishing": self.vanishing.to_json(),
            "without_mantissa": self.without_mantissa.to_json(),
            "subnormal": self.subnormal.to_json(),
            "verdict": self.verdict.value,
        }
