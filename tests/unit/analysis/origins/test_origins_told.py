"""`analysis/origins/telling.py`: an origin says no more than was checked, and each one is listed once."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tb_debugger_plugin.analysis.origins.telling import Telling
from tb_debugger_plugin.events.modes import TensorDebugMode
from tests.unit.analysis.origins.test_origins import Program, ops_of

NAN = math.nan


def test_a_division_that_a_loop_makes_for_each_variable_is_listed_once(program: Program) -> None:
    program.recording.graph("g", "f", "")
    program.recording.op("g", "x", "Placeholder", [], ids=[0], outputs=[(1, [-1])], stack=["f1"])
    names = [f"div_{number}" for number in range(5)]
    for name in names:
        program.recording.op("g", name, "RealDiv", ["x:0", "x:0"], ids=[0], outputs=[(1, [-1])], stack=["f2"])
    program.recording.op("g", "sum", "AddN", [f"{name}:0" for name in names], ids=[0], outputs=[(1, [-1])])
    program.recording.op("g", "Identity", "Identity", ["sum:0"], ids=[0], outputs=[(1, [-1])])
    program.trace("g", "x", 0.0)
    for name in (*names, "sum"):
        program.trace("g", name, NAN)
    program.call("__inference_f_1", NAN, "g", inputs=[7], ids=[8])
    (found,) = program.origins()
    assert (found.op_name, found.count) == ("div_0", 5)
    assert found.explanation.endswith(
        "0 / 0 is NaN. The same line made it in 4 more ops: div_1, div_2, div_3 and 1 more."
    )


def test_what_a_branch_kept_for_its_gradient_leads_to_the_op_that_made_it(program: Program) -> None:
    program.graph(
        "v: Placeholder, one: Log(v), two: Sqrt(v), sum: AddV2(one, two), Identity: Identity(sum), "
        "keep_two: OptionalFromValue(two) -> variant, keep_one: OptionalFromValue(one) -> variant",
        graph_id="t",
        name="cond_true_1",
        outer="g",
    )
    program.graph("v: Placeholder, Identity: Identity(v)", graph_id="e", name="cond_false_2", outer="g")
    program.graph(
        "kept: Placeholder -> variant, taken: OptionalGetValue(kept), Identity: Identity(taken)",
        graph_id="d",
        name="cond_true_1_grad_3",
        outer="g",
    )
    called = {"called_graph_ids": ["t", "e"], "outputs": [(1, [-1]), (21, []), (21, [])]}
    program.graph(
        "x: Placeholder, cond: If(x, x), gradient: If(x, cond:1), Identity: Identity(gradient)",
        more={"cond": called, "gradient": {"called_graph_ids": ["d"]}},
    )
    found = program.called(
        NAN, g_x=-1.0, t_v=-1.0, t_one=1.0, t_two=NAN, t_sum=1.0, g_cond=1.0, d_taken=NAN, g_gradient=NAN
    )
    assert ops_of(found) == [("origin", "nan", "two")]


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        (TensorDebugMode.FULL_HEALTH, "The value itself was not measured"),
        (TensorDebugMode.CURT_HEALTH, 'Record with tensor_debug_mode="FULL_HEALTH"'),
    ],
)
def test_nobody_is_told_to_record_in_the_mode_of_the_recording(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: TensorDebugMode, said: str
) -> None:
    monkeypatch.setattr(Telling, "_kind", lambda *_: ("nan", False))
    program = Program(tmp_path, mode)
    program.graph("x: Placeholder, log: Log(x), Identity: Identity(log)")
    program.run(g_x=-1.0, g_log=NAN)
    program.recording.execution("__inference_f_1", [], graph_id="g", inputs=[7], ids=[8])
    found = program.origins()[0]
    assert found.missing is not None and found.missing.startswith(said)
