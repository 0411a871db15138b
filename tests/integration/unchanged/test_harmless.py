"""`capture`: recording changes no result, no error message and no saved graph of the program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.examples import buggy_digits
from tests.support.recorded import read

pytestmark = pytest.mark.tensorflow


def weights_after(steps: int, *, fixed: bool) -> list[bytes]:
    model = buggy_digits.train(steps, fixed=fixed, report=lambda *_: None)
    return [variable.numpy().tobytes() for variable in model.variables]


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("mode", ["FULL_HEALTH", "SHAPE", "FULL_TENSOR"])
def test_the_examples_weights_are_the_same_bits_after_20_steps(
    tmp_path: Path, mode: str, fixed: bool
) -> None:
    plain = weights_after(20, fixed=fixed)
    with tb_debugger_plugin.record(tmp_path, mode) as recording:
        recorded = weights_after(20, fixed=fixed)
        assert recording.on
    assert recorded == plain


def test_an_error_message_names_the_same_lines_as_without_us(tmp_path: Path) -> None:
    def message() -> str:
        @tf.function(input_signature=[tf.TensorSpec([None])])
        def wrong(x: tf.Tensor) -> tf.Tensor:
            return tf.reshape(x, [tf.shape(x)[0] * 2, 3])

        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            wrong(tf.ones([4]))
        return str(caught.value).split(" [Op:")[0]

    # From one line, so that the two messages differ in nothing but what they should not.
    messages = []
    for record in (False, True):
        if record:
            tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH")
        messages.append(message())
    assert "in wrong" in messages[0]
    assert messages[1] == messages[0]


def test_the_python_graph_of_a_function_stays_as_the_program_built_it(tmp_path: Path) -> None:
    def op_types(make: Callable[[], tf.types.experimental.GenericFunction]) -> list[str]:
        return [op.type for op in make().get_concrete_function(tf.ones([2])).graph.get_operations()]

    def function() -> tf.types.experimental.GenericFunction:
        return tf.function(lambda x: tf.math.log(x) + 1.0)

    plain = op_types(function)
    with tb_debugger_plugin.record(tmp_path):
        assert op_types(function) == plain


def ops_in_the_runtime() -> set[str]:
    """The types of all ops in all functions that TensorFlow has."""
    from tensorflow.python.eager import context
    from tensorflow.python.eager.polymorphic_function import atomic_function

    runtime = context.context()
    names = {name for _, name in atomic_function.RUNTIME_FUNCTION_REFS}
    # The class's method: an instance may show something else.
    definitions = [
        context.Context.get_function_def(runtime, name) for name in names if runtime.has_function(name)
    ]
    return {node.op for definition in definitions for node in definition.node_def}


def test_functions_traced_while_recording_are_the_programs_own_after_it(tmp_path: Path) -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(x, name="sqrt")

    @tf.function(jit_compile=True)
    def compiled(x: tf.Tensor) -> tf.Tensor:
        return inner(x)

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        return inner(x) + compiled(x)

    x = tf.constant([4.0])
    with tb_debugger_plugin.record(tmp_path):
        outer(x)
        assert "TbDebuggerWatchInline" in ops_in_the_runtime()
    assert not [op_type for op_type in ops_in_the_runtime() if "Debug" in op_type]
    np.testing.assert_array_equal(outer(x), [4.0])
    np.testing.assert_array_equal(compiled(tf.constant([9.0, 4.0])), [3.0, 2.0])
    assert len(read(tmp_path).of("sqrt")) == 2


def test_a_failure_of_ours_in_an_eager_op_is_said_once_and_the_program_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    recording = tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH")
    monkeypatch.setattr(recording, "_eager", None)
    np.testing.assert_array_equal(tf.sqrt([4.0]), [2.0])
    np.testing.assert_array_equal(tf.square([4.0]), [16.0])
    assert not recording.on
    (said,) = [record.getMessage() for record in caplog.records if record.name == "tb_debugger_plugin"]
    assert "stopped recording" in said


def test_without_the_native_library_the_stock_ops_record_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "load", lambda: None)
    plain = weights_after(5, fixed=True)
    with tb_debugger_plugin.record(tmp_path / "stock") as recording:
        assert weights_after(5, fixed=True) == plain
        assert recording.on
    monkeypatch.undo()
    with tb_debugger_plugin.record(tmp_path / "native"):
        weights_after(5, fixed=True)

    def tensors(name: str) -> list[tuple[str, str, int, list[float]]]:
        # The stock ops have constants recorded when a function is watched, ours when it first runs.
        traces = [trace for trace in read(tmp_path / name).traces if trace.op_type != "Const"]
        return sorted((t.function.rstrip("0123456789"), t.op_name, t.slot, t.without_id) for t in traces)

    assert tensors("stock") == tensors("native")
