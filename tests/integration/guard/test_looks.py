"""`capture/engines/guard/looks.py`: old variables are held if something is found before their updates."""

from __future__ import annotations

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context, execute

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.analysis.origins.origin import Origin
from tb_debugger_plugin.capture.engines.guard import copies, look_first, ops
from tb_debugger_plugin.capture.engines.guard.looks import _LookFor
from tb_debugger_plugin.capture.options import MEASURED_DTYPES

pytestmark = [pytest.mark.tensorflow, pytest.mark.timeout(300)]

#: The first calls hold old variables whatever is found (`EarlierCalls::kFirst`).
FIRST = 16
OPTIMIZERS = ("SGD", "Adagrad", "Adam", "AdamW", "Adafactor", "Adadelta", "Lion", "RMSprop")
#: They divide by what no interval keeps from zero.
NOT_PROVEN = ("Adamax", "Nadam", "Ftrl")

Step = Callable[[tf.Tensor], tf.Tensor]


@pytest.fixture(autouse=True)
def of_any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look_first, "WORTH_IT", 1)
    # Numbers of good calls need old variables now and then.
    monkeypatch.setattr(copies, "_followed", lambda *_: iter(()))


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> Callable[[], str]:
    caplog.set_level(logging.WARNING, "tb_debugger_plugin")
    return lambda: "\n".join(caplog.messages)


def guarded(folder: Path, calls: Callable[[], object]) -> None:
    with tb_debugger_plugin.record(folder, mode="GUARD"):
        calls()


def training(optimizer: str, **options: object) -> tuple[Step, list[tf.Variable]]:
    """A step whose gradient is what it is given, and its variables."""
    weight = tf.Variable(tf.random.stateless_normal([8, 8], [0, 0]))
    made = getattr(tf.keras.optimizers, optimizer)(0.01, **options)
    made.build([weight])

    @tf.function
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


def places_of(folder: Path, step: Step, weight: tf.Variable) -> list[int]:
    """Where a variable is after each of some good calls."""
    places = []

    def calls() -> None:
        for _ in range(FIRST + 8):
            step(tf.ones([8, 8]))
            places.append(place(weight))

    guarded(folder, calls)
    return places


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_good_calls_update_variables_in_place(tmp_path: Path, optimizer: str) -> None:
    step, (weight, *_) = training(optimizer)
    places = places_of(tmp_path, step, weight)
    assert len(set(places[:FIRST])) > 1
    assert len(set(places[FIRST:])) == 1


@pytest.mark.parametrize("optimizer", NOT_PROVEN)
def test_what_is_not_proven_is_held_at_each_call(tmp_path: Path, optimizer: str) -> None:
    step, (weight, *_) = training(optimizer)
    assert len(set(places_of(tmp_path, step, weight)[FIRST:])) > 1


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("value", [np.nan, np.inf, 3e38, 1e25])
def test_a_bad_or_large_gradient_is_found_before_the_update(
    tmp_path: Path, said: Callable[[], str], optimizer: str, value: float
) -> None:
    """The record is that of FULL_NUMERICS; a large gradient is bad only if something overflows."""
    bad = np.ones([8, 8], np.float32)
    bad[3, 5] = value

    def calls(step: Step) -> None:
        for number in range(FIRST + 6):
            step(tf.constant(bad) if number == FIRST + 4 else tf.ones([8, 8]))

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
        first, expected = (
            tb_debugger_plugin.open_run(tmp_path / name).origins()[0] for name in ("guard", "full")
        )
        assert (own_name(first), first.step) == (own_name(expected), FIRST + 4)


@pytest.mark.parametrize("value", [np.nan, 3e38])
def test_what_the_program_assigns_is_looked_at(tmp_path: Path, said: Callable[[], str], value: float) -> None:
    """A momentum that is bad makes the weight bad, and no gradient tells."""
    step, variables = training("Adam")
    momentum = next(each for each in variables if "momentum" in each.name)
    spoilt = np.zeros([8, 8], np.float32)
    spoilt[2, 2] = value

    def calls() -> None:
        for number in range(FIRST + 8):
            if number == FIRST + 4:
                momentum.assign(spoilt)
            step(tf.ones([8, 8]))

    guarded(tmp_path, calls)
    if np.isfinite(value):
        assert "infinity or NaN" not in said()
    else:
        assert "A call of step" in said() and "not replayed" not in said()


