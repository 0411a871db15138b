"""Programs that the tests of origins write, in two modes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.unit.analysis.origins.test_origins import Program


@pytest.fixture
def program(tmp_path: Path) -> Program:
    return Program(tmp_path)


@pytest.fixture
def curt(tmp_path: Path) -> Program:
    return Program(tmp_path, TensorDebugMode.CURT_HEALTH)
