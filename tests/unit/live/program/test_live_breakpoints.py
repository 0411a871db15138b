"""`live/program/breakpoints.py`: what a breakpoint is at, what the gate gets, and why one cannot hit."""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import pytest

from tb_debugger_plugin.capture.gate import Line
from tb_debugger_plugin.errors import DebuggerError, FormatError
from tb_debugger_plugin.live.messages.messages import Breakpoint, Where
from tb_debugger_plugin.live.program import breakpoint_file
from tb_debugger_plugin.live.program.breakpoints import (
    MOST,
    MOST_LOG_POINTS,
    BreakpointList,
    ConditionBirths,
    place_of,
)
from tb_debugger_plugin.live.program.places import OpPlace, described, make_target
from tests.support.fake_gate import tensor_of_graph

LOG = tensor_of_graph(1, "dense/Log", "Log", layer="model/dense", path="/home/user/train.py", line=68)
SECOND = LOG._replace(tensor_id=2, slot=1)
MUL = tensor_of_graph(3, "Mul", line=68, path="/home/user/other_train.py")
EAGER = OpPlace("Log_3", 0, "Log", path="/home/user/train.py", line=5)


def breakpoint_at(*, condition="", ignore=0, enabled=True, number=0, label="", **where):
    return Breakpoint(
        number=number, where=where, condition=condition, ignore=ignore, enabled=enabled, label=label
    )


def known(*tensors):
    breakpoints = BreakpointList()
    breakpoints.take_in(tensors or (LOG, SECOND, MUL))
    return breakpoints


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"op_name": "dense/Log"}, {1}),
        ({"op_name": "dense/Log", "slot": -1}, {1, 2}),
        ({"op_name": "Log"}, set()),
        ({"op_type": "Log"}, {1, 2}),
        ({"name_regex": "Log|Mul"}, {1, 2, 3}),
        ({"name_regex": "^dense/"}, {1, 2}),
        ({"layer_regex": "dense$"}, {1, 2}),
        ({"function_regex": "tra"}, {1, 2, 3}),
        ({"function_regex": "eval"}, set()),
        ({"path": "train.py", "line": 68}, {1, 2}),
        ({"path": "user/train.py", "line": 68}, {1, 2}),
        ({"path": "/home/user/other_train.py"}, {3}),
        ({"path": "rain.py", "line": 68}, set()),
        ({"path": "train.py", "line": 69}, set()),
        ({"op_type": "Log", "path": "other_train.py"}, set()),
        ({"op_type": "Log", "slot": -1, "layer_regex": "^model"}, {1, 2}),
    ],
)
def test_a_breakpoint_is_at_the_tensors_that_every_part_fits(where, expected):
    breakpoints = known()
    breakpoints.set(breakpoint_at(**where))
    (rule,) = breakpoints.rules({}) or [None]
    assert (set() if rule is None else rule.tensor_ids) == expected
    assert breakpoints.isolated() == expected


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({"op_type": "Log"}, True),
        ({"op_name": "Log_3"}, True),
        ({"op_name": "Log"}, False),
        ({"name_regex": "^Log"}, True),
        ({"path": "train.py", "line": 5}, True),
        ({"function_regex": "."}, False),
        ({"layer_regex": "."}, False),
        ({"calls": True}, False),
    ],
)
def test_a_breakpoint_is_at_eager_ops_by_type_name_and_line(where, expected):
    target = make_target(Where(**where))
    assert (target.may_be_eager and target.fits(EAGER)) is expected


def test_tensors_that_are_not_recorded_are_taken_unless_only_bad_ones_are_wanted():
    best = tensor_of_graph(4, "best", "ArgMax", is_recorded=False)
    for where, condition, expected in (
        ({"op_name": "best"}, "", {4}),
        ({"function_regex": "train"}, "max > 3", {1, 4}),
        ({"function_regex": "train"}, "nan > 0", {1}),
        ({}, "max > 3", {1}),
    ):
        breakpoints = known(LOG, best)
        number = breakpoints.set(breakpoint_at(**where, condition=condition))
        assert set(breakpoints.get(number).tensors) == expected
        assert breakpoints.isolated() == (frozenset(expected) if where else frozenset())


