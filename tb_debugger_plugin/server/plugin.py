"""The plugin that TensorBoard loads.

Takes WSGI requests below ``/data/plugin/debugger/`` and returns responses. This module takes requests apart,
and only this module turns errors into status codes: 400 for a bad query, 403 for a request that may be
forged, 404 for what does not exist, 405 for another method than the route has, 413 for a body that is too
large, 422 for a run whose files cannot be read, 503 while a run is being opened, and 500 with a sentence for
unexpected errors.

Invariant: a GET changes nothing but caches, and no answer has the key. A POST changes a program, or a
file of the user beside a run. Both pass `forgery` first; only the files of the page do not.
"""

from __future__ import annotations

import functools
import logging
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tensorboard.backend import http_util
from tensorboard.plugins import base_plugin
from werkzeug import wrappers

from tb_debugger_plugin.errors import (
    BadQueryError,
    DebuggerError,
    ForbiddenError,
    KeyNeededError,
    NotFoundError,
    NotReadyError,
    QueryError,
    TooLargeError,
    UnreadableRunError,
    UsageError,
)
from tb_debugger_plugin.index.logdir import Logdir, one_folder, several_folders
from tb_debugger_plugin.live.messages.json import parse
from tb_debugger_plugin.live.messages.key import fragment, users_key
from tb_debugger_plugin.server.answers import Download, encoded, json_text
from tb_debugger_plugin.server.forgery import check_reader, checked_body, has_known_host, is_loopback
from tb_debugger_plugin.server.live import Post
from tb_debugger_plugin.server.query import Query
from tb_debugger_plugin.server.routes import POSTS, ROUTES, Route
from tb_debugger_plugin.server.viewer import Access, open_viewer

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

# Serves the files of the built front end.
#
# Takes a path below the plugin's prefix and returns a file of ``tb_debugger_plugin/static/`` with its type.
#
# Invariant: only names that a build can have made are looked up, so no path leads out of the folder.

STATIC: Final = Path(__file__).resolve().parent.parent / "static"
ENTRY: Final = "/index.js"
#: Seconds that browsers may keep a file whose name changes with its content.
HASHED_SECONDS: Final = 365 * 24 * 3600

# The system's table can contain anything; on Windows it is the registry.
_TYPES: Final = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".json": "application/json",
    ".map": "application/json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
    ".wasm": "application/wasm",
    ".txt": "text/plain",
}
_NAME: Final = re.compile(r"^/(?:[A-Za-z0-9_][A-Za-z0-9_.-]*/){0,3}[A-Za-z0-9_][A-Za-z0-9_.-]*$")
_HASHED: Final = re.compile(r"[-.][A-Za-z0-9_-]{8,}\.[a-z0-9]+$")
_NOT_BUILT: Final = (
    "The page is not built: run `make frontend` in the checkout, or install the package with "
    "`pip install .`, and start TensorBoard again."
)


@dataclass(frozen=True)
class StaticFile:
    """A file to send.

    Attributes:
      content: The bytes of the file.
      content_type: The MIME type.
      expires: Seconds that browsers may keep it; 0 = request it each time.
    """

    content: bytes
    content_type: str
    expires: int


def static_file(path: str, folder: Path = STATIC) -> StaticFile:
    """Look up a file of the front end.

    Args:
      path: The path below the plugin's prefix, with the leading slash, such as ``/index.js``.
      folder: The folder of the built files.

    Raises:
      NotFoundError: There is no such file.
    """
    content_type = _TYPES.get(Path(path).suffix)
    if not _NAME.match(path) or content_type is None:
        raise NotFoundError("There is no such route.")
    try:
        content = (folder / path[1:]).read_bytes()
    except OSError:
        if path == ENTRY:
            return StaticFile(_explanation(), _TYPES[".js"], 0)
        raise NotFoundError("There is no such file. The page may have been rebuilt: reload it.") from None
    # Vite puts files with hashed names into their own folder; the name of the entry is fixed.
    hashed = path.startswith("/assets/") and _HASHED.search(path) is not None
    return StaticFile(content, content_type, HASHED_SECONDS if hashed else 0)


