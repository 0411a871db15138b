"""The allow-list: alerts that are meant, each with its reason.

Takes ``tbdbg_allow.toml``, in the folder of a run or in one above it up to the logdir::

    [[allow]]
    rule = "InfNanAlert"
    op_name = "*/mask/*"
    reason = "The mask of the attention is −∞ on purpose."

Each field that is given must fit: the rule, the name and the type of the op with wildcards as in a shell, and
the end of the user's line, such as ``train.py:68``.

Invariant: names are compared, never evaluated, in time in proportion to their length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from tb_debugger_plugin.analysis.alerts.own_rules import check_names, quoted, tables_of, text_of
from tb_debugger_plugin.analysis.beside import replace_file
from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.errors import UsageError

FILE_NAME: Final = "tbdbg_allow.toml"
_FIELDS: Final = ("rule", "op_name", "op_type", "line")
_MAX_TEXT: Final = 1000


@dataclass(frozen=True)
class Allowed:
    """Alerts that are meant. A field that is None fits all.

    Attributes:
      reason: Why.
      rule: The id of the rule.
      op_name: A pattern for the name of the op; eager ops have none.
      op_type: A pattern for its type.
      line: The end of the path and the number of the user's line, such as "train.py:68".
    """

    reason: str
    rule: str | None = None
    op_name: str | None = None
    op_type: str | None = None
    line: str | None = None

    def fits(self, rule: str, op_name: str | None, op_type: str, line: Callable[[], str | None]) -> bool:
        """Whether an alert is meant.

        Args:
          rule: The id of its rule.
          op_name: The name of its op.
          op_type: The type of its op.
          line: Finds its line; called only if the rest fits.
        """
        if self.rule not in (None, rule):
            return False
        if self.op_name is not None and not (op_name and fnmatchcase(op_name, self.op_name)):
            return False
        if self.op_type is not None and not fnmatchcase(op_type, self.op_type):
            return False
        return self.line is None or _is_end(line(), self.line)


def _is_end(line: str | None, end: str) -> bool:
    return line is not None and (f"/{line}").replace("\\", "/").endswith("/" + end.replace("\\", "/"))


def read_allowed(path: Path) -> list[Allowed]:
    """Return the entries of a file; none if there is no file.

    Raises:
      UsageError: The file is not an allow-list.
    """
    return [_entry(path, table) for table in tables_of(path, "allow")]


def _entry(path: Path, table: Json) -> Allowed:
    check_names(path, table, (*_FIELDS, "reason"))
    fields = {name: text_of(path, table, name) for name in _FIELDS if name in table}
    if not fields:
        raise UsageError(f"{path}: an entry must name what it allows: {', '.join(_FIELDS)}.")
    return Allowed(text_of(path, table, "reason"), **fields)


def made_allowed(fields: Json) -> Allowed:
    """Return an entry from fields of a request.

    Raises:
      UsageError: A field is missing, unknown, no text, or too long.
    """
    for name, value in fields.items():
        if value is not None and (not isinstance(value, str) or len(value) > _MAX_TEXT):
            raise UsageError(f"{name} must be a text of at most {_MAX_TEXT} characters.")
    given = {name: value for name, value in fields.items() if value is not None}
    return _entry(Path(FILE_NAME), given)


def add_allowed(folder: Path, entry: Allowed) -> Path:
    """Add an entry to the file in a folder, and return the file.

    Raises:
      UsageError: The file there is not an allow-list, and is left alone.
      OSError: The folder cannot be written to.
    """
    path = folder / FILE_NAME
    if entry in read_allowed(path):
        return path
    before = path.read_text("utf-8") if path.exists() else ""
    lines = [f"{name} = {quoted(value)}" for name, value in _given(entry)]
    text = "\n".join(filter(None, [before.rstrip("\n") and before.rstrip("\n") + "\n", "[[allow]]", *lines]))
    replace_file(path, text + "\n")
    return path


def _given(entry: Allowed) -> Iterable[tuple[str, str]]:
    for name in (*_FIELDS, "reason"):
        value = getattr(entry, name)
        if value is not None:
            yield name, value
