"""`reading/rules_of_recording.py`: rules asked of a recording that grows tell each broken rule once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.fileset import find_file_sets
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.index.cache import cache_folder
from tb_debugger_plugin.reading.rules_of_recording import BrokenRule, RulesOfRecording, check_rules
from tests.support.numerics import numerics, training

_RULE = "LargeGradientAlert:limit=10"


def rules_of(
    folder: Path, *texts: str, is_meant: Callable[[str, str | None], bool] = lambda op_type, name: False
) -> RulesOfRecording:
    (files,) = find_file_sets(folder)
    return RulesOfRecording(str(folder), files.prefix, texts, None, is_meant)


def asked(rules: RulesOfRecording) -> list[BrokenRule]:
    assert rules.read(60.0)
    return rules.ask()


def test_a_recording_that_grows_is_asked_about_what_is_new(tmp_path):
    before = set(cache_folder().glob("*.duckdb"))
    recording = training(tmp_path, [{"gradient_tape/MatMul": [1.0, -9.0]}])
    with recording, closing(rules_of(tmp_path, _RULE)) as rules:
        assert asked(rules) == []
        recording.trace("g1", "gradient_tape/MatMul", numerics([11.0, 0.0]))
        (broken,) = asked(rules)
        assert (broken.rule, broken.severity, broken.measured) == (
            *("LargeGradientAlert", "medium"),
            "magnitude 11",
        )
        assert (broken.op_type, broken.op_name, broken.slot) == ("MatMul", "gradient_tape/MatMul", 0)
        assert broken.line == "/home/me/train.py:2"
        assert broken.headline == (
            "Large gradient: magnitude 11 in gradient_tape/MatMul:0 (MatMul) for dense/kernel, train.py:2"
        )
        recording.trace("g1", "gradient_tape/MatMul", numerics([500.0, 0.0]))
        assert asked(rules) == []
        recording.trace("g1", "gradient_tape/out", numerics([12.0, 0.0]))
        assert [one.op_name for one in asked(rules)] == ["gradient_tape/out"]
        assert asked(rules) == []
    assert "The limit is 10." in str(broken)  # also after the end
    assert set(cache_folder().glob("*.duckdb")) <= before


def test_the_most_urgent_comes_first_and_bad_values_do_not_come(tmp_path):
    steps = [{"gradient_tape/MatMul": [11.0, 0.0], "x": [1e11], "Tanh": [float("nan"), 1.0]}]
    training(tmp_path, steps).close()
    with closing(rules_of(tmp_path, "ExplodingAlert", _RULE, "InfNanAlert")) as rules:
        assert [(one.rule, one.severity) for one in asked(rules)] == [
            ("ExplodingAlert", "high"),
            ("LargeGradientAlert", "medium"),
        ]
        assert rules.unanswered() == []


def test_what_is_meant_does_not_come(tmp_path):
    steps = [{"gradient_tape/MatMul": [11.0], "gradient_tape/out": [12.0], "x": [1e11], "Mul": [1e12]}]
    training(tmp_path, steps).close()
    (tmp_path / "tbdbg_allow.toml").write_text('[[allow]]\nop_name = "*/out"\nreason = "It is large."\n')
    asks = {"is_meant": lambda op_type, name: (op_type, name) == ("Mul", "Mul")}
    with closing(rules_of(tmp_path, _RULE, "ExplodingAlert", **asks)) as rules:
        assert sorted(str(one.op_name) for one in asked(rules)) == ["gradient_tape/MatMul", "x"]


def test_a_named_rule_that_has_nothing_to_be_asked_of_is_named(tmp_path):
    training(tmp_path, [{"x": [1.0]}]).close()
    with closing(rules_of(tmp_path, _RULE)) as rules:
        assert asked(rules) == []
        assert rules.unanswered() == ["LargeGradientAlert: No gradients of variables are on record."]


def test_the_file_sets_of_other_processes_are_not_asked(tmp_path):
    with training(tmp_path, [{"gradient_tape/MatMul": [11.0]}]), closing(rules_of(tmp_path, _RULE)) as rules:
        other = training(tmp_path / "other", [{"gradient_tape/out": [11.0]}]).close()
        for path in other.iterdir():
            path.rename(tmp_path / path.name.replace(".1000.", ".1001."))
        assert len(find_file_sets(tmp_path)) == 2
        assert [one.op_name for one in asked(rules)] == ["gradient_tape/MatMul"]


def test_a_mode_that_does_not_measure_a_named_rule_is_refused_and_of_a_set_it_is_named(tmp_path):
    shape, numbers = TensorDebugMode.SHAPE, TensorDebugMode.FULL_NUMERICS
    with pytest.raises(UsageError, match="needs tensor_debug_mode='FULL_NUMERICS', and it is 'SHAPE'"):
        check_rules(str(tmp_path), (_RULE,), None, shape)
    left_out = check_rules(str(tmp_path), ("all",), None, shape)
    assert "LargeGradientAlert" in left_out and "RetracingAlert" not in left_out
    assert "LargeGradientAlert" not in check_rules(str(tmp_path), ("recommended",), None, shape)
    assert check_rules(str(tmp_path / "none"), ("all", _RULE), None, numbers) == []
