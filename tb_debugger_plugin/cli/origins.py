"""`tbdbg origins`: where the bad values of each run come from.

Takes a logdir and prints, the most important first, which op made a bad value or what brought it in, on which
line, why, the chain to it and what helps; as text or as JSON.
"""

from __future__ import annotations

import argparse
from typing import Final

from tb_debugger_plugin.analysis.diagnosis.phrases import moment_words
from tb_debugger_plugin.analysis.origins.origin import Link, Origin
from tb_debugger_plugin.cli.reading import add_arguments, line_words, print_each, run_each
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.reading.run import Run

_TITLES: Final = {
    "origin": "Origin",
    "came_in": "Came in",
    "propagated": "Bad already",
    "swallowed": "Swallowed",
    "expected": "Expected",
}
#: Links of a chain that are printed; the others are counted.
_MAX_LINKS: Final = 12


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `origins`."""
    add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Print the origins; return the exit code."""
    return print_each(args, run_each(args, Run.origins), _facts, _words)


def _facts(found: list[Origin]) -> object:
    return {"origins": [origin.to_json() for origin in found]}


def _words(name: str, found: list[Origin]) -> str:
    lines = [name, *(line for origin in found for line in _of_origin(origin))]
    return "\n".join(map(printable, lines if found else [*lines, "  No bad value has an origin on record."]))


def _of_origin(origin: Origin) -> list[str]:
    kind = {"nan": "NaN", "inf": "∞"}[origin.kind] if origin.kind_is_certain else "NaN or ∞"
    lines = [
        f"  {_TITLES[origin.category]} of {kind}: {origin.headline}",
        f"    {origin.explanation}",
    ]
    for title, source in (("Line", origin.source), ("Gradient asked for in", origin.gradient_source)):
        if source is not None:
            text = f": {source.text}" if source.text else ""
            lines.append(f"    {title}: {source.path}:{source.line}{text}")
    told = (moment_words(origin.step), origin.advice, origin.tried, origin.missing)
    lines += [f"    {text}" for text in told if text]
    if origin.category != "expected" and len(origin.chain) > 1:
        lines += ["    From the value that shows it, back:", *_chain(origin.chain)]
    return lines


def _chain(links: list[Link]) -> list[str]:
    left = len(links) - _MAX_LINKS
    shown = links if left <= 0 else [*links[: _MAX_LINKS // 2], None, *links[-_MAX_LINKS // 2 :]]
    return ["      …" + f" {left} more" if link is None else f"      {_link(link)}" for link in shown]


def _link(link: Link) -> str:
    moment = "" if link.step is None else f", step {link.step}"
    return f"{link.words}{line_words(link.source)}{moment}"
