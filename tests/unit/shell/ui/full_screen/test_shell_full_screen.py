"""`shell/ui/full_screen/app.py`: keys, links, searches and positions, on a screen in memory."""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial

import pytest
from rich.segment import Segment

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.shell.commands.table import COMMANDS
from tb_debugger_plugin.shell.program import Call, Detach, Leave
from tb_debugger_plugin.shell.screen import Mood, Part, Places, Screen, link, plain
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.ui.full_screen.app import ShellApp
from tb_debugger_plugin.shell.ui.full_screen.bars import Bar
from tb_debugger_plugin.shell.ui.full_screen.strips import MOODS
from tb_debugger_plugin.shell.ui.history import History
from tests.support.events import values_program
from tests.support.shells import NumberedLines

_NAMES = {" ": "space", "/": "slash", "_": "underscore", "-": "minus", "@": "at", ",": "comma", ":": "colon"}
_NAMES |= {"(": "left_parenthesis", "[": "left_square_bracket", "]": "right_square_bracket"}
_MILLIONS = 10_000_000


class Answering(Shell):
    """A shell that answers some lines with screens of the test."""

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.screens: dict[str, Screen] = {}
        self.go_on = threading.Event()

    def answer(self, line):
        if line == "slow":
            assert self.go_on.wait(60)
            return Screen([plain("slow answer")])
        return self.screens.get(line) or super().answer(line)


class Seen:
    """The screen of a test, and what is on it."""

    def __init__(self, app: ShellApp, pilot) -> None:
        self.app = app
        self.pilot = pilot

    async def type(self, text: str) -> None:
        """Types letters."""
        await self.press(*(_NAMES.get(letter, letter) for letter in text))

    async def press(self, *keys: str) -> None:
        """Presses keys, and waits until what they began is done."""
        await self.pilot.press(*keys)
        await self.settle()

    async def run(self, line: str) -> None:
        """Types a line and Enter."""
        await self.type(line)
        await self.press("enter")

    async def settle(self) -> None:
        await self.pilot.pause()
        until = time.monotonic() + 60
        while self.app.jobs.is_busy and not self.is_blocked:
            assert time.monotonic() < until
            await asyncio.sleep(0.01)
        await self.pilot.pause()

    @property
    def is_blocked(self) -> bool:
        return "slow" in self.app.jobs.text and not self.app.shell.go_on.is_set()

    @property
    def lines(self) -> list[str]:
        """What is painted, from the top."""
        return ["".join(segment.text for segment in strip).rstrip() for strip in self.strips]

    @property
    def strips(self) -> list[Iterable[Segment]]:
        """The same with its styles."""
        return self.app.screen._compositor.render_strips()

    @property
    def title_colour(self) -> object:
        """The background of the title."""
        segment = next(iter(self.app.query_one("#title", Bar).render_line(0)))
        return segment.style and segment.style.bgcolor

    @property
    def shell(self) -> Answering:
        return self.app.shell

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def output(self) -> list[str]:
        """What is painted between the menu and the prompt."""
        prompt = next(at for at, line in enumerate(self.lines) if line.startswith("tbdbg>"))
        return [line[: self.app.output.window.width].rstrip() for line in self.lines[2:prompt]]

    @property
    def status(self) -> str:
        return self.lines[-1].strip()

    @property
    def prompt(self) -> str:
        return self.app.prompt.value


@pytest.fixture(scope="module")
def logdir(tmp_path_factory):
    logdir = tmp_path_factory.mktemp("logdir")
    values_program(logdir).close()
    return location(str(logdir))


@pytest.fixture
def shell(logdir):
    with Answering(COMMANDS, logdir) as shell:
        shell.has_screen = True
        yield shell


def play(
    shell: Shell, scenario: Callable[[Seen], Awaitable[None]], first: Screen | str = "", **window: object
) -> object:
    """Runs a scenario; returns how the shell was left."""
    app = ShellApp(shell, first, History(None))

    async def run() -> None:
        async with app.run_test(**{"size": (80, 24), **window}) as pilot:
            seen = Seen(app, pilot)
            await seen.settle()
            await scenario(seen)

    asyncio.run(run())
    return app.return_value


