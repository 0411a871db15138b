"""Returns any tensors inside a function beside its results.

The call is recorded into a temporary folder. Only the wanted tensors are watched, so every function, loop,
branch and gradient is covered, and the program computes what it does without.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeAlias, TypeVar

import tensorflow as tf
from tensorflow.core.framework import tensor_pb2

from tb_debugger_plugin.capture.keep_values import KeepValues
from tb_debugger_plugin.capture.temporary import begin_to_fetch
from tb_debugger_plugin.capture.tf_types import Array
from tb_debugger_plugin.errors import UsageError
from tb_debugger_plugin.events.fileset import GRAPH_EXECUTION_TRACES, GRAPHS, find_file_sets, read_with_tail
from tb_debugger_plugin.events.messages import Message
from tb_debugger_plugin.events.modes import TensorDebugMode
from tb_debugger_plugin.expressions.names import node_of, suggestion

P = ParamSpec("P")
R = TypeVar("R")
#: The value of a tensor, or its values if it was computed several times.
Fetched: TypeAlias = "Array | list[Array]"


class _Tensor(NamedTuple):
    """A tensor of any graph.

    Attributes:
      op_name: Name of its op.
      slot: Number of the output.
    """

    op_name: str
    slot: int

    @property
    def name(self) -> str:
        return f"{self.op_name}:{self.slot}"


def fetch(function: Callable[P, R], names: str | Sequence[str]) -> Callable[P, tuple[R, dict[str, Fetched]]]:
    """Return tensors inside a function by name, beside its results.

    Use::

        loss, values = tb_debugger_plugin.fetch(train_step, ["hidden", "dense/MatMul:0"])(images, labels)
        values["hidden"].shape

    The function runs once, and computes what it does without `fetch`. It may be anything that calls functions
    of TensorFlow: a `tf.function`, a Keras model, `model.fit`, a run of a session. Tensors inside functions
    that it calls, in loops, branches and gradients are found too. Of functions that XLA compiles, only the
    arguments, results and constants are.

    Args:
      function: What to call.
      names: Names of ops (all outputs) or of tensors such as `"split:1"`, with or without their scopes; paths
        of Keras layers (all tensors of the layer); or regular expressions, which must occur in the name of an
        op. The first of these meanings that finds a tensor counts.

    Returns:
      A function with the same arguments. It returns the result, and a dict of NumPy arrays. If a name stands
      for one tensor, it is the key; the keys of several are `"op:slot"`. A tensor that was computed several
      times, as in a loop, has a list of arrays, in the order of time.

    Raises:
      UsageError: When it is called: a recording is on, or, after the call, no tensor has such a name. It is a
        `ValueError`.
    """
    requests = (names,) if isinstance(names, str) else tuple(names)
    rules = _rules(requests)

    def call(*args: P.args, **kwargs: P.kwargs) -> tuple[R, dict[str, Fetched]]:
        recording = begin_to_fetch(rules)
        try:
            result = function(*args, **kwargs)
            recording.FlushExecutionFiles()
            return result, _found(Path(recording.dump_root), requests)
        finally:
            recording.close()

    return call


def _rules(requests: Sequence[str]) -> tuple[KeepValues, ...]:
    """Return the rules by which the values that any request may mean are kept."""
    if not requests:
        raise UsageError("names is empty: give the names of the tensors to fetch.")
    names = "|".join(
        f"(^|/){re.escape(request.partition(':')[0])}$|(?:{_checked(request)})" for request in requests
    )
    layers = "|".join(f"^{re.escape(request)}$" for request in requests)
    unlimited = KeepValues(max_tensor_bytes=None, max_total_bytes=None)
    return replace(unlimited, name_regex=names), replace(unlimited, layer_regex=layers)


def _checked(request: str) -> str:
    """Return a request as a regular expression; its text if it is none."""
    try:
        re.compile(request)
    except re.error:
        return re.escape(request)
    return request


def _found(folder: Path, requests: Sequence[str]) -> dict[str, Fetched]:
    (files,) = find_file_sets(folder)
    layers: dict[tuple[str, str], str] = {}
    for record in read_with_tail(files, GRAPHS).records:
        if record.event.WhichOneof("what") == "graph_op_creation":
            creation = record.event.graph_op_creation
            layers[creation.graph_id, creation.op_name] = creation.layer
    values: dict[_Tensor, list[Array]] = {}
    in_layer: dict[str, list[_Tensor]] = {}
    for record in read_with_tail(files, GRAPH_EXECUTION_TRACES).records:
        trace = record.event.graph_execution_trace
        if trace.tensor_debug_mode == TensorDebugMode.FULL_TENSOR:
            tensor = _Tensor(trace.op_name, trace.output_slot)
            values.setdefault(tensor, []).append(_array(trace.tensor_proto))
            in_layer.setdefault(layers[trace.tfdbg_context_id, trace.op_name], []).append(tensor)
    found: dict[str, Fetched] = {}
    for request in requests:
        chosen = _chosen(request, values, in_layer)
        if not chosen:
            raise UsageError(_sentence(request, {name for _, name in layers}))
        for key, tensor in chosen.items():
            found[key] = values[tensor][0] if len(values[tensor]) == 1 else values[tensor]
    return found


def _array(proto: Message) -> Array:
    array: Array = tf.make_ndarray(tensor_pb2.TensorProto.FromString(proto.SerializeToString()))
    return array


def _chosen(
    request: str, tensors: Iterable[_Tensor], in_layer: dict[str, list[_Tensor]]
) -> dict[str, _Tensor]:
    """Return the tensors that a request stands for, by key."""
    end = f"/{request}"
    tensors = list(tensors)
    exact = [one for one in tensors if request in (one.op_name, one.name)]
    if not exact:
        exact = [one for one in tensors if one.op_name.endswith(end) or one.name.endswith(end)]
    if len(exact) == 1:
        return {request: exact[0]}
    if not exact:
        exact = in_layer.get(request, [])
    if not exact:
        pattern = re.compile(_checked(request))
        exact = [one for one in tensors if pattern.search(one.op_name)]
    return {one.name: one for one in exact}


def _sentence(request: str, ops: set[str]) -> str:
    if not ops:
        return f"No tensor {request!r} was computed: there is no function of TensorFlow."
    return (
        f"No tensor {request!r} was computed; {suggestion(node_of(request), ops)} Tensors inside functions"
        " that XLA compiles cannot be fetched."
    )
