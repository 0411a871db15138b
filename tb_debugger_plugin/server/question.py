"""What a request asks: its parameters, checked.

In comes the query of a URL, out come plain values. This is the only place that looks at query text;
whatever is wrong with it is a :class:`BadQuestionError` that names the parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tb_debugger_plugin.analysis.view import Range, resolve_range
from tb_debugger_plugin.errors import BadQuestionError

_INTEGER: Final = re.compile(r"^-?[0-9]{1,15}$")
_MAX_TEXT: Final = 10_000
_MAX_LIST: Final = 10_000
#: Rows of one page of the JSON routes, and of the columnar ones.
JSON_ROWS: Final = 10_000
COLUMN_ROWS: Final = 100_000


@dataclass(frozen=True)
class Question:
    """The parameters of one request.

    Attributes:
      parameters: As they stand in the URL, decoded.
    """

    parameters: Mapping[str, str]

    def text(self, name: str) -> str:
        """A parameter that must be there.

        Raises:
          BadQuestionError: It is missing, empty or far too long.
        """
        value = self.optional_text(name)
        if not value:
            raise BadQuestionError(f"The parameter {name} is missing.")
        return value

    def optional_text(self, name: str) -> str | None:
        """A parameter that may be left out.

        Raises:
          BadQuestionError: It is far too long.
        """
        value = self.parameters.get(name)
        if value is not None and len(value) > _MAX_TEXT:
            raise BadQuestionError(f"The parameter {name} is longer than {_MAX_TEXT} characters.")
        return value

    def choice(self, name: str, choices: tuple[str, ...]) -> str:
        """A parameter that must be one of some words.

        Raises:
          BadQuestionError: It is missing or another word.
        """
        value = self.text(name)
        if value not in choices:
            raise BadQuestionError(f"{name} must be {' or '.join(choices)}, but is {value!r}.")
        return value

    def integer(self, name: str) -> int:
        """A number that must be there.

        Raises:
          BadQuestionError: It is missing or not a whole number.
        """
        return _integer(name, self.text(name))

    def optional_integer(self, name: str) -> int | None:
        """A number that may be left out.

        Raises:
          BadQuestionError: It is not a whole number.
        """
        value = self.optional_text(name)
        return None if value is None else _integer(name, value)

    def position(self, name: str) -> int:
        """A number that must be there and not be below 0.

        Raises:
          BadQuestionError: It is missing, not a whole number, or negative.
        """
        value = self.integer(name)
        if value < 0:
            raise BadQuestionError(f"{name} must not be below 0, but is {value}.")
        return value

    def texts(self, name: str) -> list[str]:
        """A list of words with commas between them.

        Raises:
          BadQuestionError: It is missing, empty or far too long.
        """
        value = self.parameters.get(name)
        if value is None:
            raise BadQuestionError(f"The parameter {name} is missing.")
        found = [word for word in value.split(",") if word]
        if not found:
            raise BadQuestionError(f"The parameter {name} is empty.")
        if len(found) > _MAX_LIST:
            raise BadQuestionError(f"The parameter {name} lists more than {_MAX_LIST} entries.")
        return found

    def range(self, total: int, limit: int = JSON_ROWS) -> Range:
        """The parameters ``begin`` and ``end``.

        Args:
          total: Length of the list.
          limit: How many rows a page may have.

        Raises:
          BadQuestionError: They are not numbers, or no range of the list, or one too long.
        """
        begin, end = self.optional_integer("begin"), self.optional_integer("end")
        return resolve_range(0 if begin is None else begin, -1 if end is None else end, total, limit)


def _integer(name: str, value: str) -> int:
    if not _INTEGER.match(value):
        raise BadQuestionError(f"{name} must be a whole number, but is {value[:50]!r}.")
    return int(value)
