"""What a recording holds, as lines: counts, times, runs of sessions, and what is not on record."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tb_debugger_plugin.analysis.lists import session_runs
from tb_debugger_plugin.analysis.lists.session_runs import SessionRequest, SessionRun
from tb_debugger_plugin.analysis.snapshot import Range
from tb_debugger_plugin.analysis.status import StatusJson
from tb_debugger_plugin.reading.run import Run
from tb_debugger_plugin.shell.links import command_line
from tb_debugger_plugin.shell.screen import Line, Part, Style, joined, link, plain
from tb_debugger_plugin.shell.times import date_of

#: The last runs of sessions are shown.
_SESSION_RUNS: Final = 10
_NAMES: Final = 8


def status_lines(run: Run) -> list[Line]:
    """Return what a run holds, with links to its lists."""
    facts = run.status()
    return joined(
        [plain(f"Run {run.name}", Style.HEADING), plain(f"  in {run.folder}")],
        _recording(facts),
        _counts(facts),
        _dumped_calls(run) or _sessions(run),
        _missing(facts),
    )


def _recording(facts: StatusJson) -> list[Line]:
    begin, end = facts["start_time"], facts["end_time"]
    when = "?" if begin is None else date_of(begin)
    seconds = "" if begin is None or end is None else f", {end - begin:.3f} s"
    state = {True: "ended", False: "still running", None: ""}[facts["finished"]]
    lines = [
        plain(f"  recorder: {facts['recorder'] or 'debug ops of tfdbg'}"),
        plain(f"  mode: {facts['tensor_debug_mode'] or '?'}"),
        plain(f"  hosts: {', '.join(facts['hosts'])}"),
        plain(f"  begin: {when}{seconds}" + (f" ({state})" if state else "")),
    ]
    if facts["circular_buffer_size"] is not None:
        lines.append(plain(f"  circular buffer: the last {facts['circular_buffer_size']:,} records"))
    if facts["loading"] is not None:
        done, total = facts["loading"]["bytes_done"], facts["loading"]["bytes_total"]
        lines.append(plain(f"  still being read: {done:,} of {total:,} bytes"))
    return lines


def _counts(facts: StatusJson) -> list[Line]:
    rows = (
        (facts["num_graph_executions"], "graph executions", "lt", Style.PLAIN),
        (facts["num_bad_graph_executions"], "with NaN or infinity", "lt -f has_inf_or_nan", Style.BAD),
        (facts["num_executions"], "executions from Python", "le", Style.PLAIN),
        (facts["num_alerts"], "alerts", "la", Style.BAD),
    )
    return [
        (Part(f"  {count:>12,}  "), link(words, command, style if count else Style.PLAIN))
        for count, words, command, style in rows
    ]


def _sessions(run: Run) -> list[Line]:
    with run.snapshot() as snapshot:
        total = session_runs.num_session_runs(snapshot)
        data = session_runs.data(snapshot, Range(max(0, total - _SESSION_RUNS), total))
    if not total:
        return []
    lines = [plain(f"{total:,} run(s) of sessions; the last ones:", Style.HEADING)]
    for one in data["session_runs"]:
        number = one.request
        request = data["requests"][number] if number is not None else None
        lines += _session_run(one, request)
    return lines


def _session_run(one: SessionRun, request: SessionRequest | None) -> list[Line]:
    millis = (one.end_time - one.begin_time) * 1e3
    lines = [plain(f"  run {one.run} of session {one.session}, {millis:.3f} ms")]
    if request is not None:
        lines += _named("fetches", request.fetches, "pt")
        lines += _named("targets", request.targets, "ni")
        lines += _named("feeds", [feed.name for feed in request.feeds], "pt")
    if one.error:
        lines.append(plain(f"    error: {one.error.splitlines()[0]}", Style.ERROR))
    return lines


def _named(what: str, names: Sequence[str], command: str) -> list[Line]:
    if not names:
        return []
    parts: list[Part] = [Part(f"    {what}: ")]
    for position, name in enumerate(names[:_NAMES]):
        parts += [Part(", ")] if position else []
        parts.append(link(name, command_line(command, name)))
    left = len(names) - _NAMES
    return [(*parts, Part(f" and {left} more"))] if left > 0 else [tuple(parts)]


def _dumped_calls(run: Run) -> list[Line]:
    with run.snapshot() as snapshot:
        rows = snapshot.rows("SELECT folder, fetches, feeds FROM dump_calls ORDER BY call")
    if not rows:
        return []
    lines = [plain(f"{len(rows):,} call(s) of Session.run() in dump folders; the last ones:", Style.HEADING)]
    for folder, fetches, feeds in rows[-_SESSION_RUNS:]:
        lines += [plain(f"  {folder}"), plain(f"    fetches: {fetches}"), plain(f"    feeds: {feeds}")]
    return lines


def _missing(facts: StatusJson) -> list[Line]:
    lines: list[Line] = []
    if facts["not_recorded"]:
        lines.append(plain("Not recorded:", Style.HEADING))
    for one in facts["not_recorded"]:
        names = ", ".join(one["names"][:_NAMES])
        lines.append(plain(f"  {one['message']}" + (f" ({names})" if names else "")))
    if facts["notices"]:
        lines.append(plain("Could not be read:", Style.HEADING))
    return lines + [plain(f"  {one['message']}") for one in facts["notices"]]
