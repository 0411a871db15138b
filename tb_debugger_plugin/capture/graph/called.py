"""Finds the functions that an op or a function calls."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable

from tensorflow.python.framework import op_def_registry

from tb_debugger_plugin.capture.graph.copies import functions_named
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.tf_types import FunctionDef, TfOp


@functools.cache
def function_attributes(op_type: str) -> tuple[str, ...]:
    """Return the attributes of an op type that name functions, in the order of its definition."""
    definition = op_def_registry.get(op_type)
    if definition is None:
        return ()
    return tuple(attr.name for attr in definition.attr if attr.type in ("func", "list(func)"))


@functools.cache
def is_function(op_type: str) -> bool:
    """Whether the type of an op is the name of a function: some old functions are called that way."""
    return op_def_registry.get(op_type) is None


def called_functions(op: TfOp) -> list[str]:
    """Return the functions that an op runs: the branches in order, the condition before the body.

    Args:
      op: An op of any graph.
    """
    names = [op.type] if is_function(op.type) else []
    for attribute in function_attributes(op.type):
        value = op.get_attr(attribute)
        names += [function.name for function in (value if isinstance(value, list) else [value])]
    return [name for name in names if name]


def with_callees(names: Iterable[str], definition_of: Callable[[str], FunctionDef | None]) -> list[str]:
    """Return the names of functions and of all functions that they call, each once.

    Args:
      names: Names of the functions.
      definition_of: Returns the definition of a name, or None.
    """
    all_names = list(dict.fromkeys(names))
    for name in all_names:
        definition = definition_of(name)
        for node in () if definition is None else definition.node_def:
            called = [function.name for function in functions_named(node)]
            called += [node.op] if is_function(node.op) else []
            all_names += [callee for callee in called if callee not in all_names]
    return all_names


def callees_first(functions: Iterable[Function]) -> list[Function]:
    """Return the functions in an order in which each comes after those that it calls."""
    waiting = {function.name: function for function in functions}
    ordered: list[Function] = []
    for name in list(waiting):
        _append_after_callees(name, waiting, ordered)
    return ordered


def _append_after_callees(name: str, waiting: dict[str, Function], ordered: list[Function]) -> None:
    function = waiting.pop(name, None)
    if function is not None:
        for called in called_by(function):
            _append_after_callees(called, waiting, ordered)
        ordered.append(function)


class CallGraph:
    """Which of some functions call which.

    Args:
      functions: The functions. Those whose graphs were deleted are left out.

    Attributes:
      functions: The others, each after those that it calls.
    """

    def __init__(self, functions: Iterable[Function]) -> None:
        self.functions = callees_first(
            [function for function in functions if function.graph_of() is not None]
        )
        self._callers: dict[str, list[str]] = {function.name: [] for function in self.functions}
        for function in self.functions:
            for called in set(called_by(function)):
                if called in self._callers:
                    self._callers[called].append(function.name)

    def with_callers(self, names: Iterable[str]) -> set[str]:
        """Return the functions, those that call them, and so on."""
        found: set[str] = set()
        waiting = [name for name in names if name in self._callers]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += self._callers[name]
        return found

    def only_below(self, names: Collection[str]) -> set[str]:
        """Return the functions, and those that are called by such functions only."""
        found: set[str] = set()
        for function in reversed(self.functions):  # callers first
            callers = self._callers[function.name]
            if function.name in names or (callers and found.issuperset(callers)):
                found.add(function.name)
        return found


def called_by(function: Function) -> list[str]:
    """Return the names of the functions that a function's graph calls; none when the graph was deleted."""
    graph = function.graph_of()
    operations = [] if graph is None else graph.get_operations()
    return [name for op in operations for name in called_functions(op)]
