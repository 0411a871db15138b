"""`capture/gate.py`: programs stop at tensors of graphs, and go on as if they had not stopped."""

from __future__ import annotations

import random
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from tb_debugger_plugin.events.gate_table import NUMBERS, CannotChange, StepKind
from tb_debugger_plugin.native.structs import ConditionStep, GateCounts, GateHit, GateRule, Passed
from tests.support import forked
from tests.support.held import Debugger, Program, debugged
from tests.support.recorded import read

pytestmark = pytest.mark.tensorflow

X = np.linspace(-1.0, 2.0, 12, dtype=np.float32).reshape(3, 4)
W = np.linspace(0.5, -0.5, 16, dtype=np.float32).reshape(4, 4)

Results = list[np.ndarray]
#: Makes a program anew, and returns the function to call.
Make = Callable[[], Callable[[], Results]]


def above(name: str, limit: float) -> tuple[ConditionStep, ...]:
    """The condition `name > limit`."""
    return (
        ConditionStep(StepKind.NUMBER, list(NUMBERS).index(name)),
        ConditionStep(StepKind.CONSTANT, limit),
        ConditionStep(StepKind.GT),
    )


@pytest.fixture
def stepped(tmp_path: Path) -> Iterator[Debugger]:
    """A recording that holds the values of a call."""
    with debugged(tmp_path) as debugger:
        debugger.gate.hold_values(1 << 24)
        yield debugger


def nested() -> Callable[[], Results]:
    @tf.function
    def innermost(x: tf.Tensor) -> tf.Tensor:
        return tf.nn.relu(x @ W) + 0.5

    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.tanh(innermost(x)) - innermost(-x)

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(inner(x) * inner(x * 2.0))

    return lambda: [outer(X).numpy()]


def loops() -> Callable[[], Results]:
    @tf.function
    def looped(x: tf.Tensor) -> tf.Tensor:
        for i in tf.range(4):
            x = tf.sin(x) + tf.cast(i, tf.float32)
            if tf.reduce_sum(x) > 10.0:
                x *= 0.5
        return tf.map_fn(lambda row: tf.exp(-row) + 1.0, x, parallel_iterations=4)

    return lambda: [looped(X).numpy()]


def branches() -> Callable[[], Results]:
    @tf.function
    def branched(x: tf.Tensor, flag: tf.Tensor) -> tf.Tensor:
        y = tf.cond(flag, lambda: tf.exp(x), lambda: tf.square(x) * 3.0)
        return tf.switch_case(tf.cast(flag, tf.int32), [lambda: y + 1.0, lambda: tf.sqrt(tf.abs(y))])

    return lambda: [branched(X, tf.constant(flag)).numpy() for flag in (True, False)]


def gradients() -> Callable[[], Results]:
    w = tf.Variable(W)

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            h = tf.sigmoid(x @ w)
            # Several gradients of one tensor are added, in an order that depends on who refers to them.
            loss = tf.reduce_sum(h * 3.0 + tf.exp(h) + tf.tanh(h) / 7.0 + tf.square(h))
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    def steps() -> Results:
        w.assign(W)
        return [step(X).numpy(), step(X).numpy(), w.numpy()]

    return steps


def pipelines() -> Callable[[], Results]:
    mean = tf.function(lambda x: tf.reduce_mean(tf.square(x)))

    def run() -> Results:
        rows = tf.data.Dataset.from_tensor_slices(X).map(
            lambda row: tf.math.log(tf.abs(row) + 1.0), num_parallel_calls=2
        )
        return [mean(row).numpy() for row in rows.batch(2).prefetch(2)]

    return run


def parallel_ops() -> Callable[[], Results]:
    @tf.function
    def parallel(x: tf.Tensor) -> tf.Tensor:
        return tf.stack([tf.reduce_sum(tf.sin(x * float(i)) + tf.exp(x / (i + 1.0))) for i in range(8)])

    return lambda: [parallel(X).numpy()]


def sessions() -> Callable[[], Results]:
    def run() -> Results:
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            x = tf.compat.v1.placeholder(tf.float32, [None, 4])
            w = tf.compat.v1.get_variable("w", initializer=W, use_resource=False)
            h = tf.nn.relu(x @ w)
            turns = tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.tanh(y) + 0.1), [0, h])[1]
            loss = tf.add_n([tf.reduce_sum(h), tf.reduce_sum(turns), tf.reduce_sum(h * turns)])
            train = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(loss)
            session.run(tf.compat.v1.global_variables_initializer())
            return [*session.run([loss, train], {x: X})[:1], session.run(w), session.run(loss, {x: X})]

    return run


