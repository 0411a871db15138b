"""`live/program/controller.py`: real programs stop at tensors, eager ops and calls, and get other values."""

from __future__ import annotations

import random
import threading
import time

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native
from tb_debugger_plugin.events.messages import DebugEvent
from tb_debugger_plugin.live.messages.messages import Command, Pause, State
from tb_debugger_plugin.live.program import api
from tb_debugger_plugin.live.program.interface import BreakpointSettings
from tests.support.live_debugger import debuggers
from tests.support.recorded import read

pytestmark = pytest.mark.skipif(native.load() is None, reason="tensors of graphs stop in the native library")


@pytest.fixture
def begin(tmp_path):
    """Enables breakpoints; the debugger is there before the program begins."""
    allowed = {"wait": True, "may_change_values": True}
    with debuggers() as follow:
        yield lambda **more: follow(api.begin(tmp_path, BreakpointSettings(**{**allowed, **more})))


def names_of(tensors):
    return [one.op_name for one in tensors]


def numbers_of(tensor):
    return {one.name: one.value for one in tensor.numbers}


def logs(x):
    """NaN in the fifth step: the logarithm of a negative number."""

    @tf.function
    def step(i):
        shifted = tf.subtract(x, i, name="shifted")
        logged = tf.math.log(shifted, name="logged")
        return tf.reduce_sum(logged * 2.0, name="loss")

    return step


def test_the_first_nan_of_a_function_is_found_and_mended(begin, tmp_path):
    debugger = begin()
    step = logs(tf.constant([10.0, 3.5]))
    debugger.start(lambda: [float(step(tf.constant(float(i)))) for i in range(6)])
    first = debugger.paused()
    assert first.pause.sentence == "Paused before step (call 0)." and first.call.path == __file__
    stopped = debugger.next(continue_={"condition": "nan > 0"})
    assert (stopped.pause.reason, stopped.call.number) == (Pause.CONDITION, 4)
    tensor = stopped.pause.tensor
    assert (tensor.op_name, tensor.op_type, tensor.function) == ("logged", "Log", "step")
    assert tensor.path == __file__ and tensor.text == "[1.7917595, nan]" and numbers_of(tensor)["nan"] == 1
    assert stopped.pause.sentence.startswith("NaN in logged:0 of step, test_controller.py:")
    assert debugger.controller.evaluate("`shifted:0`").text == "[6.0, -0.5]"
    # The value of the current call may be out already; from the next call on the tensor has its own op.
    debugger.breakpoint(op_name="logged", condition="nan > 0")
    again = debugger.next()
    assert (again.call.number, again.pause.breakpoint, again.pause.can_change) == (5, 1, True)
    debugger.do(change_value={"expression": "np.nan_to_num(value)"})
    assert debugger.controller.state().pause.tensor.text == "[1.609438, 0.0]"
    losses = debugger.rest()
    assert np.isfinite(losses[:4]).all() and np.isnan(losses[4])
    assert losses[5] == pytest.approx(2 * np.log(5), rel=1e-6)
    notices = [one.sentence for one in debugger.controller.state().notices]
    assert any("has set logged:0 of step" in one for one in notices)
    assert changed_values(tmp_path) == [(tensor.graph_id, "logged", 0, "np.nan_to_num(value)")]


def changed_values(folder):
    """The records of values that a debugger changed."""
    (file,) = folder.glob("*.graphs")
    events = map(DebugEvent.FromString, tf.compat.v1.io.tf_record_iterator(str(file)))
    changed = [event.changed_value for event in events if event.HasField("changed_value")]
    return [(one.graph_id, one.op_name, one.slot, one.expression) for one in changed]


def test_the_first_nan_of_an_eager_loop_is_found_and_mended(begin):
    debugger = begin(wait=False)

    def program():
        x = tf.Variable([10.0, 3.5])
        losses = []
        for i in range(6):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.math.log(x - float(i)))
            gradient = tape.gradient(loss, x)
            losses.append((float(loss), gradient.numpy().tolist()))
        return losses

    debugger.do(pause={})
    debugger.start(program)
    debugger.paused()
    stopped = debugger.next(continue_={"condition": "nan > 0"})
    tensor = stopped.pause.tensor
    assert (tensor.op_type, tensor.graph_id, tensor.path) == ("Log", "", __file__)
    assert tensor.text == "[1.7917595, nan]" and stopped.pause.can_change
    debugger.do(change_value={"expression": "np.where(np.isnan(value), 0, value)"})
    assert debugger.next(continue_={"condition": "nan > 0"}).pause.tensor.op_type == "Log"
    debugger.do(change_value={"expression": "np.zeros(2)"})
    losses = debugger.rest()
    assert losses[4][0] == pytest.approx(np.log(6), rel=1e-6) and losses[5][0] == 0
    assert losses[4][1] == pytest.approx([1 / 6, -2], rel=1e-6)


