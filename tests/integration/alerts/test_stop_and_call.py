"""`capture/alarm.py`: a bad value ends the recording, or calls a function of the user."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import BadValue
from tb_debugger_plugin.keras import DebuggerCallback

pytestmark = pytest.mark.tensorflow


@tf.function
def halve(x: tf.Tensor) -> tf.Tensor:
    return tf.sqrt(x - 1.0) / 2.0


def test_the_recording_ends_with_the_culprit_and_the_program_goes_on(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, on_alert="stop") as recording:
        halve(tf.constant(2.0))
        assert recording.on and not recording.stopped_at_alert
        assert np.isnan(halve(tf.constant(0.0)))
        assert recording.stopped_at_alert and not recording.on
        assert np.isnan(halve(tf.constant(0.5)))
    with tb_debugger_plugin.open_run(tmp_path) as run:
        assert len(run.executions()) == 2
        assert run.graph_executions(health="bad")[0].op_type == "Sqrt"
        assert run.status()["finished"]


def test_a_callback_of_keras_ends_the_training(tmp_path: Path) -> None:
    model = tf.keras.Sequential([tf.keras.Input([1]), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.ones([40, 1], np.float32)
    x[8] = np.nan
    callback = DebuggerCallback(tmp_path, on_alert="stop")
    history = model.fit(x, x, batch_size=4, epochs=5, shuffle=False, verbose=0, callbacks=[callback])
    assert len(history.epoch) == 1
    with tb_debugger_plugin.open_run(tmp_path) as run:
        reason = run.why()
        assert reason is not None and "NaN" in str(reason)


def test_a_function_gets_each_call_with_a_bad_value_once(tmp_path: Path) -> None:
    seen: list[BadValue] = []
    with tb_debugger_plugin.record(tmp_path, on_alert=seen.append):
        halve(tf.constant(2.0))
        halve(tf.constant(0.0))
        assert [(bad.op_type, bad.op_name, bad.kind) for bad in seen] == [("Sqrt", "Sqrt", "NaN")]
        assert "the root of a negative number is NaN" in str(seen[0])
        tf.math.log(tf.constant(0.0))
        assert [bad.op_type for bad in seen] == ["Sqrt", "Log"]
        tf.function(lambda x: x * np.float32("inf"), jit_compile=True)(tf.constant(1.0))
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            x = tf.compat.v1.placeholder(tf.float32, [])
            session.run(tf.sqrt(x), {x: -1.0})
    assert [bad.op_type for bad in seen] == ["Sqrt", "Log", "Sqrt"]
    assert seen[0].headline.startswith("Sqrt in halve, test_stop_and_call.py:")


def test_what_the_function_raises_reaches_the_program(tmp_path: Path) -> None:
    class Enough(Exception):
        pass

    def give_up(bad: BadValue) -> None:
        # Ops in here are the user's and ring no alarm.
        assert np.isinf(tf.math.log(tf.constant(0.0)))
        raise Enough(bad.headline)

    with tb_debugger_plugin.record(tmp_path, on_alert=give_up) as recording:
        for _ in range(2):
            with pytest.raises(Enough, match=r"Sqrt in halve, test_stop_and_call\.py"):
                halve(tf.constant(0.0))
        assert recording.on
