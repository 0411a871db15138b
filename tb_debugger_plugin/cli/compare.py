"""`tbdbg compare`: finds where two recordings of nearly the same program part.

Takes two runs, each a folder with one run or a folder and a name. Prints the first tensor that differs
materially with op, line and the numbers of both runs, what changed in the program, and the tensors that
differ.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable, Mapping
from typing import Final

from tb_debugger_plugin.analysis.compare.comparison import (
    ComparedSide,
    Comparison,
    FirstDifference,
    InputOfFirst,
    ProgramChange,
    TensorDifference,
)
from tb_debugger_plugin.cli.main import say
from tb_debugger_plugin.cli.reading import a_location, line_words
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.reading.run import Run

_NUMBERS: Final = (
    *("dtype", "shape", "min", "max", "mean", "variance"),
    *("negative", "zero", "positive", "neg_inf", "pos_inf", "nan"),
)
#: Tensors and changes that the text shows; JSON has more.
_SHOWN: Final = 8


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `compare`."""
    parser.add_argument("first", type=a_location, metavar="RUN_A", help="the folder of a run, or above some")
    parser.add_argument(
        "second", type=a_location, metavar="RUN_B", nargs="?", help="the other one (default: the same folder)"
    )
    parser.add_argument("--run", dest="name", metavar="NAME", help="the run in RUN_A, if it holds several")
    parser.add_argument("--other", metavar="NAME", help="the run in RUN_B, if it holds several")
    parser.add_argument(
        "--tolerance",
        type=_a_tolerance,
        metavar="X",
        help="relative tolerance (default: from the rounding of the dtype and the path in the graph)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _a_tolerance(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of at least 0")
    return value


def run(args: argparse.Namespace) -> int:
    """Compare the runs; return the exit code."""
    first = choose.only(args.first, args.name, "--run", say)
    second = choose.only(args.first if args.second is None else args.second, args.other, "--other", say)
    with Run(first) as one, Run(second) as other:
        found = one.compare(other, tolerance=args.tolerance)
    lines = [json.dumps(found.to_json(), indent=2)] if args.json else map(printable, _words(found))
    print("\n".join(lines))
    return 0


def _words(found: Comparison) -> list[str]:
    lines, first = [found.headline], found.first_difference
    if first is not None:
        lines += [f"  {first.explanation}", *_sources(first)]
        lines += _table(first.first.summary, first.second.summary)
        lines += [f"  Input {_name(one.first or one.second)}: {_agreement(one)}" for one in first.inputs]
        if first.values is not None:
            lines.append(f"  {first.values['num_different']} of {first.values['size']} elements differ.")
    lines += _listed("Changed in the program", found.num_changes, map(_change, found.changes))
    lines += _listed("Tensors that differ", found.num_tensors, map(_tensor, found.tensors))
    lines.append(f"{found.num_compared} values of {found.num_compared_tensors} tensors were compared.")
    return [*lines, *(f"  ! {note}" for note in found.notes)]


def _sources(first: FirstDifference) -> list[str]:
    return [
        f"  {title}: {source.path}:{source.line}" + (f": {source.text}" if source.text else "")
        for title, source in (("First", first.first.source), ("Second", first.second.source))
        if source is not None
    ]


def _table(a: Mapping[str, object] | None, b: Mapping[str, object] | None) -> list[str]:
    if a is None or b is None:
        return []
    shown = [name for name in _NUMBERS if a[name] is not None or b[name] is not None]
    return [f"    {name:<10}{_number(a[name]):>16}{_number(b[name]):>16}" for name in shown]


def _number(value: object) -> str:
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def _agreement(one: InputOfFirst) -> str:
    if one.is_within is None:
        return "not on record in both runs"
    if one.difference is None:
        return "shape, NaN or infinities differ"
    agrees = "agrees" if one.is_within else "differs"
    return f"{agrees} ({one.difference:.2g})"


def _name(side: ComparedSide | None) -> str:
    assert side is not None  # it is in one of the runs
    return f"{side.op_name or side.op_type}{line_words(side.source)}"


def _change(change: ProgramChange) -> str:
    return f"{_name(change.first or change.second)}: {change.words}"


def _tensor(tensor: TensorDifference) -> str:
    size = "" if tensor.difference is None else f" ({tensor.difference:.2g} > {tensor.tolerance:.2g})"
    share = "" if tensor.inherited is None else f", {tensor.inherited:.0%} inherited"
    return f"{_name(tensor.first)}, occurrence {tensor.occurrence + 1}: {tensor.what}{size}{share}"


def _listed(title: str, total: int, lines: Iterable[str]) -> list[str]:
    shown = list(lines)[:_SHOWN]
    if not shown:
        return []
    more = [f"  … {total - len(shown)} more"] if total > len(shown) else []
    return [f"{title}: {total}", *(f"  {line}" for line in shown), *more]
