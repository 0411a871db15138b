"""The build steps as setuptools commands.

`build_generated` runs before setuptools' own steps and writes into the source tree, so that an ordinary, an
editable and a wheel build find the same files at the same paths.
"""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

from setuptools import Command, Extension
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

from build_steps import native
from build_steps.freshness import is_fresh
from build_steps.frontend import build_frontend
from build_steps.protos import build_descriptors
from build_steps.tables import build_tables
from build_steps.wire import build_wire


def _build_sources() -> None:
    build_descriptors()
    build_tables()
    build_wire()


class BuildGenerated(Command):
    """Makes the descriptors, the modules of the tables and the front end in the source tree."""

    description = "generate the protobuf descriptors, the tables and the front end"
    user_options: ClassVar[list[tuple[str, str | None, str]]] = []
    # Set by setuptools for `pip install -e`.
    editable_mode = False

    def initialize_options(self) -> None:
        """Declare the option that `finalize_options` sets."""
        self.build_lib: str | None = None

    def finalize_options(self) -> None:
        """Copy the folder in which the package is collected from the command `build_py`."""
        self.set_undefined_options("build_py", ("build_lib", "build_lib"))

    def run(self) -> None:
        """Generate what is out of date."""
        _build_sources()
        build_frontend()
        self._remove_earlier_front_end()

    def _remove_earlier_front_end(self) -> None:
        # Names of chunks contain a hash, so the chunks of an earlier build would also go into the wheel.
        if self.build_lib and not self.editable_mode:
            shutil.rmtree(Path(self.build_lib) / "tb_debugger_plugin" / "static", ignore_errors=True)


class BuildExt(build_ext):
    """The `build_ext` command of setuptools, which also works alone: the headers are generated first."""

    def run(self) -> None:
        """Generate the headers and compile."""
        _build_sources()
        super().run()

    def build_extension(self, ext: Extension) -> None:
        """Compile the files that are newer than what they became, or all after a change of a header.

        As many at once as there are processors.
        """
        shared = [*map(Path, ext.depends), Path(native.__file__)]
        compiler, jobs = self.compiler, list[tuple[object, ...]]()
        compile_files, compile_file = compiler.compile, compiler._compile

        def note_stale(obj: str, src: str, *arguments: object) -> None:
            if self.force or not is_fresh(Path(obj), [Path(src), *shared]):
                jobs.append((obj, src, *arguments))

        def compile_at_once(*arguments: object, **options: object) -> object:
            objects = compile_files(*arguments, **options)
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(lambda job: compile_file(*job), jobs))
            return objects

        compiler.compile, compiler._compile = compile_at_once, note_stale
        try:
            super().build_extension(ext)
        finally:
            compiler.compile, compiler._compile = compile_files, compile_file


class Build(build):
    """The `build` command of setuptools, with our step before the others."""

    sub_commands: ClassVar = [("build_generated", None), *build.sub_commands]
