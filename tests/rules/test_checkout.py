"""`.gitignore`: the checkout holds no generated file and no path of one machine, and the version once."""

from __future__ import annotations

import re
import shutil

import pytest

from build_steps.native import missing_libraries
from tb_debugger_plugin import __version__
from tests.support.checkout import PACKAGE, ROOT, tracked_files

# Put together here, so that this file does not hold what it forbids.
_FORBIDDEN = re.compile(
    "|".join(["/wor" + "k/", "/tm" + "p/", "/roo" + "t/", "registry" + r"\.npmjs", "pypi" + r"\.org"])
)
_GENERATED = re.compile(
    r"(^|/)(node_modules|static|generated|__pycache__|dist)/|_pb2\.pyi?$|\.(binpb|so|o|whl|pyc)$"
)
_BINARY = {".png", ".gz"}


def test_no_file_names_a_folder_of_one_machine_or_a_registry():
    actual = [
        f"{file.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for file in tracked_files()
        if file.suffix not in _BINARY and _is_text(file.read_bytes())
        for number, line in enumerate(file.read_text("utf-8", errors="replace").splitlines(), 1)
        if _FORBIDDEN.search(line)
    ]
    assert not actual


def _is_text(content: bytes) -> bool:
    return b"\0" not in content


def test_no_generated_file_is_in_git():
    names = [file.relative_to(ROOT).as_posix() for file in tracked_files()]
    assert not [name for name in names if _GENERATED.search(name)]


def test_the_package_is_marked_as_typed():
    assert (PACKAGE / "py.typed").is_file()


def test_the_version_stands_in_one_place():
    literal = re.compile(rf"^(__)?version(__)? = \"{re.escape(__version__)}\"", re.MULTILINE)
    files = [file for file in tracked_files() if file.suffix in (".py", ".toml")]
    assert [file.name for file in files if literal.search(file.read_text("utf-8"))] == ["version.py"]


def test_the_native_libraries_are_built_where_there_is_a_compiler():
    """Their tests are skipped without them, so a library that no longer compiles would go unnoticed."""
    if not any(map(shutil.which, ("c++", "g++", "clang++"))):
        pytest.skip("there is no C++ compiler")
    assert not missing_libraries()