def _assert_same_bits(actual: Results, expected: Results) -> None:
    for one, other in zip(actual, expected, strict=True):
        np.testing.assert_array_equal(np.ravel(one).view(np.int32), np.ravel(other).view(np.int32))


@pytest.mark.parametrize("make", [nested, loops, branches, gradients, pipelines, parallel_ops, sessions])
def test_steps_and_breakpoints_at_any_tensors_change_no_bit_of_the_results(
    stepped: Debugger, make: Make
) -> None:
    call = make()
    expected = call()  # also traced, and recorded
    stepped.gate.forget_values()

    def look(hit: GateHit) -> None:
        elements = stepped.gate.elements(hit.tensor.number)
        assert elements is not None and hit.tensor.is_held
        assert elements.num_bytes == hit.tensor.num_bytes

    program = stepped.start(call)
    hits = stepped.hits_until_end(program, act=look)
    _assert_same_bits(program.returned(), expected)
    assert len(hits) > 5
    assert [hit.number for hit in hits] == sorted({hit.number for hit in hits})
    ids = {tensor.tensor_id for tensor in stepped.recording.watched}
    assert {hit.tensor.tensor_id for hit in hits} <= ids
    chooser = random.Random(make.__name__)
    ids = sorted(tensor.tensor_id for tensor in stepped.recording.watched if not tensor.is_constant)
    for _ in range(3):
        chosen = frozenset(chooser.sample(ids, max(1, len(ids) // 4)))
        stepped.recording.isolate(chosen)
        stepped.gate.set_rules([GateRule(1, chosen)])
        program = Program(call)
        while program.is_alive():
            hit = stepped.gate.wait(0.02)
            if hit is not None:
                assert hit.tensor.tensor_id in chosen and hit.rule == 1
                stepped.gate.release(hit.number)
        stepped.gate.set_rules([])
        _assert_same_bits(program.returned(), expected)
    stepped.recording.isolate(frozenset())
    _assert_same_bits(call(), expected)


DTYPES = [
    *(tf.float16, tf.bfloat16, tf.float32, tf.float64, tf.complex64, tf.complex128),
    *(tf.int8, tf.uint8, tf.int16, tf.uint16, tf.int32, tf.uint32, tf.int64, tf.uint64, tf.bool),
]


def test_values_of_every_dtype_can_be_read_while_the_thread_is_held(tmp_path: Path) -> None:
    @tf.function
    def casts(x: tf.Tensor) -> tuple[tf.Tensor, ...]:
        made = [tf.cast(x, dtype, name=f"to_{dtype.name}") for dtype in DTYPES]
        texts = tf.strings.join(["text", tf.strings.as_string(x, precision=1)], name="texts")
        return (*made, texts, tf.zeros(tf.shape(x)[:0], tf.float32), tf.reshape(x[:0], [0, 3], name="none"))

    values = np.array([[0, 1, 2.5], [3, 4, 100]], np.float64)
    with debugged(tmp_path, "FULL_TENSOR") as debugger:
        debugger.gate.hold_values(1 << 20)
        results = casts(values)
        expected = {f"to_{dtype.name}": result for dtype, result in zip(DTYPES, results, strict=False)}
        names = {tensor.tensor_id: tensor.op_name for tensor in debugger.recording.watched}
        seen: dict[str, list[bytes] | bytes] = {}

        def look(hit: GateHit) -> None:
            elements = debugger.gate.elements(hit.tensor.number)
            assert elements is not None and elements.shape == hit.tensor.shape
            name = names[hit.tensor.tensor_id]
            if elements.dtype == tf.string.as_datatype_enum:
                seen[name] = elements.strings(1, 3)
                with pytest.raises(BufferError, match="strings"):
                    memoryview(elements)  # type: ignore[arg-type]
            else:
                seen[name] = memoryview(elements).tobytes()  # type: ignore[arg-type]

        debugger.hits_until_end(debugger.start(casts, values), act=look)
    assert seen["texts"] == [b"text1.0", b"text2.5"]
    for name, tensor in expected.items():
        if name != "to_float64":  # a cast to the same dtype is no op
            assert seen[name] == tensor.numpy().tobytes(), name


def test_tensors_with_the_elements_of_another_one_have_their_own_shapes(stepped: Debugger) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None, 4])])
    def reshapes(x: tf.Tensor) -> dict[str, tf.Tensor]:
        made = {"relu": tf.nn.relu(x, name="relu")}
        made["flat"] = tf.reshape(made["relu"], [-1, 8], name="flat")
        made["expanded"] = tf.expand_dims(made["flat"], 1, name="expanded")
        made["squeezed"] = tf.squeeze(made["expanded"], 1, name="squeezed")
        made["other"] = tf.reshape(made["relu"], [tf.shape(x)[1], tf.shape(x)[0], 4], name="other")
        made["kept"] = tf.stop_gradient(made["other"], name="kept")
        made["twice"] = tf.concat([made["squeezed"], made["flat"]], 0, name="twice")
        return made

    for shape in ((6, 2, 4), (2, 1, 4), (0, 3, 4)):
        x = tf.reshape(tf.range(np.prod(shape), dtype=tf.float32), shape)
        stepped.gate.forget_values()
        expected = reshapes(x)
        names = {tensor.tensor_id: tensor.op_name for tensor in stepped.recording.watched}
        seen = {names[passed.tensor_id]: passed for passed in stepped.gate.tensors()}
        assert seen.keys() >= expected.keys()
        for name, tensor in expected.items():
            elements = stepped.gate.elements(seen[name].number)
            assert elements is not None
            assert seen[name].shape == elements.shape == tuple(tensor.shape), name
            assert memoryview(elements).tobytes() == tensor.numpy().tobytes()  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [tf.float32, tf.bfloat16, tf.float64, tf.complex64])
