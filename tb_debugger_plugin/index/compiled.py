"""Loads the small library that is compiled from ``src/`` when there is a compiler.

Invariant: Python does everything that the library does, several times slower.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.machinery
from pathlib import Path
from typing import Any, Final

_INT, _POINTER, _BYTES = ctypes.c_int64, ctypes.c_void_p, ctypes.c_char_p
#: Result and arguments of each function, as in ``src/frames.h`` and ``src/templates.h``.
_FUNCTIONS: Final[dict[str, tuple[Any, tuple[Any, ...]]]] = {
    "tbdbg_walk": (_INT, (_BYTES, _INT, _INT, _INT, _POINTER, _POINTER)),
    "tbdbg_templates_new": (_POINTER, (ctypes.c_uint64,)),
    "tbdbg_templates_delete": (None, (_POINTER,)),
    "tbdbg_templates_add": (ctypes.c_int32, (_POINTER, _POINTER, _INT, _INT, _INT)),
    "tbdbg_templates_find": (ctypes.c_int32, (_POINTER, _POINTER, _INT)),
    "tbdbg_templates_match": (None, (_POINTER, _POINTER, _POINTER, _POINTER, _INT, *[_POINTER] * 3)),
}


@functools.cache
def load() -> ctypes.CDLL | None:
    """Return the library; None when the package was built without a compiler."""
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = Path(__file__).with_name(f"_frames{suffix}")
        if path.exists():
            # A library that was built from older sources lacks functions.
            with contextlib.suppress(OSError, AttributeError):
                return _with_types(ctypes.CDLL(str(path)))
    return None


def _with_types(loaded: ctypes.CDLL) -> ctypes.CDLL:
    for name, (result, arguments) in _FUNCTIONS.items():
        function = getattr(loaded, name)
        function.restype, function.argtypes = result, arguments
    return loaded
