"""Finds the tensors that a name means.

Takes a run and a parsed name. Returns the sites or the occurrences of a tensor of a graph, or the dumps of a
debug op. Every error says which names there are instead.
"""

from __future__ import annotations

import re
from typing import Final

from tb_debugger_plugin.analysis.catalog import Catalog, Site
from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.events.dumps.names import IDENTITY
from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.expressions.names import TensorName
from tb_debugger_plugin.index.runs import RunKind
from tb_debugger_plugin.reading.dumps.datum import DebugTensorDatum
from tb_debugger_plugin.reading.dumps.dump_source import DumpSource
from tb_debugger_plugin.reading.rows import GraphExecution, Rows
from tb_debugger_plugin.reading.run import Run

_NEAR: Final = (
    "SELECT o.name || ':' || s.slot AS tensor,"
    " contains(lower(o.name), lower($name)) OR ends_with($name, '/' || o.name) AS is_part,"
    " max(jaro_winkler_similarity(lower(o.name), lower($name))) AS near"
    " FROM sites s JOIN ops o ON o.op = s.op GROUP BY tensor, is_part HAVING near > 0.7 OR is_part"
    " ORDER BY is_part DESC, near DESC, tensor LIMIT 3"
)


def sites_of(run: Run, name: TensorName, function: str | None = None) -> list[Site]:
    """Return where a tensor was computed: in each graph that has it, on each device.

    Args:
      run: The run.
      name: Its name; without a slot, all outputs of the node are meant.
      function: The name of the function, or the id of its graph; or a regular expression that its name
        contains. None for all.

    Raises:
      NotFoundError: No such tensor is recorded.
      UsageError: The function is no regular expression.
    """
    with run.snapshot() as snapshot:
        catalog = snapshot.catalog
        named = [site for site in catalog.sites if catalog.ops[site.op].name == name.node]
        found = [
            site for site in named if name.slot in (None, site.slot) and name.device in (None, site.device)
        ]
        chosen = found if function is None else _in_function(catalog, found, function)
        if not chosen:
            raise NotFoundError(_why_not(snapshot, name, named, found, function))
    return chosen


def _in_function(catalog: Catalog, sites: list[Site], function: str) -> list[Site]:
    graphs = catalog.graphs
    exact = [site for site in sites if function in (graphs[site.graph].name, graphs[site.graph].graph_id)]
    if exact:
        return exact
    try:
        pattern = re.compile(function)
    except re.error as error:
        raise UsageError(f"-g {function} is no regular expression: {error}.") from None
    return [site for site in sites if pattern.search(catalog.graphs[site.graph].name or "")]


def _why_not(
    snapshot: Snapshot, name: TensorName, named: list[Site], found: list[Site], function: str | None
) -> str:
    catalog = snapshot.catalog
    if found:
        functions = sorted({catalog.graphs[site.graph].name or "?" for site in found})
        return f"{name.text} is not in a function {function!r}, but in {', '.join(functions[:5])}."
    if named and name.device is not None:
        devices = sorted({site.device or "?" for site in named})
        return f"{name.node} was not recorded on {name.device}, but on {', '.join(devices[:5])}."
    if named:
        slots = sorted({site.slot for site in named})
        return f"{name.node} has no recorded output {name.slot}; it has {', '.join(map(str, slots))}."
    if any(op.name == name.node for op in catalog.ops):
        return f"{name.node} is a node of the graph, but none of its outputs is recorded."
    near = [tensor for tensor, *_ in snapshot.rows(_NEAR, {"name": name.node})]
    hint = f"did you mean {' or '.join(near)}?" if near else "`lt` lists the tensors."
    return f"No tensor {name.text} is recorded; {hint}"


def occurrences(run: Run, sites: list[Site]) -> Rows[GraphExecution]:
    """Return each time that a tensor was computed at some sites."""
    return run.graph_executions(sites=tuple(site.number for site in sites))


def dumps_of(run: Run, name: TensorName) -> list[DebugTensorDatum]:
    """Return the dumps of a debug op other than the one that dumps the tensor itself.

    Args:
      run: The run.
      name: A name with a debug op.

    Raises:
      NotFoundError: There is none.
    """
    with run.snapshot() as snapshot:
        kind = snapshot.loader.run.kind
    if kind is not RunKind.DUMPS:
        raise NotFoundError(
            f"{name.debug_op} is a debug op of tfdbg v1, whose dumps this run has not: leave it out."
        )
    data = DumpSource(location(run.folder)).data
    found = [
        datum
        for datum in data
        if (datum.node_name, datum.output_slot, datum.debug_op) == (name.node, name.slot, name.debug_op)
        and name.device in (None, datum.device_name)
    ]
    if not found:
        ops = sorted(
            {one.debug_op for one in data if (one.node_name, one.output_slot) == (name.node, name.slot)}
        )
        hint = f"there is {', '.join(ops)}." if ops else "`lt` lists the tensors."
        raise NotFoundError(f"There is no dump {name.text}; {hint}")
    return found


def has_own_dumps(name: TensorName) -> bool:
    """Whether a name means dumps that are no rows of the tables."""
    return name.debug_op not in (None, IDENTITY)
