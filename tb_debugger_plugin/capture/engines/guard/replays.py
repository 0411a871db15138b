"""Runs bad calls again, with watch ops.

A replay runs a copy of the function that is watched in full. Variables that the call changes are variables of
its own, which hold the values from before the call; what cannot run twice is not run, and its results are
those of the call. So the replay changes nothing of the program, and its records are those that the call would
have had.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import tensorflow as tf
from tensorflow.python.eager import context, execute
from tensorflow.python.eager.polymorphic_function import attributes
from tensorflow.python.ops import gen_list_ops, gen_resource_variable_ops

from tb_debugger_plugin.capture.engines.guard.copies import Guarded, argument_names
from tb_debugger_plugin.capture.engines.guard.lists import (
    add_arguments,
    add_lists,
    take_last,
    through_node,
)
from tb_debugger_plugin.capture.engines.guard.taken import CALLS, Kept, Taken, Variable
from tb_debugger_plugin.capture.engines.instrument import instrumented, note_unrecorded, record_constants
from tb_debugger_plugin.capture.engines.plain import PlainFunctions
from tb_debugger_plugin.capture.engines.xla.magnitudes import Nodes
from tb_debugger_plugin.capture.graph.called import called_by, callees_first
from tb_debugger_plugin.capture.graph.copies import functions_named
from tb_debugger_plugin.capture.graph.definitions import Changes
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.graph.function_table import FunctionTable
from tb_debugger_plugin.capture.graph_records import GraphRecords
from tb_debugger_plugin.capture.sinks.protocol import Sink
from tb_debugger_plugin.capture.tf_types import EagerTensor, GraphDef, NodeDef

#: Runs a function of the runtime: its name, its inputs, the number of its results.
CallFunction = Callable[[bytes, list[EagerTensor], int], Sequence[EagerTensor]]


class Replays:
    """The replays of one recording.

    Args:
      plain: Plans which tensors are watched.
      sink: Makes the watch ops.
      graphs: Writes the graphs.
      functions: The functions of the program.
      taken: Returns what a guard takes of a function that another one calls.
      call: Runs a function.
    """

    def __init__(
        self,
        plain: PlainFunctions,
        sink: Sink,
        graphs: GraphRecords,
        functions: FunctionTable,
        taken: Callable[[str], Taken | None],
        call: CallFunction,
    ) -> None:
        self._plain = plain
        self._sink = sink
        self._graphs = graphs
        self._functions = functions
        self._taken = taken
        self._call = call

    def run(self, guarded: Guarded, number: int, inputs: Sequence[EagerTensor]) -> Sequence[EagerTensor]:
        """Run a bad call again; return its results.

        Args:
          guarded: Its function.
          number: Its number.
          inputs: Its inputs; only resources of them are used.

        Raises:
          Exception: The replay cannot be defined, or fails.
        """
        taken = guarded.taken
        name = self._define(taken.function, taken)
        held = iter(_with_reversed_lists(guarded, _held(guarded, number)))
        values = dict(zip((*guarded.arguments, *taken.old), held, strict=False))
        arguments = [
            _variable(taken.variables[argument], values.get(argument))
            if argument in taken.changed
            else values.get(argument, given)
            for argument, given in zip(argument_names(taken.function), inputs, strict=True)
        ]
        return self._call(name.encode(), [*arguments, *held], len(taken.function.outputs))

    def _define(self, function: Function, taken: Taken) -> str:
        made = self._functions.copies.get(_name(function))
        if made is not None:
            return made
        all_called = list(self._with_callees(function))
        for called in all_called:
            self._graphs.announce(called.name, called.graph)
        for called in all_called[:-1]:
            inside = self._taken(called.name)
            if inside is not None and self._functions.copies.get(_name(called)) is None:
                self._define_watched(called, inside)
        return self._define_watched(function, taken)

    def _with_callees(self, function: Function) -> Iterator[Function]:
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
        name = f"{_name(taken.function)}_lists_{before}_{after}"
        made = self._functions.copies.get(name)
        if made is not None:
            return made
        watched = self._watched(taken.function)
        changes = add_lists(watched.definition, taken, self, _take_from_lists, before, after)
        return self._define_copy(name, taken.function, watched, changes)

    def with_ignored_lists(self, taken: Taken, number: int) -> str:
        """Return the name of the copy of a condition; see `lists.Parts`."""
        name = f"{_name(taken.function)}_condition_{number}"
        made = self._functions.copies.get(name)
        if made is not None:
            return made
        watched = self._watched(taken.function)
        changes = Changes(more_inputs=add_arguments(watched.definition, number))
        return self._define_copy(name, taken.function, watched, changes)

    def _define_watched(self, function: Function, taken: Taken) -> str:
        watched = self._watched(function)
        definition = watched.definition
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
        return self._define_copy(_name(function), function, watched, Changes(more_inputs=added))

    def _watched(self, function: Function) -> _Watched:
        known = self._graphs.add(function.graph)
        plan = self._plain.plan(function, known)
        record_constants(plan, known, self._sink)
        note_unrecorded(plan, known, self._sink)
        return _Watched(
            *instrumented(function, known, plan, self._sink, self._functions.all.get), known.stacks
        )

    def _rename(self, definition: GraphDef) -> None:
        """Let a definition call the watched copies of functions."""
        for node in definition.node:
            for called in functions_named(node):
                callee = self._functions.all.get(called.name)
                called.name = (callee and self._functions.copies.get(_name(callee))) or called.name

    def _define_copy(self, name: str, function: Function, watched: _Watched, changes: Changes) -> str:
        self._rename(watched.definition)
        changes = replace(changes, moved=watched.moved, run=watched.run)
        uncompiled = {key: value for key, value in function.attrs.items() if key != attributes.XLA_COMPILE}
        return self._functions.copies.define(
            name, replace(function, attrs=uncompiled), watched.definition, changes, stacks=watched.stacks
        )


class _Watched(NamedTuple):
    """The definition of a function with watch ops.

    Attributes:
      definition: The definition.
      moved: The tensors that watch ops replace.
      run: Names of the watch ops that have to run.
      stacks: Creation stack of each op, by op name.
    """

    definition: GraphDef
    moved: dict[str, str]
    run: list[str]
    stacks: Mapping[str, Hashable]


#: Prefix of the names of the arguments that a replay has besides.
SCOPE = "TbDebuggerReplay/"


def _name(function: Function) -> str:
    return f"{function.name}_replayed"


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
    """Let a node pass on arguments instead of running its op."""
    waits = [name for name in node.input if name[0] == "^"]
    node.op = "IdentityN" if names else "NoOp"
    del node.input[:]
    node.input.extend([*names, *waits])
    node.attr.clear()
    if names:
        node.attr["T"].list.type.extend(dtypes)


def _held(guarded: Guarded, number: int) -> list[EagerTensor]:
    dtypes = tuple([source.dtype for source in guarded.held])
    attrs = ("Theld", dtypes, "call", number)
    runtime = context.context()
    return list(execute.quick_execute("TbDebuggerHeld", len(dtypes), [], attrs, runtime))


def _with_reversed_lists(guarded: Guarded, held: list[EagerTensor]) -> list[EagerTensor]:
    """Return what was held, with lists that begin at the end: a replay takes their last tensors."""
    items = guarded.taken.items
    is_list = [each for kept in guarded.taken.kept for each in kept.is_list]
    first = len(held) - len(items)
    for index, dtype in enumerate(items):
        if is_list[index]:
            held[first + index] = _reversed(held[first + index], tf.as_dtype(dtype))
    return held


def _reversed(tensors: EagerTensor, dtype: tf.DType) -> EagerTensor:
    turned: EagerTensor = gen_list_ops.empty_tensor_list(-1, -1, dtype)
    for _ in range(int(gen_list_ops.tensor_list_length(tensors))):
        tensors, last = gen_list_ops.tensor_list_pop_back(tensors, -1, dtype)
        turned = gen_list_ops.tensor_list_push_back(turned, last)
    return turned


def _variable(variable: Variable, value: EagerTensor | None) -> EagerTensor:
    """Return the handle of a new variable, which is freed with the handle."""
    handle: EagerTensor = gen_resource_variable_ops.var_handle_op(
        dtype=variable.dtype, shape=variable.shape, shared_name=context.anonymous_name()
    )
    if value is not None:
        gen_resource_variable_ops.assign_variable_op(handle, value)
    return handle
