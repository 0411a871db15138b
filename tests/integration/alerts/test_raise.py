"""`capture/alarm.py`: a program stops at its first bad value, with the reason in the error."""

from __future__ import annotations

import pickle
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.capture import api
from tb_debugger_plugin.errors import NumericsError, UsageError

pytestmark = pytest.mark.tensorflow


@pytest.fixture
def checked() -> Iterator[None]:
    """Bad values raise until the test ends."""
    tb_debugger_plugin.check_numerics()
    yield
    tb_debugger_plugin.disable_check_numerics()


def raised(call: Callable[[], object]) -> str:
    """Return the text of the error that a call raises, which TensorFlow's class of errors catches too."""
    with pytest.raises(tf.errors.InvalidArgumentError) as caught:
        call()
    assert isinstance(caught.value, tb_debugger_plugin.NumericsError)
    return str(caught.value)


@tf.function
def cross_entropy(probs: tf.Tensor) -> tf.Tensor:
    return -tf.reduce_mean(probs * tf.math.log(probs))


def test_the_error_of_a_function_names_op_line_inputs_and_cause(checked: None) -> None:
    assert np.isfinite(cross_entropy(tf.constant([0.5, 0.5])))
    for place in (" Its first bad element is [0] of [2].", ""):
        first, what, why, where, *_ = raised(lambda: cross_entropy(tf.constant([0.0, 1.0]))).split("\n")
        assert first.startswith("Infinity in the output of Log in cross_entropy, test_raise.py:")
        assert what == f"Log (tensor Log:0 in function cross_entropy) produced 1 −∞ out of 2 values.{place}"
        assert why == "Its input probs:0 held 1 zero: the logarithm of 0 is −∞."
        assert where.endswith("return -tf.reduce_mean(probs * tf.math.log(probs))")
    # The program may go on after it has caught the error.
    assert np.isfinite(cross_entropy(tf.constant([0.5, 0.5])))


def test_an_eager_op_raises_on_its_line(checked: None) -> None:
    text = raised(lambda: tf.math.log(tf.constant([-1.0])))
    assert text.startswith("NaN in the output of Log in <lambda>, test_raise.py:")
    assert np.isfinite(tf.math.log(tf.constant(2.0)))


def test_what_is_computed_from_a_bad_value_does_not_run(checked: None) -> None:
    # Large: these tensors are counted beside the program.
    weights = tf.Variable(tf.ones([300, 300]))

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sqrt(weights * x))
        weights.assign_sub(0.1 * tape.gradient(loss, weights))
        return loss

    text = raised(lambda: step(tf.constant(0.0)))
    assert text.startswith("Infinity in the output of SqrtGrad in step, test_raise.py:")
    assert (weights.numpy() == 1.0).all()


def test_loops_gradients_and_py_functions_raise(checked: None) -> None:
    @tf.function
    def halved(x: tf.Tensor) -> tf.Tensor:
        for _ in tf.range(3):
            x = tf.sqrt(x - 1.0)
        return x

    assert raised(lambda: halved(tf.constant(2.0))).startswith("NaN in the output of Sqrt in halved, ")

    def python(x: tf.Tensor) -> tf.Tensor:
        return tf.py_function(tf.math.log, [x], tf.float32)

    assert "the logarithm of 0 is −∞" in raised(lambda: tf.function(python)(tf.constant(0.0)))


def test_a_compiled_function_raises_after_its_call(checked: None) -> None:
    compiled = tf.function(lambda x: tf.sqrt(x) + 1.0, jit_compile=True)
    assert np.isfinite(compiled(tf.constant([4.0])))
    assert raised(lambda: compiled(tf.constant([-1.0]))).startswith(
        "NaN in the output of Sqrt, test_raise.py:"
    )


def test_input_pipelines_sessions_and_other_threads_raise(checked: None) -> None:
    numbers = tf.data.Dataset.range(3).map(lambda i: 1.0 / tf.cast(i - 1, tf.float32))
    assert "x / 0 is infinite" in raised(lambda: list(numbers))
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        x = tf.compat.v1.placeholder(tf.float32, [])
        y = tf.math.log(x) * 2.0
        assert "the logarithm of 0 is −∞" in raised(lambda: session.run(y, {x: 0.0}))
        assert session.run(y, {x: 1.0}) == 0.0
    texts: list[str] = []
    thread = threading.Thread(target=lambda: texts.append(raised(lambda: tf.math.log(tf.constant(0.0)))))
    thread.start()
    thread.join()
    assert texts[0].startswith("Infinity in the output of Log")


def test_keras_training_raises(checked: None) -> None:
    model = tf.keras.Sequential(
        [tf.keras.Input([2]), tf.keras.layers.Dense(1), tf.keras.layers.Lambda(tf.math.log)]
    )
    model.compile("sgd", "mse")
    x = np.zeros([4, 2], np.float32)
    assert "Log" in raised(lambda: model.fit(x, x[:, :1], verbose=0)).split("\n")[0]


def trained_weights() -> list[bytes]:
    tf.keras.utils.set_random_seed(1)
    layers = tf.keras.layers
    # Wide layers have tensors that are counted beside the program.
    net = tf.keras.Sequential(
        [tf.keras.Input([20]), layers.Dense(400, "relu"), layers.Dense(300), layers.Dense(1)]
    )
    net.compile("adam", "mse", jit_compile=False)
    x = np.random.default_rng(0).normal(size=[600, 20]).astype(np.float32)
    net.fit(x, x[:, :1], batch_size=300, verbose=0)
    return [weight.numpy().tobytes() for weight in net.weights]


