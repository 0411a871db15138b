"""`analysis/diagnosis/patterns.py`: situations that no small program shows, drawn op by op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tb_debugger_plugin.analysis.diagnosis.advising import advice_for, lines_of, pattern_of
from tb_debugger_plugin.analysis.diagnosis.around import Scene
from tb_debugger_plugin.analysis.diagnosis.causes import causes_of
from tb_debugger_plugin.analysis.diagnosis.constant_values import constant_numbers
from tb_debugger_plugin.analysis.diagnosis.evidence import Input
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers
from tb_debugger_plugin.analysis.diagnosis.op_types import plain_type
from tb_debugger_plugin.analysis.diagnosis.patterns import PATTERNS
from tb_debugger_plugin.analysis.diagnosis.phrases import plain_text
from tb_debugger_plugin.analysis.diagnosis.role import Role
from tb_debugger_plugin.analysis.diagnosis.sentences import Subject, explain_bad
from tb_debugger_plugin.analysis.diagnosis.surroundings import KnownOp, KnownSurroundings, Output

INF = float("inf")
BAD = Numbers.of_values("float32", [INF])


def op(op_type: str, *inputs: KnownOp, name: str = "op", **facts: object) -> KnownOp:
    """An op that takes the first output of each of some ops."""
    return KnownOp(op_type, name, inputs=[Output(each) for each in inputs], **facts)  # type: ignore[arg-type]


def constant(*values: float, name: str = "Const") -> KnownOp:
    return KnownOp("Const", name, outputs=[Numbers.of_values("float32", values)])


def found(explained: KnownOp, **around: object) -> str | None:
    pattern = pattern_of(Scene(KnownSurroundings(explained, **around), BAD))  # type: ignore[arg-type]
    return None if pattern is None else pattern.name


X = op("Placeholder", name="x")
MEAN = op("Mean", op("SquaredDifference", X, op("Mean", X)))
IDS = op("Placeholder", name="ids")


@pytest.mark.parametrize(
    "explained, name",
    [
        (op("RealDiv", X, op("Sqrt", MEAN)), "a division by a root without an epsilon"),
        (
            op("RealDiv", X, op("AddV2", op("Sqrt", X), constant(0.0))),
            "a division by a root without an epsilon",
        ),
        (op("RealDiv", X, op("AddV2", op("Sqrt", X), constant(1e-7))), None),
        (op("RealDiv", X, op("UnsortedSegmentSum", X, IDS)), "a division by the count of a mask"),
        (op("RealDiv", X, op("Sum", op("Mul", X, op("NotEqual", X)))), "a division by the count of a mask"),
        (op("RealDiv", X, op("Sum", op("Placeholder", name="Mask"))), "a division by the count of a mask"),
        (op("RealDiv", X, op("Sum", op("Placeholder", name="y"))), None),
        (op("RealDiv", X, constant(0.0)), "a division by a constant 0"),
        (
            op("Sqrt", op("Sub", op("Mean", op("Square", X)), op("Square", op("Mean", X)))),
            "a variance as the difference of two means",
        ),
        (op("Rsqrt", op("AddV2", MEAN, constant(0.0))), "the root of a variance, in a gradient"),
        (op("Rsqrt", op("AddV2", MEAN, constant(0.001))), None),
        (
            op("RealDiv", X, op("AddV2", op("Sqrt", X), constant(0.0)), name="adam/truediv"),
            "an optimizer that divides by a root without an epsilon",
        ),
        (op("Rsqrt", MEAN), "the root of a variance, in a gradient"),
        (op("Sqrt", op("Sum", op("Mul", X, X))), "a norm at 0"),
        (op("Log", op("Identity", op("Reshape", op("Softmax", X)))), "the log of a softmax"),
        (op("Log", op("StridedSlice", op("Softmax", X))), "the log of a softmax"),
        (op("Log", op("AddV2", op("Softmax", X), constant(1e-9))), "the log of a softmax"),
        (op("Log", op("Relu", X)), None),
        (op("Rsqrt", op("Cast", X, attributes={"SrcT": "int64"})), "the root of a whole number"),
        (op("Rsqrt", op("Cast", X, attributes={"SrcT": "float16"})), None),
        (op("Mul", X, op("Log", X)), "a logarithm times 0"),
        (op("Mul", X, constant(-INF)), "a mask that is multiplied by infinity"),
        (op("Mul", X, constant(-1.0)), None),
        (op("ResourceApplyAdam", X, constant(0.0, name="Adam/epsilon")), "an optimizer with an epsilon of 0"),
        (op("ResourceApplyAdam", X, constant(1e-7, name="Adam/epsilon")), None),
        (
            op("FusedBatchNormV3", X, attributes={"epsilon": "0.0"}),
            "a batch normalisation without an epsilon",
        ),
        (op("FusedBatchNormV3", X, attributes={"epsilon": "0.001"}), None),
        (op("Sum", X, attributes={"T": "float16"}), None),
        (op("L2Loss", X, name="global_norm/L2Loss"), "a norm over all gradients"),
        (op("Softmax", constant(-INF, -INF)), "a row that is masked as a whole"),
    ],
)
def test_a_situation_is_recognised_by_the_ops_around(explained: KnownOp, name: str | None) -> None:
    assert found(explained) == name


def test_an_argument_of_an_input_pipeline_is_data() -> None:
    around = KnownSurroundings(X)
    pattern = pattern_of(Scene(around, BAD, "__inference_Dataset_map_parse_7"))
    assert pattern is not None and pattern.name == "data of an input pipeline"
    assert pattern_of(Scene(around, BAD, "step")) is None


def test_a_sum_in_float16_is_recognised_by_its_dtype() -> None:
    half = Numbers.of_values("float16", [INF])
    pattern = pattern_of(Scene(KnownSurroundings(op("Sum", X)), half))
    assert pattern is not None and pattern.name == "a computation in float16"


@pytest.mark.parametrize(
    "magnitudes, name",
    [
        ([1.0, 30.0, 5e3, 1e12], "values that grew from step to step"),
        ([1.0, 2.0, 1.5, 2.0], None),
        ([1e12, 1e12, 1e12, 1e12], None),
        ([1.0, 1e12], "values that grew from step to step"),
        ([1.0, 1e5], None),
        ([], None),
    ],
)
def test_training_that_diverges_is_recognised_by_earlier_values(
    magnitudes: Sequence[float], name: str | None
) -> None:
    assert found(op("MatMul", X, X), histories={0: magnitudes}) == name


def test_the_gradient_of_an_unselected_branch_is_recognised_by_its_forward_op() -> None:
    select = KnownOp("SelectV2", "where")
    forward = op("Log", X, name="Log", consumers=[select])
    gradient = op("Reciprocal", X, name="gradient_tape/Reciprocal")
    expected = "a value that tf.where does not select, in the gradient"
    assert found(gradient, forward=forward) == expected
    assert found(gradient, forward=op("Log", X, name="Log")) is None


def test_the_gradient_of_a_maximum_is_no_where() -> None:
    inside = op("SelectV2", X, name="gradient_tape/SelectV2")
    limit = KnownOp("Maximum", "Maximum")
    forward = op("Pow", X, X, name="pow", consumers=[limit, inside])
    gradient = op("Pow", inside, X, name="gradient_tape/pow/Pow")
    expected = "a limit after a function with an edge, in the gradient"
    assert found(gradient, forward=forward) == expected
    assert found(gradient, forward=op("Pow", X, X, name="pow")) == "the gradient of a power at 0"


def test_what_only_passes_on_a_bad_value_gets_no_advice() -> None:
    nan = Numbers.of_values("float32", [float("nan")])
    causes = causes_of("Log", [Input("x", nan)], nan)
    assert advice_for(causes, nan, KnownSurroundings(op("Log", op("Softmax", X)))) is None


def test_without_surroundings_the_advice_is_that_of_the_cause() -> None:
    causes = causes_of("Log", [Input("x", Numbers.of_values("float32", [0.0]))], BAD)
    assert causes.proven == []
    minus = Numbers.of_values("float32", [-INF])
    causes = causes_of("Log", [Input("x", Numbers.of_values("float32", [0.0]))], minus)
    advice = advice_for(causes, minus, None)
    assert advice is not None and "Clip the argument of the log" in advice.words
    assert lines_of(None) == []


def test_what_comes_from_a_softmax_is_not_negative() -> None:
    finite = Input("p:0", Numbers("float32", bad=False))
    subject = Subject("Log", "Log", 0, None, Role(), Numbers(bad=True), [finite])
    unknown = plain_text(explain_bad(replace(subject, around=KnownSurroundings(op("Log", X)))).why)
    assert "negative" in unknown
    explanation = explain_bad(replace(subject, around=KnownSurroundings(op("Log", op("Softmax", X)))))
    assert plain_text(explanation.why) == "Its input was finite. Possible reason: the logarithm of 0 is −∞."
    assert explanation.certainty == "likely"


def test_an_op_in_a_circle_ends() -> None:
    inputs: list[Output] = []
    circle = KnownOp("Identity", "a", inputs=inputs)
    inputs.append(Output(circle))
    for explained in ("Log", "RealDiv", "Sqrt", "Softmax", "Mul", "Exp"):
        assert found(op(explained, circle, circle)) is None


def test_each_pattern_has_a_name_of_its_own() -> None:
    assert len({pattern.name for pattern in PATTERNS}) == len(PATTERNS)


@pytest.mark.parametrize(
    "text, numbers",
    [
        ("float32 []: 2.0", Numbers.of_values("float32", [2.0])),
        ("float32 [2]: -inf, 1e-07", Numbers.of_values("float32", [-INF, 1e-07])),
        ("float32 [0]: ", Numbers.of_values("float32", [])),
        ("float32 [9]: 0, 0, 0, 0, 0, 0, 0, 0, …", None),
        ("float32 [100]", None),
        ("string []: x", None),
        ("bool []: True", None),
        ("", None),
    ],
)
def test_a_constant_is_read_from_its_attribute(text: str, numbers: Numbers | None) -> None:
    assert constant_numbers(text) == numbers


@pytest.mark.parametrize(
    "op_type, plain",
    [
        ("_MklSoftmax", "Softmax"),
        ("_FusedMatMul", "MatMul"),
        ("_MklNativeFusedMatMul", "MatMul"),
        ("_FusedBatchNormEx", "FusedBatchNormV3"),
        ("_Arg", "_Arg"),
        ("FusedBatchNormV3", "FusedBatchNormV3"),
    ],
)
def test_an_op_of_a_library_counts_as_the_op_that_it_computes(op_type: str, plain: str) -> None:
    assert plain_type(op_type) == plain