def _explanation() -> bytes:
    return f"export function render() {{ document.body.textContent = {_NOT_BUILT!r}; }}\n".encode()


_logger = logging.getLogger(__name__)

PLUGIN_NAME: Final = "debugger"
TAB_NAME: Final = "Debugger"
#: Set to 1, it keeps every page of this viewer from changing programs.
READ_ONLY_VARIABLE: Final = "TB_DEBUGGER_READ_ONLY"

_STATUS: Final[tuple[tuple[type[DebuggerError], int], ...]] = (
    (BadQueryError, 400),
    # A name, a rule or a parameter that the user wrote.
    (UsageError, 400),
    (ForbiddenError, 403),
    (NotFoundError, 404),
    (TooLargeError, 413),
    (UnreadableRunError, 422),
    (NotReadyError, 503),
)


class DebuggerPlugin(base_plugin.TBPlugin):
    """The tab *Debugger*; lives as long as TensorBoard.

    Args:
      context: TensorBoard's context; only ``logdir`` and the flags ``logdir_spec``, ``host``, ``bind_all``,
        and those of `loader` are used.
    """

    plugin_name = PLUGIN_NAME

    def __init__(self, context: base_plugin.TBContext) -> None:
        super().__init__(context)
        logdir = _logdir(context)
        for problem in logdir.problems:
            _logger.warning("The debugger cannot show %s: %s", problem.location, problem.message)
        self._access = _access(context)
        self._viewer = open_viewer(logdir, self._access)
        self._is_link_known = bool(self._access.read_only)
        if not self._is_link_known:
            say(f"commands need a key. Append {fragment(self._access.key)} to the address of TensorBoard.")

    def get_plugin_apps(self) -> dict[str, WSGIApplication]:
        """Return the routes; other paths are files of the front end."""
        apps: dict[str, WSGIApplication] = {path: self._app(route) for path, route in ROUTES.items()}
        apps |= {path: self._post_app(post) for path, post in POSTS.items()}
        apps[ENTRY] = self._static
        apps["/*"] = self._static
        return apps

    def is_active(self) -> bool:
        """Whether there are debug events, a program or a problem to show; returns within milliseconds."""
        return self._viewer.run_library.is_active()

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """Return the name of the tab and its JavaScript module."""
        return base_plugin.FrontendMetadata(
            es_module_path=ENTRY, tab_name=TAB_NAME, disable_reload=False, remove_dom=False
        )

    def close(self) -> None:
        """Stop reading, close the databases, and leave programs alone."""
        self._viewer.close()

    def _app(self, route: Route) -> WSGIApplication:
        def answer(request: wrappers.Request) -> wrappers.Response:
            check_reader(self._access, request)
            self._print_link(request)
            value = route(self._viewer, Query(request.args))
            if isinstance(value, Download):
                return _send(value)
            ready = encoded(value)
            return _respond(request, ready.content, ready.content_type, encoding=ready.encoding)

        return _wsgi(answer)

    def _post_app(self, post: Post) -> WSGIApplication:
        def answer(request: wrappers.Request) -> wrappers.Response:
            value = post(self._viewer, parse(checked_body(self._access, request)))
            return _respond(request, json_text(value), "application/json")

        return _wsgi(answer, ("POST",))

    def _print_link(self, request: wrappers.Request) -> None:
        """Print the whole link at the first request: before it, nobody knows the port."""
        if not self._is_link_known and has_known_host(self._access, request):
            self._is_link_known = True
            say(f"{request.root_url}{fragment(self._access.key)}")

    @functools.cached_property
    def _static(self) -> WSGIApplication:
        return _wsgi(_answer_static)


