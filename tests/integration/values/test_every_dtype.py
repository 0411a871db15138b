"""`capture/sinks`: tensors of every dtype and rank are recorded in every mode; none ends the recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import dtypes

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.capture.options import STOCK_DTYPES, covers
from tb_debugger_plugin.capture.sinks.summaries import SummaryEncoder
from tb_debugger_plugin.events.messages import Message, TensorProto
from tb_debugger_plugin.events.modes import MODES as SPECS
from tb_debugger_plugin.events.modes import SUMMARY_COLUMNS, TensorDebugMode
from tb_debugger_plugin.events.not_recorded import NotRecordedReason
from tests.support import twin
from tests.support.recorded import Recorded, read, summary

pytestmark = pytest.mark.tensorflow

SHAPES: list[list[int]] = [[], [0], [3], [2, 0], [2, 2]]
#: The shape of no elements.
NOTHING = TensorProto().tensor_shape
NOTHING.dim.add(size=0)
#: Of each sink, the modes that it has.
MODES = {
    "native": [spec.mode for spec in SPECS if spec.is_recorded],
    "stock": [spec.mode for spec in SPECS if spec.is_recorded and spec.is_stock],
}


def of_dtype(dtype: tf.DType, shape: list[int]) -> tf.Tensor:
    """Some numbers, or words."""
    numbers = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2
    if dtype is tf.string:
        return tf.reshape(tf.constant([f"word {i}" for i in numbers.ravel()], tf.string), shape)
    if dtype.is_quantized:
        return tf.bitcast(tf.constant(numbers, f"int{8 * dtype.size}"), dtype)
    few_bits = any(f"int{bits}" == dtype.name.removeprefix("u") for bits in (2, 4))
    return tf.cast(tf.constant(numbers, tf.int8 if few_bits else tf.float32), dtype)


def every_kind() -> list[tf.Tensor]:
    """A tensor of each dtype that this TensorFlow can make, in each shape; resources and variants too."""
    actual = []
    for dtype in sorted(set(dtypes._INTERN_TABLE.values()), key=lambda dtype: dtype.as_datatype_enum):
        if dtype._is_ref_dtype or dtype in (tf.resource, tf.variant):
            continue
        try:
            actual += [of_dtype(dtype, shape) for shape in SHAPES]
        except (tf.errors.OpError, TypeError, ValueError):  # a dtype without a kernel for it
            continue
    ragged = tf.ragged.constant([[1.0], [2.0, 3.0]])
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, 0.0)
    actual += [table.resource_handle, ragged._to_variant(), tf.data.Dataset.range(2)._variant_tensor]
    assert len({tensor.dtype for tensor in actual}) >= 24
    return actual


@tf.function
def each(*tensors: tf.Tensor) -> list[tf.Tensor]:
    return [tf.identity_n([tensor], name=f"tensor_{i}")[0] for i, tensor in enumerate(tensors)]


def check(proto: Message, tensor: tf.Tensor, mode: TensorDebugMode) -> None:
    """What is recorded of a tensor is what NumPy finds in it."""
    array, dtype = np.asarray(tensor.numpy()), tensor.dtype.as_datatype_enum
    if mode is TensorDebugMode.NO_TENSOR:
        assert proto == TensorProto(dtype=tf.float32.as_datatype_enum, tensor_shape=NOTHING)
    elif mode in SUMMARY_COLUMNS:
        np.testing.assert_allclose(summary(proto)[1:], twin.summarize(array, dtype, mode, 0)[1:], rtol=1e-12)
    else:
        assert proto.dtype == dtype
        actual = np.asarray(tf.io.parse_tensor(proto.SerializeToString(), tensor.dtype).numpy())
        assert (actual.shape, actual.dtype.kind) == (array.shape, array.dtype.kind)
        assert actual.ravel().tolist() == array.ravel().tolist()


def record_every_kind(folder: Path, mode: TensorDebugMode) -> tuple[list[tf.Tensor], Recorded]:
    """Compute a tensor of every kind, each eagerly, in a graph and as result of a function."""
    tensors = every_kind()
    with tb_debugger_plugin.record(folder, mode.name) as recording:
        for tensor in tensors:
            tf.identity_n([tensor])
        each(*tensors)
        assert recording.on
    recorded = read(folder)
    missing = [event.not_recorded for event in recorded.events["graphs"] if event.HasField("not_recorded")]
    # Of the stock ops it is known beforehand which dtypes they lack.
    assert all(each.reason == NotRecordedReason.FILTERED for each in missing)
    return tensors, recorded


@pytest.mark.parametrize(
    "sink, mode",
    [pytest.param(sink, mode, id=f"{sink}-{mode.name}") for sink, modes in MODES.items() for mode in modes],
)
def test_tensors_of_every_dtype_and_rank_are_recorded_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sink: str, mode: TensorDebugMode
) -> None:
    if sink == "stock":
        monkeypatch.setattr(native, "load", lambda: None)
    tensors, recorded = record_every_kind(tmp_path, mode)
    wanted = [covers(mode, tensor.dtype) and measures(sink, mode, tensor.dtype) for tensor in tensors]
    eager = [e.tensor_protos for e in recorded.executions if e.op_type == "IdentityN"]
    (call,) = [e.tensor_protos for e in recorded.executions if "each" in e.op_type]
    traces = [event.graph_execution_trace for event in recorded.events["graph_execution_traces"]]
    in_graph = {trace.op_name: trace.tensor_proto for trace in traces}
    assert len(eager) == len(call) == len(tensors)
    for i, (tensor, is_wanted, (alone,), result) in enumerate(zip(tensors, wanted, eager, call, strict=True)):
        if is_wanted:
            for proto in (alone, result, in_graph[f"tensor_{i}"]):
                check(proto, tensor, mode)
        else:
            assert not alone.ByteSize() and not result.ByteSize() and f"tensor_{i}" not in in_graph


def measures(sink: str, mode: TensorDebugMode, dtype: tf.DType) -> bool:
    """Whether a sink has a summary of a dtype where the mode makes one."""
    if sink == "native" or mode not in SUMMARY_COLUMNS:
        return True
    return dtype in STOCK_DTYPES or (
        mode is TensorDebugMode.SHAPE and (dtype.is_integer or dtype.is_bool) and "int4" not in dtype.name
    )


def test_programs_of_strings_are_recorded_whole(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\x00in the file")
    with tb_debugger_plugin.record(tmp_path / "log", "FULL_TENSOR") as recording:
        tf.strings.join(["a", "b"])
        tf.io.read_file(str(tmp_path / "file"))
        tf.train.Checkpoint(weight=tf.Variable(1.0)).save(str(tmp_path / "checkpoint"))
        for word in tf.data.Dataset.from_tensor_slices(["one", "two"]):
            tf.strings.upper(word)
        tf.function(lambda x: tf.strings.lower(x, name="lower"))(tf.constant("SAID"))
        assert recording.on
    recorded = read(tmp_path / "log")

    def words(op_type: str) -> list[bytes]:
        protos = [e.tensor_protos[0] for e in recorded.executions if op_type in e.op_type]
        assert {proto.dtype for proto in protos} == {tf.string.as_datatype_enum}
        assert not any(proto.tensor_shape.dim for proto in protos)
        return [word for proto in protos for word in proto.string_val]

    assert words("StringJoin")[0] == b"ab"
    assert words("ReadFile") == [b"\x00in the file"]
    assert words("IteratorGetNext") == [b"one", b"two"]
    assert words("StringUpper") == [b"ONE", b"TWO"]
    assert words("__inference_") == [b"said"]


def test_a_tensor_that_cannot_be_summarised_keeps_its_place_and_ends_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(self: SummaryEncoder, array: np.ndarray, tensor_id: int) -> bytes:
        raise ValueError("no such words")

    monkeypatch.setattr(SummaryEncoder, "_of_strings", refuse)
    with tb_debugger_plugin.record(tmp_path, "FULL_TENSOR") as recording:
        for _ in range(2):
            tf.identity_n([tf.constant("left out"), tf.constant(2.0)])
        assert recording.on
    recorded = read(tmp_path)
    for execution in [e for e in recorded.executions if e.op_type == "IdentityN"]:
        left_out, kept = execution.tensor_protos
        assert not left_out.ByteSize()
        assert np.frombuffer(kept.tensor_content, np.float32) == 2.0
    reported = [e.not_recorded for e in recorded.events["graphs"] if e.HasField("not_recorded")]
    # Others are about what earlier tests of the process have left.
    (missing,) = [one for one in reported if one.reason == NotRecordedReason.UNKNOWN]
    assert list(missing.names) == ["string tensors that Python computes"]
    assert (
        "does not record some string tensors that Python computes: ValueError: no such words"
        in missing.message
    )
    assert [record.message for record in caplog.records].count(missing.message) == 1