def test_a_table_whose_rows_are_updated_is_replayed(tmp_path: Path, said: Callable[[], str]) -> None:
    table = tf.Variable(tf.zeros([70_000, 64]))  # 18 MB

    @tf.function
    def step(rows: tf.Tensor, x: tf.Tensor) -> tf.Tensor:
        change = tf.math.log(x) + tf.gather(table, rows)
        table.scatter_sub(tf.IndexedSlices(change, rows))
        return tf.reduce_sum(change)

    def calls() -> None:
        for number in range(FIRST + 4):
            x = np.ones([2, 64], np.float32)
            x[1, 3] = 0.0 if number == FIRST + 2 else 1.0
            step(tf.constant([5, 69_999]), tf.constant(x))

    guarded(tmp_path, calls)
    assert "was replayed and is on record" in said(), said()
    (origin, *_) = tb_debugger_plugin.open_run(tmp_path).origins()
    assert (origin.op_type, origin.step) == ("Log", FIRST + 2)


def test_a_function_that_another_one_calls_looks_first(tmp_path: Path, said: Callable[[], str]) -> None:
    inner, (weight, *_) = training("Adam")
    places = []

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        return inner(x * 2)

    def calls() -> None:
        for number in range(FIRST + 8):
            outer(tf.fill([8, 8], 3e38 if number == FIRST + 7 else 1.0))
            places.append(place(weight))

    guarded(tmp_path, calls)
    assert len(set(places[FIRST:-1])) == 1
    assert "A call of outer" in said() and "was replayed and is on record" in said(), said()
    assert tb_debugger_plugin.open_run(tmp_path).origins()[0].op_name == "mul"


