"""The routes about runs as a whole: which there are, the report of one, and the note on it.

The list opens no run: it has what the metadata, a few stats and kept verdicts say.
"""

from __future__ import annotations

import re
from typing import Final, TypedDict

from tb_debugger_plugin.analysis.beside import keep_note, note_name, own_folder, read_note
from tb_debugger_plugin.analysis.report.facts import report as report_of
from tb_debugger_plugin.analysis.report.formats import REPORT_FORMATS
from tb_debugger_plugin.analysis.snapshot import Json, open_snapshot
from tb_debugger_plugin.analysis.verdict import RunVerdict, known_verdict
from tb_debugger_plugin.errors import BadQueryError, ForbiddenError
from tb_debugger_plugin.index.loader import RunLoader, written
from tb_debugger_plugin.index.runs import FoundRun
from tb_debugger_plugin.server.answers import Download, Encoded
from tb_debugger_plugin.server.heavy import heavy_answer
from tb_debugger_plugin.server.judge import JudgeState
from tb_debugger_plugin.server.query import Query
from tb_debugger_plugin.server.viewer import Viewer

_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")
_MAX_NAME: Final = 80


class RunJson(TypedDict):
    """A run of the route ``runs``. Debugger V2 has the first field only."""

    start_time: float  #: start of the recording, in seconds since the epoch
    title: str  #: name for people; for a run that is the logdir itself (`.`), the name of its folder
    #: the last answer of the route [verdict](#verdict) for this run, also one that was kept when the run was
    #: closed; null while nothing is known of the files as they are
    verdict: RunVerdict | None
    #: `judged`: there is a verdict. `judging`: it is being found in the background. `failed`: that failed.
    #: `unread`: nobody has asked for it yet. The list of runs opens none, but while somebody asks for the
    #: list, runs that nobody writes are judged in the background, the latest first
    state: JudgeState
    mode: str | None  #: name of the mode; null where the metadata do not say it, as those of TensorFlow
    bytes: int | None  #: size of its files; null for dump folders, and for a run that is not on this machine
    #: when its files were last written, in seconds since the epoch; null when the run is not on this machine
    written: float | None
    processes: int | None  #: number of the processes that recorded it; null for tables and dump folders


def runs(viewer: Viewer, query: Query) -> dict[str, RunJson]:
    """Return all runs by name."""
    found = viewer.run_library.runs()
    loaders = {name: viewer.run_library.opened(name) for name in found}
    known = {name: _known(viewer, run, loaders[name]) for name, run in found.items()}
    viewer.judge.offer(
        run
        for name, run in found.items()
        if known[name] is None and ((loader := loaders[name]) is None or loader.is_at_rest)
    )
    return {name: _run(viewer, run, known[name]) for name, run in found.items()}


def _run(viewer: Viewer, run: FoundRun, verdict: RunVerdict | None) -> RunJson:
    files = written(run)
    return {
        "start_time": run.start_time,
        "title": run.title,
        "verdict": verdict,
        "state": viewer.judge.state(run) if verdict is None else "judged",
        "mode": run.mode or None,
        "bytes": files.size,
        "written": files.time,
        "processes": len(run.file_sets) or None,
    }


def _known(viewer: Viewer, run: FoundRun, loader: RunLoader | None) -> RunVerdict | None:
    found = None if loader is None else known_verdict(loader)
    return found or viewer.kept_verdicts.find(run)


def report(viewer: Viewer, query: Query) -> Download:
    """Return the report that `tbdbg report` writes, as a file."""
    chosen = REPORT_FORMATS[query.optional_choice("format", tuple(REPORT_FORMATS)) or "html"]
    with open_snapshot(viewer.run_library.loader(query.text("run"))) as snapshot:
        run = snapshot.loader.run

        def write() -> Encoded:
            text = chosen.write(report_of(snapshot, run.title))
            return Encoded(text.encode("utf-8", "replace"), chosen.content_type)

        written = heavy_answer(snapshot, "/report", query.parameters, write, read_note(run))
    name = f"report-{_NOT_IN_NAMES.sub('-', run.title)[:_MAX_NAME].strip('-')}{chosen.suffix}"
    content = written.content
    return Download(name, written.content_type, len(content), iter([content]), lambda: None)


class NoteJson(TypedDict):
    """The answer of the route ``note``."""

    note: str  #: the note on the run; empty if there is none
    file: str  #: the name of its file, in the folder of the run
    why_fixed: str  #: why it cannot be changed here, in a sentence; empty if it can


def note(viewer: Viewer, query: Query) -> NoteJson:
    """Return the note on a run, which is not opened."""
    run = viewer.run_library.found(query.text("run"))
    return {"note": read_note(run), "file": note_name(run), "why_fixed": _why_fixed(viewer, run)}


def _why_fixed(viewer: Viewer, run: FoundRun) -> str:
    try:
        own_folder(run)
    except ForbiddenError as error:
        return str(error)
    return viewer.access.read_only


def write_note(viewer: Viewer, body: object) -> Json:
    """Write the note on a run into the folder of the run."""
    if (
        not isinstance(body, dict)
        or not {"run", "note"} <= set(body) <= {"run", "note", "instead_of"}
        or not all(isinstance(value, str) for value in body.values())
    ):
        raise BadQueryError("The body must be an object with the texts run and note, and maybe instead_of.")
    # As a query, whose texts have a largest length.
    run = viewer.run_library.found(Query(body).text("run"))
    try:
        return {"file": keep_note(run, body["note"], body.get("instead_of"))}
    except OSError as error:
        reason = error.strerror or "it cannot be written to"
        raise ForbiddenError(f"The note cannot be kept in the folder of the run: {reason}.") from error
