"""`capture/engines/instrument.py`: conditions of loops are recorded, although TensorFlow cuts loops apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.capture import placement
from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.support.live import Tensors, tensors_of_functions, without_numbers
from tests.support.recorded import Recorded, counts, read

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # Keras's own
]

MODES = ["NO_TENSOR", "CURT_HEALTH", "CONCISE_HEALTH", "FULL_HEALTH", "SHAPE", "FULL_TENSOR"]
#: So large that counting goes on beside what follows.
LARGE = 200_000


#: By graph, op and slot, what was recorded of a tensor.
ByTensor: TypeAlias = dict[tuple[str, str, int], list[str]]
#: A program whose functions are traced when it first runs.
Program: TypeAlias = "Callable[[], object]"


def large_root() -> Program:
    """Ends when the root of what is left is NaN somewhere."""

    @tf.function
    def large_root(x: tf.Tensor) -> tf.Tensor:
        y = tf.zeros([LARGE])
        while tf.reduce_all(tf.sqrt(x - y) > 0.1):
            y += 0.6
        return y

    return lambda: large_root(tf.ones([LARGE]))


def counted() -> Program:
    @tf.function
    def counted(x: tf.Tensor) -> tf.Tensor:
        for i in tf.range(4):
            x += tf.cast(i, tf.float32)
        return tf.map_fn(lambda each: each * 2.0, x)

    return lambda: counted(tf.ones([3]))


def recurrent() -> Program:
    tf.keras.utils.set_random_seed(1)
    layer = tf.keras.layers.SimpleRNN(3, name="cell")
    x = tf.ones([2, 4, 5])
    layer(x)

    @tf.function
    def recurrent(x: tf.Tensor) -> tf.Tensor:
        return layer(x)

    return lambda: recurrent(x)


def asking_others() -> Program:
    """A condition that calls a function, and asks a loop of its own."""

    @tf.function
    def norm(x: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(tf.reduce_sum(x * x))

    def halvings(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(lambda n, y: norm(y) > 1.0, lambda n, y: (n + 1, y / 2.0), (tf.constant(0), x))[
            0
        ]

    @tf.function
    def asking_others(x: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(
            lambda y: tf.logical_and(norm(y) < 100.0, halvings(y) < 4), lambda y: (y * 1.5,), (x,)
        )[0]

    return lambda: asking_others(tf.constant([3.0, 4.0]))


def all_loops() -> Program:
    programs = [make() for make in (large_root, counted, recurrent, asking_others)]
    return lambda: [program() for program in programs]


@pytest.fixture(params=["our ops", "TensorFlow's ops", "another device"])
def _place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "TensorFlow's ops":
        monkeypatch.setattr(native, "load", lambda: None)
    elif request.param == "another device":
        monkeypatch.setattr(placement, "may_be_elsewhere", lambda device: True)


@dataclass(frozen=True)
class Traced:
    """The loops, traced without any recorder, what they give, and which of their tensors it needs."""

    run: Program
    results: list[object]
    tensors: Tensors


@pytest.fixture(scope="module")
def traced() -> Traced:
    run = all_loops()
    with tensors_of_functions() as tensors:
        return Traced(run, run(), tensors)


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], ByTensor]:
    """What TensorFlow's own recorder sees of the loops in a mode."""

    @cache
    def seen(mode: str) -> ByTensor:
        folder = tmp_path_factory.mktemp("theirs")
        tf.debugging.experimental.enable_dump_debug_info(str(folder), mode, circular_buffer_size=-1)
        try:
            all_loops()()
        finally:
            tf.debugging.experimental.disable_dump_debug_info()
        return by_tensor(read(folder))

    return seen


def by_tensor(recorded: Recorded) -> ByTensor:
    """What was recorded of each tensor: numbers, or elements."""
    actual: dict[tuple[str, str, int], list[list[object]]] = {}
    for trace, event in zip(recorded.traces, recorded.events["graph_execution_traces"], strict=True):
        proto = event.graph_execution_trace.tensor_proto
        values: list[object] = trace.without_id
        if event.graph_execution_trace.tensor_debug_mode == TensorDebugMode.FULL_TENSOR:
            value = tf.make_ndarray(tf.make_tensor_proto(0).FromString(proto.SerializeToString()))
            values = [str(value.dtype), hash(value.tobytes())]
        actual.setdefault((without_numbers(trace.function), trace.op_name, trace.slot), []).append(values)
    return {key: sorted(map(repr, rows)) for key, rows in actual.items()}


