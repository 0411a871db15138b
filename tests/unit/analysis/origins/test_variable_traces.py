"""`analysis/origins/variable_traces.py`: what a variable held before and after, beside a walk over rows."""

from __future__ import annotations

import math
import random

import pytest

from tb_debugger_plugin.analysis.origins import variable_traces
from tb_debugger_plugin.analysis.origins.feeds import feeds_of
from tb_debugger_plugin.index.tensors import BAD, GOOD
from tests.support.events import Recording, full_health, small_program, snapshot_of

_VALUES = ([1.0], [math.nan], [math.inf], [1.0], [math.nan, math.inf])
_COUNT = 120


def _recorded(folder, chance: random.Random) -> None:
    recording: Recording = small_program(folder, steps=0)
    for number, variable in enumerate("vw"):
        base = 100 * (number + 1)
        recording.op("g1", variable, "VarHandleOp", ids=[base], outputs=[(20, [])])
        recording.op("g1", f"read_{variable}", "ReadVariableOp", [f"{variable}:0"], ids=[base + 1])
        for way in range(2):
            new = f"new_{variable}{way}"
            recording.op("g1", new, "Neg", [f"read_{variable}:0"], ids=[base + 2 + way])
            recording.op("g1", f"set_{variable}{way}", "AssignVariableOp", [f"{variable}:0", f"{new}:0"])
    names = ["read_v", "read_w"]
    names += [f"new_{variable}{way}" for variable in "vw" for way in range(2)]
    for number in range(_COUNT):
        name = chance.choice(names)
        recording.trace("g1", name, full_health(chance.choice(_VALUES)), at=1000.0 + number // 2)
    recording.close()


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_the_traces_are_those_of_a_walk_whatever_the_length_of_a_block(tmp_path, monkeypatch, block):
    chance = random.Random(block)
    _recorded(tmp_path, chance)
    monkeypatch.setattr(variable_traces, "_BLOCK", block)
    found = set()
    with snapshot_of(tmp_path) as snapshot:
        feeds = feeds_of(snapshot)
        traces, ops = feeds.variable_traces, {op.name: op.number for op in snapshot.catalog.ops}
        rows = [
            (idx, time, health, snapshot.catalog.ops[snapshot.catalog.sites[site].op].name, nan, inf)
            for idx, time, health, site, nan, inf in snapshot.rows(
                "SELECT idx, wall_time, health, site, nan, pos_inf + neg_inf FROM graph_executions ORDER BY 1"
            )
        ]
        for _ in range(60):
            variable, kind = chance.choice("vw"), chance.choice((None, "nan", "inf"))
            at, after = sorted(chance.sample(range(-1, _COUNT + 1), 2), reverse=True)
            since = (1000.0 + after // 2, after)
            keys = frozenset({("op", ops[variable])})
            reads = [row for row in rows if row[3] == f"read_{variable}"]
            good = [(time, idx) for idx, time, health, *_ in reads if idx < at and health == GOOD]
            assert traces.last_good_read(keys, at) == max(good, default=(-1.0, -1), key=lambda one: one[1])
            following = [health for idx, _, health, *_ in reads if idx > after]
            assert traces.next_read(keys, after) == (following[0] if following else None)
            assigned = [
                (idx, ops[name.replace("new", "set")], health, nan, inf)
                for idx, time, health, name, nan, inf in rows
                if name.startswith(f"new_{variable}") and after < idx < at and time >= since[0]
            ]
            bad = [
                (idx, op)
                for idx, op, health, nan, inf in assigned
                if health == BAD and {"nan": nan, "inf": inf, None: 1}[kind]
            ]
            setting = feeds.variables.assigning(keys)
            assert len(setting) == 2
            first = traces.first_bad_assigned(setting, at, since, kind)
            assert first == (bad[0] if bad else None)
            last = traces.last_assigned(setting, at, since)
            assert last == (assigned[-1][:2] if assigned else None)
            found |= {first is None, (last is None, first == last)}
    assert len(found) >= 4, "the questions differ"
