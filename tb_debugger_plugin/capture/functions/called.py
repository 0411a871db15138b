"""Which functions an op of a graph, and a function, runs."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from tensorflow.python.framework import op_def_registry

from tb_debugger_plugin.capture.functions.function import Function


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


def callees_first(functions: Iterable[Function]) -> list[Function]:
    """Functions in an order in which each comes behind those that it calls."""
    waiting = {function.name: function for function in functions}
    ordered: list[Function] = []
    for name in list(waiting):
        _move(name, waiting, ordered)
    return ordered


def _move(name: str, waiting: dict[str, Function], ordered: list[Function]) -> None:
    function = waiting.pop(name, None)
    if function is not None:
        for called in called_by(function):
            _move(called, waiting, ordered)
        ordered.append(function)


def called_by(function: Function) -> list[str]:
    """The names of the functions that are called in a function's graph; none when the graph is gone."""
    graph = function.graph_of()
    operations = [] if graph is None else graph.get_operations()
    return [name for op in operations for name in called_functions(op)]
