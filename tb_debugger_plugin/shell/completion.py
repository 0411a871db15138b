"""Completes command lines: names of commands, options, tensors, nodes, filters, and what else a word may be.

Takes what is typed and where the cursor is; returns what the word there may become. Needs no terminal. Names
are sorted, so those that begin with a word are found by bisection.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import duckdb

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.errors import DebuggerError
from tb_debugger_plugin.reading import choose
from tb_debugger_plugin.shell.command import Completes
from tb_debugger_plugin.shell.settings import SETTINGS
from tb_debugger_plugin.shell.shell import Shell

# The names of everything that a word may be, sorted.
#
# Those of a run are sorted once for each of its catalogs.


def _commands(shell: Shell) -> Sequence[str]:
    names = (name for one in shell.commands() for name in (one.name, *one.aliases))
    return sorted(name for name in names if name.isidentifier())


def _tensors(shell: Shell) -> Sequence[str]:
    def names(snapshot: Snapshot) -> list[str]:
        ops = snapshot.catalog.ops
        return sorted({f"{ops[site.op].name}:{site.slot}" for site in snapshot.catalog.sites if site.op >= 0})

    return _remembered(shell, "names of tensors", names)


def _nodes(shell: Shell) -> Sequence[str]:
    return _remembered(
        shell, "names of nodes", lambda snapshot: sorted({op.name for op in snapshot.catalog.ops})
    )


def _functions(shell: Shell) -> Sequence[str]:
    return _remembered(
        shell,
        "names of functions",
        lambda snapshot: sorted({graph.name for graph in snapshot.catalog.graphs if graph.name}),
    )


def _remembered(shell: Shell, key: str, make: Callable[[Snapshot], list[str]]) -> Sequence[str]:
    with shell.run.snapshot() as snapshot:
        return snapshot.remember_of_sites(f"completion: {key}", lambda: make(snapshot))


def _feeds(shell: Shell) -> Sequence[str]:
    return sorted(shell.call.feeds) if shell.call is not None else ()


def _sources(shell: Shell) -> Sequence[str]:
    return sorted({source.path for source in shell.run.sources()})


#: Returns the names of each kind.
NAMES: Final[Mapping[Completes, Callable[[Shell], Sequence[str]]]] = {
    Completes.NOTHING: lambda shell: (),
    Completes.COMMAND: _commands,
    Completes.TENSOR: _tensors,
    Completes.NODE: _nodes,
    Completes.FILTER: lambda shell: sorted(shell.filters.names()),
    Completes.FEED: _feeds,
    Completes.SOURCE: _sources,
    Completes.RUN: lambda shell: sorted(run.name for run in choose.chosen(shell.folder)),
    Completes.FUNCTION: _functions,
    Completes.SETTING: lambda shell: sorted(one.name for one in SETTINGS),
}


#: Candidates that are returned; the rest is only counted.
MAX_CANDIDATES: Final = 200
_QUOTES: Final = "'\""
_UNSAFE: Final = frozenset(" \t>[](){}'\"`")
_LAST: Final = "\U0010ffff"


class Completions(NamedTuple):
    """What a word may become.

    Attributes:
      start: Where the word begins in the line.
      candidates: What may stand there instead, at most :data:`MAX_CANDIDATES` texts in order.
      common: The beginning that all candidates share; at least what is typed, unless they only contain it.
      total: The number of candidates there are.
      is_final: Whether the word is complete with a candidate: a space may follow.
    """

    start: int
    candidates: tuple[str, ...] = ()
    common: str = ""
    total: int = 0
    is_final: bool = False


class _Word(NamedTuple):
    """The word at the cursor.

    Attributes:
      start: Where it begins.
      text: Its letters up to the cursor, without a quote before them.
      quote: The quote before them; empty if there is none.
      before: The words before it.
    """

    start: int
    text: str
    quote: str
    before: tuple[str, ...]


def complete(shell: Shell, line: str, cursor: int) -> Completions:
    """Complete the word at a cursor.

    Args:
      shell: Knows the commands and the run.
      line: The command line.
      cursor: The number of letters before the cursor.

    Returns:
      What the word may become; no candidates if nothing is known of it, or if the run cannot be read.
    """
    word = _word(line[:cursor])
    kind_or_names = _kind(shell, word)
    if not isinstance(kind_or_names, Completes):
        return _among(sorted(kind_or_names), word, is_final=True)
    try:
        names = NAMES[kind_or_names](shell)
    except (DebuggerError, OSError, duckdb.Error):
        names = ()
    return _among(names, word, is_final=kind_or_names not in (Completes.TENSOR, Completes.SOURCE))


def _word(text: str) -> _Word:
    words: list[str] = []
    start, quote, depth = 0, "", 0
    for at, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"`":
            quote = letter
            if letter == "`":  # an expression names its tensors so
                words.append(text[start:at])
                start = at + 1
        elif letter in "[(":
            depth += 1
        elif letter in "])":
            depth -= 1
        elif (letter.isspace() or letter == ">") and depth <= 0:
            words += [text[start:at]] if text[start:at] else []
            words += [">"] if letter == ">" else []
            start = at + 1
    begins_with = text[start : start + 1]
    quote = begins_with if begins_with in _QUOTES else ""
    return _Word(start, text[start + len(quote) :], quote, tuple(word for word in words if word))


def _kind(shell: Shell, word: _Word) -> Completes | Iterable[str]:
    """Return what the word may be: a kind of thing, or one of some names."""
    if not word.before:
        return Completes.COMMAND
    command = next((one for one in shell.commands() if word.before[0] in (one.name, *one.aliases)), None)
    if command is None or word.before[-1] == ">":
        return ()
    options = command.parser()._option_string_actions
    option = options.get(word.before[-1])
    if option is not None and option.nargs != 0:
        return dict(command.option_completes).get(word.before[-1], map(str, option.choices or ()))
    if word.text.startswith("-"):
        return [name for name in options if name not in word.before]
    return command.completes


def _among(names: Sequence[str], word: _Word, *, is_final: bool) -> Completions:
    """Return the names that begin with the word; if there are none, those that contain it.

    Args:
      names: Sorted names.
      word: The word.
      is_final: Whether a space may follow.
    """
    begin = bisect.bisect_left(names, word.text)
    end = bisect.bisect_left(names, word.text + _LAST, begin)
    found: Sequence[str] = names[begin:end]
    common = _common(found[0], found[-1]) if found else word.text
    if not found and word.text:
        small = word.text.lower()
        found = [name for name in names if small in name.lower()]
        common = found[0] if len(found) == 1 else word.text
    shown = tuple(_quoted(name, word.quote) for name in found[:MAX_CANDIDATES])
    common = shown[0] if len(found) == 1 else _opened(common, shown, word.quote)
    return Completions(word.start, shown, common, len(found), is_final)


def _common(first: str, last: str) -> str:
    """Return the beginning that two texts share, and with them all that are sorted between them."""
    count = 0
    for one, other in zip(first, last, strict=False):
        if one != other:
            break
        count += 1
    return first[:count]


def _opened(common: str, shown: Sequence[str], quote: str) -> str:
    """Return the common beginning as it is typed: after a quote, if the candidates need one."""
    if not quote and shown and all(name[:1] in _QUOTES for name in shown):
        quote = shown[0][0]
    return quote + common


def _quoted(name: str, quote: str) -> str:
    if not quote and not _UNSAFE & set(name):
        return name
    quote = quote or ('"' if "'" in name else "'")
    return f"{quote}{name}{quote}"
