"""The native half of the recorder: the watch ops, the record encoder, and the event files they write.

`load()` finds the compiled module, registers the watch ops with the TensorFlow that the program has loaded,
and returns the module; None with a reason in `unavailable_reason()` when there is no compiled module or
TensorFlow lacks what it needs. The recorder then falls back to TensorFlow's stock debug ops. The C++ headers
in `src/` say what each part does; `twin` defines in NumPy what the kernels must count.
"""

from __future__ import annotations

import functools
import importlib
import sys
from dataclasses import dataclass
from types import ModuleType
from typing import Any


@dataclass(frozen=True)
class _Loaded:
    module: ModuleType | None
    reason: str


def module_without_tensorflow() -> Any:
    """The compiled module as it is, its ops not registered.

    Returns:
      The module `tb_debugger_plugin.native._native`.

    Raises:
      ImportError: It was not built.
    """
    return importlib.import_module("tb_debugger_plugin.native._native")


@functools.cache
def _load() -> _Loaded:
    try:
        module = module_without_tensorflow()
    except ImportError as error:
        return _Loaded(None, f"the native library is not there ({error})")
    try:
        module.load_tensorflow(_framework_library(), _knows_classes())
        module.load_eager_api(_python_extension())
    except (OSError, RuntimeError) as error:
        return _Loaded(None, f"the native library does not fit this TensorFlow ({error})")
    return _Loaded(module, "")


#: The versions of TensorFlow in which tests have shown that its classes are as `src/tf_classes.h` has them.
_KNOWN_CLASSES = ((2, 16), (2, 21))


def _knows_classes() -> bool:
    import tensorflow as tf

    oldest, newest = _KNOWN_CLASSES
    return oldest <= tuple(map(int, tf.__version__.split(".")[:2])) <= newest


def _framework_library() -> str:
    """Path of the shared library that holds TensorFlow's C API for kernels."""
    import tensorflow as tf

    # Such as "-l:libtensorflow_framework.so.2" on Linux and "-ltensorflow_framework.2" on macOS.
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
    """Path of the shared library that makes Python's eager tensors; empty when TensorFlow has moved it."""
    extension = sys.modules.get("tensorflow.python._pywrap_tensorflow_internal")
    return str(getattr(extension, "__file__", None) or "")


def load() -> Any | None:
    """The compiled module with its ops registered.

    Returns:
      The module, or None when the recorder has to do without; `unavailable_reason()` says why.
    """
    return _load().module


def unavailable_reason() -> str:
    """Why `load()` returns None; an empty string when it does not."""
    return _load().reason
