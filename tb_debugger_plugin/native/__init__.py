"""The native half of the recorder: the watch ops, the record encoder, and the event files they write.

`load()` finds the compiled module, registers the watch ops with the TensorFlow that the program has loaded,
and returns the module. It returns None when there is no compiled module or TensorFlow lacks a function that
the module needs; `unavailable_reason()` then says why, and the recorder falls back to TensorFlow's stock
debug ops. The C++ headers in `src/` describe each part; `structs` describes the values that the module
takes from Python and returns.
"""

from __future__ import annotations

import functools
import importlib
import sys
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True)
class _Loaded:
    module: ModuleType | None
    reason: str


def module_without_tensorflow() -> ModuleType:
    """Return the compiled module without registering its ops.

    Returns:
      The module `tb_debugger_plugin.native._native`.

    Raises:
      ImportError: The module was not built.
    """
    return importlib.import_module("tb_debugger_plugin.native._native")


@functools.cache
def _load() -> _Loaded:
    try:
        module = module_without_tensorflow()
    except ImportError as error:
        return _Loaded(None, f"the native library is missing ({error})")
    try:
        module.load_tensorflow(_framework_library(), _knows_classes())
        module.load_eager_api(_python_extension())
    except (OSError, RuntimeError) as error:
        return _Loaded(None, f"the native library does not fit this TensorFlow ({error})")
    return _Loaded(module, "")


#: Oldest and newest version of TensorFlow for which tests have shown that its classes match
#: `src/tf_classes.h`.
_KNOWN_CLASSES = ((2, 16), (2, 21))


def _knows_classes() -> bool:
    import tensorflow as tf

    oldest, newest = _KNOWN_CLASSES
    return oldest <= tuple(map(int, tf.__version__.split(".")[:2])) <= newest


def _framework_library() -> str:
    """Return the path of the shared library that holds TensorFlow's C API for kernels."""
    import tensorflow as tf

    # The flag is "-l:libtensorflow_framework.so.2" on Linux and "-ltensorflow_framework.2" on macOS.
    directory, name = "", ""
    for flag in tf.sysconfig.get_link_flags():
        if flag.startswith("-L"):
            directory = flag[2:]
        elif flag.startswith("-l:"):
            name = flag[3:]
        elif flag.startswith("-l"):
            name = f"lib{flag[2:]}.dylib"
    return f"{directory}/{name}"


def _python_extension() -> str:
    """Return the path of the library that makes Python's eager tensors; "" when TensorFlow has moved it."""
    extension = sys.modules.get("tensorflow.python._pywrap_tensorflow_internal")
    return str(getattr(extension, "__file__", None) or "")


def load() -> ModuleType | None:
    """Return the compiled module with its ops registered.

    Returns:
      The module, or None when it cannot be used; `unavailable_reason()` says why.
    """
    return _load().module


def unavailable_reason() -> str:
    """Return the reason why `load()` returns None; an empty string when `load()` returns the module."""
    return _load().reason