def test_what_no_look_sees_is_held_at_each_call(tmp_path: Path, said: Callable[[], str]) -> None:
    """The caller returns more than the function that updates variables."""
    inner, _ = training("SGD")

    @tf.function
    def outer(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return inner(tf.ones([8, 8])), tf.math.log(x)

    def calls() -> None:
        for number in range(FIRST + 4):
            outer(tf.constant(0.0 if number == FIRST + 2 else 1.0))

    guarded(tmp_path, calls)
    assert "was replayed and is on record" in said(), said()
    assert tb_debugger_plugin.open_run(tmp_path).origins()[0].op_type == "Log"


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_weights_have_the_bits_of_the_unrecorded_program(tmp_path: Path, optimizer: str) -> None:
    def values(*, is_guarded: bool) -> list[bytes]:
        step, variables = training(optimizer)

        def calls() -> None:
            for number in range(2 * FIRST + 8):
                step(tf.random.stateless_normal([8, 8], [number, 1]))

        if is_guarded:
            guarded(tmp_path, calls)
        else:
            calls()
        return [each.numpy().tobytes() for each in variables]

    assert values(is_guarded=True) == values(is_guarded=False)


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_nothing_overflows_that_the_looks_let_pass(optimizer: str) -> None:
    """Variables at the limit of what is large, gradients whose squares are below it."""
    random = np.random.default_rng(0)
    step, variables = training(optimizer)
    limit = look_first._LARGE
    for each in variables:
        if each.dtype.is_floating and each.shape.rank:
            value = random.choice([limit, 1.0, 1e-30, 0.0], each.shape)
            # Second moments, which are never negative.
            is_square = any(
                word in each.name for word in ("velocity", "accumulat", "second", "_r", "_c", "_v")
            )
            each.assign(value if is_square else value * random.choice([-1, 1], each.shape))
    for _ in range(look_first.LOOK_EVERY):
        step(tf.constant(random.choice([-(2.0**19), 2.0**19, 1e-30, 0.0], [8, 8]), tf.float32))
        for each in variables:
            assert np.isfinite(each.numpy()).all(), each.name


def test_what_is_compared_as_well_is_looked_at_in_full(tmp_path: Path, said: Callable[[], str]) -> None:
    """A comparison is checked for NaN only, and an update for more."""
    weight = tf.Variable(tf.zeros([8, 8]))

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        gradient = tf.exp(x) * 2 * x
        weight.assign_sub(gradient)
        return tf.reduce_sum(tf.cast(gradient > 1e9, tf.int32))

    def calls() -> None:
        for number in range(FIRST + 6):
            step(tf.fill([8, 8], 100.0 if number == FIRST + 4 else 1.0))

    guarded(tmp_path, calls)
    assert "was replayed and is on record" in said(), said()
    assert tb_debugger_plugin.open_run(tmp_path).origins()[0].op_type == "Exp"


def test_the_root_of_what_a_call_makes_negative_is_replayed(tmp_path: Path, said: Callable[[], str]) -> None:
    square, weight = tf.Variable(tf.ones([8, 8])), tf.Variable(tf.ones([8, 8]))

    @tf.function
    def step(x: tf.Tensor) -> None:
        square.assign_add(x)
        weight.assign_sub(x / (tf.sqrt(square + 1e-3) + 1e-3))

    def calls() -> None:
        for number in range(FIRST + 6):
            step(tf.fill([8, 8], -100.0 if number == FIRST + 4 else 1.0))

    guarded(tmp_path, calls)
    assert "was replayed and is on record" in said(), said()
    assert tb_debugger_plugin.open_run(tmp_path).origins()[0].op_type == "Sqrt"


def test_rows_that_no_call_adds_to_may_become_zero(tmp_path: Path, said: Callable[[], str]) -> None:
    count, weight = tf.Variable(tf.fill([8, 8], 30.0)), tf.Variable(tf.ones([8, 8]))

    @tf.function
    def step(x: tf.Tensor) -> None:
        count.assign_sub(x)
        count.scatter_add(tf.IndexedSlices(tf.ones([1, 8]), tf.constant([0])))
        weight.assign_sub(0.1 * weight / tf.sqrt(count))

    def calls() -> None:
        for number in range(FIRST + 6):
            step(tf.fill([8, 8], 30.0 if number == FIRST + 4 else 0.0))

    guarded(tmp_path, calls)
    assert "was replayed and is on record" in said(), said()
    assert tb_debugger_plugin.open_run(tmp_path).origins()[0].op_type == "RealDiv"


@pytest.mark.parametrize("first_call", [FIRST + 4, 33])
def test_what_another_function_assigns_is_looked_at(
    tmp_path: Path, said: Callable[[], str], first_call: int
) -> None:
    step, variables = training("Adam")
    velocity = next(each for each in variables if "velocity" in each.name)

    @tf.function
    def load(x: tf.Tensor) -> None:
        velocity.assign(x)

    def calls() -> None:
        for number in range(first_call + 4):
            if number == first_call:
                load(tf.fill([8, 8], -5.0))
            step(tf.ones([8, 8]))

    guarded(tmp_path, calls)
    assert "was replayed and is on record" in said(), said()
    assert tb_debugger_plugin.open_run(tmp_path).origins()[0].op_type == "Sqrt"


def test_a_variable_that_changes_unseen_is_told_late_and_not_replayed(
    tmp_path: Path, said: Callable[[], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ops.GuardedOps, "note_change", lambda *_: None)
    step, variables = training("Adam")
    momentum = next(each for each in variables if "momentum" in each.name)

    def calls() -> None:
        for number in range(FIRST + 4 + 2 * look_first.LOOK_EVERY):
            if number == FIRST + 4:
                momentum.assign(tf.fill([8, 8], 3e38))
                variables[0].assign(tf.fill([8, 8], -3e38))
            step(tf.zeros([8, 8]))

    guarded(tmp_path, calls)
    assert "in this call or in one of the 31 calls before it; what it returned is on record" in said(), said()


def test_calls_go_back_to_updates_in_place_when_nothing_is_large(tmp_path: Path) -> None:
    step, (weight, *_) = training("SGD")
    places = []

    def calls() -> None:
        for number in range(FIRST + 10):
            if number == FIRST + 2:
                weight.assign(tf.fill([8, 8], 2.0**41))
            if number == FIRST + 5:
                weight.assign(tf.ones([8, 8]))
            step(tf.zeros([8, 8]))
            places.append(place(weight))

    guarded(tmp_path, calls)
    assert len(set(places[FIRST + 2 : FIRST + 5])) > 1
    assert len(set(places[FIRST + 6 :])) == 1


def test_threads_update_at_the_same_time(tmp_path: Path, said: Callable[[], str]) -> None:
    step, variables = training("Adam")
    bad = tf.constant(np.full([8, 8], np.nan, np.float32))

    def calls() -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda _: step(tf.ones([8, 8])), range(200)))
        assert all(np.isfinite(each.numpy()).all() for each in variables)
        step(bad)

    guarded(tmp_path, calls)
    assert said().count("was replayed and is on record") == 1, said()