def test_the_consumers_of_a_changed_tensor_get_the_new_value(stepped: Debugger, dtype: tf.DType) -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.square(x, name="changed") + 1

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        return inner(x) * 2

    x = tf.cast(X, dtype)
    expected = outer(x).numpy()
    changed = stepped.tensor("changed")
    assert stepped.recording.isolate(frozenset([changed.tensor_id, 1 << 40])) == {changed.tensor_id}
    stepped.gate.set_rules([GateRule(3, frozenset([changed.tensor_id]))])
    program = Program(outer, x)
    hit = stepped.hit()
    assert (hit.rule, hit.cannot_change, hit.others_may_have_passed) == (3, CannotChange.CAN_CHANGE, False)
    new = tf.cast(np.arange(12).reshape(3, 4), dtype).numpy()
    with pytest.raises(ValueError, match="number of bytes"):
        stepped.gate.replace(hit.number, new.tobytes()[1:])
    stepped.gate.replace(hit.number, new.tobytes())
    elements = stepped.gate.elements(hit.tensor.number)
    assert memoryview(elements).tobytes() == new.tobytes()  # type: ignore[arg-type]
    assert stepped.gate.release(hit.number)
    np.testing.assert_array_equal(program.returned().numpy(), (new + 1) * 2)
    with pytest.raises(RuntimeError, match="no thread is held"):
        stepped.gate.replace(hit.number, new.tobytes())
    stepped.gate.set_rules([])
    stepped.recording.isolate(frozenset())
    np.testing.assert_array_equal(outer(x).numpy(), expected)


def test_a_changed_value_is_on_record_after_the_computed_one(tmp_path: Path) -> None:
    @tf.function
    def logarithm(x: tf.Tensor) -> tf.Tensor:
        return tf.math.log(x, name="log") * 3.0

    x = np.array([1.0, -1.0], np.float32)
    with debugged(tmp_path) as debugger:
        logarithm(x)
        tensor = debugger.tensor("log")
        debugger.recording.isolate(frozenset([tensor.tensor_id]))
        debugger.gate.set_rules([GateRule(1, None, above("nan", 0), only_bad=True)])
        program = Program(logarithm, x)
        hit = debugger.hit()
        debugger.gate.replace(hit.number, np.zeros(2, np.float32).tobytes())
        debugger.gate.let_all_pass()
        np.testing.assert_array_equal(program.returned().numpy(), [0.0, 0.0])
    nans = [trace.counts[3] for trace in read(tmp_path).traces if trace.op_name == "log"]
    assert nans == [1.0, 1.0, 0.0]


