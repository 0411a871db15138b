"""Which functions an op of a graph runs."""

from __future__ import annotations

import functools
from typing import Any

from tensorflow.python.framework import op_def_registry


@functools.cache
def function_attributes(op_type: str) -> tuple[str, ...]:
    """The attributes of an op type that name functions, in the order of its definition."""
    definition = op_def_registry.get(op_type)
    if definition is None:
        return ()
    return tuple(attr.name for attr in definition.attr if attr.type in ("func", "list(func)"))


def called_functions(op: Any) -> list[str]:
    """The names of the functions that an op runs: the branches in order, the condition before the body.

    Args:
      op: Of any graph.
    """
    names = []
    for attribute in function_attributes(op.type):
        value = op.get_attr(attribute)
        names += [function.name for function in (value if isinstance(value, list) else [value])]
    return [name for name in names if name]
