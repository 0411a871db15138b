"""Finds objects of the program by their type, without touching any of them.

`isinstance` asks an object for its `__class__`: a weak proxy whose object is gone raises then, some objects
warn, and what runs is code of the program. The type of an object is there without asking.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any


def with_subclasses(kind: Any) -> set[Any]:
    """A type and all that are derived from it; none for None."""
    found: set[Any] = set()
    waiting = [] if kind is None else [kind]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            waiting += type.__subclasses__(one)
    return found


def of_types(objects: Iterable[Any], types: set[Any]) -> list[Any]:
    """Those of some objects whose type is one of these.

    Args:
      objects: Such as those of the program that Python's garbage collector knows.
      types: Exactly these: see `with_subclasses`.
    """
    objects = objects if isinstance(objects, list) else list(objects)
    return list(itertools.compress(objects, map(types.__contains__, map(type, objects))))
