"""`capture/not_recorded.py`: Keras on JAX runs as it does alone, and the recording says what it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.programs import run_apart
from tests.support.statuses import missing_in

pytest.importorskip("jax", reason="Keras on JAX is tested where jax is installed")

pytestmark = pytest.mark.libraries

_PROGRAM = """
import sys
import numpy as np
import keras
import tensorflow as tf
import tb_debugger_plugin
from tb_debugger_plugin.keras import DebuggerCallback

model = keras.Sequential([keras.Input([3]), keras.layers.Dense(2)])
model.compile("sgd", "mse")
x, y = np.ones([8, 3]), np.ones([8, 2])
model.fit(x, y, verbose=0, callbacks=[DebuggerCallback(sys.argv[1] + "/callback")])
with tb_debugger_plugin.record(sys.argv[1] + "/block"):
    model.fit(x, y, verbose=0)
    tf.sqrt(4.0)
"""


def test_that_nothing_is_seen_is_said_and_on_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "cache"))
    run = run_apart("-c", _PROGRAM, str(tmp_path), KERAS_BACKEND="jax")
    assert run.stderr.count("Keras computes with jax") == 2
    for name in ("callback", "block"):
        ((reason, names, message),) = missing_in(tmp_path / name)
        assert (reason, names) == ("other_backend", [])
        assert message in run.stderr
