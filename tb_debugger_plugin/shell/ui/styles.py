"""The look of each style of a screen, in colours that dark and light terminals define themselves."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final, TextIO

from rich.color import ColorSystem
from rich.style import Style as RichStyle

from tb_debugger_plugin.shell.screen import Style

STYLES: Final = {
    Style.PLAIN: RichStyle(),
    Style.HEADING: RichStyle(bold=True),
    Style.MUTED: RichStyle(dim=True),
    Style.BAD: RichStyle(color="red", bold=True),
    Style.ERROR: RichStyle(color="red"),
    Style.HIGHLIGHT: RichStyle(color="black", bgcolor="yellow"),
}


def is_terminal(file: TextIO) -> bool:
    """Whether a file is a terminal; one that is closed is none."""
    return not file.closed and file.isatty()


def painter(out: TextIO) -> Callable[[str, Style], str]:
    """Return what gives a text its colours, if a file is a terminal that has some.

    Args:
      out: Where the text goes. `NO_COLOR` in the environment, and files, have no colours.
    """
    has_colours = is_terminal(out) and not os.environ.get("NO_COLOR") and "TERM" in os.environ
    if not has_colours or os.environ["TERM"] in ("dumb", "unknown", ""):
        return lambda text, style: text
    return lambda text, style: STYLES[style].render(text, color_system=ColorSystem.STANDARD)
