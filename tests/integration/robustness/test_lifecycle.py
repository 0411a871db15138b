"""`capture/api.py`: recordings begin, end and begin again; arguments are checked; kills lose nothing."""

from __future__ import annotations

import logging
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.errors import RecordingError, UsageError
from tb_debugger_plugin.events.fileset import find_file_sets
from tests.support.recorded import read

pytestmark = pytest.mark.tensorflow


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"tensor_debug_mode": "FULL"},
            "Invalid tensor_debug_mode 'FULL': choose one of NO_TENSOR, CURT_HEALTH",
        ),
        ({"tensor_debug_mode": "UNSPECIFIED"}, "choose one of"),
        ({"circular_buffer_size": "many"}, "circular_buffer_size is 'many'"),
        ({"op_regex": "("}, "op_regex '\\(' is not a regular expression"),
        ({"tensor_dtypes": "float32"}, "tensor_dtypes is 'float32': give a list"),
        ({"tensor_dtypes": ["float33"]}, "tensor_dtypes has an element that is no dtype"),
        ({"dump_root": ""}, "dump_root is empty"),
        ({"dump_root": None}, "dump_root is empty"),
        ({"logdir": "elsewhere"}, "two names of the same argument"),
        ({"function_regex": "["}, "function_regex '\\[' is not a regular expression"),
        ({"name_regex": 3}, "name_regex 3 is not a regular expression"),
        ({"every_n_steps": 0}, "every_n_steps is 0: give a whole number from 1"),
        ({"step_range": (3, 3)}, "step_range is \\(3, 3\\): give the first step"),
        ({"step_range": 100}, "step_range is 100"),
        ({"max_tensor_bytes": "1MB"}, "max_tensor_bytes is '1MB'"),
        ({"max_bytes": 1000}, "max_bytes is 1000: give a number of bytes from 4,194,304"),
    ],
)
def test_an_argument_that_cannot_be_used_raises_at_once(
    tmp_path: Path, arguments: dict[str, object], words: str
) -> None:
    with pytest.raises(UsageError, match=words):
        tb_debugger_plugin.enable_dump_debug_info(**{"dump_root": str(tmp_path / "log"), **arguments})
    assert not (tmp_path / "log").exists()


def test_a_dump_root_that_is_a_file_raises_at_once(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for root in (file, file / "below"):
        with pytest.raises(UsageError, match="is a file: give a new or existing folder"):
            tb_debugger_plugin.enable_dump_debug_info(root)


def test_a_dump_root_that_cannot_be_written_raises_at_once() -> None:
    with pytest.raises(RecordingError, match=r"/proc/nowhere cannot be written .*: give another folder"):
        tb_debugger_plugin.enable_dump_debug_info("/proc/nowhere")


def test_a_recording_that_cannot_begin_or_is_killed_while_it_does_leaves_no_run_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object) -> None:
        raise OSError("no space")

    monkeypatch.setattr(native.load(), "Recorder", no_space)
    with pytest.raises(RecordingError, match="no space"):
        tb_debugger_plugin.enable_dump_debug_info(tmp_path)
    assert not find_file_sets(tmp_path)


def test_a_second_call_for_the_same_folder_returns_the_recording_that_is_on(tmp_path: Path) -> None:
    first = tb_debugger_plugin.enable_dump_debug_info(tmp_path, "SHAPE", 7)
    assert (
        tb_debugger_plugin.enable_dump_debug_info(
            logdir=tmp_path, tensor_debug_mode="SHAPE", circular_buffer_size=7
        )
        is first
    )
    with pytest.raises(UsageError, match="is recorded with tensor_debug_mode 'SHAPE'"):
        tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH", 7)
    with pytest.raises(UsageError, match="is recorded with circular_buffer_size 7"):
        tb_debugger_plugin.enable_dump_debug_info(tmp_path, "SHAPE", 8)
    assert first.on


@pytest.mark.parametrize("with_library", [True, False], ids=["native", "stock"])
@pytest.mark.parametrize(
    ("there", "wanted", "words"),
    [
        ({"op_regex": "Log"}, {}, "op_regex 'Log'.* with None"),
        ({}, {"tensor_dtypes": ["float32", "bool"]}, "tensor_dtypes None.* with \\['float32'\\]"),
        ({"function_regex": "a"}, {"function_regex": "b"}, "function_regex 'a'.* with 'b'"),
        ({}, {"name_regex": "a"}, "name_regex None"),
        ({}, {"every_n_steps": 2}, "every_n_steps 1.* with 2"),
        ({}, {"step_range": (0, 4)}, "step_range \\(0, None\\).* with \\(0, 4\\)"),
        ({}, {"max_tensor_bytes": 7}, "max_tensor_bytes 1048576.* with 7"),
        ({}, {"max_bytes": None}, "max_bytes 'auto'.* with None"),
        ({}, {"keep_graph_optimizations": True}, "keep_graph_optimizations False.* with True"),
    ],
)
def test_a_second_call_with_another_filter_raises_and_with_the_same_one_does_not(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    with_library: bool,
    there: dict[str, object],
    wanted: dict[str, object],
    words: str,
) -> None:
    if not with_library:
        monkeypatch.setattr(native, "load", lambda: None)
    first = tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH", **there)
    assert tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH", **there) is first
    with pytest.raises(UsageError, match=f"is recorded with {words}"):
        tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH", **wanted)
    assert first.on


