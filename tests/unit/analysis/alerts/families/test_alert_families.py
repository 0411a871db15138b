"""`analysis/alerts/families`: what each rule finds, and what it leaves alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from tb_debugger_plugin.analysis.alerts.alert_rules import FAMILIES, RULES
from tb_debugger_plugin.analysis.alerts.findings import RuleVerdict, verdict
from tb_debugger_plugin.analysis.alerts.pages import explain_finding, findings_json
from tb_debugger_plugin.analysis.alerts.settings import make_settings
from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.support.events import Recording, full_health, small_program, snapshot_of
from tests.support.numerics import OPS, numerics, training

Steps = Sequence[Mapping[str, npt.ArrayLike]]
_KERNEL = np.array([[1.0, -2.0], [3.0, 0.5]])


def judged(folder: Path, rule_id: str, **values: object) -> tuple[RuleVerdict, list[Json], list[str]]:
    """The verdict of a rule on a recorded folder, its alerts, and the sentences of the first one."""
    with snapshot_of(folder) as snapshot:
        settings = make_settings([(rule_id, name, value) for name, value in values.items()])
        found = verdict(snapshot, settings, settings.rule(rule_id))
        alerts = findings_json(snapshot, found.findings)
        sentences = explain_finding(snapshot, found.findings[0]).sentences if alerts else []
        return found, alerts, sentences


def of_steps(folder: Path, rule_id: str, steps: Steps, **values: object) -> list[tuple[str, int, str]]:
    """The tensor, the number of values and the words of each alert."""
    training(folder, steps).close()
    _, alerts, sentences = judged(folder, rule_id, **values)
    assert bool(alerts) == bool(sentences)
    return [(alert["op_name"], alert["count"], alert["measured"]) for alert in alerts]


def test_a_gradient_that_grows_ten_times_in_ten_values_is_found_where_it_does(tmp_path):
    steps = [{"gradient_tape/MatMul": _KERNEL * 1.3**n, "Relu": _KERNEL * 2.0**n} for n in range(14)]
    # 1.3 ** 9 is 10.6: the tenth value is that much larger than the first, and each later one than another.
    assert of_steps(tmp_path, "GrowingAlert", steps) == [("gradient_tape/MatMul", 5, "norm × 10.6")]


def test_a_gradient_that_grows_slowly_or_is_small_does_not_grow(tmp_path):
    slow = [{"gradient_tape/MatMul": _KERNEL * 1.2**n} for n in range(14)]
    assert of_steps(tmp_path / "slow", "GrowingAlert", slow) == []
    small = [{"gradient_tape/MatMul": _KERNEL * 1e-9 * 2.0**n} for n in range(14)]
    assert of_steps(tmp_path / "small", "GrowingAlert", small) == []
    assert judged(tmp_path / "small", "GrowingAlert", above=1e-9)[1] != []


def test_a_gradient_vanishes_when_its_mean_magnitude_does(tmp_path):
    steps = [
        {"gradient_tape/MatMul": _KERNEL * scale, "Relu": _KERNEL * 1e-12} for scale in (1e-3, 1e-8, 1e-9)
    ]
    ((name, count, words),) = of_steps(tmp_path, "VanishingGradientAlert", steps)
    assert (name, count) == ("gradient_tape/MatMul", 2)
    # What is measured is an upper bound of the mean magnitude.
    bound = float(words.removeprefix("mean magnitude ≤ "))
    assert np.abs(_KERNEL * 1e-8).mean() <= bound <= 1e-7


def test_a_gradient_that_is_zero_has_not_vanished_but_is_all_zero(tmp_path):
    steps = [{"gradient_tape/MatMul": _KERNEL * 0, "x": _KERNEL * 0}]
    assert of_steps(tmp_path, "VanishingGradientAlert", steps) == []
    (found,) = judged(tmp_path, "AllZeroAlert")[1]
    assert (found["op_name"], found["measured"]) == ("gradient_tape/MatMul", "100 % zeros")


def test_the_limit_of_gradients_is_moved_without_recording_again(tmp_path):
    steps = [{"gradient_tape/MatMul": _KERNEL * n} for n in (1, 2, 3)]
    assert of_steps(tmp_path, "LargeGradientAlert", steps) == []
    counts = [judged(tmp_path, "LargeGradientAlert", limit=limit)[0].num_values for limit in (2, 5, 8, 10)]
    assert counts == [3, 2, 1, 0]


def test_a_relu_that_lets_almost_nothing_through_is_dying(tmp_path):
    alive, dying = np.zeros((10, 100)), np.zeros((10, 100))
    alive[:, 0], dying[0, :9] = 1, 1
    assert of_steps(tmp_path, "DeadReluAlert", [{"Relu": alive}, {"Relu": dying}]) == [
        ("Relu", 1, "99.1 % inactive")
    ]


@pytest.mark.parametrize(
    "inputs, words",
    [
        (np.full(100, 11.0), "100 % outside"),
        (np.linspace(-2000, 2000, 101), "about 99.4 % outside"),
        (np.linspace(-9.4, 9.4, 100), None),
        (np.linspace(-20, 20, 100), None),
    ],
)
def test_the_input_of_a_tanh_is_saturated_beyond_its_range(tmp_path, inputs, words):
    found = of_steps(tmp_path, "SaturatedTanhAlert", [{"MatMul": inputs}])
    assert [measured for _, _, measured in found] == ([words] if words else [])


def test_the_share_of_a_normal_input_outside_is_estimated_well(tmp_path):
    draw = np.random.default_rng(0).normal(3.0, 12.0, 20_000)
    exact = float(np.mean((draw < -9.5) | (draw > 9.5)))
    ((_, _, words),) = of_steps(tmp_path, "SaturatedTanhAlert", [{"MatMul": draw}], share=0.3)
    assert float(words.removeprefix("about ").removesuffix(" % outside")) / 100 == pytest.approx(
        exact, abs=0.01
    )


def test_a_sigmoid_has_a_range_of_its_own(tmp_path):
    steps = [{"MatMul": np.full(4, 12.0)}, {"MatMul": np.full(4, -24.0)}]
    assert of_steps(tmp_path, "SaturatedSigmoidAlert", steps) == [("MatMul", 1, "100 % outside")]


def test_matrices_that_start_with_other_variances_are_reported_once(tmp_path):
    steps = [{"read": _KERNEL, "read_2": _KERNEL * 5}, {"read": _KERNEL, "read_2": _KERNEL}]
    ((name, count, words),) = of_steps(tmp_path, "InitialisationAlert", steps)
    assert (name, count, words) == ("read", 1, "variances × 25")
    assert judged(tmp_path, "InitialisationAlert", ratio=26)[1] == []


def test_the_norm_of_an_update_is_compared_with_that_of_its_variable(tmp_path):
    steps = [{"read": _KERNEL, "Mul": _KERNEL * scale} for scale in (0.01, 0.2, 1e-5)]
    assert of_steps(tmp_path, "LargeUpdateAlert", steps) == [("Mul", 1, "update / variable 0.2")]
    assert [alert["measured"] for alert in judged(tmp_path, "SmallUpdateAlert")[1]] == [
        "update / variable 1e-05"
    ]


def test_the_update_of_a_process_is_compared_with_its_own_variable(tmp_path):
    for host, scale in (("worker0", 1.0), ("worker1", 1000.0)):
        steps = [{"read": _KERNEL * scale, "Mul": _KERNEL * scale * 0.01}] * 5
        training(tmp_path, steps, host=host).close()
    assert judged(tmp_path, "LargeUpdateAlert")[1] == []
    assert judged(tmp_path, "SmallUpdateAlert")[1] == []


def test_a_variable_that_was_never_trained_is_unchanged_after_three_values(tmp_path):
    steps = [
        {"read": _KERNEL * scale, "read_2": _KERNEL * n, "gradient_tape/MatMul": _KERNEL}
        for n, scale in enumerate((1, 2, 2 + 1e-6, 2, 3), 1)
    ]
    assert of_steps(tmp_path, "UnchangedAlert", steps) == [("read", 1, "equal 3 times")]
    assert judged(tmp_path, "UnchangedAlert", rtol=0, atol=0)[1] == []


def _reads_in_a_loop(folder: Path, scales: Sequence[float]) -> list[str]:
    """What is found unchanged where a loop reads a variable 5 times in each step; its value by step."""
    recording = Recording(folder, mode=TensorDebugMode.FULL_NUMERICS)
    recording.device(1)
    recording.graph("s", "step")
    recording.graph("b", "while_body_3", "s")
    recording.op("b", "read", "ReadVariableOp", ids=[1], variable="lstm/kernel", layer="lstm")
    recording.op("s", "while", "While", ids=[2], called_graph_ids=["b"])
    recording.op("s", "gradient_tape/MatMul", "MatMul", ids=[3], gradient_of=["lstm/kernel"])
    for scale in scales:
        for _ in range(5):
            recording.trace("b", "read", numerics(_KERNEL * scale))
        recording.trace("s", "gradient_tape/MatMul", numerics(_KERNEL))
        recording.execution("__inference_step_7", graph_id="s")
    recording.close()
    return [str(alert["op_name"]) for alert in judged(folder, "UnchangedAlert")[1]]


def test_what_a_loop_reads_again_in_one_step_has_not_stayed_unchanged(tmp_path):
    assert _reads_in_a_loop(tmp_path / "trained", [1, 2, 3, 4, 5]) == []
    assert _reads_in_a_loop(tmp_path / "forgotten", [1, 1, 1, 1, 1]) == ["read"]


def test_the_variance_of_any_tensor_has_the_limits_that_the_user_sets(tmp_path):
    assert of_steps(tmp_path, "VarianceAlert", [{"x": [1.0, 3.0]}, {"x": [1.0, 1.0]}]) == []
    assert judged(tmp_path, "VarianceAlert", above=0.5)[0].num_values == 1
    assert judged(tmp_path, "VarianceAlert", below=0.5)[0].num_values == 1


@pytest.mark.parametrize("largest, is_near", [(65504 / 3.9, True), (65504 / 4.1, False)])
def test_two_powers_of_two_below_the_largest_float16_are_too_few(tmp_path, largest, is_near):
    training(tmp_path, [{"x": [1.0, -largest]}], dtype=19).close()
    _, alerts, _ = judged(tmp_path, "OverflowHeadroomAlert")
    assert bool(alerts) == is_near


def test_a_float32_tensor_is_measured_against_the_dtype_that_the_user_names(tmp_path):
    training(tmp_path, [{"x": [1e5], "MatMul": [1e-6], "Relu": [1.0]}]).close()
    assert judged(tmp_path, "OverflowHeadroomAlert")[1] == []
    near = judged(tmp_path, "OverflowHeadroomAlert", dtype="float16")
    assert [(one["op_name"], one["measured"]) for one in near[1]] == [("x", "-0.6 bits of headroom")]
    assert "float16" in " ".join(near[2])
    assert [one["op_name"] for one in judged(tmp_path, "UnderflowAlert", dtype="float16")[1]] == ["MatMul"]
    assert judged(tmp_path, "UnderflowAlert", dtype="bfloat16")[1] == []


def _updates(folder: Path, ratios: Sequence[float], dtype: int) -> list[tuple[str, int, str, str]]:
    """What is found lost of updates that are so large beside their variable."""
    steps = [{"read": _KERNEL, "Mul": _KERNEL * ratio} for ratio in ratios]
    training(folder, steps, dtype=dtype).close()
    _, alerts, _ = judged(folder, "LostUpdateAlert")
    return [(one["op_name"], one["count"], one["measured"], one["severity"]) for one in alerts]


_BFLOAT16, _FLOAT32 = 14, 1


def test_an_update_is_lost_where_rounding_loses_it_in_most_steps(tmp_path):
    lost = [("Mul", 5, "update / variable 0.0015 in bfloat16", "medium")]
    assert _updates(tmp_path / "lost", [0.0015] * 5 + [0.01] * 4, _BFLOAT16) == lost
    ((_, _, measured, _),) = _updates(tmp_path / "float32", [1e-8] * 5, _FLOAT32)
    assert measured == "update / variable 1e-08 in float32"


@pytest.mark.parametrize(
    "ratios, dtype",
    [
        ([0.0015] * 5, _FLOAT32),
        ([0.0025] * 5, _BFLOAT16),
        ([0.01] * 5 + [0.0015] * 5, _BFLOAT16),
        ([0.0] * 5, _BFLOAT16),
    ],
    ids=["wide enough", "large enough", "the rate fell to 0 at the end", "no update"],
)
def test_an_update_that_changes_its_variable_is_not_lost(tmp_path, ratios, dtype):
    assert _updates(tmp_path, ratios, dtype) == []


def test_a_lost_update_is_explained_by_the_digits_of_its_dtype(tmp_path):
    _updates(tmp_path, [0.0015] * 5, _BFLOAT16)
    assert "A number of bfloat16 stays as it is when less than 0.002 of it is added" in " ".join(
        judged(tmp_path, "LostUpdateAlert")[2]
    )


def retraced_program(folder: Path, sizes: Sequence[int]) -> Recording:
    """A function that is traced for each size of its argument."""
    recording = Recording(folder)
    recording.source("/home/me/train.py", ["f(x)"])
    recording.frame("f1", 0, 1, "main")
    for number, size in enumerate(sizes):
        recording.graph(f"g{number}", "f")
        recording.op(f"g{number}", "x", "Placeholder", ids=[1], outputs=[(1, [size])])
        recording.execution(f"__inference_f_{number}", graph_id=f"g{number}", stack=["f1"])
        recording.execution(f"__inference_f_{number}", graph_id=f"g{number}", stack=["f1"])
    return recording


def test_a_function_that_is_traced_for_each_shape_is_reported_with_the_argument(tmp_path):
    retraced_program(tmp_path, range(1, 7)).close()
    _, (alert,), sentences = judged(tmp_path, "RetracingAlert")
    assert (alert["op_type"], alert["measured"], alert["execution_index"]) == (
        "__inference_f_5",
        "traced 6 times",
        10,
    )
    assert "Its argument x changed: float32[1], float32[2], float32[3], float32[4] …." in sentences


def test_a_function_that_is_traced_five_times_is_not_reported(tmp_path):
    retraced_program(tmp_path, [1] * 5).close()
    assert judged(tmp_path, "RetracingAlert")[1] == []


def test_a_python_value_is_blamed_when_no_tensor_changed(tmp_path):
    retraced_program(tmp_path, [3] * 6).close()
    assert "a Python value among its arguments changed" in " ".join(judged(tmp_path, "RetracingAlert")[2])


def test_a_tensor_of_another_size_has_changed_its_shape(tmp_path):
    steps = [
        {"x": [1.0] * 4, "Relu": [1.0]},
        {"x": [1.0] * 4, "Relu": [1.0]},
        {"x": [1.0] * 3, "Relu": [2.0]},
    ]
    assert of_steps(tmp_path, "ShapeChangeAlert", steps) == [("x", 1, "4 → 3 elements")]


def test_a_bad_tensor_is_critical_where_it_is_born_and_less_where_it_passes(small_run):
    _, alerts, _ = judged(small_run, "InfNanAlert")
    found = {(alert["op_name"] or alert["op_type"]): (alert["severity"], alert["count"]) for alert in alerts}
    assert found == {
        "Log": ("critical", 2),
        "mul": ("high", 2),  # its input had an infinity, and it made NaN of it
        "Mean": ("medium", 2),
        "__inference_loss_7": ("medium", 2),
    }


def test_an_eager_op_is_critical_unless_its_input_was_bad(tmp_path):
    recording = Recording(tmp_path)
    recording.execution("Log", [full_health([-math.inf])], ids=[1])
    recording.execution("Mul", [full_health([math.nan])], inputs=[1], ids=[2])
    found = [(alert["op_type"], alert["severity"]) for alert in judged(recording.close(), "InfNanAlert")[1]]
    assert found == [("Log", "critical"), ("Mul", "medium")]


def test_infinities_that_harm_nothing_are_low(tmp_path):
    recording = Recording(tmp_path)
    recording.graph("g1", "mask")
    recording.op("g1", "mask", "Const", ids=[1])
    recording.op("g1", "Add", "AddV2", ["mask:0"], ids=[2])
    recording.trace("g1", "mask", full_health([-math.inf]))
    recording.trace("g1", "Add", full_health([-math.inf]))
    found = [(alert["op_name"], alert["severity"]) for alert in judged(recording.close(), "InfNanAlert")[1]]
    assert found == [("mask", "low"), ("Add", "low")]


def test_eager_values_are_one_alert_for_each_op_and_line(tmp_path):
    recording = Recording(tmp_path, mode=TensorDebugMode.FULL_NUMERICS)
    recording.frame("f1", 0, 1, "main")
    recording.frame("f2", 0, 2, "main")
    for stack in ("f1", "f1", "f2"):
        recording.execution("Exp", [numerics([1e12])], ids=[1], stack=[stack])
    found = [
        (alert["execution_index"], alert["count"]) for alert in judged(recording.close(), "ExplodingAlert")[1]
    ]
    assert found == [(0, 2), (2, 1)]


def test_a_rule_says_which_mode_has_the_numbers_that_it_needs(tmp_path):
    training(tmp_path, [{"Relu": full_health([0.0, 0.0])}], mode=TensorDebugMode.FULL_HEALTH).close()
    found, _, _ = judged(tmp_path, "GrowingAlert")
    assert (found.missing, found.findings) == (
        "Needs FULL_NUMERICS: this run was recorded in FULL_HEALTH.",
        (),
    )
    assert judged(tmp_path, "DeadReluAlert")[0].num_values == 1


def test_a_rule_about_gradients_says_that_there_are_none(tmp_path):
    recording = small_program(tmp_path, steps=0, mode=TensorDebugMode.FULL_NUMERICS)
    recording.trace("g1", "x", numerics([1.0]))
    found, _, _ = judged(recording.close(), "VanishingGradientAlert")
    assert found.missing == "No gradients of variables are on record."
    assert not found.is_recommended


def test_rules_that_the_user_must_set_are_never_on_by_default(tmp_path):
    training(tmp_path, [{name: [1.0] for name, *_ in OPS}]).close()
    by_default = {rule.id for rule in RULES if judged(tmp_path, rule.id)[0].is_recommended}
    assert {rule.id for rule in RULES} - by_default == {
        "LargeGradientAlert",
        "VarianceAlert",
        "ShapeChangeAlert",
        # This one is off because no loop was trained here.
        "LostInLoopAlert",
    }


def test_each_rule_and_each_parameter_has_one_name():
    assert len({rule.id for rule in RULES}) == len(RULES) == sum(map(len, FAMILIES.values()))
    for rule in RULES:
        assert len({one.name for one in rule.parameters}) == len(rule.parameters)
        for one in rule.parameters:
            assert one.parse(rule.id, one.default) == one.default
            assert one.parse(rule.id, str(one.default)) == one.default


@pytest.mark.parametrize(
    "given, sentence",
    [
        (("GrowingAlert", "factor", "x"), "GrowingAlert.factor must be a number from 1.1 to 1e+06, not 'x'."),
        (("GrowingAlert", "factor", math.nan), "must be a number"),
        (("GrowingAlert", "steps", 2.5), "GrowingAlert.steps must be a whole number, but is 2.5."),
        (("GrowingAlert", "size", 1), "GrowingAlert has no parameter 'size'; it has: factor, steps, above."),
        (("GrowAlert", "size", 1), "There is no rule 'GrowAlert'; choose from InfNanAlert, "),
        (("UnderflowAlert", "dtype", "int8"), "UnderflowAlert.dtype must be one of own, float16, "),
    ],
)
def test_a_wrong_setting_is_refused_with_a_sentence(given, sentence):
    with pytest.raises(UsageError) as error:
        make_settings([given])
    assert sentence in str(error.value)


def _carries_back(
    folder: Path, steps: Sequence[Sequence[float]], losses: Sequence[float] = ()
) -> list[tuple[str, int, str, str]]:
    """What is found where a loop carried gradients of these magnitudes, at each turn of each step.

    Args:
      folder: The dump root.
      steps: The magnitudes.
      losses: The loss in each step; none = no loss is on record.
    """
    recording = Recording(folder, mode=TensorDebugMode.FULL_NUMERICS)
    recording.device(1)
    recording.graph("s", "step")
    for graph, part in (("b", "body"), ("c", "cond")):
        recording.graph(graph, f"gradient_tape_while_{part}_3", "s")
    for graph, name, kind, inputs in (
        *(("s", "x", "Placeholder", []), ("s", "gradient_tape/while", "While", ["x:0"])),
        *(("b", "carried", "Placeholder", []), ("b", "gradient_tape/while/AddN", "AddN", ["carried:0"])),
        *(("c", "given", "Placeholder", []), ("c", "Less", "Less", [])),
    ):
        recording.op(graph, name, kind, inputs, ids=[1])
    recording.op("s", "Mean", "Mean", ["x:0"], ids=[2], is_loss=True)
    for turns, loss in itertools.zip_longest(steps, losses):
        if loss is not None:
            recording.trace("s", "Mean", numerics(loss))
        for magnitude in turns:
            recording.trace("b", "carried", numerics(_KERNEL * magnitude))
        recording.execution("__inference_step_7", graph_id="s")
    recording.close()
    _, alerts, _ = judged(folder, "LostInLoopAlert")
    return [(one["op_name"], one["count"], one["measured"], one["severity"]) for one in alerts]


_FADING = [0.0, *(2.0**-n for n in range(30))]
_LASTING = [0.0, *(0.7**n for n in range(30))]


def test_a_gradient_that_vanishes_in_a_loop_is_found_at_the_turn_before_the_loop_ends(tmp_path):
    found = _carries_back(tmp_path, [_FADING, _LASTING, _FADING])
    assert found == [("carried", 2, f"× {2.0**-29:.3g} after 31 turns", "low")]


_LOST = f"× {2.0**-29:.3g} after 31 turns"
_STUCK = f"{_LOST}, and the loss does not fall"


@pytest.mark.parametrize(
    "losses, measured, severity",
    [
        ([1.386, 1.39, 1.38] * 34, f"{_STUCK} (1.386 → 1.386)", "medium"),
        ([1.0 + 0.01 * n for n in range(100)], f"{_STUCK} (1.095 → 1.895)", "medium"),
        ([1.386, 1.39, 1.38] * 30, _LOST, "low"),
        ([-1.0 - 0.001 * n for n in range(100)], _LOST, "low"),
    ],
    ids=["stays", "rises", "a few steps", "falls"],
)
def test_a_gradient_that_is_lost_matters_where_the_loss_does_not_fall(tmp_path, losses, measured, severity):
    found = _carries_back(tmp_path, [_FADING] * len(losses), losses)
    assert found == [("carried", len(losses), measured, severity)]


def test_a_lost_gradient_says_that_the_loss_falls_all_the_same(tmp_path):
    _carries_back(tmp_path, [_FADING] * 10, [1 / n for n in range(1, 11)])
    _, (alert,), _ = judged(tmp_path, "LostInLoopAlert")
    assert alert["remark"] == "The loss falls all the same, from 0.75 to 0.1056."


@pytest.mark.parametrize(
    "steps",
    [
        [_LASTING] * 3,
        [_FADING, _LASTING],
        [_FADING[:8], [*_FADING[:5], 1e-30, 1e-40]],
        [[0.0] * 30],
        [[1.0, *[1e-9] * 20, 1.0]],
    ],
    ids=["lasts", "in half of the steps", "few turns", "no gradient", "comes back"],
)
def test_a_gradient_that_reaches_the_first_element_of_a_sequence_is_not_lost(tmp_path, steps):
    assert _carries_back(tmp_path, steps) == []
