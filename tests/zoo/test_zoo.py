"""`tests/zoo/programs`: the declared causes are true, and the harness tells right answers from wrong ones."""

from __future__ import annotations

import importlib.util
import tokenize
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

import tb_debugger_plugin
from tests.support import forked
from tests.zoo.answer import Answer, Edit, first_answer, is_right
from tests.zoo.edits import applied, first_difference, trial
from tests.zoo.oracle import disagreement
from tests.zoo.run import WAYS, outcome
from tests.zoo.truth import Cause, Program, all_programs, read_program

_PROGRAMS = all_programs()
_BUGGY = [
    program
    for program in _PROGRAMS
    if program.path.parent.name == "buggy" or program.arguments[1:] in (("nan",), ("inf",))
]
#: Without those that run otherwise op by op: the functions of a loaded model run as graphs, and TensorFlow
#: cannot save a data set whose functions run eagerly.
_SEEN = [
    program
    for program in _PROGRAMS
    if program.name != "saturated_in_a_saved_model" and program.arguments[:1] != ("saved",)
]
#: Checked each time: a gradient, a function of an input pipeline, a healthy program.
_SAMPLE = ("triplet_norm", "data_constant_column", "where_safe_forward")


@pytest.fixture(scope="module")
def server() -> Iterator[None]:
    for module in ("tensorflow", "keras", "sklearn"):  # not imported: the server does
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"the programs of the zoo need {module}")
    with forked.server():
        yield


def _named(name: str) -> Program:
    return next(program for program in _PROGRAMS if program.name == name)


def test_exactly_the_buggy_programs_declare_a_cause():
    assert [program for program in _PROGRAMS if program.cause] == _BUGGY


@pytest.mark.parametrize("program", _PROGRAMS, ids=lambda program: program.name)
def test_comments_stand_on_lines_with_code(program):
    with tokenize.open(program.path) as file:
        lines = dict(enumerate(file, 1))
    marked = program.meant | (program.cause.lines if program.cause else set())
    assert all(lines[line].partition("#")[0].strip() for line in marked)


def test_a_cause_that_cannot_be_read_is_refused(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("x = 1 / 0  # cause: the division\n")
    with pytest.raises(ValueError, match="has no cause of the form"):
        read_program(path)


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        (Answer("Log", "a.py", 3, "inf", "origin"), True),
        (Answer("Log", "a.py", 3, "inf", "swallowed"), True),
        (Answer("Exp", "a.py", 3, "inf", "origin"), False),
        (Answer("Log", "a.py", 4, "inf", "origin"), False),
        (Answer("Log", "b.py", 3, "inf", "origin"), False),
        (Answer("Log", "a.py", 3, "nan", "origin"), False),
        (Answer("Log", "a.py", 3, "inf", "came_in"), False),
        (None, False),
    ],
)
def test_an_answer_is_right_if_op_line_and_kind_are(answer, right):
    cause = Cause(frozenset({"inf"}), frozenset({"Log"}), frozenset({3}))
    assert is_right(answer, Program(Path("a.py"), cause, frozenset())) is right


class _Run(NamedTuple):
    """A run as far as the adapter looks at it."""

    entries: list[SimpleNamespace]

    def origins(self) -> list[SimpleNamespace]:
        return self.entries

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *_: object) -> None:
        return None


def _origin(category: str, **more: object) -> SimpleNamespace:
    source = SimpleNamespace(path="/home/user/a.py", line=3, function="f")
    facts: dict[str, object] = {"kind": "inf", "op_type": "Log", "source": source, "example": None}
    return SimpleNamespace(category=category, **facts | more)


def test_the_first_origin_that_is_not_expected_is_the_answer(monkeypatch):
    run = _Run([_origin("expected"), _origin("propagated"), _origin("came_in"), _origin("origin")])
    monkeypatch.setattr(tb_debugger_plugin, "open_run", lambda _: run)
    assert first_answer("logdir") == Answer("Log", "a.py", 3, "inf", "came_in")


