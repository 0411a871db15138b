"""Copies of the program's functions, under names of their own, for programs that XLA compiles.

XLA would refuse the watch ops in what a compiled function calls, so it calls copies. Rule: none of them is
left in the runtime after the recording.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from tensorflow.core.framework import graph_pb2

from tb_debugger_plugin.capture.definitions import define, define_branch, definition_of, remove
from tb_debugger_plugin.capture.functions import Function


class Copies:
    """The copies of one recording.

    Args:
      find: Gives the function of a name that has watch ops in the runtime, or None.
    """

    def __init__(self, find: Callable[[str], Function | None]) -> None:
        self._find = find
        self._names: set[str] = set()

    def define(self, name: str, function: Function, definition: graph_pb2.GraphDef, **changes: Any) -> None:
        """Make one: see `definitions.define`."""
        define(function, definition, name=name, **changes)
        self._names.add(name)

    def define_branch(
        self, name: str, definition: graph_pb2.GraphDef, arguments: Sequence[str], run: Sequence[str]
    ) -> None:
        """Make a function that is no copy of one: see `definitions.define_branch`."""
        define_branch(name, definition, arguments, run)
        self._names.add(name)

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def call_unwatched(self, definition: graph_pb2.GraphDef, but: Collection[str] = ()) -> bool:
        """Point the calls in a graph to copies without watch ops; whether there were any.

        Args:
          definition: The graph.
          but: Names of ops to leave alone.
        """
        renamed = False
        for called in [
            called for node in definition.node if node.name not in but for called in functions_named(node)
        ]:
            name = self.unwatched(called.name)
            renamed = renamed or name != called.name
            called.name = name
        return renamed

    def unwatched(self, name: str) -> str:
        """The name of a copy of a function, and of all that it calls, without watch ops.

        Args:
          name: Of a function; one that has no watch ops is its own copy.
        """
        function = self._find(name)
        if function is None:
            return name
        name += "_unwatched"
        if name not in self._names:
            definition = definition_of(function)
            self.call_unwatched(definition)
            self.define(name, function, definition)
        return name

    def remove(self) -> None:
        """Take all of them out of the runtime."""
        remove(self._names)
        self._names.clear()


def functions_named(node: Any) -> list[Any]:
    """The functions that the attributes of a `NodeDef` name."""
    return [function for value in node.attr.values() for function in functions_of(value)]


def functions_of(attribute: Any) -> list[Any]:
    """The functions that an attribute of a `NodeDef` names; none when it is of another kind."""
    return [function for function in (attribute.func, *attribute.list.func) if function.name]
