"""`build_steps/oldest.py`: `make test-oldest` installs the oldest versions that the package allows."""

from __future__ import annotations

import re

import pytest

from build_steps.oldest import oldest_versions
from tests.support.checkout import ROOT


def test_every_dependency_of_the_package_is_installed_in_its_oldest_version():
    toml = pytest.importorskip("tomllib", reason="comes with Python 3.11")
    project = toml.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["shell"]]
    bounds = {re.split("[<>=!~;]", text)[0]: re.findall(">=([0-9.]+)", text) for text in needed}
    assert bounds and {name: [version] for name, version in oldest_versions().items()} == bounds
