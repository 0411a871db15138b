"""`capture/hooks/functions.py`: each outermost call of a function is a call, in all programs.

And the program computes what it computes without the shell, to the bit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from tb_debugger_plugin.shell.program import RunRequest
from tb_debugger_plugin.shell.shell import Shell
from tb_debugger_plugin.tfdbg.function_shell import FunctionShell
from tests.support.models import dropout_model
from tests.support.scripted import TILL_BAD, ScriptedUser, tensors

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")  # Keras's own

X = np.linspace(-1, 1, 24, dtype=np.float32).reshape(8, 3)
Y = np.linspace(0, 1, 16, dtype=np.float32).reshape(8, 2)


@tf.function
def inner(x: tf.Tensor) -> tf.Tensor:
    return tf.math.log(x)


@tf.function
def outer(x: tf.Tensor) -> tf.Tensor:
    for _ in tf.range(3):
        x = inner(x + 2.0)
    return inner(x)


def calls_of(program: Callable[[], object], *script: RunRequest) -> list[str]:
    """Returns the names of the calls that a program makes, at each of which it is stopped afterwards."""
    user = ScriptedUser(list(script))
    with FunctionShell(None, converse=user):
        program()
    return [call.what for call in user.calls if call.is_over]


def test_functions_inside_functions_are_parts_of_the_call() -> None:
    assert calls_of(lambda: outer(tf.constant([1.0]))) == ["outer"]


def test_gradients_and_loops_are_parts_of_what_runs_them() -> None:
    def program() -> None:
        x = tf.Variable([1.0])
        with tf.GradientTape() as tape:
            y = outer(x)
        tape.gradient(y, x)
        outer(x)

    assert calls_of(program) == ["outer", "outer"]


def test_concrete_functions_are_calls() -> None:
    concrete = outer.get_concrete_function(tf.TensorSpec([1], tf.float32))
    assert calls_of(lambda: [concrete(tf.constant([1.0])), concrete(tf.constant([2.0]))]) == ["outer"] * 2


def test_methods_that_are_functions_are_calls_with_their_arguments() -> None:
    class Layer(tf.Module):  # type: ignore[misc]
        @tf.function
        def scale(self, x: tf.Tensor, *, parts: dict[str, tf.Tensor]) -> tf.Tensor:
            return x * parts["factor"]

    user = ScriptedUser()
    layer = Layer()
    with FunctionShell(None, converse=user):
        layer.scale(tf.constant([1.0]), parts={"factor": tf.constant(2.0)})
    assert user.calls[0].what == "scale"
    feeds = {name: value.tolist() for name, value in user.calls[0].feeds.items()}
    assert feeds == {"x": [1.0], "parts/factor": 2.0}


def test_functions_that_run_eagerly_are_calls() -> None:
    tf.config.run_functions_eagerly(True)
    try:
        assert calls_of(lambda: outer(tf.constant([1.0]))) == ["outer"]
    finally:
        tf.config.run_functions_eagerly(False)


def test_compiled_functions_are_calls_and_stop_at_bad_values() -> None:
    compiled = tf.function(lambda x: tf.sqrt(x) + 1.0, jit_compile=True)
    seen: list[list[str]] = []
    user = ScriptedUser(
        [TILL_BAD], lambda shell: seen.append(tensors(shell, "-f has_inf_or_nan") if shell.logdir else [])
    )
    with FunctionShell(None, converse=user):
        compiled(tf.constant([1.0]))
        compiled(tf.constant([-1.0]))
    assert user.stops == [">1", "2>"]
    assert "Sqrt:0" in seen[1]


def test_functions_of_input_pipelines_are_no_calls() -> None:
    def program() -> float:
        data = tf.data.Dataset.range(1, 5).map(lambda x: inner(tf.cast(x, tf.float32))).batch(2)
        return sum(float(tf.reduce_sum(batch)) for batch in data)

    assert calls_of(program) == []


def test_a_replicated_step_is_a_call() -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    step = tf.function(lambda x: strategy.run(inner, args=(x,)))
    assert len(calls_of(lambda: [step(tf.constant([1.0])), step(tf.constant([2.0]))])) == 2


def trained(fit: Callable[[tf.keras.Model], None], **options: object) -> list[bytes]:
    """Returns the weights of a model that a function trains."""
    model = dropout_model("sgd", **options)
    tf.keras.utils.set_random_seed(2)
    fit(model)
    return [weight.tobytes() for weight in model.get_weights()]


def _fit(model: tf.keras.Model) -> None:
    model.fit(X, Y, batch_size=4, epochs=2, verbose=0, validation_data=(X, Y))


def _train_on_batch(model: tf.keras.Model) -> None:
    for _ in range(3):
        model.train_on_batch(X, Y)


@pytest.mark.parametrize(
    ("fit", "options", "num_calls"),
    [
        (_fit, {}, 2 * (2 + 2)),
        (_fit, {"steps_per_execution": 2}, 2 * (1 + 1)),
        (_train_on_batch, {}, 3),
    ],
    ids=["fit", "several steps in a call", "train_on_batch"],
)
def test_training_has_the_same_bits_and_each_step_is_a_call(
    fit: Callable[[tf.keras.Model], None], options: dict[str, object], num_calls: int
) -> None:
    plain = trained(fit, **options)
    numbers: list[int] = []

    def under_the_shell(model: tf.keras.Model) -> None:
        user = ScriptedUser([RunRequest(), RunRequest(times=2), TILL_BAD])
        with FunctionShell(None, converse=user) as made:
            fit(model)
            numbers.append(made.num_calls)

    assert trained(under_the_shell, **options) == plain
    assert numbers == [num_calls]


def test_a_loop_has_the_same_bits_with_a_plain_run_a_search_and_without_records() -> None:
    def results(*script: RunRequest) -> list[bytes]:
        w = tf.Variable(tf.ones([8, 8]) * 0.1)

        @tf.function
        def step(x: tf.Tensor) -> tf.Tensor:
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.nn.softmax(x @ w) ** 2)
            w.assign_sub(tape.gradient(loss, w))
            return loss

        def run() -> list[bytes]:
            x = tf.reshape(tf.linspace(-1.0, 1.0, 32), [4, 8])
            return [step(x).numpy().tobytes() for _ in range(4)] + [w.numpy().tobytes()]

        if not script:
            return run()
        with FunctionShell(None, converse=ScriptedUser(list(script))):
            return run()

    plain = results()
    assert results(RunRequest()) == results(TILL_BAD) == results(RunRequest(times=9)) == plain
    assert results(RunRequest(is_recorded=False, times=9)) == plain


def test_the_shell_of_a_call_holds_no_other_calls() -> None:
    lengths: list[tuple[int, int]] = []

    def look(shell: Shell) -> None:
        if shell.logdir is not None:
            lengths.append((len(shell.run.executions()), len(tensors(shell))))

    with FunctionShell(None, converse=ScriptedUser([], look)):
        for at in range(4):
            outer(tf.constant([float(at + 1)]))
    assert len(set(lengths[1:])) == 1, lengths
