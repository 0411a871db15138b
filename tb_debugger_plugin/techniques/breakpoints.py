"""Stops the program in Python's debugger when tensors have been computed, with their values by name."""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tb_debugger_plugin.capture.stacks.frames import RecordedFrame, user_frame
from tb_debugger_plugin.capture.tf_types import Array
from tb_debugger_plugin.techniques.observing import When, observed
from tb_debugger_plugin.techniques.places import not_converted


@not_converted
def breakpoint_here(tensors: object, when: When = None) -> Any:
    """Open a debugger when some tensors have been computed, with their values as NumPy arrays by name.

    Use::

        logits = tb_debugger_plugin.breakpoint_here(logits)
        found = tb_debugger_plugin.breakpoint_here({"x": x, "y": y}, when=lambda x, y: np.isnan(y).any())

    It works in eager mode, functions, loops, gradients and Keras, but not in functions that XLA compiles. The
    debugger is that of Python's `breakpoint()`: pdb, or what the variable PYTHONBREAKPOINT of the environment
    names, such as `IPython.embed` or `ipdb.set_trace`; with `0` the program does not stop. It shows the line
    of the program after this call. The values are copies: to change one, use `interpose`.

    Args:
      tensors: A tensor, a list of tensors, or a dict of tensors by name. Tensors without a name are `value`,
        or `value_0`, `value_1` and so on.
      when: Whether to stop: a function that takes the values in the same order, or a boolean tensor, of which
        any element may hold. None (the default): always.

    Returns:
      The same tensors, in the same structure; use them, so that the program stops before it goes on.

    Raises:
      UsageError: The program is being traced for XLA.
    """
    place = user_frame()
    named = _named(tensors)
    names = list(named)
    results = observed(
        "breakpoint_here", list(named.values()), lambda arrays: _stop(place, names, arrays), when
    )
    if isinstance(tensors, Mapping):
        return dict(zip(tensors, results, strict=True))
    return type(tensors)(results) if isinstance(tensors, (list, tuple)) else results[0]


def _named(tensors: object) -> dict[str, object]:
    if isinstance(tensors, Mapping):
        return {_identifier(str(name)): tensor for name, tensor in tensors.items()}
    if isinstance(tensors, (list, tuple)):
        return {f"value_{number}": tensor for number, tensor in enumerate(tensors)}
    return {"value": tensors}


def _identifier(name: str) -> str:
    text = re.sub(r"\W", "_", name)
    return f"{text}_" if keyword.iskeyword(text) else text if text.isidentifier() else f"_{text}"


def _stop(place: RecordedFrame, names: Sequence[str], arrays: Sequence[Array]) -> None:
    """Open the debugger in a frame that has the line of the program and only the values."""
    # Code of its own, so that no frame of TensorFlow or AutoGraph hides the values.
    call = ast.Expr(ast.Call(ast.Name("breakpoint", ast.Load()), [], []))
    ast.increment_lineno(ast.fix_missing_locations(ast.Module([call], [])), place.line - 1)
    after = ast.Pass(lineno=place.line + 1, col_offset=0, end_lineno=place.line + 1, end_col_offset=4)
    code = compile(ast.Module([call, after], []), place.path, "exec")
    values = {
        name: array.copy() if hasattr(array, "copy") else array
        for name, array in zip(names, arrays, strict=True)
    }
    exec(code.replace(co_name=place.function or "<module>"), {"__builtins__": builtins, **values})
