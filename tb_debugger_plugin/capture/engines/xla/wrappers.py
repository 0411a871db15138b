"""Builds the wrappers that replace functions which XLA compiles.

Takes the `ProbeLayout` of a function and gives the runtime, under the function's name, a definition that
calls a copy and then an op that records. For most functions only the witnesses are measured. Where a witness
is bad, the function runs once more with all measurements, on variables of its own that have the values from
before the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import attributes

from tb_debugger_plugin.capture.engines.xla.copies import define_copy
from tb_debugger_plugin.capture.engines.xla.magnitudes import INFINITY, Nodes
from tb_debugger_plugin.capture.engines.xla.probe_layout import ProbeLayout
from tb_debugger_plugin.capture.engines.xla.repeating import State, Variable
from tb_debugger_plugin.capture.graph.copies import Copies
from tb_debugger_plugin.capture.graph.definitions import define_wrapper, definition_of, source_name
from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.sinks.protocol import CompiledSink
from tb_debugger_plugin.capture.tf_types import AttrValue, GraphDef, NameAttrList

CALL = "TbDebuggerCompiled"
_WATCH = "TbDebuggerWatch"
_INT64 = tf.int64.as_datatype_enum
_RESOURCE = tf.resource.as_datatype_enum


class Wrappers:
    """Builds the wrappers of one recording.

    Args:
      sink: Makes the nodes that record.
      copies: Registers the functions that the wrappers call.
    """

    def __init__(self, sink: CompiledSink, copies: Copies) -> None:
        self._sink = sink
        self._copies = copies

    def define(self, layout: ProbeLayout, direct: Sequence[str]) -> None:
        """Give a function a wrapper that records all measurements.

        Args:
          layout: The function.
          direct: Sources of the tensors that the recorder reads itself: `source_name(CALL, i)` is result i of
            the function.
        """
        wrapper = _Graph.of_arguments(layout.function)
        results = self._call(wrapper, layout, wrapper.arguments)
        self._add_watch(wrapper, layout, results[-2:], direct)
        _define(layout.function, wrapper, results[:-2])

    def define_with_rerun(
        self, witnessed: ProbeLayout, every: ProbeLayout, direct: Sequence[str], state: State
    ) -> None:
        """Give a function a wrapper that measures the witnesses, and all tensors where a witness is bad.

        Args:
          witnessed: Layout of the copy that measures the witnesses.
          every: Layout of the copy that measures all tensors.
          direct: See `define`.
          state: The variables of the function.
        """
        wrapper = _Graph.of_arguments(witnessed.function)
        before = {name: wrapper.value(name, state[name].dtype) for name in state if state[name].is_read}
        results = self._call(wrapper, witnessed, wrapper.arguments, after=before.values())
        vectors = results[-2:]
        unread = state.keys() - before.keys()
        values = {name: before.get(name, name) for name in wrapper.arguments if name not in unread}
        taken = list(dict.fromkeys([*vectors, *direct, *values.values()]))
        good = self._good_branch(_Branch(wrapper, taken), witnessed, vectors, direct)
        bad = self._bad_branch(_Branch(wrapper, taken), every, values, state, direct)
        name = f"{witnessed.function.name}{witnessed.suffix}"
        wrapper.choose(
            _any_bad(wrapper.nodes, vectors[0], witnessed),
            taken,
            then=self._define_branch(f"{name}_bad", bad),
            otherwise=self._define_branch(f"{name}_good", good),
        )
        _define(witnessed.function, wrapper, results[:-2])

    def _good_branch(
        self, branch: _Branch, layout: ProbeLayout, vectors: Sequence[str], direct: Sequence[str]
    ) -> _Branch:
        """Record the measurements of the witnesses."""
        self._add_watch(branch, layout, branch.arguments_of(vectors), branch.arguments_of(direct))
        return branch

    def _bad_branch(
        self,
        branch: _Branch,
        layout: ProbeLayout,
        values: Mapping[str, str],
        state: State,
        direct: Sequence[str],
    ) -> _Branch:
        """Run the function once more, on variables of its own, and record all measurements.

        Args:
          branch: An empty branch.
          layout: Layout of the copy that runs.
          values: By argument of the function: its value, or that of its variable if the function reads it.
          state: The variables of the function.
          direct: See `define`.
        """
        own = dict(zip(values, branch.arguments_of(values.values()), strict=True))
        arguments = [
            branch.variable(state[name], own.get(name)) if name in state else own[name]
            for name in _argument_names(layout.function)
        ]
        vectors = self._call(branch, layout, arguments, after=branch.assigned)[-2:]
        self._add_watch(branch, layout, vectors, branch.arguments_of(direct))
        return branch

    def _define_branch(self, name: str, branch: _Branch) -> str:
        return self._copies.define_new(name, branch.nodes.definition, branch.arguments, run=[_WATCH])

    def _call(
        self, graph: _Graph, layout: ProbeLayout, arguments: Sequence[str], after: Iterable[str] = ()
    ) -> list[str]:
        """Call a copy; return its results. The last two are `measurements` and `first_bad_turn`."""
        dtypes = [tensor.dtype.as_datatype_enum for tensor in layout.function.result_tensors()]
        return graph.call(define_copy(layout, self._copies), arguments, [*dtypes, _INT64, _INT64], after)

    def _add_watch(
        self, graph: _Graph, layout: ProbeLayout, vectors: Sequence[str], direct: Sequence[str]
    ) -> None:
        measurements, first_bad_turn = vectors
        node = self._sink.compiled_watch_node(layout.tensors, (measurements, first_bad_turn), direct, _WATCH)
        node.attr["T"].CopyFrom(_types(graph.dtypes[source] for source in direct))
        graph.nodes.definition.node.append(node)


class _Graph:
    """A graph under construction, and the dtypes of its tensors.

    Args:
      definition: The graph, at first with its arguments only.

    Attributes:
      nodes: Adds nodes to the graph.
      arguments: Names of its arguments.
      dtypes: DataType numbers of its tensors.
      assigned: Names of the ops that assign the new variables.
    """

    def __init__(self, definition: GraphDef) -> None:
        self.nodes = Nodes(definition)
        self.arguments = [node.name for node in definition.node]
        self.dtypes = {node.name: node.attr["dtype"].type for node in definition.node}
        self.assigned: list[str] = []

    @staticmethod
    def of_arguments(function: Function) -> _Graph:
        """Return a graph with the arguments of a function."""
        plain = definition_of(function)
        by_name = {node.name: node for node in plain.node}
        arguments = [by_name[name] for name in _argument_names(function)]
        return _Graph(GraphDef(versions=plain.versions, node=arguments))

    def value(self, handle: str, dtype: tf.DType) -> str:
        """Read a variable before the function changes it."""
        name = self.nodes.add("ReadVariableOp", [handle], dtype=dtype)
        self.dtypes[name] = dtype.as_datatype_enum
        return name

    def variable(self, variable: Variable, value: str | None) -> str:
        """Add a variable, freed with its handle; it holds `value` if that is given."""
        shape = _value(shape=variable.shape.as_proto())
        name = _value(s=context.anonymous_name().encode())
        handle = self.nodes.add("VarHandleOp", (), dtype=variable.dtype, shape=shape, shared_name=name)
        self.dtypes[handle] = _RESOURCE
        if value is not None:
            self.assigned.append(self.nodes.add("AssignVariableOp", [handle, value], dtype=variable.dtype))
        return handle

    def call(
        self, function: str, arguments: Sequence[str], results: Sequence[int], after: Iterable[str]
    ) -> list[str]:
        """Call a function that XLA compiles; return the sources of its results."""
        self.nodes.add(
            "StatefulPartitionedCall",
            [*arguments, *(f"^{name}" for name in after)],
            name=CALL,
            f=_value(func=NameAttrList(name=function)),
            Tin=_types(self.dtypes[name] for name in arguments),
            Tout=_types(results),
            **{attributes.XLA_COMPILE: _value(b=True)},
        )
        sources = [source_name(CALL, slot) for slot in range(len(results))]
        self.dtypes.update(zip(sources, results, strict=True))
        return sources

    def choose(self, condition: str, taken: Sequence[str], then: str, otherwise: str) -> None:
        """Run one of two functions without results."""
        self.nodes.add(
            "If",
            [condition, *taken],
            name=_WATCH,
            Tcond=tf.bool,
            Tin=_types(self.dtypes[source] for source in taken),
            Tout=_types(()),
            then_branch=_value(func=NameAttrList(name=then)),
            else_branch=_value(func=NameAttrList(name=otherwise)),
        )


class _Branch(_Graph):
    """A branch under construction.

    Args:
      outer: The graph that runs the branch.
      taken: The tensors of that graph that are the arguments of the branch.
    """

    def __init__(self, outer: _Graph, taken: Sequence[str]) -> None:
        nodes = Nodes(GraphDef(versions=outer.nodes.definition.versions))
        for index, source in enumerate(taken):
            nodes.add("Placeholder", (), name=f"argument_{index}", dtype=tf.as_dtype(outer.dtypes[source]))
        super().__init__(nodes.definition)
        self._inside = dict(zip(taken, self.arguments, strict=True))

    def arguments_of(self, sources: Iterable[str]) -> list[str]:
        """Return the arguments that have the values of tensors of the outer graph."""
        return [self._inside[source] for source in sources]


def _argument_names(function: Function) -> list[str]:
    return [tensor.rpartition(":")[0] for tensor in function.inputs]


def _any_bad(nodes: Nodes, measurements: str, layout: ProbeLayout) -> str:
    """Whether an inconclusive element is bad."""
    mask = np.zeros(layout.size, np.int64)
    mask[list(layout.inconclusive)] = -1  # all bits
    inconclusive = nodes.add("BitwiseAnd", [measurements, nodes.constant(mask, tf.int64)], T=tf.int64)
    largest = nodes.add("Max", [inconclusive, nodes.constant([0], tf.int32)], T=tf.int64, Tidx=tf.int32)
    return nodes.add("GreaterEqual", [largest, nodes.constant(INFINITY, tf.int64)], T=tf.int64)


def _define(function: Function, wrapper: _Graph, results: Sequence[str]) -> None:
    definition = wrapper.nodes.definition
    define_wrapper(function, definition, results, [_WATCH], without=(attributes.XLA_COMPILE,))


def _value(**value: object) -> AttrValue:
    return AttrValue(**value)


def _types(numbers: Iterable[int]) -> AttrValue:
    return _value(list=AttrValue.ListValue(type=numbers))
