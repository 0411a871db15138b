"""`tbdbg info`: shows what a logdir holds.

Takes a logdir and prints its runs with hosts, counts, modes, first and last time, and what fills the files,
as a table or as JSON.
"""

from __future__ import annotations

import argparse
from datetime import datetime, timezone
from typing import Final

from tb_debugger_plugin.analysis.sizes import Part, Sizes
from tb_debugger_plugin.analysis.snapshot import Json
from tb_debugger_plugin.analysis.status import NoticeJson
from tb_debugger_plugin.analysis.values.changed_values import ChangedValueJson
from tb_debugger_plugin.cli.reading import add_logdir, print_each, run_each
from tb_debugger_plugin.events.printable import printable
from tb_debugger_plugin.reading.run import Run

#: Seconds after which a run is shown as far as it was read.
_READ_SECONDS: Final = 600.0
_UNITS: Final = ((10**9, "GB"), (10**6, "MB"), (10**3, "KB"))
#: Ops and functions that are shown with what they take.
_PARTS: Final = 5
_SHOWN: Final = (
    ("hosts", "hosts"),
    ("mode", "tensor_debug_mode"),
    ("recorder", "recorder"),
    ("executions", "num_executions"),
    ("graph executions", "num_graph_executions"),
    ("verdict", "headline"),
    ("bad or exploding", "num_alerts"),
    ("first", "start_time"),
    ("last", "end_time"),
    ("finished", "finished"),
)


def declare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of the verb `info`."""
    add_logdir(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(name=None)


def run(args: argparse.Namespace) -> int:
    """Print what the logdir holds; return the exit code."""
    return print_each(args, run_each(args, _status, timeout=_READ_SECONDS), dict, _table)


def _status(run: Run) -> Json:
    return {
        "folder": run.folder,
        **run.status(),
        "verdict": run.verdict().to_json(),
        "note": run.note(),
        "sizes": run.sizes(),
    }


def _table(name: str, facts: Json) -> str:
    width = max(len(title) for title, _ in _SHOWN)
    lines = [printable(f"{name}  ({facts['folder']})")]
    titles = [(_title(title, facts), key) for title, key in _SHOWN]
    values = {**facts, "headline": facts["verdict"]["headline"]}
    lines += [f"  {title:<{width}}  {printable(_text(values[key]))}" for title, key in titles]
    lines += [f"  {title:<{width}}  {printable(text)}" for title, text in _sizes(facts["sizes"])]
    lines += [f"  note: {printable(line)}" for line in facts["note"].splitlines()]
    executions, traces = facts["dropped_executions"], facts["dropped_graph_executions"]
    if executions or traces:
        lines.append(f"  dropped by the buffer: {executions} executions, {traces} graph executions")
        if facts["circular_buffer_size"] is not None:
            lines.append(f"  kept by the buffer: {_kept(facts)}")
    lines += [printable(f"  changed: {_changed(one)}") for one in facts["changed_values"]]
    lines += [printable(f"  not recorded: {_not_recorded(entry)}") for entry in facts["not_recorded"]]
    lines += [printable(f"  ! {_prefix(notice)}{notice['message']}") for notice in facts["notices"]]
    return "\n".join(lines)


def _title(title: str, facts: Json) -> str:
    """Return the title of a row; the names of hosts say where several are processes of one machine."""
    is_of_processes = title == "hosts" and any("(process " in name for name in facts["hosts"])
    return "processes" if is_of_processes else title


def _sizes(sizes: Sizes) -> list[tuple[str, str]]:
    """Return rows on what fills the files; none for an empty recording."""
    about = "" if sizes["is_measured"] else "about "
    files = sorted(sizes["files"].items(), key=lambda file: -file[1])
    total = sum(size for _, size in files)
    kinds = ", ".join(f"{kind} {_bytes(size)}" for kind, size in files if size)
    savings = [
        f"{saving['argument']} about {_size(saving['bytes'], saving['records'])}"
        for saving in sizes["savings"]
    ]
    rows = (
        ("files", f"{_bytes(total)}: {kinds}" if total else ""),
        ("by op", _parts(sizes["by_op"], about)),
        ("by function", _parts(sizes["by_function"], about)),
        ("would save", "; ".join(savings)),
    )
    return [row for row in rows if row[1]]


def _parts(parts: list[Part], about: str) -> str:
    shown = [
        f"{part['name'] or 'ops in no function'} {about}{_size(part['bytes'], part['records'])}"
        for part in parts[:_PARTS]
    ]
    left = len(parts) - _PARTS
    return ", ".join([*shown, *([f"{left} more"] if left > 0 else [])])


def _size(size: int | None, records: int) -> str:
    return f"{records:,} records" if size is None else _bytes(size)


def _bytes(size: int) -> str:
    if size < 1000:
        return f"{size} bytes"
    unit, name = next((unit, name) for unit, name in _UNITS if size >= unit)
    return f"{size / unit:.1f} {name}"


def _kept(facts: Json) -> str:
    pinned = [
        f"{number} {what}"
        for number, what in (
            (facts["pinned_executions"], "executions"),
            (facts["pinned_graph_executions"], "graph executions"),
        )
        if number
    ]
    around = f", and {' and '.join(pinned)} around first bad values" if pinned else ""
    return f"the last {facts['circular_buffer_size']}{around}"


def _not_recorded(entry: Json) -> str:
    names = f" ({', '.join(entry['names'])})" if entry["names"] else ""
    return f"{entry['message']}{names}"


def _changed(one: ChangedValueJson) -> str:
    return f"{one['op_name']}:{one['slot']} to {one['expression']}, {_time_text(one['wall_time'])}"


def _prefix(notice: NoticeJson) -> str:
    if notice["file"] is None:
        return ""
    return f"{notice['file']}" + ("" if notice["offset"] is None else f" at {notice['offset']}") + ": "


def _time_text(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, timezone.utc).astimezone().isoformat(" ", "milliseconds")
    except (OverflowError, ValueError, OSError):
        return str(seconds)  # damage: there is no such date


def _text(value: object) -> str:
    if value is None:
        return "not known"
    if isinstance(value, float):
        return _time_text(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, list) else str(value)
