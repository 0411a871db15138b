"""Describes the watched tensors of all graphs to a debugger that stops at them.

Takes the tensors that a sink records from now on, and returns them with what the recorder knows of their ops.

Invariant: a tensor is described once, also when several functions share its graph.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final, NamedTuple

from tb_debugger_plugin.capture.gate import Line, TensorOfGraph
from tb_debugger_plugin.capture.graph_records import GraphRecords, KnownOps
from tb_debugger_plugin.capture.sinks.protocol import NewTensor, Sink
from tb_debugger_plugin.capture.stacks.frames import RecordedFrame, StackFrames, is_library

#: The function of TensorFlow that makes the graph of a function: its callees run inside of that.
_MAKES_GRAPH: Final = ("func_graph.py", "func_graph_from_py_func")

_log = logging.getLogger("tb_debugger_plugin")


class _MadeAt(NamedTuple):
    """Where an op was made.

    Attributes:
      innermost: The innermost line of the program; of a library, if there is no other.
      lines: The lines of the program, outermost first.
      inside: Those inside of the innermost function that is made.
    """

    innermost: Line
    lines: tuple[Line, ...]
    inside: tuple[Line, ...]


class WatchedTensors:
    """The watched tensors of one recording. Thread-safe.

    Args:
      sink: Returns the new ones.
      graphs: Knows their ops.
      frames: Knows the lines that made the ops.
      at_new: Takes the tensors of each graph that gets watch ops.
    """

    def __init__(
        self,
        sink: Sink,
        graphs: GraphRecords,
        frames: StackFrames,
        at_new: Callable[[Sequence[TensorOfGraph]], None],
    ) -> None:
        self._sink = sink
        self._graphs = graphs
        self._frames = frames
        self._lock = threading.Lock()  # guards the following fields
        self._tensors: dict[int, TensorOfGraph] = {}
        self._compiled: set[str] = set()  # ids of graphs
        self._at_new = at_new

    def all(self) -> list[TensorOfGraph]:
        """All tensors so far."""
        with self._lock:
            return list(self._tensors.values())

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
        if changed:
            try:
                self._at_new(changed)
            except Exception as error:  # a failure of a debugger must not end the recording
                _log.debug("A debugger failed at new tensors:", exc_info=error)

    def _described(self, new: Iterable[NewTensor]) -> list[TensorOfGraph]:
        made_at: dict[tuple[str, ...], _MadeAt] = {}
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
            if stack not in made_at:
                made_at[stack] = _made_at(self._frames.of_ids(stack))
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
                    path=made_at[stack].innermost.path,
                    line=made_at[stack].innermost.line,
                    is_compiled=tensor.graph_id in self._compiled,
                    in_pipeline=tensor.in_pipeline,
                    is_constant=is_constant,
                    is_recorded=tensor.is_recorded,
                    inputs=of_graph.inputs_of(tensor.op_name),
                    lines=_lines_of(made_at[stack], op_type, is_function=bool(of_graph.name)),
                )
            )
        return described


def _made_at(stack: Sequence[RecordedFrame]) -> _MadeAt:
    begins = [at for at, frame in enumerate(stack) if _makes_graph(frame)]
    own = _own_lines(stack)
    return _MadeAt(
        (own or [Line(*frame[:2]) for frame in stack] or [Line("", 0)])[-1],
        tuple(own),
        tuple(_own_lines(stack[begins[-1] :])) if begins else (),
    )


def _lines_of(where: _MadeAt, op_type: str, *, is_function: bool) -> tuple[Line, ...]:
    """See `TensorOfGraph.lines`. Arguments of functions are made outside of them."""
    if not is_function:
        return where.lines
    return () if op_type == "Placeholder" else where.inside


def _makes_graph(frame: RecordedFrame) -> bool:
    return (os.path.basename(frame.path), frame.function) == _MAKES_GRAPH


def _own_lines(stack: Iterable[RecordedFrame]) -> list[Line]:
    return [Line(frame.path, frame.line) for frame in stack if not is_library(frame.path)]
