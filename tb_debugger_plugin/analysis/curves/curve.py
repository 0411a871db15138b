"""A number of a tensor over its occurrences: the one answer to "this number over time".

Takes a recorded value, or the name of a tensor or of a variable, and a number of :data:`NUMBERS` or an
element such as ``[3, 17]``. Returns a :class:`Curve`. A long one is reduced to the lowest and the highest
number of each stretch of occurrences.

Invariant: a stretch with a bad occurrence says so, and leads to the first of them, however much is reduced.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tb_debugger_plugin.analysis.alerts.search import LARGEST, RMS
from tb_debugger_plugin.analysis.alerts.tensors import Role, tensors
from tb_debugger_plugin.analysis.catalog import Site
from tb_debugger_plugin.analysis.lists import filters
from tb_debugger_plugin.analysis.names import sites_named
from tb_debugger_plugin.analysis.snapshot import Columns, JsonObject, Snapshot, resolve_range
from tb_debugger_plugin.analysis.values.occurrences import Occurrences, of_sites, of_value
from tb_debugger_plugin.analysis.values.recorded_value import find_value
from tb_debugger_plugin.analysis.values.slicing import parse
from tb_debugger_plugin.errors import BadQueryError, NotFoundError, UsageError
from tb_debugger_plugin.events.modes import EXPONENTS
from tb_debugger_plugin.events.numbers import Floats, Integers
from tb_debugger_plugin.expressions.names import TensorName, only_slot, parse_tensor_name, suggestion
from tb_debugger_plugin.index.tensors import BAD

#: The numbers by name, as SQL on the columns of a tensor, the most telling ones first.
NUMBERS: Final[Mapping[str, str]] = {
    "norm": filters.NORM,
    "mean": "mean",
    "std": filters.NUMBERS["std"],
    "rms": RMS,
    "min": "min",
    "max": "max",
    "largest": LARGEST,
    "zero_share": filters.NUMBERS["zeros"],
    "bad": "nan + neg_inf + pos_inf",
    "nan": "nan",
    "neg_inf": "neg_inf",
    "pos_inf": "pos_inf",
    "zero": "zero",
    "negative": "negative",
    "positive": "positive",
    "size": "size",
}
#: The tensors of a variable that a curve may be of.
OF_VARIABLE: Final[Mapping[str, Role]] = {
    "value": Role.WEIGHT,
    "gradient": Role.GRADIENT,
    "update": Role.UPDATE,
}
_COLUMNS: Final = ("occurrence", "index", "wall_time", "step", "count", "bad", "low", "high", "mean")
#: On record if exponents are.
_EXPONENT: Final = EXPONENTS[0]
#: How many occurrences of each kind are looked at to know which numbers are on record.
_SAMPLES: Final = 4


@dataclass(frozen=True)
class CurveTensor(JsonObject):
    """The tensor that a curve is of.

    Attributes:
      name: The op and its slot, or the variable and what of it.
      op_type: The type of the op, or the name of the function; None when it is not known.
      graph_id: The graph; None for an eager op.
      function: The name of the graph.
      layer: The layer of the op.
      variable: The variable; None for a tensor that is none, no gradient and no update.
    """

    name: str
    op_type: str | None
    graph_id: str | None
    function: str | None
    layer: str | None
    variable: str | None


class Subject(NamedTuple):
    """A tensor whose numbers over time are asked for.

    Attributes:
      occurrences: Each time that it was computed.
      described: What it is.
    """

    occurrences: Occurrences
    described: CurveTensor


@dataclass(frozen=True)
class Curve(JsonObject):
    """A number of a tensor over its occurrences.

    Use::

        curve = run.curve("dense/kernel", "norm", of="gradient")
        plt.plot(curve.occurrences, curve.values)

    Attributes:
      tensor: The tensor.
      number: The number, or the element.
      numbers: The numbers that are on record of it; ``element`` if elements are kept.
      total: How often the tensor was computed.
      num_bad: How often it had a NaN or an infinity.
      begin, end: The occurrences that the curve shows.
      is_reduced: Whether a point stands for several occurrences.
      is_sampled: Whether ``low``, ``high`` and ``mean`` are those of the occurrence ``index`` alone: the
        elements of a stretch are not all read.
      has_exponents: Whether the magnitudes of its elements are counted by powers of two.
      columns: One row for each point: ``occurrence`` (of the point: the first bad one of its stretch, or else
        the one with the highest number), ``index`` (its position in the list of executions or of graph
        executions), ``wall_time``, ``step`` (of the program), ``count`` (of the occurrences in the stretch),
        ``bad`` (of those with a NaN or an infinity), ``low``, ``high`` and ``mean`` of the number; NaN where
        it is not on record.
    """

    tensor: CurveTensor
    number: str
    numbers: list[str]
    total: int
    num_bad: int
    begin: int
    end: int
    is_reduced: bool
    is_sampled: bool
    has_exponents: bool
    columns: Columns

    MEMBERS = "tensor number numbers total num_bad begin end is_reduced is_sampled has_exponents"

    def __len__(self) -> int:
        """Return the number of points."""
        return len(self.columns["occurrence"])

    @property
    def values(self) -> Floats:
        """The number at each point, or the mean of its stretch; NaN where it is not on record."""
        return np.asarray(self.columns["mean"])

    @property
    def occurrences(self) -> Integers:
        """The occurrence of each point, from 0."""
        return np.asarray(self.columns["occurrence"]).astype(np.int64)

    @property
    def steps(self) -> Integers:
        """The step of each point, from 0."""
        return np.asarray(self.columns["step"]).astype(np.int64)

    @property
    def times(self) -> Floats:
        """When each point was computed, in seconds since the epoch."""
        return np.asarray(self.columns["wall_time"])

    @property
    def bad(self) -> npt.NDArray[np.bool_]:
        """Whether there is a NaN or an infinity at each point."""
        return np.asarray(self.columns["bad"] > 0)


@dataclass(frozen=True)
class Wanted:
    """What a curve shows.

    Attributes:
      number: A name of :data:`NUMBERS`, or an element such as ``[3, 17]``; None for the first number that is
        on record.
      most: How many points there are at most; None for a point for each occurrence.
      begin: The first occurrence.
      end: The last occurrence plus 1; -1, or one after the last, for all.
    """

    number: str | None = None
    most: int | None = None
    begin: int = 0
    end: int = -1


def curve_at(
    snapshot: Snapshot,
    wanted: Wanted,
    *,
    graph_execution: int | None = None,
    execution: int | None = None,
    slot: int = 0,
) -> Curve:
    """Return the curve of the tensor that a value is one of.

    Args:
      snapshot: The run.
      wanted: What the curve shows.
      graph_execution, execution, slot: The value, as for `find_value`.

    Raises:
      QueryError: There is no such value, number or range.
    """
    found = subject_at(snapshot, graph_execution=graph_execution, execution=execution, slot=slot)
    return curve_of(found, wanted)


def subject_at(
    snapshot: Snapshot, *, graph_execution: int | None = None, execution: int | None = None, slot: int = 0
) -> Subject:
    """Return the tensor that a value is one of; arguments and errors are those of `find_value`."""
    value = find_value(snapshot, graph_execution=graph_execution, execution=execution, slot=slot)
    occurrences = of_value(value)
    if occurrences.sites:
        return Subject(occurrences, _described(snapshot, occurrences.sites))
    graph = snapshot.catalog.graphs[value.graph] if value.graph >= 0 else None
    described = CurveTensor(
        name=value.name,
        op_type=value.op_type,
        graph_id=None if graph is None else graph.graph_id,
        function=None if graph is None else graph.name,
        layer=None,
        variable=None,
    )
    return Subject(occurrences, described)


def curve(
    snapshot: Snapshot,
    tensor: str,
    wanted: Wanted,
    *,
    of: str | None = None,
    function: str | None = None,
    graph_id: str | None = None,
) -> Curve:
    """Return the curve of a tensor, or of a variable, by its name.

    Args:
      snapshot: The run.
      tensor: As for `reading.run.Run.value`, or the name of a variable.
      wanted: What the curve shows.
      of: What of a variable: ``value``, ``gradient`` or ``update``; None for a tensor of this name, or else
        the value of the variable.
      function, graph_id: As for `reading.run.Run.value`.

    Raises:
      QueryError: There is no such tensor, number or range.
    """
    return curve_of(subject_named(snapshot, tensor, of=of, function=function, graph_id=graph_id), wanted)


def subject_named(
    snapshot: Snapshot,
    tensor: str,
    *,
    of: str | None = None,
    function: str | None = None,
    graph_id: str | None = None,
) -> Subject:
    """Return a tensor, or a tensor of a variable, by its name; arguments and errors are those of `curve`."""
    name = parse_tensor_name(tensor)
    if name.slicing:
        raise UsageError(f"{tensor} has a slice: the element of a curve is its number, such as '[0, 1]'.")
    if name.is_position:
        place = {"graph_execution": name.graph_execution, "execution": name.execution}
        return subject_at(snapshot, **place, slot=name.slot or 0)
    sites = _sites(snapshot, name, of, function, graph_id)
    return Subject(of_sites(snapshot, sites), _described(snapshot, sites))


def _sites(
    snapshot: Snapshot, name: TensorName, of: str | None, function: str | None, graph_id: str | None
) -> list[Site]:
    variables = tensors(snapshot).variables
    if of not in (None, *OF_VARIABLE):
        raise UsageError(f"of must be {' or '.join(OF_VARIABLE)}, but is {of!r}.")
    if of is None:
        try:
            found = sites_named(snapshot, name, function, graph_id)
        except NotFoundError:
            if name.node not in variables.values():
                raise
        else:
            only_slot(name, (site.slot for site in found))
            return found
    role = OF_VARIABLE[of or "value"]
    sites = snapshot.catalog.sites
    found = [sites[site] for site in tensors(snapshot).of(role) if variables.get(site) == name.node]
    if not found:
        known = {variables[site] for site in tensors(snapshot).of(role) if site in variables}
        raise NotFoundError(
            f"No {of or 'value'} of a variable {name.node!r} is on record; {suggestion(name.node, known)}"
        )
    return found


def _described(snapshot: Snapshot, sites: Sequence[Site]) -> CurveTensor:
    first = sites[0]
    op, graph = snapshot.catalog.ops[first.op], snapshot.catalog.graphs[first.graph]
    variable = tensors(snapshot).variables.get(first.number, op.variable)
    return CurveTensor(f"{op.name}:{first.slot}", op.type, graph.graph_id, graph.name, op.layer, variable)


def curve_of(subject: Subject, wanted: Wanted) -> Curve:
    """Return the curve of a tensor.

    Args:
      subject: The tensor.
      wanted: What the curve shows.

    Raises:
      QueryError: There is no such number or range.
    """
    (occurrences, tensor), number = subject, wanted.number
    is_element = number is not None and number.startswith("[")
    if number is not None and not is_element and number not in NUMBERS:
        raise BadQueryError(f"number must be an element such as [0, 1], or {' or '.join(NUMBERS)}.")
    every = occurrences.columns({} if number is None or is_element else {"number": NUMBERS[number]})
    known, has_exponents = _on_record(occurrences, every)
    if number is None:
        number = next((name for name in known if name in NUMBERS), next(iter(NUMBERS)))
        every = occurrences.columns({"number": NUMBERS[number]})
    total = len(every["index"])
    # Tensors of one chart are asked for the same range, and may be computed less often.
    span = resolve_range(min(wanted.begin, total), min(wanted.end, total), total, max(1, total))
    rows = {name: values[span.begin : span.end] for name, values in every.items()}
    stretches = _Stretches.of(rows["health"] == BAD, wanted.most)
    is_sampled = is_element and stretches.is_reduced
    if is_element:
        read = stretches.first_bad() if is_sampled else None
        rows["number"] = occurrences.elements(rows, parse(number), read)
    return Curve(
        *(tensor, number, known, total, int(np.count_nonzero(every["health"] == BAD))),
        *(span.begin, span.end, stretches.is_reduced, is_sampled, has_exponents),
        stretches.points(rows, span.begin),
    )


def _on_record(occurrences: Occurrences, every: Columns) -> tuple[list[str], bool]:
    """Return the numbers that are on record, and whether exponents are.

    They are judged by a few occurrences, with and without kept elements.
    """
    kept = every["is_kept"] != 0
    some = np.unique(np.concatenate([_spread(np.flatnonzero(kept)), _spread(np.flatnonzero(~kept))]))
    if not len(some):
        return [], False
    wanted = {**NUMBERS, _EXPONENT: _EXPONENT}
    rows = occurrences.at(every["index"][some].astype(np.int64).tolist(), wanted)
    known = [name for name in NUMBERS if np.isfinite(rows[name]).any()]
    has_exponents = bool(np.isfinite(rows[_EXPONENT]).any())
    return [*known, *(["element"] if kept.any() else [])], has_exponents


def _spread(rows: Integers) -> Integers:
    """Return a few rows from the first to the last."""
    return rows[np.linspace(0, len(rows) - 1, min(len(rows), _SAMPLES)).astype(np.int64)]


@dataclass(frozen=True)
class _Stretches:
    """Stretches of occurrences, each of which becomes a point.

    Attributes:
      is_bad: Whether each occurrence is bad.
      starts: The first occurrence of each stretch.
    """

    is_bad: npt.NDArray[np.bool_]
    starts: Integers

    @classmethod
    def of(cls, is_bad: npt.NDArray[np.bool_], most: int | None) -> _Stretches:
        """Make stretches of about equal length, at most so many."""
        total = len(is_bad)
        count = total if most is None else min(total, most)
        return cls(is_bad, np.arange(count, dtype=np.int64) * total // max(1, count))

    @property
    def is_reduced(self) -> bool:
        """Whether a stretch has several occurrences."""
        return len(self.starts) < len(self.is_bad)

    def first_bad(self) -> Integers:
        """Return the first bad occurrence of each stretch, or else its first."""
        first = self._first(self.is_bad)
        return np.where(first < len(self.is_bad), first, self.starts)

    def points(self, rows: Columns, begin: int) -> Columns:
        """Return the columns of a curve.

        Args:
          rows: The occurrences, with their ``number``.
          begin: The first of them among all.
        """
        if not len(self.starts):
            return dict.fromkeys(_COLUMNS, np.zeros(0, np.float64))
        numbers = np.where(np.isfinite(rows["number"]), rows["number"], np.nan)
        counts = np.diff(np.append(self.starts, len(numbers)))
        low, high = (np.asarray(each.reduceat(numbers, self.starts)) for each in (np.fmin, np.fmax))
        finite = np.add.reduceat(np.isfinite(numbers).astype(np.float64), self.starts)
        # Sums of large numbers overflow; shares of them do not.
        shares = np.nan_to_num(numbers) / np.repeat(np.maximum(finite, 1), counts)
        mean = np.where(finite > 0, np.add.reduceat(shares, self.starts), np.nan)
        first, highest = self._first(self.is_bad), self._first(numbers == np.repeat(high, counts))
        at = np.where(first < len(numbers), first, np.where(highest < len(numbers), highest, self.starts))
        return {
            "occurrence": (at + begin).astype(np.float64),
            "index": rows["index"][at],
            "wall_time": rows["wall_time"][at],
            "step": rows["step"][at],
            "count": counts.astype(np.float64),
            "bad": np.add.reduceat(self.is_bad.astype(np.float64), self.starts),
            "low": low,
            "high": high,
            "mean": np.clip(mean, low, high),
        }

    def _first(self, marked: npt.NDArray[np.bool_]) -> Integers:
        """Return the first marked occurrence of each stretch; the number of all where none is."""
        total = len(marked)
        return np.asarray(np.minimum.reduceat(np.where(marked, np.arange(total), total), self.starts))
