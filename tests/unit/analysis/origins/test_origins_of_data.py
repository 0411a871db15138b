"""`analysis/origins/feeds.py`: bad values that came in through input pipelines, and walks without an end."""

from __future__ import annotations

import pytest

from tb_debugger_plugin.analysis.alerts.explain import diagnose_alert
from tb_debugger_plugin.analysis.origins.origins import origins
from tests.support.events import snapshot_of
from tests.unit.analysis.origins.test_origins import INF, NAN, Program, ops_of


def pipeline(program: Program, op_type: str) -> None:
    """Writes a function of an input pipeline that decodes text."""
    ops = f"text: Placeholder -> string, decoded: {op_type}(text), Identity: Identity(decoded)"
    program.graph(ops, graph_id="p", name="Dataset_map_parse")


@pytest.mark.parametrize("bad", [NAN, INF])
@pytest.mark.parametrize("op_type", ["ParseExampleV2", "StringToNumber", "DecodeRaw", "DecodeOfTomorrow"])
def test_an_op_that_decodes_text_brought_in_what_it_made(program: Program, op_type: str, bad: float) -> None:
    pipeline(program, op_type)
    program.graph("x: Placeholder, sub: Sub(x), out: Identity(sub)")
    program.run(p_decoded=bad)
    program.call("IteratorGetNext", [bad, 1.0], ids=[1], stack=["f90"])
    (found,) = program.called([bad, 1.0], inputs=[1], g_x=[bad, 1.0], g_sub=[bad, 1.0])
    assert (found.category, found.op_type, found.kind) == ("came_in", op_type, "nan" if bad != bad else "inf")
    assert found.source is not None and found.source.line == program.lines["p.decoded"]
    assert "It was in the input data already." in found.explanation


def test_an_element_behind_an_optional_leads_to_the_function_of_the_pipeline(program: Program) -> None:
    program.graph(
        "y: Placeholder, log: Log(y), Identity: Identity(log)", graph_id="p", name="Dataset_map_to_log"
    )
    program.graph(
        "iterator: Placeholder -> resource, next: IteratorGetNextAsOptional(iterator) -> variant, "
        "taken: OptionalGetValue(next), sub: Sub(taken), out: Identity(sub)",
        name="steps",
    )
    program.run(p_y=0.0, p_log=-INF)
    program.run(g_taken=[-INF, 1.0], g_sub=[-INF, 1.0])
    program.call("__inference_steps_1", [-INF, 1.0], "g", inputs=[5], ids=[8])
    assert ops_of(program.origins()) == [("origin", "inf", "log")]


def test_an_element_leads_to_a_result_with_bad_elements_of_its_kind(program: Program) -> None:
    pipeline(program, "DecodeRaw")
    program.run(p_decoded=NAN)
    program.run(p_decoded=INF)
    program.call("IteratorGetNext", [NAN, NAN], ids=[1], stack=["f90"])
    (found, *_) = program.origins()
    assert (found.op_type, found.kind, found.graph_execution_index) == ("DecodeRaw", "nan", 0)


def test_an_argument_of_a_later_function_leads_to_an_element_of_its_batch(program: Program) -> None:
    pipeline(program, "DecodeRaw")
    program.graph(
        "batch: Placeholder, scaled: Mul(batch), Identity: Identity(scaled)",
        graph_id="q",
        name="Dataset_map_scale",
    )
    program.run(p_decoded=NAN)
    program.run(p_decoded=NAN)
    program.run(q_batch=[NAN, NAN, 1.0], q_scaled=[NAN, NAN, 2.0])
    program.call("IteratorGetNext", [NAN, NAN, 2.0], ids=[1], stack=["f90"])
    assert ops_of(program.origins()) == [("came_in", "nan", "decoded")]


def test_a_walk_without_an_end_gives_the_earliest_value_that_it_reached(program: Program) -> None:
    program.graph("a: Identity(b), b: Neg(a), out: Identity(b)")
    program.run(g_a=NAN, g_b=NAN)
    program.run(g_a=NAN, g_b=NAN)
    program.call("__inference_f_1", NAN, "g", ids=[8])
    found = program.origins()
    assert [one.category for one in found] == ["propagated"]
    assert found[0].certainty == "possible" and found[0].missing


def test_a_nan_after_very_many_expected_infinities_is_followed(program: Program) -> None:
    variables = range(120)
    ops, more = "mask: Const", {}
    for number in variables:
        ops += f", bound{number}: Placeholder -> resource, read{number}: ReadVariableOp(bound{number})"
        more[f"bound{number}"] = {"variable": f"bound{number}"}
        more[f"read{number}"] = {"variable": f"bound{number}"}
    program.graph(f"{ops}, out: Identity(mask)", more=more)
    program.run(**{f"g_read{number}": -INF for number in variables})
    program.call("__inference_f_1", -INF, "g", inputs=list(range(100, 220)), ids=[8])
    program.call("Sqrt", NAN, stack=["f90"])
    assert ("origin", "nan", "Sqrt") in ops_of(program.origins())


def test_why_names_the_assignment_that_has_no_value_of_its_own(program: Program) -> None:
    program.call("ReadVariableOp", 1.0, inputs=[33], ids=[30], stack=["f89"])
    program.recording.execution("AssignVariableOp", [], inputs=[33, 5], stack=["f90"])
    program.call("ReadVariableOp", [NAN, 1.0], inputs=[33], ids=[34], stack=["f91"])
    with snapshot_of(program.recording.close()) as snapshot:
        (origin,) = origins(snapshot)
        found = diagnose_alert(snapshot)
        of_alert = diagnose_alert(snapshot, 0)
    assert found is not None and found.headline == origin.headline == "AssignVariableOp in main, train.py:90"
    assert found.alert is not None and found.alert["op_type"] == "ReadVariableOp"
    assert of_alert is not None and of_alert.headline == "ReadVariableOp in main, train.py:91"


