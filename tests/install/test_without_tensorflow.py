"""`tb_debugger_plugin`: the installed wheel passes the viewer's tests where there is no TensorFlow."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.checkout import ROOT, tracked_files

pytestmark = [pytest.mark.install, pytest.mark.long]

_TESTED = ("unit", "property", "golden", "viewer", "fuzz")
#: What needs more than the package brings: TensorFlow's types, and servers that play object stores.
_LEFT_OUT = ("tests/property/test_summary.py", "tests/unit/events/test_buckets.py")


@pytest.fixture(scope="module")
def python(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment with the wheel and what tests need."""
    out = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(checkout)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = out.glob("*.whl")
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    install = [str(home / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run([*install, f"{wheel}[shell]", "pytest", "pytest-timeout", "hypothesis"], check=True)
    return home / "bin" / "python"


def test_the_viewers_tests_pass_with_the_installed_package_and_without_tensorflow(python, tmp_path):
    assert subprocess.run([str(python), "-c", "import tensorflow"], capture_output=True).returncode == 1
    for file in tracked_files():
        # All but the package: it is the installed one that is tested.
        if file.relative_to(ROOT).parts[0] != "tb_debugger_plugin":
            copy = tmp_path / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, copy)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [str(python), "-m", "pytest", "-q", *(f"--ignore={name}" for name in _LEFT_OUT)]
    command += [f"tests/{name}" for name in _TESTED]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-5000:]
    print(done.stdout.splitlines()[-1])