def on_screen(first: Screen | str = "") -> Callable[[Callable[..., Awaitable[None]]], Callable[..., None]]:
    """Makes a test of a scenario, which gets the screen as its first argument, and fixtures by name."""

    def test_of(scenario: Callable[..., Awaitable[None]]) -> Callable[..., None]:
        def test(shell: Shell, **fixtures: object) -> None:
            play(shell, partial(scenario, **fixtures), first)

        seen, *others = inspect.signature(scenario).parameters.values()
        test.__signature__ = inspect.Signature([seen.replace(name="shell"), *others])
        return test

    return test_of


@on_screen()
async def test_an_answer_is_shown_with_its_command_in_the_title(seen: Seen) -> None:
    await seen.run("lt -f has_inf_or_nan")
    assert "lt -f has_inf_or_nan" in seen.lines[0]
    assert seen.output[0] == '3 dumped tensor(s) passing filter "has_inf_or_nan":'
    assert seen.prompt == ""


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (20, 5)])
def test_all_parts_have_their_place_in_small_windows(shell, size):
    async def scenario(seen: Seen) -> None:
        await seen.run("help")
        assert len(seen.lines) == size[1]
        assert seen.lines[1].startswith("<-- --> | help"[: size[0]])
        assert seen.output[0] == "The program" and len(seen.output) == size[1] - 4
        assert seen.status.startswith("Scroll")

    play(shell, scenario, size=size)


@on_screen(Screen(NumberedLines(1000)))
async def test_a_window_that_changes_its_size_is_drawn_again(seen: Seen) -> None:
    await seen.pilot.resize_terminal(50, 12)
    await seen.settle()
    assert len(seen.lines) == 12 and len(seen.output) == 8
    assert seen.output[0] == "line 0"


@on_screen(Screen(NumberedLines(_MILLIONS)))
async def test_ten_million_lines_are_scrolled_by_making_those_in_the_window(seen: Seen) -> None:
    await seen.press("end")
    assert seen.output[-1] == f"line {_MILLIONS - 1}" and "Scroll: 100.00%" in seen.status
    await seen.press("pageup", "ctrl+up")
    assert seen.output[-1] == f"line {_MILLIONS - 1 - 19 - 1}"
    await seen.press("home", "pagedown", "ctrl+down")
    assert seen.output[0] == "line 20" and seen.output[-1] == "line 39"
    assert seen.app.output.page.screen.lines.made < 200


@on_screen(Screen(NumberedLines(100)))
async def test_screens_come_back_with_their_positions(seen: Seen) -> None:
    await seen.press("pagedown")
    await seen.run("ver")
    assert "numpy" in seen.text
    await seen.press("alt+left")
    assert seen.output[0] == "line 19"
    await seen.press("ctrl+right")
    assert "numpy" in seen.text
    await seen.run("prev")
    assert seen.output[0] == "line 19"
    await seen.press("ctrl+left")
    assert "There is no screen before this one." in seen.status


@on_screen(Screen(NumberedLines(100)))
async def test_arrows_of_the_menu_are_clicked(seen: Seen) -> None:
    await seen.run("ver")
    await seen.pilot.click("#menu", offset=(1, 0))
    await seen.settle()
    assert seen.output[0] == "line 0"
    await seen.pilot.click("#menu", offset=(5, 0))
    await seen.settle()
    assert "numpy" in seen.text


@on_screen(Screen([plain("nothing"), (Part("é日 "), link("version", "ver"), Part(" "), link("lt", "lt"))]))
async def test_a_link_is_clicked_and_reached_by_keys(seen: Seen) -> None:
    await seen.pilot.click("Output", offset=(5, 1))
    await seen.settle()
    assert "numpy" in seen.text
    await seen.press("alt+left", "tab", "enter")
    assert "numpy" in seen.text
    await seen.press("alt+left", "tab", "right", "enter")
    assert "dumped tensor(s)" in seen.text
    await seen.press("alt+left", "shift+tab", "shift+tab", "enter")
    assert "numpy" in seen.text


@on_screen(Screen([(link("lt", "lt"),)]))
async def test_a_letter_ends_the_choice_of_links_and_nothing_typed_is_lost(seen: Seen) -> None:
    await seen.press("tab", *"ver", "enter")
    assert "numpy" in seen.text


@on_screen(Screen([*(plain(f"line {number}") for number in range(60)), (link("version", "ver"),)]))
async def test_links_far_below_are_reached(seen: Seen) -> None:
    await seen.press("tab")
    assert "version" in seen.output
    await seen.press("enter")
    assert "numpy" in seen.text


