"""Refuses requests that a page of another site made, that have no key, and ones that are too large.

A request must name a host that is known: a site that lets its own name lead to this machine would be of the
same origin. One that only reads may have the key of the viewer instead. A request that changes something must
have the key, which only its user knows (`live/messages/key.py`), be JSON by its content type, so that no form
can send it, and come from the same origin as far as the browser says.
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

from tb_debugger_plugin.errors import (
    BadQueryError,
    ForbiddenError,
    KeyNeededError,
    QueryError,
    TooLargeError,
)
from tb_debugger_plugin.server.viewer import Access

KEY_HEADER: Final = "X-TB-Debugger-Key"
#: Names of hosts, separated by commas, under which the viewer may be asked.
HOSTS_VARIABLE: Final = "TB_DEBUGGER_ALLOWED_HOSTS"
MAX_BODY: Final = 64 << 10


def check_reader(access: Access, request: wrappers.Request) -> None:
    """Check that a request may read.

    Raises:
      ForbiddenError: It may come from another site.
    """
    if not (has_known_host(access, request) or _has_key(access, request)):
        raise ForbiddenError(_UNKNOWN_HOST)


def checked_body(access: Access, request: wrappers.Request) -> bytes:
    """Return the body of a request that may change something.

    Raises:
      ForbiddenError: The viewer is read-only, or the request may come from another site.
      KeyNeededError: It does not have the key.
      TooLargeError: The body is too large.
      BadQueryError: Its length is not given, or is not true.
    """
    if access.read_only:
        raise ForbiddenError(access.read_only)
    for is_right, error in _RULES:
        if not is_right(access, request):
            raise error
    length = request.content_length
    if length is None:
        raise BadQueryError("The request must say how long its body is.")
    if length > MAX_BODY:
        raise TooLargeError(f"The body has {length:,} bytes; at most {MAX_BODY:,} are taken.")
    body = request.stream.read(length)
    if len(body) != length:
        raise BadQueryError("The body of the request is cut off.")
    return body


def has_known_host(access: Access, request: wrappers.Request) -> bool:
    """Whether a request names a host that no other site can have: an address, or a name of this machine."""
    name = _host_name(request.headers.get("Host", ""))
    return name is not None and (
        is_loopback(name)
        or _is_address(name)
        or name == access.bound_host.lower()
        or name in _given_names()
        or name in _own_names()
    )


def is_loopback(name: str) -> bool:
    """Whether a name or an address of a host is reached on this machine only."""
    if name == "localhost" or name.endswith(".localhost"):
        return True
    return _is_address(name) and ipaddress.ip_address(name).is_loopback


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


def _is_json(access: Access, request: wrappers.Request) -> bool:
    return request.mimetype == "application/json"


def _is_of_same_origin(access: Access, request: wrappers.Request) -> bool:
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("Origin")
    # Browsers send the former only over https and to localhost. A proxy may change the scheme.
    return origin is None or _origin_host(origin) == request.headers.get("Host", "").lower()


def _origin_host(origin: str) -> str | None:
    """Return the host and port of an origin; None if it is none."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None


def _has_key(access: Access, request: wrappers.Request) -> bool:
    given = request.headers.get(KEY_HEADER, "")
    return hmac.compare_digest(given.encode("utf-8", "replace"), access.key.encode())


_UNKNOWN_HOST: Final = (
    "The viewer does not know this name of its host, so the request may be forged. Open the page at localhost"
    f" or an IP address, or start TensorBoard with {HOSTS_VARIABLE}=name."
)
_RULES: Final[tuple[tuple[Callable[[Access, wrappers.Request], bool], QueryError], ...]] = (
    (_is_json, ForbiddenError("The content type must be application/json.")),
    (has_known_host, ForbiddenError(_UNKNOWN_HOST)),
    (_is_of_same_origin, ForbiddenError("The request comes from a page of another site.")),
    (_has_key, KeyNeededError(f"The header {KEY_HEADER} does not have the key of this viewer.")),
)