def test_calls_are_meant_by_the_name_of_their_function():
    assert make_target(Where(calls=True)).fits_call("anything")
    assert make_target(Where(calls=True, function_regex="^train")).fits_call("train_step")
    assert not make_target(Where(calls=True, function_regex="^train")).fits_call("eval_step")
    assert not make_target(Where(op_type="Log")).fits_call("Log")


def test_tensors_that_come_later_are_taken_in():
    breakpoints = BreakpointList()
    breakpoints.set(breakpoint_at(op_type="Log"))
    assert breakpoints.rules({}) == []
    assert not breakpoints.take_in([MUL]) and breakpoints.take_in([LOG])
    assert breakpoints.rules({})[0].tensor_ids == {1}
    breakpoints.take_in([LOG._replace(tensor_id=9, is_constant=True)])
    assert breakpoints.rules({})[0].tensor_ids == {1}


def test_hits_go_on_when_the_gate_gets_another_rule():
    breakpoints = known(LOG)
    breakpoints.set(breakpoint_at(op_type="Log", ignore=5))
    assert breakpoints.rules({})[0].ignore == 5
    assert breakpoints.rules({1: 2})[0].ignore == 5, "an equal rule goes on in the gate"
    (message,) = breakpoints.messages({1: 2}, has_gate=True)
    assert (message.hits, message.ignore) == (2, 3)
    breakpoints.take_in([SECOND])
    (rule,) = breakpoints.rules({1: 2})
    assert (rule.ignore, rule.tensor_ids) == (3, {1, 2})
    (message,) = breakpoints.messages({1: 1}, has_gate=True)
    assert (message.hits, message.ignore, message.num_tensors) == (3, 2, 2)
    breakpoints.forget_rules({1: 1})
    (message,) = breakpoints.messages({}, has_gate=True)
    assert (message.hits, message.ignore) == (3, 2)
    assert breakpoints.rules({})[0].ignore == 2


def test_a_changed_breakpoint_keeps_its_hits_and_ignores_anew():
    breakpoints = known(LOG)
    breakpoints.set(breakpoint_at(op_type="Log", ignore=2))
    breakpoints.rules({})
    breakpoints.set(breakpoint_at(number=1, op_type="Log", ignore=4))
    assert breakpoints.rules({1: 2})[0].ignore == 4
    (message,) = breakpoints.messages({}, has_gate=True)
    assert (message.hits, message.ignore) == (2, 4)
    breakpoints.set(breakpoint_at(number=1, op_type="Log", ignore=4, enabled=False))
    assert breakpoints.rules({1: 3}) == []
    (message,) = breakpoints.messages({}, has_gate=True)
    assert (message.hits, message.ignore) == (5, 1)


