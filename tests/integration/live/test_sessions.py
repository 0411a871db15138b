"""`capture/graph/running_session.py`: sessions that have run stop at their tensors, which are read."""

from __future__ import annotations

import pytest
import tensorflow as tf

import tb_debugger_plugin
from tb_debugger_plugin import native, tfdbg
from tb_debugger_plugin.capture.graph.running_session import can_extend
from tb_debugger_plugin.live.messages.messages import Command
from tb_debugger_plugin.live.program import api
from tests.support.live_debugger import Debugger

pytestmark = pytest.mark.skipif(native.load() is None, reason="tensors of graphs stop in the native library")

v1 = tf.compat.v1


class Program:
    """A training loop of the first TensorFlow: it runs the initialiser, and wraps its session then."""

    def __init__(self, *, use_resource: bool) -> None:
        with tf.Graph().as_default() as graph:
            self.x = v1.placeholder(tf.float32, [2], name="x")
            weights = v1.get_variable("weights", initializer=[2.0, 1.0], use_resource=use_resource)
            self.read = "user_tower/conv/ReadVariableOp" if use_resource else "weights/read"
            with tf.name_scope("user_tower"):
                scaled = tf.multiply(self.x, weights, name="conv")
            self.best = tf.argmax(scaled, name="best")
            self.loss = tf.reduce_sum(tf.math.log(scaled, name="logged"), name="loss")
            step = v1.train.get_or_create_global_step()
            self.train = v1.train.GradientDescentOptimizer(0.5).minimize(self.loss, global_step=step)
            self.init = v1.global_variables_initializer()
            self.total, _ = tf.while_loop(
                lambda total, i: i < 3,
                lambda total, i: (tf.add(total, scaled, name="added"), i + 1),
                [tf.zeros([2]), 0],
            )
        self.graph = graph
        self.session = v1.Session(graph=graph)
        self.session.run(self.init)

    def steps(self, session, number=4):
        fetches = [self.loss, self.best, self.train, self.total]
        results = [session.run(fetches, {self.x: [4.0, 2.0 - i]}) for i in range(number)]
        return [[one[0], one[1], one[3]] for one in results]


@pytest.fixture(params=[True, False], ids=["resource", "reference"])
def program(request):
    """A program whose variables are of either kind."""
    return Program(use_resource=request.param)


@pytest.fixture
def expected(program):
    """What the program computes without a debugger."""
    plain = Program(use_resource="Read" in program.read)
    return plain.steps(plain.session)


@pytest.fixture
def wrapped(program, tmp_path):
    """The session, wrapped after its initialiser has run, and a debugger that is there."""
    session = tfdbg.TensorBoardDebugWrapperSession(
        program.session, "localhost:6064", logdir=tmp_path, wait=False, may_change_values=True
    )
    breakpoints = api.Breakpoints.current()
    debugger = Debugger(breakpoints.controller)
    yield session, debugger
    debugger.close()
    breakpoints.close()


def test_sessions_of_this_tensorflow_can_be_extended():
    assert can_extend()


def test_a_session_that_has_run_its_initialiser_stops_at_its_tensors(program, expected, wrapped):
    session, debugger = wrapped
    for name in ("user_tower/conv", "best", program.read):
        debugger.breakpoint(op_name=name, slot=-1)
    debugger.start(lambda: program.steps(session))
    texts = {}
    for _ in range(3):
        state = debugger.paused()
        texts[state.pause.tensor.op_name] = state.pause.tensor.text
        refused = debugger.controller.control(Command(change_value={"expression": "value * 2"}))
        assert not refused.done and "in this session" in refused.sentence
        debugger.do(continue_={})
    assert texts == {"user_tower/conv": "[8.0, 2.0]", "best": "0", program.read: "[2.0, 1.0]"}
    debugger.paused()  # in the next run
    for number in (1, 2, 3):
        debugger.do(remove_breakpoint=number)
    state = debugger.next(continue_={"condition": "nan > 0"})
    assert state.pause.sentence.startswith("NaN in ") and state.call.number == 2
    assert not any("added" in tensor.op_name for tensor in debugger.tensors())  # nothing stops in its loop
    assert repr(debugger.rest()) == repr(expected)


def test_the_graph_of_the_program_is_not_changed(program, wrapped):
    session, debugger = wrapped
    before = program.graph.as_graph_def()
    debugger.breakpoint(op_name="logged", slot=-1)
    debugger.start(lambda: program.steps(session, 1))
    debugger.paused()
    debugger.rest()
    assert program.graph.as_graph_def() == before


def test_ops_that_are_made_later_stop_and_a_second_wrapper_too(program, wrapped, tmp_path):
    session, debugger = wrapped
    with program.graph.as_default():
        later = tf.negative(program.loss, name="later")
    debugger.breakpoint(op_name="later", slot=0)
    debugger.start(lambda: session.run(later, {program.x: [4.0, 2.0]}))
    assert debugger.paused().pause.tensor.op_name == "later"
    value = debugger.rest()
    api.Breakpoints.current().close()
    assert "_do_run" not in vars(program.session)
    assert program.session.run(later, {program.x: [4.0, 2.0]}) == value
    again = tfdbg.TensorBoardDebugWrapperSession(program.session, logdir=tmp_path / "again", wait=False)
    second = Debugger(api.Breakpoints.current().controller)
    second.breakpoint(op_name="later", slot=0)
    second.start(lambda: again.run(later, {program.x: [4.0, 2.0]}))
    assert second.paused().pause.tensor.op_name == "later"
    second.do(continue_={})
    assert second.finished() == value
    second.close()


def test_what_such_a_session_computes_is_on_record(program, wrapped, tmp_path):
    session, _ = wrapped
    program.steps(session)
    api.Breakpoints.current().close()
    with tb_debugger_plugin.open_run(tmp_path) as run:
        names = {row.op_name for row in run.graph_executions()}
        assert {"user_tower/conv", "logged", "loss"} <= names
        assert not {"best", "weights/read"} & names  # a debugger may stop there; it is not recorded
        assert [row.op_name for row in run.graph_executions() if row.op_name in ("loss",)] == ["loss"] * 4


def test_a_breakpoint_of_the_page_at_an_op_of_a_session_hits(program, wrapped):
    session, debugger = wrapped
    # The page names the graph as it is on record.
    debugger.breakpoint(op_name="user_tower/conv", slot=-1, function_regex=r"tf\.Graph")
    debugger.start(lambda: program.steps(session, 1))
    assert debugger.paused().pause.tensor.op_name == "user_tower/conv"
    debugger.rest()
