"""Writes a report as one HTML page that needs no server and no network.

Takes the facts. Invariant: all text of the recording is escaped, and its length is bounded.
"""

from __future__ import annotations

import math
from html import escape
from typing import Final

import numpy as np

from tb_debugger_plugin.analysis.curves.curve import Curve
from tb_debugger_plugin.analysis.origins.origin import Origin
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

_WIDTH: Final = 320
_HEIGHT: Final = 48


def drawing(history: Curve) -> str:
    """Return the SVG of a curve: a bar where it is bad, as high as often, and a line for the number.

    It holds numbers only.
    """
    step = _WIDTH / max(1, len(history))
    shares = history.columns["bad"] / history.columns["count"]
    bars = "".join(
        f'<rect class="bar" x="{i * step:.1f}" y="{_HEIGHT - height:.1f}" width="{max(step, 1):.1f}"'
        f' height="{height:.1f}"/>'
        for i, height in enumerate(np.where(shares > 0, _HEIGHT * np.maximum(0.2, shares), 0).tolist())
        if height > 0
    )
    line = _line(history.columns["high"].tolist(), step)
    path = f'<polyline class="line" points="{line}"/>' if line else ""
    return f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="History">{bars}{path}</svg>'


def _line(numbers: list[float], step: float) -> str:
    """Return the corners of the line, on a logarithmic scale."""
    known = [(i, math.log10(number)) for i, number in enumerate(numbers) if number > 0]
    if len(known) < 2:
        return ""
    low, high = min(y for _, y in known), max(y for _, y in known)
    span = max(high - low, 1.0)
    return " ".join(
        f"{(i + 0.5) * step:.1f},{_HEIGHT - 2 - (y - low) / span * (_HEIGHT - 4):.1f}" for i, y in known
    )


_MAX_TEXT: Final = 600
#: The page fetches nothing and runs nothing.
_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"
_STYLE: Final = """
:root { color-scheme: light dark; --bad: #b5083b; --dim: #59636e; --line: #dde1e6; --tint: #fdeef2; }
@media (prefers-color-scheme: dark) {
  :root { --bad: #ff8aa6; --dim: #a3acb6; --line: #343a41; --tint: #33202a; }
}
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 14px/1.5 system-ui, sans-serif;
  overflow-wrap: anywhere; }
h1 { font-size: 1.3rem; } h2 { font-size: 1.05rem; margin-top: 2rem; }
.dim, dt { color: var(--dim); } .bad { color: var(--bad); font-weight: 600; }
.card { padding: .5rem 1rem; border-left: 4px solid var(--bad); background: var(--tint); }
table { border-collapse: collapse; } td, th { padding: .15rem .8rem .15rem 0; text-align: left;
  border-bottom: 1px solid var(--line); vertical-align: top; }
pre { overflow-x: auto; padding: .5rem; border: 1px solid var(--line); } pre b { color: var(--bad); }
svg { display: block; width: 320px; height: 48px; border: 1px solid var(--line); }
.bar { fill: var(--bad); opacity: .6; } .line { fill: none; stroke: currentColor; stroke-width: 1.5; }
"""


def page(report: Report) -> str:
    """Return the page.

    Args:
      report: The facts.
    """
    sections = [_head(report), _note(report), _card(report), _chain(report), _source(report)]
    sections += [_histories(report), _others(report), _alerts(report)]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{_text(report.run)}</title><style>{_STYLE}</style></head>\n"
        f"<body>{''.join(sections)}</body></html>\n"
    )


def _text(text: str) -> str:
    """Text of a recording."""
    return escape(printable(text if len(text) <= _MAX_TEXT else text[:_MAX_TEXT] + "…"))


def _note(report: Report) -> str:
    lines = [escape(printable(line)) for line in report.note.splitlines()]
    return f'<section class="note"><h2>Note</h2><p>{"<br>".join(lines)}</p></section>' if lines else ""


def _head(report: Report) -> str:
    return f'<h1>{_text(report.run)}</h1><p class="dim">{_text(facts_of(report))}</p>'


def _card(report: Report) -> str:
    said = verdict_of(report)
    verdict = f"<p>{_text(' '.join(said))}</p>" if said else ""
    if not report.origins:
        return verdict
    origin = report.origins[0]
    parts = [f"<p><b>{_text(origin.label)}</b> {_text(origin.headline)}</p>"]
    parts.append(f"<p>{_text(origin.explanation)}</p>")
    if origin.source is not None and origin.source.text:
        parts.append(f"<pre>{_text(origin.source.text.strip())}</pre>")
    if origin.advice:
        parts.append(f"<p>{_text(origin.advice)}</p>")
    if origin.example is not None:
        before = origin.example.before
        change = f"<code>{_text(before)}</code> → " if before else "Example: "
        parts.append(f"<p>{change}<code>{_text(origin.example.after)}</code></p>")
    if origin.tried:
        parts.append(f"<p>{_text(origin.tried)}</p>")
    if origin.missing:
        parts.append(f'<p class="dim">{_text(origin.missing)}</p>')
    return f'{verdict}<section class="card">{"".join(parts)}{_numbers(origin)}</section>'


def _numbers(origin: Origin) -> str:
    rows = "".join(
        f"<tr><td>{_text(name)}</td><td>{_text(words)}</td></tr>" for name, words in numbers_of(origin)
    )
    return f"<table>{rows}</table>" if rows else ""


def _chain(report: Report) -> str:
    if not report.origins or len(report.origins[0].chain) < 2:
        return ""
    rows = "".join(
        f"<tr><td>{_text(step.name)}</td><td>{_text(step.how)}</td><td>{_text(step.place)}</td></tr>"
        for step in listed(chain_of(report.origins[0]))
    )
    return f"<h2>From the value that shows it back to its birth</h2><table>{rows}</table>"


def _source(report: Report) -> str:
    return "".join(map(_excerpt, report.excerpts))


def _excerpt(excerpt: Excerpt) -> str:
    if not excerpt.lines:
        return ""
    lines = "\n".join(
        f"<b>{number:5}  {_text(text)}</b>" if number == excerpt.line else f"{number:5}  {_text(text)}"
        for number, text in excerpt.lines
    )
    return f'<h2>{_text(excerpt.title)}</h2><p class="dim">{_text(excerpt.path)}</p><pre>{lines}</pre>'


def _histories(report: Report) -> str:
    if not report.histories:
        return ""
    rows = "".join(
        f"<tr><td>{_text(one.tensor.name)}<br><span class=dim>{one.total:,} values</span></td>"
        f"<td>{drawing(one)}</td></tr>"
        for one in report.histories
    )
    note = "Bars: NaN and infinities. Line: the largest magnitude, where it was measured."
    return f'<h2>Histories along the chain</h2><p class="dim">{note}</p><table>{rows}</table>'


def _others(report: Report) -> str:
    if len(report.origins) < 2:
        return ""
    rows = "".join(
        f"<tr><td>{_text(one.label)}</td><td>{_text(one.headline)}</td><td>{_text(one.explanation)}</td></tr>"
        for one in report.origins[1:]
    )
    left = report.num_origins - len(report.origins)
    more = f"<p>and {left} more</p>" if left else ""
    return f"<h2>Other bad values</h2><table>{rows}</table>{more}"


def _alerts(report: Report) -> str:
    if not report.alerts:
        return ""
    rows = "".join(f"<tr><td>{_text(title)}</td><td>{count:,}</td></tr>" for title, count in report.alerts)
    return f"<h2>Alerts by rule</h2><table>{rows}</table>"
