"""`analysis/origins/attribution.py`: each bad tensor has the origin that its own walk finds."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given, settings

from tb_debugger_plugin.analysis.origins.attribution import attribution
from tb_debugger_plugin.analysis.origins.births import Births
from tb_debugger_plugin.analysis.origins.feeds import Feeds
from tb_debugger_plugin.analysis.origins.origin import Origin
from tb_debugger_plugin.analysis.origins.origins import origins_with_births
from tb_debugger_plugin.analysis.origins.values import ValueRef
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tests.property.test_origins import _PROGRAMS, Evaluated, _Program
from tests.support.events import snapshot_of


def _by_its_own_walk(snapshot: Snapshot, evaluated: Evaluated, tensor: int) -> Origin | None:
    """The first origin among the births of one tensor, which a search of its own finds."""
    feeds, answer = Feeds(snapshot), origins_with_births(snapshot).value
    found = []
    for kind in ("nan", "inf"):
        if evaluated.has(tensor, kind):
            births = Births(feeds).of(ValueRef(trace=tensor), kind)
            keys = [((*feeds.what(one.value), one.kind), feeds.what(one.value)) for one in births]
            found += [at for each in keys if (at := answer.position(*each)) is not None]
    return answer.origins[min(found)] if found else None


@settings(max_examples=20)
@given(_PROGRAMS)
def test_each_bad_tensor_has_the_first_origin_that_a_walk_from_it_finds(program: _Program) -> None:
    evaluated = Evaluated(program)
    with tempfile.TemporaryDirectory() as folder:
        evaluated.record(Path(folder))
        with snapshot_of(Path(folder)) as snapshot:
            found = attribution(snapshot)
            rows = snapshot.rows("SELECT idx, site FROM graph_executions ORDER BY idx")
            for tensor, site in rows:
                position = found.sites.get(site)
                origin = None if position is None else found.origins[position]
                is_bad = evaluated.has(tensor, "nan") or evaluated.has(tensor, "inf")
                expected = _by_its_own_walk(snapshot, evaluated, tensor) if is_bad else None
                assert origin == expected
                if origin is not None:
                    assert evaluated.is_made_of(tensor, evaluated.names.index(origin.op_name or ""))