@on_screen(Screen(NumberedLines(10_000)))
async def test_a_search_scrolls_marks_and_goes_on(seen: Seen) -> None:
    await seen.run("/line .*77$")
    assert "line 77" in seen.output
    await seen.run("/")
    assert "line 177" in seen.output
    await seen.press("f3")
    assert "line 277" in seen.output
    await seen.run("N")
    assert "line 177" in seen.output
    await seen.run("/nothing like it")
    assert seen.status.startswith("Pattern not found: /nothing like it")
    await seen.run("/(")
    assert "no regular expression" in seen.status


@on_screen(Screen(NumberedLines(20)))
async def test_matches_are_highlighted_until_escape(seen: Seen) -> None:
    def marked() -> list[str]:
        segments = [segment for strip in seen.strips for segment in strip if segment.style is not None]
        return [one.text for one in segments if one.style.bgcolor and one.style.bgcolor.name == "yellow"]

    await seen.run("/ine 1[0-2]")
    assert marked() == ["ine 10", "ine 11", "ine 12"]
    await seen.press("escape")
    assert marked() == []


@on_screen()
async def test_an_element_is_scrolled_to_and_the_status_line_says_where_one_is(seen: Seen) -> None:
    def line_of(indices: tuple[int, ...]) -> int:
        if indices[0] >= 500:
            raise UsageError("There is no element [600]; the shape is (500,).")
        return indices[0] + 1

    places = Places(
        line_of, lambda line: (line - 1,) if line else None, lambda indices: 300 < indices[0] < 400
    )
    seen.shell.screens["array @[300]"] = seen.shell.screens["array"] = Screen(
        NumberedLines(501), places=places
    )
    await seen.run("array")
    assert "[0] to [18]" in seen.status
    await seen.run("@200")
    assert seen.output[0] == "line 201" and "[200] to [219]" in seen.status
    await seen.run("array @[300]")
    assert seen.output[0] == "line 301"
    await seen.run("@350")
    assert "[350] is left out here" in seen.status
    await seen.run("@300")
    await seen.run("@600")
    assert "There is no element [600]" in seen.status and seen.output[0] == "line 301"
    await seen.run("ver")
    await seen.run("@3")
    assert "This screen shows no array" in seen.status


@on_screen()
async def test_tab_completes_and_shows_candidates_above_the_prompt(seen: Seen) -> None:
    await seen.type("ver")
    await seen.press("tab")
    assert seen.prompt == "ver" and re.search("ver +version", seen.lines[-3])
    await seen.press("ctrl+c")
    assert seen.prompt == "" and "version" not in seen.lines[-3]
    await seen.type("lt -f h")
    await seen.press("tab")
    assert seen.prompt == "lt -f has_inf_or_nan "


@on_screen()
async def test_up_and_down_find_what_was_typed(seen: Seen) -> None:
    history = seen.app._history
    for line in ("lt -f has_inf_or_nan", "ver"):
        history.add(line)
    await seen.type("l")
    await seen.press("up")
    assert seen.prompt == "lt -f has_inf_or_nan"
    await seen.press("down", "ctrl+u", "up")
    assert seen.prompt == "ver"
    await seen.press("enter", "up")
    assert seen.prompt == "ver" and list(history.lines()) == ["lt -f has_inf_or_nan", "ver"]


@on_screen()
async def test_a_line_is_edited_where_the_cursor_is(seen: Seen) -> None:
    await seen.type("lt x")
    await seen.press("home", "delete", "p", "end", "backspace", "y", "left", "ctrl+d", "z")
    assert seen.prompt == "pt z"
    await seen.press("ctrl+w", "ctrl+a", "ctrl+k")
    assert seen.prompt == ""


@on_screen()
async def test_the_mouse_is_given_to_the_terminal(seen: Seen) -> None:
    assert "Mouse: ON" in seen.status
    await seen.run("mouse")
    assert "Mouse: OFF" in seen.status
    await seen.run("m on")
    assert "Mouse: ON" in seen.status
    await seen.run("mouse maybe")
    assert "Write `mouse on` or `mouse off`" in seen.status


def test_the_setting_says_whether_the_mouse_is_taken_at_first(shell):
    async def scenario(seen: Seen) -> None:
        assert "Mouse: OFF" in seen.status

    shell.settings.set("mouse_mode", "off")
    play(shell, scenario)


