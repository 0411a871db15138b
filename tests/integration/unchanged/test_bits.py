"""`capture/plan/attachment.py`: recorded training computes the same bits, whichever attachments it has."""

from __future__ import annotations

from pathlib import Path

import pytest

import tb_debugger_plugin
from tb_debugger_plugin.capture.plan import attachment
from tests.support.fetched import without_graph_optimization
from tests.support.models import Maker, Training, cnn, full_cnn, full_gpt, gpt, mlp
from tests.support.recorded import read

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # Keras's own
]

long = [pytest.param(make, marks=pytest.mark.long) for make in (full_cnn, full_gpt)]


@pytest.mark.parametrize("make", [mlp, cnn, gpt, *long], ids=lambda make: make.__name__)
def test_a_recorded_training_has_the_bits_of_the_plain_one_and_the_same_ones_every_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Maker
) -> None:
    training = Training(make)
    with without_graph_optimization():
        plain = training.run()
        with tb_debugger_plugin.record(tmp_path / "in line"):
            assert training.run() == plain
        monkeypatch.setattr(attachment, "LARGE", 1)
        monkeypatch.setattr(attachment, "is_taken_over", lambda users: False)
        with tb_debugger_plugin.record(tmp_path / "beside"):
            assert training.run() == plain
    with tb_debugger_plugin.record(tmp_path / "beside, optimized", circular_buffer_size=10):
        assert len({training.run() for _ in range(10)}) == 1
    monkeypatch.undo()
    with tb_debugger_plugin.record(tmp_path / "optimized", circular_buffer_size=10):
        assert len({training.run() for _ in range(10)}) == 1
    traces = [
        sorted((t.op_name, t.slot, t.counts) for t in read(tmp_path / way).traces)
        for way in ("in line", "beside")
    ]
    assert traces[0] == traces[1]
    assert len(traces[0]) > 500


def test_the_mlp_has_the_bits_of_the_optimized_program_in_each_mode(tmp_path: Path) -> None:
    training = Training(mlp)
    plain = training.run()
    for mode in ("FULL_HEALTH", "FULL_NUMERICS", "SHAPE", "NO_TENSOR"):
        with tb_debugger_plugin.record(tmp_path / mode, mode):
            assert training.run() == plain, mode
    assert training.run() == plain
