"""What all unit tests share: no test touches the user's cache, or meets the event loop of a browser."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.commands import Tbdbg
from tests.support.events import small_program


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TB_DEBUGGER_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def _no_running_event_loop() -> Iterator[None]:
    # That of a browser, which tests of the page have opened in this process, counts as running.
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    yield
    asyncio._set_running_loop(running)


@pytest.fixture
def tbdbg(capsys: pytest.CaptureFixture[str]) -> Tbdbg:
    """The command, which runs in this process."""
    return Tbdbg(capsys)


@pytest.fixture
def small_run(tmp_path: Path) -> Path:
    """The folder of the test, with a recording of two steps whose logarithm of 0 is bad."""
    return small_program(tmp_path).close()
