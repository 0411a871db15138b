"""`live/program/controller.py`: each command in each phase, the held values, and who waits for whom."""

from __future__ import annotations

import itertools
import re
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest

from tb_debugger_plugin.capture.stacks.calls import RunningLine
from tb_debugger_plugin.live.messages.messages import Command, Pause, State
from tb_debugger_plugin.live.program import status
from tb_debugger_plugin.live.program.controller import Controller
from tb_debugger_plugin.live.program.interface import BreakpointSettings, CallKind, ProgramCall
from tests.support.fake_gate import (
    FakeClock,
    FakeEager,
    FakeGate,
    FakeProgram,
    FakeRecording,
    FakeTensor,
    tensor_of_graph,
)

LOG = tensor_of_graph(1, "Log")
MUL = tensor_of_graph(2, "Mul", line=11)
BAD = np.float32([1, np.nan, -np.inf])
GOOD = np.float32([1, 2, 3])
PAUSED, RUNNING, WAITING = int(State.PAUSED), int(State.RUNNING), int(State.WAITING)


def command(**what):
    return Command(**what)


STEP = dict(step={})
OVER = dict(step_over={})
OUT = dict(step_out={})
ON = dict(continue_={})


class Session:
    """A controller, a program whose calls run in threads, and a debugger."""

    def __init__(self, folder, *, with_gate=True, tensors=(LOG, MUL), has_thread=True, **settings):
        self.gate = FakeGate() if with_gate else None
        self.recording = FakeRecording(self.gate, str(folder), list(tensors))
        self.program = FakeProgram(self.recording)
        self.clock = FakeClock()
        allowed = {"wait": False, "may_change_values": True, **settings}
        self.controller = Controller(
            BreakpointSettings(**allowed),
            self.program,
            clock=self.clock,
            eager=FakeEager(),
            has_thread=has_thread,
        )
        self.numbers = itertools.count()
        self.threads = []
        self.results = []
        self._stack = ExitStack()

    def connect(self):
        return self._stack.enter_context(self.controller.connected("test"))

    def do(self, **what):
        outcome = self.controller.control(command(**what))
        assert outcome.done, outcome.sentence
        return outcome

    def refuse(self, **what):
        outcome = self.controller.control(command(**what))
        assert not outcome.done
        return outcome.sentence

    def call(self, name="train", work=lambda: None, *, error=None, kind=CallKind.FUNCTION):
        call = ProgramCall(next(self.numbers), kind, name, thread="MainThread", ident=threading.get_ident())
        self.controller.calls.before(call)
        try:
            work()
        finally:
            self.controller.calls.after(call, error)
            call.finish()

    def op(self, op_type, *arrays):
        outputs = [FakeTensor(array) for array in arrays]
        others = self.controller.eager.after_op(op_type, [], outputs, sys._getframe())
        return [one.array for one in (others or outputs)]

    def train(self, *arrays, tensor=1):
        """A call that computes a tensor a few times."""
        self.call(work=lambda: self.results.extend(self.gate.pass_tensor(tensor, one) for one in arrays))

    def start(self, *steps):
        """Run a program in a thread."""
        thread = threading.Thread(target=lambda: [step() for step in steps], daemon=True)
        self.threads.append(thread)
        thread.start()
        return thread

    def until(self, holds, seconds=20):
        """The first state for which something holds."""
        version, rounds = 0, 0
        while True:
            state = self.controller.follow(version, 0.5)
            version, rounds = state.version, rounds + 1
            if holds(state):
                return state
            assert rounds < seconds * 100, state

    def paused(self, after=0):
        state = self.until(lambda state: state.phase == PAUSED and state.pause.number > after)
        return state.pause

    def finished_now(self):
        return not any(thread.is_alive() for thread in self.threads)

    def finished(self):
        for thread in self.threads:
            thread.join(20)
        return not any(thread.is_alive() for thread in self.threads)

    def pause_in(self, *steps):
        """Pause a program, which runs in a thread, where it first can be."""
        self.do(pause={})
        self.start(*steps)
        return self.paused()

    def stop_at(self, op_type, **more):
        """Set a breakpoint."""
        self.do(set_breakpoint={"where": {"op_type": op_type}, "enabled": True, **more})

    def go(self, order, pause):
        """Let the program go on from a pause to the next one."""
        self.do(**order)
        return self.paused(pause.number)

    def let_time_pass(self, seconds):
        self.clock.seconds += seconds
        self.controller.tick()

    def go_on_to_the_end(self):
        self.do(**ON)
        assert self.finished()

    def close(self):
        """Let a paused program run to its end, and close the controller."""
        assert not self.controller.control(command(**ON)).done or self.finished()
        self.controller.close()
        assert self.finished()
        self._stack.close()


@pytest.fixture
def alone(tmp_path):
    """Makes sessions without a debugger, which are closed at the end of the test."""
    with ExitStack() as stack:

        def made(**settings):
            session = Session(tmp_path, **settings)
            stack.callback(session.close)
            return session

        yield made


@pytest.fixture
def connected(alone):
    """Makes sessions with a debugger."""

    def made(**settings):
        session = alone(**settings)
        session.connect()
        return session

    return made


@pytest.fixture
def session(connected):
    return connected()


def numbers_in(tensor):
    return {one.name: one.value for one in tensor.numbers}


def test_a_program_that_nobody_follows_runs_through(alone):
    session = alone()
    session.train(BAD)
    assert session.gate.rules == [] and session.gate.max_bytes == 0 and not session.program.sees_eager_ops
    assert session.controller.state().phase == RUNNING
    session.close()
    assert session.controller.state().phase == State.ENDED


