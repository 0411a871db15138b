"""A program that the shell has stopped, as the commands see it.

Takes what a wrapper of a session, a hook or a watched function knows of the current call; returns what the
user wants it to do next.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple


class RunRequest(NamedTuple):
    """How a program goes on.

    Attributes:
      times: At which call it stops next: 1 is the next one. The calls before it are not recorded.
      is_recorded: Whether the call is recorded. If not, the shell opens before the call after it.
      till_filter: Go on, recording, until a tensor passes this filter; None for no filter.
      exclude_names: Tensors of nodes whose names match this are not given to the filter.
      node_names: Record only nodes whose names match this from their beginning; None for all.
      op_types: The same for op types.
      dtypes: The same for names of dtypes.
      excluded_names: The regular expression of the nodes that were not given to this filter; None for none.
      is_profiled: Whether the times of ops are recorded.
    """

    times: int = 1
    is_recorded: bool = True
    till_filter: str | None = None
    exclude_names: str | None = None
    node_names: str | None = None
    op_types: str | None = None
    dtypes: str | None = None
    is_profiled: bool = False


class Resume(NamedTuple):
    """The shell closes and the program goes on."""

    request: RunRequest


class Leave(NamedTuple):
    """The shell closes, and a stopped program ends."""

    code: int = 0


class Detach(NamedTuple):
    """The shell closes, and a stopped program goes on without it: also when nobody can type any more."""


@dataclass(frozen=True)
class Call:
    """The call of a program at which the shell is open.

    Attributes:
      number: Its number, from 1.
      what: What is called, such as ``Session.run()`` or the name of a function.
      is_over: Whether it has run.
      fetches: The names of what it returns.
      targets: The names of the ops that it runs without returning them.
      feeds: The values that are fed, or passed as arguments, by name.
      error: What it raised; None if it did not.
      passed_filter: The filter that a tensor of it passed; None if there is none.
      excluded_names: The regular expression of the nodes that were not given to this filter; None for none.
      is_profiled: Whether the times of its ops are recorded, instead of tensors.
      notes: Lines to show at its start, such as why a recording is not whole.
      thread: Name of its thread; empty for the main thread.
    """

    number: int
    what: str
    is_over: bool
    fetches: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    feeds: Mapping[str, object] = field(default_factory=dict)
    error: BaseException | None = None
    passed_filter: str | None = None
    excluded_names: str | None = None
    is_profiled: bool = False
    notes: tuple[str, ...] = ()
    thread: str = ""

    @property
    def is_of_session(self) -> bool:
        """Whether it runs a session, which has fetches or targets; a function has arguments only."""
        return bool(self.fetches or self.targets)