def test_steps_show_each_tensor_before_those_that_are_computed_from_it(begin):
    debugger = begin()
    step = logs(tf.constant([2.0, 3.0]))
    debugger.start(lambda: float(step(tf.constant(1.0))))
    debugger.paused()
    seen = []
    while debugger.controller.state().phase != State.ENDED and len(seen) < 20:
        debugger.do(step={})
        if not debugger.has_stopped():
            break
        seen.append(debugger.controller.state().pause.tensor.op_name)
    assert debugger.finished() == pytest.approx(2 * np.log(2), rel=1e-6)
    order = [name for name in seen if name in ("shifted", "logged", "mul", "loss")]
    assert order == ["shifted", "logged", "mul", "loss"]
    assert names_of(debugger.tensors())[-1] == "loss"


def test_a_loop_inside_a_function_stops_where_the_condition_first_holds(begin):
    debugger = begin()

    @tf.function
    def shrink(x):
        for _ in tf.range(20):
            x = tf.subtract(x, 1.0, name="smaller")
        return x

    debugger.start(lambda: float(shrink(tf.constant(10.0))))
    debugger.paused()
    debugger.breakpoint(name_regex="smaller", condition="min < 0")
    stopped = debugger.next()
    assert stopped.pause.tensor.text == "-1.0" and stopped.pause.tensor.occurrence == 11
    earlier = debugger.controller.evaluate(f"`{stopped.pause.tensor.op_name}:0[0]`")
    assert earlier.text == "9.0"
    debugger.do(change_value={"expression": "100"})
    debugger.do(remove_breakpoint=1)
    assert debugger.rest() == 91


def test_a_line_stops_all_ops_that_it_made_and_hits_can_be_ignored(begin):
    debugger = begin()
    step = logs(tf.constant([10.0, 3.5]))
    debugger.start(lambda: [float(step(tf.constant(float(i)))) for i in range(4)])
    debugger.paused()
    line = logs.__code__.co_firstlineno + 6
    what = {"where": {"path": "test_controller.py", "line": line}, "ignore": 2, "enabled": True}
    debugger.do(set_breakpoint=what)
    state = debugger.next()
    assert (state.pause.tensor.op_name, state.call.number) == ("logged", 2)
    assert (state.breakpoints[0].hits, state.breakpoints[0].num_tensors) == (3, 1)
    debugger.do(remove_breakpoint=1)
    debugger.rest()


def of_lines(x):
    """Lines that call something."""

    def forward(images):
        hidden = tf.nn.relu(images, name="hidden")
        return tf.nn.softmax(hidden, name="probs")

    @tf.function
    def step(images):
        print("traced")
        probs = forward(images)

        log = tf.math.log(probs, name="log")
        for _ in range(2):
            log = forward(log)
        return tf.reduce_sum(log)

    def run():
        for _ in range(2):
            step(x)
        forward(x)
        forward(x)

    return run


def test_a_line_that_calls_something_stops_once_a_call_in_functions_and_eagerly(begin):
    debugger = begin(wait=False)
    first = of_lines.__code__.co_firstlineno
    for line in (9, 11, 14, 19, 20, 21):
        where = {"path": "test_controller.py", "line": first + line}
        debugger.do(set_breakpoint={"where": where, "enabled": True})
    assert all("fits yet" in one.problem for one in debugger.controller.state().breakpoints)
    debugger.start(of_lines(tf.constant([1.0, 2.0])))
    seen = []
    for _ in range(10):
        state = debugger.paused()
        line = state.breakpoints[state.pause.breakpoint - 1].where.line - first
        seen.append((line, state.pause.tensor.op_name))
        debugger.do(continue_={})
    debugger.finished()
    in_a_call = [(19, ""), (9, "hidden"), (11, "log"), (14, "hidden_1")]
    assert seen == [*in_a_call, *in_a_call, (20, "Relu"), (21, "Relu_1")]
    points = {one.where.line - first: one for one in debugger.controller.state().breakpoints}
    assert {line: one.hits for line, one in points.items()} == {9: 2, 11: 2, 14: 2, 19: 2, 20: 1, 21: 1}
    assert points[9].note.endswith(f"at the next one that does, {first + 10}.")
    assert points[11].note.endswith(f"at the next one that does, {first + 12}.")
    assert "first op that the line leads to" in points[14].note
    assert not any(one.problem for one in points.values())


