"""`analysis/diagnosis`: the sentences, and the values of a run that they are made from."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tb_debugger_plugin.analysis.diagnosis.evidence import Input
from tb_debugger_plugin.analysis.diagnosis.numbers import BAD_KINDS, KINDS, Numbers
from tb_debugger_plugin.analysis.diagnosis.phrases import plain_text
from tb_debugger_plugin.analysis.diagnosis.sentences import ModelRole, Subject, ValueExplanation, explain_bad
from tb_debugger_plugin.analysis.diagnosis.surroundings import facts_of
from tb_debugger_plugin.analysis.snapshot import Json
from tests.support.asking import Asker
from tests.support.events import Recording, full_health, small_program, snapshot_of

_RUN = {"run": "."}


def numbers(counts: dict[str, int], size: int | None = 1000) -> Numbers:
    """A tensor that was counted."""
    is_bad = any(counts.get(kind) for kind in BAD_KINDS)
    return Numbers("float32", size, {kind: counts.get(kind, 0) for kind in KINDS}, bad=is_bad)


def given(name: str, size: int | None = 1000, **counts: int) -> Input:
    return Input(name, numbers(counts, size))


def blocks(text: str) -> list[str]:
    """Lines, each with the indented lines below it; those with a `#` at their beginning are comments."""
    return re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).strip())


def drawn(text: str) -> list[ParameterSet]:
    """Op type, output, inputs and the lines below, of ops such as `Log(x:0 zero=3, y:0 9) -> nan=1`.

    An arrow stands before the counts of the output. An input has counts, and perhaps its size; or is the name
    of one in `_INPUTS`. What is said of an op stands below it.
    """
    cases = []
    for block in blocks(text):
        op, *said = block.split("\n")
        op_type, inputs, output = re.findall(r"(\w+)\((.*)\) -> (.*)", op)[0]
        made = _OUTPUTS.get(output) or _counts(output.split())
        given = [_INPUTS.get(one) or _input(one) for one in inputs.split(", ") if one]
        cases.append(pytest.param(op_type, made, given, [line.strip() for line in said], id=op))
    return cases


def _input(text: str) -> Input:
    name, *counts = text.split()
    sizes = [int(one) for one in counts if one.isdecimal()]
    return given(name, *sizes, **_counts(one for one in counts if not one.isdecimal()))


def _counts(words: Iterable[str]) -> dict[str, int]:
    return {kind: int(count) for kind, count in (word.split("=") for word in words)}


CURT = Numbers(bad=True)
NOT_MEASURED = Input("x:0", Numbers())


def explained(
    op_type: str, output: Numbers | dict[str, int], inputs: Sequence[Input], **more: object
) -> ValueExplanation:
    measured = numbers(output) if isinstance(output, dict) else output
    subject = Subject(op_type, "scope/op", 0, "loss", ModelRole(), measured, inputs)
    return explain_bad(replace(subject, **more))


def why(op_type: str, output: Numbers | dict[str, int], inputs: Sequence[Input]) -> str:
    return plain_text(explained(op_type, output, inputs).why)


def test_the_answer_is_two_sentences_and_a_hint() -> None:
    probs = given("probs:0", zero=200, positive=800)
    explanation = explained("Log", {"neg_inf": 200, "negative": 800}, [probs], op_name="Log")
    assert plain_text(explanation.what) == (
        "Log (tensor Log:0 in function loss) produced 200 −∞ out of 1,000 values."
    )
    assert plain_text(explanation.why) == "Its input probs:0 held 200 zeros: the logarithm of 0 is −∞."
    assert "argument of the log" in explanation.help
    kinds = [(phrase.role, phrase.text) for phrase in explanation.what]
    assert kinds[0] == ("code", "Log") and ("number", "200 −∞") in kinds


@pytest.mark.parametrize(
    "op_type, changes, what",
    [
        (
            "Mean",
            {"output": numbers({"nan": 1}, 1), "function": None},
            "Mean (tensor scope/op:0) produced NaN, its only value.",
        ),
        (
            "__inference_f_3",
            {"output": numbers({"nan": 2}), "op_name": None},
            "f (run eagerly) produced 2 NaN out of 1,000 values.",
        ),
        ("Log", {}, "Log (tensor scope/op:0 in function loss) produced NaN or ∞."),
        (
            "Mul",
            {"role": ModelRole("dense", None, ["dense/kernel", "dense/bias"]), "function": None},
            "Mul, the gradient of dense/kernel and dense/bias, (tensor scope/op:0) produced NaN or ∞.",
        ),
        (
            "Mul",
            {"role": ModelRole("dense"), "op_name": "gradient_tape/m/Mul", "function": None},
            "Mul in the backward pass of layer dense (tensor gradient_tape/m/Mul:0) produced NaN or ∞.",
        ),
        (
            "ReadVariableOp",
            {"role": ModelRole("dense", "dense/kernel"), "function": "__inference_step_12"},
            "ReadVariableOp of the variable dense/kernel (tensor scope/op:0 in function step)"
            " produced NaN or ∞.",
        ),
    ],
)
def test_what_the_value_is(op_type: str, changes: dict[str, object], what: str) -> None:
    subject = Subject(op_type, "scope/op", 0, "loss", ModelRole(), CURT)
    assert plain_text(explain_bad(replace(subject, **changes)).what) == what


_FINITE, _ONE_ELEMENT = Numbers(bad=False), Numbers("float32", 1, {"nan": 0}, bad=False)
_OUTPUTS = {"bad": CURT, "unmeasured": Numbers("float32")}
_INPUTS = {
    "unmeasured": NOT_MEASURED,
    "finite": Input("x:0", _FINITE),
    "one element": Input("x:0", _ONE_ELEMENT),
    "axis": Input("axis:0"),
    "an int32": Input("axis:0", Numbers("int32")),
    "handle": Input("w:0", Numbers("resource")),
    "packed": Input("o:0", Numbers("variant")),
}

_WHY = """
Log(x:0 negative=3) -> nan=3
    Its input x:0 held 3 negative values: the logarithm of a negative number is NaN.
