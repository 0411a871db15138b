"""`capture/keep_values.py`: which tensors a rule chooses before they are computed."""

from __future__ import annotations

import pytest

from tb_debugger_plugin.capture.keep_values import KeepValues, TensorFacts

LOGITS = TensorFacts("MatMul", None, "dense/MatMul", "model/logits", ("__inference_step_7",))
EAGER = TensorFacts("MatMul", None)


@pytest.mark.parametrize(
    ("rule", "chosen"),
    [
        (KeepValues(), [True, True]),
        (KeepValues(op_regex="Mat"), [True, True]),
        (KeepValues(op_regex="Mul"), [False, False]),
        (KeepValues(name_regex="MatMul$"), [True, False]),
        (KeepValues(layer_regex="(^|/)logits$"), [True, False]),
        (KeepValues(function_regex="^step$"), [True, False]),
        (KeepValues(function_regex="other"), [False, False]),
        (KeepValues(op_regex="MatMul", layer_regex="softmax"), [False, False]),
        (KeepValues(name_regex="dense", layer_regex="logits"), [True, False]),
    ],
    ids=repr,
)
def test_a_rule_chooses_what_fulfils_all_of_its_criteria(rule: KeepValues, chosen: list[bool]) -> None:
    assert [rule.chooses(LOGITS), rule.chooses(EAGER)] == chosen