def test_what_was_swallowed_is_an_answer_where_nothing_reaches_a_result(monkeypatch):
    run = _Run([_origin("propagated"), _origin("swallowed"), _origin("expected")])
    monkeypatch.setattr(tb_debugger_plugin, "open_run", lambda _: run)
    assert first_answer("logdir") == Answer("Log", "a.py", 3, "inf", "swallowed")


def test_a_healthy_run_has_nothing_but_what_is_expected(monkeypatch):
    monkeypatch.setattr(tb_debugger_plugin, "open_run", lambda _: _Run([_origin("expected")]))
    assert first_answer("logdir") is None


def test_a_kind_that_the_mode_does_not_tell_is_not_compared(monkeypatch):
    run = _Run([_origin("origin", kind_is_certain=False)])
    monkeypatch.setattr(tb_debugger_plugin, "open_run", lambda _: run)
    assert first_answer("logdir") == Answer("Log", "a.py", 3, "", "origin")


def test_the_edit_of_the_answer_is_one_that_changes_a_line(monkeypatch):
    offered = _origin("origin", example=SimpleNamespace(before="log(p)", after="log(q)"))
    like = _origin("origin", example=SimpleNamespace(before=None, after="log(q)"))
    for origin, edit in ((offered, Edit(3, "log(p)", "log(q)")), (like, None)):
        run = _Run([origin])
        monkeypatch.setattr(tb_debugger_plugin, "open_run", lambda _, run=run: run)
        assert first_answer("logdir").edit == edit


def test_an_edit_changes_the_line_that_was_named_else_the_first_that_has_it():
    text = "a = x / y\nb = x / y  # x / y\n# mended: x / y\n"
    assert applied(text, Edit(2, "x / y", "0")) == "a = x / y\nb = 0  # x / y\n# mended: x / y\n"
    assert applied(text, Edit(3, "x / y", "0")) == "a = 0\nb = x / y  # x / y\n# mended: x / y\n"
    assert applied(text, Edit(1, "x // y", "0")) is None


def test_the_mended_twin_has_the_declared_lines_and_as_many(tmp_path):
    path = tmp_path / "program.py"
    path.write_text("if x:\n    y = 1 / 0\n    # mended: z = 1\n    # mended: y = z\n")
    assert read_program(path).mended == "if x:\n\n    z = 1\n    y = z\n"
    path.write_text("y = 1\n")
    assert read_program(path).mended is None


@pytest.mark.parametrize("program", _PROGRAMS, ids=lambda program: program.name)
def test_each_mended_twin_is_python(program):
    if program.mended is not None:
        compile(program.mended, program.name, "exec")
        assert "# mended" not in program.mended


@pytest.mark.parametrize(
    ("found", "twin", "words"),
    [
        ([1.0, 2.0], [1.0, 2.0], ""),
        ([1.0, 2.001], [1.0, 2.0], ""),
        ([1.0, 0.0], [1.0, 2.0], "number 1 is 0, and 2 in the mended twin"),
        ([1.0, float("nan")], [1.0, 2.0], "number 1 is nan, and 2 in the mended twin"),
        ([float("nan")], [float("nan")], "the mended twin is not finite itself"),
        ([1.0], [1.0, 2.0], "1 numbers, and 2 of the mended twin"),
        ([], [], "the program shows no number: print one"),
    ],
)
def test_runs_are_compared_by_their_numbers(found, twin, words):
    assert first_difference(found, twin) == words


_DIVISION = "tf.cast(step, tf.float32) / tf.cast(self.steps, tf.float32)"


