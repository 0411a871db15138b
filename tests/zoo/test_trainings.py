"""`analysis/alerts`: no rule finds anything above *low* in healthy trainings of 1000 steps and more.

The programs are in `tests/zoo/programs/trainings`; each asserts itself that it has learned. They are
recorded in FULL_NUMERICS, and every rule of the registry is asked at its defaults.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support import forked
from tests.zoo.run import record_training
from tests.zoo.truth import PROGRAMS

_TRAININGS = sorted((PROGRAMS / "trainings").glob("*.py"))
_STEPS = 1000


@pytest.fixture(scope="module")
def server() -> Iterator[None]:
    for module in ("tensorflow", "keras"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"the trainings need {module}")
    with forked.server():
        yield


def test_there_are_six_trainings():
    assert len(_TRAININGS) >= 6


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("path", _TRAININGS, ids=lambda path: path.stem)
def test_a_healthy_training_has_no_alert_above_low(server, tmp_path, path: Path):
    found, num_steps = forked.call(record_training, str(path), str(tmp_path))
    assert found == []
    assert num_steps >= _STEPS