RealDiv(a:0 positive=9, b:0 zero=1) -> pos_inf=1
    Its input b:0 held 1 zero: x / 0 is infinite.
Rsqrt(v:0 zero=1) -> pos_inf=1
    Its input v:0 held 1 zero: 1 / √0 is infinite.
Sqrt(v:0 negative=1) -> nan=1
    Its input v:0 held 1 negative value: the root of a negative number is NaN.
Exp(z:0 positive=4) -> pos_inf=4
    Its input was finite. Its result is beyond the range of float32 (up to 3.4e+38).
MatMul(a:0 positive=4, b:0 positive=4) -> pos_inf=4
    Its inputs were all finite. Its result is beyond the range of float32 (up to 3.4e+38).
Mean(x:0 0) -> nan=1
    Its input x:0 held no value at all: the mean over nothing is NaN.
Placeholder() -> nan=1
    It is an argument: the caller of the function passed it in.
ReadVariableOp() -> nan=1
    The variable held it already: see the op that assigned it last.
# An input that was bad already comes before any property of the op.
Log(x:0 nan=1 zero=5) -> nan=1
    Its input x:0 already held 1 NaN.
Mul(y:0 zero=900, Log:0 neg_inf=200) -> nan=178 pos_inf=22
    Its input Log:0 already held 200 −∞ and its input y:0 held 900 zeros: 0 · ∞ is NaN.
Softmax(mask:0 neg_inf=10) -> nan=10
    Its input mask:0 already held 10 −∞: the softmax of a row of nothing but −∞ is NaN.
# Causes are possible where inputs were not measured, and only for the kind that came out.
Log(unmeasured) -> neg_inf=1
    Its input was not measured. Possible reason: the logarithm of 0 is −∞.