def test_a_program_waits_for_a_debugger_before_its_first_call(alone):
    session = alone(wait=True)
    session.start(lambda: session.call("train_step"))
    state = session.until(lambda state: state.phase == WAITING)
    assert state.pause.reason == Pause.BEFORE_CALL
    assert state.pause.sentence == "Paused before train_step (call 0)."
    assert (state.call.name, state.call.number, state.call.is_over) == ("train_step", 0, False)
    assert session.controller.is_paused
    with session.controller.connected("test"):
        assert session.controller.state().phase == PAUSED
    assert session.controller.state().phase == WAITING
    session.let_time_pass(1000)
    assert session.controller.state().phase == WAITING
    session.connect()


def test_a_program_without_calls_waits_before_its_first_op_and_is_stepped_over_its_lines(connected):
    session = connected(wait=True)
    eager = session.controller.eager._ops

    def line(number, op_type):
        def run():
            eager.line = number
            session.op(op_type, GOOD)

        return run

    def first():
        session.controller.eager.before_first("Fill", sys._getframe())

    session.start(first, line(7, "Fill"), line(9, "Exp"), line(9, "Log"), line(8, "Mul"), line(9, "Exp"))
    pause = session.paused()
    assert pause.reason == Pause.BEFORE_CALL and not pause.HasField("tensor")
    assert pause.sentence == "Paused before the first op, Fill, train.py:7."
    assert not session.controller.state().HasField("call")
    seen = []
    for _ in range(3):
        pause = session.go(OVER, pause)
        seen.append((pause.reason, pause.tensor.op_type, pause.tensor.line))
    assert seen == [(Pause.STEP, "Exp", 9), (Pause.STEP, "Mul", 8), (Pause.STEP, "Exp", 9)]


def test_step_over_in_a_program_that_has_made_a_call_passes_over_the_ops_between_calls(session):
    pause = session.pause_in(session.call, lambda: session.op("Exp", GOOD), session.call)
    pause = session.go(OVER, pause)
    assert pause.reason == Pause.BEFORE_CALL and session.controller.state().call.number == 1


def test_step_goes_from_tensor_to_tensor_and_stops_before_calls(session):
    first = session.pause_in(lambda: session.train(GOOD, BAD), lambda: session.train(GOOD))
    assert first.reason == Pause.ASKED and "as asked" in first.sentence
    second = session.go(STEP, first)
    assert (second.reason, second.tensor.op_name, second.tensor.occurrence) == (Pause.STEP, "Log", 1)
    assert second.sentence == "Log:0 of train, train.py:10."
    third = session.go(STEP, second)
    assert third.tensor.occurrence == 2 and numbers_in(third.tensor)["nan"] == 1
    assert third.sentence == "NaN and −∞ in Log:0 of train, train.py:10."
    fourth = session.go(STEP, third)
    assert fourth.reason == Pause.BEFORE_CALL and session.controller.state().call.number == 1


def test_step_over_stops_before_the_next_call_only(session):
    first = session.pause_in(lambda: session.train(GOOD, BAD), lambda: session.train(GOOD))
    second = session.go(OVER, first)
    assert second.reason == Pause.BEFORE_CALL and session.controller.state().call.number == 1
    tensors = session.controller.list_tensors(0, 0)
    assert tensors.call == 0 and [one.occurrence for one in tensors.tensors] == [1, 2]
    session.go_on_to_the_end()
    assert session.controller.state().doing == "continue"


@pytest.mark.parametrize("calls", [1, 3])
def test_continue_over_calls_counts_the_one_at_hand(session, calls):
    first = session.pause_in(*[session.call] * 8)
    assert session.controller.state().call.number == 0
    outcome = session.do(continue_={"calls": calls})
    assert outcome.sentence.startswith(f"Continue {calls} call")
    second = session.paused(first.number)
    assert second.reason == Pause.BEFORE_CALL and session.controller.state().call.number == calls
    session.go_on_to_the_end()
    (row,) = session.controller.state().calls
    assert (row.name, row.count, row.last_number) == ("train", 8, 7)


def test_step_out_stops_where_the_call_at_hand_has_ended(session):
    pause = session.pause_in(
        lambda: session.train(GOOD, GOOD, GOOD), lambda: session.op("Sqrt", GOOD), lambda: session.train(GOOD)
    )
    pause = session.go(STEP, pause)
    assert pause.tensor.occurrence == 1
    pause = session.go(OUT, pause)
    state = session.controller.state()
    assert (pause.reason, state.call.number, state.call.is_over) == (Pause.AFTER_CALL, 0, True)
    assert len(session.controller.list_tensors(0, 0).tensors) == 3
    assert "in no call" in session.refuse(**OUT)
    pause = session.go(OVER, pause)
    assert pause.reason == Pause.BEFORE_CALL
    pause = session.go(OUT, pause)
    assert (pause.reason, session.controller.state().call.number) == (Pause.AFTER_CALL, 1)
    session.go_on_to_the_end()


def test_step_out_stops_at_breakpoints_and_errors_before_the_end(session):
    session.stop_at("Log", condition="nan > 0")
    pause = session.pause_in(
        lambda: session.train(GOOD, BAD), lambda: session.call("eval", error=ValueError("no"))
    )
    pause = session.go(OUT, pause)
    assert pause.reason == Pause.BREAKPOINT
    pause = session.go(OUT, pause)
    pause = session.go(OVER, pause)
    assert session.go(OUT, pause).reason == Pause.ERROR
    session.go_on_to_the_end()


