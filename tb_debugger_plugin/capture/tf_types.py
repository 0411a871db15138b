"""Types of the values of TensorFlow and NumPy that the recorder handles.

TensorFlow has no types for mypy. The protocols list what the recorder uses of TensorFlow's classes, private
attributes too, so that mypy checks these uses; mypy accepts every value of TensorFlow for them. The aliases
of protobuf classes are those classes: mypy knows none of their fields.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, TypeAlias

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2, function_pb2, graph_pb2, node_def_pb2, op_def_pb2

from tb_debugger_plugin.events.numbers import Array as Array

ArgDef: TypeAlias = op_def_pb2.OpDef.ArgDef
AttrValue: TypeAlias = attr_value_pb2.AttrValue
FunctionDef: TypeAlias = function_pb2.FunctionDef
FunctionDefLibrary: TypeAlias = function_pb2.FunctionDefLibrary
GraphDef: TypeAlias = graph_pb2.GraphDef
NameAttrList: TypeAlias = attr_value_pb2.NameAttrList
NodeDef: TypeAlias = node_def_pb2.NodeDef
OpDef: TypeAlias = op_def_pb2.OpDef

#: What an eager op takes, or returns.
EagerTensors: TypeAlias = "Sequence[EagerTensor]"
#: An object of TensorFlow's C API, which only functions of TensorFlow can read.
CObject: TypeAlias = object
#: The attributes of a function as Python code gives them, by name; None for none.
FunctionAttributes: TypeAlias = Mapping[str, object] | None


class ImportOptions(Protocol):
    """Owns the options with which a definition is imported into a graph."""

    options: CObject


class ImportResults(Protocol):
    """Owns the results of an import. The ops belong to the graph."""

    results: CObject


class CObjectOwner(Protocol):
    """Owns an object of the C API: a graph or a function."""

    def get(self) -> AbstractContextManager[CObject]:
        """Return the object, which stays alive inside the block."""


class StackFrame(Protocol):
    """A frame of a stack that TensorFlow has extracted."""

    filename: str
    lineno: int
    name: str


class StackTrace(Protocol):
    """The creation stack of an op."""

    def get_user_frames(self) -> Sequence[StackFrame]:
        """Return the frames that TensorFlow shows in error messages, outermost first."""


class TfOp(Protocol):
    """An op of a graph: `tf.Operation`."""

    name: str
    type: str
    device: str
    graph: TfGraph
    inputs: Sequence[TfTensor]
    outputs: Sequence[TfTensor]
    control_inputs: Sequence[TfOp]
    node_def: NodeDef
    traceback: StackTrace | None
    op_def: OpDef
    _c_op: CObject
    _control_outputs: Sequence[TfOp]
    _id: int

    def get_attr(self, name: str) -> Any:
        """Return the value of an attribute, of the type that the definition of the op says."""


class TfTensor(Protocol):
    """A tensor of a graph: `tf.Tensor`."""

    name: str
    op: TfOp
    value_index: int
    graph: TfGraph
    dtype: tf.DType
    shape: tf.TensorShape

    def consumers(self) -> list[TfOp]:
        """Return the ops that have it as an input."""

    def set_shape(self, shape: tf.TensorShape) -> None:
        """Make its static shape more specific."""

    def _as_tf_output(self) -> CObject: ...


class TensorRef(Protocol):
    """A tensor as a key of a dict: the result of `tf.Tensor.ref`."""

    def deref(self) -> TfTensor:
        """Return the tensor."""


class EagerTensor(Protocol):
    """A tensor that has a value."""

    device: str
    dtype: tf.DType
    shape: tf.TensorShape
    _id: int

    def _datatype_enum(self) -> int: ...

    def _num_elements(self) -> int: ...

    def _numpy_internal(self) -> Array | bytes: ...


class TfVariable(Protocol):
    """A variable of TensorFlow or Keras. The attributes for its handle depend on its class."""

    name: str


class TfGraph(Protocol):
    """A graph: `tf.Graph`. It is that of a TF1-style session, or a `FuncGraph`."""

    version: int
    graph_def_versions: Any
    _c_graph: CObjectOwner

    def as_graph_def(self) -> GraphDef:
        """Return its definition, with the functions that it calls."""

    def get_operations(self) -> list[TfOp]:
        """Return its ops, in the order in which they were made."""

    def get_operation_by_name(self, name: str) -> TfOp:
        """Return the op of a name."""

    def get_tensor_by_name(self, name: str) -> TfTensor:
        """Return the tensor of a name, `op:slot`."""


class FuncGraph(TfGraph, Protocol):
    """The graph of a function. Its `captures` are pairs: a tensor from outside, and its placeholder."""

    name: str
    inputs: list[TfTensor]
    outputs: list[TfTensor]
    control_outputs: list[TfOp]
    outer_graph: TfGraph
    captures: Sequence[tuple[EagerTensor | TfTensor, TfTensor]]
    _output_names: Mapping[int, str] | None
    _watched_variables: Iterable[TfVariable]
    _weak_variables: Sequence[Callable[[], TfVariable | None]]


class AtomicFunction(Protocol):
    """A function of the runtime, as an object that keeps it there."""

    name: bytes
    definition: FunctionDef
    _cached_graph: TfGraph | None


class TfSession(Protocol):
    """A TF1-style session. The recorder replaces five methods of the object."""

    _target: bytes | None
    _config: object
    _graph: TfGraph
    _session: CObject
    _extend_graph: Callable[[], None]
    _do_run: Callable[..., object]
    make_callable: Callable[..., object]
    _make_callable_from_options: Callable[..., object]
    close: Callable[..., None]
    _closed: bool