Mul(a:0 pos_inf=1, unmeasured) -> nan=1
    Its input a:0 already held 1 +∞. Possible reason: 0 · ∞ is NaN.
AddV2(a:0 positive=1, unmeasured) -> pos_inf=1
    Some of its inputs were not measured. Possible reason: its result is beyond the range of
    float32 (up to 3.4e+38).
Log(finite) -> bad
    Its input was finite. Possible reasons: the logarithm of 0 is −∞; the logarithm of a negative
    number is NaN.
Acos(finite) -> bad
    Its input was finite. Possible reason: it is defined only between −1 and 1.
MyOp(finite) -> bad
    Its input was finite.
_MklFusedMatMul(a:0 pos_inf=1, b:0 zero=1) -> nan=1
    Its input a:0 already held 1 +∞: 0 · ∞ and ∞ − ∞ are NaN.
Pow(x:0 negative=500 positive=500, y:0 1 positive=1) -> pos_inf=1000
    Its inputs were all finite. Its result is beyond the range of float32 (up to 3.4e+38).
Pow(x:0 negative=500 positive=500, y:0 1 positive=1) -> nan=500
    Its input x:0 held 500 negative values: a fractional power of a negative number is NaN.
RealDiv(a:0 zero=4 positive=996, b:0 zero=4 positive=996) -> nan=4
    Its input a:0 held 4 zeros and its input b:0 held 4 zeros: 0 / 0 is NaN.
RealDiv(a:0 zero=4 positive=996, b:0 zero=4 positive=996) -> pos_inf=4
    Its input b:0 held 4 zeros: x / 0 is infinite.
RealDiv(a:0 zero=4 positive=996, b:0 zero=4 positive=996) -> pos_inf=3 nan=1
    Its input b:0 held 4 zeros: x / 0 is infinite. Its input a:0 held 4 zeros and its input b:0 held
    4 zeros: 0 / 0 is NaN.
# Whole numbers are finite though nothing is measured of them; of an axis nothing need be known.
Cast(an int32) -> pos_inf=1
    Its input was finite. The values are beyond the range of float32 (up to 3.4e+38).
Sum(x:0 positive=9, axis) -> pos_inf=1
    Its result is beyond the range of float32 (up to 3.4e+38).
MyOp(x:0 positive=3) -> nan=1
    Its input was finite.
MyOp(unmeasured) -> nan=1
    Its input was not measured.
MyOp() -> nan=1
    MyOp has no input: it made the value itself.
AssignSubVariableOp(handle, x:0 positive=3) -> nan=1
    What was measured of its inputs was finite; what the variable held was not measured.
OptionalGetValue(packed) -> nan=1
    It was packed into an optional earlier.
MyOp(packed) -> nan=1
    Its input was not measured.
"""


@pytest.mark.parametrize("op_type, output, inputs, said", drawn(_WHY))
def test_why_it_is_bad(
    op_type: str, output: Numbers | dict[str, int], inputs: Sequence[Input], said: list[str]
) -> None:
    assert why(op_type, output, inputs) == " ".join(said)


#: How certain the answer is, and how the sentence begins that says what would decide.
_CERTAINTY = """
Log(x:0 zero=1) -> neg_inf=1
    proven
Log(x:0 nan=1) -> nan=1
    likely
Log(x:0 zero=3) -> neg_inf=2
    likely
    The recorded numbers of its input are of
Log(x:0 9 zero=3) -> neg_inf=3
    likely
    The recorded numbers of its input are
Sqrt(x:0 negative=3) -> nan=5
    likely
    The recorded numbers of its input are of
MyOp(x:0 positive=1) -> nan=1
    possible
Log(finite) -> bad
    possible
    Record with tensor_debug_mode="FULL_HEALTH" to know how many
AssignAddVariableOp(handle, finite) -> unmeasured
    possible
Log(unmeasured) -> nan=1
    likely
    The values of x:0 are not on record: watch it
