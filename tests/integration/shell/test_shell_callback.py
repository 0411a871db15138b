"""`tb_debugger_plugin/tfdbg/shell_callback.py`: the shell around the steps of Keras models."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import polymorphic_function

import tb_debugger_plugin
from tb_debugger_plugin import tfdbg
from tb_debugger_plugin.shell.program import Detach, RunRequest
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.tfdbg import function_shell
from tests.support.scripted import TILL_BAD, ScriptedUser, lines_of, tensors

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras's own

X = np.linspace(0, 1, 24, dtype=np.float32).reshape(8, 3)
Y = np.eye(2, dtype=np.float32)[[0, 1] * 4]


@pytest.fixture
def user(monkeypatch: pytest.MonkeyPatch) -> ScriptedUser:
    """The user at the terminal."""
    user = ScriptedUser()
    monkeypatch.setattr(function_shell, "_terminal", lambda ui: user)
    return user


def cross_entropy(y: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
    return -tf.reduce_mean(y * tf.math.log(p))


def model(**options: object) -> tf.keras.Model:
    start = tf.keras.initializers.RandomNormal(stddev=0.1, seed=1)
    dense = tf.keras.layers.Dense(2, activation="softmax", kernel_initializer=start)
    made = tf.keras.Sequential([tf.keras.Input([3]), dense])
    made.compile(tf.keras.optimizers.SGD(1e4), cross_entropy, **options)
    return made


def fit(made: tf.keras.Model, **options: object) -> None:
    made.fit(X, Y, batch_size=2, shuffle=False, verbose=0, callbacks=[tfdbg.ShellCallback()], **options)


def is_clean() -> bool:
    return polymorphic_function.Function.__call__.__module__.startswith("tensorflow")


def test_a_model_that_becomes_bad_stops_at_the_first_bad_step(user: ScriptedUser) -> None:
    seen: list[str] = []

    def look(shell: Shell) -> None:
        if shell.logdir is not None:
            seen.append(" ".join(tensors(shell, "-f has_inf_or_nan")))
            seen.extend(lines_of(shell, "why")[:1])

    user.script, user.look = [TILL_BAD, Detach()], look
    fit(model(), epochs=3)
    assert user.stops[0] == ">1"
    assert user.calls[1].passed_filter == "has_inf_or_nan"
    assert "/Log:0" in seen[0]
    assert "in cross_entropy, test_shell_callback.py" in seen[1]
    assert is_clean()


def test_validation_is_part_of_fit_and_the_next_fit_asks_again(user: ScriptedUser) -> None:
    user.script = [Detach(), RunRequest(times=8)]
    made = model()
    fit(made, validation_data=(X, Y))
    fit(made, validation_data=(X, Y))
    assert user.stops == [">1", ">1", "8>"]
    assert is_clean()


def test_models_that_run_eagerly_stop_at_their_batches(user: ScriptedUser) -> None:
    user.script = [RunRequest(), Detach()]
    fit(model(run_eagerly=True))
    assert [call.what for call in user.calls] == ["step 1", "step 2"]


def test_a_fit_that_fails_leaves_nothing_behind(user: ScriptedUser) -> None:
    def give_up(epoch: int, logs: dict[str, float]) -> None:
        raise ValueError("enough")

    made = model()
    user.script = [TILL_BAD, Detach()]
    callbacks = [tfdbg.ShellCallback(), tf.keras.callbacks.LambdaCallback(on_epoch_begin=give_up)]
    with pytest.raises(ValueError, match="enough"):
        made.fit(X, Y, verbose=0, callbacks=callbacks)
    # Keras calls no method of a callback then; the next call of a function finds that `fit` has ended.
    tf.function(lambda: tf.constant(1.0))()
    assert is_clean()
    assert user.calls == []


def test_an_op_that_fails_inside_fit_opens_the_shell_and_raises(user: ScriptedUser) -> None:
    def checked(y: tf.Tensor, p: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(tf.debugging.check_numerics(tf.math.log(p - 1.0), "not a probability"))

    made = tf.keras.Sequential([tf.keras.Input([3]), tf.keras.layers.Dense(2)])
    made.compile("sgd", checked, jit_compile=False)
    user.script = [TILL_BAD, Detach()]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a probability"):
        fit(made)
    assert user.stops == [">1", "1>"]
    assert isinstance(user.calls[1].error, tf.errors.InvalidArgumentError)
    tb_debugger_plugin.disable_dump_debug_info()
