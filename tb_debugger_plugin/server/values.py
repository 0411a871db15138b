"""The routes below ``values``: a tensor as numbers, texts, statistics and a file.

The tensor is recorded, or a running program holds it.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any, Final, Protocol, TypedDict

import numpy.typing as npt

from tb_debugger_plugin.analysis.snapshot import Range, open_snapshot
from tb_debugger_plugin.analysis.values import occurrences
from tb_debugger_plugin.analysis.values.elements import PARTS
from tb_debugger_plugin.analysis.values.npy import npy_size_and_parts
from tb_debugger_plugin.analysis.values.recorded_value import RecordedValue, ValueFactsJson, find_value
from tb_debugger_plugin.analysis.values.slicing import Index, Slicing, parse, slicing_of
from tb_debugger_plugin.analysis.values.statistics import statistics
from tb_debugger_plugin.analysis.values.texts import cells
from tb_debugger_plugin.analysis.values.tiles import make_grid
from tb_debugger_plugin.index.stored_tensor import StoredElements
from tb_debugger_plugin.live.viewer.live_value import find_live_value
from tb_debugger_plugin.server.answers import Columnar, Download
from tb_debugger_plugin.server.query import Query
from tb_debugger_plugin.server.viewer import Viewer

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


Columns = dict[str, npt.NDArray[Any]]


class Value(Protocol):
    """A tensor at one time."""

    @property
    def name(self) -> str:
        """The op and the slot."""
        ...

    @property
    def index(self) -> int:
        """Its position in its list, or its number."""
        ...

    @property
    def generation(self) -> int:
        """A number that changes when the answers may."""
        ...

    @property
    def shape(self) -> list[int] | None:
        """The shape; None when it is not known."""
        ...

    def elements(self) -> contextlib.AbstractContextManager[StoredElements]:
        """Give the elements."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Return the value without its elements."""
        ...

    def count(self) -> tuple[int, int]:
        """Return the number of its occurrences, and how many are before this one."""
        ...

    def page(self, positions: Range) -> Columns:
        """Return some of its occurrences."""
        ...

    def element_of_each(self, columns: Columns, indices: tuple[Index, ...]) -> npt.NDArray[Any]:
        """Return one element of each of some occurrences."""
        ...


class _Recorded:
    """A recorded value with its occurrences."""

    def __init__(self, value: RecordedValue) -> None:
        self._occurrences = occurrences.of_value(value)
        self.name, self.index, self.shape = value.name, value.index, value.shape
        self.generation = value.snapshot.generation
        self.elements, self.to_json = value.elements, value.to_json

    def count(self) -> tuple[int, int]:
        return self._occurrences.count(before=self.index)

    def page(self, positions: Range) -> Columns:
        return self._occurrences.columns({}, positions)

    def element_of_each(self, columns: Columns, indices: tuple[Index, ...]) -> npt.NDArray[Any]:
        return self._occurrences.elements(columns, indices)


@contextlib.contextmanager
def _value(viewer: Viewer, query: Query) -> Iterator[Value]:
    program = query.optional_text("program")
    if program:
        yield find_live_value(viewer.programs.program(program), query.position("tensor"))
        return
    with open_snapshot(viewer.run_library.loader(query.text("run"))) as snapshot:
        yield _Recorded(
            find_value(
                snapshot,
                graph_execution=query.optional_position("graph_execution"),
                execution=query.optional_position("execution"),
                slot=query.optional_position("slot") or 0,
            )
        )


def of_value(route: Callable[[Value, Query], Any]) -> Callable[[Viewer, Query], Any]:
    """Return a route over a value as one over what the viewer shows."""

    def answer(viewer: Viewer, query: Query) -> Any:
        with _value(viewer, query) as value:
            return route(value, query)

    return answer


def _indices(query: Query) -> tuple[Index, ...]:
    return parse(query.optional_text("slicing") or "")


def _slicing(query: Query, elements: StoredElements) -> Slicing:
    return slicing_of(_indices(query), elements.shape)