def test_a_tensor_that_others_were_computed_from_cannot_be_changed(stepped: Debugger) -> None:
    call = nested()
    call()
    names = {tensor.tensor_id: tensor for tensor in stepped.recording.watched}
    hits = stepped.hits_until_end(stepped.start(call))
    coalesced = [hit for hit in hits if hit.cannot_change is CannotChange.COALESCED]
    assert coalesced and all(hit.others_may_have_passed for hit in coalesced)
    # With ops of their own they can.
    chosen = coalesced[0].tensor.tensor_id
    stepped.recording.isolate(frozenset([chosen]))
    stepped.gate.set_rules([GateRule(1, frozenset([chosen]))])
    program = Program(call)
    assert stepped.hit().cannot_change is CannotChange.CAN_CHANGE, names[chosen]
    stepped.gate.let_all_pass()
    program.returned()


def test_a_condition_is_judged_by_the_numbers_of_each_tensor(stepped: Debugger) -> None:
    call = loops()
    expected = call()
    steps = above("max", 3.0)
    stepped.gate.set_rules([GateRule(1, None, steps, ignore=2), GateRule(2, None, above("nan", 0), True)])
    program = Program(call)
    hit = stepped.hit()
    assert hit.rule == 1 and hit.tensor.numbers is not None
    values = np.frombuffer(memoryview(stepped.gate.elements(hit.tensor.number)), np.float32)  # type: ignore[arg-type]
    numbers = dict(zip(NUMBERS, hit.tensor.numbers, strict=True))
    assert numbers["max"] == values.max() > 3.0 and numbers["size"] == values.size
    counts = stepped.gate.counts()
    assert counts.hits == {1: 3, 2: 0}
    made = (hit, hit.tensor, hit.cannot_change, counts)
    assert [type(value) for value in made] == [GateHit, Passed, CannotChange, GateCounts]
    stepped.gate.let_all_pass()
    _assert_same_bits(program.returned(), expected)


def test_a_paused_recording_still_stops(stepped: Debugger) -> None:
    call = nested()
    call()
    stepped.recording.pause()
    program = stepped.start(call)
    assert stepped.hit().tensor.is_held
    stepped.gate.let_all_pass()
    program.returned()


def test_several_threads_stop_together_and_go_on_in_turn(stepped: Debugger) -> None:
    calls = [nested(), loops(), gradients()]
    expected = [call() for call in calls]
    programs = [stepped.start(call) for call in calls for _ in range(2) if call is not calls[2]]
    most_waiting = 0

    def look(hit: GateHit) -> None:
        nonlocal most_waiting
        most_waiting = max(most_waiting, len(stepped.gate.held_calls))

    for program in programs:
        stepped.hits_until_end(program, act=look)
    for program, result in zip(programs, [expected[0], expected[0], expected[1], expected[1]], strict=True):
        _assert_same_bits(program.returned(), result)
    assert most_waiting >= 1


def test_input_pipelines_go_on_while_the_program_is_held(stepped: Debugger) -> None:
    call = nested()
    call()
    held = stepped.start(call)
    hit = stepped.hit()
    rows = tf.data.Dataset.from_tensor_slices(X).map(lambda row: tf.exp(row, name="in_pipeline"))
    assert len(Program(lambda: list(rows)).returned()) == 3
    tensor = stepped.tensor("in_pipeline")
    assert tensor.in_pipeline and not stepped.tensor("Relu").in_pipeline
    # A rule of its own stops it: after the other thread.
    stepped.gate.set_rules([GateRule(4, frozenset([tensor.tensor_id]))])
    pipeline = Program(lambda: list(rows))
    assert stepped.gate.wait(0.1) is None
    assert stepped.gate.release(hit.number)
    assert stepped.hit().rule == 4
    stepped.gate.let_all_pass()
    assert len(pipeline.returned()) == 3
    held.returned()


