"""`live/program/conditions.py`: a condition in postfix notation holds when Python says so of its text."""

from __future__ import annotations

import math

from hypothesis import given, settings

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.live.program.conditions import parse_condition
from tests.support.conditions import PROGRAM, conditions, tensors


def _python(text: str, numbers: dict[str, float]) -> bool:
    names = dict(numbers)
    names["inf"] = names["ninf"] + names["pinf"]
    names["bad"] = names["inf"] + names["nan"]
    names["std"] = math.sqrt(names["var"]) if names["var"] >= 0 else math.nan
    names["range"] = names["max"] - names["min"]
    return bool(eval(text, {"__builtins__": {}}, names))  # the text is that of `conditions`


@settings(max_examples=400)
@given(conditions, tensors)
def test_a_condition_holds_when_python_says_so(text, numbers):
    try:
        condition = parse_condition(text).at(PROGRAM)
    except UsageError as error:
        assert "too long" in str(error)
        return
    assert condition.holds(numbers) is _python(text, {**numbers, **PROGRAM})
    if condition.only_bad:
        assert not condition.holds({**numbers, "ninf": 0.0, "pinf": 0.0, "nan": 0.0})
