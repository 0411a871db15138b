"""The causes that the programs of the zoo declare, read from their comments.

A buggy program marks the line of its cause: `# cause: Log, inf` names the type of the op that makes the first
wrong value there, and what the value is. Of a gradient it is the forward line that counts. Types that depend
on how the program runs are separated by `|`. `# cause: came in, nan` marks a line that brings the bad value
into TensorFlow; several lines may. `# meant` marks lines that make a NaN or an infinity on purpose.

A comment of its own, `# mended: x = ...`, holds the line as a careful author mends it. It stands below the
line that it replaces; several below each other replace it together. The program with all of them is its
mended twin.
"""

from __future__ import annotations

import re
import tokenize
from pathlib import Path
from typing import NamedTuple

PROGRAMS = Path(__file__).with_name("programs")
_CAUSE = re.compile(r"# cause: (came in|\w+(?:\|\w+)*), (nan|inf|nan\|inf)")
_MEANT = re.compile(r"# meant\b")
_MENDED = re.compile(r"(?P<indent> *)# mended: (?P<code>.+)")


class Cause(NamedTuple):
    """The true cause of a bad value.

    Attributes:
      kinds: What the op makes, or what comes in: "nan" or "inf", or either.
      op_types: Type of the op, with its alternatives; empty if the value came in.
      lines: The line of the program; several if each of them brings the value in.
    """

    kinds: frozenset[str]
    op_types: frozenset[str]
    lines: frozenset[int]

    @property
    def came_in(self) -> bool:
        """Whether no op made the value."""
        return not self.op_types

    def __str__(self) -> str:
        what = "/".join(sorted(self.op_types)) or "came in"
        kinds = "/".join(sorted(self.kinds))
        return f"{what}, {kinds}, line {' or '.join(map(str, sorted(self.lines)))}"


class Program(NamedTuple):
    """A program of the zoo.

    Attributes:
      path: Its file.
      cause: The cause; None if the program is healthy.
      meant: The lines that make bad values on purpose.
    """

    path: Path
    cause: Cause | None
    meant: frozenset[int]

    @property
    def name(self) -> str:
        """Its file without folder and suffix."""
        return self.path.stem

    @property
    def text(self) -> str:
        """Its source."""
        with tokenize.open(self.path) as file:
            return file.read()

    @property
    def mended(self) -> str | None:
        """The source of its mended twin, with the same numbers of lines; None if it declares none."""
        lines = self.text.split("\n")
        mended = list(lines)
        for number, line in enumerate(lines):
            match = _MENDED.fullmatch(line)
            if match:
                mended[number] = match["indent"] + match["code"]
                if not _MENDED.fullmatch(lines[number - 1]):
                    mended[number - 1] = ""
        return None if mended == lines else "\n".join(mended)


def all_programs() -> list[Program]:
    """Read every program: buggy ones first, by name."""
    return [
        read_program(path) for kind in ("buggy", "healthy") for path in sorted((PROGRAMS / kind).glob("*.py"))
    ]


def read_program(path: Path) -> Program:
    """Read what a program declares.

    Raises:
      ValueError: A comment begins like a cause and is none, or the causes of several lines differ.
    """
    with tokenize.open(path) as file:
        comments = [
            (token.start[0], token.string)
            for token in tokenize.generate_tokens(file.readline)
            if token.type == tokenize.COMMENT
        ]
    causes = {line: _read_cause(path, line, text) for line, text in comments if text.startswith("# cause")}
    if len(set(causes.values())) > 1:
        raise ValueError(f"{path.name} declares different causes.")
    cause = None
    for kinds, op_types in causes.values():
        cause = Cause(kinds, op_types, frozenset(causes))
    return Program(path, cause, frozenset(line for line, text in comments if _MEANT.match(text)))


def _read_cause(path: Path, line: int, text: str) -> tuple[frozenset[str], frozenset[str]]:
    match = _CAUSE.fullmatch(text)
    if match is None:
        raise ValueError(f"{path.name}:{line} has no cause of the form '# cause: OpType, nan': {text}")
    types = frozenset() if match[1] == "came in" else frozenset(match[1].split("|"))
    return frozenset(match[2].split("|")), types
