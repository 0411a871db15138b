"""Writes a report as Markdown, for an issue.

Takes the facts. Invariant: text of the recording neither ends a block, nor names a person or an issue, nor
becomes markup.
"""

from __future__ import annotations

import re
from typing import Final

from tb_debugger_plugin.analysis.report.facts import (
    Excerpt,
    Report,
    chain_of,
    facts_of,
    listed,
    numbers_of,
    verdict_of,
)
from tb_debugger_plugin.events.printable import printable

_MAX_TEXT: Final = 600
_SPECIAL: Final = re.compile(r"[\\`*_{}\[\]<>#|~!&]")
#: What names a person, and what begins an address.
_LINKING: Final = re.compile(r"@|:(?=/)|(?<=www)\.")


def markdown(report: Report) -> str:
    """Return the Markdown text.

    Args:
      report: The facts.
    """
    parts = [f"### {_text(report.run)}", _text(facts_of(report))]
    parts += _note(report)
    parts += [_text(" ".join(verdict_of(report)))] if verdict_of(report) else []
    parts += _origin(report) if report.origins else []
    parts += [_excerpt(excerpt) for excerpt in report.excerpts if excerpt.lines]
    others = [f"- {_text(one.label)} {_text(one.headline)}" for one in report.origins[1:]]
    parts += ["\n".join(others)] if others else []
    alerts = [f"| {_text(title)} | {count:,} |" for title, count in report.alerts]
    parts += ["\n".join(["| alert rule | count |", "| -- | -- |", *alerts])] if alerts else []
    return "\n\n".join(parts) + "\n"


def _note(report: Report) -> list[str]:
    # Two spaces end a line.
    lines = [f"> {_escaped(line)}  " if line else ">" for line in report.note.splitlines()]
    return ["Note:", "\n".join(lines)] if lines else []


def _origin(report: Report) -> list[str]:
    origin = report.origins[0]
    parts = [f"**{_text(origin.label)}** {_text(origin.headline)}", _text(origin.explanation)]
    parts += [_text(words) for words in (origin.advice, origin.tried, origin.missing) if words]
    if origin.example is not None:
        lines = (origin.example.before, origin.example.after)
        parts.append(_block([line for line in lines if line]))
    numbers = [f"| {_text(name)} | {_text(words)} |" for name, words in numbers_of(origin)]
    parts += ["\n".join(["| tensor | numbers |", "| -- | -- |", *numbers])] if numbers else []
    steps = [" | ".join(map(_text, step)) for step in listed(chain_of(origin))]
    if len(steps) > 1:
        rows = [f"| {step} |" for step in steps]
        parts.append("\n".join(["| from the value that shows it | how | where |", "| -- | -- | -- |", *rows]))
    return parts


def _text(text: str) -> str:
    return _escaped(text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "…")


def _escaped(text: str) -> str:
    escaped = _SPECIAL.sub(lambda match: f"\\{match[0]}", printable(text))
    return _LINKING.sub(lambda match: f"&#{ord(match[0])};", escaped)


def _excerpt(excerpt: Excerpt) -> str:
    lines = [f"{'>' if number == excerpt.line else ' '} {number:5}  {text}" for number, text in excerpt.lines]
    return f"{_text(excerpt.title)}\n\n{_block(lines)}"


def _block(lines: list[str]) -> str:
    """Return a block of code, with a fence that is longer than any in it."""
    text = "\n".join(printable(line[:_MAX_TEXT].expandtabs(4)) for line in lines)
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"
