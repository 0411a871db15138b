"""Sentences about tensors in another dtype."""

from __future__ import annotations

import math

from tb_debugger_plugin.analysis.precision.shares import Share
from tb_debugger_plugin.analysis.precision.tensor import TensorPrecision, Verdict


def sentence(tensor: TensorPrecision) -> str:
    """Say what would become of a tensor."""
    name, target, found = tensor.target.name, tensor.target, tensor.found
    reached = f"reaches {found.largest:.5g}"
    verdict = tensor.verdict
    if verdict is Verdict.OVERFLOWS:
        assert tensor.overflow is not None
        times = f", in {found.num_over} of {found.values} values" if found.values > 1 else ""
        return (
            f"Would overflow in {name} at step {tensor.overflow.step}{times}: it {reached},"
            f" and the largest number is {target.largest:.5g}."
        )
    if verdict is Verdict.VANISHES:
        return _vanishes(tensor)
    if verdict is Verdict.NEAR_OVERFLOW:
        return f"Is {powers(tensor.headroom)} from the largest number of {name}: it {reached}."
    if verdict is Verdict.LOSES_BITS:
        return f"{percent(tensor.subnormal)} of its elements would lose bits in {name}: {_below(tensor)}."
    if tensor.headroom is None:
        return "Is 0 in all elements."
    above = f"{powers(tensor.headroom)} to the largest number of {name}"
    if verdict is Verdict.FITS:
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
