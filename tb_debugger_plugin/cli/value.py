"""`tbdbg value`: prints a recorded tensor, or a part of it.

Takes a logdir and the name of a tensor, or a position in a list. Prints the elements as NumPy prints them,
their statistics, or writes them into a file.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Final

import numpy as np

from tb_debugger_plugin.analysis.values.texts import element_text
from tb_debugger_plugin.cli.reading import add_arguments, only_run
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.reading.run import Run
from tb_debugger_plugin.reading.value import Value

#: A larger slice is printed with an ellipsis, unless all is asked for.
_SHOWN: Final = 2000
_OCCURRENCE: Final = "which time it was computed, from 0 (default: the last time)"
_NOTATION: Final = "NumPy's notation, such as '[:, 3, ::2]'"


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `value`."""
    add_arguments(parser, single=True)
    parser.add_argument("tensor", nargs="?", metavar="TENSOR", help="such as Log:0")
    parser.add_argument("--function", help="the function that has the tensor (default: any)")
    parser.add_argument("--occurrence", type=int, default=-1, metavar="N", help=_OCCURRENCE)
    parser.add_argument("--graph_execution", type=int, metavar="IDX", help="a position instead of a name")
    parser.add_argument("--execution", type=int, metavar="IDX", help="the same in the list of executions")
    parser.add_argument("--slot", type=int, default=0, metavar="K", help="the output of the execution")
    parser.add_argument("--slice", default="...", metavar="SLICE", help=_NOTATION)
    parser.add_argument("--statistics", action="store_true", help="counts and moments instead of elements")
    parser.add_argument("--all", action="store_true", help=f"also elements beyond {_SHOWN}")
    parser.add_argument("--save", type=Path, metavar="FILE", help="write a .npy file instead")


def run(args: argparse.Namespace) -> int:
    """Print the value; return the exit code."""
    with only_run(args) as opened:
        value = _find(opened, args)
        if args.save is not None:
            path = value.save(args.save, args.slice)
            print(f"Saved {printable(value.name)} to {path} ({path.stat().st_size:,} bytes).")
        elif args.json:
            print(json.dumps(_facts(value, args), indent=2))
        else:
            print(printable(_head(value)))
            print(_statistics_text(value, args.slice) if args.statistics else _elements_text(value, args))
    return 0


def _find(opened: Run, args: argparse.Namespace) -> Value:
    if args.tensor is None and args.graph_execution is None and args.execution is None:
        raise UsageError("Give the name of a tensor, --graph_execution or --execution.")
    return opened.value(
        args.tensor,
        occurrence=args.occurrence,
        function=args.function,
        graph_execution=args.graph_execution,
        execution=args.execution,
        slot=args.slot,
    )


def _head(value: Value) -> str:
    shape = "unknown shape" if value.shape is None else str(list(value.shape))
    return f"{value.name}  {value.dtype or 'unknown dtype'} {shape}"


def _elements_text(value: Value, args: argparse.Namespace) -> str:
    elements = value.read(args.slice)
    threshold = elements.size if args.all else _SHOWN
    formats = {"object": element_text} if elements.dtype.kind == "O" else None
    text = np.array2string(elements, threshold=max(1, threshold), formatter=formats)  # type: ignore[arg-type]
    return "\n".join(map(printable, text.split("\n")))


def _statistics_text(value: Value, slicing: str) -> str:
    facts = value.statistics(slicing)
    counts = {name: count for name, count in (facts["counts"] or {}).items() if count}
    numbers = {name: facts[name] for name in ("min", "max", "mean", "std") if facts[name] is not None}
    shown = {"size": facts["size"], **counts, **numbers}
    width = max(map(len, shown))
    return "\n".join(
        f"  {name:<{width}}  {count:,}" if isinstance(count, int) else f"  {name:<{width}}  {count:g}"
        for name, count in shown.items()
    )


def _facts(value: Value, args: argparse.Namespace) -> dict[str, object]:
    facts: dict[str, object] = {
        "name": value.name,
        "dtype": value.dtype,
        "shape": value.shape,
        "is_kept": value.is_kept,
        "reason": value.reason,
        "summary": value.summary,
    }
    if not value.is_kept:
        return facts
    if args.statistics:
        return {**facts, "statistics": value.statistics(args.slice)}
    elements = value.read(args.slice)
    texts = np.array([element_text(element) for element in elements.reshape(-1)], object)
    return {**facts, "elements": texts.reshape(elements.shape).tolist()}
