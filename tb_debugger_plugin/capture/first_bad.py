"""A bad value as its record names it, and the place of its op in the program.

The viewer knows more: it follows the inputs and gives the cause.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from tb_debugger_plugin.capture.stacks.frames import Frame, is_library
from tb_debugger_plugin.events.tensorflow_names import display_name


class FirstBad(NamedTuple):
    """The first bad value on record, as its record names it.

    Attributes:
      op_type: Type of an eager op, or name of a function; empty for an op of a graph.
      graph_id: The graph of the op; empty for an eager op.
      op_name: Name of an op of a graph.
      stack: Ids of the frames of an eager op, outermost first.
      slot: Number of the output of an op of a graph.
      kind: "NaN", "infinity", or "NaN or infinity" in a mode that does not distinguish them.
    """

    op_type: str = ""
    graph_id: str = ""
    op_name: str = ""
    stack: tuple[str, ...] = ()
    slot: int = 0
    kind: str = ""


class Place(NamedTuple):
    """Where the program makes a value.

    Attributes:
      headline: The op and the line: "Log in cross_entropy, train.py:68".
      line: The line with the whole path; empty if it is not known.
    """

    headline: str
    line: str


def place(op_type: str, stack: Sequence[Frame]) -> Place:
    """Return where an op is made.

    Args:
      op_type: Type of the op, or name of the function.
      stack: Its stack, outermost frame first.
    """
    own = [frame for frame in stack if not is_library(frame.path)]
    innermost = (own or stack)[-1:]
    headline = display_name(op_type) + "".join(map(_where, innermost))
    return Place(headline, "".join(f"{frame.path}:{frame.line}" for frame in innermost))


def _where(frame: Frame) -> str:
    function = f" in {frame.function}" if frame.function else ""  # AutoGraph's lambdas have no name
    return f"{function}, {os.path.basename(frame.path)}:{frame.line}"
