"""The key that commands to programs need, as those of Jupyter do.

It is ``$TB_DEBUGGER_KEY``, else a random one in a file that only its user can read, which the first
TensorBoard or program of the user makes. So a program can print it where the output of TensorBoard is not
seen.
"""

from __future__ import annotations

import logging
import os
import re
import secrets
import sys
from pathlib import Path
from typing import Final

from tb_debugger_plugin.errors import FormatError
from tb_debugger_plugin.live.messages.own_files import make_private, own_bytes

_log = logging.getLogger("tb_debugger_plugin")

KEY_VARIABLE: Final = "TB_DEBUGGER_KEY"
#: It travels in a header and in the fragment of an address.
_KEY: Final = re.compile(r"[A-Za-z0-9_.~-]{8,200}")
_MAX_BYTES: Final = 1000


def users_key() -> str:
    """Return the key of this user.

    If the file cannot be kept, it is a new one, which no other process knows.
    """
    chosen = os.environ.get(KEY_VARIABLE, "")
    if _KEY.fullmatch(chosen):
        return chosen
    if chosen:
        _log.warning("%s is not used: it must be 8 to 200 letters, digits or -_.~", KEY_VARIABLE)
    try:
        return _kept_key(key_file())
    except (OSError, FormatError, RuntimeError) as error:
        _log.warning("The key for commands to programs is not kept in a file: %s", error)
        return secrets.token_urlsafe(24)


def key_file() -> Path:
    """Return the file of the key: ``tb_debugger_plugin/key`` in the user's folder for states."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "tb_debugger_plugin" / "key"


def _kept_key(path: Path) -> str:
    if not path.exists():
        make_private(path, secrets.token_urlsafe(24).encode())
    key = own_bytes(path, _MAX_BYTES, is_private=True).decode("ascii", "replace").strip()
    if not _KEY.fullmatch(key):
        raise FormatError(f"{path} holds no key: delete it.")
    return key


def fragment(key: str) -> str:
    """Return what is appended to the address of TensorBoard so that its page has a key."""
    return f"#debugger&p.debugger.key={key}"


def notebook_words() -> str:
    """Return a sentence with the key in a notebook, which hides what TensorBoard prints; else nothing."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if getattr(shell, "kernel", None) is None:
        return ""
    return f" The page asks for this key before it takes a command: {users_key()}"
