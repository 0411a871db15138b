"""What the tests of the package share: a checkout of their own, to build in."""

from __future__ import annotations

import shutil

import pytest

from tests.support.checkout import PACKAGE, ROOT, tracked_files


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the tracked files and of the built page, which is not what is tested here."""
    folder = tmp_path_factory.mktemp("checkout")
    for file in tracked_files():
        copy = folder / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, copy)
    if not (PACKAGE / "static" / "index.js").exists():
        pytest.fail("The page is not built: run `make frontend`.")
    shutil.copytree(PACKAGE / "static", folder / "tb_debugger_plugin" / "static")
    return folder