def test_an_error_elsewhere_in_the_graph_waits_for_the_held_thread(stepped: Debugger) -> None:
    @tf.function
    def fails(x: tf.Tensor) -> tf.Tensor:
        y = tf.exp(x, name="held")
        with tf.control_dependencies([tf.debugging.assert_less(x, 0.0)]):
            return y + tf.identity(x)

    with pytest.raises(tf.errors.InvalidArgumentError):
        fails(X)
    stepped.gate.set_rules([GateRule(1, frozenset([stepped.tensor("held").tensor_id]))])
    program = Program(fails, X)
    hit = stepped.gate.wait(1.0)  # the error may come first
    if hit is not None:
        stepped.gate.release(hit.number)
    with pytest.raises(tf.errors.InvalidArgumentError):
        program.returned()
    program = Program(fails, -np.abs(X) - 1.0)
    assert stepped.gate.release(stepped.hit().number)
    program.returned()


def test_a_recording_that_ends_lets_the_held_thread_go(tmp_path: Path) -> None:
    call = nested()
    expected = call()
    with debugged(tmp_path) as debugger:
        call()
        program = debugger.start(call)
        debugger.hit()
    assert program.returned() == expected
    assert debugger.gate.wait(10.0) is None
    debugger.gate.stop_at_next(True)
    assert call() == expected


