"""The causes that the programs of the zoo declare, read from their comments.

A buggy program marks the line of its cause: `# cause: Log, inf` names the type of the op that makes the first
wrong value there, and what the value is. Of a gradient it is the forward line that counts. Types that depend
on how the program runs are separated by `|`. `# cause: came in, nan` marks a line that brings the bad value
into TensorFlow; several lines may. `# meant` marks lines that make a NaN or an infinity on purpose.

A comment of its own, `# mended: x = ...`, holds the line as a careful author mends it. It stands below the
line that it replaces; several below each other replace it together. The program with all of them is its
mended twin.

The programs of `programs/loading` load data in several ways, and run several times: `# cause single, batch:
came in, bad` marks a line of two ways. Each runs with what is bad as NaN, as infinity, and as a NaN that the
program leaves out before it can do harm: then it is healthy, and these lines are meant.
"""

from __future__ import annotations

import re
import tokenize
from pathlib import Path
from typing import NamedTuple

PROGRAMS = Path(__file__).with_name("programs")
_CAUSE = re.compile(
    r"# cause(?: (?P<ways>\w+(?:, \w+)*))?:"
    r" (?P<types>came in|\w+(?:\|\w+)*), (?P<kinds>nan|inf|nan\|inf|bad)"
)
#: What the bad value of a program that loads data is; it is NaN, but left out, in the last one.
_BAD = ("nan", "inf", "filtered")
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
      arguments: What it is called with: of a program that loads data, the way, and what is bad.
    """

    path: Path
    cause: Cause | None
    meant: frozenset[int]
    arguments: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its file without folder and suffix, and its arguments."""
        return "_".join([self.path.stem, *self.arguments])

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


class _Mark(NamedTuple):
    """A comment that declares a cause.

    Attributes:
      line: Its line.
      ways: The ways of loading data that it is about; empty for the only one.
      kinds, op_types: As in :class:`Cause`; what is "bad" is what the program is called with.
    """

    line: int
    ways: tuple[str, ...]
    kinds: frozenset[str]
    op_types: frozenset[str]


def all_programs() -> list[Program]:
    """Read every program: buggy ones first, by name; those that load data last."""
    single = [
        read_program(path) for kind in ("buggy", "healthy") for path in sorted((PROGRAMS / kind).glob("*.py"))
    ]
    loading = [program for path in sorted((PROGRAMS / "loading").glob("*.py")) for program in _of_ways(path)]
    return single + loading


def read_program(path: Path) -> Program:
    """Read what a program declares.

    Raises:
      ValueError: A comment begins like a cause and is none, or the causes of several lines differ.
    """
    marks, meant = _read(path)
    return Program(path, _cause(path, marks), meant)


def _of_ways(path: Path) -> list[Program]:
    """A program that loads data, in each of its ways and with everything that may be bad."""
    marks, meant = _read(path)
    programs = []
    for way in sorted({way for mark in marks for way in mark.ways}):
        own = [mark for mark in marks if way in mark.ways]
        for bad in _BAD:
            is_healthy = bad == "filtered"
            of_kind = [mark._replace(kinds=mark.kinds - {"bad"} or frozenset({bad})) for mark in own]
            cause = None if is_healthy else _cause(path, of_kind)
            on_purpose = meant.union(mark.line for mark in own) if is_healthy else meant
            programs.append(Program(path, cause, on_purpose, (way, bad)))
    return programs


def _cause(path: Path, marks: list[_Mark]) -> Cause | None:
    if len({(mark.kinds, mark.op_types) for mark in marks}) > 1:
        raise ValueError(f"{path.name} declares different causes.")
    lines = frozenset(mark.line for mark in marks)
    return Cause(marks[0].kinds, marks[0].op_types, lines) if marks else None


def _read(path: Path) -> tuple[list[_Mark], frozenset[int]]:
    """The declared causes of a file, and the lines that make bad values on purpose."""
    with tokenize.open(path) as file:
        comments = [
            (token.start[0], token.string)
            for token in tokenize.generate_tokens(file.readline)
            if token.type == tokenize.COMMENT
        ]
    marks = [_read_mark(path, line, text) for line, text in comments if text.startswith("# cause")]
    return marks, frozenset(line for line, text in comments if _MEANT.match(text))


def _read_mark(path: Path, line: int, text: str) -> _Mark:
    match = _CAUSE.fullmatch(text)
    if match is None:
        raise ValueError(f"{path.name}:{line} has no cause of the form '# cause: OpType, nan': {text}")
    types = frozenset() if match["types"] == "came in" else frozenset(match["types"].split("|"))
    ways = tuple(match["ways"].split(", ")) if match["ways"] else ()
    return _Mark(line, ways, frozenset(match["kinds"].split("|")), types)
