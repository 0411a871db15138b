"""`analysis/origins/expected.py`: which bad values are expected, and which are findings."""

from __future__ import annotations

import math
import re

import pytest

from tb_debugger_plugin.analysis.origins.expected import EXPECTED
from tb_debugger_plugin.analysis.origins.origin import Origin
from tests.support.checkout import ROOT
from tests.unit.analysis.origins.test_origins import Program, ops_of

NAN, INF = math.nan, math.inf
_GUIDE = ROOT / "docs" / "guide" / "origins.md"


def test_the_guide_lists_exactly_the_rows_of_the_table() -> None:
    section = _GUIDE.read_text("utf-8").partition("### Expected")[2]
    rows = re.findall(r"^\| (?!bad value|--)(.*) \| `(.*)` \|$", section, re.MULTILINE)
    assert rows == [(row.words, row.example) for row in EXPECTED]


def _taken(program: Program, taker: str, value: float, *, at: int = 1, discrete: bool = False) -> Origin:
    """The origin of a value that Reciprocal or Sqrt made, after an op took it and gave a good value."""
    maker, given = ("Reciprocal", 0.0) if math.isinf(value) else ("Sqrt", -1.0)
    inputs = ["x", "x", "x"]
    inputs[at] = "made"
    of = " -> bool" if discrete else ""
    taken = f"taken: {taker}({', '.join(inputs)}){of}, Identity: Identity(taken){of}"
    program.graph(f"x: Placeholder, made: {maker}(x), {taken}")
    program.run(g_x=given, g_made=value)
    if not discrete:
        program.trace("g", "taken", 1.0)
    program.call("__inference_f_1", 1.0, "g", inputs=[7], ids=[8])
    (found,) = program.origins()
    assert found.op_name == "made"
    return found


@pytest.mark.parametrize(
    ("taker", "value"),
    [
        ("SelectV2", NAN),
        ("MulNoNan", NAN),
        ("DivNoNan", INF),
        ("Xlogy", NAN),
        ("Softmax", -INF),
        ("Exp", -INF),
        ("Minimum", INF),
        ("Maximum", -INF),
        ("Relu", -INF),
        ("GatherV2", NAN),
        ("StridedSlice", INF),
    ],
)
def test_what_the_table_allows_is_expected(program: Program, taker: str, value: float) -> None:
    found = _taken(program, taker, value)
    assert found.category == "expected"
    assert found.outcome is not None and found.outcome.startswith("It is expected: ")


@pytest.mark.parametrize(
    ("taker", "value", "said"),
    [
        ("Minimum", NAN, "Minimum: it made finite values of NaN."),
        ("Sigmoid", INF, "Sigmoid: it saturated at infinity."),
        ("Softmax", INF, "Softmax: it made finite values of infinity."),
        ("RealDiv", INF, "RealDiv: a division by infinity gives 0."),
        ("TopKV2", NAN, "TopKV2: what it chooses among NaN is arbitrary."),
    ],
)
def test_what_is_swallowed_in_any_other_way_is_a_finding(
    program: Program, taker: str, value: float, said: str
) -> None:
    found = _taken(program, taker, value)
    assert (found.category, found.outcome) == ("swallowed", f"No result shows it. {said}")
    assert found.explanation.endswith(said)


@pytest.mark.parametrize(
    ("taker", "value", "category"),
    [
        ("IsNan", NAN, "expected"),
        ("IsFinite", INF, "expected"),
        ("Less", INF, "expected"),
        ("ArgMax", -INF, "expected"),
        ("Less", NAN, "swallowed"),
        ("ArgMax", NAN, "swallowed"),
        ("Cast", NAN, "swallowed"),
        ("Cast", INF, "swallowed"),
    ],
)
def test_a_nan_that_decides_something_is_a_finding_and_an_infinity_that_is_compared_is_not(
    program: Program, taker: str, value: float, category: str
) -> None:
    assert _taken(program, taker, value, discrete=True).category == category


def test_a_tensor_that_is_compared_with_itself_is_asked_whether_it_is_nan(program: Program) -> None:
    program.graph(
        "x: Placeholder, sqrt: Sqrt(x), differs: NotEqual(sqrt, sqrt) -> bool, "
        "Identity: Identity(differs) -> bool"
    )
    assert ops_of(program.called(1.0, g_x=-1.0, g_sqrt=NAN)) == [("expected", "nan", "sqrt")]


def test_what_nothing_used_was_not_decided_by_a_comparison(program: Program) -> None:
    program.graph(
        "x: Placeholder, sqrt: Sqrt(x), unused: Less(sqrt, x) -> bool, kept: SelectV2(x, sqrt, x), "
        "Identity: Identity(kept)"
    )
    assert ops_of(program.called(1.0, g_x=-1.0, g_sqrt=NAN, g_kept=1.0)) == [("expected", "nan", "sqrt")]


def test_what_is_packed_into_a_data_set_is_not_swallowed_by_it(program: Program) -> None:
    program.graph(
        "x: Placeholder, sqrt: Sqrt(x), slices: TensorSliceDataset(sqrt) -> variant, "
        "Identity: Identity(slices) -> variant",
        name="__inference_Dataset_interleave_lambda_1",
    )
    program.run(g_x=-1.0, g_sqrt=NAN)
    assert [one.category for one in program.origins()] == ["expected"]


