"""`capture/plan/record_order.py`: each tensor is recorded after the tensors that it was computed from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.capture import placement
from tb_debugger_plugin.capture.plan import attachment
from tests.support.models import Maker, Training, cnn, gpt
from tests.support.recorded import Recorded, counts, read

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # Keras's own
]


def assert_in_order(recorded: Recorded) -> int:
    """Go through each graph op by op; how many tensors were compared with one before them."""
    places = {(t.graph_id, t.op_name, t.slot): i for i, t in enumerate(recorded.traces)}
    assert len(places) == len(recorded.traces), "a tensor was computed twice"
    latest: dict[tuple[str, str, int], int] = {}
    compared = 0
    for event in recorded.events["graphs"]:
        if not event.HasField("graph_op_creation") or event.graph_op_creation.op_type == "Const":
            continue
        op = event.graph_op_creation
        inputs = [name.rpartition(":") for name in op.input_names]
        of_inputs = [latest.get((op.graph_id, name, int(slot)), -1) for name, _, slot in inputs]
        for slot in range(op.num_outputs):
            # This op hands on its inputs one by one.
            before = of_inputs[slot] if op.op_type == "IdentityN" else max(of_inputs, default=-1)
            place = places.get((op.graph_id, op.op_name, slot))
            if place is not None:
                assert place > before, f"{op.op_name} is on record before {recorded.traces[before].op_name}"
                compared += before >= 0
            latest[op.graph_id, op.op_name, slot] = before if place is None else place
    return compared


@pytest.mark.parametrize("make", [cnn, gpt], ids=lambda make: make.__name__)
def test_a_training_step_is_on_record_in_the_order_of_its_graph_however_it_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Maker
) -> None:
    training = Training(make)
    monkeypatch.setattr(attachment, "is_taken_over", lambda users: False)
    for large in (1, 1 << 9, 1 << 18):
        monkeypatch.setattr(attachment, "LARGE", large)
        root = tmp_path / str(large)
        with tb_debugger_plugin.record(root):
            training.run(1)
        assert assert_in_order(read(root)) > 200, large


def test_so_is_what_another_device_computes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "may_be_elsewhere", lambda device: True)
    training = Training(gpt)
    with tb_debugger_plugin.record(tmp_path):
        training.run(1)
    assert assert_in_order(read(tmp_path)) > 200


@pytest.mark.parametrize("mode", ["NO_TENSOR", "SHAPE", "FULL_TENSOR"])
def test_so_are_whole_numbers_and_truths(tmp_path: Path, mode: str) -> None:
    @tf.function
    def collatz(i: tf.Tensor, even: tf.Tensor) -> tf.Tensor:
        for _ in range(100):
            i = tf.where(even, i // 2, 3 * i + 1)
            even = tf.logical_not(tf.cast(i % 2, tf.bool))
        return tf.reduce_sum(i)

    i = np.arange(1, 4)
    with tb_debugger_plugin.record(tmp_path, mode):
        assert int(collatz(i, i % 2 == 0)) == 6
    assert assert_in_order(read(tmp_path)) > 600


@pytest.mark.parametrize("in_line", [True, False])
def test_the_first_bad_tensor_of_a_large_computation_is_the_first_one_in_every_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, in_line: bool
) -> None:
    if not in_line:
        monkeypatch.setattr(attachment, "is_taken_over", lambda users: False)
    size = 1 << 20

    @tf.function
    def loss(x: tf.Tensor) -> tf.Tensor:
        scaled = tf.multiply(tf.math.log(x, name="log"), 2.0, name="scaled")
        return tf.cond(x[0] > 1.0, lambda: 0.0, lambda: tf.reduce_mean(scaled, name="mean"))

    x = tf.zeros([size])
    with tb_debugger_plugin.record(tmp_path):
        for _ in range(30):
            loss(x)
    bad = [(t.op_name, t.counts) for t in read(tmp_path).traces if t.is_bad]
    assert bad[0] == ("log", counts(np.full(size, -np.inf)))
    names = [name for name, _ in bad if name in ("log", "scaled", "cond/mean", "cond")]
    assert names == ["log", "scaled", "cond/mean", "cond"] * 30
