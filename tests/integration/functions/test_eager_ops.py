"""`capture/eager.py`: ops that Python runs, also those that the native library records without Python."""

from __future__ import annotations

import gc
import re
import threading
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context, execute

import tb_debugger_plugin
from tb_debugger_plugin.capture import eager
from tb_debugger_plugin.capture.instrumentation import Instrumentation
from tb_debugger_plugin.capture.sinks.native import NativeSink
from tests.support.recorded import read

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(120)]


def _without_native_callback(patch: pytest.MonkeyPatch) -> None:
    init = NativeSink.__init__

    def without(self: NativeSink, *args: object, **kwargs: object) -> None:
        init(self, *args, **kwargs)
        self.op_callback = lambda *_: None

    patch.setattr(NativeSink, "__init__", without)


def _program() -> None:
    weight = tf.Variable([[1.0, 2.0]])
    texts = tf.constant(["a", "b"])

    @tf.function
    def half(x: tf.Tensor) -> tf.Tensor:
        return x / 2.0

    for step in range(3):
        with tf.GradientTape() as tape:
            first, second = tf.split(weight * tf.cast(step, tf.float32), 2, axis=1)
            loss = tf.reduce_sum(half(first)) + tf.math.log(tf.reduce_sum(second))
        weight.assign_sub(0.1 * tf.cast(step == 0, tf.float32) * tape.gradient(loss, weight))
        tf.unique(tf.constant([1, 1, 2]))
        tf.strings.join([texts, texts])
        tf.complex(loss, 1.0)
        tf.ragged.constant([[1.0], [2.0, 3.0]]).with_values([1.0, np.nan, np.inf])
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.reshape(texts, [3])
        thread = threading.Thread(target=lambda: tf.sqrt(tf.constant([-1.0, 0.0])))
        thread.start()
        thread.join()
        tb_debugger_plugin.step()


def _rows(folder: Path) -> list[tuple[object, ...]]:
    """Return what executions say, with numbers of tensors by their order."""
    recorded, order = read(folder), dict[int, int]()
    frames = {each.stack_frame_with_id.id: each for each in recorded.events["stack_frames"]}
    rows = []
    for event in recorded.events["execution"]:
        one = event.execution
        if not one.op_type:
            continue
        numbers = [order.setdefault(i, len(order)) for i in (*one.input_tensor_ids, *one.output_tensor_ids)]
        stack = [frames[i].stack_frame_with_id.file_line_col for i in one.code_location.stack_frame_ids]
        values = [proto.SerializeToString() for proto in one.tensor_protos]
        lines = [(frame.line, frame.func) for frame in stack]
        name = re.sub(r"_\d+", "", one.op_type)
        row = (name, numbers, values, lines, list(one.output_tensor_device_ids), one.num_outputs)
        rows.append((*row, event.step, one.thread_id, bool(one.graph_id), one.tensor_debug_mode))
    return rows


@pytest.mark.parametrize("mode", ["FULL_HEALTH", "NO_TENSOR", "FULL_TENSOR", "SHAPE"])
def test_the_native_library_records_what_python_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    rows = []
    for folder in ("native", "python"):
        with monkeypatch.context() as patch:
            if folder == "python":
                _without_native_callback(patch)
            with tb_debugger_plugin.record(tmp_path / folder, mode=mode):
                _program()
        rows.append(_rows(tmp_path / folder))
    native, python = rows
    assert len(native) > 60
    assert native == python


def test_python_sees_an_op_only_when_its_stack_or_thread_is_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    on_op = eager.EagerOps.on_op

    def noting(self: eager.EagerOps, op_type: str, *args: object) -> int:
        seen.append(op_type)
        return on_op(self, op_type, *args)

    monkeypatch.setattr(eager.EagerOps, "on_op", noting)
    one = tf.constant(1.0)
    with tb_debugger_plugin.record(tmp_path, mode="FULL_HEALTH"):
        for _ in range(10):
            tf.negative(one)
        for _ in range(10):
            tf.identity(one)
    assert seen == ["Neg", "Identity"]
    assert len(read(tmp_path).executions) == 20