@pytest.mark.tensorflow
@pytest.mark.parametrize(
    ("name", "before", "after", "verdict"),
    [
        (
            "warm_up_of_zero_steps",
            _DIVISION,
            f"tf.math.divide_no_nan({_DIVISION.replace(' /', ',')})",
            "broken",
        ),
        ("float16_mask", "tf.cast(-1e9, tf.float16)", "tf.cast(-1e9, tf.float32)", "crashed"),
        ("float16_mask", "tf.cast(-1e9, tf.float16)", "tf.cast(-3e4, tf.float16)", "cured"),
        ("float16_mask", "tf.cast(-1e9, tf.int32)", "-1", "crashed"),
        ("predict_only", "tf.square", "tf.sqrt", "broken"),
    ],
)
def test_an_edit_is_judged_by_running_it(server, name, before, after, verdict):
    assert trial(_named(name), Edit(0, before, after)).verdict == verdict


def _evidence(made: int, *had: int) -> dict[str, object]:
    inputs = [{"name": "x:0", "health": {"pos_inf": count, "neg_inf": 0, "nan": 7}} for count in had]
    return {"output": {"pos_inf": 0, "neg_inf": made}, "inputs": inputs}


@pytest.mark.parametrize(
    ("evidence", "is_contradicted"),
    [
        (_evidence(1, 0), False),
        (_evidence(1, 1), True),
        (_evidence(2, 1), False),  # an op of one input may make more of them
        (_evidence(1, 0, 1), True),
        ({"output": None, "inputs": [{"name": "x:0", "health": None}]}, False),
    ],
)
def test_an_origin_whose_input_was_bad_before_is_not_right(monkeypatch, evidence, is_contradicted):
    run = _Run([_origin("came_in"), _origin("origin", evidence=evidence)])
    monkeypatch.setattr(tb_debugger_plugin, "open_run", lambda _: run)
    answer = first_answer("logdir")
    assert answer is not None and answer.is_contradicted is is_contradicted
    cause = Cause(frozenset({"inf"}), frozenset(), frozenset({3}))
    assert is_right(answer, Program(Path("a.py"), cause, frozenset())) is not is_contradicted


def test_any_answer_for_a_healthy_program_is_wrong():
    healthy = Program(Path("a.py"), None, frozenset())
    assert is_right(None, healthy)
    assert not is_right(Answer("Log", "a.py", 3, "inf", "origin"), healthy)


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", _SAMPLE)
def test_a_declared_cause_is_true(server, name):
    assert forked.call(disagreement, _named(name)) == ""


@pytest.mark.tensorflow
def test_a_declared_cause_that_is_not_true_is_noticed(server):
    program = _named("triplet_norm")
    wrong = program._replace(cause=program.cause._replace(op_types=frozenset({"Log"})))
    assert forked.call(disagreement, wrong).startswith("Declared Log, inf, line")


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.parametrize("program", _SEEN, ids=lambda program: program.name)
def test_every_declared_cause_is_true(server, program):
    assert forked.call(disagreement, program) == ""


@pytest.mark.tensorflow
def test_a_program_is_recorded_and_its_cause_is_named(server, tmp_path):
    (tmp_path / "float16_cast-full").mkdir()
    (tmp_path / "float16_cast-full" / "of an earlier time").write_text("")
    found = outcome(_named("float16_cast"), "full", tmp_path)
    assert (found.failure, found.is_right) == ("", True), found.answer
    assert not (tmp_path / "float16_cast-full" / "of an earlier time").exists()
    assert set(WAYS) == {"full", "concise", "curt", "ring", "numerics", "guard"}


@pytest.mark.long
@pytest.mark.tensorflow
@pytest.mark.parametrize("program", [each for each in _PROGRAMS if each.mended], ids=lambda each: each.name)
def test_no_edit_that_is_offered_breaks_its_program(server, tmp_path, program):
    tried = outcome(program, "full", tmp_path, tries_edit=True).trial
    assert tried is None or tried.verdict == "cured", tried


@pytest.mark.tensorflow
def test_a_program_that_raises_is_a_failure_with_its_error(server, tmp_path):
    path = tmp_path / "raises.py"
    path.write_text("raise RuntimeError('no such data')\n")
    found = outcome(Program(path, None, frozenset()), "full", tmp_path)
    assert "no such data" in found.failure and not found.is_right
