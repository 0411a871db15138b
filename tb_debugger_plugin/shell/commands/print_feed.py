"""`pf`: prints what is fed to a call."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.expressions.names import node_of, parse_tensor_name, suggestion
from tb_debugger_plugin.shell.command import Answer, Command, Completes
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain
from tb_debugger_plugin.shell.value_screen import ArraySource, add_value_options, value_screen, wanted

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell
import re
from typing import NamedTuple

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.events.dtypes import dtype_name
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.reading.run import Run

#: A name in the text that tfdbg v1 writes about feeds.
_NAME: Final = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*:\d+")


class Feed(NamedTuple):
    """A feed.

    Attributes:
      name: The name of the tensor.
      dtype: The name of its dtype; None if it is not on record.
      shape: The shape as a text; None if it is not on record.
      is_recorded: Whether the tensor itself is recorded.
    """

    name: str
    dtype: str | None
    shape: str | None
    is_recorded: bool


def recorded_feeds(run: Run) -> list[Feed]:
    """Return the feeds of all runs of sessions, each dtype and shape once.

    Args:
      run: The run of the recording.
    """
    with run.snapshot() as snapshot:
        catalog = snapshot.catalog
        recorded = {f"{catalog.ops[site.op].name}:{site.slot}" for site in catalog.sites}
        rows = snapshot.rows(
            "SELECT DISTINCT name, dtype, shape FROM session_requests WHERE role = 'feed'"
            " ORDER BY name, dtype, shape"
        )
        feeds = [
            Feed(name, dtype_name(dtype), _shape(snapshot, shape), name in recorded)
            for name, dtype, shape in rows
        ]
        return feeds + [Feed(name, None, None, name in recorded) for name in _of_dumps(snapshot)]


def _shape(snapshot: Snapshot, number: int) -> str | None:
    return snapshot.catalog.shapes[number] if number >= 0 else None


def _of_dumps(snapshot: Snapshot) -> list[str]:
    texts = [
        text for (text,) in snapshot.rows("SELECT DISTINCT feeds FROM dump_calls WHERE feeds IS NOT NULL")
    ]
    return sorted({name for text in texts for name in _NAME.findall(text)})


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("feed", nargs="?", metavar="FEED", help="x:0, or x:0[:, 3]; without it, all feeds")
    add_value_options(parser)


def _print(shell: Shell, args: argparse.Namespace) -> Answer:
    if shell.call is None:
        return _recorded(shell, args)
    feeds = shell.call.feeds
    if not feeds:
        raise NotFoundError(f"Nothing is fed to {shell.call.what}.")
    if args.feed is None:
        return Screen([plain(f"{len(feeds)} feed(s):", Style.HEADING), (), *_listed(feeds)])
    typed = parse_tensor_name(args.feed)
    name = _found(typed.text, list(feeds))
    array = _array(feeds[name])
    if array is None:
        lines = [plain(f'Tensor "{name} (feed)":', Style.HEADING), (), plain(repr(feeds[name])[:1000])]
        return Screen(lines)
    return value_screen(name, ArraySource(array), wanted(args, typed.slicing), " (feed)")


def _array(value: object) -> Array | None:
    """Return a feed as an array; None for what is none, such as a sparse tensor."""
    try:
        array = np.asarray(value)
    except Exception:  # values of other packages raise what they like
        return None
    if array.dtype.kind == "U":
        return np.char.encode(array, "utf-8").astype(object)
    return None if array.dtype.kind == "O" and not _holds_texts(array) else array


def _holds_texts(array: Array) -> bool:
    return all(isinstance(one, (bytes, str)) for one in array.flat)


def _listed(feeds: Mapping[str, object]) -> list[Line]:
    lines: list[Line] = []
    for name, value in feeds.items():
        array = _array(value)
        what = type(value).__name__ if array is None else f"{array.dtype} {array.shape}"
        lines.append((link(name, f"pf {shlex.quote(name)}"), Part(f"  {what}")))
    return lines


def _found(text: str, names: Sequence[str]) -> str:
    for name in (text, f"{text}:0"):
        if name in names:
            return name
    raise NotFoundError(f"There is no feed {text}; {suggestion(node_of(text), names)}")


def _recorded(shell: Shell, args: argparse.Namespace) -> Screen:
    feeds = recorded_feeds(shell.run)
    if not feeds:
        raise NotFoundError("No feed is on record: the program ran no session, or fed nothing.")
    if args.feed is not None:
        name = _found(parse_tensor_name(args.feed).text, [feed.name for feed in feeds])
        feeds = [feed for feed in feeds if feed.name == name]
    lines: list[Line] = [plain(f"{len(feeds)} feed(s) of the runs of sessions:", Style.HEADING), ()]
    lines += [_line(feed) for feed in feeds]
    lines += [(), plain("Values of feeds are shown at a program that is stopped, unless they are recorded.")]
    return Screen(lines)


def _line(feed: Feed) -> Line:
    what = Part(f"  {feed.dtype or '?'} {feed.shape or ''}".rstrip())
    recorded = (Part("  recorded: "), link(feed.name, f"pt {shlex.quote(feed.name)}"))
    return (Part(feed.name), what, *(recorded if feed.is_recorded else ()))


COMMAND: Final = Command(
    "print_feed",
    ("pf",),
    "print what is fed to a call",
    _print,
    _arguments,
    completes=Completes.FEED,
    examples=("pf x:0", "pf x:0[0] -s"),
)
