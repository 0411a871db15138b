"""`analysis/diagnosis/causes.py`: situations that no small program shows, drawn op by op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from tb_debugger_plugin.analysis.diagnosis.advice import EMPTY, RANGE
from tb_debugger_plugin.analysis.diagnosis.around import Scene
from tb_debugger_plugin.analysis.diagnosis.causes import (
    PATTERNS,
    advice_for,
    causes_of,
    example_for,
    lines_of,
    pattern_of,
    plain_type,
    words_for,
)
from tb_debugger_plugin.analysis.diagnosis.evidence import Input
from tb_debugger_plugin.analysis.diagnosis.numbers import Numbers, constant_numbers
from tb_debugger_plugin.analysis.diagnosis.phrases import plain_text
from tb_debugger_plugin.analysis.diagnosis.rewriting import Example
from tb_debugger_plugin.analysis.diagnosis.sentences import ModelRole, Subject, explain_bad
from tb_debugger_plugin.analysis.diagnosis.surroundings import (
    KnownOp,
    KnownSurroundings,
    NearOutput,
    ProgramFacts,
)

INF = float("inf")
BAD = Numbers.of_values("float32", [INF])


class _Ops:
    """Makes ops: `op.Log(X)` is a logarithm of the first output of `X`; a number is a constant."""

    def __getattr__(self, op_type: str) -> Callable[..., KnownOp]:
        def make(*inputs: KnownOp | float, name: str = "op", **facts: object) -> KnownOp:
            ops = [each if isinstance(each, KnownOp) else constant(each) for each in inputs]
            return KnownOp(op_type, name, inputs=[NearOutput(each) for each in ops], **facts)  # type: ignore[arg-type]

        return make


op = _Ops()


def constant(*values: float, name: str = "Const") -> KnownOp:
    return KnownOp("Const", name, outputs=[Numbers.of_values("float32", values)])


def recognised(scene: Scene) -> str | None:
    pattern = pattern_of(scene)
    return None if pattern is None else pattern.name


def found(explained: KnownOp, output: Numbers = BAD, **around: object) -> str | None:
    return recognised(Scene(KnownSurroundings(explained, **around), output))  # type: ignore[arg-type]


_ZEROS = Numbers("float32", 4, {"zero": 4})
_ONES = Numbers("float32", 4, {"zero": 0})
_ONE = Numbers("float32", 1, {"zero": 1})
_LSE = "the log-sum-exp of a row of −∞"
_STEP = "the root of a step that is counted from 0"
X = op.Placeholder(name="x")
MEAN = op.Mean(op.SquaredDifference(X, op.Mean(X)))
IDS = op.Placeholder(name="ids")


@pytest.mark.parametrize(
    "explained, name",
    [
        (op.RealDiv(X, op.Sqrt(MEAN)), "a division by a root without an epsilon"),
        (op.RealDiv(X, op.AddV2(op.Sqrt(X), 0.0)), "a division by a root without an epsilon"),
        (op.RealDiv(X, op.AddV2(op.Sqrt(X), 1e-7)), None),
        (op.RealDiv(X, op.UnsortedSegmentSum(X, IDS)), "a division by the count of a mask"),
        (op.RealDiv(X, op.Sum(op.Mul(X, op.NotEqual(X)))), "a division by the count of a mask"),
        (op.RealDiv(X, op.Max(X)), None),
        (op.RealDiv(X, op.Sum(op.Placeholder(name="Mask"))), "a division by the count of a mask"),
        (op.RealDiv(X, op.Sum(op.Placeholder(name="y"))), None),
        (op.RealDiv(X, 0.0), "a division by a constant 0"),
        (
            op.Sqrt(op.Sub(op.Mean(op.Square(X)), op.Square(op.Mean(X)))),
            "a variance as the difference of two means",
        ),
        (op.Rsqrt(op.AddV2(MEAN, 0.0)), "the root of a variance, in a gradient"),
        (op.Rsqrt(op.AddV2(MEAN, 0.001)), None),
        (
            op.RealDiv(X, op.AddV2(op.Sqrt(X), 0.0), name="adam/truediv"),
            "an optimizer that divides by a root without an epsilon",
        ),
        (op.Rsqrt(MEAN), "the root of a variance, in a gradient"),
        (op.Sqrt(op.Sum(op.Mul(X, X))), "a norm at 0"),
        (op.Log(op.Identity(op.Reshape(op.Softmax(X)))), "the log of a softmax"),
        (op.Log(op.StridedSlice(op.Softmax(X))), "the log of a softmax"),
        (op.Log(op.AddV2(op.Softmax(X), 1e-9)), "the log of a softmax"),
        (op.Log(op.Relu(X)), None),
        (op.Rsqrt(op.Cast(X, attributes={"SrcT": "int64"})), "the root of a whole number"),
        (op.Rsqrt(op.Cast(X, attributes={"SrcT": "float16"})), None),
        (op.Mul(X, op.Log(X)), "a logarithm times 0"),
        (op.Mul(X, -INF), "a mask that is multiplied by infinity"),
        (op.Mul(X, -1.0), None),
        (op.ResourceApplyAdam(X, constant(0.0, name="Adam/epsilon")), "an optimizer with an epsilon of 0"),
        (op.ResourceApplyAdam(X, constant(1e-7, name="Adam/epsilon")), None),
        (op.FusedBatchNormV3(X, attributes={"epsilon": "0.0"}), "a batch normalisation without an epsilon"),
        (op.FusedBatchNormV3(X, attributes={"epsilon": "0.001"}), None),
        (op.Sum(X, attributes={"T": "float16"}), None),
        (op.L2Loss(X, name="global_norm/L2Loss"), "a norm over all gradients"),
        (op.Softmax(constant(-INF, -INF)), "a row that is masked as a whole"),
    ],
)
def test_a_situation_is_recognised_by_the_ops_around(explained: KnownOp, name: str | None) -> None:
    assert found(explained) == name


def test_an_argument_of_an_input_pipeline_is_data() -> None:
    around = KnownSurroundings(X)
    assert recognised(Scene(around, BAD, "__inference_Dataset_map_parse_7")) == "data of an input pipeline"
    assert recognised(Scene(around, BAD, "step")) is None


def test_a_sum_in_float16_is_recognised_by_its_dtype() -> None:
    assert found(op.Sum(X), Numbers.of_values("float16", [INF])) == "a computation in float16"


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
    assert found(op.MatMul(X, X), histories={0: magnitudes}) == name


@pytest.mark.parametrize(
    "before, output, given, name",
    [
        (3, BAD, 1.0, "an overflow after finite values"),
        (1, BAD, 1.0, None),
        (3, Numbers.of_values("float32", [float("nan")]), 1.0, None),
        (3, BAD, INF, None),
    ],
)
def test_an_overflow_after_finite_values_may_be_growth(
    before: int, output: Numbers, given: float, name: str | None
) -> None:
    around = KnownSurroundings(op.Square(given), finite_before=before)
    pattern = pattern_of(Scene(around, output))
    assert (None if pattern is None else pattern.name) == name
    if pattern is not None:
        predicting = replace(around, program=ProgramFacts(trains=False))
        assert "learning rate" in words_for(pattern.advice, Scene(around, output))
        assert "learning rate" not in words_for(pattern.advice, Scene(predicting, output))


def test_the_gradient_of_an_unselected_branch_is_recognised_by_its_forward_op() -> None:
    select = KnownOp("SelectV2", "where")
    forward = op.Log(X, name="Log", consumers=[select])
    gradient = op.Reciprocal(X, name="gradient_tape/Reciprocal")
    expected = "a value that tf.where does not select, in the gradient"
    assert found(gradient, forward=forward) == expected
    assert found(gradient, forward=op.Log(X, name="Log")) is None


def test_the_gradient_of_a_maximum_is_no_where() -> None:
    inside = op.SelectV2(X, name="gradient_tape/SelectV2")
    limit = KnownOp("Maximum", "Maximum")
    forward = op.Pow(X, X, name="pow", consumers=[limit, inside])
    gradient = op.Pow(inside, X, name="gradient_tape/pow/Pow")
    expected = "a limit after a function with an edge, in the gradient"
    assert found(gradient, forward=forward) == expected
    assert found(gradient, forward=op.Pow(X, X, name="pow")) == "the gradient of a power at 0"


HALF = op.Placeholder(name="half")
#: 0 / 0 in some elements, and no infinity.
NO_INFINITY = Numbers("float32", 4, {"nan": 1, "pos_inf": 0, "neg_inf": 0}, bad=True)
SHARES = op.Placeholder(name="x", outputs=[Numbers("float32", 4, {"negative": 0, "zero": 4})])
SIGNED = op.Placeholder(name="x", outputs=[Numbers("float32", 4, {"negative": 2, "positive": 2})])
MASK = op.Cast(op.NotEqual(X), name="mask")


def offered(explained: KnownOp, output: Numbers, line: str, **around: object) -> str | None:
    """The name of the situation if its change of a line is offered; None if there is no ready change."""
    changed = replace(explained, line=line)
    scene = Scene(KnownSurroundings(changed, **around), output)  # type: ignore[arg-type]
    pattern = pattern_of(scene)
    if pattern is None:
        return None
    example = example_for(pattern.advice, scene)
    return None if example is None or example.before is None else pattern.name


@pytest.mark.parametrize(
    "explained, name",
    [
        (op.RealDiv(op.Sum(op.Mul(X, MASK)), op.Sum(MASK)), "a mean of what a mask or a group selects"),
        (
            op.RealDiv(op.Sum(op.SelectV2(MASK, X, 0.0)), op.Sum(MASK)),
            "a mean of what a mask or a group selects",
        ),
        (
            op.RealDiv(op.SegmentSum(X, IDS), op.SegmentSum(MASK, IDS)),
            "a mean of what a mask or a group selects",
        ),
        (op.RealDiv(op.Sum(op.Mul(X, X)), op.Sum(MASK)), None),
        (op.RealDiv(op.SegmentSum(X, IDS), op.SegmentSum(MASK, X)), None),
        (op.RealDiv(SHARES, op.Sum(SHARES)), "a share of nothing"),
        (op.RealDiv(SHARES, op.AddV2(SHARES, 0.0)), "a share of nothing"),
        (op.RealDiv(SIGNED, op.Sum(SIGNED)), None),
        (op.RealDiv(X, op.Sum(X)), None),
        (op.RealDiv(op.Sub(X, op.Min(IDS)), op.Sub(op.Max(X), op.Min(X))), None),
        (op.RealDiv(op.Sub(X, X), op.Sub(op.Max(X), op.Min(X))), None),
        (op.RealDiv(op.Sin(X), op.Sin(X)), None),
        (op.RealDiv(op.Cast(X), op.Cast(X, attributes={"SrcT": "int64"})), None),
        (op.RealDiv(op.Sub(X, op.Mean(X)), op.Sqrt(MEAN)), "values that are divided by their deviation"),
        (op.RealDiv(X, op.Sqrt(MEAN)), None),
        (op.RealDiv(X, op.Sqrt(op.Sum(op.Square(X)))), "a vector that is divided by its norm"),
        (op.RealDiv(SIGNED, op.Sqrt(op.Sum(op.Square(X)))), None),
    ],
)
def test_a_division_is_changed_only_where_what_is_divided_is_0_as_well(
    explained: KnownOp, name: str | None
) -> None:
    assert offered(explained, NO_INFINITY, "y = a / b") == name


def test_a_scaling_to_the_range_is_changed_and_one_to_another_is_not() -> None:
    low = op.Min(X, name="low")
    scaled = op.RealDiv(op.Sub(X, low), op.Sub(op.Max(X), low))
    assert offered(scaled, NO_INFINITY, "y = a / b") == "a scaling to the range"
    infinite = Numbers("float32", 4, {"nan": 1, "pos_inf": 1, "neg_inf": 0}, bad=True)
    assert offered(scaled, infinite, "y = a / b") is None


def test_where_the_mode_does_not_count_infinities_no_division_is_changed() -> None:
    mean = op.RealDiv(op.Sum(op.Mul(X, MASK)), op.Sum(MASK))
    assert offered(mean, Numbers("float32", 4, bad=True), "y = a / b") is None


@pytest.mark.parametrize(
    "argument, name",
    [
        (op.Max(op.Softmax(X)), "the log of a probability"),
        (op.Sum(op.Mul(op.Softmax(X), op.OneHot(X))), "the log of a probability"),
        (op.Sum(op.Mul(op.Softmax(X), X)), None),
        (op.AddV2(op.Softmax(X), X), None),
        (op.Placeholder(name="probs"), "the log of a probability"),
        (op.Placeholder(name="prices"), None),
        (op.Mean(X, outputs=[Numbers("float32", 4, low=0.0, high=0.9)]), "the log of a probability"),
        (op.Mean(X, outputs=[Numbers("float32", 4, low=0.0, high=3.0)]), None),
        (op.Mean(X, outputs=[Numbers("float32", 4, low=-0.1, high=0.3)]), None),
    ],
)
def test_only_the_log_of_a_probability_is_clipped(argument: KnownOp, name: str | None) -> None:
    zero = Numbers("float32", 4, {"nan": 0, "neg_inf": 1, "pos_inf": 0}, bad=True)
    assert offered(op.Log(argument), zero, "y = tf.math.log(p)") == name


def test_a_log_of_a_negative_number_is_never_clipped() -> None:
    log = op.Log(op.Placeholder(name="probs"))
    assert offered(log, Numbers("float32", 4, {"nan": 1}, bad=True), "y = tf.math.log(p)") is None


@pytest.mark.parametrize(
    "explained, name",
    [
        (op.Log(op.Cast(op.AddV2(X, X), attributes={"SrcT": "uint8"})), "an integer that wrapped around"),
        (
            op.Sqrt(op.RealDiv(op.Cast(op.Sub(X, X), attributes={"SrcT": "int8"}), X)),
            "an integer that wrapped around",
        ),
        (op.Log(op.Cast(X, attributes={"SrcT": "uint8"})), None),
        (op.Log(op.Cast(op.Sub(X, X), attributes={"SrcT": "int32"})), None),
        (
            op.Sqrt(
                op.Cast(
                    op.Prod(X),
                    attributes={"SrcT": "int32"},
                    outputs=[Numbers("float32", 1, {"negative": 1})],
                ),
            ),
            "an integer that wrapped around",
        ),
        (op.Log(op.Sub(1.0, op.Maximum(op.Minimum(X, 1.0), 0.0))), "a limit that rounds to 1"),
        (op.Log(op.Sub(1.0, op.Minimum(X, 0.99))), None),
        (op.Log(op.AddV2(op.Exp(X), op.Exp(HALF))), "the log of exponentials that are added"),
        (op.Log(op.AddV2(op.Exp(X), 1.0)), None),
        (op.Log(op.Sum(op.Exp(X), name="ReduceLogSumExp/Sum"), name="ReduceLogSumExp/Log"), _LSE),
        (
            op.RealDiv(X, op.MatMul(op.Exp(X, outputs=[_ZEROS]), X, outputs=[_ZEROS])),
            "an exponential that is rounded to 0",
        ),
        (op.RealDiv(X, op.MatMul(op.Exp(X, outputs=[_ONES]), X, outputs=[_ZEROS])), None),
        (op.Rsqrt(op.Cast(X, attributes={"SrcT": "int64"}, outputs=[_ONE])), _STEP),
        (op.Cast(-1e9), "a mask that is too large for the dtype"),
        (op.Cast(X), None),
        (op.Acos(op.Sum(op.Mul(op.Rsqrt(X), X))), "a cosine or a tanh at the end of the range"),
        (op.Atanh(op.Tanh(X)), "a cosine or a tanh at the end of the range"),
        (op.Acos(X), None),
        (
            op.Sqrt(op.Sub(op.Sum(op.Square(X)), op.MatMul(X, X))),
            "a squared distance that is below 0 by round-off",
        ),
    ],
)
def test_the_deeper_cause_is_named_where_the_graph_shows_it(explained: KnownOp, name: str | None) -> None:
    assert found(explained) == name


def test_an_epsilon_that_float16_rounds_to_0_is_named() -> None:
    half = Numbers("float16", 4, bad=True)
    assert found(op.Rsqrt(op.AddV2(X, 0.0)), half) == "an epsilon that is 0 in float16"
    assert found(op.Log(op.Maximum(X, 0.0)), half) == "an epsilon that is 0 in float16"
    assert found(op.Log(op.Maximum(X, 1e-3)), half) is None
    divided = op.RealDiv(X, op.AddV2(op.Sqrt(X), 0.0), name="adam/truediv")
    assert found(divided, half) == "an optimizer whose epsilon is 0 in float16"
    update = op.ResourceApplyAdam(X, constant(0.0, name="Adam/epsilon"), attributes={"T": "float16"})
    assert found(update, Numbers(bad=True)) == "an optimizer whose epsilon is 0 in float16"
    single = Numbers("float32", 4, bad=True)
    assert found(divided, single) == "an optimizer that divides by a root without an epsilon"


def test_a_program_that_only_predicts_gets_no_advice_on_training() -> None:
    predicting = ProgramFacts(trains=False)
    grew = op.MatMul(X, X)
    around = KnownSurroundings(grew, histories={0: [1.0, 1e12]}, program=predicting)
    assert pattern_of(Scene(around, BAD)) is None
    words = words_for(RANGE, Scene(around, BAD))
    assert "learning rate" not in words and "scale of the inputs" in words
    assert "learning rate" in words_for(RANGE, Scene(KnownSurroundings(grew), BAD))


def test_mixed_precision_is_not_advised_to_a_program_that_trains_in_it() -> None:
    half = Numbers("float16", 4, bad=True)
    mixed = KnownSurroundings(op.Square(X), program=ProgramFacts(is_mixed=True))
    pattern = pattern_of(Scene(mixed, half))
    assert pattern is not None and "mixed_float16" not in pattern.advice.words
    pattern = pattern_of(Scene(KnownSurroundings(op.Square(X)), half))
    assert pattern is not None and "mixed_float16" in pattern.advice.words


def test_a_file_of_keras_gets_code_of_keras() -> None:
    keras = ProgramFacts(text="import keras\n")
    log = op.Log(op.Placeholder(name="probs"), line="y = keras.ops.log(p)")
    scene = Scene(KnownSurroundings(log, program=keras), Numbers("float32", 4, {"neg_inf": 1}, bad=True))
    pattern = pattern_of(scene)
    assert pattern is not None
    example = example_for(pattern.advice, scene)
    assert example == Example("keras.ops.log(p)", "keras.ops.log(keras.ops.maximum(p, 1e-37))")
    assert words_for(EMPTY, scene).endswith("with keras.ops.divide_no_nan.")


def test_what_only_passes_on_a_bad_value_gets_no_advice() -> None:
    nan = Numbers.of_values("float32", [float("nan")])
    causes = causes_of("Log", [Input("x", nan)], nan)
    assert advice_for(causes, nan, KnownSurroundings(op.Log(op.Softmax(X)))) is None


def test_without_surroundings_the_advice_is_that_of_the_cause() -> None:
    causes = causes_of("Log", [Input("x", Numbers.of_values("float32", [0.0]))], BAD)
    assert causes.proven == []
    minus = Numbers.of_values("float32", [-INF])
    causes = causes_of("Log", [Input("x", Numbers.of_values("float32", [0.0]))], minus)
    advice = advice_for(causes, minus, None)
    assert advice is not None and "what the logarithm shall be" in advice.words
    assert lines_of(None) == []


def test_what_comes_from_a_softmax_is_not_negative() -> None:
    finite = Input("p:0", Numbers("float32", bad=False))
    subject = Subject("Log", "Log", 0, None, ModelRole(), Numbers(bad=True), [finite])
    unknown = plain_text(explain_bad(replace(subject, around=KnownSurroundings(op.Log(X)))).why)
    assert "negative" in unknown
    explanation = explain_bad(replace(subject, around=KnownSurroundings(op.Log(op.Softmax(X)))))
    assert plain_text(explanation.why) == "Its input was finite. Possible reason: the logarithm of 0 is −∞."
    assert explanation.certainty == "likely"


def test_an_op_in_a_circle_ends() -> None:
    inputs: list[NearOutput] = []
    circle = KnownOp("Identity", "a", inputs=inputs)
    inputs.append(NearOutput(circle))
    for explained in ("Log", "RealDiv", "Sqrt", "Softmax", "Mul", "Exp"):
        assert found(getattr(op, explained)(circle, circle)) is None


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
