"""The build steps and the optional native library, which pyproject.toml cannot describe."""

from setuptools import setup

from build_steps.commands import Build, BuildExt, BuildGenerated
from build_steps.native import extensions

setup(
    ext_modules=extensions(),
    cmdclass={"build": Build, "build_ext": BuildExt, "build_generated": BuildGenerated},
)
