"""Names of tensors as they are typed: which tensors one means, and which may be meant if there is none.

Takes a text such as ``loss/Log:0[:, 3]``, ``/job:a/replica:0/task:0/device:CPU:0:x:0:DebugIdentity``, ``#12``
or ``#e5:1``, and the tensors and names that the caller knows: those of a recording, of a paused program or of
a graph. The shell, the command line, Python and breakpoints ask here, so a name means the same everywhere: a
tensor that was computed several times stands for the last one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Generic, NamedTuple, TypeVar

from tb_debugger_plugin.errors import NotFoundError, UsageError

T = TypeVar("T")

#: How many names a message suggests, and how like what was typed they are.
_SUGGESTED: Final = 3
_ALIKE: Final = 0.6

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

    def fits(self, node: str, slot: int, device: str | None = None) -> bool:
        """Whether it means a tensor; what was left out fits all."""
        return self.node == node and self.slot in (None, slot) and self.device in (None, device)


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


@dataclass(frozen=True)
class KnownTensor(Generic[T]):
    """A tensor that a name may mean.

    Attributes:
      slot: The number of the output.
      device: Its device; None if it is not known.
      what: What the caller knows of it.
    """

    slot: int
    device: str | None
    what: T


def chosen(
    name: TensorName,
    of_node: Sequence[KnownTensor[T]],
    names: Callable[[], Iterable[str]],
    done: str = "recorded",
) -> list[T]:
    """Return the tensors that a name means, at least one.

    Args:
      name: The name.
      of_node: The known tensors of its node.
      names: Returns the names of all nodes that have a tensor, for a suggestion.
      done: What is true of known tensors, for the message.

    Raises:
      NotFoundError: There is none; the message suggests others.
    """
    found = [one.what for one in of_node if name.fits(name.node, one.slot, one.device)]
    if found:
        return found
    if not of_node:
        raise NotFoundError(f"No tensor {name.text} is {done}; {suggestion(name.node, names())}")
    slots = sorted({one.slot for one in of_node})
    if name.slot not in (None, *slots):
        raise NotFoundError(f"{name.node} has no {done} output {name.slot}; it has {_listed(slots)}.")
    devices = sorted({one.device or "?" for one in of_node})
    raise NotFoundError(f"{name.node} was not {done} on {name.device}, but on {_listed(devices)}.")


def only_slot(name: TensorName, slots: Iterable[int]) -> int:
    """Return the slot of a name's tensors, of which there is one.

    Raises:
      UsageError: There are several.
    """
    first, *others = sorted({*slots})
    if others:
        raise UsageError(f"{name.node} has several outputs: write {name.node}:{first}.")
    return first


def nth(number: int, count: int, what: str) -> int:
    """Return which of several computations a number means.

    Args:
      number: From 0; negative numbers count from the end.
      count: How many computations there are.
      what: What was computed, for the message.

    Raises:
      NotFoundError: There is no such computation.
    """
    if not -count <= number < count:
        raise NotFoundError(f"{what} was computed {count:,} time(s), so there is no number {number}.")
    return number % count


def number_in_brackets(name: TensorName) -> int:
    """Return which computation a name in an expression means: that of ``[k]``, or else the last, -1.

    Raises:
      UsageError: The brackets hold a slice.
    """
    inner = name.slicing.strip("[] ")
    if not name.slicing:
        return -1
    if name.is_position or not inner.removeprefix("-").isdecimal():
        raise UsageError(
            f"`{name.text}{name.slicing}`: brackets in backticks hold the time that a tensor was computed;"
            " write slices after the backticks."
        )
    return int(inner)


def node_of(text: str) -> str:
    """Return the name of the node of a tensor; a name without a slot stays as it is."""
    node, colon, slot = text.rpartition(":")
    return node if colon and slot.isdigit() else text


def suggestion(name: str, names: Iterable[str]) -> str:
    """Return the end of a sentence that says what may be meant by a name that is not there.

    Args:
      name: What was typed.
      names: The names that are there.
    """
    known = sorted({*names})
    found = near(name, known)
    if found:
        return f"did you mean {' or '.join(map(repr, found))}?"
    return f"there is {_listed(map(repr, known))}." if known else "there is none."


def near(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that may be meant by one, the likeliest first.

    They are those in another scope, those that contain it, and those that are spelled alike.
    """
    wanted = name.lower()

    def rank(one: str) -> tuple[int, float]:
        other = one.lower()
        if other.endswith(f"/{wanted}") or wanted.endswith(f"/{other}"):
            return 0, -_likeness(wanted, other)
        return (1 if wanted in other else 2), -_likeness(wanted, other)

    ranked = sorted((*rank(one), one) for one in names)
    return [one for kind, unlike, one in ranked[:_SUGGESTED] if kind < 2 or -unlike >= _ALIKE]


def _likeness(name: str, other: str) -> float:
    """Return how alike two names are, from 0 to 1: as a whole, or without their scopes."""
    pairs = ((name, other), (name.rpartition("/")[2], other.rpartition("/")[2]))
    return max(difflib.SequenceMatcher(None, *pair, autojunk=False).ratio() for pair in pairs)


def _listed(things: Iterable[object]) -> str:
    texts = [*map(str, things)]
    return ", ".join([*texts[:5], "…"] if len(texts) > 5 else texts)


def literal(name: str) -> str:
    """Return a regular expression that matches a name only, for Python and for RE2."""
    return "".join(
        letter if letter.isalnum() or letter in "_/" or not letter.isascii() else f"\\{letter}"
        for letter in name
    )
