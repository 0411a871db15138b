"""`eval`: computes an expression of recorded tensors."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Final

import numpy as np

from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.events.numbers import Array, widened
from tb_debugger_plugin.expressions.evaluate import evaluate
from tb_debugger_plugin.expressions.functions import MAX_ELEMENTS
from tb_debugger_plugin.expressions.names import nth, number_in_brackets, parse_tensor_name
from tb_debugger_plugin.reading.run import Run
from tb_debugger_plugin.reading.value import Value
from tb_debugger_plugin.shell.attached import Attached, tensors_at_hand
from tb_debugger_plugin.shell.command import Answer, Command
from tb_debugger_plugin.shell.commands.print_tensor import dumps_of, has_own_dumps
from tb_debugger_plugin.shell.screen import Mood, Screen, Style, of_text, plain
from tb_debugger_plugin.shell.value_screen import ArraySource, Wanted, add_display_options, value_screen

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell


#: A name in backticks.
_NAMES: Final = re.compile(r"`([^`]+)`")


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "expression", nargs="+", metavar="EXPRESSION", help="NumPy's notation, with tensors in backticks"
    )
    add_display_options(parser)


def _evaluate(shell: Shell, args: argparse.Namespace) -> Answer:
    text = " ".join(args.expression)
    if shell.attached is not None and _is_at_hand(shell.attached, text):
        return _in_program(shell.attached, text, args)
    result = evaluate(text, lambda name: _tensor_in_backticks(shell.run, name))
    label = f"from eval of expression '{text}'"
    if isinstance(result, tuple) and len({np.shape(one) for one in result}) > 1:
        return Screen([plain(f'Tensor "{label}":', Style.HEADING), (), *(plain(repr(one)) for one in result)])
    array = np.asarray(result)
    if array.dtype.kind not in "fiucbO" or (array.dtype.hasobject and not _is_of_texts(array)):
        return Screen([plain(f'Tensor "{label}":', Style.HEADING), (), plain(repr(result))])
    return value_screen(label, ArraySource(array), Wanted("", args.all, None, True, args.write_path))


def _is_at_hand(attached: Attached, text: str) -> bool:
    """Whether an expression names tensors, all of which a paused program holds."""
    names = [parse_tensor_name(name) for name in _NAMES.findall(text)]
    held = tensors_at_hand(attached) if names else ()
    return bool(names) and all(
        any(name.fits(one["op_name"], one["slot"], name.device and "") for one in held) for name in names
    )


def _in_program(attached: Attached, text: str, args: argparse.Namespace) -> Answer:
    result = attached.evaluate(text)
    if not result["done"]:
        return of_text(f"ERROR: {result['text']}", Mood.ERROR)
    label = f"from eval of expression '{text}'"
    if not result["tensor"]:
        return Screen([plain(f'Tensor "{label}":', Style.HEADING), (), plain(result["text"])])
    source = attached.elements(result["tensor"])
    return value_screen(label, source, Wanted("", args.all, None, True, args.write_path))


def _is_of_texts(array: Array) -> bool:
    return all(isinstance(one, bytes) for one in array.flat)


def _tensor_in_backticks(run: Run, text: str) -> Array:
    """Return the array that a name in an expression means.

    Args:
      run: The run.
      text: ``node:slot``, with a device before it, a debug op after it and ``[k]`` for the time that it was
        computed, from 0, else the last; or a position such as ``#12``. bfloat16 and float8 become float32.

    Raises:
      NotFoundError: There is no such tensor or time, or its value is not kept.
      UsageError: The tensor is too large.
    """
    name = parse_tensor_name(text)
    number = number_in_brackets(name)
    if not has_own_dumps(name):
        return _array(run.value(name.text, occurrence=number))
    data = dumps_of(run, name)
    tensor = data[nth(number, len(data), name.text)].get_tensor()
    if not isinstance(tensor, np.ndarray):
        raise NotFoundError(f"{name.text} has no value here. {tensor}")
    return tensor


def _array(value: Value) -> Array:
    size = int(np.prod(value.shape or (1,), dtype=np.float64))
    if size > MAX_ELEMENTS:
        raise UsageError(f"{value.name} has {size:,} elements; an expression takes at most {MAX_ELEMENTS:,}.")
    return widened(value[...])


COMMAND: Final = Command(
    "eval",
    ("ev",),
    "compute an expression of tensors",
    _evaluate,
    _arguments,
    examples=(
        "eval np.max(np.abs(`Log:0`))",
        'eval "np.sum(`Log:0[1]` > 3)"',
        "eval `#12` @ `#13` -a",
    ),
)
