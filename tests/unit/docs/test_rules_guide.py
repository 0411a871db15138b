"""`docs/guide/rules.md`: the page lists each rule as the registry has it.

`python -m tests.unit.docs.test_rules_guide` prints the tables.
"""

from __future__ import annotations

import re

import pytest

from tb_debugger_plugin.analysis.alerts.alert_rules import FAMILIES
from tests.support.checkout import ROOT
from tests.support.rules_page import HEAD, row

_PAGE = (ROOT / "docs" / "guide" / "rules.md").read_text("utf-8")


def _section(family: str) -> str:
    return _PAGE.partition(f"\n### {family.capitalize()}\n")[2].partition("\n#")[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_table_of_a_family_is_what_the_registry_has(family):
    rows = re.findall(r"^\|.*\|$", _section(family), re.MULTILINE)
    assert rows == [*HEAD, *map(row, FAMILIES[family])]


def test_no_family_is_left_over():
    titles = re.findall(
        r"^### (.*)$", _PAGE.partition("\n## The rules\n")[2].partition("\n## ")[0], re.MULTILINE
    )
    assert titles == [family.capitalize() for family in FAMILIES]


if __name__ == "__main__":
    for name, rules in FAMILIES.items():
        print(f"### {name.capitalize()}\n", *HEAD, *map(row, rules), sep="\n", end="\n\n")
