"""Runs Grappler, TensorFlow's graph optimizer, on a function before the function runs.

Takes a function with a definition, that of the program or one with watch ops, and returns the optimized
graph. TensorFlow optimizes a function at its first call, after it has inlined functions, loops and branches
and has placed ops on devices. Here, Grappler does the inlining too, and this module places the ops.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import tensorflow as tf
from tensorflow.core.protobuf import config_pb2, device_properties_pb2, meta_graph_pb2
from tensorflow.python.eager import context
from tensorflow.python.grappler import cluster as grappler_cluster
from tensorflow.python.grappler import tf_optimizer
from tensorflow.python.ops import handle_data_util

from tb_debugger_plugin.capture.graph.function import Function
from tb_debugger_plugin.capture.tf_types import GraphDef, NodeDef, TfTensor

#: Prefix of the names of the ops that take a function's results.
_RESULT = "TbDebuggerResult"
#: Name of the op that waits for all ops that run without a result.
_RUN = "TbDebuggerRun"


class Grappler:
    """Optimizes graphs as the runtime of this process does."""

    # Not before there is something to optimize: a program may choose its devices after it began to record.
    @cached_property
    def _devices(self) -> list[str]:
        context.context().ensure_initialized()
        return list(context.context().devices())

    @cached_property
    def _cluster(self) -> grappler_cluster.Cluster:
        return grappler_cluster.Cluster(devices=list(map(_as_named, self._devices)))

    def optimized(
        self, function: Function, definition: GraphDef, results: Sequence[str], run: Iterable[str]
    ) -> GraphDef:
        """Return the graph that runs when the program calls a function.

        Args:
          function: A function of the program.
          definition: Its graph with all functions that it calls. It is changed in place.
          results: Sources of its results (`op` or `op:slot`).
          run: Names of the ops that run without a result.

        Raises:
          Exception: Grappler cannot optimize the graph.
        """
        _replace_arguments(function, definition.node)
        result_names = _add_results(function, definition, results)
        # Grappler does not inline a call that no op waits for.
        definition.node.add(name=_RUN, op="NoOp", input=[f"^{name}" for name in run])
        self._place(definition.node)
        meta_graph = meta_graph_pb2.MetaGraphDef(graph_def=definition)
        meta_graph.collection_def["train_op"].node_list.value.extend([*result_names, _RUN])
        config = config_pb2.ConfigProto.FromString(context.context().config.SerializeToString())
        return tf_optimizer.OptimizeGraph(config, meta_graph, verbose=False, cluster=self._cluster)

    def _place(self, nodes: Iterable[NodeDef]) -> None:
        # Grappler fuses ops only if they are on the same known device.
        default = tf.DeviceSpec.from_string(self._devices[0])
        for node in nodes:
            node.device = default.make_merged_spec(tf.DeviceSpec.from_string(node.device)).to_string()


def _as_named(device: str) -> device_properties_pb2.NamedDevice:
    properties = device_properties_pb2.DeviceProperties(
        type=tf.DeviceSpec.from_string(device).device_type,
        # Grappler needs these numbers, but no rewrite that it makes on its own depends on them.
        num_cores=1,
        frequency=1000,
    )
    return device_properties_pb2.NamedDevice(name=device, properties=properties)


def _replace_arguments(function: Function, nodes: Iterable[NodeDef]) -> None:
    """Replace arguments by ops whose static shapes Grappler uses; it ignores the shapes of placeholders."""
    graph = function.graph
    arguments = {name.rpartition(":")[0]: (index, name) for index, name in enumerate(function.inputs)}
    for node in nodes:
        if node.name in arguments:
            index, tensor_name = arguments[node.name]
            tensor = graph.get_tensor_by_name(tensor_name)
            if tensor.dtype == tf.resource:
                _replace(node, _handle(index, tensor))
            elif tensor.shape.rank is not None:
                _replace(node, _value(tensor))


def _replace(node: NodeDef, other: NodeDef) -> None:
    other.name, other.device = node.name, node.device
    node.CopyFrom(other)


def _value(tensor: TfTensor) -> NodeDef:
    node = NodeDef(op="InfeedDequeue")
    node.attr["dtype"].type = tensor.dtype.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(tensor.shape.as_proto())
    return node


def _handle(index: int, tensor: TfTensor) -> NodeDef:
    node = NodeDef(op="_Arg")
    node.attr["T"].type = tensor.dtype.as_datatype_enum
    node.attr["index"].i = index
    data = handle_data_util.get_resource_handle_data(tensor)
    if data is not None and data.is_set:
        node.attr["_handle_shapes"].list.shape.extend(value.shape for value in data.shape_and_type)
        node.attr["_handle_dtypes"].list.type.extend(value.dtype for value in data.shape_and_type)
    return node


def _add_results(function: Function, definition: GraphDef, results: Sequence[str]) -> list[str]:
    names = []
    for index, (tensor, source) in enumerate(zip(function.result_tensors(), results, strict=True)):
        node = definition.node.add(
            name=f"{_RESULT}{index}", op="_Retval", input=[source], device=tensor.op.device
        )
        node.attr["T"].type = tensor.dtype.as_datatype_enum
        node.attr["index"].i = index
        names.append(node.name)
    return names
