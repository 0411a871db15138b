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
        group.add_argument(
            "--debugger_allow_commands",
            action="store_true",
            help="let whoever has the key change programs also when TensorBoard listens beyond this machine",
        )
        # TensorFlow's first debugger had it: old command lines still start.
        group.add_argument(
            "--debugger_port", metavar="PORT", default=None, help="not needed any more; accepted and ignored"
        )

    def load(self, context: base_plugin.TBContext) -> base_plugin.TBPlugin:
        """Return the plugin."""
        from tb_debugger_plugin.server.plugin import DebuggerPlugin, say

        if getattr(context.flags, "debugger_port", None) is not None:
            say("--debugger_port is not needed: a program finds TensorBoard by the logdir.")
        return DebuggerPlugin(context)
