"""Rows of the two long lists as objects, read page by page when they are needed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from tb_debugger_plugin.analysis.lists import tables
from tb_debugger_plugin.analysis.lists.filters import (
    HEALTH,
    Filter,
    RowOrder,
    parse_comparisons,
    parse_range,
)
from tb_debugger_plugin.analysis.lists.selection import Selection, select
from tb_debugger_plugin.analysis.lists.tables import ColumnPage
from tb_debugger_plugin.analysis.snapshot import Json, Range, Snapshot
from tb_debugger_plugin.analysis.source import sources as source_files
from tb_debugger_plugin.errors import NotFoundError, UsageError
from tb_debugger_plugin.events.dtypes import NUMBER_OF, dtype_name, numpy_dtype
from tb_debugger_plugin.events.modes import mode_name
from tb_debugger_plugin.events.numbers import Array
from tb_debugger_plugin.index.tensors import BAD, GOOD
from tb_debugger_plugin.reading.lazy_sequence import LazySequence
from tb_debugger_plugin.reading.value import Value

if TYPE_CHECKING:
    from tb_debugger_plugin.reading.run import Run


_FILTERS: Final = frozenset(one.name for one in fields(Filter))
_PAGES: Final[dict[str, Callable[[Snapshot, Range, Selection | None], ColumnPage]]] = {
    "executions": tables.executions_page,
    "graph_executions": lambda snapshot, positions, chosen: tables.graph_executions_page(
        snapshot, positions, chosen=chosen
    ),
}


def counts_of(
    snapshot: Snapshot, table: str, order: RowOrder | None, filters: Json
) -> tuple[int, int | None]:
    """Return how many rows a list has, and how many match; None for the second if all do."""
    chosen = _selection(snapshot, table, order, filters)
    if chosen is None:
        return int(getattr(snapshot, f"num_{table}")), None
    return chosen.total, chosen.matching


def page_of(
    snapshot: Snapshot, table: str, order: RowOrder | None, filters: Json, positions: Range
) -> ColumnPage:
    """Return some rows of a list."""
    return _PAGES[table](snapshot, positions, _selection(snapshot, table, order, filters))


def _selection(snapshot: Snapshot, table: str, order: RowOrder | None, filters: Json) -> Selection | None:
    wanted = _filter(snapshot, filters)
    return None if wanted.is_empty and order is None else select(snapshot, table, wanted, order)


def order_of(column: str | None, descending: bool, columns: Collection[str]) -> RowOrder | None:
    """Return the order by a column of a list.

    Raises:
      UsageError: The rows cannot be sorted by it.
    """
    if column is None:
        return None
    if column not in columns:
        raise UsageError(f"The rows cannot be sorted by {column!r}: choose one of {', '.join(columns)}.")
    return RowOrder(column, descending)


def _filter(snapshot: Snapshot, filters: Json) -> Filter:
    unknown = sorted(filters.keys() - _FILTERS)
    if unknown:
        raise UsageError(f"There is no filter {unknown[0]!r}: choose from {', '.join(sorted(_FILTERS))}.")
    wanted = dict(filters)
    if wanted.get("health") not in (None, *HEALTH):
        raise UsageError(f"health is {wanted['health']!r}: choose one of {', '.join(HEALTH)}.")
    if isinstance(wanted.get("where"), str):
        wanted["where"] = parse_comparisons(wanted["where"])
    for name in ("step", "call"):
        if wanted.get(name) is not None and not isinstance(wanted[name], tuple):
            wanted[name] = parse_range(name, str(wanted[name]))
    if isinstance(wanted.get("source"), str):
        wanted["source"] = _source_number(snapshot, wanted["source"])
    return Filter(**wanted)


def _source_number(snapshot: Snapshot, part: str) -> int:
    paths = [path for _, path in source_files.source_list(snapshot)]
    found = [number for number, path in enumerate(paths) if part in path]
    if len(found) != 1:
        shown = ", ".join(paths[number] for number in (found or range(len(paths)))[:5])
        count = "Several" if found else "No"
        raise NotFoundError(f"{count} source files have {part!r} in their paths, such as {shown}.")
    return found[0]


#: Rows that are read at once by who reads all of them, and at first by who asks for one.
_PAGE: Final = 10_000
_WINDOW: Final = 256
_HEALTH: Final = {BAD: "bad", GOOD: "good"}


@dataclass(frozen=True)
class Execution:
    """An op that ran eagerly, or a call of a function from Python.

    Attributes:
      index: Its position in the list.
      wall_time: When it ended, in seconds since the epoch.
      op_type: The op type, or the full name of the function.
      is_function: Whether it is the call of a function.
      health: ``"bad"`` or ``"good"`` by its outputs; None if nothing was measured.
      call_health: The same of the graph executions inside the call.
      graph_id: The graph that ran; None for an op.
      num_inputs: The number of inputs.
      num_outputs: The number of outputs.
      host: The name of the host.
      step: The step of the program, from 0.
    """

    index: int
    wall_time: float
    op_type: str
    is_function: bool
    health: str | None
    call_health: str | None
    graph_id: str | None
    num_inputs: int
    num_outputs: int
    host: str | None
    step: int
    run: Run = field(repr=False, compare=False)

    def value(self, slot: int = 0) -> Value:
        """Return an output as a :class:`~tb_debugger_plugin.reading.value.Value`.

        Use::

            run.executions()[0].value()[...]

        Args:
          slot: The number of the output.

        Raises:
          NotFoundError: There is no such output.
        """
        return self.run.value(execution=self.index, slot=slot)


@dataclass(frozen=True)
class GraphExecution:
    """A tensor that was computed in a graph.

    Attributes:
      index: Its position in the list.
      wall_time: When it was computed, in seconds since the epoch.
      op_name: The name of the op.
      slot: The number of the output.
      op_type: The type of the op; None if the op was not described.
      graph_id: The id of the graph.
      function: The name of the graph.
      layer: The path of the Keras layer.
      gradient_of: The variables whose gradient it is, separated by commas.
      device: The device.
      host: The name of the host.
      mode: The mode in which it was recorded.
      health: ``"bad"`` or ``"good"``; None if it was not measured.
      dtype: The name of its dtype; None if it is not known.
      shape: The shape, None for an unknown dimension; None if it is not known.
      size: The number of elements. This and the following are None if they were not measured.
      neg_inf: The number of −∞.
      pos_inf: The number of +∞.
      nan: The number of NaN.
      negative: The number of finite negative elements.
      zero: The number of zeros.
      positive: The number of finite positive elements.
      min: The smallest finite element.
      max: The largest finite element.
      mean: The mean of the finite elements.
      variance: Their variance.
      owner: The position of the execution in which it was computed; None if it is not known.
      step: The step of the program, from 0.
    """

    index: int
    wall_time: float
    op_name: str
    slot: int
    op_type: str | None
    graph_id: str
    function: str | None
    layer: str | None
    gradient_of: str | None
    device: str | None
    host: str | None
    mode: str
    health: str | None
    dtype: str | None
    shape: list[int | None] | None
    owner: int | None
    step: int
    run: Run = field(repr=False, compare=False)
    size: int | None = None
    neg_inf: int | None = None
    pos_inf: int | None = None
    nan: int | None = None
    negative: int | None = None
    zero: int | None = None
    positive: int | None = None
    min: float | None = None
    max: float | None = None
    mean: float | None = None
    variance: float | None = None

    @property
    def name(self) -> str:
        """The op and the slot, such as ``"Log:0"``."""
        return f"{self.op_name}:{self.slot}"

    @property
    def bytes(self) -> int | None:
        """The bytes of all elements; None if dtype or size are not known, and for strings."""
        kind = None if self.dtype is None else numpy_dtype(NUMBER_OF[self.dtype])
        size = self.size
        if size is None and self.shape is not None and None not in self.shape:
            size = math.prod(dim for dim in self.shape if dim is not None)
        return None if kind is None or size is None else size * kind.itemsize

    def value(self) -> Value:
        """Return the tensor as a :class:`~tb_debugger_plugin.reading.value.Value`.

        Use::

            run.graph_executions(op_type="Log")[0].value()[...]
        """
        return self.run.value(graph_execution=self.index)


Row = TypeVar("Row", Execution, GraphExecution)


def _whole(value: float) -> int | None:
    return None if math.isnan(value) else int(value)


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _shape(text: str | None) -> list[int | None] | None:
    return None if text is None else json.loads(text.replace("?", "null"))


#: What the numbers of a column mean; numbers of other columns stand for themselves.
_MEANINGS: Final[dict[str, Callable[[Any], object]]] = {
    "is_function": bool,
    "health": _HEALTH.get,
    "call_health": _HEALTH.get,
    "mode": mode_name,
    "dtype": dtype_name,
    "shape": _shape,
    "owner": _whole,
    "index": int,
    **dict.fromkeys(("size", "neg_inf", "pos_inf", "nan", "negative", "zero", "positive"), _whole),
    **dict.fromkeys(("min", "max", "mean", "variance"), _number),
}


def _decoded(page: ColumnPage) -> dict[str, list[object]]:
    """Return the columns of a page as Python values."""
    columns: dict[str, list[object]] = {}
    if "index" not in page.columns:
        columns["index"] = list(range(page.range.begin, page.range.end))
    for name, numbers in page.columns.items():
        values: list[object] = numbers.tolist()
        if name in page.dictionaries:
            texts = [*page.dictionaries[name], None]  # -1 is the last one
            values = [texts[number] for number in numbers.tolist()]
        meaning = _MEANINGS.get(name)
        columns[name] = values if meaning is None else list(map(meaning, values))
    return columns


class Rows(LazySequence[Row]):
    """Rows of a long list. They are read when they are needed, and only a page of them is in memory.

    Use::

        rows = run.graph_executions(op_type="Log", health="bad")
        len(rows), rows[0], rows[-1]
        for row in rows: ...
        rows.df()

    Args:
      run: The run.
      row_type: The class of the rows.
      page: Returns a range of rows as columns.
      count: The number of rows.
      matching: How many rows fulfil the filters, if the rows are only the first of them.

    Attributes:
      matching: As given; the number of rows if it was not.
    """

    _NOUN = "row"

    def __init__(
        self,
        run: Run,
        row_type: type[Row],
        page: Callable[[Range], ColumnPage],
        count: int,
        matching: int | None = None,
    ) -> None:
        self._run = run
        self._row_type: type[Row] = row_type
        self._page = page
        self._count = count
        self.matching = count if matching is None else matching
        self._names = {one.name for one in fields(row_type)}
        self._kept: tuple[int, list[Row]] = (0, [])

    def __len__(self) -> int:
        """Return the number of rows, as it was when they were asked for."""
        return self._count

    def __repr__(self) -> str:
        """Return the kind and the number of the rows."""
        return f"<{self._count:,} rows of {self._row_type.__name__}>"

    def _at(self, number: int) -> Row:
        """Return the row at a position from 0 on."""
        begin, rows = self._kept
        if not begin <= number < begin + len(rows):
            begin, rows = self._kept = self._window(number)
        return rows[number - begin]

    def _window(self, number: int) -> tuple[int, list[Row]]:
        """Read rows around one: few, unless it is the one after those that are kept, as in a loop."""
        begin, rows = self._kept
        if rows and number == begin + len(rows):
            begin, size = number, min(_PAGE, 2 * len(rows))
        else:
            begin, size = max(0, number - _WINDOW // 2), _WINDOW
        return begin, self._read(Range(begin, min(self._count, begin + size)))

    def __iter__(self) -> Iterator[Row]:
        """Yield all rows in order."""
        for page in range(-(-self._count // _PAGE)):
            yield from self._read(self._range(page))

    def _read(self, positions: Range) -> list[Row]:
        columns = _decoded(self._page(positions))
        known = {name: values for name, values in columns.items() if name in self._names}
        rows = zip(*known.values(), strict=True)
        return [self._row_type(**dict(zip(known, row, strict=True)), run=self._run) for row in rows]

    def _range(self, number: int) -> Range:
        return Range(number * _PAGE, min(self._count, (number + 1) * _PAGE))

    def after(self, count: int) -> Rows[Row]:
        """Return the rows without the first ones.

        Use::

            rows.after(4)

        Args:
          count: How many to leave out.
        """

        def page(positions: Range) -> ColumnPage:
            return self._page(Range(positions.begin + count, positions.end + count))

        matching = max(0, self.matching - count)
        return Rows(self._run, self._row_type, page, max(0, self._count - count), matching)

    def columns(self) -> dict[str, Array]:
        """Return all rows as NumPy columns.

        Use::

            nans = rows.columns()["nan"]

        Returns:
          An array for each field of the rows: floats with NaN for what was not measured, else objects.
        """
        lists: dict[str, list[object]] = {name: [] for name in self._names - {"run"}}
        for page in range(-(-self._count // _PAGE)):
            decoded = _decoded(self._page(self._range(page)))
            count = len(decoded["index"])
            for name, values in lists.items():
                values += decoded.get(name, [None] * count)
        order = [one.name for one in fields(self._row_type) if one.name != "run"]
        return {name: _array(lists[name]) for name in order}

    def df(self) -> Any:
        """Return all rows as a pandas ``DataFrame`` with a column for each field.

        Use::

            rows.df().groupby("op_type")["nan"].sum()

        Raises:
          UsageError: pandas is not installed.
        """
        try:
            import pandas  # type: ignore[import-untyped]
        except ImportError as error:
            raise UsageError("df() needs pandas: run `pip install pandas`.") from error
        return pandas.DataFrame(self.columns())


def _array(values: list[object]) -> Array:
    kinds = {type(value) for value in values}
    if kinds in ({int}, {bool}):
        return np.array(values)
    if kinds & {int, float} and kinds <= {int, float, type(None)}:
        return np.array([math.nan if value is None else value for value in values], np.float64)
    result = np.empty(len(values), object)
    result[:] = values
    return result
