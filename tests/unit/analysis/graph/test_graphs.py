"""`analysis/graph/graphs.py`: an op, its neighbours, and the tensors that its inputs only pass on."""

from __future__ import annotations

import random

import pytest

from tb_debugger_plugin.analysis.graph.graphs import op_info
from tb_debugger_plugin.analysis.snapshot import Json, Snapshot
from tests.support.events import Recording, full_health, snapshot_of


def _walked(snapshot: Snapshot, name: str, slot: int) -> str | None:
    """Ask for one op after the other, as long as they pass their input on."""
    passed = None
    for _ in range(9):
        op: Json = op_info(snapshot, "g", name)
        if op["op_type"] != "Identity" or op["outputs"][slot]["health"] is not None:
            return passed
        if not op["inputs"]:
            return None
        name, slot = op["inputs"][0]["op_name"], op["inputs"][0]["output_slot"]
        passed = f"{name}:{slot}"
    return None


@pytest.mark.parametrize("seed", range(8))
def test_an_input_names_the_tensor_that_a_walk_from_op_to_op_finds(tmp_path, seed):
    rng = random.Random(seed)
    recording = Recording(tmp_path)
    recording.graph("g", "loss")
    names = ["x"]
    recording.op("g", "x", "Log", ids=[0])
    for number in range(1, 40):
        name, kind = f"op{number}", "Identity" if rng.random() < 0.8 else "Exp"
        sources = [] if rng.random() < 0.1 else [f"{rng.choice(names[-3:])}:0"]
        recording.op("g", name, kind, sources, ids=[number])
        names.append(name)
        if kind == "Exp" or rng.random() < 0.1:
            recording.trace("g", name, full_health([1.0]))
    recording.op("g", "all", "Pack", [f"{name}:0" for name in names], ids=[99])
    with snapshot_of(recording.close()) as snapshot:
        inputs = op_info(snapshot, "g", "all")["inputs"]
        found = {
            one["op_name"]: one["same"] and f"{one['same']['op_name']}:{one['same']['output_slot']}"
            for one in inputs
        }
        assert found == {name: _walked(snapshot, name, 0) for name in names}
        assert any(found.values()) and not all(found.values())
        passing = {one["op_name"] for one in inputs if one["data"]["passes_on"]}
        assert {name for name, same in found.items() if same} <= passing
