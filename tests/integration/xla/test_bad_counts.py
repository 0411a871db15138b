"""`capture/engines/xla/bad_counts.py`: -inf, +inf and NaN are counted with XLA as they are without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import tb_debugger_plugin
from tb_debugger_plugin.capture.engines.xla import bad_counts
from tests.support.recorded import Recorded, counts, read

pytestmark = pytest.mark.tensorflow

NAN, INF = float("nan"), float("inf")
Counts = list[float]


def counts_of(recorded: Recorded, name: str, slot: int = 0) -> list[Counts]:
    """Size, -inf, +inf and NaN in each record of a tensor."""
    return [v[1:] if len(v) == 5 else v[4:8] for v in recorded.of(name, slot)]


def real(x: tf.Tensor) -> tf.Tensor:
    """The real part, in float32."""
    return tf.cast(tf.math.real(x), tf.float32)


def values_of(x: tf.Tensor) -> dict[str, tf.Tensor]:
    """Tensors of many kinds with bad elements: large and small, moved, joined, hidden, of no elements."""
    doubled = tf.add(x, x, name="doubled")
    negated = tf.negative(doubled, name="negated")
    joined = tf.concat([doubled, negated, doubled], 0, name="joined")
    return {
        "doubled": doubled,
        "negated": negated,
        "joined": joined,
        "moved": tf.transpose(tf.reshape(joined, [3, -1]), name="moved"),
        "many": tf.tile(negated, [400], name="many"),
        "one": tf.reshape(doubled[-1:], [], name="one"),
        "none": tf.add(x[:0], x[:0], name="none"),
    }


REAL: list[list[complex]] = [[1, -2, 0, 3], [INF, -INF, 1, INF], [NAN, -NAN, -INF, 0], [1, 2, 3, -INF]]
COMPLEX: list[list[complex]] = [
    [1, -2j, 0, 3 - 1j],
    [complex(INF, NAN), complex(-5, INF), complex(0, INF), complex(0, -INF)],
    [complex(1, NAN), complex(-INF, 1), complex(INF, -INF), 0],
]


@pytest.mark.parametrize(
    "dtype", [tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.complex64], ids=lambda dtype: dtype.name
)
def test_bad_elements_are_counted_as_numpy_counts_them(tmp_path: Path, dtype: tf.DType) -> None:
    @tf.function(jit_compile=True)
    def hiding(x: tf.Tensor) -> tf.Tensor:
        # No infinity comes out of a comparison, so each tensor has to be asked for itself.
        return tf.add_n([tf.reduce_sum(tf.cast(real(y) > 0.0, tf.int32)) for y in values_of(x).values()])

    cases = COMPLEX if dtype.is_complex else REAL
    inputs = [tf.constant(np.array(case).astype(dtype.as_numpy_dtype)) for case in cases]
    with tb_debugger_plugin.record(tmp_path):
        for x in inputs:
            hiding(x)
    recorded = read(tmp_path)
    expected = [{name: counts(value.numpy())[:4] for name, value in values_of(x).items()} for x in inputs]
    for name in expected[0]:
        assert counts_of(recorded, name) == [case[name] for case in expected], name


@pytest.mark.parametrize("mode", ["CONCISE_HEALTH", "FULL_NUMERICS"])
def test_a_shape_that_only_the_call_knows_is_counted_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    monkeypatch.setattr(bad_counts, "_MOST", 7)  # the last two dimensions fit in one sum

    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None, 2, 3]), tf.TensorSpec(None)])
    def compiled(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        doubled = tf.multiply(x, 2.0, name="doubled")
        wide = tf.add(doubled[:2], tf.zeros([2, 2, 3]), name="wide")
        total = tf.reduce_sum(wide) + tf.reduce_sum(doubled)
        return total + tf.reduce_sum(tf.add(y, 1.0, name="of_any_rank"))

    x = np.ones([4, 2, 3], np.float32)
    x[0, :, 1], x[1, 0, 0], x[3, 1, 2] = INF, -INF, NAN
    with tb_debugger_plugin.record(tmp_path, mode):
        compiled(tf.ones([2, 2, 3]), tf.ones([]))
        compiled(tf.constant(x), tf.constant([[-INF, 1.0, NAN, NAN]]))
    recorded = read(tmp_path)
    assert counts_of(recorded, "wide") == [[12, 0, 0, 0], counts(x[:2])[:4]]
    assert counts_of(recorded, "doubled")[1] == counts(x)[:4]
    assert counts_of(recorded, "of_any_rank")[1] == [4, 1, 0, 2]
    # Of a good one there is nothing to count.
    assert [recorded.of(name)[0][1:] for name in ("doubled", "of_any_rank")] == [[0], [0]]


def looping(jit_compile: bool) -> Callable[[tf.Tensor], tf.Tensor]:
    """Loops in a loop, with branches; what is in them goes bad bit by bit."""

    @tf.function(jit_compile=jit_compile)
    def program(x: tf.Tensor) -> tf.Tensor:
        y = x
        for i in tf.range(3):
            for j in tf.range(2):
                low = tf.subtract(x, tf.cast(i + j, tf.float32), name="low")
                if i + j > 1:
                    y = tf.add(y, tf.math.log(low, name="log"), name="sum")
                else:
                    y = tf.multiply(y, 1.5, name="grown")
        return tf.reduce_sum(y)

    return program


def test_a_tensor_in_a_loop_has_the_counts_of_the_turn_in_which_it_was_bad_first(tmp_path: Path) -> None:
    recorded = {}
    for jit_compile in (False, True):
        root = tmp_path / str(jit_compile)
        with tb_debugger_plugin.record(root):
            looping(jit_compile)(tf.constant([2.0, 2.5, 0.5, 9.0, 3.0]))
        recorded[jit_compile] = read(root)
    in_turns = 0
    for name in {(trace.op_name, trace.slot) for trace in recorded[False].traces}:
        turns, actual = (counts_of(recorded[jit_compile], *name) for jit_compile in (False, True))
        in_turns += len({tuple(turn) for turn in turns if any(turn[1:])}) > 1
        assert actual == [next((turn for turn in turns if any(turn[1:])), turns[0])], name
    assert in_turns > 1, "they stay as they were when they are bad first"


@pytest.mark.parametrize("mode", ["FULL_HEALTH", "CURT_HEALTH"])
def test_of_what_cannot_run_again_it_is_known_whether_it_is_bad(tmp_path: Path, mode: str) -> None:
    @tf.function(jit_compile=True)
    def noisy(x: tf.Tensor) -> tf.Tensor:
        x += 0.0 * tf.random.uniform([3])
        return tf.reduce_sum(tf.nn.relu(tf.math.log(x, name="log")))

    with tb_debugger_plugin.record(tmp_path, mode):
        noisy(tf.ones([3]))
        noisy(tf.constant([1.0, 0.0, -1.0]))
        # It is looked at whole, in its only run.
        names = context.context().list_function_names()
        assert not [name for name in names if "_witnesses" in name]
    seen = [trace.without_id for trace in read(tmp_path).traces_of("log")]
    assert seen == ([[3, 0, 0, 0], [1]] if mode == "FULL_HEALTH" else [[0], [1]])


def test_recordings_of_one_function_that_look_at_other_tensors_do_not_meet(tmp_path: Path) -> None:
    """What XLA has compiled for one of them is not run for another."""

    @tf.function(jit_compile=True)
    def rooted(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.sqrt(tf.multiply(x, 2.0, name="twice"), name="root"))

    actual = []
    for case, options in enumerate([{}, {"op_regex": "Sqrt"}, {"op_regex": "Mul"}, {}]):
        root = tmp_path / str(case)
        with tb_debugger_plugin.record(root, "CURT_HEALTH" if case == 3 else "FULL_HEALTH", **options):
            assert np.isnan(rooted(tf.constant([1.0, -1.0])))
        recorded = read(root)
        actual.append([recorded.of(name)[0][1:] if recorded.of(name) else None for name in ("twice", "root")])
    assert actual == [[[2, 0, 0, 0], [2, 0, 0, 1]], [None, [2, 0, 0, 1]], [[2, 0, 0, 0], None], [[0], [1]]]
