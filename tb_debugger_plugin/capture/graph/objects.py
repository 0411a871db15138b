"""Finds objects of the program by type, without running code of the program.

`isinstance` reads an object's `__class__`: a weak proxy of a deleted object raises, some objects warn, and
code of the program may run. `type` runs no such code.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any


def with_subclasses(kind: type | None) -> set[type]:
    """Return a type and all its subclasses; empty for None."""
    types: set[type] = set()
    waiting = [] if kind is None else [kind]
    while waiting:
        subclass = waiting.pop()
        if subclass not in types:
            types.add(subclass)
            waiting += type.__subclasses__(subclass)
    return types


def of_types(objects: Iterable[object], types: set[type]) -> list[Any]:
    """Return the objects whose type is one of some types.

    Args:
      objects: For example, all objects that Python's garbage collector knows.
      types: The types. Subclasses are not included: see `with_subclasses`.
    """
    objects = objects if isinstance(objects, list) else list(objects)
    return list(itertools.compress(objects, map(types.__contains__, map(type, objects))))
