"""The application of the full screen: widgets, keys, and what happens to a line that is typed or clicked."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import ClassVar, Final

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.driver import Driver

from tb_debugger_plugin.errors import user_message
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.shell import words
from tb_debugger_plugin.shell.command import Answer
from tb_debugger_plugin.shell.program import Detach, Leave, Resume
from tb_debugger_plugin.shell.screen import Mood, Part, Screen
from tb_debugger_plugin.shell.shell import Shell, error_screen
from tb_debugger_plugin.shell.ui.full_screen.actions import ACTIONS, action_of
from tb_debugger_plugin.shell.ui.full_screen.bars import Bar, in_columns
from tb_debugger_plugin.shell.ui.full_screen.jobs import Jobs
from tb_debugger_plugin.shell.ui.full_screen.keys import press
from tb_debugger_plugin.shell.ui.full_screen.output import Chosen, Output
from tb_debugger_plugin.shell.ui.full_screen.pages import Page, Pages
from tb_debugger_plugin.shell.ui.full_screen.prompt import Prompt
from tb_debugger_plugin.shell.ui.full_screen.status import TYPED, menu_line, status_text, title_line
from tb_debugger_plugin.shell.ui.full_screen.strips import MOODS
from tb_debugger_plugin.shell.ui.history import History

# The window of the terminal, as large as it is now.
#
# Textual believes the variables COLUMNS and LINES, which a shell may have exported, and which stay as they
# are when the window changes.


def at_window(driver: type[Driver]) -> type[Driver]:
    """Return a driver that asks the terminal for its size; the same one if it does not ask for sizes.

    Args:
      driver: The driver that Textual chose.
    """
    if not hasattr(driver, "_get_terminal_size"):
        return driver

    def _get_terminal_size(self: Driver) -> tuple[int, int]:
        columns, rows = _window()
        return (columns, rows) if columns and rows else driver._get_terminal_size(self)

    return type(driver.__name__, (driver,), {"_get_terminal_size": _get_terminal_size})


def _window() -> tuple[int, int]:
    """Return the size of the window; zeros if the terminal has none."""
    try:
        return os.get_terminal_size(-1 if sys.__stdout__ is None else sys.__stdout__.fileno())
    except (ValueError, OSError):
        return 0, 0


CSS: Final = """
Screen, Output, Bar, Prompt { background: ansi_default; color: ansi_default; }
Bar { height: 1; }
#candidates { height: auto; display: none; }
Output {
    height: 1fr;
    overflow-x: hidden;
    overflow-y: scroll;
    scrollbar-size-vertical: 1;
    scrollbar-color: ansi_blue;
    scrollbar-color-hover: ansi_bright_blue;
    scrollbar-color-active: ansi_bright_blue;
    scrollbar-background: ansi_default;
    scrollbar-background-hover: ansi_default;
    scrollbar-background-active: ansi_default;
}
#line { height: 1; }
Prompt, Prompt:focus { border: none; height: 1; padding: 0; width: 1fr; background-tint: transparent 0%; }
#sign { width: 7; }
"""


#: Lines of candidates above the prompt, in a window that has room for them.
_CANDIDATES: Final = 4
_TICK_SECONDS: Final = 0.25


class ShellApp(App[Resume | Leave | Detach]):
    """The full screen.

    Args:
      shell: Answers the lines.
      first: What is shown at the start: a screen, or the answer of a command line.
      history: The lines that were typed before.
    """

    ENABLE_COMMAND_PALETTE = False
    CSS = CSS
    BINDINGS: ClassVar[list[BindingType]] = [
        # Textual's own would leave without an answer.
        Binding("ctrl+q", "leave", show=False, priority=True),
    ]

    def __init__(self, shell: Shell, first: Screen | str, history: History) -> None:
        super().__init__(ansi_color=True)
        self.shell = shell
        self.pages = Pages()
        self.printed: list[tuple[bool, str]] = []
        self.message = ""
        self._mouse_mode = self.mouse_is_on = bool(shell.settings["mouse_mode"])
        self._first = first
        self._history = history
        self.jobs: Jobs = Jobs(self.run_line, self.call_later, self.draw_status)
        self._interrupts = 0
        self._is_at_terminal = _stdin_is_terminal()

    def get_driver_class(self) -> type[Driver]:
        """Return what draws on the terminal and reads keys."""
        return at_window(super().get_driver_class())

    def compose(self) -> ComposeResult:
        """Yield the widgets."""
        yield Bar(id="title")
        yield Bar(id="menu")
        yield Output()
        yield Bar(id="candidates")
        with Horizontal(id="line"):
            yield Bar(id="sign")
            yield Prompt(self._history, lambda key, letter: press(self, key, letter))
        yield Bar(id="status")

    def on_mount(self) -> None:
        """Show the first screen."""
        self.app_resume_signal.subscribe(self, lambda app: self.draw_all())
        self.query_one("#sign", Bar).set_lines([(Part("tbdbg> "),)])
        self.prompt.focus()
        self.take_mouse(self.mouse_is_on)
        self.set_interval(_TICK_SECONDS, self._tick)
        self.draw_bars()
        if isinstance(self._first, Screen):
            self._show(Page.of(self._first, ""))
        else:
            self.run_line(self._first)

    # The widgets.

    @property
    def output(self) -> Output:
        """The widget of the page."""
        return self.query_one(Output)

    @property
    def prompt(self) -> Prompt:
        """The widget of the line that is typed."""
        return self.query_one(Prompt)

    def _print(self, text: str, stderr: bool = False) -> None:
        """Keep what the program prints until the screen is closed.

        Textual calls this for each print. Its own makes messages of them, and loses those of the last moment.
        """
        self.printed.append((stderr, text))

    def on_resize(self) -> None:
        """Draw the bars for another window."""
        self.call_after_refresh(self.draw_bars)

    def on_moved(self) -> None:
        """Say what is in the window now."""
        self.draw_status()

    def draw_bars(self) -> None:
        """Draw title, menu and status."""
        page, width = self.pages.current, self.size.width
        title, mood = title_line(self.shell, page, width)
        self.query_one("#title", Bar).set_lines([title], MOODS[mood])
        can_back, can_forward = self.pages.can_move(-1), self.pages.can_move(1)
        menu = menu_line(self.shell, width, can_back=can_back, can_forward=can_forward)
        self.query_one("#menu", Bar).set_lines([menu])
        self.draw_status()

    def draw_status(self) -> None:
        """Draw the status line."""
        output = self.output
        text = status_text(
            self.shell,
            self.pages.current,
            message=printable(self.jobs.text) or self.message,
            top=output.scroll_offset.y,
            height=output.window.height,
            width=self.size.width,
            mouse_is_on=self.mouse_is_on,
        )
        self.query_one("#status", Bar).set_lines([(Part(text),)], MOODS[Mood.ANSWER])

    @property
    def is_searching(self) -> bool:
        """Whether matches of a search are marked."""
        return self.pages.current is not None and self.pages.current.search is not None

    def say(self, message: str) -> None:
        """Show a message in the status line, until the next line is run."""
        self.message = printable(message)
        self.draw_status()

    def _tick(self) -> None:
        if self.jobs.is_busy:
            self.draw_status()
        if self._is_at_terminal and not _stdin_is_terminal():
            self.exit(Detach())

    # Lines.

    def submit(self) -> None:
        """Run the line that is typed, after those before it."""
        line = self.prompt.take_line()
        self._history.add(line)
        self.jobs.add(line)

    def on_chosen(self, event: Chosen) -> None:
        """Run the line of a link, or type it if it needs an argument."""
        self.output.forget_link()
        if event.line.startswith(TYPED):
            self.prompt.set_line(event.line[len(TYPED) :])
        else:
            self.jobs.add(event.line)

    def run_line(self, line: str) -> None:
        """Run a command line."""
        self.message, self._interrupts = "", 0
        self.hide_candidates()
        action = action_of(line, self.pages.current)
        if action is not None:
            self.guard(lambda: ACTIONS[action.name](self, action.argument))
        elif line.strip():
            self.jobs.start(
                line, lambda job: self.shell.answer(line), lambda answer: self._take(line, answer)
            )
        self.draw_status()

    def _take(self, line: str, answer: Answer | None) -> None:
        if self._mouse_mode != self.shell.settings["mouse_mode"]:
            self._mouse_mode = bool(self.shell.settings["mouse_mode"])
            self.take_mouse(self._mouse_mode)
        if isinstance(answer, Screen):
            self._show(Page.of(answer, line))
            self.guard(lambda: self._find_element(line))
        elif answer is not None:
            self.exit(answer)
        self.draw_bars()

    def _find_element(self, line: str) -> None:
        page = self.pages.current
        if page is None or page.screen.is_error:
            return
        element = words.parse(line).element
        if element is not None:
            ACTIONS["@"](self, "@" + ",".join(map(str, element)))

    def guard(self, do: Callable[[], object]) -> None:
        """Do something; if it fails, say so."""
        try:
            do()
        except Exception as error:  # such as an element that is not there: the screen stays
            self.say(words_of(error))

    def _show(self, page: Page) -> None:
        self.pages.add(page)
        self.output.show(page)
        self.draw_bars()

    # Candidates.

    def show_candidates(self, candidates: Sequence[str], total: int) -> None:
        """Show what the line may become, above it.

        Args:
          candidates: The first of them.
          total: How many there are.
        """
        bar = self.query_one("#candidates", Bar)
        height = max(1, min(_CANDIDATES, self.size.height // 5))
        lines = in_columns([printable(one) for one in candidates], self.size.width, height, total)
        bar.display = bool(candidates)
        bar.styles.height = max(1, len(lines))
        bar.set_lines(lines)

    def hide_candidates(self) -> None:
        """Hide them."""
        self.query_one("#candidates", Bar).display = False

    # Keys.

    def forget_marks(self) -> None:
        """Hide the candidates and the matches of a search."""
        self.hide_candidates()
        page = self.pages.current
        if page is not None:
            page.search, page.marked = None, -1
            self.output.refresh()
        self.say("")

    def interrupt(self) -> None:
        """Clear the line, or leave aside the command that is running, or leave."""
        self.hide_candidates()
        if self.prompt.take_line():
            self._interrupts = 0
        elif self.jobs.drop():
            self.say("The command was left aside.")
        else:
            self._interrupts += 1
            self.say("Ctrl-C again leaves the shell.")
        if self._interrupts > 1:
            self.leave()

    def detach(self) -> None:
        """Leave; a program goes on."""
        self.exit(Detach())

    def leave(self) -> None:
        """Leave; a program ends."""
        self.exit(Leave())

    action_leave = leave

    def draw_all(self) -> None:
        """Draw everything again, such as after another program has written on the terminal."""
        self.refresh(repaint=True, layout=True)

    # The mouse.

    def take_mouse(self, is_on: bool) -> None:
        """Take the mouse, or leave it to the terminal, which can then select text."""
        self.mouse_is_on = is_on
        name = "_enable_mouse_support" if is_on else "_disable_mouse_support"
        switch = getattr(self._driver, name, None)
        if switch is not None:
            switch()


def words_of(error: Exception) -> str:
    """Return what an error says, in one line."""
    screen = error_screen(error)
    return "".join(part.text for line in screen.lines for part in line) or user_message(error)


def _stdin_is_terminal() -> bool:
    try:
        return sys.__stdin__ is not None and os.isatty(sys.__stdin__.fileno())
    except (OSError, ValueError):
        return False
