"""`pt`: prints a tensor."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tb_debugger_plugin.analysis.catalog import Site
from tb_debugger_plugin.analysis.names import sites_named
from tb_debugger_plugin.errors import NotFoundError
from tb_debugger_plugin.events.dumps.datum import DebugTensorDatum
from tb_debugger_plugin.events.dumps.names import IDENTITY
from tb_debugger_plugin.events.locations import location
from tb_debugger_plugin.expressions.names import TensorName, nth, parse_tensor_name
from tb_debugger_plugin.reading.dumps.dump_source import DumpSource
from tb_debugger_plugin.reading.lazy_sequence import LazySequence
from tb_debugger_plugin.reading.rows import GraphExecution
from tb_debugger_plugin.reading.run import Run
from tb_debugger_plugin.reading.value import Value
from tb_debugger_plugin.shell.attached import tensor_at_hand
from tb_debugger_plugin.shell.command import Answer, Command, Completes
from tb_debugger_plugin.shell.lazy_lines import LazyLines
from tb_debugger_plugin.shell.screen import Line, Part, Screen, Style, link, plain
from tb_debugger_plugin.shell.times import first_moment
from tb_debugger_plugin.shell.value_screen import (
    ArraySource,
    RecordedSource,
    Source,
    add_value_options,
    record_changes,
    typed_options,
    unkept_screen,
    value_screen,
    wanted,
)

if TYPE_CHECKING:
    from tb_debugger_plugin.shell.shell import Shell


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("tensor", metavar="TENSOR", help="Log:0, Log:0[:, 3], #12 of lt, or #e5:0 of le")
    parser.add_argument("-n", "--number", type=int, metavar="K", help="which time it was computed, from 0")
    parser.add_argument("-g", "--function", metavar="FUNCTION", help="the function that has the tensor")
    add_value_options(parser)


class _Found(NamedTuple):
    """The value that a command line means.

    Attributes:
      label: Its name.
      source: Its elements; the value itself where they are not kept.
      note: Which of several it is.
      changes: What a debugger changed of it.
    """

    label: str
    source: Source | Value
    note: str = ""
    changes: Sequence[Line] = ()


def _print(shell: Shell, args: argparse.Namespace) -> Answer:
    name = parse_tensor_name(args.tensor)
    found = _held(shell, name, args) or (_dump if has_own_dumps(name) else _recorded)(shell, name, args)
    if isinstance(found, Screen):
        return found
    if isinstance(found.source, Value):
        return unkept_screen(found.source, found.changes)
    return value_screen(found.label, found.source, wanted(args, name.slicing), found.note, found.changes)


def _held(shell: Shell, name: TensorName, args: argparse.Namespace) -> _Found | None:
    """Return a tensor that a paused program holds."""
    held = tensor_at_hand(shell.attached, name) if args.number is None else None
    if held is None or shell.attached is None:
        return None
    source = shell.attached.elements(held["number"])
    return _Found(f"{held['op_name']}:{held['slot']}", source, " (in the program)")


def _recorded(shell: Shell, name: TensorName, args: argparse.Namespace) -> _Found | Screen:
    """Return a value on record, or a screen with links to each of several."""
    run, note = shell.run, ""
    if name.is_position:
        value = run.value(name.text)
    else:
        with run.snapshot() as snapshot:
            sites = sites_named(snapshot, name, args.function)
        if len({site.slot for site in sites}) > 1:
            return _slots(name, sites, args)
        tensor = name._replace(slot=sites[0].slot)
        rows = run.graph_executions(sites=tuple(site.number for site in sites))
        if not len(rows):
            raise NotFoundError(f"{_shown(tensor)} was never computed.")
        if len(rows) > 1 and args.number is None:
            return _several(shell, tensor, rows, args)
        number = nth(args.number or 0, len(rows), _shown(tensor))
        value, note = rows[number].value(), f" (dump #{number})" if len(rows) > 1 else ""
    record = {"execution": value.index, "slot": name.slot or 0}
    if name.execution is None:
        record = {"graph_execution": value.index}
    changes = record_changes(run.changed_values(), **record)
    return _Found(value.name, RecordedSource(value) if value.is_kept else value, note, changes)


def _shown(name: TensorName) -> str:
    return name.node if name.slot is None else f"{name.node}:{name.slot}"


def _slots(name: TensorName, sites: list[Site], args: argparse.Namespace) -> Screen:
    slots = sorted({site.slot for site in sites})
    lines: list[Line] = [plain(f'Node "{name.node}" has {len(slots)} recorded outputs:', Style.HEADING)]
    for slot in slots:
        tensor = f"{name.node}:{slot}"
        lines.append((Part("  "), link(tensor, _command(name._replace(slot=slot), args))))
    return Screen(lines)


def _command(name: TensorName, args: argparse.Namespace, number: int | None = None) -> str:
    """Return the command line that prints a tensor with the options that were typed."""
    device = f"{name.device}:" if name.device else ""
    debug_op = f":{name.debug_op}" if name.debug_op else ""
    tensor = shlex.quote(f"{device}{_shown(name)}{debug_op}{name.slicing}")
    function = f" -g {shlex.quote(args.function)}" if args.function else ""
    which = "" if number is None else f" -n {number}"
    return f"pt {tensor}{which}{function}{typed_options(args)}"


class _Occurrence(NamedTuple):
    """A row and its number among the occurrences of its tensor."""

    number: int
    row: GraphExecution


class _Numbered(LazySequence[_Occurrence]):
    """Rows with their numbers."""

    def __init__(self, rows: Sequence[GraphExecution]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def _at(self, number: int) -> _Occurrence:
        return _Occurrence(number, self._rows[number])


def _several(
    shell: Shell, name: TensorName, rows: Sequence[GraphExecution], args: argparse.Namespace
) -> Screen:
    with shell.run.snapshot() as snapshot:
        begin = first_moment(snapshot, shell.run.start_time)
    functions = {row.function for row in rows[:2]}
    head = _several_head(_shown(name), len(rows))

    def line(one: _Occurrence) -> Line:
        row = one.row
        style = Style.BAD if row.health == "bad" else Style.PLAIN
        text = f"#{one.number} [{(row.wall_time - begin) * 1e3:.3f} ms] "
        function = f"  in {row.function}" if len(functions) > 1 or args.function else ""
        counted = f"  {_counts(row)}" if args.numeric_summary else ""
        tensor = link(row.name, _command(name, args, one.number), style)
        return (Part(text), tensor, Part(function + counted))

    return Screen(LazyLines(head, _Numbered(rows), line))


def _several_head(tensor: str, count: int) -> list[Line]:
    return [
        plain(f'Tensor "{tensor}" generated {count:,} dumps:', Style.HEADING),
        plain("-n K prints one of them; -n -1 prints the last.", Style.MUTED),
        (),
    ]


def _counts(row: GraphExecution) -> str:
    """Return the record of a tensor, in one line."""
    named = {
        **{"nan": row.nan, "-inf": row.neg_inf, "-": row.negative, "0": row.zero, "+": row.positive},
        **{"+inf": row.pos_inf, "total": row.size, "min": row.min, "max": row.max, "mean": row.mean},
    }
    known = {head: value for head, value in named.items() if value is not None and (value or head in _SHOWN)}
    return ", ".join(f"{head} {value:.7g}" for head, value in known.items()) or "not measured"


_SHOWN: Final = ("total", "min", "max", "mean")


def _dump(shell: Shell, name: TensorName, args: argparse.Namespace) -> _Found | Screen:
    """Return the dumps of a debug op such as DebugNumericSummary."""
    data = dumps_of(shell.run, name)
    if len(data) > 1 and args.number is None:
        return _several_dumps(name, data, args)
    number = nth(args.number or 0, len(data), name.text)
    tensor = data[number].get_tensor()
    if not isinstance(tensor, np.ndarray):
        raise NotFoundError(f"{name.text} has no value here. {tensor}")
    note = f" (dump #{number})" if len(data) > 1 else ""
    return _Found(data[number].watch_key, ArraySource(tensor), note)


def _several_dumps(name: TensorName, data: list[DebugTensorDatum], args: argparse.Namespace) -> Screen:
    begin = data[0].timestamp
    lines = _several_head(name.text, len(data))
    for number, datum in enumerate(data):
        text = f"#{number} [{(datum.timestamp - begin) / 1e3:.3f} ms] "
        lines.append((Part(text), link(datum.watch_key, _command(name, args, number))))
    return Screen(lines)


def dumps_of(run: Run, name: TensorName) -> list[DebugTensorDatum]:
    """Return the dumps of a debug op other than the one that dumps the tensor itself.

    Args:
      run: The run.
      name: A name with a debug op.

    Raises:
      NotFoundError: There is none.
    """
    with run.snapshot() as snapshot:
        has_dumps = snapshot.loader.run.is_of_dumps
    if not has_dumps:
        raise NotFoundError(
            f"{name.debug_op} is a debug op of tfdbg v1, whose dumps this run has not: leave it out."
        )
    data = DumpSource(location(run.folder)).data
    found = [
        datum
        for datum in data
        if (datum.node_name, datum.output_slot, datum.debug_op) == (name.node, name.slot, name.debug_op)
        and name.device in (None, datum.device_name)
    ]
    if not found:
        ops = sorted(
            {one.debug_op for one in data if (one.node_name, one.output_slot) == (name.node, name.slot)}
        )
        hint = f"there is {', '.join(ops)}." if ops else "`lt` lists the tensors."
        raise NotFoundError(f"There is no dump {name.text}; {hint}")
    return found


def has_own_dumps(name: TensorName) -> bool:
    """Whether a name means dumps that are no rows of the tables."""
    return name.debug_op not in (None, IDENTITY)


COMMAND: Final = Command(
    "print_tensor",
    ("pt",),
    "print a tensor, or a slice of it",
    _print,
    _arguments,
    completes=Completes.TENSOR,
    option_completes=(("-g", Completes.FUNCTION), ("--function", Completes.FUNCTION)),
    examples=(
        "pt Log:0",
        "pt Log:0[:, 3] -n 2",
        'pt Log:0 -s -r "[-inf, 0]"',
        "pt #12 -a",
        "pt #e5:0 -w value.npy",
    ),
)
