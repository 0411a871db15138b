"""Reads and edits the functions of a bundle.

In a `FunctionDef`, a tensor is the name of an argument, or ``op:output:index``, where ``output`` is an output
of the definition of the op. This module knows which tensors ops take and give, and of which dtypes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from google.protobuf.message import DecodeError
from tensorflow.core.framework import function_pb2
from tensorflow.python.framework import op_def_registry

from tb_debugger_plugin.capture.graph.copies import functions_named
from tb_debugger_plugin.capture.tf_types import ArgDef, FunctionDef, FunctionDefLibrary, NodeDef, OpDef
from tb_debugger_plugin.errors import FormatError, NotFoundError, UsageError
from tb_debugger_plugin.expressions.names import (
    KnownTensor,
    TensorName,
    chosen,
    parse_tensor_name,
    suggestion,
)


class Node(NamedTuple):
    """A node of a function.

    Attributes:
      function: The function.
      node: The node.
    """

    function: FunctionDef
    node: NodeDef


class Functions:
    """The functions of a bundle.

    Args:
      serialized: A serialised ``FunctionDefLibrary``.
      main: Name of the function that is called.

    Attributes:
      by_name: The functions by name.
      main: The function that is called.

    Raises:
      FormatError: It is no library, or has no such function.
    """

    def __init__(self, serialized: bytes, main: str) -> None:
        try:
            library = function_pb2.FunctionDefLibrary.FromString(serialized)
        except DecodeError:
            raise FormatError("The functions of the bundle are damaged.") from None
        self.by_name: dict[str, FunctionDef] = {one.signature.name: one for one in library.function}
        if main not in self.by_name:
            raise FormatError("The bundle does not have the function that it calls.")
        self.main = self.by_name[main]

    def message(self) -> FunctionDefLibrary:
        """Return the functions as one message."""
        return function_pb2.FunctionDefLibrary(function=self.by_name.values())

    def nodes(self) -> Iterator[Node]:
        """Yield the nodes of all functions."""
        for function in self.by_name.values():
            for node in function.node_def:
                yield Node(function, node)

    def find(self, name: TensorName) -> Node:
        """Return the node of a name, of which there is one.

        Raises:
          NotFoundError: There is none; the message suggests others.
          UsageError: There are several.
        """
        found = [one for one in self.nodes() if one.node.name == name.node]
        if len(found) > 1:
            raise UsageError(f"Several functions of the call have an op {name.node}.")
        if not found:
            names = {one.node.name for one in self.nodes()}
            raise NotFoundError(f"The call has no op {name.node}; {suggestion(name.node, names)}")
        return found[0]

    def output(self, node: NodeDef, name: TensorName) -> str:
        """Return the tensor of a node that a name means, as the function has it.

        Raises:
          NotFoundError: It has no such output.
        """
        known = [KnownTensor(slot, None, tensor) for slot, (tensor, _) in enumerate(self.outputs(node))]
        return chosen(name, known, lambda: (), "computed")[0]

    def tensor_in(self, function: FunctionDef, text: str) -> str:
        """Return the tensor of a function that is named in an expression.

        Raises:
          NotFoundError: There is none; the message suggests others.
        """
        name = parse_tensor_name(text)
        if any(argument.name == name.node for argument in function.signature.input_arg):
            return name.node
        nodes = {node.name: node for node in function.node_def}
        if name.node not in nodes:
            raise NotFoundError(f"The function has no tensor `{text}`; {suggestion(name.node, nodes)}")
        return self.output(nodes[name.node], name)

    def callers(self, name: str) -> list[Node]:
        """Return the nodes that name a function."""
        return [one for one in self.nodes() if any(f.name == name for f in functions_named(one.node))]

    def outputs(self, node: NodeDef) -> list[tuple[str, int]]:
        """Return the tensors that a node gives, as ``op:output:index``, with their dtypes."""
        given = []
        for argument in self.definition(node).output_arg:
            for index, dtype in enumerate(dtypes_of(argument, node)):
                given.append((f"{node.name}:{argument.name}:{index}", dtype))
        return given

    def dtypes(self, function: FunctionDef) -> dict[str, int]:
        """Return the dtypes of all tensors of a function, by their names in it."""
        given = {argument.name: argument.type for argument in function.signature.input_arg}
        for node in function.node_def:
            given.update(self.outputs(node))
        return given

    def plain_name(self, function: FunctionDef, tensor: str) -> str:
        """Return the name of a tensor of a function as users know it: ``op:slot``, or that of an argument."""
        op = tensor.partition(":")[0]
        for node in function.node_def:
            if node.name == op:
                names = [name for name, _ in self.outputs(node)]
                return f"{op}:{names.index(tensor)}" if tensor in names else f"{op}:0"
        return op

    def inputs(self, node: NodeDef) -> list[int]:
        """Return the dtypes of what a node takes."""
        return [dtype for argument in self.definition(node).input_arg for dtype in dtypes_of(argument, node)]

    def definition(self, node: NodeDef) -> OpDef:
        """Return the definition of the op of a node.

        Raises:
          UsageError: TensorFlow does not know it.
        """
        if node.op in self.by_name:
            return self.by_name[node.op].signature
        found = op_def_registry.get(node.op)
        if found is None:
            raise UsageError(f"This TensorFlow does not know the op {node.op}, which the call runs.")
        return found

    def prune(self, function: FunctionDef) -> None:
        """Delete the nodes of a function that neither a result nor a control output needs."""
        nodes = {node.name: node for node in function.node_def}
        waiting = [*function.ret.values(), *(f"^{name}" for name in function.control_ret.values())]
        needed: set[str] = set()
        while waiting:
            name = waiting.pop().removeprefix("^").partition(":")[0]
            if name in nodes and name not in needed:
                needed.add(name)
                waiting += nodes[name].input
        kept = [node for node in function.node_def if node.name in needed]
        del function.node_def[:]
        function.node_def.extend(kept)


def dtypes_of(argument: ArgDef, node: NodeDef) -> list[int]:
    """Return the dtypes of an argument of an op: several where it is a list."""
    if argument.type_list_attr:
        return list(node.attr[argument.type_list_attr].list.type)
    dtype = node.attr[argument.type_attr].type if argument.type_attr else argument.type
    return [dtype] * (node.attr[argument.number_attr].i if argument.number_attr else 1)


def replace_tensors(function: FunctionDef, new: Mapping[str, str]) -> None:
    """Let the nodes and results of a function take other tensors: the new ones by the old ones."""
    for node in function.node_def:
        for position, name in enumerate(node.input):
            node.input[position] = new.get(name, name)
    for output, name in function.ret.items():
        function.ret[output] = new.get(name, name)