@on_screen(Screen(NumberedLines(100)))
async def test_a_long_command_leaves_the_screen_alive_and_what_is_typed_waits(seen: Seen) -> None:
    await seen.run("slow")
    await seen.press("pagedown")
    assert seen.status.startswith("… slow (") and seen.output[0] == "line 19"
    await seen.press("f1")
    await seen.run("ver")
    assert "numpy" not in seen.text and "The program" not in seen.text
    seen.shell.go_on.set()
    await seen.settle()
    assert "numpy" in seen.text
    await seen.press("alt+left")
    assert seen.output[0] == "The program"
    await seen.press("alt+left")
    assert seen.output[0] == "slow answer"


@on_screen()
async def test_ctrl_c_leaves_a_long_command_aside(seen: Seen) -> None:
    await seen.run("slow")
    await seen.press("ctrl+c")
    assert seen.status.startswith("The command was left aside.")
    seen.shell.go_on.set()
    await seen.run("ver")
    assert "numpy" in seen.text and "slow answer" not in seen.text


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (("ctrl+d",), Detach()),
        (("ctrl+c", "ctrl+c"), Leave()),
        (("a", "ctrl+c", "ctrl+c", "ctrl+c"), Leave()),
        (("q", "u", "i", "t", "enter"), Leave()),
        (("ctrl+q",), Leave()),
    ],
    ids=str,
)
def test_the_shell_is_left(shell, keys, answer):
    async def scenario(seen: Seen) -> None:
        await seen.pilot.press(*keys)
        await seen.settle()

    left = play(shell, scenario)
    assert left == answer and type(left) is type(answer)


@pytest.mark.parametrize("mood", [Mood.BEFORE_CALL, Mood.AFTER_CALL, Mood.ERROR])
def test_the_title_has_the_colour_of_what_happened(shell, mood):
    error = ValueError("x") if mood is Mood.ERROR else None
    shell.call = Call(3, "step()", mood is not Mood.BEFORE_CALL, error=error)

    async def scenario(seen: Seen) -> None:
        assert seen.title_colour == MOODS[mood].bgcolor
        assert "call 3 of step()" in seen.lines[0]

    play(shell, scenario)


@on_screen()
async def test_an_error_is_red_and_the_next_answer_is_not(seen: Seen) -> None:
    await seen.run("nonsense")
    assert seen.title_colour == MOODS[Mood.ERROR].bgcolor
    assert seen.output[0].startswith("ERROR: There is no command 'nonsense'")
    await seen.run("ver")
    assert seen.title_colour != MOODS[Mood.ERROR].bgcolor


@on_screen(Screen([plain("a\x1b[2J\nb [red]c[/red] [@click=app.bell]d[/]")], title="t\x1b]0;x\x07[b]"))
async def test_texts_of_a_recording_neither_move_the_cursor_nor_are_markup(seen: Seen) -> None:
    assert seen.output[0] == "a\\x1b[2J\\nb [red]c[/red] [@click=app.bell]d[/]"
    assert "t\\x1b]0;x\\x07[b]" in seen.lines[0]


@on_screen(Screen([plain(f"line {number}") for number in range(100)], begin=40))
async def test_a_screen_opens_at_the_line_that_it_names(seen: Seen) -> None:
    assert seen.output[0] == "line 40"
    await seen.press("home")
    assert seen.output[0] == "line 0"


@on_screen(Screen([plain("x" * 79 + "y" * 39)]))
async def test_wide_lines_are_scrolled_sideways(seen: Seen) -> None:
    await seen.press("shift+right")
    assert seen.output[0] == "x" * 40 + "y" * 39
    await seen.press("shift+left")
    assert seen.output[0] == "x" * 79


@on_screen("slow")
async def test_the_first_answer_is_made_while_the_screen_is_there(seen: Seen) -> None:
    assert seen.status.startswith("… slow (") and seen.lines[1].startswith("<-- --> | help")
    seen.shell.go_on.set()
    await seen.settle()
    assert seen.output[0] == "slow answer"


@on_screen()
async def test_a_failure_of_the_screen_itself_is_one_line(seen: Seen, monkeypatch) -> None:
    monkeypatch.setattr(seen.shell, "commands", lambda: 1 / 0)
    await seen.type("l")
    await seen.press("tab")
    assert "division by zero" in seen.status and seen.prompt == "l"


@on_screen()
async def test_help_names_the_commands_of_the_screen(seen: Seen) -> None:
    await seen.press("f1")
    await seen.press("end")
    assert all(name in seen.text for name in ("prev, p", "next, n", "mouse, m", "/REGEX", "@[3, 4]"))