def _logdir(context: base_plugin.TBContext) -> Logdir:
    logdir = getattr(context, "logdir", None)
    if logdir:
        return one_folder(logdir)
    return several_folders(getattr(context.flags, "logdir_spec", None) or "")


def _access(context: base_plugin.TBContext) -> Access:
    host = str(getattr(context.flags, "host", None) or "")
    return Access(users_key(), _why_read_only(context.flags, host), host)


def _why_read_only(flags: Namespace, host: str) -> str:
    if getattr(flags, "debugger_read_only", False):
        return "This viewer is read-only: TensorBoard was started with --debugger_read_only."
    if os.environ.get(READ_ONLY_VARIABLE, "") not in ("", "0"):
        return f"This viewer is read-only: TensorBoard was started with {READ_ONLY_VARIABLE}=1."
    is_beyond = getattr(flags, "bind_all", False) or (host and not is_loopback(host.lower()))
    if is_beyond and not getattr(flags, "debugger_allow_commands", False):
        return (
            "This viewer is read-only, because other machines reach it: start TensorBoard without --bind_all"
            " and --host, or with --debugger_allow_commands."
        )
    return ""


def say(sentence: str) -> None:
    """Print a sentence where TensorBoard prints its address."""
    print(f"TensorFlow debugger: {sentence}", file=sys.stderr, flush=True)


def _answer_static(request: wrappers.Request) -> wrappers.Response:
    # TensorBoard may be served below a prefix, and strips that of an experiment; the plugin's is kept.
    _, _, below = request.path.partition(f"/plugin/{PLUGIN_NAME}")
    file = static_file(below or request.path)
    return _respond(request, file.content, file.content_type, expires=file.expires)


def _wsgi(
    answer: Callable[[wrappers.Request], wrappers.Response], methods: tuple[str, ...] = ("GET", "HEAD")
) -> WSGIApplication:
    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = wrappers.Request(dict(environ))
        return _respond_to(answer, request, methods)(dict(environ), start_response)

    return app


def _respond_to(
    answer: Callable[[wrappers.Request], wrappers.Response],
    request: wrappers.Request,
    methods: tuple[str, ...],
) -> wrappers.Response:
    if request.method not in methods:
        response = _error(request, f"{request.method} is not allowed here; use {methods[0]}.", 405)
        response.headers["Allow"] = ", ".join(methods)
        return response
    try:
        return answer(request)
    except (QueryError, UsageError) as error:
        code = next((code for kind, code in _STATUS if isinstance(error, kind)), 400)
        return _error(request, str(error), code, needs_key=isinstance(error, KeyNeededError))
    except Exception:
        _logger.exception("Answering %s failed.", request.path)
        return _error(
            request, "The debugger failed to answer this request; TensorBoard's log has the reason.", 500
        )


def _error(
    request: wrappers.Request, sentence: str, code: int, *, needs_key: bool = False
) -> wrappers.Response:
    facts = {"error": sentence, **({"needs_key": True} if needs_key else {})}
    return _respond(request, json_text(facts), "application/json", code=code)


def _send(download: Download) -> wrappers.Response:
    # http_util.Respond takes whole contents only.
    response = wrappers.Response(download.chunks, content_type=download.content_type)
    response.headers["Content-Length"] = str(download.size)
    response.headers["Content-Disposition"] = f'attachment; filename="{download.name}"'
    response.headers["X-Content-Type-Options"] = "nosniff"
    # A file is saved; a browser that shows it in place of that must run nothing of it.
    response.headers["Content-Security-Policy"] = "default-src 'none'"
    response.call_on_close(download.close)
    return response


def _respond(
    request: wrappers.Request,
    content: str | bytes,
    content_type: str,
    *,
    code: int = 200,
    expires: int = 0,
    encoding: str | None = None,
) -> wrappers.Response:
    response: wrappers.Response = http_util.Respond(
        request, content, content_type, code=code, expires=expires, content_encoding=encoding
    )
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
