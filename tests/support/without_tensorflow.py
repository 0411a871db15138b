"""Runs a program without TensorFlow: `python -m tests.support.without_tensorflow tbdbg info logdir`.

Takes the name of a module or of an installed command, with its arguments. Exits with the program's exit code,
or with 3 if TensorFlow was imported all the same.
"""

from __future__ import annotations

import importlib.abc
import runpy
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.metadata import entry_points
from types import ModuleType

NAMES = ("tensorflow", "keras", "tf_keras", "jax", "torch")


class Refusal(importlib.abc.MetaPathFinder):
    """An import finder that refuses TensorFlow, as if it were not installed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Refuse modules of TensorFlow; leave the others to the next finder."""
        if fullname.partition(".")[0] in NAMES:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return None


def main() -> int:
    """Run the program and return its exit code."""
    sys.meta_path.insert(0, Refusal())
    name = sys.argv[1]
    sys.argv = sys.argv[1:]
    code: object = 0
    try:
        commands = entry_points(group="console_scripts", name=name)
        if commands:
            code = next(iter(commands)).load()()
        else:
            runpy.run_module(name, run_name="__main__", alter_sys=True)
    except SystemExit as error:
        code = error.code
    if any(module.partition(".")[0] in NAMES for module in sys.modules):
        return 3
    return code if isinstance(code, int) else int(code is not None)


if __name__ == "__main__":
    sys.exit(main())
