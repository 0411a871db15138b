"""The native library: every C++ file of `tb_debugger_plugin/native/src`, without TensorFlow's headers.

It is loaded by path, not imported, and is optional: where it cannot be compiled the package still installs,
and the recorder uses TensorFlow's stock ops.
"""

from __future__ import annotations

import os

from setuptools import Extension

from build_steps.freshness import PACKAGE, ROOT

_SOURCES = PACKAGE / "native" / "src"
_FLAGS = ["-std=c++17", "-O3", "-fvisibility=hidden", "-pthread", "-g0"]


def extensions() -> list[Extension]:
    """The extension to build; none while there is no C++ source."""
    sources = [str(path.relative_to(ROOT)) for path in sorted(_SOURCES.glob("*.cc"))]
    if not sources or os.name == "nt":
        return []
    return [
        Extension(
            "tb_debugger_plugin.native._native",
            sources,
            include_dirs=[str(_SOURCES.relative_to(ROOT))],
            depends=[str(path.relative_to(ROOT)) for path in sorted(_SOURCES.glob("*.h"))],
            extra_compile_args=_FLAGS,
            extra_link_args=["-pthread"],
            language="c++",
            optional=True,
        )
    ]
