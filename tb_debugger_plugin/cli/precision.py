"""`tbdbg precision`: what a recorded program would compute in float16 or another floating dtype.

Takes a logdir and a dtype; prints the tensors that would overflow or vanish, the layers to keep in float32,
and the largest loss scale; as text or as JSON.
"""

from __future__ import annotations

import argparse
import math
from typing import Final

from tb_debugger_plugin.analysis.precision.precision import LossScale, Precision, percent, sentence
from tb_debugger_plugin.analysis.precision.tensor import PrecisionVerdict, TensorPrecision
from tb_debugger_plugin.analysis.values.float_formats import DEFAULT, TARGETS
from tb_debugger_plugin.cli.reading import add_arguments, line_words, print_each, run_each
from tb_debugger_plugin.events.printable import printable

#: Tensors that are printed; the others are counted.
_SHOWN: Final = 20
_GOOD: Final = (PrecisionVerdict.FITS, PrecisionVerdict.FITS_ABOVE)


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `precision`."""
    add_arguments(parser)
    parser.add_argument(
        "--dtype", choices=list(TARGETS), default=DEFAULT, help=f"the dtype (default: {DEFAULT})"
    )


def run(args: argparse.Namespace) -> int:
    """Print the answer; return the exit code."""
    results = run_each(args, lambda run: run.precision(args.dtype))
    return print_each(args, results, Precision.to_json, _words)


def _words(name: str, found: Precision) -> str:
    lines = [name]
    if found.missing:
        return "\n".join(map(printable, [*lines, f"  {found.missing}"]))
    troubled = [one for one in found.tensors if one.verdict not in _GOOD]
    lines += [f"  {_where(one)}: {sentence(one)}" for one in troubled[:_SHOWN]]
    lines += [f"  … {len(troubled) - _SHOWN} more"] if len(troubled) > _SHOWN else []
    lines += [] if troubled else [_least(found)]
    kept = (layer for layer in found.layers if layer.keep is not None)
    lines += [f"  Keep {layer.name} in float32: {layer.keep}" for layer in kept]
    lines += [] if found.loss_scale is None else [_loss_scale(found.loss_scale)]
    return "\n".join(map(printable, lines))


def _least(found: Precision) -> str:
    nearest = found.tensors[0]
    return (
        f"  None of {len(found.tensors)} tensors overflows in {found.target.name}. The nearest,"
        f" {_where(nearest)}: {sentence(nearest)}"
    )


def _where(tensor: TensorPrecision) -> str:
    return f"{tensor.place.name}{line_words(tensor.place.source)}"


def _loss_scale(scale: LossScale) -> str:
    return (
        f"  Loss scale: at most 2^{math.log2(scale.largest):.0f}, beyond which {scale.limited_by.place.name}"
        f" overflows. Of the gradients' elements, {percent(scale.vanishing)} become 0 without a scale, and"
        f" {percent(scale.vanishing_at_largest)} with this one."
    )
