"""`native/src/bad_tensors.h`: a circular buffer keeps the last records and those around first bad tensors."""

from __future__ import annotations

import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tb_debugger_plugin.events.fileset import EXECUTION, FileSet, FileSetWriter, read_with_tail
from tb_debugger_plugin.events.messages import Execution
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.index.indexer import Indexer
from tb_debugger_plugin.index.runs import find_runs
from tb_debugger_plugin.index.schema import create_tables
from tb_debugger_plugin.native import module_without_tensorflow
from tb_debugger_plugin.native.structs import TensorValue

try:
    native = module_without_tensorflow()
except ImportError:
    pytest.skip("the native library was not built", allow_module_level=True)

ROOT = Path(__file__).resolve().parents[2]
FLOAT, COMPLEX = 1, 8
_NOT_WATCHED = 99  # a dtype
HEALTH_MODES = ["CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "FULL_NUMERICS", "FULL_TENSOR"]


@dataclass(frozen=True)
class _Tensor:
    """An eager tensor, as far as the recorder asks it."""

    _id: int = 0
    dtype: int = 0
    device: str = "CPU"

    def _datatype_enum(self) -> int:
        return self.dtype


class Recorder:
    """Records executions whose first input id is their number. Lives from creating the files to `close()`."""

    def __init__(self, folder: str, mode: str, size: int, number: int = 1) -> None:
        self.files = FileSet(Path(folder), number, "h")
        self._mode = int(TensorDebugMode[mode])
        self._recorder = native.Recorder(str(self.files.path(""))[:-1], self._mode, size, 64)
        self.close = self._recorder.close
        self.flush = self._recorder.flush

    def execution(self, number: int, op: str, values: list[complex], dtype: int = FLOAT) -> None:
        """Record an op with an output that is not watched, and one with values."""
        array = np.array(values, np.complex64 if dtype == COMPLEX else np.float32)
        proto = native.encode_summary(array.view(np.uint8), dtype, array.shape, self._mode, -1, 64)
        prefix = Execution(op_type=op).SerializeToString()
        inputs, outputs = (_Tensor(number),), (_Tensor(dtype=_NOT_WATCHED), _Tensor(dtype=dtype))
        wanted = {_NOT_WATCHED: False, dtype: True}

        def summarize(tensor: _Tensor, keep: int) -> TensorValue:
            return TensorValue(proto, self._mode)

        assert self._recorder.eager_op(prefix, inputs, outputs, {"CPU": 1}, wanted, summarize) == 0

    def kept(self) -> list[int]:
        """What is on record now."""
        return kept(self.files)


def kept(files: FileSet) -> list[int]:
    """The numbers of the executions on record, as whoever finds the files after a kill would see it."""
    contents = read_with_tail(files, EXECUTION)
    assert not contents.damages
    return [record.event.execution.input_tensor_ids[0] for record in contents.records]


def record(
    folder: Path, mode: str, size: int, executions: Iterable[tuple[str, list[complex]]], dtype: int = FLOAT
) -> list[int]:
    """Record executions of ops with their values; returns what is on record in the end."""
    recorder = Recorder(str(folder), mode, size)
    for number, (op, values) in enumerate(executions):
        recorder.execution(number, op, values, dtype)
    recorder.close()
    return recorder.kept()


def expected(bad: list[int], size: int, count: int) -> list[int]:
    """By definition: the last ones, and so many before and half as many after each first bad one."""
    around = {n for b in bad for n in range(b - size, b + size // 2 + 1)}
    return [n for n in range(count) if n in around or n >= count - size]


def firsts(ops: list[str]) -> list[int]:
    """The first bad one of each op."""
    return [ops.index(op) for op in set(ops) - {"good"}]


def agains(ops: list[str], size: int) -> list[int]:
    """Each bad one after a silence of its op: longer than all before it, and than four buffers."""
    bad = [(n, [m for m in range(n) if ops[m] == ops[n]]) for n in range(len(ops)) if ops[n] != "good"]
    return [n for n, before in bad if before and n - before[-1] > max(before[-1], 4 * size)]


def most_pinned(size: int, count: int) -> int:
    """The limit: ten buffers, and four more for each doubling of the recording."""
    return size * (10 + 4 * max(0, (count // size).bit_length() - 1))


def check_kept(kept: list[int], ops: list[str], size: int) -> None:
    """The limit decides about those that are bad again; all else is fixed."""
    assert kept == sorted(set(kept))
    assert set(expected(firsts(ops), size, len(ops))) <= set(kept)
    assert set(kept) <= set(expected(firsts(ops) + agains(ops, size), size, len(ops)))
    assert len(kept) <= size + most_pinned(size, len(ops))


@settings(max_examples=80)
@given(
    size=st.integers(1, 12),
    ops=st.lists(st.sampled_from(["good"] * 40 + ["a", "b", "c", "d"]), max_size=160),
    mode=st.sampled_from(HEALTH_MODES),
    looks=st.sets(st.integers(0, 160), max_size=8),
)
def test_what_ran_around_the_first_bad_ones_and_the_last_is_kept(
    size: int, ops: list[str], mode: str, looks: set[int]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(folder, mode, size)
        for number, op in enumerate(ops):
            recorder.execution(number, op, [1.0 if op == "good" else math.nan, 2.0])
            if number in looks:
                check_kept(recorder.kept(), ops[: number + 1], size)
        recorder.close()
        check_kept(recorder.kept(), ops, size)


@pytest.mark.parametrize("mode", ["NO_TENSOR", "SHAPE"])
def test_a_mode_that_counts_nothing_pins_nothing(tmp_path: Path, mode: str) -> None:
    assert record(tmp_path, mode, 10, [("op", [math.nan])] * 100) == list(range(90, 100))


def test_infinity_and_nan_of_an_op_are_news_once_each(tmp_path: Path) -> None:
    values = {100: math.inf, 200: -math.inf, 300: math.nan, 400: math.nan}
    executions = [("op", [values.get(number, 1.0)]) for number in range(500)]
    assert record(tmp_path, "CONCISE_HEALTH", 10, executions) == expected([100, 300], 10, 500)


SIZE, STEP = 20, 400
MASKS = range(30, STEP, 45)  # so far apart that each is pinned alone


@pytest.mark.parametrize(
    ("mode", "origin"), [("CURT_HEALTH", math.nan), ("CONCISE_HEALTH", math.inf), ("FULL_TENSOR", math.nan)]
)
def test_masks_of_each_step_leave_room_for_a_bad_value_long_after(
    tmp_path: Path, mode: str, origin: float
) -> None:
    born, count = 5010, 10_500
    ops = [f"mask {number % STEP}" if number % STEP in MASKS else "good" for number in range(count)]
    ops[born] = "origin"
    values = {"origin": origin, "good": 1.0}
    executions = [(op, [values.get(op, -math.inf)]) for op in ops]
    check_room_for(born, record(tmp_path, mode, SIZE, executions), count)


def check_room_for(born: int, on_record: list[int], count: int) -> None:
    """The bad value that was born late is on record with all around it, and the limit holds."""
    assert set(expected([born], SIZE, count)) <= set(on_record)
    assert len(on_record) <= SIZE + most_pinned(SIZE, count)


def test_an_op_that_was_bad_early_is_pinned_again_after_a_long_silence(tmp_path: Path) -> None:
    bad = (100, 110, 120, 2000, 2010)
    executions = [("op", [math.nan if number in bad else 1.0]) for number in range(3000)]
    assert record(tmp_path, "FULL_HEALTH", SIZE, executions) == expected([100, 2000], SIZE, 3000)


def test_what_is_bad_again_and_again_leaves_room_for_what_is_bad_first(tmp_path: Path) -> None:
    born, count = 50_000, 60_000
    bad = {born, *(2**power * 300 + n for power in range(10) for n in range(0, 300, 30))}
    executions = [(f"op {number % 300}", [math.nan if number in bad else 1.0]) for number in range(count)]
    executions[born] = ("origin", [math.nan])
    check_room_for(born, record(tmp_path, "FULL_HEALTH", SIZE, executions), count)


@pytest.mark.parametrize(("value", "share"), [(math.nan, 1.0), (math.inf, 0.5)], ids=["NaN", "infinite"])
def test_the_file_has_a_bound_however_many_ops_are_bad(tmp_path: Path, value: float, share: float) -> None:
    count = 4000
    on_record = record(tmp_path, "FULL_HEALTH", SIZE, [(f"op {number}", [value]) for number in range(count)])
    limit = share * most_pinned(SIZE, count)
    assert limit - 2 * SIZE < len(on_record) - SIZE <= limit


@pytest.mark.parametrize(
    ("values", "dtype", "is_bad"),
    [
        ([1.0] * 9, FLOAT, False),
        ([1.0] * 16 + [math.nan], FLOAT, True),  # above the limit: its summary tells
        ([1.0] * 17, FLOAT, False),
        ([1 + 2j, complex(1, math.inf)], COMPLEX, True),
        ([1 + 2j, 3 + 4j], COMPLEX, False),
    ],
    ids=["good", "large and bad", "large and good", "complex and bad", "complex and good"],
)
def test_whole_tensors_are_looked_at(tmp_path: Path, values: list[complex], dtype: int, is_bad: bool) -> None:
    executions = [("op", values if number == 40 else [1.0]) for number in range(100)]
    assert record(tmp_path, "FULL_TENSOR", 10, executions, dtype) == expected([40] if is_bad else [], 10, 100)


def test_a_flush_in_between_doubles_nothing(tmp_path: Path) -> None:
    recorder = Recorder(str(tmp_path), "FULL_HEALTH", 10)
    for number in range(60):
        recorder.execution(number, "op", [math.nan if number == 20 else 1.0])
        if number in (22, 40):
            recorder.flush()
    recorder.close()
    flushed = [*range(31, 41)]
    assert recorder.kept() == [*range(10, 26), *flushed, *range(50, 60)]


def test_a_viewer_that_follows_the_program_sees_no_record_twice_and_each_in_order(tmp_path: Path) -> None:
    with FileSetWriter(tmp_path, "h", 1) as writer:
        writer.write_metadata(tfdbg_run_id="run", circular_buffer_size=50, recorder_version="0.1")
    recorder = Recorder(str(tmp_path), "FULL_HEALTH", 50)
    (run,) = find_runs(tmp_path)
    connection = duckdb.connect()
    create_tables(connection)
    indexer = Indexer(run, connection)

    def program() -> None:
        for number in range(6000):
            is_bad = number % 97 == 0
            recorder.execution(number, f"op {number}" if is_bad else "good", [math.nan if is_bad else 1.0])
        recorder.close()

    with ThreadPoolExecutor(1) as thread, closing(indexer), closing(connection):
        ends = thread.submit(program)
        while True:
            is_last = ends.done()
            indexer.advance()
            seen = connection.execute("SELECT tensor_id FROM execution_inputs ORDER BY idx").fetchnumpy()
            numbers = seen["tensor_id"]
            assert (np.diff(numbers) > 0).all()
            if is_last:
                break
        ends.result()
        assert numbers.tolist() == recorder.kept()
        assert set(expected([0, 97, 194, 291, 388, 485], 50, 6000)) <= set(numbers.tolist())
        assert 50 < len(numbers) <= 50 + most_pinned(50, 6000)


PINNING = """
import itertools, sys
from tests.property.test_pinned import Recorder

for number in itertools.count():
    recorder = Recorder(sys.argv[1], "FULL_HEALTH", 20, number)
    for i in range(400):
        recorder.execution(i, f"op {i}", [float("nan")])
        if i % 50 == 0:  # not so often that the pipe fills
            print(number, i, flush=True)
"""


def check_a_kill(folder: Path, delay: float) -> None:
    """Kill a program that pins all the time, and read what the last of its recordings left behind."""
    with subprocess.Popen(
        [sys.executable, "-c", PINNING, str(folder)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "0 0\n"
        time.sleep(delay)
        os.kill(program.pid, signal.SIGKILL)
        printed = re.findall(r"^(\d+) (\d+)$", program.stdout.read(), re.MULTILINE)
    sets = sorted(int(path.name.split(".")[1]) for path in folder.glob("*.execution"))
    for number in (sets[-2:-1] or sets)[0], sets[-1]:
        numbers = kept(FileSet(folder, number, "h"))
        printed_of = [int(i) for which, i in printed if int(which) == number]
        count = max([*printed_of, *numbers], default=-1) + 1
        assert numbers == sorted(set(numbers))  # in order, none twice
        assert set(range(max(0, count - 20), count)) <= set(numbers)  # the last ones
        assert set(range(min(100, count))) <= set(numbers)  # and those that were pinned


@pytest.mark.long
def test_a_kill_while_records_are_pinned_neither_loses_nor_doubles_any(tmp_path: Path) -> None:
    moments = random.Random(0)
    for number in range(100):
        folder = tmp_path / str(number)
        folder.mkdir()
        check_a_kill(folder, moments.uniform(0.0, 0.2))
