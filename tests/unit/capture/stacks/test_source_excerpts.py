"""`capture/stacks/source_excerpts.py`: lines of library files are the lines that `linecache` reads."""

from __future__ import annotations

import linecache
from pathlib import Path

import pytest

from tb_debugger_plugin.capture.stacks.source_excerpts import LibraryLines


def lines_of_linecache(path: str) -> list[str]:
    return [line.rstrip("\r\n") for line in linecache.getlines(path)]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"one",
        b"one\n",
        b"one\n\nthree\n",
        b"one\r\ntwo\r\nthree",
        "# -*- coding: latin-1 -*-\nname = 'é'\n".encode("latin-1"),
        "\ufeffname = 'ü'\n# 漢字\n".encode(),
    ],
)
def test_any_range_of_lines_is_the_same(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "library.py"
    path.write_bytes(data)
    expected = lines_of_linecache(str(path))
    actual = LibraryLines()
    for first in range(1, 6):
        for last in range(first, 8):
            assert actual.between(str(path), first, last) == expected[first - 1 : last]


def test_a_missing_file_has_no_lines(tmp_path: Path) -> None:
    assert LibraryLines().between(str(tmp_path / "gone.py"), 1, 5) == []
    assert LibraryLines().between("<string>", 1, 5) == []


def test_python_keeps_nothing_and_what_is_forgotten_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "changing.py"
    path.write_text("old\n")
    lines = LibraryLines()
    assert lines.between(str(path), 1, 1) == ["old"]
    path.write_text("new\n")
    assert lines.between(str(path), 1, 1) == ["old"]
    lines.forget()
    assert lines.between(str(path), 1, 1) == ["new"]
    assert str(path) not in linecache.cache
