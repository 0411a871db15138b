"""`run_info`: the call at which a program is stopped, or what a recording holds, and what to do next."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Final

from tb_debugger_plugin.errors import failing_node
from tb_debugger_plugin.shell.command import Answer, Command, Needs
from tb_debugger_plugin.shell.commands.run_status import status_lines
from tb_debugger_plugin.shell.links import command_line
from tb_debugger_plugin.shell.program import Call
from tb_debugger_plugin.shell.screen import Line, Mood, Part, Screen, Style, joined, link, plain

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell

_BAR: Final = "-" * 38
_HINT_WIDTH: Final = 28


def run_info(shell: Shell, args: argparse.Namespace | None = None) -> Screen:
    """Return the screen of a stopped program, or of a recording.

    Args:
      shell: The shell.
      args: Not used.
    """
    del args
    call = shell.call
    if call is None:
        return Screen(joined(status_lines(shell.run), _offline_hints(shell)))
    if call.error is not None:
        return Screen(joined(_error(call, call.error), _notes(call)), Mood.AFTER_CALL, _title(call))
    mood = Mood.AFTER_CALL if call.is_over else Mood.BEFORE_CALL
    hints = _hints_after(call) if call.is_over else _hints_before(shell, call)
    return Screen(joined(_call(call), _notes(call), hints), mood, _title(call))


def _info(shell: Shell, args: argparse.Namespace) -> Answer:
    return run_info(shell, args)


def _title(call: Call) -> str:
    state = "failed" if call.error is not None else "end" if call.is_over else "start"
    counts = [_count(len(call.feeds), "argument", "arguments")]
    if call.is_of_session:
        counts = [_count(len(call.fetches), "fetch", "fetches"), _count(len(call.feeds), "feed", "feeds")]
    thread = f" in thread {call.thread}" if call.thread else ""
    return f"{state} of call #{call.number}{thread}: {call.what}; {', '.join(counts)}"


def _count(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def _call(call: Call) -> list[Line]:
    lines = [plain(_BAR), plain(f"Call #{call.number}: {call.what}", Style.HEADING)]
    if call.thread:
        lines.append(plain(f"Thread:   {call.thread}"))
    lines.append(())
    if call.is_of_session:
        fetches = [_name(name, call, "pt") for name in call.fetches]
        lines += [plain("Fetch(es):"), *(fetches or [plain("  (None)")]), ()]
    if call.targets:
        lines += [plain("Target(s):"), *(_name(name, call, "ni") for name in call.targets), ()]
    feeds: list[Line] = [(Part("  "), link(name, command_line("pf", name))) for name in call.feeds]
    lines += [plain("Feed(s):" if call.is_of_session else "Argument(s):"), *(feeds or [plain("  (Empty)")])]
    return [*lines, plain(_BAR)]


def _name(name: str, call: Call, command: str) -> Line:
    # Before the call there is nothing on record to look at.
    return (Part("  "), link(name, command_line(command, name)) if call.is_over else Part(name))


def _notes(call: Call) -> list[Line]:
    return [plain(note, Style.MUTED) for note in call.notes]


def _hints_before(shell: Shell, call: Call) -> list[Line]:
    lines = [
        plain("How to go on:", Style.HEADING),
        _hint("run", "record this call, and stop after it"),
        _hint("run -n", "do not record this call, and stop before the next one"),
        _hint("run -t 10", "stop after 10 calls; only the last one is recorded"),
        _hint("run -f has_inf_or_nan", "go on until a tensor passes a filter"),
        *([_hint("run -p", "record this call with the times of its ops")] if call.is_of_session else []),
        _hint("detach", "go on at full speed, without the shell"),
    ]
    return [*lines, *_filters(shell, "run")]


def _filters(shell: Shell, command: str) -> list[Line]:
    """Return the filters, each with what a command does with it, and where there is more."""
    names = shell.filters.names()
    rows = [(Part("    * "), link(name, command_line(command, "-f", name))) for name in names]
    return [plain("  Filters:"), *rows, (), (Part("More: "), link("help", "help"))]


def _hints_after(call: Call) -> list[Line]:
    lines = [plain("What to look at:", Style.HEADING)]
    if call.passed_filter is not None:
        name = call.passed_filter
        lines.append(_hint(command_line("lt", "-f", name), "the tensors that passed the filter", Style.BAD))
        lines.append(_hint("why", "why the first one is bad"))
    lines += [
        _hint("lt", "all tensors of the call"),
        _hint("lt -f has_inf_or_nan", "those with NaN or infinity"),
        _hint("run", "record the next call"),
        _hint("run -f has_inf_or_nan", "go on until a tensor passes a filter"),
    ]
    return lines


def _offline_hints(shell: Shell) -> list[Line]:
    lines = [
        plain("What to look at:", Style.HEADING),
        _hint("lt", "the tensors of graphs"),
        _hint("lt -f has_inf_or_nan", "those with NaN or infinity"),
        _hint("why", "where the first bad value comes from"),
        _hint("ls", "the source files"),
    ]
    return [*lines, *_filters(shell, "lt")]


def _hint(command: str, words: str, style: Style = Style.PLAIN) -> Line:
    space = " " * max(1, _HINT_WIDTH - len(command))
    return (Part("  "), link(command, command, style), Part(space + words))


def _error(call: Call, error: BaseException) -> list[Line]:
    node = failing_node(error)
    lines = [
        plain(_BAR),
        plain(f"Call #{call.number}, {call.what}, failed.", Style.ERROR),
        (),
    ]
    if node is None:
        lines.append(plain("The error does not name the op that failed."))
    else:
        lines += [
            plain("Where to begin:", Style.HEADING),
            _hint(command_line("ni", "-a", "-d", "-t", node), "the op that failed"),
            _hint(command_line("li", "-r", node), "its inputs, and theirs"),
            _hint("lt", "the tensors that were recorded before it failed"),
        ]
    lines += [
        (),
        plain(f"Op name:    {node or '?'}"),
        plain(f"Error type: {type(error).__name__}"),
        (),
        plain("Details:"),
        *(plain(line, Style.ERROR) for line in str(error).splitlines()),
    ]
    return [*lines, plain(_BAR)]


COMMAND: Final = Command(
    "run_info",
    ("ri",),
    "show the call at which the program is stopped, or what the recording holds",
    _info,
    needs=Needs.NOTHING,
)