def test_a_long_way_to_an_update_is_guarded(tmp_path: Path, said: Callable[[], str]) -> None:
    weight = tf.Variable(tf.zeros([8, 8]))

    @tf.function
    def step(x: tf.Tensor) -> None:
        for _ in range(600):
            x = (x + x) * 0.5
        weight.assign_sub(tf.math.log(x))

    def calls() -> None:
        for number in range(FIRST + 4):
            step(tf.fill([8, 8], float(number != FIRST + 2)))

    guarded(tmp_path, calls)
    assert "was replayed and is on record" in said(), said()


def test_the_native_library_has_the_same_constants() -> None:
    source = "".join(path.read_text() for path in (Path(native.__file__).parent / "src").glob("*.[ch]*"))
    assert f"kLookEvery = {look_first.LOOK_EVERY};" in source
    assert f"kFirst = {FIRST};" in source
    for look_for in _LookFor:
        name = "".join(word.capitalize() for word in look_for.name.split("_"))
        assert f"k{name} = {int(look_for)}," in source
    bits = int(np.float32(look_first._LARGE).view(np.uint32))
    assert f"Layout<uint32_t, 0x7f800000u, {bits:#x}u>" in source


#: What looks find, in bits; see `native/src/guard_op.cc`.
LARGE, BAD = 1, 2


def found(array: tf.Tensor, look_for: int) -> int:
    attrs = ("T", (array.dtype.as_datatype_enum,), "N", 0, "num_tensors", 1, "look_for", look_for)
    (status,) = execute.quick_execute("TbDebuggerLook", 1, [array], attrs, context.context())
    return int(status)


@pytest.mark.parametrize("dtype", sorted(MEASURED_DTYPES, key=lambda dtype: dtype.name), ids=lambda d: d.name)
def test_what_looks_find_is_what_numpy_finds(tmp_path: Path, dtype: tf.DType) -> None:
    random = np.random.default_rng(0)
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        for size in (0, 1, 7, 9000):
            finite = random.uniform(1, 2, size).astype(dtype.as_numpy_dtype)
            for value in (1, 0, -1, 2.0**39, -(2.0**39), 2.0**40, -(2.0**40), np.inf, -np.inf, np.nan):
                array = finite.copy()
                if size:
                    with np.errstate(over="ignore"):  # a dtype without 2^40 has an infinity instead
                        array[random.integers(size)] = value
                wide = array.astype(np.complex128)
                large = LARGE * bool((~(np.maximum(abs(wide.real), abs(wide.imag)) < 2.0**40)).any())
                bad = BAD * bool((~np.isfinite(wide)).any())
                is_ordered = dtype.is_floating and dtype.size > 1
                negative = LARGE * bool(is_ordered and (wide.real < 0).any())
                tensor = tf.constant(array, dtype)
                assert found(tensor, _LookFor.FINITE) == large | bad
                assert found(tensor, _LookFor.NAN) == BAD * bool(np.isnan(wide).any())
                assert found(tensor, _LookFor.SMALL) == large
                assert found(tensor, _LookFor.NOT_NEGATIVE) == large | bad | negative
