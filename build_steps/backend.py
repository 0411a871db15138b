"""The PEP 517 backend: that of setuptools, with one more requirement.

It requires a Node.js from PyPI when the front end has to be built and the machine has no Node.js.
"""

from __future__ import annotations

from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

from build_steps.frontend import frontend_is_fresh
from build_steps.node import FROM_PYPI, find_node

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return what setuptools needs to make a wheel, and a Node.js if the machine has none."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *_node()]


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    """Return what setuptools needs for `pip install -e`, and a Node.js if the machine has none."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *_node()]


def _node() -> list[str]:
    return [] if frontend_is_fresh() or find_node() else [FROM_PYPI]
