"""`analysis/origins`: made recordings, and where the bad values of each come from."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tb_debugger_plugin.analysis.origins.origin import Origin
from tb_debugger_plugin.analysis.origins.origins import origins
from tb_debugger_plugin.analysis.origins.traces import spans_after, spans_before
from tb_debugger_plugin.events.messages import TensorProto
from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.support.events import Recording, full_health, snapshot_of, vector

NAN, INF = math.nan, math.inf
#: The elements of a tensor.
Value = float | Sequence[float]
_OPS = re.compile(r"([^\s:,(]+): (\w+)(?:\(([^)]*)\))?(?: -> (\w+))?")
#: Dtype and shape of what an op gives that is no float.
_NO_FLOATS = {
    **{"bool": (10, [-1]), "int32": (3, [-1])},
    **{"string": (7, []), "resource": (20, []), "variant": (21, [])},
}


class Program:
    """Writes a program whose line of op `name` is the line on which the op was added."""

    def __init__(self, folder: Path, mode: TensorDebugMode = TensorDebugMode.FULL_HEALTH) -> None:
        self.folder = folder
        self.recording = Recording(folder, mode=mode)
        self.recording.source("/home/me/train.py", [f"line {line}" for line in range(1, 100)])
        for line in range(1, 100):
            self.recording.frame(f"f{line}", 0, line, "main")
        self.recording.device(1)
        self.lines: dict[str, int] = {}

    def graph(
        self,
        ops: str,
        *,
        graph_id: str = "g",
        name: str = "f",
        outer: str = "",
        more: Mapping[str, dict[str, object]] | None = None,
    ) -> None:
        """Writes a graph of ops such as `x: Placeholder, bad: IsNan(x) -> bool`; `more` has fields of ops."""
        self.recording.graph(graph_id, name, outer)
        for name_of_op, op_type, inputs, dtype in _OPS.findall(ops):
            line = self.lines[f"{graph_id}.{name_of_op}"] = len(self.lines) + 1
            fields = dict((more or {}).get(name_of_op, {}))
            static = fields.pop("outputs", [_NO_FLOATS.get(dtype, (1, [-1]))])
            called = fields.pop("called", [])
            stack = [] if called is None else [f"f{line}", *called]
            taken = [one if ":" in one else f"{one}:0" for one in inputs.split(", ") if one]
            ids = range(len(static))
            self.recording.op(
                graph_id, name_of_op, op_type, taken, ids=ids, stack=stack, outputs=static, **fields
            )

    def run(self, **values: Value) -> None:
        """Writes a trace of each op, named `graph_op`, in order."""
        for name, value in values.items():
            graph, _, op = name.partition("_")
            self.trace(graph, op, value)

    def trace(self, graph: str, op: str, value: Value) -> None:
        self.recording.trace(graph, op, self._summary(value))

    def call(self, name: str, value: Value, graph: str = "", **more: object) -> None:
        self.recording.execution(name, [self._summary(value)], graph_id=graph, **more)

    def called(self, result: Value, *, inputs: Sequence[int] = (7,), **values: Value) -> list[Origin]:
        """The origins, after a call of the graph `g` with these values of its ops, and this result."""
        self.run(**values)
        self.call("__inference_f_1", result, "g", inputs=inputs, ids=[8])
        return self.origins()

    def _summary(self, value: Value) -> TensorProto:
        if self.recording.mode == TensorDebugMode.CURT_HEALTH:
            return vector([0, float(not np.isfinite(value).all())])
        return full_health(value)

    def origins(self) -> list[Origin]:
        self.recording.close()
        with snapshot_of(self.folder) as snapshot:
            return origins(snapshot)


def ops_of(found: list[Origin]) -> list[tuple[str, str, str | None]]:
    return [(one.category, one.kind, one.op_name or one.op_type) for one in found]


def test_the_op_that_made_it_of_good_inputs_is_the_origin(small_run: Path) -> None:
    with snapshot_of(small_run) as snapshot:
        (origin,) = origins(snapshot)
    assert (origin.category, origin.kind, origin.op_type, origin.certainty) == (
        "origin",
        "inf",
        "Log",
        "proven",
    )
    assert origin.source is not None and (origin.source.line, origin.source.function) == (3, "loss")
    assert (origin.step, origin.execution_index, origin.graph_execution_index, origin.count) == (0, 1, 1, 2)
    assert [link.op_type for link in origin.chain] == ["__inference_loss_7", "Mean", "Mul", "Log"]
    assert [link.kind for link in origin.chain] == ["nan", "nan", "nan", "inf"]
    assert origin.explanation.endswith("Its input x:0 held 1 zero: the logarithm of 0 is −∞.")


def test_an_infinity_of_an_argument_is_meant_and_the_subtraction_is_the_origin(program: Program) -> None:
    program.graph("x: Placeholder, sub: Sub(x, x), out: Identity(sub)")
    found = program.called([NAN, 0], g_x=[INF, 1], g_sub=[NAN, 0])
    assert ops_of(found) == [("origin", "nan", "sub")]
    assert found[0].source is not None and found[0].source.line == program.lines["g.sub"]


def test_a_constant_keeps_its_slot_so_the_divisor_is_blamed(program: Program) -> None:
    program.recording.attributes(7, value="float32 []: 1.0")
    program.graph(
        "x: Placeholder, one: Const, quotient: RealDiv(one, x), out: Identity(quotient)",
        more={"one": {"attributes": 7, "outputs": [(1, [])]}},
    )
    (found,) = program.called([INF, 0.5], g_x=[0, 2], g_quotient=[INF, 0.5])
    assert (found.op_name, found.certainty) == ("quotient", "proven")
    assert "Its input x:0 held 1 zero" in found.explanation
    assert [one["name"] for one in found.evidence["inputs"]] == ["one:0", "x:0"]


def test_a_mask_before_a_softmax_that_gives_good_values_is_expected(program: Program) -> None:
    program.graph(
        "x: Placeholder, mask: Const, add: AddV2(x, mask), softmax: Softmax(add), out: Identity(softmax)"
    )
    found = program.called([1, 0], g_x=[1, 1], g_mask=[0, -INF], g_add=[1, -INF], g_softmax=[1, 0])
    assert ops_of(found) == [("expected", "inf", "mask")]


def test_a_softmax_of_nothing_but_a_mask_is_the_origin(program: Program) -> None:
    program.graph("mask: Const, softmax: Softmax(mask), out: Identity(softmax)")
    program.run(g_mask=[-INF, -INF], g_softmax=[NAN, NAN])
    program.call("__inference_f_1", [NAN, NAN], "g", ids=[8])
    assert ops_of(program.origins())[0] == ("origin", "nan", "softmax")


def test_a_weight_that_an_earlier_step_made_bad_leads_to_that_step(program: Program) -> None:
    program.graph(
        "x: Placeholder, w: Placeholder -> resource, read: ReadVariableOp(w), mul: Mul(x, read), "
        "sqrt: Sqrt(x), update: AssignSubVariableOp(w, sqrt), out: Identity(mul)",
        name="step",
        more={"w": {"variable": "w"}, "read": {"variable": "w"}, "update": {"outputs": [], "variable": "w"}},
    )
    for x, weight, root in ([4.0, 1.0, 2.0], [-1.0, -1.0, NAN], [4.0, NAN, 2.0]):
        program.run(g_x=x, g_read=weight, g_mul=x * weight, g_sqrt=root)
        program.call("__inference_step_1", x * weight, "g", inputs=[7, 3], ids=[8])
    (origin,) = program.origins()
    assert (origin.category, origin.op_name, origin.step) == ("origin", "sqrt", 1)
    assert [link.op_name for link in origin.chain] == ["update", "sqrt"]


def test_an_argument_leads_to_the_eager_op_that_made_it(program: Program) -> None:
    program.graph("x: Placeholder, neg: Neg(x), out: Identity(neg)")
    program.call("Fill", 0.0, ids=[1], stack=["f90"])
    program.call("Log", -INF, inputs=[1], ids=[2], stack=["f91"])
    program.run(g_x=-INF, g_neg=INF)
    program.call("__inference_f_1", INF, "g", inputs=[2], ids=[3], stack=["f92"])
    (origin,) = program.origins()
    assert (origin.category, origin.op_type, origin.execution_index) == ("origin", "Log", 1)
    assert origin.source is not None and origin.source.line == 91
    assert [link.relation for link in origin.chain] == ["input", "result", "argument"]


def test_a_loop_leads_to_the_turn_that_made_it(program: Program) -> None:
    program.graph("c: Placeholder", graph_id="c", name="while_cond_1", outer="g")
    program.graph(
        "v: Placeholder, sqrt: Sqrt(v), sub: Sub(sqrt, one), one: Const, out: Identity(sub)",
        graph_id="b",
        name="while_body_2",
        outer="g",
    )
    program.graph(
        "x: Placeholder, while: StatelessWhile(x), out: Identity(while)",
        more={"while": {"called_graph_ids": ["c", "b"]}},
    )
    program.run(g_x=1.0, b_v=1.0, b_one=1.5, b_sqrt=1.0, b_sub=-0.5)
    program.run(b_v=-0.5, b_one=1.5, b_sqrt=NAN, b_sub=NAN)
    (origin,) = program.called(NAN, b_v=NAN, b_one=1.5, b_sqrt=NAN, b_sub=NAN, g_while=NAN)
    assert (origin.op_name, origin.graph_execution_index, origin.count) == ("sqrt", 7, 2)
    assert "iteration" in [link.relation for link in origin.chain]


@pytest.mark.parametrize(
    ("scores", "powers", "made_by"),
    [([-INF, -INF], [0.0, 0.0], "source"), ([-INF, -900.0], [0.0, 0.0], "log")],
    ids=["of nothing but −∞", "of −∞ and of what is too small"],
)
def test_the_log_of_exponentials_of_minus_infinity_passes_it_on(
    program: Program, scores: list[float], powers: list[float], made_by: str
) -> None:
    program.graph(
        "x: Placeholder, source: Log(x), exp: Exp(source), sum: Sum(exp), log: Log(sum), out: Identity(log)"
    )
    assert ops_of(program.called(-INF, g_x=[0.0, 1.0], g_source=scores, g_exp=powers, g_sum=0.0, g_log=-INF))[
        0
    ] == ("origin", "inf", made_by)


def test_an_op_of_a_gradient_that_is_named_like_no_other_has_the_line_of_what_was_differentiated(
    program: Program,
) -> None:
    program.recording.source("/lib/site-packages/tensorflow/python/ops/linalg_grad.py", [])
    program.recording.frame("qr_grad", 1, 5, "_QrGrad")
    program.graph(
        "x: Placeholder, qr: Qr(x), other: Qr(x), "
        "gradient_tape/triangular_solve/MatrixTriangularSolve: MatrixTriangularSolve(qr:1, x)",
        more={
            "qr": {"outputs": [(1, [-1]), (1, [-1])]},
            "other": {"outputs": [(1, [-1]), (1, [-1])]},
            "gradient_tape/triangular_solve/MatrixTriangularSolve": {"called": ["qr_grad"]},
        },
    )
    program.run(g_x=[0.0, 1.0], g_qr=[0.0, 1.0])
    program.trace("g", "gradient_tape/triangular_solve/MatrixTriangularSolve", [NAN])
    program.call("__inference_f_1", NAN, "g", inputs=[7], ids=[8])
    (found,) = program.origins()
    assert found.source is not None and found.source.line == program.lines["g.qr"]
    assert found.gradient_source is not None and found.gradient_source.line == 4


def test_what_stands_first_in_the_program_is_first_in_whatever_order_ops_ran(program: Program) -> None:
    program.graph("x: Placeholder, log: Log(x), div: RealDiv(x, x), sum: AddV2(log, div), out: Identity(sum)")
    assert ops_of(program.called(NAN, g_x=0.0, g_div=INF, g_log=-INF, g_sum=NAN)) == [
        ("origin", "inf", "log"),
        ("origin", "inf", "div"),
    ]


def test_in_a_call_the_forward_pass_comes_before_the_backward_pass(program: Program) -> None:
    program.graph(
        "x: Placeholder, gradient_tape/div: RealDiv(x, x), log: Log(x), "
        "sum: AddV2(log, gradient_tape/div), out: Identity(sum)"
    )
    for name, value in (("x", 0.0), ("gradient_tape/div", INF), ("log", -INF), ("sum", NAN)):
        program.trace("g", name, value)
    program.call("__inference_f_1", NAN, "g", inputs=[7], ids=[8])
    assert [one.op_name for one in program.origins()] == ["log", "gradient_tape/div"]


def test_a_captured_constant_that_no_op_made_is_a_constant_of_the_program(program: Program) -> None:
    program.graph("x: Placeholder, limit: Const, sum: AddV2(x, limit)")
    (found,) = program.called(NAN, inputs=[7, 26], g_x=1.0, g_limit=NAN, g_sum=NAN)
    assert (found.category, found.op_name) == ("came_in", "limit")
    assert found.explanation.endswith("It is a constant of the program.")


def test_curt_health_names_the_product_of_a_mask_and_an_infinite_constant(curt: Program) -> None:
    curt.recording.attributes(1, value="float32 []: -inf")
    curt.graph(
        "x: Placeholder, never: Const, bias: Mul(x, never), scores: AddV2(x, bias), softmax: Softmax(scores)",
        more={"never": {"attributes": 1}},
    )
    found = curt.called(NAN, g_x=0.0, g_never=-INF, g_bias=NAN, g_scores=NAN, g_softmax=NAN)[0]
    assert (found.op_name, found.kind_is_certain) == ("bias", False)


@pytest.mark.parametrize(("taker", "category"), [("AddV2", "origin"), ("SelectV2", "expected")])
def test_an_infinity_that_only_a_nan_hides_is_an_origin_as_well(
    program: Program, taker: str, category: str
) -> None:
    ops = "x: Placeholder, log: Log(x), half: Mul(log, x), ratio: RealDiv(x, x)"
    program.graph(f"{ops}, sum: {taker}(half, ratio), out: Identity(sum)")
    program.run(g_x=[0.0, 1.0], g_log=[-INF, 0.0], g_half=[-INF, 0.0], g_ratio=[NAN, 1.0], g_sum=[NAN, 1.0])
    assert set(ops_of(program.called([NAN, 1.0]))) == {("origin", "nan", "ratio"), (category, "inf", "log")}


def test_what_is_assigned_has_the_kind_that_the_next_read_had(program: Program) -> None:
    program.recording.execution("VarHandleOp", [], ids=[33])
    program.recording.execution("AssignVariableOp", [], inputs=[33, 5])
    program.call("ReadVariableOp", [NAN, 1.0], inputs=[33], ids=[34])
    (found,) = program.origins()
    assert (found.category, found.kind, found.kind_is_certain) == ("came_in", "nan", True)
    assert found.explanation.startswith("AssignVariableOp (run eagerly) produced NaN.")
    assert (found.certainty, found.missing) == ("proven", None)


@pytest.mark.parametrize("stack", [[], ["f42"]], ids=["not on record", "on record"])
def test_a_feed_has_the_line_that_ran_the_session_or_else_that_of_its_placeholder(
    program: Program, stack: list[str]
) -> None:
    program.graph("x: Placeholder, mean: Mean(x)", name="tf.Graph")
    program.recording.request(1, feeds=[("other:0", 1, [])], stack=["f7"])
    program.recording.request(2, feeds=[("x:0", 1, [2])], fetches=["mean:0"], stack=stack)
    run = program.recording.session_run_event(1, 2)
    program.run(g_x=[NAN, 1.0], g_mean=NAN)
    run.wall_time = program.recording.now
    program.recording.writer.write("session_runs", run)
    found = program.origins()[0]
    assert (found.category, found.op_name, found.certainty) == ("came_in", "x", "proven")
    assert found.explanation.endswith("It was fed into the session.")
    assert found.source is not None and found.source.line == (42 if stack else 1)


@pytest.mark.parametrize("fetched", ["mean:\x1b", "mean:-7", "mean:" + "9" * 30, ":", "mean:1:2"])
def test_what_a_damaged_file_says_was_fetched_is_no_mistake(program: Program, fetched: str) -> None:
    program.graph("x: Placeholder, mean: Mean(x)", name="tf.Graph")
    program.recording.request(1, feeds=[("x:0", 1, [2])], fetches=[fetched, "mean:0"])
    program.recording.writer.write("session_runs", program.recording.session_run_event(1, 1))
    program.run(g_x=[NAN, 1.0], g_mean=NAN)
    assert program.origins()[0].op_name == "x"


def test_an_output_before_the_first_one_is_no_mistake(program: Program) -> None:
    program.graph("log: Log", graph_id="h", name="inner")
    program.graph("x: Placeholder, call: PartitionedCall(x)", more={"call": {"called_graph_ids": ["h"]}})
    program.recording.trace("g", "call", full_health(NAN), slot=-1000)
    assert program.called(NAN, h_log=NAN, g_call=NAN)


def test_an_output_behind_the_last_one_of_a_function_without_dtypes_is_no_mistake(program: Program) -> None:
    program.graph("log: Log", graph_id="h", name="inner", more={"log": {"outputs": []}})
    more = {"call": {"called_graph_ids": ["h"], "outputs": [(1, [2])] * 9}}
    program.graph("x: Placeholder, call: PartitionedCall(x)", more=more)
    program.recording.trace("g", "call", full_health(NAN), slot=8)
    assert program.called(NAN, h_log=NAN, g_call=NAN)


def test_curt_health_knows_that_a_bounded_function_makes_no_nan_of_infinities(curt: Program) -> None:
    curt.graph("x: Placeholder, sum: MatMul(x, x), tanh: Tanh(sum)")
    found = curt.called(NAN, g_x=NAN, g_sum=NAN, g_tanh=NAN)[0]
    assert (found.category, found.kind, found.op_name) == ("came_in", "nan", "x")


@pytest.mark.parametrize(("result", "category"), [(NAN, "came_in"), (1.0, "expected")])
def test_curt_health_takes_what_a_variable_began_with_for_wrong_if_a_call_returned_it(
    curt: Program, result: float, category: str
) -> None:
    curt.recording.execution("VarHandleOp", [], ids=[33])
    curt.recording.execution("AssignVariableOp", [], inputs=[33, 5])
    curt.graph(
        "v: Placeholder -> resource, read: ReadVariableOp(v), sum: Maximum(read, read), out: Identity(sum)"
    )
    (found,) = curt.called(result, inputs=[33], g_read=NAN, g_sum=result)
    assert (found.category, found.op_type, found.kind_is_certain) == (category, "AssignVariableOp", False)
    assert ("if it is an infinity" in found.explanation.lower()) == (category == "expected")


@pytest.mark.parametrize(
    ("dtype", "maker", "category"), [(19, "Sum", "origin"), (19, "Exp", "swallowed"), (1, "Sum", "swallowed")]
)
def test_an_overflow_of_float16_that_a_division_hides_is_an_origin(
    program: Program, dtype: int, maker: str, category: str
) -> None:
    ops = f"x: Placeholder, total: {maker}(x), share: RealDiv(x, total), out: Identity(share)"
    given = {"outputs": [(dtype, [-1])]}
    program.graph(ops, more=dict.fromkeys(("x", "total", "share", "out"), given))
    (found,) = program.called([0.0, 0.0], g_x=[60e3, 60e3], g_total=INF, g_share=[0.0, 0.0])
    assert (found.category, found.kind, found.op_name) == (category, "inf", "total")
    assert ("hides the overflow" in found.explanation) == (category == "origin")
    assert ("RealDiv: a division by infinity gives 0." in found.explanation) == (category == "swallowed")
    assert category == "swallowed" or found.certainty == "likely"


def test_what_is_taken_out_of_an_optional_leads_to_the_tensor_with_its_numbers(program: Program) -> None:
    variant = {"outputs": [(21, [])]}
    program.graph(
        "x: Placeholder, metric: Log(x), loss: Mean(x), packed: OptionalFromValue(metric, loss), "
        "out: Identity(packed)",
        more={"packed": {**variant}, "out": {**variant}},
    )
    program.run(g_x=0.0, g_metric=-INF, g_loss=0.0)
    program.recording.execution("__inference_f_1", [], graph_id="g", inputs=[7], ids=[8])
    program.call("OptionalGetValue", -INF, inputs=[8], ids=[9])
    assert ops_of(program.origins()) == [("origin", "inf", "metric")]


def test_a_constant_that_a_function_captured_leads_to_the_tensor_of_python(program: Program) -> None:
    program.graph(
        "x: Placeholder, limit: Const, scale: Const, v: Placeholder -> resource, "
        "read: ReadVariableOp(v), product: Mul(x, scale), sum: AddV2(product, read), out: Identity(sum)",
        more={"limit": {"outputs": [(1, [])]}, "scale": {"outputs": [(1, [2])]}},
    )
    program.call("Log", [NAN, 1.0], inputs=[5], ids=[26])
    program.recording.execution("VarHandleOp", [], ids=[33])
    program.run(g_scale=[NAN, 1.0], g_limit=2.0, g_x=[1.0, 1.0], g_read=[0.0, 0.0])
    found = program.called([NAN, 1.0], inputs=[7, 26, 33], g_product=[NAN, 1.0], g_sum=[NAN, 1.0])
    assert ops_of(found) == [("origin", "nan", "Log")]
    assert [link.op_type for link in found[0].chain][-2:] == ["Const", "Log"]


def test_the_ops_of_a_loaded_function_have_the_line_of_the_call(program: Program) -> None:
    program.graph("x: Placeholder, log: Log(x)", more={"log": {"called": None}})
    program.run(g_x=0.0, g_log=-INF)
    program.call("__inference_f_1", -INF, "g", inputs=[7], ids=[8], stack=["f42"])
    (found,) = program.origins()
    assert found.op_name == "log"
    assert found.source is not None and found.source.line == 42


def test_the_gradient_of_an_eager_op_in_a_function_has_the_line_of_that_op(program: Program) -> None:
    program.recording.source("/lib/site-packages/tensorflow/python/ops/math_grad.py", [])
    program.recording.frame("sqrt_grad", 1, 5, "_SqrtGrad")
    gradient = "gradient_tape/SqrtGrad"
    program.call("Sqrt", 0.0, inputs=[5], ids=[26], stack=["f31"])
    program.call("Sqrt", 1.0, inputs=[6], ids=[27], stack=["f32"])
    ops = f"y: Placeholder, {gradient}: SqrtGrad(y, y), {gradient}/pfor/SqrtGrad: SqrtGrad(y, y)"
    program.graph(ops, more={gradient: {"called": ["sqrt_grad"]}})
    program.trace("g", "y", 0.0)
    program.trace("g", f"{gradient}/pfor/SqrtGrad", INF)
    program.call("__inference_f_1", INF, "g", inputs=[26], ids=[8], stack=["f40"])
    (found,) = program.origins()
    assert found.source is not None and found.source.line == 31
    assert found.gradient_source is not None and found.gradient_source.line == 2


@pytest.mark.parametrize("is_first", [False, True])
def test_a_call_beside_that_of_another_thread_is_followed_although_that_one_got_its_traces(
    program: Program, is_first: bool
) -> None:
    program.graph("x: Placeholder, log: Log(x), out: Identity(log)")
    program.run(g_x=0.0, g_log=-INF, g_out=-INF)
    if not is_first:
        program.call("__inference_f_1", 1.0, "g", inputs=[6], ids=[9], thread=1)
    program.run(g_x=1.0, g_log=0.0, g_out=0.0)
    program.call("__inference_f_1", 1.0 if is_first else -INF, "g", inputs=[5], ids=[8], thread=2)
    if is_first:
        program.call("__inference_f_1", -INF, "g", inputs=[6], ids=[9], thread=1)
    (found,) = program.origins()
    assert (found.category, found.op_name) == ("origin", "log")


def test_what_a_where_leaves_out_is_expected(program: Program) -> None:
    program.graph(
        "x: Placeholder, log: Log(x), where: SelectV2(is_positive, log, x), "
        "is_positive: Greater(x, x) -> bool, out: Identity(where)"
    )
    assert ops_of(program.called([-1.0, 0.0], g_x=[-1.0, 1.0], g_log=[NAN, 0.0], g_where=[-1.0, 0.0])) == [
        ("expected", "nan", "log")
    ]


def test_data_came_in(program: Program) -> None:
    program.call("IteratorGetNext", [NAN, 1.0], ids=[1], stack=["f90"])
    program.call("Mul", [NAN, 1.0], inputs=[1, 1], ids=[2], stack=["f91"])
    (origin,) = program.origins()
    assert (origin.category, origin.op_type, origin.kind) == ("came_in", "IteratorGetNext", "nan")


def test_curt_health_says_that_it_does_not_tell_kinds_apart(curt: Program) -> None:
    curt.graph("x: Placeholder, log: Log(x), out: Identity(log)")
    (origin,) = curt.called(NAN, g_x=[0.0], g_log=[-INF])
    assert (origin.op_name, origin.kind_is_certain, origin.certainty) == ("log", False, "likely")
    assert origin.missing is not None and "FULL_HEALTH" in origin.missing


def test_a_good_run_has_no_origins(program: Program) -> None:
    program.call("Fill", 0.0, ids=[1])
    assert program.origins() == []


@pytest.mark.parametrize("length", [0, 1, 65_536, 65_537, 3_000_000])
def test_the_nearest_value_is_searched_in_all_that_comes_before_or_after(length: int) -> None:
    before, after = list(spans_before(length)), list(spans_after(9, 10 + length))
    assert (before[0][1], before[-1][0]) == (length, 0)
    assert all(nearer[0] == farther[1] for nearer, farther in pairwise(before))
    assert (after[0][0], after[-1][1]) == (10, 10 + length)
    assert all(nearer[1] == farther[0] for nearer, farther in pairwise(after))
