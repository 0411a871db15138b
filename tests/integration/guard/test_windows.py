"""`capture/engines/guard/windows.py`: the last calls run again, and the one that went bad is found."""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.analysis.origins.origin import Origin
from tb_debugger_plugin.capture.engines.guard import copies, windows
from tb_debugger_plugin.errors import NumericsError

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(300)]

OPTIMIZERS = ("SGD", "Adagrad", "Adam", "Adamax", "Adafactor", "Ftrl", "Lion", "Nadam", "RMSprop")
#: Calls of a test: more than two windows.
CALLS = 2 * windows.MOST_CALLS + 8

Step = Callable[[tf.Tensor], tf.Tensor]
Said = Callable[[], str]


@pytest.fixture(autouse=True)
def of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "WORTH_IT", 1)


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Said:
    caplog.set_level(logging.WARNING, "tb_debugger_plugin")
    return lambda: "\n".join(caplog.messages)


def guarded(folder: Path, calls: Callable[[], object], **options: object) -> None:
    with tb_debugger_plugin.record(folder, mode="GUARD", **options):
        calls()


def first_origin(folder: Path) -> Origin:
    return tb_debugger_plugin.open_run(folder).origins()[0]


def training(optimizer: str, *, jit: bool = False, **options: object) -> tuple[Step, list[tf.Variable]]:
    """A step whose gradient is what it is given, and its variables."""
    weight = tf.Variable(tf.random.stateless_normal([8, 8], [0, 0]))
    made = getattr(tf.keras.optimizers, optimizer)(0.01, **options)
    made.build([weight])

    @tf.function(jit_compile=jit)
    def step(gradient: tf.Tensor) -> tf.Tensor:
        made.apply_gradients([(tf.identity(gradient), weight)])
        return tf.reduce_sum(gradient)

    return step, [
        weight,
        *(each.value for each in made.variables if each.value is not made.learning_rate.value),
    ]


def place(variable: tf.Variable) -> int:
    """Where the value of a variable is in memory."""
    return int(np.asarray(variable.read_value()).__array_interface__["data"][0])


def own_name(origin: Origin) -> str:
    """The name of an op without that of its optimizer, which Keras numbers."""
    return origin.op_name.partition("/")[2]


def hidden() -> Step:
    """A step that hides from its results what becomes of its variable."""
    total = tf.Variable(tf.ones([4]))

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        total.assign_add(tf.math.log(x))
        return tf.reduce_sum(tf.zeros_like(x))

    return step


def run(step: Step, bad: int, number: int = CALLS) -> Callable[[], None]:
    """Call a step; one call is given zeros."""

    def calls() -> None:
        for index in range(number):
            step(tf.fill([4], float(index != bad)))

    return calls


@pytest.mark.parametrize("jit", [False, True], ids=["graph", "xla"])
@pytest.mark.parametrize("optimizer", [name for name in OPTIMIZERS if name != "Ftrl"])  # which overwrites
def test_good_calls_update_variables_in_place(tmp_path: Path, optimizer: str, jit: bool) -> None:
    step, (weight, *_) = training(optimizer, jit=jit)
    places = []

    def calls() -> None:
        for _ in range(CALLS):
            step(tf.ones([8, 8]))
            places.append(place(weight))

    guarded(tmp_path, calls)
    assert len(set(places[: windows.MOST_CALLS])) <= 2
    assert len(set(places)) <= 4


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("value", [np.nan, 3e38])
def test_a_bad_gradient_is_replayed_like_a_recording(
    tmp_path: Path, said: Said, optimizer: str, value: float
) -> None:
    """The record is that of FULL_NUMERICS; a large gradient is bad only if something overflows."""
    bad = np.ones([8, 8], np.float32)
    bad[3, 5] = value

    def calls(step: Step) -> None:
        for number in range(CALLS):
            step(tf.constant(bad) if number == CALLS - 4 else tf.ones([8, 8]))

    plain, variables = training(optimizer)
    calls(plain)
    is_bad = not all(np.isfinite(each.numpy()).all() for each in variables) or not np.isfinite(value)
    step, _ = training(optimizer)
    guarded(tmp_path / "guard", lambda: calls(step))
    assert ("was replayed and is on record" in said()) == is_bad, said()
    assert "not replayed" not in said()
    if is_bad:
        step, _ = training(optimizer)
        with tb_debugger_plugin.record(tmp_path / "full", mode="FULL_NUMERICS"):
            calls(step)
        first, expected = (first_origin(tmp_path / name) for name in ("guard", "full"))
        assert (own_name(first), first.step) == (own_name(expected), CALLS - 4)


