"""`live/program/keras_callback.py`: Keras models are recorded and compute the same results."""

from __future__ import annotations

import logging
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin.capture.api
from tb_debugger_plugin.analysis.alerts import alerts
from tb_debugger_plugin.analysis.snapshot import Range
from tb_debugger_plugin.capture.recording import Recording
from tb_debugger_plugin.events.modes import COUNTS, MOMENTS
from tb_debugger_plugin.keras import DebuggerCallback
from tests.support.events import snapshot_of
from tests.support.fetched import without_graph_optimization
from tests.support.models import dropout_model
from tests.support.recorded import counts, read, read_each

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # Keras's own
]

X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
Y = np.linspace(0, 1, 16, dtype=np.float32).reshape(8, 2)


compiled_model = partial(dropout_model, "adam")


def weights(model: tf.keras.Model) -> list[bytes]:
    return [weight.tobytes() for weight in model.get_weights()]


@pytest.mark.parametrize(
    "options",
    [{}, {"jit_compile": False}, {"run_eagerly": True}, {"steps_per_execution": 2}, {"jit_compile": True}],
    ids=lambda options: "-".join(options) or "default",
)
def test_training_gives_the_same_bits_and_is_seen(tmp_path: Path, options: dict[str, object]) -> None:
    plain, recorded_model = compiled_model(**options), compiled_model(**options)
    tf.keras.utils.set_random_seed(2)
    plain.fit(X, Y, batch_size=4, epochs=2, verbose=0)
    tf.keras.utils.set_random_seed(2)
    recorded_model.fit(X, Y, batch_size=4, epochs=2, verbose=0, callbacks=[DebuggerCallback(tmp_path)])
    assert weights(recorded_model) == weights(plain)
    recorded = read(tmp_path)
    seen = [trace for trace in recorded.traces if trace.op_type == "ReluGrad"]
    executions = [e for e in recorded.executions if e.op_type == "ReluGrad"]
    assert len(seen) + len(executions) == 4


def test_a_model_that_was_trained_before_is_seen_and_is_plain_again_afterwards(tmp_path: Path) -> None:
    model = compiled_model()
    model.fit(X, Y, batch_size=4, verbose=0)
    model.fit(X, Y, batch_size=4, verbose=0, callbacks=[DebuggerCallback(tmp_path)])
    seen = len(read(tmp_path).traces)
    assert "ReluGrad" in read(tmp_path).types()
    model.fit(X, Y, batch_size=4, verbose=0)
    assert len(read(tmp_path).traces) == seen


def test_evaluating_and_predicting_are_runs_of_their_own_and_validation_belongs_to_its_training(
    tmp_path: Path,
) -> None:
    model = compiled_model()
    callback = DebuggerCallback(tmp_path, "FULL_NUMERICS")
    model.fit(X, Y, validation_data=(X, Y), epochs=2, verbose=0, callbacks=[callback])
    model.evaluate(X, Y, verbose=0, callbacks=[callback])
    prediction = model.predict(X, verbose=0, callbacks=[callback])
    # Each ends with the weights that training ended with: what the model made of X then.
    moments = [prediction.min(), prediction.max(), prediction.mean(dtype=float), prediction.var(dtype=float)]
    runs = read_each(tmp_path)
    assert len(runs) == 3
    for recorded in runs:
        sums = [t for t in recorded.traces if t.op_type in ("Add", "AddV2", "BiasAdd")]
        last = [trace for trace in sums if trace.numbers("size") == [prediction.size]][-1]
        assert last.counts == counts(prediction)
        np.testing.assert_allclose(last.numbers(*MOMENTS), moments, rtol=1e-6)
    np.testing.assert_array_equal(prediction, model.predict(X, verbose=0))


