"""The routes below ``live``: programs that can be stopped.

Two of them change a program; they are in :data:`POSTS`, which `routes` collects, and take the body of the
request as JSON. The secret of a program is in no answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias, TypedDict

from tb_debugger_plugin.analysis.graph.graphs import PausedOpJson, paused_op
from tb_debugger_plugin.analysis.snapshot import Json, open_snapshot
from tb_debugger_plugin.analysis.status import StatusJson, status
from tb_debugger_plugin.errors import BadQueryError, NotFoundError
from tb_debugger_plugin.live.messages import json, messages
from tb_debugger_plugin.live.viewer.followed_program import LiveProgramJson
from tb_debugger_plugin.server.query import Query
from tb_debugger_plugin.server.viewer import Viewer

#: Changes a program, or a file of the user; takes the body of the request.
Post: TypeAlias = Callable[[Viewer, object], Json]

#: Seconds that a request waits for news: less than the time after which proxies give up.
_MAX_WAIT_S: Final = 25.0
#: Seconds that a question about a pause waits for the program to write, and for the viewer to read.
_WRITTEN_S: Final = 0.5
_READ_S: Final = 1.0
_MAX_TENSORS: Final = 2000
_MAX_EXPRESSION: Final = 10_000


class LiveProgramsJson(TypedDict):
    """The programs that can be stopped."""

    version: int  #: a number that is another one when anything has changed
    #: whether this viewer refuses [requests that change a program](#requests-that-change-a-program)
    read_only: bool
    why_read_only: str  #: why it does, in a sentence; empty if it does not
    programs: list[LiveProgramJson]  #: the programs; one that has ended is listed for a minute more


class PausedJson(TypedDict):
    """What is on record at a pause."""

    run: str  #: name of the run
    is_complete: bool  #: whether everything up to the pause has been read
    status: StatusJson  #: the [status](#status) of the run
    op: PausedOpJson | None  #: null between calls, at an eager op, and when the op is not on record


def programs(viewer: Viewer, query: Query) -> LiveProgramsJson:
    """Return the programs, when there is something new."""
    since = query.optional_position("since")
    wait = min(query.optional_number("wait") or 0.0, _MAX_WAIT_S)
    if wait < 0:
        raise BadQueryError("wait must not be below 0.")
    listing = viewer.programs.listing(since, 0.0 if since is None else wait)
    return {
        "version": listing.version,
        "read_only": bool(viewer.access.read_only),
        "why_read_only": viewer.access.read_only,
        "programs": [one.to_json() for one in listing.programs],
    }


def tensors(viewer: Viewer, query: Query) -> Json:
    """Return the tensors of the current call."""
    program = viewer.programs.program(query.text("program"))
    after = query.optional_position("after") or 0
    limit = query.bounded("limit", 1, _MAX_TENSORS, _MAX_TENSORS)
    return json.to_json(program.service.list_tensors(after, limit))


def paused(viewer: Viewer, query: Query) -> PausedJson:
    """Return what is on record at a pause, after everything up to it has been read."""
    program = viewer.programs.program(query.text("program"))
    pause = program.wait_until_recorded(query.integer("pause"), _WRITTEN_S)
    if pause is None:
        raise NotFoundError("The program has gone on since that pause.")
    if program.run is None:
        raise NotFoundError("The program has no recording below the logdir.")
    loader = viewer.run_library.loader(program.run)
    is_complete = loader.catch_up(_READ_S)
    with open_snapshot(loader, may_lag=True) as snapshot:
        tensor = pause.tensor
        op = paused_op(snapshot, tensor.graph_id, tensor.op_name, tensor.slot) if tensor.graph_id else None
        return {"run": program.run, "is_complete": is_complete, "status": status(snapshot), "op": op}


def _control(viewer: Viewer, body: object) -> Json:
    program_id, given = _members(body, "program", "command")
    command = json.from_json(messages.Command, given, "command")
    return json.to_json(viewer.programs.program(_text("program", program_id)).control(command))


def _evaluate(viewer: Viewer, body: object) -> Json:
    program_id, expression = _members(body, "program", "expression")
    text = _text("expression", expression)
    return json.to_json(viewer.programs.program(_text("program", program_id)).evaluate(text))


def _members(body: object, *names: str) -> list[Any]:
    if not isinstance(body, dict) or set(body) != set(names):
        raise BadQueryError(f"The body must be an object with the members {' and '.join(names)}.")
    return [body[name] for name in names]


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_EXPRESSION:
        raise BadQueryError(f"{name} must be a text of at most {_MAX_EXPRESSION} characters.")
    if not json.is_unicode(value):
        raise BadQueryError(f"{name} is not Unicode.")
    return value


#: By path below ``/data/plugin/debugger``: what changes a program.
POSTS: Final[dict[str, Post]] = {
    "/live/control": _control,
    "/live/evaluate": _evaluate,
}
