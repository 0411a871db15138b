"""What fills a recording, by op and by function, and what a filter would save.

Takes a snapshot and returns one JSON-like value. The tables hold where each record begins, so the size of a
record is the distance to the next one. In a long list, this is looked up in blocks of rows, and each tensor,
and each type of eager op, has the mean of its records there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypedDict

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.lists.missing import is_cut
from tb_debugger_plugin.analysis.snapshot import Columns, Snapshot
from tb_debugger_plugin.events.dtypes import NAMES
from tb_debugger_plugin.events.fileset import EXECUTION, GRAPH_EXECUTION_TRACES

#: Rows of a list whose records are measured; all of a shorter list.
_MEASURED: Final = 1 << 18
_BLOCKS: Final = 64
#: Types of ops that a filter leaves out.
_LEFT_OUT: Final = 3
_EVERY: Final = 10
_IS_FLOAT: Final = re.compile("b?float|complex")


class Part(TypedDict):
    """What the records of an op or a function take."""

    name: str | None  #: type of the op or name of the function; null for eager ops
    records: int  #: how many there are
    bytes: int | None  #: what they take; null if not known


class Saving(TypedDict):
    """What a recording with another argument of `enable_dump_debug_info` would not have."""

    argument: str  #: the argument, in Python
    records: int  #: about how many records there would not be
    bytes: int | None  #: about what they take; null if not known


class Sizes(TypedDict):
    """What fills a recording."""

    files: dict[str, int]  #: bytes by the kind of file, such as `graphs`
    is_measured: bool  #: whether the size of each record was looked up, not only of a part of them
    by_op: list[Part]  #: the largest comes first
    by_function: list[Part]  #: a part that ran in no function has no name
    savings: list[Saving]


@dataclass(frozen=True)
class _Group:
    """The records of a tensor, or of a type of eager op or function that Python called."""

    op: str | None
    function: str | None
    dtype: str | None
    in_graph: bool
    records: int
    bytes: float | None


def sizes(snapshot: Snapshot) -> Sizes:
    """Return what fills a recording.

    A filter that would leave out nothing, or all, is not listed. A circular buffer is filled by what a filter
    lets through, so none saves anything there.
    """
    groups = snapshot.remember("sizes", lambda: [*_tensors(snapshot), *_executions(snapshot)])
    longest = max(snapshot.num_graph_executions, snapshot.num_executions)
    files = snapshot.rows("SELECT suffix, sum(size)::BIGINT FROM files GROUP BY suffix ORDER BY suffix")
    return {
        "files": dict(files),
        "is_measured": longest <= _MEASURED,
        "by_op": _parts(groups, lambda group: group.op),
        "by_function": _parts(groups, lambda group: group.function),
        "savings": [] if is_cut(snapshot) else _savings(groups),
    }


def _parts(groups: Iterable[_Group], name_of: Callable[[_Group], str | None]) -> list[Part]:
    by_name: dict[str | None, list[_Group]] = {}
    for group in groups:
        by_name.setdefault(name_of(group), []).append(group)
    parts: list[Part] = [{"name": name, **_sum(members)} for name, members in by_name.items()]
    return sorted(parts, key=lambda part: (part["bytes"] or 0, part["records"]), reverse=True)


class _Sum(TypedDict):
    records: int
    bytes: int | None


def _sum(groups: Sequence[_Group]) -> _Sum:
    known = [group.bytes for group in groups if group.bytes is not None]
    return {
        "records": sum(group.records for group in groups),
        "bytes": round(sum(known)) if len(known) == len(groups) else None,
    }


def _savings(groups: list[_Group]) -> list[Saving]:
    tensors = [group for group in groups if group.in_graph]
    largest = [part["name"] for part in _parts(tensors, lambda group: group.op) if part["name"]][:_LEFT_OUT]
    without = f"(?!({'|'.join(map(re.escape, largest))})$)"
    dtypes = {group.dtype for group in tensors if group.dtype and _IS_FLOAT.match(group.dtype)}
    chosen: list[tuple[str, Callable[[_Group], bool]]] = [
        (f"op_regex={without!r}", lambda group: group.op in largest),
        (f"tensor_dtypes={sorted(dtypes)!r}", lambda group: group.dtype not in dtypes),
    ]
    savings: list[Saving] = []
    for argument, is_left_out in chosen:
        out = [group for group in tensors if is_left_out(group)]
        if 0 < len(out) < len(tensors):
            savings.append({"argument": argument, **_sum(out)})
    whole = _sum(groups)
    if whole["records"] >= _EVERY:
        share = 1 - 1 / _EVERY
        total = whole["bytes"]
        savings.append(
            {
                "argument": f"every_n_steps={_EVERY}",
                "records": round(whole["records"] * share),
                "bytes": None if total is None else round(total * share),
            }
        )
    return sorted(savings, key=lambda saving: (saving["bytes"] or 0, saving["records"]), reverse=True)


def _tensors(snapshot: Snapshot) -> list[_Group]:
    catalog = snapshot.catalog
    counts = snapshot.rows("SELECT site, count(*), max(dtype) FROM graph_executions GROUP BY site")
    rows = _sampled(snapshot, "graph_executions", "site AS key")
    hosts = catalog.site_hosts[rows["key"]] if len(rows["key"]) else rows["key"]
    bytes_of = _mean_bytes(snapshot, GRAPH_EXECUTION_TRACES, rows, hosts, len(catalog.sites))
    static_dtypes, _ = catalog.site_statics
    groups = []
    for site, records, dtype in counts:
        place = catalog.sites[site]
        known = NAMES.get(int(static_dtypes[site]) or dtype)
        groups.append(
            _Group(
                catalog.ops[place.op].type,
                catalog.graphs[place.graph].name,
                known,
                True,
                records,
                _times(records, float(bytes_of[site])),
            )
        )
    return groups


def _executions(snapshot: Snapshot) -> list[_Group]:
    op_types = snapshot.catalog.op_types
    counts = snapshot.rows("SELECT op_type, count(*) FROM executions GROUP BY op_type")
    rows = _sampled(snapshot, "executions", "op_type AS key, host")
    bytes_of = _mean_bytes(snapshot, EXECUTION, rows, rows["host"], len(op_types))
    return [
        _Group(
            op_types[number][0],
            op_types[number][0] if op_types[number][1] else None,
            None,
            False,
            records,
            _times(records, float(bytes_of[number])),
        )
        for number, records in counts
    ]


def _times(records: int, mean: float) -> float | None:
    return None if np.isnan(mean) else records * mean


def _sampled(snapshot: Snapshot, table: str, columns: str) -> Columns:
    """Return where records begin, in blocks of rows: `block`, `position`, and other columns."""
    total = snapshot.num_graph_executions if table == "graph_executions" else snapshot.num_executions
    stride = block = max(1, total)
    if total > _MEASURED:
        stride, block = -(-total // _BLOCKS), _MEASURED // _BLOCKS
    return snapshot.columns(
        f"SELECT {columns}, position, idx // $stride AS block FROM {table}"
        " WHERE idx % $stride < $block AND position IS NOT NULL AND position <> -1",
        {"stride": stride, "block": block},
    )


def _mean_bytes(
    snapshot: Snapshot, suffix: str, rows: Columns, hosts: npt.NDArray[np.int32], num_keys: int
) -> npt.NDArray[np.float64]:
    """Return the mean size of the records of each key; NaN where nothing is known.

    Several rows may be in one record, and have equal shares of it.
    """
    position, keys = rows["position"].astype(np.int64), rows["key"]
    in_ring = position < 0
    begin = np.where(in_ring, -2 - position, position)
    order = np.lexsort((begin, rows["block"], in_ring, hosts))
    places = np.stack([hosts, in_ring, rows["block"], begin])[:, order].astype(np.int64)
    if not places.size:
        return np.full(num_keys, np.nan)
    is_new = np.append(True, (places[:, 1:] != places[:, :-1]).any(axis=0))
    record = np.cumsum(is_new) - 1
    places = places[:, is_new]
    length = np.append(np.diff(places[3]), 0).astype(np.float64)
    is_last = np.append((places[:3, 1:] != places[:3, :-1]).any(axis=0), True)
    # Of a list that is read in blocks, the end of the file is not that of a record.
    is_whole = not rows["block"].any()
    query = "SELECT host, resume FROM files WHERE suffix = ?"
    ends: dict[int, int] = dict(snapshot.rows(query, [suffix])) if is_whole else {}
    length[is_last] = [
        np.nan if ring else ends.get(host, np.nan) - at for host, ring, _, at in places[:, is_last].T.tolist()
    ]
    shares = np.where(length > 0, length, np.nan) / np.bincount(record)
    per_row = np.empty(len(keys))
    per_row[order] = shares[record]
    known = ~np.isnan(per_row)
    sums = np.bincount(keys[known], per_row[known], num_keys)
    counts = np.bincount(keys[known], minlength=num_keys)
    if not counts.any():
        return np.full(num_keys, np.nan)
    return np.where(counts > 0, sums / np.maximum(counts, 1), sums.sum() / counts.sum())
