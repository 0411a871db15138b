"""A running program to which the shell is attached, as the commands see it.

Messages between debuggers and programs are JSON-like values here, with the members that ``docs/http-api.md``
describes for the routes below ``live``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias

from tb_debugger_plugin.expressions.names import TensorName
from tb_debugger_plugin.shell.value_screen import Source

#: A message as a JSON-like value.
Facts: TypeAlias = Mapping[str, Any]

#: Phases in which the values of the current call can be read.
_AT_HAND: Final = ("paused", "waiting")


class Attached(Protocol):
    """The programs of a logdir, one of which is chosen."""

    def programs(self) -> Sequence[Facts]:
        """Return all programs, newest first."""
        ...

    def chosen(self) -> Facts:
        """Return the program that commands are for: the one that was chosen, or the only one.

        Raises:
          NotFoundError: There is none, or there are several and none was chosen.
        """
        ...

    def choose(self, number: int) -> None:
        """Choose a program by its position in :meth:`programs`.

        Raises:
          NotFoundError: There is no such program.
        """
        ...

    def command(self, command: Facts) -> Facts:
        """Return what came of a command.

        Raises:
          QueryError: The program does not answer.
        """
        ...

    def wait(self, seconds: float) -> Facts:
        """Return the program when it does not run any more, or after a time."""
        ...

    def tensors(self) -> Sequence[Facts]:
        """Return the tensors of the current call."""
        ...

    def elements(self, tensor: int) -> Source:
        """Return the elements of a held tensor, by its number.

        Raises:
          NotFoundError: The program does not hold it.
        """
        ...

    def evaluate(self, expression: str) -> Facts:
        """Return the result of an expression over held tensors."""
        ...


def tensors_at_hand(attached: Attached | None) -> Sequence[Facts]:
    """Return the tensors of the call at which the chosen program is paused; none if it runs.

    Args:
      attached: The programs; None if the shell is not attached.
    """
    if attached is None or not attached.programs():
        return ()
    state = attached.chosen()["state"]
    return attached.tensors() if state is not None and state["phase"] in _AT_HAND else ()


def tensor_at_hand(attached: Attached | None, name: TensorName) -> Facts | None:
    """Return the last held tensor that a name means; None if there is none.

    Args:
      attached: The programs; None if the shell is not attached.
      name: The name. Positions and devices mean recorded tensors.
    """
    if attached is None or name.is_position or name.device or name.debug_op:
        return None
    found = [one for one in tensors_at_hand(attached) if name.fits(one["op_name"], one["slot"], name.device)]
    return found[-1] if found else None
