"""`docs/guide/keys.md`: the page has each key that the page in the browser and the shell take."""

from __future__ import annotations

import re

from tb_debugger_plugin.shell.ui.full_screen.keys import EMPTY_LINE_KEYS, KEYS, LINK_KEYS
from tests.support.checkout import ROOT

_BROWSER, _SHELL = (ROOT / "docs" / "guide" / "keys.md").read_text("utf-8").split("## In the shell")
_VIEWS = ROOT / "frontend" / "src" / "views"
#: How a file of the page takes a key: compared with one, or as the name of a row of a table.
_TAKEN = (
    r'event\.key(?:\.toLowerCase\(\))? === "(.+?)"',
    r': "(?:Shift\\+)?(F[0-9]+)",',
    r"\b(Arrow[A-Z][a-z]+|Page(?:Up|Down)|Home|End|Escape|Enter)\b(?=:|\")",
    r"^ +([a-z]): \((?:store)?\) =>",
    r'"([-+=])": ',
)
_ARROWS = {"ArrowUp": "↑", "ArrowDown": "↓", "ArrowLeft": "←", "ArrowRight": "→"}


def _keys_of_the_page() -> set[str]:
    files = [*_VIEWS.rglob("*.ts"), *_VIEWS.rglob("*.tsx"), *(ROOT / "frontend/src/base").rglob("*.ts")]
    sources = [text for file in files if "key" in (text := file.read_text("utf-8"))]
    return {key for text in sources for one in _TAKEN for key in re.findall(one, text, re.MULTILINE)}


def _is_named(key: str, page: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(key)}(?![\w-])", page, re.IGNORECASE) is not None


def test_each_key_of_the_page_is_named() -> None:
    keys = {_ARROWS.get(key, key) for key in _keys_of_the_page()} - {"Tab"}
    assert {"↑", "F9", "/", "k", "n", "b", "Escape"} <= keys
    assert sorted(key for key in keys if f"`{key}`" not in _BROWSER and not _is_named(key, _BROWSER)) == []


def test_each_key_of_the_shell_is_named() -> None:
    names = {*KEYS, *EMPTY_LINE_KEYS, *LINK_KEYS} - {"upper_n"}
    assert sorted(name for name in names if not _is_named(name.replace("+", "-"), _SHELL)) == []