def test_a_batch_is_a_step(tmp_path: Path) -> None:
    model = compiled_model(jit_compile=False)
    callback = DebuggerCallback(tmp_path, every_n_steps=2)
    model.fit(X, Y, batch_size=2, verbose=0, callbacks=[callback])  # 4 batches
    seen = [trace for trace in read(tmp_path).traces if trace.op_type == "ReluGrad"]
    assert len(seen) == 2


def test_the_callback_leaves_a_recording_alone_that_is_on_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model = compiled_model()
    with tb_debugger_plugin.record(tmp_path / "outer") as recording:
        callback = DebuggerCallback(tmp_path / "inner")
        model.fit(X, Y, validation_data=(X, Y), verbose=0, callbacks=[callback])
        (line,) = said(caplog)
        assert str(tmp_path / "inner") in line and str(tmp_path / "outer") in line
        # Of its own folder there is nothing to be said.
        model.predict(X, verbose=0, callbacks=[DebuggerCallback(tmp_path / "outer")])
        assert said(caplog) == [line]
        assert recording.on
    assert not (tmp_path / "inner").exists()
    assert "ReluGrad" in read(tmp_path / "outer").types()
    model.predict(X, verbose=0, callbacks=[callback])
    assert len(read_each(tmp_path / "inner")) == 1


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    ours = [each for each in caplog.records if each.name == "tb_debugger_plugin"]
    return [each.getMessage() for each in ours if each.levelno >= logging.WARNING]


class Interrupts(tf.keras.callbacks.Callback):
    """Leaves the call by an exception, as Ctrl+C and Kernel > Interrupt do."""

    def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
        raise KeyboardInterrupt

    on_test_batch_end = on_train_batch_end


def interrupted(callback: DebuggerCallback, *, verb: str = "fit") -> tuple[tf.keras.Model, Recording]:
    """A model of which a call was left by an exception, and the recording of that call."""
    model = compiled_model()
    with pytest.raises(KeyboardInterrupt):
        getattr(model, verb)(X, Y, batch_size=4, verbose=0, callbacks=[callback, Interrupts()])
    recording = callback._recording
    assert recording is not None
    return model, recording


@pytest.mark.parametrize("verb", ["fit", "evaluate"])
def test_a_call_that_fails_ends_its_recording_before_the_program_runs_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, verb: str
) -> None:
    _, recording = interrupted(DebuggerCallback(tmp_path), verb=verb)
    tf.math.log(tf.constant([1.0]))
    assert not recording.on
    (line,) = [line for line in said(caplog) if "has raised an exception" in line]
    assert str(tmp_path) in line
    recorded = read(tmp_path)
    assert "ReluGrad" in recorded.types() or verb == "evaluate"
    assert "Log" not in {execution.op_type for execution in recorded.executions}


def test_a_plain_fit_after_one_that_failed_is_not_recorded(tmp_path: Path) -> None:
    model, recording = interrupted(DebuggerCallback(tmp_path))
    before = recording.counts()
    model.fit(X, Y, batch_size=4, epochs=3, verbose=0)
    assert not recording.on
    assert recording.counts() == before


@pytest.mark.long
def test_the_same_callback_begins_anew_after_a_call_that_failed(tmp_path: Path) -> None:
    callback = DebuggerCallback(tmp_path)
    model, first = interrupted(callback)
    model.fit(X, Y, batch_size=4, validation_data=(X, Y), verbose=0, callbacks=[callback])
    assert not first.on
    assert not tb_debugger_plugin.capture.api.running()
    model, second = interrupted(callback)
    model.evaluate(X, Y, verbose=0, callbacks=[callback])
    assert not second.on
    assert len(read_each(tmp_path)) == 4


def test_the_same_callback_begins_anew_where_nobody_knows_the_call(tmp_path: Path) -> None:
    callback = DebuggerCallback(tmp_path)
    callback.on_train_begin()  # as a training loop of the program's own does
    first = callback._recording
    callback.on_train_begin()
    assert first is not None and not first.on
    tf.math.log(tf.constant([1.0]))
    callback.on_test_begin()
    callback.on_test_end()
    assert callback._recording is not None and callback._recording.on
    callback.on_train_end()
    assert [len(each.executions) for each in read_each(tmp_path)] == [0, 1]


