"""Functions that XLA compiles, recorded.

XLA has no kernel for our ops. So the definition of such a function becomes a shell: it calls a copy, which
XLA compiles as it would have compiled the function, and which hands over, behind the results, the largest
magnitude of each of its tensors (`compiled_copies`); one op behind the call records them. What the copy calls
are copies too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, graph_pb2
from tensorflow.python.eager.polymorphic_function import attributes

from tb_debugger_plugin.capture.compiled_bodies import Body, body_of
from tb_debugger_plugin.capture.compiled_copies import define_copy
from tb_debugger_plugin.capture.copies import Copies
from tb_debugger_plugin.capture.definitions import define_shell, definition_of, source_name
from tb_debugger_plugin.capture.functions import Function
from tb_debugger_plugin.capture.graphs import KnownGraph
from tb_debugger_plugin.capture.instrument import record_constants, watched_tensor
from tb_debugger_plugin.capture.magnitudes import Nodes
from tb_debugger_plugin.capture.native_sink import NativeSink
from tb_debugger_plugin.capture.options import Options
from tb_debugger_plugin.capture.watch_plan import Planned, live_ops, make_plan
from tb_debugger_plugin.capture.ways import Way
from tb_debugger_plugin.events.modes import TensorDebugMode

_CALL = "TbDebuggerCompiled"
_WATCH = "TbDebuggerWatch"
_INT64 = tf.int64.as_datatype_enum
#: Modes that say something of a tensor without looking at its elements.
_WITHOUT_ELEMENTS = (TensorDebugMode.NO_TENSOR, TensorDebugMode.SHAPE)


class CompiledFunctions:
    """The functions of one recording that XLA compiles.

    Args:
      options: What the user wants recorded.
      sink: Makes the node that records.
      add: Adds the graph of a function to those of the recording.
      find: Gives the function of a name; None when it is none of the program's, or is not watched.
      copies: Takes the copies.
    """

    def __init__(
        self,
        options: Options,
        sink: NativeSink,
        add: Callable[[Function], KnownGraph],
        find: Callable[[str], Function | None],
        copies: Copies,
    ) -> None:
        self._options = options
        self._sink = sink
        self._add = add
        self._find = find
        self._copies = copies

    def watch(self, function: Function) -> bool:
        """Give the runtime a definition of a compiled function that records what is in it.

        Returns:
          Whether there is anything to record; if not, the definition stays as it is.

        Raises:
          Exception: Something did not work; the runtime still has the old definition.
        """
        items = self._items(function)
        whole = self._seen_whole(function, items)
        body = self._body(function, items, {key: place for place, key in enumerate(whole)}, {})
        if body.tensors:
            self._define_shell(function, body, list(whole.values()))
        return bool(body.tensors)

    def _items(self, function: Function) -> dict[tuple[str, int], Planned]:
        """The tensors to record when a function runs, by op name and slot. Constants are recorded now."""
        known = self._add(function)
        plan = make_plan(function, known, self._options, passes_through=False)
        record_constants(plan, known, self._sink)
        return {(item.op.name, item.slot): item for item in plan.tensors if item.way is not Way.CONSTANT}

    def _seen_whole(
        self, function: Function, items: Collection[tuple[str, int]]
    ) -> dict[tuple[str, int], str]:
        """The arguments and results that the recorder looks at itself, and their sources in the shell."""
        if any(device.device_type != "CPU" for device in tf.config.list_logical_devices()):
            return {}  # they would have to be fetched
        sources = {(_op_name(name), 0): _op_name(name) for name in function.inputs}
        for index, tensor in enumerate(function.result_tensors()):
            while tensor.op.type == "Identity":
                tensor = tensor.op.inputs[0]
            sources.setdefault((tensor.op.name, tensor.value_index), source_name(_CALL, index))
        return {key: source for key, source in sources.items() if key in items}

    def _body(
        self,
        function: Function,
        items: dict[tuple[str, int], Planned],
        whole: dict[tuple[str, int], int],
        bodies: dict[str, Body | None],
    ) -> Body:
        known = self._add(function)

        def body_called(name: str) -> Body | None:
            if name not in bodies:
                called = self._find(name)
                bodies[name] = None if called is None else self._body(called, self._items(called), {}, bodies)
            return bodies[name]

        return body_of(
            function,
            {
                key: watched_tensor(item, known)
                for key, item in items.items()
                if key in whole or self._can_tell(item)
            },
            {op.name for op in live_ops(function)},
            body_called,
            whole=whole,
            measures=self._options.mode not in _WITHOUT_ELEMENTS,
            stacks=known.stacks,
        )

    def _can_tell(self, item: Planned) -> bool:
        """Whether a tensor inside a compiled function can be recorded."""
        if self._options.mode is TensorDebugMode.SHAPE:
            return bool(item.tensor.shape.is_fully_defined())
        return True

    def _define_shell(self, function: Function, body: Body, whole: list[str]) -> None:
        arguments = [_op_name(name) for name in function.inputs]
        shell = _graph_of_arguments(function, arguments)
        dtypes = {node.name: node.attr["dtype"].type for node in shell.node}
        results = [tensor.dtype.as_datatype_enum for tensor in function.result_tensors()]
        sources = [source_name(_CALL, slot) for slot in range(len(results) + 2)]
        Nodes(shell).add(
            "StatefulPartitionedCall",
            arguments,
            name=_CALL,
            f=_value(func=attr_value_pb2.NameAttrList(name=define_copy(body, self._copies))),
            Tin=_types(dtypes[name] for name in arguments),
            Tout=_types([*results, _INT64, _INT64]),
            **{attributes.XLA_COMPILE: _value(b=True)},
        )
        *outputs, found, when = sources
        node = self._sink.compiled_watch_node(body.tensors, (found, when), whole, _WATCH)
        node.attr["T"].CopyFrom(_types(dtypes.get(name) or results[sources.index(name)] for name in whole))
        shell.node.append(node)
        define_shell(function, shell, outputs, [_WATCH], without=(attributes.XLA_COMPILE,))


def _op_name(tensor_name: str) -> str:
    return tensor_name.rpartition(":")[0]


def _graph_of_arguments(function: Function, arguments: list[str]) -> graph_pb2.GraphDef:
    plain = definition_of(function)
    wanted = set(arguments)
    nodes = [node for node in plain.node if node.name in wanted]
    return graph_pb2.GraphDef(versions=plain.versions, node=nodes)


def _value(**value: Any) -> attr_value_pb2.AttrValue:
    return attr_value_pb2.AttrValue(**value)


def _types(numbers: Iterable[int]) -> attr_value_pb2.AttrValue:
    return _value(list=attr_value_pb2.AttrValue.ListValue(type=numbers))
