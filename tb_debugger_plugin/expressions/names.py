"""Names of tensors as they are typed.

Takes a text such as ``loss/Log:0[:, 3]``, ``/job:a/replica:0/task:0/device:CPU:0:x:0:DebugIdentity``, ``#12``
or ``#e5:1``. Returns its parts; no part is looked up here.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tb_debugger_plugin.errors import UsageError

_GRAPH_EXECUTION: Final = re.compile(r"#(\d{1,15})")
_EXECUTION: Final = re.compile(r"#e(\d{1,15})(?::(\d{1,9}))?")
_DEVICE: Final = re.compile(r"(/job:[^/]+/replica:\d+/task:\d+/(?:device:)?\w+:\d+):(.+)", re.DOTALL)
_TENSOR: Final = re.compile(r"(?P<node>.+?)(?::(?P<slot>\d{1,9})(?::(?P<debug_op>[A-Za-z]\w*))?)?", re.DOTALL)


class TensorName(NamedTuple):
    """A name of a tensor.

    Attributes:
      text: The name without a slice, as it was typed.
      slicing: The slice with its brackets; empty if there is none.
      node: The node; empty for a position.
      slot: The number of the output; None if it was left out.
      debug_op: The debug op of a dump; None if it was left out.
      device: The device; None if it was left out.
      graph_execution: A position in the list of graph executions; None for a name.
      execution: A position in the list of executions; None for a name.
    """

    text: str
    slicing: str = ""
    node: str = ""
    slot: int | None = None
    debug_op: str | None = None
    device: str | None = None
    graph_execution: int | None = None
    execution: int | None = None

    @property
    def is_position(self) -> bool:
        """Whether it is a position in a list."""
        return self.graph_execution is not None or self.execution is not None


def parse_tensor_name(text: str) -> TensorName:
    """Parse the name of a tensor, which may end with a slice.

    Raises:
      UsageError: It is empty, or a ``#`` is followed by no position.
    """
    name, bracket, slicing = text.strip().partition("[")
    name = name.strip()
    if not name:
        raise UsageError("Give the name of a tensor, such as Log:0, or a position such as #12.")
    known = TensorName(name, bracket + slicing)
    if name.startswith("#"):
        return _position(known)
    on_device = _DEVICE.fullmatch(name)
    device, rest = on_device.groups() if on_device else (None, name)
    match = _TENSOR.fullmatch(rest)
    assert match is not None  # every text has a node
    slot = None if match["slot"] is None else int(match["slot"])
    return known._replace(node=match["node"], slot=slot, debug_op=match["debug_op"], device=device)


def _position(name: TensorName) -> TensorName:
    match = _GRAPH_EXECUTION.fullmatch(name.text)
    if match is not None:
        return name._replace(graph_execution=int(match[1]))
    match = _EXECUTION.fullmatch(name.text)
    if match is None:
        raise UsageError(
            f"{name.text} is no position: write #12 for a graph execution, #e5 or #e5:1 for an execution."
        )
    return name._replace(execution=int(match[1]), slot=int(match[2] or 0))


def literal(name: str) -> str:
    """Return a regular expression that matches a name only, for Python and for RE2."""
    return "".join(
        letter if letter.isalnum() or letter in "_/" or not letter.isascii() else f"\\{letter}"
        for letter in name
    )