@pytest.mark.parametrize("bad", [0, 5, windows.MOST_CALLS - 1, windows.MOST_CALLS, CALLS - 1])
def test_what_no_result_shows_is_found_in_its_call(tmp_path: Path, said: Said, bad: int) -> None:
    guarded(tmp_path, run(hidden(), bad))
    assert said().count("was replayed and is on record") == 1, said()
    origin = first_origin(tmp_path)
    assert (origin.op_type, origin.step or 0) == ("Log", bad)


def test_a_step_that_the_program_marks_is_that_of_the_call(tmp_path: Path) -> None:
    step = hidden()

    def calls() -> None:
        for index in range(CALLS):
            step(tf.fill([4], float(index != 40)))
            tb_debugger_plugin.step()

    guarded(tmp_path, calls)
    assert first_origin(tmp_path).step == 40


def test_the_user_gets_the_error_when_it_is_noticed(tmp_path: Path) -> None:
    seen = []

    def calls() -> None:
        step = hidden()
        for index in range(CALLS):
            seen.append(index)
            step(tf.fill([4], float(index != 5)))

    with pytest.raises(NumericsError, match="Log"):
        guarded(tmp_path, calls, on_alert="raise")
    assert seen[-1] == windows.MOST_CALLS


def test_an_eager_op_that_shows_it_comes_after_the_call(tmp_path: Path, said: Said) -> None:
    total = tf.Variable(tf.ones([4]))

    @tf.function
    def step(x: tf.Tensor) -> None:
        total.assign_add(tf.math.log(x))

    def calls() -> None:
        for index in range(10):
            step(tf.fill([4], float(index != 7)))
            tf.reduce_sum(total)

    guarded(tmp_path, calls)
    origin = first_origin(tmp_path)
    assert (origin.op_type, origin.step) == ("Log", 7)
    assert "An op Sum" not in said()