def test_a_session_that_fetches_no_loss_leads_to_the_forward_op_of_its_gradient(program: Program) -> None:
    program.graph(
        "x: Placeholder, weights: VariableV2, loss/Log: Log(x), "
        "train/gradients/loss/Log_grad/Reciprocal: Reciprocal(x), "
        "train/update: ApplyGradientDescent(weights, x, train/gradients/loss/Log_grad/Reciprocal), "
        "accuracy/MatMul: MatMul(x, weights)",
        name="tf.Graph",
        more={"weights": {"outputs": [(101, [])]}, "train/update": {"outputs": [(101, [])]}},
    )
    program.recording.request(1, targets=["train/update"], stack=["f90"])
    run = program.recording.session_run_event(1, 1)
    for op, value in (("x", 0.0), ("loss/Log", -INF), ("train/gradients/loss/Log_grad/Reciprocal", INF)):
        program.trace("g", op, value)
    run.wall_time = program.recording.now
    program.recording.writer.write("session_runs", run)
    program.run(g_x=1.0)
    program.trace("g", "accuracy/MatMul", INF)
    found = program.origins()
    assert found[0].source is not None and found[0].source.line == program.lines["g.loss/Log"]
    assert ops_of(found) == [
        ("origin", "inf", "loss/Log"),
        ("origin", "inf", "train/gradients/loss/Log_grad/Reciprocal"),
    ]


@pytest.mark.parametrize(
    ("op_type", "category"), [("AssignSubVariableOp", "came_in"), ("AssignVariableOp", "expected")]
)
def test_an_infinity_from_python_is_wrong_if_a_variable_is_changed_by_it(
    program: Program, op_type: str, category: str
) -> None:
    ops = f"label: Placeholder, w: Placeholder -> resource, error: Neg(label), update: {op_type}(w, error)"
    more = {"w": {"variable": "w"}, "update": {"outputs": [], "variable": "w"}}
    program.graph(ops, name="step", more=more)
    program.run(g_label=[INF, 1.0], g_error=[-INF, -1.0])
    program.call("__inference_step_1", 1.0, "g", inputs=[7, 3], ids=[8])
    assert {one.category for one in program.origins()} == {category}


def test_a_gradient_that_all_replicas_share_leads_to_the_replica_that_made_it_bad(program: Program) -> None:
    ops = "x: Placeholder, size: Const, key: Const, good: Neg(x), bad: Log(x)"
    shared = "shared: CollectiveReduceV2(good, size, key), shared_1: CollectiveReduceV2(bad, size, key)"
    more = {key: {"outputs": [(3, [])]} for key in ("size", "key")}
    program.graph(f"{ops}, {shared}, out: Identity(shared)", name="step", more=more)
    program.run(g_x=0.0, g_good=0.0, g_bad=-INF)
    program.trace("g", "shared", -INF)
    program.trace("g", "shared_1", -INF)
    program.call("__inference_step_1", -INF, "g", inputs=[7], ids=[8])
    assert ops_of(program.origins()) == [("origin", "inf", "bad")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [("Dataset_scan_add", ("origin", "inf", "log")), ("Dataset_map_add", ("came_in", "inf", "state"))],
)
def test_a_state_of_a_pipeline_leads_to_the_call_that_returned_it(
    program: Program, name: str, expected: tuple[str, str, str]
) -> None:
    program.graph(
        "state: Placeholder, element: Placeholder, log: Log(element), add: AddV2(state, log), "
        "Identity: Identity(add)",
        graph_id="p",
        name=name,
    )
    program.run(p_state=0.0, p_element=0.0, p_log=-INF, p_add=-INF)
    program.run(p_state=-INF, p_element=1.0, p_log=0.0, p_add=-INF)
    program.call("IteratorGetNext", [-INF], ids=[1], stack=["f90"])
    assert expected in ops_of(program.origins())[:1]


def test_what_a_function_makes_a_data_set_of_is_not_swallowed(program: Program) -> None:
    program.graph(
        "rows: Placeholder, slices: TensorSliceDataset(rows) -> variant, "
        "Identity: Identity(slices) -> variant",
        graph_id="p",
        name="Dataset_interleave_rows",
    )
    program.run(p_rows=[NAN, 1.0])
    program.call("IteratorGetNext", [1.0], ids=[1], stack=["f90"])
    assert {one.category for one in program.origins()} <= {"expected"}


def test_what_an_optional_held_that_nothing_on_record_made_came_in(program: Program) -> None:
    program.call("OptionalGetValue", [NAN, 1.0], inputs=[5], ids=[6], stack=["f90"])
    program.call("Neg", [NAN, -1.0], inputs=[6], ids=[7], stack=["f91"])
    (found,) = program.origins()
    assert (found.category, found.headline) == ("came_in", "OptionalGetValue in main, train.py:90")


def test_what_another_worker_gave_is_said_to_be_its(program: Program) -> None:
    ops = "x: Placeholder, size: Const, shared: CollectiveReduceV2(x, size)"
    program.graph(ops, name="step", more={"size": {"outputs": [(3, [])]}})
    program.run(g_x=1.0)
    program.trace("g", "shared", NAN)
    program.call("__inference_step_1", NAN, "g", inputs=[7], ids=[8])
    (found,) = program.origins()
    assert found.op_name == "shared"
    assert "another replica or worker passed it in" in found.explanation
