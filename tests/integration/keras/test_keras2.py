"""`capture/naming/keras2.py`: Keras 2 models have the same names, as `tf_keras` and as old `tf.keras`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tb_debugger_plugin.keras import DebuggerCallback
from tests.support.programs import run_apart
from tests.support.recorded import Recorded, read, read_each

tf_keras = pytest.importorskip("tf_keras", reason="Keras 2 is tested where tf_keras is installed")

pytestmark = [
    pytest.mark.libraries,
    # Keras 2's own.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
]

X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
Y = np.linspace(0, 1, 16, dtype=np.float32).reshape(8, 2)


def compiled_model(**options: object) -> tf_keras.Model:
    tf_keras.backend.clear_session()  # names count from 0 again
    tf_keras.utils.set_random_seed(1)
    block = tf_keras.Sequential(
        [tf_keras.Input([3]), tf_keras.layers.Dense(4, activation="relu")], name="block"
    )
    inputs = tf_keras.Input([3])
    model = tf_keras.Model(inputs, tf_keras.layers.Dense(2, name="last")(block(inputs)), name="whole")
    model.compile("adam", "mse", **options)
    return model


def layers_of(recorded: Recorded, op_type: str) -> set[str]:
    creations = recorded.records("graph_op_creation")
    return {made.layer for made in creations if made.op_type == op_type}


def variables_of(recorded: Recorded) -> set[str]:
    creations = recorded.records("graph_op_creation")
    return {made.variable for made in creations if made.op_type == "ReadVariableOp"}


@pytest.mark.parametrize("options", [{}, {"run_eagerly": True}, {"jit_compile": True}], ids=str)
def test_training_gives_the_same_losses_and_is_seen(tmp_path: Path, options: dict[str, object]) -> None:
    losses = []
    for callbacks in ([], [DebuggerCallback(tmp_path)]):
        model = compiled_model(**options)
        history = model.fit(
            X,
            Y,
            batch_size=4,
            epochs=2,
            validation_data=(X, Y),
            verbose=0,
            shuffle=False,
            callbacks=callbacks,
        )
        losses.append(history.history["loss"])
    assert losses[0] == losses[1]
    recorded = read(tmp_path)  # validation belongs to its training
    traced = [trace for trace in recorded.traces if trace.op_type == "ReluGrad"]
    assert len(traced) + len([e for e in recorded.executions if e.op_type == "ReluGrad"]) == 4


def test_each_call_is_a_run_and_layers_and_variables_have_paths(tmp_path: Path) -> None:
    model = compiled_model()
    callback = DebuggerCallback(tmp_path)
    for _ in range(2):  # traced while it is recorded, and before
        model.fit(X, Y, verbose=0, callbacks=[callback])
    model.evaluate(X, Y, verbose=0, callbacks=[callback])
    model.predict(X, verbose=0, callbacks=[callback])
    first, again, evaluated, predicted = read_each(tmp_path)
    for recorded in (first, again):
        assert layers_of(recorded, "MatMul") >= {"whole/block/dense", "whole/last"}
        assert layers_of(recorded, "Relu") == {"whole/block/dense"}
        assert layers_of(recorded, "ReluGrad") == {"whole/block/dense"}
        assert variables_of(recorded) >= {"whole/block/dense/kernel", "whole/last/bias"}
    assert "Relu" in evaluated.types() and "Relu" in predicted.types()


def test_a_layer_that_is_made_while_its_model_runs_has_a_path(tmp_path: Path) -> None:
    class Late(tf_keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(name="late")
            self.inner: tf_keras.layers.Layer | None = None

        def call(self, x: tf.Tensor) -> tf.Tensor:
            if self.inner is None:
                self.inner = tf_keras.layers.Dense(2, name="inner")
            return tf.sqrt(self.inner(x))

    model = Late()
    model.compile("sgd", "mse")
    model.fit(X, Y, verbose=0, callbacks=[DebuggerCallback(tmp_path)])
    recorded = read(tmp_path)
    assert "late/inner" in layers_of(recorded, "MatMul")
    assert "late" in layers_of(recorded, "Sqrt")


def test_a_call_that_fails_ends_its_recording(tmp_path: Path) -> None:
    class Interrupts(tf_keras.callbacks.Callback):  # type: ignore[misc]
        def on_train_batch_end(self, batch: int, logs: dict[str, float] | None = None) -> None:
            raise KeyboardInterrupt

    callback = DebuggerCallback(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        compiled_model().fit(X, Y, verbose=0, callbacks=[callback, Interrupts()])
    recording = callback._recording
    assert recording is not None
    tf.math.log(tf.constant([1.0]))
    assert not recording.on


_LEGACY = """
import sys
import numpy as np
import keras
import tensorflow as tf
from tb_debugger_plugin.keras import DebuggerCallback

x, y = np.ones([8, 3]), np.ones([8, 2])
for name, library in (("two", tf.keras), ("three", keras)):
    model = library.Sequential([library.Input([3]), library.layers.Dense(2, activation="relu")])
    model.compile("sgd", "mse", jit_compile=False)
    model.fit(x, y, verbose=0, callbacks=[DebuggerCallback(f"{sys.argv[1]}/{name}")])
print(tf.keras.layers.Layer.__module__.partition(".")[0], keras.layers.Layer.__module__.partition(".")[0])
"""


def test_the_callback_serves_both_where_keras_2_is_tf_keras(tmp_path: Path) -> None:
    run = run_apart("-c", _LEGACY, str(tmp_path), TF_USE_LEGACY_KERAS="1")
    assert run.stdout.split() == ["tf_keras", "keras"]
    for name in ("two", "three"):
        assert layers_of(read(tmp_path / name), "Relu") == {"sequential/dense"}
