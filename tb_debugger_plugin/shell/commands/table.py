"""The table of all commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tb_debugger_plugin.shell.command import Command
from tb_debugger_plugin.shell.commands import (
    alerts,
    config,
    evaluate,
    general,
    goto,
    list_executions,
    list_groups,
    list_neighbours,
    list_profile,
    list_source,
    list_tensors,
    live,
    node_info,
    on_screen,
    print_feed,
    print_source,
    print_tensor,
    run_info,
    run_program,
    runs,
)

#: The groups of `help`, each with its commands in the order in which they are listed.
COMMANDS: Final[Mapping[str, Sequence[Command]]] = {
    "The program": (*run_program.COMMANDS, run_info.COMMAND, print_feed.COMMAND),
    "The running program": live.COMMANDS,
    "Tensors and values": (
        *(list_tensors.COMMAND, print_tensor.COMMAND, evaluate.COMMAND),
        *(list_executions.COMMAND, goto.COMMAND),
    ),
    "What is wrong": alerts.COMMANDS,
    "The graphs": (node_info.COMMAND, *list_neighbours.COMMANDS, *list_groups.COMMANDS),
    "Source lines and times": (list_source.COMMAND, print_source.COMMAND, list_profile.COMMAND),
    "The screen": on_screen.COMMANDS,
    "The shell": (runs.COMMAND, config.COMMAND, *general.COMMANDS),
}
