"""`tbdbg precision`: what a recorded program would compute in float16 or another floating dtype.

Takes a logdir and a dtype; prints the tensors that would overflow or vanish, the layers to keep in float32,
and the largest loss scale; as text or as JSON.
"""

from __future__ import annotations

import argparse
import math
from typing import Any, Final

from tb_debugger_plugin.analysis.precision.magnitudes import Share
from tb_debugger_plugin.analysis.precision.precision import percent
from tb_debugger_plugin.analysis.values.float_formats import DEFAULT, TARGETS
from tb_debugger_plugin.cli.reading import add_arguments, answer_each, line_words
from tb_debugger_plugin.events.printable import printable

#: Tensors that are printed; the others are counted.
_SHOWN: Final = 20
_GOOD: Final = ("fits", "fits_above")


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `precision`."""
    add_arguments(parser)
    parser.add_argument(
        "--dtype", choices=list(TARGETS), default=DEFAULT, help=f"the dtype (default: {DEFAULT})"
    )


def run(args: argparse.Namespace) -> int:
    """Print the answer; return the exit code."""
    return answer_each(args, lambda run: dict(run.precision(args.dtype).to_json()), _words)


def _words(name: str, facts: dict[str, Any]) -> str:
    lines = [name]
    if facts["missing"]:
        return "\n".join(map(printable, [*lines, f"  {facts['missing']}"]))
    troubled = [one for one in facts["tensors"] if one["verdict"] not in _GOOD]
    lines += [f"  {_where(one)}: {one['sentence']}" for one in troubled[:_SHOWN]]
    lines += [f"  … {len(troubled) - _SHOWN} more"] if len(troubled) > _SHOWN else []
    lines += [] if troubled else [_least(facts)]
    lines += [f"  Keep {layer['name']} in float32: {layer['keep']}" for layer in _kept(facts)]
    lines += _loss_scale(facts["loss_scale"])
    return "\n".join(map(printable, lines))


def _kept(facts: dict[str, Any]) -> list[dict[str, Any]]:
    return [layer for layer in facts["layers"] if layer["keep"] is not None]


def _least(facts: dict[str, Any]) -> str:
    nearest = facts["tensors"][0]
    return (
        f"  None of {facts['num_tensors']} tensors overflows in {facts['dtype']}. The nearest,"
        f" {_where(nearest)}: {nearest['sentence']}"
    )


def _where(tensor: dict[str, Any]) -> str:
    return f"{tensor['name']}{line_words(tensor)}"


def _loss_scale(found: dict[str, Any] | None) -> list[str]:
    if found is None:
        return []
    at_largest = percent(Share(*found["vanishing_at_largest"]))
    return [
        f"  Loss scale: at most 2^{math.log2(found['largest']):.0f}, beyond which {found['limited_by']}"
        f" overflows. Of the gradients' elements, {percent(Share(*found['vanishing']))} become 0 without a"
        f" scale, and {at_largest} with this one."
    ]