def test_another_callback_records_after_a_call_that_failed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    model, first = interrupted(DebuggerCallback(tmp_path / "a"))
    model.fit(X, Y, batch_size=4, verbose=0, callbacks=[DebuggerCallback(tmp_path / "b")])
    assert not first.on
    assert not any("records nothing" in line for line in said(caplog))
    assert "ReluGrad" in read(tmp_path / "b").types()


def test_a_recording_of_the_programs_own_outlives_a_call_that_fails(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path / "outer") as recording:
        model = compiled_model()
        callback = DebuggerCallback(tmp_path / "inner")
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y, verbose=0, callbacks=[callback, Interrupts()])
        tf.math.log(tf.constant([1.0]))
        assert recording.on
    # And what the callback remembered of it is forgotten.
    model.evaluate(X, Y, verbose=0, callbacks=[callback])
    assert len(read_each(tmp_path / "inner")) == 1


def test_a_call_is_still_running_when_another_thread_runs_ops(tmp_path: Path) -> None:
    class RunsOps(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
            other = threading.Thread(target=lambda: tf.math.log(tf.constant([1.0])))
            other.start()
            other.join()

    model = compiled_model()
    model.fit(X, Y, batch_size=4, verbose=0, callbacks=[DebuggerCallback(tmp_path), RunsOps()])
    recorded = read(tmp_path)
    assert [execution.op_type for execution in recorded.executions].count("Log") == 2


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision_gives_the_same_bits_and_its_narrow_tensors_are_seen(
    tmp_path: Path, policy: str
) -> None:
    def train(callbacks: list[tf.keras.callbacks.Callback]) -> tf.keras.Model:
        tf.keras.utils.set_random_seed(1)
        layer = tf.keras.layers.Dense(2, dtype=policy)
        model = tf.keras.Sequential([tf.keras.Input([3]), layer])
        model.compile("sgd", "mse", jit_compile=False)
        model.fit(X, Y, batch_size=4, verbose=0, shuffle=False, callbacks=callbacks)
        return model

    # TensorFlow's optimizer fuses around bfloat16, and a watched tensor cannot be fused away.
    with without_graph_optimization():
        plain = train([])
    recorded_model = train([DebuggerCallback(tmp_path)])
    assert weights(recorded_model) == weights(plain)
    narrow = {"mixed_float16": 19, "mixed_bfloat16": 14}[policy]
    products = [trace for trace in read(tmp_path).traces if trace.op_type == "MatMul"]
    products = [trace for trace in products if trace.numbers("dtype") == [narrow]]
    assert len(products) >= 2
    assert all([sum(trace.numbers(*COUNTS))] == trace.numbers("size") for trace in products)


def test_a_custom_train_step_is_seen_and_gives_the_same_bits(tmp_path: Path) -> None:
    class Model(tf.keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = tf.keras.layers.Dense(2, activation="relu")

        def call(self, x: tf.Tensor) -> tf.Tensor:
            return self.dense(x)

        def train_step(self, data: tuple[tf.Tensor, tf.Tensor]) -> dict[str, tf.Tensor]:
            x, y = data
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.math.squared_difference(self(x), y, name="difference"))
            gradients = tape.gradient(loss, self.trainable_variables)
            self.optimizer.apply(gradients, self.trainable_variables)
            return {"loss": loss}

    def train(callbacks: list[tf.keras.callbacks.Callback]) -> tuple[tf.keras.Model, list[float]]:
        tf.keras.utils.set_random_seed(1)
        model = Model()
        model.compile("adam", jit_compile=False)
        history = model.fit(X, Y, batch_size=4, epochs=2, verbose=0, shuffle=False, callbacks=callbacks)
        return model, history.history["loss"]

    plain, losses = train([])
    recorded_model, recorded_losses = train([DebuggerCallback(tmp_path)])
    assert (weights(recorded_model), recorded_losses) == (weights(plain), losses)
    recorded = read(tmp_path)
    assert len([t for t in recorded.traces if t.op_type == "ReluGrad"]) == 4
    differences = [t for t in recorded.traces if t.op_name.endswith("difference")]
    assert [trace.numbers("size") for trace in differences] == [[8.0]] * 4


def test_a_step_that_loss_scaling_skips_is_skipped_and_its_infinities_are_on_record(tmp_path: Path) -> None:
    def train(callbacks: list[tf.keras.callbacks.Callback]) -> tf.keras.Model:
        tf.keras.utils.set_random_seed(1)
        layer = tf.keras.layers.Dense(2, dtype="mixed_float16")
        model = tf.keras.Sequential([tf.keras.Input([3]), layer])
        optimizer = tf.keras.optimizers.LossScaleOptimizer(tf.keras.optimizers.SGD(), initial_scale=2.0**16)
        model.compile(optimizer, "mse", jit_compile=False)
        model.fit(1000 * X, Y, batch_size=4, verbose=0, shuffle=False, callbacks=callbacks)
        return model

    plain, recorded_model = train([]), train([DebuggerCallback(tmp_path)])
    assert weights(recorded_model) == weights(plain)
    scales = [float(model.optimizer.dynamic_scale.numpy()) for model in (recorded_model, plain)]
    assert scales == [2.0**14] * 2  # two steps, both skipped
    traces = read(tmp_path).traces
    half = [trace for trace in traces if trace.numbers("dtype") == [tf.float16.as_datatype_enum]]
    assert [trace.is_bad for trace in half].count(True) >= 2
    assert not any(np.isnan(weight).any() for weight in recorded_model.get_weights())


class Log(tf.keras.layers.Layer):
    def call(self, x: tf.Tensor) -> tf.Tensor:
        return tf.math.log(tf.nn.relu(x))  # the culprit


def record_a_model_that_takes_the_log_of_zero(root: Path, **options: object) -> None:
    tf.keras.utils.clear_session()  # names count from 0 again
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential([tf.keras.Input([3]), Log(), tf.keras.layers.Dense(2)])
    model.compile("sgd", "mse", **options)
    model.fit(X, Y, batch_size=8, shuffle=False, verbose=0, callbacks=[DebuggerCallback(root)])


def alerts_of(root: Path) -> list[tuple[str, str, int]]:
    """The alerts of the step, as the page has them: type and name of the op, and which output."""
    with snapshot_of(root) as snapshot:
        actual = alerts.alert_list(snapshot)
        page = alerts.page(snapshot, actual, Range(0, len(actual)))
    return [
        (alert["op_type"], alert["op_name"], alert["output_slot"])
        for alert in page
        # How a step is given its arguments depends on how it runs.
        if alert["op_name"] is not None and "iterator" not in alert["op_name"].lower()
    ]


def test_alerts_the_first_bad_op_and_its_line_are_the_same_with_and_without_xla(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TB_DEBUGGER_CACHE", str(tmp_path / "cache"))
    actual = {}
    for jit_compile in (False, True):
        root = tmp_path / str(jit_compile)
        record_a_model_that_takes_the_log_of_zero(root, jit_compile=jit_compile)
        actual[jit_compile] = alerts_of(root)
        recorded = read(root)
        _, first, _ = actual[jit_compile][0]
        creations = recorded.records("graph_op_creation")
        (stack,) = {
            tuple(made.code_location.stack_frame_ids)
            for made in creations
            if made.op_name == first and "train_function" not in made.graph_name
        }
        lines = [recorded.frames[frame] for frame in stack]
        assert [code for path, _, _, code in lines if path == __file__ and "culprit" in code]
    assert actual[True][0] == actual[False][0]
    assert actual[True][0][0] == "Log"
    assert set(actual[True]) == set(actual[False])
