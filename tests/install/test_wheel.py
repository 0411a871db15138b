"""`setup.py`: a wheel that is built from this checkout contains what it should, and nothing else."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

import tb_debugger_plugin
from tests.support.checkout import PACKAGE, ROOT, tracked_files

pytestmark = pytest.mark.install

_COMPILERS = ("c++", "g++", "clang++")
#: As the build calls it, but it does not optimize, which takes most of the time.
_FAST_COMPILER = """#!/bin/sh
exec {} "$@" -O0
"""


def _wheel(checkout, out, **environment):
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
    return zipfile.ZipFile(wheel)


@pytest.fixture(scope="module")
def compilers(tmp_path_factory):
    """Variables of the environment with a compiler that is fast; none where there is no compiler."""
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        return {}
    script = tmp_path_factory.mktemp("compiler") / "c++"
    script.write_text(_FAST_COMPILER.format(compiler))
    script.chmod(0o755)
    return {"CC": str(script), "CXX": str(script)}


@pytest.fixture(scope="module")
def wheel(checkout, compilers, tmp_path_factory):
    """The wheel of the checkout."""
    with _wheel(checkout, tmp_path_factory.mktemp("wheel"), **compilers) as wheel:
        yield wheel


def test_a_wheel_carries_the_page_and_the_descriptor(wheel):
    names = wheel.namelist()
    page = [f"tb_debugger_plugin/{file.relative_to(PACKAGE)}" for file in (PACKAGE / "static").rglob("*.*")]
    assert page and set(page) <= set(names)
    assert "tb_debugger_plugin/events/debug_event.binpb" in names


def test_a_wheel_carries_the_notices_of_what_its_page_bundles(wheel):
    text = wheel.read("tb_debugger_plugin/static/THIRD_PARTY_LICENSES.txt").decode()
    notices = {
        name: notice for name, notice in re.findall(r"^## (\S+ - \S+) .*\n([^#]*)", text, re.MULTILINE)
    }
    locked = json.loads((ROOT / "frontend" / "package-lock.json").read_text("utf-8"))["packages"]
    asked_for = {
        f"{name} - {locked[f'node_modules/{name}']['version']}" for name in locked[""]["dependencies"]
    }
    assert {"preact - " + locked["node_modules/preact"]["version"]} < asked_for <= set(notices)
    assert all("Copyright" in notice and "Permission" in notice for notice in notices.values())


def test_a_wheel_says_its_version_and_downgrades_nothing_that_it_does_not_use(wheel):
    (name,) = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    lines = wheel.read(name).decode().splitlines()
    assert f"Version: {tb_debugger_plugin.__version__}" in lines
    needed = [line for line in lines if line.startswith("Requires-Dist: ") and "extra ==" not in line]
    # TensorBoard asks for it itself, and its new versions work with any.
    assert needed and not [line for line in needed if "setuptools" in line]


@pytest.mark.skipif(
    not any(map(shutil.which, _COMPILERS)), reason=f"no C++ compiler: {', '.join(_COMPILERS)}"
)
def test_a_wheel_carries_the_native_libraries(wheel):
    names = wheel.namelist()
    for library in ("native/_native.", "index/_frames."):
        assert [name for name in names if name.startswith(f"tb_debugger_plugin/{library}")]


def test_a_wheel_carries_every_module_and_nothing_else_of_the_checkout(wheel):
    names = wheel.namelist()
    modules = {str(file.relative_to(ROOT)) for file in tracked_files() if file.is_relative_to(PACKAGE)}
    assert {name for name in modules if name.endswith((".py", "py.typed"))} <= set(names)
    roots = {name.partition("/")[0].partition("-")[0] for name in names}
    assert roots == {"tb_debugger_plugin"}


def test_without_a_compiler_a_wheel_is_built_without_the_native_library(checkout, tmp_path):
    shutil.rmtree(checkout / "build", ignore_errors=True)
    with _wheel(checkout, tmp_path, CC="false", CXX="false") as wheel:
        names = wheel.namelist()
    assert "tb_debugger_plugin/__init__.py" in names
    assert not [name for name in names if name.endswith(".so")]
