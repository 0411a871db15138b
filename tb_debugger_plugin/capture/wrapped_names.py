"""Finds the user's name of a function in TensorFlow's name of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_WRAPPED = re.compile(r"__(?:inference|forward|backward)_(.+)_\d+$")


def unwrapped(name: str) -> Iterator[str]:
    """Yield the name of a function, and the names that it contains, the user's name last.

    TensorFlow's name of a function that the user calls f may be __inference___backward_f_12_34.
    """
    while True:
        yield name
        wrapped = _WRAPPED.match(name)
        if wrapped is None:
            return
        name = wrapped.group(1)