def _part(query: Query) -> str:
    return query.optional_choice("part", tuple(PARTS)) or "abs"


class ValueInfoJson(ValueFactsJson):
    """The answer of the route ``values/info``."""

    num_occurrences: int  #: how often the tensor was computed; in a program, in the current call
    occurrence: int  #: which of these times it is, from 0


def info(value: Value, query: Query) -> dict[str, Any]:
    """Return what is known of a value, without its elements."""
    total, before = value.count()
    return {**value.to_json(), "num_occurrences": total, "occurrence": before}


class ValueGridJson(TypedDict):
    """The header of the answer of the route ``values``."""

    generation: int  #: a number that changes when the answer may
    dtype: str | None  #: name of the dtype
    slice_shape: list[int]  #: shape of the slice
    grid: list[int]  #: rows and columns of tiles
    tile: list[int]  #: rows and columns of elements in a tile; the last ones may have fewer


def numbers(value: Value, query: Query) -> Columnar:
    """Return a slice as a picture."""
    rows, columns = (query.bounded(name, 1, _MAX_GRID, _GRID) for name in ("rows", "columns"))
    with value.elements() as elements:
        slicing = _slicing(query, elements)
        grid = make_grid(elements, slicing, rows=rows, columns=columns, part=_part(query))
        header = {
            "generation": value.generation,
            "dtype": grid.dtype,
            "slice_shape": grid.slice_shape,
            "grid": grid.shape,
            "tile": grid.tile,
        }
        return Columnar(header, grid.columns)


class ValueTextsJson(TypedDict):
    """The answer of the route ``values/text``."""

    slice_shape: list[int]  #: shape of the slice
    row: int  #: as in the query
    column: int
    cells: list[list[str]]  #: the texts, row by row


def text(value: Value, query: Query) -> dict[str, Any]:
    """Return a window of a slice as texts."""
    row, column = (query.optional_position(name) or 0 for name in ("row", "column"))
    rows, columns = (
        query.bounded("rows", 1, _MAX_ROWS, _ROWS),
        query.bounded("columns", 1, _MAX_COLUMNS, _COLUMNS),
    )
    with value.elements() as elements:
        slicing = _slicing(query, elements)
        texts = cells(elements, slicing, row=row, column=column, rows=rows, columns=columns)
        return {"slice_shape": slicing.shape, "row": row, "column": column, "cells": texts}


def summary(value: Value, query: Query) -> dict[str, Any]:
    """Return the statistics of a slice."""
    low, high = query.optional_bound("low"), query.optional_bound("high")
    bins = query.bounded("bins", 1, _MAX_BINS, _BINS)
    with value.elements() as elements:
        slicing = _slicing(query, elements)
        return statistics(elements, slicing, bins=bins, low=low, high=high, part=_part(query))


def history(value: Value, query: Query) -> Columnar:
    """Return the occurrences of a tensor."""
    total, _ = value.count()
    positions = query.range(total, _OCCURRENCES)
    columns = value.page(positions)
    if query.optional_text("slicing") is not None:
        indices = _indices(query)
        if value.shape is not None:
            slicing_of(indices, tuple(value.shape))  # a slice that does not fit is the client's mistake
        columns["value"] = value.element_of_each(columns, indices)
    header = {
        "generation": value.generation,
        "begin": positions.begin,
        "end": positions.end,
        "total": total,
    }
    return Columnar(header, columns)


def npy(value: Value, query: Query) -> Download:
    """Return a slice as a file for NumPy."""
    with contextlib.ExitStack() as stack:
        elements = stack.enter_context(value.elements())
        size, parts = npy_size_and_parts(elements, _slicing(query, elements))
        name = _UNSAFE.sub("_", f"{value.name}_{value.index}")[-100:] + ".npy"
        # The parts are made after this function has returned.
        close = stack.pop_all().close
        return Download(name, _NPY, size, parts, close)
