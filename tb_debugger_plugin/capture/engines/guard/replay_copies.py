"""Defines the copies of functions that replays run.

In a copy, an op that cannot run twice is an identity of what it computed in the call: an argument, or the
last tensor of a list. Calls go to copies of the functions that are called. Otherwise a copy is what `Edited`
says: a function with watch ops, or the function itself.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple

from tensorflow.python.eager.polymorphic_function import attributes

from tb_debugger_plugin.capture.engines.guard.lists import (
    add_arguments,
    add_lists,
    take_last,
    through_node,
)
from tb_debugger_plugin.capture.engines.guard.taken import CALLS, Kept, Taken
from tb_debugger_plugin.capture.engines.xla.magnitudes import Nodes
from tb_debugger_plugin.capture.graph.called import called_by, callees_first
from tb_debugger_plugin.capture.graph.copies import functions_named
from tb_debugger_plugin.capture.graph.definitions import Changes
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.tf_types import GraphDef, NodeDef

#: Prefix of the names of the arguments that a replay has besides.
SCOPE: Final = "TbDebuggerReplay/"


class Edited(NamedTuple):
    """The definition of a function, to become that of a copy.

    Attributes:
      definition: The definition.
      moved: The tensors that watch ops replace.
      run: Names of the watch ops that have to run.
      stacks: Creation stack of each op, by op name; None for ops without stacks.
    """

    definition: GraphDef
    moved: Mapping[str, str] = MappingProxyType({})
    run: Sequence[str] = ()
    stacks: Mapping[str, Hashable] | None = None


class ReplayCopies:
    """The copies of one kind.

    Args:
      functions: The functions of the program.
      taken: Returns what a guard takes of a function that another one calls.
      edited: Returns the definition of a function, to edit further.
      kind: What the names of the copies end in.
      all_called: Whether functions that are called get copies although everything in them runs again.
    """

    def __init__(
        self,
        functions: FunctionTable,
        taken: Callable[[str], Taken | None],
        edited: Callable[[Function], Edited],
        kind: str,
        *,
        all_called: bool = True,
    ) -> None:
        self._functions = functions
        self._taken = taken
        self._edited = edited
        self._kind = kind
        self._all_called = all_called

    def get(self, function: Function) -> str | None:
        """Return the name of the copy of a function; None if it has not been defined."""
        return self._functions.copies.get(self._name(function))

    def define(self, function: Function, taken: Taken) -> str:
        """Define the copies of a function and of those that it calls; return the name of the first."""
        made = self.get(function)
        if made is not None:
            return made
        for called in list(self.with_callees(function))[:-1]:
            inside = self._taken(called.name)
            if inside is None or not (inside.kept or self._all_called):
                continue
            if self.get(called) is None:
                self._define(called, inside)
        return self._define(function, taken)

    def with_callees(self, function: Function) -> Iterator[Function]:
        """Yield the functions that a function calls, each after those that it calls, and then itself."""
        found = {function.name: function}
        waiting = [function]
        while waiting:
            for name in called_by(waiting.pop()):
                called = self._functions.all.get(name)
                if called is not None and name not in found and called.graph_of() is not None:
                    found[name] = called
                    waiting.append(called)
        yield from callees_first(found.values())

    def find(self, name: str) -> Taken | None:
        """Return what is taken of a function; see `lists.Parts`."""
        return self._taken(name)

    def with_lists(self, taken: Taken, before: int = 0, after: int = 0) -> str:
        """Return the name of the copy that takes from lists; see `lists.Parts`."""
        name = f"{self._name(taken.function)}_lists_{before}_{after}"
        made = self._functions.copies.get(name)
        if made is not None:
            return made
        edited = self._edited(taken.function)
        changes = add_lists(edited.definition, taken, self, _take_from_lists, before, after)
        return self._define_copy(name, taken.function, edited, changes)

    def with_ignored_lists(self, taken: Taken, number: int) -> str:
        """Return the name of the copy of a condition; see `lists.Parts`."""
        name = f"{self._name(taken.function)}_condition_{number}"
        made = self._functions.copies.get(name)
        if made is not None:
            return made
        edited = self._edited(taken.function)
        changes = Changes(more_inputs=add_arguments(edited.definition, number))
        return self._define_copy(name, taken.function, edited, changes)

    def _define(self, function: Function, taken: Taken) -> str:
        edited = self._edited(function)
        definition = edited.definition
        nodes = {node.name: node for node in definition.node}
        added: list[str] = []
        for kept in taken.kept:
            names = [f"{SCOPE}{len(added) + i}" for i in range(len(kept.sources))]
            for name, source in zip(names, kept.sources, strict=True):
                definition.node.add(name=name, op="Placeholder").attr["dtype"].type = source.dtype
            node = nodes[kept.node]
            if not kept.is_inside:
                _replace(node, names, kept.items)
            elif node.op in CALLS:
                _take(node, names, [source.dtype for source in kept.sources])
            else:
                through_node(node, names, self)
            added += names
        return self._define_copy(self._name(function), function, edited, Changes(more_inputs=added))

    def _name(self, function: Function) -> str:
        return f"{function.name}_{self._kind}"

    def _rename(self, definition: GraphDef) -> None:
        """Let a definition call the copies of functions."""
        for node in definition.node:
            for called in functions_named(node):
                callee = self._functions.all.get(called.name)
                called.name = (callee and self.get(callee)) or called.name

    def _define_copy(self, name: str, function: Function, edited: Edited, changes: Changes) -> str:
        self._rename(edited.definition)
        changes = replace(changes, moved=edited.moved, run=edited.run)
        uncompiled = {key: value for key, value in function.attrs.items() if key != attributes.XLA_COMPILE}
        return self._functions.copies.define(
            name,
            replace(function, attrs=uncompiled),
            edited.definition,
            changes,
            stacks=edited.stacks,
            has_stacks=edited.stacks is not None,
        )


def _take(node: NodeDef, names: list[str], dtypes: list[int]) -> None:
    """Give a call more arguments."""
    after = len(node.attr["Tin"].list.type)
    node.attr["Tin"].list.type.extend(dtypes)
    inputs = [*node.input[:after], *names, *node.input[after:]]
    del node.input[:]
    node.input.extend(inputs)


def _take_from_lists(nodes: Nodes, node: NodeDef, kept: Kept, lists: Sequence[str]) -> list[str]:
    remaining, tensors = take_last(nodes, lists, kept.items)
    _replace(node, tensors, kept.items)
    return remaining


def _replace(node: NodeDef, names: list[str], dtypes: Sequence[int]) -> None:
    """Let a node pass on arguments instead of running its op, after its inputs: so is the record read."""
    waits = dict.fromkeys(f"^{name.removeprefix('^').partition(':')[0]}" for name in node.input)
    node.op = "IdentityN" if names else "NoOp"
    del node.input[:]
    node.input.extend([*names, *waits])
    node.attr.clear()
    if names:
        node.attr["T"].list.type.extend(dtypes)
