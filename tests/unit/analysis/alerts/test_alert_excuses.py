"""`analysis/alerts/excuses.py`: healthy trainings have no alert above low, with those of `flows.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from tb_debugger_plugin.analysis.alerts.alert_rules import EXPLODING
from tb_debugger_plugin.analysis.alerts.alerts import alert_list
from tb_debugger_plugin.analysis.alerts.findings import verdict
from tb_debugger_plugin.analysis.alerts.pages import explain_finding, findings_json
from tb_debugger_plugin.analysis.alerts.settings import DEFAULTS, make_settings
from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.support.events import Recording, snapshot_of
from tests.support.numerics import numerics, training

_KERNEL = np.array([[1.0, -2.0], [3.0, 0.5]])
_FLOAT16, _INT64 = 19, 9

#: A step of a program: the value of some tensors, by name.
_Step = Mapping[str, npt.ArrayLike]


#: Severity and the first words of the remark, by op.
_Found = dict[str, tuple[str, str]]


class _Op(NamedTuple):
    """An op of a program of a test."""

    name: str
    type: str
    inputs: Sequence[str] = ()
    names: Mapping[str, object] = {}
    dtype: int = 1


def program(folder: Path, ops: Sequence[_Op], steps: Sequence[_Step]) -> None:
    """Records a function that ran some steps."""
    recording = Recording(folder, mode=TensorDebugMode.FULL_NUMERICS)
    recording.device(1)
    recording.graph("g1", "step")
    for number, op in enumerate(ops):
        recording.op("g1", op.name, op.type, op.inputs, ids=[number + 1], **op.names)
    dtypes = {op.name: op.dtype for op in ops}
    for step in steps:
        for name, value in step.items():
            recording.trace("g1", name, numerics(value, dtypes[name]))
    recording.close()


def found(folder: Path, rule_id: str, **values: object) -> _Found:
    """The severity of each alert of a rule and the first words of its remark, by its first tensor."""
    with snapshot_of(folder) as snapshot:
        settings = make_settings([(rule_id, name, value) for name, value in values.items()])
        findings = verdict(snapshot, settings, DEFAULTS.rule(rule_id)).findings
        alerts = findings_json(snapshot, findings)
        for one, finding in zip(alerts, findings, strict=True):
            assert (one["remark"] or "") in " ".join(explain_finding(snapshot, finding).sentences)
    return {one["op_name"]: (one["severity"], " ".join((one["remark"] or "").split()[:4])) for one in alerts}


def of_training(folder: Path, rule_id: str, steps: Sequence[_Step], **values: object) -> _Found:
    """What a rule finds in a training."""
    training(folder, steps).close()
    return found(folder, rule_id, **values)


_MASKED = (
    _Op("x", "Placeholder"),
    _Op("scores", "MatMul", ["x:0"]),
    _Op("lowest", "Const"),
    _Op("masked", "SelectV2", ["x:0", "scores:0", "lowest:0"]),
    _Op("copy", "Identity", ["masked:0"]),
)


def test_a_mask_is_not_exploding_and_the_values_beside_it_are(tmp_path):
    steps = [{"scores": [1.0, 2.0], "lowest": [-2e38], "masked": [-2e38, 2.0], "copy": [-2e38, 2.0]}] * 2
    program(tmp_path / "mask", _MASKED, steps)
    assert found(tmp_path / "mask", "ExplodingAlert") == {}
    large = [{"scores": [1e12, 2.0], "lowest": [-2e38], "masked": [-2e38, 2.0], "copy": [-2e38, 2.0]}]
    program(tmp_path / "large", _MASKED, large)
    assert found(tmp_path / "large", "ExplodingAlert") == {"scores": ("high", "")}
    for name, count in (("mask", 0), ("large", 1)):
        with snapshot_of(tmp_path / name) as snapshot:
            assert alert_list(snapshot, DEFAULTS).count(EXPLODING) == count


def test_what_is_larger_than_its_constant_explodes(tmp_path):
    ops = [_Op("c", "Const"), _Op("square", "Square", ["c:0"])]
    program(tmp_path, ops, [{"c": [1e12], "square": [1e24]}])
    assert found(tmp_path, "ExplodingAlert") == {"square": ("high", "")}


def test_the_scale_of_a_loss_does_not_explode_unless_it_grows(tmp_path):
    ops = [_Op("scale", "ReadVariableOp", names={"variable": "scale"}), _Op("scaled", "Mul", ["scale:0"])]
    falls = [{"scale": [scale], "scaled": [3 * scale]} for scale in (1e13, 1e12, 1e12)]
    program(tmp_path / "falls", ops, falls)
    assert found(tmp_path / "falls", "ExplodingAlert") == {}
    program(tmp_path / "grows", ops, falls[::-1])
    assert found(tmp_path / "grows", "ExplodingAlert") == {"scale": ("high", ""), "scaled": ("high", "")}


def test_integers_do_not_explode(tmp_path):
    program(tmp_path, [_Op("seed", "RandomUniformFullIntV2", dtype=_INT64)], [{"seed": [2.0**60]}])
    assert found(tmp_path, "ExplodingAlert") == {}


def test_a_mask_of_float16_leaves_headroom(tmp_path):
    ops = [op._replace(dtype=_FLOAT16) for op in _MASKED]
    program(tmp_path, ops, [{"scores": [1.0], "lowest": [-6e4], "masked": [-6e4, 1.0]}])
    assert found(tmp_path, "OverflowHeadroomAlert") == {}
    program(tmp_path / "near", ops, [{"scores": [6e4], "lowest": [-1.0]}])
    assert found(tmp_path / "near", "OverflowHeadroomAlert") == {"scores": ("medium", "")}


def test_neither_an_unusual_batch_nor_steps_of_one_length_are_growth(tmp_path):
    spike = [{"gradient_tape/MatMul": _KERNEL * scale} for scale in (*[0.1] * 12, 5.0, *[0.1] * 3)]
    assert of_training(tmp_path / "spike", "GrowingAlert", spike) == {}
    from_zero = [{"read": _KERNEL * 0.2 * n} for n in range(30)]
    assert of_training(tmp_path / "zero", "GrowingAlert", from_zero) == {}


def test_growth_that_came_down_again_is_low_and_growth_to_the_end_is_not(tmp_path):
    up = [{"gradient_tape/MatMul": _KERNEL * 0.1 * 1.5**n} for n in range(14)]
    assert of_training(tmp_path / "up", "GrowingAlert", up) == {"gradient_tape/MatMul": ("high", "")}
    down = [*up, *[{"gradient_tape/MatMul": _KERNEL * 0.5}] * 10]
    assert of_training(tmp_path / "down", "GrowingAlert", down) == {
        "gradient_tape/MatMul": ("low", "It came down again:")
    }
    bad = [*down, {"gradient_tape/MatMul": [np.nan]}]
    assert of_training(tmp_path / "bad", "GrowingAlert", bad) == {"gradient_tape/MatMul": ("high", "")}


_BIAS = (
    _Op("g", "Mul", names={}),
    _Op("gradient_tape/Sum", "BiasAddGrad", ["g:0"]),
    _Op("gradient_tape/Reshape", "Reshape", ["gradient_tape/Sum:0"], {"gradient_of": ["dense/bias"]}),
)


@pytest.mark.parametrize(
    "terms, severity", [(1e-3, ("low", "Its terms cancel out:")), (1e-9, ("medium", ""))]
)
def test_a_sum_whose_terms_cancel_out_has_not_vanished(tmp_path, terms, severity):
    total = [1e-9, -1e-9]
    step = {"g": [terms, -terms], "gradient_tape/Sum": total, "gradient_tape/Reshape": total}
    program(tmp_path, _BIAS, [step] * 5)
    assert found(tmp_path, "VanishingGradientAlert") == {"gradient_tape/Reshape": severity}


@pytest.mark.parametrize(
    "other, severity", [(1.0, ("medium", "")), (1e-3, ("low", "The model has converged:"))]
)
def test_a_gradient_that_falls_with_all_others_has_not_vanished(tmp_path, other, severity):
    steps = [
        {"gradient_tape/MatMul": _KERNEL * 0.4**n, "gradient_tape/out": _KERNEL * max(0.5**n, other)}
        for n in range(30)
    ]
    assert of_training(tmp_path, "VanishingGradientAlert", steps) == {"gradient_tape/MatMul": severity}


@pytest.mark.parametrize(
    "losses, severity",
    [([2.0, 1.0], ("low", "The model has converged:")), ([1.0, 2.0], ("medium", ""))],
    ids=["falls", "rises"],
)
def test_a_model_has_not_converged_whose_loss_rose(tmp_path, losses, severity):
    ops = (
        _Op("Mean", "Mean", names={"is_loss": True}),
        _Op("gradient_tape/MatMul", "MatMul", names={"gradient_of": ["dense/kernel"]}),
    )
    steps = [
        {"Mean": np.interp(n, [0, 29], losses), "gradient_tape/MatMul": _KERNEL * 0.4**n} for n in range(30)
    ]
    program(tmp_path, ops, steps)
    assert found(tmp_path, "VanishingGradientAlert") == {"gradient_tape/MatMul": severity}


def test_zeros_are_low_in_a_few_steps_and_not_if_they_last(tmp_path):
    def steps(*scales: float) -> list[_Step]:
        return [{"gradient_tape/MatMul": _KERNEL * scale} for scale in scales]

    few = steps(0, 0, 1, 1, 1, 1, 1, 1, 0, 1)
    assert of_training(tmp_path / "few", "AllZeroAlert", few) == {
        "gradient_tape/MatMul": ("low", "Only 3 of its")
    }
    lasting = steps(1, 1, 1, 1, 1, 1, 1, 0, 0, 0)
    assert of_training(tmp_path / "lasting", "AllZeroAlert", lasting) == {
        "gradient_tape/MatMul": ("medium", "")
    }


def test_zeros_that_follow_from_a_dead_relu_are_low_and_name_it(tmp_path):
    ops = (
        _Op("Relu", "Relu"),
        _Op("gradient_tape/ReluGrad", "ReluGrad", ["Relu:0"]),
        _Op(
            "gradient_tape/MatMul", "MatMul", ["gradient_tape/ReluGrad:0"], {"gradient_of": ["dense/kernel"]}
        ),
    )
    zeros = {op.name: [0.0, 0.0] for op in ops}
    program(tmp_path / "dead", ops, [zeros] * 5)
    assert found(tmp_path / "dead", "DeadReluAlert") == {"Relu": ("medium", "")}
    assert found(tmp_path / "dead", "AllZeroAlert") == {
        "gradient_tape/MatMul": ("low", "It follows from the")
    }
    # A net that dies has gradients that fall, too, but it has not converged.
    dies = [{name: _KERNEL * scale for name in zeros} for scale in (*[1.0] * 10, 0.005, *[0.0] * 12)]
    program(tmp_path / "dies", ops, dies)
    assert found(tmp_path / "dies", "AllZeroAlert") == {
        "gradient_tape/MatMul": ("low", "It follows from the")
    }
    program(tmp_path / "alive", ops, [{**zeros, "Relu": [1.0, 2.0]}] * 5)
    assert found(tmp_path / "alive", "AllZeroAlert") == {"gradient_tape/MatMul": ("medium", "")}


def test_a_variable_that_changed_before_is_low_and_one_that_never_did_is_not(tmp_path):
    gradient = {"gradient_tape/MatMul": _KERNEL}
    steps = [{"read": _KERNEL * scale, **gradient} for scale in (1, 1.1, 1.2, 1.2, 1.2, 1.2)]
    assert of_training(tmp_path / "late", "UnchangedAlert", steps) == {"read": ("low", "It changes in other")}
    steps = [{"read": _KERNEL, **gradient}] * 6
    assert of_training(tmp_path / "never", "UnchangedAlert", steps) == {"read": ("medium", "")}


def test_a_layer_that_is_frozen_in_this_graph_does_not_count_as_unchanged(tmp_path):
    recording = Recording(tmp_path, mode=TensorDebugMode.FULL_NUMERICS)
    recording.device(1)
    for graph, trained in (("g1", "dense/kernel"), ("g2", "out/kernel")):
        recording.graph(graph, "step")
        recording.op(graph, "read", "ReadVariableOp", ids=[1], variable="dense/kernel")
        recording.op(graph, "gradient_tape/MatMul", "MatMul", ["read:0"], ids=[2], gradient_of=[trained])
    for number in range(5):
        recording.trace("g1", "read", numerics(_KERNEL * (number + 1)))
        recording.trace("g2", "read", numerics(_KERNEL * 5))
    assert found(recording.close(), "UnchangedAlert") == {}


@pytest.mark.parametrize(
    "ratios, severity",
    [
        ([0.3] * 5 + [0.01] * 30, {"Mul": ("low", "So it is in")}),
        ([0.3] * 25 + [0.01] * 10, {"Mul": ("medium", "")}),
        ([1.5] + [0.01] * 30, {"Mul": ("medium", "")}),
        ([0.05] * 10, {}),
    ],
)
def test_an_optimizer_may_warm_up_and_not_replace_a_variable(tmp_path, ratios, severity):
    steps = [{"read": _KERNEL, "Mul": _KERNEL * ratio} for ratio in ratios]
    assert of_training(tmp_path, "LargeUpdateAlert", steps) == severity


def test_a_variable_that_starts_at_zero_is_measured_by_what_becomes_of_it(tmp_path):
    steps = [{"read": _KERNEL * 0.01 * n, "Mul": _KERNEL * 0.01} for n in range(100)]
    assert of_training(tmp_path / "long", "LargeUpdateAlert", steps) == {}
    assert of_training(tmp_path / "short", "LargeUpdateAlert", steps[:5]) == {}


def test_an_update_names_its_variable_and_layer(tmp_path):
    training(tmp_path, [{"read": _KERNEL, "Mul": _KERNEL * 2}]).close()
    with snapshot_of(tmp_path) as snapshot:
        findings = verdict(snapshot, DEFAULTS, DEFAULTS.rule("LargeUpdateAlert")).findings
        (alert,) = findings_json(snapshot, findings)
    assert (alert["op_name"], alert["variable"], alert["layer"]) == ("Mul", "dense/kernel", "dense")


def scaled(folder: Path, values: _Step, dtype: int) -> None:
    """Records a gradient that is divided by the scale of the loss, and another tensor."""
    recording = Recording(folder, mode=TensorDebugMode.FULL_NUMERICS)
    recording.device(1)
    recording.graph("g1", "step")
    recording.op("g1", "gradient_tape/MatMul", "MatMul", ids=[1], gradient_of=["dense/kernel"])
    recording.op("g1", "scale", "ReadVariableOp", ids=[2], outputs=[(1, [])])
    recording.op("g1", "unscaled", "RealDiv", ["gradient_tape/MatMul:0", "scale:0"], ids=[3])
    recording.op("g1", "MatMul", "MatMul", ids=[4])
    for name, value in values.items():
        recording.trace("g1", name, numerics(value, dtype))
    recording.close()


def test_gradients_of_a_scaled_loss_are_judged_without_the_scale(tmp_path):
    scaled(tmp_path, {"gradient_tape/MatMul": _KERNEL * 4096, "unscaled": _KERNEL * 0.25}, 1)
    assert found(tmp_path, "LargeGradientAlert") == {}
    assert found(tmp_path, "LargeGradientAlert", limit=0.5) == {"unscaled": ("medium", "")}


def test_scaled_gradients_may_come_near_the_largest_number(tmp_path):
    scaled(tmp_path, {"gradient_tape/MatMul": [6e4], "unscaled": [1.0], "MatMul": [6e4]}, _FLOAT16)
    assert found(tmp_path, "OverflowHeadroomAlert") == {
        "gradient_tape/MatMul": ("low", "Loss scaling takes gradients"),
        "MatMul": ("medium", ""),
    }


@pytest.mark.parametrize(
    "consumer, severity", [("BiasAdd", ("low", "It is added to")), ("MatMul", ("medium", ""))]
)
def test_a_small_term_of_a_large_sum_does_not_underflow(tmp_path, consumer, severity):
    ops = (_Op("bias", "Cast", dtype=_FLOAT16), _Op("out", consumer, ["bias:0"], dtype=_FLOAT16))
    program(tmp_path, ops, [{"bias": [1e-6], "out": [1.0]}] * 2)
    assert found(tmp_path, "UnderflowAlert") == {"bias": severity}


def test_the_tensors_of_a_layer_are_one_alert(tmp_path):
    ops = (
        _Op("read", "ReadVariableOp", names={"variable": "dense/kernel", "layer": "dense"}),
        _Op("read_2", "ReadVariableOp", names={"variable": "dense/bias", "layer": "dense"}),
        _Op("gradient_tape/a", "MatMul", names={"gradient_of": ["dense/kernel"]}),
        _Op("gradient_tape/b", "Sum", names={"gradient_of": ["dense/bias"]}),
        _Op("gradient_tape/c", "Sum", names={"gradient_of": ["free"]}),
    )
    gradients = [op.name for op in ops[2:]]
    program(tmp_path, ops, [{name: [0.0, 0.0] for name in gradients}] * 4)
    with snapshot_of(tmp_path) as snapshot:
        judged = verdict(snapshot, DEFAULTS, DEFAULTS.rule("AllZeroAlert"))
        together, alone = findings_json(snapshot, judged.findings)
    assert (together["num_tensors"], together["count"]) == (2, 8)
    assert together["tensors"] == ["gradient_tape/a:0", "gradient_tape/b:0"]
    assert (alone["op_name"], alone["num_tensors"], alone["tensors"]) == ("gradient_tape/c", 1, [])
    assert len(judged.findings) == 2