def test_dtypes_are_compared_by_what_they_are_whoever_chooses_them(tmp_path: Path) -> None:
    def enable(chosen: object) -> object:
        return tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_TENSOR", tensor_dtypes=chosen)

    first = enable(["float32", tf.int32])
    assert enable((tf.int32, "float32")) is first
    assert enable(lambda dtype: dtype in (tf.float32, tf.int32)) is first
    with pytest.raises(UsageError, match="tensor_dtypes"):
        enable(lambda dtype: dtype.is_floating)


def test_tensorflows_three_methods_of_the_writer_are_there(tmp_path: Path) -> None:
    writer = tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH")
    tf.exp(1.0)
    writer.FlushNonExecutionFiles()
    writer.FlushExecutionFiles()
    writer.Close()
    assert not writer.on
    writer.Close()
    assert len(read(tmp_path).executions) == 1


def test_beginning_and_end_are_a_line_each(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="tb_debugger_plugin")
    with tb_debugger_plugin.record(tmp_path, "SHAPE"):
        tf.exp(1.0)
        tf.function(lambda x: tf.sqrt(x))(tf.constant(1.0))
    assert [each.getMessage() for each in caplog.records if each.name == "tb_debugger_plugin"] == [
        f"Recording to {tmp_path} in mode SHAPE.",
        f"Recorded to {tmp_path}: 2 executions and 2 tensors in graphs.",
    ]
    assert {each.levelno for each in caplog.records if each.name == "tb_debugger_plugin"} == {logging.INFO}


def test_a_block_inside_a_recording_of_its_folder_does_not_end_it(tmp_path: Path) -> None:
    outer = tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH", -1)
    with tb_debugger_plugin.record(tmp_path) as inner:
        assert inner is outer
        tf.exp(1.0)
    assert outer.on
    tf.sqrt(1.0)
    tb_debugger_plugin.disable_dump_debug_info()
    assert [e.op_type for e in read(tmp_path).executions] == ["Exp", "Sqrt"]


def test_a_block_inside_a_recording_of_another_folder_ends_that_one_and_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    outer = tb_debugger_plugin.enable_dump_debug_info(tmp_path / "a", "FULL_HEALTH", -1)
    with tb_debugger_plugin.record(tmp_path / "b") as inner:
        assert inner.on and not outer.on
    (line,) = [each.getMessage() for each in caplog.records if each.name == "tb_debugger_plugin"]
    assert str(tmp_path / "a") in line and str(tmp_path / "b") in line


def test_another_folder_ends_the_recording_that_was_on(tmp_path: Path) -> None:
    first = tb_debugger_plugin.enable_dump_debug_info(tmp_path / "a", "FULL_HEALTH", -1)
    tf.exp(1.0)
    tb_debugger_plugin.enable_dump_debug_info(tmp_path / "b", "FULL_HEALTH", -1)
    assert not first.on
    tf.sqrt(1.0)
    tb_debugger_plugin.disable_dump_debug_info()
    assert {e.op_type for e in read(tmp_path / "a").executions} == {"Exp"}
    assert {e.op_type for e in read(tmp_path / "b").executions} == {"Sqrt"}


def test_another_thread_may_end_the_recording_while_the_program_runs(tmp_path: Path) -> None:
    function = tf.function(lambda x: tf.sqrt(x, name="sqrt"))
    recording = tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH", -1)
    halfway = threading.Event()

    def end() -> None:
        halfway.wait()
        tb_debugger_plugin.disable_dump_debug_info()

    other = threading.Thread(target=end)
    other.start()
    steps = 0
    while other.is_alive() or steps < 200:
        steps += 1
        if steps == 100:
            halfway.set()
        np.testing.assert_array_equal(function(tf.fill([steps], 4.0)), [2.0] * steps)
    assert not recording.on
    sizes = [size for trace in read(tmp_path).traces_of("sqrt") for size in trace.numbers("size")]
    assert sizes == [i + 1 for i in range(len(sizes))]
    assert 99 <= len(sizes) <= steps