def test_a_compiled_function_stops_after_its_call_and_can_be_stepped_into(stepped: Debugger) -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return tf.square(x, name="inside") + 1.0

    @tf.function(jit_compile=True)
    def compiled(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(inner(x) * 2.0)

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        return compiled(x) - 1.0

    expected = outer(X).numpy()
    inside = stepped.tensor("inside")
    assert inside.is_compiled
    stepped.gate.set_rules([GateRule(1, frozenset([inside.tensor_id]))])
    program = Program(outer, X)
    assert stepped.hit().cannot_change is CannotChange.COMPILED
    stepped.gate.let_all_pass()
    assert program.returned().numpy() == expected

    stepped.recording.isolate(frozenset([inside.tensor_id]))
    stepped.gate.set_rules([GateRule(1, frozenset([inside.tensor_id]))])
    program = Program(outer, X)
    hit = stepped.hit()
    assert hit.cannot_change is CannotChange.CAN_CHANGE and hit.tensor.shape == (3, 4)
    stepped.gate.replace(hit.number, np.zeros((3, 4), np.float32).tobytes())
    stepped.gate.let_all_pass()
    assert program.returned().numpy() == 12 * 2 - 1

    stepped.recording.isolate(frozenset())
    assert outer(X).numpy() == expected
    stepped.gate.set_rules([GateRule(1, frozenset([inside.tensor_id]))])
    program = Program(outer, X)
    assert stepped.hit().cannot_change is CannotChange.COMPILED
    stepped.gate.let_all_pass()
    program.returned()


def test_without_the_native_library_there_is_no_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tb_debugger_plugin.native.load", lambda: None)
    with pytest.raises(AssertionError, match="no native library"), debugged(tmp_path):
        pass


#: The beginning of programs that run in processes of their own.
_PROGRAM = """
import os, sys, threading, time
import numpy as np
import tensorflow as tf
from tests.support.held import Debugger, Program, debugged

tf.config.threading.set_inter_op_parallelism_threads(2)

@tf.function
def wide(x):
    parts = [tf.reduce_sum(tf.sin(x * float(i)) @ tf.exp(x / (i + 1.0))) for i in range(20)]
    return tf.stack(parts)

X = np.linspace(-1.0, 1.0, 10000, dtype=np.float32).reshape(100, 100)
"""


def _run(program: str, folder: Path) -> str:
    """Run a program in a process of its own; it must end by itself, and well."""
    run = forked.run(["-c", _PROGRAM + textwrap.dedent(program), str(folder)], timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_all_threads_of_the_pool_can_be_held(tmp_path: Path) -> None:
    printed = _run(
        """
        with debugged(sys.argv[1]) as debugger:
            expected = wide(X).numpy()
            most = 0
            def look(hit):
                global most
                time.sleep(0.002)
                most = max(most, len(debugger.gate.held_calls))
            programs = [debugger.start(wide, X) for _ in range(3)]
            for program in programs:
                debugger.hits_until_end(program, act=look)
                assert (program.returned().numpy() == expected).all()
        print(most)
        """,
        tmp_path,
    )
    assert int(printed) >= 1  # besides the one that hit: both threads of the pool


def test_a_program_that_ends_leaves_no_thread_held(tmp_path: Path) -> None:
    _run(
        """
        import atexit
        debugging = debugged(sys.argv[1])
        debugger = debugging.__enter__()
        atexit.register(debugger.recording.close, exiting=True)
        wide(X)
        program = debugger.start(wide, X)
        debugger.hit()
        """,
        tmp_path,
    )


def test_a_forked_child_has_no_gate(tmp_path: Path) -> None:
    _run(
        """
        with debugged(sys.argv[1]) as debugger:
            wide(X)
            program = debugger.start(wide, X)
            hit = debugger.hit()
            child = os.fork()
            if child == 0:
                debugger.recording.abandon()
                gate = debugger.gate
                gate.stop_at_next(True)
                gate.hold_values(100)
                ok = gate.wait(60.0) is None and gate.hit is None and not gate.release(hit.number)
                gate.close()
                os._exit(0 if ok and gate.tensors() == [] and gate.held_calls == () else 1)
            assert os.waitpid(child, 0)[1] == 0
            assert debugger.gate.release(hit.number)
            program.returned()
        """,
        tmp_path,
    )


@pytest.mark.long  # the controller's test has replicas, too
def test_replicas_of_a_mirrored_strategy_stop_and_go_on(tmp_path: Path) -> None:
    _run(
        """
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
        strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
        with strategy.scope():
            w = tf.Variable(tf.ones([4, 4]))

        def replica():
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.tanh(tf.ones([2, 4]) @ w) ** 2)
            (gradient,) = tape.gradient(loss, [w])
            everywhere = tf.distribute.get_replica_context().all_reduce("sum", gradient)
            w.assign_sub(0.1 * everywhere)
            return loss

        @tf.function
        def step():
            return strategy.reduce("sum", strategy.run(replica), axis=None)

        def steps():
            w.assign(tf.ones([4, 4]))
            return [float(step()) for _ in range(2)]

        with debugged(sys.argv[1]) as debugger:
            expected = steps()
            program = debugger.start(steps)
            hits = debugger.hits_until_end(program)
            assert program.returned() == expected and len(hits) > 10, (program.result, expected, len(hits))
            tensors = frozenset(tensor.tensor_id for tensor in debugger.recording.watched)
            debugger.recording.isolate(tensors)
            program = debugger.start(steps)
            debugger.hits_until_end(program)
            assert program.returned() == expected
        """,
        tmp_path,
    )


_LOAD = """
with debugged(sys.argv[1], patience=float(sys.argv[2]), circular_buffer_size=1000) as debugger:
    expected = wide(X).numpy()
    ends = threading.Event()
    def turns():
        while not ends.is_set():
            assert (wide(X).numpy() == expected).all()
    rows = tf.data.Dataset.range(1 << 40).map(lambda i: tf.exp(-tf.cast(i, tf.float32)))
    def rows_of_pipeline():
        for _ in rows:
            if ends.is_set():
                return
    from tb_debugger_plugin.native.structs import GateRule
    import random
    debugger.gate.hold_values(1 << 20)
    programs = [Program(call) for call in (turns, turns, turns, rows_of_pipeline)]
    ids = [tensor.tensor_id for tensor in debugger.recording.watched if not tensor.is_constant]
    for pause in range(int(sys.argv[3])):
        chosen = frozenset(random.Random(pause).sample(ids, 3))
        if pause % 20 == 0:
            debugger.recording.isolate(chosen)
        if pause % 2:
            debugger.gate.stop_at_next(True)
        else:
            debugger.gate.set_rules([GateRule(1, chosen)])
        hit = debugger.hit()
        assert len(debugger.gate.elements(hit.tensor.number).shape) >= 0
        debugger.gate.set_rules([])
        debugger.gate.forget_values()
        assert debugger.gate.release(hit.number)
    ends.set()
    debugger.gate.let_all_pass()
    for program in programs:
        program.returned()
"""


@pytest.mark.parametrize("pauses", [100, pytest.param(1000, marks=pytest.mark.long)])
def test_a_program_under_load_pauses_at_random_ops_again_and_again(tmp_path: Path, pauses: int) -> None:
    patience = 1.8 * pauses
    arguments = [str(tmp_path), str(patience), str(pauses)]
    run = forked.run(["-c", _PROGRAM + _LOAD, *arguments], timeout=patience + 60)
    assert run.returncode == 0, run.stderr