def test_call_sites_beyond_the_limit_are_recorded_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eager, "_MAX_CALL_SITES", 2)
    one = tf.constant(1.0)
    with tb_debugger_plugin.record(tmp_path, mode="FULL_HEALTH"):
        for _ in range(5):
            for run in (tf.negative, tf.identity, tf.square, tf.sqrt):
                run(one)
    assert [each.op_type for each in read(tmp_path).executions] == ["Neg", "Identity", "Square", "Sqrt"] * 5


@pytest.fixture
def add_callback() -> Iterator[Callable[[Callable[..., object]], None]]:
    """Adds op callbacks to this thread."""
    added: list[Callable[..., object]] = []

    def add(callback: Callable[..., object]) -> None:
        context.context().op_callbacks.append(callback)
        added.append(callback)

    yield add
    for callback in added:
        context.context().op_callbacks.remove(callback)
    execute.execute = execute.quick_execute  # as TensorFlow does when it removes the last one


def test_another_tools_callbacks_get_the_outputs(
    tmp_path: Path, add_callback: Callable[[Callable[..., object]], None]
) -> None:
    seen: list[tuple[str, list[float]]] = []

    def callback(op_type: str, inputs: object, attrs: object, outputs: list[tf.Tensor], *_: object) -> object:
        seen.append((op_type, [float(each) for each in outputs]))
        return outputs

    add_callback(callback)
    one = tf.constant(1.0)
    with tb_debugger_plugin.record(tmp_path, mode="FULL_HEALTH"):
        add_callback(lambda op_type, inputs, attrs, outputs, *_: callback(op_type, inputs, attrs, outputs))
        for _ in range(3):
            assert float(tf.negative(one)) == -1.0
    assert seen == [("Neg", [-1.0])] * 6
    assert len(read(tmp_path).executions) == 3


def test_nothing_rings_once_the_recording_has_begun_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    restore, ends, goes_on = Instrumentation.restore, threading.Event(), threading.Event()

    def waiting(self: Instrumentation) -> None:
        ends.set()
        assert goes_on.wait(60)
        restore(self)

    monkeypatch.setattr(Instrumentation, "restore", waiting)
    numbers: list[float] = []
    recording = tb_debugger_plugin.enable_dump_debug_info(
        str(tmp_path), "FULL_HEALTH", on_alert=lambda bad: numbers.append(1.0)
    )
    value = tf.constant(1.0)
    for _ in range(2):
        tf.sqrt(value)
        if ends.is_set():
            break
        thread = threading.Thread(target=tb_debugger_plugin.disable_dump_debug_info)
        thread.start()
        assert ends.wait(60)
        value = tf.constant(-1.0)
    goes_on.set()
    thread.join()
    assert not numbers
    assert [each.op_type for each in read(tmp_path).executions] == ["Sqrt"]
    assert not recording.on


@pytest.mark.parametrize("mode", ["FULL_HEALTH", "GUARD"])
def test_a_recording_that_has_ended_is_freed(tmp_path: Path, mode: str) -> None:
    recordings = []
    for folder in ("first", "second"):
        recording = tb_debugger_plugin.enable_dump_debug_info(str(tmp_path / folder), mode)
        for _ in range(3):
            tf.negative(tf.constant(1.0))
        tb_debugger_plugin.disable_dump_debug_info()
        recordings.append(weakref.ref(recording))
        del recording
    gc.collect()
    assert recordings[0]() is None


def test_threads_that_outlive_a_recording_are_recorded_by_the_next(tmp_path: Path) -> None:
    asked, done, one = threading.Semaphore(0), threading.Semaphore(0), tf.constant(1.0)

    def run() -> None:
        for _ in range(3):
            asked.acquire()
            for _ in range(4):
                tf.negative(one)
            done.release()

    thread = threading.Thread(target=run, name="worker")
    thread.start()
    for folder in ("first", "", "second"):
        if folder:
            tb_debugger_plugin.enable_dump_debug_info(str(tmp_path / folder), "FULL_HEALTH")
        asked.release()
        done.acquire()
        if folder:
            tb_debugger_plugin.disable_dump_debug_info()
    thread.join()
    for folder in ("first", "second"):
        assert [each.op_type for each in read(tmp_path / folder).executions] == ["Neg"] * 4
