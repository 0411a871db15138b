"""Serves the files of the built front end.

Takes a path below the plugin's prefix and returns a file of ``tb_debugger_plugin/static/`` with its type.

Invariant: only names that a build can have made are looked up, so no path leads out of the folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tb_debugger_plugin.errors import NotFoundError

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
