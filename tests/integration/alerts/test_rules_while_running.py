"""`capture/rule_watch.py`: a broken alert rule raises, ends the recording, or calls a function.

The oracle is the loop of the program: it knows the first step whose gradient passes the limit.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import BrokenRule, NumericsError
from tb_debugger_plugin.capture import rule_watch
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.keras import DebuggerCallback
from tb_debugger_plugin.reading.rules_of_recording import RulesOfRecording

pytestmark = pytest.mark.tensorflow
_LIMIT = 100.0
_RULE = f"LargeGradientAlert:limit={_LIMIT:g}"
#: Seconds after which a test gives up.
_PATIENCE = 120.0


class Looks:
    """How often the rules were asked."""

    def __init__(self) -> None:
        self.number = 0

    def wait(self) -> None:
        """Wait until all that is recorded now was asked about, or nothing is asked any more."""
        until, wanted = time.monotonic() + _PATIENCE, self.number + 2
        while self.number < wanted and is_asking():
            assert time.monotonic() < until, "the rules are not asked"
            time.sleep(0.01)


def is_asking() -> bool:
    return "tb-debugger-rules" in [thread.name for thread in threading.enumerate()]


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Iterator[Looks]:
    """Rules are asked all the time, and the test knows how often. No thread and no table is left."""
    counted, ask = Looks(), RulesOfRecording.ask

    def asked(self: RulesOfRecording) -> list[BrokenRule]:
        try:
            return ask(self)
        finally:
            counted.number += 1

    monkeypatch.setattr(RulesOfRecording, "ask", asked)
    monkeypatch.setattr(rule_watch, "REST_S", 0.02)
    monkeypatch.setattr(rule_watch, "RESTS", 0)
    yield counted
    tb_debugger_plugin.disable_dump_debug_info()
    assert not is_asking()


def program() -> Callable[[float], float]:
    """A step of a training; it takes the size of the batch's values and returns that of the gradient."""
    weights = tf.Variable([[1.0, 2.0], [3.0, 4.0]])

    @tf.function
    def step(x: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.matmul(tf.fill([1, 2], x), weights))
        gradient = tape.gradient(loss, weights)
        weights.assign_sub(0.001 * gradient)
        return tf.reduce_max(tf.abs(gradient))

    return lambda x: float(step(tf.constant(x)))


def test_the_recording_stops_after_the_step_that_broke_the_rule(tmp_path: Path, looks: Looks) -> None:
    step = program()
    with tb_debugger_plugin.record(
        tmp_path, "FULL_NUMERICS", on_alert="stop", alert_rules=[_RULE]
    ) as recording:
        for size in (1.0, 50.0, 99.0):
            assert step(size) <= _LIMIT
            looks.wait()
            step(1.0)
            assert recording.on
        assert step(101.0) > _LIMIT
        looks.wait()
        assert recording.on and not recording.stopped_at_alert
        step(1.0)  # the next call acts
        assert recording.stopped_at_alert and not recording.on
    with tb_debugger_plugin.open_run(tmp_path) as run:
        (alert,) = run.alerts(rule="LargeGradientAlert", limit=_LIMIT)
        assert alert.facts["measured"] == "magnitude 101" and alert.facts["count"] == 1
        assert run.status()["finished"]


def test_a_broken_rule_raises_once_with_the_line_and_the_reason(tmp_path: Path, looks: Looks) -> None:
    step = program()
    with tb_debugger_plugin.record(
        tmp_path, "FULL_NUMERICS", on_alert="raise", alert_rules=_RULE
    ) as recording:
        step(99.0)
        looks.wait()
        step(101.0)
        looks.wait()
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            step(1000.0)
        error = caught.value
        assert isinstance(error, NumericsError) and error.bad_value is None
        broken = error.broken_rule
        assert (broken.rule, broken.op_type, broken.severity) == ("LargeGradientAlert", "MatMul", "medium")
        assert broken.measured == "magnitude 101"
        assert broken.headline.startswith("Large gradient: magnitude 101 in ")
        assert broken.line.startswith(f"{__file__}:") and broken.dump_root == str(tmp_path)
        assert "The limit is 100." in str(error) and "test_rules_while_running.py:" in str(error)
        step(2000.0)
        looks.wait()
        step(3000.0)  # the same tensor acts once
        assert recording.on
    why = broken.why()  # also after the end
    assert why is not None and "clipnorm" in str(why)