def test_a_function_of_an_earlier_recording_is_whole_in_a_later_one(tmp_path: Path) -> None:
    function = tf.function(lambda x: tf.sqrt(x, name="sqrt") + 1.0)
    for name in ("a", "b"):
        with tb_debugger_plugin.record(tmp_path / name):
            function(tf.constant([4.0, -1.0]))
    first, second = (tensors_of_the_graph_of("sqrt", tmp_path / name) for name in ("a", "b"))
    assert len(first) == 4  # the argument, the root, the constant, the sum
    assert second == first


def tensors_of_the_graph_of(op_name: str, root: Path) -> set[tuple[str, str, tuple[float, ...]]]:
    traces = read(root).traces
    (graph_id,) = {trace.graph_id for trace in traces if trace.op_name == op_name}
    return {(t.op_name, t.op_type, tuple(t.without_id)) for t in traces if t.graph_id == graph_id}


def test_a_later_recordings_filters_hold_for_functions_traced_before(tmp_path: Path) -> None:
    function = tf.function(lambda x: tf.sqrt(tf.exp(x)))
    with tb_debugger_plugin.record(tmp_path / "a"):
        function(tf.constant(1.0))
    with tb_debugger_plugin.record(tmp_path / "b", op_regex="Sqrt"):
        function(tf.constant(1.0))
    assert read(tmp_path / "a").types() == {"Placeholder", "Exp", "Sqrt"}
    assert read(tmp_path / "b").types() == {"Sqrt"}


def test_the_same_folder_can_be_recorded_again(tmp_path: Path) -> None:
    for _ in range(2):
        with tb_debugger_plugin.record(tmp_path):
            tf.exp(1.0)
    assert len(list(tmp_path.glob("*.metadata"))) == 2


def test_a_circular_buffer_keeps_the_last_records_until_it_is_flushed(tmp_path: Path) -> None:
    function = tf.function(lambda x: tf.sqrt(x, name="sqrt"))
    recording = tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_HEALTH", 5)
    for _ in range(20):
        function(tf.constant(4.0))
    assert recording.counts() == (20, 40)
    recording.FlushNonExecutionFiles()
    recording.FlushExecutionFiles()
    for _ in range(2):
        function(tf.constant(4.0))
    tb_debugger_plugin.disable_dump_debug_info()
    recorded = read(tmp_path)
    assert len(recorded.executions) == 5 + 2
    assert len(recorded.traces) == 5 + 4
    counts = recorded.records("recording_counts")
    counted = [(each.executions, each.graph_execution_traces, each.finished) for each in counts]
    assert counted == [(20, 40, False), (22, 44, True)]


def test_a_circular_buffer_makes_room_for_records_of_any_size(tmp_path: Path) -> None:
    function = tf.function(lambda x: tf.sqrt(x, name="sqrt"))
    tb_debugger_plugin.enable_dump_debug_info(tmp_path, "FULL_TENSOR", 3, max_tensor_bytes=None)
    for size in (10, 100_000, 1000, 300_000, 7):
        function(tf.zeros([size]))
    tb_debugger_plugin.disable_dump_debug_info()
    traces = read(tmp_path).records("graph_execution_trace")
    sizes = [len(trace.tensor_proto.tensor_content) // 4 for trace in traces]
    assert sizes == [300_000, 7, 7]
    assert not list(tmp_path.glob("*.tail*"))


@pytest.mark.skipif(sys.platform != "linux", reason="open files are found in Linux's /proc")
@pytest.mark.parametrize("size", [-1, 50])
def test_a_recording_that_ended_leaves_no_thread_no_file_handle_and_no_mapping(
    tmp_path: Path, size: int
) -> None:
    def of_ours() -> set[str]:
        descriptors = [str(link.readlink()) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        maps = Path("/proc/self/maps").read_text().splitlines()
        files = {line for line in (*descriptors, *maps) if str(tmp_path) in line}
        return files | {path.name for path in Path("/proc/self/task").iterdir()}

    function = tf.function(tf.sqrt)
    function(tf.constant(4.0))
    before = of_ours()
    with tb_debugger_plugin.record(tmp_path, circular_buffer_size=size):
        function(tf.constant([4.0]))
        assert any(str(tmp_path) in line for line in of_ours())
    assert of_ours() == before


def test_leaving_a_block_by_an_exception_ends_the_recording(tmp_path: Path) -> None:
    with pytest.raises(KeyError), tb_debugger_plugin.record(tmp_path) as recording:
        tf.exp(1.0)
        raise KeyError("the program's own")
    assert not recording.on
    assert len(read(tmp_path).executions) == 1
