"""Queries: the checked parameters of a request.

Takes the query string of a URL and returns plain values. Only this module reads query text; every error in it
is a :class:`BadQueryError` that names the parameter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.lists.criteria import CRITERIA, Criterion, Kind
from tb_debugger_plugin.analysis.lists.filters import Filter, RowOrder, parse_comparisons, parse_range
from tb_debugger_plugin.analysis.snapshot import Json, Range, resolve_range
from tb_debugger_plugin.errors import BadQueryError

_INTEGER: Final = re.compile(r"^-?[0-9]{1,15}$")
_NUMBER: Final = re.compile(r"^[-+]?[0-9]{1,20}(\.[0-9]{0,20})?([eE][-+]?[0-9]{1,2})?$")
_MAX_TEXT: Final = 10_000
_MAX_LIST: Final = 10_000
#: Rows of one page of the JSON routes, of the routes for digests, and of the columnar routes.
JSON_ROWS: Final = 10_000
DIGEST_ROWS: Final = 100_000
COLUMN_ROWS: Final = 100_000


@dataclass(frozen=True)
class Query:
    """The parameters of one request.

    Attributes:
      parameters: The decoded parameters of the URL.
    """

    parameters: Mapping[str, str]

    def text(self, name: str) -> str:
        """Return a required parameter.

        Raises:
          BadQueryError: It is missing, empty or far too long.
        """
        value = self.optional_text(name)
        if not value:
            raise BadQueryError(f"The parameter {name} is missing.")
        return value

    def optional_text(self, name: str) -> str | None:
        """Return an optional parameter.

        Raises:
          BadQueryError: It is far too long.
        """
        value = self.parameters.get(name)
        if value is not None and len(value) > _MAX_TEXT:
            raise BadQueryError(f"The parameter {name} is longer than {_MAX_TEXT} characters.")
        return value

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """Return a required parameter that must be one of some words.

        Raises:
          BadQueryError: It is missing or is another word.
        """
        value = self.text(name)
        if value not in choices:
            raise BadQueryError(f"{name} must be {' or '.join(choices)}, but is {value!r}.")
        return value

    def integer(self, name: str) -> int:
        """Return a required whole number.

        Raises:
          BadQueryError: It is missing or not a whole number.
        """
        return _integer(name, self.text(name))

    def optional_integer(self, name: str) -> int | None:
        """Return an optional whole number.

        Raises:
          BadQueryError: It is not a whole number.
        """
        value = self.optional_text(name)
        return None if value is None else _integer(name, value)

    def optional_number(self, name: str) -> float | None:
        """Return an optional finite number.

        Raises:
          BadQueryError: It is not a number.
        """
        value = self.optional_text(name)
        if value is None:
            return None
        if not _NUMBER.match(value):
            raise BadQueryError(f"{name} must be a number, but is {value[:50]!r}.")
        return float(value)

    def optional_bound(self, name: str) -> float | None:
        """Return an optional end of a range: a number, ``inf`` or ``-inf``.

        Raises:
          BadQueryError: It is something else.
        """
        value = self.optional_text(name)
        return float(value) if value in ("inf", "-inf") else self.optional_number(name)

    def optional_choice(self, name: str, choices: tuple[str, ...]) -> str | None:
        """Return an optional parameter that must be one of some words.

        Raises:
          BadQueryError: It is another word.
        """
        return None if self.optional_text(name) is None else self.choice(name, choices)

    def filter(self) -> Filter:
        """Return the filter of a long list.

        Raises:
          BadQueryError: One of its parameters is wrong.
        """
        values: Json = {one.name: _READERS[one.kind](self, one) for one in CRITERIA}
        return Filter(**values)

    def optional_position(self, name: str) -> int | None:
        """Return an optional whole number that must not be below 0.

        Raises:
          BadQueryError: It is not a whole number, or negative.
        """
        return None if self.optional_text(name) is None else self.position(name)

    def order(self, columns: Collection[str]) -> RowOrder | None:
        """Return the order of the parameters ``sort`` and ``descending``; None = the order of the list.

        Raises:
          BadQueryError: The column cannot be sorted by, or ``descending`` is given without ``sort``.
        """
        column = self.optional_choice("sort", tuple(columns))
        descending = self.optional_choice("descending", ("true", "false")) == "true"
        if column is None and descending:
            raise BadQueryError("descending needs the parameter sort.")
        return None if column is None else RowOrder(column, descending)

    def position(self, name: str) -> int:
        """Return a required whole number that must not be below 0.

        Raises:
          BadQueryError: It is missing, not a whole number, or negative.
        """
        value = self.integer(name)
        if value < 0:
            raise BadQueryError(f"{name} must not be below 0, but is {value}.")
        return value

    def bounded(self, name: str, lowest: int, highest: int, default: int | None = None) -> int:
        """Return a whole number within bounds.

        Raises:
          BadQueryError: It is missing and has no default, or it is not a whole number within the bounds.
        """
        if default is not None and self.optional_text(name) is None:
            return default
        value = self.integer(name)
        if not lowest <= value <= highest:
            raise BadQueryError(f"{name} must be {lowest} to {highest}, but is {value}.")
        return value

    def texts(self, name: str) -> list[str]:
        """Return a list of words that are separated by commas.

        Raises:
          BadQueryError: It is missing, empty or far too long.
        """
        value = self.parameters.get(name)
        if value is None:
            raise BadQueryError(f"The parameter {name} is missing.")
        words = [word for word in value.split(",") if word]
        if not words:
            raise BadQueryError(f"The parameter {name} is empty.")
        if len(words) > _MAX_LIST:
            raise BadQueryError(f"The parameter {name} lists more than {_MAX_LIST} entries.")
        return words

    def choices(self, name: str, choices: Collection[str]) -> list[str]:
        """Return an optional list of some words, each once; empty without it.

        Raises:
          BadQueryError: It has another word.
        """
        words = list(dict.fromkeys(self.texts(name))) if self.optional_text(name) else []
        unknown = [word for word in words if word not in choices]
        if unknown:
            raise BadQueryError(f"{name} can have {', '.join(choices)}, but has {unknown[0][:50]!r}.")
        return words

    def range(self, total: int, limit: int = JSON_ROWS, *, may_end_later: bool = False) -> Range:
        """Return the range of the parameters ``begin`` and ``end``.

        Args:
          total: The length of the list.
          limit: The largest number of rows in a page.
          may_end_later: Whether an end after that of the list means the end of the list.

        Raises:
          BadQueryError: They are not whole numbers, or the range is not in the list, or it is too long.
        """
        begin, end = self.optional_integer("begin"), self.optional_integer("end")
        if may_end_later and end is not None:
            end = min(end, total)
        return resolve_range(0 if begin is None else begin, -1 if end is None else end, total, limit)


def _integer(name: str, value: str) -> int:
    if not _INTEGER.match(value):
        raise BadQueryError(f"{name} must be a whole number, but is {value[:50]!r}.")
    return int(value)


#: Return the value of a filter; None for no filter.
_READERS: Final[Mapping[Kind, Callable[[Query, Criterion], object]]] = {
    **dict.fromkeys(
        (Kind.REGEX, Kind.NAME, Kind.FILE), lambda query, one: query.optional_text(one.name) or None
    ),
    Kind.CHOICE: lambda query, one: query.optional_choice(one.name, one.choices),
    Kind.NUMBER: lambda query, one: query.optional_number(one.name),
    Kind.POSITION: lambda query, one: query.optional_position(one.name),
    Kind.RANGE: lambda query, one: (
        None if not (text := query.optional_text(one.name)) else parse_range(one.name, text)
    ),
    Kind.COMPARISONS: lambda query, one: parse_comparisons(query.optional_text(one.name) or ""),
}
