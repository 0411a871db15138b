"""`capture/placement.py`: TensorFlow's own op reduces tensors of other devices to the same numbers.

The test machine has one kind of device, so the tests pretend that everything is on another one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.capture import placement
from tests.support.recorded import counts, read, summary

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # Keras's own
]

X = np.array([0.0, 1.0, np.nan, -4.0], np.float32)


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement, "may_be_elsewhere", lambda device: True)


def ops_in_the_runtime(function: tf.types.experimental.GenericFunction, *arguments: tf.Tensor) -> list[str]:
    from tensorflow.python.eager import context

    name = function.get_concrete_function(*arguments).name
    definition = context.Context.get_function_def(context.context(), name)
    return [node.op for node in definition.node_def]


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    "dtype", [tf.float16, tf.float32, tf.float64, tf.bfloat16], ids=lambda dtype: dtype.name
)
@pytest.mark.parametrize("mode", ["CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "SHAPE", "NO_TENSOR"])
def test_numbers_from_another_device_are_those_of_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, dtype: tf.DType
) -> None:
    def run(folder: Path) -> tuple[dict[str, list[float]], list[list[float]]]:
        @tf.function
        def function(x: tf.Tensor) -> tf.Tensor:
            return tf.reshape(tf.negative(x, name="negative"), [2, 2], name="reshaped")

        x = tf.constant(X, dtype)
        with tb_debugger_plugin.record(folder, mode):
            function(x)
            tf.negative(x)
        recorded = read(folder)
        # The first number is the id of the tensor.
        traces = {t.op_name: t.without_id for t in recorded.traces}
        (eager,) = (e for e in recorded.executions if e.op_type == "Neg")
        return traces, [summary(proto)[1:] for proto in eager.tensor_protos]

    reduced = run(tmp_path / "elsewhere")
    monkeypatch.undo()
    assert run(tmp_path / "host") == reduced
    assert {"x", "negative", "reshaped"} <= set(reduced[0])


@pytest.mark.usefixtures("elsewhere")
def test_only_numbers_leave_the_device(tmp_path: Path) -> None:
    function = tf.function(lambda x, i: (tf.exp(x, name="exp"), i + 1))
    x, i = tf.constant(X), tf.constant(1)
    with tb_debugger_plugin.record(tmp_path):
        function(x, i)
        ops = ops_in_the_runtime(function, x, i)
    assert ops.count("DebugNumericSummaryV2") == ops.count("TbDebuggerWatchReduced") == 2
    assert not {"TbDebuggerWatch", "TbDebuggerWatchInline"} & set(ops)
    with np.errstate(all="ignore"):
        assert read(tmp_path).counts_of("exp") == [counts(np.exp(X))]


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize("mode", ["FULL_NUMERICS", "FULL_TENSOR"])
def test_modes_that_want_more_get_what_can_be_had(tmp_path: Path, mode: str) -> None:
    with tb_debugger_plugin.record(tmp_path, mode):
        tf.function(lambda x: tf.exp(x, name="exp"))(tf.constant(X))
    (trace,) = (one for one in read(tmp_path).records("graph_execution_trace") if one.op_name == "exp")
    with np.errstate(all="ignore"):
        if mode == "FULL_TENSOR":
            np.testing.assert_allclose(np.frombuffer(trace.tensor_proto.tensor_content, "<f4"), np.exp(X))
        else:
            assert summary(trace.tensor_proto)[4:] == counts(np.exp(X))  # and says that it is no more
            assert trace.tensor_debug_mode == 4


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        ("", True),
        ("/device:GPU:0", True),
        ("/device:CPU:0", False),
        ("/job:worker/task:1/device:CPU:1", False),
    ],
)
def test_what_the_program_put_on_a_cpu_is_there(
    monkeypatch: pytest.MonkeyPatch, device: str, expected: bool
) -> None:
    assert not placement.may_be_elsewhere(device)  # this machine has nothing else
    monkeypatch.setattr(placement, "has_other_devices", lambda: True)
    assert placement.may_be_elsewhere(device) is expected


HOST = "/job:localhost/replica:0/task:0/device:"


@pytest.mark.parametrize("is_native", [True, False], ids=["native", "stock"])
def test_constants_name_their_device_as_other_tensors_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_native: bool
) -> None:
    if not is_native:
        monkeypatch.setattr(native, "load", lambda: None)

    @tf.function
    def function(x: tf.Tensor) -> tf.Tensor:
        with tf.device("/cpu:0"):
            placed = tf.constant([1.0, 2.0], name="placed")
        return tf.exp(x) * placed + tf.constant([3.0, 4.0], name="anywhere")

    with tb_debugger_plugin.record(tmp_path):
        function(tf.ones([2]))
    devices = {one.op_name: one.device_name for one in read(tmp_path).records("graph_execution_trace")}
    assert {"placed", "anywhere", "Exp"} <= set(devices)
    assert set(devices.values()) == {HOST + "CPU:0"}


@pytest.mark.parametrize(
    ("device", "expected", "expected_beside_a_gpu"),
    [
        ("", HOST + "CPU:0", ""),
        ("/device:CPU:*", HOST + "CPU:0", HOST + "CPU:0"),
        ("/device:CPU:1", HOST + "CPU:1", HOST + "CPU:1"),
        ("/device:GPU:1", HOST + "GPU:1", HOST + "GPU:1"),
    ],
)
def test_a_device_gets_its_full_name_where_it_is_certain(
    monkeypatch: pytest.MonkeyPatch, device: str, expected: str, expected_beside_a_gpu: str
) -> None:
    assert placement.full_name(device) == expected
    monkeypatch.setattr(placement, "has_other_devices", lambda: True)
    assert placement.full_name(device) == expected_beside_a_gpu
