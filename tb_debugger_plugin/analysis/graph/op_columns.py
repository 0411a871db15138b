"""The ops of all graphs as columns, for lists and trees of them.

Takes a range of the list of ops, in the order in which they were recorded, and returns columns with
dictionaries for names. Ops that are only referred to are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.catalog import Catalog, Op
from tb_debugger_plugin.analysis.lists.tables import Page
from tb_debugger_plugin.analysis.snapshot import Range, Snapshot


def _device(catalog: Catalog, op: Op) -> str | None:
    """Return the device of the graph, or else one on which a tensor of the op was recorded."""
    sites = () if op.device else catalog.op_sites.get(op.number, ())
    return op.device or next((site.device for site in sites if site.device), None)


_TEXTS: Final[dict[str, Callable[[Catalog, Op], str | None]]] = {
    "op_name": lambda _, op: op.name,
    "op_type": lambda _, op: op.type,
    "graph_id": lambda catalog, op: catalog.graphs[op.graph].graph_id,
    "function": lambda catalog, op: catalog.graphs[op.graph].name,
    "layer": lambda _, op: op.layer,
    "device": _device,
    "host": lambda catalog, op: catalog.host_names[catalog.graphs[op.graph].host],
}


def num_ops(snapshot: Snapshot) -> int:
    """Return the length of the list of ops."""
    return len(_known_ops(snapshot))


def ops_page(snapshot: Snapshot, positions: Range) -> Page:
    """Return a page of the list of ops.

    Args:
      snapshot: The run.
      positions: The positions in the list.
    """
    every = _known_ops(snapshot)
    ops = every[positions.begin : positions.end]
    columns: dict[str, npt.NDArray[np.int32]] = {}
    dictionaries: dict[str, list[str]] = {}
    for name, text_of in _TEXTS.items():
        columns[name], dictionaries[name] = _encoded([text_of(snapshot.catalog, op) for op in ops])
    columns["num_outputs"] = np.array(
        [-1 if op.num_outputs is None else op.num_outputs for op in ops], np.int32
    )
    return Page(snapshot.generation, positions, len(every), dict(columns), dictionaries)


def _known_ops(snapshot: Snapshot) -> list[Op]:
    return snapshot.remember_of_graphs("known_ops", lambda: [op for op in snapshot.catalog.ops if op.known])


def _encoded(texts: list[str | None]) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Return the position of each text in a dictionary, -1 for None, and the dictionary."""
    entries = {text: code for code, text in enumerate(dict.fromkeys(t for t in texts if t is not None))}
    return np.array([-1 if text is None else entries[text] for text in texts], np.int32), list(entries)
