"""`shell/ui/full_screen`: pictures of the full screen over a program, for dark and light terminals."""

from __future__ import annotations

import asyncio
import io
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, SVG_EXPORT_THEME

from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.shell.ui.full_screen.app import ShellApp
from tb_debugger_plugin.shell.ui.full_screen.keys import complete_line
from tb_debugger_plugin.shell.ui.history import History
from tests.support.shells import shell_over

pytestmark = [pytest.mark.browser, pytest.mark.tensorflow]

_SIZE = (100, 24)
_THEMES = {"dark": SVG_EXPORT_THEME, "light": DEFAULT_TERMINAL_THEME}
#: The pictures use the fonts of this machine: nothing is loaded from the net.
_FONT = re.compile(r"@font-face \{.*?\}", re.DOTALL)


async def _picture(shell: Shell, theme: str) -> str:
    """What is on the screen after a list and a search, as SVG."""
    app = ShellApp(shell, "help", History(None))
    async with app.run_test(size=_SIZE) as pilot:
        while app.jobs.is_busy:
            await asyncio.sleep(0.01)
        for line in ("lt -f has_inf_or_nan", "/Log"):
            app.run_line(line)
            while app.jobs.is_busy:
                await asyncio.sleep(0.01)
            await pilot.pause()
        app.prompt.set_line("lt -")
        complete_line(app)
        await pilot.pause()
        out = Console(
            width=_SIZE[0],
            height=_SIZE[1],
            file=io.StringIO(),
            force_terminal=True,
            color_system="truecolor",
            record=True,
            legacy_windows=False,
        )
        out.print(app.screen._compositor.render_update(full=True))
        return out.export_svg(title="tbdbg shell", theme=_THEMES[theme])


@pytest.mark.parametrize("theme", _THEMES)
def test_a_terminal_shows_the_bad_tensors_of_a_program(browser, example_logdir, keep_screenshot, theme):
    with shell_over(example_logdir) as shell, ThreadPoolExecutor(1) as thread:
        shell.has_screen = True
        # The browser's own event loop runs in this thread.
        svg = thread.submit(asyncio.run, _picture(shell, theme)).result()
    page = browser.new_page(viewport={"width": 1240, "height": 670})
    try:
        page.set_content(f'<body style="margin:0">{_FONT.sub("", svg)}</body>')
        text = (page.text_content("svg") or "").replace("\xa0", " ")
        assert 'passing filter "has_inf_or_nan"' in text and "--tensor_filter" in text
        keep_screenshot(page, f"shell-{theme}")
    finally:
        page.close()
