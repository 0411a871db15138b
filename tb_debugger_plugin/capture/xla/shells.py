"""What stands in the place of a function that XLA compiles.

In comes what the function hands over (`Body`), out comes the definition that the runtime gets under its name:
a call of a copy, and an op behind it that records. Of most functions only the vouchers are handed over. Where
one of these is bad, the function runs once more, now handing over all that it has, on variables of its own
that hold what the real ones held before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, graph_pb2
from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import attributes

from tb_debugger_plugin.capture.functions.copies import Copies
from tb_debugger_plugin.capture.functions.definitions import define_shell, definition_of, source_name
from tb_debugger_plugin.capture.functions.function import Function
from tb_debugger_plugin.capture.sinks.native import NativeSink
from tb_debugger_plugin.capture.xla.bodies import Body
from tb_debugger_plugin.capture.xla.copies import define_copy
from tb_debugger_plugin.capture.xla.magnitudes import INFINITY, Nodes
from tb_debugger_plugin.capture.xla.repeating import State, Variable

CALL = "TbDebuggerCompiled"
_WATCH = "TbDebuggerWatch"
_INT64 = tf.int64.as_datatype_enum
_RESOURCE = tf.resource.as_datatype_enum


class Shells:
    """Makes the shells of one recording.

    Args:
      sink: Makes the nodes that record.
      copies: Takes what the shells call.
    """

    def __init__(self, sink: NativeSink, copies: Copies) -> None:
        self._sink = sink
        self._copies = copies

    def define(self, body: Body, whole: Sequence[str]) -> None:
        """Give a function a shell that records all that is handed over.

        Args:
          body: The function.
          whole: Sources of the tensors that are handed over whole: `source_name(CALL, i)` is its result i.
        """
        shell = _Graph.of_arguments(body.function)
        results = self._call(shell, body, shell.arguments)
        self._add_watch(shell, body, results[-2:], whole)
        _define(body.function, shell, results[:-2])

    def define_vouched(self, vouched: Body, every: Body, whole: Sequence[str], state: State) -> None:
        """Give a function a shell that looks at the vouchers, and at all where one of them is bad.

        Args:
          vouched: The function, handing over its vouchers.
          every: The function, handing over all.
          whole: As of `define`.
          state: The variables of the function.
        """
        function = vouched.function
        shell = _Graph.of_arguments(function)
        before = {name: shell.value(name, state[name].dtype) for name in state if state[name].is_read}
        results = self._call(shell, vouched, shell.arguments, after=before.values())
        found, when = results[-2:]
        values = [before.get(name, name) for name in shell.arguments if name in before or name not in state]
        taken = list(dict.fromkeys([found, when, *whole, *values]))

        good = shell.branch(taken)
        inside = dict(zip(taken, good.arguments, strict=True))
        self._add_watch(good, vouched, [inside[found], inside[when]], [inside[each] for each in whole])

        bad = shell.branch(taken)
        again = [
            bad.variable(state[name], inside.get(before.get(name, ""))) if name in state else inside[name]
            for name in shell.arguments
        ]
        handed_over = self._call(bad, every, again, after=bad.assigned)[-2:]
        self._add_watch(bad, every, handed_over, [inside[each] for each in whole])

        then, otherwise = (
            self._copies.define_new(
                f"{function.name}{vouched.suffix}{suffix}",
                branch.nodes.definition,
                branch.arguments,
                run=[_WATCH],
            )
            for suffix, branch in (("_bad", bad), ("_good", good))
        )
        shell.choose(_any_bad(shell.nodes, found, vouched), taken, then, otherwise)
        _define(function, shell, results[:-2])

    def _call(
        self, graph: _Graph, body: Body, arguments: Sequence[str], after: Iterable[str] = ()
    ) -> list[str]:
        """Call a copy; its results, the last two of which are the vectors."""
        dtypes = [tensor.dtype.as_datatype_enum for tensor in body.function.result_tensors()]
        return graph.call(define_copy(body, self._copies), arguments, [*dtypes, _INT64, _INT64], after)

    def _add_watch(self, graph: _Graph, body: Body, vectors: Sequence[str], whole: Sequence[str]) -> None:
        found, when = vectors
        node = self._sink.compiled_watch_node(body.tensors, (found, when), whole, _WATCH)
        node.attr["T"].CopyFrom(_types(graph.dtypes[source] for source in whole))
        graph.nodes.definition.node.append(node)


class _Graph:
    """A graph that is being made, and the dtypes of its tensors.

    Args:
      definition: The graph: nothing but its arguments.
    """

    def __init__(self, definition: graph_pb2.GraphDef) -> None:
        self.nodes = Nodes(definition)
        self.arguments = [node.name for node in definition.node]
        self.dtypes = {node.name: node.attr["dtype"].type for node in definition.node}
        self.assigned: list[str] = []

    @staticmethod
    def of_arguments(function: Function) -> _Graph:
        """A graph with the arguments of a function."""
        plain = definition_of(function)
        by_name = {node.name: node for node in plain.node}
        arguments = [by_name[tensor.rpartition(":")[0]] for tensor in function.inputs]
        return _Graph(graph_pb2.GraphDef(versions=plain.versions, node=arguments))

    def branch(self, taken: Iterable[str]) -> _Graph:
        """A graph whose arguments have the dtypes of tensors of this one."""
        nodes = Nodes(graph_pb2.GraphDef(versions=self.nodes.definition.versions))
        for index, source in enumerate(taken):
            nodes.add("Placeholder", (), name=f"argument_{index}", dtype=tf.as_dtype(self.dtypes[source]))
        return _Graph(nodes.definition)

    def value(self, handle: str, dtype: tf.DType) -> str:
        """The value of a variable before anything changes it."""
        name = self.nodes.add("ReadVariableOp", [handle], dtype=dtype)
        self.dtypes[name] = dtype.as_datatype_enum
        return name

    def variable(self, variable: Variable, value: str | None) -> str:
        """A new variable, which goes with its handle; it holds a value if one is given."""
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
        """Call a function that XLA compiles; the sources of its results."""
        self.nodes.add(
            "StatefulPartitionedCall",
            [*arguments, *(f"^{name}" for name in after)],
            name=CALL,
            f=_value(func=attr_value_pb2.NameAttrList(name=function)),
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
            then_branch=_value(func=attr_value_pb2.NameAttrList(name=then)),
            else_branch=_value(func=attr_value_pb2.NameAttrList(name=otherwise)),
        )


def _any_bad(nodes: Nodes, found: str, body: Body) -> str:
    """Whether something is bad of which not all is known."""
    mask = np.zeros(body.size, np.int64)
    mask[list(body.doubtful)] = -1  # all bits
    doubtful = nodes.add("BitwiseAnd", [found, nodes.constant(mask, tf.int64)], T=tf.int64)
    largest = nodes.add("Max", [doubtful, nodes.constant([0], tf.int32)], T=tf.int64, Tidx=tf.int32)
    return nodes.add("GreaterEqual", [largest, nodes.constant(INFINITY, tf.int64)], T=tf.int64)


def _define(function: Function, shell: _Graph, results: Sequence[str]) -> None:
    definition = shell.nodes.definition
    define_shell(function, definition, results, [_WATCH], without=(attributes.XLA_COMPILE,))


def _value(**value: Any) -> attr_value_pb2.AttrValue:
    return attr_value_pb2.AttrValue(**value)


def _types(numbers: Iterable[int]) -> attr_value_pb2.AttrValue:
    return _value(list=attr_value_pb2.AttrValue.ListValue(type=numbers))
