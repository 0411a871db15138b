"""`live/program/filters.py`: programs stop where a function of the user's own says so."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tb_debugger_plugin import native, tfdbg
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.live.program import api
from tests.support.live_debugger import Debugger, debuggers

pytestmark = pytest.mark.skipif(native.load() is None, reason="tensors of graphs stop in the native library")

v1 = tf.compat.v1


class Asked:
    """A filter that passes what a function says, and remembers of what it was asked."""

    def __init__(self, passes):
        self._passes = passes
        self.names = []

    def __call__(self, datum, array):
        self.names.append(datum.node_name)
        assert datum.tensor_name == f"{datum.node_name}:{datum.output_slot}"
        return self._passes(array)


@pytest.fixture
def begin(tmp_path):
    """Enables breakpoints with filters; the debugger is there before the program begins."""
    with debuggers() as follow:
        yield lambda **filters: follow(api.enable_breakpoints(tmp_path, wait=False, filters=filters))


def steps(number=5):
    """A program: ``logged`` is ``[0, log(i)]`` in step ``i``."""

    @tf.function
    def step(x):
        scaled = tf.multiply(x, 1.0, name="scaled")
        return tf.reduce_sum(tf.math.log(scaled, name="logged"), name="loss")

    return lambda: [float(step(tf.constant([1.0, float(i)]))) for i in range(1, number + 1)]


def test_a_breakpoint_stops_where_its_filter_passes_and_asks_it_of_nothing_else(begin):
    large = Asked(lambda array: array[1] > np.log(3.5))
    debugger = begin(large=large)
    number = debugger.breakpoint(op_name="logged", slot=-1, condition="large")
    debugger.start(steps())
    state = debugger.paused()
    assert (state.pause.tensor.op_name, state.pause.tensor.text) == ("logged", "[0.0, 1.3862944]")
    assert state.pause.breakpoint == number and "large passes" in state.pause.sentence
    assert state.breakpoints[0].hits == 1
    assert debugger.next().pause.tensor.text == "[0.0, 1.609438]"
    assert len(debugger.rest()) == 5
    assert set(large.names) == {"logged"}


def test_other_breakpoints_and_orders_hold_where_a_filter_does_not_pass(begin):
    debugger = begin(never=Asked(lambda array: False))
    debugger.breakpoint(op_name="logged", slot=-1, condition="never")
    debugger.breakpoint(op_name="logged", slot=-1, condition="max > 1.2")
    debugger.start(steps())
    state = debugger.paused()
    assert (state.pause.breakpoint, state.pause.tensor.text) == (2, "[0.0, 1.3862944]")
    debugger.do(continue_={"condition": "max > 1.5"})
    debugger.do(remove_breakpoint=2)
    assert "max > 1.5 holds" in debugger.paused().pause.sentence
    debugger.rest()


def test_a_filter_that_raises_is_switched_off_with_one_line(begin, caplog):
    debugger = begin(broken=Asked(lambda array: 1 / 0))
    debugger.breakpoint(op_name="logged", slot=-1, condition="broken")
    debugger.start(steps())
    assert len(debugger.finished()) == 5
    state = debugger.controller.state()
    assert not state.breakpoints[0].enabled
    assert "'broken' failed on logged:0: ZeroDivisionError" in state.notices[-1].sentence
    assert caplog.text.count("Its breakpoint is switched off") == 1


def test_eager_ops_are_filtered_and_compiled_functions_are_not(begin):
    everything = Asked(lambda array: True)
    debugger = begin(everything=everything)
    debugger.breakpoint(op_type="Exp", condition="everything")

    @tf.function(jit_compile=True)
    def compiled(x):
        return tf.exp(x) * 2.0

    def program():
        compiled(tf.constant(1.0))
        return float(tf.exp(tf.constant(2.0)))

    debugger.start(program)
    assert debugger.paused().pause.tensor.text == "7.389056"
    debugger.rest()
    assert everything.names == ["Exp"]


@pytest.mark.parametrize("filters", [{"nan": len}, {"two words": len}, {"mine": 3}, [len]])
def test_what_is_no_filter_is_refused(tmp_path, filters):
    with pytest.raises(UsageError, match="filter"):
        api.enable_breakpoints(tmp_path, filters=filters)


def test_a_hook_stops_where_its_function_says(tmp_path):
    hook = tfdbg.TensorBoardDebugHook(
        "localhost:6006",
        logdir=tmp_path,
        wait=False,
        tensor_filter_fn=lambda datum, array: datum.node_name == "logged" and bool(np.isnan(array).any()),
    )
    with tf.Graph().as_default():
        x = v1.placeholder(tf.float32, [2], name="x")
        v1.train.get_or_create_global_step()
        logged = tf.math.log(x, name="logged")
        hook.begin()
        debugger = Debugger(api.Breakpoints.current().controller)
        try:
            with v1.train.MonitoredSession() as session:
                debugger.start(lambda: [session.run(logged, {x: [1.0, 2.0 - i]}) for i in range(4)])
                state = debugger.paused()
                assert state.pause.tensor.op_name == "logged" and state.call.name == "logged:0"
                assert "tensor_filter_fn passes" in state.pause.sentence
                debugger.do(detach={})
                debugger.finished()
        finally:
            debugger.close()
            hook.end(None)


def test_what_is_no_function_is_refused_where_the_hook_is_made():
    with pytest.raises(UsageError, match="no function of a datum and an array"):
        tfdbg.TensorBoardDebugHook(tensor_filter_fn="has_inf_or_nan")
