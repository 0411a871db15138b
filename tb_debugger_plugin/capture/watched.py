"""Describes the watched tensors of all graphs to a debugger that stops at them.

Takes the tensors that a sink records from now on, and returns them with what the recorder knows of their ops.

Invariant: a tensor is described once, also when several functions share its graph.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Iterable

from tb_debugger_plugin.capture.gate import AtNewTensors, TensorOfGraph
from tb_debugger_plugin.capture.graph_records import GraphRecords, KnownOps
from tb_debugger_plugin.capture.sinks.protocol import NewTensor, Sink
from tb_debugger_plugin.capture.stacks.frames import Frame, Frames, is_library

_log = logging.getLogger("tb_debugger_plugin")


class WatchedTensors:
    """The watched tensors of one recording. Thread-safe.

    Args:
      sink: Returns the new ones.
      graphs: Knows their ops.
      frames: Knows the lines that made the ops.
    """

    def __init__(self, sink: Sink, graphs: GraphRecords, frames: Frames) -> None:
        self._sink = sink
        self._graphs = graphs
        self._frames = frames
        self._lock = threading.Lock()  # guards the following fields
        self._tensors: dict[int, TensorOfGraph] = {}
        self._compiled: set[str] = set()  # ids of graphs
        self._at_new: AtNewTensors | None = None

    def all(self) -> list[TensorOfGraph]:
        """All tensors so far."""
        with self._lock:
            return list(self._tensors.values())

    def call_at_new(self, call: AtNewTensors | None) -> None:
        """Call a function with the tensors of each graph that gets watch ops from now on; None: no more."""
        self._at_new = call

    def add_new(self, compiled: Collection[str] = ()) -> None:
        """Describe the tensors that are new to the sink, and pass them on.

        Args:
          compiled: Ids of graphs that XLA compiles, from now on.
        """
        new = self._sink.take_new_tensors()
        if not new and not compiled:
            return
        with self._lock:
            self._compiled.update(compiled)
            changed = [
                tensor._replace(is_compiled=True)
                for tensor in (self._tensors.values() if compiled else ())
                if tensor.graph_id in compiled and not tensor.is_compiled
            ]
            changed += self._described(new)
            self._tensors.update((tensor.tensor_id, tensor) for tensor in changed)
        self._pass_on(changed)

    def _pass_on(self, changed: list[TensorOfGraph]) -> None:
        call = self._at_new
        if call is not None and changed:
            try:
                call(changed)
            except Exception as error:  # a failure of a debugger must not end the recording
                _log.debug("A debugger failed at new tensors:", exc_info=error)

    def _described(self, new: Iterable[NewTensor]) -> list[TensorOfGraph]:
        lines: dict[tuple[str, ...], Frame] = {}
        ops: dict[str, KnownOps | None] = {}
        described = []
        for tensor, is_constant in new:
            if tensor.graph_id not in ops:
                ops[tensor.graph_id] = self._graphs.ops_of(tensor.graph_id)
            of_graph = ops[tensor.graph_id]
            if of_graph is None:
                continue  # the graph was deleted
            op_type, device = of_graph.type_and_device(tensor.op_name)
            stack = of_graph.known.stacks.get(tensor.op_name, ())
            if stack not in lines:
                lines[stack] = self._innermost(stack)
            described.append(
                TensorOfGraph(
                    tensor_id=tensor.tensor_id,
                    graph_id=tensor.graph_id,
                    op_name=tensor.op_name,
                    slot=tensor.slot,
                    op_type=op_type,
                    dtype=tensor.dtype,
                    dims=tensor.dims,
                    device=device,
                    function=of_graph.name,
                    layer=of_graph.known.layers.get(tensor.op_name, ""),
                    path=lines[stack].path,
                    line=lines[stack].line,
                    is_compiled=tensor.graph_id in self._compiled,
                    in_pipeline=tensor.in_pipeline,
                    is_constant=is_constant,
                    is_recorded=tensor.is_recorded,
                )
            )
        return described

    def _innermost(self, stack: tuple[str, ...]) -> Frame:
        """The innermost line of the program in a stack; of a library, if there is no other."""
        frames = self._frames.of_ids(stack)
        own = [frame for frame in frames if not is_library(frame.path)]
        return (own or frames or [Frame("", 0, "")])[-1]