def test_a_session_stops_inside_its_run(begin):
    debugger = begin()

    def program():
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
            loss = tf.reduce_sum(tf.math.log(x, name="logged"), name="loss")
            return [float(session.run(loss, {x: [4.0, 2.0 - i]})) for i in range(4)]

    debugger.start(program)
    first = debugger.paused()
    assert list(first.call.fetches) == ["loss:0"] and first.call.feeds[0].startswith("x:0: float32")
    stopped = debugger.next(continue_={"condition": "nan > 0"})
    assert (stopped.pause.tensor.op_name, stopped.call.number) == ("logged", 3)
    assert np.isnan(debugger.rest()[3])


def test_curves_are_followed_while_the_program_runs(begin):
    debugger = begin(wait=False)
    debugger.do(watch={"op_name": "loss", "slot": 0})
    step = logs(tf.constant([10.0, 20.0]))
    debugger.start(lambda: [float(step(tf.constant(float(i)))) for i in range(5)])
    losses = debugger.finished()
    (watched,) = debugger.controller.state().watched
    assert [{one.name: one.value for one in point.numbers}["max"] for point in watched.points] == losses
    assert [point.call for point in watched.points] == [0, 1, 2, 3, 4]


def test_strings_and_integers_are_at_hand(begin):
    debugger = begin(wait=False)

    def program():
        x = tf.add(tf.constant([1, 2]), 1)
        return tf.strings.join([tf.strings.as_string(x), "!"]).numpy().tolist()

    debugger.breakpoint(op_type="AddV2")
    debugger.breakpoint(op_type="StringJoin")
    debugger.start(program)
    state = debugger.paused()
    assert state.pause.tensor.text == "[2, 3]" and numbers_of(state.pause.tensor)["max"] == 3
    assert debugger.controller.evaluate("np.sum(value)").text == "5"
    debugger.do(change_value={"expression": "value * 10"})
    state = debugger.next()
    assert state.pause.tensor.text == "[b'20!', b'30!']"
    refused = debugger.controller.control(Command(change_value={"expression": "0"}))
    assert not refused.done and "numbers" in refused.sentence
    assert debugger.rest() == [b"20!", b"30!"]


def choices(rows):
    """A function with integers, truth values and strings inside."""

    @tf.function
    def step(i):
        best = tf.argmax(rows + i, axis=1, name="best")
        is_last = tf.equal(best, 2, name="is_last")
        words = tf.strings.as_string(best, name="words")
        return tf.reduce_sum(tf.where(is_last, 1.0, 0.0)), tf.strings.join([words, "!"])

    return step


