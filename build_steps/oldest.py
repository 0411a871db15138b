"""The oldest versions that `pyproject.toml` allows, as constraints for pip.

    python -m build_steps.oldest

Prints a line for each dependency of the package: `numpy==1.23.5` for `numpy>=1.23.5`.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

_PYPROJECT: Final = Path(__file__).parents[1] / "pyproject.toml"
_LIST: Final = re.compile(r"^dependencies = \[\n(.*?)^\]", re.MULTILINE | re.DOTALL)
_BOUND: Final = re.compile(r'^    "([a-z0-9-]+)>=([0-9.]+)[",]', re.MULTILINE)


def oldest_versions() -> dict[str, str]:
    """The lower bound of each dependency, by its name.

    Raises:
      ValueError: The list of dependencies is not written as it was.
    """
    # Python 3.10 has no reader of TOML.
    found = _LIST.search(_PYPROJECT.read_text("utf-8"))
    if found is None:
        raise ValueError(f"{_PYPROJECT} has no list of dependencies.")
    return dict(_BOUND.findall(found[1]))


if __name__ == "__main__":
    print("\n".join(f"{name}=={version}" for name, version in oldest_versions().items()))
