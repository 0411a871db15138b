"""The options that commands about values share."""

from __future__ import annotations

import argparse

from tb_debugger_plugin.shell.value_screen import Wanted


def add_value_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `pt` and `pf`."""
    add_display_options(parser)
    parser.add_argument(
        "-r", "--ranges", metavar="RANGES", help='highlight numbers: "[-inf, 0]", or "[[-1, 0], [3, 4]]"'
    )
    parser.add_argument("-s", "--numeric_summary", action="store_true", help="count and measure the elements")


def add_display_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of every command that shows an array."""
    parser.add_argument("-a", "--all", action="store_true", help="all elements, also of a long array")
    parser.add_argument("-w", "--write_path", metavar="PATH", help="write the array as a file .npy")


def wanted(args: argparse.Namespace, slicing: str = "") -> Wanted:
    """Return what the options of a command line want.

    Args:
      args: The command line.
      slicing: The slice.
    """
    return Wanted(slicing, args.all, args.ranges, args.numeric_summary, args.write_path)


def typed_options(args: argparse.Namespace) -> str:
    """Return ``-a`` and ``-s`` as they were typed, for links to a value."""
    return (" -a" if args.all else "") + (" -s" if args.numeric_summary else "")
