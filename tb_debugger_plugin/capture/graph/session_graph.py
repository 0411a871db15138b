"""Copies the graph of a TF1-style session and adds watch ops to the copy.

A session runs ops of one graph of the runtime, and finds fetches, feeds and targets in it by name, so it
can run a copy. A session that has run already keeps its graph, and its variables; it only gets the watch ops,
which read tensors beside their consumers. Takes the program's `tf.Graph`, to which ops may be added at any
time, and returns the copy so far and the watch ops that a run needs.

Invariant: the program's graph is only read.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

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
class SessionWatches:
    """The watch ops of a part of a graph.

    Attributes:
      moved: Tensors that inline watch ops replace: source (`op` or `op:slot`) to the watch op.
      by_op: Names of the watch ops, by the name of the watched op and the slot.
    """

    moved: Mapping[str, str] = field(default_factory=dict)
    by_op: Mapping[str, Mapping[int, str]] = field(default_factory=dict)


class NewPart(NamedTuple):
    """The ops that are new in the graph of a session.

    Attributes:
      graph: The program's graph.
      definition: The definition of the new ops, to which watch ops are added.
      ops: The new ops.
      can_rewire: Whether consumers may take the output of a watch op; not in a session that has run.
    """

    graph: TfGraph
    definition: GraphDef
    ops: list[TfOp]
    can_rewire: bool


#: Adds watch ops to the definition of a part.
Watch: TypeAlias = Callable[[NewPart], SessionWatches]
#: Adds ops to the graph of a session that has run.
Extend: TypeAlias = Callable[[GraphDef], None]


class RunWatches(NamedTuple):
    """The watch ops of a run.

    Attributes:
      during: They run with it.
      before: They run before it: they read variables that it overwrites after it has read them.
      kept: Tensors of the program's graph that are fetched besides those that the run fetches.
      run: What whoever chose all this knows of the run.
    """

    during: Sequence[TfOp] = ()
    before: Sequence[TfOp] = ()
    kept: Sequence[TfTensor] = ()
    run: object = None


NO_WATCHES = RunWatches()
#: Returns what runs with a run, by the graph, the ops that the run requests, those that it needs, and those
#: that are fed. It is asked once for runs that request and feed the same.
OfRun: TypeAlias = Callable[
    ["SessionGraph", Collection[TfOp], Collection[TfOp], Collection[TfOp]], RunWatches
]
#: The ops that a run requests, and those whose outputs are fed.
_Run: TypeAlias = tuple[frozenset[TfOp], frozenset[TfOp]]
#: Limit of the cache of runs: a program whose runs all differ must not fill memory.
_MAX_RUNS = 1000
#: Numbers the parts that sessions which have run get.
_extensions = itertools.count(1)


class SessionGraph:
    """A copy of a graph. Lives as long as the session that runs it. Thread-safe.

    Args:
      graph: The program's graph.
      watch: Adds the watch ops to each part that is copied.
      extend_session: Adds ops to the graph of a session that has run; None for a session that runs the copy.
      of_run: Chooses what runs with a run; None for the watch ops of what the run needs.

    Attributes:
      copy: The graph that the session runs, or that has ops of the same names.
    """

    def __init__(
        self,
        graph: TfGraph,
        watch: Watch,
        extend_session: Extend | None = None,
        of_run: OfRun | None = None,
    ) -> None:
        self.copy = ops.Graph()
        self._of_run = of_run
        self._extend_session = extend_session
        self._graph = graph
        self._watch = watch
        self._lock = threading.RLock()  # guards the following fields, and the copy
        self._version = -1  # of the graph when it was last copied
        self._copied: dict[str, TfOp] = {}
        self._functions: set[str] = set()
        self._moved: dict[str, str] = {}
        self._watches: dict[str, Mapping[int, str]] = {}
        self._loops: dict[str, int] = {}  # number of TF1-style loops around each op
        self._runs: dict[_Run, RunWatches] = {}
        self._same_runs: dict[Hashable, tuple[RunWatches, object]] = {}

    def extend(self) -> None:
        """Copy the ops that the program's graph has got since the last call."""
        # It changes when ops are added. Looking at all ops would take longer than a short run.
        if self._graph.version == self._version:
            return
        with self._lock:
            version = self._graph.version
            if version == self._version:
                return
            new = [op for op in self._graph.get_operations() if op.name not in self._copied]
            if new:
                definition = self._definition_of(new)
                self._find_loops(new)
                if self._extend_session is None:
                    self._add_to_copy(definition, new)
                else:
                    self._add_beside(definition, new, self._extend_session)
                self._forget_runs()
            self._version = version

    def watches_of_run(
        self, fetches: Sequence[TfTensor], targets: Sequence[TfOp], fed: Sequence[TfTensor]
    ) -> RunWatches:
        """Return the watch ops that a run needs.

        Args:
          fetches: Tensors of the program's graph.
          targets: Ops of the program's graph.
          fed: Tensors of the program's graph whose values are given.
        """
        # A short run takes longer with sets of ops. What has an id is kept, so that nothing else gets it.
        key = (*map(id, fetches), None, *map(id, targets), None, *map(id, fed))
        known = self._same_runs.get(key)
        if known is not None:
            return known[0]
        requested = frozenset([*(tensor.op for tensor in fetches), *targets])
        fed_ops = frozenset(tensor.op for tensor in fed)
        with self._lock:
            watches = self._runs.get((requested, fed_ops))
            if watches is None:
                if len(self._runs) >= _MAX_RUNS:
                    self._runs.clear()
                needed = needed_ops(requested, fed_ops)
                if self._of_run is None:
                    watches = self._watches_of(needed, fed_ops)
                else:
                    watches = self._of_run(self, requested, needed, fed_ops)
                self._runs[requested, fed_ops] = watches
            if len(self._same_runs) >= _MAX_RUNS:
                self._same_runs.clear()
            self._same_runs[key] = watches, (*fetches, *targets, *fed)
            return watches

    def forget_runs(self) -> None:
        """Choose anew what runs with each run."""
        with self._lock:
            self._forget_runs()

    def _forget_runs(self) -> None:
        self._runs.clear()
        self._same_runs.clear()

    def add(self, nodes: Iterable[NodeDef]) -> list[TfOp]:
        """Add ops to the copy that the program's graph does not have; return them."""
        nodes = list(nodes)
        with self._lock:
            definition = GraphDef(versions=self._graph.graph_def_versions)
            definition.node.extend(nodes)
            self._import(definition)
            return [self._copied[node.name] for node in nodes]

    def own(self, name: str) -> TfOp:
        """Return the op of the copy of a name."""
        return self._copied[name]

    def own_tensor(self, tensor: TfTensor) -> TfTensor:
        """Return the tensor of the copy, by that of the program's graph."""
        return self.own(tensor.op.name).outputs[tensor.value_index]

    def _watches_of(self, needed: Collection[TfOp], fed: Collection[TfOp]) -> RunWatches:
        watched = [op for op in needed if not self._loops[op.name]]  # a run cannot fetch an op in a loop
        reads = {op for op in watched if self._extend_session is not None and is_reference_read(op)}
        overwritten = {op: writers for op in reads if (writers := _writers(op, needed))}
        # Beside an op that may overwrite the variable first, a read would see one value or the other.
        before = [
            op
            for op, writers in overwritten.items()
            if not op.control_inputs and all(op in needed_ops([writer], fed) for writer in writers)
        ]
        during = [op for op in watched if op not in overwritten]
        return RunWatches(self._watch_ops_of(during), self._watch_ops_of(before))

    def _watch_ops_of(self, watched: Iterable[TfOp]) -> list[TfOp]:
        return [self._copied[name] for op in watched for name in self._watches.get(op.name, {}).values()]

    def _add_to_copy(self, definition: GraphDef, new: list[TfOp]) -> None:
        watches = self._watch(NewPart(self._graph, definition, new, can_rewire=True))
        passed_on = self._run_watches_in_loops(definition, new, watches)
        self._import(definition)
        self._moved.update(watches.moved)
        self._moved.update(passed_on)
        self._watches.update(watches.by_op)

    def _add_beside(self, definition: GraphDef, new: list[TfOp], extend_session: Extend) -> None:
        plain = _clone(definition)
        watches = self._watch(NewPart(self._graph, definition, new, can_rewire=False))
        # A session cannot lose ops, so those of each recording have names of their own.
        added, renamed = _only_new(definition, plain, f"/{next(_extensions)}")
        extend_session(added)
        plain.node.extend(added.node)
        self._import(plain)
        for op_name, by_slot in watches.by_op.items():
            self._watches[op_name] = {slot: renamed[name] for slot, name in by_slot.items()}

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
        """Return the import options of a part that takes tensors, or waits for ops, of earlier parts.

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
        self, definition: GraphDef, new: list[TfOp], watches: SessionWatches
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
        """Return the tensor of an earlier part that consumers take for a source."""
        if source in self._moved:
            return self._copied[self._moved[source]].outputs[0]
        name, _, slot = source.partition(":")
        return self._copied[name].outputs[int(slot or 0)]


def _clone(definition: GraphDef) -> GraphDef:
    return type(definition).FromString(definition.SerializeToString())


def _only_new(definition: GraphDef, before: GraphDef, suffix: str) -> tuple[GraphDef, dict[str, str]]:
    """Return the nodes that a definition has and an earlier one lacks, under other names; and these names."""
    known = {node.name for node in before.node}
    added = type(definition)(versions=definition.versions)
    added.node.extend(node for node in definition.node if node.name not in known)
    renamed = {node.name: node.name + suffix for node in added.node}
    for node in added.node:
        node.name = renamed[node.name]
        for position, source in enumerate(node.input):
            name = source.removeprefix("^").partition(":")[0]
            if name in renamed:
                node.input[position] = source.replace(name, renamed[name], 1)
    return added, renamed


def _inputs_from_outside(definition: GraphDef) -> set[str]:
    """Return the inputs of ops that the definition does not have: `op`, `op:slot` or `^op`."""
    names = {node.name for node in definition.node}
    sources = {source for node in definition.node for source in node.input}
    return {source for source in sources if source.removeprefix("^").partition(":")[0] not in names}


def _identity(name: str, like: TfTensor, inputs: Iterable[str]) -> NodeDef:
    node = NodeDef(name=name, op="Identity", device=like.op.device, input=inputs)
    node.attr["T"].type = like.dtype.as_datatype_enum
    return node


def _tensor_name(source: str) -> str:
    return source if ":" in source else f"{source}:0"


def is_reference_read(op: TfOp) -> bool:
    """Whether an op passes on the value of a variable that is a reference to memory, not a resource."""
    return bool(op.type == "Identity" and op.inputs[0].dtype._is_ref_dtype)


def _writers(read: TfOp, ops: Iterable[TfOp]) -> list[TfOp]:
    """Return the ops that may write to the variable that an op reads."""
    variable = read.inputs[0]
    return [op for op in ops if op.type != "Identity" and any(taken is variable for taken in op.inputs)]


def needed_ops(requested: Iterable[TfOp], fed: Collection[TfOp]) -> set[TfOp]:
    """Return the ops that run, or are fed, when some ops are requested."""
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
