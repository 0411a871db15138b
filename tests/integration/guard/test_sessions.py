"""`capture/engines/guard/sessions.py`: a run of a session that goes bad is replayed in another session."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tests.support.recorded import read

v1 = tf.compat.v1
pytestmark = [
    pytest.mark.tensorflow,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
OPTIMIZERS: dict[str, Callable[[], v1.train.Optimizer]] = {
    "descent": lambda: v1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: v1.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: v1.train.AdamOptimizer(0.01),
}


def origins(folder: Path) -> list[tuple[object, ...]]:
    found = tb_debugger_plugin.open_run(str(folder)).origins()
    return [(one.headline, one.op_name, one.kind, one.source and one.source.line) for one in found]


def trained(
    folder: Path | None, mode: str, optimizer: str, *, is_resource: bool, bad: int = 4
) -> list[bytes]:
    """The weights after steps with dropout and a queue of data, of which one step takes a logarithm of 0."""
    recording = tb_debugger_plugin.record(folder, mode=mode) if folder else nullcontext()
    with v1.Graph().as_default(), recording:
        v1.set_random_seed(1)
        scale = v1.placeholder(tf.float32, [])
        rows = tf.data.Dataset.range(100).map(lambda n: tf.cast(n, tf.float32) / 100.0 + tf.ones([4]))
        row = v1.data.make_one_shot_iterator(rows).get_next()
        with v1.variable_scope("net", use_resource=is_resource):
            weight = v1.get_variable("weight", [4, 3], initializer=v1.ones_initializer())
            other = v1.get_variable("other", [3], initializer=v1.ones_initializer())
        hidden = v1.nn.dropout(tf.expand_dims(row, 0) @ weight, rate=0.3)
        loss = tf.reduce_mean(tf.math.log(tf.abs(tf.reduce_sum(hidden + other)) * scale))
        train = OPTIMIZERS[optimizer]().minimize(loss)
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for step in range(8):
                session.run([train, loss], {scale: 0.0 if step == bad else 1.0})
            return [value.tobytes() for value in session.run(v1.global_variables())]


@pytest.mark.parametrize("is_resource", [True, False], ids=["resource", "reference"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_origin_is_that_of_full_numerics(tmp_path: Path, optimizer: str, is_resource: bool) -> None:
    for mode in ("FULL_NUMERICS", "GUARD"):
        trained(tmp_path / mode, mode, optimizer, is_resource=is_resource)
    expected, found = origins(tmp_path / "FULL_NUMERICS"), origins(tmp_path / "GUARD")
    assert expected and found[0] == expected[0]
    assert set(found) <= set(expected)


@pytest.mark.parametrize("is_resource", [True, False], ids=["resource", "reference"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("bad", [-1, 4], ids=["finite", "bad"])
def test_a_session_has_the_bits_of_the_unrecorded_program(
    tmp_path: Path, optimizer: str, is_resource: bool, bad: int
) -> None:
    plain = trained(None, "", optimizer, is_resource=is_resource, bad=bad)
    assert trained(tmp_path, "GUARD", optimizer, is_resource=is_resource, bad=bad) == plain
    if bad < 0:
        seen = read(tmp_path)
        assert (seen.traces, seen.executions, seen.records("graph_op_creation")) == ([], [], [])


def ran(
    folder: Path, made: Callable[[v1.Session], tuple[object, list[float]]], **options: object
) -> list[object]:
    """What runs of a fetch return, each with another value of `x`."""
    with v1.Graph().as_default(), tb_debugger_plugin.record(folder, mode="GUARD", **options):
        with v1.Session() as session:
            fetch, given = made(session)
            x = session.graph.get_tensor_by_name("x:0")
            return [session.run(fetch, {x: value}) for value in given]


def test_what_cannot_run_twice_runs_once(tmp_path: Path) -> None:
    seen: list[float] = []

    def note(x: float) -> float:
        seen.append(float(x))
        return x

    def made(session: v1.Session) -> tuple[object, list[float]]:
        x = v1.placeholder(tf.float32, [], "x")
        return tf.math.log(v1.py_func(note, [x], tf.float32, stateful=True)), [1.0, 0.0, 2.0]

    assert [float(each) for each in ran(tmp_path, made)[:2]] == [0.0, -float("inf")]
    assert seen == [1.0, 0.0, 2.0]
    assert [one[1] for one in origins(tmp_path)] == ["Log"]


def v1_cond(*given: object) -> object:
    """A branch of TF1, which has no functions."""
    v1.disable_control_flow_v2()
    try:
        return v1.cond(*given)
    finally:
        v1.enable_control_flow_v2()


@pytest.mark.parametrize(
    ("way", "reason"),
    [
        ("printed", "the op PrintV2, which cannot run twice"),
        ("branch", "the op If, which takes a variable"),
        ("branch of TF1", "a branch or a loop of TF1"),
        ("large", "max_held_bytes, which its variables exceed"),
    ],
)
def test_what_is_not_replayed_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str, reason: str
) -> None:
    def made(session: v1.Session) -> tuple[object, list[float]]:
        x = v1.placeholder(tf.float32, [], "x")
        variable = v1.get_variable("variable", initializer=1.0, use_resource=True)
        session.run(v1.global_variables_initializer())

        def add() -> tf.Operation:
            return variable.assign_add(1.0).op

        done = {
            "printed": lambda: tf.print("x", output_stream="file:///dev/null"),
            "branch": lambda: v1.cond(x > 0.0, add, tf.no_op),
            "branch of TF1": lambda: v1_cond(x > 0.0, add, tf.no_op),
            "large": lambda: variable.assign_add(x),
        }[way]()
        with tf.control_dependencies([done]):
            return tf.math.log(x), [1.0, 0.0, 0.0]

    options = {"max_held_bytes": 0} if way == "large" else {}
    assert len(ran(tmp_path, made, **options)) == 3
    assert sum("is not replayed" in line and reason in line for line in caplog.messages) == 1
    assert "GUARD saw an infinity or NaN in 2 runs of sessions; 0 on record." in caplog.messages


def test_a_variable_without_a_value_fails_as_without_the_recorder(tmp_path: Path) -> None:
    def made(session: v1.Session) -> tuple[object, list[float]]:
        x = v1.placeholder(tf.float32, [], "x")
        return v1.get_variable("variable", initializer=1.0, use_resource=True).assign_add(x), [1.0]

    with pytest.raises(tf.errors.NotFoundError, match="variable"):  # as without the recorder
        ran(tmp_path, made)


def test_sessions_go_on_after_the_recording(tmp_path: Path) -> None:
    with v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [])
        total = v1.get_variable("total", initializer=0.0, use_resource=True)
        with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
            session = v1.Session()
            session.run(v1.global_variables_initializer())
            session.run(total.assign_add(x), {x: 1.0})
        added = [float(session.run(total.assign_add(x), {x: value})) for value in (1.0, float("nan"))]
        session.close()
    assert added[0] == 2.0 and added[1] != added[1]
    assert origins(tmp_path) == []


def cond_that_assigns(session: v1.Session) -> list[object]:
    x = v1.placeholder(tf.float32, [])
    variable = v1.get_variable("variable", initializer=1.0, use_resource=True)
    chosen = tf.cond(x > 0.0, lambda: tf.identity(variable.assign(x)), lambda: x)
    return [session.run(chosen, {x: value}) for value in (-1.0, 2.0, float("nan"))]


def function_that_reads(session: v1.Session) -> list[object]:
    x = v1.placeholder(tf.float32, [])
    variable = v1.get_variable("variable", initializer=1.0, use_resource=True)

    @tf.function
    def chosen(x: tf.Tensor) -> tf.Tensor:
        return x + variable if x > 0.0 else tf.math.log(x)

    result = chosen(x)
    return [session.run(result, {x: value}) for value in (0.0, -1.0)]


def initializer_first(session: v1.Session) -> list[object]:
    variables = [v1.get_variable(f"v{kind}", initializer=1.0, use_resource=kind) for kind in (True, False)]
    added = []
    for variable in variables:
        with tf.control_dependencies([variable.initializer]):
            added.append(tf.identity(v1.assign_add(variable, 2.0)))
    return [session.run(added) for _ in range(2)]


def imported_loop(session: v1.Session) -> list[object]:
    with v1.Graph().as_default() as graph:
        v1.disable_control_flow_v2()
        variable = v1.get_variable("variable", initializer=1.0, use_resource=True)

        def turn(number: tf.Tensor) -> tf.Tensor:
            return number + 1 + tf.cast(variable.assign_add(1.0), tf.int32) * 0

        turns = v1.while_loop(lambda number: number < 3, turn, [0])
        v1.enable_control_flow_v2()
        tf.identity(turns, "turns")
        tf.identity(variable.read_value(), "value")
    start, turns, value = tf.import_graph_def(
        graph.as_graph_def(), return_elements=["variable/Assign", "turns:0", "value:0"], name=""
    )
    session.run(start)
    return [session.run(turns), session.run(value)]


def accumulator(session: v1.Session) -> list[object]:
    queue = v1.ConditionalAccumulator(tf.float32, shape=[])
    put, taken = queue.apply_grad(0.0), tf.math.log(queue.take_grad(1))
    session.run(put)
    return [session.run(taken)]


def another_session_inside(session: v1.Session) -> list[object]:
    x = v1.placeholder(tf.float32, [])
    with v1.Graph().as_default():
        y = v1.placeholder(tf.float32, [])
        doubled = y * 2.0
        inner = v1.Session()

    def run(value: float) -> float:
        return inner.run(doubled, {y: value})

    outer = tf.math.log(v1.py_func(run, [x], tf.float32, stateful=False))
    return [session.run(outer, {x: value}) for value in (0.5, 0.0, -1.0)]


def temporary_variable(session: v1.Session) -> list[object]:
    x = v1.placeholder(tf.float32, [])
    temporary = tf.raw_ops.TemporaryVariable(shape=[], dtype=tf.float32, var_name="t")
    given = tf.raw_ops.Assign(ref=temporary, value=tf.math.log(x))
    last = tf.raw_ops.DestroyTemporaryVariable(ref=given, var_name="t")
    return [session.run(last, {x: value}) for value in (1.0, 0.0)]


def one_output_fed(session: v1.Session) -> list[object]:
    seen: list[int] = []
    pair = v1.py_func(lambda: (float(seen.append(0) or len(seen)), 2.0), [], [tf.float64, tf.float64])
    y = tf.math.log(pair[0] * pair[1] * 0.0)
    return [session.run(y, {pair[0]: 1.0}) for _ in range(2)] + [np.float64(len(seen))]


def chained_references(session: v1.Session) -> list[object]:
    x = v1.placeholder(tf.float32, [])
    variable = v1.get_variable("variable", initializer=1.0, use_resource=False)
    added = tf.identity(v1.assign_add(v1.assign(variable, 2.0), tf.math.log(x)))
    return [session.run(added, {x: value}) for value in (1.0, 0.0)]


ODD = [
    *(cond_that_assigns, function_that_reads, initializer_first, imported_loop, accumulator),
    *(another_session_inside, temporary_variable, one_output_fed, chained_references),
]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("program", ODD)
def test_odd_programs_run_as_without_the_recorder(
    tmp_path: Path, program: Callable[[v1.Session], list[object]]
) -> None:
    results = []
    for recording in (nullcontext(), tb_debugger_plugin.record(tmp_path, mode="GUARD")):
        with recording, v1.Graph().as_default(), v1.Session() as session:
            results.append([np.asarray(each).tobytes() for each in program(session)])
    assert results[0] == results[1]


def test_sessions_that_share_a_graph_are_told_apart(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"), v1.Graph().as_default():
        x = v1.placeholder(tf.float32, [])
        total = v1.get_variable("total", initializer=1.0, use_resource=True)
        added = total.assign_add(tf.math.log(x))
        with v1.Session() as first, v1.Session() as second:
            for session in (first, second):
                session.run(total.initializer)
                session.run(added, {x: 1.0})
            assert np.isinf(second.run(added, {x: 0.0}))
            assert first.run(total) == 1.0
    assert [one[1] for one in origins(tmp_path)][:1] == ["Log"]


def test_dropped_graphs_are_deleted(tmp_path: Path) -> None:
    with tb_debugger_plugin.record(tmp_path, mode="GUARD"):
        with v1.Graph().as_default() as graph, v1.Session() as session:
            variable = v1.get_variable("variable", initializer=1.0, use_resource=True)
            session.run(variable.initializer)
            session.run(variable.assign_add(1.0))
        dropped = weakref.ref(graph)
        del graph, session, variable
    gc.collect()
    assert dropped() is None


@pytest.mark.parametrize("is_resource", [True, False], ids=["resource", "reference"])
def test_runs_of_a_monitored_session_are_replayed(tmp_path: Path, is_resource: bool) -> None:
    """It saves checkpoints and summaries, and reads the global step in a branch."""
    with tb_debugger_plugin.record(tmp_path / "run", mode="GUARD"), v1.Graph().as_default():
        step = v1.train.get_or_create_global_step()
        x = v1.placeholder(tf.float32, [1], "x")
        weight = v1.get_variable("weight", [1], use_resource=is_resource, initializer=v1.ones_initializer())
        loss = tf.reduce_sum(tf.math.log(x * weight, name="log"))
        train = v1.train.AdamOptimizer(0.01).minimize(loss, global_step=step)
        v1.summary.scalar("loss", loss)
        hooks = [v1.train.NanTensorHook(loss, fail_on_nan_loss=False), v1.train.StopAtStepHook(last_step=9)]
        every = {"save_checkpoint_steps": 3, "save_summaries_steps": 2, "log_step_count_steps": None}
        with v1.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path / "checkpoints"), hooks=hooks, **every
        ) as session:
            for value in (1.0, 2.0, 1.0, 2.0, 1.0, 0.0, 1.0):
                session.run(train, {x: [value]})
    assert [one[1] for one in origins(tmp_path / "run")][:1] == ["log"]