Pow(one element, one element) -> nan=1
    likely
    Record with tensor_debug_mode="FULL_HEALTH" to know which inputs had zeros
"""


@pytest.mark.parametrize("op_type, output, inputs, said", drawn(_CERTAINTY))
def test_an_answer_says_how_certain_it_is_and_what_would_decide(
    op_type: str, output: Numbers | dict[str, int], inputs: Sequence[Input], said: list[str]
) -> None:
    certainty, *missing = said
    explanation = explained(op_type, output, inputs)
    assert explanation.certainty == certainty
    assert bool(explanation.missing) == bool(missing)
    assert (explanation.missing or "").startswith("".join(missing))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("counts_zeros", [True, False], ids=["FULL_HEALTH", "CONCISE_HEALTH"])
def test_a_complex_number_divided_by_zero_is_nan_for_a_reason(dtype: str, counts_zeros: bool) -> None:
    kinds = {kind: 0 for kind in (KINDS if counts_zeros else BAD_KINDS)}
    over = Input("a:0", Numbers(dtype, 1, kinds | ({"positive": 1} if counts_zeros else {}), bad=False))
    under = Input("b:0", Numbers(dtype, 1, kinds | ({"zero": 1} if counts_zeros else {}), bad=False))
    said = why("RealDiv", Numbers(dtype, 1, kinds | {"nan": 1}, bad=True), [over, under])
    assert "a complex number divided by 0 is NaN" in said
    assert said.startswith("Its input b:0 held 1 zero") == counts_zeros


#: Op, dtype, elements of its inputs and result, all of which are on record; and how the answer begins.
_RANGES = """
Exp float32 x:0 1 95.2 -> 2.7 inf
    Its input x:0 held values from 1 to 95.2: its result is beyond the range of float32 (up
# Nothing of this size overflows: the numbers on record are not those of this result.
Exp float32 x:0 1 -> inf
    Its input was finite.
Exp float16 x:0 12 -> inf
    Its input x:0 held the value 12:
Cast float16 x:0 7e4 -> inf
    Its input x:0 held the value 7e+04:
Cast float16 x:0 6e4 -> inf
    Its input was finite.
Cast float8_e4m3fn x:0 500 -> nan
    Its input x:0 held the value 500: float8_e4m3fn (up to 448) has no infinity
Pow float32 x:0 -1e30 1e30, y:0 2 -> inf inf
    Its input x:0 held values from -1e+30 to 1e+30 and its input y:0 held the value 2: its result
Pow float32 x:0 -2, y:0 2 -> nan
    Its inputs were all finite.
Acos float32 x:0 0.5 1.25 -> 0 nan
    Its input x:0 held values such as 1.25:
Acos float32 x:0 0.5 1 -> 0 nan
    Its input was finite.
Cholesky float32 k:0 1 2 -> nan
    Its input was finite. The matrix is not
"""


def _of_values(dtype: str, text: str) -> Numbers:
    return Numbers.of_values(dtype, [float(word) for word in text.split()])


@pytest.mark.parametrize(
    "op, begin", [case.split("\n    ") for case in blocks(_RANGES)], ids=lambda text: text.partition("\n")[0]
)
def test_where_ranges_are_on_record_arithmetic_decides(op: str, begin: str) -> None:
    op_type, dtype, given, output = re.findall(r"(\w+) (\w+) (.*) -> (.*)", op)[0]
    named = (one.partition(" ") for one in given.split(", "))
    inputs = [Input(name, _of_values("float32", text)) for name, _, text in named]
    answer = why(op_type, _of_values(dtype, output), inputs)
    assert answer.startswith(begin)
    assert answer == begin or not begin.endswith(".")


def test_a_sum_of_many_numbers_of_float16_overflows() -> None:
    many = Input("x:0", Numbers.of_values("float32", [300.0] * 300))
    answer = why("Sum", Numbers.of_values("float16", [math.inf]), [many])
    assert answer.startswith(
        "Its input x:0 held the value 300: its result is beyond the range of float16 (up to 65,504)"
    )


def _texts(diagnosis: Json) -> list[str]:
    return ["".join(phrase["text"] for phrase in diagnosis[name]) for name in ("what", "why", "where")]


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Asker]:
    with Asker(small_program(tmp_path).close()) as page:
        yield page


def test_the_first_cause_of_a_run_is_explained_with_its_line(page: Asker) -> None:
    diagnosis = page.json("/diagnosis", _RUN)["diagnosis"]
    assert diagnosis["headline"] == "Log in loss, train.py:3"
    assert _texts(diagnosis) == [
        "Log (tensor Log:0 in function loss) produced 1 −∞ out of 2 values.",
        "Its input x:0 held 1 zero: the logarithm of 0 is −∞.",
        "train.py:3 return tf.math.log(x)",
    ]
    (link,) = [phrase for phrase in diagnosis["where"] if phrase["role"] == "link"]
    assert link["target"] == {
        "graph_id": "g1",
        "op_name": "Log",
        "graph_execution_index": 1,
        "execution_index": None,
    }


def test_any_alert_execution_and_op_is_explained(page: Asker) -> None:
    def ask(**query: object) -> Json | None:
        found: Json | None = page.json("/diagnosis", {**_RUN, **query})["diagnosis"]
        return found

    assert _texts(ask(alert=1))[1] == (
        "Its input Log:0 already held 1 −∞ and its input x:0 held 1 zero: 0 · ∞ is NaN."
    )
    call = ask(execution=1)
    assert call == {**ask(alert=3), "index": None, "alert": None}
    assert _texts(call)[:2] == ["loss (run eagerly) produced NaN, its only value.", "Its input was finite."]
    assert call["where"][0]["target"]["execution_index"] == 1
    assert ask(execution=0) is None
    assert _texts(ask(graph_id="g1", op_name="Mean"))[1] == "Its input mul:0 already held 1 NaN."
    assert ask(graph_id="g1", op_name="Log", at=0)["headline"] == "Log in loss, train.py:3"
    assert ask(graph_id="g1", op_name="x") is None


@pytest.mark.parametrize(
    "query, status",
    [
        ({"alert": 99}, 400),
        ({"alert": -1}, 400),
        ({"execution": 99}, 400),
        ({"alert": 0, "execution": 0}, 400),
        ({"graph_id": "g1"}, 400),
        ({"graph_id": "g1", "op_name": "nope"}, 404),
        ({"graph_id": "g1", "op_name": "Log", "at": 99}, 400),
    ],
)
def test_what_cannot_be_explained_is_refused(page: Asker, query: dict[str, object], status: int) -> None:
    assert page.get("/diagnosis", {**_RUN, **query}).status_code == status


def test_a_run_without_alerts_has_no_diagnosis(tmp_path: Path) -> None:
    with Asker(small_program(tmp_path, steps=0).close()) as page:
        assert page.json("/diagnosis", _RUN) == {"diagnosis": None}
        assert page.json("/alerts", _RUN)["first_cause"] is None


def _diagnosed(recording: Recording, **query: object) -> Json:
    """The diagnosis of a recording, which is closed."""
    with Asker(recording.close()) as page:
        diagnosis: Json = page.json("/diagnosis", {**_RUN, **query})["diagnosis"]
        return diagnosis


def test_an_identity_has_the_numbers_of_what_it_returns(tmp_path: Path) -> None:
    recording = small_program(tmp_path, steps=0)
    recording.op("g1", "same", "Identity", ["x:0"], ids=[20])
    recording.op("g1", "again", "Identity", ["same:0"], ids=[21])
    recording.op("g1", "Log_1", "Log", ["again:0"], ids=[22], stack=["f1"])
    recording.trace("g1", "x", full_health([0.0, 1.0]))
    recording.trace("g1", "Log_1", full_health([-math.inf, 0.0]))
    assert _texts(_diagnosed(recording))[1] == "Its input again:0 held 1 zero: the logarithm of 0 is −∞."


def test_an_identity_that_returns_a_bad_value_is_explained(tmp_path: Path) -> None:
    recording = small_program(tmp_path, steps=0)
    recording.op("g1", "same", "Identity", ["Log:0"], ids=[20])
    recording.trace("g1", "Log", full_health([-math.inf, 0.0]))
    assert _texts(_diagnosed(recording, graph_id="g1", op_name="same"))[:2] == [
        "Identity (tensor same:0 in function loss) produced 1 −∞ out of 2 values.",
        "Its input Log:0 already held 1 −∞.",
    ]


def test_identities_in_a_circle_end(tmp_path: Path) -> None:
    recording = small_program(tmp_path, steps=0)
    recording.op("g1", "a", "Identity", ["b:0"], ids=[20])
    recording.op("g1", "b", "Identity", ["a:0"], ids=[21])
    recording.op("g1", "Log_1", "Log", ["a:0"], ids=[22])
    recording.trace("g1", "Log_1", full_health([-math.inf]))
    assert "not measured" in _texts(_diagnosed(recording))[1]


def test_a_gradient_leads_to_the_line_of_the_op_whose_gradient_it_is(tmp_path: Path) -> None:
    recording = small_program(tmp_path, steps=0)
    recording.frame("f3", 1, 1, "gradients")
    recording.op("g1", "Sqrt", "Sqrt", ["x:0"], ids=[20], stack=["f1"])
    recording.op("g1", "gradient_tape/Sqrt/SqrtGrad", "SqrtGrad", ["Sqrt:0", "x:0"], ids=[21], stack=["f3"])
    recording.trace("g1", "gradient_tape/Sqrt/SqrtGrad", full_health([math.inf]))
    diagnosis = _diagnosed(recording)
    assert _texts(diagnosis)[2] == "Part of the gradient of Sqrt. train.py:3 return tf.math.log(x)"
    links = [phrase["target"]["op_name"] for phrase in diagnosis["where"] if phrase["role"] == "link"]
    assert links == ["Sqrt", "Sqrt"]


@pytest.mark.parametrize(
    "name, op_type, trains",
    [
        ("Conv2DBackpropInput", "Conv2DBackpropInput", False),
        ("AssignVariableOp", "AssignVariableOp", False),
        ("gradient_tape/mul", "Mul", True),
        ("FusedBatchNormGradV3", "FusedBatchNormGradV3", True),
        ("sub", "AssignSubVariableOp", True),
        ("Adam/update", "ResourceApplyAdam", True),
    ],
)
def test_a_program_trains_if_it_has_a_gradient_or_a_step(
    tmp_path: Path, name: str, op_type: str, trains: bool
) -> None:
    recording = small_program(tmp_path)
    recording.op("g1", name, op_type, ["x:0"], ids=[14], stack=["f1"])
    recording.execution(op_type if trains and name == "sub" else "Fill", [full_health([1.0])], ids=[99])
    with snapshot_of(recording.close()) as snapshot:
        assert facts_of(snapshot, None).trains is trains


@pytest.mark.parametrize(
    "lines, is_mixed",
    [(["import keras", 'keras.mixed_precision.set_global_policy("mixed_float16")'], True), (["pass"], False)],
)
def test_the_program_is_known_by_its_own_files(tmp_path: Path, lines: list[str], is_mixed: bool) -> None:
    recording = small_program(tmp_path)
    recording.source("/home/me/model.py", lines)
    recording.source("/usr/lib/python3.11/site-packages/keras/policy.py", ["mixed_float16 = 1"])
    with snapshot_of(recording.close()) as snapshot:
        found = facts_of(snapshot, "/home/me/train.py")
    assert found.is_mixed is is_mixed
    assert found.text is not None and found.text.startswith("import tensorflow as tf\ndef loss(x):")
