"""What a recorded program would compute in another floating dtype.

Takes a run and a dtype; returns the headroom of each tensor to the limits of the dtype, the worst first, the
layers that should stay in float32, and the scales of the loss that keep gradients in range. A tensor is
judged by its recorded values alone: an error that grows through the program is not followed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypedDict

from tb_debugger_plugin.analysis.precision import magnitudes
from tb_debugger_plugin.analysis.precision.magnitudes import EagerOutput, Share, share_below
from tb_debugger_plugin.analysis.precision.tensor import (
    RANKS,
    Moment,
    PrecisionVerdict,
    TensorPlace,
    TensorPrecision,
    TensorPrecisionJson,
)
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.source.user_lines import user_line
from tb_debugger_plugin.analysis.values.float_formats import DEFAULT, TARGETS, Format
from tb_debugger_plugin.errors import BadQueryError
from tb_debugger_plugin.events.tensorflow_names import is_gradient


class LossScaleJson(TypedDict):
    """What loss scaling can do, as routes give it."""

    largest: float  #: the largest power of two with which no gradient on record overflows
    limited_by: str  #: the gradient that would overflow next
    #: the least and the largest share of the gradients' elements that becomes 0 without a scale
    vanishing: list[float]
    vanishing_at_largest: list[float]  #: the same with the largest scale


class PrecisionGroupJson(TypedDict):
    """The tensors of a layer or of a type of op, as routes give them."""

    name: str  #: of the layer, or of the type of op
    tensors: int  #: how many there are
    headroom: float | None  #: least headroom, worst verdict, and the tensor that has them
    verdict: str
    worst: str
    keep: str | None  #: why the layer should stay in float32; null when it need not


class ListedTensorJson(TensorPrecisionJson):
    """A tensor of the list."""

    sentence: str  #: the verdict as plain text


class LimitsJson(TypedDict):
    """The limits of a dtype."""

    largest: float  #: its largest number, its smallest normal one, and its smallest one above 0
    smallest_normal: float
    smallest: float


class PrecisionJson(TypedDict):
    """A run in another dtype, as routes give it."""

    dtype: str  #: the dtype
    limits: LimitsJson  #: its limits
    num_tensors: int  #: how many tensors have their range on record
    tensors: list[ListedTensorJson]  #: the first 500 of them, the worst first
    layers: list[PrecisionGroupJson]  #: the same by layer, and by type of op
    op_types: list[PrecisionGroupJson]
    keep_in_float32: list[str]  #: names of the layers with a reason to `keep`
    loss_scale: LossScaleJson | None  #: null when no gradient is on record
    missing: str | None  #: plain text: what to record for an answer; null when there is one


# The scales of the loss with which gradients neither overflow nor vanish in another dtype.
#
# Takes the gradients among the tensors. A loss that is multiplied by a power of two multiplies each
# gradient by it, and the optimizer divides it out again.


@dataclass(frozen=True)
class LossScale:
    """What loss scaling can do.

    Attributes:
      largest: The largest power of two with which no gradient on record overflows.
      limited_by: The gradient that would overflow next.
      vanishing: The share of the gradients' elements that becomes 0 without a scale.
      vanishing_at_largest: The same with the largest scale.
    """

    largest: float
    limited_by: TensorPrecision
    vanishing: Share
    vanishing_at_largest: Share

    def to_json(self) -> LossScaleJson:
        """Return the window as the HTTP contract has it."""
        return {
            "largest": self.largest,
            "limited_by": self.limited_by.place.name,
            "vanishing": self.vanishing.to_json(),
            "vanishing_at_largest": self.vanishing_at_largest.to_json(),
        }


def loss_scale(tensors: Sequence[TensorPrecision]) -> LossScale | None:
    """Return the window of loss scales; None when no gradient that is not 0 is on record."""
    gradients = [one for one in tensors if _is_scaled(one) and one.found.largest > 0]
    if not gradients:
        return None
    limiting = max(gradients, key=lambda one: one.found.largest)
    scale = _largest_scale(limiting)
    return LossScale(scale, limiting, _vanishing(gradients, 1.0), _vanishing(gradients, scale))


def _is_scaled(tensor: TensorPrecision) -> bool:
    """Whether a tensor grows with the loss: constants in a gradient, such as a number of elements, do not."""
    return tensor.place.is_gradient and tensor.place.op_type != "Const"


def _largest_scale(tensor: TensorPrecision) -> float:
    limit, largest = tensor.target.overflows_from, tensor.found.largest
    exponent = math.floor(math.log2(limit) - math.log2(largest))
    exponent = min(max(exponent, -1000), 1000)
    # The logarithms are rounded.
    while math.ldexp(largest, exponent) >= limit:
        exponent -= 1
    return math.ldexp(1.0, exponent)


def _vanishing(gradients: Sequence[TensorPrecision], scale: float) -> Share:
    counts = [one.found.elements - one.found.zeros for one in gradients]
    limits = [math.nextafter(one.target.vanishes_to, math.inf) / scale for one in gradients]
    shares = [share_below(one.found, limit) for one, limit in zip(gradients, limits, strict=True)]
    total = sum(counts)
    least = sum(share.least * count for share, count in zip(shares, counts, strict=True))
    most = sum(share.most * count for share, count in zip(shares, counts, strict=True))
    return Share(least / total, most / total)


@dataclass(frozen=True)
class PrecisionGroup:
    """Some tensors.

    Attributes:
      name: Of the layer, or of the type of op.
      tensors: How many there are.
      worst: The one that suffers most.
      keep: Why the group should stay in float32; None when it need not.
    """

    name: str
    tensors: int
    worst: TensorPrecision
    keep: str | None

    def to_json(self) -> PrecisionGroupJson:
        """Return the group as the HTTP contract has it."""
        return {
            "name": self.name,
            "tensors": self.tensors,
            "headroom": self.worst.headroom,
            "verdict": self.worst.verdict.value,
            "worst": self.worst.place.name,
            "keep": self.keep,
        }


def by_layer(tensors: Sequence[TensorPrecision]) -> list[PrecisionGroup]:
    """Return the layers, the worst first; tensors outside of layers are in none."""
    return _grouped(tensors, lambda one: one.place.layer)


def by_op_type(tensors: Sequence[TensorPrecision]) -> list[PrecisionGroup]:
    """Return the types of ops, the worst first."""
    return _grouped(tensors, lambda one: one.place.op_type)


def badness(tensor: TensorPrecision) -> tuple[int, float]:
    """Return a key that sorts tensors, the worst first."""
    headroom = tensor.headroom
    return RANKS[tensor.verdict], float("inf") if headroom is None else headroom


def _grouped(
    tensors: Sequence[TensorPrecision], key: Callable[[TensorPrecision], str | None]
) -> list[PrecisionGroup]:
    groups: dict[str, list[TensorPrecision]] = defaultdict(list)
    for one in tensors:
        name = key(one)
        if name is not None:
            groups[name].append(one)
    made = [_group(name, members) for name, members in groups.items()]
    return sorted(made, key=lambda group: (badness(group.worst), group.name))


def _group(name: str, members: Sequence[TensorPrecision]) -> PrecisionGroup:
    ranked = sorted(members, key=badness)
    reason = next(filter(_needs_float32, ranked), None)
    keep = None if reason is None else f"{reason.place.name}: {sentence(reason)}"
    return PrecisionGroup(name, len(members), ranked[0], keep)


def _needs_float32(tensor: TensorPrecision) -> bool:
    if tensor.verdict is PrecisionVerdict.OVERFLOWS:
        return True
    # A loss scale moves gradients away from 0.
    return tensor.verdict is PrecisionVerdict.VANISHES and not tensor.place.is_gradient


#: Tensors that an answer lists.
_MAX_LISTED: Final = 500
_NEEDS: Final = (
    "No tensor of this run has minimum and maximum on record: record with"
    ' tensor_debug_mode="FULL_NUMERICS", or keep values.'
)


@dataclass(frozen=True)
class Precision:
    """A run in another dtype.

    Attributes:
      target: The dtype.
      tensors: All tensors whose range is on record, the worst first.
      layers, op_types: The same by layer, and by type of op.
      loss_scale: The window of loss scales; None when no gradient is on record.
      missing: What to record for an answer; None when there is one.
    """

    target: Format
    tensors: list[TensorPrecision]
    layers: list[PrecisionGroup]
    op_types: list[PrecisionGroup]
    loss_scale: LossScale | None
    missing: str | None

    @property
    def keep_in_float32(self) -> list[str]:
        """The layers that should stay in float32."""
        return [layer.name for layer in self.layers if layer.keep is not None]

    def to_json(self) -> PrecisionJson:
        """Return the answer as the HTTP contract has it."""
        target = self.target
        return {
            "dtype": target.name,
            "limits": {
                "largest": target.largest,
                "smallest_normal": target.smallest_normal,
                "smallest": target.smallest,
            },
            "num_tensors": len(self.tensors),
            "tensors": [{**one.to_json(), "sentence": sentence(one)} for one in self.tensors[:_MAX_LISTED]],
            "layers": [layer.to_json() for layer in self.layers],
            "op_types": [op_type.to_json() for op_type in self.op_types],
            "keep_in_float32": self.keep_in_float32,
            "loss_scale": None if self.loss_scale is None else self.loss_scale.to_json(),
            "missing": self.missing,
        }


def precision(snapshot: Snapshot, dtype: str = DEFAULT) -> Precision:
    """Return what a run would compute in another dtype.

    Args:
      snapshot: The run.
      dtype: The name of the dtype.

    Raises:
      BadQueryError: There is no such dtype.
    """
    if dtype not in TARGETS:
        raise BadQueryError(f"dtype must be one of {', '.join(TARGETS)}, but is {dtype!r}.")
    return snapshot.remember(f"precision {dtype}", lambda: _precision(snapshot, TARGETS[dtype]))


def _precision(snapshot: Snapshot, target: Format) -> Precision:
    in_graphs = list(_of_graphs(snapshot, target))
    # What a function returns is a tensor of its graph, where it has a name and a line.
    eager = _of_eager_ops(snapshot, target, with_functions=not in_graphs)
    tensors = sorted([*in_graphs, *eager], key=badness)
    return Precision(
        target=target,
        tensors=tensors,
        layers=by_layer(tensors),
        op_types=by_op_type(tensors),
        loss_scale=loss_scale(tensors),
        missing=None if tensors else _NEEDS,
    )


def _of_graphs(snapshot: Snapshot, target: Format) -> Iterator[TensorPrecision]:
    found = magnitudes.of_sites(snapshot, target)
    nearest = {site: one.largest_at for site, one in found.items()}
    over = {site: one.first_over for site, one in found.items() if one.first_over is not None}
    nearest_steps = magnitudes.steps_of_sites(snapshot, nearest)
    over_steps = magnitudes.steps_of_sites(snapshot, over)
    for site, one in found.items():
        first = over.get(site)
        yield TensorPrecision(
            place=_of_site(snapshot, site),
            found=one,
            target=target,
            nearest=Moment(nearest_steps.get(site, 0), graph_execution_index=one.largest_at),
            overflow=None if first is None else Moment(over_steps.get(site, 0), graph_execution_index=first),
        )


def _of_eager_ops(snapshot: Snapshot, target: Format, *, with_functions: bool) -> Iterator[TensorPrecision]:
    for key, one in magnitudes.of_eager(snapshot, target).items():
        if snapshot.catalog.op_types[key.op_type][1] and not with_functions:
            continue
        yield TensorPrecision(
            place=_of_eager(snapshot, key),
            found=one,
            target=target,
            nearest=_eager_moment(snapshot, key, one.largest_at),
            overflow=None if one.first_over is None else _eager_moment(snapshot, key, one.first_over),
        )


def _eager_moment(snapshot: Snapshot, key: EagerOutput, index: int) -> Moment:
    return Moment(magnitudes.step_of_eager(snapshot, key, index), execution_index=index)


def _of_site(snapshot: Snapshot, number: int) -> TensorPlace:
    catalog = snapshot.catalog
    site = catalog.sites[number]
    op, graph = catalog.ops[site.op], catalog.graphs[site.graph]
    gradient_of = tuple(catalog.gradients.get((site.op, site.slot), ()))
    return TensorPlace(
        *(op.name, op.type, site.slot, graph.graph_id, graph.name, op.layer, op.variable, gradient_of),
        is_gradient=bool(gradient_of) or is_gradient(op.name),
        source=user_line(snapshot, op.stack),
    )


def _of_eager(snapshot: Snapshot, key: EagerOutput) -> TensorPlace:
    op_type, _ = snapshot.catalog.op_types[key.op_type]
    return TensorPlace(
        *(None, op_type, key.slot, None, None, None, None, ()),
        is_gradient=False,
        source=user_line(snapshot, key.stack),
    )


def sentence(tensor: TensorPrecision) -> str:
    """Say what would become of a tensor."""
    name, target, found = tensor.target.name, tensor.target, tensor.found
    reached = f"reaches {found.largest:.5g}"
    verdict = tensor.verdict
    if verdict is PrecisionVerdict.OVERFLOWS:
        assert tensor.overflow is not None
        times = f", in {found.num_over} of {found.values} values" if found.values > 1 else ""
        return (
            f"Would overflow in {name} at step {tensor.overflow.step}{times}: it {reached},"
            f" and the largest number is {target.largest:.5g}."
        )
    if verdict is PrecisionVerdict.VANISHES:
        return _vanishes(tensor)
    if verdict is PrecisionVerdict.NEAR_OVERFLOW:
        return f"Is {powers(tensor.headroom)} from the largest number of {name}: it {reached}."
    if verdict is PrecisionVerdict.LOSES_BITS:
        return f"{percent(tensor.subnormal)} of its elements would lose bits in {name}: {_below(tensor)}."
    if tensor.headroom is None:
        return "Is 0 in all elements."
    above = f"{powers(tensor.headroom)} to the largest number of {name}"
    if verdict is PrecisionVerdict.FITS:
        return f"Fits: {above}."
    return f"Does not overflow: {above}. How many elements are too small is not on record: EXPONENTS has it."


def _vanishes(tensor: TensorPrecision) -> str:
    target = tensor.target
    if tensor.vanishing.least > 0:
        return (
            f"{percent(tensor.vanishing)} of its elements would become 0 in {target.name}: {_below(tensor)}."
        )
    return (
        f"In at least one step all of it would become 0 in {target.name}:"
        f" it has no magnitude above {tensor.found.least_largest:.3g}."
    )


def _below(tensor: TensorPrecision) -> str:
    target = tensor.target
    return f"its smallest normal number is {target.smallest_normal:.3g}, its smallest {target.smallest:.3g}"


def percent(share: Share) -> str:
    """Format a share: "12 %", or "12 % to 15 %"."""
    if share.is_known:
        return _percent(share.least)
    return f"{_percent(share.least)} to {_percent(share.most)}"


def _percent(share: float) -> str:
    return "less than 0.1 %" if 0 < share < 0.001 else f"{100 * share:.3g} %"


def powers(headroom: float | None) -> str:
    """Format headroom: "3.5 powers of two"."""
    return "?" if headroom is None else f"{math.floor(headroom * 10) / 10:.1f} powers of two"