def test_continue_until_a_condition_holds_for_any_tensor(session):
    session.pause_in(lambda: session.train(GOOD, GOOD), lambda: session.train(GOOD, BAD, tensor=2))
    session.do(continue_={"condition": "nan > 0"})
    pause = session.until(lambda state: state.phase == PAUSED and state.pause.number == 2).pause
    assert pause.reason == Pause.CONDITION and pause.tensor.op_name == "Mul" and pause.breakpoint == 0
    assert pause.sentence == "NaN and −∞ in Mul:0 of train, train.py:11: nan > 0 holds."


def test_continue_to_a_tensor_stops_where_it_is_computed(session):
    session.pause_in(lambda: session.train(GOOD), lambda: session.train(GOOD, tensor=2))
    session.do(continue_={"tensor": {"op_name": "Mul", "slot": -1}})
    pause = session.paused(1)
    assert pause.reason == Pause.CONDITION and pause.tensor.op_name == "Mul"
    assert session.recording.isolated == [frozenset([2])] or frozenset([2]) in session.recording.isolated


def test_a_breakpoint_stops_counts_ignores_and_can_be_off(session):
    where = {"path": "train.py", "line": 10}
    number = session.do(set_breakpoint={"where": where, "ignore": 1, "enabled": True}).breakpoint
    session.start(lambda: session.train(GOOD, BAD, GOOD))
    pause = session.paused()
    assert (pause.breakpoint, pause.tensor.occurrence, pause.reason) == (number, 2, Pause.BREAKPOINT)
    state = session.controller.state()
    assert (state.breakpoints[0].hits, state.breakpoints[0].num_tensors) == (2, 1)
    assert (state.breakpoints[0].ignore, state.breakpoints[0].problem) == (0, "")
    session.do(set_breakpoint={"number": number, "where": where, "enabled": False})
    session.go_on_to_the_end()
    assert session.controller.state().breakpoints[0].hits == 2
    session.do(remove_breakpoint=number)
    assert not session.controller.state().breakpoints
    assert "no breakpoint" in session.refuse(remove_breakpoint=number)


def test_a_hit_that_the_filter_of_another_breakpoint_refuses_is_ignored_as_well(connected):
    session = connected(filters={"never": lambda datum, array: False})
    session.stop_at("Log", condition="never")
    session.do(set_breakpoint={"where": {"op_type": "Log"}, "ignore": 2, "enabled": True})
    session.start(lambda: session.train(GOOD, GOOD, GOOD))
    pause = session.paused()
    assert (pause.breakpoint, pause.tensor.occurrence) == (2, 3)


def test_a_breakpoint_with_a_condition_stops_when_it_holds(session):
    session.stop_at("Log", condition="nan")
    session.start(lambda: session.train(GOOD, BAD))
    pause = session.paused()
    assert pause.sentence.endswith("train.py:10: breakpoint 1 (Log), nan holds.")


def test_a_condition_on_the_step_stops_from_that_step_on(session):
    def step(number):
        session.recording.step = number
        session.controller.at_end_of_step()

    session.stop_at("Log", condition="step >= 2 and max > 2")
    session.start(
        lambda: session.train(GOOD),
        lambda: step(1),
        lambda: session.train(GOOD),
        lambda: step(2),
        lambda: session.train(GOOD, BAD, GOOD),
    )
    pause = session.paused()
    assert (session.controller.state().call.number, pause.tensor.occurrence) == (2, 1)
    assert pause.sentence.endswith("step >= 2 and max > 2 holds.")
    assert session.go(ON, pause).tensor.occurrence == 3
    session.go_on_to_the_end()


def test_a_condition_on_the_call_is_one_of_breakpoints_at_calls_and_of_continue(session):
    session.do(set_breakpoint={"where": {"calls": True}, "condition": "call == 1", "enabled": True})
    session.start(*[lambda: session.train(GOOD)] * 4)
    pause = session.paused()
    assert (pause.reason, session.controller.state().call.number) == (Pause.BREAKPOINT, 1)
    session.do(continue_={"condition": "call >= 3"})
    pause = session.paused(pause.number)
    assert (pause.reason, session.controller.state().call.number) == (Pause.CONDITION, 3)
    session.go_on_to_the_end()


def test_a_condition_on_elements_stops_graphs_and_eager_ops(session):
    session.stop_at("Log", condition="value[0] > 1.5")
    session.stop_at("Sqrt", condition="any(value > 2.5)")
    session.start(
        lambda: session.train(GOOD, 2 * GOOD), lambda: [session.op("Sqrt", one) for one in (BAD, GOOD)]
    )
    pause = session.paused()
    assert (pause.breakpoint, pause.tensor.occurrence) == (1, 2)
    pause = session.go(ON, pause)
    assert (pause.breakpoint, numbers_in(pause.tensor)["max"]) == (2, 3)
    session.go_on_to_the_end()


def test_any_tensor_can_be_meant_by_a_condition_alone(session):
    session.do(set_breakpoint={"condition": "nan > 0", "enabled": True})
    session.start(lambda: session.train(GOOD, BAD))
    assert session.paused().tensor.op_name == "Log"
    assert session.controller.state().breakpoints[0].num_tensors == 2


def test_a_breakpoint_at_calls_stops_before_them(session):
    session.do(set_breakpoint={"where": {"calls": True, "function_regex": "^ev"}, "enabled": True})
    session.start(lambda: session.call("train"), lambda: session.call("eval"))
    pause = session.paused()
    assert (pause.reason, session.controller.state().call.name) == (Pause.BREAKPOINT, "eval")


def logged(session, at=0):
    """The hits of a log point, as names and numbers of NaN."""
    hits = session.controller.state().breakpoints[at].logged
    return [(one.name, {number.name: number.value for number in one.numbers}.get("nan")) for one in hits]


