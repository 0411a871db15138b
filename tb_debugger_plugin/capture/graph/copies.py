"""Defines copies of the program's functions, under names of their own, for programs that XLA compiles.

XLA cannot compile watch ops, so compiled functions call copies of functions that have watch ops.

Invariants: no copy is left in the runtime after the recording. Copies of one name are equal, also in
different recordings of a process, because XLA caches compiled functions by name.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

from tb_debugger_plugin.capture.graph.definitions import (
    UNCHANGED,
    Changes,
    define,
    define_new,
    definition_of,
    remove,
)
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.tf_types import AttrValue, GraphDef, NameAttrList, NodeDef


class Copies:
    """The copies of one recording.

    Args:
      find: Returns the function of a name; None when it has no watch ops in the runtime.
    """

    def __init__(self, find: Callable[[str], Function | None]) -> None:
        self._find = find
        self._names: dict[str, str] = {}
        self._defined: set[str] = set()

    def define(
        self,
        name: str,
        function: Function,
        definition: GraphDef,
        changes: Changes = UNCHANGED,
        *,
        stacks: Mapping[str, Hashable] | None = None,
        has_stacks: bool = True,
    ) -> str:
        """Define a copy and return its name in the runtime; see `definitions.define`."""
        made = self._name(name, definition)
        define(function, definition, changes, stacks=stacks, name=made, has_stacks=has_stacks)
        return made

    def define_new(
        self, name: str, definition: GraphDef, arguments: Sequence[str], **more: Sequence[str]
    ) -> str:
        """Define a new function and return its name in the runtime; see `definitions.define_new`."""
        made = self._name(name, definition)
        define_new(made, definition, arguments, **more)
        return made

    def get(self, name: str) -> str | None:
        """Return the name of a copy in the runtime; None when it has not been made."""
        return self._names.get(name)

    def call_unwatched(self, definition: GraphDef, except_for: Collection[str] = ()) -> bool:
        """Make the calls in a graph call copies without watch ops.

        Args:
          definition: The graph.
          except_for: Names of calls that do not change.

        Returns:
          Whether any call has changed.
        """
        renamed = False
        for node in definition.node:
            for called in functions_named(node) if node.name not in except_for else ():
                name = self.unwatched(called.name)
                renamed = renamed or name != called.name
                called.name = name
        return renamed

    def unwatched(self, name: str) -> str:
        """Return the name of a copy of a function without watch ops, also in the functions that it calls.

        Args:
          name: Name of a function; a function without watch ops is its own copy.
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
        """Remove all copies from the runtime."""
        remove(self._defined)
        self._defined.clear()
        self._names.clear()

    def _name(self, name: str, definition: GraphDef) -> str:
        # The copy that had the name before may still run; it is removed with the others.
        made = self._names[name] = _name_of(name, definition)
        self._defined.add(made)
        return made


def _name_of(name: str, definition: GraphDef) -> str:
    content = definition.SerializeToString(deterministic=True)
    return f"{name}_{hashlib.sha1(content, usedforsecurity=False).hexdigest()[:16]}"


def functions_named(node: NodeDef) -> list[NameAttrList]:
    """Return the functions that the attributes of a `NodeDef` name."""
    return [function for value in node.attr.values() for function in functions_of(value)]


def functions_of(attribute: AttrValue) -> list[NameAttrList]:
    """Return the functions that an attribute of a `NodeDef` names; none when it has another type."""
    return [function for function in (attribute.func, *attribute.list.func) if function.name]