def test_a_breakpoint_says_why_it_cannot_hit():
    def problem(breakpoints, has_gate=True):
        return breakpoints.messages({}, has_gate=has_gate)[0].problem

    breakpoints = BreakpointList()
    breakpoints.set(breakpoint_at(op_type="Log"))
    assert problem(breakpoints).startswith("No tensor of a graph fits yet")
    assert "Only eager ops and calls stop" in problem(breakpoints, has_gate=False)
    breakpoints.take_in([LOG._replace(is_compiled=True)])
    assert "runs uncompiled from its next call on" in problem(breakpoints)
    breakpoints.take_in([LOG, SECOND])
    assert problem(breakpoints) == ""
    breakpoints.set(breakpoint_at(number=1, op_type="Never", enabled=False))
    assert problem(breakpoints) == ""


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ({}, "needs an op"),
        ({"slot": -1}, "needs an op"),
        ({"name_regex": "("}, "no regular expression"),
        ({"name_regex": "a" * 501}, "at most 500"),
        ({"line": 3}, "needs the path"),
        ({"calls": True, "op_type": "Log"}, "nothing else"),
        ({"calls": True, "condition": "nan"}, "no numbers"),
        ({"op_type": "Log", "condition": "nan >"}, "no condition"),
        ({"op_type": "Log", "ignore": -1}, "0 hits or more"),
        ({"op_type": "Log", "label": "x" * 201}, "label"),
        ({"op_type": "L" * 5000}, "too long"),
        ({"op_type": "Log", "number": 7}, "no breakpoint 7"),
    ],
)
def test_a_breakpoint_that_cannot_be_used_is_refused(what, sentence):
    breakpoints = known()
    with pytest.raises(DebuggerError, match=sentence):
        breakpoints.set(breakpoint_at(**what))
    assert not list(breakpoints)


def test_there_is_an_end_to_breakpoints():
    breakpoints = known()
    for _ in range(MOST):
        breakpoints.set(breakpoint_at(op_type="Log"))
    with pytest.raises(DebuggerError, match="at most 200"):
        breakpoints.set(breakpoint_at(op_type="Log"))


def test_a_condition_alone_is_at_every_tensor_and_gives_none_its_own_op():
    breakpoints = known()
    breakpoints.set(breakpoint_at(condition="nan > 0", slot=-1))
    (rule,) = breakpoints.rules({})
    assert rule.tensor_ids is None and rule.only_bad and not breakpoints.isolated()


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ({"op_name": "Log", "slot": 1}, "Log:1"),
        ({"op_name": "Log", "slot": -1, "function_regex": "train"}, "Log in functions like train"),
        ({"path": "/home/user/train.py", "line": 68}, "ops on line 68 of train.py"),
        ({"path": "/home/user/train.py"}, "ops in train.py"),
        ({"op_type": "MatMul", "layer_regex": "dense"}, "MatMul of layers like dense"),
        ({"name_regex": "loss"}, "ops like loss"),
        ({"calls": True}, "all calls"),
        ({"calls": True, "function_regex": "train"}, "calls of train"),
        ({"slot": -1}, "any tensor"),
    ],
)
def test_a_place_has_words(where, words):
    assert described(Where(**where)) == words


def test_the_place_of_a_tensor_is_that_of_its_op():
    assert place_of(LOG) == OpPlace(
        "dense/Log", 0, "Log", "model/dense", ("train",), "/home/user/train.py", 68
    )


# Lines that make no op themselves.