def test_a_log_point_notes_its_hits_and_the_program_goes_on(session):
    session.recording.step = 7
    session.stop_at("Log", log_only=True, ignore=1)
    session.stop_at("Mul", log_only=True, condition="nan > 0")
    session.start(
        lambda: session.train(GOOD, BAD, GOOD), lambda: session.train(GOOD, BAD, tensor=2), lambda: None
    )
    assert session.finished()
    assert (logged(session), logged(session, 1)) == ([("Log:0", 1), ("Log:0", 0)], [("Mul:0", 1)])
    first, second = session.controller.state().breakpoints
    assert (first.hits, second.hits) == (3, 1)
    (hit,) = second.logged
    assert (hit.call, hit.step, hit.wall_time) == (1, 7, session.clock.wall())


@pytest.mark.parametrize("where", [{"op_type": "Log"}, {"op_name": "Log", "slot": -1}])
@pytest.mark.parametrize("is_first", [False, True])
def test_a_log_point_hides_no_breakpoint_and_no_order_at_the_same_tensor(session, where, is_first):
    def log():
        session.do(set_breakpoint={"where": where, "enabled": True, "log_only": True})

    if is_first:
        log()
    session.do(set_breakpoint={"condition": "nan > 0", "enabled": True, "first_only": True})
    if not is_first:
        log()
    session.start(lambda: session.train(GOOD, BAD, GOOD, GOOD, GOOD))
    pause = session.paused()
    assert (pause.tensor.occurrence, pause.breakpoint) == (2, 2 if is_first else 1)
    pause = session.go(STEP, pause)
    assert pause.tensor.occurrence == 3
    session.do(continue_={"tensor": {"op_name": "Log", "slot": -1}})
    assert session.paused(pause.number).tensor.occurrence == 4
    session.go_on_to_the_end()
    assert len(logged(session, 0 if is_first else 1)) == 5


def test_log_points_note_eager_ops_and_calls(session):
    session.stop_at("Sqrt", log_only=True, condition="nan > 0")
    session.do(set_breakpoint={"where": {"calls": True}, "enabled": True, "log_only": True})
    session.start(lambda: session.call("train"), lambda: [session.op("Sqrt", one) for one in (BAD, GOOD)])
    assert session.finished()
    assert (logged(session), logged(session, 1)) == ([("Sqrt:0", 1)], [("train", None)])


def test_a_function_that_is_made_later_gets_the_breakpoint(connected):
    session = connected(tensors=())
    session.do(set_breakpoint={"where": {"op_name": "Log", "slot": 0}, "enabled": True})
    assert "No tensor of a graph fits yet" in session.controller.state().breakpoints[0].problem
    session.recording.make_function(LOG, MUL)
    assert session.controller.state().breakpoints[0].num_tensors == 1
    session.start(lambda: session.train(GOOD))
    assert session.paused().breakpoint == 1


def test_breakpoints_get_ops_of_their_own_before_the_next_call(session):
    session.do(set_breakpoint={"where": {"op_name": "Mul"}, "enabled": True})
    session.call()
    session.call()
    session.do(remove_breakpoint=1)
    session.call()
    assert session.recording.isolated == [frozenset([2]), frozenset()]


def test_eager_ops_stop_at_lines_types_conditions_and_steps(session):
    session.stop_at("Log", condition="nan > 0")
    assert session.program.sees_eager_ops
    session.start(
        lambda: session.op("Log", GOOD), lambda: session.op("Log", BAD), lambda: session.op("Exp", GOOD)
    )
    pause = session.paused()
    assert (pause.tensor.op_name, pause.tensor.op_type, pause.tensor.line) == ("Log_1", "Log", 7)
    assert pause.tensor.graph_id == "" and pause.can_change
    pause = session.go(STEP, pause)
    assert (pause.reason, pause.tensor.op_name) == (Pause.STEP, "Exp")
    names = [one.op_name for one in session.controller.list_tensors(0, 0).tensors]
    assert names == ["Log", "Log_1", "Exp"]


def test_a_line_of_an_eager_program_stops_once_when_it_begins_to_run_whatever_it_calls(session):
    def frame():
        return sys._getframe()

    def running(line, callee):
        return [RunningLine("/home/user/main.py", line, here, callee)]

    def ops_below(callee, line=30):
        session.controller.eager._ops.callers = running(line, callee)
        session.op("Mul", GOOD)
        session.op("Log", GOOD)

    here, first, second = frame(), frame(), frame()
    session.do(set_breakpoint={"where": {"path": "main.py", "line": 30}, "enabled": True})
    session.start(lambda: ops_below(first), lambda: ops_below(second), lambda: ops_below(second, line=31))
    pauses = []
    for _ in range(2):
        pauses.append(session.paused(pauses[-1].number if pauses else 0))
        session.do(**ON)
    assert [pause.tensor.op_type for pause in pauses] == ["Mul", "Mul"]
    assert session.finished() and session.controller.state().breakpoints[0].hits == 2


def test_a_line_that_calls_a_function_stops_before_the_call(session):
    here = sys._getframe()

    def call(line):
        call = ProgramCall(
            next(session.numbers),
            CallKind.FUNCTION,
            "train",
            thread="MainThread",
            find_lines=lambda: [RunningLine("/home/user/main.py", line, here, here)],
        )
        session.controller.calls.before(call)
        session.controller.calls.after(call, None)

    session.do(set_breakpoint={"where": {"path": "main.py", "line": 30}, "enabled": True})
    session.start(lambda: call(29), lambda: call(30), lambda: call(31))
    pause = session.paused()
    assert pause.reason == Pause.BREAKPOINT and pause.breakpoint == 1
    assert pause.sentence.startswith("Paused before train (call 1): breakpoint 1")
    session.do(**ON)
    assert session.finished() and session.controller.state().breakpoints[0].hits == 1


