"""What a recording needs of the place where its records go.

A sink has three jobs: append events to the files that are written while graphs are built, record executions
and constants from Python, and make the nodes that record tensors when a graph runs. `native` writes
through our native library, `stock` through TensorFlow's own ops where that is not to be had; the files
are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from tensorflow.core.framework import node_def_pb2

from tb_debugger_plugin.capture.options import Options


@dataclass(frozen=True)
class WatchedTensor:
    """One output of a graph op whose value is recorded when the graph runs.

    Attributes:
      graph_id: Of the graph.
      op_name: Of the op in it.
      slot: Which output.
      tensor_id: Number of the tensor, unique in the process.
      dtype: TensorFlow's DataType number.
      dims: Its dimensions before it is computed, -1 where one is not known; None when not even their number
        is.
    """

    graph_id: str
    op_name: str
    slot: int
    tensor_id: int
    dtype: int
    dims: tuple[int, ...] | None


@dataclass(frozen=True)
class WatchOp:
    """A watch op to be made.

    Attributes:
      tensor: What it records.
      source: The tensor as an input: `op` or `op:slot`.
      name: Of the op.
      device: On which the tensor is made.
      inline: Whether consumers take the tensor from it.
      same: Tensors that hold the same elements, whose rank is known; recorded with it. Only for a sink that
        `passes_through`, in modes that count elements.
      before: Tensors that it records before that one, each with its name as an input. Only for a sink that
        `passes_through`.
    """

    tensor: WatchedTensor
    source: str
    name: str
    device: str
    inline: bool = False
    same: tuple[WatchedTensor, ...] = ()
    before: tuple[tuple[WatchedTensor, str], ...] = ()


@dataclass(frozen=True)
class CompiledTensor:
    """A tensor in a function that XLA compiled, as that hands it over.

    Attributes:
      tensor: The tensor.
      elements: Which elements of the function's vector of magnitudes tell of it.
      group: What is recorded comes in the order of groups, and inside a group in the order in which it went
        bad.
      whole: Which of the tensors that are handed over whole; -1 when it is none of them.
      shape: Its dimensions; None when they are not known before the function runs.
      size: Which element of that vector is the number of its elements; -1 when that is not handed over.
      counts: Which three elements of that vector are the numbers of -inf, +inf and NaN in it; empty when
        they are not handed over.
    """

    tensor: WatchedTensor
    elements: tuple[int, ...]
    group: int
    whole: int
    shape: tuple[int, ...] | None
    size: int = -1
    counts: tuple[int, ...] = ()


class Sink(Protocol):
    """Takes the records of one recording."""

    #: Whether `watch_nodes` can put a node into the way of the consumers.
    passes_through: bool

    def narrowed(self, options: Options) -> Options:
        """What of the options it can do: not every sink measures every dtype."""

    def write(self, suffix: str, *events: Any) -> None:
        """Append events to one of the files that only Python writes."""

    def eager_op(
        self,
        prefix: bytes,
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        devices: dict[str, int],
        wanted: dict[int, int],
        ask: Callable[[Any], bytes],
    ) -> bool:
        """Record the execution of an op, and tell whether recording goes on.

        `prefix`: the encoded fields of an Execution that the others do not give. `devices`: their numbers,
        by name. `wanted`: whether outputs are recorded, by dtype. `ask`: gives the encoded TensorProto of one
        that the sink cannot read by itself.
        """

    def summary(self, array: np.ndarray[Any, Any] | bytes, dtype: int, tensor_id: int = -1) -> bytes:
        """The encoded TensorProto that stands for a tensor; -1 is the id of every eager one.

        `array`: the tensor; TensorFlow hands a single string over as `bytes`.
        """

    def constant(self, tensor: WatchedTensor, value: np.ndarray[Any, Any], device: str) -> None:
        """Record a tensor whose value is known when its graph is built, before what the graph computes.

        `device`: on which the graph says that it is made; empty when TensorFlow chooses.
        """

    def watch_nodes(self, op: WatchOp) -> list[node_def_pb2.NodeDef]:
        """The nodes that record a tensor; the last one is the one to run, or to take the tensor from."""

    def reduced_watch_nodes(self, op: WatchOp) -> list[node_def_pb2.NodeDef]:
        """The same of a tensor that is reduced where it lies, of which only numbers come to the host."""

    def reduced_summary(self, values: list[float]) -> bytes:
        """The encoded TensorProto that stands for a tensor which was reduced to these numbers elsewhere."""

    def set_wanted(self, wanted: bool) -> None:
        """Whether what graphs compute from now on is recorded; it is to begin with."""

    def counts(self) -> tuple[int, int]:
        """Executions and traces seen so far."""

    def failure(self) -> str:
        """Why recording stopped by itself; an empty string while it has not."""

    def flush(self) -> None:
        """Write out what is buffered."""

    def close(self) -> None:
        """Flush and close all files."""

    def abandon(self) -> None:
        """Let go of all files without touching them: for a forked child."""
