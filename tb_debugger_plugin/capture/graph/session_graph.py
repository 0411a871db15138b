"""Copies the graph of a TF1-style session and adds watch ops to the copy.

A session runs ops of one graph of the runtime, and finds fetches and feeds in it by name, so it can run a
copy. Takes the program's `tf.Graph`, to which ops may be added at any time, and returns the copy so far and
the watch ops that a run needs.

Invariant: the program's graph is only read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import tensorflow as tf
from tensorflow.python.client import pywrap_tf_session as c_api
from tensorflow.python.framework import ops

from tb_debugger_plugin.capture.graph.definitions import (
    import_into,
    import_options,
    library_of,
    source_name,
    with_shapes,
)
from tb_debugger_plugin.capture.tf_types import GraphDef, ImportOptions, NodeDef, TfGraph, TfOp, TfTensor


@dataclass(frozen=True)
class Watches:
    """The watch ops of a part of a graph.

    Attributes:
      moved: Tensors that inline watch ops replace: source (`op` or `op:slot`) to the watch op.
      by_op: Names of the watch ops, by the name of the watched op and the slot.
    """

    moved: Mapping[str, str] = field(default_factory=dict)
    by_op: Mapping[str, Mapping[int, str]] = field(default_factory=dict)


#: Adds watch ops for the new ops of a graph. Takes the graph, the definition of the new ops (which it
#: changes), and the new ops.
Watch: TypeAlias = Callable[[TfGraph, GraphDef, list[TfOp]], Watches]

#: The ops that a run requests, and those whose outputs are fed.
_Run: TypeAlias = tuple[frozenset[TfOp], frozenset[TfOp]]
#: Limit of the cache of runs: a program whose runs all differ must not fill memory.
_MAX_RUNS = 1000


class SessionGraph:
    """A copy of a graph. Lives as long as the session that runs it. Thread-safe.

    Args:
      graph: The program's graph.
      watch: Adds the watch ops to each part that is copied.

    Attributes:
      copy: The graph that the session runs.
    """

    def __init__(self, graph: TfGraph, watch: Watch) -> None:
        self.copy = ops.Graph()
        self._graph = graph
        self._watch = watch
        self._lock = threading.Lock()  # guards the following fields, and the copy
        self._version = -1  # of the graph when it was last copied
        self._copied: dict[str, TfOp] = {}
        self._functions: set[str] = set()
        self._moved: dict[str, str] = {}
        self._watches: dict[str, Mapping[int, str]] = {}
        self._loops: dict[str, int] = {}  # number of TF1-style loops around each op
        self._runs: dict[_Run, list[TfOp]] = {}

    def extend(self) -> None:
        """Copy the ops that the program's graph has got since the last call."""
        with self._lock:
            # It changes when ops are added. Looking at all ops would take longer than a short run.
            version = self._graph.version
            if version == self._version:
                return
            new = [op for op in self._graph.get_operations() if op.name not in self._copied]
            if new:
                definition = self._definition_of(new)
                watches = self._watch(self._graph, definition, new)
                self._find_loops(new)
                passed_on = self._run_watches_in_loops(definition, new, watches)
                self._import(definition)
                self._moved.update(watches.moved)
                self._moved.update(passed_on)
                self._watches.update(watches.by_op)
                self._runs.clear()
            self._version = version

    def watches_of_run(
        self, fetches: Iterable[TfTensor], targets: Iterable[TfOp], fed: Iterable[TfTensor]
    ) -> list[TfOp]:
        """The watch ops that a run needs.

        Args:
          fetches: Tensors of the program's graph.
          targets: Ops of the program's graph.
          fed: Tensors of the program's graph whose values are given.
        """
        requested = frozenset([*(tensor.op for tensor in fetches), *targets])
        fed_ops = frozenset(tensor.op for tensor in fed)
        with self._lock:
            watches = self._runs.get((requested, fed_ops))
            if watches is None:
                if len(self._runs) >= _MAX_RUNS:
                    self._runs.clear()
                watches = [
                    self._copied[name]
                    for op in _needed(requested, fed_ops)
                    if not self._loops[op.name]  # a run cannot fetch an op in a loop
                    for name in self._watches.get(op.name, {}).values()
                ]
                self._runs[requested, fed_ops] = watches
            return watches

    def _definition_of(self, new: list[TfOp]) -> GraphDef:
        definition = self._graph.as_graph_def()
        names = {op.name for op in new}
        nodes = [node for node in definition.node if node.name in names]
        del definition.node[:]
        definition.node.extend(nodes)
        library = library_of(definition)
        functions = [f for f in library.function if f.signature.name not in self._functions]
        del library.function[:]
        library.function.extend(functions)
        return definition

    def _import(self, definition: GraphDef) -> None:
        earlier = _inputs_from_outside(definition)
        options = self._input_mappings(earlier)
        try:
            import_into(self.copy, definition, options)
        except tf.errors.InvalidArgumentError:
            for source in earlier:
                if not source.startswith("^"):
                    shape = self._graph.get_tensor_by_name(_tensor_name(source)).shape
                    self._tensor(source).set_shape(shape)
            import_into(self.copy, with_shapes(definition, self._graph), options)
        made = self.copy._add_new_tf_operations(compute_devices=False)
        self._copied.update((op.name, op) for op in made)
        self._functions.update(function.signature.name for function in library_of(definition).function)

    def _input_mappings(self, earlier: Iterable[str]) -> ImportOptions:
        """The import options of a part that takes tensors, or waits for ops, of earlier parts.

        Args:
          earlier: The inputs from earlier parts: `op`, `op:slot` or `^op`.
        """
        options = import_options()
        for source in earlier:
            if source.startswith("^"):
                op = self._copied[source[1:]]
                c_api.TF_ImportGraphDefOptionsRemapControlDependency(options.options, op.name, op._c_op)
            else:
                name, _, slot = source.partition(":")
                tensor = self._tensor(source)._as_tf_output()
                c_api.TF_ImportGraphDefOptionsAddInputMapping(options.options, name, int(slot or 0), tensor)
        return options

    def _find_loops(self, new: list[TfOp]) -> None:
        for op in new:
            before = [tensor.op for tensor in op.inputs] + list(op.control_inputs)
            # The back edge of a loop comes from an op that is made later.
            inside = max((self._loops.get(other.name, 0) for other in before), default=0)
            self._loops[op.name] = (
                inside + (op.type in ("Enter", "RefEnter")) - (op.type in ("Exit", "RefExit"))
            )

    def _run_watches_in_loops(
        self, definition: GraphDef, new: list[TfOp], watches: Watches
    ) -> dict[str, str]:
        """Make watch ops in loops run: the consumers of an op or a tensor wait for its watch op.

        Returns:
          The tensors that are replaced for their consumers: source (`op` or `op:slot`) to op.
        """
        passed_on: dict[str, str] = {}
        added = []
        after: dict[str, list[str]] = {}
        for op in new:
            if self._loops[op.name]:
                for slot, watch in watches.by_op.get(op.name, {}).items():
                    after.setdefault(f"^{op.name}", []).append(f"^{watch}")
                    source = source_name(op.name, slot)
                    if source not in watches.moved:
                        passed_on[source] = f"{watch}/passed_on"
                        added.append(_identity(passed_on[source], op.outputs[slot], [source, f"^{watch}"]))
        names = {op.name for op in new}
        for node in definition.node:
            if node.name in names:
                inputs = [passed_on.get(source, source) for source in node.input]
                inputs += [watch for source in node.input for watch in after.get(source, ())]
                del node.input[:]
                node.input.extend(inputs)
        definition.node.extend(added)
        return passed_on

    def _tensor(self, source: str) -> TfTensor:
        """The tensor of an earlier part that consumers take for a source."""
        if source in self._moved:
            return self._copied[self._moved[source]].outputs[0]
        name, _, slot = source.partition(":")
        return self._copied[name].outputs[int(slot or 0)]


def _inputs_from_outside(definition: GraphDef) -> set[str]:
    """The inputs of ops that the definition does not have: `op`, `op:slot` or `^op`."""
    names = {node.name for node in definition.node}
    sources = {source for node in definition.node for source in node.input}
    return {source for source in sources if source.removeprefix("^").partition(":")[0] not in names}


def _identity(name: str, like: TfTensor, inputs: Iterable[str]) -> NodeDef:
    node = NodeDef(name=name, op="Identity", device=like.op.device, input=inputs)
    node.attr["T"].type = like.dtype.as_datatype_enum
    return node


def _tensor_name(source: str) -> str:
    return source if ":" in source else f"{source}:0"


def _needed(requested: Iterable[TfOp], fed: Collection[TfOp]) -> set[TfOp]:
    """The ops that run, or are fed, when some ops are requested."""
    needed: set[TfOp] = set()
    waiting = list(requested)
    while waiting:
        op = waiting.pop()
        if op not in needed:
            needed.add(op)
            if op not in fed:
                waiting.extend(tensor.op for tensor in op.inputs)
                waiting.extend(op.control_inputs)
    return needed