def test_functions_handles_and_ops_without_outputs_are_no_eager_tensors(session):
    session.do(pause={})
    assert session.controller.eager.after_op("NoOp", [], [], sys._getframe()) is None
    session.op("__inference_train_12", GOOD)
    handle = FakeTensor(GOOD)
    handle.dtype = type(handle.dtype)(20, 1)
    assert session.controller.eager.after_op("VarHandleOp", [], [handle], sys._getframe()) is None
    assert not session.controller.list_tensors(0, 0).tensors


def test_numbers_of_tensors_rise_in_the_order_of_time(session):
    session.stop_at("Never")
    session.op("Exp", GOOD)
    session.train(GOOD, GOOD)
    session.op("Exp", GOOD)
    first = session.controller.list_tensors(0, 0)
    assert [one.op_name for one in first.tensors] == ["Log", "Log", "Exp"]
    assert [one.number for one in first.tensors] == sorted(one.number for one in first.tensors)
    assert first.total == 3
    after = first.tensors[1].number
    assert [one.op_name for one in session.controller.list_tensors(after, 0).tensors] == ["Exp"]
    assert [one.op_name for one in session.controller.list_tensors(0, 1).tensors] == ["Log"]
    session.train(GOOD)
    second = session.controller.list_tensors(0, 0)
    assert [one.op_name for one in second.tensors] == ["Log"] and second.call == 1
    assert second.tensors[0].number > first.tensors[-1].number


def test_values_can_be_read_in_parts(session):
    session.do(pause={})
    large = np.arange(600_000, dtype=np.float32)
    texts = np.array([b"cat", b"", b"x" * 300], object)
    session.start(lambda: session.op("Exp", large, texts))
    tensors = session.controller.list_tensors(0, 0) if session.paused() else None
    number = tensors.tensors[0].number
    parts = list(session.controller.elements(number, 0, 600_000))
    assert [len(part) for part in parts] == [1 << 20, 1 << 20, 2_400_000 - (2 << 20)]
    assert b"".join(parts) == large.tobytes()
    assert b"".join(session.controller.elements(number, 2, 4)) == large[2:4].tobytes()
    strings = b"".join(session.controller.elements(tensors.tensors[1].number, 0, 3))
    assert strings == b"\x03cat\x00\xac\x02" + b"x" * 300
    with pytest.raises(ValueError, match="no range"):
        list(session.controller.elements(number, 0, 600_001))
    with pytest.raises(LookupError, match="its call is over"):
        list(session.controller.elements(number + 1000, 0, 1))


def test_a_value_at_which_it_stopped_stays_readable_after_its_call(session):
    session.do(set_breakpoint={"where": {"op_name": "Log"}, "enabled": True})
    session.start(lambda: session.train(BAD), lambda: session.train(GOOD))
    first = session.paused()
    second = session.go(ON, first)
    assert b"".join(session.controller.elements(first.tensor.number, 0, 3)) == BAD.tobytes()
    assert second.tensor.number > first.tensor.number


def test_eager_values_are_dropped_when_they_are_too_many(connected):
    session = connected(max_held_bytes=30)
    session.stop_at("Never")
    for _ in range(4):
        session.op("Exp", GOOD)
    state = session.controller.state()
    assert (state.held_bytes, state.max_held_bytes, state.dropped_values) == (24, 30, 2)
    tensors = session.controller.list_tensors(0, 0).tensors
    assert [one.has_value for one in tensors] == [False, False, True, True]
    assert "not held" in tensors[0].no_value and tensors[3].text == "[1.0, 2.0, 3.0]"


def test_expressions_take_tensors_at_hand(session):
    session.do(set_breakpoint={"where": {"op_name": "Mul"}, "enabled": True})

    def work():
        session.gate.pass_tensor(1, GOOD)
        session.gate.pass_tensor(1, GOOD * 2)
        session.gate.pass_tensor(2, BAD)

    session.start(lambda: session.call(work=work))
    number = session.paused().tensor.number

    def numbers_of_result(expression):
        answer = session.controller.evaluate(expression)
        return {one.name: one.value for one in answer.numbers}

    def text_of(expression):
        answer = session.controller.evaluate(expression)
        assert answer.done, answer.text
        return answer.text

    assert text_of("`Log:0`") == "[2.0, 4.0, 6.0]"
    assert text_of("np.sum(`Log:0[0]`)") == "6.0"
    assert text_of("`Log`[-1:]") == "[6.0]"
    assert text_of("np.isnan(value)") == "[False, True, False]"
    assert text_of(f"np.nan_to_num(`#{number}`, nan=7.0)[:2]") == "[1.0, 7.0]"
    assert text_of("value.shape") == "[3]"
    assert numbers_of_result("value * 2")["nan"] == 1
    answer = session.controller.evaluate("`Log:0` * 2")
    assert (answer.dtype, list(answer.shape)) == (1, [3])
    assert b"".join(session.controller.elements(answer.tensor, 1, 3)) == np.float32([8, 12]).tobytes()
    for wrong in ("`Exp:0`", "`Log:0[5]`", "open('x')", "`Log:1`", "1 +", "`#1e`", "np.zeros(10**10)"):
        answer = session.controller.evaluate(wrong)
        assert not answer.done and answer.text
    session.go_on_to_the_end()
    assert "not paused at a tensor" in session.controller.evaluate("value").text


