"""`tests`: the docstring of each test file begins with the file, the folder or the command that is tested."""

from __future__ import annotations

import ast
import re
import subprocess
from pathlib import Path

import pytest

from tests.faults.run import Fault, read_fault
from tests.support.checkout import ROOT, tracked_paths

_FAULTS = [read_fault(path) for path in sorted((ROOT / "tests" / "faults").glob("*.patch"))]


def test_a_test_file_begins_with_what_it_tests():
    """Paths are relative to the package or to the checkout, such as `capture/eager.py` and `docs`."""
    paths = tracked_paths()
    files = sorted(path for path in paths if re.fullmatch(r"test_\w+\.py", path.name))
    subjects = {path.as_posix(): _subject(path) for path in files}
    known = {"tbdbg", *(path.as_posix() for path in paths)}
    wrong = {
        file: name for file, name in subjects.items() if not {name, f"tb_debugger_plugin/{name}"} & known
    }
    assert files and not wrong


def test_unit_tests_stand_where_their_subjects_do():
    """`tests/unit` has the folders of the package; what is beside it has a folder of its name."""
    for file in (
        path for path in tracked_paths() if re.fullmatch(r"tests/unit/.*/test_\w+\.py", path.as_posix())
    ):
        folder = file.parent.relative_to("tests/unit")
        subject = _subject(file).removeprefix("tb_debugger_plugin/")
        assert folder in (Path(subject), *Path(subject).parents), file


@pytest.mark.parametrize("fault", _FAULTS, ids=lambda fault: fault.path.stem)
def test_a_fault_can_be_made_and_its_tests_are_there(fault: Fault):
    """`make test-faults` says whether they fail, in minutes; this, which fault a change has overtaken."""
    subprocess.run(["git", "apply", "-C1", "--check", str(fault.path)], cwd=ROOT, check=True)
    for test in fault.tests:
        file, *_, name = test.partition("[")[0].split("::")
        text = (ROOT / file).read_text("utf-8")
        assert f"def {name}(" in text or not file.endswith(".py"), test


def _subject(file: Path) -> str:
    """The text between backticks at the beginning of a docstring; empty if there is none before a colon."""
    docstring = ast.get_docstring(ast.parse((ROOT / file).read_text("utf-8"))) or ""
    subject = re.match(r"`([^`]+)`: \S", docstring)
    return subject[1] if subject else ""
