"""Where the widgets are, and that their colours are those of the terminal."""

from __future__ import annotations

from typing import Final

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
