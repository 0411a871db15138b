"""The table of all commands."""

from __future__ import annotations

import functools
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

COMMANDS: Final[tuple[Command, ...]] = (
    list_tensors.COMMAND,
    node_info.COMMAND,
    *list_neighbours.COMMANDS,
    list_source.COMMAND,
    print_source.COMMAND,
    list_profile.COMMAND,
    *on_screen.COMMANDS,
    run_info.COMMAND,
    runs.COMMAND,
    list_executions.COMMAND,
    goto.COMMAND,
    *alerts.COMMANDS,
    *list_groups.COMMANDS,
    *run_program.COMMANDS,
    *live.COMMANDS,
    config.COMMAND,
    print_tensor.COMMAND,
    print_feed.COMMAND,
    evaluate.COMMAND,
    *general.COMMANDS,
)


@functools.cache
def by_name() -> dict[str, Command]:
    """Return the commands by name and alias."""
    return {name: command for command in COMMANDS for name in (command.name, *command.aliases)}
