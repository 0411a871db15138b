"""`techniques`: values inside functions are returned, changed, and have their gradients looked at."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import fetch, gradient_of, interpose
from tb_debugger_plugin.errors import UsageError

pytestmark = pytest.mark.tensorflow

_KERNEL = tf.Variable([[1.0, -2.0], [3.0, 4.0]])
_X = np.array([[1.0, 2.0]], np.float32)


@tf.function
def inner(h: tf.Tensor) -> tf.Tensor:
    return tf.nn.relu(h, name="active")


@tf.function
def model(x: tf.Tensor) -> tf.Tensor:
    hidden = tf.identity(tf.matmul(x, _KERNEL), name="hidden")
    first, _ = tf.split(inner(hidden), 2, axis=1, name="parts")
    for _ in tf.range(3):
        first = tf.add(first, 1.0, name="counted")
    return tf.reduce_sum(first * first)


@tf.function
def step(x: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as tape:
        loss = model(x)
    _KERNEL.assign_sub(0.0 * tape.gradient(loss, _KERNEL))
    return loss


def test_tensors_of_functions_nested_functions_and_loops_are_fetched_by_name() -> None:
    plain = model(_X)
    result, values = fetch(model, ["hidden", "active:0", "parts", "counted", "^MatMul$"])(_X)
    assert result.numpy() == plain.numpy()
    assert values.keys() == {"hidden", "active:0", "parts:0", "parts:1", "counted", "MatMul:0"}
    assert np.array_equal(values["hidden"], _X @ _KERNEL.numpy())
    assert np.array_equal(values["active:0"], np.maximum(values["hidden"], 0.0))
    assert np.array_equal(values["parts:0"], np.asarray(values["active:0"])[:, :1])
    assert [float(np.squeeze(value)) for value in values["counted"]] == [8.0, 9.0, 10.0]


def test_gradients_and_whole_programs_are_fetched() -> None:
    def program() -> str:
        for _ in range(2):
            step(_X)
        return "done"

    done, found = fetch(program, "gradients/MatMul_grad/MatMul_1")()
    (values,) = found.values()
    assert done == "done" and len(values) == 2 and values[0].shape == (2, 2)


def test_tensors_of_a_layer_of_keras_are_fetched() -> None:
    layers = tf.keras.layers
    net = tf.keras.Sequential([tf.keras.Input([2]), layers.Dense(3, name="wide"), layers.Dense(1)])
    net.compile("sgd", "mse", jit_compile=False)
    _, values = fetch(net.fit, "wide")(_X, _X[:, :1], verbose=0, epochs=2)
    products = [value for name, value in values.items() if re.search("^sequential.*MatMul:0", name)]
    assert len(products) == 1 and len(products[0]) == 2 and products[0][0].shape == (1, 3)


def test_a_name_that_is_nowhere_is_refused_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No tensor 'hiden' was computed; did you mean 'hidden'"):
        fetch(model, "hiden")(_X)
    with pytest.raises(UsageError, match="No tensor 'x y' was computed"):
        fetch(lambda: 1, "x y")()
    with pytest.raises(UsageError, match="names is empty"):
        fetch(model, [])
    with tb_debugger_plugin.record(tmp_path), pytest.raises(UsageError, match="one recording at a time"):
        fetch(model, "hidden")(_X)
    compiled = tf.function(lambda x: tf.exp(tf.sin(x), name="inside"), jit_compile=True)
    with pytest.raises(UsageError, match="XLA compiles cannot be fetched"):
        fetch(compiled, "Sin")(tf.ones([2]))


def test_a_failing_call_raises_its_own_error() -> None:
    def fails() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fetch(fails, "x")()
    assert np.isfinite(model(_X))


def test_gradients_of_tensors_by_name() -> None:
    def loss(x: tf.Tensor) -> tf.Tensor:
        hidden = tf.multiply(x, 3.0, name="hidden")
        tf.add(x, 1.0, name="unused")
        return tf.reduce_sum(tf.square(hidden, name="squares"))

    for function in (loss, tf.function(loss)):
        names = ["hidden", "squares:0", "unused", "hid[a-z]*"]
        value, gradients = gradient_of(function, names)(tf.constant([1.0, 2.0]))
        assert value.numpy() == 45.0 and gradients["unused"] is None
        assert gradients.keys() == {"hidden", "squares:0", "unused", "hidden:0"}
        assert gradients["hidden"] is not None and (gradients["hidden"] == [6.0, 12.0]).all()
        assert gradients["squares:0"] is not None and (gradients["squares:0"] == [1.0, 1.0]).all()
    with pytest.raises(UsageError, match="The function has no tensor 'hiden'; did you mean 'hidden'"):
        gradient_of(loss, "hiden")(tf.constant([1.0]))


def test_gradients_through_variables_of_keras() -> None:
    net = tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Dense(1, use_bias=False)])
    kernel = net.weights[0].numpy()
    (names,) = (["sequential.*MatMul"],)
    _, gradients = gradient_of(lambda x: 2.0 * net(x), names)(tf.constant(_X))
    (gradient,) = gradients.values()
    assert gradient is not None and (gradient == [[2.0]]).all()
    assert np.array_equal(net.weights[0].numpy(), kernel)


def _fourth(value: np.ndarray) -> np.ndarray:
    return list(value)[3]


def _clip(value: np.ndarray) -> np.ndarray:
    return np.clip(value, 0.0, 3.0)


def test_interposed_python_changes_values_in_eager_mode_functions_and_loops() -> None:
    assert interpose(tf.constant([1.0, 5.0]), _clip).numpy().tolist() == [1.0, 3.0]

    @tf.function
    def doubled(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(2):
            x = interpose(2.0 * x, _clip)
        return x

    assert doubled(tf.constant([1.0, 2.0])).numpy().tolist() == [3.0, 3.0]
    words = tf.function(lambda x: interpose(x, lambda value: value[::-1]))
    assert words(tf.constant(["a", "b"])).numpy().tolist() == [b"b", b"a"]


def test_gradients_pass_straight_through_and_can_be_looked_at_and_changed() -> None:
    seen: list[np.ndarray] = []

    def third(upstream: np.ndarray) -> np.ndarray:
        seen.append(upstream)
        return upstream / 3.0

    def cube(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(2):
            x = interpose(
                3.0 * x, seen.append, gradient=lambda upstream: seen.append(upstream) or upstream / 3.0
            )
        return tf.reduce_sum(x)

    for function in (cube, tf.function(cube)):
        seen.clear()
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x)
        assert y.numpy() == 27.0
        assert tape.gradient(y, x).numpy().tolist() == [1.0, 1.0]
        assert [one.tolist() for one in seen] == [[3.0, 6.0], [9.0, 18.0], [1.0, 1.0], [1.0, 1.0]]


def test_the_users_function_may_write_to_its_argument_and_does_not_change_the_tensor() -> None:
    x = tf.constant([1.0, 2.0])

    def write(value: np.ndarray) -> None:
        value[:] = 7.0

    assert interpose(x, write).numpy().tolist() == [1.0, 2.0]
    assert tf.function(lambda x: interpose(x, write) + x)(x).numpy().tolist() == [2.0, 4.0]


def test_errors_of_the_users_function_show_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        interpose(tf.constant([1.0]), lambda value: 1 // int(value[0] - 1.0))
    with pytest.raises(tf.errors.OpError) as caught:
        tf.function(lambda x: interpose(x, _fourth))(tf.constant([1.0]))
    text = str(caught.value)
    assert "IndexError: list index out of range" in text
    assert f'File "{__file__}", line ' in text and "in _fourth" in text
    if sys.version_info >= (3, 11):
        assert "interpose() is called at test_values.py:" in text
    with pytest.raises(UsageError, match=r"got a value of shape \[1\] and returned one of shape \[2\]"):
        interpose(tf.constant([1.0]), lambda value: [1.0, 2.0])


def test_a_functional_model_of_keras_is_interposed() -> None:
    inputs = tf.keras.Input([2])
    outputs = tf.keras.layers.Dense(1, kernel_initializer="ones")(interpose(inputs, _clip))
    net = tf.keras.Model(inputs, outputs)
    net.compile("sgd", "mse")
    assert net.predict(np.array([[1.0, 9.0]], np.float32), verbose=0).tolist() == [[4.0]]
    net.fit(_X, _X[:, :1], verbose=0)


def test_xla_is_refused_with_what_helps() -> None:
    with pytest.raises(UsageError, match=r"interpose\(\) calls Python.*jit_compile=False"):
        tf.function(lambda x: interpose(x, _clip), jit_compile=True)(tf.constant([1.0]))
