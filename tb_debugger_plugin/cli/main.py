"""The entry of the `tbdbg` command.

Takes a command line and returns an exit code: 0 for done, 1 for an error that a sentence on stderr explains,
2 for a wrong command line, 3 for alerts that `tbdbg alerts --fail-on` does not accept. Errors of this package
and of the system become that sentence here. Errors of one run among several, after which a verb goes on, are
handled in `reading`.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import logging
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tb_debugger_plugin.errors import DebuggerError
from tb_debugger_plugin.events.printable import printable_lines
from tb_debugger_plugin.events.version import __version__

#: The verbs, each a module of this folder, and what the help says of them, in its order.
VERBS: Final = {
    "demo": "record an example that turns to NaN, and show it in TensorBoard",
    "info": "runs, hosts, counts, modes, first and last time, what fills the files",
    "why": "which op made the first bad value, where and why",
    "origins": "where NaN and infinities come from, and by which way",
    "replay": "run a bad call again that GUARD has kept, as it was or with changes",
    "report": "one file with the origins of a run, to send or to paste",
    "alerts": "which tensors break a rule (docs/guide/rules.md)",
    "compare": "where two recordings of a program part",
    "precision": "what would overflow or vanish in float16 or another dtype",
    "value": "print a recorded tensor, or a slice of it",
    "shell": "ask about a recording with the commands of tfdbg",
    "run": "run a program with the shell around its calls, or with breakpoints, or record it",
    "dump": "print the records of event files as text",
    "index": "build the tables of runs, or bring them up to date",
    "sql": "query the tensors and calls of a run, and its tables (docs/schema.md)",
    "export": "write the tensors, calls and tables of runs as Parquet files",
    "beam": "gone: use index --to",
    "clean": "delete tables from the cache; event files stay",
}


def build_parser(verbs: Iterable[str] = VERBS) -> argparse.ArgumentParser:
    """Return the parser of the command line.

    Args:
      verbs: The verbs that it knows; their modules are imported.
    """
    parser = argparse.ArgumentParser(
        prog="tbdbg", description="Look at recordings of TensorFlow programs, and make one."
    )
    parser.add_argument("--version", action="version", version=f"tb-debugger-plugin {__version__}")
    subparsers = parser.add_subparsers(title="verbs", dest="verb", required=True)
    for verb in verbs:
        module = importlib.import_module(f"tb_debugger_plugin.cli.{verb}")
        of_verb = subparsers.add_parser(verb, help=VERBS[verb])
        module.declare(of_verb)
        of_verb.set_defaults(run=module.run)
    return parser


def _needed(argv: Sequence[str]) -> Iterable[str]:
    """Return the verbs that a command line needs: the import of all takes most of a second."""
    if argv[:1] == ["--version"]:
        return ()
    return [argv[0]] if argv and argv[0] in VERBS else VERBS


def say(message: str) -> None:
    """Print a message on stderr."""
    print(f"tbdbg: {printable_lines(message)}", file=sys.stderr)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
      argv: Arguments without the program's name; None for those of the process.

    Returns:
      The exit code.
    """
    try:
        words = list(sys.argv[1:] if argv is None else argv)
        args = build_parser(_needed(words)).parse_args(words)
        with _log_in_sentences():
            code: int = args.run(args)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        # The reader has enough, as `head` does. Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (DebuggerError, OSError) as error:
        say(str(error))
        return 1
    except KeyboardInterrupt:
        say("Stopped.")
        return 128 + signal.SIGINT


class _Sentences(logging.Handler):
    """Prints what this package logs. Failures are left out: the caller prints them as a sentence."""

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info is None:
            say(record.getMessage())


@contextlib.contextmanager
def _log_in_sentences() -> Iterator[None]:
    logger, handler = logging.getLogger("tb_debugger_plugin"), _Sentences(logging.WARNING)
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


if __name__ == "__main__":
    sys.exit(main())