def test_integers_truth_values_and_strings_inside_functions_stop_and_are_changed(begin, tmp_path):
    debugger = begin()
    step = choices(tf.constant([[1.0, 2.0, 0.0], [0.0, 1.0, 4.0]]))

    def program():
        return [[one.numpy().tolist() for one in step(tf.constant(float(i)))] for i in range(4)]

    debugger.start(program)
    debugger.paused()  # the function is not traced yet
    names = ("best", "is_last", "words")
    numbers = [debugger.breakpoint(op_name=name, slot=-1) for name in names]
    seen = {}
    for _ in names:
        tensor = debugger.next().pause.tensor
        seen[tensor.op_name] = tensor.text, numbers_of(tensor).get("max"), numbers_of(tensor).get("size")
        if tensor.op_name == "best":
            assert debugger.controller.evaluate("np.sum(value)").text == "3"
            debugger.do(change_value={"expression": "value + 1"})
    assert seen["best"] == ("[1, 2]", 2, 2) and seen["is_last"] == ("[True, False]", 1, 2)
    assert seen["words"] == ("[b'2', b'3']", None, 2)
    assert [one.num_tensors for one in debugger.controller.state().breakpoints] == [1, 1, 1]
    for number in numbers:
        debugger.do(remove_breakpoint=number)
    state = debugger.next(continue_={"tensor": {"op_name": "best", "slot": 0}})
    assert (state.call.number, state.pause.tensor.text) == (1, "[1, 2]")
    debugger.breakpoint(op_name="best", slot=-1, condition="max > 1 and size == 2")
    state = debugger.next()
    assert state.call.number == 2 and "max > 1 and size == 2 holds" in state.pause.sentence
    debugger.next()
    debugger.do(detach={})
    results = debugger.finished()
    assert results == [[1.0, [b"2!", b"3!"]], *[[1.0, [b"1!", b"2!"]]] * 3]
    api.Breakpoints.current().recording.FlushExecutionFiles()
    with tb_debugger_plugin.open_run(tmp_path) as run:
        recorded = {one.op_name for one in run.graph_executions()}
        assert recorded and not recorded & set(names)


def test_a_recording_that_is_on_stops_at_tensors_of_functions_that_exist(begin, tmp_path):
    x = tf.constant([10.0, 3.5])

    @tf.function(jit_compile=True)
    def compiled(y):
        return tf.exp(y, name="inside") * 2.0

    step = logs(x)
    step(tf.constant(0.0))
    tb_debugger_plugin.enable_dump_debug_info(str(tmp_path), "FULL_HEALTH")
    compiled(x)
    values = [float(step(tf.constant(float(i)))) for i in range(2)]
    debugger = begin(wait=False)
    # Pipelines of the tests of other modules may live as long as the process.
    notices = [one.sentence for one in debugger.controller.state().notices]
    assert not any("functions" in sentence or "sessions" in sentence for sentence in notices)
    debugger.breakpoint(op_name="logged", slot=-1, condition="max > 2")
    debugger.breakpoint(op_name="inside", slot=-1)
    debugger.start(lambda: [*[float(step(tf.constant(float(i)))) for i in range(2)], compiled(x)])
    for name, call in (("logged", 0), ("logged", 1), ("inside", 2)):
        state = debugger.paused()
        assert (state.pause.tensor.op_name, state.call.number) == (name, call)
        assert state.pause.can_change and state.pause.tensor.has_value
        debugger.do(continue_={})
    assert debugger.finished()[:2] == pytest.approx(values)
    api.Breakpoints.current().close()
    tb_debugger_plugin.disable_dump_debug_info()


def test_what_exists_and_cannot_be_defined_again_is_named(begin, tmp_path):
    tb_debugger_plugin.enable_dump_debug_info(str(tmp_path), "FULL_HEALTH")
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        session.run(tf.exp(1.0))
    rows = tf.data.Dataset.range(3).map(lambda row: row * 2)
    debugger = begin(wait=False)
    (notice,) = debugger.controller.state().notices
    assert "sessions made before, input pipelines made before." in notice.sentence
    assert [int(row) for row in rows] == [0, 2, 4]
    api.Breakpoints.current().close()
    tb_debugger_plugin.disable_dump_debug_info()


def test_a_program_that_is_told_to_end_ends_at_its_next_hook(begin):
    debugger = begin()
    step = logs(tf.constant([10.0, 20.0]))

    def steer():
        debugger.paused()
        debugger.next(step={})
        debugger.do(stop={})

    debugger.start(steer)
    with pytest.raises(SystemExit, match="The debugger has ended the program"):
        step(tf.constant(1.0))
    assert np.isfinite(float(step(tf.constant(1.0))))


def test_an_error_of_a_call_pauses_the_program(begin):
    debugger = begin(wait=False)

    @tf.function
    def fails(x):
        tf.debugging.assert_positive(x, message="not positive")
        return x

    def program():
        try:
            return fails(tf.constant(-1.0))
        except tf.errors.InvalidArgumentError:
            return "caught"

    debugger.start(program)
    state = debugger.paused()
    assert state.pause.reason == Pause.ERROR
    sentence = state.pause.sentence
    assert sentence.startswith(
        "Paused after fails (call 0): InvalidArgumentError: assertion failed: [not pos"
    )
    line = fails.python_function.__code__.co_firstlineno + 2
    assert "in assert_positive/" in sentence and sentence.endswith(f", test_controller.py:{line}.")
    assert debugger.rest() == "caught"


