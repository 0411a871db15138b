"""The groups in which `help` lists the commands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from tb_debugger_plugin.shell.command import Command


class Group(NamedTuple):
    """A group.

    Attributes:
      title: Its heading.
      names: The names of its commands, in order.
    """

    title: str
    names: tuple[str, ...]


GROUPS: Final = (
    Group("The program", ("run", "run_info", "detach", "print_feed")),
    Group(
        "The running program", ("live", "step", "over", "cont", "pause", "break", "breaks", "unbreak", "stop")
    ),
    Group("Tensors and values", ("list_tensors", "print_tensor", "eval", "list_executions", "goto")),
    Group("What is wrong", ("list_alerts", "why")),
    Group(
        "The graphs",
        (
            *("node_info", "list_inputs", "list_outputs"),
            *("list_functions", "list_layers", "list_variables"),
        ),
    ),
    Group("Source lines and times", ("list_source", "print_source", "list_profile")),
    Group("The screen", ("prev", "next", "mouse", "/REGEX", "@[3, 4]")),
    Group("The shell", ("runs", "config", "help", "version", "exit")),
)


def in_groups(commands: Sequence[Command]) -> Iterator[tuple[str, list[Command]]]:
    """Yield the titles of the groups with their commands; commands without a group come last."""
    left = {command.name: command for command in commands}
    for group in GROUPS:
        own = [left.pop(name) for name in group.names if name in left]
        if own:
            yield group.title, own
    if left:
        yield "More", list(left.values())