def test_healthy_programs_compute_the_bits_of_a_recording(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path):
        recorded = trained_weights()
    tb_debugger_plugin.check_numerics()
    checked = trained_weights()
    tb_debugger_plugin.disable_check_numerics()
    assert checked == recorded


def test_a_constant_mask_is_meant_and_nan_is_not(checked: None) -> None:
    mask = np.array([0.0, -np.inf], np.float32)

    @tf.function
    def attention(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.softmax(x + tf.constant(mask))

    assert (attention(tf.ones([2])).numpy() == [1.0, 0.0]).all()
    assert raised(lambda: attention(tf.constant([np.nan, 1.0]))).startswith("NaN in the output of ")


def test_kinds_and_ignored_ops_do_not_raise() -> None:
    zero = tf.constant([0.0])
    tb_debugger_plugin.check_numerics(kinds=["nan"])
    assert np.isinf(tf.function(tf.math.log)(zero))
    assert "NaN" in raised(lambda: tf.math.log(zero) * 0.0)
    tb_debugger_plugin.check_numerics(ignore=["Log", "(^|/)meant/"])

    @tf.function
    def named(x: tf.Tensor) -> tf.Tensor:
        with tf.name_scope("meant"):
            x = 1.0 / x
        return tf.minimum(x, 0.0)

    assert np.isinf(tf.math.log(zero)) and named(zero) == 0.0
    assert raised(lambda: tf.math.log(zero) + 1.0).startswith("Infinity in the output of AddV2")
    # The scratch outputs of an empty batch are NaN.
    norm = tf.compat.v1.nn.fused_batch_norm
    assert norm(tf.zeros([0, 2, 2, 1]), tf.ones([1]), tf.ones([1]))[0].shape[0] == 0
    tb_debugger_plugin.disable_check_numerics()


def test_the_temporary_folder_is_removed_and_nothing_is_checked_afterwards() -> None:
    tb_debugger_plugin.check_numerics(30, 50)
    tb_debugger_plugin.check_numerics(stack_height_limit=10)
    recording = api.running()
    assert recording is not None and Path(recording.dump_root).is_dir()
    tb_debugger_plugin.disable_check_numerics()
    tb_debugger_plugin.disable_check_numerics()
    assert not Path(recording.dump_root).exists()
    assert np.isinf(cross_entropy(tf.constant([0.0, 1.0]))) or np.isnan(
        cross_entropy(tf.constant([0.0, 1.0]))
    )


def test_a_recording_raises_and_holds_the_value(tmp_path: Path) -> None:
    with (
        pytest.raises(NumericsError) as caught,
        tb_debugger_plugin.record(tmp_path, "CURT_HEALTH", on_alert="raise"),
    ):
        cross_entropy(tf.constant([0.0, 1.0]))
    bad = caught.value.bad_value
    assert (bad.op_type, bad.op_name, bad.kind) == ("Log", "Log", "NaN or infinity")
    assert bad.line.startswith(f"{__file__}:")
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    with tb_debugger_plugin.open_run(tmp_path) as run:
        reason = run.why()
        assert reason is not None and reason.headline == bad.headline
        assert "Log" in [row.op_name for row in run.graph_executions(health="bad")]


def test_the_rule_of_bad_values_stands_for_all_kinds(tmp_path: Path) -> None:
    with (
        pytest.raises(NumericsError, match="logarithm of 0"),
        tb_debugger_plugin.record(tmp_path, on_alert="raise", alert_kinds="InfNanAlert"),
    ):
        cross_entropy(tf.constant([0.0, 1.0]))


def test_wrong_arguments_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="give 'raise', 'stop', or a function"):
        tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH", on_alert="rise")
    with pytest.raises(UsageError, match="looks at elements"):
        tb_debugger_plugin.enable_dump_debug_info(tmp_path, "SHAPE", on_alert="raise")
    with pytest.raises(UsageError, match="need on_alert"):
        tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH", ignore_alerts="Log")
    with pytest.raises(UsageError, match="not a regular expression"):
        tb_debugger_plugin.check_numerics(ignore="(")
    with pytest.raises(UsageError, match="give alert_rules=\\['GrowingAlert'\\]"):
        tb_debugger_plugin.enable_dump_debug_info(
            str(tmp_path), "FULL_NUMERICS", on_alert="raise", alert_kinds=["GrowingAlert"]
        )
    with pytest.raises(UsageError, match="some of 'nan', 'inf'"):
        tb_debugger_plugin.check_numerics(kinds=["zero"])
    with tb_debugger_plugin.record(tmp_path):
        with pytest.raises(UsageError, match="give on_alert='raise' to its"):
            tb_debugger_plugin.check_numerics()
        with pytest.raises(UsageError, match="recorded with on_alert None"):
            tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH", -1, on_alert="raise")
    monkeypatch.setattr(native, "load", lambda: None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    with pytest.raises(UsageError, match="do not support on_alert"):
        tb_debugger_plugin.check_numerics()
    assert list((tmp_path / "temporary").iterdir()) == []
