"""Splits a command line of the shell into words.

A word may hold spaces inside quotes, brackets and backticks: ``pt Log:0[:, 3]`` has two words. A ``>`` sends
the answer to a file, and ``@[3, 4]`` at the end scrolls to an element.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from tb_debugger_plugin.errors import UsageError

_CLOSING: Final = {"[": "]", "(": ")", "{": "}"}
_QUOTES: Final = "'\"`"
_ELEMENT: Final = re.compile(r"@\s*(\[\s*\d+(?:\s*,\s*\d+)*\s*\]|\d+(?:\s*,\s*\d+)*)$")


class CommandLine(NamedTuple):
    """A command line.

    Attributes:
      words: The name of the command and its arguments.
      file: The file that takes the answer; None for the screen.
      element: The element to scroll to; None for the first line.
    """

    words: list[str]
    file: str | None = None
    element: tuple[int, ...] | None = None


def parse(line: str) -> CommandLine:
    """Parse a command line.

    Raises:
      UsageError: A quote or a bracket is not closed, or there is not one file after ``>``.
    """
    words, file = _split(line.strip())
    element = None
    if len(words) > 1 and words[-1].startswith("@"):
        element = parse_element(words.pop())
    return CommandLine(words, file, element)


def parse_element(text: str) -> tuple[int, ...]:
    """Return the indices of ``@[3, 4]`` or ``@3,4``.

    Raises:
      UsageError: The text has another form.
    """
    match = _ELEMENT.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"{text} is no element: write @[3, 4], or @3,4.")
    return tuple(int(number) for number in match[1].strip("[] ").split(","))


def _split(line: str) -> tuple[list[str], str | None]:
    words: list[str] = []
    at = 0
    while line[at:].strip():
        word, at = _word(line, at)
        if word == ">":
            file = [] if not line[at:].strip() else _split(line[at:])[0]
            if len(file) != 1:
                raise UsageError("Give the name of one file after >.")
            return words, file[0]
        words.append(word)
    return words, None


def _word(line: str, begin: int) -> tuple[str, int]:
    """Return the next word from a position on, without its outer quotes, and where it ends."""
    begin += len(line[begin:]) - len(line[begin:].lstrip())
    if line[begin] == ">":
        return ">", begin + 1
    letters: list[str] = []
    open_brackets: list[str] = []
    at = begin
    while at < len(line):
        letter = line[at]
        if letter in _QUOTES:
            end = line.find(letter, at + 1)
            if end < 0:
                raise UsageError(f"A {letter} is not closed.")
            # Backticks name tensors in expressions, so they stay; so do quotes inside brackets.
            keep = letter == "`" or bool(open_brackets)
            letters.append(line[at : end + 1] if keep else line[at + 1 : end])
            at = end + 1
            continue
        if letter in _CLOSING:
            open_brackets.append(_CLOSING[letter])
        elif open_brackets and letter == open_brackets[-1]:
            open_brackets.pop()
        elif (letter.isspace() or letter == ">") and not open_brackets:
            break
        letters.append(letter)
        at += 1
    if open_brackets:
        raise UsageError(f"A {open_brackets[-1]} is missing.")
    return "".join(letters), at