def test_one_way_that_the_table_does_not_allow_is_enough(program: Program) -> None:
    program.graph(
        "x: Placeholder, sqrt: Sqrt(x), kept: SelectV2(x, sqrt, x), level: Cast(sqrt) -> int32, "
        "Identity: Identity(kept), Identity_1: Identity(level) -> int32"
    )
    (found,) = program.called(1.0, g_x=-1.0, g_sqrt=NAN, g_kept=1.0)
    assert (found.category, found.op_name) == ("swallowed", "sqrt")
    assert found.outcome == "No result shows it. Cast: the integer of a NaN is undefined."


def test_an_output_that_is_not_on_record_is_no_evidence(program: Program) -> None:
    program.graph("x: Placeholder, sqrt: Sqrt(x), double: Mul(sqrt, x), Identity: Identity(double)")
    (found,) = program.called(1.0, g_x=-1.0, g_sqrt=NAN)
    assert (found.category, found.certainty) == ("swallowed", "possible")
    assert found.outcome is not None and "what it made of it is not on record" in found.outcome
    assert found.missing is not None and found.missing.startswith("Record what Mul made of it")


@pytest.mark.parametrize(
    ("turns", "decided"), [([1.0, NAN], "ended the loop"), ([NAN, 1.0], "decided whether the loop went on")]
)
def test_a_nan_that_the_condition_of_a_loop_compares_is_what_ended_it(
    program: Program, turns: list[float], decided: str
) -> None:
    program.graph(
        "v: Placeholder, sqrt: Sqrt(v), greater: Greater(sqrt, v) -> bool, all: All(greater) -> bool, "
        "Identity: Identity(all) -> bool",
        graph_id="c",
        name="while_cond_1",
        outer="g",
    )
    program.graph("v: Placeholder, Identity: Identity(v)", graph_id="b", name="while_body_2", outer="g")
    program.graph(
        "x: Placeholder, while: StatelessWhile(x), Identity: Identity(while)",
        more={"while": {"called_graph_ids": ["c", "b"]}},
    )
    program.run(g_x=1.0)
    for turn in turns:
        program.run(c_v=1.0, c_sqrt=turn, b_v=1.0)
    (found,) = program.called(1.0, g_while=1.0)
    assert (found.category, found.op_name) == ("swallowed", "sqrt")
    assert found.outcome == f"No result shows it. Greater: a comparison with NaN is false, which {decided}."


@pytest.mark.parametrize(
    ("runs", "category"), [(False, "expected"), (True, "swallowed")], ids=["does not run", "runs"]
)
def test_what_goes_into_a_branch_is_expected_if_the_branch_does_not_run(
    program: Program, runs: bool, category: str
) -> None:
    program.graph(
        "v: Placeholder, tanh: Tanh(v), Identity: Identity(tanh)", graph_id="t", name="cond_true_1", outer="g"
    )
    program.graph("v: Placeholder, Identity: Identity(v)", graph_id="e", name="cond_false_2", outer="g")
    program.graph(
        "x: Placeholder, is_good: Placeholder -> bool, divided: Reciprocal(x), "
        "cond: If(is_good, divided), Identity: Identity(cond)",
        more={"cond": {"called_graph_ids": ["t", "e"]}},
    )
    program.run(g_x=0.0, g_divided=INF)
    if runs:
        program.run(t_v=INF, t_tanh=1.0)
    (found,) = program.called(1.0, inputs=[1, 2], g_cond=1.0)
    assert (found.category, found.op_name) == (category, "divided")


@pytest.mark.parametrize(("taker", "category"), [("SelectV2", "expected"), ("Tanh", "swallowed")])
def test_eager_values_are_judged_by_the_same_table(program: Program, taker: str, category: str) -> None:
    program.call("Fill", -1.0, ids=[1])
    program.call("Sqrt", NAN, inputs=[1], ids=[2], stack=["f91"])
    program.call(taker, 1.0, inputs=[1, 2], ids=[5])
    assert ops_of(program.origins()) == [(category, "nan", "Sqrt")]


def test_a_nan_that_is_written_to_a_summary_reaches_the_user(program: Program) -> None:
    program.call("Fill", -1.0, ids=[1])
    program.call("Sqrt", NAN, inputs=[1], ids=[2], stack=["f91"])
    program.recording.execution("WriteSummary", [], inputs=[2])
    assert ops_of(program.origins()) == [("origin", "nan", "Sqrt")]


def test_an_infinity_that_python_assigned_comes_before_the_product_that_made_nan_of_it(
    program: Program,
) -> None:
    program.recording.execution("VarHandleOp", [], ids=[33])
    program.recording.execution("AssignVariableOp", [], inputs=[33, 5], stack=["f42"])
    program.graph(
        "x: Placeholder, v: Placeholder -> resource, read: ReadVariableOp(v), mul: Mul(x, read), "
        "Identity: Identity(mul)"
    )
    first = program.called(NAN, inputs=[7, 33], g_x=0.0, g_read=INF, g_mul=NAN)[0]
    assert (first.category, first.kind, first.op_type) == ("came_in", "inf", "AssignVariableOp")
    assert first.source is not None and first.source.line == 42


def test_curt_health_knows_that_a_root_makes_nan(curt: Program) -> None:
    curt.graph("x: Placeholder, sqrt: Sqrt(x), less: Less(sqrt, x) -> bool, Identity: Identity(less) -> bool")
    assert ops_of(curt.called(1.0, g_x=-1.0, g_sqrt=NAN)) == [("swallowed", "nan", "sqrt")]


def test_curt_health_takes_a_row_for_evidence_that_allows_one_of_the_kinds(curt: Program) -> None:
    curt.graph("x: Placeholder, log: Log(x), exp: Exp(log), Identity: Identity(exp)")
    assert ops_of(curt.called(1.0, g_x=0.0, g_log=-INF, g_exp=0.0)) == [("expected", "inf", "log")]
