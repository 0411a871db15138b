"""`tbdbg dump`: prints the records of event files as text.

Takes an event file or a dump root and prints lines. Tail files are read with the event files they belong to.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Iterator

from tb_debugger_plugin.cli.reading import a_location
from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.events.fileset import FileSet, find_file_sets
from tb_debugger_plugin.events.locations import Location
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.events.text import Normalizer, dump_file, dump_file_set, event_objects, set_objects
from tb_debugger_plugin.reading import choose


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `dump`."""
    parser.add_argument("path", type=a_location, metavar="FILE_OR_DIR", help="an event file, or a dump root")
    parser.add_argument(
        "--normalize",
        action="store_true",
        help="replace ids, times, hosts and folders, so that two recordings of one program can be compared",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one object per line")


def run(args: argparse.Namespace) -> int:
    """Print the records; return the exit code."""
    if args.json and args.normalize:
        raise UsageError("--json and --normalize cannot be combined; leave one of them out.")
    for line in _json_lines(args.path) if args.json else _lines(args.path, args.normalize):
        print(printable(line))
    return 0


def _json_lines(path: Location) -> Iterator[str]:
    several = [event_objects(path)] if path.is_file() else map(set_objects, _file_sets(path))
    for item in itertools.chain.from_iterable(several):
        yield json.dumps(item, allow_nan=False)


def _lines(path: Location, normalize: bool) -> Iterator[str]:
    if path.is_file():
        yield from dump_file(path, Normalizer() if normalize else None)
        return
    for files in _file_sets(path):
        yield from dump_file_set(files, Normalizer() if normalize else None)


def _file_sets(path: Location) -> list[FileSet]:
    file_sets = find_file_sets(path)
    if not file_sets:
        choose.check_folder(path)
        raise NotFoundError(
            f"{path} is neither an event file nor a folder with tfdbg_events.*.metadata in it."
        )
    return file_sets
