"""`capture`: recording changes no result, no error message and no saved graph of the program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    def op_types(make: Callable[[], Any]) -> list[str]:
        return [op.type for op in make().get_concrete_function(tf.ones([2])).graph.get_operations()]

    def function() -> Any:
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


def test_what_is_saved_while_recording_holds_nothing_of_ours(tmp_path: Path) -> None:
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None])])
        def inner(self, x: tf.Tensor) -> tf.Tensor:
            return tf.sqrt(x)

        @tf.function(input_signature=[tf.TensorSpec([None])])
        def __call__(self, x: tf.Tensor) -> tf.Tensor:
            for _ in tf.range(2):
                x = self.inner(x)
            return x

    with tb_debugger_plugin.record(tmp_path / "log"):
        model = Model()
        model(tf.constant([16.0]))
        tf.saved_model.save(model, str(tmp_path / "while"))
        graph = model.__call__.get_concrete_function().graph.as_graph_def(add_shapes=True)
        loaded = tf.saved_model.load(str(tmp_path / "while"))
        np.testing.assert_array_equal(loaded(tf.constant([16.0])), [2.0])
    tf.saved_model.save(model, str(tmp_path / "after"))
    assert b"TbDebugger" not in graph.SerializeToString()
    for name in ("while", "after"):
        assert b"TbDebugger" not in (tmp_path / name / "saved_model.pb").read_bytes()
    # The loaded model's functions are seen as well.
    assert len([t for t in read(tmp_path / "log").traces if t.op_type == "Sqrt"]) == 4


def test_a_function_that_cannot_be_watched_is_named_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from tb_debugger_plugin.capture.engines import instrument

    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("a bug of ours")

    with tb_debugger_plugin.record(tmp_path) as recording:
        monkeypatch.setattr(instrument, "define", broken)
        np.testing.assert_array_equal(tf.function(lambda x: tf.sqrt(x))(tf.constant([4.0])), [2.0])
        monkeypatch.undo()
        np.testing.assert_array_equal(tf.function(lambda x: tf.square(x))(tf.constant([4.0])), [16.0])
        assert recording.on
    (said,) = [record.getMessage() for record in caplog.records if record.name == "tb_debugger_plugin"]
    assert "does not watch the function __inference_" in said
    assert "a bug of ours" in said
    assert "Square" in read(tmp_path).types()
    assert "Sqrt" not in read(tmp_path).types()


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


def test_a_disk_that_fails_ends_the_recording_and_not_the_program(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    recording = tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH", -1)
    writer = recording._sink._files  # type: ignore[attr-defined]
    writer.close()  # every later write of a graph fails
    function = tf.function(tf.sqrt)
    np.testing.assert_array_equal(function(tf.constant([4.0])), [2.0])
    assert not recording.on
    assert "stopped recording" in caplog.text


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

    def tensors(name: str) -> list[Any]:
        # The stock ops have constants recorded when a function is watched, ours when it first runs.
        traces = [trace for trace in read(tmp_path / name).traces if trace.op_type != "Const"]
        return sorted((t.function.rstrip("0123456789"), t.op_name, t.slot, t.without_id) for t in traces)

    assert tensors("stock") == tensors("native")
