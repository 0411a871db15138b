"""`capture/engines/guard/replays.py`: a call that goes bad is recorded as in FULL_NUMERICS."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context

import tb_debugger_plugin
from tb_debugger_plugin.keras import DebuggerCallback
from tests.support.guard_programs import PROGRAMS, Recording, keras_model
from tests.support.recorded import read

pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),  # Keras's own
    pytest.mark.filterwarnings("ignore:`shuffle=True` was passed:UserWarning"),
]


def origins(folder: Path) -> list[tuple[object, ...]]:
    found = tb_debugger_plugin.open_run(str(folder)).origins()
    return [
        (one.headline, one.op_name, one.function, one.kind, one.source and one.source.line, one.explanation)
        for one in found
    ]


def recorded(folder: Path, mode: str, program: Callable[[Recording], None]) -> list[tuple[object, ...]]:
    tf.random.set_seed(1)
    program(partial(tb_debugger_plugin.record, folder, mode=mode))
    return origins(folder)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_origins_are_those_of_full_numerics(tmp_path: Path, name: str) -> None:
    expected = recorded(tmp_path / "full", "FULL_NUMERICS", PROGRAMS[name])
    found = recorded(tmp_path / "guard", "GUARD", PROGRAMS[name])
    assert expected
    assert [one[:-1] for one in found][:1] == [one[:-1] for one in expected][:1]
    # A compiled function has no numbers of elements; eager ops that take gradients, and later good calls, are
    # not on record.
    if "compiled" not in name and name not in ("several steps", "tape", "gradient", "no results"):
        assert set(found) <= set(expected)


def test_the_record_of_the_bad_call_is_that_of_full_numerics(tmp_path: Path) -> None:
    """Each tensor of the call, with the same numbers."""
    recorded(tmp_path / "full", "FULL_NUMERICS", PROGRAMS["nested"])
    recorded(tmp_path / "guard", "GUARD", PROGRAMS["nested"])
    full, guard = read(tmp_path / "full"), read(tmp_path / "guard")

    def tensors(traces: list[object]) -> list[tuple[object, ...]]:
        return sorted((t.function, t.op_name, t.slot, tuple(t.without_id)) for t in traces)

    constants = {(t.op_name, t.slot) for t in full.traces if t.op_type == "Const"}
    of_call = [t for t in full.traces if (t.op_name, t.slot) not in constants]
    size = len(of_call) // 6
    fifth = tensors(of_call[4 * size : 5 * size])
    assert len(of_call) == 6 * size
    found = [t for t in guard.traces if (t.op_name, t.slot) not in constants]
    assert tensors(found[-size:]) == fifth  # after those of earlier calls


def test_the_step_on_record_is_that_of_the_call(tmp_path: Path) -> None:
    recorded(tmp_path, "GUARD", PROGRAMS["step"])
    (first, *_) = tb_debugger_plugin.open_run(str(tmp_path)).origins()
    assert first.step == 4


def test_ops_have_their_layers_also_those_of_functions_of_their_own(tmp_path: Path) -> None:
    class Tally(tf.keras.layers.Layer):
        def __init__(self, **options: object) -> None:
            super().__init__(**options)
            self.total = self.add_weight(name="total", shape=[4], initializer="zeros", trainable=False)

        @tf.function
        def call(self, x: tf.Tensor) -> tf.Tensor:
            self.total.assign(self.total + tf.math.log(x)[0])
            return x

    layer = Tally(name="tally")

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        return layer(x) * 2.0

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        step(tf.ones([2, 4]))
        step(tf.zeros([2, 4]))
    (first, *_) = tb_debugger_plugin.open_run(str(tmp_path)).origins()
    assert (first.op_type, first.layer) == ("Log", "tally")


def test_a_healthy_program_writes_no_tensors_and_no_graphs(tmp_path: Path) -> None:
    weight = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        weight.assign_add(x)
        return tf.reduce_sum(weight)

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for _ in range(5):
            step(tf.constant([0.5, 0.5]))
    seen = read(tmp_path)
    assert (seen.traces, seen.executions, seen.records("graph_op_creation")) == ([], [], [])
    assert weight.numpy().tolist() == [3.5, 4.5]


def test_a_gradient_of_a_loop_has_the_line_of_its_forward_op(tmp_path: Path) -> None:
    weight = tf.Variable(1.0)

    def add_root(index: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return index + 1, total + tf.sqrt(weight * tf.cast(index, tf.float32))

    @tf.function
    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            total = tf.while_loop(lambda index, _: index < 3, add_root, [1, 0.0])[1]
        weight.assign_sub(tape.gradient(total, weight))
        return total

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        step()
        weight.assign(0.0)
        step()
    (first, *_) = tb_debugger_plugin.open_run(str(tmp_path)).origins()
    assert first.op_type == "SqrtGrad"
    assert first.source is not None and first.source.line == add_root.__code__.co_firstlineno + 1


def test_a_nan_that_ends_a_loop_is_seen(tmp_path: Path) -> None:
    def is_far(x: tf.Tensor, turns: tf.Tensor) -> tf.Tensor:
        return tf.sqrt(x - 1.0) > 0.1

    @tf.function
    def search(x: tf.Tensor, by: tf.Tensor) -> tf.Tensor:
        return tf.while_loop(is_far, lambda x, turns: (x - by, turns + 1), [x, 0])

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        assert int(search(tf.constant(3.0), tf.constant(0.25))[1]) == 8
        assert read(tmp_path).executions == []
        assert int(search(tf.constant(3.0), tf.constant(0.3))[1]) == 7
    (first, *_) = tb_debugger_plugin.open_run(str(tmp_path)).origins()
    assert (first.op_type, first.kind) == ("Sqrt", "nan")
    assert first.source is not None and first.source.line == is_far.__code__.co_firstlineno + 1


@tf.function
def is_known(x: tf.Tensor) -> tf.Tensor:
    return x[:, 0] > 0.0


def test_what_is_missing_asked_for_or_meant_is_no_bad_call(tmp_path: Path) -> None:
    best = tf.Variable(np.nan)
    data = iter(tf.data.Dataset.from_tensors(tf.constant([[np.nan, 1.0], [2.0, 3.0]])).repeat())

    @tf.function
    def step(x: tf.Tensor, keep: tf.Tensor) -> tf.Tensor:
        logs = tf.math.log(x)
        known = tf.where(logs != tf.identity(logs), 0.0, x)
        masked = tf.where(keep, known, -np.inf)
        roots = tf.sqrt(x)
        drawn = tf.nn.dropout(x, 0.5)
        is_better = tf.math.is_nan(best) | (known < best)
        is_positive = ~tf.math.is_nan(roots) & (roots > 0.0)
        return tf.argmax(masked), is_known(next(data)), is_better, is_positive, drawn > 0.0

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        step(tf.constant([-1.0, 2.0]), tf.constant([True, False]))
    assert read(tmp_path).executions == []


def test_the_callback_takes_the_mode(tmp_path: Path) -> None:
    model = keras_model()
    x = np.full([16, 8], np.nan, np.float32)
    model.fit(x, np.zeros([16, 1]), verbose=0, callbacks=[DebuggerCallback(tmp_path, mode="GUARD")])
    assert origins(tmp_path)


def test_what_cannot_run_twice_runs_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    calls: list[float] = []
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)
    count = tf.Variable(0)

    def note(x: np.ndarray) -> np.ndarray:
        calls.append(float(x))
        return x

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        y = tf.numpy_function(note, [x], tf.float32)
        tf.print("computed")
        table.insert(table.size() + 1, 1)
        count.assign_add(1)
        return tf.math.log(y)

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        results = [step(tf.constant(x)).numpy() for x in (1.0, -1.0, 2.0)]
    assert calls == [1.0, -1.0, 2.0]
    assert capfd.readouterr().err.count("computed\n") == 3
    assert int(table.size()) == 3 and int(count) == 3
    assert np.isnan(results).tolist() == [False, True, False]
    assert [one[1] for one in origins(tmp_path)] == ["Log"]


def test_repetitions_are_counted(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    @tf.function
    def ratio(x: tf.Tensor) -> tf.Tensor:
        return 1.0 / x

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for x in (1.0, 0.0, 0.0, 0.0, 1.0):
            ratio(tf.constant(x))
    earlier, replayed = (one.tensor_protos[0].tensor_content for one in read(tmp_path).executions)
    assert replayed
    assert not earlier
    assert "GUARD saw an infinity or NaN in 3 calls of ratio" in caplog.text


def test_a_call_that_begins_with_bad_values_is_counted(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    weight = tf.Variable(1.0, name="scale")

    @tf.function
    def step(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        y = weight * x
        weight.assign(tf.math.log(x))
        return y, weight + 0.0

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        step(tf.constant(0.0))
        step(tf.constant(2.0))
    assert len(read(tmp_path).executions) == 1
    assert "before the call, an infinity or NaN was in scale" in caplog.text


def test_the_first_bad_call_is_on_record_although_its_argument_was_bad(tmp_path: Path) -> None:
    @tf.function
    def double(x: tf.Tensor) -> tf.Tensor:
        return x * 2.0

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        double(tf.constant([1.0, np.nan]))
    assert [one[0] for one in origins(tmp_path)]


def test_a_call_that_would_hold_too_much_is_not_replayed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    weight = tf.Variable(tf.ones([100]))

    @tf.function
    def step(x: tf.Tensor) -> None:
        weight.assign_sub(x)

    with tb_debugger_plugin.record(tmp_path, mode="GUARD", max_held_bytes=100):
        step(tf.constant(np.full([100], np.inf, np.float32)))
    assert "above max_held_bytes" in caplog.text
    seen = read(tmp_path)
    assert (len(seen.executions), seen.traces) == (1, [])
    said = [one.message for one in seen.records("not_recorded")]
    assert ["cannot replay" in said[0], "has an infinity or NaN" in said[1]] == [True, True], said


@pytest.mark.parametrize("on_alert", ["raise", "stop", "call"])
def test_what_follows_an_alert(tmp_path: Path, on_alert: str) -> None:
    seen: list[tb_debugger_plugin.BadValue] = []

    @tf.function
    def log(x: tf.Tensor) -> tf.Tensor:
        return tf.math.log(x)

    chosen = seen.append if on_alert == "call" else on_alert
    with tb_debugger_plugin.record(tmp_path, mode="GUARD", on_alert=chosen) as recording:
        log(tf.constant(1.0))
        if on_alert == "raise":
            with pytest.raises(tb_debugger_plugin.NumericsError, match="Log"):
                log(tf.constant(-1.0))
        else:
            log(tf.constant(-1.0))
        assert recording.on == (on_alert != "stop")
    assert len(seen) == (on_alert == "call")


def test_errors_of_the_program_have_the_same_text(tmp_path: Path) -> None:
    @tf.function
    def check(x: tf.Tensor) -> tf.Tensor:
        tf.debugging.Assert(x < 1.0, ["too large"])
        return x + 1.0

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        return check(x) * 2.0

    def text() -> str:
        with pytest.raises(tf.errors.InvalidArgumentError, match="too large") as error:
            outer(tf.constant(2.0))
        return str(error.value)

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        outer(tf.constant(0.0))
        recorded = text()
    assert recorded == text()
    assert "test_replays.py" in recorded


def test_nothing_of_ours_remains(tmp_path: Path) -> None:
    before = context.context().list_function_names()
    original = vars(context.context()).get("call_function")

    @tf.function
    def log(x: tf.Tensor) -> tf.Tensor:
        return tf.math.log(x)

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        log(tf.constant(-1.0))
    assert vars(context.context()).get("call_function") is original
    ours = context.context().list_function_names() - before
    assert not [name for name in ours if "_guarded" in name or "_replayed" in name]
    assert np.isnan(log(tf.constant(-1.0)).numpy())


def test_deleted_functions_leave_no_copies(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for _ in range(140):
            tf.function(lambda x: x * 2.0)(tf.constant(1.0))
        gc.collect()
        tf.function(lambda x: x * 2.0)(tf.constant(1.0))
        guarded = [name for name in context.context().list_function_names() if "_guarded" in name]
        assert len(guarded) < 130


def test_two_functions_may_call_a_third(tmp_path: Path) -> None:
    weight = tf.Variable(1.0)

    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        weight.assign_add(x)
        return tf.math.log(weight)

    first, second = tf.function(lambda x: inner(x) * 2.0), tf.function(lambda x: inner(x) * 3.0)
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        first(tf.constant(1.0))
        assert np.isnan(second(tf.constant(-5.0)).numpy())
    assert [one[1] for one in origins(tmp_path)] == ["Log"]


@pytest.mark.parametrize("dtype", [tf.float16, tf.float32], ids=lambda dtype: dtype.name)
def test_an_overflow_that_a_division_hides_is_seen_in_float16(tmp_path: Path, dtype: tf.DType) -> None:
    """In float32, a program rather divides by an infinity on purpose."""

    @tf.function
    def share(x: tf.Tensor) -> tf.Tensor:
        return x / tf.exp(x)

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        share(tf.constant(11.0 if dtype == tf.float16 else 89.0, dtype))
        share(tf.constant(12.0 if dtype == tf.float16 else 90.0, dtype))
    found = [one.op_type for one in tb_debugger_plugin.open_run(tmp_path).origins()]
    assert found == (["Exp"] if dtype == tf.float16 else [])


def test_an_overflow_that_a_sigmoid_hides_is_seen(tmp_path: Path) -> None:
    @tf.function
    def score(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return tf.sigmoid(tf.reshape(tf.exp(x) - 4.0, [-1])), tf.tanh(x * 1e30)

    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for given in ([88.0], [89.0]):
            results = score(tf.constant(given))
    assert [float(result[0]) for result in results] == [1.0, 1.0]
    assert [one.op_type for one in tb_debugger_plugin.open_run(tmp_path).origins()] == ["Exp"]