def test_a_value_of_a_graph_can_be_changed_once(session):
    session.do(set_breakpoint={"where": {"op_name": "Log"}, "condition": "bad", "enabled": True})
    session.start(lambda: session.train(BAD, BAD))
    pause = session.paused()
    assert pause.can_change and pause.cannot_change == ""
    change = {"tensor": pause.tensor.number, "expression": "np.where(np.isfinite(value), value, 0)"}
    session.do(change_value=change, pause_number=pause.number)
    state = session.controller.state()
    assert state.pause.tensor.was_changed and state.pause.tensor.text == "[1.0, 0.0, 0.0]"
    assert numbers_in(state.pause.tensor)["nan"] == 0
    assert state.notices[-1].sentence.startswith("A debugger has set Log:0 of train")
    assert session.controller.list_tensors(0, 0).tensors[0].was_changed
    session.do(change_value={"expression": "value + 1"})
    second = session.go(ON, pause)
    assert not second.tensor.was_changed
    session.go_on_to_the_end()
    np.testing.assert_array_equal(session.results, [[2, 1, 1], BAD])


def test_an_output_of_an_eager_op_can_be_changed(session):
    session.stop_at("TopK")
    ids = np.int32([3, 4, 5])
    session.start(lambda: session.results.extend(session.op("TopK", BAD, ids)))
    session.paused()
    session.do(change_value={"expression": "0"})
    assert session.controller.evaluate("value").text == "[0.0, 0.0, 0.0]"
    session.go_on_to_the_end()
    np.testing.assert_array_equal(session.results, [[0, 0, 0], ids])