@pytest.mark.parametrize("nested", [False, True])
def test_an_op_that_fails_is_shown_with_its_line_its_reason_and_its_inputs(begin, nested):
    debugger = begin(wait=False)

    @tf.function
    def gathers(x, i):
        table = tf.multiply(x, 2.0, name="table")
        return tf.gather(tf.identity(table), i, name="gathered")

    @tf.function
    def outer(x, i):
        return gathers(x, i) + 1.0

    def program():
        called = outer if nested else gathers
        called(tf.constant([1.0, 2.0]), tf.constant(1))
        with pytest.raises(tf.errors.InvalidArgumentError):
            called(tf.constant([1.0, 2.0]), tf.constant(5))

    debugger.breakpoint(op_name="Never")
    debugger.start(program)
    state = debugger.paused()
    pause, line = state.pause, gathers.python_function.__code__.co_firstlineno + 3
    assert (pause.reason, state.call.number, pause.failed.op_name) == (Pause.ERROR, 1, "gathered")
    assert (pause.failed.line, pause.failed.op_type, pause.failed.number) == (line, "GatherV2", 0)
    assert pause.sentence == (
        f"Paused after {'outer' if nested else 'gathers'} (call 1): InvalidArgumentError: indices = 5 is not"
        f" in [0, 2), in gathered:0 of gathers, test_controller.py:{line}."
    )
    inputs = {one.op_name: (one.text, list(one.shape)) for one in pause.inputs}
    assert inputs["table"] == ("[2.0, 4.0]", [2])
    assert list(inputs)[1] == "i" and not pause.inputs[1].has_value
    assert "table" in names_of(debugger.tensors())
    debugger.rest()


