"""`docs/guide/reasons.md`: the page names every known reason and every situation, and no others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pytest

from tb_debugger_plugin.analysis.diagnosis.causes import PATTERNS
from tb_debugger_plugin.analysis.diagnosis.known import ANY, algebra, arithmetic, functions, learning, outside
from tb_debugger_plugin.analysis.diagnosis.numbers import BAD_KINDS
from tb_debugger_plugin.analysis.diagnosis.situated import ANY_OP
from tests.support.checkout import ROOT

_PAGE = (ROOT / "docs" / "guide" / "reasons.md").read_text("utf-8")
_KINDS = {"nan": "NaN", "neg_inf": "−∞", "pos_inf": "+∞"}
_SHOWN = 5
#: The tables of reasons by the heading on the page.
_SUBJECTS = {
    "Functions of one number": functions.CAUSES,
    "Divisions, powers, sums, products and dtypes": arithmetic.CAUSES,
    "Neural networks and gradients": learning.CAUSES,
    "Linear algebra": algebra.CAUSES,
    "From outside": outside.CAUSES,
}


def ops(types: Sequence[str]) -> str:
    if types == ANY_OP:
        return "any"
    more = f" and {len(types) - _SHOWN} more" if len(types) > _SHOWN else ""
    return ", ".join(f"`{name}`" for name in types[:_SHOWN]) + more


def kinds(gives: Sequence[str]) -> str:
    return "any" if gives is ANY else ", ".join(_KINDS[kind] for kind in BAD_KINDS if kind in gives)


def rows_of(heading: str) -> list[str]:
    """The rows of the table below a heading."""
    part = _PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in part.splitlines() if line.startswith("| ")]
    return lines[2:]


def reasons(causes: Iterable[object]) -> list[str]:
    return [f"| {c.because} | {ops(c.ops)} | {kinds(c.gives)} |" for c in causes]  # type: ignore[attr-defined]


@pytest.mark.parametrize("heading", _SUBJECTS)
def test_the_page_has_a_row_for_each_reason(heading: str) -> None:
    assert rows_of(heading) == reasons(_SUBJECTS[heading])


def test_the_page_has_a_row_for_each_situation() -> None:
    expected = [f"| {each.name} | {ops(each.ops)} | {each.advice.words} |" for each in PATTERNS]
    assert rows_of("Advice for the situation") == expected
