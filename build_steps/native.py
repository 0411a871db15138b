"""The native libraries. All are optional: the package also installs where they cannot be compiled.

The recorder's library has every C++ file of `tb_debugger_plugin/native/src` and needs no headers of
TensorFlow; without it the recorder uses TensorFlow's stock ops. The viewer's library,
`tb_debugger_plugin/index/src`, only makes reading faster; it is loaded by path, not imported.

`python -m build_steps.native` says which of them are missing. pip does not show why a compiler failed.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from setuptools import Extension

from build_steps.freshness import PACKAGE, ROOT

_SOURCES = PACKAGE / "native" / "src"
_INDEX_SOURCES = PACKAGE / "index" / "src"
_FLAGS = ["-std=c++17", "-O3", "-fvisibility=hidden", "-pthread", "-g0"]


def extensions() -> list[Extension]:
    """Return the extensions to build; none on Windows, or without C++ sources."""
    recorder = sorted(_SOURCES.glob("*.cc"))
    if not recorder or os.name == "nt":
        return []
    viewer = [*sorted(_INDEX_SOURCES.glob("*.cc")), _SOURCES / "crc32c.cc"]
    return [
        _extension("tb_debugger_plugin.native._native", recorder),
        _extension("tb_debugger_plugin.index._frames", viewer),
    ]


def _extension(name: str, sources: list[Path]) -> Extension:
    folders = sorted({source.parent for source in sources})
    headers = sorted(header for folder in folders for header in folder.rglob("*.h"))
    return Extension(
        name,
        [str(path.relative_to(ROOT)) for path in sources],
        include_dirs=[str(folder.relative_to(ROOT)) for folder in folders],
        depends=[str(path.relative_to(ROOT)) for path in headers],
        extra_compile_args=_FLAGS,
        extra_link_args=["-pthread"],
        language="c++",
        optional=True,
    )


def missing_libraries() -> list[str]:
    """Return the names of the extensions that are not built in the source tree."""
    built = {extension.name: ROOT.joinpath(*extension.name.split(".")) for extension in extensions()}
    return [name for name, path in built.items() if not any(path.parent.glob(f"{path.name}.*.so"))]


if __name__ == "__main__":
    for name in missing_libraries():
        print(
            f"{name} was not compiled, so recording or reading is slower. "
            "`python setup.py build_ext --inplace` shows why.",
            file=sys.stderr,
        )
