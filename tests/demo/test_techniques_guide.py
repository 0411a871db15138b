"""`docs/guide/techniques.md`: the guide's program prints what the guide says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkout import ROOT

pytestmark = pytest.mark.tensorflow

_GUIDE = (ROOT / "docs" / "guide" / "techniques.md").read_text("utf-8")
_PART = re.compile(r"^```python\n(.*?)^```(?:\n\n```text\n(.*?)^```)?", re.MULTILINE | re.DOTALL)
#: A line between two parts, in which the program marks the end of a part.
_MARK = 'print("@@part")\n'


def test_each_part_of_the_program_prints_what_is_below_it(tmp_path: Path) -> None:
    parts = _PART.findall(_GUIDE)
    assert len(parts) >= 8
    (tmp_path / "train.py").write_text("".join(code + _MARK for code, _ in parts), "utf-8")
    run = subprocess.run(
        [sys.executable, "train.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert run.returncode == 0, run.stderr
    printed = run.stdout.replace(f"{tmp_path}/", "").split("@@part\n")
    assert list(map(_lines, printed[:-1])) == [_lines(text) for _, text in parts]


def _lines(text: str) -> list[str]:
    """Lines without spaces at their ends, which editors remove."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def test_the_table_has_each_technique() -> None:
    table = _GUIDE.partition("## Each technique of the talk")[2]
    rows = re.findall(r"^\| ([^|]+?) +\| ", table, re.MULTILINE)
    assert len(rows) == 2 + 22 and all(row for row in rows)