@pytest.mark.parametrize(
    ("expression", "sentence"),
    [
        ("np.zeros((2, 2))", "shape"),
        ("open('x')", "no function"),
        ("`Exp:0`", "No tensor"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(session, expression, sentence):
    session.do(set_breakpoint={"where": {"op_name": "Log"}, "enabled": True})
    session.start(lambda: session.train(BAD))
    session.paused()
    assert sentence in session.refuse(change_value={"expression": expression})
    session.go_on_to_the_end()
    np.testing.assert_array_equal(session.results, [BAD])


def test_values_are_not_changed_unless_the_program_allows_it(connected):
    session = connected(may_change_values=False)
    pause = session.pause_in(lambda: session.op("Log", BAD))
    assert not pause.can_change and "may_change_values=True" in pause.cannot_change
    assert "may_change_values=True" in session.refuse(change_value={"expression": "0"})


def test_curves_follow_graphs_and_eager_ops_while_the_program_runs(session):
    number = session.do(watch={"op_type": "Log"}).breakpoint
    session.train(GOOD, BAD)
    session.op("Log", GOOD * 3)
    (watched,) = session.controller.state().watched
    assert [{one.name: one.value for one in point.numbers}["max"] for point in watched.points] == [3, 1, 9]
    assert [point.call for point in watched.points] == [0, 0, 0]
    assert not session.controller.is_paused
    session.do(unwatch=number)
    assert not session.controller.state().watched and "watched" in session.refuse(unwatch=number)


NEEDS_A_PAUSE = (STEP, OVER, OUT, ON, dict(change_value={"expression": "0"}))
ALWAYS = (
    dict(set_breakpoint={"where": {"op_type": "Log"}}),
    dict(watch={"op_type": "Log"}),
    dict(pause={}),
    dict(detach={}),
    dict(stop={}),
)


def test_commands_that_need_a_pause_are_refused_while_the_program_runs(session):
    for what in NEEDS_A_PAUSE:
        assert session.refuse(**what) == "The program runs: pause it first."
    assert session.refuse() == "The command is empty."


@pytest.mark.parametrize("end", ["detach", "close"])
def test_no_command_is_obeyed_after_the_end(connected, end):
    session = connected()
    session.do(detach={}) if end == "detach" else session.controller.close()
    for what in (*NEEDS_A_PAUSE, *ALWAYS):
        assert "detached" in session.refuse(**what) or "has ended" in session.refuse(**what)
    session.train(BAD)
    session.op("Log", BAD)
    assert not session.controller.is_paused and not session.controller.evaluate("1").done


def test_a_program_that_is_read_only_obeys_nothing(connected):
    session = connected(read_only=True)
    assert session.controller.state().read_only
    for what in (*NEEDS_A_PAUSE, *ALWAYS):
        assert "read_only=True" in session.refuse(**what)
    assert session.controller.evaluate("1 + 1").text == "2"


def test_a_command_about_an_earlier_pause_is_refused(session):
    first = session.pause_in(lambda: session.train(GOOD, BAD))
    session.do(**STEP, pause_number=first.number)
    second = session.paused(first.number)
    assert "has gone on since" in session.refuse(**STEP, pause_number=first.number)
    assert session.controller.state().pause.number == second.number
    assert session.refuse(pause={}) == "The program is paused already."
    session.go_on_to_the_end()
    assert "has gone on since" in session.refuse(**ON, pause_number=second.number)


def test_of_two_debuggers_that_step_at_once_one_is_refused(session):
    number = session.pause_in(lambda: session.train(*[GOOD] * 40)).number
    for _ in range(20):
        outcomes = []
        step = command(**STEP, pause_number=number)
        both = [
            threading.Thread(target=lambda: outcomes.append(session.controller.control(step).done))  # noqa: B023
            for _ in range(2)
        ]
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()
        assert sorted(outcomes) == [False, True]
        number = session.paused(number).number


def test_versions_rise_and_all_followers_see_the_same(session):
    seen = [[], []]

    def follow(versions):
        version = 0
        while version < last:
            state = session.controller.follow(version, 5)
            assert state.version > version
            version = state.version
            versions.append(version)

    before = session.controller.state().version
    last = before + 20
    threads = [threading.Thread(target=follow, args=(versions,)) for versions in seen]
    for thread in threads:
        thread.start()
    for _ in range(20):
        session.do(set_breakpoint={"where": {"op_type": "Log"}})
    for thread in threads:
        thread.join(20)
    assert [versions[-1] for versions in seen] == [session.controller.state().version] * 2
    assert session.controller.follow(last, 0.01).version == last


def test_many_calls_raise_the_version_a_few_times_only(connected):
    session = connected(has_thread=False)
    before = session.controller.state().version
    for _ in range(100):
        session.call()
    assert session.controller.state().version == before
    session.controller.tick()
    state = session.controller.state()
    assert state.version == before + 1 and state.calls[0].count == 100


def test_a_pause_before_a_run_of_a_session_says_that_it_is_a_run(alone):
    session = alone(wait=True)
    session.start(lambda: session.call("loss:0", kind=CallKind.SESSION_RUN))
    state = session.until(lambda state: state.phase == WAITING)
    assert state.pause.sentence == "Paused before run of loss:0 (call 0)."


def test_an_error_of_a_call_pauses_after_it(session):
    session.start(lambda: session.call(error=ValueError("shapes\ndo not fit")))
    pause = session.paused()
    assert pause.reason == Pause.ERROR
    assert pause.sentence == "Paused after train (call 0): ValueError: shapes."
    assert session.controller.state().call.is_over
    session.go_on_to_the_end()
    session.call(error=StopIteration())
    session.call(error=KeyboardInterrupt())
    assert not session.controller.is_paused


def test_other_threads_of_the_program_wait_while_it_is_paused(session):
    first = session.pause_in(lambda: session.op("Exp", GOOD))
    over = []
    session.start(lambda: session.train(GOOD), lambda: over.append("train"))
    session.start(lambda: session.op("Log", GOOD), lambda: over.append("log"))
    session.until(lambda state: state.pause.held_threads == 2 or session.controller.tick())
    assert not over
    session.do(**ON, pause_number=first.number)
    assert session.finished()
    assert sorted(over) == ["log", "train"]


def test_a_pause_has_the_stack_of_its_thread_and_of_those_that_wait(session):
    pause = session.pause_in(lambda: session.train(GOOD))
    (line,) = pause.stack
    assert (line.path, line.line) == ("/home/user/train.py", 7)
    pause = session.go(STEP, pause)
    assert pause.tensor.op_name == "Log" and len(pause.stack) == 1
    session.start(lambda: session.train(GOOD))
    state = session.until(lambda state: len(state.running) == 2)
    assert [len(one.stack) for one in state.running] == [1, 1]
    session.go_on_to_the_end()
    assert not session.controller.state().running


def test_a_thread_at_the_gate_waits_while_a_thread_at_a_hook_is_paused(session):
    passing = threading.Event()

    def work():
        passing.wait(20)
        session.results.append(session.gate.pass_tensor(1, GOOD))

    session.start(lambda: session.call(work=work))
    session.until(lambda state: state.call.name == "train")
    first = session.pause_in(lambda: session.op("Exp", GOOD))
    passing.set()
    session.until(lambda _: session.gate.hit is not None)
    assert not session.results and session.controller.state().pause.number == first.number
    second = session.go(STEP, first)
    assert second.tensor.op_name == "Log"
    session.do(**ON)
    assert session.finished() and len(session.results) == 1


def test_a_paused_program_runs_on_when_no_debugger_comes_back(alone):
    session = alone(has_thread=False, when_alone=5)
    with session.controller.connected("page"):
        session.do(pause={})
        thread = session.start(lambda: session.call(), lambda: session.op("Log", BAD))
        session.paused()
    session.let_time_pass(4.9)
    assert session.controller.is_paused
    with session.controller.connected("reloaded page"):
        session.let_time_pass(100)
        assert session.controller.is_paused
        session.stop_at("Log")
    session.let_time_pass(5.1)
    thread.join(20)
    state = session.controller.state()
    assert state.phase == RUNNING and "No debugger came back" in state.notices[-1].sentence
    assert session.gate.rules == [] and not session.program.sees_eager_ops
    with session.controller.connected("page"):
        assert [rule.number for rule in session.gate.rules] == [1]


def test_the_last_debugger_may_keep_the_program_paused_for_longer(alone):
    session = alone(has_thread=False, when_alone=5)
    with session.controller.connected("tbdbg shell", 300.0):
        session.do(pause={})
        thread = session.start(lambda: session.call())
        session.paused()
    session.let_time_pass(299)
    assert session.controller.is_paused
    session.let_time_pass(2)
    thread.join(20)
    assert session.controller.state().phase == RUNNING


def test_a_program_waits_for_its_first_debugger_as_long_as_it_is_told(alone):
    session = alone(has_thread=False, wait=True, wait_s=90.0)
    thread = session.start(lambda: session.call(), lambda: session.call())
    session.until(lambda state: state.phase == WAITING)
    for seconds in (0, 61, 20):  # it says once that it still waits
        session.let_time_pass(seconds)
    assert session.program.told == [False] and session.controller.is_paused
    with session.controller.connected("page"):
        session.let_time_pass(1000)
        assert session.controller.is_paused
    session.controller.tick()
    session.let_time_pass(91)
    thread.join(20)
    state = session.controller.state()
    assert session.program.told == [False, True] and "No debugger came in time" in state.notices[-1].sentence


def test_a_program_that_waits_for_ever_says_so_each_minute(alone):
    session = alone(has_thread=False, wait=True)
    session.start(lambda: session.call())
    session.until(lambda state: state.phase == WAITING)
    for _ in range(7):
        session.controller.tick()
        session.clock.seconds += 30
    assert session.program.told == [False] * 3 and session.controller.is_paused


def test_a_program_may_wait_for_ever_when_it_is_alone(alone):
    session = alone(has_thread=False, when_alone=None)
    with session.controller.connected("page"):
        session.pause_in(lambda: session.call())
    session.let_time_pass(1e6)
    assert session.controller.is_paused


@pytest.mark.parametrize("at", ["gate", "hook"])
def test_detaching_lets_all_threads_go_on(session, at):
    session.do(pause={})
    session.start(lambda: session.train(GOOD, BAD, GOOD))
    session.start(lambda: session.op("Log", BAD))
    pause = session.paused()
    if at == "gate":
        session.do(**STEP)
        session.paused(pause.number)
    session.controller.detach("Ctrl-C.")
    assert session.finished()
    state = session.controller.state()
    assert state.phase == State.DETACHED and state.notices[-1].sentence == "Ctrl-C."
    assert not state.HasField("pause")


def test_ctrl_c_in_a_waiting_thread_runs_on_without_the_debugger(session, monkeypatch):
    session.do(pause={})

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(session.controller._lock, "wait", interrupted)
    session.call()
    state = session.controller.state()
    assert state.phase == State.DETACHED and "Ctrl-C" in state.notices[-1].sentence


def test_the_program_ends_in_its_main_thread_when_it_is_told_to(session):
    session.do(pause={})
    timer = threading.Timer(0.3, lambda: session.do(stop={}))
    timer.start()
    with pytest.raises(SystemExit, match="The debugger has ended the program"):
        session.call()
    timer.join()
    session.call()
    assert session.controller.state().phase == State.DETACHED


def test_a_program_that_comes_to_no_hook_is_interrupted(connected, monkeypatch):
    session = connected(has_thread=False)
    interrupts = []
    monkeypatch.setattr("_thread.interrupt_main", lambda: interrupts.append(1))
    session.do(stop={})
    session.controller.tick()
    assert not interrupts
    session.let_time_pass(1.1)
    session.controller.tick()
    assert interrupts == [1]


def test_without_a_gate_eager_ops_and_calls_still_stop(connected):
    session = connected(with_gate=False)
    session.stop_at("Log", condition="nan")
    assert "Only eager ops and calls stop" in session.controller.state().breakpoints[0].problem
    session.start(lambda: session.op("Log", BAD), lambda: session.call())
    first = session.paused()
    session.do(**OVER)
    assert session.paused(first.number).reason == Pause.BEFORE_CALL


def test_breakpoints_are_kept_for_the_next_run_of_the_script(connected, alone):
    first = connected()
    first.do(
        set_breakpoint={
            "where": {"op_type": "Log", "slot": 2},
            "condition": "nan > 0",
            "ignore": 3,
            "enabled": True,
            "label": "mine",
            "log_only": True,
        }
    )
    first.close()
    second = alone()
    (kept,) = second.controller.state().breakpoints
    assert (kept.where.op_type, kept.where.slot, kept.condition) == ("Log", 2, "nan > 0")
    assert (kept.ignore, kept.enabled, kept.label, kept.hits) == (3, True, "mine", 0)
    assert kept.log_only
    assert "set again: 1" in second.controller.state().notices[0].sentence


def test_a_failure_of_the_controller_lets_the_program_run_on(session, monkeypatch):
    monkeypatch.setattr(session.controller, "take_hit", lambda hit: 1 / 0)
    session.stop_at("Log")
    session.train(BAD)
    state = session.until(lambda state: state.phase == State.DETACHED)
    assert "ZeroDivisionError" in state.notices[-1].sentence


def test_a_thousand_steps_at_random_threads_never_hang(session):
    """Threads of calls and eager ops, and a debugger that steps as fast as it can."""
    session.do(pause={})
    for _ in range(3):
        session.start(*[lambda: session.train(GOOD)] * 60, *[lambda: session.op("Exp", GOOD)] * 60)
    number = 0

    def is_new(state):
        return state.phase == PAUSED and state.pause.number > number

    for round_number in range(1000):
        if session.finished_now():
            break
        state = session.until(lambda state: is_new(state) or session.finished_now())
        if state.phase == PAUSED:
            number = state.pause.number
            session.do(**(OVER if round_number % 7 == 0 else STEP))
    assert number > 100
    session.controller.detach("enough")
    assert session.finished()


def test_a_mean_that_is_not_known_holds_no_condition(session):
    session.stop_at("Text", condition="mean != 3")
    session.op("Text", np.array([b"cat"], object))
    assert not session.controller.is_paused


def test_a_pause_says_when_everything_up_to_it_is_in_the_files(session):
    session.stop_at("Log")
    seen = []
    session.program.flush = lambda: seen.append(session.controller.state().pause)
    session.start(lambda: session.train(BAD))
    state = session.until(lambda state: state.phase == PAUSED and state.pause.is_recorded)
    assert [pause.number for pause in seen] == [state.pause.number]
    assert not seen[0].is_recorded


def test_only_methods_of_the_status_write_what_is_known_of_the_program():
    modules = [path for path in Path(status.__file__).parent.glob("*.py") if path.stem != "status"]
    fields = r"\bstatus\.\w+(, [\w.]+)* [-+|&]?= |\bstatus\.(open|held)_calls(\[|\.pop|\.clear|\.update)"
    written = [
        f"{path.name}: {found[0]}" for path in modules for found in re.finditer(fields, path.read_text())
    ]
    assert len(modules) > 20 and written == []
