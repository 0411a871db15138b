"""Prints the oldest versions that `pyproject.toml` allows, as constraints for pip.

    python -m build_steps.oldest

There is a line for each dependency of the package and of its extra `shell`: `numpy==1.23.5` for
`numpy>=1.23.5`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_PYPROJECT: Final = Path(__file__).parents[1] / "pyproject.toml"
_LIST: Final = re.compile(r"^(?:dependencies|shell) = \[(.*?)\]", re.MULTILINE | re.DOTALL)
_BOUND: Final = re.compile(r'"([a-z0-9-]+)>=([0-9.]+)[",;]')


def oldest_versions() -> dict[str, str]:
    """Return the lower bound of each dependency, by name.

    Raises:
      ValueError: The list of dependencies does not have the format that this module expects.
    """
    # Python 3.10 has no TOML reader.
    lists = _LIST.findall(_PYPROJECT.read_text("utf-8"))
    if len(lists) != 2:
        raise ValueError(f"{_PYPROJECT} has no lists of dependencies in the expected format.")
    return dict(_BOUND.findall("".join(lists)))


if __name__ == "__main__":
    print("\n".join(f"{name}=={version}" for name, version in oldest_versions().items()))
