"""What all golden tests share: no test touches the user's cache."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path_factory.mktemp("cache")))
