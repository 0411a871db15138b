"""What a wheel built from this checkout carries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from tests.support.checkout import PACKAGE, ROOT, tracked_files

pytestmark = pytest.mark.install

_COMPILERS = ("c++", "g++", "clang++")


def _names_in_wheel(checkout, out, **environment):
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(out),
        str(checkout),
    ]
    build = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True)
    assert build.returncode == 0, build.stdout + build.stderr
    (wheel,) = out.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def test_a_wheel_carries_the_page_and_the_descriptor(checkout, tmp_path):
    names = _names_in_wheel(checkout, tmp_path)
    page = [f"tb_debugger_plugin/{file.relative_to(PACKAGE)}" for file in (PACKAGE / "static").rglob("*.*")]
    assert page and set(page) <= set(names)
    assert "tb_debugger_plugin/events/debug_event.binpb" in names


@pytest.mark.skipif(
    not any(map(shutil.which, _COMPILERS)), reason=f"no C++ compiler: {', '.join(_COMPILERS)}"
)
def test_a_wheel_carries_the_native_libraries(checkout, tmp_path):
    names = _names_in_wheel(checkout, tmp_path)
    for library in ("native/_native.", "index/_frames."):
        assert [name for name in names if name.startswith(f"tb_debugger_plugin/{library}")]


def test_a_wheel_carries_every_module_and_nothing_else_of_the_checkout(checkout, tmp_path):
    names = _names_in_wheel(checkout, tmp_path)
    modules = {str(file.relative_to(ROOT)) for file in tracked_files() if file.is_relative_to(PACKAGE)}
    assert {name for name in modules if name.endswith((".py", "py.typed"))} <= set(names)
    roots = {name.partition("/")[0].partition("-")[0] for name in names}
    assert roots == {"tb_debugger_plugin"}


def test_without_a_compiler_a_wheel_is_built_without_the_native_library(checkout, tmp_path):
    shutil.rmtree(checkout / "build", ignore_errors=True)
    names = _names_in_wheel(checkout, tmp_path, CC="false", CXX="false")
    assert "tb_debugger_plugin/__init__.py" in names
    assert not [name for name in names if name.endswith(".so")]