@pytest.mark.usefixtures("_place")
@pytest.mark.parametrize("mode", MODES)
def test_what_tensorflows_recorder_sees_of_loops_is_on_record_as_often_and_with_the_same_numbers(
    tmp_path: Path, traced: Traced, theirs: Callable[[str], ByTensor], mode: str
) -> None:
    with tb_debugger_plugin.record(tmp_path, mode, max_tensor_bytes=None) as recording:
        for one, other in zip(traced.run(), traced.results, strict=True):
            np.testing.assert_array_equal(one, other)
        assert recording.on
    recorded = read(tmp_path)
    ours = by_tensor(recorded)
    # Their debug ops make everything run, also what nothing needs.
    needed = traced.tensors.needed
    expected = {key: rows for key, rows in theirs(mode).items() if f"{key[1]}:{key[2]}" in needed[key[0]]}
    assert len(expected) > 40
    assert len([graph for graph, _, _ in expected if "cond" in graph]) > 5
    known_before = {(t.op_name, t.slot) for t in recorded.traces if t.op_type == "Const"}
    for (graph, op, slot), rows in expected.items():
        actual = ours.get((graph, op, slot), [])
        if (op, slot) in known_before:  # that is on record once, and not as often as it is taken
            rows, actual = rows[:1], actual[:1]
        assert actual == rows, f"{op} of {graph}"


@pytest.mark.parametrize("elsewhere", [False, True])
def test_the_nan_of_a_condition_is_on_record_with_its_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, elsewhere: bool
) -> None:
    monkeypatch.setattr(placement, "may_be_elsewhere", lambda device: elsewhere)
    with tb_debugger_plugin.record(tmp_path, "FULL_NUMERICS"):
        large_root()()
    roots = [trace for trace in read(tmp_path).traces if trace.op_type == "Sqrt"]
    with np.errstate(invalid="ignore"):
        expected = [np.sqrt(np.full(LARGE, 1 - y, np.float32)) for y in np.float32([0, 0.6, 1.2])]
    assert [trace.counts for trace in roots] == list(map(counts, expected))
    if not elsewhere:  # elsewhere nobody computes them
        ends = [[row.min(), row.max(), row.mean(dtype=np.float64)] for row in expected]
        np.testing.assert_allclose([trace.numbers("min", "max", "mean") for trace in roots], ends, rtol=1e-6)


def apart(results: list[tf.Tensor]) -> list[tf.Tensor]:
    """Results of a loop that TensorFlow takes apart, as it does with those of `tf.while_loop`."""
    results[0].op._set_attr("_lower_using_switch_merge", attr_value_pb2.AttrValue(b=True))
    return results


@pytest.mark.parametrize("loop", [tf.raw_ops.While, tf.raw_ops.StatelessWhile])
def test_any_function_can_be_a_condition_also_one_that_answers_with_its_argument(
    tmp_path: Path, loop: Callable[..., list[tf.Tensor]]
) -> None:
    more, number = tf.TensorSpec([], tf.bool), tf.TensorSpec([], tf.int32)
    go_on = tf.function(lambda more, i: more).get_concrete_function(more, number)
    below = tf.function(lambda i: tf.less(i, 3, name="below")).get_concrete_function(number)
    count = tf.function(lambda i: (i + 1,)).get_concrete_function(number)
    also = tf.function(lambda more, i: (below(i), i + 1)).get_concrete_function(more, number)

    @tf.function
    def both(start: tf.Tensor) -> list[tf.Tensor]:
        (first,) = apart(loop(input=[start], cond=below, body=count))
        return apart(loop(input=[tf.constant(True), first - 3], cond=go_on, body=also))

    start = tf.constant(0)
    plain = both(start)[1].numpy()
    with tb_debugger_plugin.record(tmp_path, "SHAPE"):
        assert both(start)[1].numpy() == plain == 4
    recorded = read(tmp_path)
    assert len(recorded.of("below")) == 4 + 4  # the first loop's condition, the second one's body
    assert len(recorded.of("more")) == 5


def test_conditions_of_saved_models_and_of_sessions_are_seen(tmp_path: Path) -> None:
    model = tf.Module()
    model.f = tf.function(
        lambda x: tf.while_loop(
            lambda y: tf.less(tf.reduce_sum(y), 10.0, name="below"), lambda y: (y * 2.0,), (x,)
        )[0],
        input_signature=[tf.TensorSpec([2])],
    )
    tf.saved_model.save(model, str(tmp_path / "model"))
    loaded = tf.saved_model.load(str(tmp_path / "model"))
    with tb_debugger_plugin.record(tmp_path / "loaded", "SHAPE"):
        np.testing.assert_array_equal(loaded.f(tf.ones([2])), [8.0, 8.0])
    with tb_debugger_plugin.record(tmp_path / "session", "SHAPE"):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            x = tf.compat.v1.placeholder(tf.float32, [2])
            y = tf.while_loop(
                lambda y: tf.less(tf.reduce_sum(y), 10.0, name="below"), lambda y: (y * 2.0,), (x,)
            )
            np.testing.assert_array_equal(session.run(y, {x: [1.0, 1.0]}), [[8.0, 8.0]])
    for name in ("loaded", "session"):
        actual = [t for t in read(tmp_path / name).traces if t.op_name.endswith("below")]
        assert len(actual) == 4, name