@pytest.mark.parametrize("inner", [False, True], ids=["one function", "a function inside"])
def test_each_thread_stops_in_its_own_call_with_its_own_tensors(begin, inner):
    """Three workers call one function at the same time; what a worker computes tells which one it is."""
    debugger = begin(wait=False)
    of_worker, rounds = 1000, 6
    together = threading.Barrier(3)

    @tf.function
    def plus(x):
        return tf.add(x, 1.0, name="plus")

    @tf.function
    def work(x):
        for _ in tf.range(2):
            x = plus(x) if inner else tf.add(x, 1.0, name="plus")
        return tf.multiply(x, 1.0, name="product")

    def worker(k):
        def run():
            threading.current_thread().name = f"worker-{k}"
            together.wait()
            return [float(work(tf.constant(float(k * of_worker + 10 * i)))) for i in range(rounds)]

        return run

    def base(tensor):
        return tensor.op_name.rpartition("/")[2]

    work(tf.constant(0.0))
    debugger.breakpoint(name_regex="(^|/)(plus|product)$")
    for k in range(3):
        debugger.start(worker(k))
    seen = {k: [] for k in range(3)}
    while debugger.has_stopped():
        state = debugger.controller.state()
        stopped = state.pause.tensor
        number, step = divmod(int(float(stopped.text)), of_worker)
        assert state.call.thread == f"worker-{number}"
        seen[number].append((state.call.number, base(stopped), stopped.occurrence, step))
        at_hand = [(base(one), one.text) for one in debugger.tensors() if base(one) in ("plus", "product")]
        assert at_hand[-1] == (base(stopped), stopped.text)
        assert {int(float(text)) // of_worker for _, text in at_hand} == {number}, "of its own call only"
        assert f"worker-{number}" in {one.thread for one in state.running if one.is_held}
        assert len({one.thread for one in state.running}) == len(state.running) <= 3
        debugger.do(continue_={}, pause_number=debugger.number)
    debugger.finished()
    assert len({numbers[0][0] for numbers in seen.values()}) == 3
    for stops in seen.values():
        calls = sorted({call for call, *_ in stops})
        assert stops == [
            (call, *stop)
            for i, call in enumerate(calls)
            for stop in (("plus", 1, 10 * i + 1), ("plus", 2, 10 * i + 2), ("product", 1, 10 * i + 2))
        ]
        assert len(calls) == rounds


def test_runs_that_begin_together_and_show_no_tensor_are_not_told_apart(begin):
    """The first tensor of both comes late, after the time for which one waits for the other."""
    debugger = begin(wait=False)
    go_on = threading.Event()

    def wait():
        go_on.wait(60)
        return np.float32(1.0)

    @tf.function
    def late():
        return tf.add(tf.ensure_shape(tf.numpy_function(wait, [], tf.float32), []), 1.0, name="sum")

    go_on.set()
    late()
    go_on.clear()
    debugger.breakpoint(op_name="sum")
    for _ in range(2):
        debugger.start(late)
    while len(debugger.controller.state().running) < 2:
        time.sleep(0.05)
    time.sleep(2.0)
    go_on.set()
    threads = debugger.paused().call.thread.split(" or ")
    assert len(threads) == 2
    debugger.next()
    debugger.rest()


@pytest.mark.parametrize("pauses", [200, pytest.param(1000, marks=pytest.mark.long)])
def test_pauses_of_several_threads_under_load_never_hang(begin, pauses):
    """Functions with loops, eager ops and an input pipeline at once, and a debugger that steps at random."""
    debugger = begin(wait=False)
    chosen = random.Random(15)
    rounds = pauses // 5

    @tf.function
    def loop(x):
        for _ in tf.range(4):
            x = tf.sin(x) + tf.cos(x) * 0.5
        return tf.reduce_sum(x)

    def functions():
        data = tf.data.Dataset.range(1000).map(lambda i: tf.cast(i, tf.float32) * 0.1).prefetch(2)
        return [float(loop(i + tf.zeros(3))) for i, _ in zip(data, range(rounds), strict=False)]

    def eager():
        return [float(tf.reduce_sum(tf.exp(tf.constant([0.1, 0.2]) * i))) for i in range(rounds)]

    expected = functions(), eager()
    debugger.do(pause={})
    for program in (functions, eager, functions):
        debugger.start(program)
    commands = (*[dict(step={})] * 4, dict(step_over={}), dict(continue_={"condition": "size > 2"}))
    while debugger.number < pauses and debugger.has_stopped():
        debugger.do(**chosen.choice(commands), pause_number=debugger.number)
    debugger.controller.detach("Enough.")
    debugger.finished()
    assert debugger.number == pauses
    assert sorted(debugger.results) == sorted([expected[0], expected[0], expected[1]])


def test_the_first_nan_of_a_keras_model_is_found_in_its_fit(begin):
    debugger = begin()
    negative = tf.keras.layers.Dense(3, kernel_initializer=tf.keras.initializers.Constant(-1.0))
    model = tf.keras.Sequential([tf.keras.Input((4,)), negative])
    model.add(tf.keras.layers.Lambda(tf.math.log, name="logarithm"))
    model.compile("sgd", "mse")
    data = np.ones((64, 4), np.float32)
    debugger.start(lambda: model.fit(data, np.zeros((64, 3), np.float32), batch_size=8, verbose=0))
    assert debugger.paused().call.kind
    stopped = debugger.next(continue_={"condition": "nan > 0"})
    assert stopped.pause.reason == Pause.CONDITION and numbers_of(stopped.pause.tensor)["nan"] > 0
    debugger.breakpoint(layer_regex="logarithm$", condition="nan > 0")
    assert debugger.controller.state().breakpoints[0].num_tensors > 0
    after = debugger.next(step_over={})
    assert after.pause.reason in (Pause.BEFORE_CALL, Pause.BREAKPOINT)
    debugger.do(detach={})
    debugger.finished()


def test_a_function_that_xla_compiles_is_stepped_into(begin):
    debugger = begin()

    @tf.function(jit_compile=True)
    def compiled(x):
        return tf.reduce_sum(tf.math.log(x, name="logged") * 2.0)

    debugger.start(lambda: [float(compiled(tf.constant([4.0, 2.0 - i]))) for i in range(4)])
    debugger.paused()
    debugger.next(step_over={})
    debugger.breakpoint(op_type="Log", condition="nan > 0")
    assert "runs uncompiled" in debugger.controller.state().breakpoints[0].problem
    stopped = debugger.next()
    assert (stopped.call.number, stopped.pause.tensor.op_name) == (3, "logged")
    assert stopped.pause.can_change and stopped.pause.tensor.text == "[1.3862944, nan]"
    debugger.do(change_value={"expression": "np.nan_to_num(value)"})
    assert debugger.rest()[3] == pytest.approx(2 * np.log(4), rel=1e-5)


def test_conditions_have_the_numbers_of_arguments_and_results_of_a_compiled_function(begin):
    debugger = begin()

    @tf.function(jit_compile=True)
    def compiled(x):
        return tf.exp(x, name="inside") * 2.0

    debugger.start(lambda: [compiled(tf.constant([0.5, float(i)])) for i in range(4)])
    debugger.paused()
    for condition, name, call in (("max > 5", "mul", 1), ("mean > 1 and mean < 2", "x", 2)):
        state = debugger.next(continue_={"condition": condition})
        assert (state.pause.tensor.op_name, state.call.number) == (name, call)
        assert state.pause.tensor.has_value and numbers_of(state.pause.tensor)["size"] == 2
    debugger.rest()


def test_the_first_of_each_origin_only_leaves_out_what_is_carried_on(begin):
    debugger = begin(wait=False)
    variable = tf.Variable([1.0, 2.0])

    @tf.function
    def inner(x):
        return tf.tanh(tf.identity(x), name="inside") + 1.0

    @tf.function
    def step(i):
        logged = tf.math.log(variable - i, name="logged")
        carried = inner(tf.reshape(logged * 2.0, [1, 2]))
        for _ in tf.range(2):
            carried = carried * 0.5
        root = tf.sqrt(i - 3.0, name="root")
        if i > 2.0:
            variable.assign_add(carried[0] + root)
        return tf.add(tf.reduce_sum(carried), root, name="total")

    def program():
        for i in (0.5, 1.5, 2.5):
            step(tf.constant(i))
        step(tf.constant(4.0))
        bad = tf.math.log(tf.constant([-1.0]))
        return bad * 2.0 + tf.sqrt(tf.constant([-2.0]))

    condition = {"condition": "nan > 0", "enabled": True}
    debugger.do(set_breakpoint={"where": {}, "first_only": True, **condition})
    debugger.do(set_breakpoint={"where": {"op_name": "total"}, **condition})
    debugger.start(program)
    seen = []
    while True:
        state = debugger.controller.follow(debugger.controller.state().version, 0.2)
        if not debugger.is_running:
            break
        if state.phase == State.PAUSED and state.pause.number > debugger.number:
            debugger.number = state.pause.number
            seen.append((state.pause.breakpoint, state.call.number, state.pause.tensor.op_name))
            debugger.do(continue_={})
    births = [(call, "root") for call in range(3)] + [(1, "logged"), (2, "logged"), (3, "Log"), (3, "Sqrt")]
    assert sorted(one[1:] for one in seen if one[0] == 1) == sorted(births)
    assert [one[1:] for one in seen if one[0] == 2] == [(call, "total") for call in range(4)]
    assert [one.hits for one in debugger.controller.state().breakpoints] == [7, 4]


def test_where_a_program_waits_its_source_is_on_record(begin, tmp_path):
    debugger = begin()
    step = logs(tf.constant([1.0]))
    debugger.start(lambda: step(tf.constant(0.0)))
    pause = debugger.paused().pause
    line = test_where_a_program_waits_its_source_is_on_record.__code__.co_firstlineno + 3
    assert (pause.path, pause.line) == (__file__, line)
    while not debugger.controller.state().pause.is_recorded:
        debugger.controller.follow(debugger.controller.state().version, 0.5)
    files = [event.source_file for event in read(tmp_path).events["source_files"]]
    assert __file__ in [file.file_path for file in files if file.lines]
    debugger.rest()


def test_replicas_stop_together_and_go_on(begin):
    debugger = begin(wait=False)
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])

    @tf.function
    def train(x):
        return strategy.run(lambda y: tf.reduce_sum(tf.math.log(y, name="logged")), args=(x,))

    debugger.breakpoint(name_regex="logged", condition="nan > 0")
    debugger.start(lambda: [float(train(tf.constant([4.0, 1.5 - i]))) for i in range(3)])
    assert debugger.paused().call.number == 2
    assert np.isnan(debugger.rest()[2])