def test_a_function_gets_what_broke_the_rule_and_what_it_raises_reaches_the_program(
    tmp_path: Path, looks: Looks
) -> None:
    seen: list[BrokenRule] = []

    def give_up(broken: BrokenRule) -> None:
        tf.zeros([2]) + 1.0  # ops in here are the user's
        seen.append(broken)
        raise LookupError(broken.headline)

    step = program()
    with tb_debugger_plugin.record(
        tmp_path, "FULL_NUMERICS", on_alert=give_up, alert_rules=[_RULE]
    ) as recording:
        step(101.0)
        looks.wait()
        with pytest.raises(LookupError, match="Large gradient: magnitude 101"):
            step(1.0)
        looks.wait()
        step(1.0)
        assert recording.on
    assert [broken.rule for broken in seen] == ["LargeGradientAlert"]


def test_what_no_question_saw_acts_when_the_recording_ends(tmp_path: Path) -> None:
    options = {"tensor_debug_mode": "FULL_NUMERICS", "circular_buffer_size": -1, "alert_rules": _RULE}
    with (
        pytest.raises(NumericsError, match="magnitude 101"),
        tb_debugger_plugin.record(tmp_path / "raise", on_alert="raise", **options),
    ):
        program()(101.0)
    with (
        pytest.raises(KeyError, match="the program's own"),
        tb_debugger_plugin.record(tmp_path / "own", on_alert="raise", **options),
    ):
        program()(101.0)
        raise KeyError("the program's own")
    seen: list[BrokenRule] = []
    tb_debugger_plugin.enable_dump_debug_info(tmp_path / "call", on_alert=seen.append, **options)
    program()(101.0)
    tb_debugger_plugin.disable_dump_debug_info()
    tb_debugger_plugin.disable_dump_debug_info()
    assert [broken.measured for broken in seen] == ["magnitude 101"]


def test_a_callback_of_keras_ends_the_training(tmp_path: Path, looks: Looks) -> None:
    model = tf.keras.Sequential([tf.keras.Input([1]), tf.keras.layers.Dense(1, kernel_initializer="zeros")])
    model.compile(tf.keras.optimizers.SGD(2.0), "mse")
    x = np.ones([4, 1], np.float32)
    callback = DebuggerCallback(
        tmp_path, "FULL_NUMERICS", on_alert="stop", alert_rules=["LargeGradientAlert"], alert_kinds=()
    )
    slow = tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: looks.wait())
    history = model.fit(x, x + 1.0, epochs=40, verbose=0, callbacks=[callback, slow])
    # The error is -2 and becomes -7 times as large in each epoch. The gradient is twice the error: 4, 28,
    # 196, 1372. It is found after the fourth epoch, and the next one is the last.
    assert len(history.epoch) == 5