def test_random_numbers_and_side_effects_are_those_of_the_call(tmp_path: Path, said: Said) -> None:
    weight = tf.Variable(tf.zeros([64]))
    seen: list[int] = []

    def note(number: np.ndarray) -> np.ndarray:
        seen.append(int(number))
        return np.float32(0.0)

    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.random.uniform([64]) * x

    @tf.function
    def step(number: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
        noted = tf.numpy_function(note, [number], tf.float32)
        noise = inner(x)
        for turn in tf.range(3):
            noise += tf.cast(turn, tf.float32) * tf.random.uniform([64])
        weight.assign_add(tf.math.log(noise - 2.9) - tf.math.log(noise - 2.9) + noise + noted)
        return tf.reduce_sum(weight)

    def calls() -> None:
        for number in range(20):
            step(tf.constant(number), tf.constant(2.0))

    tf.random.set_seed(1)
    guarded(tmp_path, calls)
    assert seen == list(range(20))
    assert "was replayed and is on record" in said(), said()
    assert "not there in the replay" not in said() and "not replayed" not in said()
    assert first_origin(tmp_path).op_type == "Log"


def test_a_learning_rate_that_changes_between_calls_is_that_of_each_call(tmp_path: Path, said: Said) -> None:
    """With the rate of another call, nothing overflows."""
    rate, weight = tf.Variable(1.0), tf.Variable(tf.ones([64]))

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        weight.assign_sub(rate * x)
        return tf.reduce_sum(tf.zeros_like(x))

    def calls() -> None:
        for number in range(CALLS):
            rate.assign(3e38 if number == 41 else 1e-3)
            step(tf.fill([64], 10.0))

    guarded(tmp_path, calls)
    assert "was replayed and is on record" in said() and "not there in the replay" not in said(), said()
    origin = first_origin(tmp_path)
    assert (origin.op_type, origin.step) == ("Mul", 41)


@pytest.mark.parametrize("by_function", [False, True])
def test_what_others_change_ends_the_window(tmp_path: Path, said: Said, by_function: bool) -> None:
    step, variables = training("Adam")
    velocity = next(each for each in variables if "velocity" in each.name)
    load = tf.function(velocity.assign) if by_function else velocity.assign

    def calls() -> None:
        for number in range(30):
            if number == 20:
                load(tf.fill([8, 8], -5.0))
            step(tf.ones([8, 8]))

    guarded(tmp_path, calls)
    assert "was replayed and is on record" in said(), said()
    origin = first_origin(tmp_path)
    assert (origin.op_type, origin.step) == ("Sqrt", 20)


def test_functions_that_change_what_the_other_reads_are_held_at_each_call(
    tmp_path: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tf.Variable(tf.ones([64])), tf.Variable(tf.ones([64]))
    begun = []
    begin = windows.Window.begin
    monkeypatch.setattr(windows.Window, "begin", lambda *args: begun.append(args) or begin(*args))

    @tf.function
    def generate(x: tf.Tensor) -> tf.Tensor:
        first.assign(tf.math.log(x) + 0.5 * second)
        return tf.reduce_sum(x)

    @tf.function
    def judge() -> None:
        second.assign(0.5 * first + 0.5)

    def calls() -> None:
        for number in range(CALLS):
            generate(tf.fill([64], float(number != 60)))
            judge()

    guarded(tmp_path, calls)
    assert len(begun) < 30
    origin = first_origin(tmp_path)
    assert (origin.op_type, origin.step) == ("Log", 60)
    assert "was replayed and is on record" in said()


def test_a_table_whose_rows_are_updated_is_replayed(tmp_path: Path, said: Said) -> None:
    table = tf.Variable(tf.zeros([70_000, 64]))  # 18 MB

    @tf.function
    def step(rows: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
        change = tf.math.log(x) + tf.gather(table, rows)
        table.scatter_sub(tf.IndexedSlices(change, rows))
        return tf.reduce_sum(change)

    def calls() -> None:
        for number in range(20):
            x = np.ones([2, 64], np.float32)
            x[1, 3] = 0.0 if number == 18 else 1.0
            step(tf.constant([5, 69_999]), tf.constant(x))

    guarded(tmp_path, calls)
    assert "was replayed and is on record" in said(), said()
    origin = first_origin(tmp_path)
    assert (origin.op_type, origin.step) == ("Log", 18)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_weights_have_the_bits_of_the_unrecorded_program(tmp_path: Path, optimizer: str) -> None:
    def values(*, is_guarded: bool) -> list[bytes]:
        step, variables = training(optimizer)

        def calls() -> None:
            for number in range(CALLS):
                step(tf.random.stateless_normal([8, 8], [number, 1]))

        if is_guarded:
            guarded(tmp_path, calls)
        else:
            calls()
        return [each.numpy().tobytes() for each in variables]

    assert values(is_guarded=True) == values(is_guarded=False)


@pytest.mark.parametrize(
    "options",
    [{}, {"steps_per_execution": 4}, {"jit_compile": True}, {"run_eagerly": False, "jit_compile": False}],
    ids=["plain", "steps", "xla", "graph"],
)
def test_keras_training_names_the_bad_batch(tmp_path: Path, said: Said, options: dict[str, object]) -> None:
    """Its function takes elements of an iterator, and returns an optional."""
    keras = tf.keras
    model = keras.Sequential([keras.layers.Dense(8, activation="relu"), keras.layers.Dense(1)])
    optimizer = keras.optimizers.Nadam(gradient_accumulation_steps=2)
    model.compile(optimizer, lambda y, p: tf.math.log(y) + keras.losses.mse(y, p), **options)
    x = np.random.default_rng(0).normal(size=[32 * 50, 4]).astype("float32")
    y = np.ones([32 * 50, 1], np.float32)
    y[32 * 42 + 3] = 0.0
    guarded(tmp_path, lambda: model.fit(x, y, shuffle=False, verbose=0))
    assert "was replayed and is on record" in said() and "not there in the replay" not in said(), said()
    origin = first_origin(tmp_path)
    per_call = int(str(options.get("steps_per_execution", 1)))
    assert (origin.op_type, origin.step) == ("Log", 42 // per_call)
    assert origin.source is not None and "math.log" in origin.source.text


def test_the_bundle_of_a_call_that_was_found_later_reproduces(tmp_path: Path) -> None:
    guarded(tmp_path, run(hidden(), 40))
    replay = tb_debugger_plugin.open_run(tmp_path).replay()
    assert replay.call == 40
    assert replay.tried[0].same_bits and replay.tried[0].same_tensors and not replay.tried[0].is_finite


def test_threads_call_at_the_same_time(tmp_path: Path, said: Said) -> None:
    step, variables = training("Adam")

    def calls() -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: step(tf.ones([8, 8])), range(200)))
        assert all(np.isfinite(each.numpy()).all() for each in variables)
        step(tf.fill([8, 8], np.nan))

    guarded(tmp_path, calls)
    assert said().count("is on record. Further calls") == 1, said()


def test_a_call_that_fails_ends_the_window(tmp_path: Path, said: Said) -> None:
    weight = tf.Variable(tf.zeros([64]))

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        weight.assign_add(tf.math.log(x))
        with tf.control_dependencies([tf.debugging.assert_less(tf.reduce_sum(x), 100.0)]):
            return tf.reduce_sum(tf.zeros_like(x))

    def calls() -> None:
        for number in range(30):
            try:
                step(tf.fill([64], {10: 2.0, 20: 0.0}.get(number, 1.0)))
            except tf.errors.InvalidArgumentError as error:
                assert "_guarded" not in error.message

    guarded(tmp_path, calls)
    assert "was replayed and is on record" in said(), said()
    origin = first_origin(tmp_path)
    assert (origin.op_type, origin.step) == ("Log", 20)


def test_variables_that_are_bad_before_are_told(tmp_path: Path, said: Said) -> None:
    weight = tf.Variable(tf.fill([64], np.nan))

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        weight.assign_add(x)
        return tf.reduce_sum(weight)

    def calls() -> None:
        for _ in range(5):
            step(tf.ones([64]))

    guarded(tmp_path / "guard", calls)
    assert said().count("A call of step") == 1, said()
    weight.assign(tf.fill([64], np.nan))
    with tb_debugger_plugin.record(tmp_path / "full", mode="FULL_NUMERICS"):
        calls()
    first, expected = (first_origin(tmp_path / name) for name in ("guard", "full"))
    assert (first.op_type, first.category) == (expected.op_type, expected.category)


def test_nothing_is_held_of_a_model_that_the_program_has_deleted(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, mode="GUARD") as recording:
        del recording
        weight = tf.Variable(tf.ones([8, 8]))
        step = tf.function(weight.assign_add)
        step(tf.ones([8, 8]))
        (window,) = [one for one in gc.get_objects() if isinstance(one, windows.Window) and one.held_bytes]
        del step, weight
        gc.collect()
        assert window.held_bytes == 0


def test_windows_keep_within_what_may_be_held(tmp_path: Path, said: Said) -> None:
    steps = [training("SGD")[0] for _ in range(3)]

    def calls() -> None:
        for number in range(12):
            for step in steps:
                step(tf.fill([8, 8], np.nan if number == 10 else 1.0))
        held = [one.held_bytes for one in gc.get_objects() if isinstance(one, windows.Window)]
        assert sum(held) <= 700

    guarded(tmp_path, calls, max_held_bytes=700)  # two of them
    assert "is on record" in said()


def test_variables_beyond_what_may_be_held_are_only_checked(tmp_path: Path, said: Said) -> None:
    step, _ = training("Adam")
    guarded(tmp_path, lambda: [step(tf.fill([8, 8], np.nan)) for _ in range(3)], max_held_bytes=100)
    assert "above max_held_bytes" in said() and "not replayed" in said(), said()


def test_what_only_a_comparison_takes_is_found(tmp_path: Path) -> None:
    weight = tf.Variable(tf.zeros([64]))

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        weight.assign_add(x)
        return tf.cast(tf.sqrt(x) > 0.5, tf.int32)

    guarded(tmp_path, lambda: [step(tf.fill([64], -1.0 if number == 5 else 1.0)) for number in range(9)])
    origin = first_origin(tmp_path)
    assert (origin.op_type, origin.step) == ("Sqrt", 5)


def test_a_result_that_is_always_bad_hides_no_other(tmp_path: Path) -> None:
    weight = tf.Variable(tf.zeros([64]))

    @tf.function
    def step(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        weight.assign_add(x)
        return tf.sqrt(x), tf.math.log(0.0 * x)

    guarded(tmp_path, lambda: [step(tf.fill([64], -1.0 if number == 6 else 1.0)) for number in range(9)])
    found = [(one.op_type, one.step) for one in tb_debugger_plugin.open_run(tmp_path).origins()]
    assert ("Sqrt", 6) in found, found


def test_a_function_is_not_blamed_for_what_python_assigns(tmp_path: Path, said: Said) -> None:
    weight = tf.Variable(tf.zeros([64]))
    step = tf.function(lambda x: weight.assign_add(x))

    def calls() -> None:
        for number in range(9):
            step(tf.ones([64]))
            if number == 5:
                weight.assign(np.full([64], np.nan, np.float32))
                weight.assign(np.zeros([64], np.float32))

    guarded(tmp_path, calls)
    assert "A call of" not in said(), said()


def test_a_function_that_changes_its_argument_ends_the_window(tmp_path: Path, said: Said) -> None:
    """It was first called with another variable."""
    weight, other = tf.Variable(tf.ones([64])), tf.Variable(tf.ones([64]))

    @tf.function
    def put(variable: tf.Variable, x: tf.Tensor) -> None:
        variable.assign(x)

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        weight.assign_add(x)
        return tf.reduce_sum(tf.sqrt(weight))

    def calls() -> None:
        put(other, tf.ones([64]))
        for number in range(9):
            if number == 5:
                put(weight, tf.fill([64], -9.0))
            step(tf.ones([64]))

    guarded(tmp_path, calls)
    assert "not there in the replay" not in said() and "not replayed" not in said(), said()
    origin = first_origin(tmp_path)
    assert (origin.op_type, origin.step) == ("Sqrt", 5)


def test_the_call_is_named_by_its_number_although_others_failed(tmp_path: Path) -> None:
    weight = tf.Variable(tf.ones([64]))

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([tf.debugging.assert_less(x, 5.0)]):
            weight.assign_add(tf.sqrt(x))
        return tf.constant(1.0)

    def calls() -> None:
        for number in range(9):
            try:
                step(tf.fill([64], {2: -1.0, 5: 9.0}.get(number, 1.0)))
            except tf.errors.InvalidArgumentError:
                assert number == 5

    guarded(tmp_path, calls)
    origin = first_origin(tmp_path)
    assert (origin.op_type, origin.step) == ("Sqrt", 2)


def test_a_call_with_other_variables_ends_the_window(tmp_path: Path) -> None:
    weights = [tf.Variable(tf.fill([64], value)) for value in (-1.0, 1.0)]

    @tf.function
    def step(weight: tf.Variable, total: tf.Variable) -> tf.Tensor:
        total.assign_add(tf.sqrt(weight))
        return tf.constant(1.0)

    totals = [tf.Variable(tf.ones([64])) for _ in weights]
    guarded(tmp_path, lambda: [step(*both) for both in zip(weights, totals, strict=True)])
    assert first_origin(tmp_path).op_type == "Sqrt"


def test_what_a_call_overwrites_is_checked_at_once(tmp_path: Path) -> None:
    state = tf.Variable(tf.ones([32_768]))  # 128 KB

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        state.assign(tf.sqrt(x) * tf.ones([32_768]))
        return tf.constant(1.0)

    guarded(tmp_path, lambda: [step(tf.constant(-1.0 if number == 3 else 1.0)) for number in range(6)])
    origin = first_origin(tmp_path)
    assert (origin.op_type, origin.step) == ("Sqrt", 3)


def test_nothing_is_held_after_the_recording(tmp_path: Path) -> None:
    weight = tf.Variable(tf.ones([64]))
    step = tf.function(lambda x: weight.assign_add(x))
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        step(tf.ones([64]))
        (window,) = [one for one in gc.get_objects() if isinstance(one, windows.Window) and one.held_bytes]
    assert window.held_bytes == 0


def test_calls_of_a_loop_whose_iterator_is_gone_are_looked_at(tmp_path: Path) -> None:
    weight = tf.Variable(tf.ones([64]))

    @tf.function
    def step(iterator: tf.data.Iterator) -> tf.Tensor:
        weight.assign_add(tf.math.log(next(iterator)) + tf.zeros([64]))
        return tf.constant(1.0)

    def calls() -> None:
        iterator = iter(tf.data.Dataset.from_tensor_slices([float(number != 3) for number in range(6)]))
        for _ in range(6):
            step(iterator)

    def program() -> None:
        calls()
        gc.collect()

    guarded(tmp_path, program)
    origin = first_origin(tmp_path)
    assert (origin.op_type, origin.step) == ("Log", 3)
