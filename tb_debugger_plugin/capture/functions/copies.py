"""Copies of the program's functions, under names of their own, for programs that XLA compiles.

XLA would refuse the watch ops in what a compiled function calls, so it calls copies. Rules: none of them is
left in the runtime after the recording; and copies of one name are equal, also in different recordings of a
process, because XLA keeps by its name what it has compiled.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Sequence
from typing import Any

from tensorflow.core.framework import graph_pb2

from tb_debugger_plugin.capture.functions.definitions import define, define_new, definition_of, remove
from tb_debugger_plugin.capture.functions.function import Function


class Copies:
    """The copies of one recording.

    Args:
      find: Gives the function of a name that has watch ops in the runtime, or None.
    """

    def __init__(self, find: Callable[[str], Function | None]) -> None:
        self._find = find
        self._names: dict[str, str] = {}

    def define(self, name: str, function: Function, definition: graph_pb2.GraphDef, **changes: Any) -> str:
        """Make one, and give its name in the runtime: see `definitions.define`."""
        self._names[name] = _name_of(name, definition)
        define(function, definition, name=self._names[name], **changes)
        return self._names[name]

    def define_new(
        self, name: str, definition: graph_pb2.GraphDef, arguments: Sequence[str], **more: Sequence[str]
    ) -> str:
        """Make a function that is no copy of one, and give its name: see `definitions.define_new`."""
        self._names[name] = _name_of(name, definition)
        define_new(self._names[name], definition, arguments, **more)
        return self._names[name]

    def get(self, name: str) -> str | None:
        """The name in the runtime of a copy; None when it has not been made."""
        return self._names.get(name)

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
        if name in self._names:
            return self._names[name]
        definition = definition_of(function)
        self.call_unwatched(definition)
        return self.define(name, function, definition)

    def remove(self) -> None:
        """Take all of them out of the runtime."""
        remove(self._names.values())
        self._names.clear()


def _name_of(name: str, definition: graph_pb2.GraphDef) -> str:
    content = definition.SerializeToString(deterministic=True)
    return f"{name}_{hashlib.sha1(content, usedforsecurity=False).hexdigest()[:16]}"


def functions_named(node: Any) -> list[Any]:
    """The functions that the attributes of a `NodeDef` name."""
    return [function for value in node.attr.values() for function in functions_of(value)]


def functions_of(attribute: Any) -> list[Any]:
    """The functions that an attribute of a `NodeDef` names; none when it is of another kind."""
    return [function for function in (attribute.func, *attribute.list.func) if function.name]
