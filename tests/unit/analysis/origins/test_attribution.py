"""`analysis/origins/attribution.py`: the origin that each bad tensor comes from, and alerts by it."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tb_debugger_plugin.analysis.alerts.groups import alert_groups
from tb_debugger_plugin.analysis.alerts.settings import DEFAULTS
from tb_debugger_plugin.analysis.origins import attribution as module
from tb_debugger_plugin.analysis.origins.attribution import attribution
from tests.support.events import full_health, snapshot_of
from tests.unit.analysis.origins.test_origins import INF, NAN, Program

_TWO = "x: Placeholder, log: Log(x), root: Sqrt(x), a: Neg(log), b: Neg(root), c: Abs(b), sum: AddV2(a, c)"
_TWO_VALUES = {
    **{"g_x": [0, -1], "g_log": [-INF, 1], "g_root": [0, NAN]},
    **{"g_a": [INF, 1], "g_b": [0, NAN], "g_c": [0, NAN], "g_sum": [INF, NAN]},
}


def _ended(program: Program) -> Program:
    program.call("__inference_f_1", [INF, NAN], "g", inputs=[7], ids=[8])
    program.recording.close()
    return program


def _causes(program: Program) -> Mapping[str, str | None]:
    """The op of the origin of each bad tensor, by its op."""
    with snapshot_of(program.folder) as snapshot:
        found, catalog = attribution(snapshot), snapshot.catalog
        names = [catalog.ops[site.op].name for site in catalog.sites]
        ops = {names[site]: found.origins[at].op_name for site, at in found.sites.items()}
        calls = [found.origins[at].op_name for at in found.executions.values()]
        return {**ops, **{"the call": calls[0] if calls else None}}


def test_each_tensor_has_its_own_origin_and_a_sum_of_both_the_first(program: Program) -> None:
    program.graph(_TWO)
    program.run(**_TWO_VALUES)
    causes = _causes(_ended(program))
    assert {name: causes[name] for name in ("log", "a")} == {"log": "log", "a": "log"}
    assert {name: causes[name] for name in ("root", "b", "c")} == {"root": "root", "b": "root", "c": "root"}
    with snapshot_of(program.folder) as snapshot:
        first = attribution(snapshot).origins[0].op_name
    assert causes["sum"] == causes["the call"] == first


def test_each_output_of_an_identity_of_several_has_the_origin_of_its_own_input(program: Program) -> None:
    program.graph(
        "x: Placeholder, log: Log(x), root: Sqrt(x), both: IdentityN(log, root), a: Neg(both:0),"
        " b: Neg(both:1)",
        more={"both": {"outputs": [(1, [-1]), (1, [-1])]}},
    )
    program.run(g_x=[0, -1], g_log=[NAN, 1], g_root=[0, NAN])
    program.recording.trace("g", "both", full_health([NAN, 1]), slot=0)
    program.recording.trace("g", "both", full_health([0, NAN]), slot=1)
    program.run(g_a=[NAN, 1], g_b=[0, NAN])
    causes = _causes(_ended(program))
    assert (causes["a"], causes["b"]) == ("log", "root")


def test_a_bad_variable_has_the_origin_of_an_earlier_step(program: Program) -> None:
    program.graph(
        "h: Placeholder -> resource, x: Placeholder, read: ReadVariableOp(h), y: Mul(read, x), log: Log(y),"
        " new: Sub(read, log), set: AssignVariableOp(h, new)",
        more={"h": {"outputs": [(20, [])]}},
    )
    program.run(g_x=[0, 1], g_read=[1, 1], g_y=[0, 1], g_log=[-INF, 0], g_new=[INF, 1])
    program.call("__inference_f_1", [1, 1], "g", inputs=[3, 7], ids=[8])
    program.run(g_x=[1, 1], g_read=[INF, 1], g_y=[INF, 1], g_log=[INF, 0], g_new=[NAN, 1])
    program.call("__inference_f_1", [NAN, 1], "g", inputs=[3, 7], ids=[9])
    program.recording.close()
    causes = _causes(program)
    assert {causes[name] for name in ("log", "new", "read", "y")} == {"log"}


def test_bad_values_that_the_search_does_not_reach_are_a_group_of_their_own(
    program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_MAX_VISITED", 0)
    program.graph(_TWO)
    program.run(**_TWO_VALUES)
    with snapshot_of(_ended(program).folder) as snapshot:
        groups = alert_groups(snapshot, DEFAULTS, "cause")
    assert [(group["group"], group["num_alerts"]) for group in groups] == [("no origin found", 7)]


def test_a_layer_is_one_group_with_its_gradients_whatever_the_scopes_are_called(program: Program) -> None:
    layer = {"layer": "net/dense"}
    names = ("net/dense_1/log", "gradient_tape/net/dense_1/mul", "other/neg")
    program.graph(
        f"x: Placeholder, {names[0]}: Log(x), {names[1]}: Mul({names[0]}, x), {names[2]}: Neg({names[1]})",
        more={names[0]: layer, names[1]: layer},
    )
    program.run(**{"g_x": [0, 1], f"g_{names[0]}": [-INF, 0]})
    program.run(**{f"g_{name}": [NAN, 0] for name in names[1:]})
    with snapshot_of(_ended(program).folder) as snapshot:
        groups = alert_groups(snapshot, DEFAULTS, "layer")
    assert {group["group"]: group["num_alerts"] for group in groups} == {"net/dense": 2, "no layer": 2}


def test_the_groups_are_computed_once_for_a_commit(program: Program) -> None:
    program.graph(_TWO)
    program.run(**_TWO_VALUES)
    with snapshot_of(_ended(program).folder) as snapshot:
        assert alert_groups(snapshot, DEFAULTS, "cause") is alert_groups(snapshot, DEFAULTS, "cause")
