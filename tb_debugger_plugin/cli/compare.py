"""`tbdbg compare`: finds where two recordings of nearly the same program part.

Takes two runs, each a folder with one run or a folder and a name. Prints the first tensor that differs
materially with op, line and the numbers of both runs, what changed in the program, and the tensors that
differ.
"""

from __future__ import annotations

import argparse
import json
import math
from typing import Any, Final

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
        facts = one.compare(other, tolerance=args.tolerance).to_json()
    print(json.dumps(facts, indent=2) if args.json else "\n".join(map(printable, _words(facts))))
    return 0


def _words(facts: dict[str, Any]) -> list[str]:
    lines = [facts["headline"]]
    first = facts["first_difference"]
    if first is not None:
        lines += [f"  {first['explanation']}", *_sources(first), *_table(first), *_inputs(first["inputs"])]
        if first["values"] is not None:
            values = first["values"]
            lines.append(f"  {values['num_different']} of {values['size']} elements differ.")
    lines += _listed("Changed in the program", facts["num_changes"], map(_change, facts["changes"]))
    lines += _listed("Tensors that differ", facts["num_tensors"], map(_tensor, facts["tensors"]))
    lines.append(f"{facts['num_compared']} values of {facts['num_compared_tensors']} tensors were compared.")
    return [*lines, *(f"  ! {note}" for note in facts["notes"])]


def _sources(first: dict[str, Any]) -> list[str]:
    found = [(title, first[key]["source"]) for title, key in (("First", "first"), ("Second", "second"))]
    return [
        f"  {title}: {source['path']}:{source['line']}" + (f": {source['text']}" if source["text"] else "")
        for title, source in found
        if source is not None
    ]


def _table(first: dict[str, Any]) -> list[str]:
    a, b = first["first"]["summary"], first["second"]["summary"]
    if a is None or b is None:
        return []
    shown = [name for name in _NUMBERS if a[name] is not None or b[name] is not None]
    return [f"    {name:<10}{_number(a[name]):>16}{_number(b[name]):>16}" for name in shown]


def _number(value: object) -> str:
    return f"{value:.8g}" if isinstance(value, float) else str(value)


def _inputs(inputs: list[dict[str, Any]]) -> list[str]:
    return [f"  Input {_name(one['first'] or one['second'])}: {_agreement(one)}" for one in inputs]


def _agreement(one: dict[str, Any]) -> str:
    if one["is_within"] is None:
        return "not on record in both runs"
    if one["difference"] is None:
        return "shape, NaN or infinities differ"
    agrees = "agrees" if one["is_within"] else "differs"
    return f"{agrees} ({one['difference']:.2g})"


def _name(side: dict[str, Any]) -> str:
    return f"{side['op_name'] or side['op_type']}{line_words(side)}"


def _change(change: dict[str, Any]) -> str:
    return f"{_name(change['first'] or change['second'])}: {change['words']}"


def _tensor(tensor: dict[str, Any]) -> str:
    size = (
        "" if tensor["difference"] is None else f" ({tensor['difference']:.2g} > {tensor['tolerance']:.2g})"
    )
    inherited = tensor["inherited"]
    share = "" if inherited is None else f", {inherited:.0%} inherited"
    return f"{_name(tensor['first'])}, occurrence {tensor['occurrence']}: {tensor['what']}{size}{share}"


def _listed(title: str, total: int, lines: Any) -> list[str]:
    shown = list(lines)[:_SHOWN]
    if not shown:
        return []
    more = [f"  … {total - len(shown)} more"] if total > len(shown) else []
    return [f"{title}: {total}", *(f"  {line}" for line in shown), *more]