SOURCE = """def forward(images):
    return relu(images)


@tf.function
def train_step(images):
    print("traced")
    probs = forward(images)
    print("between")
    log = tf.math.log(probs)
    return log


def unused():
    pass
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SOURCE)
    return str(path)


def made_at(script, tensor_id, *lines, **facts):
    """A tensor of `train_step` to which some lines lead; the last one makes it."""
    stack = tuple(Line(script, line) for line in lines)
    return tensor_of_graph(tensor_id, f"op{tensor_id}", path=script, line=lines[-1], lines=stack, **facts)


def set_at(breakpoints, script, line, **facts):
    number = breakpoints.set(breakpoint_at(path=script, line=line, **facts))
    return breakpoints.get(number), breakpoints.messages({}, has_gate=True)[-1]


def test_a_line_that_calls_something_stops_at_the_first_op_of_that_in_each_graph(script):
    first, second = made_at(script, 4, 8, 2), made_at(script, 3, 8, 2)
    traced_again = made_at(script, 9, 8, 2, graph_id="again")
    constant = made_at(script, 1, 8, is_constant=True)
    breakpoints = known(first, second, constant, made_at(script, 5, 10), traced_again)
    entry, message = set_at(breakpoints, script, 8)
    assert set(entry.tensors) == breakpoints.isolated() == {3, 9}
    assert "first op that the line leads to" in message.note and not message.problem
    entry, message = set_at(breakpoints, script, 8, condition="nan > 0")
    assert set(entry.tensors) == {3, 4, 9} and "ops that the line leads to" in message.note
    entry, message = set_at(breakpoints, script, 2)
    assert set(entry.tensors) == {3, 4, 9} and not message.note


def test_a_line_without_ops_moves_to_the_next_one_of_its_function_or_is_refused(script):
    breakpoints = known(made_at(script, 3, 8, 2), made_at(script, 5, 10), made_at(script, 6, 1))
    entry, message = set_at(breakpoints, script, 9)
    assert set(entry.tensors) == {5} and message.where.line == 9
    assert message.note == "Line 9 leads to no tensor: it stops at the next one that does, 10."
    for line in (5, 6, 7):
        assert set(set_at(breakpoints, script, line)[0].tensors) == {3}
    with pytest.raises(DebuggerError, match=r"^Neither line 11 of train.py nor a line of train_step below"):
        breakpoints.set(breakpoint_at(path=script, line=11))
    for line in (13, 15):  # outside of functions, and in one that is not made
        assert "fits yet" in set_at(breakpoints, script, line)[1].problem


def test_a_line_is_found_when_its_function_is_made_and_comes_back_when_it_is_made_again(script):
    breakpoints = BreakpointList()
    entry, message = set_at(breakpoints, script, 9)
    last, _ = set_at(breakpoints, script, 11)
    assert "fits yet" in message.problem
    breakpoints.take_in([made_at(script, 5, 10)])
    assert set(entry.tensors) == {5} and "at the next one that does, 10" in entry.note
    assert last.problem(has_gate=True).startswith("Neither line 11 of train.py nor")
    breakpoints.take_in([made_at(script, 7, 9, graph_id="again")])
    assert set(entry.tensors) == {7} and not entry.note
    breakpoints.take_in([made_at(script, 8, 11, graph_id="third")])
    assert set(last.tensors) == {8} and not last.problem(has_gate=True)


def test_graphs_of_sessions_are_built_by_no_function_that_is_made(script):
    breakpoints = known(made_at(script, 5, 10, function=""))
    assert "fits yet" in set_at(breakpoints, script, 9)[1].problem


# The first of each origin only.


def carrying(tensor_id, op_type, *inputs):
    return tensor_of_graph(tensor_id, f"op{tensor_id}", op_type, inputs=inputs)


def test_a_condition_is_born_where_no_input_fulfils_it():
    births = ConditionBirths()
    known_ids = set(range(10)).__contains__

    def born(call, tensor_id, op_type, *inputs):
        return births.is_birth(carrying(tensor_id, op_type, *inputs), call, known_ids)

    assert born(0, 1, "Log", 0)
    assert not born(0, 2, "Mul", 0, 1) and not born(0, 3, "Sum", 2)
    assert born(0, 4, "Sqrt", 0)
    assert not born(0, 5, "PartitionedCall", 0) and not born(0, 6, "Add", 0, 99)
    assert born(1, 1, "Log", 0), "another call begins anew"
    assert not born(2, 7, "ReadVariableOp", 0), "a variable keeps what earlier calls gave it"
    assert born(3, 6, "Add", 0, 99), "nothing was bad before in this call"
    assert ConditionBirths().is_birth(carrying(7, "ReadVariableOp", 0), 0, known_ids)
    assert births.is_eager_birth("Log", [False, False]) and not births.is_eager_birth("Mul", [False, True])
    assert not births.is_eager_birth("ReadVariableOp", [False])


def test_of_the_first_of_each_origin_only_the_gate_judges_all_tensors_and_counts_none():
    breakpoints = known()
    message = breakpoint_at(op_type="Log", condition="nan > 0", ignore=2)
    message.first_only = True
    breakpoints.set(message)
    (rule,) = breakpoints.rules({})
    assert (rule.tensor_ids, rule.ignore) == (None, 0) and breakpoints.isolated() == {1, 2}
    assert (breakpoints.messages({1: 9}, has_gate=True)[0].hits, breakpoints.rules({1: 9})) == (0, [rule])
    breakpoints.set(breakpoint_at(op_type="Log", number=1))
    assert breakpoints.rules({1: 9})[0].tensor_ids == {1, 2}


def test_a_file_of_before_there_was_a_choice_is_used(tmp_path):
    breakpoint_file.save(str(tmp_path), "/a/train.py", KEPT)
    path = tmp_path / breakpoint_file.NAME
    content = json.loads(path.read_text())
    for row in content["breakpoints"]:
        del row["first_only"]
    path.write_text(json.dumps(content))
    assert [one.first_only for one in breakpoint_file.load(str(tmp_path), "train.py")] == [False, False]


# The file of the next run.

KEPT = [
    breakpoint_at(op_type="Log", slot=-1, condition="nan > 0", ignore=3, label="Kürzel\n"),
    breakpoint_at(path="train.py", line=7, enabled=False),
]


def test_the_file_gives_back_what_was_set(tmp_path):
    breakpoint_file.save(str(tmp_path), "/a/train.py", KEPT)
    assert breakpoint_file.load(str(tmp_path), "/b/train.py") == KEPT
    assert breakpoint_file.load(str(tmp_path), "other.py") == []
    assert os.listdir(tmp_path) == [breakpoint_file.NAME]


def test_no_file_is_no_breakpoint(tmp_path):
    assert breakpoint_file.load(str(tmp_path), "train.py") == []


def content(tmp_path):
    breakpoint_file.save(str(tmp_path), "train.py", KEPT)
    return json.loads((tmp_path / breakpoint_file.NAME).read_text("utf-8"))


def _without(row, name):
    return {key: value for key, value in row.items() if key != name}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: "not json",
        lambda file: [],
        lambda file: {**file, "more": 1},
        lambda file: _without(file, "script"),
        lambda file: {**file, "version": 2},
        lambda file: {**file, "version": True},
        lambda file: {**file, "breakpoints": {}},
        lambda file: {**file, "breakpoints": ["Log"]},
        lambda file: {**file, "breakpoints": file["breakpoints"] * 101},
        lambda file: {**file, "breakpoints": [{**file["breakpoints"][0], "condition": "open('x')"}]},
        lambda file: {**file, "breakpoints": [{**file["breakpoints"][0], "condition": 1}]},
        lambda file: {**file, "breakpoints": [{**file["breakpoints"][0], "ignore": 1 << 40}]},
        lambda file: {**file, "breakpoints": [{**file["breakpoints"][0], "ignore": -1}]},
        lambda file: {**file, "breakpoints": [{**file["breakpoints"][0], "enabled": 1}]},
        lambda file: {**file, "breakpoints": [{**file["breakpoints"][0], "where": {}}]},
        lambda file: {**file, "breakpoints": [{**file["breakpoints"][0], "label": "\ud800"}]},
        lambda file: {**file, "breakpoints": [_without(file["breakpoints"][0], "where")]},
    ],
)
def test_an_odd_file_is_not_used_at_all(tmp_path, spoil):
    spoiled = spoil(content(tmp_path))
    text = spoiled if isinstance(spoiled, str) else json.dumps(spoiled)
    (tmp_path / breakpoint_file.NAME).write_text(text, "utf-8")
    with pytest.raises(FormatError, match=breakpoint_file.NAME):
        breakpoint_file.load(str(tmp_path), "train.py")


@pytest.mark.parametrize("data", [b"", b"\xff\xfe", b"[" * 100_000, b" " * (2 << 20)])
def test_bytes_that_are_no_file_of_breakpoints_are_not_used(tmp_path, data):
    (tmp_path / breakpoint_file.NAME).write_bytes(data)
    with pytest.raises(FormatError):
        breakpoint_file.load(str(tmp_path), "train.py")


@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "another user's"])
def test_what_is_no_regular_file_of_this_user_is_not_used_and_never_waited_for(tmp_path, monkeypatch, kind):
    path = tmp_path / breakpoint_file.NAME
    breakpoint_file.save(str(tmp_path), "train.py", KEPT)
    if kind == "another user's":
        monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    else:
        path.rename(tmp_path / "elsewhere")
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif kind == "folder":
        path.mkdir()
    with pytest.raises(FormatError, match=breakpoint_file.NAME):
        breakpoint_file.load(str(tmp_path), "train.py")


@pytest.mark.parametrize("regex", ["(?=a)", r"(\w)\1", "(", "a{1000}{1000}"])
def test_a_kept_breakpoint_that_re2_refuses_is_off_with_the_reason(tmp_path, regex):
    kept = [breakpoint_at(name_regex=regex, slot=-1), breakpoint_at(op_type="Log", slot=-1)]
    breakpoint_file.save(str(tmp_path), "train.py", kept)
    breakpoints = known()
    for message in breakpoint_file.load(str(tmp_path), "train.py"):
        breakpoints.keep(message)
    refused, other = breakpoints.messages({}, has_gate=True)
    assert (refused.number, refused.enabled, refused.num_tensors) == (1, False, 0)
    assert refused.where.name_regex == regex and "is no regular expression of RE2" in refused.problem
    assert (other.number, other.enabled, other.num_tensors) == (2, True, 2)
    assert [rule.number for rule in breakpoints.rules({})] == [2] and breakpoints.isolated() == {1, 2}
    refused.enabled = True
    with pytest.raises(DebuggerError, match="is no regular expression"):
        breakpoints.set(refused)


def test_a_regular_expression_that_pythons_would_never_end_ends_at_once():
    breakpoints = known(LOG._replace(op_name="a" * 4000))
    breakpoints.set(breakpoint_at(name_regex=r"^(\w+/?)+!$", slot=-1))
    breakpoints.set(breakpoint_at(name_regex="(a*)*b", slot=-1))
    assert [one.num_tensors for one in breakpoints.messages({}, has_gate=True)] == [0, 0]


def test_without_re2_a_breakpoint_with_a_regular_expression_is_refused_and_others_work(monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)
    breakpoints = known()
    breakpoints.set(breakpoint_at(op_type="Log", slot=-1))
    with pytest.raises(DebuggerError, match="needs the package google-re2"):
        breakpoints.set(breakpoint_at(name_regex="Log", slot=-1))
    assert [one.num_tensors for one in breakpoints.messages({}, has_gate=True)] == [2]


def log_point(**given):
    message = breakpoint_at(**given)
    message.log_only = True
    return message


def test_a_log_point_gives_watch_ops_only_to_tensors_that_have_none():
    best = tensor_of_graph(4, "best", "ArgMax", is_recorded=False)
    compiled = LOG._replace(tensor_id=5, op_name="inner", is_compiled=True)
    breakpoints = known(LOG, best, compiled)
    breakpoints.set(log_point(function_regex="train"))
    assert breakpoints.has_log_points and breakpoints.isolated() == {4}
    (message,) = breakpoints.messages({}, has_gate=True)
    assert (message.num_tensors, message.problem) == (3, ""), "a compiled function stays compiled"


def test_a_program_has_a_bounded_number_of_log_points():
    breakpoints = known()
    for _ in range(MOST_LOG_POINTS):
        last = breakpoints.set(log_point(op_type="Log"))
    with pytest.raises(DebuggerError, match="at most 20 log points"):
        breakpoints.set(log_point(op_type="Log"))
    other = breakpoints.set(breakpoint_at(op_type="Log"))
    with pytest.raises(DebuggerError, match="at most 20 log points"):
        breakpoints.set(log_point(op_type="Log", number=other))
    breakpoints.set(log_point(op_type="Mul", number=last))


def test_the_file_keeps_that_a_breakpoint_is_a_log_point(tmp_path):
    breakpoint_file.save(str(tmp_path), "train.py", [log_point(op_type="Log"), breakpoint_at(op_type="Mul")])
    kept = breakpoint_file.load(str(tmp_path), "train.py")
    assert [one.log_only for one in kept] == [True, False]
    file = tmp_path / breakpoint_file.NAME
    content = json.loads(file.read_text())
    for row in content["breakpoints"]:
        del row["log_only"]
    file.write_text(json.dumps(content))
    assert not any(one.log_only for one in breakpoint_file.load(str(tmp_path), "train.py"))


def test_a_condition_on_the_step_gives_the_gate_a_rule_only_where_it_may_hold():
    breakpoints = known(LOG)
    number = breakpoints.set(breakpoint_at(op_type="Log", condition="step >= 2 and nan > 0"))
    assert breakpoints.rules({}) == []
    assert not breakpoints.at({"step": 1, "call": 1})
    assert breakpoints.at({"step": 2, "call": 2})
    (rule,) = breakpoints.rules({})
    assert (rule.tensor_ids, rule.only_bad, len(rule.condition)) == ({1}, True, 3)
    assert not breakpoints.at({"step": 3, "call": 3}), "the rule stays, so that the gate counts on"
    assert breakpoints.rules({number: 4})[0] is rule
    assert breakpoints.at({"step": 0, "call": 4}) and breakpoints.rules({number: 4}) == []
    assert breakpoints.get(number).hits == 4


def test_a_condition_of_calls_names_only_the_step_and_the_call():
    breakpoints = known()
    breakpoints.set(breakpoint_at(calls=True, condition="call >= 3"))
    for wrong in ("nan > 0", "step > nan", "any(value > 3)"):
        with pytest.raises(DebuggerError, match="names only the step and the call"):
            breakpoints.set(breakpoint_at(calls=True, condition=wrong))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("value[1, 0] > 5", True),
        ("value[0, 0] > 5", False),
        ("any(value > 6.5)", True),
        ("step >= 120 and any(value > 6.5)", False),
        ("step >= 5 and any(value > 6.5)", True),
        ("np.mean(value) > 3", True),
    ],
)
def test_a_condition_on_elements_is_an_expression_over_the_value(condition, expected):
    breakpoints = known(LOG)
    breakpoints.at({"step": 5, "call": 9})
    entry = breakpoints.get(breakpoints.set(breakpoint_at(op_type="Log", condition=condition)))
    assert entry.filter(None, np.float32([[1, 2], [6, 7]])) is expected
    assert entry.counts_here and breakpoints.rules({})[0].condition == ()


def test_a_condition_on_elements_that_cannot_be_computed_does_not_hold_and_says_why():
    breakpoints = known(LOG)
    number = breakpoints.set(breakpoint_at(op_type="Log", condition="value[3] > 5"))
    assert not breakpoints.get(number).filter(None, np.float32([1]))
    assert "out of bounds" in breakpoints.messages({}, has_gate=True)[0].problem
    number = breakpoints.set(breakpoint_at(op_type="Log", condition="value > 5"))
    assert not breakpoints.get(number).filter(None, np.float32([1, 9]))
    assert "write any(...)" in breakpoints.messages({}, has_gate=True)[1].problem
    number = breakpoints.set(breakpoint_at(op_type="Log", condition="value > `Mul:0`"))
    assert not breakpoints.get(number).filter(None, np.float32([1]))
    assert "only the tensor itself" in breakpoints.messages({}, has_gate=True)[2].problem
    with pytest.raises(DebuggerError):
        breakpoints.set(breakpoint_at(op_type="Log", condition="any(value >"))
