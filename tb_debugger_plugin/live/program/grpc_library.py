"""Imports gRPC without its handlers of forks, unless the program has imported it before or has chosen.

While a server runs, the handlers do nothing in a process that forks, but they start threads in its child, and
many a child crashes.
"""

from __future__ import annotations

import os
from typing import Any, Final

_VARIABLE: Final = "GRPC_ENABLE_FORK_SUPPORT"


def _imported() -> Any:
    is_chosen = _VARIABLE in os.environ
    os.environ.setdefault(_VARIABLE, "0")
    try:
        import grpc
    finally:
        if not is_chosen:
            del os.environ[_VARIABLE]  # programs that this one starts choose for themselves
    return grpc


grpc: Final[Any] = _imported()
