"""`live/program/unseen_calls.py`: calls pass while nobody looks, and are taken up when one does."""

from __future__ import annotations

import itertools
import threading
from functools import partial

import pytest

from tb_debugger_plugin.live.messages.messages import Command, Pause, State
from tb_debugger_plugin.live.program.controller import Controller
from tb_debugger_plugin.live.program.interface import BreakpointSettings, CallKind, ProgramCall
from tb_debugger_plugin.live.program.unseen_calls import CountedCalls, UnseenCalls
from tests.support.fake_gate import FakeClock, FakeEager, FakeGate, FakeProgram, FakeRecording

FUNCTION = CallKind.FUNCTION


def new_call(number, name="train"):
    return ProgramCall(number, FUNCTION, name, thread="MainThread", find_place=lambda: ("train.py", 7))


@pytest.fixture
def unseen():
    """Calls of `train` may pass: one was seen."""
    counted = CountedCalls()
    counted.add(new_call(0))
    made = UnseenCalls(counted)
    made.allowed = True
    return made, counted


def begin(unseen, number, name="train"):
    return unseen.begin(number, FUNCTION, name, partial(new_call, number, name))


def test_a_call_passes_if_its_name_is_known_and_nobody_looks(unseen):
    calls, counted = unseen
    assert begin(calls, 1) and not begin(calls, 2, "other")
    assert calls.end(1) is None
    calls.allowed = False
    assert not begin(calls, 3)
    (row,) = counted.messages()
    assert (row.name, row.count, row.last_number) == ("train", 2, 1)


def test_a_call_that_runs_is_taken_up_once_and_comes_back_at_its_end(unseen):
    calls, _ = unseen
    assert begin(calls, 1) and begin(calls, 2)
    assert calls.end(1) is None
    (taken,) = calls.take_up()
    assert (taken.number, taken.place) == (2, ("train.py", 7))
    assert calls.take_up() == []
    assert calls.end(2) is taken and calls.end(2) is None


def test_a_full_table_lets_calls_with_new_names_pass():
    counted = CountedCalls()
    for number in range(500):
        counted.add(new_call(number, f"f{number}"))
    calls = UnseenCalls(counted)
    calls.allowed = True
    assert begin(calls, 500, "one more") and len(counted.messages()) == 500
    assert counted.num_calls == 501


def test_whoever_looks_knows_all_calls_that_run(unseen):
    calls, counted = unseen
    numbers, ends = itertools.count(1), threading.Event()
    running, taken, returned = {}, set(), [[] for _ in range(4)]

    def program(thread):
        while not ends.is_set():
            number = next(numbers)
            if begin(calls, number):
                running[thread] = number
                del running[thread]
                returned[thread].append(calls.end(number))
            else:
                counted.count(FUNCTION, "train", number)

    threads = [threading.Thread(target=program, args=(thread,)) for thread in range(4)]
    for thread in threads:
        thread.start()
    unknown = set()
    try:
        for _ in range(300):
            calls.allowed = False
            taken |= {one.number for one in calls.take_up()}
            unknown |= set(running.copy().values()) - taken
            calls.allowed = True
    finally:
        ends.set()
        for thread in threads:
            thread.join(20)
    assert not unknown and calls.take_up() == []
    assert {one.number for each in returned for one in each if one is not None} == taken
    assert counted.messages()[0].count == next(numbers)


# What the controller lets pass.


class Session:
    """A controller without a thread; calls of a program pass as the hooks let them."""

    def __init__(self, folder, **settings):
        self.gate = FakeGate()
        program = FakeProgram(FakeRecording(self.gate, str(folder)))
        self.controller = Controller(
            BreakpointSettings(**{"wait": False, **settings}),
            program,
            clock=FakeClock(),
            eager=FakeEager(),
            has_thread=False,
        )
        self.numbers = itertools.count()
        self.seen = []

    def call(self, name="train", work=lambda: None, error=None):
        """Make a call as `Calls` does; returns its number."""
        number = next(self.numbers)
        make, unseen = partial(new_call, number, name), self.controller.unseen
        if unseen.begin(number, FUNCTION, name, make):
            work()
            call = unseen.end(number) or (make() if error is not None else None)
        else:
            self.seen.append(number)
            call = make()
            self.controller.calls.before(call)
            work()
        if call is not None:
            self.controller.calls.after(call, error)
            call.finish()
        return number

    def do(self, **what):
        outcome = self.controller.control(Command(**what))
        assert outcome.done, outcome.sentence
        return outcome

    def passes(self):
        """Whether a call passes unseen."""
        return self.call() not in self.seen


@pytest.fixture
def session(tmp_path):
    session = Session(tmp_path)
    yield session
    session.controller.close()


def test_calls_pass_when_no_debugger_is_connected(session):
    assert not session.passes()  # its name is new
    assert session.passes() and session.passes()
    (row,) = session.controller.state().calls
    assert (row.count, row.last_number) == (3, 2)


def test_of_the_calls_of_a_connected_program_one_is_seen_now_and_then(session):
    session.call()
    with session.controller.connected("test"):
        assert not session.passes()
        assert [session.passes() for _ in range(3)] == [True] * 3
        version = session.controller.state().version
        session.controller.tick()
        assert session.controller.state().version == version + 1
        number = session.call()
        state = session.controller.state()
        assert (state.call.number, state.call.line, state.call.is_over) == (number, 7, True)
        assert session.passes() and state.calls[0].count == 6


def test_a_call_that_runs_is_known_to_a_debugger_that_joins(session):
    session.call()
    seen = []

    def join():
        with session.controller.connected("test"):
            seen.append(session.controller.state())

    number = session.call(work=join)
    (state,) = seen
    assert (state.call.number, state.call.path, state.call.is_over) == (number, "train.py", False)
    assert session.controller.state().call.is_over


def test_no_call_passes_while_something_may_stop_it(session):
    session.call()
    with session.controller.connected("test"):
        session.call()
        assert session.passes()
        number = session.do(set_breakpoint={"where": {"op_type": "Log"}, "enabled": True}).breakpoint
        assert not session.passes() and not session.passes()
        session.do(remove_breakpoint=number)
        session.call()  # it forgets what was held for the breakpoint
        assert session.passes()
        session.do(pause={})
        assert not session.controller.unseen.allowed
        session.controller.detach("enough")
        assert session.passes()


def test_a_program_that_waits_for_its_debugger_lets_no_call_pass(tmp_path):
    session = Session(tmp_path, wait=True)
    assert not session.controller.unseen.allowed
    session.controller.close()
    assert session.controller.unseen.allowed


def test_an_error_of_a_call_that_passed_pauses_after_it(session):
    session.call()
    with session.controller.connected("test"):
        session.call()
        thread = threading.Thread(target=session.call, kwargs={"error": ValueError("bad")})
        thread.start()
        state = session.controller.state()
        while state.phase != State.PAUSED:
            state = session.controller.follow(state.version, 1)
            assert thread.is_alive()
        assert state.pause.reason == Pause.ERROR and "ValueError: bad" in state.pause.sentence
        assert (state.call.number, state.call.line, state.call.is_over) == (2, 7, True)
        session.do(continue_={})
        thread.join(20)
        assert not thread.is_alive()
