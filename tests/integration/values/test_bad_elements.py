"""`native/src/bad_elements.cc`: the recorder notes where the first bad tensors of each op are bad."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import open_run
from tests.support import twin
from tests.support.checkout import ROOT

pytestmark = pytest.mark.tensorflow

MEASURING = ("CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "FULL_NUMERICS", "EXPONENTS", "FULL_TENSOR")
_FLOATS = ("float16", "float32", "float64")
DTYPES = [*map(np.dtype, (*_FLOATS, "complex64", "complex128")), np.dtype(ml_dtypes.bfloat16)]


def some_array(dtype: np.dtype, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """An array with a few infinities and NaN."""
    random = np.random.default_rng(seed)
    array = random.normal(size=shape).astype(dtype)
    flat = array.reshape(-1)
    flat[random.integers(len(flat) // 4, len(flat), 3)] = [np.inf, -np.inf, np.nan]
    return array


def noted(folder: Path) -> dict[tuple[str, str, int], list[tuple[int, int | None, str]]]:
    """By graph or "", op and slot: the positions that were noted, and the shape."""
    with open_run(folder) as run:
        rows = run.sql(
            "SELECT graph_id, op_name, slot, element, nan_element, text"
            " FROM bad_elements LEFT JOIN shapes USING (shape) ORDER BY wall_time"
        ).fetchall()
    found: dict[tuple[str, str, int], list[tuple[int, int | None, str]]] = {}
    for graph, op_name, slot, *place in rows:
        found.setdefault(("" if graph is None else "graph", op_name, slot), []).append(tuple(place))
    return found


def expected(array: np.ndarray) -> tuple[int, int | None, str]:
    """The same as the twin defines it."""
    first, nan = twin.bad_positions(array)
    assert first is not None
    return first, nan, str(list(array.shape))


@pytest.mark.parametrize("mode", MEASURING)
def test_in_functions_and_of_eager_ops_it_is_numpys_answer(tmp_path: Path, mode: str) -> None:
    arrays = {f"x{i}": some_array(dtype, (7, 3, 11), i) for i, dtype in enumerate(DTYPES)}

    @tf.function
    def add(zeros: dict[str, tf.Tensor], tensors: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        # A reshape holds the same elements as the sum, and is recorded with it.
        sums = {name: tf.add(one, zeros[name], name=f"sum_{name}") for name, one in tensors.items()}
        return {name: tf.reshape(one, [-1, 33], name=f"flat_{name}") for name, one in sums.items()}

    with tb_debugger_plugin.record(tmp_path, mode):
        zeros = {name: tf.zeros(array.shape, array.dtype) for name, array in arrays.items()}
        add(zeros, {name: tf.constant(array) for name, array in arrays.items()})
        parts = tf.split(tf.constant([[1.0, np.inf], [np.nan, 2.0], [3.0, np.inf]]), [2, 1])
    found = noted(tmp_path)
    (call,) = {op for graph, op, _ in found if not graph and op.startswith("__inference_add")}
    for slot, (name, array) in enumerate(sorted(arrays.items())):
        assert found["graph", f"sum_{name}", 0] == [expected(array)]
        assert found["graph", f"flat_{name}", 0] == [expected(array.reshape(7, 33))]
        assert found["", call, slot] == [expected(array.reshape(7, 33))]
    for slot, part in enumerate(parts):
        assert found["", "SplitV", slot] == [expected(part.numpy())]


@pytest.mark.parametrize("mode", ["NO_TENSOR", "SHAPE"])
def test_modes_that_do_not_measure_note_nothing(tmp_path: Path, mode: str) -> None:
    with tb_debugger_plugin.record(tmp_path, mode):
        tf.function(lambda x: tf.math.log(x))(tf.constant([1.0, 0.0]))
        tf.math.log(tf.constant([1.0, 0.0]))
    assert noted(tmp_path) == {}


def test_the_first_infinity_and_the_first_nan_of_an_op_are_noted_once(tmp_path: Path) -> None:
    log = tf.function(lambda x: tf.math.log(x, name="log"))
    with tb_debugger_plugin.record(tmp_path, "FULL_HEALTH"):
        for values in ([1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, -1.0, 1.0], [-1.0, 0.0, 0.0]):
            log(tf.constant(values))
    assert noted(tmp_path)["graph", "log", 0] == [(2, None, "[3]"), (0, 1, "[3]")]


def test_the_first_bad_element_of_a_constant_is_noted(tmp_path: Path) -> None:
    mask = np.array([[0.0, 0.0], [0.0, -np.inf]], np.float32)
    with tb_debugger_plugin.record(tmp_path, "FULL_HEALTH"):
        tf.function(lambda x: x + tf.constant(mask, name="mask"))(tf.ones([2, 2]))
    assert noted(tmp_path)["graph", "mask", 0] == [(3, None, "[2, 2]")]


def test_the_tensors_of_a_session_have_it(tmp_path: Path) -> None:
    value = some_array(np.dtype(np.float32), (5, 6), 1)
    with tb_debugger_plugin.record(tmp_path, "CONCISE_HEALTH"), tf.Graph().as_default():
        fed = tf.compat.v1.placeholder(tf.float32, [None, 6])
        result = tf.add(fed, 1.0, name="sum")
        with tf.compat.v1.Session() as session:
            session.run(result, {fed: value})
    assert noted(tmp_path)["graph", "sum", 0] == [expected(value + 1)]


_PROGRAM = """
import os, signal, sys
import numpy as np
import tensorflow as tf
import tb_debugger_plugin

step = tf.function(lambda x: tf.math.log(x, name="log") * 0.5)
tb_debugger_plugin.enable_dump_debug_info(sys.argv[1], "FULL_HEALTH", circular_buffer_size=20)
x = np.ones((32, 10), np.float32)
x[5, 3] = -1
step(tf.constant(x))
for i in range(300):
    step(tf.ones([32, 10]))
if sys.argv[2] == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.long
@pytest.mark.parametrize("end", ["exit", "kill"])
def test_a_ring_that_turned_and_a_kill_lose_none(tmp_path: Path, end: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", _PROGRAM, tmp_path, end], cwd=ROOT, timeout=120, check=False
    )
    assert ended.returncode == (-signal.SIGKILL if end == "kill" else 0)
    assert noted(tmp_path)["graph", "log", 0] == [(53, 53, "[32, 10]")]
    with open_run(tmp_path) as run:
        reason = run.why()
        assert reason is not None
        assert reason.sentences[0].endswith("Its first bad element is [5, 3] of [32, 10].")
