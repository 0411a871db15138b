"""The routes that change something: a program, or a file of the user. They take the body as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tb_debugger_plugin.server import live, rules
from tb_debugger_plugin.server.viewer import Viewer

Post = Callable[[Viewer, Any], dict[str, Any]]

#: By path below ``/data/plugin/debugger``.
POSTS: Final[dict[str, Post]] = {**live.POSTS, "/alerts/allow": rules.allow}
