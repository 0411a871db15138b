"""The registry of filters on the long lists.

A row of :data:`CRITERIA` is a filter: its parameter in the routes, which is also its name in `open_run` and a
field of :class:`~tb_debugger_plugin.analysis.lists.filters.Filter`, and its word in the filter field of the
page. The routes read a query by it, and `build_steps` makes the table of `docs/http-api.md` and
`frontend/src/api/generated/filters.ts` of it.

This module imports nothing of the package: the build imports it before the package is complete.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final


class Kind(enum.Enum):
    """The form of a filter's value, in the words of the documents."""

    REGEX = "regular expression"
    NAME = "text"
    CHOICE = "word"
    FILE = "file and line"
    NUMBER = "number"
    POSITION = "integer"
    RANGE = "range"
    COMPARISONS = "comparisons"


@dataclass(frozen=True)
class Criterion:
    """A filter.

    Attributes:
      name: The parameter of the routes.
      word: What stands before the colon in the filter field; empty if it is not written there.
      kind: The form of its value.
      graph_executions: What it is of, in the list of graph executions.
      executions: The same in the list of executions; empty if it does not filter these.
      choices: The values of a `CHOICE`.
      things: The list of `analysis/inventory.py` whose names it takes, and which the filter field
        completes; empty for none. A row of that list becomes this filter.
    """

    name: str
    word: str
    kind: Kind
    graph_executions: str
    executions: str = ""
    choices: tuple[str, ...] = ()
    things: str = ""


#: Numbers that comparisons know beside `MEASURED` of `events/modes.py`.
COMPUTED: Final = ("rank", "std", "norm", "zeros")
#: In the order in which the filter field offers them.
CRITERIA: Final = (
    Criterion(
        *("op_type", "op", Kind.REGEX),
        "type of the op",
        "type of the op, or name of the function",
        things="op_types",
    ),
    Criterion("op_name", "name", Kind.REGEX, "name of the op"),
    Criterion(
        *("health", "health", Kind.CHOICE, "health of the tensor", "health of the outputs"),
        choices=("bad", "good", "unmeasured", "nan", "inf"),
    ),
    Criterion("layer", "layer", Kind.REGEX, "path of the layer of the op", things="layers"),
    Criterion(
        *("function", "fn", Kind.REGEX, "name of the graph", "name of the graph that ran"),
        things="functions",
    ),
    Criterion(
        *("file", "file", Kind.FILE),
        "line of your code that made the op",
        "line of your code that ran it",
        things="lines",
    ),
    Criterion("stack", "stack", Kind.FILE, "any line in the stack of the op", "any line in the stack"),
    Criterion("dtype", "dtype", Kind.NAME, "dtype of the tensor", "dtype of an output", things="dtypes"),
    Criterion(
        "device", "device", Kind.REGEX, "device of the tensor", "device of an output", things="devices"
    ),
    Criterion(
        "host", "process", Kind.NAME, "process that computed it", "process that ran it", things="processes"
    ),
    Criterion(
        *("variable", "variable", Kind.REGEX, "variable that the op stands for, reads or assigns"),
        things="variables",
    ),
    Criterion(
        *("gradient_of", "gradient", Kind.REGEX, "a variable whose gradient the tensor is"),
        things="variables",
    ),
    Criterion("not_op_name", "not", Kind.REGEX, "name of the op, which must not match"),
    Criterion("where", "", Kind.COMPARISONS, "numbers of the tensor", "numbers of an output"),
    Criterion("step", "step", Kind.RANGE, "[step](guide/steps.md) of the program, from 0", "the same"),
    Criterion("call", "call", Kind.RANGE, "calls from Python in which it ran", "positions in the list"),
    Criterion(
        "from_execution", "", Kind.POSITION, "first call in which it ran", "first position in the list"
    ),
    Criterion(
        *("until_execution", "", Kind.POSITION),
        "call before which it ran",
        "position in the list before which it ran",
    ),
    Criterion("since", "since", Kind.NUMBER, "first time in seconds since the epoch", "the same"),
    Criterion("until", "before", Kind.NUMBER, "time in seconds before which it was computed", "the same"),
    Criterion(
        *("source", "", Kind.POSITION),
        "position of a source file in the stack of the op",
        "position of a source file in the stack",
    ),
    Criterion("line", "", Kind.POSITION, "a line of `source` in the stack", "the same"),
)