def test_a_healthy_training_meets_nothing(tmp_path: Path, looks: Looks) -> None:
    seen: list[BrokenRule] = []
    model = tf.keras.Sequential([tf.keras.Input([1]), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    x = np.linspace(0.0, 1.0, 8, dtype=np.float32)[:, None]
    rules = ["LargeGradientAlert", "GrowingAlert", "ExplodingAlert", "InfNanAlert", "RetracingAlert"]
    callback = DebuggerCallback(tmp_path, "FULL_NUMERICS", on_alert=seen.append, alert_rules=rules)
    slow = tf.keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: looks.wait())
    model.fit(x, x, epochs=3, verbose=0, callbacks=[callback, slow])
    assert looks.number > 6 and not seen


def test_own_rules_act_and_what_is_meant_does_not(tmp_path: Path, looks: Looks) -> None:
    file = tmp_path / "rules.py"
    file.write_text(
        "def is_large(rows, limit=5.0):\n"
        "    '''It is large.'''\n"
        "    return (rows['op_type'] == 'Mul') & (rows['max'] > limit)\n"
    )

    @tf.function
    def named(x: tf.Tensor) -> tf.Tensor:
        with tf.name_scope("meant"):
            y = x * 3.0
        return tf.multiply(y, 2.0, name="twice")

    seen: list[BrokenRule] = []
    with tb_debugger_plugin.record(
        tmp_path / "python",
        "FULL_NUMERICS",
        on_alert=seen.append,
        alert_rules="is_large:limit=6",
        rules_file=file,
        ignore_alerts="(^|/)meant/",
    ):
        named(tf.constant(10.0))
    assert [(broken.rule, broken.op_name) for broken in seen] == [("is_large", "twice")]
    (tmp_path / "toml").mkdir()
    (tmp_path / "toml" / "tbdbg_rules.toml").write_text(
        '[[rule]]\nid = "Big"\nwhere = "max > 50 AND op_type = \'Mul\'"\n'
    )
    (tmp_path / "toml" / "tbdbg_allow.toml").write_text(
        '[[allow]]\nop_name = "mul*"\nreason = "The first product is meant."\n'
    )
    with tb_debugger_plugin.record(
        tmp_path / "toml", "FULL_NUMERICS", on_alert=seen.append, alert_rules=["Big"]
    ):
        tf.function(lambda x: tf.multiply(x * 10.0, 1.5, name="last"))(tf.constant(9.0))
    assert [(broken.rule, broken.op_name) for broken in seen[1:]] == [("Big", "last")]


def test_a_rule_that_fails_is_reported_once_and_the_training_goes_on(
    tmp_path: Path, looks: Looks, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "rules.py"
    file.write_text("def fails(rows):\n    return rows['nothing']\n")
    seen: list[BrokenRule] = []
    step = program()
    with tb_debugger_plugin.record(
        tmp_path / "run",
        "FULL_NUMERICS",
        on_alert=seen.append,
        alert_rules=["fails", _RULE],
        rules_file=file,
    ) as recording:
        for _ in range(3):
            assert step(101.0) == 101.0
        until = time.monotonic() + _PATIENCE
        while not caplog.records and time.monotonic() < until:
            time.sleep(0.01)
        step(101.0)
        assert recording.on
    (record,) = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert "are not asked any more" in record.message and "fails fails: KeyError" in record.message
    assert not seen


def test_a_rule_that_has_nothing_to_be_asked_of_is_named_at_the_end(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with tb_debugger_plugin.record(tmp_path, "FULL_NUMERICS", on_alert="raise", alert_rules=[_RULE]):
        tf.constant(1.0) + 1.0
    assert "LargeGradientAlert: No gradients of variables are on record." in caplog.text


def test_what_cannot_be_asked_is_refused_with_what_can(tmp_path: Path) -> None:
    def refused(match: str, mode: str = "FULL_NUMERICS", **options: object) -> None:
        arguments = {"circular_buffer_size": -1, "on_alert": "raise", **options}
        with pytest.raises(UsageError, match=match):
            tb_debugger_plugin.enable_dump_debug_info(tmp_path / "run", mode, **arguments)
        assert not (tmp_path / "run").exists()

    refused("needs tensor_debug_mode='FULL_NUMERICS'", "SHAPE", alert_rules=[_RULE], alert_kinds=())
    refused("needs tensor_debug_mode='FULL_NUMERICS'", "FULL_HEALTH", alert_rules=[_RULE])
    refused("or alert_kinds=\\(\\) if only alert_rules count", "SHAPE", alert_rules="RetracingAlert")
    refused("give circular_buffer_size=-1", alert_rules=[_RULE], circular_buffer_size=100)
    refused("There is no rule 'Lagre'", alert_rules=["Lagre"])
    refused("has no parameter 'limits'", alert_rules=["LargeGradientAlert:limits=1"])
    refused("There is no file", alert_rules="all", rules_file=tmp_path / "none.py")
    refused("rules_file needs alert_rules", rules_file=tmp_path / "none.py")
    refused("alert_rules is \\[\\]", alert_rules=[])
    refused("need on_alert", on_alert=None, alert_rules="all")


def test_a_mode_that_looks_at_no_elements_answers_rules_about_the_program(tmp_path: Path) -> None:
    seen: list[BrokenRule] = []
    with tb_debugger_plugin.record(
        tmp_path, "SHAPE", on_alert=seen.append, alert_kinds=(), alert_rules=["RetracingAlert:traces=2"]
    ):
        traced = tf.function(lambda x: x + 1)
        for size in range(4):
            traced(tf.zeros([size]) if size % 2 else size)
    assert [broken.rule for broken in seen] == ["RetracingAlert"]


def test_a_run_of_a_session_acts_after_it_and_any_thread_may_act(tmp_path: Path, looks: Looks) -> None:
    rule = "ExplodingAlert:limit=1000"
    seen: list[BrokenRule] = []
    with tb_debugger_plugin.record(
        tmp_path / "session", "FULL_NUMERICS", on_alert=seen.append, alert_rules=[rule]
    ):
        with tf.Graph().as_default(), tf.compat.v1.Session() as session:
            x = tf.compat.v1.placeholder(tf.float32, [])
            y = x * 2.0
            session.run(y, {x: 1.0})
            looks.wait()
            session.run(y, {x: 5000.0})
            looks.wait()
            assert not seen
            session.run(y, {x: 1.0})
            assert "ExplodingAlert" in [broken.rule for broken in seen]
    errors: list[BaseException] = []

    def work(step: Callable[[float], float]) -> None:
        try:
            step(101.0)
            looks.wait()
            step(1.0)
        except NumericsError as error:
            errors.append(error)

    with tb_debugger_plugin.record(
        tmp_path / "thread", "FULL_NUMERICS", on_alert="raise", alert_rules=[_RULE]
    ):
        step = program()
        thread = threading.Thread(target=work, args=[step])
        thread.start()
        thread.join()
        step(1.0)
    assert len(errors) == 1


def test_a_compiled_function_acts_before_its_next_call(tmp_path: Path, looks: Looks) -> None:
    compiled = tf.function(lambda x: tf.square(x) + 1.0, jit_compile=True)
    with tb_debugger_plugin.record(
        tmp_path, "FULL_NUMERICS", on_alert="raise", alert_rules=["ExplodingAlert:limit=1000"]
    ):
        compiled(tf.constant(3.0))
        looks.wait()
        compiled(tf.constant(100.0))
        looks.wait()
        with pytest.raises(NumericsError, match="Exploding"):
            compiled(tf.constant(3.0))


def test_a_forked_child_asks_nothing_and_ends(tmp_path: Path, looks: Looks) -> None:
    with tb_debugger_plugin.record(
        tmp_path, "FULL_NUMERICS", on_alert="stop", alert_rules=[_RULE]
    ) as recording:
        step = program()
        step(1.0)
        looks.wait()
        child = os.fork()
        if not child:
            os._exit(int(recording.on or is_asking()))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        step(101.0)
        looks.wait()
        step(1.0)
        assert recording.stopped_at_alert


def test_bad_values_act_where_they_are_computed_unless_only_rules_count(tmp_path: Path) -> None:
    options = {"on_alert": "raise", "alert_rules": ["LargeUpdateAlert"]}
    with (
        pytest.raises(NumericsError, match="logarithm of 0") as caught,
        tb_debugger_plugin.record(tmp_path / "both", "FULL_NUMERICS", **options),
    ):
        tf.math.log(tf.constant(0.0))
    assert caught.value.bad_value is not None and caught.value.broken_rule is None
    with tb_debugger_plugin.record(tmp_path / "rules", "FULL_NUMERICS", alert_kinds=(), **options):
        assert np.isinf(tf.math.log(tf.constant(0.0)))
