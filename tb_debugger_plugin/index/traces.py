"""Decodes traces from their bytes, a whole batch at a time.

Takes framed records of one host's ``graph_execution_traces`` and returns columns. Records that are like an
earlier one are read by :mod:`~tb_debugger_plugin.index.templates`; the others are parsed.

Invariant: :func:`parse_traces`, which parses every record, returns the same rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.events.numbers import Array, Integers
from tb_debugger_plugin.index import tensors
from tb_debugger_plugin.index.frames import RecordFrames
from tb_debugger_plugin.index.records import Rows, Unreadable, finite, in_order, parse_records
from tb_debugger_plugin.index.registry import Registry
from tb_debugger_plugin.index.templates import TRACE, Match, make_templates


def trace_rows(
    times: npt.NDArray[np.float64],
    offsets: Integers,
    ends: Integers,
    sites: npt.NDArray[np.int32],
    steps: npt.NDArray[np.int32],
    summaries: dict[str, Array],
) -> Rows:
    """Make rows of the list of traces.

    Args:
      times: ``wall_time``; finite.
      offsets: Where each record begins in the file.
      ends: Where the record after it begins.
      sites: Numbers of the sites.
      steps: ``step``.
      summaries: Columns of summaries, as in :class:`~tb_debugger_plugin.index.tensors.TensorSummaries`.
    """
    return Rows(times, offsets, ends, {"site": sites, "step": steps, **summaries})


def parse_traces(
    frames: RecordFrames, rows: Integers, registry: Registry, host: int
) -> tuple[Rows, list[Unreadable]]:
    """Parse records one by one.

    Args:
      frames: Records.
      rows: Numbers of the records to parse.
      registry: Numbers sites and shapes.
      host: The number of the host.

    Returns:
      The traces, and the records that could not be parsed.
    """
    found = parse_records(frames, rows, TRACE)
    summaries = tensors.summarize(
        [record.tensor_debug_mode for record in found.records],
        [record.tensor_proto for record in found.records],
        registry.shape,
    )
    sites = np.array([_site(record, registry, host) for record in found.records], np.int32)
    offsets, ends = frames.offsets[found.rows], frames.ends[found.rows]
    places = (found.times, offsets, ends)
    return trace_rows(*places, sites, found.steps, summaries.columns), found.unreadable


def _site(record: Message, registry: Registry, host: int) -> int:
    return registry.site(
        host, record.tfdbg_context_id, record.op_name, record.output_slot, record.device_name
    )


class TraceDecoder:
    """Decodes one host's traces; see :class:`~tb_debugger_plugin.index.records.Decoder`.

    Args:
      registry: Numbers sites and shapes.
      host: The number of the host.
    """

    def __init__(self, registry: Registry, host: int) -> None:
        self._registry = registry
        self._host = host
        self._templates = make_templates(lambda record: _site(record, registry, host))

    def decode(self, frames: RecordFrames) -> tuple[Rows, list[Unreadable]]:
        """See :meth:`Decoder.decode <tb_debugger_plugin.index.records.Decoder.decode>`."""
        matches, rest = self._templates.match(frames)
        if matches and not len(rest):
            return self._rows_of_matches(frames, matches), []
        parsed, unreadable = parse_traces(frames, rest, self._registry, self._host)
        fast = [self._rows_of_matches(frames, matches)] if matches else []
        return in_order([*fast, parsed]), unreadable

    def _rows_of_matches(self, frames: RecordFrames, matches: list[Match]) -> Rows:
        targets, order = _targets(matches, len(frames.starts))
        count = sum(len(match.rows) for match in matches)
        times, modes = np.empty(count, np.float64), np.empty(count, np.int64)
        sites, steps = np.empty(count, np.int32), np.empty(count, np.int32)
        vectors: dict[TensorDebugMode, list[tuple[tensors.Rows, npt.NDArray[np.float64]]]] = {}
        for match, target in zip(matches, targets, strict=True):
            times[target], modes[target] = match.times, match.mode
            sites[target], steps[target] = match.sites, match.steps
            vectors.setdefault(match.mode, []).append((target, match.values))
        summaries = tensors.summarize_vectors(modes, vectors, self._registry.shape)
        places = (finite(times), frames.offsets[order], frames.ends[order])
        return trace_rows(*places, sites, steps, summaries.columns)


def _targets(matches: list[Match], count: int) -> tuple[Sequence[Integers | slice], Integers | slice]:
    """Return the positions of each match's rows among the rows of all matches, and all rows in order."""
    if len(matches) == 1:
        rows = matches[0].rows
        return [slice(None)], slice(None) if len(rows) == count else rows
    order = np.sort(np.concatenate([match.rows for match in matches]))
    position = np.empty(count, np.int64)
    position[order] = np.arange(len(order))
    return [position[match.rows] for match in matches], order
