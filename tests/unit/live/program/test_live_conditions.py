"""`live/program/conditions.py`: what a condition means, and what is said of a text that is none."""

from __future__ import annotations

import math
import re

import pytest

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.gate_table import NUMBERS
from tb_debugger_plugin.live.program.conditions import MAX_TEXT, parse_condition
from tests.support.checkout import ROOT

BAD = dict(zip(NUMBERS, (10.0, 1.0, 0.0, 2.0, 3.0, 0.0, 4.0, -2.0, 8.0, 3.0, 4.0), strict=True))
GOOD = dict(zip(NUMBERS, (4.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 1.0, 2.0, 1.5, 0.25), strict=True))
EMPTY = {**dict.fromkeys(NUMBERS, 0.0), **dict.fromkeys(("min", "max", "mean", "var"), math.nan)}


def _presets(value: float) -> list[str]:
    """The ready-made conditions of the page, with a reference value."""
    page = (ROOT / "frontend" / "src" / "model" / "live" / "conditions.ts").read_text("utf-8")
    of_two = re.findall(r'^  \.\.\.compared\("([^"]*)"(?:, "([^"]*)")?\),$', page, re.MULTILINE)
    contained = re.findall(r'^  contains\(".*", "(.*)"\),$', page, re.MULTILINE)
    compared = [f"{text or title} {sign} {value}" for title, text in of_two for sign in "><"]
    return [f"{name} > 0" for name in contained] + compared


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nan > 0", True),
        ("nan", True),
        ("zero", False),
        ("inf == 1 and pinf == 0", True),
        ("bad == 3", True),
        ("std == 2", True),
        ("range > 9.5", True),
        ("max - min > 10", False),
        ("-2 <= min < 0 < max", True),
        ("0 < min < max", False),
        ("not nan", False),
        ("mean / zero > 1e300", True),
        ("size % 4 == 2 and -size % 3 == 2", True),
        ("size % zero > 0 or size % zero <= 0", False),
        ("abs(min) * 4 == max and sqrt(var) == 2", True),
        ("(mean > 3 or inf > 0) and size > 9", True),
        ("+mean == 3 != - mean", True),
        ("", True),
    ],
)
def test_a_condition_holds_or_not(text, expected):
    assert parse_condition(text).holds(BAD) is expected


def test_no_comparison_with_the_numbers_of_an_empty_tensor_holds():
    for condition in _presets(0):
        assert not parse_condition(condition).holds(EMPTY)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nan > 0", True),
        ("bad", True),
        ("inf > 0 and mean > 3", True),
        ("inf or nan", True),
        ("nan == 0", False),
        ("nan > 0 or mean > 3", False),
        ("not nan", False),
        ("nan * max > 0", False),
        ("max > 3", False),
        ("", False),
    ],
)
def test_conditions_that_only_bad_tensors_fulfil_are_known(text, expected):
    condition = parse_condition(text)
    assert condition.only_bad is expected
    if expected:
        assert not condition.holds(GOOD)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("NaN > 0", "no 'NaN': there is size"),
        ("mean", "compare it, such as mean > 0"),
        ("mean and nan", "compare it"),
        ("nan = 1", "Write == for equal"),
        ("nan >", "is no condition"),
        ("(nan > 0) + 1 > 0", "true or false, and a number is needed"),
        ("nan in [1]", "compares with"),
        ("nan > 'x'", "cannot have \"'x'\""),
        ("__import__('os')", "calls only abs"),
        ("nan.real > 0", "cannot have 'nan.real'"),
        ("abs(min, max) > 0", "of one number"),
        ("nan ** 2 > 0", "cannot have"),
        ("nan > 1" + "0" * 400, "too large"),
        ("-" * 400 + "nan > 0", "too long"),
        ("(" * 240 + "nan" + ")" * 240 + " > 0", "nested too deeply|is no condition"),
        ("nan > 0 or " * 40 + "nan > 0", "too long"),
        ("nan + (nan + (" * 20 + "nan" + "))" * 20 + " > 0", "too long"),
        ("1" * (MAX_TEXT + 1), "longer than"),
        ("True", "cannot have 'True'"),
        ("nan > 1j", "cannot have"),
        ("\0", "condition"),
    ],
)
def test_a_text_that_is_no_condition_gets_a_sentence(text, sentence):
    with pytest.raises(UsageError, match=sentence):
        parse_condition(text)


def test_the_thirteen_presets_of_the_page_are_conditions():
    assert len(_presets(-1.5)) == 13
    assert all(parse_condition(condition).steps for condition in _presets(-1.5))


@pytest.mark.parametrize(
    ("text", "step", "expected"),
    [
        ("step >= 120", 119, "never"),
        ("step >= 120", 120, "always"),
        ("step >= 120 and nan > 0", 3, "never"),
        ("step >= 120 and nan > 0", 121, "nan > 0"),
        ("nan > 0 or step == 7", 7, "always"),
        ("nan > 0 or step == 7", 8, "nan > 0"),
        ("nan > step and call < 1", 1, "nan > 1"),
        ("not step > 3 and max - min > 10", 2, "max - min > 10"),
        ("mean > step * 2 + 1", 2, "mean > 5"),
        ("nan > 0", 5, "nan > 0"),
    ],
)
def test_what_is_left_of_a_condition_at_a_step_is_a_condition_of_the_tensor(text, step, expected):
    left = parse_condition(text).at({"step": step, "call": 0})
    assert left.text == text
    if expected in ("always", "never"):
        assert (left.is_always, left.is_never) == (expected == "always", expected == "never")
        assert left.holds(BAD) is (expected == "always")
    else:
        plain = parse_condition(expected)
        assert (left.steps, left.only_bad) == (plain.steps, plain.only_bad)


def test_a_condition_on_the_step_does_not_hold_before_the_step_is_known():
    assert not parse_condition("step >= 0").holds(BAD)
    assert not parse_condition("step >= 0").reads_tensors and parse_condition("step > nan").reads_tensors
