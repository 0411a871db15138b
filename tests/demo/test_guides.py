"""`docs/guide`: the programs of the guides print what the guides say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import forked
from tests.support.checkout import ROOT

pytestmark = pytest.mark.tensorflow

_GUIDES = ROOT / "docs" / "guide"
#: Guides that are a program in parts, each with the number of parts that it has at least.
_PROGRAMS = {
    "techniques": 8,
    "samples": 3,
    "gradient-norms": 3,
    "curves": 2,
    "mixed-precision": 2,
    "distribute": 1,
    "long-trainings": 1,
}
_PART = re.compile(r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
#: A line between two parts, in which the program marks the end of a part.
_MARK = 'print("@@part")\n'


@pytest.mark.parametrize("guide", _PROGRAMS)
def test_each_part_of_a_guides_program_prints_what_is_below_it(guide: str, tmp_path: Path) -> None:
    parts = _PART.findall((_GUIDES / f"{guide}.md").read_text("utf-8"))
    assert len(parts) >= _PROGRAMS[guide]
    (tmp_path / "train.py").write_text("".join(code + _MARK for code, _ in parts), "utf-8")
    run = forked.run(["train.py"], cwd=tmp_path, timeout=500)
    assert run.returncode == 0, run.stderr
    printed = run.stdout.replace(f"{tmp_path}/", "").split("@@part\n")
    assert list(map(_lines, printed[:-1])) == [_lines(text) for _, text in parts]


def _lines(text: str) -> list[str]:
    """Lines without spaces at their ends, which editors remove."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def test_the_table_has_each_technique() -> None:
    table = (_GUIDES / "techniques.md").read_text("utf-8").partition("## Each technique of the talk")[2]
    rows = re.findall(r"^\| ([^|]+?) +\| ", table, re.MULTILINE)
    assert len(rows) == 2 + 22 and all(row for row in rows)
