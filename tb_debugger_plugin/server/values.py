"""The routes below ``values``: a recorded tensor as numbers, texts, statistics and a file."""

from __future__ import annotations

import contextlib
import re
from typing import Any, Final

from tb_debugger_plugin.analysis.snapshot import Snapshot
from tb_debugger_plugin.analysis.values import occurrences
from tb_debugger_plugin.analysis.values.npy import npy_size_and_parts
from tb_debugger_plugin.analysis.values.numbers import PARTS
from tb_debugger_plugin.analysis.values.recorded_value import RecordedValue, find_value
from tb_debugger_plugin.analysis.values.slicing import Index, Slicing, parse, slicing_of
from tb_debugger_plugin.analysis.values.statistics import statistics
from tb_debugger_plugin.analysis.values.texts import cells
from tb_debugger_plugin.analysis.values.tiles import make_grid
from tb_debugger_plugin.events.dtypes import dtype_name
from tb_debugger_plugin.index.stored_tensor import Elements
from tb_debugger_plugin.server.columnar import Columnar
from tb_debugger_plugin.server.download import Download
from tb_debugger_plugin.server.query import Query

#: Rows, and columns, of a picture.
_GRID: Final = 512
_MAX_GRID: Final = 1024
#: Rows and columns of a table of texts.
_ROWS: Final = 50
_MAX_ROWS: Final = 200
_COLUMNS: Final = 20
_MAX_COLUMNS: Final = 100
_BINS: Final = 40
_MAX_BINS: Final = 256
#: Occurrences of one page, each of which may be read for one element.
_OCCURRENCES: Final = 1000
#: Not application/octet-stream, which is the type of columns.
_NPY: Final = "application/x-npy"
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9_.-]+")


def _value(snapshot: Snapshot, query: Query) -> RecordedValue:
    return find_value(
        snapshot,
        graph_execution=query.optional_position("graph_execution"),
        execution=query.optional_position("execution"),
        slot=query.optional_position("slot") or 0,
    )


def _indices(query: Query) -> tuple[Index, ...]:
    return parse(query.optional_text("slicing") or "")


def _slicing(query: Query, elements: Elements) -> Slicing:
    return slicing_of(_indices(query), elements.shape)


def _part(query: Query) -> str:
    return query.optional_choice("part", tuple(PARTS)) or "abs"


def info(snapshot: Snapshot, query: Query) -> dict[str, Any]:
    """Returns what is known of a value, without its elements."""
    value = _value(snapshot, query)
    total, before = occurrences.count(value)
    return {**value.to_json(), "num_occurrences": total, "occurrence": before}


def numbers(snapshot: Snapshot, query: Query) -> Columnar:
    """Returns a slice as a picture."""
    rows, columns = (query.bounded(name, 1, _MAX_GRID, _GRID) for name in ("rows", "columns"))
    with _value(snapshot, query).elements() as elements:
        slicing = _slicing(query, elements)
        grid = make_grid(elements, slicing, rows=rows, columns=columns, part=_part(query))
        header = {
            "generation": snapshot.generation,
            "dtype": dtype_name(elements.dtype),
            "slice_shape": grid.slice_shape,
            "grid": grid.shape,
            "tile": grid.tile,
        }
        return Columnar(header, grid.columns)


def text(snapshot: Snapshot, query: Query) -> dict[str, Any]:
    """Returns a window of a slice as texts."""
    row, column = (query.optional_position(name) or 0 for name in ("row", "column"))
    rows, columns = (
        query.bounded("rows", 1, _MAX_ROWS, _ROWS),
        query.bounded("columns", 1, _MAX_COLUMNS, _COLUMNS),
    )
    with _value(snapshot, query).elements() as elements:
        slicing = _slicing(query, elements)
        texts = cells(elements, slicing, row=row, column=column, rows=rows, columns=columns)
        return {"slice_shape": slicing.shape, "row": row, "column": column, "cells": texts}


def summary(snapshot: Snapshot, query: Query) -> dict[str, Any]:
    """Returns the statistics of a slice."""
    low, high = query.optional_bound("low"), query.optional_bound("high")
    bins = query.bounded("bins", 1, _MAX_BINS, _BINS)
    with _value(snapshot, query).elements() as elements:
        slicing = _slicing(query, elements)
        return statistics(elements, slicing, bins=bins, low=low, high=high, part=_part(query))


def history(snapshot: Snapshot, query: Query) -> Columnar:
    """Returns the occurrences of a tensor."""
    value = _value(snapshot, query)
    total, _ = occurrences.count(value)
    positions = query.range(total, _OCCURRENCES)
    columns = occurrences.page(value, positions)
    if query.optional_text("slicing") is not None:
        indices = _indices(query)
        if value.shape is not None:
            slicing_of(indices, tuple(value.shape))  # a slice that does not fit is the client's mistake
        columns["value"] = occurrences.element_of_each(value, columns, indices)
    header = {
        "generation": snapshot.generation,
        "begin": positions.begin,
        "end": positions.end,
        "total": total,
    }
    return Columnar(header, columns)


def npy(snapshot: Snapshot, query: Query) -> Download:
    """Returns a slice as a file for NumPy."""
    value = _value(snapshot, query)
    with contextlib.ExitStack() as stack:
        elements = stack.enter_context(value.elements())
        size, parts = npy_size_and_parts(elements, _slicing(query, elements))
        name = _UNSAFE.sub("_", f"{value.name}_{value.index}")[-100:] + ".npy"
        # The parts are made after this function has returned.
        close = stack.pop_all().close
        return Download(name, _NPY, size, parts, close)
