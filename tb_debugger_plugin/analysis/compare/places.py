"""The tensors of a run by node, slot and device, and how often each is on record.

Takes a snapshot and its outline. A place is an output of a node: a site of the graph executions, or an output
slot of eager executions. Returns places, from which :mod:`tb_debugger_plugin.analysis.compare.rows` reads.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from tb_debugger_plugin.analysis.compare.alignment import Pair
from tb_debugger_plugin.analysis.compare.outline import EagerKey, Outline
from tb_debugger_plugin.analysis.snapshot import Snapshot


@dataclass(frozen=True)
class ComparedPlace:
    """An output of a node on a device.

    Attributes:
      node, slot: The output.
      sites: The site; empty for eager executions.
      keys: The keys of the eager executions.
      count: How often it is on record.
      size: The largest number of elements; 0 if it is not known.
    """

    node: int
    slot: int
    sites: tuple[int, ...]
    keys: tuple[EagerKey, ...]
    count: int
    size: int


@dataclass(frozen=True)
class PlacePair:
    """The same tensor of two runs.

    Attributes:
      number: The position in the list.
      pair: The nodes.
      slot: The output.
      first, second: The places.
    """

    number: int
    pair: Pair
    slot: int
    first: ComparedPlace
    second: ComparedPlace


Places = dict[tuple[int, int], list[ComparedPlace]]


def places(snapshot: Snapshot, made: Outline) -> Places:
    """Return the places of a run by node and slot; several if an op ran on several devices."""
    found: Places = defaultdict(list)
    sites = snapshot.catalog.sites
    rows = snapshot.rows("SELECT site, count(*), max(size) FROM graph_executions GROUP BY site ORDER BY site")
    for number, count, size in rows:
        node = made.of_op.get(sites[number].op)
        if node is not None:
            slot = sites[number].slot
            found[node, slot].append(ComparedPlace(node, slot, (number,), (), count, int(size or 0)))
    _add_eager(snapshot, made, found)
    return dict(found)


def _add_eager(snapshot: Snapshot, made: Outline, found: Places) -> None:
    rows = snapshot.rows(
        "SELECT e.host, e.thread, e.op_type, e.stack, o.slot, count(*), max(o.size) FROM execution_outputs o"
        " JOIN executions e USING (idx) WHERE o.has_value GROUP BY ALL"
    )
    keys: dict[tuple[int, int], list[EagerKey]] = defaultdict(list)
    counts: Counter[tuple[int, int]] = Counter()
    sizes: Counter[tuple[int, int]] = Counter()
    for host, thread, op_type, stack, slot, count, size in rows:
        key = EagerKey(host, thread, op_type, stack)
        where = made.of_eager[key], slot
        keys[where].append(key)
        counts[where] += count
        sizes[where] = max(sizes[where], int(size or 0))
    for (node, slot), own in keys.items():
        count = counts[node, slot]
        found[node, slot].append(ComparedPlace(node, slot, (), tuple(own), count, sizes[node, slot]))


def paired_places(pairs: Sequence[Pair], first: Places, second: Places) -> list[PlacePair]:
    """Return the tensors that both runs have on record."""
    result: list[PlacePair] = []
    slots: dict[int, list[int]] = defaultdict(list)
    for node, slot in sorted(first):
        slots[node].append(slot)
    for pair in pairs:
        for slot in slots.get(pair.first.number, ()):
            there = second.get((pair.second.number, slot), [])
            for a, b in zip(first[pair.first.number, slot], there, strict=False):
                result.append(PlacePair(len(result), pair, slot, a, b))
    return result
