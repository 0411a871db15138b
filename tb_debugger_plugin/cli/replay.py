"""`tbdbg replay`: runs a bad call again that GUARD has kept.

Takes a logdir, or the file of a call. Prints whether the call gives the same bad values, whether float64 or
another change mends it; or writes it as a recording or as a program.
"""

from __future__ import annotations

import argparse
import contextlib
import json
from pathlib import Path

from tb_debugger_plugin.cli.reading import add_arguments, only_run
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.reading.replay import Replay, ReplayOptions, replay, run_of
from tb_debugger_plugin.reading.run import Run

_SET = (
    "give a tensor the value of an expression, such as 'loss/Log=np.log(np.maximum(x0, 1e-7))', where x0, x1 "
    "are the inputs of its op, and backticks name other tensors"
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `replay`."""
    add_arguments(parser, single=True, what="a logdir, or the file of a call (....replay_1)")
    parser.add_argument(
        "--call", type=int, default=1, metavar="N", help="which kept call, from 1 (default: 1)"
    )
    parser.add_argument("--dtype", help="compute in float64, float32, bfloat16 or float16")
    parser.add_argument("--set", action="append", default=[], metavar="TENSOR=EXPR", help=_SET)
    parser.add_argument("--until", metavar="OP", help="end the call with this op, and show its numbers")
    parser.add_argument("--device", help="where it runs, such as CPU:0 (default: where TensorFlow places it)")
    parser.add_argument("--record", metavar="DIR", help="keep a recording of the call in this folder")
    parser.add_argument("--mode", default="FULL_HEALTH", help="mode of that recording (default: FULL_HEALTH)")
    parser.add_argument("--script", metavar="FILE", help="write a program that needs only TensorFlow")
    parser.add_argument("--timeout", type=float, default=600.0, metavar="S", help="seconds (default: 600)")


def run(args: argparse.Namespace) -> int:
    """Print what came of the call; return the exit code: 1 if it failed."""
    done = _replay(args)
    if args.json:
        print(json.dumps(done.to_json(), indent=2))
    else:
        print("\n".join(map(printable, [*str(done).split("\n"), *_numbers(done, args), *_written(args)])))
    return 1 if done.tried[-1].error else 0


def _replay(args: argparse.Namespace) -> Replay:
    names = ("dtype", "until", "device", "record", "mode", "script", "timeout")
    given = {name: getattr(args, name) for name in names} | {"tensors": dict(map(_parted, args.set))}
    path = Path(str(args.logdir))
    if path.is_file():
        found = run_of(path)
        with contextlib.nullcontext() if found is None else Run(found) as opened:
            return replay(path, ReplayOptions(**given), opened)
    with only_run(args) as opened:
        return opened.replay(args.call, **given)


def _parted(text: str) -> tuple[str, str]:
    name, sign, expression = text.partition("=")
    if not sign:
        raise UsageError(
            f"--set takes a tensor and an expression, such as 'Log=np.log(x0)', and not {text!r}."
        )
    return name.strip(), expression.strip()


def _numbers(done: Replay, args: argparse.Namespace) -> list[str]:
    """Return what is said of the results of a call that ends with an op."""
    if not args.until:
        return []
    lines = []
    for number, result in enumerate(done.tried[-1].results):
        bad = zip(("-inf", "+inf", "NaN"), result["bad"], strict=True)
        counts = [f"{count:,} {name}" for name, count in bad if count]
        numbers = [f"{name} {result[name]:g}" for name in ("min", "max", "mean") if name in result]
        facts = ", ".join([*counts, *numbers]) or "no numbers"
        lines.append(f"  {args.until}:{number}  {result['dtype']} {result['shape']}: {facts}")
    return lines


def _written(args: argparse.Namespace) -> list[str]:
    written = [f"  Recorded in {args.record}; `tbdbg why {args.record}` explains it."] if args.record else []
    return [*written, f"  Written: {args.script}"] if args.script else written
