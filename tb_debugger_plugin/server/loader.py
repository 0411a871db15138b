"""What TensorBoard loads first: the options of the plugin, and the plugin itself."""

from __future__ import annotations

import argparse

from tensorboard.plugins import base_plugin


class DebuggerLoader(base_plugin.TBLoader):
    """Adds the options to TensorBoard's command line, and makes the plugin."""

    def define_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add the options."""
        group = parser.add_argument_group("debugger plugin")
        group.add_argument(
            "--debugger_read_only",
            action="store_true",
            help="show running programs, but never change one: no steps, breakpoints or new values",
        )

    def load(self, context: base_plugin.TBContext) -> base_plugin.TBPlugin:
        """Returns the plugin."""
        from tb_debugger_plugin.server.plugin import DebuggerPlugin

        return DebuggerPlugin(context)
