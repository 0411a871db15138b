"""`shell/ui/plain_lines.py`: answers as lines, with colours at a terminal only."""

from __future__ import annotations

import asyncio
import io
import sys
import threading

import pytest

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.shell.commands.table import COMMANDS
from tb_debugger_plugin.shell.program import Call, Detach, Leave
from tb_debugger_plugin.shell.screen import Part, Screen, Style, plain
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.ui.converse import UIS, choose_ui, converse
from tb_debugger_plugin.shell.ui.first_screen import first_line
from tb_debugger_plugin.shell.ui.plain_lines import MAX_LINES, PlainLines, run_commands, show
from tb_debugger_plugin.shell.ui.typed_lines import typed_lines


class Tty(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(screen: Screen, out: io.StringIO) -> str:
    show(screen, out)
    return out.getvalue()


SCREEN = Screen([(Part("a "), Part("bad\x1b[2J", Style.BAD))], title="t\x07")


def test_a_file_gets_text_without_colours():
    assert shown(SCREEN, io.StringIO()) == "--- t\\x07 ---\na bad\\x1b[2J\n"


def test_a_terminal_gets_colours(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert shown(SCREEN, Tty()) == "\x1b[1m--- t\\x07 ---\x1b[0m\na \x1b[1;31mbad\\x1b[2J\x1b[0m\n"


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_user_who_wants_no_colours_gets_none(monkeypatch, name, value):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(name, value)
    assert "\x1b" not in shown(SCREEN, Tty())


def test_a_long_answer_is_cut_with_a_note():
    lines = shown(Screen([plain("x")] * (MAX_LINES + 1234)), io.StringIO()).splitlines()
    assert len(lines) == MAX_LINES + 1
    assert lines[-1] == "(1,234 more lines; add `> FILE` to write all of them)"


def test_an_empty_style_costs_no_escape(monkeypatch):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert shown(Screen([plain("x"), ()]), Tty()) == "x\n\n"


def test_the_end_of_the_input_lets_a_program_go_on():
    out = io.StringIO()
    lines = PlainLines(lambda shell: typed_lines(shell, io.StringIO("ver\n\n"), out), out)
    answer = lines.converse(Shell(COMMANDS, None))
    assert isinstance(answer, Detach) and "numpy" in out.getvalue()


def test_ctrl_c_ends_an_answer_and_not_the_shell():
    class Interrupted(Shell):
        def answer(self, line):
            if line == "slow":
                raise KeyboardInterrupt
            return super().answer(line)

    out = io.StringIO()
    answer = PlainLines(lambda shell: iter(["slow", "exit"]), out).converse(Interrupted(COMMANDS, None))
    assert isinstance(answer, Leave) and "(interrupted)" in out.getvalue()


def test_commands_of_a_script_end_at_the_first_that_fails():
    out = io.StringIO()
    assert run_commands(Shell(COMMANDS, None), ["ver", "nonsense", "help"], out) == 1
    assert "no command 'nonsense'" in out.getvalue() and "The shell" not in out.getvalue()


@pytest.mark.parametrize("name", [None, *UIS])
def test_without_a_terminal_lines_are_plain(name):
    assert isinstance(choose_ui(name, io.StringIO(), io.StringIO()), PlainLines)


def test_an_unknown_user_interface_is_refused():
    with pytest.raises(UsageError, match="choose one of full, plain"):
        choose_ui("curses", io.StringIO(), io.StringIO())


def test_a_thread_and_a_running_event_loop_have_plain_lines(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    chosen = []

    async def choose() -> None:
        chosen.append(choose_ui("full", Tty(), Tty()))

    asyncio.run(choose())
    thread = threading.Thread(target=lambda: chosen.append(choose_ui(None, Tty(), Tty())))
    thread.start()
    thread.join()
    assert [type(one) for one in chosen] == [PlainLines, PlainLines]
    assert "in which no event loop of asyncio runs" in capsys.readouterr().err
    assert not isinstance(choose_ui(None, Tty(), Tty()), PlainLines)


def test_without_textual_lines_are_plain_and_what_to_install_is_said_once(monkeypatch, capsys):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    chosen = [choose_ui(None, Tty(), Tty()) for _ in range(2)]
    assert [type(one) for one in chosen] == [PlainLines, PlainLines]
    assert capsys.readouterr().err.count("pip install 'tb-debugger-plugin[shell]'") == 1


def test_a_program_without_input_goes_on(monkeypatch, capsys, tmp_path):
    closed = io.StringIO()
    closed.close()
    for stdin in (None, closed, open(tmp_path / "not_readable", "a")):
        monkeypatch.setattr(sys, "stdin", stdin)
        shell = Shell(COMMANDS, None, call=Call(1, "step()", False))
        assert isinstance(converse(shell, Screen([plain("stopped")])), Detach)
        assert "stopped" in capsys.readouterr().out
        if stdin is not None:
            stdin.close()


def test_the_first_answer_says_what_is_at_hand():
    assert first_line(Shell(COMMANDS, None, call=Call(1, "f()", True))) == "lt"
    assert first_line(Shell(COMMANDS, None, call=Call(1, "f()", True, passed_filter="has_inf_or_nan"))) == (
        "lt -f has_inf_or_nan"
    )
