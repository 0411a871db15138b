"""`live/program/calls.py`: calls of real programs pass unseen until a debugger looks."""

from __future__ import annotations

import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin.live.messages.messages import Pause
from tb_debugger_plugin.live.program import api
from tb_debugger_plugin.live.program.interface import BreakpointSettings
from tests.support.live_debugger import Debugger

v1 = tf.compat.v1


@pytest.fixture
def program(tmp_path):
    with api.begin(tmp_path, BreakpointSettings(wait=False)) as program:
        yield program


def counts(controller):
    return {one.name: (one.count, list(one.feeds)) for one in controller.state().calls}


def test_calls_of_functions_sessions_and_steps_are_counted_unseen(program, monkeypatch):
    seen = []
    stops = program.controller.calls
    before = stops.before
    monkeypatch.setattr(stops, "before", lambda call: seen.append(call.name) or before(call))

    @tf.function
    def double(x):
        return x * 2.0

    for _ in range(5):
        double(tf.constant([1.0]))
    with tf.Graph().as_default(), v1.Session() as session:
        output = tf.add(v1.placeholder(tf.float32, name="x"), 1.0, name="sum")
        for _ in range(4):
            session.run(output, {"x:0": 1.0})
    for _ in range(6):
        tb_debugger_plugin.step()
    assert seen == ["double", "sum:0", "step 2"]
    assert counts(program.controller) == {
        "double": (5, ["x: float32 [1]"]),
        "sum:0": (4, ["x:0: float32 []"]),
        "step": (5, []),
    }


def test_a_debugger_that_joins_inside_a_call_sees_it_and_its_end(program):
    states = []

    def join(x):
        if len(states) == 0 and counts(program.controller)["slow"][0] == 3:
            states.append(program.controller.state())
        return x

    @tf.function
    def slow(x):
        return tf.py_function(join, [x], tf.float32) + 1.0

    for _ in range(3):
        slow(tf.constant(1.0))
    (state,) = states
    assert (state.call.number, state.call.name, state.call.is_over) == (2, "slow", False)
    assert state.call.path == __file__ and list(state.call.feeds) == ["x: float32 []"]
    assert program.controller.state().call.is_over


def test_a_call_that_fails_after_it_passed_unseen_pauses_where_it_was_made(program):
    @tf.function
    def checked(x):
        tf.debugging.assert_positive(x)
        return tf.math.log(x)

    def run():
        for i in range(4):
            checked(tf.constant(2.0 - i))

    for _ in range(2):
        checked(tf.constant(1.0))
    debugger = Debugger(program.controller)
    debugger.start(run)
    stopped = debugger.paused()
    assert stopped.pause.reason == Pause.ERROR and "InvalidArgumentError" in stopped.pause.sentence
    assert (stopped.call.name, stopped.call.number, stopped.call.path) == ("checked", 4, __file__)
    assert stopped.call.line == run.__code__.co_firstlineno + 2
    debugger.close()
    (error,) = debugger.errors
    assert isinstance(error, tf.errors.InvalidArgumentError)
