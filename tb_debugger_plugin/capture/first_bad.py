"""Names the first bad value of a recording, for the line that the log gets when the recording ends.

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
    """

    op_type: str = ""
    graph_id: str = ""
    op_name: str = ""
    stack: tuple[str, ...] = ()


def sentence(op_type: str, stack: Sequence[Frame], dump_root: str) -> str:
    """The line of the log: "First bad value: Log in cross_entropy, train.py:68. …".

    Args:
      op_type: Type of the op, or name of the function.
      stack: Its stack, outermost frame first.
      dump_root: The folder of the recording.
    """
    own = [frame for frame in stack if not is_library(frame.path)]
    where = "".join(map(_where, (own or stack)[-1:]))
    return f"First bad value: {display_name(op_type)}{where}. Run `tbdbg why {dump_root}` for the reason."


def _where(frame: Frame) -> str:
    function = f" in {frame.function}" if frame.function else ""  # AutoGraph's lambdas have no name
    return f"{function}, {os.path.basename(frame.path)}:{frame.line}"
