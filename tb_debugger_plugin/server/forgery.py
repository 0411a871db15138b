"""Refuses requests that a page of another site made, and ones that are too large.

Takes a request that would change a program, and returns its body. A request is trusted if it has the token of
this process, which only a page of the same origin can read, is JSON by its content type, so that no form can
send it, and comes from the same origin as far as the browser says. The name of the host must be known: a
site that lets its own name lead to this machine would be of the same origin.
"""

from __future__ import annotations

import functools
import hmac
import ipaddress
import os
import socket
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from werkzeug import wrappers

from tb_debugger_plugin.errors import BadQueryError, ForbiddenError, TooLargeError
from tb_debugger_plugin.server.viewer import Viewer

TOKEN_HEADER: Final = "X-TB-Debugger-Token"
#: Names of hosts, separated by commas, under which the viewer may be asked to change a program.
HOSTS_VARIABLE: Final = "TB_DEBUGGER_ALLOWED_HOSTS"
MAX_BODY: Final = 64 << 10


def checked_body(viewer: Viewer, request: wrappers.Request) -> bytes:
    """Returns the body of a request that may change a program.

    Raises:
      ForbiddenError: The viewer is read-only, or the request may come from another site.
      TooLargeError: The body is too large.
      BadQueryError: Its length is not given, or is not true.
    """
    for is_right, sentence in _RULES:
        if not is_right(viewer, request):
            raise ForbiddenError(sentence)
    length = request.content_length
    if length is None:
        raise BadQueryError("The request must say how long its body is.")
    if length > MAX_BODY:
        raise TooLargeError(f"The body has {length:,} bytes; at most {MAX_BODY:,} are taken.")
    body = request.stream.read(length)
    if len(body) != length:
        raise BadQueryError("The body of the request is cut off.")
    return body


def _may_change(viewer: Viewer, request: wrappers.Request) -> bool:
    return not viewer.is_read_only


def _is_json(viewer: Viewer, request: wrappers.Request) -> bool:
    return request.mimetype == "application/json"


def _has_known_host(viewer: Viewer, request: wrappers.Request) -> bool:
    name = _host_name(request.headers.get("Host", ""))
    if name is None:
        return False
    return name == "localhost" or _is_address(name) or name in _given_names() or name in _own_names()


def _host_name(host: str) -> str | None:
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _given_names() -> set[str]:
    return {name.strip() for name in os.environ.get(HOSTS_VARIABLE, "").lower().split(",")} - {""}


@functools.cache
def _own_names() -> frozenset[str]:
    # Asked once: without a name server, the answer may take seconds.
    return frozenset((socket.gethostname().lower(), socket.getfqdn().lower())) - {""}


def _is_of_same_origin(viewer: Viewer, request: wrappers.Request) -> bool:
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("Origin")
    # Browsers send the former only over https and to localhost. A proxy may change the scheme.
    return origin is None or _origin_host(origin) == request.headers.get("Host", "").lower()


def _origin_host(origin: str) -> str | None:
    """Returns the host and port of an origin; None if it is none."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _has_token(viewer: Viewer, request: wrappers.Request) -> bool:
    given = request.headers.get(TOKEN_HEADER, "")
    return hmac.compare_digest(given.encode("utf-8", "replace"), viewer.token.encode())


_RULES: Final[tuple[tuple[Callable[[Viewer, wrappers.Request], bool], str], ...]] = (
    (_may_change, "This viewer is read-only: TensorBoard was started with --debugger_read_only."),
    (_is_json, "The content type must be application/json."),
    (
        _has_known_host,
        "The viewer does not know this name of its host, so the request may be forged. Open the page at"
        f" localhost or at an IP address, or start TensorBoard with {HOSTS_VARIABLE}=name.",
    ),
    (_is_of_same_origin, "The request comes from a page of another site."),
    (_has_token, f"The header {TOKEN_HEADER} is not the token of this viewer; load the page again."),
)
